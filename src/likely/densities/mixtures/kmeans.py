"""Clusters around centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import cluster
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely._validation import as_floats, check_count, check_penalty, check_rows, check_weight
from likely.blocks import ArraySource, Block, Source, SourceLearner, all_or_nothing, over_rows
from likely.blocks.sample import SAMPLE_ROWS, sampled
from likely.densities.distances import DistancesByVariances
from likely.densities.gathering import moments
from likely.densities.mixtures.centroids import CentroidFamily, spread_out
from likely.densities.mixtures.em import MOST_PASSES, expect, one_pass
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import (
    DegenerateDataError,
    InvalidParameterError,
    warn_of_no_convergence,
)
from likely.statistics import DiagonalMoments

__all__ = ["KMeans"]

MANY = 2**16
"""Rows in memory from which on scikit-learn's passes are worth their copy of the rows."""


class KMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, SourceLearner):  # type: ignore[misc]
    """Rows in clusters, each around its mean, such that squared distances to the means are small.

    It is the mixture of Gaussians with unit covariance and equal weights, learned with hard assignments. Distances are
    Euclidean, so columns should be on one scale: put :class:`likely.Standardize` before it. Finds a local minimum that
    depends on the start. Missing values are refused.

    Parameters
    ----------
    n_clusters : int, default 8
        At most 16 384.
    init : {"k-means++"} or array of shape (n_clusters, n_features), default "k-means++"
        Where centres begin: at rows of a sample of at most 16 384, drawn far from each other, or at given places.
    n_starts : int, default 1
        How often to begin; the clusters of least inertia are kept.
    tolerance : float, default 1e-4
        Passes end when the squares of all centres' moves sum up to no more than this share of the columns' mean
        variance.
    random_state : int, RandomState or None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    inertia_ : float
        Sum of squared distances of rows to the nearest centre.
    labels_ : array of int of shape (n,)
        Cluster of each row that was fitted, −1 for one that is not finite, as may be where it has no weight; rows of a
        source have none.
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
        tolerance: float = 1e-4,
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
        with all_or_nothing(self):
            super().fit(X, None, sample_weight)
            rows = check_rows(self, X)
            weight = check_weight(sample_weight, rows.shape[0])
            usable = slice(None) if weight is None else np.flatnonzero((weight > 0) | _are_finite(rows))
            self.labels_ = np.full(rows.shape[0], -1, dtype=np.intp)
            self.labels_[usable], nearest = self._nearest(rows[usable])
            # From distances themselves: of tight clusters the difference of sums has lost digits.
            self.inertia_ = float(nearest.sum() if weight is None else nearest @ weight[usable])
        return self

    def predict(self, X: Any) -> Integers:
        """The cluster of each row, the nearest; the first of equals."""
        self._centres()
        return self._nearest(check_rows(self, X))[0]

    def transform(self, X: Any) -> Floats:
        """Distances of rows to all centres, of shape (n, n_clusters)."""
        centres = self._centres()
        return np.sqrt(self._by_rows(check_rows(self, X), lambda squares: squares, len(centres)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centres."""
        self._centres()
        nearest = self._nearest(check_rows(self, X))[1]
        weight = check_weight(sample_weight, len(nearest))
        return -float(nearest.sum() if weight is None else nearest @ weight)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _centres(self) -> Floats:
        check_is_fitted(self)
        return self.cluster_centers_

    def _nearest(self, X: Rows) -> tuple[Integers, Floats]:
        """The nearest centre of each row, the first of equals, and its squared distance."""

        def nearest(squares: Floats) -> Floats:
            at = squares.argmin(axis=1)
            return np.column_stack([at, squares[np.arange(len(at)), at]])

        found = self._by_rows(X, nearest, 2)
        return found[:, 0].astype(np.intp), found[:, 1]

    def _by_rows(self, X: Rows, of: Callable[[Floats], Floats], n_outputs: int) -> Floats:
        """A function of squared distances to all centres, some rows at a time."""
        centres = self._centres()
        distances = DistancesByVariances(centres, np.ones_like(centres))
        with np.errstate(all="ignore"):
            found = over_rows(lambda some: of(np.maximum(distances(some), 0.0)), X, n_outputs)
        if not np.isfinite(found).all():
            raise Block(X).non_finite()
        return found

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
        if isinstance(self.init, str):
            starts = [spread_out(rows, weight, self.n_clusters, random) for _ in range(self.n_starts)]
        else:
            starts = [self._given(source)]
        clusters = [self._clustered(source, family, start, whole, len(rows)) for start in starts]
        best = min(clusters, key=lambda found: found.inertia)
        if best.passes == MOST_PASSES:
            warn_of_no_convergence(f"KMeans stopped after {MOST_PASSES} passes. Use a larger tolerance.")
        self.cluster_centers_, self.inertia_, self.n_iter_ = best.centres, best.inertia, best.passes
        self.__dict__.pop("labels_", None)

    def _clustered(
        self, source: Source, family: CentroidFamily, start: Floats, whole: DiagonalMoments, n_different: int
    ) -> _Clusters:
        """Clusters from one start; of many rows in memory by scikit-learn, whose passes take half as long."""
        if isinstance(source, ArraySource) and source.X.shape[0] >= MANY and n_different >= self.n_clusters:
            return _by_peer(source, start, self.tolerance)
        found, passes = _by_passes(source, family, start, self.tolerance * float(whole.variances().mean()))
        sums = source.reduce(expect, family.expectation(found), True)
        squares = float(whole.scatter.sum() + whole.weight * np.square(whole.mean - family.origin).sum())
        return _Clusters(found.components.means, max(0.0, squares - 2 * sums.log_likelihood), passes)

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
        check_count("n_clusters", self.n_clusters, "KMeans", SAMPLE_ROWS)
        check_count("n_starts", self.n_starts, "KMeans")
        check_penalty("tolerance", self.tolerance, "KMeans")
        if isinstance(self.init, str) and self.init != "k-means++":
            raise InvalidParameterError(f"init of KMeans must be 'k-means++' or an array, but is {self.init!r}.")


