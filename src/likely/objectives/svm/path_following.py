"""Minimisation of sums of hinge losses by path following (numerical continuation).

The losses are smoothed by a parameter μ. For every μ > 0 the smoothed objective has one minimum θ(μ). As μ decreases
to 0, these minima form a smooth path to the minimum of the objective. A predictor-corrector method follows the path:
the predictor moves along the tangent dθ/dμ to a smaller μ, and the corrector takes Newton steps at fixed μ. Every point
gives a feasible dual point, so the duality gap is known at every point. A small gap ends the method.

Binary and joint margins share this module: :class:`MarginProblem` gets sums over rows from a :class:`SmoothedLosses`.

References
----------
Allgower and Georg, Numerical continuation methods (1990). Chen and Mangasarian, A class of smoothing functions for
nonlinear and mixed complementarity problems, Computational Optimization and Applications 5 (1996), for the smoothing.
Chapelle, Training a support vector machine in the primal, Neural Computation 19 (2007), for Newton's method in the
primal. Nocedal and Wright, Numerical optimization, 2nd ed. (2006), chapter 3 (line search), section 7.1 (Newton-CG) and
section 11.3 (continuation).
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
from likely.objectives.whitening import inverse_root

NEAR_LENGTH, TARGET_LENGTH, MAX_LENGTH, MAX_START_LENGTH = 0.3, 0.3, 1.0, 25.0
"""Lengths of Newton steps, relative to the distance over which curvatures of rows are constant; see
:attr:`_NewtonSystem.length`. Below the first, μ may be decreased. The second is the target for the first step at the
new μ. Beyond the third, the predictor has failed. Beyond the fourth, a start is rejected. Starts from samples with
lengths of 15 to 22 took some 25 passes. Starts with lengths of 30 to 50,000, from samples with few rows of one class,
took 60 to 500 passes."""

FIRST_MU = 1.0
"""First μ when the start is θ = 0; the margin is 1."""

FIRST_CURVATURE = 0.5
"""Initial estimate of the curvature of the path, times μ."""

MIN_RATIO, MAX_RATIO = 1e-4, 0.9
"""Bounds of the ratio of the next μ to the current one."""

SMOOTHING_SHARE, TARGET_SHARE = 0.8, 0.5
"""Shares of the allowed gap. If smoothing causes more than the first, μ is decreased so that it causes the second."""

SAFE_LENGTH, SLOPE_FACTOR, ROUNDING, MAX_TRIALS = 0.02, 0.7, 1e-14, 30
"""Line search. Newton steps shorter than the first number are accepted at once. Longer steps must reduce the absolute
directional derivative by the second factor. The others: relative rounding of the value, maximum number of trials."""

SAFE_GAP = 1e-8
"""Relative gap that double precision allows, except for very ill-conditioned rows. Smaller gaps are reached in
stages."""

PATIENCE = 20
"""Stop after this number of passes without progress: then rounding allows no further progress."""

MAX_PRODUCTS, PRECISION = 300, 1e-3
"""Maximum number of Hessian-vector products of one Newton-CG step, and the relative residual that ends the step."""

MAX_VALUES = 2**25
"""Maximum number of values of the rows near the margin that are copied for Hessian-vector products."""

MIN_RELATIVE_WEIGHT, MANY_HESSIAN_ROWS = 1e-4, 2000
"""In blocks with more rows than the second number, rows of less than the first share of the mean Hessian weight are
left out of the Hessian."""


@dataclass(frozen=True, eq=False)
class MarginSetting:
    """All arguments of the sums over rows except the model parameters θ and μ.

    Parameters
    ----------
    signs, costs : arrays of shape (n_classes,)
        Sign z and cost C of the rows of each class. Rows of sign 0 take no part. A joint margin uses the costs only.
    centre : array of shape (d,)
    is_far : bool
        Whether the centre is subtracted from the rows; see :class:`likely.objectives.linear_rows.LinearRows`.
    forms_hessian : bool
        Whether Hessians are formed; if not, only their diagonals are computed.
    """

    signs: Floats
    costs: Floats
    centre: Floats
    is_far: bool = False
    forms_hessian: bool = True

    def rows_of(self, block: Block) -> tuple[LinearRows, Integers, Floats]:
        """Return the rows of a block that take part, their class codes, and their costs C."""
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
    """Sums over rows at θ and μ that are common to all margin problems; θ is flat here.

    Parameters
    ----------
    value, hinge : float
        Sum of the smoothed losses, and sum of the plain losses.
    alphas : array
        Parts of the linear term of the dual objective; the sum of the parts is that term.
    gradient, gradient_by_mu : arrays of shape (n_parameters,)
        Gradient of ``value`` by θ, and its derivative by μ.
    squared_radius : float
        Σ D r² / μ over rows; r is the change of the score at which D, the second derivative, changes substantially.
    hessian : array of shape (n_parameters, n_parameters) or (n_parameters,)
        Hessian of ``value``, or its diagonal.
    """

    value: float
    hinge: float
    alphas: Floats
    gradient: Floats
    gradient_by_mu: Floats
    squared_radius: float
    hessian: Floats

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


class SmoothedLosses(ABC):
    """Smoothed losses of the rows of a block at θ and μ."""

    @classmethod
    @abstractmethod
    def of(cls, block: Block, theta: Floats, mu: float, setting: MarginSetting) -> Self:
        """Return the losses of a block."""

    @abstractmethod
    def sums(self) -> MarginSums:
        """Return the sums of the losses and of their derivatives."""

    @abstractmethod
    def row_weights(self) -> Floats:
        """Return the weight of each row in the Hessian, of shape (n,)."""

    @abstractmethod
    def hessian_operator(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        """Return a function that multiplies the Hessian of the kept rows by a vector, and the number of values held."""


def select_heavy_rows(D: Floats) -> Integers:
    """Return the positions of the rows with significant weights D in a Hessian, or of all rows if there are few."""
    threshold = MIN_RELATIVE_WEIGHT * D.mean() if len(D) > MANY_HESSIAN_ROWS else -1.0
    return np.flatnonzero(threshold < D)


@dataclass(frozen=True, eq=False)
class _HessianRows:
    """Hessian-vector products at a point, from copies of the rows near the margin.

    Parameters
    ----------
    parts : list of functions of a direction, or None
        Hessian-vector product of each block; None if the copies take too much memory.
    values : int
        Number of values that the copies hold.
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


