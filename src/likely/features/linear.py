"""Linear features: centring, standardisation, whitening, principal components and linear discriminants.

Such features are learned from the moments of the rows alone. They map rows, and they also map the moments of rows to
the moments of the mapped rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array

from likely._constraints import (
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    class_labels,
    count,
    either,
    floats,
    instance_of,
    is_count,
    none_or,
    number,
    one_of,
)
from likely._fitted import INPUTS
from likely._numerics import dense, is_rounding
from likely._typing import Floats, Integers, Rows, WhitenedCovariance, WhiteningForm
from likely._validation import check_rows
from likely.blocks import AdditiveLearner, AdditiveState, Block, class_moments, moments, over_rows, total_moments
from likely.densities import Full
from likely.densities.covariance import FLOOR
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.statistics import ByClass, DiagonalMoments, LinearMap, Moments


def _map_with(axes: int) -> Constraint:
    """Return the constraint of a linear map with at most as many outputs as features.

    With ``axes=1`` the map must be diagonal; with ``axes=2`` it must have a matrix.
    """
    linked = instance_of(LinearMap, d="d", m="out")

    def test(value: Any, scope: Scope) -> bool:
        linked(value, scope)
        if value.matrix.ndim != axes:
            raise ViolationError(f"must have an array with {axes} axes, but has {value.matrix.ndim}")
        if scope.sizes["out"] > scope.sizes["d"]:
            raise ViolationError(f"must have at most {scope.sizes['d']} directions, but has {scope.sizes['out']}")
        return True

    return Constraint(linked.description, test)


@dataclass(frozen=True, eq=False)
class LinearState(AdditiveState):
    """Moments of all rows, and the map that scales and shifts each column."""

    statistics_: Annotated[Moments | DiagonalMoments, instance_of(Moments, DiagonalMoments, d="d")]
    _parameters: Annotated[LinearMap | None, none_or(_map_with(axes=1))] = None


@dataclass(frozen=True, eq=False)
class WhitenState(AdditiveState):
    """Moments of all rows or of each class, and the projection computed from them."""

    statistics_: Annotated[Any, either(instance_of(Moments, d="d"), instance_of(ByClass, d="d"))]
    _parameters: Annotated[LinearMap | None, none_or(_map_with(axes=2))] = None


@dataclass(frozen=True, eq=False)
class DiscriminantsState(AdditiveState):
    """Moments of each class, and the discriminants computed from them."""

    statistics_: Annotated[ByClass[Moments], instance_of(ByClass, d="d")]
    _parameters: Annotated[LinearMap | None, none_or(_map_with(axes=2))] = None


@dataclass(frozen=True, eq=False)
class ProjectionState(AdditiveState):
    """Moments of all rows, and the projection computed from them."""

    statistics_: Annotated[Moments, instance_of(Moments, d="d")]
    _parameters: Annotated[LinearMap | None, none_or(_map_with(axes=2))] = None


class LinearFeature(TransformerMixin, AdditiveLearner):  # type: ignore[misc]
    """Base class of linear maps x ↦ (x − centre) P, with a vector ``centre`` and a matrix P learned from moments.

    A subclass declares the moments it needs and computes its :class:`~likely.statistics.LinearMap` from them.
    """

    needs: ClassVar[type[Moments] | type[DiagonalMoments]] = Moments
    """Type of the moments from which the map is learned: moments of single columns, or moments with covariances."""

    keeps_missing: ClassVar[bool] = False
    """Whether NaN in a row stays NaN in the mapped row. If False, NaN raises an error."""

    @property
    def mean_(self) -> Floats:
        return self._map().centre

    def transform(self, X: Any) -> Floats:
        """Map rows; the result has shape (n, n_outputs)."""
        linear = self._map()
        return map_rows(linear, check_rows(self, X), self.keeps_missing)

    def inverse_transform(self, X: Any) -> Floats:
        """Return, for each row z of ``X``, the row x that is nearest to the mean among all rows that map to z."""
        linear = self._map()
        Z = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan" if self.keeps_missing else True)
        if Z.shape[1] != linear.n_outputs:
            raise InvalidDataError(
                f"inverse_transform of {type(self).__name__} takes the {linear.n_outputs} columns that transform "
                f"returns, but got {Z.shape[1]}."
            )
        return linear.inverse(Z)

    def map_statistics(self, statistics: Any) -> Any:
        """Return the moments of the mapped rows, from the moments of the rows. Both may be by class."""
        linear = self._map()
        return statistics.each(lambda part: part.mapped(linear))

    def _map(self) -> LinearMap:
        linear: LinearMap = self._get_parameters()
        return linear

    def _statistic(self) -> Any:
        return (class_moments if self.by_class else moments), (self.needs,)

    @property
    def _n_features_out(self) -> int:
        return self._map().n_outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.keeps_missing
        return tags


class Projection(ClassNamePrefixFeaturesOutMixin, LinearFeature):  # type: ignore[misc]
    """Base class of linear features that mix columns; missing values raise an error."""

    @property
    def components_(self) -> Floats:
        return self._map().matrix.T

    @property
    def n_components_(self) -> int:
        return self._map().n_outputs


def map_rows(linear: LinearMap, rows: Rows, keeps_missing: bool = False) -> Floats:
    """Return the mapped rows of validated rows.

    Raise if a row contains infinity or a mapped value overflows. Raise for NaN too, unless ``keeps_missing``.
    """
    mapped = over_rows(partial(_map_without_warnings, linear), rows, linear.n_outputs)
    doubtful = np.flatnonzero(~np.isfinite(mapped).all(axis=1))
    if len(doubtful):
        _check_finite(rows, doubtful, keeps_missing)
    return mapped


def _check_finite(rows: Rows, doubtful: Integers, keeps_missing: bool) -> None:
    values = dense(rows[doubtful])
    refused = ~np.isnan(values).any(axis=1) if keeps_missing else np.ones(len(values), dtype=bool)
    refused |= np.isinf(values).any(axis=1)
    if refused.any():
        at = int(doubtful[refused.argmax()])
        raise Block(rows[at : at + 1], positions=[at]).non_finite()


def _map_without_warnings(linear: LinearMap, rows: Floats) -> Floats:
    """Return the mapped rows without NumPy warnings; the caller checks for infinities and NaN."""
    with np.errstate(all="ignore"):
        return linear(rows)


def fix_signs(directions: Floats) -> Floats:
    """Return the directions, which are columns, with the sign changed where the entry of largest size is negative."""
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))


class Center(OneToOneFeatureMixin, LinearFeature):  # type: ignore[misc]
    """Centre every column to mean 0; missing values stay missing.

    Attributes
    ----------
    mean_ : array of shape (n_features,)

    Examples
    --------
    >>> Center().fit_transform([[1.0, 5.0], [3.0, 6.0]])
    array([[-1. , -0.5],
           [ 1. ,  0.5]])
    """

    _State = LinearState
    _constraints: ClassVar[Constraints] = {}
    needs = DiagonalMoments
    keeps_missing = True

    def _estimate(self, statistics: Any) -> LinearMap:
        return LinearMap(statistics.mean, np.ones(statistics.n_features))


class Standardize(OneToOneFeatureMixin, LinearFeature):  # type: ignore[misc]
    """Standardise every column to mean 0 and variance 1; missing values stay missing.

    The variance is the maximum-likelihood estimate (divided by n). A constant column is centred and not scaled.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    scale_ : array of shape (n_features,)
        Standard deviations of the columns; 1 for a constant column.

    Examples
    --------
    >>> Standardize().fit_transform([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    _State = LinearState
    _constraints: ClassVar[Constraints] = {}
    needs = DiagonalMoments
    keeps_missing = True

    @property
    def scale_(self) -> Floats:
        return np.asarray(1 / self._map().matrix)

    def _estimate(self, statistics: Any) -> LinearMap:
        variances = statistics.variances()
        scale = np.where(is_rounding(variances, statistics.mean), 1.0, np.sqrt(variances))
        return LinearMap(statistics.mean, 1 / scale)


class Whiten(Projection):
    """Whitening: a linear map after which the covariance is the identity.

    In the form "zca" a singular covariance is floored with a warning, as in :class:`likely.Full`.

    Parameters
    ----------
    form : {"zca", "pca"}, default "zca"
        "zca" is the symmetric whitening, which changes the data least. "pca" maps onto the principal axes, largest
        variance first, and drops directions without variance.
    by : {"total", "within"}, default "total"
        The covariance that becomes the identity: that of all rows, or the average within-class covariance, which needs
        labels.
    floor : float, default 1e-9
        Minimum eigenvalue of the correlation matrix; a direction below it has no variance.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_outputs, n_features)
        One direction per row.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) @ [[1.0, 2.0], [0.0, 3.0]]
    >>> np.cov(Whiten().fit_transform(X), rowvar=False, bias=True).round(10) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    _State = WhitenState
    _constraints: ClassVar[Constraints] = {
        "form": one_of("zca", "pca"),
        "by": one_of("total", "within"),
        "floor": number(0, 1),
    }

    def __init__(self, *, form: WhiteningForm = "zca", by: WhitenedCovariance = "total", floor: float = FLOOR) -> None:
        self.form = form
        self.by = by
        self.floor = floor

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Whether fitting needs labels."""
        return self.by == "within"

    def _estimate(self, statistics: Any) -> LinearMap:
        by_class = statistics if isinstance(statistics, ByClass) else ByClass({0: statistics})
        total: Moments = total_moments(by_class)
        about: Moments = by_class.within()
        if self.form == "pca":
            return LinearMap(total.mean, fix_signs(_onto_principal_axes(about, total, self.floor)))
        full = Full(floor=self.floor)
        fitted = full.estimate(
            [about], ["X"], total.diagonal(), remedy="Use PCA first to drop directions without variance."
        )
        # The symmetric square root of the inverse covariance C⁻¹, from the SVD of a matrix U with U U' = C⁻¹
        axes, roots, _ = np.linalg.svd(fitted.whiteners[0])
        return LinearMap(total.mean, (axes * roots) @ axes.T)


def _onto_principal_axes(about: Moments, total: Moments, floor: float) -> Floats:
    """Return the principal axes as columns, each divided by the standard deviation along it, the largest first.

    Axes without variance are omitted. Their number is determined from the correlation matrix, so that a column of small
    values is not dropped. ``about`` holds the moments whose covariance becomes the identity, ``total`` those of all
    rows.
    """
    variances = about.variances()
    varying = ~is_rounding(variances, np.sqrt(total.mean**2 + total.variances()))
    if not varying.any():
        return np.zeros((len(variances), 1))
    scale = np.sqrt(variances[varying])
    # The rank is that of the correlation matrix. The axes are from the SVD of a root of the covariance of this rank.
    values, vectors = eigh(about.covariance()[np.ix_(varying, varying)] / np.outer(scale, scale))
    held = values > max(floor, len(values) * np.finfo(np.float64).eps)
    axes, deviations, _ = np.linalg.svd(scale[:, None] * vectors[:, held] * np.sqrt(values[held]), full_matrices=False)
    matrix = np.zeros((len(variances), int(held.sum())))
    matrix[varying] = axes / deviations
    return matrix


class PCA(Projection):
    """Principal component analysis: projection onto the directions of largest variance.

    Signs are chosen such that the entry of largest size of each direction is positive. Missing values raise an error.

    Parameters
    ----------
    n_components : int, float below 1, or None
        Number of directions to keep. A float is a share of the variance: the smallest number of directions that reach
        it is kept. None keeps all directions of positive variance.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, one per row.
    n_components_ : int
    explained_variance_ : array of shape (n_components_,)
        Maximum-likelihood variances along the directions (sums of squares divided by n).
    explained_variance_ratio_ : array of shape (n_components_,)

    Notes
    -----
    The directions are the eigenvectors of the covariance, computed from moments alone: no copy of the data is centred
    or decomposed. A direction whose variance is less than about 1e-16 of the largest is not resolved.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.1]])
    >>> pca = PCA(0.99).fit(X)
    >>> pca.n_components_, pca.components_.round(2), pca.explained_variance_ratio_.round(4)
    (1, array([[0.7 , 0.72]]), array([0.9999]))
    """

    _State = ProjectionState
    _constraints: ClassVar[Constraints] = {"n_components": none_or(either(count(1), number(above=0, below=1)))}

    def __init__(self, n_components: int | float | None = None) -> None:
        self.n_components = n_components

    @property
    def explained_variance_(self) -> Floats:
        return np.maximum(self._moments().principal_axes[0][: self.n_components_], 0.0)

    @property
    def explained_variance_ratio_(self) -> Floats:
        whole = self._moments().variances().sum()
        return np.asarray(self.explained_variance_ / (whole if whole > 0 else 1.0))

    def _moments(self) -> Moments:
        self._map()
        statistics: Moments = self.statistics_
        return statistics

    def _estimate(self, statistics: Any) -> LinearMap:
        values, vectors = statistics.principal_axes
        kept = vectors[:, : _n_kept(self.n_components, np.maximum(values, 0.0))]
        return LinearMap(statistics.mean, fix_signs(kept))


def _n_kept(n_components: Any, variances: Floats) -> int:
    d = len(variances)
    if n_components is None:
        return max(1, int((variances > d * np.finfo(np.float64).eps * variances[0]).sum()))
    if is_count(n_components, 1, d):
        return int(n_components)
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        return min(d, int(np.searchsorted(np.cumsum(variances), n_components * variances.sum())) + 1)
    raise InvalidParameterError(
        f"n_components of PCA must be None, an integer from 1 to {d} (the number of features), or a share of the "
        f"variance in the open interval (0, 1), but is {n_components!r}."
    )


class LDA(Projection):
    """Linear discriminant analysis: projection onto the directions of largest between-class variance.

    The between-class variance is relative to the within-class variance. K classes have at most K − 1 directions. In
    the projection the average within-class covariance is the identity, so a tied Gaussian classifier makes the same
    decisions there as on all features. With two classes the direction points from the first class to the second;
    otherwise signs are chosen such that the entry of largest size is positive. Missing values raise an error.

    Parameters
    ----------
    n_components : int or None
        Number of directions. None keeps the maximum: the smaller of the number of classes minus one and the number of
        features.
    floor : float, default 1e-9
        Floor of the within-class covariance if it is singular (see :class:`likely.Full`); 0 raises an error instead.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    components_ : array of shape (n_components_, n_features)
    n_components_ : int
    explained_variance_ratio_ : array of shape (n_components_,)
        Share of each direction in the between-class variance, in units of the within-class variance.
    classes_ : array of labels

    Notes
    -----
    Directions v solve S_B v = λ S_W v with v' S_W v = n, where S_W is the sum of the scatters about the class means and
    S_B is the scatter of the class means, each with the weight of its class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [5.0, 5.0], [7.0, 5.0], [5.0, 6.0]])
    >>> lda = LDA().fit(X, [0, 0, 0, 1, 1, 1])
    >>> lda.components_.round(3)
    array([[0.926, 2.315]])
    """

    by_class = True

    _State = DiscriminantsState
    _inputs: ClassVar[Constraints] = {**INPUTS, "classes_": class_labels()}
    _constraints: ClassVar[Constraints] = {"n_components": none_or(count(1)), "floor": number(0, 1)}

    def __init__(self, n_components: int | None = None, *, floor: float = FLOOR) -> None:
        self.n_components = n_components
        self.floor = floor

    @property
    def explained_variance_ratio_(self) -> Floats:
        discriminants: Discriminants = self._get_parameters()
        return discriminants.shares

    def _estimate(self, statistics: ByClass[Moments]) -> Discriminants:
        if len(statistics.parts) < 2:
            raise DegenerateDataError("LDA needs rows of at least two classes, but y has only one class.")
        n_kept = self._n_kept(len(statistics.parts), statistics.n_features)
        return estimate_discriminants(statistics, n_kept, self.floor)

    def _n_kept(self, n_classes: int, n_features: int) -> int:
        max_components = min(n_classes - 1, n_features)
        if self.n_components is None:
            return max_components
        if not is_count(self.n_components, 1, max_components):
            raise InvalidParameterError(
                f"n_components of LDA must be an integer from 1 to {max_components}, but is {self.n_components!r}. "
                f"LDA of {n_classes} classes and {n_features} features has at most this number of directions."
            )
        return int(self.n_components)


@dataclass(frozen=True, eq=False)
class Discriminants(LinearMap):
    """Projection of LDA, with the share of each direction in the between-class variance (``shares``)."""

    shares: Annotated[Floats, floats("m", low=0)]


def estimate_discriminants(statistics: ByClass[Moments], n_kept: int, floor: float) -> Discriminants:
    """Return the ``n_kept`` directions of largest between-class variance relative to the within-class variance."""
    total, between = total_moments(statistics), _between_class_moments(statistics)
    within = Full(floor=floor).estimate(
        [statistics.within()], ["The pooled data"], total.diagonal(), remedy="Use PCA first."
    )
    # Eigenvectors of the between-class covariance after whitening by the within-class covariance
    U = within.whiteners[0]
    values, vectors = eigh(U.T @ between.covariance() @ U)
    directions = U @ vectors[:, ::-1][:, :n_kept]
    whole = max(values.sum(), np.finfo(np.float64).tiny)
    shares = np.maximum(values[::-1][:n_kept], 0.0) / whole
    return Discriminants(total.mean, _orient(directions, statistics), shares)


def _between_class_moments(statistics: ByClass[Moments]) -> Moments:
    """Return the moments of the class means, where each mean has the total weight of its class."""
    parts = list(statistics.parts.values())
    return Moments.of(np.stack([part.mean for part in parts]), statistics.weights())


def _orient(directions: Floats, statistics: ByClass[Moments]) -> Floats:
    """Return the directions with fixed signs.

    For two classes the direction points from the mean of the first class to that of the second. For more classes the
    entry of largest size of each direction is positive.
    """
    parts = list(statistics.parts.values())
    if len(parts) > 2:
        return fix_signs(directions)
    return np.asarray(directions * np.where((parts[1].mean - parts[0].mean) @ directions < 0, -1.0, 1.0))
