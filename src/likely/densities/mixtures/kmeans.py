"""Clusters around centres."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._typing import Floats, Integers
from likely._validation import as_floats, check_count, check_penalty, check_rows
from likely.blocks import Block, Source, SourceLearner, over_rows
from likely.blocks.sample import sampled
from likely.densities.distances import DistancesByVariances
from likely.densities.gathering import moments
from likely.densities.mixtures.centroids import CentroidFamily, spread_out
from likely.densities.mixtures.em import MOST_PASSES, climb
from likely.exceptions import (
    DegenerateDataError,
    InvalidParameterError,
    warn_of_no_convergence,
)
from likely.statistics import DiagonalMoments

__all__ = ["KMeans"]


class KMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, SourceLearner):  # type: ignore[misc]
    """Rows in clusters, each around its mean, such that squared distances to the means are small.

    It is the mixture of Gaussians with unit covariance and equal weights, learned with hard assignments. Distances are
    Euclidean, so columns should be on one scale: put :class:`likely.Standardize` before it. Finds a local minimum that
    depends on the start. Missing values are refused.

    Parameters
    ----------
    n_clusters : int, default 8
    init : {"k-means++"} or array of shape (n_clusters, n_features), default "k-means++"
        Where centres begin: at rows of a sample of at most 16 384, drawn far from each other, or at given places.
    n_starts : int, default 1
        How often to begin; the clusters of least inertia are kept.
    tolerance : float, default 1e-6
        Passes end when the mean squared distance falls by no more than this share of the total variance.
    random_state : int, RandomState or None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    inertia_ : float
        Sum of squared distances of rows to the nearest centre.
    labels_ : array of int of shape (n,)
        Cluster of each row that was fitted; rows of a source have none.
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> clusters = KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(clusters.cluster_centers_.ravel().tolist()), clusters.inertia_
    ([0.5, 10.5], 1.0)
    >>> clusters.labels_[0] == clusters.labels_[1]
    np.True_
    """

    def __init__(
        self,
        n_clusters: int = 8,
        init: Any = "k-means++",
        n_starts: int = 1,
        tolerance: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_starts = n_starts
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in memory, and label them; an error leaves the estimator as it was.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        super().fit(X, None, sample_weight)
        distances = self._squared_distances(X)
        self.labels_, nearest = distances.argmin(axis=1), distances.min(axis=1)
        # From distances themselves: of tight clusters the difference of sums has lost digits.
        self.inertia_ = float(nearest.sum() if sample_weight is None else nearest @ np.asarray(sample_weight))
        return self

    def predict(self, X: Any) -> Integers:
        """The cluster of each row, the nearest; the first of equals."""
        return np.asarray(self._squared_distances(X).argmin(axis=1), dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Distances of rows to all centres, of shape (n, n_clusters)."""
        return np.asarray(np.sqrt(self._squared_distances(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centres."""
        return -float(self._squared_distances(X).min(axis=1).sum())

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _squared_distances(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = check_rows(self, X)
        distances = DistancesByVariances(self.cluster_centers_, np.ones_like(self.cluster_centers_))
        with np.errstate(all="ignore"):
            found = over_rows(distances, rows, len(self.cluster_centers_))
        if not np.isfinite(found).all():
            raise Block(rows).non_finite()
        return np.maximum(found, 0.0, out=found)

    def _learn(self, source: Source) -> None:
        self._check_parameters()
        whole: DiagonalMoments = source.reduce(_finite_moments)
        sample = source.reduce(sampled)
        rows, weight = sample.distinct()
        if len(sample.rows) < self.n_clusters:
            raise DegenerateDataError(
                f"KMeans looks for n_clusters={self.n_clusters} clusters, but X has only {len(sample.rows)} rows "
                f"(n_samples={len(sample.rows)}). Set n_clusters to that many or fewer."
            )
        # The mean may lie far from all rows but one; the median does not.
        family, random = CentroidFamily(np.median(rows, axis=0)), check_random_state(self.random_state)
        tolerance = 0.5 * self.tolerance * float(whole.variances().sum())
        if isinstance(self.init, str):
            starts = [spread_out(rows, weight, self.n_clusters, random) for _ in range(self.n_starts)]
        else:
            starts = [self._given(source)]
        climbs = [climb(source, family, family.at(start), True, tolerance) for start in starts]
        best = max(climbs, key=lambda found: found.history[-1])
        if not best.converged:
            warn_of_no_convergence(f"KMeans stopped after {MOST_PASSES} passes. Use a larger tolerance.")
        self.cluster_centers_, self.n_iter_ = best.mixed.components.means, len(best.history)
        squares = float(whole.scatter.sum() + whole.weight * np.square(whole.mean - family.origin).sum())
        self.inertia_ = max(0.0, squares - 2 * best.sums.log_likelihood)
        self.__dict__.pop("labels_", None)

    def _given(self, source: Source) -> Floats:
        centres = as_floats(self.init)
        if centres is None or centres.shape != (self.n_clusters, source.n_features) or not np.isfinite(centres).all():
            came = "is no array of numbers" if centres is None else f"has shape {centres.shape}"
            raise InvalidParameterError(
                f"init of KMeans must be 'k-means++' or finite centres of shape ({self.n_clusters}, "
                f"{source.n_features}), but {came}."
            )
        return centres

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_starts"):
            check_count(name, getattr(self, name), "KMeans")
        check_penalty("tolerance", self.tolerance, "KMeans")
        if isinstance(self.init, str) and self.init != "k-means++":
            raise InvalidParameterError(f"init of KMeans must be 'k-means++' or an array, but is {self.init!r}.")


def _finite_moments(block: Block) -> DiagonalMoments:
    """The moments of a block's rows, none of which may be missing."""
    found: DiagonalMoments = moments(block, DiagonalMoments)
    if (found.column_weights < found.weight).any():
        raise block.non_finite()
    return found
