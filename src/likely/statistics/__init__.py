"""Values that add: what a model needs to know of the rows, and nothing of how it will use it.

A statistic is immutable, has ``+`` and a zero, is made ``of`` rows, and knows no hyperparameter.
"""

from likely.statistics.by_class import ByClass
from likely.statistics.counts import Counts
from likely.statistics.information import (
    conditional_entropy,
    conditional_gini,
    cross_entropy,
    entropy,
    gini,
    information_gain,
    kl_divergence,
)
from likely.statistics.joint import JointMoments
from likely.statistics.linear_map import LinearMap
from likely.statistics.moments import DiagonalMoments, Moments

__all__ = [
    "ByClass",
    "Counts",
    "DiagonalMoments",
    "JointMoments",
    "LinearMap",
    "Moments",
    "conditional_entropy",
    "conditional_gini",
    "cross_entropy",
    "entropy",
    "gini",
    "information_gain",
    "kl_divergence",
]
