"""Preconditioning: linear changes of parameters in which the Hessian of an objective is nearly the identity.

With such parameters, quasi-Newton and conjugate-gradient methods need few iterations. A whitening comes from the
Cholesky factors of the diagonal blocks of the Hessian, estimated from sampled rows, or else from its diagonal.

References
----------
Nocedal and Wright, Numerical optimization, 2nd ed. (2006), section 5.1 (preconditioning). Boyd and Vandenberghe, Convex
optimization (2004), section 9.5 (Newton decrement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from likely._typing import Floats, Integers
from likely.objectives import cross_entropy
from likely.objectives.problem import LinearProblem

ROWS_PER_COLUMN = 4
"""Number of sampled rows per column of a diagonal block of the Hessian, if there are many rows."""

MAX_VALUES = 2**25
"""Maximum number of values of the diagonal blocks of a Hessian. The rows sampled for them take four times as many. If
the blocks are larger, only the diagonal is used."""

SUBSAMPLE_ROWS_PER_COLUMN = 64
"""If the subsample has at least this number of rows per column, its Hessian replaces that of all rows."""

MIN_CURVATURE = 1e-2
"""Lower bound of the curvature along a column, relative to that of a column of unit variance."""


class Whitening(Protocol):
    """Linear change of parameters v = T u such that T'HT, the Hessian with respect to u, is nearly the identity."""

    def apply(self, u: Floats) -> Floats:
        """Return T u."""

    def apply_transpose(self, gradient: Floats) -> Floats:
        """Return T' g, the gradient with respect to u."""


@dataclass(frozen=True, eq=False)
class _DiagonalWhitening:
    """T = diag(scale), where scale is the inverse square root of the diagonal of the Hessian."""

    scale: Floats

    def apply(self, u: Floats) -> Floats:
        return np.asarray(self.scale * u)

    apply_transpose = apply


@dataclass(frozen=True, eq=False)
class _BlockWhitening:
    """T = diag(scale) L'⁻¹, with L the Cholesky factors of the diagonal blocks scaled to unit diagonals."""

    factors: Floats
    scale: Floats

    def apply(self, u: Floats) -> Floats:
        parts = zip(self.factors, u.reshape(self.scale.shape), strict=True)
        solved = np.stack([solve_triangular(L, part, trans="T", lower=True, check_finite=False) for L, part in parts])
        return np.asarray(solved * self.scale).reshape(-1)

    def apply_transpose(self, gradient: Floats) -> Floats:
        parts = zip(self.factors, gradient.reshape(self.scale.shape) * self.scale, strict=True)
        solved = [solve_triangular(L, part, lower=True, check_finite=False) for L, part in parts]
        return np.stack(solved).reshape(-1)


def make_whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """Whiten by the diagonal blocks of the Hessian at v, one for each row of θ, or by its diagonal if blocks are large.

    Blocks estimated from 4 rows per column, sampled by their weight in the Hessian, work as well as those of all rows.
    On MNIST a relative gap of 1e-6 is reached in 46 passes. With blocks of 10 % of all rows, sampled uniformly, it
    takes 150.
    """
    blocks = _blocks_if_small(problem, v)
    if blocks is None:
        return make_diagonal_whitening(problem, v)
    scale = inverse_root(np.diagonal(blocks, axis1=1, axis2=2))
    blocks *= scale[:, :, None] * scale[:, None, :]
    return _BlockWhitening(np.stack([_factor(block) for block in blocks]), scale)


def make_diagonal_whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """Whiten by the diagonal of the Hessian at v."""
    return _DiagonalWhitening(inverse_root(hessian_diagonal(problem, v)))


