"""Plots with matplotlib, which only this package imports, and only when it draws.

``from_predictions`` and ``from_estimator`` compute a display, ``plot`` draws it, and ``frame`` returns its points as a
data frame.
"""

from likely.displays.costs import BayesErrorDisplay, CostCurveDisplay, CrossEntropyDisplay, RiskCoverageDisplay
from likely.displays.decisions import ConfusionDisplay, DecisionRegionsDisplay
from likely.displays.rates import DetDisplay, RocDisplay
from likely.displays.scores import ReliabilityDisplay, ScoreHistogramDisplay, TippettDisplay
from likely.displays.weights import WeightsDisplay

__all__ = [
    "BayesErrorDisplay",
    "ConfusionDisplay",
    "CostCurveDisplay",
    "CrossEntropyDisplay",
    "DecisionRegionsDisplay",
    "DetDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RocDisplay",
    "ScoreHistogramDisplay",
    "TippettDisplay",
    "WeightsDisplay",
]
