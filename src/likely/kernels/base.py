"""Base class of kernels, sums and products of kernels, and kernel matrices computed piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
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
"""Number of rows and columns of a piece of a kernel matrix. A piece takes one megabyte, so it stays in the second-level
cache from the matrix product to the exponentials of its values."""


class Columns(ABC):
    """Data rows prepared to be compared with other rows by a kernel. Each of them is a column of the kernel matrix.

    Attributes
    ----------
    n : int
        Number of columns.
    """

    n: int

    @abstractmethod
    def prepare_rows(self, A: Rows) -> Any:
        """Return the rows A in the form that ``fill`` takes; they are the rows of the kernel matrix."""

    @abstractmethod
    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        """Compute a piece of the kernel matrix, and write it into ``out``.

        Parameters
        ----------
        rows : result of ``prepare_rows``
        part, columns : slice
            Rows and columns of the matrix that the piece covers.
        out : array of the shape of the piece
        """


def compute_matrix(columns: Columns, A: Rows) -> Floats:
    """Return the kernel matrix of the rows of A with all columns, of shape (n_A, n)."""
    out = np.empty((A.shape[0], columns.n))

    def keep(part: slice, some: slice, piece: Floats) -> None:
        out[part, some] = piece

    compute_pieces(columns, A, keep)
    return out


def weighted_sums(columns: Columns, A: Rows, weights: Floats) -> Floats:
    """Return Σ_j k(a, x_j) weights[j] for each row a of A, where the x_j are the columns.

    The result has the shape (n_A, n_outputs). The kernel matrix is computed in pieces and not stored.
    """
    out = np.zeros((A.shape[0], weights.shape[1]))

    def score(start: int) -> None:
        part = slice(start, min(start + ROWS, len(out)))
        with np.errstate(over="ignore", invalid="ignore"):
            ready = columns.prepare_rows(A[part])
            for some in _cuts(columns.n, COLUMNS):
                with _piece(part, some) as piece:
                    columns.fill(ready, slice(None), some, piece)
                    out[part] += piece @ weights[some]

    for_each(score, list(range(0, len(out), ROWS)))
    return out


def compute_pieces(columns: Columns, A: Rows, keep: Callable[[slice, slice, Floats], None]) -> None:
    """Compute the kernel matrix of the rows of A with all columns, piece by piece.

    Call ``keep(rows, columns, piece)`` for each piece; the first two arguments are slices of the matrix. The memory
    of a piece is reused, so ``keep`` must copy it. Values that overflow become infinities or NaN without warnings;
    callers must check for them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        ready, n = columns.prepare_rows(A), A.shape[0]

    def fill(piece: tuple[slice, slice]) -> None:
        with _piece(*piece) as out:
            with np.errstate(over="ignore", invalid="ignore"):  # again, because errstate is local to a thread
                columns.fill(ready, *piece, out)
            keep(*piece, out)

    for_each(fill, list(product(_cuts(n, ROWS), _cuts(columns.n, COLUMNS))))


def _piece(part: slice, columns: slice) -> AbstractContextManager[Floats]:
    """Borrow working memory for a piece of the kernel matrix.

    It is borrowed because a user's kernel function may compute another kernel matrix while the piece is in use.
    """
    return _WORKSPACE.borrow("piece", (part.stop - part.start, columns.stop - columns.start))


