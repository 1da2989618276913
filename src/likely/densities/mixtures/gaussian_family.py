"""Gaussian components of a mixture.

The E and M steps are written once for all covariance shapes. The arithmetic of a shape is in
:mod:`likely.densities.natural_form`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.sparse import issparse

from likely._constraints import flag, instance_of
from likely._numerics import Workspace, dense, log
from likely._typing import Booleans, Floats, Integers
from likely.blocks import Block, Source
from likely.densities.factors import NEAR
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EMResult, EStep, Family, Sums
from likely.densities.mixtures.mixture import Mixed
from likely.densities.mixtures.twins import find_twins, flattest_steps, merge, widen
from likely.densities.natural_form import Expanded, GaussianSums, NaturalForm

_WORKSPACE = Workspace()

RESTART_DISPLACEMENT = 0.5
"""Displacement of a moved component and of the component that was split for it, in leading standard deviations."""


@dataclass(frozen=True, eq=False)
class GaussianFamily(Family):
    """Gaussian components of one covariance shape, with separate or tied covariances.

    Parameters
    ----------
    form : NaturalForm
        The arithmetic of the shape, with the coordinates and the floor determined from the rows.
    tied : bool
        Whether all components share one covariance.
    """

    form: Annotated[NaturalForm, instance_of(NaturalForm, d="d")]
    tied: Annotated[bool, flag]

    @property
    def n_features(self) -> int:
        return len(self.form.origin)

    @property
    def min_weight(self) -> float:
        return 1.0 if self.tied else self.form.min_rows(self.n_features)

    def prepare(self, mixture: Mixed) -> GaussianEStep:
        means, precisions, constants = self.form.standardize(mixture.components)
        # Components near the origin are scored by natural parameters and summed about the origin. The other components
        # are scored from differences and summed about their means.
        near = self.form.is_near(mixture.components, means, precisions)
        references = np.where(near[:, None], 0.0, means)
        theta = self.form.natural_parameters(
            mixture.log_weights[near], means[near], precisions[near], constants[near], missing=False
        )
        return GaussianEStep(self.form, mixture, means, precisions, constants, near, references, theta)

    def recentre(self, prepared: GaussianEStep, after: Mixed) -> GaussianEStep | None:
        means, precisions, _ = self.form.standardize(after.components)
        # Σγ(z − c)² less n(m − c)² cancels if the mean m is far from the reference c in the new variances.
        lost = self.form.squared_distances(means - prepared.references, precisions) > NEAR
        if not lost.any():
            return None
        return replace(prepared, references=np.where(lost[:, None], means, prepared.references))

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        # M step: w_k = n_k / n, with means and covariances from the sums, then floored.
        means, covariances = self.form.estimate(sums.weights, sums.parts, before.components, self.tied)
        return self.make(sums.weights / sums.weights.sum(), means, covariances)

    def make(self, weights: Floats, means: Floats, covariances: Floats) -> Mixed:
        """Return the mixture with these parameters, in the units of the data, with floored covariances.

        Covariances are matrices or variances, of shape (n, d, d) or (n, d), with n = 1 or one for each component.
        """
        return Mixed(weights, Gaussians(means, self.form.apply_floor(covariances)))

    def make_equal(self, means: Floats, covariance: Floats) -> Mixed:
        """Return components of equal weight and equal covariance at these means."""
        copies = 1 if self.tied else len(means)
        weights = np.full(len(means), 1 / len(means))
        return self.make(weights, means, np.repeat(covariance[None], copies, axis=0))

    def revive(self, mixture: Mixed, which: int) -> Mixed:
        """Split the heaviest component in two halves; one of them replaces the collapsed component."""
        heaviest = int(np.argmax(mixture.weights))
        order = np.arange(mixture.n_components)
        order[which] = heaviest
        weights = mixture.weights.copy()
        weights[which] = 0.0
        weights[[heaviest, which]] = weights[heaviest] / 2
        return self._split(mixture, order, weights / weights.sum(), {heaviest: which}, RESTART_DISPLACEMENT)

    def grow(self, mixture: Mixed, n_components: int, displacement: float) -> Mixed:
        """Split the heaviest components to get ``n_components``, at most twice as many as before (LBG)."""
        K = mixture.n_components
        chosen = np.argsort(-mixture.weights, kind="stable")[: n_components - K]
        order = np.concatenate([np.arange(K), chosen])
        weights = mixture.weights.copy()
        weights[chosen] /= 2
        pairs = {int(which): K + i for i, which in enumerate(chosen)}
        return self._split(mixture, order, weights[order], pairs, displacement)

    def widen_twins(self, source: Source, found: EMResult) -> Mixed | None:
        """Double the distance between the means of nearly equal components."""
        mixture, gaussians = found.mixture, found.mixture.components
        pairs = find_twins(gaussians)
        if not pairs:
            return None
        return Mixed(mixture.weights, Gaussians(widen(gaussians.means, mixture.weights, pairs), gaussians.covariances))

    def split_twins(self, source: Source, found: EMResult) -> Mixed | None:
        """Merge nearly equal components and split them again, in the direction of the smallest fourth moment."""
        mixture, gaussians = found.mixture, found.mixture.components
        pairs = find_twins(gaussians)
        if not pairs:
            return None
        # Mean and covariance of the rows of each pair, from the sums of the last E step.
        own_means, own_covariances = self.form.estimate(found.sums.weights, found.sums.parts, gaussians, False)
        pooled = [merge(found.sums.weights[list(p)], own_means[list(p)], own_covariances[list(p)]) for p in pairs]
        centres = np.stack([mean for mean, _ in pooled])
        joint = self.form.apply_floor(np.stack([covariance for _, covariance in pooled])).array()
        steps = flattest_steps(source, self.prepare(mixture), pairs, centres, joint)
        # Two halves of equal weight, one standard deviation from the common mean. A tied covariance stays.
        weights, means = mixture.weights.copy(), gaussians.means.copy()
        covariances = gaussians.covariances.array().copy()
        for (i, j), centre, step, covariance in zip(pairs, centres, steps, joint, strict=True):
            weights[[i, j]] = (weights[i] + weights[j]) / 2
            means[i], means[j] = centre + step, centre - step
            if not self.tied:
                covariances[[i, j]] = covariance
        return self.make(weights, means, covariances)

    def _split(
        self, mixture: Mixed, order: Integers, weights: Floats, pairs: dict[int, int], displacement: float
    ) -> Mixed:
        # LBG split: move the two halves from their mean, m ± ε √λ v, along the leading eigenvector v of the covariance.
        gaussians: Gaussians = mixture.components
        means = gaussians.means[order]
        for which, other in pairs.items():
            step = displacement * self.form.leading_step(gaussians, which)
            means[which] += step
            means[other] -= step
        return Mixed(weights, Gaussians(means, gaussians.covariances.take(order)))


@dataclass(frozen=True, eq=False)
class GaussianEStep(EStep):
    """E step of Gaussian components: one matrix product for the log densities and one for the sums.

    If a component is so narrow or so far from the origin that expanded squares would cancel digits, its log densities
    and sums are computed separately, from the differences between rows and mean.

    Parameters
    ----------
    form : NaturalForm
    mixture : Mixed
    means, precisions, constants
        Parameters of the components as returned by :meth:`NaturalForm.standardize`.
    near : array of bool of shape (n_components,)
        Components whose squares are expanded.
    references : array of shape (n_components, d)
        Points about which the sums are taken.
    theta : array of shape (n_near, n_statistics)
        Natural parameters of the near components.
    """

    form: NaturalForm
    mixture: Mixed
    means: Floats
    precisions: Floats
    constants: Floats
    near: Booleans
    references: Floats
    theta: Floats

    def pieces(self, block: Block) -> Iterator[Block]:
        rows = self.form.piece_rows(len(self.means))
        return _split_block(block, rows, collect_missing=not self.form.expands_missing)

    def expand(self, piece: Block) -> Expanded | Floats:
        """Return the sufficient statistics of rows, or the rows if missing values prevent the expansion."""
        X = dense(piece.X)
        if not self.form.expands_missing and np.isnan(X[0]).any():
            return X
        return self.form.expand(X, bool(self.near.any()))

    def log_joint(self, rows: Expanded | Floats) -> Floats:
        if not isinstance(rows, Expanded):
            # Rows with missing values: marginal densities of the observed columns.
            logs = self.mixture.components.log_density(rows).T + log(self.mixture.weights)[:, None]
            return np.ascontiguousarray(logs)
        missing, log_weights = rows.observed is not None, self.mixture.log_weights
        logs = _WORKSPACE.array("log_joint", (len(self.means), rows.phi.shape[1]))
        if self.near.all():
            # Log joint densities of all components by one product, Θφ.
            np.matmul(self._theta(missing), rows.phi, out=logs)
        else:
            logs[self.near] = self._theta(missing) @ rows.phi if self.near.any() else 0.0
            # Components that are not near: from differences, one component at a time.
            for k in np.flatnonzero(~self.near):
                logs[k] = self.form.log_density(rows, self.means[k], self.precisions[k], self.constants[k])
                logs[k] += 0.0 if missing else log_weights[k]
        if missing:
            logs += log_weights[:, None]
        return logs

    def gather(self, rows: Expanded | Floats, shares: Floats, factors: Floats) -> tuple[Floats, GaussianSums]:
        if not isinstance(rows, Expanded):
            # Expected sums given the observed values.
            gamma = shares * factors
            sums = self.form.sum_incomplete(rows, gamma, self.mixture.components, self.references)
            return gamma.sum(axis=1), GaussianSums(sums, self.references)
        # Components summed from differences come first, because the products may overwrite shares and statistics.
        separate = {
            k: self.form.sum_differences(rows, self.references[k], shares[k] * factors)
            for k in np.flatnonzero(self._needs_differences)
        }
        weights, sums = self.form.sum_products(rows, shares, factors)
        for k, differences in separate.items():
            sums[k] = differences
        return weights, GaussianSums(sums, self.references)

    @cached_property
    def _needs_differences(self) -> Booleans:
        """Components whose sums cannot be taken from products about the origin."""
        return ~self.near | self.references.any(axis=1)

    def _theta(self, missing: bool) -> Floats:
        return self._theta_of_missing if missing else self.theta

    @cached_property
    def _theta_of_missing(self) -> Floats:
        near = self.near
        parameters = self.mixture.log_weights[near], self.means[near], self.precisions[near], self.constants[near]
        return self.form.natural_parameters(*parameters, missing=True)


def _split_block(block: Block, rows: int, collect_missing: bool) -> Iterator[Block]:
    """Split a block into pieces of at most ``rows`` rows, and separate rows with missing values from complete rows.

    With ``collect_missing`` all rows with missing values form one piece, so that each pattern is processed once.
    """
    incomplete = []
    for low in range(0, len(block), rows):
        piece = block if len(block) <= rows else _slice_block(block, low, low + rows)
        if _has_finite_sum(piece):
            yield piece
            continue
        X = dense(piece.X)
        if np.isinf(X).any():
            raise piece.non_finite()
        missing = np.isnan(X).any(axis=1)
        if not missing.all():
            yield piece.take(np.flatnonzero(~missing))
        if collect_missing:
            incomplete.append(low + np.flatnonzero(missing))
        elif missing.any():
            yield piece.take(np.flatnonzero(missing))
    if any(map(len, incomplete)):
        yield block.take(np.concatenate(incomplete))


def _has_finite_sum(piece: Block) -> bool:
    """Return whether the sum of all values is finite, which implies that all values are finite."""
    values: Any = piece.X.data if issparse(piece.X) else piece.X
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def _slice_block(block: Block, low: int, high: int) -> Block:
    rows = slice(low, high)
    weight = None if block.weight is None else block.weight[rows]
    positions = None if block.positions is None else block.positions[rows]
    return Block(block.X[rows], weight=weight, positions=positions)
