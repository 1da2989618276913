"""Decisions from log-likelihoods, priors and costs."""

from likely.decisions.application import Application, as_application, highest, llr_threshold, training_priors
from likely.decisions.open_set import OpenSetCost, cost_of_open_set

__all__ = [
    "Application",
    "OpenSetCost",
    "as_application",
    "cost_of_open_set",
    "highest",
    "llr_threshold",
    "training_priors",
]
