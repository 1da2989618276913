"""Whether classes can be told apart without mistakes, so that an unpenalised likelihood has no maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from likely._typing import Floats
from likely.blocks import Block, one_blas_thread
from likely.objectives import linear
from likely.objectives.linear import Setting
from likely.objectives.margins import LONG, Margins
from likely.objectives.matrix_free import matrix_free_newton
from likely.objectives.newton import LATE, newton
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution

__all__ = ["Separator", "separator_of"]

FEW_PARAMETERS, MOST_STEPS = 1000, 60
"""Up to so many parameters Hessians are formed to see whether a flat direction is left; of more, so many steps are
made by products with them."""

LARGE_LOGIT = 8.0
"""Logits that runaway parameters reach before a gap of 1e-8 or so ends a descent."""

MOST_VALUES = 2**22
"""Coefficients of a linear program that is solved in a second or so."""


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
    """A direction that favours the truth of some rows and harms none, if there is one.

    If so logits grow for ever, so where none is large there is none. Otherwise Newton's method is followed to the end.
    Either the objective falls so low that the parameters themselves are such a direction. Or a step is left when
    nothing is left to gain: if it is short there is a maximum, and if it harms none there is not. If neither, as when
    some rows are so far on their right side that harm to them does not count, a linear program decides, where there
    are few rows.
    """
    lowest = problem.lowest_mixed_value
    if solution.objective.value >= lowest:
        if _margins(problem, solution.parameters).largest < LARGE_LOGIT:
            return None
        # Solvers that know no curvature may have gone so far that there is none left.
        start = problem.start() if solution.late_step is None else solution.parameters
        solution = _newton(problem, start, lowest)
    if solution.objective.value < lowest:
        return _separator(problem, solution.parameters)
    assert solution.late_step is not None
    margins = _margins(problem, solution.late_step)
    if margins.largest < LONG:
        return None
    if margins.harm_none:
        return _separator(problem, solution.late_step)
    n_values = problem.n_rows * max(1, problem.shape[0] - 1) * problem.n_parameters
    return _by_linear_program(problem) if n_values <= MOST_VALUES else None


def _by_linear_program(problem: LinearProblem) -> Separator | None:
    """The direction within the unit cube whose margins, none of them negative, have the largest sum."""
    parts = problem.source.reduce(_constraints, problem.setting, problem.units, problem.shape[0])
    A = np.concatenate(parts)
    found = linprog(-A.mean(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return None if found.x is None or float(A.mean(axis=0) @ found.x) <= 1e-9 else _separator(problem, found.x)


def _constraints(block: Block, setting: Setting, units: Floats, n_blocks: int) -> list[Floats]:
    """By how much parameters favour the truth of each row over each rival, as a matrix, in a list."""
    rows, codes = setting.centred(block) * units, block.codes
    assert codes is not None
    if n_blocks == 1:
        return [rows * (2 * codes - 1)[:, None]]
    favours = np.eye(n_blocks)[codes][:, None, :] - np.eye(n_blocks)[None]
    rivals = favours[np.arange(n_blocks) != codes[:, None]]
    return [(rivals[:, :, None] * np.repeat(rows, n_blocks - 1, axis=0)[:, None, :]).reshape(len(rivals), -1)]


def _newton(problem: LinearProblem, start: Floats, lowest: float) -> Solution:
    with one_blas_thread():
        if problem.n_parameters <= FEW_PARAMETERS:
            return newton(problem.curvature, start, LATE, bottom=lowest)
        return matrix_free_newton(problem, start, LATE, MOST_STEPS, lowest, most_products=100)


def _margins(problem: LinearProblem, v: Floats) -> Margins:
    margins: Margins = problem.source.reduce(linear.margins, problem.natural(v), problem.setting)
    return margins


def _separator(problem: LinearProblem, v: Floats) -> Separator | None:
    theta, margins = problem.natural(v), _margins(problem, v)
    coef = theta[:, :-1]
    offset = theta[:, -1] - coef @ problem.setting.centre
    return Separator(coef, offset, max(margins.least, 0.0), margins.most) if margins.harm_none else None
