"""Laplace density: independent columns with medians and mean absolute deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from likely._constraints import (
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    flag,
    floats,
    instance_of,
    list_of,
    none_or,
    number,
    optional,
    show,
    size,
)
from likely._formatting import format_count
from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.blocks import AdditiveState, Block, block_rows, for_each
from likely.densities.base import Density, check_addable, check_column_weights, raise_if_invalid, score_rows
from likely.densities.given import check_array
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError, warn_of_degenerate_data

FLOOR = 1e-5
"""Default scale of a constant column, relative to the size of its values."""

TIE = 1e-10
"""Maximum difference between the weights of the two halves of the rows that is attributed to rounding, as a
fraction."""


def _check_held(value: Any, scope: Scope) -> None:
    if type(value) is not tuple or len(value) != 3:
        raise ViolationError(f"must contain triples of rows, weight and a flag, but contains {show(value)}")
    X, weight, is_copy = value
    values: Any = getattr(X, "data", None) if issparse(X) else X
    is_array = type(X) is np.ndarray and X.dtype.kind in "iufb" and X.ndim == 2
    if not (is_array or issparse(X)) or np.isinf(values).any():
        raise ViolationError(f"must be rows of finite numbers or NaN (missing values), but are {show(X)}")
    if X.shape[1] != scope.sizes["d"]:
        raise ViolationError(f"must be rows of {scope.sizes['d']} columns, but have {X.shape[1]}")
    none_or(floats(X.shape[0], low=0))(weight, scope)
    flag(is_copy, scope)


HELD = Constraint("rows, their weights, and whether they are copies", _check_held)


@dataclass(frozen=True, eq=False)
class HeldRows:
    """The rows themselves, as a statistic for estimates that no sum of fixed size determines, such as a median.

    Adding concatenates the pieces without copying them; :meth:`detach` copies those that are views.

    Parameters
    ----------
    n_features : int
    held : tuple of (rows, weight or None, whether they are copies)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> both = HeldRows.of(Block(X[:1])) + HeldRows.of(Block(X[1:]))
    >>> len(both.held), np.shares_memory(both.held[1][0], X), np.shares_memory(both.detach().held[1][0], X)
    (2, True, False)
    """

    n_features: Annotated[int, size("d")]
    held: Annotated[tuple[tuple[Rows, Floats | None, bool], ...], list_of(HELD, types=(tuple,))]

    @classmethod
    def zero(cls, n_features: int) -> HeldRows:
        """Return the statistic of no rows."""
        return cls(n_features, ())

    @classmethod
    def of(cls, block: Block) -> HeldRows:
        """Return a block's rows."""
        return cls(block.X.shape[1], ((block.X, block.weight, block.is_copy),))

    def __add__(self, other: HeldRows) -> HeldRows:
        check_addable(self, other)
        return HeldRows(self.n_features, self.held + other.held)

    def detach(self) -> HeldRows:
        """Return the same rows, with copies in place of views of other arrays."""
        copies = (
            (X if is_copy else X.copy(), w if is_copy or w is None else w.copy(), True) for X, w, is_copy in self.held
        )
        return HeldRows(self.n_features, tuple(copies))


