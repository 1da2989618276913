"""Which rows support a plane: multipliers that are 0 or C but for few rows at the margin."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import Block
from likely.objectives.svm.coordinates import balanced
from likely.objectives.svm.primal import LinearSolution

__all__ = ["supporting"]

TRIED, MOST_VALUES = (3, 12, 48), 2**19
"""Rows for each column that are taken to be at the margin, in turn; and values of them that are soon solved for."""


def supporting(
    block: Block, solution: LinearSolution, side: Floats, costs: Floats, bias_scale: float | None, tolerance: float
) -> tuple[Floats, float] | None:
    """Multipliers of the rows of a block, and the value of the dual; none if the gap would exceed the tolerance.

    Notes
    -----
    The smoothed loss gives some multiplier to every row. At the best plane rows beyond the margin have none and rows
    within it have C; those at the margin are as many as there are parameters, or few more, and theirs follow from
    Σ α z x = w and, with a free bias, Σ α z = 0. Of all that keep these and their bounds a linear program finds those
    with the largest Σ α, so that the dual is highest.
    """
    codes: Any = block.codes
    z = side[codes]
    C = costs[codes] * np.abs(z) * (1.0 if block.weight is None else block.weight)
    short = np.where(z == 0, -np.inf, 1 - z * _scores(block.X, solution))
    for most in TRIED:
        free = _nearest(np.abs(short), most * (len(solution.coef) + 1))
        if len(free) * len(solution.coef) > MOST_VALUES:
            return None
        alpha = _completed(block.X, solution, z, C, short, free, bias_scale)
        if alpha is None:
            continue
        dual = _dual_value(block.X, solution.centre, alpha, z, bias_scale)
        if solution.primal - dual <= tolerance * solution.primal:
            return alpha, dual
    return None


def _completed(
    X: Any, solution: LinearSolution, z: Floats, C: Floats, short: Floats, free: Integers, bias_scale: float | None
) -> Floats | None:
    """0 or C, but for free rows what makes the weights those of the plane."""
    alpha = np.where(short > 0, C, 0.0)
    alpha[free] = 0.0
    lean = 0.0 if bias_scale is None else solution.intercept / bias_scale**2
    pull, total = _pull(X, alpha * z, solution.centre)
    wanted = np.append(solution.coef - lean * solution.centre - pull, lean - total)
    rows = dense(X[free]) - solution.centre
    found = _most(rows, z[free], C[free], wanted)
    if found is None:
        return None
    alpha[free] = found
    return alpha if bias_scale is not None else balanced(alpha, z)


def _dual_value(X: Any, centre: Floats, alpha: Floats, z: Floats, bias_scale: float | None) -> float:
    pull, total = _pull(X, alpha * z, centre)
    w, v = pull + total * centre, 0.0 if bias_scale is None else bias_scale * total
    return float(alpha.sum()) - (float(w @ w) + v**2) / 2


def _scores(X: Any, solution: LinearSolution) -> Floats:
    bias = solution.centred_intercept
    if _is_sparse(X):
        return np.asarray(X @ solution.coef + (bias - float(solution.coef @ solution.centre)))
    return np.asarray((dense(X) - solution.centre) @ solution.coef + bias)


def _is_sparse(X: Any) -> bool:
    """Sparse rows are not centred: their zeros would be none."""
    return bool(issparse(X))


def _nearest(distances: Floats, most: int) -> Integers:
    """Rows nearest to the margin, with those as near as the last of them."""
    most = min(most, len(distances))
    return np.flatnonzero(distances <= np.partition(distances, most - 1)[most - 1])


def _pull(X: Any, signed: Floats, centre: Floats) -> tuple[Floats, float]:
    """Σ α z (x − centre) and Σ α z."""
    total = float(signed.sum())
    return np.asarray(X.T @ signed) - total * centre if _is_sparse(X) else signed @ (dense(X) - centre), total


def _most(rows: Floats, z: Floats, C: Floats, wanted: Floats) -> Floats | None:
    """Multipliers within bounds with the largest sum for which Σ α z (x, 1) is what is wanted, if there are any."""
    size = np.append(np.sqrt(np.square(rows).mean(axis=0)), 1.0)
    size[size == 0] = 1.0
    largest = C.max()
    A = (z * C / largest) * (np.column_stack([rows, np.ones(len(z))]) / size).T
    precise: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-C / largest, A_eq=A, b_eq=wanted / size / largest, bounds=(0, 1), options=precise)
    return None if found.x is None else _settled(np.clip(found.x, 0, 1) * C, z, C, float(wanted[-1]))


def _settled(alpha: Floats, z: Floats, C: Floats, total: float) -> Floats:
    """Multipliers with Σ α z as wanted, if rows between their bounds have the room for what is missing."""
    missing = total - float(alpha @ z)
    free = (alpha > 0) & (alpha < C)
    room = np.where(free, np.where(z * missing > 0, C - alpha, alpha), 0.0)
    share = 1.0 if room.sum() <= abs(missing) else abs(missing) / float(room.sum())
    return np.asarray(alpha + np.sign(missing) * z * room * share)
