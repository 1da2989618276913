"""Everything before the first iteration of EM: coordinates, floors and starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from likely._constraints import (
    Constraints,
    check_argument,
    check_parameters,
    count,
    either,
    instance_of,
    number,
    numbers,
    one_of,
    tuple_of,
)
from likely._formatting import format_count
from likely._numerics import is_rounding
from likely._typing import Floats
from likely._validation import as_floats
from likely.blocks import Block, Source, sampled
from likely.blocks.gathering import moments
from likely.densities.covariance import Covariance, shape_of
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EMResult, e_step, m_step, run_em
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.kmeans import cluster_sample
from likely.densities.mixtures.mixture import Mixed, MixtureBase
from likely.exceptions import InvalidDataError, InvalidParameterError, MissingValuesError
from likely.statistics import DiagonalMoments, Moments

FLOOR = 1e-6
"""Default floor of a mixture, relative to the variances of all rows."""


@dataclass(frozen=True, eq=False)
class Setup:
    """All that EM needs besides a start.

    Parameters
    ----------
    source : Source
        The rows, in blocks that suit the shape.
    family : GaussianFamily
        The components, with coordinates and floors that follow from the moments of all rows.
    single : Mixed
        All rows as one component.
    hard : bool
    tol : float
    """

    source: Source
    family: GaussianFamily
    single: Mixed
    hard: bool
    tol: float

    @classmethod
    def of(
        cls, source: Source, shape: Covariance, tied: bool, floor: Any, n_components: int, hard: bool, tol: float
    ) -> Setup:
        """Survey the rows, in one pass, for mixtures of up to ``n_components`` components."""
        width = shape.natural_form.block_width(source.n_features)
        if width > source.n_features:
            # An E step widens rows by products; shorter blocks give work to several threads.
            source = source.reblock(width)
        survey = _survey_rows(source, shape)
        if survey.rows < n_components:
            raise InvalidDataError(
                f"A mixture needs as many rows as components at least, but GaussianMixture was given "
                f"{format_count(survey.rows, 'row')} (n_samples={survey.rows}) for n_components={n_components}. "
                "Use fewer components."
            )
        whole = survey.moments
        least = least_variances(floor, whole.diagonal(), shape.natural_form.resolution)
        family = GaussianFamily(shape.natural_form.from_moments(whole, least), tied)
        covariance = whole.covariance() if isinstance(whole, Moments) else whole.variances()
        single = family.make(np.ones(1), whole.mean[None].copy(), covariance[None])
        return cls(source, family, single, hard, tol)

    def run(self, start: Mixed) -> EMResult:
        """Run EM from a start."""
        return run_em(self.source, self.family, start, self.hard, self.tol)

    def grow(self, sizes: Iterable[int], displacement: float) -> dict[int, EMResult]:
        """Mixtures of several sizes, grown by splitting components (LBG).

        Powers of two grow from each other, any other size from the power of two below it. So a size gives the same
        mixture, whatever other sizes are asked for.
        """
        reached = {1: self.run(self.single)}

        def grow(size: int) -> EMResult:
            if size not in reached:
                below = grow(1 << ((size - 1).bit_length() - 1))
                reached[size] = self.run(self.family.grow(below.mixture, size, displacement))
            return reached[size]

        return {size: grow(size) for size in sizes}


@dataclass(frozen=True, eq=False)
class _Survey:
    """The moments of all rows, and how many there are."""

    moments: Any
    rows: int

    def __add__(self, other: _Survey) -> _Survey:
        return _Survey(self.moments + other.moments, self.rows + other.rows)


def _survey_rows(source: Source, shape: Covariance) -> _Survey:
    try:
        survey: _Survey = source.reduce(_survey_block, shape.moments)
    except MissingValuesError:
        survey = source.reduce(_survey_block, DiagonalMoments)
    empty = np.flatnonzero(survey.moments.diagonal().column_weights == 0)
    if len(empty):
        raise InvalidDataError(
            f"X has no value in column {empty[0]}: all are NaN. Drop that column, or fill its values in."
        )
    return survey


def _survey_block(block: Block, kind: Any) -> _Survey:
    return _Survey(moments(block, kind), len(block))


def mixture_shape(covariance: Any) -> Covariance:
    """The shape that ``covariance`` means; refuse options with which an estimate is not that of largest likelihood."""
    shape = shape_of(covariance)
    if shape.get_params() != type(shape)().get_params():
        raise InvalidParameterError(
            f"A mixture takes shapes without options of their own, since EM would not climb with {shape!r}. Give its "
            f"name, {shape.name!r}, and the floor as the mixture's floor."
        )
    return shape


class AbsoluteFloor(BaseEstimator):  # type: ignore[misc]
    """A least eigenvalue of every covariance, in the units of the data, as courses teach it.

    It means the same for all columns, so it is for columns on one scale that is known.

    Parameters
    ----------
    value : float, default 0.01

    Examples
    --------
    >>> from likely import GaussianMixture
    >>> mixture = GaussianMixture(2, floor=AbsoluteFloor(0.01)).fit([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    >>> mixture.covariances_.ravel()
    array([0.01, 0.01])
    """

    _constraints: ClassVar[Constraints] = {"value": number(above=0)}

    def __init__(self, value: float = 0.01) -> None:
        self.value = value


FLOORS = either(number(0, below=1), instance_of(AbsoluteFloor))
"""A share of the variances of all rows, or a variance in the units of the data."""


def least_variances(floor: Any, whole: DiagonalMoments, resolution: float) -> Floats:
    """The least variance of each column: a share of its variance over all rows, or the same for all columns.

    A column that is constant has no variance; its mean square takes the place, or 1, as everywhere in the library.

    Parameters
    ----------
    resolution : float
        The smallest share that is distinguishable from 0.
    """
    if isinstance(floor, AbsoluteFloor):
        check_parameters(floor)
        return np.full(whole.n_features, float(floor.value))
    variances = whole.variances()
    constant = is_rounding(variances, np.sqrt(whole.mean**2 + variances))
    scale = np.where(constant, whole.mean**2, variances)
    return np.asarray(max(float(floor), resolution) * np.where(scale > 0, scale, 1.0))


class LBG(BaseEstimator):  # type: ignore[misc]
    """Grow a mixture: split every component in two, run EM, and repeat (Linde, Buzo and Gray 1980).

    Starts with one Gaussian; nothing is random. Where twice as many components would be too many, the heaviest are
    split.

    Parameters
    ----------
    displacement : float, default 0.1
        How far the halves are moved from their mean, in opposite directions along the leading eigenvector of the
        component's covariance, in standard deviations along it.
    """

    _constraints: ClassVar[Constraints] = {"displacement": number(0)}

    def __init__(self, displacement: float = 0.1) -> None:
        self.displacement = displacement

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        return setup.grow([n_components], self.displacement)[n_components]


class _DrawnStart(BaseEstimator):  # type: ignore[misc]
    """A start that depends on the random state; the best of ``n_init`` is kept."""

    _constraints: ClassVar[Constraints] = {"n_init": count(1)}

    def __init__(self, n_init: int = 1) -> None:
        self.n_init = n_init

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        raise NotImplementedError

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        results = [setup.run(self._draw(setup, n_components, random)) for _ in range(self.n_init)]
        return max(results, key=lambda found: found.history[-1])


class KMeansStart(_DrawnStart):
    """Start with the clusters of k-means on standardised columns; a row belongs to the nearest centre.

    The centres come from at most 16 384 rows.

    Parameters
    ----------
    n_init : int, default 1
        Number of starts; the mixture of highest likelihood is kept.
    """

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        rows, weight = setup.source.reduce(sampled).distinct()
        whole: Gaussians = setup.single.components
        mean, scale = whole.means[0], np.sqrt(whole.covariances.matrix(0).diagonal())
        rows = (np.where(np.isnan(rows), mean, rows) - mean) / scale
        centres = mean + cluster_sample(rows, weight, n_components, random) * scale
        # One hard iteration from equal components at the centres: the moments of each cluster.
        prepared = setup.family.prepare(setup.family.make_alike(centres, np.square(scale)))
        sums = e_step(setup.source, prepared, hard=True)
        return m_step(setup.source, setup.family, prepared, sums, hard=True)


class RandomStart(_DrawnStart):
    """Start with components as wide as all rows together, at rows drawn at random.

    Parameters
    ----------
    n_init : int, default 1
        Number of starts; the mixture of highest likelihood is kept.
    """

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        rows, weight = setup.source.reduce(sampled).distinct()
        drawn = random.choice(len(rows), n_components, replace=len(rows) < n_components, p=weight / weight.sum())
        whole: Gaussians = setup.single.components
        means = np.where(np.isnan(rows[drawn]), whole.means[0], rows[drawn])
        return setup.family.make_alike(means, whole.covariances.array()[0])


@dataclass(frozen=True, eq=False)
class _GivenStart:
    """Means, or (weights, means, covariances), or a fitted mixture."""

    init: Any

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        return setup.run(given_start(self.init, n_components, setup))


_BY_NAME = {"lbg": LBG, "kmeans": KMeansStart, "random": RandomStart}

STARTS = replace(
    either(
        one_of(*_BY_NAME),
        instance_of(LBG, _DrawnStart, MixtureBase),
        numbers(2),
        tuple_of(numbers(1), numbers(2), either(numbers(2), numbers(3))),
    ),
    description=f"one of {', '.join(map(repr, _BY_NAME))}, a start such as LBG(0.2), means of shape (n_components, "
    "n_features), a tuple (weights, means, covariances) or a fitted GaussianMixture",
)
"""A start or its name, a fitted mixture, means, or (weights, means, covariances)."""


def start_of(init: Any) -> Any:
    """The start that a constructor's ``init`` stands for: a start, the name of one, or given parameters."""
    check_argument("init", init, STARTS, "a mixture")
    if isinstance(init, str):
        return _BY_NAME[init]()
    if not isinstance(init, (LBG, _DrawnStart)):
        return _GivenStart(init)
    check_parameters(init)
    return init


def given_start(init: Any, n_components: int, setup: Setup) -> Mixed:
    """The mixture that parameters describe, once they are checked."""
    family = setup.family
    if isinstance(init, MixtureBase):
        given = _parameters_of(init)
    else:
        given = tuple(as_floats(part) for part in (init if isinstance(init, tuple) and len(init) == 3 else (init,)))
        if len(given) == 1:
            _check_means(given[0], n_components, family.n_features)
            return family.make_alike(given[0], setup.single.components.covariances.array()[0])
    weights, means, covariances = given
    _check_means(means, n_components, family.n_features)
    _check_weights(weights, len(means))
    _check_covariances(covariances, *means.shape)
    if family.tied:
        covariances = np.tensordot(weights, covariances, axes=1)[None]
    return family.make(weights, means, covariances)


def _parameters_of(init: MixtureBase) -> Any:
    if not isinstance(getattr(getattr(init, "mixed_", None), "components", None), Gaussians):
        raise InvalidParameterError(
            "init of GaussianMixture is a mixture that is not fitted, as copies made by clone are not, or not of "
            "Gaussians. Give (weights_, means_, covariances_) instead."
        )
    gaussians: Gaussians = init.mixed_.components
    return init.mixed_.weights, gaussians.means, gaussians.broadcast_covariances()


def _check_means(means: Floats, n_components: int, n_features: int) -> None:
    if means.shape != (n_components, n_features) or not np.isfinite(means).all():
        raise InvalidParameterError(
            f"Means given to a mixture must be finite and of shape ({n_components}, {n_features}), for n_components "
            f"and the columns of X, but have shape {means.shape}."
        )


def _check_weights(weights: Floats, K: int) -> None:
    if weights.shape != (K,) or not ((weights >= 0).all() and np.isclose(weights.sum(), 1)):
        raise InvalidParameterError(f"Weights given to a mixture of {K} components must be {K} shares of 1.")


def _check_covariances(covariances: Floats, K: int, d: int) -> None:
    if covariances.shape not in ((K, d, d), (K, d)) or not np.isfinite(covariances).all():
        raise InvalidParameterError(
            f"Covariances given to a mixture must be finite and of shape ({K}, {d}, {d}) or, diagonal, ({K}, {d}), but "
            f"have {covariances.shape}."
        )
    if covariances.ndim == 2:
        sound = bool((covariances >= 0).all())
    else:
        slack = 1e-6 * np.abs(covariances).max(axis=(1, 2))
        lopsided = np.abs(covariances - covariances.transpose(0, 2, 1)).max(axis=(1, 2))
        sound = bool((lopsided <= slack).all() and (np.linalg.eigvalsh(covariances)[:, 0] >= -slack).all())
    if not sound:
        raise InvalidParameterError(
            "Covariances given to a mixture must be symmetric, with no variance below 0 in any direction, but are not."
        )
