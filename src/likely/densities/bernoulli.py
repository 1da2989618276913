"""Bernoulli density: independent columns of zeros and ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, Scope, ViolationError, floats, instance_of, none_or, number, optional
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
from likely.densities.given import check_array
from likely.exceptions import InvalidParameterError


@dataclass(frozen=True, eq=False)
class BinaryCounts:
    """Weight of the zeros and of the ones of each column.

    Both are counted. If one were computed as the total less the other, rounding would replace an exact 0.

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
        """Return the counts of no rows."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def __add__(self, other: BinaryCounts) -> BinaryCounts:
        check_addable(self, other)
        with np.errstate(over="ignore"):
            return BinaryCounts(self.zeros + other.zeros, self.ones + other.ones)


@dataclass(frozen=True, eq=False)
class BinaryColumns:
    """Probabilities of zero and of one in each column."""

    zeros: Annotated[Floats, floats("d", low=0)]
    ones: Annotated[Floats, floats("d", low=0)]

    def _check_state(self, scope: Scope) -> None:
        if (np.abs(self.zeros + self.ones - 1) > SUM_TOLERANCE).any():
            raise ViolationError("zeros and ones must sum to 1 in each column, but do not")

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of dense rows; NaN for rows with values other than zero and one."""
        logs = np.where(rows == 1, log(self.ones), log(self.zeros))
        missing = np.isnan(rows)
        scores = np.where(missing, 0.0, logs).sum(axis=1)
        return np.where(((rows == 0) | (rows == 1) | missing).all(axis=1), scores, np.nan)


@dataclass(frozen=True, eq=False)
class BernoulliState(AdditiveState):
    """Counts of zeros and ones, and their probabilities."""

    statistics_: Annotated[Any, optional(instance_of(BinaryCounts, d="d"))]
    _parameters: Annotated[BinaryColumns | None, none_or(instance_of(BinaryColumns, d="d"))] = None


class Bernoulli(Density):
    """Bernoulli density: independent columns of zeros and ones.

    The estimate is that of maximum likelihood by default. Then a value that a column never had in training has
    probability 0, and a row with such a value has the log density −inf. Missing values (NaN) are omitted column by
    column in fitting, and integrated out in scoring.

    Parameters
    ----------
    pseudo_count : float >= 0, default 0
        Added to the count of zeros and to the count of ones, in every column.
    threshold : float or None, default None
        Values above it are ones, other values zeros. Without it, rows must contain only zeros and ones.

    Attributes
    ----------
    probabilities_ : array of shape (n_features,)
        Probability of one in each column.
    n_parameters_ : int
        One for each column.
    statistics_ : BinaryCounts
        Counts of zeros and ones. They do not exist if the probabilities were given.

    Notes
    -----
    p_j = (N_j1 + a) / (N_j + 2a) with N_j the weight of column j, N_j1 the weight of its ones, and a the pseudo-count;
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

    @classmethod
    def given(cls, probabilities: Any) -> Bernoulli:
        """Return the density with given probabilities of one, an array of shape (n_features,).

        Examples
        --------
        >>> Bernoulli.given([0.5, 0.25]).log_density([[1, 0]])
        array([-0.98082925])
        """
        p = check_array("probabilities", probabilities, 1, cls.__name__)
        outside = np.flatnonzero((p < 0) | (p > 1))
        if len(outside):
            raise InvalidParameterError(
                f"probabilities of {cls.__name__}.given must be from 0 to 1, but the probability of column "
                f"{outside[0]} is {p[outside[0]]:g}.",
                parameter="probabilities",
            )
        return cls()._set_given(BinaryColumns(1 - p, p), len(p))

    @property
    def probabilities_(self) -> Floats:
        probabilities: Floats = self._get_parameters().ones
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
    """Count the zeros and ones of a block."""
    X, w = _check_rows(block, threshold), row_weights(block)
    return BinaryCounts(w @ (X == 0), w @ (X == 1))


def _check_rows(block: Block, threshold: float | None) -> Floats:
    """Return a block's rows as zeros, ones and missing values; raise for other values."""
    X = dense(block.X)
    remedy = "Use NaN where a value is missing."
    raise_if_invalid(block, np.isinf(X), "Bernoulli needs finite values", remedy)
    remedy = f"Set threshold: values above it are ones. {remedy}"
    X = _binarize(X, threshold)
    raise_if_invalid(block, ~((X == 0) | (X == 1) | np.isnan(X)), "Bernoulli needs zeros and ones", remedy)
    return X


def _binarize(X: Floats, threshold: float | None) -> Floats:
    """Convert values to zeros and ones by the threshold, if there is one; values that are not finite are unchanged."""
    return X if threshold is None else np.where(np.isfinite(X), threshold < X, X)
