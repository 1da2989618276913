"""Components with diagonal and spherical covariances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from likely._numerics import dense, scratch
from likely._typing import Booleans, Floats, Integers
from likely.blocks import Block
from likely.densities.distances import NEAR
from likely.densities.factors import DiagonalCovariances
from likely.densities.gaussian import LOG_2PI, Gaussians
from likely.densities.mixtures.em import Expectation, Sums
from likely.densities.mixtures.gaussian_family import GaussianFamily, pieces_of
from likely.densities.mixtures.mixed import Mixed
from likely.statistics import DiagonalMoments

__all__ = ["DiagonalFamily", "DiagonalSums"]

VALUES, MOST_ROWS = 2**19, 2**12
"""Values and rows of squares held at once."""


@dataclass(frozen=True, eq=False)
class DiagonalFamily(GaussianFamily):
    """Components whose columns are independent, in coordinates z = (x − origin) / scale.

    Parameters
    ----------
    origin, least, tied
        As for every :class:`GaussianFamily`.
    scale : array of shape (d,)
    variances : array of shape (d,)
        Of all rows together.
    spherical : bool
        Whether the variances of all columns are one.

    Notes
    -----
    Without missing values the log density of a component is linear in φ = (1, z, z²); with them it is linear in
    (m, mz, mz²) where m is 1 for what was observed and 0 for what was not. The sums are Σ γ (m, mz, mz²) in either
    case, so that every column has a weight of its own.
    """

    resolved = 1e-24
    scale: Floats
    variances: Floats
    spherical: bool

    @classmethod
    def of(cls, whole: DiagonalMoments, least: Floats, tied: bool, spherical: bool) -> DiagonalFamily:
        variances = whole.variances()
        squares = np.full_like(variances, variances.mean()) if spherical else variances
        scale = np.sqrt(np.where(squares > 0, squares, 1.0))
        if spherical:
            least = np.full_like(least, least.mean())
        return cls(whole.mean, least, tied, scale, variances, spherical)

    @property
    def shape(self) -> str:
        return "spherical" if self.spherical else "diagonal"

    @property
    def least_rows(self) -> float:
        return 1.0 if self.tied else 2.0

    def expectation(self, mixed: Mixed) -> DiagonalExpectation:
        gaussians: Gaussians = mixed.components
        means = (gaussians.means - self.origin) / self.scale
        variances = gaussians.broadcast_covariances()
        precisions = self.scale**2 / variances
        near = (np.square(means) * precisions).max(axis=1) <= NEAR
        references = np.where(near[:, None], 0.0, means)
        constants = -0.5 * (np.log(variances) + LOG_2PI)
        return DiagonalExpectation(
            mixed.log_weights, self.origin, self.scale, means, precisions, constants, near, references
        )

    def sharper(self, expectation: DiagonalExpectation, after: Mixed) -> DiagonalExpectation | None:
        means = (after.components.means - self.origin) / self.scale
        precisions = self.scale**2 / after.components.broadcast_covariances()
        lost = (np.square(means - expectation.references) * precisions).max(axis=1) > NEAR
        if not lost.any():
            return None
        return replace(expectation, references=np.where(lost[:, None], means, expectation.references))

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        references, parts = sums.parts.references, sums.parts.array
        present, first, second = parts.reshape(len(parts), 3, -1).transpose(1, 0, 2)
        divisor = np.where(present > 0, present, 1.0)
        step = first / divisor
        scatter = np.maximum(second - first * step, 0.0)
        gaussians: Gaussians = before.components
        means = np.where(present > 0, self.origin + (references + step) * self.scale, gaussians.means)
        covariances = self._pooled(scatter, present) * self.scale**2
        known = self._pooled(present, np.ones_like(present)) > 0
        before_it = gaussians.covariances.array() if self.tied else gaussians.broadcast_covariances()
        covariances = np.where(known, covariances, before_it)
        return self.finished(sums.weights / sums.weights.sum(), means, covariances)

    def _pooled(self, values: Floats, weights: Floats) -> Floats:
        """Values over weights, of each column or of all, for each component or for all."""
        if self.tied:
            values, weights = values.sum(axis=0)[None], weights.sum(axis=0)[None]
        if self.spherical:
            values = np.broadcast_to(values.sum(axis=1, keepdims=True), values.shape)
            weights = np.broadcast_to(weights.sum(axis=1, keepdims=True), weights.shape)
        return np.asarray(values / np.where(weights > 0, weights, 1.0))

    def finished(self, weights: Floats, means: Floats, covariances: Floats) -> Mixed:
        variances = np.diagonal(covariances, axis1=1, axis2=2) if covariances.ndim == 3 else covariances
        if self.spherical:
            variances = np.repeat(variances.mean(axis=1, keepdims=True), variances.shape[1], axis=1)
        return Mixed(weights, Gaussians(means, DiagonalCovariances(np.maximum(variances, self.least))))

    def step(self, mixed: Mixed, which: int) -> Floats:
        variances = mixed.components.broadcast_covariances()[which]
        # All directions of a sphere are alike; the rows tell which of them is the widest.
        leading = int(np.argmax(self.variances if self.spherical else variances))
        return np.asarray(np.sqrt(variances) * (np.arange(len(variances)) == leading))

    def at_floor(self, mixed: Mixed) -> Integers:
        return np.flatnonzero((mixed.components.covariances.array() <= self.least * (1 + 1e-6)).any(axis=1))


@dataclass(frozen=True, eq=False)
class DiagonalSums:
    """Σ γ m, Σ γ m (z − c) and Σ γ m (z − c)² for each component, about its reference c, side by side."""

    array: Floats
    references: Floats

    def __add__(self, other: DiagonalSums) -> DiagonalSums:
        return DiagonalSums(self.array + other.array, self.references)

    def about_origin(self, weights: Floats) -> DiagonalSums:
        """The same about the origin; every column has a weight of its own."""
        present, first, second = np.split(self.array, 3, axis=1)
        c = self.references
        array = np.concatenate([present, first + present * c, second + (2 * first + present * c) * c], axis=1)
        return DiagonalSums(array, np.zeros_like(c))


@dataclass(frozen=True, eq=False)
class DiagonalExpectation(Expectation):
    """The parameters of a pass: components near the origin by one product, the others one at a time."""

    log_weights: Floats
    origin: Floats
    scale: Floats
    means: Floats
    precisions: Floats
    constants: Floats
    near: Booleans
    references: Floats

    def pieces(self, block: Block) -> Iterator[Block]:
        return pieces_of(block, max(64, min(MOST_ROWS, VALUES // max(3 * len(self.origin), len(self.means)))))

    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, DiagonalSums]]]:
        X = dense(piece.X)
        (n, d), missing = X.shape, bool(np.isnan(X[0]).any())
        phi = scratch((3 * d if missing else 2 * d + 1, n), slot=5)
        z = phi[-2 * d : -d]
        np.subtract(X.T, self.origin[:, None], out=z)
        z *= 1 / self.scale[:, None]
        phi[: -2 * d] = ~np.isnan(z) if missing else 1.0
        if missing:
            np.nan_to_num(z, copy=False)
        np.square(z, out=phi[-d:])
        log_joint = np.matmul(self._theta(missing), phi, out=scratch((len(self.means), n), slot=6))
        if missing:
            log_joint += self.log_weights[:, None]
        for k in np.flatnonzero(~self.near):
            log_joint[k] = self._one(int(k), z, phi[:d] if missing else None)

        def gather(shares: Floats, factors: Floats) -> tuple[Floats, DiagonalSums]:
            weights = shares @ factors if missing else None
            parts = self._gathered(shares, factors, phi, missing)
            return parts[:, 0] if weights is None else weights, DiagonalSums(parts, self.references)

        return log_joint, gather

    def _theta(self, missing: bool) -> Floats:
        return self._theta_of_missing if missing else self._theta_of_all

    @cached_property
    def _theta_of_all(self) -> Floats:
        return self._natural(missing=False)

    @cached_property
    def _theta_of_missing(self) -> Floats:
        return self._natural(missing=True)

    def _natural(self, missing: bool) -> Floats:
        """Θ with Θφ the log of weight times density."""
        slopes = self.means * self.precisions
        offsets = self.constants - 0.5 * slopes * self.means
        if not missing:
            offsets = offsets.sum(axis=1, keepdims=True) + self.log_weights[:, None]
        return np.concatenate([offsets, slopes, -0.5 * self.precisions], axis=1)

    def _one(self, k: int, z: Floats, observed: Floats | None) -> Floats:
        """The logs of a component that is too far off for its squares to be expanded."""
        squares = np.square(z - self.means[k][:, None])
        if observed is None:
            constant = self.constants[k].sum()
        else:
            squares *= observed
            constant = self.constants[k] @ observed
        return np.asarray(self.log_weights[k] + constant - 0.5 * (self.precisions[k] @ squares))

    def _gathered(self, shares: Floats, factors: Floats, phi: Floats, missing: bool) -> Floats:
        d, apart = len(self.origin), np.flatnonzero(self.references.any(axis=1))
        steps = [phi[-2 * d : -d] - self.references[k][:, None] for k in apart]
        gamma = [shares[k] * factors for k in apart]
        observed = phi[:d].copy() if missing and len(apart) else None
        # The fewer rows of the two are multiplied.
        if len(shares) > len(phi):
            phi *= factors
        else:
            shares *= factors
        parts = shares @ phi.T
        if not missing:
            parts = np.concatenate([np.repeat(parts[:, :1], d, axis=1), parts[:, 1:]], axis=1)
        for k, step, share in zip(apart, steps, gamma, strict=True):
            if observed is not None:
                step *= observed
            parts[k, d : 2 * d] = step @ share
            parts[k, 2 * d :] = np.square(step) @ share
        return np.asarray(parts)
