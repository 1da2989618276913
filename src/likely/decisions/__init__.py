"""Where evidence meets priors and costs: the one place that decides."""

from likely.decisions.application import Application, as_application

__all__ = ["Application", "as_application"]
