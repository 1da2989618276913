"""Gaussian densities: a single one, and a stack of several that are evaluated together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, floats, instance_of, none_or, optional
from likely._numerics import dense
from likely._typing import Booleans, CovarianceName, Floats, Integers, Rows
from likely.blocks import AdditiveState, Block, Source, over_rows
from likely.blocks.gathering import moments, total_moments
from likely.densities.base import Density
from likely.densities.covariance import SHAPE, Covariance, shape_of
from likely.densities.factors import LOG_2PI, Covariances, DiagonalCovariances, FullCovariances
from likely.densities.given import check_array, check_covariances
from likely.exceptions import IncompatiblePartsError, InvalidDataError, MissingValuesError
from likely.statistics import ByClass, DiagonalMoments, Moments


@dataclass(frozen=True, eq=False)
class Gaussians:
    """K Gaussian densities on the same columns: the classes of a classifier, or the components of a mixture.

    Parameters
    ----------
    means : array of shape (K, d)
    covariances : Covariances
        K covariances, or one that all densities share.

    Notes
    -----
    log N(x; m, C) = −½ [(x − m)' C⁻¹ (x − m) + log |C| + d log 2π]. Missing values (NaN) are integrated out: the
    marginal density of the observed columns is Gaussian, with their part of m and C. A row without observed values has
    the log density 0.
    """

    means: Annotated[Floats, floats("k", "d")]
    covariances: Annotated[Covariances, instance_of(FullCovariances, DiagonalCovariances, n="k*", d="d")]

    def log_density(self, X: Rows) -> Floats:
        """Log densities, of shape (n, K)."""
        scores = over_rows(self._score_finite, X, len(self.means))
        # Missing values, infinities and overflow all give scores that are not finite; examine only those rows.
        suspect = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(suspect):
            scores[suspect] = self._score_incomplete(dense(X[suspect]), suspect)
        return scores

    def marginal(self, columns: Booleans) -> Gaussians:
        """Return the marginal densities of some columns."""
        return Gaussians(self.means[:, columns], self.covariances.marginal(columns))

    def sample(self, codes: Integers, random: np.random.RandomState) -> Floats:
        """Draw one row for each code, from the density with that index."""
        white = random.standard_normal((len(codes), self.means.shape[1]))
        for k in np.unique(codes):
            rows = codes == k
            white[rows] = self.means[k] + self.covariances.colour(int(k), white[rows])
        return white

    def broadcast_covariances(self) -> Floats:
        """Return one covariance for each of the K densities, as matrices, or as variances if they are diagonal."""
        stacked = self.covariances.array()
        return np.broadcast_to(stacked, (len(self.means), *stacked.shape[1:]))

    @cached_property
    def _distances(self) -> Any:
        return self.covariances.distances(self.means)

    @cached_property
    def _constants(self) -> Floats:
        return np.asarray(-0.5 * (self.covariances.log_determinants + self.means.shape[1] * LOG_2PI))

    def _score_finite(self, rows: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(self._distances(rows) * -0.5 + self._constants)

    def _score_incomplete(self, rows: Floats, positions: Integers) -> Floats:
        """Score rows with missing values, one pattern of observed columns at a time; raise for infinite values."""
        infinite = np.isinf(rows).any(axis=1)
        if infinite.any():
            at = int(infinite.argmax())
            raise Block(rows[at : at + 1], positions=positions[at : at + 1]).non_finite()
        patterns, which = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        scores = np.empty((len(rows), len(self.means)))
        for k, observed in enumerate(patterns):
            chosen = which.ravel() == k
            scores[chosen] = self._score_observed(rows[chosen][:, observed], observed)
        return scores

    def _score_observed(self, rows: Floats, observed: Booleans) -> Floats:
        if observed.all():
            # The squares of these finite rows overflow: the density is 0 in double precision.
            scores = self._score_finite(rows)
            return np.where(np.isfinite(scores), scores, -np.inf)
        if not observed.any():
            return np.zeros((len(rows), len(self.means)))
        return self.marginal(observed)._score_finite(rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"means": self.means, "covariances": self.covariances}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class GaussianState(AdditiveState):
    """Moments of all rows, and the Gaussian estimated from them."""

    statistics_: Annotated[Any, optional(instance_of(Moments, DiagonalMoments, d="d"))]
    _parameters: Annotated[Gaussians | None, none_or(instance_of(Gaussians, d="d", k="one"))] = None


class Gaussian(Density):
    """Multivariate Gaussian density.

    The estimate is that of maximum likelihood by default; ``covariance=Full(unbiased=True)`` divides by n − 1. A
    singular covariance is floored with a warning (see :class:`likely.Full`). Missing values are allowed: a diagonal or
    spherical shape omits them column by column, the full shape is fitted by EM. ``partial_fit`` of the full shape
    cannot use EM, so it takes no missing values.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"} or Covariance, default "full"
        The shape of the covariance, by name or as an object with its options. ``Full(towards="pooled")`` needs classes,
        so it cannot be shrunk here.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    covariance_ : array of shape (n_features, n_features)
    n_parameters_ : int
        With d columns: d + d(d + 1)/2 for the full shape, 2d for the diagonal shape, d + 1 for the spherical shape.
    statistics_ : Moments or DiagonalMoments
        Weight, mean and scatter of the rows. It does not exist if the parameters were given.

    Examples
    --------
    >>> import numpy as np
    >>> heights = Gaussian().fit([[170.0], [176.0], [180.0]])
    >>> heights.mean_, heights.covariance_
    (array([175.33333333]), array([[16.88888889]]))
    >>> heights.log_density([[174.0]])
    array([-2.38489808])
    """

    _State = GaussianState
    _constraints: ClassVar[Constraints] = {"covariance": SHAPE}

    def __init__(self, covariance: CovarianceName | Covariance = "full") -> None:
        self.covariance = covariance

    @classmethod
    def given(cls, mean: Any, covariance: Any) -> Gaussian:
        """Return the Gaussian with a given mean and covariance.

        Parameters
        ----------
        mean : array of shape (n_features,)
        covariance : array of shape (n_features, n_features) or (n_features,), or float
            A symmetric positive-definite matrix gives the full shape, a vector of variances the diagonal shape, and one
            variance of all columns the spherical shape.

        Examples
        --------
        >>> standard = Gaussian.given([0.0, 0.0], 1.0)
        >>> standard, standard.log_density([[0.0, 0.0]])
        (Gaussian(covariance='spherical'), array([-1.83787707]))
        """
        mu = check_array("mean", mean, 1, cls.__name__)
        shape, covariances = check_covariances("covariance", covariance, len(mu), None, cls.__name__)
        return cls(shape)._set_given(Gaussians(mu[None], covariances), len(mu))

    @classmethod
    def from_moments(
        cls, moments: Moments | DiagonalMoments, covariance: CovarianceName | Covariance = "full"
    ) -> Gaussian:
        """Return the Gaussian estimated from given moments."""
        kind = shape_of(covariance).moments
        if kind is Moments and not isinstance(moments, Moments):
            raise IncompatiblePartsError(
                "A full covariance cannot be estimated from diagonal moments. Use covariance='diagonal', or collect "
                "the statistics with the class Moments."
            )
        return cls(covariance).estimate(moments if isinstance(moments, kind) else moments.diagonal())

    @property
    def mean_(self) -> Floats:
        return np.asarray(self._gaussians().means[0])

    @property
    def covariance_(self) -> Floats:
        return self._gaussians().covariances.matrix(0)

    def _learn(self, source: Source) -> None:
        try:
            super()._learn(source)
        except MissingValuesError:
            from likely.densities.missing import estimate_expected_moments

            self.estimate(
                estimate_expected_moments(source, shape_of(self.covariance)).total(), source.classes, adds_up=False
            )

    @property
    def needs(self) -> Any:
        """Class of the moments from which the shape is estimated."""
        return shape_of(self.covariance).moments

    def _gaussians(self) -> Gaussians:
        gaussians: Gaussians = self._get_parameters()
        return gaussians

    def _statistic(self) -> Any:
        return moments, (self.needs,)

    def _estimate(self, statistics: Any) -> Gaussians:
        return estimate_gaussians(ByClass({0: statistics}), ["X"], shape_of(self.covariance), remedy=_REMEDY)

    def _log_density(self, parameters: Gaussians, X: Rows) -> Floats:
        return np.asarray(parameters.log_density(X)[:, 0])

    def _sample(self, parameters: Gaussians, n_samples: int, random: np.random.RandomState) -> Floats:
        return parameters.sample(np.zeros(n_samples, dtype=np.intp), random)

    def _n_parameters(self, parameters: Gaussians) -> int:
        d = len(parameters.means[0])
        return d + shape_of(self.covariance).n_parameters(d)


def estimate_gaussians(
    statistics: ByClass[Any], names: list[str], shape: Covariance, tied: bool = False, remedy: str = ""
) -> Gaussians:
    """Estimate Gaussians from the moments of each class, with one covariance for each, or one pooled within classes."""
    parts = list(statistics.parts.values())
    _check_columns(parts, names)
    whole = total_moments(statistics.each(lambda part: part.diagonal()))
    if tied:
        pooled = [statistics.within()]
        covariances = shape.estimate(pooled, ["The pooled data"], whole, n_means=len(parts), remedy=remedy)
    else:
        covariances = shape.estimate(parts, names, whole, remedy=remedy)
    return Gaussians(np.stack([part.mean for part in parts]), covariances)


_REMEDY = "Use covariance='diagonal', set shrinkage, or drop the columns that repeat others."


def _check_columns(parts: list[Any], names: list[str]) -> None:
    for part, name in zip(parts, names, strict=True):
        empty = np.flatnonzero(part.diagonal().column_weights == 0)
        if len(empty):
            raise InvalidDataError(
                f"{name} has no value in column {empty[0]}: all its values are NaN. Drop that column, or fill in its "
                "values."
            )
