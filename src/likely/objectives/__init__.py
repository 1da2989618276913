"""Losses, penalties and solvers."""

from likely.objectives.cross_entropy import logistic_loss, softmax_loss
from likely.objectives.newton import Goal, Solution, newton
from likely.objectives.problem import ElasticNet, LinearProblem, resolve_penalty
from likely.objectives.separation import Separator, find_separator
from likely.objectives.solvers import GradientDescent, choose_solver
from likely.objectives.svm.hard_margin import Overlap
from likely.objectives.svm.task import DualSolver, PrimalSolver

__all__ = [
    "DualSolver",
    "ElasticNet",
    "Goal",
    "GradientDescent",
    "LinearProblem",
    "Overlap",
    "PrimalSolver",
    "Separator",
    "Solution",
    "choose_solver",
    "find_separator",
    "logistic_loss",
    "newton",
    "resolve_penalty",
    "softmax_loss",
]