def estimate_gap(problem: LinearProblem, v: Floats, gradient: Floats) -> float:
    """Estimate the gap of the objective to its minimum, ½ g'H⁻¹g, from the diagonal blocks of the Hessian.

    With an L1 penalty g is the subgradient of minimum norm. For a parameter whose Newton step would cross 0, only the
    decrease on the way to 0 is counted.
    """
    # Subgradient of minimum norm: at 0 the gradient is soft-thresholded by the L1 penalty.
    subgradient = np.where(
        v != 0,
        gradient + problem.l1_weights * np.sign(v),
        np.sign(gradient) * np.maximum(np.abs(gradient) - problem.l1_weights, 0.0),
    )
    blocks, diagonal = _blocks_if_small(problem, v), hessian_diagonal(problem, v)
    if blocks is not None:  # a sample may underestimate the curvature along columns that vary in few rows
        at = np.arange(problem.shape[1])
        blocks[:, at, at] = np.maximum(blocks[:, at, at], diagonal.reshape(problem.shape))
    # For parameters that reach 0 before the end of their Newton step, g v bounds the decrease.
    short = (problem.l1_weights > 0) & (subgradient * v > 0) & (np.abs(v) * diagonal < np.abs(subgradient))
    bounded = float(np.sum(subgradient[short] * v[short]))
    subgradient = np.where(short, 0.0, subgradient)
    # ½ g'H⁻¹g of the others, by the diagonal of H or block by block.
    if blocks is None:
        return bounded + float(np.sum(np.square(inverse_root(diagonal) * subgradient))) / 2
    pairs = zip(blocks, subgradient.reshape(problem.shape), strict=True)
    return bounded + sum(_gap_of_block(block, part, np.flatnonzero(part)) for block, part in pairs)


def _gap_of_block(block: Floats, gradient: Floats, free: Integers) -> float:
    """Return ½ g'H⁻¹g = ½ ‖L⁻¹g‖² of the free parameters of a diagonal block H = LL'."""
    if not len(free):
        return 0.0
    block, scale = block[np.ix_(free, free)], inverse_root(block.diagonal()[free])
    white = solve_triangular(_factor(block * scale[:, None] * scale), scale * gradient[free], lower=True)
    return float(white @ white) / 2


def _blocks_if_small(problem: LinearProblem, v: Floats) -> Floats | None:
    """Estimate the diagonal blocks of the Hessian, or return None if they are too large or the rows too few."""
    n_blocks, q = problem.shape
    if n_blocks * q**2 > MAX_VALUES or problem.n_rows < q:
        return None
    return hessian_blocks(problem, v, max(ROWS_PER_COLUMN * q, min(2**15, 2**31 // (n_blocks * q**2))))


def hessian_blocks(problem: LinearProblem, v: Floats, n_rows: int) -> Floats:
    """Estimate the diagonal blocks of the Hessian, one for each row of θ, each from about ``n_rows`` sampled rows."""
    theta, whole = problem.unscale(v), problem
    if problem.subsample is not None and problem.subsample.n_rows >= SUBSAMPLE_ROWS_PER_COLUMN * problem.shape[1]:
        whole = problem.subsample
    # Importance sampling: first the total Hessian weight, which sets the spacing, then the rows.
    few = whole.subsample or whole
    weights = few.source.reduce(cross_entropy.hessian_weights, theta, few.setting)
    sample = whole.source.reduce(cross_entropy.sample_hessian, theta, whole.setting, weights / n_rows)
    blocks: Floats = sample.blocks()
    blocks *= problem.units[:, None] * problem.units
    diagonal = np.arange(problem.shape[1])
    blocks[:, diagonal, diagonal] = _floor(problem, blocks[:, diagonal, diagonal], weights)
    return blocks


def hessian_diagonal(problem: LinearProblem, v: Floats) -> Floats:
    """Return the diagonal of the Hessian at v as a flat array, bounded below by :func:`_floor`."""
    sums = problem.source.reduce(cross_entropy.hessian_diagonal, problem.unscale(v), problem.setting)
    sums = sums * np.square(problem.units)
    return _floor(problem, sums, sums[:, -1]).reshape(-1)


def _floor(problem: LinearProblem, diagonal: Floats, weights: Floats) -> Floats:
    """Bound the diagonal of the Hessian below by a share of that of a standardised column, and add the L2 penalty.

    Without the bound, a column that varies only in rows that were not sampled, or that are classified well, would seem
    to have no curvature.
    """
    floor = np.where(problem.units > 0, MIN_CURVATURE * weights[:, None], 0.0)
    return np.maximum(diagonal, floor) + problem.l2_weights.reshape(problem.shape)


def inverse_root(diagonal: Floats) -> Floats:
    """Return 1 / √d, or 0 where d is 0."""
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(diagonal.shape), where=diagonal > 0)


def _factor(block: Floats) -> Floats:
    """Return the Cholesky factor of a block of unit diagonal plus the smallest jitter that works, else the identity."""
    block[np.diag_indices_from(block)] = 1.0  # also for parameters on which nothing depends
    for jitter in (1e-10, 1e-8, 1e-6):
        block[np.diag_indices_from(block)] = 1.0 + jitter
        try:
            return np.asarray(cholesky(block, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.eye(len(block))
