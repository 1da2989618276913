"""Dual coordinate descent for linear machines with many sparse rows and columns; no Gram matrix is formed.

The coordinate steps, the random order of rows and the shrinking follow Hsieh et al. (2008), where the bias is
penalised. A free bias adds the constraint Σ z α = 0, which the augmented Lagrangian method enforces.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008.
Nocedal and Wright, Numerical optimization, 2nd ed. (2006), section 17.3, for the augmented Lagrangian method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Integers, Rows
from likely.blocks import Block
from likely.kernels import Kernel, LinearKernel
from likely.objectives.svm.working_set import DualSolution, dual_solution

MANY_ROWS, MANY_COLUMNS = 2048, 2000
"""Minimum numbers of sparse rows and columns for coordinate descent. For fewer rows the whole Gram matrix is cheap, and
for fewer columns Newton's method in the primal has small Hessians."""

FIRST_CHECK, CHECK_FACTOR = 5, 2
"""Number of passes before the gap is computed for the first time, and the factor between later checks."""


def is_wide(kernel: Kernel, X: Rows) -> bool:
    """Return whether coordinate descent is suitable: a linear kernel, and many sparse rows of many columns."""
    large = X.shape[0] > MANY_ROWS and X.shape[1] >= MANY_COLUMNS
    return isinstance(kernel, LinearKernel) and issparse(X) and large


def solve_dual_by_coordinates(
    X: Any,
    z: Floats,
    C: Floats,
    bias_scale: float | None,
    tol: float,
    max_passes: int,
    start: tuple[Floats, Floats] | None = None,
    on_pass: Callable[[int, float], None] | None = None,
) -> DualSolution:
    """Maximise Σ α − ½ ‖Σ α z x‖² over 0 ≤ α ≤ C, with Σ z α = 0 if the bias is free.

    Parameters
    ----------
    X : CSR array of shape (n, d)
    z, C : arrays of shape (n,)
        Sides, +1 or −1, and upper bounds, which are finite.
    bias_scale : float, optional
        Scale K of a penalised bias, 0 for no bias; None for a free bias.
    max_passes : int
        Maximum number of passes over the rows.
    start : (dual coefficients, their scores), optional
        Warm start.
    on_pass : function of the number of passes and the relative gap, optional
        Called whenever the gap is computed.

    Notes
    -----
    With w = Σ α z x stored, maximising over the coefficient of one row, the others fixed, takes a product with that row
    only. Shrinking: if a row is at a bound, and its derivative points out of the box by more than the derivative of any
    row did in the last pass, the row is left out until the gap is computed.

    A free bias is found by the augmented Lagrangian method (method of multipliers): −ρ/2 (Σ z α)² is added to the dual,
    and after every pass the multiplier b is increased by ρ Σ z α, so that Σ z α converges to 0. For a feasible point
    before convergence, the coefficients of the side with the larger sum are scaled down.
    """
    ascent = _CoordinateDescent(X, z, C, bias_scale, np.zeros(len(z)) if start is None else start[0].copy())
    best, next_check, passes = ascent.solution(0, tol), FIRST_CHECK, 0
    while not best.converged and passes < max_passes:
        ascent.run_pass()
        passes += 1
        if passes < next_check and passes < max_passes:
            continue
        # The gap takes two products with all rows, so it is computed at passes 5, 10, 20 and so on.
        best, next_check = min(best, ascent.solution(passes, tol), key=_gap), CHECK_FACTOR * passes
        ascent.activate_all()
        if on_pass is not None:
            on_pass(passes, _gap(best))
    return replace(best, n_iter=passes)


def _gap(solution: DualSolution) -> float:
    return (solution.primal - solution.dual) / solution.primal


