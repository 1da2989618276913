"""Findings about the rows and how they were learned from: few of a class, copies, overfitting, unlike folds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from likely._formatting import format_cost, format_percent, quote
from likely._numerics import log
from likely._typing import Booleans, Floats, Integers
from likely.decisions import Application
from likely.report.duplicates import count_copies

QUANTILE, CLEAR, SIGNIFICANT = 1.96, 3.0, 0.05
"""Standard errors on either side that make 95 %; those beyond which a difference is no chance; level of tests."""

FACTOR = 2.0
"""Odds that differ by less than this change accuracies little: half to two thirds, say."""

FEW, VERY_FEW = 30, 10
"""Rows, or groups, of a class below which its error rate is known to ten points or so at best, or hardly at all."""

FAR, TIMES = 0.05, 1.5
"""How far, and how many times, held-out cost must exceed training cost to be reported: every model does better on rows
it has seen, and many that do much better are still good."""

EVALUATION_SHARE = 0.2
"""How many evaluation rows there are for each row compared on, where the facts do not say: few, to be careful."""

NOTABLE, MOST_FOLDS = 0.1, 20
"""Share of the cost by which a fold must differ, and number of folds beyond which each has too few rows to test."""

MANY, SEVERAL, COINCIDENCE, SAMPLED = 0.01, 10, 0.01, 1000
"""Share and number of copied rows from which on they flatter costs; copies of a row expected by coincidence above which
they are nobody's mistake, since rows of few values coincide by themselves; rows from which that is estimated."""


Finding = tuple[Literal["warning", "note"], str, str]
"""How grave it is, what was found, with the numbers, and what to do."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The data that findings are computed from, besides the facts.

    Attributes
    ----------
    codes : array of shape (n,)
        The class of each judged row.
    weight : array of shape (n,), or None
    applications : list of Application
        In class order, as in the facts.
    best : array of shape (n,) for two classes, else (n, n_classes)
        Scores of the best system that decisions are made by: the llr of the second class, or log-likelihoods.
    tests : list of arrays, or None
        The rows that each fold judges.
    numbers : array or sparse array of shape (n, n_columns), or None
    groups : array of shape (n,), or None
        Rows of one group depend on each other.
    training : list of float, or None
        Normalised minimum cost of the best system on the very rows it was trained on, one for each application.
    """

    codes: Integers
    weight: Floats | None
    applications: list[Application]
    best: Floats
    tests: list[Integers] | None = None
    numbers: Any | None = None
    groups: Any | None = None
    training: list[float] | None = None

    @cached_property
    def weights(self) -> Floats:
        return np.ones(len(self.codes)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)

    @cached_property
    def decisions(self) -> list[Integers]:
        """The decision of each row at each application; −1 rejects."""
        return [application.decide_codes(self.best) for application in self.applications]

    def prices(self, i: int) -> Floats:
        """What the decision of each row costs at an application, in units of deciding without looking."""
        app = self.applications[i]
        rejecting = 0.0 if app.reject_cost is None else app.reject_cost
        costs = np.column_stack([app.costs, np.full(len(app.costs), rejecting)])
        return np.asarray(costs[self.codes, self.decisions[i]] / app.constant_cost)

    @cached_property
    def unit_of_row(self) -> Integers:
        """Which independent unit, a group or the row itself, each row belongs to."""
        if self.groups is None:
            return np.arange(len(self.codes))
        return np.unique(self.groups, return_inverse=True)[1].ravel()

    @cached_property
    def units(self) -> Integers:
        """How many independent units each class has."""
        n_classes = self.applications[0].n_classes
        pairs = np.unique(self.unit_of_row * n_classes + self.codes) if self.groups is not None else self.codes
        return np.bincount(pairs % n_classes, minlength=n_classes)

    @cached_property
    def effective_units(self) -> Floats:
        """How many units of equal weight would be as uncertain, class by class (Kish): (Σ w)² / Σ w²."""
        n_classes = self.applications[0].n_classes
        _, pair = np.unique(self.unit_of_row * n_classes + self.codes, return_inverse=True)
        weights = np.bincount(pair, self.weights)
        of_class = np.zeros(len(weights), dtype=np.intp)
        of_class[pair] = self.codes
        totals, squares = (np.bincount(of_class, values, minlength=n_classes) for values in (weights, weights**2))
        return np.divide(totals**2, squares, out=np.zeros(n_classes), where=squares > 0)

    def unit_cost(self, i: int) -> float:
        """The most that one more mistake adds to a normalised cost; its variance is at most the cost times this.

        A cost Σ_k s_k p_k of mistakes at rates p_k has variance Σ_k s_k² p_k (1 − p_k) / n_k ≤ cost · max_k s_k / n_k.
        """
        app = self.applications[i]
        stakes = app.priors * (app.costs.max(axis=1) - app.costs.diagonal())
        return float((stakes / np.maximum(self.effective_units, 1)).max() / app.constant_cost)


