"""Where evidence meets priors and costs: the one place that decides."""

from likely.decisions.application import Application, as_application, highest
from likely.decisions.open_set import OpenSetCost, cost_of_open_set
from likely.decisions.thresholds import llr_threshold
from likely.decisions.training_priors import training_priors

__all__ = [
    "Application",
    "OpenSetCost",
    "as_application",
    "cost_of_open_set",
    "highest",
    "llr_threshold",
    "training_priors",
]
