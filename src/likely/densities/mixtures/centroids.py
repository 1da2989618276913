"""K-means as EM: hard assignments to Gaussians of unit covariance and equal weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import kmeans_plusplus

from likely._numerics import dense, scratch
from likely._typing import Floats
from likely.blocks import ArraySource, Block, Source, over_rows
from likely.densities.distances import DistancesByVariances
from likely.densities.factors import DiagonalCovariances
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import Expectation, Family, Sums, climb
from likely.densities.mixtures.gaussian_family import pieces_of
from likely.densities.mixtures.mixed import Mixed

__all__ = ["CentroidFamily", "clustered", "spread_out"]

VALUES, MOST_ROWS = 2**19, 2**13
MOST_SAMPLE_PASSES = 100
"""Passes over a sample: rows without clusters would keep k-means going for hundreds, and nothing depends on them."""


@dataclass(frozen=True, eq=False)
class CentroidFamily(Family):
    """Centres of clusters, all alike but for where they are.

    Parameters
    ----------
    origin : array of shape (d,)
        A point amid the rows, from which all are seen.
    """

    origin: Floats

    @property
    def least_rows(self) -> float:
        """Any share of a row: a cluster has collapsed when it has none."""
        return float(np.finfo(np.float64).tiny)

    def at(self, centres: Floats) -> Mixed:
        """Clusters at these centres."""
        return Mixed(
            np.full(len(centres), 1 / len(centres)),
            Gaussians(centres, DiagonalCovariances(np.ones((1, len(self.origin))))),
        )

    def expectation(self, mixed: Mixed) -> CentroidExpectation:
        return CentroidExpectation(self.origin, mixed.components.means - self.origin)

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        empty = sums.weights == 0
        steps = sums.parts / np.where(empty, 1.0, sums.weights)[:, None]
        return self.at(np.where(empty[:, None], before.components.means, self.origin + steps))

    def revived(self, mixed: Mixed, which: int, source: Source) -> Mixed:
        """The empty cluster moved to the row that is farthest from its centre."""
        far: _Farthest = source.reduce(_farthest, mixed.components.means)
        centres = mixed.components.means.copy()
        centres[which] = far.row
        return self.at(centres)


@dataclass(frozen=True, eq=False)
class CentroidExpectation(Expectation):
    """The centres of a pass.

    −½‖z − c‖² is z'c − ½‖c‖² but for ½‖z‖², which is the same for all centres and left out. Labels are counted, not
    multiplied as zeros and ones, which takes a third of the time.
    """

    origin: Floats
    centres: Floats

    def pieces(self, block: Block) -> Iterator[Block]:
        return pieces_of(block, max(64, min(MOST_ROWS, VALUES // max(self.centres.shape))))

    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, Floats]]]:
        z, affinities = self._affinities(piece)
        return np.ascontiguousarray(affinities.T), lambda shares, factors: (
            shares @ factors,
            np.asarray((shares * factors) @ z[:, :-1]),
        )

    def _of_piece(self, piece: Block, hard: bool) -> Sums:
        if not hard:
            return super()._of_piece(piece, hard)
        z, affinities = self._affinities(piece)
        (n, K), labels = affinities.shape, affinities.argmax(axis=1)
        weight = np.ones(n) if piece.weight is None else piece.weight
        members = csr_array((weight, labels, np.arange(n + 1)), shape=(n, K))
        totals = np.asarray(members.T @ z)
        logs = float(weight @ affinities[np.arange(n), labels])
        return Sums(totals[:, -1], totals[:, :-1], logs, float(weight.sum()), n)

    def _affinities(self, piece: Block) -> tuple[Floats, Floats]:
        X = dense(piece.X)
        if np.isnan(X[0]).any():
            raise piece.non_finite()
        n, d = X.shape
        z = scratch((n, d + 1), slot=5)
        np.subtract(X, self.origin, out=z[:, :d])
        z[:, d] = 1.0
        offsets = -0.5 * np.square(self.centres).sum(axis=1)
        theta = np.vstack([self.centres.T, offsets])
        return z, np.matmul(z, theta, out=scratch((n, len(self.centres)), slot=6))


@dataclass(frozen=True, eq=False)
class _Farthest:
    """The row that is farthest from the centre nearest to it."""

    distance: float
    row: Floats

    def __add__(self, other: _Farthest) -> _Farthest:
        return self if self.distance >= other.distance else other


def _farthest(block: Block, centres: Floats) -> _Farthest:
    X = dense(block.X)
    nearest = over_rows(DistancesByVariances(centres, np.ones_like(centres)), X, len(centres)).min(axis=1)
    at = int(np.argmax(nearest if block.weight is None else np.where(block.weight > 0, nearest, -1.0)))
    return _Farthest(float(nearest[at]), X[at].copy())


def clustered(rows: Floats, weight: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """Centres of clusters of rows in memory, which lie about zero."""
    start = spread_out(rows, weight, n_clusters, random)
    family = CentroidFamily(np.zeros(rows.shape[1]))
    found = climb(ArraySource(rows, weight=weight), family, family.at(start), True, 0.0, MOST_SAMPLE_PASSES)
    return np.asarray(found.mixed.components.means)


def spread_out(rows: Floats, weight: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """Rows drawn far from each other (k-means++); all of them, some twice, where there are too few."""
    if len(rows) < n_clusters:
        return np.asarray(rows[np.arange(n_clusters) % len(rows)])
    centres, _ = kmeans_plusplus(rows, n_clusters, sample_weight=weight, random_state=random)
    return np.asarray(centres)
