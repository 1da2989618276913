"""Linear, polynomial and Gaussian kernels, and kernels by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from likely._constraints import Constraint, check_argument, check_parameters, count, none_or, number
from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block
from likely.kernels.base import Columns, Kernel
from likely.kernels.given import FunctionKernel, PrecomputedKernel
from likely.statistics import DiagonalMoments

LOST = 2.0**20
"""Where γ times the squared length of a row is larger, distances are made of differences of rows, not of their lengths:
rounding would change kernels by more than about 1e-10."""


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

    degree: Annotated[int, count(1, 100)] = 2
    offset: Annotated[float, number(0)] = 1.0

    def __post_init__(self) -> None:
        check_parameters(self)

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


@dataclass(frozen=True)
class RBFKernel(Kernel):
    """Nearness: k(x, y) = exp(−γ ‖x − y‖²), 1 for equal rows and 0 for distant ones.

    Distances are Euclidean, so columns should be on one scale: put :class:`likely.Standardize` before it.

    Parameters
    ----------
    gamma : float > 0, optional
        γ = 1 / 2σ² for bumps of the width σ. By default it is taken from the training rows: one over the sum of the
        variances of their columns, with which γ ‖x − y‖² is 2 on average. A kernel that is called without having been
        fitted takes it from the columns of the matrix, the second array of rows.

    Examples
    --------
    >>> RBFKernel(0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    gamma: Annotated[float | None, none_or(number(above=0))] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        if self.gamma is not None:
            return self
        with np.errstate(over="ignore", invalid="ignore"):  # told below, with the column
            variance = float(DiagonalMoments.of(X, weight).variances().sum())
        if not np.isfinite(variance):
            raise Block(X).non_finite()
        is_some = variance >= np.finfo(np.float64).tiny
        return RBFKernel(1 / variance if is_some else 1.0)  # equal rows have the kernel 1 with any γ

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        gamma = self.gamma
        if gamma is None:
            gamma = self.fitted(X).gamma  # type: ignore[attr-defined]
        return _SparseBumps(X, float(gamma)) if issparse(X) else _Bumps(X, float(gamma))


class _Bumps(Columns):
    """Exponents by one product: −γ‖a − b‖² = (√2γ a, −γ‖a‖², 1)'(√2γ b, 1, −γ‖b‖²), about the mean of the columns.

    Where that would cancel too much they are made of the differences, at several times the cost.
    """

    def __init__(self, X: Rows, gamma: float) -> None:
        rows = dense(X)
        self.gamma, self.n, self.centre = gamma, len(rows), rows.mean(axis=0)
        self.X = self._extended(rows, -1, -2)
        self.is_far = not bool((-self.X[:, -1] <= LOST).all())
        self.raw = X

    def facing(self, A: Rows) -> tuple[Floats, Floats | None]:
        rows = dense(A)
        ready = self._extended(rows, -2, -1)
        is_far = self.is_far or not bool((-ready[:, -2] <= LOST).all())
        return ready, rows if is_far else None

    def _extended(self, X: Floats, square: int, one: int) -> Floats:
        out = np.empty((len(X), X.shape[1] + 2))
        np.subtract(X, self.centre, out=out[:, :-2])
        out[:, :-2] *= np.sqrt(2 * self.gamma)
        out[:, square] = np.einsum("ij,ij->i", out[:, :-2], out[:, :-2]) / -2
        out[:, one] = 1.0
        return out

    def fill(self, rows: tuple[Floats, Floats | None], part: slice, columns: slice, out: Floats) -> None:
        ready, raw = rows
        if raw is None:
            np.matmul(ready[part], self.X[columns].T, out=out)
            np.minimum(out, 0.0, out=out)
        else:
            np.multiply(cdist(raw[part], dense(self.raw[columns]), "sqeuclidean"), -self.gamma, out=out)
        np.exp(out, out=out)


class _SparseBumps(DotProducts):
    """Exponents of sparse rows by their dot products and lengths; where these would cancel too much, by differences."""

    def __init__(self, X: Any, gamma: float) -> None:
        super().__init__(X)
        self.gamma, self.lengths = gamma, _lengths(self.X)
        self.is_far = self._are_far(self.lengths)

    def _are_far(self, lengths: Floats) -> bool:
        return not bool((self.gamma * lengths <= LOST).all())

    def facing(self, A: Rows) -> tuple[Any, Floats, bool]:
        ready = super().facing(A)
        lengths = _lengths(ready)
        return ready, lengths, self.is_far or self._are_far(lengths)

    def fill(self, rows: tuple[Any, Floats, bool], part: slice, columns: slice, out: Floats) -> None:
        ready, lengths, is_far = rows
        if is_far:
            np.multiply(cdist(dense(ready[part]), dense(self.X[columns]), "sqeuclidean"), -self.gamma, out=out)
        else:
            super().fill(ready, part, columns, out)
            out *= 2.0
            out -= lengths[part, None]
            out -= self.lengths[columns]
            out *= self.gamma
            np.minimum(out, 0.0, out=out)
        np.exp(out, out=out)


def _lengths(X: Any) -> Floats:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)


KERNELS: dict[str, Kernel] = {
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(),
    "rbf": RBFKernel(),
    "precomputed": PrecomputedKernel(),
}


def _is_kernel(value: Any, scope: Any) -> bool:
    if isinstance(value, str):
        return value in KERNELS
    return isinstance(value, Kernel) or (callable(value) and not isinstance(value, type))


def _instance_needed(value: Any) -> str:
    is_class = isinstance(value, type) and issubclass(value, Kernel)
    return f"{value.__name__} is a class; write {value.__name__}(), with brackets." if is_class else ""


KERNEL = Constraint(
    f"one of {', '.join(map(repr, KERNELS))}, a kernel such as RBFKernel(0.1), or a function of two arrays of rows",
    _is_kernel,
    _instance_needed,
)


def kernel_of(value: Any, whom: str) -> Kernel:
    """The kernel that a name stands for, the kernel itself, or a function as one."""
    check_argument("kernel", value, KERNEL, whom)
    if isinstance(value, str):
        return KERNELS[value]
    return value if isinstance(value, Kernel) else FunctionKernel(value)
