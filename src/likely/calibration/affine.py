"""Affine calibration: a scale and an offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import Constraints, check_parameters, count, flag, number, priors
from likely._fitted import all_or_nothing
from likely._typing import Floats, Labels
from likely.calibration.logistic_map import OFFSET, LogisticMap, MapFit
from likely.calibration.scores import Systems
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class AffineState:
    """Fitted scale and offset."""

    scale_: Annotated[float, number()]
    offset_: Annotated[Any, OFFSET]
    objective_: Annotated[float, number(finite=False)]
    n_iter_: Annotated[int, count()]


class AffineCalibrator(LogisticMap, BaseEstimator):  # type: ignore[misc]
    """Affine calibration of scores to log-likelihood ratios, by prior-weighted logistic regression.

    The calibrator fits a scale and an offset (Platt scaling with a prior). It assumes that the log-likelihood ratio is
    an affine function of the score. There is no penalty, so an affine transformation of the scores does not change the
    result. If the scores separate the classes, no finite scale is optimal; the calibrator then uses Laplace's rule and
    warns.

    Parameters
    ----------
    training_prior : float, sequence in class order, or mapping {label: prior}, optional
        Priors at which the cross-entropy is minimised: the prior of the target for two classes, else one prior per
        class. By default all classes have equal priors. The calibrated scores contain no prior.
    rising : bool, default False
        Whether the scale must not be negative. Pooled out-of-fold scores of an uninformative model can be slightly
        lower for their own class, because leaving a row out makes its class rarer. A map with a negative scale would
        treat this as evidence. With ``rising=True`` such scores get the scale 0.

    Attributes
    ----------
    classes_ : array of labels
    scale_ : float
    offset_ : float, or array of shape (n_classes,) that sums to 0
        llr = scale · score + offset for two classes; log-likelihood of class k = scale · score_k + offset_k for more.
    objective_ : float
        Cross-entropy on the training scores at ``training_prior``, in nats.
    n_iter_ : int
        Number of Newton steps.

    References
    ----------
    N. Brümmer and J. du Preez, Application-independent evaluation of speaker detection, Computer Speech and Language 20
    (2006).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 5000)
    >>> llr = 2 * rng.normal(size=10_000) + np.where(y == 1, 2, -2)  # N(±s²/2, s²) with s = 2: these are llrs
    >>> calibrator = AffineCalibrator().fit(10 * llr + 3, y)
    >>> round(10 * calibrator.scale_, 2), round(calibrator.offset_ + 3 * calibrator.scale_, 2)
    (0.99, -0.02)
    >>> bool(abs(calibrator.transform(10 * llr + 3) - llr).max() < 0.2)
    True
    """

    _State = AffineState
    _constraints: ClassVar[Constraints] = {"training_prior": priors(scalar=True), "rising": flag}
    scale_: float
    offset_: Any

    def __init__(self, *, training_prior: Any = None, rising: bool = False) -> None:
        self.training_prior = training_prior
        self.rising = rising

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, near: AffineCalibrator | None = None) -> Self:
        """Fit the scale and the offset.

        Parameters
        ----------
        scores : array of shape (n,) or (n, 1) for two classes, or (n, n_classes)
            Finite scores, with columns in the order of the sorted labels.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.
        near : AffineCalibrator, optional
            Calibrator fitted to similar scores, for a warm start. The solution is the same and is found faster.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            start = None if near is None else (np.array([near.scale_]), near.offset_)
            rows = self._rows(Systems.of_one(scores, "AffineCalibrator"), y, sample_weight)
            found = self._fit(rows, start)
            self._warn(found)
            if self.rising:
                found = keep_rising(found, rows.priors)
            self._state = AffineState(float(found.weights[0]), found.offset, found.objective, found.n_iter)
            self.classes_ = rows.classes
        return self

    def transform(self, scores: Any) -> Floats:
        """Return calibrated scores of the same shape: llrs, or log-likelihoods up to a constant per row."""
        check_is_fitted(self, "scale_")
        systems = Systems.of_one(scores, "AffineCalibrator")
        check_n_columns(systems, self.classes_)
        return systems.restore_columns(self._map(systems.x, np.array([self.scale_]), self.offset_)).reshape(
            np.shape(scores)
        )

    def fit_transform(self, scores: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Fit the calibrator to scores, and return them calibrated."""
        return self.fit(scores, y, sample_weight).transform(scores)


def keep_rising(found: MapFit, priors: Floats) -> MapFit:
    """Return the map, or if its scale is negative the map of scale 0, whose objective is the entropy of the priors."""
    if found.weights[0] >= 0:
        return found
    offset = 0.0 if len(priors) == 2 else np.zeros(len(priors))
    return found._replace(weights=np.zeros(1), offset=offset, objective=float(entr(priors).sum()))


def check_n_columns(systems: Systems, classes: Labels) -> None:
    """Raise unless the scores are for as many classes as the calibrator."""
    n_classes = 2 if systems.x.ndim == 2 else systems.x.shape[2]
    if n_classes != len(classes):
        raise InvalidDataError(
            f"The calibrator was fitted to scores of {len(classes)} classes, but got scores of {n_classes}."
        )
