"""Linear discriminants as features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from likely._typing import Floats
from likely._validation import is_count
from likely.densities import Full
from likely.densities.covariance import FLOOR
from likely.densities.gathering import checked_total
from likely.exceptions import DegenerateDataError, InvalidParameterError
from likely.features.base import Projection, with_signs
from likely.statistics import ByClass, LinearMap, Moments

__all__ = ["LDA"]


class LDA(Projection):
    """Project onto the directions in which the class means lie furthest apart, measured in spread within the classes.

    There are at most K − 1 of them. In the projection the average covariance within the classes is the identity, so
    a tied Gaussian decides there as it does on all the features. With two classes the one direction points from the
    first class to the second; otherwise the signs make the largest entry positive. Missing values are refused.

    Parameters
    ----------
    n_components : int or None
        How many directions; None keeps all there are: the number of classes less one, or the number of features.
    floor : float, default 1e-9
        Floor of the within-class covariance where it is singular (see :class:`likely.Full`); 0 raises.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_components_, n_features)
    n_components_ : int
    explained_variance_ratio_ : array of shape (n_components_,)
        Share of the between-class variance, in units of the within-class one, that each direction holds.
    classes_ : array of labels

    Notes
    -----
    Directions v solve S_B v = λ S_W v with v' S_W v = n, where S_W sums the scatters about the class means and S_B is
    the scatter of the class means, each weighted by its class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [5.0, 5.0], [7.0, 5.0], [5.0, 6.0]])
    >>> lda = LDA().fit(X, [0, 0, 0, 1, 1, 1])
    >>> lda.components_.round(3)
    array([[0.926, 2.315]])
    """

    by_class = True

    def __init__(self, n_components: int | None = None, floor: float = FLOOR) -> None:
        self.n_components = n_components
        self.floor = floor

    @property
    def explained_variance_ratio_(self) -> Floats:
        discriminants: _Discriminants = self._learned()
        return discriminants.shares

    def _estimate(self, statistics: ByClass[Moments]) -> _Discriminants:
        if len(statistics.parts) < 2:
            raise DegenerateDataError("LDA needs rows of at least two classes, but y has one class only.")
        total, between = checked_total(statistics), _between(statistics)
        n_kept = self._n_kept(len(statistics.parts), total.n_features)
        shape = Full(floor=self.floor)
        within = shape.estimate(
            [statistics.within()], ["The pooled data"], total.diagonal(), remedy="Put PCA before it."
        )
        U = within.whiteners[0]
        values, vectors = eigh(U.T @ between.covariance() @ U)
        directions = U @ vectors[:, ::-1][:, :n_kept]
        whole = max(values.sum(), np.finfo(np.float64).tiny)
        shares = np.maximum(values[::-1][:n_kept], 0.0) / whole
        return _Discriminants(total.mean, _with_signs(directions, statistics), shares)

    def _n_kept(self, n_classes: int, n_features: int) -> int:
        most = min(n_classes - 1, n_features)
        if self.n_components is None:
            return most
        if not is_count(self.n_components, 1, most):
            raise InvalidParameterError(
                f"n_components of LDA must lie between 1 and {most}, since {n_classes} classes of {n_features} "
                f"features have no more directions, but is {self.n_components!r}."
            )
        return int(self.n_components)


@dataclass(frozen=True, eq=False)
class _Discriminants(LinearMap):
    """The projection, with the share of the between-class variance along each of its directions."""

    shares: Floats


def _between(statistics: ByClass[Moments]) -> Moments:
    """The moments of rows that sit at their class means."""
    parts = list(statistics.parts.values())
    return Moments.of(np.stack([part.mean for part in parts]), statistics.weights())


def _with_signs(directions: Floats, statistics: ByClass[Moments]) -> Floats:
    parts = list(statistics.parts.values())
    if len(parts) > 2:
        return with_signs(directions)
    return np.asarray(directions * np.where((parts[1].mean - parts[0].mean) @ directions < 0, -1.0, 1.0))
