"""Components with full covariances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.linalg import eigh, lapack

from likely._numerics import dense, log, scratch
from likely._typing import Booleans, Floats, Integers
from likely.blocks import Block
from likely.densities.covariance import well_conditioned_factor
from likely.densities.distances import NEAR
from likely.densities.factors import FullCovariances, inverse_factor
from likely.densities.gaussian import LOG_2PI, Gaussians
from likely.densities.missing import conditionals, filled_in
from likely.densities.mixtures.em import Expectation, Sums
from likely.densities.mixtures.gaussian_family import GaussianFamily, pieces_of
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import InvalidDataError
from likely.statistics import DiagonalMoments, Moments

__all__ = ["FullFamily", "FullSums"]

MOST_EXPANDED, VALUES, MOST_ROWS = 128, 2**19, 2**11
"""Columns that are expanded into their products, and values and rows of such products held at once."""


@dataclass(frozen=True, eq=False)
class FullFamily(GaussianFamily):
    """Ellipses of any direction, in coordinates z = (x − origin) L that whiten all rows together.

    Parameters
    ----------
    origin, least, tied
        As for every :class:`GaussianFamily`.
    L : array of shape (d, d)
        Upper triangular.

    Notes
    -----
    With φ(z) = (1, z_i, z_i z_j for i ≤ j), the log density of a component is linear in φ, and the sums it is
    estimated from are Σ γ φ. So a pass is two matrix products, φ'Θ and γφ'.
    """

    resolved = 1e-12
    L: Floats

    @classmethod
    def of(cls, whole: Moments | DiagonalMoments, least: Floats, tied: bool) -> FullFamily:
        """The family for rows with these moments; diagonal ones, of rows with missing values, only scale."""
        variances = whole.variances()
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        lower = None
        if isinstance(whole, Moments):
            R = whole.covariance() / np.outer(scale, scale)
            np.fill_diagonal(R, 1.0)
            lower = well_conditioned_factor(R, 1e-9)
        L = np.eye(len(scale)) if lower is None else inverse_factor(lower)
        return cls(whole.mean, least, tied, L / scale[:, None])

    @property
    def shape(self) -> str:
        return "full"

    @property
    def least_rows(self) -> float:
        return 1.0 if self.tied else len(self.origin) + 1.0

    @cached_property
    def inverse(self) -> Floats:
        """L⁻¹, which takes z back to x − origin."""
        return np.triu(lapack.dtrtri(self.L)[0])

    def expectation(self, mixed: Mixed) -> FullExpectation:
        gaussians: Gaussians = mixed.components
        d = len(self.origin)
        means = (gaussians.means - self.origin) @ self.L
        factors = self._factors(gaussians)
        C = gaussians.covariances.array()
        size = ((C @ self.L) * self.L).sum(axis=(1, 2)) + np.square(means).sum(axis=1)
        near = (np.square(factors).sum(axis=(1, 2)) * size <= NEAR) & (d <= MOST_EXPANDED)
        constants = mixed.log_weights - 0.5 * (gaussians.covariances.log_determinants + d * LOG_2PI)
        references = np.where(near[:, None], 0.0, means)
        theta = _natural(means[near], factors[near], constants[near])
        return FullExpectation(mixed, self.origin, self.L, means, factors, constants, near, theta, references)

    def sharper(self, expectation: FullExpectation, after: Mixed) -> FullExpectation | None:
        means = (after.components.means - self.origin) @ self.L
        moved = np.square(means - expectation.references).sum(axis=1)
        lost = np.square(self._factors(after.components)).sum(axis=(1, 2)) * moved > NEAR
        if not lost.any():
            return None
        return replace(expectation, references=np.where(lost[:, None], means, expectation.references))

    def _factors(self, gaussians: Gaussians) -> Floats:
        """Upper triangular V with V V' the inverse of a component's covariance in z."""
        whiteners = gaussians.covariances.whiteners  # type: ignore[attr-defined]
        K, d = gaussians.means.shape
        return np.broadcast_to(self.inverse @ whiteners, (K, d, d))

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        references, parts = sums.parts.references, sums.parts.array
        d = len(self.origin)
        n = np.where(sums.weights > 0, sums.weights, 1.0)[:, None]
        step = parts[:, :d] / n
        C = _squared(parts[:, d:] / n, d) - step[:, :, None] * step[:, None, :]
        means = self.origin + (references + step) @ self.inverse
        weights = sums.weights / sums.weights.sum()
        if self.tied:
            C = np.tensordot(weights, C, axes=1)[None]
        covariances = self.inverse.T @ C @ self.inverse
        empty = sums.weights == 0
        if empty.any():
            means[empty] = before.components.means[empty]
            if not self.tied:
                covariances[empty] = before.components.broadcast_covariances()[empty]
        return self.finished(weights, means, covariances)

    def finished(self, weights: Floats, means: Floats, covariances: Floats) -> Mixed:
        if covariances.ndim == 2:
            covariances = covariances[:, :, None] * np.eye(covariances.shape[1])
        C = (covariances + covariances.transpose(0, 2, 1)) / 2
        whiteners = self._whiteners(C)
        if whiteners is None:
            C, whiteners = self._floored(C)
        return Mixed(weights, Gaussians(means, FullCovariances(C, whiteners)))

    def _whiteners(self, C: Floats) -> Floats | None:
        """Upper triangular whiteners of covariances that are all above the floor, or None."""
        try:
            np.linalg.cholesky(C / self._least - np.eye(C.shape[1]))
            lowers = np.linalg.cholesky(self.L.T @ C @ self.L)
        except np.linalg.LinAlgError:
            return None
        return np.asarray(self.L @ np.stack([lapack.dtrtri(lower, lower=1)[0].T for lower in lowers]))

    def _floored(self, C: Floats) -> tuple[Floats, Floats]:
        """The best covariances that are nowhere below the floor, and their whiteners.

        In the floor's own coordinates those are the same matrices with eigenvalues raised to 1. The triangular factor
        is made from the eigenvectors: one of the matrix itself would have lost as many digits as the floor has zeros.
        """
        S = C / self._least
        if not np.isfinite(S).all():
            raise InvalidDataError("Scales of the columns differ too much for a full covariance. Rescale them.")
        values, vectors = np.linalg.eigh(S)
        raised = np.maximum(values, 1.0)[:, None, :]
        # RQ by QR of what is turned over: only the latter does many matrices at once.
        R = np.asarray(np.linalg.qr((vectors / np.sqrt(raised)).transpose(0, 2, 1)[:, :, ::-1], mode="r"))
        whiteners = np.triu(R.transpose(0, 2, 1)[:, ::-1, ::-1]) / np.sqrt(self.least)[:, None]
        return ((vectors * raised) @ vectors.transpose(0, 2, 1)) * self._least, whiteners

    @cached_property
    def _least(self) -> Floats:
        scale = np.sqrt(self.least)
        return np.outer(scale, scale)

    def step(self, mixed: Mixed, which: int) -> Floats:
        C = mixed.components.covariances.matrix(which)
        values, vectors = eigh(C, subset_by_index=[len(C) - 1, len(C) - 1])
        return np.asarray(vectors[:, 0] * np.sqrt(values[0]))

    def at_floor(self, mixed: Mixed) -> Integers:
        values = np.linalg.eigvalsh(mixed.components.covariances.array() / self._least)
        rounding = values.shape[1] * np.finfo(np.float64).eps * values[:, -1]
        return np.flatnonzero(values[:, 0] <= 1 + 1e-6 + 8 * rounding)


@dataclass(frozen=True, eq=False)
class FullSums:
    """Σ γ (z − c) and the upper triangle of Σ γ (z − c)(z − c)' for each component, about its reference c."""

    array: Floats
    references: Floats

    def __add__(self, other: FullSums) -> FullSums:
        return FullSums(self.array + other.array, self.references)

    def about_origin(self, weights: Floats) -> FullSums:
        """The same about the origin."""
        d = self.references.shape[1]
        i, j = _triangle(d)
        c, first = self.references, self.array[:, :d]
        moved = c[:, i] * first[:, j] + first[:, i] * c[:, j] + weights[:, None] * c[:, i] * c[:, j]
        array = np.concatenate([first + weights[:, None] * c, self.array[:, d:] + moved], axis=1)
        return FullSums(array, np.zeros_like(c))


