"""What solvers are told of an objective's curvature where its Hessian is too large to form."""

from __future__ import annotations

import numpy as np

from likely._typing import Floats
from likely.objectives import linear
from likely.objectives.problem import LinearProblem

__all__ = ["class_curvatures", "column_curvatures"]

PLENTY = 64
"""Rows of the sample a column, from which on its Hessian is good enough for that of all rows."""

LEAST_CURVATURE = 1e-2
"""Least curvature along a column that solvers are told of, beside that of a column of unit variance."""


def class_curvatures(problem: LinearProblem, v: Floats, rows: int) -> Floats:
    """Blocks of the Hessian on its diagonal, one for each row of the parameters.

    They are estimated from about so many rows each, drawn by their weight in the block, or from all of fewer.
    """
    theta, whole = problem.natural(v), problem
    if problem.some is not None and problem.some.n_rows >= PLENTY * problem.shape[1]:
        whole = problem.some
    few = whole.some or whole
    spread = few.source.reduce(linear.total_spread, theta, few.setting)
    blocks = whole.source.reduce(linear.draw, theta, whole.setting, spread / rows).curvatures()
    blocks *= problem.units[:, None] * problem.units
    diagonal = np.arange(problem.shape[1])
    blocks[:, diagonal, diagonal] = _floored(problem, blocks[:, diagonal, diagonal], spread)
    return blocks


def column_curvatures(problem: LinearProblem, v: Floats) -> Floats:
    """The diagonal of the Hessian, flat."""
    sums = problem.source.reduce(linear.column_curvatures, problem.natural(v), problem.setting)
    sums = sums * np.square(problem.units)
    return _floored(problem, sums, sums[:, -1]).reshape(-1)


def _floored(problem: LinearProblem, diagonal: Floats, spread: Floats) -> Floats:
    """The diagonal of the Hessian, at least a share of what standardised columns have on the whole.

    So a column that varies only in rows that were not drawn, or are told apart well, does not seem flat.
    """
    floor = np.where(problem.units > 0, LEAST_CURVATURE * spread[:, None], 0.0)
    return np.maximum(diagonal, floor) + problem.squares.reshape(problem.shape)