def list_costs(row: dict[str, Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The costs of a system at each application, in order."""
    return [row["costs"][application["name"]] for application in facts["applications"]]


def where_paid(facts: dict[str, Any], i: int) -> str:
    """The phrase that names an application, if there are several."""
    applications = facts["applications"]
    return f" at {quote(applications[i]['name'])}" if len(applications) > 1 else ""


def name_best_map(facts: dict[str, Any]) -> str:
    """The map of scores that minimum costs are computed with."""
    return "threshold" if len(facts["classes"]) == 2 else "affine calibration"


def quote_labels(facts: dict[str, Any]) -> list[str]:
    """The labels of the classes in quotation marks."""
    return [quote(each["label"]) for each in facts["classes"]]


def prior_mismatch(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Classes are more or less frequent among the rows than where the decisions will be made."""
    weights = np.bincount(diagnostics.codes, diagnostics.weights, minlength=len(facts["classes"]))
    frequencies = weights / weights.sum()
    gaps = [_gap(frequencies, application.priors) for application in diagnostics.applications]
    concerned = [i for i, gap in enumerate(gaps) if np.abs(gap).max() > np.log(FACTOR) + 1e-9]
    if not concerned:
        return None
    i = max(concerned, key=lambda at: float(np.abs(gaps[at]).max()))
    k = int(np.abs(gaps[i]).argmax())
    more = f" So it is at {len(concerned)} of {len(gaps)} applications." if len(gaps) > 1 else ""
    text = (
        f"{format_percent(frequencies[k], 2)} of the rows are {quote_labels(facts)[k]}, but its prior"
        f"{where_paid(facts, i)} is {format_percent(diagnostics.applications[i].priors[k], 2)}, so accuracy on these "
        f"rows is not what the application will see.{more} All costs here are at the application's priors already."
    )
    remedy = (
        "Nothing needs weighting: the application does it. Compare costs, not accuracies; if the rows are a fair "
        "sample of where it will be used, give their frequencies as its priors."
    )
    return "note", text, remedy


def _gap(frequencies: Floats, priors: Floats) -> Floats:
    """By how much the log-odds of each class among the rows exceed those of its prior, all within a million to one."""
    a, b = (np.clip(log(p) - log(1 - p), -14, 14) for p in (frequencies, priors))
    return np.asarray(a - b)


def tiny_class(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """A class has so few rows that its error rate is poorly known."""
    few = [k for k, count in enumerate(diagnostics.units.tolist()) if 0 < count < FEW]
    if not few:
        return None
    k = min(few, key=lambda at: int(diagnostics.units[at]))
    n, what = int(diagnostics.units[k]), "rows" if diagnostics.groups is None else "groups"
    is_of_class = diagnostics.codes == k
    decided = diagnostics.decisions[0]
    wrong = (decided != k) & (decided >= 0)  # a rejected row is neither right nor wrong
    rate = float(np.average(wrong[is_of_class], weights=diagnostics.weights[is_of_class]))
    low, high = _wilson(rate, n)
    others = ""
    if len(few) > 1:
        others = f" {len(few) - 1} more {'class has' if len(few) == 2 else 'classes have'} fewer than {FEW}."
    text = (
        f"Class {quote_labels(facts)[k]} has {n} {what if n > 1 else what[:-1]}: its error rate of "
        f"{format_percent(rate, 2)} may as well be anything from {format_percent(low, 2)} to "
        f"{format_percent(high, 2)} (95 %).{others}"
    )
    remedy = (
        "Gather more of it, or merge it with a class it need not be told from. Whatever differs by less than that "
        "should not be chosen by."
    )
    return "warning" if n < VERY_FEW else "note", text, remedy


def _wilson(rate: float, n: int) -> tuple[float, float]:
    """Interval of an error rate seen in n rows (Wilson 1927), which is right where few mistakes were seen too."""
    z = QUANTILE**2 / n
    centre, reach = (rate + z / 2) / (1 + z), np.sqrt(z * rate * (1 - rate) + z**2 / 4) / (1 + z)
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))


def overfitting(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """The best system does far better on rows it has learned from, or worse on evaluation rows than in the folds."""
    broken = _broken_promise(facts, diagnostics)
    if broken is not None or diagnostics.training is None:
        return broken
    held_out = [costs["minimum"] for costs in list_costs(facts["leaderboard"][0], facts)]
    gaps = {}
    for i, (seen, cost) in enumerate(zip(diagnostics.training, held_out, strict=True)):
        # Far above training cost, by more than chance with few mistakes.
        if cost is not None and cost > TIMES * seen:
            chance = CLEAR * math.sqrt((cost + seen) * diagnostics.unit_cost(i))
            if cost - seen > max(FAR, chance):
                gaps[i] = cost - seen
    if not gaps:
        return None
    i = max(gaps, key=lambda at: gaps[at])
    text = (
        f"On the rows it was trained on the best system costs {format_cost(diagnostics.training[i])}"
        f"{where_paid(facts, i)}, on rows that it has not seen {format_cost(held_out[i])}: part of what it learned is "
        "peculiar to its rows. The costs shown are those of rows not seen."
    )
    remedy = (
        "More rows, or a simpler model, may do better on new ones: a stronger penalty (λ), fewer features (PCA), a "
        "tied or diagonal covariance."
    )
    return "note", text, remedy


def _broken_promise(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Evaluation rows cost clearly more than the folds said they would."""
    there = facts["evaluation"]
    chosen = next((each for each in there["systems"] if each["name"] == there["chosen"]), None) if there else None
    row = facts["leaderboard"][0]
    if there is None or chosen is None or chosen["name"] != row["name"]:
        return None
    n_rows = there.get("rows") or EVALUATION_SHARE * len(diagnostics.codes)
    for i, (costs, cost) in enumerate(zip(list_costs(row, facts), chosen["actual"], strict=True)):
        promised = costs["actual"]
        if promised is None or cost is None or cost < promised * (1 + NOTABLE):
            continue
        unit = diagnostics.unit_cost(i)
        if cost - promised > CLEAR * math.sqrt(promised * unit + cost * unit * len(diagnostics.codes) / n_rows):
            text = (
                f"The folds promised a cost of {format_cost(promised)}{where_paid(facts, i)}, but the evaluation rows "
                f"cost {format_cost(cost)}: more than chance."
            )
            remedy = (
                "Ask how those rows differ: another time or place, or folds that tore apart rows which belong together "
                "(name their groups). Promise the cost of the evaluation rows."
            )
            return "warning", text, remedy
    return None


def unstable_fold(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """One fold costs more or less than the others by more than chance."""
    tests = diagnostics.tests
    if facts["kind"] == "scores" or tests is None or not 2 <= len(tests) <= MOST_FOLDS:
        return None
    found = []
    for i in range(len(diagnostics.applications)):
        prices, priors = diagnostics.prices(i), diagnostics.applications[i].priors
        for fold, test in enumerate(tests):
            inside = np.zeros(len(diagnostics.codes), dtype=bool)
            inside[test] = True
            found.append((*_difference(prices, priors, inside, diagnostics), i, fold))
    p_value, there, elsewhere, i, fold = min(found)
    chance = p_value * len(found)
    if chance > SIGNIFICANT or abs(there - elsewhere) < NOTABLE * max(there, elsewhere):
        return None
    text = (
        f"Fold {fold + 1} of {len(tests)} costs {format_cost(there)}{where_paid(facts, i)}, the others "
        f"{format_cost(elsewhere)} on average; chance would bring that about in fewer than "
        f"{format_percent(max(chance, 1e-4), 2)} of comparisons."
    )
    remedy = (
        "Look at its rows. Rows that depend on each other must stay together (name their groups); rows in the order of "
        "time may drift; a fold of another origin shows what to expect of new origins."
    )
    return "warning", text, remedy


def _difference(
    prices: Floats, priors: Floats, inside: Booleans, diagnostics: Diagnostics
) -> tuple[float, float, float]:
    """How probable a fold's difference from the others is at most, and the cost there and elsewhere.

    Units (groups, or rows) are dealt to the fold at random, class by class. The difference D of costs then has mean 0,
    the variance V = Σ_u (Σ_k π_k e_uk / √(n_k m_k))² with e_uk the unit's deviations from the mean of class k, which
    has the weights n_k inside and m_k outside, and no unit adds more than M. Bernstein's inequality,

        p ≤ 2 exp(−D² / (2 V + 2 M |D| / 3)),

    holds with few mistakes too, where a normal approximation does not.
    """
    codes, n_classes = diagnostics.codes, len(priors)
    sums, totals = (
        np.array([np.bincount(codes[part], values[part], n_classes) for part in (inside, ~inside)])
        for values in (diagnostics.weights * prices, diagnostics.weights)
    )
    shared = (totals > 0).all(axis=0) & (priors > 0)
    if not shared.any():
        return 1.0, 0.0, 0.0
    means = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    there, elsewhere = (float(priors[shared] @ mean[shared]) for mean in means)
    overall = sums.sum(axis=0) / np.maximum(totals.sum(axis=0), 1e-300)
    deviations = diagnostics.weights * (prices - overall[codes])
    n, m = np.where(shared, totals, np.inf)
    by_unit = np.bincount(diagnostics.unit_of_row, deviations * (priors / np.sqrt(n * m))[codes])
    most = np.abs(np.bincount(diagnostics.unit_of_row, deviations * (priors / np.minimum(n, m))[codes])).max()
    gap, spread = abs(there - elsewhere), float(by_unit @ by_unit)
    bound = 2 * math.exp(-(gap**2) / (2 * (spread + most * gap / 3))) if spread > 0 else 1.0
    return min(1.0, bound), there, elsewhere


def separable(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """The best system could decide without a mistake, as it would if a column knew the label."""
    costs = list_costs(facts["leaderboard"][0], facts)
    if any(each["minimum"] is None or each["minimum"] > 1e-12 for each in costs) or not _all_mistakes_cost(diagnostics):
        return None
    units = np.where(diagnostics.units > 0, diagnostics.units, np.iinfo(np.intp).max)
    k, what = int(units.argmin()), "rows" if diagnostics.groups is None else "groups"
    text = (
        f"The scores of the best system tell the classes of all rows apart: with the best {name_best_map(facts)} it "
        f"makes no mistake. Intervals say nothing then; of {diagnostics.units[k]} {what} without one, all that can be "
        f"promised is an error rate of class {quote_labels(facts)[k]} below "
        f"{format_percent(min(1.0, 3 / units[k]), 2)} (95 %)."
    )
    remedy = (
        "Ask first whether a column knows the label, such as one written down after the fact, and exclude it; then "
        "judge it on evaluation rows of another origin."
    )
    return "warning", text, remedy


def _all_mistakes_cost(diagnostics: Diagnostics) -> bool:
    """Whether a cost of 0 means that there was no mistake: none is free, of classes that occur."""
    return all(
        bool((app.costs > app.costs.diagonal()[:, None])[~np.eye(app.n_classes, dtype=bool)].all())
        and bool((app.priors > 0).all())
        for app in diagnostics.applications
    )


def duplicate_rows(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Rows were judged by models that had learned from copies of them."""
    if facts["kind"] == "scores" or diagnostics.tests is None or diagnostics.numbers is None:
        return None
    n_rows, n_contradicting = count_copies(diagnostics.numbers, diagnostics.codes, diagnostics.tests)
    if not n_rows:
        return None
    part = n_rows / len(diagnostics.codes)
    grave = part >= MANY and n_rows >= SEVERAL and _coincidences(diagnostics.numbers) < COINCIDENCE
    text = (
        f"{n_rows:,} rows ({format_percent(part, 2)}) have exact copies in other folds, which their models learned from"
    )
    if n_contradicting and grave:
        text += f"; {n_contradicting:,} of them with another label, so that not both can be right"
    text += ". So costs may come out too low." if grave else "."
    remedy = "Keep copies together (name their groups), or keep one of each and give its frequency as a weight."
    if not grave:
        remedy = "Few of them change little, and rows of few values coincide by themselves. Else: " + remedy
    return "warning" if grave else "note", text, remedy


def _coincidences(numbers: Any) -> float:
    """Copies of a row expected if columns were independent, from some rows."""
    rows = numbers[:: numbers.shape[0] // SAMPLED + 1]
    values = np.asarray(rows.toarray() if hasattr(rows, "tocsr") else rows, dtype=np.float64)
    m, together = len(values), math.log(numbers.shape[0])
    for column in values.T:
        counts = np.unique(column, return_counts=True)[1]
        pairs = float((counts * (counts - 1)).sum()) / max(1, m * (m - 1))
        if pairs == 0:
            return 0.0
        together += math.log(pairs)
    return math.exp(min(together, 50.0))