@dataclass(frozen=True, eq=False)
class LaplaceColumns:
    """Location and scale of each column."""

    location: Annotated[Floats, floats("d")]
    scale: Annotated[Floats, floats("d", above=0)]

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of dense rows; NaN for rows with infinite values."""
        with np.errstate(over="ignore"):
            logs = -np.abs(rows - self.location) / self.scale - np.log(2 * self.scale)
            scores = np.where(np.isnan(rows), 0.0, logs).sum(axis=1)
        return np.where(np.isinf(rows).any(axis=1), np.nan, scores)


@dataclass(frozen=True, eq=False)
class LaplaceState(AdditiveState):
    """Rows, and location and scale of each column."""

    statistics_: Annotated[Any, optional(instance_of(HeldRows, d="d"))]
    _parameters: Annotated[LaplaceColumns | None, none_or(instance_of(LaplaceColumns, d="d"))] = None


class Laplace(Density):
    """Laplace (two-sided exponential) density with independent columns.

    Its tails are heavier than a Gaussian's. Its parameters, a median and a mean absolute deviation, are less sensitive
    to outliers. Missing values (NaN) are omitted column by column in fitting, and integrated out in scoring. A constant
    column has the scale 0, which is floored with a warning; ``floor=0`` raises an error instead.

    A median cannot be computed from a sum of fixed size. The statistic therefore holds the rows themselves, so it takes
    as much memory as the data, and so does a model file. Adding statistics passes views of the rows; a fitted density
    keeps a copy.

    Parameters
    ----------
    floor : float from 0 to 1, default 1e-5
        Scale of a constant column, relative to the size of its values (or to 1 if they are zero).

    Attributes
    ----------
    location_ : array of shape (n_features,)
        Weighted medians; the midpoint if all points of an interval are medians.
    scale_ : array of shape (n_features,)
        Mean absolute deviations from the medians.
    n_parameters_ : int
        Two for each column.
    statistics_ : HeldRows
        The rows and their weights. They do not exist if the parameters were given.

    Notes
    -----
    log p(x) = −Σ_j [|x_j − m_j| / b_j + log 2b_j] with location m and scale b, both estimated by maximum likelihood.

    Examples
    --------
    >>> density = Laplace().fit([[1.0], [2.0], [9.0]])
    >>> density.location_, density.scale_
    (array([2.]), array([2.66666667]))
    >>> density.log_density([[2.0], [10.0]])
    array([-1.67397643, -4.67397643])
    """

    _State = LaplaceState
    _constraints: ClassVar[Constraints] = {"floor": number(0, 1)}

    def __init__(self, *, floor: float = FLOOR) -> None:
        self.floor = floor

    @classmethod
    def given(cls, location: Any, scale: Any) -> Laplace:
        """Return the density with given locations and scales.

        Parameters
        ----------
        location : array of shape (n_features,)
        scale : array of shape (n_features,), or float
            Above 0; a number is the scale of every column.

        Examples
        --------
        >>> Laplace.given([0.0, 1.0], 2.0).log_density([[0.0, 3.0]])
        array([-3.77258872])
        """
        m = check_array("location", location, 1, cls.__name__)
        b = check_array("scale", np.full(len(m), scale) if np.ndim(scale) == 0 else scale, 1, cls.__name__)
        if len(b) != len(m) or not (b > 0).all():
            found = f"it has {len(b)} numbers" if len(b) != len(m) else f"the smallest number is {b.min():g}"
            raise InvalidParameterError(
                f"scale of {cls.__name__}.given must be one number above 0, or {len(m)} such numbers, one for each "
                f"column, but {found}.",
                parameter="scale",
            )
        return cls()._set_given(LaplaceColumns(m, b), len(m))

    @property
    def location_(self) -> Floats:
        location: Floats = self._get_parameters().location
        return location

    @property
    def scale_(self) -> Floats:
        scale: Floats = self._get_parameters().scale
        return scale

    def _block_rows(self, X: Rows) -> int | None:
        return block_rows(X) if issparse(X) else None

    def _statistic(self) -> Any:
        return hold_rows, ()

    def _estimate(self, statistics: HeldRows) -> LaplaceColumns:
        # Sparse rows are converted to the column format, which gives fast access to each column.
        held = [(X.tocsc() if issparse(X) else X, weight) for X, weight, _ in statistics.held]
        columns = for_each(lambda j: _weighted_median(*_column_values(held, j)), list(range(statistics.n_features)))
        location, scale, weights = (np.array(part) for part in zip(*columns, strict=True))
        check_column_weights("Laplace", weights)
        if not np.isfinite(scale).all():
            column = int((~np.isfinite(scale)).argmax())
            raise InvalidDataError(f"Values of column {column} are too large to be summed. Rescale that column.")
        return LaplaceColumns(location, self._floor_scale(location, scale))

    def _floor_scale(self, location: Floats, scale: Floats) -> Floats:
        """Floor the scales of constant columns, which are zero up to rounding."""
        constant = scale <= 64 * np.finfo(np.float64).eps * np.abs(location)
        if not constant.any():
            return scale
        columns = np.flatnonzero(constant)
        more = len(columns) - 1
        others = f" and {format_count(more, 'more column')} are" if more else " is"
        finding = f"Column {columns[0]} of X{others} constant."
        if self.floor == 0:
            raise DegenerateDataError(
                f"{finding} The scale of a Laplace density must be above 0. Drop the column, or set a floor above 0."
            )
        warn_of_degenerate_data(f"{finding} The scale was floored at {self.floor:g} of the size of the values.")
        return np.where(constant, self.floor * np.where(location != 0, np.abs(location), 1.0), scale)

    def _log_density(self, parameters: LaplaceColumns, X: Rows) -> Floats:
        return score_rows(parameters.log_density, X, hold_rows)

    def _sample(self, parameters: LaplaceColumns, n_samples: int, random: np.random.RandomState) -> Floats:
        return random.laplace(parameters.location, parameters.scale, (n_samples, len(parameters.location)))

    def _n_parameters(self, parameters: LaplaceColumns) -> int:
        return 2 * len(parameters.location)


def hold_rows(block: Block) -> HeldRows:
    """Return a block's rows as a statistic; raise for infinite values."""
    stored = block.X.data if issparse(block.X) else block.X
    if stored.dtype.kind == "f" and np.isinf(stored).any():
        raise_if_invalid(
            block,
            np.isinf(dense(block.X)),
            "Laplace needs values that are finite or NaN (missing)",
            "Replace infinity by a finite number, or by NaN.",
        )
    return HeldRows.of(block)


