"""Calibration by a scale and an offset."""

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
from likely.calibration.logistic_map import OFFSET, LogisticMap
from likely.calibration.scores import Systems
from likely.decisions import Application, training_priors
from likely.exceptions import InvalidDataError


@dataclass(frozen=True, eq=False)
class AffineState:
    """A fitted scale and offset."""

    scale_: Annotated[float, number()]
    offset_: Annotated[Any, OFFSET]
    objective_: Annotated[float, number(finite=False)]
    n_iter_: Annotated[int, count()]


class AffineCalibrator(LogisticMap, BaseEstimator):  # type: ignore[misc]
    """A scale and an offset that make scores log-likelihood ratios, trained by prior-weighted logistic regression.

    Assumes that the log-likelihood ratio is an affine function of the score. There is no penalty, so an affine map of
    the scores changes nothing in the result. Scores that separate the classes have no best scale; they are fitted by
    Laplace's rule, with a warning.

    Parameters
    ----------
    training_prior : float, sequence in class order, or mapping {label: prior}, optional
        Where on the range of applications the map should be best: the target's prior for two classes, one for each
        class otherwise. By default all classes are equally frequent. The result contains no prior.
    rising : bool, default False
        Whether higher scores must not mean less. Scores of models that know nothing may yet be a little lower for their
        own class where they were pooled from folds, since leaving a row out makes its class rarer; a map that falls
        would take that for evidence. With this, such scores say nothing.

    Attributes
    ----------
    classes_ : array of labels
    scale_ : float
    offset_ : float, or array of shape (n_classes,) that adds up to 0
        llr = scale · score + offset for two classes; log-likelihood of class k = scale · score_k + offset_k for more.
    objective_ : float
        Cross-entropy on the training scores at ``training_prior``, in nats.
    n_iter_ : int

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
        """Learn scale and offset.

        Parameters
        ----------
        scores : array of shape (n,) or (n, 1) for two classes, or (n, n_classes)
            Finite. Columns in the order of the sorted labels.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.
        near : AffineCalibrator, optional
            One that was fitted to much the same scores: from its map this one is found sooner, and is the same.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            start = None if near is None else (np.array([near.scale_]), near.offset_)
            found = self._fit(Systems.of_one(scores, "AffineCalibrator"), y, sample_weight, start)
            state = AffineState(float(found.weights[0]), found.offset, found.objective, found.n_iter)
            if self.rising and state.scale_ < 0:
                state = self._constant_map(found.classes, found.n_iter)
            self.classes_, self._state = found.classes, state
        return self

    def _constant_map(self, classes: Labels, n_iter: int) -> AffineState:
        """The best rising map where the best map falls: no evidence, at the entropy of the priors."""
        n = len(classes)
        priors = Application.equal(n).priors
        if self.training_prior is not None:
            priors = training_priors("AffineCalibrator", self.training_prior, classes)
        return AffineState(0.0, 0.0 if n == 2 else np.zeros(n), float(entr(priors).sum()), n_iter)

    def transform(self, scores: Any) -> Floats:
        """Calibrated scores of the same shape: llrs, or log-likelihoods up to a constant of the row."""
        check_is_fitted(self, "scale_")
        systems = Systems.of_one(scores, "AffineCalibrator")
        expected = 2 if np.ndim(self.offset_) == 0 else len(self.classes_)
        came = 2 if systems.x.ndim == 2 else systems.x.shape[2]
        if came != expected:
            raise InvalidDataError(f"The calibrator was fitted to scores of {expected} classes, but got {came}.")
        return systems.given_back(self._map(systems.x, np.array([self.scale_]), self.offset_)).reshape(np.shape(scores))

    def fit_transform(self, scores: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Learn from scores, and calibrate them."""
        return self.fit(scores, y, sample_weight).transform(scores)
