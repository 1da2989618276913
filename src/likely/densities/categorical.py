"""Categorical density: independent columns of categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    count,
    either,
    floats,
    instance_of,
    integers,
    is_count,
    none_or,
    number,
    numbers,
    optional,
    show,
)
from likely._numerics import dense, log
from likely._typing import Booleans, Floats, Integers, Rows
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
from likely.densities.given import check_probabilities
from likely.exceptions import InvalidDataError, InvalidParameterError

MAX_CATEGORIES = 2**20
"""Maximum number of categories of a column. Larger codes are identifiers or measurements, and counting them would fill
the memory."""


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Weight of each category of each column; a sum has the categories of both terms.

    Parameters
    ----------
    widths : array of int of shape (n_features,)
        Number of categories of each column: one more than its largest code.
    counts : array of shape (widths.sum(),)
        Weights of the categories of the first column, then of the second column, and so on.

    Examples
    --------
    >>> import numpy as np
    >>> both = CategoryCounts.of(np.array([[0.0, 1.0]])) + CategoryCounts.of(np.array([[2.0, 1.0]]))
    >>> both.widths, both.counts
    (array([3, 2]), array([1., 0., 1., 0., 2.]))
    """

    widths: Annotated[Integers, integers("d")]
    counts: Annotated[Floats, floats("c*", low=0)]

    def __post_init__(self) -> None:
        self.widths.flags.writeable = self.counts.flags.writeable = False

    def _check_state(self, scope: Scope) -> None:
        if len(self.counts) != int(self.widths.sum()):
            raise ViolationError(
                f"counts must hold {self.widths.sum()} numbers, one for each category, but hold {len(self.counts)}"
            )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.widths)

    @classmethod
    def zero(cls, n_features: int) -> CategoryCounts:
        """Return the counts of no rows."""
        return cls(np.zeros(n_features, dtype=np.intp), np.zeros(0))

    @classmethod
    def of(cls, X: Floats, weight: Floats | None = None) -> CategoryCounts:
        """Count the codes of rows; NaN is omitted."""
        present = ~np.isnan(X)
        codes = np.where(present, X, -1.0).astype(np.intp)
        widths: Integers = codes.max(axis=0, initial=-1) + 1
        w = np.broadcast_to((np.ones(len(X)) if weight is None else weight)[:, None], X.shape)
        places = (codes + _starts(widths))[present]
        return cls(widths, np.bincount(places, w[present], minlength=int(widths.sum())).astype(np.float64))

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        check_addable(self, other)
        widths = np.maximum(self.widths, other.widths)
        with np.errstate(over="ignore"):
            return CategoryCounts(widths, self.widen(widths) + other.widen(widths))

    def align_categories(self, whole: CategoryCounts) -> CategoryCounts:
        """Return the same counts with the categories of all rows."""
        widths = np.maximum(self.widths, whole.widths)
        return CategoryCounts(widths, self.widen(widths))

    def widen(self, widths: Integers) -> Floats:
        """Return the counts with zeros for additional categories."""
        out = np.zeros(int(widths.sum()))
        out[np.arange(len(self.counts)) + np.repeat(_starts(widths) - _starts(self.widths), self.widths)] = self.counts
        return out


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """Probabilities of the categories of each column, followed by the probability of any larger code."""

    widths: Annotated[Integers, integers("d", low=1)]
    probabilities: Annotated[Floats, floats("c", low=0)]

    def _check_state(self, scope: Scope) -> None:
        if len(self.probabilities) != int((self.widths + 1).sum()):
            raise ViolationError(
                "probabilities must hold one number for each category and one for larger codes, but do not"
            )
        if any(abs(column.sum() - 1) > SUM_TOLERANCE for column in self.columns()):
            raise ViolationError("probabilities must sum to 1 in each column, but do not")

    @cached_property
    def _logs(self) -> Floats:
        return log(self.probabilities)

    def columns(self) -> list[Floats]:
        """Return the probabilities of the categories of each column."""
        return [part[:-1] for part in np.split(self.probabilities, np.cumsum(self.widths + 1)[:-1])]

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of dense rows; NaN for rows with invalid codes."""
        missing = np.isnan(rows)
        # Codes beyond the last category are clipped to the extra entry of their column.
        codes = np.where(missing, 0.0, np.clip(rows, 0.0, self.widths)).astype(np.intp)
        scores = np.where(missing, 0.0, self._logs[codes + _starts(self.widths + 1)]).sum(axis=1)
        return np.where((_is_invalid_code(rows) | (rows < 0)).any(axis=1), np.nan, scores)


@dataclass(frozen=True, eq=False)
class CategoricalState(AdditiveState):
    """Counts of categories, and their probabilities."""

    statistics_: Annotated[Any, optional(instance_of(CategoryCounts, d="d"))]
    _parameters: Annotated[CategoryTable | None, none_or(instance_of(CategoryTable, d="d"))] = None


class Categorical(Density):
    """Categorical density: independent columns of categories, coded as 0, 1, 2, ….

    The estimate is that of maximum likelihood by default. Then a category not seen in training has probability 0, and
    a row with such a category has the log density −inf. With a pseudo-count, the category has the probability given in
    the Notes. Missing values (NaN) are omitted column by column in fitting, and integrated out in scoring.

    Parameters
    ----------
    pseudo_count : float >= 0, default 0
        Added to the count of every category: 1 is Laplace's rule of succession.
    n_categories : int, sequence of int, or None, default None
        Number of categories of each column. Without it a column has the categories up to the largest code in training.

    Attributes
    ----------
    probabilities_ : list of arrays
        Probabilities of the categories of each column, which sum to 1.
    n_parameters_ : int
        One less than the number of categories, summed over the columns.
    statistics_ : CategoryCounts
        Counts of the categories. They do not exist if the probabilities were given.

    Notes
    -----
    p(c) = (N_c + a) / (N + a m) for a column of weight N with m categories and the pseudo-count a. Without
    ``n_categories`` a code larger than all codes in training is scored as a category of count 0, with probability
    a / (N + a m); the probabilities of the known categories sum to 1 without it. Densities that are compared, such as
    those of classes, should therefore have the same ``n_categories``. With ``n_categories`` a larger code has
    probability 0.

    Examples
    --------
    Coats of five female cats: black (0), orange (1), white (2) or calico (3).

    >>> females = Categorical().fit([[0], [2], [2], [0], [3]])
    >>> females.probabilities_
    [array([0.4, 0. , 0.4, 0.2])]
    >>> females.log_density([[0], [1]])
    array([-0.91629073,        -inf])
    >>> Categorical(pseudo_count=1).fit([[0], [2], [2], [0], [3]]).probabilities_
    [array([0.33333333, 0.11111111, 0.33333333, 0.22222222])]
    """

    _State = CategoricalState
    _constraints: ClassVar[Constraints] = {
        "pseudo_count": number(0),
        "n_categories": none_or(either(count(1, MAX_CATEGORIES), numbers(1))),
    }

    def __init__(self, pseudo_count: float = 0.0, *, n_categories: Any = None) -> None:
        self.pseudo_count = pseudo_count
        self.n_categories = n_categories

    @classmethod
    def given(cls, probabilities: Any) -> Categorical:
        """Return the density with given probabilities of the categories.

        Parameters
        ----------
        probabilities : list of arrays
            One for each column, with the probabilities of the categories 0, 1, 2, …, which sum to 1. Larger codes have
            probability 0.

        Examples
        --------
        >>> Categorical.given([[0.5, 0.5], [0.2, 0.3, 0.5]]).log_density([[0, 2]])
        array([-1.38629436])
        """
        hint = " Give a list with one vector for each column, such as [[0.5, 0.5]] for one column."
        listed = list(probabilities) if isinstance(probabilities, (list, tuple, np.ndarray)) else []
        if not listed:
            raise InvalidParameterError(
                f"probabilities of {cls.__name__}.given must be a list, but is {show(probabilities)}.{hint}",
                parameter="probabilities",
            )
        name = "probabilities (column {})"
        columns = [check_probabilities(name.format(j), p, cls.__name__, hint) for j, p in enumerate(listed)]
        widths = np.array([len(p) for p in columns], dtype=np.intp)
        # The extra entry of each column is the probability of larger codes.
        table = CategoryTable(widths, np.concatenate([np.append(p, 0.0) for p in columns]))
        return cls(n_categories=widths.tolist())._set_given(table, len(columns))

    @property
    def probabilities_(self) -> list[Floats]:
        table: CategoryTable = self._get_parameters()
        return table.columns()

    def _statistic(self) -> Any:
        return count_categories, ()

    def _estimate(self, statistics: CategoryCounts) -> CategoryTable:
        widths = self._resolve_widths(statistics)
        # One extra category of count 0 in each column stands for all larger codes.
        counts = statistics.widen(widths + 1)
        with np.errstate(over="ignore"):
            weights = np.add.reduceat(counts, _starts(widths + 1)) + self.pseudo_count * widths
        check_column_weights("Categorical", weights)
        probabilities = (counts + self.pseudo_count) / np.repeat(weights, widths + 1)
        if self.n_categories is not None:
            probabilities[np.cumsum(widths + 1) - 1] = 0.0
        return CategoryTable(widths, probabilities)

    def _resolve_widths(self, statistics: CategoryCounts) -> Integers:
        """Return the number of categories of each column, from ``n_categories`` or from the counts."""
        if self.n_categories is None:
            return statistics.widths
        given = np.atleast_1d(np.asarray(self.n_categories, dtype=object))
        if given.ndim != 1 or not all(is_count(m, 1, MAX_CATEGORIES) for m in given):
            raise InvalidParameterError(
                f"n_categories of Categorical must be a whole number from 1 to {MAX_CATEGORIES}, or one such number "
                f"for each column, but is {self.n_categories!r}."
            )
        if np.ndim(self.n_categories) and len(given) != statistics.n_features:
            raise InvalidParameterError(
                "n_categories of Categorical must be one number, or one number for each of the "
                f"{statistics.n_features} columns, but has {len(given)} numbers."
            )
        widths: Integers = np.broadcast_to(given.astype(np.intp), statistics.widths.shape).copy()
        beyond = np.flatnonzero(statistics.widths > widths)
        if len(beyond):
            raise InvalidDataError(
                f"Column {beyond[0]} must have codes from 0 to {widths[beyond[0]] - 1} according to n_categories, but "
                f"has the code {statistics.widths[beyond[0]] - 1}. Raise n_categories."
            )
        return widths

    def _log_density(self, parameters: CategoryTable, X: Rows) -> Floats:
        return score_rows(parameters.log_density, X, _check_rows)

    def _sample(self, parameters: CategoryTable, n_samples: int, random: np.random.RandomState) -> Floats:
        columns = [random.choice(len(p), n_samples, p=p / p.sum()) for p in parameters.columns()]
        return np.stack(columns, axis=1).astype(np.float64)

    def _n_parameters(self, parameters: CategoryTable) -> int:
        return int((parameters.widths - 1).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.positive_only = True
        return tags


def count_categories(block: Block) -> CategoryCounts:
    """Count the codes of a block."""
    X = _check_rows(block)
    rule = f"Categorical can be fitted only to codes below {MAX_CATEGORIES}"
    raise_if_invalid(block, X >= MAX_CATEGORIES, rule, "Number the categories 0, 1, 2, … without gaps.")
    return CategoryCounts.of(X, row_weights(block))


def _check_rows(block: Block) -> Floats:
    """Return a block's rows; raise for values that are neither codes nor missing."""
    X = dense(block.X)
    remedy = "Number the categories 0, 1, 2, …, and use NaN for a missing value."
    rule = "Negative values in data passed to Categorical, which needs whole numbers >= 0"
    raise_if_invalid(block, X < 0, rule, remedy)
    rule = "Categorical needs whole numbers >= 0, one for each category"
    raise_if_invalid(block, _is_invalid_code(X), rule, remedy)
    return X


def _is_invalid_code(X: Floats) -> Booleans:
    return np.asarray(np.isinf(X) | ((np.floor(X) != X) & ~np.isnan(X)))


def _starts(widths: Integers) -> Integers:
    """Return the position of the first category of each column."""
    return np.asarray(np.cumsum(widths) - widths)
