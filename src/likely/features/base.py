"""What all linear features share: they learn from moments, map rows, and map moments."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely._validation import check_rows
from likely.blocks import AdditiveLearner, Block, over_rows
from likely.densities import class_moments, moments
from likely.exceptions import InvalidDataError
from likely.statistics import DiagonalMoments, LinearMap, Moments

__all__ = ["LinearFeature", "Projection", "with_signs"]


class LinearFeature(TransformerMixin, AdditiveLearner):  # type: ignore[misc]
    """A map x ↦ (x − centre) P learned from moments.

    A subclass says which moments it needs and computes its :class:`~likely.statistics.LinearMap` from them.
    """

    needs: ClassVar[type[Moments] | type[DiagonalMoments]] = Moments
    """The least statistic it can learn from."""

    keeps_missing: ClassVar[bool] = False
    """Whether NaN is passed on as NaN."""

    @property
    def mean_(self) -> Floats:
        return self._map().centre

    def transform(self, X: Any) -> Floats:
        """Map rows; the result has shape (n, n_outputs)."""
        linear = self._map()
        rows = check_rows(self, X)
        mapped = over_rows(partial(_quietly, linear), rows, linear.n_outputs)
        doubtful = np.flatnonzero(~np.isfinite(mapped).all(axis=1))
        if len(doubtful):
            self._refuse(rows, doubtful)
        return mapped

    def inverse_transform(self, X: Any) -> Floats:
        """The rows that map to ``X``; of those, the nearest to the mean in the features left out."""
        linear = self._map()
        Z = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan" if self.keeps_missing else True)
        if Z.shape[1] != linear.n_outputs:
            raise InvalidDataError(
                f"inverse_transform of {type(self).__name__} takes the {linear.n_outputs} columns that transform "
                f"gives, but came with {Z.shape[1]}."
            )
        return linear.inverse(Z)

    def map_statistics(self, statistics: Any) -> Any:
        """The moments, or moments by class, that the mapped rows have."""
        linear = self._map()
        return statistics.each(lambda part: part.mapped(linear))

    def _map(self) -> LinearMap:
        linear: LinearMap = self._learned()
        return linear

    def _statistic(self) -> Any:
        return (class_moments if self.by_class else moments), (self.needs,)

    def _refuse(self, rows: Any, doubtful: Integers) -> None:
        """Refuse infinities, values that overflow, and NaN where a projection would spread it over every output."""
        values = dense(rows[doubtful])
        refused = ~np.isnan(values).any(axis=1) if self.keeps_missing else np.ones(len(values), dtype=bool)
        refused |= np.isinf(values).any(axis=1)
        if refused.any():
            at = int(doubtful[refused.argmax()])
            raise Block(rows[at : at + 1], positions=[at]).non_finite()

    @property
    def _n_features_out(self) -> int:
        return self._map().n_outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.keeps_missing
        return tags


class Projection(ClassNamePrefixFeaturesOutMixin, LinearFeature):  # type: ignore[misc]
    """A linear feature that mixes columns: it has directions, and refuses missing values."""

    @property
    def components_(self) -> Floats:
        return self._map().matrix.T

    @property
    def n_components_(self) -> int:
        return self._map().n_outputs


def _quietly(linear: LinearMap, rows: Floats) -> Floats:
    """Mapped rows; infinities and NaN among them are looked for afterwards."""
    with np.errstate(all="ignore"):
        return linear(rows)


def with_signs(directions: Floats) -> Floats:
    """Directions, as columns, turned so that the largest entry of each is positive."""
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
