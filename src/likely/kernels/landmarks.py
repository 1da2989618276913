"""Training rows that other rows are compared with, and what their matrix is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from likely._typing import Floats, Integers, Rows
from likely.blocks import ArraySource, Block, Source
from likely.exceptions import InvalidDataError, warn_of_degenerate_data
from likely.kernels.base import Kernel
from likely.kernels.columns import Columns, matrix_of
from likely.kernels.given import check_semi_definite

__all__ = [
    "all_at_once",
    "columns_of",
    "directions",
    "fitted_kernel",
    "gram_of",
    "hardly_vary",
    "is_precomputed",
    "landmarks_of",
    "warn_of_lost_digits",
]

ROUNDING = 1e-12
"""Eigenvalues below this share of the largest are taken for rounding; for many rows it grows with their number."""

LOST = 1e-10
"""Digits are lost where squared distances of rows from their mean are below this share of the squared lengths."""


def all_at_once(source: Source, whom: str, most: int, remedy: str) -> ArraySource:
    """Return the rows, which must be in memory, and few enough for a matrix of all rows with all rows."""
    rows = source.in_memory(whom, remedy)
    n = rows.X.shape[0]
    if n > most:
        raise InvalidDataError(
            f"{whom} compares all rows with each other, at most {most} of them, but X has {n}, whose matrix would "
            f"take {8 * n**2 / 1e9:.1f} GB. {remedy}"
        )
    return rows


def fitted_kernel(kernel: Kernel, X: Rows, weight: Floats | None = None, positions: Integers | None = None) -> Kernel:
    """The kernel with what it takes from the training rows.

    Refuses a kernel that the training rows show not to be positive semi-definite.

    ``positions`` are the places of the rows before those of weight 0 were dropped; a matrix in place of rows still has
    columns for these.
    """
    square = X[:, positions] if kernel.is_precomputed and positions is not None else X
    found = kernel.fitted(square, weight)
    check_semi_definite(found, square)
    return found


def landmarks_of(kernel: Kernel, X: Rows, positions: Integers | None = None) -> Rows:
    """What a model keeps of rows: a copy; for a precomputed kernel their positions among the training rows."""
    if kernel.is_precomputed:
        return np.arange(X.shape[0]) if positions is None else np.array(positions, dtype=np.intp)
    rows: Rows = X.astype(np.float64, copy=True) if issparse(X) else np.array(X, dtype=np.float64)
    return rows


def columns_of(kernel: Kernel, landmarks: Rows) -> Columns:
    """Landmarks made ready to be compared with."""
    with np.errstate(over="ignore", invalid="ignore"):
        return kernel.columns(landmarks, landmarks if kernel.is_precomputed else None)  # type: ignore[arg-type]


def is_precomputed(value: Any) -> bool:
    """Whether a parameter, valid or not, asks for rows of a kernel's matrix in place of rows."""
    return (isinstance(value, str) and value == "precomputed") or bool(getattr(value, "is_precomputed", False))


def gram_of(kernel: Kernel, landmarks: Rows, X: Rows) -> Floats:
    """The kernel's matrix of the landmarks, which are the rows X; values that are not finite are refused."""
    K = matrix_of(columns_of(kernel, landmarks), X)
    if not (np.isfinite(K.min()) and np.isfinite(K.max())):  # no array of flags: the matrix may be large
        raise Block(X).non_finite()
    return K


def hardly_vary(K: Floats) -> bool:
    """Whether rows differ so little, beside their distance from the origin of the space, that digits are lost."""
    whole = float(K.trace())
    return len(K) > 1 and whole - float(K.sum()) / len(K) < LOST * whole


def warn_of_lost_digits(kernel: Kernel) -> None:
    """Warn of rows that hardly vary."""
    warn_of_degenerate_data(
        f"Rows differ so little in the space of {kernel}, beside their distance from its origin, that digits are lost. "
        "Put Standardize first, or use a kernel that tells them apart."
    )


def directions(A: Floats, most: int | None = None, scale: float = 0.0) -> tuple[Floats, Floats]:
    """Eigenvalues of a symmetric matrix from the largest on, and eigenvectors as columns, without what is rounding.

    Parameters
    ----------
    A : array of shape (n, n)
        Overwritten.
    most : int, optional
        How many are wanted.
    scale : float
        What else rounding is relative to: the size of what A was computed from.
    """
    n = len(A)
    subset = None if most is None or most >= n else (n - most, n - 1)
    # The transpose of a symmetric matrix in C order is the matrix in LAPACK's: no copy is made.
    values, vectors = eigh(A.T, subset_by_index=subset, overwrite_a=True, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    least = max(ROUNDING, n * np.finfo(np.float64).eps) * max(float(values[0]), scale)
    kept = int((values > max(least, 0.0)).sum())
    return values[:kept].copy(), np.ascontiguousarray(vectors[:, :kept])
