"""Columns made uncorrelated and of unit variance, all together or within the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from likely._numerics import is_rounding
from likely._typing import Floats
from likely._validation import check_fraction, check_option
from likely.densities import Full
from likely.densities.covariance import FLOOR
from likely.densities.gathering import checked_total
from likely.features.base import Projection, with_signs
from likely.statistics import ByClass, LinearMap, Moments

__all__ = ["Whiten"]


class Whiten(Projection):
    """Turn the covariance into the identity.

    In the form "zca" a singular covariance is floored with a warning, as everywhere (see :class:`likely.Full`).

    Parameters
    ----------
    form : {"zca", "pca"}, default "zca"
        The whitening that moves the data least (symmetric), or the one onto the principal axes, largest variance first,
        which leaves out the directions that hold none.
    by : {"total", "within"}, default "total"
        Whose covariance becomes the identity: that of all rows, or the average within the classes, which needs labels.
    floor : float, default 1e-9
        Least eigenvalue of the correlation matrix, below which a direction holds nothing.

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
        by_class = statistics if isinstance(statistics, ByClass) else ByClass({0: statistics})
        total: Moments = checked_total(by_class)
        about: Moments = by_class.within()
        if self.form == "pca":
            return LinearMap(total.mean, with_signs(_onto_principal_axes(about, total, self.floor)))
        full = Full(floor=self.floor)
        fitted = full.estimate([about], ["X"], total.diagonal(), remedy="Put PCA before it to drop empty directions.")
        axes, roots, _ = np.linalg.svd(fitted.whiteners[0])
        return LinearMap(total.mean, (axes * roots) @ axes.T)


def _onto_principal_axes(about: Moments, total: Moments, floor: float) -> Floats:
    """The axes of the covariance over their standard deviations, largest first, without those that hold nothing.

    What holds nothing is judged in correlations, as everywhere, so that a small column is not taken for an empty one.
    """
    check_fraction("floor", floor, "Whiten")
    variances = about.variances()
    varying = ~is_rounding(variances, np.sqrt(total.mean**2 + total.variances()))
    if not varying.any():
        return np.zeros((len(variances), 1))
    scale = np.sqrt(variances[varying])
    values, vectors = eigh(about.covariance()[np.ix_(varying, varying)] / np.outer(scale, scale))
    held = values > max(floor, len(values) * np.finfo(np.float64).eps)
    axes, deviations, _ = np.linalg.svd(scale[:, None] * vectors[:, held] * np.sqrt(values[held]), full_matrices=False)
    matrix = np.zeros((len(variances), int(held.sum())))
    matrix[varying] = axes / deviations
    return matrix
