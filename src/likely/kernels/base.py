"""Kernels: what every kernel can do, their sums and products, and their matrices, computed piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from likely._constraints import Constraint, Constraints, check_parameters, is_number, number
from likely._numerics import Workspace, dense
from likely._typing import Floats, Integers, Rows
from likely._validation import check_rows
from likely.blocks import Block, for_each
from likely.exceptions import InvalidDataError, InvalidParameterError

_WORKSPACE = Workspace()

ROWS, COLUMNS = 256, 512
"""Of a piece: a megabyte, so that exponentials find its products in the second-level cache."""


class Columns(ABC):
    """Rows made ready to be the columns of a kernel's matrix.

    Attributes
    ----------
    n : int
        How many they are.
    """

    n: int

    @abstractmethod
    def facing(self, A: Rows) -> Any:
        """Other rows, made ready to be the rows of the matrix."""

    @abstractmethod
    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        """Write the kernel of a part of the rows made ready, and of some of the columns."""


def matrix_of(columns: Columns, A: Rows) -> Floats:
    """The kernel of all rows of A with all columns, of shape (n_A, n)."""
    out = np.empty((A.shape[0], columns.n))

    def keep(part: slice, some: slice, piece: Floats) -> None:
        out[part, some] = piece

    by_pieces(columns, A, keep)
    return out


def weighted_sums(columns: Columns, A: Rows, weights: Floats) -> Floats:
    """Σ_j k(a, x_j) weights[j] for each row a of A, of shape (n_A, n_outputs); no matrix is held."""
    out = np.zeros((A.shape[0], weights.shape[1]))

    def score(start: int) -> None:
        part = slice(start, min(start + ROWS, len(out)))
        with np.errstate(over="ignore", invalid="ignore"):
            ready = columns.facing(A[part])
            for some in _cuts(columns.n, COLUMNS):
                with _piece(part, some) as piece:
                    columns.fill(ready, slice(None), some, piece)
                    out[part] += piece @ weights[some]

    for_each(score, list(range(0, len(out), ROWS)))
    return out


def by_pieces(columns: Columns, A: Rows, keep: Callable[[slice, slice, Floats], None]) -> None:
    """The kernel of all rows with all columns, in pieces that are kept by a function.

    Values too large for doubles come out as infinities or NaN, without warnings; callers must look for them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        ready, n = columns.facing(A), A.shape[0]

    def fill(piece: tuple[slice, slice]) -> None:
        with _piece(*piece) as out:
            with np.errstate(over="ignore", invalid="ignore"):  # here too: it holds for one thread
                columns.fill(ready, *piece, out)
            keep(*piece, out)

    for_each(fill, list(product(_cuts(n, ROWS), _cuts(columns.n, COLUMNS))))


def _piece(part: slice, columns: slice) -> AbstractContextManager[Floats]:
    """Working memory for a piece of the matrix, lent: a function of the user may evaluate another kernel meanwhile."""
    return _WORKSPACE.borrow("piece", (part.stop - part.start, columns.stop - columns.start))


