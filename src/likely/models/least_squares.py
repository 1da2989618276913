"""Least-squares classifier: linear regression on class indicators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, instance_of, none_or, number
from likely._typing import Floats, Rows
from likely.blocks import AdditiveLearner, AdditiveState, check_classes, class_moments, total_moments
from likely.models.base import ScoreClassifier
from likely.models.normal_equations import LinearFit, solve_least_squares
from likely.statistics import ByClass, Moments


@dataclass(frozen=True, eq=False)
class LeastSquaresState(AdditiveState):
    """Moments of each class, and the linear functions estimated from them."""

    statistics_: Annotated[ByClass[Moments], instance_of(ByClass, d="d")]
    _parameters: Annotated[LinearFit | None, none_or(instance_of(LinearFit, d="d", t="k"))] = None


class LeastSquaresClassifier(ScoreClassifier, AdditiveLearner):
    """Least-squares classifier: linear regression on the indicators of the classes.

    The model fits one linear function per class to 1 on the rows of the class and 0 on the others. The solution follows
    from the moments of the classes in one pass, without iteration. The outputs of a row sum to one but are not
    probabilities: they may be negative or exceed one. Rows far on the correct side of the boundary pull it towards
    themselves. The score has no probabilistic meaning; :class:`likely.CalibratedClassifier` converts it to
    log-likelihoods. With three or more classes, a class that lies between others may never have the highest score
    (masking). LDA and the tied Gaussian classifier, which use the same moments, do not have this defect. Missing values
    raise an error.

    Parameters
    ----------
    regularization : float, default 0
        λ of the penalty λ/2 ‖W‖², which is added to the mean of half the squared errors. The intercepts are not
        penalised. λ has the units of the variances of the features, so standardise them first. It does not depend on
        the number of rows: ``alpha`` of scikit-learn is n λ.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features)
        Weights; they sum to zero over the classes.
    intercept_ : array of shape (n_classes,)
        Intercepts; they sum to one.
    statistics_ : ByClass of Moments
        Sufficient statistics of the training rows.

    Notes
    -----
    The model minimises the mean over rows of ½ ‖t − (W x + b)‖² + λ/2 ‖W‖², where t is 1 at the class of the row and 0
    elsewhere. Let C be the covariance of all rows about their mean m. Then (C + λI) w_k = (n_k / n) (m_k − m) and
    b_k = n_k / n − w_k' m for each class k. For two classes ``decision_function`` is the output of the second class
    minus that of the first, which equals a fit to the targets −1 and 1. Its direction C⁻¹ (m_2 − m_1) is that of
    Fisher's discriminant. For more classes ``decision_function`` returns the outputs.

    If the rows do not determine W (constant or duplicate columns, fewer rows than features), the solution is the W of
    minimum norm, in units in which the columns have unit variance, with a warning.

    References
    ----------
    C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, sections 4.1.3 and 4.1.5.

    Examples
    --------
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.coef_, model.intercept_
    (array([[-0.3],
           [ 0.3]]), array([ 1.1, -0.1]))
    >>> model.decision_function([[2.0], [4.0]]).round(6), model.predict([[1.9], [2.1]])
    (array([0. , 1.2]), array(['a', 'b'], dtype='<U1'))
    """

    by_class = True
    needs = Moments
    _State = LeastSquaresState
    _constraints: ClassVar[Constraints] = {"regularization": number(0)}

    def __init__(self, regularization: float = 0.0) -> None:
        self.regularization = regularization

    @property
    def coef_(self) -> Floats:
        return self._linear_fit().coef

    @property
    def intercept_(self) -> Floats:
        return self._linear_fit().intercept

    def _linear_fit(self) -> LinearFit:
        fit: LinearFit = self._get_parameters()
        return fit

    def _scores(self, X: Rows) -> Floats:
        outputs = self._linear_fit().outputs(X)
        return np.asarray(outputs[:, 1] - outputs[:, 0]) if outputs.shape[1] == 2 else outputs

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Moments]) -> LinearFit:
        check_classes(type(self).__name__, statistics, self.classes_)
        total, weights = total_moments(statistics), statistics.weights()
        means = np.stack([part.mean for part in statistics.parts.values()])
        cross = weights * (means - total.mean).T
        return solve_least_squares(total, cross, weights / total.weight, self.regularization, type(self).__name__)
