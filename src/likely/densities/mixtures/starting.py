"""Initialisation of EM for Gaussian mixtures: coordinates, floors and starts.

References
----------
Y. Linde, A. Buzo and R. Gray, "An algorithm for vector quantizer design", IEEE Trans. Comm. 28, 1980.
D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
"""

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
    show,
    tuple_of,
)
from likely._formatting import format_count
from likely._numerics import is_rounding
from likely._typing import Floats
from likely._validation import as_floats
from likely.blocks import Block, Source, sample_rows
from likely.blocks.gathering import moments
from likely.densities.covariance import Covariance, shape_of
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EMOptions, EMResult, e_step, m_step, run_em
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.kmeans import cluster_sample
from likely.densities.mixtures.mixture import Mixed, MixtureBase
from likely.exceptions import InvalidDataError, InvalidParameterError, MissingValuesError
from likely.statistics import DiagonalMoments, Moments

FLOOR = 1e-6
"""Default floor of a mixture, relative to the variances of all rows."""


@dataclass(frozen=True, eq=False)
class Setup:
    """All arguments of EM except the start.

    Parameters
    ----------
    source : Source
        The rows, in blocks of a size that suits the shape.
    family : GaussianFamily
        The kind of the components, with coordinates and floors computed from the moments of all rows.
    single : Mixed
        One component fitted to all rows.
    options : EMOptions
    """

    source: Source
    family: GaussianFamily
    single: Mixed
    options: EMOptions

    @classmethod
    def of(
        cls, source: Source, shape: Covariance, tied: bool, floor: Any, n_components: int, options: EMOptions
    ) -> Setup:
        """Compute the moments of all rows in one pass, and the family for up to ``n_components`` components."""
        width = shape.natural_form.block_width(source.n_features)
        if width > source.n_features:
            # An E step expands rows into products; shorter blocks give work to several threads.
            source = source.reblock(width)
        survey = _survey_rows(source, shape)
        if survey.rows < n_components:
            raise InvalidDataError(
                "GaussianMixture needs at least as many rows as components, but got "
                f"{format_count(survey.rows, 'row')} (n_samples={survey.rows}) for n_components={n_components}. "
                "Use fewer components."
            )
        # Floor and coordinates from the moments of all rows; both stay fixed in all iterations.
        whole = survey.moments
        least = compute_min_variances(floor, whole.diagonal(), shape.natural_form.resolution)
        family = GaussianFamily(shape.natural_form.from_moments(whole, least), tied)
        # The mixture of one component is known in closed form.
        covariance = whole.covariance() if isinstance(whole, Moments) else whole.variances()
        single = family.make(np.ones(1), whole.mean[None].copy(), covariance[None])
        return cls(source, family, single, options)

    def run(self, start: Mixed, *, after_split: bool = False) -> EMResult:
        """Run EM from a start."""
        return run_em(self.source, self.family, start, self.options, after_split=after_split)

    def grow(self, sizes: Iterable[int], displacement: float) -> dict[int, EMResult]:
        """Fit mixtures of several sizes by splitting components (LBG).

        A power of two grows from the power of two before it. Any other size grows from the largest power of two below
        it. So the mixture of a size does not depend on the other sizes requested.
        """
        reached = {1: self.run(self.single)}

        def grow(size: int) -> EMResult:
            if size not in reached:
                below = grow(1 << ((size - 1).bit_length() - 1))
                start = self.family.grow(below.mixture, size, displacement)
                reached[size] = self.run(start, after_split=True)
            return reached[size]

        return {size: grow(size) for size in sizes}


@dataclass(frozen=True, eq=False)
class _Survey:
    """Moments and number of all rows."""

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
            f"X has no value in column {empty[0]}: all its values are NaN. Drop that column, or fill in its values."
        )
    return survey


def _survey_block(block: Block, kind: Any) -> _Survey:
    return _Survey(moments(block, kind), len(block))


def mixture_shape(covariance: Any) -> Covariance:
    """Return the shape given by ``covariance``; raise if its options exclude the maximum-likelihood estimate."""
    shape = shape_of(covariance)
    if shape.get_params() != type(shape)().get_params():
        raise InvalidParameterError(
            f"covariance of a mixture must be a shape with default options, but is {shape!r}. With other options, EM "
            f"may lower the likelihood. Give the name of the shape, {shape.name!r}, and set the floor with the "
            "parameter floor of the mixture."
        )
    return shape