def _cuts(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


class Kernel(ABC):
    """A symmetric function of two rows that is their dot product in some space: k(x, y) = φ(x)'φ(y).

    Kernels are added and multiplied, with each other and with numbers > 0, by ``+`` and ``*``; the result is a kernel.
    """

    is_known_semi_definite: bool = True
    """Whether it is known to be positive semi-definite. If False, fitting checks it on some rows."""

    is_precomputed: bool = False
    """Whether rows are themselves rows of the kernel's matrix."""

    __array_ufunc__ = None  # so that numbers of NumPy's leave + and * to the kernel

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        """The kernel with what it takes from the data, such as the width of bumps."""
        return self

    @abstractmethod
    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        """Rows made ready to be columns; ``positions`` are their places among the training rows."""

    def __call__(self, A: Any, B: Any = None) -> Floats:
        """The kernel of all rows of A with all rows of B (by default with those of A), of shape (n_A, n_B)."""
        names = BaseEstimator()
        left = check_rows(names, A, reset=True)
        right = left if B is None else check_rows(names, B)
        with np.errstate(over="ignore", invalid="ignore"):  # told below, with the column
            K = matrix_of(self.columns(right), left)
        if not np.isfinite(K).all():
            raise Block(right if np.isfinite(dense(left)).all() else left).non_finite()
        return K

    def __add__(self, other: Any) -> Kernel:
        return KernelSum((self, _as_kernel(other)))

    def __mul__(self, other: Any) -> Kernel:
        return KernelProduct((self, _as_kernel(other)))

    __radd__, __rmul__ = __add__, __mul__


@dataclass(frozen=True)
class ConstantKernel(Kernel):
    """The same number for all pairs of rows: a feature that is constant, or a factor.

    Examples
    --------
    >>> import likely
    >>> kernel = 2.0 * likely.LinearKernel() + 1.0
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]])
    array([[23.]])
    """

    value: Annotated[float, number(above=0)] = 1.0

    def __post_init__(self) -> None:
        check_parameters(self)

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        return _ConstantColumns(float(self.value), X.shape[0])


class _ConstantColumns(Columns):
    def __init__(self, value: float, n: int) -> None:
        self.value, self.n = value, n

    def facing(self, A: Rows) -> None:
        return None

    def fill(self, rows: None, part: slice, columns: slice, out: Floats) -> None:
        out[...] = self.value


class _Combined(Kernel):
    """Kernels taken together."""

    parts: tuple[Kernel, ...]
    _constraints: ClassVar[Constraints] = {
        "parts": Constraint(
            "a tuple of kernels",
            lambda value, scope: (
                isinstance(value, tuple) and len(value) > 0 and all(isinstance(each, Kernel) for each in value)
            ),
            remedy=lambda value: "Write a + b or a * b of kernels.",
        )
    }

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def is_known_semi_definite(self) -> bool:  # type: ignore[override]
        return all(part.is_known_semi_definite for part in self.parts)

    @property
    def is_precomputed(self) -> bool:  # type: ignore[override]
        return any(part.is_precomputed for part in self.parts)

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        parts = tuple(part.fitted(X, weight) for part in self.parts)
        return replace(self, parts=parts)  # type: ignore[type-var]

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        others = [part for part in self.parts if not isinstance(part, ConstantKernel)]
        if self.is_precomputed and not all(part.is_precomputed for part in others):
            raise InvalidDataError(
                "A precomputed kernel takes its own matrix in place of rows, so it cannot be combined with a kernel of "
                "rows. Add or multiply the matrices, and give the result to kernel='precomputed'."
            )
        return _CombinedColumns([part.columns(X, positions) for part in self.parts], self._combine)

    def _combine(self, out: Floats, other: Floats) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class KernelSum(_Combined):
    """The sum of kernels, which is the dot product of their features side by side.

    Parameters
    ----------
    parts : tuple of Kernel

    Examples
    --------
    >>> import likely
    >>> kernel = likely.LinearKernel() + likely.PolynomialKernel(2)
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]])  # 11 + 12²
    array([[155.]])
    """

    parts: tuple[Kernel, ...]

    def _combine(self, out: Floats, other: Floats) -> None:
        out += other


@dataclass(frozen=True)
class KernelProduct(_Combined):
    """The product of kernels, which is the dot product of all products of their features.

    Parameters
    ----------
    parts : tuple of Kernel

    Examples
    --------
    >>> import likely
    >>> kernel = likely.LinearKernel() * likely.PolynomialKernel(2)
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]])  # 11 · 12²
    array([[1584.]])
    """

    parts: tuple[Kernel, ...]

    def _combine(self, out: Floats, other: Floats) -> None:
        out *= other


class _CombinedColumns(Columns):
    def __init__(self, parts: list[Columns], combine: Any) -> None:
        self.parts, self.combine, self.n = parts, combine, parts[0].n

    def facing(self, A: Rows) -> list[Any]:
        return [part.facing(A) for part in self.parts]

    def fill(self, rows: list[Any], part: slice, columns: slice, out: Floats) -> None:
        self.parts[0].fill(rows[0], part, columns, out)
        for each, ready in zip(self.parts[1:], rows[1:], strict=True):
            with _WORKSPACE.borrow("part", out.shape) as other:
                each.fill(ready, part, columns, other)
                self.combine(out, other)


def _as_kernel(other: Any) -> Kernel:
    if isinstance(other, Kernel):
        return other
    if is_number(other):
        return ConstantKernel(float(other))
    raise InvalidParameterError(
        f"A kernel is added to, or multiplied by, a kernel or a number > 0, but {other!r} came. Wrap a function: "
        "FunctionKernel(function)."
    )
