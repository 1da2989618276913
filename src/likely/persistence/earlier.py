"""Classes under which earlier model files hold the sums and families of Gaussian mixtures.

They exist for reading alone: each is built as the class that has taken its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from likely._constraints import Scope, flag, floats
from likely._typing import Floats
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.natural_form import DiagonalForm, FullForm, GaussianSums, SphericalForm


@dataclass(frozen=True, eq=False)
class _EarlierFamily:
    origin: Annotated[Floats, floats("d")]
    least: Annotated[Floats, floats("d", above=0)]
    tied: Annotated[bool, flag]


@dataclass(frozen=True, eq=False)
class FullFamily(_EarlierFamily):
    """A family of full form."""

    L: Annotated[Floats, floats("d", "d")]

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianFamily:
        form = FullForm(found["origin"], found["least"], found["L"])
        form._check_state(Scope())
        return GaussianFamily(form, found["tied"])


@dataclass(frozen=True, eq=False)
class DiagonalFamily(_EarlierFamily):
    """A family of diagonal or spherical form."""

    scale: Annotated[Floats, floats("d", above=0)]
    variances: Annotated[Floats, floats("d", low=0)]
    spherical: Annotated[bool, flag]

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianFamily:
        common = found["origin"], found["least"], found["scale"]
        form = SphericalForm(*common, found["variances"]) if found["spherical"] else DiagonalForm(*common)
        return GaussianFamily(form, found["tied"])


@dataclass(frozen=True, eq=False)
class FullSums(GaussianSums):
    """Sums of a full form."""

    @classmethod
    def _from_file(cls, found: dict[str, Any]) -> GaussianSums:
        return GaussianSums(**found)


@dataclass(frozen=True, eq=False)
class DiagonalSums(FullSums):
    """Sums of a diagonal or spherical form."""
