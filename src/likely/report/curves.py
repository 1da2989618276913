"""Facts for plots: curves reduced to few points, and costs against settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from likely._constraints import is_number
from likely._numerics import difference
from likely._typing import Floats, Integers
from likely.evaluation import Trials
from likely.plots.canvas import probit_axis, value_at
from likely.report.explorer import Controls, choose_count_unit
from likely.report.facts import mean_cost

FEW, CELLS = 600, 100
"""ROC curves of at most FEW points are not thinned. Of longer curves, only the points that can be distinguished on a
grid of CELLS cells per axis are kept."""

BINS, MAX_BLOCKS = 60, 200
"""Number of bins of a histogram, and maximum number of blocks of a reliability curve."""

WIDE = 20
"""If the largest value of a setting is more than this factor times the smallest value, its axis is logarithmic."""


def series_facts(given: Trials, calibrated: Trials, controls: Controls | None = None) -> dict[str, Any]:
    """Return the curves of a system for its scores as given and for its calibrated scores.

    ``controls`` are the slider positions of the decision explorer. If they are given, also return the counts of
    decisions that the explorer needs.
    """
    parts = {"given": given, "calibrated": calibrated}
    facts: dict[str, Any] = {"eer": given.eer(), "auc": given.roc_auc()}
    facts["roc"] = {name: _compute_roc(trials) for name, trials in parts.items()}
    curve = given.bayes_error_curve()
    facts["bayes_error"] = {
        "log_odds": _round_list(curve.prior_log_odds, 3),
        "given": _round_list(curve.actual, 4),
        "calibrated": _round_list(calibrated.bayes_error_curve().actual, 4),
        "minimum": _round_list(curve.minimum, 4),
    }
    facts["histogram"] = {name: _compute_histogram(trials) for name, trials in parts.items()}
    facts["reliability"] = {name: _compute_reliability(trials) for name, trials in parts.items()}
    if controls is not None:
        unit = choose_count_unit(given.weight)
        counts = controls.counts(given, unit)
        facts["tables"] = {
            "given": counts["actual"],
            "minimum": counts["minimum"],
            "calibrated": controls.counts(calibrated, unit)["actual"],
        }
    return facts


def _compute_roc(trials: Trials) -> dict[str, Any]:
    """Compute the points of the ROC curve that are visible on a linear or a probit scale."""
    misses = trials.steps.misses / trials.n_targets
    alarms = trials.steps.false_alarms / trials.n_nontargets
    if len(misses) > FEW:
        kept = _select_visible(misses, alarms)
        misses, alarms = misses[kept], alarms[kept]
    return {"false_alarms": _round_list(alarms[::-1], 6), "misses": _round_list(misses[::-1], 6)}


def _select_visible(misses: Floats, alarms: Floats) -> Integers:
    """Select the points of a ROC curve that a linear or a probit scale of ``CELLS`` cells can show, and both ends.

    Along the curve, misses increase and false alarms decrease, so bisection finds the first point of each cell without
    reading all points. The point before it, which is the last point of the previous cell, is kept too, as in
    :func:`likely.plots.canvas.visible_points`.
    """
    probit, shares = probit_axis(1e-6, 1 - 1e-6), np.linspace(0, 1, CELLS + 1)
    edges = np.concatenate([shares, [value_at(probit, share) for share in shares.tolist()]])
    n = len(misses)
    first = np.concatenate([np.searchsorted(misses, edges), n - np.searchsorted(alarms[::-1], edges)])
    return np.unique(np.clip([*first, *(first - 1), 0, n - 1], 0, n - 1))


def _compute_histogram(trials: Trials) -> dict[str, Any]:
    """Return the share of each class in each bin of scores, and the shares outside the bins.

    The bins cover the range of nearly all scores.
    """
    steps = trials.steps
    low, high = _choose_range(trials)
    edges = np.searchsorted(
        steps.thresholds, np.append(np.linspace(low, high, BINS + 1)[:-1], np.nextafter(high, np.inf))
    )
    targets = steps.misses[edges] / trials.n_targets
    nontargets = 1 - steps.false_alarms[edges] / trials.n_nontargets
    return {
        "low": low,
        "high": high,
        "nontargets": _round_list(np.diff(nontargets), 6),
        "targets": _round_list(np.diff(targets), 6),
        "outside": _round_list(np.array([1 - nontargets[-1] + nontargets[0], 1 - targets[-1] + targets[0]]), 6),
    }


def _choose_range(trials: Trials) -> tuple[float, float]:
    """Return the ends of the range of scores to draw, low < high.

    The range contains the scores of each class except the lowest and the highest 0.2 %.
    """
    steps, ends = trials.steps, []
    for below, total in (
        (steps.misses, trials.n_targets),
        (trials.n_nontargets - steps.false_alarms, trials.n_nontargets),
    ):
        at = np.searchsorted(below, [0.002 * total, 0.998 * total], side="right") - 1
        ends.append(steps.thresholds[np.clip(at, 0, len(steps.thresholds) - 1)])
    finite = steps.thresholds[np.isfinite(steps.thresholds)]
    if not len(finite):
        return -1.0, 1.0
    low, high = np.clip([np.min(ends), np.max(ends)], finite[0], finite[-1])
    margin = 0.05 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def _compute_reliability(trials: Trials) -> dict[str, Any]:
    """Compute the blocks of the best monotone map (PAV). If there are many, keep the blocks with the most rows."""
    curve = trials.reliability_curve()
    sizes = curve.targets + curve.nontargets
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MAX_BLOCKS])
    return {
        "low": _round_list(curve.low[kept], 4),
        "high": _round_list(curve.high[kept], 4),
        "llr": _round_list(curve.llr[kept], 4),
        "targets": _round_list(curve.targets[kept], 3),
        "nontargets": _round_list(curve.nontargets[kept], 3),
    }


def _round_list(values: Floats, decimals: int) -> list[float | None]:
    """Round numbers for JSON. An infinite number becomes None."""
    return [value if np.isfinite(value) else None for value in np.round(values, decimals).tolist()]


def one_vs_rest_llr(log_likelihoods: Floats, k: int, priors: Floats) -> Floats:
    """Return the llr of one class against all others, weighted by their priors.

    log p(x | k) − log Σ_{j ≠ k} π_j p(x | j) / (1 − π_k). If all other classes have prior zero, they get equal weights.
    """
    others = np.arange(len(priors)) != k
    weights = priors[others] if priors[others].any() else np.ones(others.sum())
    rest = logsumexp(log_likelihoods[:, others], b=weights / weights.sum(), axis=1)
    return difference(log_likelihoods[:, k], rest)


# Costs against settings.


def grid_facts(leaderboard: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the costs of each family against its settings, in the order of the leaderboard.

    The x axis of a family is the setting that has the most values. There is one line for each combination of the other
    settings. Families whose systems do not differ in a setting are left out.
    """
    families: dict[str, list[dict[str, Any]]] = {}
    for row in leaderboard:
        if row["settings"] and row["family"] != "fusion":
            families.setdefault(row["family"], []).append(row)
    return [grid for family, rows in families.items() if (grid := _make_grid(family, rows)) is not None]


