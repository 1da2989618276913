"""Estimated covariances, their triangular factors, and squared Mahalanobis distances.

The covariance types of :mod:`likely.densities.covariance` estimate these covariances. Each object holds a stack of
covariances, one for each class or component, or a single covariance that all of them share (tied). The distance
functions below are prepared once for given centres, and then called with dense blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Protocol

import numpy as np
from scipy.linalg import lapack, solve_triangular

from likely._constraints import Scope, ViolationError, floats
from likely._numerics import Workspace
from likely._typing import Booleans, Floats, Integers
from likely.blocks import for_each

_WORKSPACE = Workspace()

LOG_2PI = float(np.log(2 * np.pi))

PANEL = 64
"""Number of columns of a triangular factor that are multiplied by the rows at once."""

NEAR = 1e6
"""Maximum squared distance of a centre from the common origin, in units of the variances of the centre, up to which
(x − m)² is expanded into x² − 2xm + m². The relative rounding error of the expansion is then at most about 1e-10."""

FAR = 1e10
"""Maximum squared distance of a centre from the common origin, in units of the covariance of the centre, up to which
rows are whitened about the origin. Beyond it, more than five digits of a whitened coordinate would be lost."""

ASYMMETRY = 1e-6
"""Maximum difference between a correlation matrix and its transpose that is attributed to rounding."""


class Covariances(Protocol):
    """Interface of a stack of covariances."""

    @property
    def log_determinants(self) -> Floats:
        """Log-determinants, of shape (n_covariances,)."""
        ...

    def distances(self, means: Floats) -> Callable[[Floats], Floats]:
        """Return a function from rows to squared Mahalanobis distances to all means, of shape (n, n_means)."""
        ...

    def marginal(self, columns: Booleans) -> Covariances:
        """Return the covariances among some of the columns, given as a mask."""
        ...

    def array(self) -> Floats:
        """Return the stacked matrices (n, d, d), or the variances (n, d) if covariances are diagonal."""
        ...

    def take(self, which: Integers) -> Covariances:
        """Return the covariances at these indices; a shared covariance is returned unchanged."""
        ...

    def matrix(self, k: int) -> Floats:
        """Return the k-th covariance as a matrix."""
        ...

    def precision(self, k: int) -> Floats:
        """Return the inverse of the k-th covariance."""
        ...

    def colour(self, k: int, white: Floats) -> Floats:
        """Transform rows of unit covariance into rows of the k-th covariance."""
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

    matrices: Annotated[Floats, floats("n", "d", "d")]
    whiteners: Annotated[Floats, floats("n", "d", "d")]

    def _check_state(self, scope: Scope) -> None:
        # The matrices must be positive definite, because scoring rows with missing values factors their submatrices.
        apply: Any = for_each if self.matrices.shape[1] >= 128 else map
        list(apply(_check_factor, list(zip(self.matrices, self.whiteners, strict=True))))

    @property
    def log_determinants(self) -> Floats:
        return np.asarray(-2 * np.log(np.abs(np.diagonal(self.whiteners, axis1=1, axis2=2))).sum(axis=1))

    @classmethod
    def of(cls, matrices: Floats) -> FullCovariances:
        """Factor positive-definite matrices.

        Each matrix is scaled to a correlation matrix first, so that columns of very different scale, such as 1e-6 and
        1e3, do not degrade the factor.
        """
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        lowers = np.linalg.cholesky(matrices / (scales[:, :, None] * scales[:, None, :]))
        return cls(matrices, np.stack([invert_factor(lower) for lower in lowers]) / scales[:, :, None])

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
    """Variances of columns that are conditionally independent given the class.

    Parameters
    ----------
    variances : array of shape (n, d)
    """

    variances: Annotated[Floats, floats("n", "d", above=0)]

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


@dataclass(frozen=True, eq=False)
class _Distances:
    """Base class of functions that return the squared distances of rows to centres.

    Rows and centres are expressed relative to the mean of the centres, so that data far from 0 lose no digits.
    """

    centres: Floats

    @cached_property
    def _origin(self) -> Floats:
        return np.asarray(self.centres.mean(axis=0))


@dataclass(frozen=True, eq=False)
class DistancesByVariances(_Distances):
    """Σ_j (x_j − m_kj)² / v_kj for each centre k.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    variances : array of shape (n_centres, n_features)

    Notes
    -----
    About the origin o, the mean of the centres, the square expands to two matrix products,
    Σ (x − o)²/v − 2 Σ (x − o)(m − o)/v + Σ (m − o)²/v. If some centre is so far from the origin, in units of its
    variances, that digits would cancel between these terms, the differences x − m are squared, one centre at a time.
    """

    variances: Floats

    @cached_property
    def _offsets(self) -> Floats:
        return np.asarray(((self.centres - self._origin) ** 2 / self.variances).sum(axis=1))

    @cached_property
    def _factors(self) -> Floats:
        steps = self.centres - self._origin
        return np.ascontiguousarray(np.concatenate([1 / self.variances, -2 * steps / self.variances], axis=1).T)

    def __call__(self, rows: Floats) -> Floats:
        if not self._offsets.max() <= NEAR:
            # Some centre is too far from the origin: square the differences.
            pairs = zip(self.centres, self.variances, strict=True)
            return np.column_stack([np.square(rows - m) @ (1 / v) for m, v in pairs])
        # (x − o)² and x − o side by side, times the stacked factors 1/v and −2 (m − o)/v.
        n, d = rows.shape
        expanded = _WORKSPACE.array("expanded", (n, 2 * d))
        np.subtract(rows, self._origin, out=expanded[:, d:])
        np.square(expanded[:, d:], out=expanded[:, :d])
        return np.asarray(expanded @ self._factors + self._offsets)


@dataclass(frozen=True, eq=False)
class DistancesByWhiteners(_Distances):
    """‖(x − m_k) U_k‖² for each centre k, with U_k upper triangular.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    whiteners : array of shape (n_centres, n_features, n_features)

    Notes
    -----
    The factors U_k are cut into panels of columns, and a panel holds the same columns of all centres. All
    values of a panel below the diagonal entry of its last column are 0 and are skipped, so the work is 0.55 of the full
    product at 784 features. The offsets −(m_k − o) U_k, with o the mean of the centres, are the first row of the
    panels. They are multiplied by a column of ones in front of the rows x − o.
    """

    whiteners: Floats

    @cached_property
    def _panels(self) -> list[Floats]:
        offsets = -np.einsum("kd,kde->ke", self.centres - self._origin, self.whiteners)
        return [self._panel(offsets, low) for low in range(0, self.centres.shape[1], PANEL)]

    def _panel(self, offsets: Floats, low: int) -> Floats:
        columns = slice(low, low + PANEL)
        stacked = self.whiteners[:, : low + PANEL, columns]
        rows = np.concatenate([offsets[:, None, columns], stacked], axis=1)
        return np.ascontiguousarray(rows.transpose(1, 0, 2).reshape(rows.shape[1], -1))

    @cached_property
    def _is_far(self) -> bool:
        """Whether some centre is so far from the origin, in units of its covariance, that digits would cancel."""
        offsets = np.einsum("kd,kde->ke", self.centres - self._origin, self.whiteners)
        return not np.square(offsets).sum(axis=1).max() <= FAR

    def __call__(self, rows: Floats) -> Floats:
        if self._is_far:
            # Whiten about each centre separately.
            whites = ((rows - m) @ U for m, U in zip(self.centres, self.whiteners, strict=True))
            return np.column_stack([np.einsum("nj,nj->n", white, white) for white in whites])
        # Rows (1, x − o) times each panel give white coordinates of all centres; sum their squares.
        n, k = len(rows), len(self.centres)
        extended = _WORKSPACE.array("extended", (n, rows.shape[1] + 1))
        extended[:, 0] = 1.0
        np.subtract(rows, self._origin, out=extended[:, 1:])
        total = np.zeros((n, k))
        for panel in self._panels:
            product = _WORKSPACE.array("product", (n, panel.shape[1]))
            np.matmul(extended[:, : len(panel)], panel, out=product)
            white = product.reshape(n, k, -1)
            total += np.einsum("nkj,nkj->nk", white, white)
        return total


@dataclass(frozen=True, eq=False)
class DistancesByOneWhitener(_Distances):
    """‖(x − m_k) U‖² for each centre k: rows are whitened once by U, after which all variances are 1.

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
    whitener : array of shape (n_features, n_features)
    """

    whitener: Floats

    @cached_property
    def _white(self) -> DistancesByVariances:
        centres = (self.centres - self._origin) @ self.whitener
        return DistancesByVariances(centres, np.ones_like(centres))

    def __call__(self, rows: Floats) -> Floats:
        return self._white((rows - self._origin) @ self.whitener)


def _check_factor(pair: tuple[Floats, Floats]) -> None:
    C, U = pair
    variances = C.diagonal()
    if not (variances > 0).all():
        raise ViolationError(f"matrices must have variances above 0, but the smallest is {variances.min():g}")
    # Scale to a correlation matrix, so that the checks do not depend on the units of the columns.
    scales = np.sqrt(variances)
    R = C / scales
    R /= scales[:, None]
    if not np.abs(R - R.T).max() <= ASYMMETRY:
        raise ViolationError("matrices must be symmetric, but are not")
    factor, failed = lapack.dpotrf(R.T, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(factor.diagonal()).all():
        raise ViolationError("matrices must be positive definite in double precision, but are not")
    if np.tril(U, -1).any() or not U.diagonal().all():
        raise ViolationError("whiteners must be upper triangular, without 0 on the diagonal, but are not")


@cache
def triangle_indices(d: int) -> tuple[Integers, Integers]:
    """Return the row and column indices of the upper triangle of a (d, d) matrix, with its diagonal."""
    return np.triu_indices(d)


def unpack_symmetric(upper: Floats, d: int) -> Floats:
    """Return symmetric matrices (n, d, d) from their upper triangles (n, d (d + 1) / 2), stored row by row."""
    i, j = triangle_indices(d)
    matrices = np.empty((len(upper), d, d))
    matrices[:, i, j] = upper
    matrices[:, j, i] = upper
    return matrices


def invert_factor(lower: Floats) -> Floats:
    """Return the transposed inverse L⁻ᵀ of a lower triangular L; the result is upper triangular."""
    inverse, _ = lapack.dtrtri(lower, lower=1)
    return np.ascontiguousarray(np.tril(inverse).T)


def min_eigenvalue(floor: float, n_features: int) -> float:
    """Return the smallest eigenvalue that a correlation matrix may have.

    This is the floor, or the resolution of double precision if that is larger.
    """
    return max(floor, n_features * float(np.finfo(np.float64).eps))


def factor_if_well_conditioned(R: Floats, floor: float) -> Floats | None:
    """Return the Cholesky factor of a correlation matrix if all its eigenvalues are well above the floor, else None.

    1/‖R⁻¹‖₁ is a lower bound of the smallest eigenvalue. LAPACK's dpocon estimates this bound from the Cholesky factor,
    in less time than the eigenvalues take. The estimate may be a few times too large, so it must exceed ten times the
    floor.
    """
    lower, failed = lapack.dpotrf(R, lower=1)
    if failed:
        return None
    # dpocon estimates 1/(‖R‖₁ ‖R⁻¹‖₁). That value times ‖R‖₁ is the bound.
    norm = np.abs(R).sum(axis=0).max()
    reciprocal, _ = lapack.dpocon(lower, norm, uplo="L")
    return lower if reciprocal * norm > 10 * min_eigenvalue(floor, len(R)) else None


def condition_on_observed(C: Floats, observed: Booleans) -> tuple[Floats, Floats]:
    """Return the conditional distribution of the missing columns given the observed columns, for each covariance.

    Parameters
    ----------
    C : array of shape (n, d, d)
    observed : array of bool of shape (d,)

    Returns
    -------
    slopes : array of shape (n, n_observed, n_missing)
        Regression coefficients C_oo⁻¹ C_om of the missing columns on the observed columns.
    residual : array of shape (n, n_missing, n_missing)
        Conditional covariances C_mm − C_mo C_oo⁻¹ C_om.
    """
    o, m = np.flatnonzero(observed), np.flatnonzero(~observed)
    # Regression of the missing columns on the observed columns, and the Schur complement.
    slopes: Floats = np.asarray(np.linalg.solve(C[:, o[:, None], o], C[:, o[:, None], m]), dtype=np.float64)
    return slopes, C[:, m[:, None], m] - C[:, m[:, None], o] @ slopes


def fill_in(X: Floats, observed: Booleans, mean: Floats, slopes: Floats) -> Floats:
    """Return rows with missing values replaced by their conditional means, m_m + (x_o − m_o) slopes.

    The indices o and m stand for the observed and the missing columns of the mean and of a row x. The slopes are those
    of :func:`condition_on_observed`.
    """
    filled = X.copy()
    filled[:, ~observed] = mean[~observed] + (X[:, observed] - mean[observed]) @ slopes
    return filled
