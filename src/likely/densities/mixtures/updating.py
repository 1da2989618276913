"""Mixtures updated with new rows: stepwise EM in instalments, and adaptation of the means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from likely._constraints import Scope, ViolationError, count, instance_of, number
from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import Block, Source
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EMResult, Sums, e_step
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixture import Mixed
from likely.exceptions import InvalidDataError

FORGETTING = 0.7
"""Exponent between ½, which forgets fastest, and 1, with which all instalments weigh alike."""


@dataclass(frozen=True, eq=False)
class Stepwise:
    """Stepwise EM: a running average of the sums of E steps, from which each instalment re-estimates the mixture.

    Parameters
    ----------
    family : GaussianFamily
        Fixed by the first instalment, and so are the floors.
    average : Sums
        Of one unit of weight.
    steps : int
        Instalments after the first.
    typical : float
        The mean weight of instalments; a lighter one moves the average by less.

    Notes
    -----
    s ← (1 − η) s + η s', with s' the sums of the instalment over its weight and η = (steps + 2)^−0.7 (Cappé and
    Moulines, "On-line EM algorithm for latent data models", JRSS B 71, 2009), times the instalment's weight over the
    typical one.
    """

    family: Annotated[GaussianFamily, instance_of(GaussianFamily, d="d")]
    average: Annotated[Sums, instance_of(Sums, k="k", d="d")]
    steps: Annotated[int, count()]
    typical: Annotated[float, number(above=0)]

    def _check_state(self, scope: Scope) -> None:
        d, width = self.family.n_features, self.average.parts.array.shape[1]
        if width != self.family.form.width(d):
            raise ViolationError(f"average must hold the sums of {d} columns in the family's form, but has {width}")

    @classmethod
    def after(cls, found: EMResult, family: GaussianFamily) -> Stepwise:
        """The average after a fit."""
        return cls(family, _normalize(found.sums, family), 0, found.sums.weight)

    def step(self, source: Source, mixture: Mixed, hard: bool) -> tuple[Stepwise, Mixed]:
        """Learn from one more instalment."""
        # E step of the instalment, with sums about the origin so that they can be averaged.
        prepared = self.family.prepare(mixture)
        prepared = replace(prepared, references=np.zeros_like(prepared.references))
        with np.errstate(all="ignore"):
            sums = e_step(source, prepared, hard)
        if not (np.isfinite(sums.parts.array).all() and np.isfinite(sums.log_likelihood)):
            raise InvalidDataError(
                "Values of this instalment are too large to be squared and summed beside those of the first. Rescale "
                "them, or leave such rows out."
            )
        share = min(1.0, float(self.steps + 2) ** -FORGETTING * sums.weight / self.typical)
        average = _scale(self.average, 1 - share) + _scale(_normalize(sums, self.family), share)
        typical = self.typical + (sums.weight - self.typical) / (self.steps + 2)
        # M step from the average.
        return Stepwise(self.family, average, self.steps + 1, typical), self.family.estimate(average, mixture)


def _normalize(sums: Sums, family: GaussianFamily) -> Sums:
    """Sums of one unit of weight, all about the origin."""
    return _scale(replace(sums, parts=family.form.about_origin(sums.weights, sums.parts)), 1 / sums.weight)


def _scale(sums: Sums, factor: float) -> Sums:
    parts = replace(sums.parts, array=sums.parts.array * factor)
    return Sums(sums.weights * factor, parts, sums.log_likelihood * factor, sums.weight * factor, sums.rows)


def adapt_means(source: Source, mixture: Mixed, relevance: float) -> Mixed:
    """Move the means towards rows; ``relevance`` is the number of rows that weigh as much as the means before.

    This is maximum a posteriori adaptation of the means alone (Reynolds, Quatieri and Dunn 2000).
    """
    sums: _Shifts = source.reduce(_sum_shifts, mixture)
    gaussians: Gaussians = mixture.components
    steps = sums.steps / np.maximum(sums.weights + relevance, np.finfo(np.float64).tiny)[:, None]
    return Mixed(mixture.weights, Gaussians(gaussians.means + steps, gaussians.covariances))


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Total responsibility of each component, and the weighted sum of the rows' differences from its mean."""

    weights: Floats
    steps: Floats

    def __add__(self, other: _Shifts) -> _Shifts:
        return _Shifts(self.weights + other.weights, self.steps + other.steps)


def _sum_shifts(block: Block, mixture: Mixed) -> _Shifts:
    X = dense(block.X)
    if not np.isfinite(X).all():
        raise block.non_finite()
    gamma = mixture.responsibilities(X)
    if block.weight is not None:
        gamma *= block.weight[:, None]
    weights, origin = gamma.sum(axis=0), mixture.components.means.mean(axis=0)
    steps = gamma.T @ (X - origin) - weights[:, None] * (mixture.components.means - origin)
    return _Shifts(weights, steps)
