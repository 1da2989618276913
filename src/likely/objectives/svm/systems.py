"""Newton steps of smoothed margin problems, by Hessians or by products with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats

if TYPE_CHECKING:
    from likely.objectives.svm.points import Point

__all__ = ["System", "by_hessian", "by_products"]

MOST_PRODUCTS = 300
"""Products with the Hessian that one step may take."""

PRECISION = 1e-3
"""Relative residual of steps found by products."""


class System:
    """The Newton step at a point, and the tangent of the path of minima.

    Parameters
    ----------
    point : Point
    solve : function of an array of shape (n_parameters,)
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


def by_hessian(hessian: Floats) -> Callable[[Floats], Floats]:
    """Division by a Hessian, which is overwritten.

    By Cholesky, scaled to a unit diagonal so that columns of any unit are treated alike.
    """
    scale = _inverse_root(hessian.diagonal())
    hessian *= scale[:, None] * scale
    hessian[np.diag_indices_from(hessian)] = 1.0  # also that of a bias that nothing depends on
    try:
        factor = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        return _by_eigenvectors(hessian, scale)
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def by_products(
    times: Callable[[Floats], Floats], diagonal: Floats, precision: float = PRECISION, most: int = MOST_PRODUCTS
) -> Callable[[Floats], Floats]:
    """Division by a Hessian that is known by its products with directions, and by its diagonal.

    By conjugate gradients, in units in which the Hessian has a unit diagonal, to a relative residual of ``precision``
    or with ``most`` products.
    """
    size, scale = len(diagonal), _inverse_root(diagonal)

    def solve(right: Floats) -> Floats:
        hessian = LinearOperator((size, size), matvec=lambda u: scale * times(scale * u), dtype=np.float64)
        solved, _ = cg(hessian, scale * right, rtol=precision, maxiter=most)
        return np.asarray(scale * solved)

    return solve


def _by_eigenvectors(hessian: Floats, scale: Floats) -> Callable[[Floats], Floats]:
    """Within the directions whose curvature rounding leaves any digit."""
    values, vectors = eigh(hessian)
    curved = values > 8 * len(values) * np.finfo(np.float64).eps * values[-1]
    values, vectors = values[curved], vectors[:, curved]
    return lambda right: scale * (vectors @ ((vectors.T @ (scale * right)) / values))


def _inverse_root(diagonal: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)