def _hessian_product(
    block: Block, losses: type[SmoothedLosses], theta: Floats, mu: float, direction: Floats, setting: MarginSetting
) -> Floats:
    with np.errstate(all="ignore"):
        product, _ = losses.of(block, theta, mu, setting).hessian_operator()
        return product(direction)


def _hessian_rows(
    block: Block, losses: type[SmoothedLosses], theta: Floats, mu: float, setting: MarginSetting
) -> _HessianRows:
    with np.errstate(all="ignore"):
        at = losses.of(block, theta, mu, setting)
        product, values = at.hessian_operator(select_heavy_rows(at.row_weights()))
    return _HessianRows([product], values)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """Objective, gradient and dual bound at θ and μ.

    Parameters
    ----------
    theta : array of shape (n_parameters,)
    mu : float
    sums : MarginSums
    gradient : array of shape (n_parameters,)
        Gradient of the smoothed objective.
    penalty, dual : float
        Penalty at θ, and dual objective at a feasible point.
    repair : object
        Correction that makes the dual point feasible.
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
        """Value of the smoothed objective."""
        return self.penalty + float(self.sums.value)

    @property
    def primal(self) -> float:
        """Value of the primal objective, without smoothing."""
        return self.penalty + float(self.sums.hinge)

    @property
    def relative_gap(self) -> float:
        """Duality gap relative to the primal objective."""
        gap = self.primal - self.dual
        return gap / self.primal if self.primal > 0 else (np.inf if gap > 0 else 0.0)

    @property
    def smoothing_gap(self) -> float:
        """Part of the relative gap that smoothing causes, (Σ C max(0, t) − α t) / primal.

        Here t is 1 − margin of a row, and α its dual coefficient. At the smoothed minimum this is the whole gap.
        """
        sums = self.sums
        return float(sums.hinge - sums.alphas.sum() - self.theta @ sums.gradient) / self.primal


class _NewtonSystem:
    """Newton step at a point, and tangent of the path of minima.

    Parameters
    ----------
    point : PathPoint
    solve : function of an array of shape (n_parameters,)
        Returns the inverse of the Hessian times the array.
    """

    def __init__(self, point: PathPoint, solve: Callable[[Floats], Floats]) -> None:
        self._point, self._solve = point, solve

    @cached_property
    def step(self) -> Floats:
        """The Newton step −H⁻¹g."""
        return -self._solve(self._point.gradient)

    @cached_property
    def tangent(self) -> Floats:
        """The tangent dθ/dμ = −H⁻¹ ∂g/∂μ of the path of minima g(θ, μ) = 0, by implicit differentiation."""
        return -self._solve(self._point.sums.gradient_by_mu)

    @cached_property
    def length(self) -> float:
        """Length of the Newton step δ relative to the radius of its quadratic model: √(δ'Hδ / Σ D r²).

        A step changes the score of each row. The length is about the root mean square of this change divided by r, the
        change at which the second derivative D of the row's loss changes substantially; see :class:`MarginSums`.
        """
        point = self._point
        if not np.isfinite(point.value):
            return np.inf
        square = max(0.0, -float(point.gradient @ self.step))
        scale = point.mu * point.sums.squared_radius
        return float(np.sqrt(square / scale)) if scale > 1e-290 else (0.0 if square < 1e-290 else np.inf)


@dataclass(frozen=True, eq=False)
class MarginProblem(ABC):
    """Minimise ½ Σ ‖w_k‖² + Σ losses, plus ½ Σ (b_k − w_k'origin)² / K² if biases are penalised.

    Parameters
    ----------
    source : Source
    setting : MarginSetting
    bias_scale : float, optional
        Scale K of penalised biases; None for free biases.
    origin : array of shape (d,)
        Centre of the rows: scores of a row x of the user are (x − origin)'w_k + b_k, so the user's biases are
        b_k − w_k'origin. The setting has another centre if the rows of the source are already centred.
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
        """Number of rows of θ, and number of parameters in each row."""

    @abstractmethod
    def dual_bound(self, sums: Any, theta: Floats, mu: float) -> tuple[float, Any]:
        """Return the dual objective at a feasible point, and the correction that makes that point feasible."""

    @property
    def bias_penalty(self) -> Floats:
        """The vector a such that the penalty of a bias is ½ (a'θ_k)²; 0 for a free bias."""
        if self.bias_scale is None:
            return np.zeros(self.shape[1])
        return np.append(-self.origin, 1.0) / self.bias_scale

    def penalty_gradient(self, theta: Floats) -> Floats:
        """Return the gradient of the penalties. It equals their Hessian times θ, because they are quadratic forms."""
        rows, a = theta.reshape(self.shape), self.bias_penalty
        gradient = np.outer(rows @ a, a)
        gradient[:, :-1] += rows[:, :-1]
        return gradient.reshape(-1)

    def evaluate(self, theta: Floats, mu: float) -> PathPoint:
        """Return the point at θ and μ. This takes one pass over the rows, or two for a joint margin."""
        sums = self.source.reduce(_sums, self.losses, theta, mu, self.setting)
        gradient = self.penalty_gradient(theta)
        penalty = float(theta @ gradient) / 2
        dual, repair = self.dual_bound(sums, theta, mu)
        return PathPoint(theta, mu, sums, gradient + sums.gradient, penalty, dual, repair)

    def newton_system(self, point: PathPoint) -> _NewtonSystem:
        """Return the Newton system at a point, with the Hessian or, if it is not formed, Hessian-vector products."""
        if not np.isfinite(point.value):
            return _NewtonSystem(point, np.zeros_like)
        if self.setting.forms_hessian:
            return _NewtonSystem(point, _make_cholesky_solver(self._add_penalties(point.sums.hessian)))
        # Rows near the margin are copied once. If they take too much memory, every product is a pass over all rows.
        place = self.losses, point.theta, point.mu
        rows = self.source.reduce(_hessian_rows, *place, self.setting)

        def hessian_product(direction: Floats) -> Floats:
            if rows.parts is not None:
                products = for_each(lambda part: part(direction), rows.parts)
                return np.asarray(self.penalty_gradient(direction) + sum(products[1:], products[0]))
            sums = self.source.reduce(_hessian_product, *place, direction, self.setting)
            return np.asarray(self.penalty_gradient(direction) + sums)

        # The diagonal of the Hessian preconditions the conjugate gradients.
        penalties = np.append(np.ones(len(self.origin)), 0.0) + np.square(self.bias_penalty)
        diagonal = point.sums.hessian + np.tile(penalties, self.shape[0])
        return _NewtonSystem(point, _make_cg_solver(hessian_product, diagonal, self.precision, self.max_products))

    def _add_penalties(self, hessian: Floats) -> Floats:
        """Return the sum of the Hessian of the losses and the Hessian of the penalties.

        A common shift of several free biases changes no loss. Curvature is added along it, to avoid a singular Hessian.
        """
        (R, q), hessian = self.shape, hessian.copy()
        one = np.diag(np.append(np.ones(q - 1), 0.0)) + np.outer(self.bias_penalty, self.bias_penalty)
        for k in range(R):
            hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] += one
        if R > 1:
            biases = slice(q - 1, None, q)
            hessian[biases, biases] += np.trace(hessian[biases, biases]) / R**2
        return hessian


def _make_cholesky_solver(hessian: Floats) -> Callable[[Floats], Floats]:
    """Return a function that solves H δ = r for δ, by Cholesky of H scaled to a unit diagonal. Overwrites H."""
    scale = inverse_root(hessian.diagonal())
    hessian *= scale[:, None] * scale
    hessian[np.diag_indices_from(hessian)] = 1.0  # also for a bias on which nothing depends
    try:
        factor = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        # H is singular up to rounding: use the pseudo-inverse, from the eigenvalues that exceed rounding.
        values, vectors = eigh(hessian)
        curved = values > 8 * len(values) * np.finfo(np.float64).eps * values[-1]
        values, vectors = values[curved], vectors[:, curved]
        return lambda right: scale * (vectors @ ((vectors.T @ (scale * right)) / values))
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def _make_cg_solver(
    hessian_product: Callable[[Floats], Floats], diagonal: Floats, precision: float, max_products: int
) -> Callable[[Floats], Floats]:
    """Return a function that solves H δ = r for δ by conjugate gradients, given products of the Hessian H with vectors.

    The diagonal of H is the preconditioner (Jacobi).
    """
    size, scale = len(diagonal), inverse_root(diagonal)

    def solve(right: Floats) -> Floats:
        hessian = LinearOperator((size, size), matvec=lambda u: scale * hessian_product(scale * u), dtype=np.float64)
        solved, _ = cg(hessian, scale * right, rtol=precision, maxiter=max_products)
        return np.asarray(scale * solved)

    return solve


@dataclass(eq=False)
class _PathState:
    """State of path following: the point with the smallest gap so far, and estimates about the path.

    ``curvature`` estimates the curvature of the path. The gap that smoothing causes is about proportional to μ to the
    ``power``. ``idle`` counts passes without progress.
    """

    problem: MarginProblem
    tol: float
    max_passes: int
    on_pass: Callable[[int, float], None] | None
    passes: int = 0
    idle: int = 0
    best: PathPoint | None = None
    curvature: float = 0.0
    power: float = 1.0

    def evaluate(self, theta: Floats, mu: float) -> PathPoint:
        """Return the point at θ and μ, and keep it as ``best`` if its gap is the smallest so far."""
        point = self.problem.evaluate(theta, mu)
        self.passes += 1
        # Progress is a decrease of the smallest gap by at least 1 %.
        gap, smallest = point.relative_gap, np.inf if self.best is None else self.best.relative_gap
        self.idle = 0 if gap < 0.99 * smallest else self.idle + 1
        if self.best is None or gap < smallest:
            self.best = point
        if self.on_pass is not None:
            self.on_pass(self.passes, gap)
        return point

    @property
    def goal(self) -> float:
        """Relative gap to reach next: the tolerance, or before that a larger gap as an intermediate stage."""
        assert self.best is not None
        return max(self.tol, min(SAFE_GAP, self.best.relative_gap / 10))

    @property
    def is_over(self) -> bool:
        """Whether the gap is within the tolerance, all passes are used up, or passes make no progress."""
        assert self.best is not None
        return self.best.relative_gap <= self.tol or self.passes >= self.max_passes or self.idle >= PATIENCE


def follow_path(
    problem: MarginProblem,
    theta: Floats,
    mu: float,
    tol: float,
    max_passes: int,
    on_pass: Callable[[int, float], None] | None = None,
) -> tuple[PathPoint, int]:
    """Minimise by path following; return the point with the smallest duality gap, and the number of points evaluated.

    At every μ Newton steps lead to the minimum of the smoothed objective. Near that minimum a predictor step along the
    tangent of the path leads to a smaller μ. The size of the predictor step is adaptive: the first Newton step at a new
    μ measures the curvature of the path. Once smoothing adds little to the gap, Newton steps at fixed μ close the gap.
    """
    state = _PathState(problem, tol, max_passes, on_pass, curvature=FIRST_CURVATURE / mu)
    point = state.evaluate(theta, mu)
    newton = problem.newton_system(point)
    # A start that is far from the path is replaced by θ = 0 and the first μ.
    if newton.length > MAX_START_LENGTH and mu < FIRST_MU:
        state.curvature, point = FIRST_CURVATURE / FIRST_MU, state.evaluate(np.zeros_like(theta), FIRST_MU)
        newton = problem.newton_system(point)
    while not state.is_over:
        # If smoothing exceeds the objective itself, decrease μ at once.
        if point.smoothing_gap > 1:
            point = state.evaluate(point.theta, point.mu * float(np.clip(point.smoothing_gap**-0.5, 1e-3, 0.3)))
            newton = problem.newton_system(point)
            continue
        # Predictor, if the point is near the minimum at this μ and smoothing still matters.
        if newton.length < NEAR_LENGTH and point.smoothing_gap > SMOOTHING_SHARE * state.goal:
            found = _predict(state, point, newton)
            if found is not None:
                point, newton = found
                continue
        if state.is_over:
            break
        # Corrector: a Newton step at the same μ.
        lower = _correct(state, point, newton)
        if lower is None:
            break
        point, newton = lower, problem.newton_system(lower)
    assert state.best is not None
    return state.best, state.passes


def _predict(state: _PathState, point: PathPoint, newton: _NewtonSystem) -> tuple[PathPoint, _NewtonSystem] | None:
    """Return a point near the minimum at a smaller μ and its Newton system; None if two predictor steps fail."""
    ratio = _choose_ratio(state, point, newton.length)
    for _ in range(2):
        # Newton step at the current μ plus the tangent to the new one.
        mu = ratio * point.mu
        ahead = state.evaluate(point.theta + newton.step + (mu - point.mu) * newton.tangent, mu)
        onward = state.problem.newton_system(ahead)
        # Model of the new length: (length² + curvature · μ (1 − ratio)²) / ratio. The first term is the error of the
        # Newton step, the second that of the tangent. Solve the model for the curvature.
        error = max(onward.length * ratio - newton.length**2, 1e-3 * onward.length * ratio)
        state.curvature = error / (1 - ratio) ** 2 / point.mu if np.isfinite(error) else state.curvature
        if onward.length < MAX_LENGTH or ahead.relative_gap < point.relative_gap / 2 or state.is_over:
            state.idle = 0
            # Exponent of the smoothing gap as a power of μ.
            gap_ratio = ahead.smoothing_gap / point.smoothing_gap
            state.power = float(np.clip(np.log(gap_ratio) / np.log(ratio), 1, 2)) if gap_ratio > 0 else 1.0
            return ahead, onward
        ratio = min(float(np.sqrt(ratio)), MAX_RATIO)
    return None


def _choose_ratio(state: _PathState, point: PathPoint, length: float) -> float:
    """Return the ratio of the next μ to the current one: as small as the curvature allows and the gap requires.

    The ratio is the smallest one whose expected Newton step has at most the target length. The gap requires no ratio
    below the one at which smoothing causes the target share of the gap.
    """
    # Expected length of the first Newton step at the new μ, for a grid of ratios; see _predict.
    tried = np.geomspace(MIN_RATIO, 1.0, 200)
    expected = (length**2 + state.curvature * point.mu * (1 - tried) ** 2) / tried
    allowed = float(tried[np.flatnonzero(expected <= TARGET_LENGTH)[0]])
    # The smoothing gap is about ∝ μ^power. At this ratio it becomes the target share of the allowed gap.
    needed = float(TARGET_SHARE * state.goal / point.smoothing_gap) ** (1 / state.power)
    return float(min(max(allowed, needed), MAX_RATIO))


def _correct(state: _PathState, point: PathPoint, newton: _NewtonSystem) -> PathPoint | None:
    """Return a point of lower value along the Newton step at the same μ, or None if any decrease is below rounding.

    If a step is too long, the smoothed objective along it is nearly piecewise linear, with a narrow bend where a row
    reaches the margin. A trial step ends where the tangents at the two ends of the bracket intersect, near the bend.
    From there the next Newton step takes that row into account.
    """
    start = low = _LineSearchPoint(0.0, point.value, float(point.gradient @ newton.step))
    high, length, slack, idle = None, 1.0, ROUNDING * abs(point.value), state.idle
    for _ in range(MAX_TRIALS):
        lower = state.evaluate(point.theta + length * newton.step, point.mu)
        state.idle = min(state.idle, idle + 1)  # all trials together count as one pass without progress
        here = _LineSearchPoint(length, lower.value, float(lower.gradient @ newton.step))
        # Strong Wolfe conditions: sufficient decrease (Armijo) and a smaller absolute derivative.
        fell = here.value <= start.value + 1e-4 * length * start.slope + slack
        if newton.length < SAFE_LENGTH or (fell and abs(here.slope) <= -SLOPE_FACTOR * start.slope):
            state.idle = 0 if here.value < start.value - 1e3 * slack else state.idle
            return lower
        if state.is_over:
            return None
        # Update the bracket [low, high] of the minimum along the step.
        if here.slope < 0 and fell:
            if high is None:
                return lower
            low = here
        else:
            high = here
        length = low.intersect(high)
    return lower if fell else None


@dataclass(frozen=True)
class _LineSearchPoint:
    """Value and directional derivative of the smoothed objective at a multiple of the Newton step."""

    length: float
    value: float
    slope: float

    def intersect(self, other: _LineSearchPoint | None) -> float:
        """Return the length at which the tangents here and at a longer trial intersect, clipped to between the two."""
        assert other is not None
        # An infinite value means that the step was far too long.
        gap = other.length - self.length
        if not np.isfinite(other.value + other.slope):
            return self.length + gap / 10
        steeper = other.slope - self.slope
        share = (self.value - other.value + other.slope * gap) / (steeper * gap) if steeper > 0 else 0.5
        return self.length + gap * min(0.95, max(0.01, share))
