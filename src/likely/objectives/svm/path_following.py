"""Minimisation of sums of hinge losses by path following.

The losses are smoothed by a parameter μ. For every μ > 0 the smoothed objective has one minimum θ(μ), and as μ falls to
0 these minima form a smooth path to the minimum of the objective. The path is followed by a predictor and a corrector:
the predictor goes along the tangent dθ/dμ to a smaller μ, the corrector takes Newton steps at fixed μ. Every point
gives a feasible dual point, so the duality gap is known on the way, and is the stopping rule.

Binary and joint margins share this chapter: :class:`MarginProblem` asks a :class:`SmoothedLosses` for sums over rows.

References
----------
Allgower and Georg, Numerical continuation methods (1990). Chen and Mangasarian, A class of smoothing functions for
nonlinear and mixed complementarity problems, Computational Optimization and Applications 5 (1996). Nocedal and Wright,
Numerical optimization, 2nd ed. (2006), chapters 3, 7 and 11.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats, Integers
from likely.blocks import Block, Source, for_each
from likely.objectives.linear_rows import LinearRows, check_finite_sum

NEAR, AIM, LOST, ASTRAY = 0.3, 0.3, 1.0, 25.0
"""Lengths of Newton steps, relative to what moves rows across the margin: below the first the next μ may be tried; the
second is wished for the first step there; beyond the third the predictor has failed; beyond the fourth a start is
rejected. Starts from samples with lengths of 15 to 22 took some 25 passes, those with 30 to 50,000, of few rows of one
class, 60 to 500."""

SMOOTH = 1.0
"""μ to begin with at θ = 0: the margin is 1."""

FIRST_BEND = 0.5
"""First guess of the curvature of the path, times μ."""

LEAST_RATIO, MOST_RATIO = 1e-4, 0.9
"""Bounds of one μ divided by the one before."""

SMOOTH_SHARE, AIMED_SHARE = 0.8, 0.5
"""Of the gap that is allowed, how much smoothing may cause, and how much it is aimed to cause."""

CERTAIN, FLATTER, ROUNDING, MAX_TRIALS = 0.02, 0.7, 1e-14, 30
"""Line search: a step of the first length is taken at once; a longer one must reduce the directional derivative by the
second factor, up to some rounding of the value, within so many trials."""

SURE = 1e-8
"""Relative gap that double precision allows for all but the worst rows; smaller ones are approached in stages."""

PATIENCE = 20
"""Passes without progress after which rounding is taken to allow none."""

MAX_PRODUCTS, PRECISION = 300, 1e-3
"""Hessian-vector products of one step, and the relative residual of steps found by them."""

MAX_VALUES = 2**25
"""Numbers of the rows near the margin that are copied for Hessian-vector products."""

SLIGHT, MANY = 1e-4, 2000
"""Of more than ``MANY`` rows, those below ``SLIGHT`` times the mean weight in the Hessian are left out of it."""


@dataclass(frozen=True, eq=False)
class MarginSetting:
    """What the sums depend on besides rows, parameters and μ.

    Parameters
    ----------
    signs, costs : arrays of shape (n_classes,)
        Rows of sign 0 take no part. A joint margin uses the costs only.
    centre : array of shape (d,)
    is_far : bool
        Whether the centre is subtracted from the rows; see :class:`likely.objectives.linear_rows.LinearRows`.
    forms : bool
        Whether Hessians are formed, or else only their diagonals.
    """

    signs: Floats
    costs: Floats
    centre: Floats
    is_far: bool = False
    forms: bool = True

    def rows_of(self, block: Block) -> tuple[LinearRows, Integers, Floats]:
        """The rows of a block that take part, their classes, and their costs C."""
        X, codes = block.X, block.require_codes()
        C = self.costs.take(codes)
        if block.weight is not None:
            C = C * block.weight
        if not self.signs.all():
            part = np.flatnonzero(self.signs.take(codes))
            X, codes, C = X[part], codes[part], C[part]
        return LinearRows.of(X, self.centre, self.is_far), codes, C


@dataclass(frozen=True, eq=False)
class MarginSums:
    """Sums over rows at θ and μ that every margin problem has; θ is flat here.

    Parameters
    ----------
    value, hinge : float
        The losses, smoothed and plain.
    alphas : array
        They sum to the linear part of the dual objective.
    gradient, gradient_by_mu : arrays of shape (n_parameters,)
        Of ``value``, and its derivative by μ.
    reach : float
        Σ of squared distances that rows may move before their curvature changes, weighted by the curvature.
    hessian : array of shape (n_parameters, n_parameters) or (n_parameters,)
        Of ``value``, or its diagonal.
    """

    value: float
    hinge: float
    alphas: Floats
    gradient: Floats
    gradient_by_mu: Floats
    reach: float
    hessian: Floats

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


class SmoothedLosses(ABC):
    """The smoothed losses of the rows of a block at θ and μ."""

    @classmethod
    @abstractmethod
    def of(cls, block: Block, theta: Floats, mu: float, setting: MarginSetting) -> Self:
        """The losses of a block."""

    @abstractmethod
    def sums(self) -> MarginSums:
        """Their sums."""

    @abstractmethod
    def row_weights(self) -> Floats:
        """How much each row matters to the Hessian, of shape (n,)."""

    @abstractmethod
    def hessian_product(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        """A function that multiplies the Hessian, of some rows, by a direction; and the numbers it holds."""


def weighty(D: Floats) -> Integers:
    """Rows that matter to a Hessian, by their weights in it; all if there are few."""
    least = SLIGHT * D.mean() if len(D) > MANY else -1.0
    return np.flatnonzero(least < D)


@dataclass(frozen=True, eq=False)
class _HessianRows:
    """Products of the Hessian at a point with directions, by copies of the rows near the margin.

    Parameters
    ----------
    parts : list of functions of a direction, or None
        One for each block; None if the copies take too much memory.
    values : int
        Numbers that they hold.
    """

    parts: list[Callable[[Floats], Floats]] | None
    values: int

    def __add__(self, other: _HessianRows) -> _HessianRows:
        values = self.values + other.values
        if self.parts is None or other.parts is None or values > MAX_VALUES:
            return _HessianRows(None, values)
        return _HessianRows(self.parts + other.parts, values)


def _sums(block: Block, losses: type[SmoothedLosses], theta: Floats, mu: float, setting: MarginSetting) -> MarginSums:
    with np.errstate(all="ignore"):
        sums = losses.of(block, theta, mu, setting).sums()
    check_finite_sum(sums.value, block)
    return sums


def _hvp(
    block: Block, losses: type[SmoothedLosses], theta: Floats, mu: float, direction: Floats, setting: MarginSetting
) -> Floats:
    with np.errstate(all="ignore"):
        product, _ = losses.of(block, theta, mu, setting).hessian_product()
        return product(direction)


def _hessian_rows(
    block: Block, losses: type[SmoothedLosses], theta: Floats, mu: float, setting: MarginSetting
) -> _HessianRows:
    with np.errstate(all="ignore"):
        at = losses.of(block, theta, mu, setting)
        product, values = at.hessian_product(weighty(at.row_weights()))
    return _HessianRows([product], values)


@dataclass(frozen=True, eq=False)
class Point:
    """Bounds of the minimum from both sides at θ and μ.

    Parameters
    ----------
    theta : array of shape (n_parameters,)
    mu : float
    sums : MarginSums
    gradient : array of shape (n_parameters,)
        Of the smoothed objective.
    penalty, dual : float
        The penalty at θ, and the dual objective at a feasible point.
    repair : object
        What makes that point feasible.
    """

    theta: Floats
    mu: float
    sums: Any
    gradient: Floats
    penalty: float
    dual: float
    repair: Any

    @property
    def value(self) -> float:
        """The smoothed objective."""
        return self.penalty + float(self.sums.value)

    @property
    def primal(self) -> float:
        """The objective."""
        return self.penalty + float(self.sums.hinge)

    @property
    def relative_gap(self) -> float:
        """The duality gap, relative to the objective."""
        gap = self.primal - self.dual
        return gap / self.primal if self.primal > 0 else (np.inf if gap > 0 else 0.0)

    @property
    def smooth_gap(self) -> float:
        """The part of the relative gap that smoothing causes.

        Σ C max(0, t) − α t, relative to the objective: the whole gap at the minimum of the smoothed objective.
        """
        sums = self.sums
        return float(sums.hinge - sums.alphas.sum() - self.theta @ sums.gradient) / self.primal


class _NewtonSystem:
    """The Newton step at a point, and the tangent of the path of minima.

    Parameters
    ----------
    point : Point
    solve : function of an array of shape (n_parameters,)
        Multiplies it by the inverse of the Hessian.
    """

    def __init__(self, point: Point, solve: Callable[[Floats], Floats]) -> None:
        self._point, self._solve = point, solve

    @cached_property
    def step(self) -> Floats:
        return -self._solve(self._point.gradient)

    @cached_property
    def tangent(self) -> Floats:
        """dθ/dμ along the path."""
        return -self._solve(self._point.sums.gradient_by_mu)

    @cached_property
    def length(self) -> float:
        """Root mean square move of the rows, relative to how far they may move before their curvatures change."""
        point = self._point
        if not np.isfinite(point.value):
            return np.inf
        square = max(0.0, -float(point.gradient @ self.step))
        scale = point.mu * point.sums.reach
        return float(np.sqrt(square / scale)) if scale > 1e-290 else (0.0 if square < 1e-290 else np.inf)


@dataclass(frozen=True, eq=False)
class MarginProblem(ABC):
    """Minimise ½ Σ ‖w_k‖² + Σ losses, plus ½ Σ (b_k − w_k'origin)² / K² if biases are regularised.

    Parameters
    ----------
    source : Source
    setting : MarginSetting
    bias_scale : float, optional
        K.
    origin : array of shape (d,)
        The centre of the rows, about which the w are; rows of the source may have another.
    """

    source: Source
    setting: MarginSetting
    bias_scale: float | None
    origin: Floats

    losses: ClassVar[type[SmoothedLosses]]
    precision: ClassVar[float] = PRECISION
    max_products: ClassVar[int] = MAX_PRODUCTS

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows of θ, and parameters of each."""

    @abstractmethod
    def dual_bound(self, sums: Any, theta: Floats, mu: float) -> tuple[float, Any]:
        """The dual objective at a feasible point, and what makes that point feasible."""

    @property
    def bias_penalty(self) -> Floats:
        """a, where the penalty of a bias is ½ (a'θ_k)²; 0 for a free one."""
        if self.bias_scale is None:
            return np.zeros(self.shape[1])
        return np.append(-self.origin, 1.0) / self.bias_scale

    def penalty_gradient(self, theta: Floats) -> Floats:
        """The gradient of the penalties; also their Hessian times θ."""
        lines, a = theta.reshape(self.shape), self.bias_penalty
        gradient = np.outer(lines @ a, a)
        gradient[:, :-1] += lines[:, :-1]
        return gradient.reshape(-1)

    def at(self, theta: Floats, mu: float) -> Point:
        """Evaluate a point: one pass over the rows, or two for a joint margin."""
        sums = self.source.reduce(_sums, self.losses, theta, mu, self.setting)
        gradient = self.penalty_gradient(theta)
        penalty = float(theta @ gradient) / 2
        dual, repair = self.dual_bound(sums, theta, mu)
        return Point(theta, mu, sums, gradient + sums.gradient, penalty, dual, repair)

    def newton_system(self, point: Point) -> _NewtonSystem:
        """The Newton step at a point: by the Hessian, or by Hessian-vector products."""
        if not np.isfinite(point.value):
            return _NewtonSystem(point, np.zeros_like)
        if self.setting.forms:
            return _NewtonSystem(point, _factorised(self._add_penalties(point.sums.hessian)))
        place = self.losses, point.theta, point.mu
        rows = self.source.reduce(_hessian_rows, *place, self.setting)

        def hvp(direction: Floats) -> Floats:
            if rows.parts is not None:
                products = for_each(lambda part: part(direction), rows.parts)
                return np.asarray(self.penalty_gradient(direction) + sum(products[1:], products[0]))
            sums = self.source.reduce(_hvp, *place, direction, self.setting)
            return np.asarray(self.penalty_gradient(direction) + sums)

        penalties = np.append(np.ones(len(self.origin)), 0.0) + np.square(self.bias_penalty)
        diagonal = point.sums.hessian + np.tile(penalties, self.shape[0])
        return _NewtonSystem(point, _iterative(hvp, diagonal, self.precision, self.max_products))

    def _add_penalties(self, hessian: Floats) -> Floats:
        """The Hessian with penalties. The sum of several free biases, which nothing depends on, gets some curvature."""
        (R, q), hessian = self.shape, hessian.copy()
        one = np.diag(np.append(np.ones(q - 1), 0.0)) + np.outer(self.bias_penalty, self.bias_penalty)
        for k in range(R):
            hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] += one
        if R > 1:
            biases = slice(q - 1, None, q)
            hessian[biases, biases] += np.trace(hessian[biases, biases]) / R**2
        return hessian


