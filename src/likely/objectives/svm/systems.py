"""Newton steps of smoothed margin problems, by Hessians or by products with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats
from likely.blocks import Source
from likely.objectives.svm.points import Point
from likely.objectives.svm.rows import Setting
from likely.objectives.svm.smoothed import Repair, Smoothed, margin, product, smoothed

__all__ = ["MarginProblem", "System", "by_hessian", "by_products"]

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


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Minimise ½ ‖w‖² + Σ C max(0, 1 − z f), with ½ (b − w'origin)² / K² beside it if the bias is regularised.

    Parameters
    ----------
    source : Source
    setting : Setting
    bias_scale : float, optional
        K.
    origin : array of shape (d,)
        The centre of the rows, in whose coordinates w is; they may be others than those of the source.
    """

    source: Source
    setting: Setting
    bias_scale: float | None
    origin: Floats

    @property
    def stiff(self) -> Floats:
        """a, where the penalty of the bias is ½ (a'θ)²; 0 for a free one."""
        if self.bias_scale is None:
            return np.zeros(len(self.origin) + 1)
        return np.append(-self.origin, 1.0) / self.bias_scale

    def pressed(self, theta: Floats) -> Floats:
        """The gradient of the penalties."""
        stiff = self.stiff
        return np.append(theta[:-1], 0.0) + stiff * float(stiff @ theta)

    def at(self, theta: Floats, mu: float) -> Point:
        """Look at a point: one pass over the rows."""
        sums = self.source.reduce(smoothed, theta, mu, self.setting)
        pressed = self.pressed(theta)
        penalty = float(theta @ pressed) / 2
        dual, repair = self.dual(sums)
        return Point(theta, mu, sums, pressed + sums.gradient, penalty, dual, repair)

    def system(self, point: Point) -> System:
        """The Newton step at a point: by the Hessian, or by products with it."""
        if not np.isfinite(point.value):
            return System(point, np.zeros_like)
        stiff, free = self.stiff, np.append(np.ones(len(self.origin)), 0.0)
        if self.setting.forms:
            return System(point, by_hessian(point.sums.curvature + np.diag(free) + np.outer(stiff, stiff)))
        place = point.theta, point.mu
        rows = self.source.reduce(margin, *place, self.setting)

        def times(direction: Floats) -> Floats:
            if rows.parts is not None:
                return self.pressed(direction) + rows.product(direction)
            return np.asarray(self.pressed(direction) + self.source.reduce(product, *place, direction, self.setting))

        return System(point, by_products(times, point.sums.curvature + free + np.square(stiff)))

    def dual(self, sums: Smoothed) -> tuple[float, Repair]:
        """The value of a point that keeps the constraints of the dual, and what makes α be such a one."""
        less, more = sums.alphas
        total, pull, repair = less + more, sums.pulls[1] - sums.pulls[0], Repair()
        if self.bias_scale is not None:
            pull, lean = self._extended(pull, more - less), self._extended(sums.lean[:-1], sums.spread)
            square = float(lean @ lean)
            repair = Repair(float(np.clip((pull @ lean - sums.tilt) / square, -1, 1)) if square > 0 else 0.0)
            total, pull = total - repair.shift * sums.tilt, pull - repair.shift * lean
        elif abs(more - less) <= sums.spread:
            repair = Repair((more - less) / sums.spread if sums.spread > 0 else 0.0)
            total, pull = total - repair.shift * sums.tilt, pull - repair.shift * sums.lean[:-1]
        else:
            shares = min(less, more) / less if less > 0 else 0.0, min(less, more) / more if more > 0 else 0.0
            repair = Repair(0.0, shares)
            total, pull = 2 * min(less, more), shares[1] * sums.pulls[1] - shares[0] * sums.pulls[0]
        square = float(pull @ pull)
        share = min(1.0, float(total) / square) if square > 0 else 1.0  # the best multiple that stays within bounds
        scaled = Repair(repair.shift, (share * repair.shares[0], share * repair.shares[1]))
        return share * float(total) - share**2 * square / 2, scaled

    def _extended(self, sums: Floats, total: float) -> Floats:
        """Sums of centred rows as sums of rows with the constant K beside them."""
        assert self.bias_scale is not None
        return np.append(sums + self.origin * total, self.bias_scale * total)
