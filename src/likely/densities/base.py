"""What all densities that learn by adding up share: scoring rows, drawing them, and the messages about illegal ones."""

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
"""What learns from a source without classes, and then has a log density."""

FITTED_DENSITY = object_with("a fitted density", "fit_source", "log_density", d="d")


SUM_TOLERANCE = 1e-6
"""How far probabilities in a model file may be from 1 in sum."""


class DensityMethods(DensityMixin):  # type: ignore[misc]
    """What follows from ``log_density`` and ``_draw``, whoever has them."""

    def log_density(self, X: Any) -> Floats:
        """Natural log of the density at each row, of shape (n,)."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Floats:
        """The same as ``log_density``, by scikit-learn's name."""
        return self.log_density(X)

    def outlier_score(self, X: Any) -> Floats:
        """How unexpected each row is, of shape (n,): minus the log density."""
        return -self.log_density(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the rows."""
        return float(self.log_density(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Rows drawn from the density, of shape (n_samples, n_features)."""
        if not is_count(n_samples, 0, 2**53):
            raise InvalidParameterError(f"n_samples must be a whole number >= 0, but is {n_samples!r}.")
        return self._draw(n_samples, check_random_state(random_state))

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        raise NotImplementedError


class Density(DensityMethods, AdditiveLearner):
    """Base of the densities whose parameters follow from one sum over the rows.

    A subclass says, besides what every :class:`AdditiveLearner` says, how its parameters score rows
    (``_log_density``) and draw them (``_sample``), and how many of them are free (``_n_parameters``).
    """

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters, as information criteria count them."""
        return self._n_parameters(self._learned())

    def log_density(self, X: Any) -> Floats:
        """Natural log of the density at each row, of shape (n,)."""
        parameters = self._learned()
        return self._log_density(parameters, check_rows(self, X))

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        return self._sample(self._learned(), n_samples, random)

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
    """Statistics that do not change when the caller's rows do: a copy of those that only point at rows."""
    return statistics.detach() if hasattr(statistics, "detach") else statistics


def align_categories(part: Any, whole: Any) -> Any:
    """Statistics of some rows, with what must be known of all: the categories that occur."""
    return part.align_categories(whole) if hasattr(part, "align_categories") else part


def score_rows(of_rows: Callable[[Floats], Floats], X: Rows, check: Callable[[Block], object]) -> Floats:
    """``of_rows(rows)`` over all rows: it marks illegal rows by NaN, and ``check`` raises what is wrong with them."""
    scores = over_rows(lambda rows: of_rows(rows)[:, None], X, 1)[:, 0]
    illegal = np.flatnonzero(np.isnan(scores))
    if len(illegal):
        check(Block(X[illegal[:1]], positions=illegal[:1]))
    return scores


def row_weights(block: Block) -> Floats:
    """The weights of a block's rows, ones if it has none."""
    return np.ones(len(block)) if block.weight is None else block.weight


def raise_if_invalid(
    block: Block, bad: Booleans, rule: str, remedy: str, error: type[InvalidDataError] = InvalidDataError
) -> None:
    """Raise, if any value of a block is bad, what must hold and where it does not; ``bad`` is of the dense rows."""
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    position = row if block.positions is None else block.positions[row]
    value = dense(block.X[row : row + 1])[0, column]
    raise error(f"{rule}, but row {position}, column {column} has {value:g}. {remedy}")


def check_column_weights(whom: str, column_weights: Floats) -> None:
    """Refuse a column of which nothing is known, or whose weights overflow."""
    if not np.isfinite(column_weights).all():
        raise InvalidDataError(f"The weights of rows that {whom} learns from are too large to be summed. Scale them.")
    empty = np.flatnonzero(~(column_weights > 0))
    if len(empty):
        raise DegenerateDataError(
            f"{whom} knows no value of column {empty[0]}: all are NaN, or of no weight. Drop that column, or fill its "
            "values in."
        )


def check_addable(a: Any, b: Any) -> None:
    """Statistics add if they are of one kind and of as many columns."""
    if type(a) is not type(b) or a.n_features != b.n_features:
        raise IncompatiblePartsError(
            f"{type(a).__name__} of {a.n_features} columns cannot be added to {type(b).__name__} of {b.n_features}. "
            "Statistics add if they are of one kind; a density whose options were changed must be fitted anew."
        )
