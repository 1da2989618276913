"""Where evidence meets priors and costs: the one place that decides."""

from likely.decisions.application import Application, as_application, highest
from likely.decisions.thresholds import llr_threshold
from likely.decisions.training_priors import training_priors

__all__ = ["Application", "as_application", "highest", "llr_threshold", "training_priors"]