@dataclass(frozen=True, eq=False)
class FullExpectation(Expectation):
    """The parameters of a pass: components near the origin by one product, the others one at a time."""

    mixed: Mixed
    origin: Floats
    L: Floats
    means: Floats
    factors: Floats
    constants: Floats
    near: Booleans
    theta: Floats
    references: Floats

    def pieces(self, block: Block) -> Iterator[Block]:
        d = len(self.origin)
        return pieces_of(block, max(64, min(MOST_ROWS, VALUES // (d + d * (d + 1) // 2))), together=True)

    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, FullSums]]]:
        X = dense(piece.X)
        if np.isnan(X[0]).any():
            return self._open_missing(X)
        d, n = len(self.origin), len(X)
        centred = np.subtract(X, self.origin, out=scratch(X.shape, slot=4))
        phi = scratch((1 + d + len(_triangle(d)[0]) if self._expands else 1 + d, n), slot=5)
        z = np.matmul(self.L.T, centred.T, out=phi[1 : d + 1])
        log_joint = scratch((len(self.means), n), slot=6)
        if self._expands:
            phi[0] = 1.0
            _products(z, phi[d + 1 :])
        if self.near.all():
            np.matmul(self.theta, phi, out=log_joint)
        else:
            log_joint[self.near] = self.theta @ phi if self.near.any() else 0.0
            for k in np.flatnonzero(~self.near):
                white = self.factors[k].T @ (z - self.means[k][:, None])
                log_joint[k] = self.constants[k] - 0.5 * np.einsum("in,in->n", white, white)

        def gather(shares: Floats, factors: Floats) -> tuple[Floats, FullSums]:
            shares *= factors
            return shares.sum(axis=1), FullSums(self._gathered(shares, phi, z), self.references)

        return log_joint, gather

    @cached_property
    def _expands(self) -> bool:
        return bool(self.near.any())

    @cached_property
    def _about_origin(self) -> Booleans:
        """Components whose sums are taken about the origin."""
        return self.near & ~self.references.any(axis=1)

    def _gathered(self, gamma: Floats, phi: Floats, z: Floats) -> Floats:
        about_origin = self._about_origin
        if about_origin.all():
            return np.asarray(gamma @ phi[1:].T)
        d = len(z)
        parts = np.empty((len(gamma), d + d * (d + 1) // 2))
        if about_origin.any():
            parts[about_origin] = gamma[about_origin] @ phi[1:].T
        upper = _triangle(d)
        for k in np.flatnonzero(~about_origin):
            apart = z - self.references[k][:, None]
            shared = apart * gamma[k]
            parts[k, :d] = shared.sum(axis=1)
            parts[k, d:] = (shared @ apart.T)[upper]
        return parts

    def _open_missing(self, X: Floats) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, FullSums]]]:
        """Rows with missing values: densities of what was observed, and sums that are expected of the rest."""
        log_joint = np.ascontiguousarray(self.mixed.components.log_density(X).T + log(self.mixed.weights)[:, None])

        def gather(shares: Floats, factors: Floats) -> tuple[Floats, FullSums]:
            gamma = shares * factors
            parts = np.zeros((len(gamma), len(self.origin) + len(_triangle(len(self.origin))[0])))
            patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
            for p, observed in enumerate(patterns):
                rows = np.flatnonzero(which.ravel() == p)
                parts += self._expected(X[rows], gamma[:, rows], observed)
            return gamma.sum(axis=1), FullSums(parts, self.references)

        return log_joint, gather

    def _expected(self, X: Floats, gamma: Floats, observed: Booleans) -> Floats:
        """Sums of rows in which the same columns were observed."""
        gaussians: Gaussians = self.mixed.components
        slopes, rest = conditionals(gaussians.broadcast_covariances(), observed)
        hidden, upper = self.L[~observed], _triangle(len(observed))
        parts = np.empty((len(gamma), len(observed) + len(upper[0])))
        for k, share in enumerate(gamma):
            filled = filled_in(X, observed, gaussians.means[k], slopes[k])
            apart = (filled - self.origin) @ self.L - self.references[k]
            shared = apart * share[:, None]
            second = shared.T @ apart + share.sum() * (hidden.T @ rest[k] @ hidden)
            parts[k] = np.concatenate([shared.sum(axis=0), second[upper]])
        return parts


