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
"""An object that is fitted to a source without classes and then has a log density."""

FITTED_DENSITY = object_with("a fitted density", "fit_source", "log_density", d="d")


SUM_TOLERANCE = 1e-6
"""Maximum difference between 1 and the sum of probabilities in a model file."""


class DensityMethods(DensityMixin):  # type: ignore[misc]
    """Methods that follow from ``log_density`` and ``_draw``."""

    def log_density(self, X: Any) -> Floats:
        """Return the natural log of the density of each row, of shape (n,)."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Floats:
        """Return ``log_density(X)``; the name is scikit-learn's."""
        return self.log_density(X)

    def outlier_score(self, X: Any) -> Floats:
        """Return the outlier score of each row, minus the log density, of shape (n,)."""
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
    """Return statistics that share no memory with the caller's rows; statistics that hold views are copied."""
    return statistics.detach() if hasattr(statistics, "detach") else statistics


def align_categories(part: Any, whole: Any) -> Any:
    """Return the statistics of a part of the rows, with the categories that occur in all rows."""
    return part.align_categories(whole) if hasattr(part, "align_categories") else part


def score_rows(of_rows: Callable[[Floats], Floats], X: Rows, check: Callable[[Block], object]) -> Floats:
    """Return ``of_rows`` of all rows. It returns NaN for an invalid row; ``check`` then raises the error."""
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
    """Raise an error with the rule, the first invalid value and the remedy; ``invalid`` is a mask of the dense rows."""
    if not invalid.any():
        return
    row, column = np.argwhere(invalid)[0]
    position = row if block.positions is None else block.positions[row]
    value = dense(block.X[row : row + 1])[0, column]
    raise error(f"{rule}, but row {position}, column {column} has {value:g}. {remedy}")


def check_column_weights(name: str, column_weights: Floats) -> None:
    """Raise if a column has no value, or if its weights overflow."""
    if not np.isfinite(column_weights).all():
        raise InvalidDataError(f"The weights of the rows given to {name} are too large to be summed. Scale them down.")
    empty = np.flatnonzero(~(column_weights > 0))
    if len(empty):
        raise DegenerateDataError(
            f"{name} has no value in column {empty[0]}: all are NaN or have weight 0. Drop that column, or fill in its "
            "values."
        )


def check_addable(a: Any, b: Any) -> None:
    """Raise unless two statistics have the same type and number of columns."""
    if type(a) is not type(b) or a.n_features != b.n_features:
        raise IncompatiblePartsError(
            f"{type(a).__name__} of {a.n_features} columns cannot be added to {type(b).__name__} of {b.n_features}. "
            "Statistics must have the same type and number of columns. If options of the density were changed, call "
            "fit again."
        )
