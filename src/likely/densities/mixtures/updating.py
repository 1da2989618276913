"""Updates of a Gaussian mixture with new rows: stepwise EM, and adaptation of the means.

References
----------
O. Cappé and E. Moulines, "On-line expectation-maximization algorithm for latent data models", JRSS B 71, 2009.
D. Reynolds, T. Quatieri and R. Dunn, "Speaker verification using adapted Gaussian mixture models", Digital Signal
Processing 10, 2000.
"""

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
"""Exponent of the step size, in (½, 1]. With a lower exponent, earlier batches are forgotten faster; with the exponent
1, all batches have the same weight."""


@dataclass(frozen=True, eq=False)
class Stepwise:
    """Stepwise EM: a running average of the sums of E steps, from which the mixture is re-estimated after each batch.

    Parameters
    ----------
    family : GaussianFamily
        The Gaussian shape, with coordinates and floors that the first batch has determined.
    average : Sums
        Running average of the sums, each divided by the weight of its batch.
    steps : int
        Number of batches after the first.
    typical : float
        Mean weight of the batches; a lighter batch changes the average by less.

    Notes
    -----
    A batch changes the average s to (1 − η) s + η s', with s' the sums of the batch divided by its weight. The step
    size η is (steps + 2)^−0.7 (Cappé and Moulines 2009) times the weight of the batch divided by the typical weight,
    and at most 1.
    """

    family: Annotated[GaussianFamily, instance_of(GaussianFamily, d="d")]
    average: Annotated[Sums, instance_of(Sums, k="k", d="d")]
    steps: Annotated[int, count()]
    typical: Annotated[float, number(above=0)]

    def _check_state(self, scope: Scope) -> None:
        d, width = self.family.n_features, self.average.parts.array.shape[1]
        if width != self.family.form.width(d):
            raise ViolationError(
                f"average must hold {self.family.form.width(d)} sums for each component of {d} columns, but has {width}"
            )

    @classmethod
    def from_fit(cls, found: EMResult, family: GaussianFamily) -> Stepwise:
        """Return the average after a fit to the first batch: the sums of its last E step, divided by their weight."""
        return cls(family, _normalize(found.sums, family), 0, found.sums.weight)

    def step(self, source: Source, mixture: Mixed, hard: bool) -> tuple[Stepwise, Mixed]:
        """Update the average with one batch of rows, and re-estimate the mixture."""
        # E step of the batch, with all sums about the origin so that they can be averaged.
        prepared = self.family.prepare(mixture)
        prepared = replace(prepared, references=np.zeros_like(prepared.references))
        with np.errstate(all="ignore"):
            sums = e_step(source, prepared, hard)
        if not (np.isfinite(sums.parts.array).all() and np.isfinite(sums.log_likelihood)):
            raise InvalidDataError(
                "Values of this batch are so much larger than the values of the first batch that the sums of their "
                "squares overflow. Rescale the values, or drop the rows with such values."
            )
        # Step size η, at most 1, and the new average (1 − η) s + η s'.
        share = min(1.0, float(self.steps + 2) ** -FORGETTING * sums.weight / self.typical)
        average = _scale(self.average, 1 - share) + _scale(_normalize(sums, self.family), share)
        typical = self.typical + (sums.weight - self.typical) / (self.steps + 2)
        # M step: estimate the mixture from the average.
        return Stepwise(self.family, average, self.steps + 1, typical), self.family.estimate(average, mixture)


def _normalize(sums: Sums, family: GaussianFamily) -> Sums:
    """Return the sums about the origin of the family's coordinates, divided by the total weight of the rows."""
    return _scale(replace(sums, parts=family.form.shift_to_origin(sums.weights, sums.parts)), 1 / sums.weight)


def _scale(sums: Sums, factor: float) -> Sums:
    parts = replace(sums.parts, array=sums.parts.array * factor)
    return Sums(sums.weights * factor, parts, sums.log_likelihood * factor, sums.weight * factor, sums.rows)


def adapt_means(source: Source, mixture: Mixed, relevance: float) -> Mixed:
    """Return the mixture with means adapted to rows by maximum a posteriori estimation.

    Each previous mean counts as much as ``relevance`` rows at that mean. Weights and covariances are kept (Reynolds,
    Quatieri and Dunn 2000).
    """
    sums: _Shifts = source.reduce(_sum_shifts, mixture)
    gaussians: Gaussians = mixture.components
    # m_k + Σγ_k (x − m_k) / (n_k + relevance). The lower bound avoids a division by 0 if n_k = relevance = 0.
    steps = sums.steps / np.maximum(sums.weights + relevance, np.finfo(np.float64).tiny)[:, None]
    return Mixed(mixture.weights, Gaussians(gaussians.means + steps, gaussians.covariances))


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Total responsibility Σγ_k of each component k, and Σγ_k (x − m_k) with its mean m_k."""

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
    # Σγ_k (x − m_k) about the mean of the means, so that data far from zero lose no digits.
    weights, origin = gamma.sum(axis=0), mixture.components.means.mean(axis=0)
    steps = gamma.T @ (X - origin) - weights[:, None] * (mixture.components.means - origin)
    return _Shifts(weights, steps)