@cache
def _triangle(d: int) -> tuple[Integers, Integers]:
    """Rows and columns of the upper triangle."""
    return np.triu_indices(d)


def _products(z: Floats, out: Floats) -> None:
    """z_i z_j for i ≤ j, as rows: each is one contiguous product."""
    low = 0
    for i in range(len(z)):
        high = low + len(z) - i
        np.multiply(z[i], z[i:], out=out[low:high])
        low = high


def _natural(means: Floats, factors: Floats, constants: Floats) -> Floats:
    """Θ with φ(z)'Θ the log of weight times density."""
    precisions = factors @ factors.transpose(0, 2, 1)
    slopes = np.einsum("kij,kj->ki", precisions, means)
    offsets = constants - 0.5 * np.einsum("ki,ki->k", slopes, means)
    i, j = _triangle(means.shape[1])
    products = precisions[:, i, j] * np.where(i == j, -0.5, -1.0)
    return np.ascontiguousarray(np.concatenate([offsets[:, None], slopes, products], axis=1))


def _squared(upper: Floats, d: int) -> Floats:
    """Symmetric matrices from their upper triangles."""
    i, j = _triangle(d)
    matrices = np.empty((len(upper), d, d))
    matrices[:, i, j] = upper
    matrices[:, j, i] = upper
    return matrices
