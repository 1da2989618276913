"""K-means clustering by Lloyd's algorithm with k-means++ seeding.

References
----------
S. Lloyd, "Least squares quantization in PCM", IEEE Trans. IT 28, 1982.
D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import cluster
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    ABSENT,
    NOT_SAVED,
    Constraints,
    count,
    either,
    floats,
    number,
    numbers,
    one_of,
    random_state,
)
from likely._fitted import all_or_nothing
from likely._numerics import Workspace, dense
from likely._typing import Floats, Integers, Rows
from likely._validation import as_floats, check_rows, check_weight
from likely.blocks import SAMPLE_ROWS, ArraySource, Block, Source, SourceLearner, over_rows, sample_rows
from likely.blocks.gathering import moments
from likely.densities.factors import DistancesByVariances
from likely.exceptions import (
    DegenerateDataError,
    InvalidParameterError,
    warn_of_no_convergence,
)
from likely.statistics import DiagonalMoments

_WORKSPACE = Workspace()

CANCELLED = 1e-10
"""A squared distance of a row to a centre, computed by expanding the square, has lost its digits if it is below this
fraction of the squared distance of the row from the mean of the centres."""

MAX_ITER = 1000
"""Maximum number of iterations; k-means stops there without convergence."""

MAX_SAMPLE_ITER = 99
"""Maximum number of iterations on a sample. Rows that form no clusters would take hundreds of iterations. The
centres of a sample are only a start, or centres of features, so they need not converge."""

MIN_ROWS_SKLEARN = 2**16
"""Minimum number of rows in memory for which scikit-learn's k-means is used. It takes half the time of the loop in this
module, but copies the rows."""

VALUES, MAX_PIECE = 2**19, 2**13
"""Maximum number of affinities (rows times clusters), and of rows, for which affinities are computed at once."""


@dataclass(frozen=True, eq=False)
class KMeansState:
    """Fitted attributes of :class:`KMeans`; the labels are not saved in model files."""

    cluster_centers_: Annotated[Floats, floats("clusters", "d")]
    inertia_: Annotated[float, number(0)]
    n_iter_: Annotated[int, count(1)]
    labels_: Annotated[Any, NOT_SAVED] = ABSENT


class KMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, SourceLearner):  # type: ignore[misc]
    """K-means clustering.

    It minimises the sum of squared distances between the rows and their nearest centres. It equals a mixture of
    Gaussians with unit covariance and equal weights, fitted with hard assignments. Distances are Euclidean, so columns
    should be on one scale: put :class:`likely.Standardize` before it. It finds a local minimum that depends on the
    start. Missing values raise an error.

    Parameters
    ----------
    n_clusters : int, default 8
        At most 16 384.
    init : {"k-means++"} or array of shape (n_clusters, n_features), default "k-means++"
        Initial centres: rows drawn by k-means++ from a sample of at most 16 384 rows, or given centres.
    n_init : int, default 1
        Number of starts; the clustering of lowest inertia is kept.
    tol : float, default 1e-4
        Iterations stop when the sum of the squared moves of all centres is at most this fraction of the mean variance
        of the columns.
    random_state : int, RandomState or None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    inertia_ : float
        Sum of squared distances of rows to the nearest centre.
    labels_ : array of int of shape (n,)
        Cluster of each row given to ``fit``; −1 for a row that is not finite, which is allowed only with weight 0. Not
        available after ``fit_source``.
    n_iter_ : int
    n_features_in_ : int

    References
    ----------
    S. Lloyd, "Least squares quantization in PCM", IEEE Trans. IT 28, 1982.
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> clusters = KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(clusters.cluster_centers_.ravel().tolist()), clusters.inertia_
    ([0.5, 10.5], 1.0)
    >>> clusters.labels_[0] == clusters.labels_[1]
    np.True_
    """

    _State = KMeansState
    _constraints: ClassVar[Constraints] = {
        "n_clusters": count(1, SAMPLE_ROWS),
        "init": either(one_of("k-means++"), numbers(2)),
        "n_init": count(1),
        "tol": number(0),
        "random_state": random_state,
    }

    _state: KMeansState
    cluster_centers_: Floats

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["k-means++"] | Any = "k-means++",
        n_init: int = 1,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, and label them; an error leaves the estimator unchanged.

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
            usable = slice(None) if weight is None else np.flatnonzero((weight > 0) | _is_finite(rows))
            labels = np.full(rows.shape[0], -1, dtype=np.intp)
            labels[usable], nearest = self._find_nearest(rows[usable])
            # Inertia from the distances: computed from sums, it has lost digits if clusters are tight.
            inertia = float(nearest.sum() if weight is None else nearest @ weight[usable])
            self._state = replace(self._state, labels_=labels, inertia_=inertia)
        return self

    def predict(self, X: Any) -> Integers:
        """Return the index of the cluster whose centre is nearest to each row, the lowest index in a tie."""
        self._centres()
        return self._find_nearest(check_rows(self, X))[0]

    def transform(self, X: Any) -> Floats:
        """Return the distances of rows to all centres, of shape (n, n_clusters)."""
        centres = self._centres()
        return np.sqrt(self._map_rows(check_rows(self, X), lambda squares: squares, len(centres)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of the squared distances of the rows to their nearest centres."""
        self._centres()
        nearest = self._find_nearest(check_rows(self, X))[1]
        weight = check_weight(sample_weight, len(nearest))
        return -float(nearest.sum() if weight is None else nearest @ weight)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _centres(self) -> Floats:
        check_is_fitted(self)
        return self.cluster_centers_

    def _find_nearest(self, X: Rows) -> tuple[Integers, Floats]:
        """Return the index of the nearest centre of each row, the lowest index in a tie, and its squared distance."""

        def nearest(squares: Floats) -> Floats:
            at = squares.argmin(axis=1)
            return np.column_stack([at, squares[np.arange(len(at)), at]])

        found = self._map_rows(X, nearest, 2)
        return found[:, 0].astype(np.intp), found[:, 1]

    def _map_rows(self, X: Rows, of: Callable[[Floats], Floats], n_outputs: int) -> Floats:
        """Apply ``of`` to the squared distances (n, n_clusters) between rows and centres, some rows at a time.

        Returns the concatenated results, of shape (n, n_outputs). Raises for rows that are not finite.
        """
        centres = self._centres()
        distances = DistancesByVariances(centres, np.ones_like(centres))
        with np.errstate(all="ignore"):
            found = over_rows(lambda rows: of(_recompute_cancelled(rows, centres, distances(rows))), X, n_outputs)
        if not np.isfinite(found).all():
            raise Block(X).non_finite()
        return found

    def _learn(self, source: Source) -> None:
        whole: DiagonalMoments = source.reduce(_finite_moments)
        sample = source.reduce(sample_rows)
        rows, weight = sample.distinct()
        if len(sample.rows) < self.n_clusters:
            raise DegenerateDataError(
                f"KMeans needs at least as many rows as clusters, but got n_clusters={self.n_clusters} and only "
                f"{len(sample.rows)} rows (n_samples={len(sample.rows)}). Use fewer clusters."
            )
        # Initial centres from a sample, or as given.
        if isinstance(self.init, str):
            random = check_random_state(self.random_state)
            starts = [_choose_centres(rows, weight, self.n_clusters, random) for _ in range(self.n_init)]
        else:
            starts = [self._check_centres(source)]
        # Origin of the coordinates: an outlier moves the mean far from the other rows, but not the median.
        origin = np.median(rows, axis=0)
        in_memory = source.arrays
        if in_memory is not None and in_memory.X.shape[0] >= MIN_ROWS_SKLEARN and len(rows) >= self.n_clusters:
            clusterings = [_cluster_in_memory(in_memory, start, self.tol) for start in starts]
        else:
            limit = self.tol * float(whole.variances().mean())
            clusterings = [_cluster_source(source, start, origin, limit, whole) for start in starts]
        best = min(clusterings, key=lambda found: found.inertia)
        if best.n_iter == MAX_ITER:
            warn_of_no_convergence(f"KMeans stopped after {MAX_ITER} iterations before it converged. Use a larger tol.")
        self._state = KMeansState(*best)

    def _check_centres(self, source: Source) -> Floats:
        centres = as_floats(self.init)
        if centres is None or centres.shape != (self.n_clusters, source.n_features) or not np.isfinite(centres).all():
            fault = "is not an array of numbers" if centres is None else f"has the shape {centres.shape}"
            raise InvalidParameterError(
                "init of KMeans must be 'k-means++' or finite centres of shape (n_clusters, n_features) = "
                f"({self.n_clusters}, {source.n_features}), but {fault}."
            )
        return centres


