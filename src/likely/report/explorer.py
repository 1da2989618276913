"""What the decision explorer holds: exact counts at every threshold its sliders can reach, or a sample of more classes.

Two classes are decided by a threshold on the llr, or by two where rejecting has a price. Sliders have few positions, so
few thresholds can come up, and the counts at these are all that is needed: any number of rows becomes a short text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likely._typing import Floats, Integers
from likely.decisions import Application
from likely.evaluation import Trials
from likely.report.coding import encoded

__all__ = ["Controls", "Sample", "application_facts", "sample_rows"]

_UP_TO_HALF = (0.001, 0.002, 0.005, *(k / 100 for k in range(1, 10)), *(k / 20 for k in range(2, 10)))
PRIORS = (*_UP_TO_HALF, 0.5, *(round(1 - prior, 3) for prior in reversed(_UP_TO_HALF)))
COSTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
REJECT_COSTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, *COSTS[:-1])
"""Positions of the sliders, besides those of the applications at hand."""

RESOLUTION = 1e-9
"""Thresholds nearer to each other than this are one: they are the same number, rounded in different ways."""

MOST_SAMPLED, MOST_VALUES, DEEPEST = 2000, 60_000, 100.0
"""Rows of a sample; scores in all samples of a page; and what a log-likelihood below the row's highest is cut at."""


@dataclass(frozen=True)
class Controls:
    """Positions of the sliders of two classes' explorer.

    Attributes
    ----------
    priors, costs, reject_costs : tuple of float
        Ascending.
    """

    priors: tuple[float, ...] = PRIORS
    costs: tuple[float, ...] = COSTS
    reject_costs: tuple[float, ...] = REJECT_COSTS

    @classmethod
    def around(cls, applications: Iterable[Application]) -> Controls:
        """The usual positions, and those of some applications, whose second class is the target."""
        priors, costs, rejects = set(PRIORS), set(COSTS), set(REJECT_COSTS)
        for application in applications:
            facts = application_facts(application)
            priors.add(facts["prior"])
            costs.update((facts["cost_fn"], facts["cost_fp"]))
            rejects.update(() if application.reject_cost is None else (float(application.reject_cost),))
        return cls(*(tuple(sorted(each for each in part if each > 0)) for part in (priors, costs, rejects)))

    @cached_property
    def thresholds(self) -> Floats:
        """Every threshold that some position of the sliders decides by, ascending."""
        odds = np.array([np.log1p(-prior) - np.log(prior) for prior in self.priors])
        costs, rejects = np.array(self.costs), np.array(self.reject_costs)
        ratios = np.log(costs[:, None] / costs).ravel()
        shares = (rejects[:, None] / costs).ravel()
        shares = shares[shares < 1]
        rejecting = np.log(shares) - np.log1p(-shares)
        offsets = _distinct(np.concatenate([ratios, rejecting, -rejecting]))
        return _distinct((odds[:, None] + offsets).ravel())

    def to_dict(self) -> dict[str, Any]:
        """As the page's script reads it: thresholds as differences in units of the resolution."""
        units = np.rint(self.thresholds / RESOLUTION).astype(np.int64)
        return {
            "priors": list(self.priors),
            "costs": list(self.costs),
            "reject_costs": list(self.reject_costs),
            "first": int(units[0]),
            "steps": encoded(np.diff(units).tolist()),
            "resolution": RESOLUTION,
        }

    def counts(self, trials: Trials, unit: float) -> dict[str, str]:
        """Targets and nontargets below each threshold: by the scores as they are, and by the best monotone map of them.

        A text holds a triple for each threshold at which a count changes: how many thresholds further it is, and what
        comes to the targets and to the nontargets, in units of weight.
        """
        pooled = trials.pooled
        as_is = np.searchsorted(trials.steps.thresholds, self.thresholds)
        at_best = np.searchsorted(pooled.llr, self.thresholds)
        n = trials.n_nontargets
        return {
            "actual": _changes(trials.steps.misses[as_is], n - trials.steps.false_alarms[as_is], unit),
            "minimum": _changes(pooled.misses[at_best], n - pooled.false_alarms[at_best], unit),
        }


