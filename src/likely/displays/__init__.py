"""Plots with matplotlib, which this package alone imports, and only when something is drawn.

``from_predictions`` and ``from_estimator`` compute a display; ``plot`` draws it; ``frame`` tabulates its points.
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
