"""Kernel matrices of training rows: their computation, their eigenvectors, and a cache of their rows.

Landmarks are the rows that a fitted model keeps, in order to compute their kernel with new rows.
"""

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
from likely.kernels.base import Columns, Kernel, compute_matrix, compute_pieces
from likely.kernels.given import check_semi_definite

ROUNDING = 1e-12
"""Eigenvalues of an n × n matrix below this share of the largest eigenvalue count as rounding error. If n times the
machine epsilon is larger than this share, it replaces the share."""

CANCELLATION = 1e-10
"""Centring a kernel matrix cancels digits if, in the space of the kernel, the mean squared distance of the rows from
their mean is below this share of their mean squared length."""

MAX_SET = 3072
"""Maximum number of rows of a working set. A kernel matrix of this size takes 75 MB."""


def require_in_memory(source: Source, whom: str, max_rows: int, remedy: str) -> ArraySource:
    """Return the source as a source of arrays; raise unless its rows are in memory and at most ``max_rows``.

    ``whom`` is the name of the estimator and ``remedy`` a sentence with a remedy, both for the error message.
    """
    rows = source.in_memory(whom, remedy)
    n = rows.X.shape[0]
    if n > max_rows:
        raise InvalidDataError(
            f"{whom} compares all rows with each other and takes at most {max_rows} rows, but X has {n} rows. Their "
            f"matrix would take {8 * n**2 / 1e9:.1f} GB. {remedy}"
        )
    return rows


def fit_kernel(kernel: Kernel, X: Rows, weight: Floats | None = None, positions: Integers | None = None) -> Kernel:
    """Return the kernel with its data-dependent parameters set from the training rows X.

    Raise if the kernel matrix of some training rows is not positive semi-definite. ``positions`` are the positions of
    the rows before rows of weight 0 were dropped. They are needed because a precomputed matrix still has columns for
    the dropped rows.
    """
    square = X[:, positions] if kernel.is_precomputed and positions is not None else X
    found = kernel.fitted(square, weight)
    check_semi_definite(found, square)
    return found


def copy_landmarks(kernel: Kernel, X: Rows, positions: Integers | None = None) -> Rows:
    """Return a copy of the rows X, which a model keeps as its landmarks.

    For a precomputed kernel, return the positions of the rows in the training data instead.
    """
    if kernel.is_precomputed:
        return np.arange(X.shape[0]) if positions is None else np.array(positions, dtype=np.intp)
    rows: Rows = X.astype(np.float64, copy=True) if issparse(X) else np.array(X, dtype=np.float64)
    return rows


def prepare_landmarks(kernel: Kernel, landmarks: Rows) -> Columns:
    """Prepare landmarks, or their positions for a precomputed kernel, as columns of a kernel matrix."""
    with np.errstate(over="ignore", invalid="ignore"):
        return kernel.columns(landmarks, landmarks if kernel.is_precomputed else None)  # type: ignore[arg-type]


def is_precomputed(value: Any) -> bool:
    """Return whether the value of the parameter ``kernel`` is a precomputed kernel. The value may be invalid."""
    return (isinstance(value, str) and value == "precomputed") or bool(getattr(value, "is_precomputed", False))


def compute_gram(kernel: Kernel, landmarks: Rows, X: Rows) -> Floats:
    """Return the kernel matrix of the rows X with themselves; raise if a value is not finite.

    ``landmarks`` are the same rows as :func:`copy_landmarks` returns them.
    """
    K = compute_matrix(prepare_landmarks(kernel, landmarks), X)
    if not (np.isfinite(K.min()) and np.isfinite(K.max())):  # np.isfinite(K) would allocate a large array
        raise Block(X).non_finite()
    return K


def centring_cancels(K: Floats) -> bool:
    """Return whether centring the kernel matrix K cancels ten or more digits of its values."""
    # The trace of the centred matrix is trace(K) − sum(K) / n.
    trace = float(K.trace())
    return len(K) > 1 and trace - float(K.sum()) / len(K) < CANCELLATION * trace


def warn_of_cancellation(kernel: Kernel) -> None:
    """Warn that centring the kernel matrix cancels digits."""
    warn_of_degenerate_data(
        f"In the space of {kernel}, the differences between rows are so small relative to the distance of the rows "
        "from the origin that digits are lost. Use Standardize first, or use a kernel with larger differences between "
        "the rows."
    )


