"""Mixtures learned in instalments, by stepwise EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likely.blocks import Source
from likely.densities.mixtures.em import Climb, Sums, expect
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import InvalidDataError

__all__ = ["Stepwise"]

FORGETTING = 0.7
"""Exponent between ½, which forgets fastest, and 1, at which all instalments weigh alike."""


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A running average of the sums of passes, from which a mixture is estimated anew after each instalment.

    Parameters
    ----------
    family : GaussianFamily
        As fixed by the first instalment, and so are the floors.
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

    family: GaussianFamily
    average: Sums
    steps: int
    typical: float

    @classmethod
    def after(cls, found: Climb, family: GaussianFamily) -> Stepwise:
        """The average after a fit."""
        return cls(family, _about_origin(found.sums), 0, found.sums.weight)

    def step(self, source: Source, mixed: Mixed, hard: bool) -> tuple[Stepwise, Mixed]:
        """One more instalment."""
        expectation: Any = self.family.expectation(mixed)
        about_origin = replace(expectation, references=np.zeros_like(expectation.references))
        with np.errstate(all="ignore"):
            sums = source.reduce(expect, about_origin, hard)
        if not (np.isfinite(sums.parts.array).all() and np.isfinite(sums.log_likelihood)):
            raise InvalidDataError(
                "Values of this instalment are too large to be squared and summed beside those of the first. Rescale "
                "them, or leave such rows out."
            )
        share = min(1.0, float(self.steps + 2) ** -FORGETTING * sums.weight / self.typical)
        average = _scaled(self.average, 1 - share) + _scaled(_about_origin(sums), share)
        typical = self.typical + (sums.weight - self.typical) / (self.steps + 2)
        return Stepwise(self.family, average, self.steps + 1, typical), self.family.estimate(average, mixed)


def _about_origin(sums: Sums) -> Sums:
    """Sums of one unit of weight, all about the origin, so that those of several passes can be mixed."""
    return _scaled(replace(sums, parts=sums.parts.about_origin(sums.weights)), 1 / sums.weight)


def _scaled(sums: Sums, factor: float) -> Sums:
    parts = replace(sums.parts, array=sums.parts.array * factor)
    return Sums(sums.weights * factor, parts, sums.log_likelihood * factor, sums.weight * factor, sums.rows)
