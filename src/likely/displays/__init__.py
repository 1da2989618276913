"""Pictures of curves: the only room that imports matplotlib, and only when something is drawn.

``from_predictions`` and ``from_estimator`` compute a display; ``plot`` draws it; ``frame`` gives its points as a table.
"""

from likely.displays.bayes_error import BayesErrorDisplay
from likely.displays.confusion import ConfusionDisplay
from likely.displays.cost_curve import CostCurveDisplay
from likely.displays.cross_entropy import CrossEntropyDisplay
from likely.displays.decision_regions import DecisionRegionsDisplay
from likely.displays.det import DetDisplay
from likely.displays.reliability import ReliabilityDisplay
from likely.displays.risk_coverage import RiskCoverageDisplay
from likely.displays.roc import RocDisplay
from likely.displays.score_histogram import ScoreHistogramDisplay
from likely.displays.tippett import TippettDisplay
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
