"""Newton steps of smoothed margin problems, by Hessians or by products with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats
from likely.objectives.svm.smoothed import margin, product

if TYPE_CHECKING:
    from likely.objectives.svm.path import MarginProblem, Point

__all__ = ["System", "system"]

MOST_PRODUCTS = 300
"""Products with the Hessian that one step may take."""

PRECISION = 1e-3
"""Relative residual of steps found by products."""


class System:
    """The Newton step at a point, and the tangent of the path of minima.

    Parameters
    ----------
    point : Point
    solve : function of an array of shape (d + 1,)
        Divides it by the Hessian.
    """

    def __init__(self, point: Point, solve: Callable[[Floats], Floats]) -> None:
        self._point, self._solve = point, solve

    @cached_property
    def step(self) -> Floats:
        return -self._solve(self._point.gradient)

    @cached_property
    def tangent(self) -> Floats:
        """Derivative of the minimum by μ."""
        return -self._solve(self._point.sums.drift)

    @cached_property
    def length(self) -> float:
        """Root mean square of how far the step moves rows, by how far it may before their curvatures change."""
        point = self._point
        if not np.isfinite(point.value):
            return np.inf
        square = max(0.0, -float(point.gradient @ self.step))
        scale = point.mu * point.sums.reach
        return float(np.sqrt(square / scale)) if scale > 1e-290 else (0.0 if square < 1e-290 else np.inf)


def system(problem: MarginProblem, point: Point) -> System:
    """The system at a point: its Hessian factored, or products with it by passes over the rows."""
    if not np.isfinite(point.value):
        return System(point, np.zeros_like)
    of = _by_hessian if problem.setting.forms else _by_products
    return System(point, of(problem, point))


def _by_hessian(problem: MarginProblem, point: Point) -> Callable[[Floats], Floats]:
    """By Cholesky, scaled to a unit diagonal so that columns of any unit are treated alike."""
    stiff = problem.stiff
    hessian = point.sums.curvature + np.outer(stiff, stiff)
    hessian[np.diag_indices(len(hessian) - 1)] += 1.0
    scale = _inverse_root(hessian.diagonal())
    hessian *= scale[:, None] * scale
    hessian[np.diag_indices_from(hessian)] = 1.0  # also that of a bias that nothing depends on
    try:
        factor = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        return _by_eigenvectors(hessian, scale)
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def _by_eigenvectors(hessian: Floats, scale: Floats) -> Callable[[Floats], Floats]:
    """Within the directions whose curvature rounding leaves any digit."""
    values, vectors = eigh(hessian)
    curved = values > 8 * len(values) * np.finfo(np.float64).eps * values[-1]
    values, vectors = values[curved], vectors[:, curved]
    return lambda right: scale * (vectors @ ((vectors.T @ (scale * right)) / values))


def _by_products(problem: MarginProblem, point: Point) -> Callable[[Floats], Floats]:
    """By conjugate gradients, in units in which the Hessian has a unit diagonal.

    Rows far from the margin matter little to it; the others are kept for the products, unless they are too many.
    """
    size = len(point.theta)
    scale = _inverse_root(point.sums.curvature + np.append(np.ones(size - 1), 0.0) + np.square(problem.stiff))

    place = point.theta, point.mu
    rows = problem.source.reduce(margin, *place, problem.setting)

    def times(direction: Floats) -> Floats:
        direction = scale * direction
        if rows.parts is None:
            sums = problem.source.reduce(product, *place, direction, problem.setting)
        else:
            sums = rows.product(direction)
        return np.asarray(scale * (problem.pressed(direction) + sums))

    def solve(right: Floats) -> Floats:
        hessian = LinearOperator((size, size), matvec=times, dtype=np.float64)
        solved, _ = cg(hessian, scale * right, rtol=PRECISION, maxiter=MOST_PRODUCTS)
        return np.asarray(scale * solved)

    return solve


def _inverse_root(diagonal: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)
