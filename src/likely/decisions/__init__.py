"""Where evidence meets priors and costs: the one place that decides."""

from likely.decisions.application import Application, as_application, highest

__all__ = ["Application", "as_application", "highest"]
