"""Gaussian classifiers: one Gaussian density for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from likely._constraints import Constraints, flag, floats, instance_of, none_or, number, priors
from likely._typing import Booleans, Floats, Integers, Labels, Rows
from likely.blocks import AdditiveLearner, AdditiveState, Source, check_classes, class_moments
from likely.densities import Covariance, Gaussians, Spherical
from likely.densities.covariance import FLOOR, SHAPE, shape_of
from likely.densities.gaussian import estimate_gaussians
from likely.densities.leave_one_out import leave_one_out
from likely.densities.missing import expected_moments
from likely.exceptions import InvalidDataError, MissingValuesError
from likely.models.base import DensityClassifier
from likely.statistics import ByClass, Moments


class QuadraticForm(NamedTuple):
    """The function llr(x) = x'Ax + b'x + c, with A None where it is linear."""

    A: Annotated[Floats | None, none_or(floats("d", "d"))]
    b: Annotated[Floats, floats("d")]
    c: Annotated[float, number()]

    def __call__(self, X: Any) -> Floats:
        """Its values at rows; terms cancel for data far from zero, where the classifier's own ``llr`` does not."""
        X = np.asarray(X, dtype=np.float64)
        values: Floats = np.asarray(X @ self.b + self.c)
        return values if self.A is None else values + np.einsum("ni,ij,nj->n", X, self.A, X)


@dataclass(frozen=True, eq=False)
class GaussianClassifierState(AdditiveState):
    """The moments of each class, and the Gaussians that follow from them."""

    statistics_: Annotated[ByClass[Any], instance_of(ByClass, d="d")]
    _parameters: Annotated[Gaussians | None, none_or(instance_of(Gaussians, k="k", d="d"))] = None


