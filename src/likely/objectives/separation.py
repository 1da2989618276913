"""Whether classes can be told apart without mistakes, so that an unpenalised likelihood has no maximum."""

from __future__ import annotations

from dataclasses import dataclass

from likely._typing import Floats
from likely.objectives import linear
from likely.objectives.margins import Margins
from likely.objectives.matrix_free import matrix_free_newton
from likely.objectives.newton import newton
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution

__all__ = ["Separator", "separator_of"]

FEW_PARAMETERS = 1000
"""Up to so many a Hessian is formed to see whether a flat direction is left."""


@dataclass(frozen=True, eq=False)
class Separator:
    """The certificate that classes are separable: along its direction no training row is on the wrong side.

    Attributes
    ----------
    coef : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept : array of shape (1,) or (n_classes,)
    least_margin : float
        By how much the truth of the least favoured row is favoured over its best rival: > 0 where the classes are
        apart, 0 where some rows lie on the boundary.
    most_margin : float
        Of the most favoured row.
    """

    coef: Floats
    intercept: Floats
    least_margin: float
    most_margin: float


def separator_of(problem: LinearProblem, solution: Solution) -> Separator | None:
    """A direction that favours the truth of some rows and harms none, if there is one at a solver's end.

    Either the objective fell so low that the parameters themselves are one, or a step is left when nothing is left to
    gain: along it the likelihood is flat because it has no maximum. Solvers that know no curvature leave no such step;
    then a few of Newton's method are made, by products with the Hessian where it is large.
    """
    lowest = problem.lowest_mixed_value
    if solution.objective.value >= lowest and solution.resting_step is None:
        solution = _newton_steps(problem, solution, lowest)
    if solution.objective.value < lowest:
        return _separator(problem, solution.parameters)
    return None if solution.flat_step is None else _separator(problem, solution.flat_step)


def _newton_steps(problem: LinearProblem, solution: Solution, lowest: float) -> Solution:
    if problem.n_parameters <= FEW_PARAMETERS:
        return newton(problem.curvature, solution.parameters, most_iterations=20, bottom=lowest)
    return matrix_free_newton(problem, solution.parameters, 1e-12, 3, lowest, most_products=100)


def _separator(problem: LinearProblem, v: Floats) -> Separator | None:
    theta = problem.natural(v)
    margins: Margins = problem.source.reduce(linear.margins, theta, problem.setting)
    coef = theta[:, :-1]
    offset = theta[:, -1] - coef @ problem.setting.centre
    return Separator(coef, offset, max(margins.least, 0.0), margins.most) if margins.harm_none else None
