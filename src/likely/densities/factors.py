"""Fitted covariances: the values that the shapes of :mod:`likely.densities.covariance` estimate.

Each holds a stack of covariances, one for each class or component, or a single one that all share (tied).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack, solve_triangular

from likely._typing import Booleans, Floats, Integers
from likely.densities.distances import DistancesByOneWhitener, DistancesByVariances, DistancesByWhiteners

__all__ = ["Covariances", "DiagonalCovariances", "FullCovariances", "inverse_factor"]


class Covariances(Protocol):
    """What Gaussians need of a stack of covariances."""

    @property
    def log_determinants(self) -> Floats:
        """Log-determinants, of shape (n_covariances,)."""
        ...

    def distances(self, means: Floats) -> Callable[[Floats], Floats]:
        """A function from rows to their squared distances (n, n_means), each mean by its own covariance."""
        ...

    def marginal(self, columns: Booleans) -> Covariances:
        """The covariances of some columns alone."""
        ...

    def array(self) -> Floats:
        """Matrices, or variances where they are diagonal, stacked."""
        ...

    def take(self, which: Integers) -> Covariances:
        """Some of them, in the order asked for; the one that all share as it is."""
        ...

    def matrix(self, k: int) -> Floats:
        """The k-th covariance as a matrix."""
        ...

    def precision(self, k: int) -> Floats:
        """The inverse of the k-th covariance."""
        ...

    def colour(self, k: int, white: Floats) -> Floats:
        """Rows of unit covariance turned into rows of the k-th covariance."""
        ...


@dataclass(frozen=True, eq=False)
class FullCovariances:
    """Covariance matrices with their whitening factors.

    Parameters
    ----------
    matrices : array of shape (n, d, d)
    whiteners : array of shape (n, d, d)
        Upper triangular U with U U' the inverse of the matrix.
    """

    matrices: Floats
    whiteners: Floats

    @property
    def log_determinants(self) -> Floats:
        return np.asarray(-2 * np.log(np.abs(np.diagonal(self.whiteners, axis1=1, axis2=2))).sum(axis=1))

    @classmethod
    def of(cls, matrices: Floats) -> FullCovariances:
        """Factor positive-definite matrices.

        Each is scaled by its own diagonal first, which keeps a column of scale 1e-6 beside one of 1e3 from spoiling
        the factor.
        """
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        lowers = np.linalg.cholesky(matrices / (scales[:, :, None] * scales[:, None, :]))
        return cls(matrices, np.stack([inverse_factor(lower) for lower in lowers]) / scales[:, :, None])

    def distances(self, means: Floats) -> Callable[[Floats], Floats]:
        if len(self.matrices) > 1 or len(means) == 1:
            return DistancesByWhiteners(means, self.whiteners)
        return DistancesByOneWhitener(means, self.whiteners[0])

    def marginal(self, columns: Booleans) -> FullCovariances:
        kept = np.flatnonzero(columns)
        return FullCovariances.of(self.matrices[:, kept[:, None], kept])

    def array(self) -> Floats:
        return self.matrices

    def take(self, which: Integers) -> FullCovariances:
        return self if len(self.matrices) == 1 else FullCovariances(self.matrices[which], self.whiteners[which])

    def matrix(self, k: int) -> Floats:
        return np.asarray(self.matrices[k % len(self.matrices)])

    def precision(self, k: int) -> Floats:
        U = self.whiteners[k % len(self.whiteners)]
        return np.asarray(U @ U.T)

    def colour(self, k: int, white: Floats) -> Floats:
        return np.asarray(solve_triangular(self.whiteners[k % len(self.whiteners)].T, white.T, lower=True).T)


@dataclass(frozen=True, eq=False)
class DiagonalCovariances:
    """Variances of columns that are independent given the class.

    Parameters
    ----------
    variances : array of shape (n, d)
    """

    variances: Floats

    @property
    def log_determinants(self) -> Floats:
        return np.asarray(np.log(self.variances).sum(axis=1))

    def distances(self, means: Floats) -> Callable[[Floats], Floats]:
        return DistancesByVariances(means, np.broadcast_to(self.variances, means.shape))

    def marginal(self, columns: Booleans) -> DiagonalCovariances:
        return DiagonalCovariances(self.variances[:, columns])

    def array(self) -> Floats:
        return self.variances

    def take(self, which: Integers) -> DiagonalCovariances:
        return self if len(self.variances) == 1 else DiagonalCovariances(self.variances[which])

    def matrix(self, k: int) -> Floats:
        return np.diag(self.variances[k % len(self.variances)])

    def precision(self, k: int) -> Floats:
        return np.diag(1 / self.variances[k % len(self.variances)])

    def colour(self, k: int, white: Floats) -> Floats:
        return np.asarray(white * np.sqrt(self.variances[k % len(self.variances)]))


def inverse_factor(lower: Floats) -> Floats:
    """L⁻ᵀ, upper triangular, of a lower triangular L."""
    inverse, _ = lapack.dtrtri(lower, lower=1)
    return np.ascontiguousarray(np.tril(inverse).T)
