"""Findings about what scores say: bad calibration, the wrong sign, nothing at all."""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from likely._formatting import format_cost, quote
from likely.report.findings.looked import Finding, Looked, cost_at, costs_of, labels_of, systems, unit_cost

__all__ = ["miscalibrated", "worthless", "wrong_sign"]

LOSS, SHARE_LOST = 0.02, 0.1
"""Calibration loss worth a warning if it is clear: of normalised cost, and as a share of the minimum. Less would change
few decisions."""

USELESS = 0.99
"""Minimum cost above which no calibration helps: there is nothing to calibrate."""

DOUBTFUL_LOSS, DOUBTFUL_SHARE = 0.05, 0.25
"""The same of one that may be chance: a smaller one is what few rows always show, since the minimum is made small on
them."""

SIGNIFICANT, QUANTILE = 0.05, 1.96
"""Chance below which a difference is taken for one, and standard errors on either side of a 95 % interval."""

CLEAR = 3.0
"""Standard errors beyond which a difference is no chance, where there is no interval: the standard errors are rough."""


def miscalibrated(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Decisions by the scores cost clearly more than they would by the best threshold."""
    if facts["kind"] == "scores":
        return _as_given(facts, looked)
    lost = _loss(facts["leaderboard"][0], "actual", facts, looked)
    if lost is None:
        return None
    i, is_clear = lost
    costs = costs_of(facts["leaderboard"][0], facts)[i]
    said = (
        "Calibrated on other rows, the best system's decisions cost "
        f"{format_cost(costs['actual'])}{cost_at(facts, i)}, "
        f"where the best {_way(facts)} would cost {format_cost(costs['minimum'])}"
    )
    if not is_clear:
        remedy = "More rows would tell; meanwhile expect a cost between the two."
        return Finding("miscalibrated", "note", f"{said}. That may be chance.", remedy)
    remedy = (
        "Try another calibrator: compare(…, calibrator=IsotonicCalibrator()), or likely calibrate with the isotonic "
        "method on its scores. If the folds hold different kinds of rows, no one map fits them all."
    )
    return Finding("miscalibrated", "warning", f"{said}. That is more than chance.", remedy)


def _as_given(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """The same of scores that somebody gave, which were not calibrated here."""
    turned = [each["name"] for each in _turned(facts, looked)]
    rows = [row for row in facts["leaderboard"] if row["name"] not in turned]
    losses = [(row, _loss(row, "uncalibrated", facts, looked)) for row in rows]
    clear = [(row, lost[0]) for row, lost in losses if lost is not None and lost[1]]
    uncertain = [(row, lost[0]) for row, lost in losses if lost is not None and not lost[1]]
    if not clear and not uncertain:
        return None
    row, i = (clear or uncertain)[0]
    costs, others = costs_of(row, facts)[i], len(clear or uncertain) - 1
    said = (
        f"As given, the scores of {quote(row['name'])} cost {format_cost(costs['uncalibrated'])}{cost_at(facts, i)}, "
        "where "
        f"the best {_way(facts)} would cost {format_cost(costs['minimum'])}" + ("" if clear else "; that may be chance")
    )
    said += f". The same holds for {systems(others)} more." if others else "."
    mended = (
        "" if costs.get("actual") is None else f" Calibrated on other rows they cost {format_cost(costs['actual'])}."
    )
    remedy = (
        f"Calibrate them before deciding, by likely calibrate or AffineCalibrator.{mended} "
        "Scores that are no log-likelihood ratios at all, such as posteriors, need it in any case."
    )
    return Finding("miscalibrated", "warning" if clear else "note", said, remedy)


def _loss(row: dict[str, Any], which: str, facts: dict[str, Any], looked: Looked) -> tuple[int, bool] | None:
    """The application at which most is lost, clearly if at any; whether clearly; None if it is not worth a word."""
    found = []
    for i, costs in enumerate(costs_of(row, facts)):
        paid, least = (math.inf if costs[each] is None else costs[each] for each in (which, "minimum"))
        is_clear = paid > _highest_minimum(costs, unit_cost(looked.applications[i], looked.effective_units))
        loss, part = (LOSS, SHARE_LOST) if is_clear else (DOUBTFUL_LOSS, DOUBTFUL_SHARE)
        if least < USELESS and paid - least >= max(loss, part * least):
            found.append((is_clear, paid - least, -i))
    return (-max(found)[2], max(found)[0]) if found else None


def _highest_minimum(costs: dict[str, Any], unit: float) -> float:
    """How high the minimum may be in truth: it was made small on the rows it is measured on, and chosen for it."""
    least, interval = costs["minimum"], costs.get("minimum interval")
    if least is None:
        return math.inf
    if interval is not None and interval[1] is not None:
        return float(least + max(CLEAR / QUANTILE * (interval[1] - least), 2 * unit))
    return float(least + CLEAR * math.sqrt(least * unit) + CLEAR * unit)


def _way(facts: dict[str, Any]) -> str:
    return "threshold" if len(facts["classes"]) == 2 else "affine calibration"


def wrong_sign(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Scores given for two classes are higher for the class that is not the target."""
    turned = _turned(facts, looked)
    if not turned:
        return None
    target = quote(facts["target"])
    other = next((label for label in labels_of(facts) if label != target), target)
    others = f" The same holds for {systems(len(turned) - 1)} more." if len(turned) > 1 else ""
    said = (
        f"Scores of {quote(turned[0]['name'])} are lower for {target} than for {other}: a row of {target} scores "
        f"higher in {100 * turned[0]['auc']:.0f} % of pairs only.{others}"
    )
    remedy = f"Turn the sign of the scores, or name the class they are high for, {other}, as the positive class."
    return Finding("wrong-sign", "warning", said, remedy)


def _turned(facts: dict[str, Any], looked: Looked) -> list[dict[str, Any]]:
    """The systems whose scores are clearly lower for the target."""
    if facts["kind"] != "scores" or len(facts["classes"]) != 2:
        return []
    n, m = (max(1.0, float(count)) for count in looked.effective_units)
    chance = math.sqrt((n + m + 1) / (12 * n * m))
    return [each for each in facts["series"] if each["auc"] < 0.5 - CLEAR * chance]


def worthless(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Even the best system does no better than deciding without looking, or than the best of many by chance."""
    if facts["leaderboard"][0]["name"] in [each["name"] for each in _turned(facts, looked)]:
        return None
    row, tried, n = facts["leaderboard"][0], len(facts["leaderboard"]), len(looked.applications)
    paid = [_at_most(costs, looked, i, tried) for i, costs in enumerate(costs_of(row, facts))]
    bad = [i for i, (_, most) in enumerate(paid) if most >= 1]
    if not bad:
        return None
    where = cost_at(facts, bad[0]) + (f" and {len(bad) - 1} more of the {n} applications" if len(bad) > 1 else "")
    said = (
        f"The best system cannot be told from deciding without looking{where}: it costs "
        f"{format_cost(paid[bad[0]][0])}, "
        "where always making the same decision costs 1"
    )
    said += f", and the best of {tried} comes out low by chance." if tried > 1 else "."
    remedy = (
        "No threshold mends that. Look for columns that say more, or gather more rows of the rarer class; where a "
        "prior is extreme, ask whether the costs are what you mean."
    )
    return Finding("worthless", "warning" if len(bad) == n else "note", said, remedy)


def _at_most(costs: dict[str, Any], looked: Looked, i: int, tried: int) -> tuple[float, float]:
    """A system's cost, and how high it may be given that it was the least of several (Bonferroni).

    The cost of calibrated decisions is not made small on its own rows; but where calibration failed, the minimum tells.
    """
    actual, least = (math.inf if costs.get(which) is None else costs[which] for which in ("actual", "minimum"))
    unit, quantile = unit_cost(looked.applications[i], looked.effective_units), float(norm.isf(SIGNIFICANT / tried))
    if actual > _highest_minimum(costs, unit):
        return least, _highest_minimum(costs, unit) + max(0.0, quantile - CLEAR) * _error(costs, "minimum", unit)
    return actual, actual + quantile * _error(costs, "actual", unit)


def _error(costs: dict[str, Any], which: str, unit: float) -> float:
    """Standard error of a cost, from its interval where there is one."""
    interval = costs.get(f"{which} interval")
    if interval is None or None in interval:
        return math.sqrt(costs[which] * unit)
    return float(interval[1] - interval[0]) / (2 * QUANTILE)
