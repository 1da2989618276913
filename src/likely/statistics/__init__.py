"""Statistics: sums over rows from which models are estimated.

A statistic is an immutable value with ``+`` and a zero. The class method ``of`` computes the statistic from rows. A
statistic does not depend on hyperparameters.
"""

from likely.statistics.by_class import ByClass
from likely.statistics.information import (
    Counts,
    conditional_entropy,
    conditional_gini,
    distribution_cross_entropy,
    entropy,
    gini,
    information_gain,
    kl_divergence,
)
from likely.statistics.joint import JointMoments
from likely.statistics.moments import DiagonalMoments, LinearMap, Moments

__all__ = [
    "ByClass",
    "Counts",
    "DiagonalMoments",
    "JointMoments",
    "LinearMap",
    "Moments",
    "conditional_entropy",
    "conditional_gini",
    "distribution_cross_entropy",
    "entropy",
    "gini",
    "information_gain",
    "kl_divergence",
]