def _distinct(values: Floats) -> Floats:
    """Ascending, and without those that only rounding tells apart; what is nearly 0 is 0."""
    ordered = np.sort(values)
    kept = ordered[np.append(True, np.diff(ordered) > RESOLUTION)]
    return np.where(np.abs(kept) < RESOLUTION, 0.0, kept)


def _changes(targets: Floats, nontargets: Floats, unit: float) -> str:
    below = np.rint(np.column_stack([targets, nontargets]) / unit).astype(np.int64)
    rises = np.diff(below, axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    at = np.flatnonzero(rises.any(axis=1))
    gaps = np.diff(at, prepend=0)
    return encoded(np.column_stack([gaps, rises[at]]).ravel().tolist())


def application_facts(application: Application) -> dict[str, Any]:
    """Prior of the target, which is the second class, what mistakes cost, and what follows of it."""
    excess = application.costs.max(axis=1) - application.costs.diagonal()
    return {
        "prior": float(application.priors[1]),
        "cost_fn": float(excess[1]),
        "cost_fp": float(excess[0]),
        "threshold": application.threshold,
        "effective_prior": application.effective_prior,
    }


def unit_of(weight: Floats | None) -> float:
    """What one count stands for: 1, or a small part of the whole where weights are no whole numbers."""
    if weight is None or not np.any(weight % 1):
        return 1.0
    return float(weight.sum() / 1e9)


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of more than two classes, on which the explorer decides.

    Attributes
    ----------
    rows : array of positions
    codes : array
        Their classes.
    totals : list of float
        Weights of the classes among all rows.
    of : int
        How many rows there are in all.
    """

    rows: Integers
    codes: Integers
    totals: list[float]
    of: int

    def to_dict(self, scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """As the page's script reads it; scores are dictionaries with an array, which is shortened to thousandths."""
        return {
            "codes": encoded(self.codes.tolist()),
            "rows": len(self.rows),
            "of": self.of,
            "totals": self.totals,
            "resolution": 1e-3,
            "systems": [part | {"scores": self._shortened(part["scores"])} for part in scores],
        }

    def _shortened(self, scores: Floats) -> str:
        values = scores[self.rows]
        with np.errstate(invalid="ignore"):
            depth = np.nan_to_num(values.max(axis=1, keepdims=True) - values, nan=0.0, posinf=DEEPEST)
        return encoded(np.rint(np.minimum(depth, DEEPEST) * 1e3).astype(np.int64).ravel().tolist())


def sample_rows(codes: Integers, n_classes: int, weight: Floats | None, n_systems: int) -> Sample:
    """As many rows of each class as its share allows, one at least, so that all scores of all systems stay few.

    Rows of different weights are drawn in proportion to them. The same rows come up each time.
    """
    most = max(n_classes, min(MOST_SAMPLED, MOST_VALUES // (n_classes * n_systems)))
    counts = np.bincount(codes, minlength=n_classes)
    shares = counts if len(codes) <= most else np.maximum(counts * most // len(codes), np.minimum(counts, 1))
    rng = np.random.default_rng(0)
    rows = np.concatenate([_drawn(np.flatnonzero(codes == k), shares[k], weight, rng) for k in range(n_classes)])
    totals = np.bincount(codes, weight, minlength=n_classes).astype(float).tolist()
    return Sample(np.sort(rows), codes[np.sort(rows)], totals, len(codes))


def _drawn(rows: Integers, count: int, weight: Floats | None, rng: np.random.Generator) -> Integers:
    if weight is not None and np.ptp(weight[rows]) > 0:
        return np.asarray(rng.choice(rows, count, p=weight[rows] / weight[rows].sum()))
    return rows if count == len(rows) else rng.choice(rows, count, replace=False)