def _factorised(hessian: Floats) -> Callable[[Floats], Floats]:
    """Solve with a Hessian, which is overwritten, by Cholesky, scaled to a unit diagonal."""
    scale = _inverse_root(hessian.diagonal())
    hessian *= scale[:, None] * scale
    hessian[np.diag_indices_from(hessian)] = 1.0  # also that of a bias that nothing depends on
    try:
        factor = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        # Only the eigenvectors whose eigenvalues exceed rounding.
        values, vectors = eigh(hessian)
        curved = values > 8 * len(values) * np.finfo(np.float64).eps * values[-1]
        values, vectors = values[curved], vectors[:, curved]
        return lambda right: scale * (vectors @ ((vectors.T @ (scale * right)) / values))
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def _iterative(
    hvp: Callable[[Floats], Floats], diagonal: Floats, precision: float, max_products: int
) -> Callable[[Floats], Floats]:
    """Solve with a Hessian known by its products and its diagonal, by preconditioned conjugate gradients."""
    size, scale = len(diagonal), _inverse_root(diagonal)

    def solve(right: Floats) -> Floats:
        hessian = LinearOperator((size, size), matvec=lambda u: scale * hvp(scale * u), dtype=np.float64)
        solved, _ = cg(hessian, scale * right, rtol=precision, maxiter=max_products)
        return np.asarray(scale * solved)

    return solve


