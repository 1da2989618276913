"""Fisher's discriminant as a classifier that gives evidence."""

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
    """The moments of each class; the projection, and the densities of the classes in it."""

    statistics_: Annotated[ByClass[Moments], instance_of(ByClass, d="d")]
    _parameters: Annotated[
        tuple[Discriminants, Gaussians] | None,
        none_or(tuple_of(instance_of(Discriminants, d="d", m="m"), instance_of(Gaussians, k="k", d="m"))),
    ] = None


class FisherClassifier(EvidenceClassifier, AdditiveLearner):
    """Fisher's discriminant, with the evidence of Gaussians on the line it projects onto.

    Rows are projected onto the direction in which two classes lie furthest apart, in units of the spread within them
    (for K classes onto K − 1 directions), and there each class is Gaussian with the covariance they share, which the
    directions make the identity. The log-likelihood is that of the projection: up to a constant of the row it is also
    that of all the features under Gaussians of one covariance, since the rest of the row is then alike under every
    class. It says nothing of how typical a row is beside the line, so there is no ``log_density`` of rows. It breaks
    where classes differ in spread rather than in mean. Missing values are refused.

    Parameters
    ----------
    priors : sequence in class order or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given. Evidence does
        not depend on them.
    floor : float, default 1e-9
        Floor of the within-class covariance where it is singular (see :class:`likely.Full`); 0 raises instead.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    directions_ : array of shape (n_directions, n_features)
        One direction for two classes, from the first to the second; otherwise n_classes − 1, or the number of features
        if that is less.
    means_ : array of shape (n_classes, n_features)
        Means of the classes, before the projection.
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
        The llr as a linear function of x, or for more classes the log-likelihoods, up to a constant of the row.
    training_priors_ : array of shape (n_classes,)
    statistics_ : ByClass of Moments
        What was learned from.

    Notes
    -----
    With S_W the scatter about the class means m_k and S_B that of the means, directions v solve S_B v = λ S_W v with
    v' S_W v = n; for two classes v ∝ S_W⁻¹ (m_2 − m_1). With z = V (x − m),
    log p(z given k) = −½ [‖z − V (m_k − m)‖² + r log 2π], for r directions.

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
        return self._line()[0].matrix.T

    @property
    def means_(self) -> Floats:
        self._line()
        return np.stack([part.mean for part in self.statistics_.parts.values()])

    @property
    def coef_(self) -> Floats:
        return self._linear()[0]

    @property
    def intercept_(self) -> Floats:
        return self._linear()[1]

    def _linear(self) -> tuple[Floats, Floats]:
        """Weights and biases: −½ ‖z − c‖² is z'c − ½ ‖c‖² but for what all classes have in common."""
        discriminants, gaussians = self._line()
        means, V = gaussians.means, discriminants.matrix.T
        W, b = means @ V, -np.square(means).sum(axis=1) / 2 - means @ (V @ discriminants.centre)
        if len(W) == 2:
            return W[1:] - W[:1], b[1:] - b[:1]
        return W, np.asarray(b)

    @property
    def training_priors_(self) -> Floats:
        self._line()
        weights: Floats = self.statistics_.weights()
        return np.asarray(weights / weights.sum())

    def _line(self) -> tuple[Discriminants, Gaussians]:
        line: tuple[Discriminants, Gaussians] = self._learned()
        return line

    def _evidence(self, X: Rows) -> Floats:
        discriminants, gaussians = self._line()
        return gaussians.log_density(map_rows(discriminants, X))

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Moments]) -> tuple[Discriminants, Gaussians]:
        check_classes(type(self).__name__, statistics, self.classes_)
        n_directions = min(len(statistics.parts) - 1, statistics.n_features)
        discriminants = estimate_discriminants(statistics, n_directions, self.floor)
        means = np.stack([part.mapped(discriminants).mean for part in statistics.parts.values()])
        # The covariance within the classes, floored where it must be, is the identity in the discriminants' units.
        return discriminants, Gaussians(means, FullCovariances.of(np.eye(means.shape[1])[None]))
