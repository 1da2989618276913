"""One system's scores as curves of few points: what the page draws, for any number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr

from likely._numerics import difference
from likely._typing import Floats
from likely.evaluation import Trials
from likely.report.explorer import Controls, unit_of

__all__ = ["against_the_rest", "series_facts"]

LEVELS, BINS, MOST_BLOCKS = 150, 60, 200
"""Rates at which a curve has a point, on a plain and on a probit scale; bins of a histogram; blocks of a map."""


def series_facts(given: Trials, calibrated: Trials, controls: Controls | None = None) -> dict[str, Any]:
    """Curves of a system: of its scores as they were given, and calibrated; the explorer's counts with its controls."""
    parts = {"given": given, "calibrated": calibrated}
    facts: dict[str, Any] = {"eer": given.eer(), "auc": given.auc()}
    facts["roc"] = {name: _roc(trials) for name, trials in parts.items()}
    facts["bayes_error"] = _bayes_error(given, calibrated)
    facts["histogram"] = {name: _histogram(trials) for name, trials in parts.items()}
    facts["reliability"] = {name: _reliability(trials) for name, trials in parts.items()}
    if controls is not None:
        unit = unit_of(given.weight)
        counts = controls.counts(given, unit)
        facts["tables"] = {
            "given": counts["actual"],
            "minimum": counts["minimum"],
            "calibrated": controls.counts(calibrated, unit)["actual"],
        }
    return facts


def _roc(trials: Trials) -> dict[str, Any]:
    """Corners of the ROC near fixed rates, on both scales that it is drawn on."""
    misses = trials.steps.misses / trials.n_targets
    alarms = trials.steps.false_alarms / trials.n_nontargets
    if len(misses) > 4 * LEVELS:
        levels = np.concatenate([np.linspace(0, 1, LEVELS), ndtr(np.linspace(-5, 5, LEVELS))])
        at = [np.searchsorted(misses, levels), len(alarms) - 1 - np.searchsorted(alarms[::-1], levels)]
        kept = np.unique(np.clip(np.concatenate([[0, len(misses) - 1], *at]), 0, len(misses) - 1))
        misses, alarms = misses[kept], alarms[kept]
    return {"false_alarms": shortened(alarms[::-1], 6), "misses": shortened(misses[::-1], 6)}


def _bayes_error(given: Trials, calibrated: Trials) -> dict[str, Any]:
    curve, mended = given.bayes_error(), calibrated.bayes_error()
    return {
        "log_odds": shortened(curve.prior_log_odds, 3),
        "given": shortened(curve.actual, 4),
        "calibrated": shortened(mended.actual, 4),
        "minimum": shortened(curve.minimum, 4),
    }


def _histogram(trials: Trials) -> dict[str, Any]:
    """Shares of each class by score, between scores that nearly all lie between."""
    steps = trials.steps
    low, high = _range(trials)
    edges = np.searchsorted(
        steps.thresholds, np.append(np.linspace(low, high, BINS + 1)[:-1], np.nextafter(high, np.inf))
    )
    targets = steps.misses[edges] / trials.n_targets
    nontargets = 1 - steps.false_alarms[edges] / trials.n_nontargets
    return {
        "low": low,
        "high": high,
        "nontargets": shortened(np.diff(nontargets), 6),
        "targets": shortened(np.diff(targets), 6),
        "outside": shortened(np.array([1 - nontargets[-1] + nontargets[0], 1 - targets[-1] + targets[0]]), 6),
    }


def _range(trials: Trials) -> tuple[float, float]:
    """From where to where to draw: all but a few of each class, and never nothing."""
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
    room = 0.05 * (high - low) or 0.5
    return float(low - room), float(high + room)


def _reliability(trials: Trials) -> dict[str, Any]:
    """Blocks of the best monotone map; of many, those with the most rows."""
    curve = trials.reliability()
    sizes = curve.targets + curve.nontargets
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_BLOCKS])
    return {
        "low": shortened(curve.low[kept], 4),
        "high": shortened(curve.high[kept], 4),
        "llr": shortened(curve.llr[kept], 4),
        "targets": shortened(curve.targets[kept], 3),
        "nontargets": shortened(curve.nontargets[kept], 3),
    }


def shortened(values: Floats, decimals: int) -> list[float | None]:
    """A list of numbers as a file should have them: rounded, and None where infinite."""
    return [value if np.isfinite(value) else None for value in np.round(values, decimals).tolist()]


def against_the_rest(log_likelihoods: Floats, k: int, priors: Floats) -> Floats:
    """The llr of one class against all others, these weighed by their priors.

    log p(x | k) − log Σ_{j ≠ k} π_j p(x | j) / (1 − π_k); others that are all of prior zero are weighed alike.
    """
    others = np.arange(len(priors)) != k
    weights = priors[others] if priors[others].any() else np.ones(others.sum())
    rest = logsumexp(log_likelihoods[:, others], b=weights / weights.sum(), axis=1)
    return difference(log_likelihoods[:, k], rest)