def _inverse_root(diagonal: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)


@dataclass(eq=False)
class _Walk:
    """The state of path following: the best point so far, and what is known of the path.

    ``bend`` estimates the curvature of the path; the gap that smoothing causes falls as a ``power`` of μ.
    """

    problem: MarginProblem
    tol: float
    max_passes: int
    on_pass: Callable[[int, float], None] | None
    passes: int = 0
    idle: int = 0
    best: Point | None = None
    bend: float = 0.0
    power: float = 1.0

    def evaluate(self, theta: Floats, mu: float) -> Point:
        point = self.problem.at(theta, mu)
        self.passes += 1
        gap, least = point.relative_gap, np.inf if self.best is None else self.best.relative_gap
        self.idle = 0 if gap < 0.99 * least else self.idle + 1
        if self.best is None or gap < least:
            self.best = point
        if self.on_pass is not None:
            self.on_pass(self.passes, gap)
        return point

    @property
    def goal(self) -> float:
        """The gap to reach next."""
        assert self.best is not None
        return max(self.tol, min(SURE, self.best.relative_gap / 10))

    @property
    def is_over(self) -> bool:
        assert self.best is not None
        return self.best.relative_gap <= self.tol or self.passes >= self.max_passes or self.idle >= PATIENCE


def follow_path(
    problem: MarginProblem,
    theta: Floats,
    mu: float,
    tol: float,
    max_passes: int,
    on_pass: Callable[[int, float], None] | None = None,
) -> tuple[Point, int]:
    """Return the point with the smallest duality gap on the way, and the number of points evaluated.

    At every μ Newton steps lead to the minimum of the smoothed objective. Near it the next step goes to a smaller μ
    along the tangent of the path. How much smaller is learned on the way: the first Newton step at the new μ shows how
    much the path bends. Once smoothing adds little to the gap, μ stays, and Newton steps close the gap.
    """
    walk = _Walk(problem, tol, max_passes, on_pass, bend=FIRST_BEND / mu)
    point = walk.evaluate(theta, mu)
    newton = problem.newton_system(point)
    # A start that is far from the path is replaced by θ = 0.
    if newton.length > ASTRAY and mu < SMOOTH:
        walk.bend, point = FIRST_BEND / SMOOTH, walk.evaluate(np.zeros_like(theta), SMOOTH)
        newton = problem.newton_system(point)
    while not walk.is_over:
        # Smoothing exceeds the objective itself: lower μ at once.
        if point.smooth_gap > 1:
            point = walk.evaluate(point.theta, point.mu * float(np.clip(point.smooth_gap**-0.5, 1e-3, 0.3)))
            newton = problem.newton_system(point)
            continue
        # Predictor: near the minimum of this μ, and smoothing still matters.
        if newton.length < NEAR and point.smooth_gap > SMOOTH_SHARE * walk.goal:
            found = _predict(walk, point, newton)
            if found is not None:
                point, newton = found
                continue
        if walk.is_over:
            break
        # Corrector: a Newton step at the same μ.
        lower = _correct(walk, point, newton)
        if lower is None:
            break
        point, newton = lower, problem.newton_system(lower)
    assert walk.best is not None
    return walk.best, walk.passes


