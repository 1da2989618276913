"""K-means as EM: hard assignments to Gaussians of unit covariance and equal weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import kmeans_plusplus

from likely._numerics import dense, scratch
from likely._typing import Floats
from likely.blocks import ArraySource, Block
from likely.densities.factors import DiagonalCovariances
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import Sums, climb
from likely.densities.mixtures.gaussian_family import pieces_of
from likely.densities.mixtures.mixed import Mixed

__all__ = ["CentroidFamily", "clustered", "spread_out"]

VALUES, MOST_ROWS = 2**19, 2**11
MOST_SAMPLE_PASSES = 100
"""Passes over a sample: rows without clusters would keep k-means going for hundreds, and nothing depends on them."""


@dataclass(frozen=True, eq=False)
class CentroidFamily:
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
        means = mixed.components.means - self.origin
        offsets = -0.5 * np.square(means).sum(axis=1, keepdims=True)
        return CentroidExpectation(self.origin, np.concatenate([offsets, means], axis=1))

    def sharper(self, expectation: CentroidExpectation, after: Mixed) -> None:
        """None: only means are made of the sums."""

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        empty = sums.weights == 0
        steps = sums.parts / np.where(empty, 1.0, sums.weights)[:, None]
        return self.at(np.where(empty[:, None], before.components.means, self.origin + steps))

    def split(self, mixed: Mixed, which: int, into: int, displacement: float) -> Mixed:
        """The empty cluster moved beside the heaviest, towards its neighbour: it takes about half of the rows."""
        centres = mixed.components.means.copy()
        away = np.delete(centres, [which, into], axis=0) - centres[which]
        lengths = np.linalg.norm(away, axis=1)
        step = away[lengths.argmin()] if len(away) and lengths.min() > 0 else self.origin - centres[which]
        centres[into] = centres[which] + 1e-3 * displacement * step
        return self.at(centres)


@dataclass(frozen=True, eq=False)
class CentroidExpectation:
    """The centres of a pass, such that Θ(1, z) is −½‖z − c‖² but for ½‖z‖², which is the same for all centres."""

    origin: Floats
    theta: Floats

    def pieces(self, block: Block) -> Iterator[Block]:
        return pieces_of(block, max(64, min(MOST_ROWS, VALUES // max(self.theta.shape))))

    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats], Floats]]:
        X = dense(piece.X)
        if np.isnan(X[0]).any():
            raise piece.non_finite()
        n, d = X.shape
        phi = scratch((d + 1, n), slot=5)
        phi[0] = 1.0
        z = np.subtract(X.T, self.origin[:, None], out=phi[1:])
        log_joint = np.matmul(self.theta, phi, out=scratch((len(self.theta), n), slot=6))
        return log_joint, lambda gamma: np.asarray(gamma @ z.T)


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
