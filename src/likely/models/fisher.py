"""Fisher's linear discriminant classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, instance_of, none_or, number, priors, tuple_of
from likely._typing import Floats, Rows
from likely.blocks import AdditiveLearner, AdditiveState, check_classes, class_moments
from likely.densities import Gaussians
from likely.densities.covariance import FLOOR
from likely.densities.factors import FullCovariances
from likely.features.linear import Discriminants, estimate_discriminants, map_rows
from likely.models.base import EvidenceClassifier
from likely.statistics import ByClass, Moments


@dataclass(frozen=True, eq=False)
class FisherState(AdditiveState):
    """Moments of each class, the projection onto the discriminants, and the densities of the projected classes."""

    statistics_: Annotated[ByClass[Moments], instance_of(ByClass, d="d")]
    _parameters: Annotated[
        tuple[Discriminants, Gaussians] | None,
        none_or(tuple_of(instance_of(Discriminants, d="d", m="m"), instance_of(Gaussians, k="k", d="m"))),
    ] = None


class FisherClassifier(EvidenceClassifier, AdditiveLearner):
    """Fisher's linear discriminant classifier, with Gaussian densities on the discriminants.

    The model projects rows onto the direction that maximises the distance between two classes relative to the scatter
    within them (for K classes, onto K − 1 directions). The projected classes are Gaussian with a common covariance,
    which the scaling of the directions makes the identity. ``log_likelihood`` is the log-likelihood of the projection.
    Up to a constant per row it equals the log-likelihood of all features under Gaussians with a common covariance,
    because the remainder of the row then has the same density under every class. It does not measure how typical a row
    is outside the directions, so there is no ``log_density``. The model is unsuitable for classes that differ in
    scatter rather than in mean. Missing values raise an error.

    Parameters
    ----------
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
        ``log_likelihood`` and ``llr`` do not depend on them.
    floor : float, default 1e-9
        Floor of a singular within-class covariance (see :class:`likely.Full`). With 0 a singular covariance raises an
        error.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    directions_ : array of shape (n_directions, n_features)
        Discriminant directions. Two classes have one, from the first class to the second. Otherwise there are
        n_classes − 1 directions, at most the number of features.
    means_ : array of shape (n_classes, n_features)
        Means of the classes, before the projection.
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
        ``coef_`` and ``intercept_`` give the llr as a linear function of x; for more than two classes, the
        log-likelihoods up to a constant per row.
    training_priors_ : array of shape (n_classes,)
        Share of each class among the training rows.
    statistics_ : ByClass of Moments
        Sufficient statistics of the training rows.

    Notes
    -----
    Let S_W be the scatter about the class means m_k, and S_B the scatter of the means. The directions v solve
    S_B v = λ S_W v with v' S_W v = n. For two classes v ∝ S_W⁻¹ (m_2 − m_1). With z = V (x − m) and r directions,
    log p(z given k) = −½ [‖z − V (m_k − m)‖² + r log 2π].

    References
    ----------
    R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936) 179–188.

    Examples
    --------
    >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [5.0, 5.0], [7.0, 5.0], [5.0, 6.0]]
    >>> model = FisherClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.directions_.round(3)
    array([[0.926, 2.315]])
    >>> model.llr([[3.0, 3.0], [4.0, 3.0]]).round(2)
    array([ 3.75, 18.75])
    """

    by_class = True
    needs = Moments
    _State = FisherState
    _constraints: ClassVar[Constraints] = {"priors": priors(), "floor": number(0, 1)}

    def __init__(self, *, priors: Any = None, floor: float = FLOOR) -> None:
        self.priors = priors
        self.floor = floor

    @property
    def directions_(self) -> Floats:
        return self._projection()[0].matrix.T

    @property
    def means_(self) -> Floats:
        self._projection()
        return np.stack([part.mean for part in self.statistics_.parts.values()])

    @property
    def coef_(self) -> Floats:
        return self._linear_function()[0]

    @property
    def intercept_(self) -> Floats:
        return self._linear_function()[1]

    def _linear_function(self) -> tuple[Floats, Floats]:
        """Return ``coef_`` and ``intercept_``.

        The log-likelihood of a class with the projected mean c is −½ ‖z − c‖² plus a constant. It equals z'c − ½ ‖c‖²
        up to a term that is common to all classes, and z is linear in x.
        """
        discriminants, gaussians = self._projection()
        means, V = gaussians.means, discriminants.matrix.T
        W, b = means @ V, -np.square(means).sum(axis=1) / 2 - means @ (V @ discriminants.centre)
        if len(W) == 2:
            return W[1:] - W[:1], b[1:] - b[:1]
        return W, np.asarray(b)

    @property
    def training_priors_(self) -> Floats:
        self._projection()
        weights: Floats = self.statistics_.weights()
        return np.asarray(weights / weights.sum())

    def _projection(self) -> tuple[Discriminants, Gaussians]:
        projection: tuple[Discriminants, Gaussians] = self._get_parameters()
        return projection

    def _evidence(self, X: Rows) -> Floats:
        discriminants, gaussians = self._projection()
        return gaussians.log_density(map_rows(discriminants, X))

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Moments]) -> tuple[Discriminants, Gaussians]:
        check_classes(type(self).__name__, statistics, self.classes_)
        n_directions = min(len(statistics.parts) - 1, statistics.n_features)
        discriminants = estimate_discriminants(statistics, n_directions, self.floor)
        means = np.stack([part.mapped(discriminants).mean for part in statistics.parts.values()])
        # The discriminants are scaled such that the within-class covariance (floored if singular) is the identity.
        return discriminants, Gaussians(means, FullCovariances.of(np.eye(means.shape[1])[None]))