def _predict(walk: _Walk, point: Point, newton: _NewtonSystem) -> tuple[Point, _NewtonSystem] | None:
    """A point near the minimum at a smaller μ, or None if the path bends so much that μ can hardly be smaller."""
    ratio = _choose_ratio(walk, point, newton.length)
    for _ in range(2):
        mu = ratio * point.mu
        ahead = walk.evaluate(point.theta + newton.step + (mu - point.mu) * newton.tangent, mu)
        onward = walk.problem.newton_system(ahead)
        # The errors of the Newton step before and of the tangent add up, and count the more the smaller μ is.
        bent = max(onward.length * ratio - newton.length**2, 1e-3 * onward.length * ratio)
        walk.bend = bent / (1 - ratio) ** 2 / point.mu if np.isfinite(bent) else walk.bend
        if onward.length < LOST or ahead.relative_gap < point.relative_gap / 2 or walk.is_over:
            walk.idle = 0
            gained = ahead.smooth_gap / point.smooth_gap
            walk.power = float(np.clip(np.log(gained) / np.log(ratio), 1, 2)) if gained > 0 else 1.0
            return ahead, onward
        ratio = min(float(np.sqrt(ratio)), MOST_RATIO)
    return None


def _choose_ratio(walk: _Walk, point: Point, length: float) -> float:
    """The next μ over this one: as small as the bend of the path allows, and no smaller than the gap needs."""
    tried = np.geomspace(LEAST_RATIO, 1.0, 200)
    expected = (length**2 + walk.bend * point.mu * (1 - tried) ** 2) / tried
    allowed = float(tried[np.flatnonzero(expected <= AIM)[0]])
    needed = float(AIMED_SHARE * walk.goal / point.smooth_gap) ** (1 / walk.power)
    return float(min(max(allowed, needed), MOST_RATIO))