class _Clustering(NamedTuple):
    centres: Floats
    inertia: float
    n_iter: int


def _cluster_in_memory(source: ArraySource, start: Floats, tol: float) -> _Clustering:
    """Cluster rows in memory with scikit-learn."""
    peer = cluster.KMeans(len(start), init=start, n_init=1, max_iter=MAX_ITER, tol=tol, algorithm="lloyd")
    X = source.X if issparse(source.X) else dense(source.X)
    peer.fit(X, sample_weight=source.weight)
    return _Clustering(np.asarray(peer.cluster_centers_, dtype=np.float64), float(peer.inertia_), int(peer.n_iter_))


def _cluster_source(source: Source, start: Floats, origin: Floats, limit: float, whole: DiagonalMoments) -> _Clustering:
    """Cluster the rows of any source, with one pass over the rows for each iteration.

    ``limit`` ends the iterations; see :func:`run_lloyd`. ``whole`` are the moments of all rows.
    """
    centres, n_iter = run_lloyd(source, start, origin, limit, MAX_ITER)
    # ‖z − c‖² = ‖z‖² − 2 (z'c − ½‖c‖²), so the inertia is Σ‖z‖² minus twice the affinities of the nearest centres.
    affinity = source.reduce(_sum_by_cluster, centres, origin).affinity
    squares = float(whole.scatter.sum() + whole.weight * np.square(whole.mean - origin).sum())
    return _Clustering(centres, max(0.0, squares - 2 * affinity), n_iter)


