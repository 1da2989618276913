"""Mixtures learned in instalments, by stepwise EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likely.blocks import Source
from likely.densities.mixtures.em import Climb, Sums, expect
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixed import Mixed

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

    Notes
    -----
    s ← (1 − η) s + η s', with s' the sums of the instalment over its weight and η = (steps + 2)^−0.7 (Cappé and
    Moulines, "On-line EM algorithm for latent data models", JRSS B 71, 2009).
    """

    family: GaussianFamily
    average: Sums
    steps: int

    @classmethod
    def after(cls, found: Climb, family: GaussianFamily) -> Stepwise:
        """The average after a fit."""
        return cls(family, _about_origin(found.sums), 0)

    def step(self, source: Source, mixed: Mixed, hard: bool) -> tuple[Stepwise, Mixed]:
        """One more instalment."""
        expectation: Any = self.family.expectation(mixed)
        about_origin = replace(expectation, references=np.zeros_like(expectation.references))
        sums = _about_origin(source.reduce(expect, about_origin, hard))
        share = float(self.steps + 2) ** -FORGETTING
        average = _scaled(self.average, 1 - share) + _scaled(sums, share)
        return Stepwise(self.family, average, self.steps + 1), self.family.estimate(average, mixed)


def _about_origin(sums: Sums) -> Sums:
    """Sums of one unit of weight, all about the origin, so that those of several passes can be mixed."""
    return _scaled(replace(sums, parts=sums.parts.about_origin(sums.weights)), 1 / sums.weight)


def _scaled(sums: Sums, factor: float) -> Sums:
    parts = replace(sums.parts, array=sums.parts.array * factor)
    return Sums(sums.weights * factor, parts, sums.log_likelihood * factor, sums.weight * factor, sums.rows)