class _Clusters(NamedTuple):
    centres: Floats
    inertia: float
    passes: int


def _by_peer(source: ArraySource, start: Floats, tolerance: float) -> _Clusters:
    peer = cluster.KMeans(len(start), init=start, n_init=1, max_iter=MOST_PASSES, tol=tolerance, algorithm="lloyd")
    X = source.X if issparse(source.X) else dense(source.X)
    peer.fit(X, sample_weight=source.weight)
    return _Clusters(np.asarray(peer.cluster_centers_, dtype=np.float64), float(peer.inertia_), int(peer.n_iter_))


def _by_passes(source: Source, family: CentroidFamily, start: Floats, limit: float) -> tuple[Mixed, int]:
    """Passes over any source, until centres move by no more than the limit."""
    mixed = family.at(start)
    for passes in range(1, MOST_PASSES + 1):
        sums, estimate = one_pass(source, family, mixed, hard=True)
        before, mixed = mixed, estimate()
        empty = np.flatnonzero(sums.weights == 0)
        if len(empty) and passes <= 2 * len(start):
            mixed = family.revived(mixed, int(empty[0]), source)
        elif np.square(mixed.components.means - before.components.means).sum() <= limit:
            break
    return mixed, passes


def _are_finite(X: Rows) -> Any:
    """Which rows are."""
    if issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        return ~np.isin(np.arange(X.shape[0]), np.searchsorted(X.indptr, bad, side="right") - 1)
    return np.isfinite(X).all(axis=1)


def _finite_moments(block: Block) -> DiagonalMoments:
    """The moments of a block's rows, none of which may be missing."""
    found: DiagonalMoments = moments(block, DiagonalMoments)
    if (found.column_weights < found.weight).any():
        raise block.non_finite()
    return found
