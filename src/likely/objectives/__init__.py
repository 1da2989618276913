"""Losses and solvers: what is minimised, and how."""

from likely.objectives.losses import logistic_loss, softmax_loss
from likely.objectives.newton import Solution, newton

__all__ = ["Solution", "logistic_loss", "newton", "softmax_loss"]
