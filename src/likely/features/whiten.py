"""Columns made uncorrelated and of unit variance, all together or within the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._validation import check_option
from likely.densities import Full
from likely.densities.covariance import FLOOR
from likely.densities.factors import FullCovariances
from likely.features.base import Projection, with_signs
from likely.statistics import ByClass, LinearMap, Moments

__all__ = ["Whiten"]


class Whiten(Projection):
    """Turn the covariance into the identity.

    A singular covariance is floored with a warning, as everywhere (see :class:`likely.Full`).

    Parameters
    ----------
    form : {"zca", "pca"}, default "zca"
        Which of the whitenings: the one that moves the data least (symmetric), or the one onto the principal axes,
        largest variance first, which leaves out the directions that hold none.
    by : {"total", "within"}, default "total"
        Whose covariance becomes the identity: that of all rows, or the average within the classes, which needs labels.
    floor : float, default 1e-9
        Least eigenvalue of the correlation matrix; 0 raises on a singular one.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_outputs, n_features)
        One direction a row.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) @ [[1.0, 2.0], [0.0, 3.0]]
    >>> np.cov(Whiten().fit_transform(X), rowvar=False, bias=True).round(10) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, form: str = "zca", by: str = "total", floor: float = FLOOR) -> None:
        self.form = form
        self.by = by
        self.floor = floor

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Whether it learns from labels."""
        return self.by == "within"

    def _estimate(self, statistics: Any) -> LinearMap:
        check_option("form", self.form, ("zca", "pca"))
        check_option("by", self.by, ("total", "within"))
        total: Moments = statistics.total() if isinstance(statistics, ByClass) else statistics
        about: Moments = statistics.within() if isinstance(statistics, ByClass) else statistics
        full = Full(floor=self.floor)
        fitted = full.estimate([about], ["X"], total.diagonal(), remedy="Put PCA before it to drop empty directions.")
        assert isinstance(fitted, FullCovariances)
        rank = fitted.ranks[0] if fitted.ranks else total.n_features
        axes, roots, _ = np.linalg.svd(fitted.whiteners[0])
        if self.form == "zca":
            return LinearMap(total.mean, (axes * roots) @ axes.T)
        scaled = (axes * roots)[:, ::-1]
        return LinearMap(total.mean, with_signs(scaled[:, : max(1, rank)]))
