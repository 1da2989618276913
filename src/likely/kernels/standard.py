"""Linear, polynomial and RBF kernels, and kernels by name."""

from __future__ import annotations

from copy import copy
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

MAX_EXPANDED = 2.0**20
"""Limit of γ times the squared length of a row. If no row exceeds it, squared distances are computed from dot products,
as ‖a‖² − 2a'b + ‖b‖². For longer rows cancellation would change kernel values by more than about 1e-10, so squared
distances are then computed from the differences of the rows."""


class DotProducts(Columns):
    """Columns of the kernel matrix of dot products. If the columns are sparse rows, they stay sparse."""

    def __init__(self, X: Rows) -> None:
        self.X: Any = X.astype(np.float64) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
        self.n, self.is_sparse = X.shape[0], bool(issparse(X))

    def prepare_rows(self, A: Rows) -> Any:
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
    """Linear kernel, k(x, y) = x'y.

    Examples
    --------
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return DotProducts(X)


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """Polynomial kernel, k(x, y) = (x'y + offset)^degree.

    Its features are all products of up to ``degree`` columns.

    Parameters
    ----------
    degree : int, default 2
    offset : float >= 0, default 1
        Weight of the products of fewer columns; with 0 only products of exactly ``degree`` columns remain.

    Notes
    -----
    (x'y + 1)² is the dot product of the features (vec(xx'), √2 x, 1) of x and y.

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
    """Columns of the kernel matrix of a polynomial kernel.

    Powers are computed by repeated squaring, because ``numpy.power`` takes ten times as long.
    """

    def __init__(self, X: Rows, degree: int, offset: float) -> None:
        super().__init__(X)
        self.degree, self.offset = degree, offset

    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        super().fill(rows, part, columns, out)
        out += self.offset
        base = out.copy() if self.degree > 1 else out
        # Exponentiation by squaring over the binary digits of the degree
        for bit in f"{self.degree:b}"[1:]:
            np.square(out, out=out)
            if bit == "1":
                out *= base


@dataclass(frozen=True)
class RBFKernel(Kernel):
    """Radial basis function (Gaussian) kernel, k(x, y) = exp(−γ ‖x − y‖²).

    It is 1 for equal rows and tends to 0 for distant rows. Distances are Euclidean, so columns should be on one scale:
    use :class:`likely.Standardize` first.

    Parameters
    ----------
    gamma : float > 0, optional
        γ = 1 / 2σ² for the width σ. By default γ is one over the sum of the variances of the columns of the training
        rows; γ ‖x − y‖² is then 2 on average. If the kernel is called without being fitted, γ is computed from the
        second array of rows.

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
        with np.errstate(over="ignore", invalid="ignore"):  # checked below, with an error that names the column
            variance = float(DiagonalMoments.of(X, weight).variances().sum())
        if not np.isfinite(variance):
            raise Block(X).non_finite()
        has_variance = variance >= np.finfo(np.float64).tiny
        return RBFKernel(1 / variance if has_variance else 1.0)  # if all rows are equal, k is 1 for any γ

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        gamma = self.gamma
        if gamma is None:
            gamma = self.fitted(X).gamma  # type: ignore[attr-defined]
        return _SparseRBFColumns(X, float(gamma)) if issparse(X) else _RBFColumns(X, float(gamma))


class _RBFColumns(Columns):
    """Columns of the kernel matrix of an RBF kernel, from dense rows.

    The mean of the rows that are the columns is subtracted from all rows, which makes them shorter. The exponents are
    one matrix product, because −γ‖a − b‖² = (√(2γ) a, −γ‖a‖², 1)'(√(2γ) b, 1, −γ‖b‖²). If this product would cancel too
    many digits, the exponents are computed from the differences of the rows, which takes several times as long.
    """

    def __init__(self, X: Rows, gamma: float) -> None:
        rows = dense(X)
        self.gamma, self.n, self.centre = gamma, len(rows), rows.mean(axis=0)
        self.X = self._extended(rows, -1, -2)
        self.is_far = not bool((-self.X[:, -1] <= MAX_EXPANDED).all())
        self.raw = X

    def prepare_rows(self, A: Rows) -> tuple[Floats, Floats | None]:
        rows = dense(A)
        ready = self._extended(rows, -2, -1)
        is_far = self.is_far or not bool((-ready[:, -2] <= MAX_EXPANDED).all())
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


class _SparseRBFColumns(DotProducts):
    """Columns of the kernel matrix of an RBF kernel, from sparse rows.

    The exponents −γ‖a − b‖² are computed from dot products and squared lengths of the rows. If this would cancel too
    many digits, they are computed from the differences of the rows.
    """

    def __init__(self, X: Any, gamma: float) -> None:
        super().__init__(X)
        self.gamma, self.lengths = gamma, _squared_lengths(self.X)
        self.is_far = self._are_far(self.lengths)

    def _are_far(self, lengths: Floats) -> bool:
        return not bool((self.gamma * lengths <= MAX_EXPANDED).all())

    def prepare_rows(self, A: Rows) -> tuple[Any, Floats, bool]:
        ready = super().prepare_rows(A)
        lengths = _squared_lengths(ready)
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


def _squared_lengths(X: Any) -> Floats:
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
    return f"{value.__name__} is a class. Pass an instance, such as {value.__name__}()." if is_class else ""


KERNEL = Constraint(
    f"one of {', '.join(map(repr, KERNELS))}, a kernel such as RBFKernel(0.1), or a function of two arrays of rows",
    _is_kernel,
    _instance_needed,
)


def resolve_kernel(value: Any, whom: str) -> Kernel:
    """Return the kernel that the parameter ``kernel`` of an estimator stands for.

    A name is looked up, a kernel is returned as it is, and a function is wrapped as a :class:`FunctionKernel`.
    """
    check_argument("kernel", value, KERNEL, whom)
    if isinstance(value, str):
        return copy(KERNELS[value])  # a copy, because set_params changes a kernel in place
    return value if isinstance(value, Kernel) else FunctionKernel(value)


class KernelEstimator:
    """Mixin of estimators with a parameter ``kernel``.

    If the kernel is given by name, the mixin replaces the name by the kernel as soon as one of its parameters is set.
    A parameter search over ``kernel__gamma`` therefore also works for ``kernel="rbf"``.
    """

    kernel: Any

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the estimator, and those of its kernel under names such as ``kernel__gamma``."""
        sets_kernel = any(name.startswith("kernel__") for name in params) and "kernel" not in params
        if sets_kernel and isinstance(self.kernel, str):
            self.kernel = resolve_kernel(self.kernel, type(self).__name__)
        return super().set_params(**params)  # type: ignore[misc]
