"""Principal components."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._typing import Floats
from likely._validation import is_count
from likely.exceptions import InvalidParameterError
from likely.features.base import Projection, with_signs
from likely.statistics import LinearMap, Moments

__all__ = ["PCA"]


class PCA(Projection):
    """Project onto the directions of largest variance.

    The signs make the largest entry of each direction positive. Missing values are refused.

    Parameters
    ----------
    n_components : int, float below 1, or None
        How many directions to keep; as a fraction, as many as hold that share of the variance; None keeps all
        that hold any.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, one a row.
    n_components_ : int
    explained_variance_ : array of shape (n_components_,)
        Maximum-likelihood variances along the directions (over n).
    explained_variance_ratio_ : array of shape (n_components_,)

    Notes
    -----
    The eigenvectors of the covariance, from moments alone: no copy of the data is centred or decomposed. A direction
    whose variance is less than about 1e-16 of the largest is not resolved.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.1]])
    >>> pca = PCA(0.99).fit(X)
    >>> pca.n_components_, pca.components_.round(2), pca.explained_variance_ratio_.round(4)
    (1, array([[0.7 , 0.72]]), array([0.9999]))
    """

    def __init__(self, n_components: int | float | None = None) -> None:
        self.n_components = n_components

    @property
    def explained_variance_(self) -> Floats:
        return np.maximum(self._moments().principal_axes[0][: self.n_components_], 0.0)

    @property
    def explained_variance_ratio_(self) -> Floats:
        whole = self._moments().variances().sum()
        return np.asarray(self.explained_variance_ / (whole if whole > 0 else 1.0))

    def _moments(self) -> Moments:
        self._map()
        statistics: Moments = self.statistics_
        return statistics

    def _estimate(self, statistics: Any) -> LinearMap:
        values, vectors = statistics.principal_axes
        kept = vectors[:, : _n_kept(self.n_components, np.maximum(values, 0.0))]
        return LinearMap(statistics.mean, with_signs(kept))


def _n_kept(n_components: Any, variances: Floats) -> int:
    d = len(variances)
    if n_components is None:
        return max(1, int((variances > d * np.finfo(np.float64).eps * variances[0]).sum()))
    if is_count(n_components, 1, d):
        return int(n_components)
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        return min(d, int(np.searchsorted(np.cumsum(variances), n_components * variances.sum())) + 1)
    raise InvalidParameterError(
        f"n_components of PCA must be a number of directions from 1 to the {d} features, a share of the variance "
        f"between 0 and 1, or None, but is {n_components!r}."
    )
