"""Kernels given by the user: functions and precomputed matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.exceptions import IncompatiblePartsError, InvalidDataError
from likely.kernels.base import Columns, Kernel, compute_matrix

CHECKED_ROWS, ROUNDING = 512, 1e-6
"""CHECKED_ROWS is the number of evenly spaced rows whose kernel matrix is checked. ROUNDING is the size up to which a
negative eigenvalue, relative to the largest eigenvalue, counts as rounding error. Differences between k(x, y) and
k(y, x) up to ROUNDING, relative to the largest kernel value, count as rounding errors too."""


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Kernel defined by a function of the user.

    Parameters
    ----------
    function : callable
        Takes arrays (n, d) and (m, d), and returns the kernel of all pairs of rows, an array (n, m). The kernel must be
        symmetric and positive semi-definite, which is checked on some of the training rows. The function is called from
        several threads.

    Examples
    --------
    >>> import numpy as np
    >>> overlap = FunctionKernel(lambda A, B: np.minimum(A[:, None], B).sum(axis=2))
    >>> overlap([[1.0, 2.0]], [[3.0, 1.0]])
    array([[2.]])
    """

    function: Callable[[Floats, Floats], Any]

    is_known_semi_definite = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise IncompatiblePartsError(
                f"FunctionKernel takes a function of two arrays of rows, but got {self.function!r}."
            )

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _FunctionColumns(self.function, dense(X))


class _FunctionColumns(Columns):
    def __init__(self, function: Callable[[Floats, Floats], Any], X: Floats) -> None:
        self.function, self.X, self.n = function, X, len(X)

    def prepare_rows(self, A: Rows) -> Floats:
        return dense(A)

    def fill(self, rows: Floats, part: slice, columns: slice, out: Floats) -> None:
        values = np.asarray(self.function(_read_only(rows[part]), _read_only(self.X[columns])))
        if values.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"Kernel values must be real numbers, but the function {_name(self.function)} returned an array of "
                f"{values.dtype}."
            )
        if values.shape != out.shape:
            raise InvalidDataError(
                f"The kernel matrix of {out.shape[0]} and {out.shape[1]} rows must have the shape {out.shape}, but the "
                f"function {_name(self.function)} returned an array of shape {values.shape}. The function must take "
                "two arrays of rows and return the kernel values of all pairs of rows."
            )
        if not np.isfinite(values).all():
            raise InvalidDataError(
                f"Kernel values must be finite, but the function {_name(self.function)} returned NaN or infinity. "
                "Correct the function, so that it returns finite numbers for all pairs of rows."
            )
        out[...] = values


def _read_only(rows: Floats) -> Floats:
    """Return a read-only view of the rows, so that the user's function cannot change the data."""
    view = rows.view()
    view.flags.writeable = False
    return view


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """Precomputed kernel: the input of a model is a kernel matrix instead of rows.

    Models are fitted to the kernel of all training rows with each other, of shape (n, n). New rows are given by their
    kernel with the training rows, of shape (m, n).
    """

    is_known_semi_definite = False
    is_precomputed = True

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        if X.shape[0] != X.shape[1]:
            raise InvalidDataError(
                "With kernel='precomputed', X must be the square kernel matrix of all training rows with each other, "
                f"but has shape {X.shape}. Cross-validation must select both rows and columns, as this library and "
                "scikit-learn do."
            )
        return self

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _PrecomputedColumns(X.shape[0], positions)


class _PrecomputedColumns(Columns):
    def __init__(self, n: int, positions: Integers | None) -> None:
        self.n, self.positions = n, positions

    def prepare_rows(self, A: Rows) -> Floats:
        rows = dense(A)
        if not np.isfinite(rows).all():
            row = int((~np.isfinite(rows)).any(axis=1).argmax())
            raise InvalidDataError(f"Kernel values must be finite, but row {row} contains NaN or infinity.")
        return rows

    def fill(self, rows: Floats, part: slice, columns: slice, out: Floats) -> None:
        out[...] = rows[part, columns] if self.positions is None else rows[part][:, self.positions[columns]]


def check_semi_definite(kernel: Kernel, X: Rows) -> None:
    """Raise unless the kernel matrix of some rows, evenly spaced in X, is symmetric and positive semi-definite.

    A kernel that is known to be positive semi-definite is not checked.
    """
    if kernel.is_known_semi_definite:
        return
    n = X.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, CHECKED_ROWS)).astype(np.intp))
    K = compute_matrix(kernel.columns(X[some], some), X[some])
    scale = float(np.abs(K).max(initial=0.0))
    asymmetry = np.abs(K - K.T)
    if asymmetry.max(initial=0.0) > ROUNDING * scale:
        i, j = np.unravel_index(int(asymmetry.argmax()), asymmetry.shape)
        raise InvalidDataError(
            f"A kernel must be symmetric, but k(x_{some[i]}, x_{some[j]}) is {K[i, j]:.6g} and "
            f"k(x_{some[j]}, x_{some[i]}) is {K[j, i]:.6g} for rows {some[i]} and {some[j]}."
        )
    values = eigvalsh((K + K.T) / 2)
    if values[0] < -ROUNDING * max(abs(values[-1]), np.finfo(np.float64).tiny):
        raise InvalidDataError(
            f"A kernel must be positive semi-definite, but its matrix of {len(some)} training rows has the eigenvalue "
            f"{values[0]:.3g}. Its largest eigenvalue is {values[-1]:.3g}. Use a kernel that is positive "
            "semi-definite, such as RBFKernel or PolynomialKernel."
        )
