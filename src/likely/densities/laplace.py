"""The Laplace density: independent columns about their medians."""

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
    show,
    size,
)
from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.blocks import AdditiveState, Block, block_rows, for_each
from likely.densities.base import Density, check_addable, check_column_weights, raise_if_invalid, score_rows
from likely.exceptions import DegenerateDataError, InvalidDataError, warn_of_degenerate_data

FLOOR = 1e-5

TIE = 1e-10
"""Share of the weight by which rounding may keep the halves of an even number of rows from being equal."""


def _check_held(value: Any, scope: Scope) -> None:
    if type(value) is not tuple or len(value) != 3:
        raise ViolationError(f"must be triples of rows, weight and a flag, but one is {show(value)}")
    X, weight, is_own = value
    values: Any = getattr(X, "data", None) if issparse(X) else X
    is_array = type(X) is np.ndarray and X.dtype.kind in "iufb" and X.ndim == 2
    if not (is_array or issparse(X)) or np.isinf(values).any():
        raise ViolationError(f"must be rows of finite numbers, or NaN where a value is missing, but are {show(X)}")
    if X.shape[1] != scope.sizes["d"]:
        raise ViolationError(f"must be rows of {scope.sizes['d']} columns, but have {X.shape[1]}")
    none_or(floats(X.shape[0], low=0))(weight, scope)
    flag(is_own, scope)


HELD = Constraint("rows, their weights, and whether they are copies", _check_held)


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows themselves, for what no sum of fixed size tells, such as a median.

    Adding puts the pieces one behind the other without copying them; :meth:`detach` copies those that are views.

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
        """No rows."""
        return cls(n_features, ())

    @classmethod
    def of(cls, block: Block) -> HeldRows:
        """A block's rows."""
        return cls(block.X.shape[1], ((block.X, block.weight, block.is_copy),))

    def __add__(self, other: HeldRows) -> HeldRows:
        check_addable(self, other)
        return HeldRows(self.n_features, self.held + other.held)

    def detach(self) -> HeldRows:
        """The same rows, none of them in memory that belongs to somebody else."""
        copies = (
            (X if is_own else X.copy(), w if is_own or w is None else w.copy(), True) for X, w, is_own in self.held
        )
        return HeldRows(self.n_features, tuple(copies))


@dataclass(frozen=True, eq=False)
class LaplaceColumns:
    """Location and scale of each column."""

    location: Annotated[Floats, floats("d")]
    scale: Annotated[Floats, floats("d", above=0)]

    def log_density(self, rows: Floats) -> Floats:
        """Of dense rows; NaN for those that hold infinity."""
        with np.errstate(over="ignore"):
            logs = -np.abs(rows - self.location) / self.scale - np.log(2 * self.scale)
            scores = np.where(np.isnan(rows), 0.0, logs).sum(axis=1)
        return np.where(np.isinf(rows).any(axis=1), np.nan, scores)


@dataclass(frozen=True, eq=False)
class LaplaceState(AdditiveState):
    """The rows, and location and scale of each column."""

    statistics_: Annotated[HeldRows, instance_of(HeldRows, d="d")]
    _parameters: Annotated[LaplaceColumns | None, none_or(instance_of(LaplaceColumns, d="d"))] = None


