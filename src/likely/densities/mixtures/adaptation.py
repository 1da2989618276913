"""Means moved towards rows, as far as there are some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import Block, Source
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.mixed import Mixed

__all__ = ["adapted"]


def adapted(source: Source, mixed: Mixed, relevance: float) -> Mixed:
    """The mixture with its means moved; ``relevance`` is how many rows weigh as much as what was known."""
    sums: _Shifts = source.reduce(_shifts, mixed)
    gaussians: Gaussians = mixed.components
    steps = sums.steps / np.maximum(sums.weights + relevance, np.finfo(np.float64).tiny)[:, None]
    return Mixed(mixed.weights, Gaussians(gaussians.means + steps, gaussians.covariances))


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Weight of the rows of each component, and the sum of their distances from its mean."""

    weights: Floats
    steps: Floats

    def __add__(self, other: _Shifts) -> _Shifts:
        return _Shifts(self.weights + other.weights, self.steps + other.steps)


def _shifts(block: Block, mixed: Mixed) -> _Shifts:
    X = dense(block.X)
    if not np.isfinite(X).all():
        raise block.non_finite()
    gamma = mixed.responsibilities(X)
    if block.weight is not None:
        gamma *= block.weight[:, None]
    weights, origin = gamma.sum(axis=0), mixed.components.means.mean(axis=0)
    steps = gamma.T @ (X - origin) - weights[:, None] * (mixed.components.means - origin)
    return _Shifts(weights, steps)