class AbsoluteFloor(BaseEstimator):  # type: ignore[misc]
    """Lower bound for the eigenvalues of every covariance, in the units of the data.

    The bound is the same for all columns, so use it for columns on one known scale.

    Parameters
    ----------
    value : float, default 0.01
        The smallest eigenvalue allowed.

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
"""A fraction of the variances of all rows, or a variance in the units of the data."""


def compute_min_variances(floor: Any, whole: DiagonalMoments, resolution: float) -> Floats:
    """Return the floor of each column: a fraction of its variance over all rows, or one value for all columns.

    The variance of a constant column is replaced by its mean square, or by 1 if that is zero too, as everywhere in the
    library.

    Parameters
    ----------
    floor : float or AbsoluteFloor
    whole : DiagonalMoments
        Moments of all rows.
    resolution : float
        The smallest fraction of a variance that is distinguishable from 0.
    """
    if isinstance(floor, AbsoluteFloor):
        check_parameters(floor)
        return np.full(whole.n_features, float(floor.value))
    variances = whole.variances()
    constant = is_rounding(variances, np.sqrt(whole.mean**2 + variances))
    scale = np.where(constant, whole.mean**2, variances)
    return np.asarray(max(float(floor), resolution) * np.where(scale > 0, scale, 1.0))


class LBG(BaseEstimator):  # type: ignore[misc]
    """Grow a mixture from one Gaussian: split every component in two, run EM, and repeat (LBG).

    The result does not depend on a random state. If twice as many components would be too many, only the heaviest
    components are split.

    Parameters
    ----------
    displacement : float, default 0.1
        Distance of each half from the mean of the component, in standard deviations along the leading eigenvector of
        its covariance. The halves move in opposite directions along that eigenvector.

    References
    ----------
    Y. Linde, A. Buzo and R. Gray, "An algorithm for vector quantizer design", IEEE Trans. Comm. 28, 1980.
    """

    _constraints: ClassVar[Constraints] = {"displacement": number(0)}

    def __init__(self, displacement: float = 0.1) -> None:
        self.displacement = displacement

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        return setup.grow([n_components], self.displacement)[n_components]


class _DrawnStart(BaseEstimator):  # type: ignore[misc]
    """Base class of starts that depend on the random state; the best of ``n_init`` runs is kept."""

    _constraints: ClassVar[Constraints] = {"n_init": count(1)}

    def __init__(self, n_init: int = 1) -> None:
        self.n_init = n_init

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        raise NotImplementedError

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        results = [setup.run(self._draw(setup, n_components, random)) for _ in range(self.n_init)]
        return max(results, key=lambda found: found.history[-1])


class KMeansStart(_DrawnStart):
    """Start EM with the clusters of k-means on standardised columns.

    The centres are computed from a sample of at most 16 384 rows, with k-means++ seeding. Then every row is assigned to
    the nearest centre.

    Parameters
    ----------
    n_init : int, default 1
        Number of starts; the mixture of highest likelihood is kept.
    """

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        # K-means on a standardised sample; the mean replaces missing values.
        rows, weight = setup.source.reduce(sample_rows).distinct()
        whole: Gaussians = setup.single.components
        mean, scale = whole.means[0], np.sqrt(whole.covariances.matrix(0).diagonal())
        rows = (np.where(np.isnan(rows), mean, rows) - mean) / scale
        centres = mean + cluster_sample(rows, weight, n_components, random) * scale
        # One hard EM iteration from equal components at the centres gives the moments of each cluster.
        prepared = setup.family.prepare(setup.family.make_equal(centres, np.square(scale)))
        sums = e_step(setup.source, prepared, hard=True)
        return m_step(setup.source, setup.family, prepared, sums, hard=True)


class RandomStart(_DrawnStart):
    """Start EM with means at randomly drawn rows, each with the covariance of all rows.

    Parameters
    ----------
    n_init : int, default 1
        Number of starts; the mixture of highest likelihood is kept.
    """

    def _draw(self, setup: Setup, n_components: int, random: np.random.RandomState) -> Mixed:
        rows, weight = setup.source.reduce(sample_rows).distinct()
        drawn = random.choice(len(rows), n_components, replace=len(rows) < n_components, p=weight / weight.sum())
        whole: Gaussians = setup.single.components
        means = np.where(np.isnan(rows[drawn]), whole.means[0], rows[drawn])
        return setup.family.make_equal(means, whole.covariances.array()[0])


@dataclass(frozen=True, eq=False)
class _GivenStart:
    """Start from given parameters: means, or (weights, means, covariances), or a fitted mixture."""

    init: Any

    def _fit(self, setup: Setup, n_components: int, random: np.random.RandomState) -> EMResult:
        return setup.run(start_from_parameters(self.init, n_components, setup))


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
    """Return the start given by ``init``: a start, the name of one, or parameters."""
    check_argument("init", init, STARTS, "a mixture")
    if isinstance(init, str):
        return _BY_NAME[init]()
    if not isinstance(init, (LBG, _DrawnStart)):
        return _GivenStart(init)
    check_parameters(init)
    return init


def start_from_parameters(init: Any, n_components: int, setup: Setup) -> Mixed:
    """Check given parameters and return their mixture."""
    family = setup.family
    if isinstance(init, MixtureBase):
        given = _check_fitted_start(init)
    else:
        given = tuple(as_floats(part) for part in (init if isinstance(init, tuple) and len(init) == 3 else (init,)))
        if len(given) == 1:
            _check_means(given[0], n_components, family.n_features)
            return family.make_equal(given[0], setup.single.components.covariances.array()[0])
    weights, means, covariances = given
    _check_means(means, n_components, family.n_features)
    _check_weights(weights, len(means))
    _check_covariances(covariances, *means.shape)
    # A tied covariance is the average of the given covariances, weighted by the components' weights.
    if family.tied:
        covariances = np.tensordot(weights, covariances, axes=1)[None]
    return family.make(weights, means, covariances)


def _check_fitted_start(init: MixtureBase) -> Any:
    if not isinstance(getattr(getattr(init, "mixed_", None), "components", None), Gaussians):
        raise InvalidParameterError(
            "init of GaussianMixture must be a fitted mixture of Gaussians, but is not fitted, or its components are "
            "not Gaussians. A copy made by clone is not fitted. Give (weights_, means_, covariances_) instead."
        )
    gaussians: Gaussians = init.mixed_.components
    return init.mixed_.weights, gaussians.means, gaussians.broadcast_covariances()


def _check_means(means: Floats, n_components: int, n_features: int) -> None:
    if means.shape != (n_components, n_features) or not np.isfinite(means).all():
        raise InvalidParameterError(
            f"Means given to a mixture must be finite and have the shape (n_components, n_features) = ({n_components}, "
            f"{n_features}), but have the shape {means.shape}."
        )


def _check_weights(weights: Floats, K: int) -> None:
    if weights.shape != (K,) or not ((weights >= 0).all() and np.isclose(weights.sum(), 1)):
        raise InvalidParameterError(
            f"Weights given to a mixture of {K} components must be {K} numbers >= 0 with sum 1, but are "
            f"{show(weights.tolist())}."
        )


def _check_covariances(covariances: Floats, K: int, d: int) -> None:
    if covariances.shape not in ((K, d, d), (K, d)) or not np.isfinite(covariances).all():
        raise InvalidParameterError(
            f"Covariances given to a mixture must be finite and have the shape ({K}, {d}, {d}) (matrices) or "
            f"({K}, {d}) (variances), but have the shape {covariances.shape}."
        )
    if covariances.ndim == 2:
        is_valid = bool((covariances >= 0).all())
    else:
        slack = 1e-6 * np.abs(covariances).max(axis=(1, 2))
        asymmetry = np.abs(covariances - covariances.transpose(0, 2, 1)).max(axis=(1, 2))
        is_valid = bool((asymmetry <= slack).all() and (np.linalg.eigvalsh(covariances)[:, 0] >= -slack).all())
    if not is_valid:
        raise InvalidParameterError(
            "Covariances given to a mixture must be symmetric and positive semi-definite, but are not."
        )