class Laplace(Density):
    """Independent columns, each with a Laplace (two-sided exponential) density.

    Its tails are heavier than a Gaussian's, and its parameters, a median and a mean absolute deviation, are moved less
    by outliers. Missing values (NaN) are left out column by column, and integrated out when rows are scored. A constant
    column has the scale 0, which is floored with a warning; ``floor=0`` raises instead.

    A median is no sum of fixed size. The statistic holds the rows themselves, so it takes the memory of the data, and
    so does a model file. While sums are made only views are passed around; a fitted density keeps a copy.

    Parameters
    ----------
    floor : float from 0 to 1, default 1e-5
        Scale of a constant column, relative to the size of its values (or to 1 where they are zero).

    Attributes
    ----------
    location_ : array of shape (n_features,)
        Weighted medians; the middle of the interval where the median is one.
    scale_ : array of shape (n_features,)
        Mean absolute deviations from them.
    n_parameters_ : int
        Two for each column.
    statistics_ : HeldRows
        What was learned from: the rows and their weights.

    Notes
    -----
    log p(x) = −Σ_j [|x_j − m_j| / b_j + log 2b_j] with location m and scale b, both of maximum likelihood.

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

    @property
    def location_(self) -> Floats:
        location: Floats = self._learned().location
        return location

    @property
    def scale_(self) -> Floats:
        scale: Floats = self._learned().scale
        return scale

    def _block_rows(self, X: Rows) -> int | None:
        return block_rows(X) if issparse(X) else None

    def _statistic(self) -> Any:
        return hold_rows, ()

    def _estimate(self, statistics: HeldRows) -> LaplaceColumns:
        # Compressed by column, sparse rows give each column at once.
        held = [(X.tocsc() if issparse(X) else X, weight) for X, weight, _ in statistics.held]
        columns = for_each(lambda j: _weighted_median(*_column_values(held, j)), list(range(statistics.n_features)))
        location, scale, weights = (np.array(part) for part in zip(*columns, strict=True))
        check_column_weights("Laplace", weights)
        if not np.isfinite(scale).all():
            column = int((~np.isfinite(scale)).argmax())
            raise InvalidDataError(f"Values of column {column} are too large to be summed. Rescale that column.")
        return LaplaceColumns(location, self._floor_scale(location, scale))

    def _floor_scale(self, location: Floats, scale: Floats) -> Floats:
        """Scales in which those that are only the rounding of a constant are floored."""
        constant = scale <= 64 * np.finfo(np.float64).eps * np.abs(location)
        if not constant.any():
            return scale
        columns = np.flatnonzero(constant)
        said = f"Column {columns[0]} of X is constant" + (
            f", and so are {len(columns) - 1} more." if len(columns) > 1 else "."
        )
        if self.floor == 0:
            raise DegenerateDataError(f"{said} A Laplace density has no such scale. Drop it, or give a floor above 0.")
        warn_of_degenerate_data(f"{said} The scale was floored at {self.floor:g} of the size of the values.")
        return np.where(constant, self.floor * np.where(location != 0, np.abs(location), 1.0), scale)

    def _log_density(self, parameters: LaplaceColumns, X: Rows) -> Floats:
        return score_rows(parameters.log_density, X, hold_rows)

    def _sample(self, parameters: LaplaceColumns, n_samples: int, random: np.random.RandomState) -> Floats:
        return random.laplace(parameters.location, parameters.scale, (n_samples, len(parameters.location)))

    def _n_parameters(self, parameters: LaplaceColumns) -> int:
        return 2 * len(parameters.location)


def hold_rows(block: Block) -> HeldRows:
    """A block's rows, none of them infinite."""
    stored = block.X.data if issparse(block.X) else block.X
    if stored.dtype.kind == "f" and np.isinf(stored).any():
        raise_if_invalid(
            block,
            np.isinf(dense(block.X)),
            "Laplace takes finite values, or NaN where one is missing",
            "Replace infinity by a finite number, or by NaN.",
        )
    return HeldRows.of(block)


def _column_values(held: list[tuple[Any, Floats | None]], j: int) -> tuple[Floats, Floats]:
    """The values of a column that are not missing, and their weights."""
    parts = [_sparse_column(X, weight, j) if issparse(X) else _dense_column(X, weight, j) for X, weight in held]
    values, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    present = ~np.isnan(values)
    return (values, weights) if present.all() else (values[present], weights[present])


def _dense_column(X: Any, weight: Floats | None, j: int) -> tuple[Floats, Floats]:
    return X[:, j].astype(np.float64), np.ones(len(X)) if weight is None else weight


def _sparse_column(X: Any, weight: Floats | None, j: int) -> tuple[Floats, Floats]:
    """The stored values one by one, and all zeros as one value of their weight together."""
    entries = slice(X.indptr[j], X.indptr[j + 1])
    rows: Integers = X.indices[entries]
    w = np.ones(X.shape[0]) if weight is None else weight
    zeros = max(0.0, float(w.sum() - w[rows].sum())) if len(rows) < X.shape[0] else 0.0
    return np.append(X.data[entries].astype(np.float64), 0.0), np.append(w[rows], zeros)


def _weighted_median(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """The weighted median, the mean absolute deviation from it, and the weight."""
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
