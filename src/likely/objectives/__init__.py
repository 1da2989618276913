"""Losses, penalties and solvers: what is minimised, and how."""

from likely.objectives.losses import logistic_loss, softmax_loss
from likely.objectives.newton import newton
from likely.objectives.penalties import ElasticNet, penalty_of
from likely.objectives.problem import LinearProblem
from likely.objectives.sampling import census
from likely.objectives.separation import Separator, separator_of
from likely.objectives.solution import Solution
from likely.objectives.solvers import GradientDescent, Solver, solver_of
from likely.objectives.svm.hard_margin import Overlap
from likely.objectives.svm.options import DualSolver, PrimalSolver

__all__ = [
    "DualSolver",
    "ElasticNet",
    "GradientDescent",
    "LinearProblem",
    "Overlap",
    "PrimalSolver",
    "Separator",
    "Solution",
    "Solver",
    "census",
    "logistic_loss",
    "newton",
    "penalty_of",
    "separator_of",
    "softmax_loss",
    "solver_of",
]
