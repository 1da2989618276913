"""Scores of targets and nontargets, sorted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Booleans, Floats, Integers

MANY = 2**16
"""Steps from which on resamples are drawn of fewer."""

_ALL, _FINENESS = 500, 0.002
"""Of fewer steps, those at the ends that are all kept, and how much of what lies beyond it each further one spans."""

CHUNK = 2**15
"""Steps worked on at a time: their temporaries stay in the cache, and no copy of all scores is made."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The distinct scores, and what is missed and falsely accepted from each of them on.

    Attributes
    ----------
    thresholds : array of shape (steps,)
        The distinct scores, ascending; each is some trial's.
    misses : array of shape (steps + 1,)
        Weight of the targets below each threshold, and of all targets in the last place.
    false_alarms : array of shape (steps + 1,)
        Weight of the nontargets at or above each threshold, and 0 in the last place, where nothing is accepted.
    """

    thresholds: Floats
    misses: Floats
    false_alarms: Floats

    def __post_init__(self) -> None:
        for array in (self.thresholds, self.misses, self.false_alarms):
            array.flags.writeable = False

    @classmethod
    def of(cls, scores: Floats, is_target: Booleans, weight: Floats | None = None) -> Steps:
        """Sort scores of targets and nontargets; those of weight 0 are left out."""
        if weight is not None:
            order = np.argsort(scores)
            order = order[weight[order] > 0]
            scores, is_target, weight = scores[order], is_target[order], weight[order]
        else:
            scores, is_target = _sorted_by_merging(scores, is_target)
        below = np.concatenate(
            [[0.0], np.cumsum(is_target if weight is None else is_target * weight, dtype=np.float64)]
        )
        if weight is None:
            above = np.arange(len(scores), -1.0, -1.0)
            above -= below[-1]
            above += below  # nontargets from i on = trials from i on − (all targets − targets before i)
        else:
            above = np.concatenate([[0.0], np.cumsum(~is_target * weight)])
            np.subtract(above[-1], above, out=above)
        return cls._without_ties(scores, below, above)

    @classmethod
    def _without_ties(cls, scores: Floats, misses: Floats, false_alarms: Floats) -> Steps:
        firsts = np.empty(len(scores) + 1, dtype=bool)
        firsts[[0, -1]] = True
        np.not_equal(scores[1:], scores[:-1], out=firsts[1:-1])
        if firsts.all():
            return cls(scores, misses, false_alarms)
        return cls(scores[firsts[:-1]], misses[firsts], false_alarms[firsts])

    def cells_of(self, scores: Floats, is_target: Booleans) -> Integers:
        """Where rows are counted: the step of each score, which may be its own or the next below; targets after all."""
        step = np.maximum(np.searchsorted(self.thresholds, scores, side="right") - 1, 0)
        return np.asarray(step + len(self.thresholds) * is_target)

    def reweighted(self, cell_of_row: Integers, weight: Floats) -> Steps:
        """The steps of the same scores at other weights, without sorting; steps without weight are left out."""
        nontargets, targets = np.bincount(cell_of_row, weight, 2 * len(self.thresholds)).reshape(2, -1)
        kept = (targets > 0) | (nontargets > 0)
        below = np.concatenate([[0.0], np.cumsum(targets[kept])])
        above = np.concatenate([[0.0], np.cumsum(nontargets[kept])])
        return Steps(self.thresholds[kept], below, above[-1] - above)

    def fewer(self) -> Steps:
        """Some of the steps, near each other where few rows of a class lie beyond: there rates are small.

        Between neighbours lies about a five hundredth of either class's rows beyond them, on either side, or two rows.
        """
        last = len(self.thresholds) - 1
        kept = [np.array([0, 1, last])]
        for beyond in (
            self.misses,
            self.misses[-1] - self.misses,
            self.false_alarms,
            self.false_alarms[0] - self.false_alarms,
        ):
            rises = beyond[-1] > beyond[0]
            at = np.searchsorted(beyond if rises else beyond[::-1], _levels(float(beyond.max()), len(beyond)))
            kept.append(at if rises else len(beyond) - 1 - at)
        at = np.unique(np.clip(np.concatenate(kept), 0, last))
        ends = np.append(at, len(self.thresholds))
        return Steps(self.thresholds[at], self.misses[ends], self.false_alarms[ends])


def _levels(most: float, n_steps: int) -> Floats:
    """Weights up to a total, first by what a step weighs in the mean, then in proportion to themselves."""
    n = int(np.log(max(n_steps / _ALL, 1)) / np.log1p(_FINENESS)) + 1
    return most / n_steps * np.concatenate([np.arange(_ALL), _ALL * (1 + _FINENESS) ** np.arange(n)])


def _sorted_by_merging(scores: Floats, is_target: Booleans) -> tuple[Floats, Booleans]:
    """Scores in ascending order, and which are targets'.

    Sorting each class by itself and merging the two runs, which a stable sort finds, takes half the time of sorting
    positions.
    """
    nontargets, targets = np.sort(scores[~is_target]), np.sort(scores[is_target])
    runs = np.concatenate([nontargets, targets])
    order = np.argsort(runs, kind="stable")
    return runs[order], order >= len(nontargets)
