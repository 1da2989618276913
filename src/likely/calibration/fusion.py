"""Fusion of the scores of several systems: by logistic regression, as a product, or by vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import Constraints, check_parameters, count, floats, number, priors, size
from likely._fitted import Fitted, all_or_nothing
from likely._typing import Floats
from likely.calibration.logistic_map import OFFSET, LogisticMap
from likely.calibration.scores import Systems
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class FusionState:
    """Number of systems that a fuser was fitted to."""

    n_systems_: Annotated[int, size("s")]


@dataclass(frozen=True, eq=False)
class LogisticFusionState(FusionState):
    """Fitted weights of the systems, and offset."""

    weights_: Annotated[Floats, floats("s")]
    offset_: Annotated[Any, OFFSET]
    objective_: Annotated[float, number(finite=False)]
    n_iter_: Annotated[int, count()]


class _Fusion(Fitted, BaseEstimator):  # type: ignore[misc]
    """Base class of fusers.

    They map scores of shape (n, systems) or (n, systems, n_classes) to shape (n,) or (n, n_classes).
    """

    _State: ClassVar[type] = FusionState
    _inputs: ClassVar[Constraints] = {}
    _constraints: ClassVar[Constraints] = {}
    n_systems_: int

    def fit(self, scores: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the fuser to the scores of all systems for the same rows.

        Parameters
        ----------
        scores : array of shape (n, systems) for two classes' llrs, or (n, systems, n_classes)
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            self._state = self._learn(Systems.of(scores, type(self).__name__), y, sample_weight)
        return self

    def transform(self, scores: Any) -> Floats:
        """Return one score per row, or one per row and class."""
        check_is_fitted(self, "n_systems_")
        systems = Systems.of(scores, type(self).__name__)
        if systems.x.shape[1] != self.n_systems_:
            raise InvalidDataError(
                f"{type(self).__name__} was fitted to {self.n_systems_} systems, but got scores of "
                f"{systems.x.shape[1]}."
            )
        return systems.restore_columns(self._fuse(systems.x))

    def fit_transform(self, scores: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """Fit the fuser to scores, and return them fused."""
        return self.fit(scores, y, sample_weight).transform(scores)

    def _learn(self, systems: Systems, y: Any, sample_weight: Any) -> FusionState:
        """Return the fitted state; the base class stores only the number of systems."""
        return FusionState(systems.x.shape[1])

    def _fuse(self, x: Floats) -> Floats:
        raise NotImplementedError


class LogisticFusion(LogisticMap, _Fusion):
    """Fusion by a weighted sum of scores and an offset, trained by prior-weighted logistic regression.

    The result is calibrated. The systems need not be independent or calibrated, because the weights compensate for
    both. There is no penalty.

    Parameters
    ----------
    training_prior : float, sequence in class order, or mapping {label: prior}, optional
        Priors as for :class:`AffineCalibrator`, which is the fusion of one system.

    Attributes
    ----------
    classes_ : array of labels
    weights_ : array of shape (systems,)
    offset_ : float, or array of shape (n_classes,) that sums to 0
    objective_ : float
        Cross-entropy on the training scores at ``training_prior``, in nats.
    n_iter_ : int
        Number of Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 2000)
    >>> scores = rng.normal(size=(4000, 2)) + 2 * y[:, None]  # each has the llr 2 x - 2, independent of the other
    >>> fusion = LogisticFusion().fit(scores, y)
    >>> fusion.weights_.round(1), round(fusion.offset_, 1)
    (array([2.2, 2.1]), -4.3)
    """

    _State = LogisticFusionState
    _inputs: ClassVar[Constraints] = LogisticMap._inputs
    _constraints: ClassVar[Constraints] = {"training_prior": priors(scalar=True)}
    weights_: Floats
    offset_: Any

    def __init__(self, *, training_prior: Any = None) -> None:
        self.training_prior = training_prior

    def _learn(self, systems: Systems, y: Any, sample_weight: Any) -> FusionState:
        rows = self._rows(systems, y, sample_weight)
        found = self._fit(rows)
        self._warn(found)
        self.classes_ = rows.classes
        return LogisticFusionState(systems.x.shape[1], found.weights, found.offset, found.objective, found.n_iter)

    def _fuse(self, x: Floats) -> Floats:
        if x.ndim != 2 + np.ndim(self.offset_) or (x.ndim == 3 and x.shape[2] != len(self.classes_)):
            n_classes = 2 if x.ndim == 2 else x.shape[2]
            raise InvalidDataError(
                f"LogisticFusion was fitted to scores of {len(self.classes_)} classes, but got scores of {n_classes}."
            )
        return self._map(x, self.weights_, self.offset_)


class ProductFusion(_Fusion):
    """Fusion by the sum of log-likelihoods or log-likelihood ratios, for independent systems.

    If the observations A and B of two systems are independent given the class C, P(A, B given C) = P(A given C)
    P(B given C), so log-likelihood ratios add. There is nothing to learn. Infinite llrs of opposite signs give an llr
    of 0.

    Examples
    --------
    >>> ProductFusion().fit_transform([[1.0, 2.0], [-0.5, 3.0]])
    array([3. , 2.5])
    """

    def _fuse(self, x: Floats) -> Floats:
        return LogisticMap._map(x, np.ones(x.shape[1]), 0.0)


class VotingFusion(_Fusion):
    """Fusion by majority vote: for two classes, the number of votes for the target minus the votes against it.

    Votes ignore the strength of the scores. The result is not a log-likelihood ratio; calibrate it before use as such.

    Parameters
    ----------
    threshold : float, default 0.0
        For two classes, a system votes for the target if its llr is at least this value. For more classes a system
        votes for the class with its highest score; ties go to the last class.

    Examples
    --------
    >>> VotingFusion().fit_transform([[-5.0, -4.0, 3.0], [0.1, 0.1, -99.0]])
    array([-1.,  1.])
    """

    _constraints: ClassVar[Constraints] = {"threshold": number(finite=False)}

    def __init__(self, *, threshold: float = 0.0) -> None:
        self.threshold = threshold

    def _fuse(self, x: Floats) -> Floats:
        if x.ndim == 2:
            return np.asarray(np.where(x >= self.threshold, 1.0, -1.0).sum(axis=1))
        n_classes = x.shape[2]
        votes = n_classes - 1 - x[:, :, ::-1].argmax(axis=2)
        return np.asarray((votes[:, :, None] == np.arange(n_classes)).sum(axis=1), dtype=np.float64)