@dataclass(eq=False)
class _CoordinateDescent:
    """State of dual coordinate descent.

    Attributes
    ----------
    w : array of shape (d,)
        Σ α z x.
    rho : float
        Constant added to the kernel: K² for a penalised bias, the penalty ρ of the augmented Lagrangian for a free one.
    offset, balance : float
        The bias is offset + ρ balance, where balance = Σ z α, and offset is the multiplier of a free bias, else 0.
    active : array of int of shape (n,)
        Permutation of the rows. The first ``n_active`` are active.
    limits : tuple of float
        Derivatives beyond which rows at α = 0 and at α = C become inactive (shrinking).
    """

    X: Any
    z: Floats
    C: Floats
    bias_scale: float | None
    alpha: Floats
    offset: float = 0.0
    n_active: int = 0
    limits: tuple[float, float] = (np.inf, -np.inf)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        self.rho = float(squares.mean()) or 1.0 if self.bias_scale is None else self.bias_scale**2
        # Without a bias the curvature of an empty row is 0; its coefficient then moves to the bound.
        self.curvatures = np.maximum(squares + self.rho, np.finfo(np.float64).tiny)
        if not np.isfinite(self.curvatures).all():
            raise Block(self.X).non_finite()
        self.w, self.balance = self._weights(self.alpha), float(self.z @ self.alpha)
        self.active: Integers = np.arange(len(self.z))
        self.activate_all()

    def activate_all(self) -> None:
        """Undo the shrinking."""
        self.n_active, self.limits = len(self.z), (np.inf, -np.inf)

    def run_pass(self) -> None:
        """Make one pass over the active rows, in random order."""
        from likely.objectives import _kernels as compiled  # Numba takes a while to import

        self.random.shuffle(self.active[: self.n_active])
        X, bias = self.X, (self.offset, self.rho, self.balance)
        rows = X.indptr, X.indices, X.data, self.z, self.C, self.curvatures
        moved = compiled.descend_rows(*rows, self.alpha, self.w, bias, self.active, self.n_active, self.limits)
        self.n_active, self.balance, highest, lowest = moved
        self.limits = highest if highest > 0 else np.inf, lowest if lowest < 0 else -np.inf
        if self.bias_scale is None:  # multiplier step of the augmented Lagrangian
            self.offset += self.rho * self.balance

    def solution(self, passes: int, tol: float) -> DualSolution:
        """Return feasible coefficients, with both objectives."""
        alpha = self.alpha.copy() if self.bias_scale is not None else balance_coefficients(self.alpha, self.z)
        w = self._weights(alpha)
        f = self.X @ w
        if self.bias_scale is not None:
            self.w = w  # recomputed, so that rounding does not accumulate
            f += self.rho * float(self.z @ alpha)
        return dual_solution(alpha, f, self.z, self.C, self.bias_scale is None, passes, tol)

    def _weights(self, alpha: Floats) -> Floats:
        return np.asarray(self.X.T @ (self.z * alpha))


def balance_coefficients(alpha: Floats, z: Floats) -> Floats:
    """Return coefficients with Σ z α = 0.

    The coefficients of the side with the larger sum are scaled down, unless the difference is rounding error.
    """
    less, more = float(alpha[z < 0].sum()), float(alpha[z > 0].sum())
    heavy = max(less, more)
    share = min(less, more) / heavy if heavy > 0 else 1.0
    if share > 1 - 1e-11:
        return alpha
    return np.asarray(alpha * np.where((z > 0) == (more > less), share, 1.0))


def descend_rows(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    z: Floats,
    C: Floats,
    curvatures: Floats,
    alpha: Floats,
    w: Floats,
    bias: tuple[float, float, float],
    active: Integers,
    n_active: int,
    limits: tuple[float, float],
) -> tuple[int, float, float, float]:
    """Maximise the dual over the coefficient of each of the first ``n_active`` rows in turn; α and w change in place.

    ``bias`` is (offset, ρ, Σ z α), and ``limits`` are the derivatives beyond which rows at α = 0 and at α = C become
    inactive. Returns the number of active rows, Σ z α, and the highest and the lowest projected derivative (Hsieh et
    al. 2008).
    """
    offset, rho, balance = bias
    k, highest, lowest = 0, -np.inf, np.inf
    while k < n_active:
        i = active[k]
        score = offset + rho * balance
        for t in range(indptr[i], indptr[i + 1]):
            score += w[indices[t]] * data[t]
        # Derivative of the minimised objective −D by α: z (w'x + b) − 1.
        before, slope = alpha[i], z[i] * score - 1
        # Shrinking: a row at a bound whose derivative points far out of the box becomes inactive.
        if (before <= 0 and slope > limits[0]) or (before >= C[i] and slope < limits[1]):
            n_active -= 1
            active[k], active[n_active] = active[n_active], i
            continue
        # Projected derivative, and the exact maximum along the coordinate, clipped to the box.
        k += 1
        if (before <= 0 and slope > 0) or (before >= C[i] and slope < 0):
            slope = 0.0
        highest, lowest = max(highest, slope), min(lowest, slope)
        alpha[i] = min(max(before - slope / curvatures[i], 0.0), C[i])
        step = (alpha[i] - before) * z[i]
        if step != 0:
            balance += step
            for t in range(indptr[i], indptr[i + 1]):
                w[indices[t]] += step * data[t]
    return n_active, balance, highest, lowest
