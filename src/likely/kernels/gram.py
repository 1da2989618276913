"""Matrices of kernels over training rows: landmarks, eigenvectors, and rows kept within a limit of memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse

from likely._constraints import Constraint, Scope, ViolationError, check_shape, floats, instance_of, show
from likely._typing import Floats, Integers, Rows
from likely.blocks import ArraySource, Block, Source
from likely.exceptions import InvalidDataError, InvalidParameterError, warn_of_degenerate_data
from likely.kernels.base import Columns, Kernel, by_pieces, matrix_of
from likely.kernels.given import check_semi_definite

ROUNDING = 1e-12
"""Eigenvalues below this share of the largest are taken for rounding; for many rows it grows with their number."""

LOST = 1e-10
"""Digits are lost where squared distances of rows from their mean are below this share of the squared lengths."""

LARGEST_SET = 3072
"""Rows that are looked at together, at most: their square takes 75 MB."""


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


class GramRows:
    """Rows of the kernel's matrix of the training rows, reckoned when asked for and kept while there is room.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR array of shape (n, d)
    bytes_kept : int
        Most memory, of which a quarter is for a square of rows that are looked at together, and the rest for rows kept;
        those not used for the longest time make room for others.

    Attributes
    ----------
    n : int
    capacity : int
        Rows that can be kept.
    most_together : int
        Rows that can be looked at together.
    n_reckoned : int
        Rows reckoned so far, of which some may have been so more than once.
    """

    def __init__(self, kernel: Kernel, X: Rows, bytes_kept: int) -> None:
        self.X, self.n = X, X.shape[0]
        self._columns = kernel.columns(X)
        together = int(min(LARGEST_SET, math.isqrt(bytes_kept // 32)))
        self.capacity = min(self.n, (bytes_kept - 8 * min(together, self.n) ** 2) // (8 * self.n))
        if min(self.capacity, together) < 2:
            raise InvalidParameterError(
                f"Two rows of the kernel of {self.n} rows must be kept, which with their square takes "
                f"{(16 * self.n + 128) / 1e6:.2g} MB, but the cache may take {bytes_kept / 1e6:.2g} MB. Raise cache_mb."
            )
        self.most_together = min(together, self.capacity)
        self.kept = np.empty((self.capacity, self.n))  # memory that nobody wrote to is not taken
        self._slot = np.full(self.n, -1, dtype=np.intp)
        self._owner = np.full(self.capacity, -1, dtype=np.intp)
        self._used = np.zeros(self.capacity, dtype=np.intp)
        self._clock, self.n_reckoned = 0, 0

    def slots(self, rows: Integers) -> Integers:
        """Where in ``kept`` these rows are now, at most ``capacity`` of them; the others may be gone after the call."""
        self._clock += 1
        found = self._slot[rows]
        self._used[found[found >= 0]] = self._clock
        missing = rows[found < 0]
        if len(missing):
            self._reckon(missing)
        return np.asarray(self._slot[rows])

    def _reckon(self, missing: Integers) -> None:
        slots = np.argsort(self._used, kind="stable")[: len(missing)]  # unused ones first, in their order
        owners = self._owner[slots]
        self._slot[owners[owners >= 0]] = -1
        self._owner[slots], self._slot[missing], self._used[slots] = missing, slots, self._clock

        def keep(part: slice, columns: slice, piece: Floats) -> None:
            self.kept[slots[part], columns] = piece

        by_pieces(self._columns, self.X[missing], keep)
        if not np.isfinite(
            self.kept[slots, missing]
        ).all():  # no kernel of two rows is larger than those with themselves
            raise Block(self.X).non_finite()
        self.n_reckoned += len(missing)


# Declarations for models that have a fitted kernel and landmarks


def landmark_rows(letter: str) -> Constraint:
    """Rows that others are compared with, dense or sparse, or positions of such rows."""
    rows = floats(letter, "d")

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is np.ndarray and value.dtype == np.float64:
            rows(value, scope)
            return True
        if type(value) is csr_array:
            instance_of(csr_array, d="d")(value, scope)
            floats("_")(np.append(value.data, 0.0), scope)
        elif not (type(value) is np.ndarray and value.dtype == np.intp and value.ndim == 1):
            raise ViolationError(f"must be rows of float64, or positions of rows, but is {show(value)}")
        elif not ((value >= 0) & (value < scope.sizes["d"])).all():
            raise ViolationError(f"must be positions among {scope.sizes['d']} rows, but are not")
        check_shape(value.shape[:1], (letter,), scope)
        return True

    return Constraint("rows, or positions of rows", test)


def check_landmarks(model: Any, scope: Scope) -> None:
    """Raise ViolationError unless positions go with a precomputed kernel, and rows with any other."""
    if scope.fitted and model.kernel_.is_precomputed != (model.landmarks_.ndim == 1):
        raise ViolationError("landmarks_ must be positions for a precomputed kernel and rows for others, but are not")