def cluster_sample(rows: Floats, weight: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """Return the cluster centres of rows in memory; the rows must be centred near zero."""
    start, origin = _choose_centres(rows, weight, n_clusters, random), np.zeros(rows.shape[1])
    return run_lloyd(ArraySource(rows, weight=weight), start, origin, 0.0, MAX_SAMPLE_ITER)[0]


def _choose_centres(rows: Floats, weight: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """Return rows drawn as initial centres by k-means++ (Arthur and Vassilvitskii 2007).

    The probability of drawing a row is proportional to its weight times its squared distance from the nearest row
    already drawn. If there are fewer rows than clusters, rows are repeated.
    """
    if len(rows) < n_clusters:
        return np.asarray(rows[np.arange(n_clusters) % len(rows)])
    centres, _ = cluster.kmeans_plusplus(rows, n_clusters, sample_weight=weight, random_state=random)
    return np.asarray(centres)


def run_lloyd(source: Source, start: Floats, origin: Floats, limit: float, max_iter: int) -> tuple[Floats, int]:
    """Run Lloyd's algorithm (Lloyd 1982); return the centres and the number of iterations.

    Parameters
    ----------
    source : Source
    start : array of shape (n_clusters, d)
    origin : array of shape (d,)
        A point among the rows; rows and centres are expressed relative to it.
    limit : float
        Stop when the sum of the squared moves of all centres is at most this value.
    max_iter : int
    """
    centres = start
    for n_iter in range(1, max_iter + 1):
        # Assign every row to the nearest centre, and move each centre to the mean of its rows. An empty cluster keeps
        # its centre.
        totals = source.reduce(_sum_by_cluster, centres, origin).totals
        sums, weights = totals[:, :-1], totals[:, -1:]
        empty = weights == 0
        before, centres = centres, np.where(empty, centres, origin + sums / np.where(empty, 1.0, weights))
        if empty.any() and n_iter <= 2 * len(start):
            # Move the first empty cluster to the row that is farthest from its nearest centre.
            centres[int(np.argmax(empty))] = source.reduce(_find_farthest, centres).row
        elif np.square(centres - before).sum() <= limit:
            break
    return centres, n_iter


@dataclass(frozen=True, eq=False)
class _ClusterSums:
    """Sums over the rows of each cluster.

    Parameters
    ----------
    totals : array of shape (n_clusters, d + 1)
        Weighted sum of the rows relative to the origin, and in the last column their total weight.
    affinity : float
        Weighted sum over all rows of the affinity to the nearest centre; see :func:`_sum_by_cluster`.
    """

    totals: Floats
    affinity: float

    def __add__(self, other: _ClusterSums) -> _ClusterSums:
        return _ClusterSums(self.totals + other.totals, self.affinity + other.affinity)


def _sum_by_cluster(block: Block, centres: Floats, origin: Floats) -> _ClusterSums:
    """Assign each row of a block to its nearest centre, and sum the rows of each cluster.

    Rows z and centres c are relative to the origin. The nearest centre of a row has the largest affinity z'c − ½‖c‖²:
    −½‖z − c‖² equals the affinity minus ½‖z‖², which is the same for all centres.
    """
    # Centres as the columns of Θ = (c; −½‖c‖²), so that the affinities are (z, 1) Θ.
    steps = centres - origin
    theta = np.vstack([steps.T, -0.5 * np.square(steps).sum(axis=1)])
    piece_rows = max(64, min(MAX_PIECE, VALUES // max(steps.shape)))
    found = _ClusterSums(np.zeros((len(centres), steps.shape[1] + 1)), 0.0)
    for low in range(0, len(block), piece_rows):
        rows = slice(low, low + piece_rows)
        found += _sum_piece(dense(block.X[rows]), None if block.weight is None else block.weight[rows], theta, origin)
    return found


def _sum_piece(X: Floats, weight: Floats | None, theta: Floats, origin: Floats) -> _ClusterSums:
    (n, d), K = X.shape, theta.shape[1]
    z = _WORKSPACE.array("rows", (n, d + 1))
    np.subtract(X, origin, out=z[:, :d])
    z[:, d] = 1.0
    affinities = np.matmul(z, theta, out=_WORKSPACE.array("affinities", (n, K)))
    labels = affinities.argmax(axis=1)
    weight = np.ones(n) if weight is None else weight
    # Sum rows by label with a sparse matrix: a dense matrix of zeros and ones would take three times as long.
    members = csr_array((weight, labels, np.arange(n + 1)), shape=(n, K))
    return _ClusterSums(np.asarray(members.T @ z), float(weight @ affinities[np.arange(n), labels]))


@dataclass(frozen=True, eq=False)
class _Farthest:
    """The row that is farthest from its nearest centre, and its squared distance from that centre."""

    distance: float
    row: Floats

    def __add__(self, other: _Farthest) -> _Farthest:
        return self if self.distance >= other.distance else other


def _find_farthest(block: Block, centres: Floats) -> _Farthest:
    X = dense(block.X)
    nearest = over_rows(DistancesByVariances(centres, np.ones_like(centres)), X, len(centres)).min(axis=1)
    at = int(np.argmax(nearest if block.weight is None else np.where(block.weight > 0, nearest, -1.0)))
    return _Farthest(float(nearest[at]), X[at].copy())


def _is_finite(X: Rows) -> Any:
    """Return a mask of the rows whose values are all finite."""
    if issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        return ~np.isin(np.arange(X.shape[0]), np.searchsorted(X.indptr, bad, side="right") - 1)
    return np.isfinite(X).all(axis=1)


def _finite_moments(block: Block) -> DiagonalMoments:
    """Return the moments of a block's rows; raise if a value is NaN."""
    found: DiagonalMoments = moments(block, DiagonalMoments)
    if (found.column_weights < found.weight).any():
        raise block.non_finite()
    return found


def _recompute_cancelled(rows: Floats, centres: Floats, squares: Floats) -> Floats:
    """Return ``squares``, the squared distances (n, n_centres), with inaccurate entries replaced in place.

    Where expanding the square has lost the digits of a distance, it is computed from the difference of row and centre.
    """
    scale = np.square(rows - centres.mean(axis=0)).sum(axis=1)
    row, centre = np.nonzero(squares < CANCELLED * scale[:, None])
    squares[row, centre] = np.square(rows[row] - centres[centre]).sum(axis=1)
    return squares
