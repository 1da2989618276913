"""The Bernoulli density: independent columns of zeros and ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, Scope, ViolationError, floats, instance_of, none_or, number
from likely._numerics import dense, log
from likely._typing import Floats, Rows
from likely.blocks import AdditiveState, Block
from likely.densities.base import (
    SUM_TOLERANCE,
    Density,
    check_addable,
    check_column_weights,
    raise_if_invalid,
    row_weights,
    score_rows,
)


@dataclass(frozen=True, eq=False)
class BinaryCounts:
    """Weight of the zeros and of the ones of each column.

    Both are counted: one as what the other leaves of the whole would be rounding where it should be 0.

    Parameters
    ----------
    zeros, ones : arrays of shape (n_features,)
    """

    zeros: Annotated[Floats, floats("d", low=0)]
    ones: Annotated[Floats, floats("d", low=0)]

    def __post_init__(self) -> None:
        self.zeros.flags.writeable = self.ones.flags.writeable = False

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.ones)

    @classmethod
    def zero(cls, n_features: int) -> BinaryCounts:
        """The counts of no rows."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def __add__(self, other: BinaryCounts) -> BinaryCounts:
        check_addable(self, other)
        with np.errstate(over="ignore"):
            return BinaryCounts(self.zeros + other.zeros, self.ones + other.ones)


@dataclass(frozen=True, eq=False)
class BinaryColumns:
    """Probabilities of a zero and of a one in each column."""

    zeros: Annotated[Floats, floats("d", low=0)]
    ones: Annotated[Floats, floats("d", low=0)]

    def _check_state(self, scope: Scope) -> None:
        if (np.abs(self.zeros + self.ones - 1) > SUM_TOLERANCE).any():
            raise ViolationError("zeros and ones must sum to 1 in each column, but do not")

    def log_density(self, rows: Floats) -> Floats:
        """Of dense rows; NaN for those that hold anything but zeros and ones."""
        logs = np.where(rows == 1, log(self.ones), log(self.zeros))
        missing = np.isnan(rows)
        scores = np.where(missing, 0.0, logs).sum(axis=1)
        return np.where(((rows == 0) | (rows == 1) | missing).all(axis=1), scores, np.nan)


@dataclass(frozen=True, eq=False)
class BernoulliState(AdditiveState):
    """The counts of zeros and ones, and their probabilities."""

    statistics_: Annotated[BinaryCounts, instance_of(BinaryCounts, d="d")]
    _parameters: Annotated[BinaryColumns | None, none_or(instance_of(BinaryColumns, d="d"))] = None


class Bernoulli(Density):
    """Independent columns of zeros and ones.

    Maximum likelihood by default, so that what a column never was is impossible: log density −inf. Missing values
    (NaN) are left out column by column, and integrated out when rows are scored.

    Parameters
    ----------
    pseudo_count : float >= 0, default 0
        Added to the count of zeros and to that of ones, in every column.
    threshold : float or None, default None
        Values above it are ones, the rest zeros. Without it, rows must be zeros and ones already.

    Attributes
    ----------
    probabilities_ : array of shape (n_features,)
        Of a one.
    n_parameters_ : int
        One for each column.
    statistics_ : BinaryCounts
        What was learned from.

    Notes
    -----
    p_j = (N_j1 + a) / (N_j + 2a) with N_j the weight of column j, N_j1 that of its ones, and the pseudo-count a;
    log p(x) = Σ_j [x_j log p_j + (1 − x_j) log (1 − p_j)].

    Examples
    --------
    Six heads of ten:

    >>> coin = Bernoulli().fit([[1]] * 6 + [[0]] * 4)
    >>> coin.probabilities_
    array([0.6])
    >>> coin.log_density([[1], [0]])
    array([-0.51082562, -0.91629073])
    """

    _State = BernoulliState
    _constraints: ClassVar[Constraints] = {"pseudo_count": number(0), "threshold": none_or(number())}

    def __init__(self, pseudo_count: float = 0.0, *, threshold: float | None = None) -> None:
        self.pseudo_count = pseudo_count
        self.threshold = threshold

    @property
    def probabilities_(self) -> Floats:
        probabilities: Floats = self._learned().ones
        return probabilities

    def _statistic(self) -> Any:
        return count_binary, (self.threshold,)

    def _estimate(self, statistics: BinaryCounts) -> BinaryColumns:
        with np.errstate(over="ignore"):
            weights = statistics.zeros + statistics.ones + 2 * self.pseudo_count
        check_column_weights("Bernoulli", weights)
        return BinaryColumns(
            (statistics.zeros + self.pseudo_count) / weights, (statistics.ones + self.pseudo_count) / weights
        )

    def _log_density(self, parameters: BinaryColumns, X: Rows) -> Floats:
        threshold = self.threshold

        def of_rows(rows: Floats) -> Floats:
            return parameters.log_density(_binarize(rows, threshold))

        return score_rows(of_rows, X, lambda block: _check_rows(block, threshold))

    def _sample(self, parameters: BinaryColumns, n_samples: int, random: np.random.RandomState) -> Floats:
        drawn = random.random_sample((n_samples, len(parameters.ones)))
        return (drawn < parameters.ones).astype(np.float64)

    def _n_parameters(self, parameters: BinaryColumns) -> int:
        return len(parameters.ones)


def count_binary(block: Block, threshold: float | None) -> BinaryCounts:
    """The counts of a block's zeros and ones."""
    X, w = _check_rows(block, threshold), row_weights(block)
    return BinaryCounts(w @ (X == 0), w @ (X == 1))


def _check_rows(block: Block, threshold: float | None) -> Floats:
    """A block's rows as zeros, ones and missing values."""
    X = dense(block.X)
    remedy = "Use NaN where a value is missing."
    raise_if_invalid(block, np.isinf(X), "Bernoulli takes finite values", remedy)
    remedy = f"Give a threshold above which values are ones. {remedy}"
    X = _binarize(X, threshold)
    raise_if_invalid(block, ~((X == 0) | (X == 1) | np.isnan(X)), "Bernoulli takes zeros and ones", remedy)
    return X


def _binarize(X: Floats, threshold: float | None) -> Floats:
    """Zeros and ones by a threshold, if there is one; what is not finite stays as it is."""
    return X if threshold is None else np.where(np.isfinite(X), threshold < X, X)