def _make_grid(family: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    parameter = _find_varied(rows)
    if parameter is None:
        return None
    rows = [row for row in rows if parameter in row["settings"]]
    values = list(dict.fromkeys(row["settings"][parameter] for row in rows))
    is_numeric = all(map(is_number, values))
    values = sorted(values, key=None if is_numeric else _natural_order)
    scale = "category"  # also for numbers if one of them is not positive
    if is_numeric and values[0] > 0:
        scale = "log" if values[-1] > WIDE * values[0] else "linear"
    lines: dict[str, dict[Any, dict[str, Any]]] = {}
    for row in rows:
        others = [_format_setting(value, name) for name, value in row["settings"].items() if name != parameter]
        lines.setdefault(", ".join(others), {})[row["settings"][parameter]] = row
    drawn = []
    for name, found in sorted(lines.items()):
        costs = [list(found[value]["costs"].values()) if value in found else None for value in values]
        means = {
            which: [None if each is None else mean_cost([cost[which] for cost in each]) for each in costs]
            for which in ("minimum", "actual")
        }
        drawn.append({"name": name, **means})
    shown = [_format_setting(value) for value in values] if scale == "category" else values
    return {"family": family, "parameter": parameter, "scale": scale, "values": shown, "lines": drawn}


def _find_varied(rows: list[dict[str, Any]]) -> str | None:
    """Return the name of the setting with the most distinct values, or None if no setting has two values.

    Settings that are numbers are preferred to settings that are choices.
    """
    values: dict[str, set[Any]] = {}
    for row in rows:
        for name, value in row["settings"].items():
            values.setdefault(name, set()).add(value)
    several = {name: found for name, found in values.items() if len(found) > 1}
    return max(several, key=lambda name: (all(map(is_number, several[name])), len(several[name])), default=None)


def _natural_order(text: Any) -> list[Any]:
    """Return a sort key that orders the numbers in texts by value: PCA 5 comes before PCA 10."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in re.split(r"(\d+)", str(text))]


def _format_setting(value: Any, name: str = "") -> str:
    """Return the text of a setting. If the value is a number, ``name``, the parameter, comes before it."""
    return f"{name} {value:g}".lstrip() if is_number(value) else str(value)
