"""Findings about the rows and the training: small classes, copies, overfitting, folds that differ."""

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
"""QUANTILE is the number of standard errors on each side of a 95 % interval. A difference of more than CLEAR standard
errors is not attributed to chance. SIGNIFICANT is the significance level of tests."""

FACTOR = 2.0
"""Two prior odds that differ by less than this factor give similar accuracies. Probabilities of 1/2 and 2/3 differ by
exactly this factor in odds."""

FEW, VERY_FEW = 30, 10
"""If a class has fewer than FEW rows (or groups), its error rate is known to about ten percentage points at best. If it
has fewer than VERY_FEW, its error rate is hardly known at all."""

FAR, TIMES = 0.05, 1.5
"""Overfitting is reported if the held-out cost exceeds the training cost by more than FAR and by more than the factor
TIMES. Smaller differences are not reported, because every model has lower costs on its training rows, and a model with
much lower costs there may still be good."""

EVALUATION_SHARE = 0.2
"""Assumed number of evaluation rows divided by the number of compared rows, if the facts do not contain the number of
evaluation rows. A low ratio is cautious: it assumes that the evaluation cost varies more by chance."""

NOTABLE, MAX_FOLDS = 0.1, 20
"""A fold is reported only if its cost differs from the cost of the other folds by more than the share NOTABLE. If there
are more than MAX_FOLDS folds, they are not tested, because each fold has too few rows."""

MANY, SEVERAL, COINCIDENCE, SAMPLED = 0.01, 10, 0.01, 1000
"""Copies are a problem if at least the share MANY of the rows and at least SEVERAL rows have copies. They are no
problem if a row is expected to have more than COINCIDENCE copies by chance, because columns have few distinct values.
This expectation is estimated from about SAMPLED rows."""


Finding = tuple[Literal["warning", "note"], str, str]
"""A finding: its level, a text that states the finding with its numbers, and a text that states the remedy."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The data from which findings are computed, in addition to the facts.

    Attributes
    ----------
    codes : array of shape (n,)
        The class of each evaluated row.
    weight : array of shape (n,), or None
    applications : list of Application
        In class order, as in the facts.
    best : array of shape (n,) for two classes, else (n, n_classes)
        Scores with which the best system decides: llrs that are high for the second class, or log-likelihoods.
    tests : list of arrays, or None
        Positions of the test rows of each fold.
    numbers : array or sparse array of shape (n, n_columns), or None
    groups : array of shape (n,), or None
        Rows of one group depend on each other.
    training : list of float, or None
        Normalised minimum cost of the best system on its training rows, one for each application.
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
        """The decision about each row at each application. −1 means rejected."""
        return [application.decide_codes(self.best) for application in self.applications]

    def row_costs(self, i: int) -> Floats:
        """Return the cost of the decision about each row in application i.

        Costs are divided by the cost of the best constant decision.
        """
        app = self.applications[i]
        rejecting = 0.0 if app.reject_cost is None else app.reject_cost
        costs = np.column_stack([app.costs, np.full(len(app.costs), rejecting)])
        return np.asarray(costs[self.codes, self.decisions[i]] / app.constant_cost)

    @cached_property
    def unit_of_row(self) -> Integers:
        """Index of the independent unit of each row: its group, or the row itself."""
        if self.groups is None:
            return np.arange(len(self.codes))
        return np.unique(self.groups, return_inverse=True)[1].ravel()

    @cached_property
    def units(self) -> Integers:
        """Number of independent units of each class."""
        n_classes = self.applications[0].n_classes
        pairs = np.unique(self.unit_of_row * n_classes + self.codes) if self.groups is not None else self.codes
        return np.bincount(pairs % n_classes, minlength=n_classes)

    @cached_property
    def effective_units(self) -> Floats:
        """Kish's effective sample size of each class, in units: (Σ w)² / Σ w²."""
        n_classes = self.applications[0].n_classes
        _, pair = np.unique(self.unit_of_row * n_classes + self.codes, return_inverse=True)
        weights = np.bincount(pair, self.weights)
        of_class = np.zeros(len(weights), dtype=np.intp)
        of_class[pair] = self.codes
        totals, squares = (np.bincount(of_class, values, minlength=n_classes) for values in (weights, weights**2))
        return np.divide(totals**2, squares, out=np.zeros(n_classes), where=squares > 0)

    def unit_cost(self, i: int) -> float:
        """Return the most that one more mistake can add to a normalised cost.

        Let s_k be the largest normalised cost of a mistake about class k times the prior of the class, p_k the error
        rate, and n_k the number of units of the class. The number returned is max_k s_k / n_k. A cost Σ_k s_k p_k has
        variance Σ_k s_k² p_k (1 − p_k) / n_k, which is at most the cost times this number.
        """
        app = self.applications[i]
        stakes = app.priors * (app.costs.max(axis=1) - app.costs.diagonal())
        return float((stakes / np.maximum(self.effective_units, 1)).max() / app.constant_cost)