class _GaussianFamily(DensityClassifier, AdditiveLearner):
    """Classifiers that learn Gaussians from the moments of each class."""

    by_class = True
    _State = GaussianClassifierState

    def _shape(self) -> Covariance:
        raise NotImplementedError

    def _is_tied(self) -> bool:
        raise NotImplementedError

    @property
    def needs(self) -> Any:
        """The moments that the shape is estimated from."""
        return self._shape().moments

    @property
    def gaussians_(self) -> Gaussians:
        gaussians: Gaussians = self._learned()
        return gaussians

    @property
    def means_(self) -> Floats:
        return self.gaussians_.means

    @property
    def covariances_(self) -> Floats:
        return self.gaussians_.broadcast_covariances()

    @property
    def training_priors_(self) -> Floats:
        self._learned()
        weights: Floats = self.statistics_.weights()
        return np.asarray(weights / weights.sum())

    def _learn(self, source: Source) -> None:
        try:
            super()._learn(source)
        except MissingValuesError:
            self.estimate(expected_moments(source, self._shape(), self._is_tied()), source.classes, adds_up=False)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Rows and their labels, drawn with the priors of ``predict``."""
        gaussians, random = self.gaussians_, check_random_state(random_state)
        codes = random.choice(len(self.classes_), size=n_samples, p=self._application().priors)
        return gaussians.sample(codes, random), self.classes_[codes]

    def llr_surface(self) -> QuadraticForm:
        """The log-likelihood ratio of two classes as a function of x: quadratic, or linear where tied.

        With precisions Λ, llr(x) = x'Ax + b'x + c for A = ½ (Λ_0 − Λ_1), b = Λ_1 m_1 − Λ_0 m_0 and
        c = ½ (m_0'Λ_0 m_0 − m_1'Λ_1 m_1 + log |C_0| − log |C_1|).
        """
        gaussians = self.gaussians_
        if len(self.classes_) != 2:
            raise InvalidDataError(f"A surface of llr divides two classes, but the model knows {len(self.classes_)}.")
        P0, P1 = (gaussians.covariances.precision(k) for k in (0, 1))
        m0, m1 = gaussians.means
        logs = np.broadcast_to(gaussians.covariances.log_determinants, 2)
        c = 0.5 * (m0 @ P0 @ m0 - m1 @ P1 @ m1 + logs[0] - logs[1])
        return QuadraticForm(None if self._is_tied() else 0.5 * (P0 - P1), P1 @ m1 - P0 @ m0, float(c))

    def leave_one_out(self, X: Floats, codes: Integers, weight: Floats | None) -> tuple[Floats, Booleans]:
        """Log-likelihoods of the training rows, each by a model that has not seen it.

        Returns them with a mask of the rows for which they must be refitted instead.
        """
        return leave_one_out(self.statistics_, self.gaussians_, self._shape(), X, codes, weight)

    def _evidence(self, X: Rows) -> Floats:
        return self.gaussians_.log_density(X)

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Any]) -> Gaussians:
        check_classes(self._name(), statistics, self.classes_, "To model a single population use Gaussian.")
        names = [f"Class {label!r}" for label in self.classes_.tolist()]
        return estimate_gaussians(statistics, names, self._shape(), self._is_tied(), self._remedy())

    def _remedy(self) -> str:
        """What to do about a singular covariance, of what is not done yet."""
        untied = [] if self._is_tied() else ["tied=True"]
        if self._shape().moments is not Moments:
            return f"Drop constant columns{', or use tied=True' if untied else ''}."
        return f"Use {' or '.join([*untied, 'covariance=' + repr('diagonal')])}, or set shrinkage."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class GaussianClassifier(_GaussianFamily):
    """Classes that are Gaussian, each with a mean of its own and a covariance of its own or shared.

    Full covariances give quadratic boundaries, tied ones linear; diagonal ones assume columns independent given the
    class (Gaussian naive Bayes). It returns true log densities, log p(x given class). It breaks where a class has far
    fewer rows than a full covariance has parameters, and where classes are not Gaussian it stays a fair ranker but its
    llrs are badly calibrated. Missing values are integrated out when scoring; fitting leaves them out column by column
    (diagonal, spherical) or uses EM (full).

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"} or Covariance, default "full"
        The shape of the covariances, by name or as an object with its options, such as ``Full(shrinkage=0.1)``.
    tied : bool, default False
        Whether all classes share one covariance, pooled about their means.
    priors : sequence in class order or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given. Evidence does
        not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    means_ : array of shape (n_classes, n_features)
    covariances_ : array of shape (n_classes, n_features, n_features), or (n_classes, n_features) variances
        The same for every class where tied.
    training_priors_ : array of shape (n_classes,)
    gaussians_ : Gaussians
        The densities themselves.
    statistics_ : ByClass of moments
        What was learned from.

    Notes
    -----
    log p(x given k) = −½ [(x − m_k)' C_k⁻¹ (x − m_k) + log |C_k| + d log 2π], with m_k and C_k the weighted mean and
    maximum-likelihood covariance of class k; tied, C = Σ_k S_k / n with S_k the scatter about m_k.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianClassifier(tied=True).fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> model.log_likelihood(X[:1]).round(2)
    array([[  1.2 , -49.11, -96.51]])
    """

    _constraints: ClassVar[Constraints] = {"covariance": SHAPE, "tied": flag, "priors": priors()}

    def __init__(self, covariance: Any = "full", *, tied: bool = False, priors: Any = None) -> None:
        self.covariance = covariance
        self.tied = tied
        self.priors = priors

    def _shape(self) -> Covariance:
        return shape_of(self.covariance)

    def _is_tied(self) -> bool:
        return self.tied


class NearestMeanClassifier(_GaussianFamily):
    """The class whose mean is nearest: the tied spherical Gaussian.

    With equal priors it decides by Euclidean distance to the class means; the one variance, estimated from the
    data, turns distances into log-likelihoods.

    Parameters
    ----------
    priors : sequence in class order or mapping {label: prior}, optional
        As for :class:`GaussianClassifier`.
    floor : float, default 1e-9
        Variance, relative to the data's, where all rows sit at their class means; 0 raises instead.

    Attributes
    ----------
    classes_, means_, covariances_, training_priors_, gaussians_, statistics_
        As for :class:`GaussianClassifier`.

    Examples
    --------
    >>> model = NearestMeanClassifier(priors=[0.5, 0.5]).fit([[0.0], [2.0], [9.0], [11.0]], [0, 0, 1, 1])
    >>> model.predict([[5.4], [5.6]])
    array([0, 1])
    """

    _constraints: ClassVar[Constraints] = {"priors": priors(), "floor": number(0, 1)}

    def __init__(self, *, priors: Any = None, floor: float = FLOOR) -> None:
        self.priors = priors
        self.floor = floor

    def _shape(self) -> Covariance:
        return Spherical(floor=self.floor)

    def _is_tied(self) -> bool:
        return True
