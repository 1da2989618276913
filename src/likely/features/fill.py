"""Missing values filled in."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from likely._typing import Floats
from likely._validation import check_rows
from likely.blocks import AdditiveLearner, Block, over_rows
from likely.densities import moments
from likely.statistics import DiagonalMoments

__all__ = ["Fill"]


class Fill(OneToOneFeatureMixin, TransformerMixin, AdditiveLearner):  # type: ignore[misc]
    """Fill missing values with the mean of their column: for models that take none.

    Unlike scikit-learn's imputers it takes weights, learns in instalments and from sources. A filled value looks like
    one that was observed, so models are surer of such rows than they should be; generative models of this library need
    no filling, and leave missing values out exactly. A column without any value is filled with 0.

    Attributes
    ----------
    mean_ : array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> Fill().fit_transform([[1.0, 5.0], [3.0, np.nan]])
    array([[1., 5.],
           [3., 5.]])
    """

    @property
    def mean_(self) -> Floats:
        mean: Floats = self._learned()
        return mean

    def transform(self, X: Any) -> Floats:
        """The rows, with means in place of NaN."""
        mean, rows = self.mean_, check_rows(self, X)
        filled = over_rows(partial(_filled, mean), rows, len(mean))
        infinite = np.flatnonzero(np.isinf(filled).any(axis=1))
        if len(infinite):
            at = int(infinite[0])
            raise Block(rows[at : at + 1], positions=[at]).non_finite()
        return filled

    def _statistic(self) -> Any:
        return moments, (DiagonalMoments,)

    def _estimate(self, statistics: Any) -> Floats:
        return np.asarray(np.nan_to_num(statistics.mean))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _filled(mean: Floats, rows: Floats) -> Floats:
    return np.where(np.isnan(rows), mean, rows)
