"""Coordinates in which an objective is nearly spherical, so that quasi-Newton and conjugate-gradient steps are few.

They come from the diagonal blocks of the Hessian, estimated from sampled rows, or else from its diagonal.
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
"""Sampled rows for each column of a diagonal block of the Hessian, where there are many rows."""

MAX_VALUES = 2**25
"""Numbers that the diagonal blocks of a Hessian may take, and a quarter of what the rows sampled for them take; beyond
it only the diagonal is used."""

PLENTY = 64
"""Rows of the subsample per column, from which on its Hessian replaces that of all rows."""

LEAST_CURVATURE = 1e-2
"""Lower bound of the curvature along a column, relative to that of a column of unit variance."""


class Whitening(Protocol):
    """A linear change of parameters, v = T u, in which the Hessian is nearly the identity."""

    def apply(self, u: Floats) -> Floats:
        """T u."""

    def pull_back(self, gradient: Floats) -> Floats:
        """T' g: the gradient in the new coordinates."""


@dataclass(frozen=True, eq=False)
class _DiagonalWhitening:
    scale: Floats

    def apply(self, u: Floats) -> Floats:
        return np.asarray(self.scale * u)

    pull_back = apply


@dataclass(frozen=True, eq=False)
class _BlockWhitening:
    """Cholesky factors L of the diagonal blocks scaled to unit diagonals, and the scales: T = scale · L'⁻¹."""

    factors: Floats
    scale: Floats

    def apply(self, u: Floats) -> Floats:
        parts = zip(self.factors, u.reshape(self.scale.shape), strict=True)
        solved = np.stack([solve_triangular(L, part, trans="T", lower=True, check_finite=False) for L, part in parts])
        return np.asarray(solved * self.scale).reshape(-1)

    def pull_back(self, gradient: Floats) -> Floats:
        parts = zip(self.factors, gradient.reshape(self.scale.shape) * self.scale, strict=True)
        solved = [solve_triangular(L, part, lower=True, check_finite=False) for L, part in parts]
        return np.stack(solved).reshape(-1)


def whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """Whiten by the diagonal blocks of the Hessian at v, one for each row of θ, or by its diagonal if they are large.

    Blocks of 4 rows per column, sampled by their weight in the Hessian, serve as well as those of all rows: on MNIST a
    relative gap of 1e-6 is reached in 46 passes, with blocks of 10 % of all rows drawn evenly in 150.
    """
    blocks = _blocks_if_small(problem, v)
    if blocks is None:
        return diagonal_whitening(problem, v)
    scale = _inverse_root(np.diagonal(blocks, axis1=1, axis2=2))
    blocks *= scale[:, :, None] * scale[:, None, :]
    return _BlockWhitening(np.stack([_factor(block) for block in blocks]), scale)


def diagonal_whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """Whiten by the diagonal of the Hessian at v."""
    return _DiagonalWhitening(_inverse_root(hessian_diagonal(problem, v)))


def estimated_gap(problem: LinearProblem, v: Floats, gradient: Floats) -> float:
    """Estimate the distance of the objective to its minimum, ½ g'H⁻¹g, from the diagonal blocks of the Hessian.

    With an L1 penalty g is the subgradient of least norm. A parameter whose Newton step would cross 0 counts with the
    decrease on the way to 0 alone.
    """
    # Subgradient of least norm: at 0 only what exceeds the L1 penalty counts.
    subgradient = np.where(
        v != 0,
        gradient + problem.l1_weights * np.sign(v),
        np.sign(gradient) * np.maximum(np.abs(gradient) - problem.l1_weights, 0.0),
    )
    blocks, diagonal = _blocks_if_small(problem, v), hessian_diagonal(problem, v)
    if blocks is not None:  # sampled rows may show too little of columns that vary in few rows
        at = np.arange(problem.shape[1])
        blocks[:, at, at] = np.maximum(blocks[:, at, at], diagonal.reshape(problem.shape))
    # Parameters that would reach 0 before the end of their Newton step.
    short = (problem.l1_weights > 0) & (subgradient * v > 0) & (np.abs(v) * diagonal < np.abs(subgradient))
    bounded = float(np.sum(subgradient[short] * v[short]))
    subgradient = np.where(short, 0.0, subgradient)
    if blocks is None:
        return bounded + float(np.sum(np.square(_inverse_root(diagonal) * subgradient))) / 2
    pairs = zip(blocks, subgradient.reshape(problem.shape), strict=True)
    return bounded + sum(_gap_of_block(block, part, np.flatnonzero(part)) for block, part in pairs)


def _gap_of_block(block: Floats, gradient: Floats, free: Integers) -> float:
    if not len(free):
        return 0.0
    block, scale = block[np.ix_(free, free)], _inverse_root(block.diagonal()[free])
    white = solve_triangular(_factor(block * scale[:, None] * scale), scale * gradient[free], lower=True)
    return float(white @ white) / 2


def _blocks_if_small(problem: LinearProblem, v: Floats) -> Floats | None:
    n_blocks, q = problem.shape
    if n_blocks * q**2 > MAX_VALUES or problem.n_rows < q:
        return None
    return hessian_blocks(problem, v, max(ROWS_PER_COLUMN * q, min(2**15, 2**31 // (n_blocks * q**2))))


def hessian_blocks(problem: LinearProblem, v: Floats, n_rows: int) -> Floats:
    """Diagonal blocks of the Hessian, one for each row of θ, each estimated from about ``n_rows`` sampled rows."""
    theta, whole = problem.natural(v), problem
    if problem.subsample is not None and problem.subsample.n_rows >= PLENTY * problem.shape[1]:
        whole = problem.subsample
    few = whole.subsample or whole
    weights = few.source.reduce(cross_entropy.hessian_weights, theta, few.setting)
    sample = whole.source.reduce(cross_entropy.sample_hessian, theta, whole.setting, weights / n_rows)
    blocks: Floats = sample.blocks()
    blocks *= problem.units[:, None] * problem.units
    diagonal = np.arange(problem.shape[1])
    blocks[:, diagonal, diagonal] = _floor(problem, blocks[:, diagonal, diagonal], weights)
    return blocks


def hessian_diagonal(problem: LinearProblem, v: Floats) -> Floats:
    """The diagonal of the Hessian, flat."""
    sums = problem.source.reduce(cross_entropy.hessian_diagonal, problem.natural(v), problem.setting)
    sums = sums * np.square(problem.units)
    return _floor(problem, sums, sums[:, -1]).reshape(-1)


def _floor(problem: LinearProblem, diagonal: Floats, weights: Floats) -> Floats:
    """Raise the diagonal of the Hessian to a share of that of an average standardised column, and add the L2 penalty.

    Otherwise a column that varies only in rows that were not sampled, or that are classified well, would seem flat.
    """
    floor = np.where(problem.units > 0, LEAST_CURVATURE * weights[:, None], 0.0)
    return np.maximum(diagonal, floor) + problem.l2_weights.reshape(problem.shape)


def _inverse_root(diagonal: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(diagonal.shape), where=diagonal > 0)


def _factor(block: Floats) -> Floats:
    """Cholesky factor of a block of unit diagonal; flat directions get a little curvature."""
    block[np.diag_indices_from(block)] = 1.0  # also of parameters that nothing depends on
    for jitter in (1e-10, 1e-8, 1e-6):
        block[np.diag_indices_from(block)] = 1.0 + jitter
        try:
            return np.asarray(cholesky(block, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.eye(len(block))
