"""Gaussians in natural form: the arithmetic of EM for each covariance shape.

A Gaussian is an exponential family: its log density is linear in the sufficient statistics φ of a row, which are its
values and their products. So the E step of K components at n rows is two matrix products: the log densities Θφ, with Θ
the natural parameters, and the sums γφ' for the M step, with γ the responsibilities (Dempster, Laird and Rubin,
"Maximum likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977, section 2). Each covariance type of
:mod:`likely.densities.covariance` names its form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from scipy.linalg import eigh, lapack

from likely._constraints import Scope, ViolationError, floats
from likely._numerics import Workspace
from likely._typing import Booleans, Floats, Integers
from likely.densities.factors import (
    LOG_2PI,
    NEAR,
    Covariances,
    DiagonalCovariances,
    FullCovariances,
    condition_on_observed,
    factor_if_well_conditioned,
    fill_in,
    invert_factor,
    triangle_indices,
    unpack_symmetric,
)
from likely.exceptions import InvalidDataError
from likely.statistics import Moments

if TYPE_CHECKING:
    from likely.densities.gaussian import Gaussians

_WORKSPACE = Workspace()

VALUES = 2**19
"""Maximum number of values in the sufficient statistics of the rows that are expanded at once."""

MAX_EXPANDED = 128
"""Maximum number of columns for which the full form expands rows into products of columns."""


@dataclass(frozen=True, eq=False)
class Expanded:
    """Sufficient statistics of rows; each column of the arrays is one row of the data.

    Parameters
    ----------
    phi : array of shape (n_statistics, n)
    z : array of shape (d, n)
        The standardised rows, with 0 for missing values.
    observed : array of shape (d, n), optional
        1 for an observed value, 0 for a missing value; None if nothing is missing.
    """

    phi: Floats
    z: Floats
    observed: Floats | None = None


@dataclass(frozen=True, eq=False)
class GaussianSums:
    """Sums Σ γ φ(z − c) over rows for each component, with γ its responsibilities and c its reference point.

    Parameters
    ----------
    array : array of shape (n_components, n_sums)
    references : array of shape (n_components, d)
    """

    array: Annotated[Floats, floats("k", "w")]
    references: Annotated[Floats, floats("k", "d")]

    def __add__(self, other: GaussianSums) -> GaussianSums:
        return GaussianSums(self.array + other.array, self.references)


@dataclass(frozen=True, eq=False)
class NaturalForm(ABC):
    """Coordinates, sufficient statistics, natural parameters and floor of one covariance shape.

    Sums are taken in coordinates z in which all rows together have mean 0 and variances of the order of 1.

    Parameters
    ----------
    origin : array of shape (d,)
        The mean of all rows.
    least : array of shape (d,)
        The floor: every covariance C satisfies C ⪰ diag(least). The floor is the same in all iterations and the floored
        estimate is the constrained maximum of the M step, so the likelihood never falls.
    """

    origin: Annotated[Floats, floats("d")]
    least: Annotated[Floats, floats("d", above=0)]

    resolution: ClassVar[float]
    """Smallest fraction of a column's variance that is distinguishable from 0."""

    max_piece: ClassVar[int]
    """Maximum number of rows that are expanded at once."""

    expands_missing: ClassVar[bool]
    """Whether rows with missing values can be expanded into sufficient statistics too."""

    @classmethod
    @abstractmethod
    def from_moments(cls, whole: Any, least: Floats) -> NaturalForm:
        """Return the form with the given floor, and with coordinates for rows of the given moments."""

    @staticmethod
    @abstractmethod
    def min_rows(d: int) -> float:
        """Return the minimum total responsibility that a component needs to estimate its covariance of d columns."""

    @staticmethod
    @abstractmethod
    def width(d: int) -> int:
        """Return the number of sums of a component with d columns."""

    @staticmethod
    def block_width(d: int) -> int:
        """Return the number of values of a row of d columns that determines how many rows a block has."""
        return d

    def piece_rows(self, n_components: int) -> int:
        """Return the number of rows to expand at once, so that their statistics fit the cache."""
        return max(64, min(self.max_piece, VALUES // max(self.width(len(self.origin)), n_components)))

    # E step

    @abstractmethod
    def standardize(self, gaussians: Gaussians) -> tuple[Floats, Floats, Floats]:
        """Return means, precisions and log constants of the components in the coordinates z.

        For full covariances C, precisions are factors V such that VV' = C⁻¹, and constants are −½ (log |C| + d log 2π).
        For independent columns with variances v, precisions are 1 / v, and constants −½ (log v + log 2π).
        """

    @abstractmethod
    def squared_distances(self, steps: Floats, precisions: Floats) -> Floats:
        """Return the squared length of one step per component, in units of its covariance, to be compared with NEAR."""

    def is_near(self, gaussians: Gaussians, means: Floats, precisions: Floats) -> Booleans:
        """Return a mask of the components so near the origin that expanded squares lose few digits."""
        return np.asarray(self.squared_distances(means, precisions) <= NEAR)

    @abstractmethod
    def natural_parameters(
        self, log_weights: Floats, means: Floats, precisions: Floats, constants: Floats, missing: bool
    ) -> Floats:
        """Return Θ such that Θφ is log(weight · density).

        ``missing`` says that rows have missing values. A form that expands such rows then omits the log of the weight
        from Θ, because no statistic of these rows is constant. A form that cannot expand them ignores ``missing``.
        """

    @abstractmethod
    def expand(self, X: Floats, products: bool) -> Expanded:
        """Return the sufficient statistics of rows. Without ``products``, only the standardised values must be set."""

    @abstractmethod
    def log_density(self, rows: Expanded, mean: Floats, precision: Floats, constant: Floats) -> Floats:
        """Return the log density of each row under one component, computed from the differences from the mean."""

    @abstractmethod
    def sum_products(self, rows: Expanded, shares: Floats, factors: Floats) -> tuple[Floats, Floats]:
        """Return Σ γ and Σ γ φ(z) of each component, with γ = shares · factors. All arguments may be overwritten."""

    @abstractmethod
    def sum_differences(self, rows: Expanded, reference: Floats, gamma: Floats) -> Floats:
        """Return the sums Σ γ φ(z − c) of one component with reference point c."""

    def sum_incomplete(self, X: Floats, gamma: Floats, gaussians: Gaussians, references: Floats) -> Floats:
        """Return the expected sums Σ γ φ(z − c) of rows with missing values, for forms that cannot expand such rows."""
        raise NotImplementedError

    # M step

    @abstractmethod
    def estimate(self, weights: Floats, sums: GaussianSums, before: Gaussians, tied: bool) -> tuple[Floats, Floats]:
        """Return maximum-likelihood means and covariances; a component without rows keeps its parameters."""

    @abstractmethod
    def apply_floor(self, covariances: Floats) -> Covariances:
        """Raise covariances, given as matrices (n, d, d) or variances (n, d), to the floor."""

    @abstractmethod
    def find_at_floor(self, covariances: Covariances) -> Integers:
        """Return the indices of covariances that are at the floor in some direction."""

    @abstractmethod
    def leading_step(self, gaussians: Gaussians, which: int) -> Floats:
        """Return the leading eigenvector of a component's covariance times the standard deviation along it, √λ v."""

    @abstractmethod
    def shift_to_origin(self, weights: Floats, sums: GaussianSums) -> GaussianSums:
        """Return the sums Σ γ φ(z) about the origin, computed from the sums about the reference points."""


@dataclass(frozen=True, eq=False)
class FullForm(NaturalForm):
    """Full covariances, in coordinates z = (x − origin) L that whiten all rows together.

    Parameters
    ----------
    origin, least
        As for every :class:`NaturalForm`.
    L : array of shape (d, d)
        Upper triangular.

    Notes
    -----
    φ(z) = (1, z_i, z_i z_j for i ≤ j). The sums omit the first statistic. For a component with the weight w, the
    covariance C, and in the coordinates z the mean μ and the precision P, the natural parameters are
    log w − ½ (log |C| + d log 2π + μ'Pμ), Pμ, −½ P_ii and −P_ij for i < j.
    """

    L: Annotated[Floats, floats("d", "d")]

    resolution = 1e-12
    max_piece = 2**11
    expands_missing = False

    def _check_state(self, scope: Scope) -> None:
        if np.tril(self.L, -1).any() or not self.L.diagonal().all():
            raise ViolationError("L must be upper triangular, without 0 on the diagonal, but is not")

    @classmethod
    def from_moments(cls, whole: Any, least: Floats) -> FullForm:
        variances = whole.variances()
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        lower = None
        # Whiten by the Cholesky factor of the correlation matrix, if that matrix is well conditioned; otherwise only
        # scale the columns. Rows with missing values have diagonal moments, so their columns are only scaled.
        if isinstance(whole, Moments):
            R = whole.covariance() / np.outer(scale, scale)
            np.fill_diagonal(R, 1.0)
            lower = factor_if_well_conditioned(R, 1e-9)
        L = np.eye(len(scale)) if lower is None else invert_factor(lower)
        return cls(whole.mean, least, L / scale[:, None])

    @staticmethod
    def min_rows(d: int) -> float:
        return d + 1.0

    @staticmethod
    def width(d: int) -> int:
        return d + d * (d + 1) // 2

    @staticmethod
    def block_width(d: int) -> int:
        return FullForm.width(d) if d <= MAX_EXPANDED else d

    @cached_property
    def inverse(self) -> Floats:
        """L⁻¹, which maps z to x − origin."""
        return np.triu(lapack.dtrtri(self.L)[0])

    def standardize(self, gaussians: Gaussians) -> tuple[Floats, Floats, Floats]:
        K, d = gaussians.means.shape
        # C⁻¹ = UU' in x gives the precision VV' in z, with V = L⁻¹U.
        V = self.inverse @ gaussians.covariances.whiteners  # type: ignore[attr-defined]
        constants = -0.5 * (gaussians.covariances.log_determinants + d * LOG_2PI)
        means = (gaussians.means - self.origin) @ self.L
        return means, np.broadcast_to(V, (K, d, d)), np.broadcast_to(constants, K)

    def squared_distances(self, steps: Floats, precisions: Floats) -> Floats:
        # Upper bound ‖V's‖² ≤ ‖V‖² ‖s‖² for a step s, with the Frobenius norm of V.
        return np.asarray(np.square(precisions).sum(axis=(1, 2)) * np.square(steps).sum(axis=1))

    def is_near(self, gaussians: Gaussians, means: Floats, precisions: Floats) -> Booleans:
        # Products of columns also lose digits if a covariance is long and narrow, so its trace is added to ‖μ‖².
        C = gaussians.covariances.array()
        size = ((C @ self.L) * self.L).sum(axis=(1, 2)) + np.square(means).sum(axis=1)
        near = np.square(precisions).sum(axis=(1, 2)) * size <= NEAR
        return np.asarray(near & (len(self.origin) <= MAX_EXPANDED))

    def natural_parameters(
        self, log_weights: Floats, means: Floats, precisions: Floats, constants: Floats, missing: bool
    ) -> Floats:
        P = precisions @ precisions.transpose(0, 2, 1)
        slopes = np.einsum("kij,kj->ki", P, means)
        offsets = log_weights + constants - 0.5 * np.einsum("ki,ki->k", slopes, means)
        i, j = triangle_indices(means.shape[1])
        products = P[:, i, j] * np.where(i == j, -0.5, -1.0)
        return np.ascontiguousarray(np.concatenate([offsets[:, None], slopes, products], axis=1))

    def expand(self, X: Floats, products: bool) -> Expanded:
        # Sufficient statistics (1, z, z_i z_j), with z written into its place in φ.
        n, d = X.shape
        centred = np.subtract(X, self.origin, out=_WORKSPACE.array("centred", X.shape))
        phi = _WORKSPACE.array("statistics", (1 + (self.width(d) if products else d), n))
        z = np.matmul(self.L.T, centred.T, out=phi[1 : d + 1])
        if products:
            phi[0] = 1.0
            _multiply_pairs(z, phi[d + 1 :])
        return Expanded(phi, z)

    def log_density(self, rows: Expanded, mean: Floats, precision: Floats, constant: Floats) -> Floats:
        white = precision.T @ (rows.z - mean[:, None])
        return np.asarray(constant - 0.5 * np.einsum("in,in->n", white, white))

    def sum_products(self, rows: Expanded, shares: Floats, factors: Floats) -> tuple[Floats, Floats]:
        shares *= factors
        d = len(self.origin)
        if len(rows.phi) == 1 + d:  # no products, because no component is near; the caller fills the sums
            return shares.sum(axis=1), np.empty((len(shares), self.width(d)))
        return shares.sum(axis=1), np.asarray(shares @ rows.phi[1:].T)

    def sum_differences(self, rows: Expanded, reference: Floats, gamma: Floats) -> Floats:
        deviations = rows.z - reference[:, None]
        weighted = deviations * gamma
        return np.concatenate([weighted.sum(axis=1), (weighted @ deviations.T)[triangle_indices(len(deviations))]])

    def sum_incomplete(self, X: Floats, gamma: Floats, gaussians: Gaussians, references: Floats) -> Floats:
        """Return the expected sums given the observed values, one pattern of missing values at a time.

        Missing values are replaced by their conditional means, and their conditional covariances are added to the
        products (Little and Rubin 2002, section 11.2).
        """
        upper = triangle_indices(X.shape[1])
        sums = np.zeros((len(gamma), self.width(X.shape[1])))
        patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
        for p, observed in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == p)
            slopes, residual = condition_on_observed(gaussians.broadcast_covariances(), observed)
            hidden = self.L[~observed]
            for k, share in enumerate(gamma[:, rows]):
                filled = fill_in(X[rows], observed, gaussians.means[k], slopes[k])
                deviations = (filled - self.origin) @ self.L - references[k]
                weighted = deviations * share[:, None]
                second = weighted.T @ deviations + share.sum() * (hidden.T @ residual[k] @ hidden)
                sums[k] += np.concatenate([weighted.sum(axis=0), second[upper]])
        return sums

    def estimate(self, weights: Floats, sums: GaussianSums, before: Gaussians, tied: bool) -> tuple[Floats, Floats]:
        d = len(self.origin)
        n = np.where(weights > 0, weights, 1.0)[:, None]
        step = sums.array[:, :d] / n
        # Covariances about the mean: second moments about the reference less the squared step to the mean.
        C = unpack_symmetric(sums.array[:, d:] / n, d) - step[:, :, None] * step[:, None, :]
        means = self.origin + (sums.references + step) @ self.inverse
        if tied:
            C = np.tensordot(weights / weights.sum(), C, axes=1)[None]
        covariances = self.inverse.T @ C @ self.inverse
        empty = weights == 0
        if empty.any():
            means[empty] = before.means[empty]
            if not tied:
                covariances[empty] = before.broadcast_covariances()[empty]
        return means, covariances

    def apply_floor(self, covariances: Floats) -> FullCovariances:
        if covariances.ndim == 2:
            covariances = covariances[:, :, None] * np.eye(covariances.shape[1])
        C = (covariances + covariances.transpose(0, 2, 1)) / 2
        whiteners = self._factor_above_floor(C)
        if whiteners is None:
            C, whiteners = self._raise_to_floor(C)
        return FullCovariances(C, whiteners)

    def _factor_above_floor(self, C: Floats) -> Floats | None:
        """Return upper triangular whiteners if all covariances are above the floor, else None."""
        try:
            # C − diag(least) is positive definite if its Cholesky factorisation succeeds.
            np.linalg.cholesky(C / self._floor - np.eye(C.shape[1]))
            lowers = np.linalg.cholesky(self.L.T @ C @ self.L)
        except np.linalg.LinAlgError:
            return None
        return np.asarray(self.L @ np.stack([lapack.dtrtri(lower, lower=1)[0].T for lower in lowers]))

    def _raise_to_floor(self, C: Floats) -> tuple[Floats, Floats]:
        """Return the constrained maximum of the likelihood subject to the floor, and its whiteners.

        Let S be the estimate in coordinates in which the floor is the identity. The C ⪰ I that maximises
        −log |C| − tr(C⁻¹S) has the eigenvectors of S, and the eigenvalues of S raised to at least 1. The triangular
        whitener is computed from the eigenvectors: a Cholesky factor of C would lose more digits, the lower the floor.
        """
        S = C / self._floor
        if not np.isfinite(S).all():
            raise InvalidDataError("The columns differ too much in scale for a full covariance. Rescale the columns.")
        values, vectors = np.linalg.eigh(S)
        raised = np.maximum(values, 1.0)[:, None, :]
        # RQ decomposition by QR of the reversed matrices, because NumPy factors stacks of matrices by QR only.
        R = np.asarray(np.linalg.qr((vectors / np.sqrt(raised)).transpose(0, 2, 1)[:, :, ::-1], mode="r"))
        whiteners = np.triu(R.transpose(0, 2, 1)[:, ::-1, ::-1]) / np.sqrt(self.least)[:, None]
        return ((vectors * raised) @ vectors.transpose(0, 2, 1)) * self._floor, whiteners

    @cached_property
    def _floor(self) -> Floats:
        scale = np.sqrt(self.least)
        return np.outer(scale, scale)

    def find_at_floor(self, covariances: Covariances) -> Integers:
        values = np.linalg.eigvalsh(covariances.array() / self._floor)
        rounding = values.shape[1] * np.finfo(np.float64).eps * values[:, -1]
        return np.flatnonzero(values[:, 0] <= 1 + 1e-6 + 8 * rounding)

    def leading_step(self, gaussians: Gaussians, which: int) -> Floats:
        C = gaussians.covariances.matrix(which)
        values, vectors = eigh(C, subset_by_index=[len(C) - 1, len(C) - 1])
        return np.asarray(vectors[:, 0] * np.sqrt(values[0]))

    def shift_to_origin(self, weights: Floats, sums: GaussianSums) -> GaussianSums:
        d = len(self.origin)
        i, j = triangle_indices(d)
        # Σγ zz' = Σγ (z − c)(z − c)' + c s' + s c' + n cc', with s = Σγ (z − c).
        c, first, n = sums.references, sums.array[:, :d], weights[:, None]
        moved = c[:, i] * first[:, j] + first[:, i] * c[:, j] + n * c[:, i] * c[:, j]
        return GaussianSums(np.concatenate([first + n * c, sums.array[:, d:] + moved], axis=1), np.zeros_like(c))


@dataclass(frozen=True, eq=False)
class DiagonalForm(NaturalForm):
    """Diagonal covariances, in coordinates z = (x − origin) / scale.

    Parameters
    ----------
    origin, least
        As for every :class:`NaturalForm`.
    scale : array of shape (d,)

    Notes
    -----
    φ(z) = (1, z, z²) without missing values, and (m, mz, mz²) with them, where m is 1 for an observed value and 0 for a
    missing value. The sums are Σ γ (m, mz, mz²) in both cases, so every column has its own weight. With variances v the
    natural parameters of a column are −½ (log v + log 2π + μ²/v), μ/v and −½/v, with μ the mean.
    """

    scale: Annotated[Floats, floats("d", above=0)]

    resolution = 1e-24
    max_piece = 2**12
    expands_missing = True

    @classmethod
    def from_moments(cls, whole: Any, least: Floats) -> DiagonalForm:
        variances = whole.variances()
        return cls(whole.mean, least, np.sqrt(np.where(variances > 0, variances, 1.0)))

    @staticmethod
    def min_rows(d: int) -> float:
        return 2.0

    @staticmethod
    def width(d: int) -> int:
        return 3 * d

    def standardize(self, gaussians: Gaussians) -> tuple[Floats, Floats, Floats]:
        variances = gaussians.broadcast_covariances()
        means = (gaussians.means - self.origin) / self.scale
        return means, self.scale**2 / variances, -0.5 * (np.log(variances) + LOG_2PI)

    def squared_distances(self, steps: Floats, precisions: Floats) -> Floats:
        return np.asarray((np.square(steps) * precisions).max(axis=1))  # each column loses digits separately

    def natural_parameters(
        self, log_weights: Floats, means: Floats, precisions: Floats, constants: Floats, missing: bool
    ) -> Floats:
        slopes = means * precisions
        offsets = constants - 0.5 * slopes * means
        # Without missing values the offsets of all columns and the log weight add up to one parameter.
        if not missing:
            offsets = offsets.sum(axis=1, keepdims=True) + log_weights[:, None]
        return np.concatenate([offsets, slopes, -0.5 * precisions], axis=1)

    def expand(self, X: Floats, products: bool) -> Expanded:
        (n, d), missing = X.shape, bool(np.isnan(X[0]).any())  # either all rows have missing values, or none has
        phi = _WORKSPACE.array("statistics", (3 * d if missing else 2 * d + 1, n))
        z = phi[-2 * d : -d]
        np.subtract(X.T, self.origin[:, None], out=z)
        z *= 1 / self.scale[:, None]
        phi[: -2 * d] = ~np.isnan(z) if missing else 1.0
        if missing:
            np.nan_to_num(z, copy=False)
        np.square(z, out=phi[-d:])
        return Expanded(phi, z, phi[:d] if missing else None)

    def log_density(self, rows: Expanded, mean: Floats, precision: Floats, constant: Floats) -> Floats:
        squares = np.square(rows.z - mean[:, None])
        if rows.observed is None:
            return np.asarray(constant.sum() - 0.5 * (precision @ squares))
        squares *= rows.observed
        return np.asarray(constant @ rows.observed - 0.5 * (precision @ squares))

    def sum_products(self, rows: Expanded, shares: Floats, factors: Floats) -> tuple[Floats, Floats]:
        phi, missing = rows.phi, rows.observed is not None
        weights = shares @ factors if missing else None
        # Multiply the smaller of the two arrays by the factors.
        if len(shares) > len(phi):
            phi *= factors
        else:
            shares *= factors
        sums = np.asarray(shares @ phi.T)
        if weights is not None:
            return weights, sums
        present = np.repeat(sums[:, :1], len(self.origin), axis=1)
        return sums[:, 0], np.concatenate([present, sums[:, 1:]], axis=1)

    def sum_differences(self, rows: Expanded, reference: Floats, gamma: Floats) -> Floats:
        step = rows.z - reference[:, None]
        present = np.full(len(step), gamma.sum())
        if rows.observed is not None:
            step *= rows.observed
            present = rows.observed @ gamma
        return np.concatenate([present, step @ gamma, np.square(step) @ gamma])

    def estimate(self, weights: Floats, sums: GaussianSums, before: Gaussians, tied: bool) -> tuple[Floats, Floats]:
        present, first, second = np.split(sums.array, 3, axis=1)
        step = first / np.where(present > 0, present, 1.0)
        scatter = np.maximum(second - first * step, 0.0)
        means = np.where(present > 0, self.origin + (sums.references + step) * self.scale, before.means)
        covariances = self._average(scatter, present, tied) * self.scale**2
        # A variance is kept from before if no value was observed from which to estimate it.
        known = self._average(present, np.ones_like(present), tied) > 0
        previous = before.covariances.array() if tied else before.broadcast_covariances()
        return means, np.where(known, covariances, previous)

    def _average(self, values: Floats, weights: Floats, tied: bool) -> Floats:
        """Return values divided by weights for each component and column, or for each column if variances are tied."""
        if tied:
            values, weights = values.sum(axis=0)[None], weights.sum(axis=0)[None]
        values, weights = self._pool(values), self._pool(weights)
        return np.asarray(values / np.where(weights > 0, weights, 1.0))

    def _pool(self, values: Floats) -> Floats:
        """Replace the value of each column by the sum over the columns that share its variance; by default none do."""
        return values

    def apply_floor(self, covariances: Floats) -> DiagonalCovariances:
        variances = np.diagonal(covariances, axis1=1, axis2=2) if covariances.ndim == 3 else covariances
        # The constrained maximum of −log v − s/v over v ≥ least is max(s, least).
        return DiagonalCovariances(np.maximum(variances, self.least))

    def find_at_floor(self, covariances: Covariances) -> Integers:
        return np.flatnonzero((covariances.array() <= self.least * (1 + 1e-6)).any(axis=1))

    def leading_step(self, gaussians: Gaussians, which: int) -> Floats:
        variances = gaussians.broadcast_covariances()[which]
        return self._along(variances, int(np.argmax(variances)))

    def _along(self, variances: Floats, column: int) -> Floats:
        return np.asarray(np.sqrt(variances) * (np.arange(len(variances)) == column))

    def shift_to_origin(self, weights: Floats, sums: GaussianSums) -> GaussianSums:
        # Σγ z² = Σγ (z − c)² + 2c Σγ (z − c) + n c².
        present, first, second = np.split(sums.array, 3, axis=1)
        c = sums.references
        array = np.concatenate([present, first + present * c, second + (2 * first + present * c) * c], axis=1)
        return GaussianSums(array, np.zeros_like(c))


@dataclass(frozen=True, eq=False)
class SphericalForm(DiagonalForm):
    """One variance for all columns, in coordinates z = (x − origin) / scale with the same scale for all columns.

    Parameters
    ----------
    origin, least, scale
        As for :class:`DiagonalForm`; least and scale are the same for all columns.
    variances : array of shape (d,)
        Variances of the columns over all rows.
    """

    variances: Annotated[Floats, floats("d", low=0)]

    @classmethod
    def from_moments(cls, whole: Any, least: Floats) -> SphericalForm:
        variances = whole.variances()
        average = np.full_like(variances, variances.mean())
        scale = np.sqrt(np.where(average > 0, average, 1.0))
        return cls(whole.mean, np.full_like(least, least.mean()), scale, variances)

    def _pool(self, values: Floats) -> Floats:
        return np.broadcast_to(values.sum(axis=1, keepdims=True), values.shape)

    def apply_floor(self, covariances: Floats) -> DiagonalCovariances:
        variances = np.diagonal(covariances, axis1=1, axis2=2) if covariances.ndim == 3 else covariances
        return super().apply_floor(np.repeat(variances.mean(axis=1, keepdims=True), variances.shape[1], axis=1))

    def leading_step(self, gaussians: Gaussians, which: int) -> Floats:
        # A sphere has no leading direction. It is split along the column with the largest variance over all rows.
        return self._along(gaussians.broadcast_covariances()[which], int(np.argmax(self.variances)))


def _multiply_pairs(z: Floats, out: Floats) -> None:
    """Write the products z_i z_j for i ≤ j into the rows of ``out``, one contiguous product for each i."""
    low = 0
    for i in range(len(z)):
        high = low + len(z) - i
        np.multiply(z[i], z[i:], out=out[low:high])
        low = high
