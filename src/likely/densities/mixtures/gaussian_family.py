"""Gaussian components of a mixture: one family, which asks the covariance shape for its arithmetic."""

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
from likely.blocks import Block
from likely.densities.factors import NEAR
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EStep, Family, Sums
from likely.densities.mixtures.mixture import Mixed
from likely.densities.natural_form import Expanded, GaussianSums, NaturalForm

_WORKSPACE = Workspace()

RESTART = 0.5
"""Displacement, in leading standard deviations, of a collapsed component and of the one whose half it takes."""


@dataclass(frozen=True, eq=False)
class GaussianFamily(Family):
    """Gaussian components of one covariance shape, each with its covariance or all with one.

    Parameters
    ----------
    form : NaturalForm
        The arithmetic of the shape, with the coordinates and the floor that the rows determine.
    tied : bool
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
        near = self.form.is_near(mixture.components, means, precisions)
        # Sums of components near the origin are taken about it, the others' about their means.
        references = np.where(near[:, None], 0.0, means)
        theta = self.form.natural_parameters(
            mixture.log_weights[near], means[near], precisions[near], constants[near], missing=False
        )
        return GaussianEStep(self.form, mixture, means, precisions, constants, near, references, theta)

    def recentre(self, prepared: GaussianEStep, after: Mixed) -> GaussianEStep | None:
        means, precisions, _ = self.form.standardize(after.components)
        lost = self.form.squared_distances(means - prepared.references, precisions) > NEAR
        if not lost.any():
            return None
        return replace(prepared, references=np.where(lost[:, None], means, prepared.references))

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        means, covariances = self.form.estimate(sums.weights, sums.parts, before.components, self.tied)
        return self.make(sums.weights / sums.weights.sum(), means, covariances)

    def make(self, weights: Floats, means: Floats, covariances: Floats) -> Mixed:
        """The mixture of these parameters in the data's units, with floored covariances.

        Covariances are matrices or variances, of shape (n, d, d) or (n, d): one, or one for each component.
        """
        return Mixed(weights, Gaussians(means, self.form.floored(covariances)))

    def make_alike(self, means: Floats, covariance: Floats) -> Mixed:
        """Components of equal weight at these means, all with one covariance."""
        copies = 1 if self.tied else len(means)
        weights = np.full(len(means), 1 / len(means))
        return self.make(weights, means, np.repeat(covariance[None], copies, axis=0))

    def revive(self, mixture: Mixed, which: int) -> Mixed:
        """Halve the heaviest component and move its halves apart; one takes the place of the collapsed one."""
        heaviest = int(np.argmax(mixture.weights))
        order = np.arange(mixture.n_components)
        order[which] = heaviest
        weights = mixture.weights.copy()
        weights[which] = 0.0
        weights[[heaviest, which]] = weights[heaviest] / 2
        return self._split(mixture, order, weights / weights.sum(), {heaviest: which}, RESTART)

    def grow(self, mixture: Mixed, n_components: int, displacement: float) -> Mixed:
        """Split the heaviest components, so that there are ``n_components``, at most twice as many as before."""
        K = mixture.n_components
        chosen = np.argsort(-mixture.weights, kind="stable")[: n_components - K]
        order = np.concatenate([np.arange(K), chosen])
        weights = mixture.weights.copy()
        weights[chosen] /= 2
        pairs = {int(which): K + i for i, which in enumerate(chosen)}
        return self._split(mixture, order, weights[order], pairs, displacement)

    def _split(
        self, mixture: Mixed, order: Integers, weights: Floats, pairs: dict[int, int], displacement: float
    ) -> Mixed:
        gaussians: Gaussians = mixture.components
        means = gaussians.means[order]
        for which, other in pairs.items():
            step = displacement * self.form.leading_step(gaussians, which)
            means[which] += step
            means[other] -= step
        return Mixed(weights, Gaussians(means, gaussians.covariances.take(order)))


@dataclass(frozen=True, eq=False)
class GaussianEStep(EStep):
    """The E step of Gaussian components, all of which one matrix product scores and another sums.

    A component may be so small or so far from the origin that expanded squares would cancel digits. The differences of
    rows and mean are then taken first, for that component alone.

    Parameters
    ----------
    form : NaturalForm
    mixture : Mixed
    means, precisions, constants
        Of the components, as :meth:`NaturalForm.standardize` gives them.
    near : array of bool of shape (n_components,)
        Components whose squares are expanded.
    references : array of shape (n_components, d)
        The points about which the sums are taken.
    theta : array of shape (n_near, n_statistics)
        Natural parameters of the components that are near.
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
        """Sufficient statistics of rows, or the rows themselves where their missing values prevent that."""
        X = dense(piece.X)
        if not self.form.expands_missing and np.isnan(X[0]).any():
            return X
        return self.form.expand(X, bool(self.near.any()))

    def log_joint(self, rows: Expanded | Floats) -> Floats:
        if not isinstance(rows, Expanded):
            logs = self.mixture.components.log_density(rows).T + log(self.mixture.weights)[:, None]
            return np.ascontiguousarray(logs)
        missing, log_weights = rows.observed is not None, self.mixture.log_weights
        logs = _WORKSPACE.array("log_joint", (len(self.means), rows.phi.shape[1]))
        if self.near.all():
            np.matmul(self._theta(missing), rows.phi, out=logs)
        else:
            logs[self.near] = self._theta(missing) @ rows.phi if self.near.any() else 0.0
            for k in np.flatnonzero(~self.near):
                logs[k] = self.form.log_density(rows, self.means[k], self.precisions[k], self.constants[k])
                logs[k] += 0.0 if missing else log_weights[k]
        if missing:
            logs += log_weights[:, None]
        return logs

    def gather(self, rows: Expanded | Floats, shares: Floats, factors: Floats) -> tuple[Floats, GaussianSums]:
        if not isinstance(rows, Expanded):
            gamma = shares * factors
            sums = self.form.sum_incomplete(rows, gamma, self.mixture.components, self.references)
            return gamma.sum(axis=1), GaussianSums(sums, self.references)
        # First the components apart: the products may overwrite shares and statistics.
        apart = {
            k: self.form.sum_differences(rows, self.references[k], shares[k] * factors)
            for k in np.flatnonzero(self._is_apart)
        }
        weights, sums = self.form.sum_products(rows, shares, factors)
        for k, differences in apart.items():
            sums[k] = differences
        return weights, GaussianSums(sums, self.references)

    @cached_property
    def _is_apart(self) -> Booleans:
        """Components whose sums are not taken from products about the origin."""
        return ~self.near | self.references.any(axis=1)

    def _theta(self, missing: bool) -> Floats:
        return self._theta_of_missing if missing else self.theta

    @cached_property
    def _theta_of_missing(self) -> Floats:
        near = self.near
        parameters = self.mixture.log_weights[near], self.means[near], self.precisions[near], self.constants[near]
        return self.form.natural_parameters(*parameters, missing=True)


def _split_block(block: Block, rows: int, collect_missing: bool) -> Iterator[Block]:
    """Pieces of a block with at most ``rows`` rows, those with missing values apart from those without.

    With ``collect_missing`` all rows with missing values are one piece, so that each pattern is looked at once.
    """
    lacking = []
    for low in range(0, len(block), rows):
        piece = block if len(block) <= rows else _cut(block, low, low + rows)
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
            lacking.append(low + np.flatnonzero(missing))
        elif missing.any():
            yield piece.take(np.flatnonzero(missing))
    if any(map(len, lacking)):
        yield block.take(np.concatenate(lacking))


def _has_finite_sum(piece: Block) -> bool:
    """Whether the sum of all values is finite; then all values are."""
    values: Any = piece.X.data if issparse(piece.X) else piece.X
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def _cut(block: Block, low: int, high: int) -> Block:
    rows = slice(low, high)
    weight = None if block.weight is None else block.weight[rows]
    positions = None if block.positions is None else block.positions[rows]
    return Block(block.X[rows], weight=weight, positions=positions)
