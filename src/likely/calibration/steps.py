"""Sorted scores of targets and nontargets, with cumulative error counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Booleans, Floats, Integers

MAX_RESAMPLED_STEPS = 2**16
"""Maximum number of steps with which resamples (such as those of the bootstrap) are computed. If there are more steps,
the resamples use a subsample of them."""

_ALL, _FINENESS = 500, 0.002
"""Density of a subsample: about _ALL steps are kept at each end. Further inside, the weight of a class beyond a step
grows by the factor 1 + _FINENESS from one kept step to the next."""

CHUNK = 2**15
"""Number of steps processed at a time, so that temporary arrays stay in the cache and the scores are not copied."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Distinct scores in ascending order, with the misses and false alarms if the threshold is that score.

    A step is the change of the error counts at one distinct score.

    Attributes
    ----------
    thresholds : array of shape (steps,)
        Distinct scores of the trials, in ascending order.
    misses : array of shape (steps + 1,)
        Weight of the targets below each threshold; the last entry is the weight of all targets.
    false_alarms : array of shape (steps + 1,)
        Weight of the nontargets at or above each threshold; the last entry is 0, because nothing is accepted.
    """

    thresholds: Floats
    misses: Floats
    false_alarms: Floats

    def __post_init__(self) -> None:
        for array in (self.thresholds, self.misses, self.false_alarms):
            array.flags.writeable = False

    @classmethod
    def of(cls, scores: Floats, is_target: Booleans, weight: Floats | None = None) -> Steps:
        """Return the steps of the scores of targets and nontargets. Scores of weight 0 are dropped."""
        if weight is not None:
            order = np.argsort(scores)
            order = order[weight[order] > 0]
            scores, is_target, weight = scores[order], is_target[order], weight[order]
        else:
            scores, is_target = _sort_by_merging(scores, is_target)
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
        return cls._merge_ties(scores, below, above)

    @classmethod
    def _merge_ties(cls, scores: Floats, misses: Floats, false_alarms: Floats) -> Steps:
        firsts = np.empty(len(scores) + 1, dtype=bool)
        firsts[[0, -1]] = True
        np.not_equal(scores[1:], scores[:-1], out=firsts[1:-1])
        if firsts.all():
            return cls(scores, misses, false_alarms)
        return cls(scores[firsts[:-1]], misses[firsts], false_alarms[firsts])

    def cells_of(self, scores: Floats, is_target: Booleans) -> Integers:
        """Return, for each row, the number of the cell in which it is counted.

        The cell of a nontarget is the index of its step. The cell of a target is the index of its step plus the number
        of steps. The step of a score is the largest threshold that does not exceed the score, or the first threshold if
        all of them exceed it.
        """
        step = np.maximum(np.searchsorted(self.thresholds, scores, side="right") - 1, 0)
        return np.asarray(step + len(self.thresholds) * is_target)

    def reweighted(self, cell_of_row: Integers, weight: Floats) -> Steps:
        """Return the steps of the same scores with other weights, without sorting the scores again.

        ``cell_of_row`` is the result of ``cells_of``. Steps of weight 0 are dropped.
        """
        nontargets, targets = np.bincount(cell_of_row, weight, 2 * len(self.thresholds)).reshape(2, -1)
        kept = (targets > 0) | (nontargets > 0)
        below = np.concatenate([[0.0], np.cumsum(targets[kept])])
        above = np.concatenate([[0.0], np.cumsum(nontargets[kept])])
        return Steps(self.thresholds[kept], below, above[-1] - above)

    def subsample(self) -> Steps:
        """Return a subsample of the steps for faster resamples.

        The subsample is denser near the ends, where few rows of a class lie beyond a step and error rates are small.
        Between neighbouring steps of the subsample, the weight of each class is at most about 1/500 of the weight of
        this class beyond them (on the side where it is smaller), or about the mean weight of a step.
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
    """Return increasing weights from 0 to about ``most``, the total weight of a class, for a subsample.

    The first _ALL weights are multiples of ``most / n_steps``. The others grow by the factor 1 + _FINENESS.
    """
    n = int(np.log(max(n_steps / _ALL, 1)) / np.log1p(_FINENESS)) + 1
    return most / n_steps * np.concatenate([np.arange(_ALL), _ALL * (1 + _FINENESS) ** np.arange(n)])


def _sort_by_merging(scores: Floats, is_target: Booleans) -> tuple[Floats, Booleans]:
    """Return the scores in ascending order, and which of them belong to targets.

    The scores of each class are sorted separately, and a stable sort merges the two sorted arrays. This takes half the
    time of one ``argsort`` of all scores.
    """
    nontargets, targets = np.sort(scores[~is_target]), np.sort(scores[is_target])
    runs = np.concatenate([nontargets, targets])
    order = np.argsort(runs, kind="stable")
    return runs[order], order >= len(nontargets)
