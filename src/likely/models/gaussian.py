"""Gaussian classifiers: one Gaussian density per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from likely._constraints import Constraints, flag, floats, instance_of, none_or, number, optional, priors
from likely._typing import Booleans, CovarianceName, Floats, Integers, Labels, Rows
from likely.blocks import AdditiveLearner, AdditiveState, Source, check_classes, class_moments
from likely.decisions import Application
from likely.densities import Gaussians, Spherical
from likely.densities.covariance import FLOOR, SHAPE, Covariance, shape_of
from likely.densities.gaussian import estimate_gaussians
from likely.densities.leave_one_out import leave_one_out
from likely.densities.missing import estimate_expected_moments
from likely.exceptions import InvalidDataError, MissingValuesError
from likely.models.base import DensityClassifier
from likely.statistics import ByClass, Moments


class QuadraticForm(NamedTuple):
    """Quadratic function llr(x) = x'Ax + b'x + c; A is None if the function is linear."""

    A: Annotated[Floats | None, none_or(floats("d", "d"))]
    b: Annotated[Floats, floats("d")]
    c: Annotated[float, number()]

    def __call__(self, X: Any) -> Floats:
        """Evaluate the function at rows.

        For data far from zero the terms cancel and digits are lost; the ``llr`` of the classifier avoids this.
        """
        X = np.asarray(X, dtype=np.float64)
        values: Floats = np.asarray(X @ self.b + self.c)
        return values if self.A is None else values + np.einsum("ni,ij,nj->n", X, self.A, X)


@dataclass(frozen=True, eq=False)
class GaussianClassifierState(AdditiveState):
    """Moments of each class, and the Gaussians estimated from them."""

    statistics_: Annotated[ByClass[Any], instance_of(ByClass, d="d")]
    _parameters: Annotated[Gaussians | None, none_or(instance_of(Gaussians, k="k", d="d"))] = None


class _MomentGaussianClassifier(DensityClassifier, AdditiveLearner):
    """Base class of classifiers that estimate Gaussians from the moments of each class."""

    by_class = True
    _State = GaussianClassifierState

    def _shape(self) -> Covariance:
        raise NotImplementedError

    def _is_tied(self) -> bool:
        raise NotImplementedError

    @property
    def needs(self) -> Any:
        """Type of the moments from which the covariance shape is estimated."""
        return self._shape().moments

    @property
    def gaussians_(self) -> Gaussians:
        gaussians: Gaussians = self._get_parameters()
        return gaussians

    @property
    def means_(self) -> Floats:
        return self.gaussians_.means

    @property
    def covariances_(self) -> Floats:
        return self.gaussians_.broadcast_covariances()

    @property
    def training_priors_(self) -> Floats:
        self._get_parameters()
        weights: Floats = self.statistics_.weights()
        return np.asarray(weights / weights.sum())

    def _learn(self, source: Source) -> None:
        try:
            super()._learn(source)
        except MissingValuesError:
            self.estimate(
                estimate_expected_moments(source, self._shape(), self._is_tied()), source.classes, adds_up=False
            )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Draw rows and their labels, with the priors of ``predict``."""
        gaussians, random = self.gaussians_, check_random_state(random_state)
        codes = random.choice(len(self.classes_), size=n_samples, p=self._application().priors)
        return gaussians.sample(codes, random), self.classes_[codes]

    def llr_surface(self) -> QuadraticForm:
        """Return the log-likelihood ratio of two classes as a function of x: quadratic, or linear if tied.

        With precisions Λ, llr(x) = x'Ax + b'x + c for A = ½ (Λ_0 − Λ_1), b = Λ_1 m_1 − Λ_0 m_0 and
        c = ½ (m_0'Λ_0 m_0 − m_1'Λ_1 m_1 + log |C_0| − log |C_1|).
        """
        gaussians = self.gaussians_
        if len(self.classes_) != 2:
            raise InvalidDataError(f"llr_surface needs two classes, but the model has {len(self.classes_)} classes.")
        P0, P1 = (gaussians.covariances.precision(k) for k in (0, 1))
        m0, m1 = gaussians.means
        logs = np.broadcast_to(gaussians.covariances.log_determinants, 2)
        c = 0.5 * (m0 @ P0 @ m0 - m1 @ P1 @ m1 + logs[0] - logs[1])
        return QuadraticForm(None if self._is_tied() else 0.5 * (P0 - P1), P1 @ m1 - P0 @ m0, float(c))

    def leave_one_out(self, X: Floats, codes: Integers, weight: Floats | None) -> tuple[Floats, Booleans]:
        """Return leave-one-out log-likelihoods of the training rows, each from a model fitted to the other rows.

        The second result is a mask of the rows that need a refit instead.
        """
        return leave_one_out(self.statistics_, self.gaussians_, self._shape(), X, codes, weight)

    def _evidence(self, X: Rows) -> Floats:
        return self.gaussians_.log_density(X)

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Any]) -> Gaussians:
        check_classes(self._name(), statistics, self.classes_, "To model a single population, use Gaussian.")
        names = [f"Class {label!r}" for label in self.classes_.tolist()]
        return estimate_gaussians(statistics, names, self._shape(), self._is_tied(), self._remedy())

    def _remedy(self) -> str:
        """Return the remedy for a singular covariance: the options that are not in use yet."""
        untied = [] if self._is_tied() else ["tied=True"]
        if self._shape().moments is not Moments:
            return f"Drop constant columns{', or use tied=True' if untied else ''}."
        return f"Set {', '.join([*untied, 'covariance=' + repr('diagonal')])} or shrinkage."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class GaussianClassifier(_MomentGaussianClassifier):
    """Gaussian classifier: one Gaussian density per class.

    Full covariances give quadratic decision boundaries (quadratic discriminant analysis). Tied full covariances give
    linear ones (linear discriminant analysis). Diagonal covariances assume that the features are independent given the
    class (Gaussian naive Bayes). ``log_likelihood`` returns log-densities, log p(x given class).

    A full covariance needs more rows per class than it has parameters. If the classes are not Gaussian, the scores
    still rank rows, but the llrs are badly calibrated. Scoring marginalises missing values. Fitting ignores them column
    by column (diagonal, spherical) or uses EM (full).

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"} or Covariance, default "full"
        Shape of the covariances: a name, or an object with options such as ``Full(shrinkage=0.1, towards="pooled")``,
        which gives regularised discriminant analysis (see :class:`likely.Full`).
    tied : bool, default False
        Whether all classes share one covariance, pooled within the classes.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
        ``log_likelihood`` and ``llr`` do not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    means_ : array of shape (n_classes, n_features)
    covariances_ : array of shape (n_classes, n_features, n_features), or (n_classes, n_features) variances
        Covariances, the same for every class if tied.
    training_priors_ : array of shape (n_classes,)
        Share of each class among the training rows.
    gaussians_ : Gaussians
        Fitted densities.
    statistics_ : ByClass of moments
        Sufficient statistics of the training rows.

    Notes
    -----
    log p(x given k) = −½ [(x − m_k)' C_k⁻¹ (x − m_k) + log |C_k| + d log 2π], where m_k and C_k are the weighted mean
    and the maximum-likelihood covariance of class k. If tied, C = Σ_k S_k / n, where S_k is the scatter about m_k.

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

    def __init__(
        self, covariance: CovarianceName | Covariance = "full", *, tied: bool = False, priors: Any = None
    ) -> None:
        self.covariance = covariance
        self.tied = tied
        self.priors = priors

    def _shape(self) -> Covariance:
        return shape_of(self.covariance)

    def _is_tied(self) -> bool:
        return self.tied


@dataclass(frozen=True, eq=False)
class NearestMeanState(GaussianClassifierState):
    """State of a Gaussian classifier, and whether predictions use equal priors by default; old files use the shares."""

    _equal_priors: Annotated[Any, optional(flag)] = True


class NearestMeanClassifier(_MomentGaussianClassifier):
    """Nearest mean classifier: Gaussians with one spherical covariance shared by all classes.

    ``predict`` chooses the class whose mean has the smallest Euclidean distance, unless ``priors`` are given. The
    common variance, estimated from the data, converts distances to log-likelihoods.

    Parameters
    ----------
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba``, ``decision_function``, ``log_density`` and ``sample``. By default
        they are equal, not the training priors, so that the shares of the classes do not move the boundary.
    floor : float, default 1e-9
        Variance relative to that of the data, used if all rows equal their class mean. With 0 this case raises an
        error.

    Attributes
    ----------
    classes_, means_, covariances_, training_priors_, gaussians_, statistics_
        As for :class:`GaussianClassifier`.

    Examples
    --------
    >>> model = NearestMeanClassifier().fit([[0.0], [2.0], [2.0], [0.0], [9.0], [11.0]], [0, 0, 0, 0, 1, 1])
    >>> model.predict([[5.4], [5.6]]), model.training_priors_
    (array([0, 1]), array([0.66666667, 0.33333333]))
    """

    _State = NearestMeanState
    _constraints: ClassVar[Constraints] = {"priors": priors(), "floor": number(0, 1)}

    def __init__(self, *, priors: Any = None, floor: float = FLOOR) -> None:
        self.priors = priors
        self.floor = floor

    def _shape(self) -> Covariance:
        return Spherical(floor=self.floor)

    def _application(self) -> Application:
        is_equal = self.priors is None and getattr(self, "_equal_priors", False)
        return Application.equal(len(self.classes_)) if is_equal else super()._application()

    def _is_tied(self) -> bool:
        return True
