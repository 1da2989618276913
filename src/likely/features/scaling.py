"""Columns moved to mean zero, and scaled to unit variance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from likely._numerics import is_rounding
from likely._typing import Floats
from likely.features.base import LinearFeature
from likely.statistics import DiagonalMoments, LinearMap

__all__ = ["Center", "Standardize"]


class Center(OneToOneFeatureMixin, LinearFeature):  # type: ignore[misc]
    """Move every column to mean zero; missing values stay missing.

    Attributes
    ----------
    mean_ : array of shape (n_features,)

    Examples
    --------
    >>> Center().fit_transform([[1.0, 5.0], [3.0, 6.0]])
    array([[-1. , -0.5],
           [ 1. ,  0.5]])
    """

    needs = DiagonalMoments
    keeps_missing = True

    def _estimate(self, statistics: Any) -> LinearMap:
        return LinearMap(statistics.mean, np.ones(statistics.n_features))


class Standardize(OneToOneFeatureMixin, LinearFeature):  # type: ignore[misc]
    """Move every column to mean zero and scale it to unit variance; missing values stay missing.

    The variance is the maximum-likelihood one (over n). A constant column is moved and not scaled.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    scale_ : array of shape (n_features,)
        The standard deviations divided by; 1 for a constant column.

    Examples
    --------
    >>> Standardize().fit_transform([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    needs = DiagonalMoments
    keeps_missing = True

    @property
    def scale_(self) -> Floats:
        return np.asarray(1 / self._map().matrix)

    def _estimate(self, statistics: Any) -> LinearMap:
        variances = statistics.variances()
        scale = np.where(is_rounding(variances, statistics.mean), 1.0, np.sqrt(variances))
        return LinearMap(statistics.mean, 1 / scale)
