"""The dual of a linear machine of sparse rows with many columns, a multiplier at a time: no matrix of rows is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Integers, Rows
from likely.blocks import Block
from likely.kernels import Kernel, LinearKernel
from likely.objectives.svm.dual import DualSolution, solution_of

__all__ = ["balanced", "is_wide", "solve_rows"]

MANY_ROWS, MANY_COLUMNS = 2048, 2000
"""From so many sparse rows and columns on: of fewer rows the whole matrix is soon made, and of fewer columns Newton's
method in the primal has small Hessians."""

FIRST_LOOK, LATER = 5, 2
"""After how many passes the gap is reckoned for the first time, and by what factor later each time."""


def is_wide(kernel: Kernel, X: Rows) -> bool:
    """Whether rows are those that this is for."""
    large = X.shape[0] > MANY_ROWS and X.shape[1] >= MANY_COLUMNS
    return isinstance(kernel, LinearKernel) and issparse(X) and large


def solve_rows(
    X: Any,
    z: Floats,
    C: Floats,
    bias_scale: float | None,
    tolerance: float,
    most_passes: int,
    start: tuple[Floats, Floats] | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> DualSolution:
    """Maximise Σ α − ½ ‖Σ α z x‖² over 0 ≤ α ≤ C, and Σ z α = 0 where there is a free bias.

    Parameters
    ----------
    X : CSR array of shape (n, d)
    z, C : arrays of shape (n,)
        Sides, and bounds, which are finite.
    bias_scale : float, optional
        None for a free bias.
    most_passes : int
        Over the rows.
    start : multipliers and the scores they give, optional
    tell : function of the passes and the relative gap, optional
        Called whenever the gap is reckoned.

    Notes
    -----
    With w = Σ α z x at hand, the best multiplier of a row, the others kept, takes a product with that row alone. Rows
    at a bound that are further beyond it than any row was in the last pass are left out until the gap is looked at. A
    free bias is found by the method of multipliers: the dual has −ρ/2 (Σ z α)² beside it, and after every pass b grows
    by ρ Σ z α, so in the end Σ z α = 0. For a bound on the way the heavier side is scaled down.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008.
    """
    ascent = _Ascent(X, z, C, bias_scale, np.zeros(len(z)) if start is None else start[0].copy())
    best, next_look, passes = ascent.solution(0, tolerance), FIRST_LOOK, 0
    while not best.converged and passes < most_passes:
        ascent.go_through()
        passes += 1
        if passes < next_look and passes < most_passes:
            continue
        best, next_look = min(best, ascent.solution(passes, tolerance), key=_gap), LATER * passes
        ascent.look_at_all()
        if tell is not None:
            tell(passes, _gap(best))
    return replace(best, n_iter=passes)


def _gap(solution: DualSolution) -> float:
    return (solution.primal - solution.dual) / solution.primal


@dataclass(eq=False)
class _Ascent:
    """The state of an ascent.

    Attributes
    ----------
    w : array of shape (d,)
        Σ α z x.
    rho : float
        What is added to the kernel: K² of a penalised bias.
    offset, lean : float
        The bias is offset + ρ lean, where lean = Σ z α.
    active : array of int of shape (n,)
        The rows, of which the first ``n_active`` are not left out.
    limits : tuple of float
        Slopes beyond which rows at α = 0 and at α = C are left out.
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
        self.curvatures = squares + self.rho
        if not np.isfinite(self.curvatures).all():
            raise Block(self.X).non_finite()
        self.w, self.lean = self._weights(self.alpha), float(self.z @ self.alpha)
        self.active: Integers = np.arange(len(self.z))
        self.look_at_all()

    def look_at_all(self) -> None:
        self.n_active, self.limits = len(self.z), (np.inf, -np.inf)

    def go_through(self) -> None:
        """One pass over the rows, in an order drawn by lot."""
        from likely.objectives import _kernels as compiled  # Numba takes a while to import

        self.random.shuffle(self.active[: self.n_active])
        X, bias = self.X, (self.offset, self.rho, self.lean)
        rows = X.indptr, X.indices, X.data, self.z, self.C, self.curvatures
        moved = compiled.by_rows(*rows, self.alpha, self.w, bias, self.active, self.n_active, self.limits)
        self.n_active, self.lean, highest, lowest = moved
        self.limits = highest if highest > 0 else np.inf, lowest if lowest < 0 else -np.inf
        if self.bias_scale is None:
            self.offset += self.rho * self.lean

    def solution(self, passes: int, tolerance: float) -> DualSolution:
        """Multipliers that keep the constraints, with the values of both problems."""
        alpha = self.alpha.copy() if self.bias_scale is not None else balanced(self.alpha, self.z)
        w = self._weights(alpha)
        f = self.X @ w
        if self.bias_scale is not None:
            self.w = w  # without what rounding has gathered
            f += self.rho * float(self.z @ alpha)
        return solution_of(alpha, f, self.z, self.C, self.bias_scale is None, passes, tolerance)

    def _weights(self, alpha: Floats) -> Floats:
        return np.asarray(self.X.T @ (self.z * alpha))


def balanced(alpha: Floats, z: Floats) -> Floats:
    """Multipliers with Σ z α = 0: those of the heavier side are scaled down, but for rounding."""
    less, more = float(alpha[z < 0].sum()), float(alpha[z > 0].sum())
    heavy = max(less, more)
    share = min(less, more) / heavy if heavy > 0 else 1.0
    if share > 1 - 1e-11:
        return alpha
    return np.asarray(alpha * np.where((z > 0) == (more > less), share, 1.0))
