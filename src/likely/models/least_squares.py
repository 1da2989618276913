"""Classification by least squares on indicators of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from likely._constraints import Constraints, instance_of, none_or, number
from likely._typing import Floats, Rows
from likely.blocks import AdditiveLearner, AdditiveState, check_classes, checked_total, class_moments
from likely.models.base import ScoreClassifier
from likely.models.normal_equations import LinearFit, solve_least_squares
from likely.statistics import ByClass, Moments


@dataclass(frozen=True, eq=False)
class LeastSquaresState(AdditiveState):
    """The moments of each class, and the linear functions that follow from them."""

    statistics_: Annotated[ByClass[Moments], instance_of(ByClass, d="d")]
    _parameters: Annotated[LinearFit | None, none_or(instance_of(LinearFit, d="d", t="k"))] = None


class LeastSquaresClassifier(ScoreClassifier, AdditiveLearner):
    """A linear function for each class, fitted by least squares to 1 on its rows and 0 on the others.

    It follows from the moments of the classes in one pass, without iteration. The outputs of a row sum to one but are
    no probabilities: they may be negative or exceed one, and rows far on the right side of the boundary pull it towards
    themselves. So it ranks and decides, and gives no evidence until :class:`likely.CalibratedClassifier` turns its
    scores into some. With three or more classes, one that lies between others may never win; LDA and the tied Gaussian,
    which learn from the same moments, have no such blind spot. Missing values are refused.

    Parameters
    ----------
    regularization : float, default 0
        λ of the penalty λ/2 ‖W‖² on the mean of half the squared errors; the intercepts are not penalised. It is in
        units of the features' variances, so standardise them first, and does not grow with the number of rows:
        scikit-learn's ``alpha`` is n λ.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features)
        They sum to zero over the classes.
    intercept_ : array of shape (n_classes,)
        They sum to one.
    statistics_ : ByClass of Moments
        What was learned from.

    Notes
    -----
    It minimises the mean over rows of ½ ‖t − (W x + b)‖² + λ/2 ‖W‖², where t has a 1 at the row's class. With C the
    covariance of all rows about their mean m, (C + λI) w_k = (n_k / n) (m_k − m) for each class k, and b_k = n_k / n −
    w_k' m. For two classes ``decision_function`` is the output of the second less that of the first, which is what
    fitting to targets −1 and 1 gives; its direction C⁻¹ (m_2 − m_1) is Fisher's. For more it is the outputs.

    Where rows leave W undetermined (constant or duplicate columns, fewer rows than features), the smallest W is taken,
    in units in which the columns have unit variance, with a warning.

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
        return self._fit().coef

    @property
    def intercept_(self) -> Floats:
        return self._fit().intercept

    def _fit(self) -> LinearFit:
        fit: LinearFit = self._learned()
        return fit

    def _scores(self, X: Rows) -> Floats:
        outputs = self._fit().outputs(X)
        return np.asarray(outputs[:, 1] - outputs[:, 0]) if outputs.shape[1] == 2 else outputs

    def _statistic(self) -> Any:
        return class_moments, (self.needs,)

    def _estimate(self, statistics: ByClass[Moments]) -> LinearFit:
        check_classes(type(self).__name__, statistics, self.classes_)
        total, weights = checked_total(statistics), statistics.weights()
        means = np.stack([part.mean for part in statistics.parts.values()])
        cross = weights * (means - total.mean).T
        return solve_least_squares(total, cross, weights / total.weight, self.regularization, type(self).__name__)
