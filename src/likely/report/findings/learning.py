"""Findings about how rows were learned from: too well, from copies, too easily, or not alike in all folds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from likely._formatting import format_cost, format_percent
from likely._typing import Booleans, Floats
from likely.report.duplicates import duplicates_across
from likely.report.findings.looked import Finding, Looked, cost_at, costs_of, labels_of, unit_cost

__all__ = ["duplicate_rows", "overfitting", "separable", "unstable_fold"]

FAR, TIMES, CLEAR = 0.05, 1.5, 3.0
"""How far, and how many times, held-out cost must exceed training cost to be worth a word, and in how many standard
errors: every model does better on rows it has seen, and many that do much better are still good."""

EVALUATION_SHARE = 0.2
"""How many evaluation rows there are for each row compared on, where the facts do not say: few, to be careful."""

SIGNIFICANT, NOTABLE, MOST_FOLDS = 0.05, 0.1, 20
"""Chance at which a fold is called different, the share of the cost by which it must differ, and folds beyond which
each has too few rows to ask."""

MANY, SEVERAL, COINCIDENCE, SAMPLED = 0.01, 10, 0.01, 1000
"""Share and number of copied rows from which on they flatter costs; copies of a row expected by coincidence above which
they are nobody's mistake, since rows of few values coincide by themselves; rows from which that is estimated."""


