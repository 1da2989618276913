"""What is looked at before EM begins: the moments of all rows, from which coordinates and floors follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._words import counted
from likely.blocks import ArraySource, Block, Source
from likely.densities.covariance import Covariance, Full, shape_of
from likely.densities.gathering import moments
from likely.densities.mixtures.diagonal import DiagonalFamily
from likely.densities.mixtures.floors import least_variances
from likely.densities.mixtures.full import MOST_EXPANDED, FullFamily
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import InvalidDataError, InvalidParameterError, MissingValuesError
from likely.statistics import DiagonalMoments, Moments

__all__ = ["cut_short", "mixture_shape", "surveyed_family"]


def mixture_shape(covariance: Any) -> Covariance:
    """The shape that is meant; options with which an estimate would not be the likeliest are refused."""
    shape = shape_of(covariance)
    if shape.get_params() != type(shape)().get_params():
        raise InvalidParameterError(
            f"A mixture takes shapes without options of their own, since EM would not climb with {shape!r}. Give its "
            f"name, {shape.name!r}, and the floor as the mixture's floor."
        )
    return shape


def cut_short(source: Source, shape: Covariance) -> Source:
    """Rows in memory in shorter blocks, since a pass widens them by products: work for several threads."""
    d = source.n_features
    if isinstance(source, ArraySource) and isinstance(shape, Full) and d <= MOST_EXPANDED:
        return source.cut_for(d + d * (d + 1) // 2)
    return source


def surveyed_family(
    source: Source, shape: Covariance, tied: bool, floor: Any, n_components: int, whom: str
) -> tuple[GaussianFamily, Mixed]:
    """How so many components are learned from these rows, and all rows as one component."""
    survey = _surveyed(source, shape)
    if survey.rows < n_components:
        raise InvalidDataError(
            f"A mixture needs as many rows as components at least, but {whom} was given {counted(survey.rows, 'row')} "
            f"(n_samples={survey.rows}) for n_components={n_components}. Use fewer components."
        )
    return _family_of(survey.moments, shape, tied, floor)


def _family_of(whole: Any, shape: Covariance, tied: bool, floor: Any) -> tuple[GaussianFamily, Mixed]:
    """The family for rows of these moments, and all rows as one component."""
    family: GaussianFamily
    diagonal = whole.diagonal()
    if isinstance(shape, Full):
        family = FullFamily.of(whole, least_variances(floor, diagonal, FullFamily.resolved), tied)
        spread = whole.covariance() if isinstance(whole, Moments) else whole.variances()
    else:
        least = least_variances(floor, diagonal, DiagonalFamily.resolved)
        family = DiagonalFamily.of(diagonal, least, tied, shape.name == "spherical")
        spread = whole.variances()
    return family, family.finished(np.ones(1), whole.mean[None].copy(), spread[None])


@dataclass(frozen=True, eq=False)
class _Survey:
    """The moments of all rows, and how many there are."""

    moments: Any
    rows: int

    def __add__(self, other: _Survey) -> _Survey:
        return _Survey(self.moments + other.moments, self.rows + other.rows)


def _survey(block: Block, kind: Any) -> _Survey:
    return _Survey(moments(block, kind), len(block))


def _surveyed(source: Source, shape: Covariance) -> _Survey:
    try:
        survey: _Survey = source.reduce(_survey, shape.moments)
    except MissingValuesError:
        survey = source.reduce(_survey, DiagonalMoments)
    empty = np.flatnonzero(survey.moments.diagonal().column_weights == 0)
    if len(empty):
        raise InvalidDataError(
            f"X has no value in column {empty[0]}: all are NaN. Drop that column, or fill its values in."
        )
    return survey
