"""Pooling adjacent violators: the best monotone map of scores to log-likelihood ratios."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression

from likely._numerics import log
from likely._typing import Booleans, Floats, Integers
from likely.calibration.steps import CHUNK, Steps


@dataclass(frozen=True, eq=False)
class Pooled:
    """Blocks of neighbouring steps, within which targets and nontargets are told apart no further.

    Attributes
    ----------
    starts : array of shape (blocks + 1,)
        Position of the first step of each block, and the number of steps in the last place.
    misses, false_alarms : arrays of shape (blocks + 1,)
        Weight of the targets below, and of the nontargets at or above, each start: the corners of the convex hull of
        the ROC.
    """

    starts: Integers
    misses: Floats
    false_alarms: Floats

    @property
    def targets(self) -> Floats:
        """Weight of the targets in each block."""
        return np.diff(self.misses)

    @property
    def nontargets(self) -> Floats:
        """Weight of the nontargets in each block."""
        return np.asarray(self.false_alarms[:-1] - self.false_alarms[1:])

    @cached_property
    def llr(self) -> Floats:
        """Log-likelihood ratio of each block, rising from block to block; infinite where it holds one class alone."""
        odds = log(self.targets) - log(self.nontargets)
        return np.asarray(odds - (np.log(self.misses[-1]) - np.log(self.false_alarms[0])))


def pool(steps: Steps) -> Pooled:
    """Pool neighbouring steps until the share of targets rises from block to block.

    Notes
    -----
    A block can only begin where the share of targets rises from one step to the next. All else is pooled first, which
    leaves few steps to the isotonic regression.
    """
    starts = np.concatenate([[0], np.flatnonzero(_rises(steps)), [len(steps.thresholds)]])
    misses, false_alarms = steps.misses[starts], steps.false_alarms[starts]
    targets, nontargets = np.diff(misses), -np.diff(false_alarms)
    weight = targets + nontargets
    corners = isotonic_regression(targets / weight, weights=weight).blocks
    return Pooled(starts[corners], misses[corners], false_alarms[corners])


def _rises(steps: Steps) -> Booleans:
    """Whether each step has a larger share of targets than the step before it."""
    n = len(steps.thresholds)
    rises = np.zeros(n, dtype=bool)
    for start in range(1, n, CHUNK):
        stop = min(start + CHUNK, n)
        targets = np.diff(steps.misses[start - 1 : stop + 1]) / steps.misses[-1]
        nontargets = np.diff(steps.false_alarms[start - 1 : stop + 1]) / -steps.false_alarms[0]
        np.less(targets[:-1] * nontargets[1:], targets[1:] * nontargets[:-1], out=rises[start:stop])
    return rises
