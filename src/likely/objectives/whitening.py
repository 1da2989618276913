"""Coordinates in which an objective is nearly round: where quasi-Newton and conjugate-gradient steps are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from likely._typing import Floats, Integers
from likely.objectives.curvatures import class_curvatures, column_curvatures
from likely.objectives.problem import LinearProblem

__all__ = ["Whitening", "diagonal_whitening", "estimated_gap", "whitening"]

PER_COLUMN = 4
"""Rows a column that the blocks of a Hessian are estimated from, where there are many."""

MOST_VALUES = 2**25
"""Numbers that the diagonal blocks of a Hessian may take, and a quarter of what the rows drawn for them take; past it
only its diagonal is used."""


class Whitening(Protocol):
    """A linear change of parameters, v = T u, in which the curvature is nearly the identity."""

    def out(self, u: Floats) -> Floats:
        """T u."""

    def back(self, gradient: Floats) -> Floats:
        """T' g: the gradient in the new coordinates."""


@dataclass(frozen=True, eq=False)
class _ByColumns:
    scale: Floats

    def out(self, u: Floats) -> Floats:
        return np.asarray(self.scale * u)

    back = out


@dataclass(frozen=True, eq=False)
class _ByBlocks:
    """Cholesky factors L of the diagonal blocks scaled to unit diagonals, and the scales: T = scale · L'⁻¹."""

    factors: Floats
    scale: Floats

    def out(self, u: Floats) -> Floats:
        parts = zip(self.factors, u.reshape(self.scale.shape), strict=True)
        solved = np.stack([solve_triangular(L, part, trans="T", lower=True, check_finite=False) for L, part in parts])
        return np.asarray(solved * self.scale).reshape(-1)

    def back(self, gradient: Floats) -> Floats:
        parts = zip(self.factors, gradient.reshape(self.scale.shape) * self.scale, strict=True)
        solved = [solve_triangular(L, part, lower=True, check_finite=False) for L, part in parts]
        return np.stack(solved).reshape(-1)


def whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """By the diagonal blocks of the Hessian at a point, one for each row of the parameters, or else by its diagonal.

    Blocks of 4 rows a column, drawn by their weight in the Hessian, serve as well as those of all rows: on MNIST a
    relative gap of 1e-6 is reached in 46 passes, with blocks of 10 % of all rows drawn evenly in 150.
    """
    blocks = _blocks(problem, v)
    if blocks is None:
        return diagonal_whitening(problem, v)
    scale = _inverse_root(np.diagonal(blocks, axis1=1, axis2=2))
    blocks *= scale[:, :, None] * scale[:, None, :]
    return _ByBlocks(np.stack([_factor(block) for block in blocks]), scale)


def diagonal_whitening(problem: LinearProblem, v: Floats) -> Whitening:
    """By the diagonal of the Hessian at a point."""
    return _ByColumns(_inverse_root(column_curvatures(problem, v)))


def estimated_gap(problem: LinearProblem, v: Floats, gradient: Floats) -> float:
    """How far an objective is above its minimum: half the squared norm of its slopes, by the inverse of the curvature.

    Only the slopes count that parameters can follow: at 0 those that outweigh the penalty on absolute values, and near
    0, if they lead there, no further than that.
    """
    slopes = np.where(
        v != 0,
        gradient + problem.absolutes * np.sign(v),
        np.sign(gradient) * np.maximum(np.abs(gradient) - problem.absolutes, 0.0),
    )
    blocks, diagonal = _blocks(problem, v), column_curvatures(problem, v)
    if blocks is not None:  # of columns that vary in few rows, those drawn may show too little
        at = np.arange(problem.shape[1])
        blocks[:, at, at] = np.maximum(blocks[:, at, at], diagonal.reshape(problem.shape))
    short = (problem.absolutes > 0) & (slopes * v > 0) & (np.abs(v) * diagonal < np.abs(slopes))
    bounded, slopes = float(np.sum(slopes[short] * v[short])), np.where(short, 0.0, slopes)
    if blocks is None:
        return bounded + float(np.sum(np.square(_inverse_root(diagonal) * slopes))) / 2
    pairs = zip(blocks, slopes.reshape(problem.shape), strict=True)
    return bounded + sum(_gap_of_block(block, part, np.flatnonzero(part)) for block, part in pairs)


def _gap_of_block(block: Floats, slopes: Floats, free: Integers) -> float:
    if not len(free):
        return 0.0
    block, scale = block[np.ix_(free, free)], _inverse_root(block.diagonal()[free])
    white = solve_triangular(_factor(block * scale[:, None] * scale), scale * slopes[free], lower=True)
    return float(white @ white) / 2


def _blocks(problem: LinearProblem, v: Floats) -> Floats | None:
    """The diagonal blocks of the Hessian, if they are not too large."""
    n_blocks, q = problem.shape
    if n_blocks * q**2 > MOST_VALUES or problem.n_rows < q:
        return None
    return class_curvatures(problem, v, max(PER_COLUMN * q, min(2**15, 2**31 // (n_blocks * q**2))))


def _inverse_root(diagonal: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(diagonal.shape), where=diagonal > 0)


def _factor(block: Floats) -> Floats:
    """Cholesky factor of a block of unit diagonal; flat directions are given a little curvature."""
    block[np.diag_indices_from(block)] = 1.0  # also of parameters that nothing depends on
    for jitter in (1e-10, 1e-8, 1e-6):
        block[np.diag_indices_from(block)] = 1.0 + jitter
        try:
            return np.asarray(cholesky(block, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.eye(len(block))
