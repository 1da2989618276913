"""Kernels that are functions of the dot product of two rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely._validation import is_count, is_number
from likely.exceptions import InvalidParameterError
from likely.kernels.base import Kernel
from likely.kernels.columns import Columns

__all__ = ["DotProducts", "LinearKernel", "PolynomialKernel"]


class DotProducts(Columns):
    """Dot products of rows, which stay sparse if the columns are."""

    def __init__(self, X: Rows) -> None:
        self.X: Any = X.astype(np.float64) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
        self.n, self.is_sparse = X.shape[0], bool(issparse(X))

    def facing(self, A: Rows) -> Any:
        if self.is_sparse:
            return A.astype(np.float64) if issparse(A) else np.asarray(A, dtype=np.float64)
        return dense(A)

    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        if self.is_sparse:
            products: Any = rows[part] @ self.X[columns].T
            out[...] = products.toarray() if hasattr(products, "toarray") else products
        else:
            np.matmul(rows[part], self.X[columns].T, out=out)


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """The dot product itself, k(x, y) = x'y.

    Examples
    --------
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return DotProducts(X)


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """All products of up to ``degree`` columns: k(x, y) = (x'y + offset)^degree.

    Parameters
    ----------
    degree : int, default 2
    offset : float >= 0, default 1
        How much lower powers count: 0 leaves the products of exactly ``degree`` columns.

    Notes
    -----
    (x'y + 1)² is the dot product of (vec(xx'), √2 x, 1) with the same of y.

    Examples
    --------
    >>> PolynomialKernel(2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        if not is_count(self.degree, 1, 100):
            raise InvalidParameterError(
                f"degree of PolynomialKernel must be a whole number from 1 to 100, but is {self.degree!r}."
            )
        if not (is_number(self.offset) and 0 <= self.offset < np.inf):
            raise InvalidParameterError(
                f"offset of PolynomialKernel must be a finite number >= 0, or the kernel would not be positive "
                f"semi-definite, but is {self.offset!r}."
            )

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _Powers(X, self.degree, float(self.offset))


class _Powers(DotProducts):
    """Powers by repeated products: NumPy's own take ten times as long."""

    def __init__(self, X: Rows, degree: int, offset: float) -> None:
        super().__init__(X)
        self.degree, self.offset = degree, offset

    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        super().fill(rows, part, columns, out)
        out += self.offset
        base = out.copy() if self.degree > 1 else out
        for bit in f"{self.degree:b}"[1:]:
            np.square(out, out=out)
            if bit == "1":
                out *= base