def _column_values(held: list[tuple[Any, Floats | None]], j: int) -> tuple[Floats, Floats]:
    """Return the values of a column that are not missing, and their weights."""
    parts = [_sparse_column(X, weight, j) if issparse(X) else _dense_column(X, weight, j) for X, weight in held]
    values, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    present = ~np.isnan(values)
    return (values, weights) if present.all() else (values[present], weights[present])


def _dense_column(X: Any, weight: Floats | None, j: int) -> tuple[Floats, Floats]:
    return X[:, j].astype(np.float64), np.ones(len(X)) if weight is None else weight


def _sparse_column(X: Any, weight: Floats | None, j: int) -> tuple[Floats, Floats]:
    """Return the stored values, and all other zeros as one value with their total weight."""
    entries = slice(X.indptr[j], X.indptr[j + 1])
    rows: Integers = X.indices[entries]
    w = np.ones(X.shape[0]) if weight is None else weight
    zeros = max(0.0, float(w.sum() - w[rows].sum())) if len(rows) < X.shape[0] else 0.0
    return np.append(X.data[entries].astype(np.float64), 0.0), np.append(w[rows], zeros)


def _weighted_median(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the weighted median, the mean absolute deviation from it, and the total weight."""
    # The median is where the cumulative weight passes one half, or midway between two values if it is one half there.
    order = np.argsort(values)
    with np.errstate(over="ignore"):
        reached = np.cumsum(weights[order])
    total = float(reached[-1]) if len(reached) else 0.0
    if not 0 < total < np.inf:
        return 0.0, 0.0, total
    low = values[order[np.searchsorted(reached, (0.5 - TIE) * total)]]
    high = values[order[np.searchsorted(reached, (0.5 + TIE) * total, side="right")]]
    median = 0.5 * low + 0.5 * high
    with np.errstate(over="ignore", invalid="ignore"):
        return float(median), float(weights @ np.abs(values - median) / total), total
