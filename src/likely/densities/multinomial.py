"""Multinomial density: rows of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln
from sklearn.utils import check_random_state

from likely._constraints import Constraints, floats, instance_of, is_count, none_or, number, optional, probabilities
from likely._numerics import dense, log
from likely._typing import Floats, Rows
from likely.blocks import AdditiveState, Block, block_rows
from likely.densities.base import Density, check_addable, raise_if_invalid, row_weights, score_rows
from likely.densities.given import check_probabilities
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError, MissingValuesError

MAX_COUNT = np.float64(1e200)
"""Maximum count; a larger one may overflow in the sums and log-factorials. It is a double, so that comparisons with
counts of narrower types are in double precision."""

MAX_DRAWS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class CountSums:
    """Weight of the rows, and weighted sum of each column's counts.

    Parameters
    ----------
    weight : float
    counts : array of shape (n_features,)
    """

    weight: Annotated[float, number(0)]
    counts: Annotated[Floats, floats("d", low=0)]

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.counts)

    @classmethod
    def zero(cls, n_features: int) -> CountSums:
        """Return the sums of no rows."""
        return cls(0.0, np.zeros(n_features))

    def mean_total(self) -> int:
        """Return the rounded mean total of a row, at most ``MAX_DRAWS + 1``. That maximum is too large to be drawn."""
        mean = self.counts.sum() / self.weight if self.weight else 0.0
        return round(float(min(mean, MAX_DRAWS + 1)))

    def __add__(self, other: CountSums) -> CountSums:
        check_addable(self, other)
        with np.errstate(over="ignore"):
            return CountSums(self.weight + other.weight, self.counts + other.counts)


@dataclass(frozen=True, eq=False)
class MultinomialState(AdditiveState):
    """Sums of counts, and the probabilities of the columns."""

    statistics_: Annotated[Any, optional(instance_of(CountSums, d="d"))]
    _parameters: Annotated[Floats | None, none_or(probabilities("d"))] = None


class Multinomial(Density):
    """Multinomial density: rows of counts, such as the words of a text.

    Given its total, a row is modelled as that many independent draws. The log density includes the multinomial
    coefficient, so the densities of all rows with the same total sum to 1; the total itself is not modelled. The
    coefficient is the same for all classes and components, so it cancels in every log-likelihood ratio. Counts need not
    be whole numbers; log-factorials are then computed by the gamma function. Sparse rows stay sparse. Missing values
    raise an error, because the total would be unknown.

    Parameters
    ----------
    pseudo_count : float >= 0, default 0
        Added to the sum of every column. With 0, the maximum-likelihood estimate, a row with a positive count in a
        column whose sum was 0 in training has the log density −inf.

    Attributes
    ----------
    probabilities_ : array of shape (n_features,)
    n_parameters_ : int
        One less than the number of columns.
    statistics_ : CountSums
        Weight of the rows and sums of the counts. They do not exist if the probabilities were given.

    Notes
    -----
    π_j = (N_j + a) / (N + a d) with N_j the sum of column j, N the sum of all d columns, and a the pseudo-count;
    log p(x) = log n! − Σ_j log x_j! + Σ_j x_j log π_j with n = Σ_j x_j.

    Examples
    --------
    Six heads and four tails, from a fair coin:

    >>> import numpy as np
    >>> coin = Multinomial().fit([[1, 1]])
    >>> np.exp(coin.log_density([[6, 4]])).round(3)
    array([0.205])
    """

    _State = MultinomialState
    _constraints: ClassVar[Constraints] = {"pseudo_count": number(0)}

    def __init__(self, pseudo_count: float = 0.0) -> None:
        self.pseudo_count = pseudo_count

    @classmethod
    def given(cls, probabilities: Any) -> Multinomial:
        """Return the density with given probabilities of the columns, an array of shape (n_features,) with sum 1.

        ``sample`` then needs the total of a row.

        Examples
        --------
        >>> Multinomial.given([0.5, 0.5]).log_density([[6, 4]]).round(3)
        array([-1.584])
        """
        found = check_probabilities("probabilities", probabilities, cls.__name__)
        return cls()._set_given(found, len(found))

    @property
    def probabilities_(self) -> Floats:
        probabilities: Floats = self._get_parameters()
        return probabilities

    def sample(self, n_samples: int = 1, random_state: Any = None, total: int | None = None) -> Floats:
        """Draw rows from the density; the result has shape (n_samples, n_features).

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None
        total : int, optional
            Total of each row; by default the rounded mean total of the training rows. It is needed if the probabilities
            were given.
        """
        parameters = self._get_parameters()
        if total is None and self._is_given():
            raise InvalidParameterError(
                "This Multinomial was made from given probabilities, so there is no default total (the mean total of "
                "the training rows). Set total, as in sample(10, total=50).",
                parameter="total",
            )
        of_each = self.statistics_.mean_total() if total is None else total
        for name, value in (("n_samples", n_samples), ("total", of_each)):
            if not is_count(value, 0, MAX_DRAWS):
                raise InvalidParameterError(f"{name} must be a whole number from 0 to {MAX_DRAWS}, but is {value!r}.")
        drawn = check_random_state(random_state).multinomial(of_each, parameters, n_samples)
        return np.asarray(drawn, dtype=np.float64)

    def _block_rows(self, X: Rows) -> int | None:
        return block_rows(X) if issparse(X) else None

    def _statistic(self) -> Any:
        return sum_counts, ()

    def _estimate(self, statistics: CountSums) -> Floats:
        with np.errstate(over="ignore"):
            counts = statistics.counts + self.pseudo_count
            total = counts.sum()
        if not np.isfinite(total):
            raise InvalidDataError("Weighted counts are too large to be summed. Scale the weights or the counts down.")
        if not total > 0:
            raise DegenerateDataError(
                "Multinomial has no counts: all counts are 0 or have weight 0. Fit it to rows with positive counts, "
                "or set pseudo_count."
            )
        return np.asarray(counts / total)

    def _log_density(self, parameters: Floats, X: Rows) -> Floats:
        if not issparse(X):
            return score_rows(lambda rows: _log_probability(rows, parameters), X, _check_counts)
        _check_counts(Block(X))
        return _log_probability(X, parameters)

    def _n_parameters(self, parameters: Floats) -> int:
        return len(parameters) - 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only, tags.input_tags.allow_nan = True, False
        return tags


def sum_counts(block: Block) -> CountSums:
    """Sum the counts of a block."""
    _check_counts(block)
    w = row_weights(block)
    X = block.X if issparse(block.X) else dense(block.X)
    with np.errstate(over="ignore"):
        return CountSums(float(w.sum()), np.asarray(X.T @ w, dtype=np.float64))


def _log_probability(X: Any, probabilities: Floats) -> Floats:
    """Return the log density of dense or sparse rows; NaN for dense rows with invalid counts."""
    # Columns of probability 0 are scored separately, because 0 · log 0 is not finite.
    possible = probabilities > 0
    logs = np.where(possible, log(probabilities), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = X @ logs + gammaln(X.sum(axis=1) + 1.0) - _log_factorials(X)
        scores = np.where(X @ (~possible).astype(np.float64) > 0, -np.inf, scores)
    return scores if issparse(X) else np.where(_is_count(X).all(axis=1), scores, np.nan)


def _log_factorials(X: Any) -> Floats:
    """Return the sum of the log-factorials of each row's counts; counts that are not stored contribute 0."""
    logs: Any = X.astype(np.float64)
    if issparse(X):
        logs.data = gammaln(logs.data + 1.0)
    else:
        logs = gammaln(logs + 1.0)
    return np.asarray(logs.sum(axis=1))


def _check_counts(block: Block) -> None:
    """Raise for invalid counts. For sparse rows, only the stored values are checked."""
    if _is_count(block.X.data if issparse(block.X) else block.X).all():
        return
    X = dense(block.X)
    rule, remedy = "counts must be finite and >= 0", "Drop such rows, or correct them."
    raise_if_invalid(block, np.isnan(X), f"Multinomial does not accept NaN: {rule}", remedy, MissingValuesError)
    raise_if_invalid(block, X < 0, f"Negative values in data passed to Multinomial: {rule}", remedy)
    raise_if_invalid(block, X > MAX_COUNT, f"Multinomial can sum only counts up to {MAX_COUNT:g}", remedy)


def _is_count(values: Any) -> Any:
    return (values >= 0) & (values <= MAX_COUNT)