def _correct(walk: _Walk, point: Point, newton: _NewtonSystem) -> Point | None:
    """A lower point along the Newton step at the same μ, or None if rounding hides any decrease.

    Where a step goes too far, the smoothed objective along it is nearly two straight lines with a narrow bend, at which
    a row comes to the margin. The trial steps go where the known tangents meet; from there the next Newton step sees
    the row.
    """
    start = low = _Trial(0.0, point.value, float(point.gradient @ newton.step))
    high, length, slack, idle = None, 1.0, ROUNDING * abs(point.value), walk.idle
    for _ in range(MAX_TRIALS):
        lower = walk.evaluate(point.theta + length * newton.step, point.mu)
        walk.idle = min(walk.idle, idle + 1)  # trials are no steps
        here = _Trial(length, lower.value, float(lower.gradient @ newton.step))
        # Sufficient decrease (Armijo) and a flatter derivative (strong Wolfe condition).
        fell = here.value <= start.value + 1e-4 * length * start.slope + slack
        if newton.length < CERTAIN or (fell and abs(here.slope) <= -FLATTER * start.slope):
            walk.idle = 0 if here.value < start.value - 1e3 * slack else walk.idle
            return lower
        if walk.is_over:
            return None
        if here.slope < 0 and fell:
            if high is None:
                return lower
            low = here
        else:
            high = here
        length = low.intersect(high)
    return lower if fell else None


@dataclass(frozen=True)
class _Trial:
    """The smoothed objective, and its derivative along a step, at a length of the step."""

    length: float
    value: float
    slope: float

    def intersect(self, other: _Trial | None) -> float:
        """Length at which the tangents here and at a longer trial meet, kept inside the interval."""
        assert other is not None
        gap = other.length - self.length
        if not np.isfinite(other.value + other.slope):
            return self.length + gap / 10
        steeper = other.slope - self.slope
        share = (self.value - other.value + other.slope * gap) / (steeper * gap) if steeper > 0 else 0.5
        return self.length + gap * min(0.95, max(0.01, share))