def list_costs(row: dict[str, Any], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """List the costs of a system at each application, in order."""
    return [row["costs"][application["name"]] for application in facts["applications"]]


def mention_application(facts: dict[str, Any], i: int) -> str:
    """Return words that name application i in a sentence, or an empty text if there is only one application."""
    applications = facts["applications"]
    return f" at {quote(applications[i]['name'])}" if len(applications) > 1 else ""


def name_best_map(facts: dict[str, Any]) -> str:
    """Name the map of scores with which minimum costs are computed."""
    return "threshold" if len(facts["classes"]) == 2 else "affine calibration"


def quote_labels(facts: dict[str, Any]) -> list[str]:
    """List the labels of the classes in quotation marks."""
    return [quote(each["label"]) for each in facts["classes"]]


def check_prior_mismatch(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether class frequencies among the rows differ from the priors of an application."""
    weights = np.bincount(diagnostics.codes, diagnostics.weights, minlength=len(facts["classes"]))
    frequencies = weights / weights.sum()
    gaps = [_compare_log_odds(frequencies, application.priors) for application in diagnostics.applications]
    concerned = [i for i, gap in enumerate(gaps) if np.abs(gap).max() > np.log(FACTOR) + 1e-9]
    if not concerned:
        return None
    i = max(concerned, key=lambda at: float(np.abs(gaps[at]).max()))
    k = int(np.abs(gaps[i]).argmax())
    more = f" This concerns {len(concerned)} of {len(gaps)} applications." if len(gaps) > 1 else ""
    text = (
        f"{format_percent(frequencies[k], 2)} of the rows have class {quote_labels(facts)[k]}, but the prior of this "
        f"class{mention_application(facts, i)} is {format_percent(diagnostics.applications[i].priors[k], 2)}, so "
        f"accuracy on these rows differs from accuracy in the application.{more} All costs here already use the "
        "application's priors."
    )
    remedy = (
        "The rows need no weights: the application's priors have that effect. Compare costs, not accuracies. If the "
        "rows are a random sample of the cases to be decided, use their class frequencies as priors."
    )
    return "note", text, remedy


def _compare_log_odds(frequencies: Floats, priors: Floats) -> Floats:
    """Return each class's log-odds among the rows minus its prior log-odds. Odds are clipped at a million to one."""
    a, b = (np.clip(log(p) - log(1 - p), -14, 14) for p in (frequencies, priors))
    return np.asarray(a - b)


def check_tiny_class(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether a class has too few rows for a reliable error rate."""
    few = [k for k, count in enumerate(diagnostics.units.tolist()) if 0 < count < FEW]
    if not few:
        return None
    k = min(few, key=lambda at: int(diagnostics.units[at]))
    n, what = int(diagnostics.units[k]), "rows" if diagnostics.groups is None else "groups"
    is_of_class = diagnostics.codes == k
    decided = diagnostics.decisions[0]
    wrong = (decided != k) & (decided >= 0)  # a rejected row is neither right nor wrong
    rate = float(np.average(wrong[is_of_class], weights=diagnostics.weights[is_of_class]))
    low, high = _wilson_interval(rate, n)
    others = ""
    if len(few) > 1:
        others = f" {len(few) - 1} more {'class has' if len(few) == 2 else 'classes have'} fewer than {FEW}."
    text = (
        f"Class {quote_labels(facts)[k]} has {n} {what if n > 1 else what[:-1]}: its error rate of "
        f"{format_percent(rate, 2)} may be anything from {format_percent(low, 2)} to {format_percent(high, 2)} (95 % "
        f"interval).{others}"
    )
    remedy = (
        "Collect more rows of this class, or merge it with a class that you need not distinguish from it. Do not "
        "choose a system because of a difference that is smaller than this interval."
    )
    return "warning" if n < VERY_FEW else "note", text, remedy


def _wilson_interval(rate: float, n: int) -> tuple[float, float]:
    """Return the interval of an error rate observed in n rows (Wilson 1927). It is also valid for few mistakes."""
    z = QUANTILE**2 / n
    centre, reach = (rate + z / 2) / (1 + z), np.sqrt(z * rate * (1 - rate) + z**2 / 4) / (1 + z)
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))


def check_overfitting(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether costs on new rows are far above the costs on rows that were used.

    First compare the cost on the evaluation rows with the cost that the comparison estimated. If there is no finding,
    compare the held-out cost with the training cost.
    """
    found = _check_evaluation_cost(facts, diagnostics)
    if found is not None or diagnostics.training is None:
        return found
    held_out = [costs["minimum"] for costs in list_costs(facts["leaderboard"][0], facts)]
    gaps = {}
    for i, (seen, cost) in enumerate(zip(diagnostics.training, held_out, strict=True)):
        # The held-out cost must be far above the training cost and, if mistakes are few, by more than chance.
        if cost is not None and cost > TIMES * seen:
            chance = CLEAR * math.sqrt((cost + seen) * diagnostics.unit_cost(i))
            if cost - seen > max(FAR, chance):
                gaps[i] = cost - seen
    if not gaps:
        return None
    i = max(gaps, key=lambda at: gaps[at])
    text = (
        f"The best system costs {format_cost(diagnostics.training[i])}{mention_application(facts, i)} on its training "
        f"rows and {format_cost(held_out[i])} on other rows, so part of what it learned does not generalise. The "
        "report shows costs on rows that were not used for training."
    )
    remedy = (
        "Collect more rows, or try a simpler model. A model is simpler with a stronger penalty (λ), with fewer "
        "features (PCA), with a tied covariance, or with a diagonal covariance."
    )
    return "note", text, remedy


def _check_evaluation_cost(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether decisions about the evaluation rows cost clearly more than the comparison estimated."""
    there = facts["evaluation"]
    chosen = next((each for each in there["systems"] if each["name"] == there["chosen"]), None) if there else None
    row = facts["leaderboard"][0]
    if there is None or chosen is None or chosen["name"] != row["name"]:
        return None
    n_rows = there.get("rows") or EVALUATION_SHARE * len(diagnostics.codes)
    for i, (costs, cost) in enumerate(zip(list_costs(row, facts), chosen["actual"], strict=True)):
        estimate = costs["actual"]
        if estimate is None or cost is None or cost < estimate * (1 + NOTABLE):
            continue
        unit = diagnostics.unit_cost(i)
        if cost - estimate > CLEAR * math.sqrt(estimate * unit + cost * unit * len(diagnostics.codes) / n_rows):
            text = (
                f"The comparison estimated a cost of {format_cost(estimate)}{mention_application(facts, i)}, but the "
                f"evaluation rows cost {format_cost(cost)}. The difference is more than chance."
            )
            remedy = (
                "Find out how these rows differ. They may be from another time or place. Alternatively, the folds may "
                "have separated rows that depend on each other. In this case, name the groups of rows. Report "
                "the cost on the evaluation rows."
            )
            return "warning", text, remedy
    return None


def check_unstable_fold(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether one fold costs more or less than the others by more than chance."""
    tests = diagnostics.tests
    if facts["kind"] == "scores" or tests is None or not 2 <= len(tests) <= MAX_FOLDS:
        return None
    found = []
    for i in range(len(diagnostics.applications)):
        row_costs, priors = diagnostics.row_costs(i), diagnostics.applications[i].priors
        for fold, test in enumerate(tests):
            inside = np.zeros(len(diagnostics.codes), dtype=bool)
            inside[test] = True
            found.append((*_test_fold(row_costs, priors, inside, diagnostics), i, fold))
    p_value, there, elsewhere, i, fold = min(found)
    chance = p_value * len(found)
    if chance > SIGNIFICANT or abs(there - elsewhere) < NOTABLE * max(there, elsewhere):
        return None
    text = (
        f"Fold {fold + 1} of {len(tests)} costs {format_cost(there)}{mention_application(facts, i)}, and the others "
        f"cost {format_cost(elsewhere)} on average. Chance produces such a difference in fewer than "
        f"{format_percent(max(chance, 1e-4), 2)} of comparisons."
    )
    remedy = (
        "Inspect the rows of this fold. If rows depend on each other, name their groups, so that folds keep them "
        "together. If rows are in order of time, their distribution may have changed. If the rows of the fold have "
        "another origin, expect this cost for rows of new origins."
    )
    return "warning", text, remedy


def _test_fold(
    row_costs: Floats, priors: Floats, inside: Booleans, diagnostics: Diagnostics
) -> tuple[float, float, float]:
    """Return an upper bound of the p-value of a fold's difference, and the costs in the fold and in the others.

    Under the null hypothesis, units (groups, or rows) are assigned to the fold at random, class by class. The
    difference D of costs then has mean 0 and variance V = Σ_u (Σ_k π_k e_uk / √(n_k m_k))², where e_uk is the unit's
    deviation from the mean of class k, and n_k and m_k are the weights of class k inside and outside the fold. No unit
    adds more than M. Bernstein's inequality,

        p ≤ 2 exp(−D² / (2 V + 2 M |D| / 3)),

    also holds for few mistakes. A normal approximation does not.
    """
    codes, n_classes = diagnostics.codes, len(priors)
    sums, totals = (
        np.array([np.bincount(codes[part], values[part], n_classes) for part in (inside, ~inside)])
        for values in (diagnostics.weights * row_costs, diagnostics.weights)
    )
    shared = (totals > 0).all(axis=0) & (priors > 0)
    if not shared.any():
        return 1.0, 0.0, 0.0
    means = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    there, elsewhere = (float(priors[shared] @ mean[shared]) for mean in means)
    overall = sums.sum(axis=0) / np.maximum(totals.sum(axis=0), 1e-300)
    deviations = diagnostics.weights * (row_costs - overall[codes])
    n, m = np.where(shared, totals, np.inf)
    by_unit = np.bincount(diagnostics.unit_of_row, deviations * (priors / np.sqrt(n * m))[codes])
    largest = np.abs(np.bincount(diagnostics.unit_of_row, deviations * (priors / np.minimum(n, m))[codes])).max()
    gap, variance = abs(there - elsewhere), float(by_unit @ by_unit)
    bound = 2 * math.exp(-(gap**2) / (2 * (variance + largest * gap / 3))) if variance > 0 else 1.0
    return min(1.0, bound), there, elsewhere


def check_separable(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether the best system makes no mistakes. One possible reason is a column that contains the label."""
    costs = list_costs(facts["leaderboard"][0], facts)
    if any(each["minimum"] is None or each["minimum"] > 1e-12 for each in costs) or not _all_mistakes_cost(diagnostics):
        return None
    units = np.where(diagnostics.units > 0, diagnostics.units, np.iinfo(np.intp).max)
    k, what = int(units.argmin()), "rows" if diagnostics.groups is None else "groups"
    text = (
        f"The best system separates the classes: with the best {name_best_map(facts)} it makes no mistakes, so its "
        f"cost has no interval. No mistake in {diagnostics.units[k]} {what} of class {quote_labels(facts)[k]} shows "
        f"only that the error rate of this class is below {format_percent(min(1.0, 3 / units[k]), 2)} (95 %)."
    )
    remedy = (
        "First check whether a column contains the label, for example because it was recorded after the outcome. "
        "Exclude such a column. Then evaluate the system on rows of another origin."
    )
    return "warning", text, remedy


def _all_mistakes_cost(diagnostics: Diagnostics) -> bool:
    """Return True if a cost of 0 implies that there are no mistakes.

    This holds if every mistake costs more than the correct decision and every class has a prior above 0.
    """
    return all(
        bool((app.costs > app.costs.diagonal()[:, None])[~np.eye(app.n_classes, dtype=bool)].all())
        and bool((app.priors > 0).all())
        for app in diagnostics.applications
    )


def check_duplicate_rows(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether rows were scored by models that were trained on copies of these rows."""
    if facts["kind"] == "scores" or diagnostics.tests is None or diagnostics.numbers is None:
        return None
    n_rows, n_contradicting = count_copies(diagnostics.numbers, diagnostics.codes, diagnostics.tests)
    if not n_rows:
        return None
    part = n_rows / len(diagnostics.codes)
    is_serious = part >= MANY and n_rows >= SEVERAL and _expect_copies(diagnostics.numbers) < COINCIDENCE
    text = (
        f"{n_rows:,} rows ({format_percent(part, 2)}) have exact copies in other folds, so the models that scored "
        "these rows were trained on the copies"
    )
    if n_contradicting and is_serious:
        text += f". Of these rows, {n_contradicting:,} have a copy with another label, so one of the labels is wrong"
    text += ". The estimated costs may therefore be too low." if is_serious else "."
    remedy = "Put all copies of a row into one group. Alternatively, keep one copy, weighted by the number of copies."
    if not is_serious:
        remedy = (
            "A few copies change little. If columns have few values, rows can be equal by chance. For other copies: "
            + remedy
        )
    return "warning" if is_serious else "note", text, remedy


def _expect_copies(numbers: Any) -> float:
    """Return the expected number of chance copies of a row, if the columns were independent.

    It is estimated from a sample of rows.
    """
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
