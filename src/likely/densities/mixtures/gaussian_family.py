"""What families of Gaussian components share: where they begin, how one is split, which of them are at the floor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import Block, Source
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import Family
from likely.densities.mixtures.mixed import Mixed

__all__ = ["GaussianFamily", "pieces_of"]


RESTART = 0.5
"""How far, in leading standard deviations, a collapsed component and the one that it is to help are set apart."""


@dataclass(frozen=True, eq=False)
class GaussianFamily(Family):
    """Gaussian components of one shape, each with a covariance of its own or all with one.

    Sums are taken in coordinates z in which all rows together have mean 0 and variances of the order of 1, so that
    squares may be expanded into matrix products. Where a component is so small or so far off that the expansion would
    cancel digits, differences are taken first, for that component alone.

    Parameters
    ----------
    origin : array of shape (d,)
        The mean of all rows.
    least : array of shape (d,)
        The least variances: no covariance is less than the diagonal matrix of these. Because they stay the same, the
        floored estimate is the best among those allowed, and the likelihood never falls.
    tied : bool
    """

    resolved: ClassVar[float]
    """The least share of a column's variance that can be told from none."""

    origin: Floats
    least: Floats
    tied: bool

    @property
    @abstractmethod
    def shape(self) -> str:
        """The name of the covariances' shape."""

    @abstractmethod
    def finished(self, weights: Floats, means: Floats, covariances: Floats) -> Mixed:
        """The mixture of these parameters in the data's units, floored; one covariance, or one for each component.

        Covariances are matrices or variances, of shape (n, d, d) or (n, d).
        """

    @abstractmethod
    def step(self, mixed: Mixed, which: int) -> Floats:
        """The leading eigenvector of a component's covariance, as long as the standard deviation along it."""

    @abstractmethod
    def at_floor(self, mixed: Mixed) -> Integers:
        """The covariances that are at the floor in some direction."""

    def alike(self, means: Floats, covariance: Floats) -> Mixed:
        """Components of equal weight at these means, all with one covariance."""
        copies = 1 if self.tied else len(means)
        weights = np.full(len(means), 1 / len(means))
        return self.finished(weights, means, np.repeat(covariance[None], copies, axis=0))

    def revived(self, mixed: Mixed, which: int, source: Source) -> Mixed:
        """The heaviest component halved, its halves moved apart; one takes the place of the collapsed."""
        heaviest = int(np.argmax(mixed.weights))
        order = np.arange(mixed.n_components)
        order[which] = heaviest
        weights = mixed.weights.copy()
        weights[which] = 0.0
        weights[[heaviest, which]] = weights[heaviest] / 2
        return self._moved(mixed, order, weights / weights.sum(), {heaviest: which}, RESTART)

    def grown(self, mixed: Mixed, n_components: int, displacement: float) -> Mixed:
        """More components, at most twice as many: the heaviest are halved, and their halves moved apart."""
        K = mixed.n_components
        chosen = np.argsort(-mixed.weights, kind="stable")[: n_components - K]
        order = np.concatenate([np.arange(K), chosen])
        weights = mixed.weights.copy()
        weights[chosen] /= 2
        pairs = {int(which): K + i for i, which in enumerate(chosen)}
        return self._moved(mixed, order, weights[order], pairs, displacement)

    def _moved(
        self, mixed: Mixed, order: Integers, weights: Floats, pairs: dict[int, int], displacement: float
    ) -> Mixed:
        gaussians: Gaussians = mixed.components
        means = gaussians.means[order]
        for which, other in pairs.items():
            step = displacement * self.step(mixed, which)
            means[which] += step
            means[other] -= step
        return Mixed(weights, Gaussians(means, gaussians.covariances.take(order)))


def pieces_of(block: Block, rows: int, together: bool = False) -> Iterator[Block]:
    """A block in pieces of so many rows, those with missing values apart from those without.

    With ``together`` all rows with missing values are one piece, so that what they lack is looked at once.
    """
    lacking = []
    for low in range(0, len(block), rows):
        piece = block if len(block) <= rows else _cut(block, low, low + rows)
        if _is_finite(piece):
            yield piece
            continue
        X = dense(piece.X)
        if np.isinf(X).any():
            raise piece.non_finite()
        missing = np.isnan(X).any(axis=1)
        if not missing.all():
            yield piece.take(np.flatnonzero(~missing))
        if together:
            lacking.append(low + np.flatnonzero(missing))
        elif missing.any():
            yield piece.take(np.flatnonzero(missing))
    if any(map(len, lacking)):
        yield block.take(np.concatenate(lacking))


def _is_finite(piece: Block) -> bool:
    """Whether all values are, read off their sum, which may be infinite for other reasons too."""
    values: Any = piece.X.data if issparse(piece.X) else piece.X
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def _cut(block: Block, low: int, high: int) -> Block:
    rows = slice(low, high)
    weight = None if block.weight is None else block.weight[rows]
    positions = None if block.positions is None else block.positions[rows]
    return Block(block.X[rows], weight=weight, positions=positions)
