"""Values that add: what a model needs to know of the rows, and nothing of how it will use it.

A statistic is immutable, has ``+`` and a zero, is made ``of`` rows, and knows no hyperparameter.
"""

from likely.statistics.by_class import ByClass
from likely.statistics.information import (
    Counts,
    conditional_entropy,
    conditional_gini,
    cross_entropy,
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
    "cross_entropy",
    "entropy",
    "gini",
    "information_gain",
    "kl_divergence",
]