def eigendecompose(A: Floats, max_pairs: int | None = None, scale: float = 0.0) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix, largest first, and the eigenvectors as columns.

    Eigenvalues that are negative, or so small that they are only rounding error, are dropped.

    Parameters
    ----------
    A : array of shape (n, n)
        Overwritten.
    max_pairs : int, optional
        Maximum number of eigenvalues.
    scale : float
        Size of the values from which A was computed. Rounding error is relative to ``scale``, or to the largest
        eigenvalue if that is larger.
    """
    n = len(A)
    subset = None if max_pairs is None or max_pairs >= n else (n - max_pairs, n - 1)
    # The transpose of a symmetric matrix in C order is the same matrix in LAPACK's order, so no copy is made.
    values, vectors = eigh(A.T, subset_by_index=subset, overwrite_a=True, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = max(ROUNDING, n * np.finfo(np.float64).eps) * max(float(values[0]), scale)
    kept = int((values > max(rounding, 0.0)).sum())
    return values[:kept].copy(), np.ascontiguousarray(vectors[:, :kept])


class GramRows:
    """Least-recently-used cache of rows of the kernel matrix of the training rows.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR array of shape (n, d)
    bytes_kept : int
        Maximum memory. A quarter is for the square matrix of a working set, and the rest for cached rows. The rows that
        were not used for the longest time are replaced first.

    Attributes
    ----------
    n : int
    capacity : int
        Maximum number of cached rows.
    max_set : int
        Maximum number of rows of a working set.
    n_computed : int
        Number of rows computed so far; a row that was computed again counts again.
    """

    def __init__(self, kernel: Kernel, X: Rows, bytes_kept: int) -> None:
        self.X, self.n = X, X.shape[0]
        self._columns = kernel.columns(X)
        set_size = int(min(MAX_SET, math.isqrt(bytes_kept // 32)))
        self.capacity = min(self.n, (bytes_kept - 8 * min(set_size, self.n) ** 2) // (8 * self.n))
        if min(self.capacity, set_size) < 2:
            raise InvalidParameterError(
                f"The cache must hold two rows of the kernel matrix of {self.n} rows, and the square matrix of "
                f"these two. They take {(16 * self.n + 128) / 1e6:.2g} MB, but the limit of the cache is "
                f"{bytes_kept / 1e6:.2g} MB. Raise cache_mb."
            )
        self.max_set = min(set_size, self.capacity)
        self.kept = np.empty((self.capacity, self.n))  # pages are allocated only when they are written to
        self._slot = np.full(self.n, -1, dtype=np.intp)
        self._owner = np.full(self.capacity, -1, dtype=np.intp)
        self._used = np.zeros(self.capacity, dtype=np.intp)
        self._clock, self.n_computed = 0, 0

    def slots(self, rows: Integers) -> Integers:
        """Return the positions in ``kept`` of at most ``capacity`` rows, and compute the rows that are not cached.

        Other rows may be replaced by the call.
        """
        self._clock += 1
        found = self._slot[rows]
        self._used[found[found >= 0]] = self._clock
        missing = rows[found < 0]
        if len(missing):
            self._compute(missing)
        return np.asarray(self._slot[rows])

    def _compute(self, missing: Integers) -> None:
        slots = np.argsort(self._used, kind="stable")[: len(missing)]  # unused slots first, then the oldest
        owners = self._owner[slots]
        self._slot[owners[owners >= 0]] = -1
        self._owner[slots], self._slot[missing], self._used[slots] = missing, slots, self._clock

        def keep(part: slice, columns: slice, piece: Floats) -> None:
            self.kept[slots[part], columns] = piece

        compute_pieces(self._columns, self.X[missing], keep)
        # |k(x, y)|² <= k(x, x) k(y, y), so the check of the values k(x, x) is enough.
        if not np.isfinite(self.kept[slots, missing]).all():
            raise Block(self.X).non_finite()
        self.n_computed += len(missing)


# Constraints of models that have a fitted kernel and landmarks


def landmark_rows(letter: str) -> Constraint:
    """Return the constraint of the attribute ``landmarks_``: dense rows, sparse rows, or positions of rows.

    ``letter`` is the symbol of the number of landmarks in the shapes of the other attributes.
    """
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
            raise ViolationError(f"must be positions from 0 to {scope.sizes['d'] - 1}, but one is out of this range")
        check_shape(value.shape[:1], (letter,), scope)
        return True

    return Constraint("rows, or positions of rows", test)


def check_landmarks(model: Any, scope: Scope) -> None:
    """Raise ViolationError unless ``landmarks_`` has the form that suits the kernel.

    For a precomputed kernel it must hold positions of rows, for other kernels the rows themselves.
    """
    if scope.fitted and model.kernel_.is_precomputed != (model.landmarks_.ndim == 1):
        wanted, found = ("positions", "rows") if model.kernel_.is_precomputed else ("rows", "positions")
        raise ViolationError(f"landmarks_ must hold {wanted} for this kernel, but holds {found}")
