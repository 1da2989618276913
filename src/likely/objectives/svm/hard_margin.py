"""The proof that no surface of a kernel keeps two classes apart: a point that is a mixture of either's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.optimize import linprog

from likely._typing import Floats, Integers

__all__ = ["Overlap", "hull_distance", "overlap_of"]

MOST_VALUES = 2**22
"""Coefficients of a linear program that is solved in a second or so."""

NEAR, EQUAL = 1e-2, 1e-7
"""Distances of two mixtures, in parts of the length of the longest row, at which it is worth to look whether they can
be equal, and at which rounding leaves no difference."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """The certificate that classes are not separable: one point that is a mixture of rows of either side.

    Attributes
    ----------
    rows : array of int of shape (k,)
        The rows that take part.
    weights : array of shape (k,)
        Of each in the mixture of its side; those of a side sum to 1.
    distance : float
        Between the two mixtures, in the kernel's space, in parts of the length of its longest row: 0 but for rounding.
    """

    rows: Integers
    weights: Floats
    distance: float


def hull_distance(alpha: Floats, square: float) -> float:
    """Between the mixtures of either side that multipliers are, where Σ z α = 0 and ‖Σ z α φ‖² is known."""
    total = float(alpha.sum()) / 2
    return float(np.sqrt(max(square, 0.0))) / total if total > 0 else np.inf


def as_overlap(alpha: Floats, distance: float) -> Overlap:
    """Multipliers as mixtures of either side."""
    rows = np.flatnonzero(alpha)
    return Overlap(rows, alpha[rows] / (alpha.sum() / 2), distance)


def overlap_of(K: Floats, z: Floats) -> Overlap | None:
    """The certificate, if a linear program finds one; none if classes are separable or the program is too large.

    The kernel's matrix is taken apart, K = ΦΦ', by Cholesky's method with pivots, to as many features as it has rank.
    Of the mixtures Σ_{z=1} α φ and Σ_{z=−1} α φ, the sums of α being 1, the program seeks those that differ least.
    """
    lengths = np.sqrt(max(float(K.diagonal().max()), np.finfo(np.float64).tiny))
    factor, pivots, rank, _ = dpstrf(K, lower=1, tol=1e-13 * lengths**2)
    if rank * len(z) > MOST_VALUES:
        return None
    features = np.empty((len(z), rank))
    features[pivots - 1] = np.tril(factor)[:, :rank] / lengths
    sides = np.array([z > 0, z < 0], dtype=np.float64)
    eye = np.eye(rank)
    equal = np.block([[features.T * z, -eye, eye], [sides, np.zeros((2, 2 * rank))]])
    found = linprog(
        np.concatenate([np.zeros(len(z)), np.ones(2 * rank)]), A_eq=equal, b_eq=np.append(np.zeros(rank), [1.0, 1.0])
    )
    if found.x is None:
        return None
    alpha = np.where(found.x[: len(z)] > EQUAL, found.x[: len(z)], 0.0)  # what is below is the program's own tolerance
    for side in (z > 0, z < 0):
        alpha[side] /= alpha[side].sum()
    distance = float(np.linalg.norm((alpha * z) @ features))
    return as_overlap(alpha, distance) if distance <= 10 * EQUAL else None