def overfitting(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """The best system does far better on rows it has learned from, or worse on evaluation rows than in the folds."""
    broken = _broken_promise(facts, looked)
    if broken is not None or looked.training is None:
        return broken
    held_out = [costs["minimum"] for costs in costs_of(facts["leaderboard"][0], facts)]
    gaps = {
        i: cost - seen
        for i, (seen, cost) in enumerate(zip(looked.training, held_out, strict=True))
        if cost is not None and _exceeds(cost, seen, looked, i)
    }
    if not gaps:
        return None
    i = max(gaps, key=lambda at: gaps[at])
    said = (
        f"On the rows it was trained on the best system costs {format_cost(looked.training[i])}{cost_at(facts, i)}, "
        "on rows "
        f"that it has not seen {format_cost(held_out[i])}: part of what it learned is peculiar to its rows. The "
        "costs shown "
        "are those of rows not seen."
    )
    remedy = (
        "More rows, or a simpler model, may do better on new ones: a stronger penalty (λ), fewer features (PCA), a "
        "tied or diagonal covariance."
    )
    return Finding("overfitting", "note", said, remedy)


def _exceeds(cost: float, seen: float, looked: Looked, i: int) -> bool:
    """Whether held-out cost is far above training cost, by more than chance with few mistakes."""
    unit = unit_cost(looked.applications[i], looked.effective_units)
    return cost - seen > max(FAR, CLEAR * math.sqrt((cost + seen) * unit)) and cost > TIMES * seen


def _broken_promise(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Evaluation rows cost clearly more than the folds said they would."""
    there = facts["evaluation"]
    chosen = next((each for each in there["systems"] if each["name"] == there["chosen"]), None) if there else None
    row = facts["leaderboard"][0]
    if there is None or chosen is None or chosen["name"] != row["name"]:
        return None
    n_rows = there.get("rows") or EVALUATION_SHARE * len(looked.codes)
    for i, (costs, cost) in enumerate(zip(costs_of(row, facts), chosen["actual"], strict=True)):
        promised = costs["actual"]
        if promised is None or cost is None or cost < promised * (1 + NOTABLE):
            continue
        unit = unit_cost(looked.applications[i], looked.effective_units)
        if cost - promised > CLEAR * math.sqrt(promised * unit + cost * unit * len(looked.codes) / n_rows):
            return _overconfident(format_cost(promised), format_cost(cost), cost_at(facts, i))
    return None


def _overconfident(promised: str, cost: str, where: str) -> Finding:
    said = f"The folds promised a cost of {promised}{where}, but the evaluation rows cost {cost}: more than chance."
    remedy = (
        "Ask how those rows differ: another time or place, or folds that tore apart rows which belong together (name "
        "their groups). Promise the cost of the evaluation rows."
    )
    return Finding("overfitting", "warning", said, remedy)


def unstable_fold(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """One fold costs more or less than the others by more than chance."""
    tests = looked.tests
    if facts["kind"] == "scores" or tests is None or not 2 <= len(tests) <= MOST_FOLDS:
        return None
    found = []
    for i in range(len(looked.applications)):
        prices, priors = looked.prices(i), looked.applications[i].priors
        for fold, test in enumerate(tests):
            inside = np.zeros(len(looked.codes), dtype=bool)
            inside[test] = True
            found.append((*_difference(prices, priors, inside, looked), i, fold))
    p_value, there, elsewhere, i, fold = min(found)
    chance = p_value * len(found)
    if chance > SIGNIFICANT or abs(there - elsewhere) < NOTABLE * max(there, elsewhere):
        return None
    said = (
        f"Fold {fold + 1} of {len(tests)} costs {format_cost(there)}{cost_at(facts, i)}, the others "
        f"{format_cost(elsewhere)} on "
        f"average; chance would bring that about in fewer than {format_percent(max(chance, 1e-4), 2)} of comparisons."
    )
    remedy = (
        "Look at its rows. Rows that depend on each other must stay together (name their groups); rows in the order of "
        "time may drift; a fold of another origin shows what to expect of new origins."
    )
    return Finding("unstable-fold", "warning", said, remedy)


def _difference(prices: Floats, priors: Floats, inside: Booleans, looked: Looked) -> tuple[float, float, float]:
    """How probable a fold's difference from the others is at most, and the cost there and elsewhere.

    Units (groups, or rows) are dealt to the fold at random, class by class. The difference D of costs then has mean 0,
    the variance V = Σ_u (Σ_k π_k e_uk / √(n_k m_k))² with e_uk the unit's deviations from the mean of class k, which
    has the weights n_k inside and m_k outside, and no unit adds more than M. Bernstein's inequality,

        p ≤ 2 exp(−D² / (2 V + 2 M |D| / 3)),

    holds with few mistakes too, where a normal approximation does not.
    """
    codes, n_classes = looked.codes, len(priors)
    sums, totals = (
        np.array([np.bincount(codes[part], values[part], n_classes) for part in (inside, ~inside)])
        for values in (looked.weights * prices, looked.weights)
    )
    shared = (totals > 0).all(axis=0) & (priors > 0)
    if not shared.any():
        return 1.0, 0.0, 0.0
    means = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    there, elsewhere = (float(priors[shared] @ mean[shared]) for mean in means)
    overall = sums.sum(axis=0) / np.maximum(totals.sum(axis=0), 1e-300)
    deviations = looked.weights * (prices - overall[codes])
    n, m = np.where(shared, totals, np.inf)
    by_unit = np.bincount(looked.unit_of_row, deviations * (priors / np.sqrt(n * m))[codes])
    most = np.abs(np.bincount(looked.unit_of_row, deviations * (priors / np.minimum(n, m))[codes])).max()
    gap, spread = abs(there - elsewhere), float(by_unit @ by_unit)
    bound = 2 * math.exp(-(gap**2) / (2 * (spread + most * gap / 3))) if spread > 0 else 1.0
    return min(1.0, bound), there, elsewhere


def separable(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """The best system could decide without a mistake, as it would if a column knew the label."""
    costs = costs_of(facts["leaderboard"][0], facts)
    if any(each["minimum"] is None or each["minimum"] > 1e-12 for each in costs) or not _all_mistakes_cost(looked):
        return None
    units = np.where(looked.units > 0, looked.units, np.iinfo(np.intp).max)
    k, what = int(units.argmin()), "rows" if looked.groups is None else "groups"
    said = (
        f"The scores of the best system tell the classes of all rows apart: with the best {_way(facts)} it makes no "
        f"mistake. Intervals say nothing then; of {looked.units[k]} {what} without one, all that can be promised is an "
        f"error rate of class {labels_of(facts)[k]} below {format_percent(min(1.0, 3 / units[k]), 2)} (95 %)."
    )
    remedy = (
        "Ask first whether a column knows the label, such as one written down after the fact, and exclude it; then "
        "judge it on evaluation rows of another origin."
    )
    return Finding("separable", "warning", said, remedy)


def _all_mistakes_cost(looked: Looked) -> bool:
    """Whether a cost of 0 means that there was no mistake: none is free, of classes that occur."""
    return all(
        bool((app.costs > app.costs.diagonal()[:, None])[~np.eye(app.n_classes, dtype=bool)].all())
        and bool((app.priors > 0).all())
        for app in looked.applications
    )


def _way(facts: dict[str, Any]) -> str:
    return "threshold" if len(facts["classes"]) == 2 else "calibration"


def duplicate_rows(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Rows were judged by models that had learned from copies of them."""
    if facts["kind"] == "scores" or looked.tests is None or looked.numbers is None:
        return None
    n_rows, n_contradicting = duplicates_across(looked.numbers, looked.codes, looked.tests)
    if not n_rows:
        return None
    part = n_rows / len(looked.codes)
    grave = part >= MANY and n_rows >= SEVERAL and _coincidences(looked.numbers) < COINCIDENCE
    labels = (
        f"; {n_contradicting:,} of them with another label, so that not both can be right"
        if n_contradicting and grave
        else ""
    )
    copied = f"{n_rows:,} rows ({format_percent(part, 2)})"
    said = f"{copied} have exact copies in other folds, which their models learned from{labels}."
    said += " So costs may come out too low." if grave else ""
    remedy = "Keep copies together (name their groups), or keep one of each and give its frequency as a weight."
    if not grave:
        remedy = "Few of them change little, and rows of few values coincide by themselves. Else: " + remedy
    return Finding("duplicate-rows", "warning" if grave else "note", said, remedy)


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
