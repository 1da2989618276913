"""Pool adjacent violators (PAV): isotonic regression of the labels on the scores.

Let the trials be sorted by score, each score with its weight of targets and nontargets. PAV finds the nondecreasing
posterior of the target that minimises the squared error, and with it every proper scoring rule (Brümmer and du Preez,
2013). It starts with one block per score. As long as the share of targets of a block does not exceed that of the block
before it, PAV pools the two blocks. The log-likelihood ratio of a block is its log odds of targets minus the log odds
of all trials. The ends of the blocks are the corners of the convex hull of the ROC curve (Fawcett and Niculescu-Mizil,
2007).

References
----------
M. Ayer, H. D. Brunk, G. M. Ewing, W. T. Reid and E. Silverman, An empirical distribution function for sampling with
incomplete information, Annals of Mathematical Statistics 26 (1955).
T. Fawcett and A. Niculescu-Mizil, PAV and the ROC convex hull, Machine Learning 68 (2007).
N. Brümmer and J. du Preez, The PAV algorithm optimizes binary proper scoring rules, arXiv:1304.2331 (2013).
"""

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
    """Blocks of adjacent steps that PAV has pooled. All scores of a block have the same log-likelihood ratio.

    Attributes
    ----------
    starts : array of shape (blocks + 1,)
        Index of the first step of each block; the last entry is the number of steps.
    misses, false_alarms : arrays of shape (blocks + 1,)
        Weight of the targets below each start, and of the nontargets at or above it: the corners of the convex hull of
        the ROC curve.
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
        """Log-likelihood ratio of each block, increasing from block to block; infinite for a block of one class."""
        # log(targets / nontargets) of the block minus log(targets / nontargets) of all trials, so the prior odds cancel
        odds = log(self.targets) - log(self.nontargets)
        return np.asarray(odds - (np.log(self.misses[-1]) - np.log(self.false_alarms[0])))


def pool(steps: Steps) -> Pooled:
    """Pool adjacent steps into blocks until the share of targets increases from block to block; return the blocks.

    Notes
    -----
    A block of the solution can only begin where the share of targets increases from one step to the next. All other
    steps are pooled first in a vectorised pass, which leaves few steps to the sequential isotonic regression.
    """
    # 1. Pool every step whose share of targets does not exceed that of the step before it.
    starts = np.concatenate([[0], np.flatnonzero(_has_larger_share(steps)), [len(steps.thresholds)]])
    misses, false_alarms = steps.misses[starts], steps.false_alarms[starts]
    targets, nontargets = np.diff(misses), -np.diff(false_alarms)
    # 2. Run PAV on the remaining blocks: weighted isotonic regression of the share of targets.
    weight = targets + nontargets
    corners = isotonic_regression(targets / weight, weights=weight).blocks
    # 3. Keep the corners of the convex hull of the ROC curve: the first step of each remaining block.
    return Pooled(starts[corners], misses[corners], false_alarms[corners])


def _has_larger_share(steps: Steps) -> Booleans:
    """Return, for each step, whether its share of targets exceeds that of the step before it (False for the first)."""
    n = len(steps.thresholds)
    rises = np.zeros(n, dtype=bool)
    for start in range(1, n, CHUNK):
        stop = min(start + CHUNK, n)
        targets = np.diff(steps.misses[start - 1 : stop + 1]) / steps.misses[-1]
        nontargets = np.diff(steps.false_alarms[start - 1 : stop + 1]) / -steps.false_alarms[0]
        # t_{i-1} / n_{i-1} < t_i / n_i, cross-multiplied so that steps without nontargets need no division.
        np.less(targets[:-1] * nontargets[1:], targets[1:] * nontargets[:-1], out=rises[start:stop])
    return rises
