"""Base classes of densities: scoring rows, drawing rows, and checks of rows and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state

from likely._constraints import is_count, object_with
from likely._fitted import all_or_nothing
from likely._numerics import dense
from likely._typing import Booleans, Floats, Rows
from likely._validation import check_rows
from likely.blocks import AdditiveLearner, Block, Source, over_rows
from likely.exceptions import DegenerateDataError, IncompatiblePartsError, InvalidDataError, InvalidParameterError

DENSITY = object_with("a density, such as Gaussian()", "fit_source", "log_density")
"""Constraint on an argument: an object that can be fitted to a source without classes and returns a log density."""

FITTED_DENSITY = object_with("a fitted density", "fit_source", "log_density", d="d")
"""Constraint on an argument: a density that is already fitted, to rows of d columns."""

SUM_TOLERANCE = 1e-6
"""Maximum difference between 1 and the sum of probabilities in a model file."""


class DensityMethods(DensityMixin):  # type: ignore[misc]
    """Methods of every density that need only ``log_density`` and ``_draw`` of the subclass."""

    def log_density(self, X: Any) -> Floats:
        """Return the natural log of the density of each row, of shape (n,)."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Floats:
        """Return ``log_density(X)``; the name is scikit-learn's."""
        return self.log_density(X)

    def outlier_score(self, X: Any) -> Floats:
        """Return the outlier score of each row, which is −``log_density(X)``, of shape (n,)."""
        return -self.log_density(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of the rows."""
        return float(self.log_density(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw rows from the density; the result has shape (n_samples, n_features)."""
        if not is_count(n_samples, 0, 2**53):
            raise InvalidParameterError(f"n_samples must be a whole number >= 0, but is {n_samples!r}.")
        return self._draw(n_samples, check_random_state(random_state))

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        raise NotImplementedError


class Density(DensityMethods, AdditiveLearner):
    """Base class of densities whose parameters are estimated from one sum over the rows.

    Besides the methods of every :class:`AdditiveLearner`, a subclass defines how its parameters score rows
    (``_log_density``) and draw rows (``_sample``), and the number of free parameters (``_n_parameters``).
    """

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters, as counted by information criteria."""
        return self._n_parameters(self._get_parameters())

    def log_density(self, X: Any) -> Floats:
        """Return the natural log of the density of each row, of shape (n,)."""
        parameters = self._get_parameters()
        return self._log_density(parameters, check_rows(self, X))

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        return self._sample(self._get_parameters(), n_samples, random)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        with all_or_nothing(self):
            super().partial_fit(X, y, classes, sample_weight)
            self.statistics_ = detach(self.statistics_)
        return self

    partial_fit.__doc__ = AdditiveLearner.partial_fit.__doc__

    def _learn(self, source: Source) -> None:
        of, args = self._statistic()
        self.estimate(detach(source.reduce(of, *args)), source.classes)

    def _log_density(self, parameters: Any, X: Rows) -> Floats:
        raise NotImplementedError

    def _sample(self, parameters: Any, n_samples: int, random: np.random.RandomState) -> Floats:
        raise NotImplementedError

    def _n_parameters(self, parameters: Any) -> int:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def detach(statistics: Any) -> Any:
    """Return statistics that share no memory with the caller's rows.

    Only statistics that may hold views of the rows have a method ``detach``, which copies the views.
    """
    return statistics.detach() if hasattr(statistics, "detach") else statistics


def align_categories(part: Any, whole: Any) -> Any:
    """Return the statistics of a part of the rows, extended to the categories that occur in the whole.

    Statistics without categories are returned unchanged.
    """
    return part.align_categories(whole) if hasattr(part, "align_categories") else part


def score_rows(of_rows: Callable[[Floats], Floats], X: Rows, check: Callable[[Block], object]) -> Floats:
    """Return the score ``of_rows`` of each row, computed block by block.

    ``of_rows`` returns NaN for an invalid row. The first such row is then passed to ``check``, which raises an error
    that describes the row.
    """
    scores = over_rows(lambda rows: of_rows(rows)[:, None], X, 1)[:, 0]
    invalid = np.flatnonzero(np.isnan(scores))
    if len(invalid):
        check(Block(X[invalid[:1]], positions=invalid[:1]))
    return scores


def row_weights(block: Block) -> Floats:
    """Return the weights of a block's rows, or ones if it has no weights."""
    return np.ones(len(block)) if block.weight is None else block.weight


def raise_if_invalid(
    block: Block, invalid: Booleans, rule: str, remedy: str, error: type[InvalidDataError] = InvalidDataError
) -> None:
    """Raise an error that states the rule, the first invalid value and the remedy; do nothing if all values are valid.

    ``invalid`` is a mask of the values, of shape (n, d), also for sparse rows.
    """
    if not invalid.any():
        return
    row, column = np.argwhere(invalid)[0]
    position = row if block.positions is None else block.positions[row]
    value = dense(block.X[row : row + 1])[0, column]
    raise error(f"{rule}, but row {position}, column {column} has {value:g}. {remedy}")


def check_column_weights(name: str, column_weights: Floats) -> None:
    """Raise if a column has no value of positive weight, or if the sum of its weights overflows."""
    if not np.isfinite(column_weights).all():
        raise InvalidDataError(f"The weights of the rows given to {name} are too large to be summed. Scale them down.")
    empty = np.flatnonzero(~(column_weights > 0))
    if len(empty):
        raise DegenerateDataError(
            f"{name} has no value in column {empty[0]}: all its values are NaN or have weight 0. Drop that column, or "
            "fill in its values."
        )


def check_addable(a: Any, b: Any) -> None:
    """Raise unless two statistics have the same type and number of columns."""
    if type(a) is not type(b) or a.n_features != b.n_features:
        raise IncompatiblePartsError(
            f"{type(a).__name__} of {a.n_features} columns cannot be added to {type(b).__name__} of {b.n_features} "
            "columns. Statistics must have the same type and number of columns. If options of the density were "
            "changed, call fit again."
        )