def _cuts(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


class Kernel(ABC):
    """Base class of kernels: positive semi-definite functions of two rows, k(x, y) = φ(x)'φ(y).

    Kernels can be added to and multiplied by kernels and numbers > 0, with ``+`` and ``*``. The result is a kernel.
    """

    is_known_semi_definite: bool = True
    """Whether the kernel is known to be positive semi-definite. If False, fitting checks it on some rows."""

    is_precomputed: bool = False
    """Whether a model is given rows of the kernel matrix instead of data rows."""

    __array_ufunc__ = None  # with this, NumPy numbers leave + and * to the methods of the kernel

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        """Return the kernel with its data-dependent parameters, such as the γ of an RBF kernel, set from the rows X."""
        return self

    @abstractmethod
    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        """Prepare the rows X as columns of a kernel matrix.

        ``positions`` are the positions of the rows X among the training rows. Only a precomputed kernel uses them.
        """

    def __call__(self, A: Any, B: Any = None) -> Floats:
        """Return the kernel matrix of the rows of A with the rows of B (by default A), of shape (n_A, n_B)."""
        names = BaseEstimator()
        left = check_rows(names, A, reset=True)
        right = left if B is None else check_rows(names, B)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below, with an error that names the column
            K = compute_matrix(self.columns(right), left)
        if not np.isfinite(K).all():
            raise Block(right if np.isfinite(dense(left)).all() else left).non_finite()
        return K

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        With ``deep``, a sum or product of kernels also returns the parameters of its parts, under names such as
        ``part0__gamma``. scikit-learn calls this method to clone kernels, and to search over ``kernel__gamma`` of a
        model.
        """
        names: Any = getattr(self, "__dataclass_fields__", {})
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Kernel:
        """Set parameters in place. Values are checked as in the constructor. :meth:`get_params` describes the names."""
        own = self.get_params(deep=False)
        unknown = [name for name in params if name not in own]
        if unknown:
            raise InvalidParameterError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}. Its parameters are {list(own)}.",
                parameter=unknown[0],
            )
        changed = replace(self, **params)  # type: ignore[type-var]  # checks the values before any is set
        for name in params:
            object.__setattr__(self, name, getattr(changed, name))
        return self

    def __add__(self, other: Any) -> Kernel:
        return KernelSum((self, _as_kernel(other)))

    def __mul__(self, other: Any) -> Kernel:
        return KernelProduct((self, _as_kernel(other)))

    __radd__, __rmul__ = __add__, __mul__


@dataclass(frozen=True)
class ConstantKernel(Kernel):
    """Constant kernel, k(x, y) = value: a constant feature in a sum, or a factor in a product.

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

    def prepare_rows(self, A: Rows) -> None:
        return None

    def fill(self, rows: None, part: slice, columns: slice, out: Floats) -> None:
        out[...] = self.value


class _Combined(Kernel):
    """Base class of sums and products of kernels."""

    parts: tuple[Kernel, ...]
    _constraints: ClassVar[Constraints] = {
        "parts": Constraint(
            "a tuple of kernels",
            lambda value, scope: (
                isinstance(value, tuple) and len(value) > 0 and all(isinstance(each, Kernel) for each in value)
            ),
            remedy=lambda value: "Write a + b or a * b for kernels a and b.",
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep)
        if deep:
            named = self._named_parts()
            params |= named
            params |= {f"{part}__{name}": v for part, k in named.items() for name, v in k.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Kernel:
        parts = self._named_parts()
        for name in [name for name in params if name.partition("__")[0] in parts]:
            part, _, inner = name.partition("__")
            value = params.pop(name)
            parts[part] = copy(parts[part]).set_params(**{inner: value}) if inner else value
        return super().set_params(**{"parts": tuple(parts.values()), **params})

    def _named_parts(self) -> dict[str, Kernel]:
        return {f"part{i}": part for i, part in enumerate(self.parts)}

    def fitted(self, X: Rows, weight: Floats | None = None) -> Kernel:
        parts = tuple(part.fitted(X, weight) for part in self.parts)
        return replace(self, parts=parts)  # type: ignore[type-var]

    def columns(self, X: Rows, positions: Integers | None = None) -> Columns:
        others = [part for part in self.parts if not isinstance(part, ConstantKernel)]
        if self.is_precomputed and not all(part.is_precomputed for part in others):
            raise InvalidDataError(
                "A precomputed kernel takes a matrix instead of rows, so it cannot be combined with a kernel of rows. "
                "Add or multiply the matrices, and use the result with kernel='precomputed'."
            )
        return _CombinedColumns([part.columns(X, positions) for part in self.parts], self._combine)

    def _combine(self, out: Floats, other: Floats) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class KernelSum(_Combined):
    """Sum of kernels; its features are the concatenated features of the kernels.

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
    """Product of kernels; its features are all products of features of the kernels.

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

    def prepare_rows(self, A: Rows) -> list[Any]:
        return [part.prepare_rows(A) for part in self.parts]

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
        f"A kernel can be combined with a kernel or a number > 0, but got {other!r}. Wrap a function as "
        "FunctionKernel(function)."
    )
