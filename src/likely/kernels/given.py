"""Kernels that the user brings: functions, and matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.exceptions import IncompatiblePartsError, InvalidDataError
from likely.kernels.base import Columns, Kernel, matrix_of

LOOKED_AT, ROUNDING = 512, 1e-6
"""Rows whose matrix is looked at, evenly taken; and how far below 0, in parts of the largest eigenvalue, rounding may
bring the least."""


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A function of the user's own.

    Parameters
    ----------
    function : callable
        Takes arrays (n, d) and (m, d), and gives the kernel of all their pairs, (n, m). It must be symmetric and
        positive semi-definite, which is checked on some of the training rows; it is called from several threads.

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
                f"FunctionKernel takes a function of two arrays of rows, but {self.function!r} came."
            )

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _Called(self.function, dense(X))


class _Called(Columns):
    def __init__(self, function: Callable[[Floats, Floats], Any], X: Floats) -> None:
        self.function, self.X, self.n = function, X, len(X)

    def facing(self, A: Rows) -> Floats:
        return dense(A)

    def fill(self, rows: Floats, part: slice, columns: slice, out: Floats) -> None:
        values = np.asarray(self.function(_locked(rows[part]), _locked(self.X[columns])))
        if values.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"A kernel's values must be real numbers, but the function {_name(self.function)} gave an array of "
                f"{values.dtype}."
            )
        if values.shape != out.shape:
            raise InvalidDataError(
                f"A kernel of {out.shape[0]} and {out.shape[1]} rows must be an array of shape {out.shape}, but the "
                f"function {_name(self.function)} gave {values.shape}. It takes two arrays of rows and gives the "
                "kernel of all their pairs."
            )
        if not np.isfinite(values).all():
            raise InvalidDataError(
                f"The kernel function {_name(self.function)} gave values that are not finite. See that it does so for "
                "no pair of rows."
            )
        out[...] = values


def _locked(rows: Floats) -> Floats:
    """A view that cannot be written to: the rows are the user's."""
    view = rows.view()
    view.flags.writeable = False
    return view


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """A matrix in place of rows: models are fitted to the kernel of all training rows, of shape (n, n).

    New rows are given by their kernel with the training rows, of shape (m, n).
    """

    is_known_semi_definite = False
    is_precomputed = True

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        if X.shape[0] != X.shape[1]:
            raise InvalidDataError(
                f"With kernel='precomputed' X must be the kernel of all training rows with each other, a square "
                f"matrix, but came with shape {X.shape}. Folds must cut rows and columns, as those of this library "
                "and scikit-learn's do."
            )
        return self

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _Given(X.shape[0], positions)


class _Given(Columns):
    def __init__(self, n: int, positions: Integers | None) -> None:
        self.n, self.positions = n, positions

    def facing(self, A: Rows) -> Floats:
        rows = dense(A)
        if not np.isfinite(rows).all():
            row = int((~np.isfinite(rows)).any(axis=1).argmax())
            raise InvalidDataError(f"A kernel's values must be finite, but row {row} has some that are not.")
        return rows

    def fill(self, rows: Floats, part: slice, columns: slice, out: Floats) -> None:
        out[...] = rows[part, columns] if self.positions is None else rows[part][:, self.positions[columns]]


def check_semi_definite(kernel: Kernel, X: Rows) -> None:
    """Refuse a kernel that is no dot product, as far as the matrix of some of the rows tells."""
    if kernel.is_known_semi_definite:
        return
    n = X.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))
    K = matrix_of(kernel.columns(X[some], some), X[some])
    scale = float(np.abs(K).max(initial=0.0))
    torn = np.abs(K - K.T)
    if torn.max(initial=0.0) > ROUNDING * scale:
        i, j = np.unravel_index(int(torn.argmax()), torn.shape)
        raise InvalidDataError(
            f"A kernel must be symmetric, but that of rows {some[i]} and {some[j]} is {K[i, j]:.6g} one way and "
            f"{K[j, i]:.6g} the other."
        )
    values = eigvalsh((K + K.T) / 2)
    if values[0] < -ROUNDING * max(abs(values[-1]), np.finfo(np.float64).tiny):
        raise InvalidDataError(
            f"A kernel must be positive semi-definite, but its matrix of {len(some)} training rows has the eigenvalue "
            f"{values[0]:.3g} beside {values[-1]:.3g}, so it is no dot product. Use a kernel that is one, such as "
            "RBFKernel or PolynomialKernel."
        )
