"""Where evidence meets priors and costs: the one place that decides."""

from likely.decisions.application import Application

__all__ = ["Application"]
