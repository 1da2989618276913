"""Base classes of classifiers: those that return log-likelihoods, and those that return only scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from likely._constraints import Constraints, class_labels
from likely._fitted import INPUTS, Fitted
from likely._numerics import difference, log
from likely._typing import Floats, Labels, Rows
from likely._validation import check_rows
from likely.decisions import Application, as_application, highest
from likely.exceptions import InvalidDataError

EVIDENCE = ("log_likelihood", "llr", "decide", "predict_proba", "predict_log_proba")
"""Methods that only classifiers with log-likelihoods have."""

LABELLED_INPUTS = {**INPUTS, "classes_": class_labels()}
"""Attributes of a fitted classifier outside its fitted state."""


class EvidenceClassifier(Fitted, ClassifierMixin):  # type: ignore[misc]
    """Base class of classifiers whose score is the log-likelihood of the observation under each class.

    A subclass provides ``_evidence`` (log-likelihoods of validated rows), ``classes_``, ``training_priors_`` and a
    constructor parameter ``priors``. A subclass whose parts validate the rows provides ``log_likelihood`` instead of
    ``_evidence``. This class derives the other methods. ``log_likelihood`` and ``llr`` contain no priors. The
    posteriors of ``predict``, ``predict_proba`` and ``decision_function`` use ``priors``, or ``training_priors_`` by
    default (equal priors for :class:`likely.NearestMeanClassifier`). ``decide`` uses the priors and
    costs of the application it is given.
    """

    _inputs: ClassVar[Constraints] = LABELLED_INPUTS
    classes_: Labels
    priors: Any

    @property
    def training_priors_(self) -> Floats:
        """Priors of the classes in training, of shape (n_classes,)."""
        raise NotImplementedError

    def _evidence(self, X: Rows) -> Floats:
        raise NotImplementedError

    def log_likelihood(self, X: Any) -> Floats:
        """Return the natural log-likelihood of each row under each class, of shape (n, n_classes), without priors."""
        check_is_fitted(self)
        return self._evidence(check_rows(self, X))

    def llr(self, X: Any) -> Floats:
        """Return the log-likelihood ratio of each row, second class against first, of shape (n,), without priors."""
        scores = self.log_likelihood(X)
        if scores.shape[1] != 2:
            raise InvalidDataError(
                f"llr compares two classes, but the model has {scores.shape[1]} classes. "
                "Use log_likelihood, and subtract the columns of the two classes to compare."
            )
        return difference(scores[:, 1], scores[:, 0])

    def decide(self, X: Any, application: Application | float) -> Labels:
        """Return the decisions of minimum expected cost in an application.

        If the application can reject, the result is an object array with None for rejected rows. For two classes,
        a number means ``Application.binary(number)``.
        """
        return as_application(application).decide(self.log_likelihood(X), self.classes_)

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row. Ties go to the last class."""
        scores = self.log_likelihood(X)
        return self._application().decide(scores, self.classes_)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log-posteriors, of shape (n, n_classes)."""
        scores = self.log_likelihood(X)
        return self._application().log_posteriors(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Return posteriors, of shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def decision_function(self, X: Any) -> Floats:
        """Return log-posterior odds of the second class, of shape (n,).

        For more than two classes, return log-posteriors of shape (n, n_classes).
        """
        scores = self.log_likelihood(X)
        if scores.shape[1] != 2:
            return self._application().log_posteriors(scores)
        odds = log(self._application().priors)
        return np.asarray(difference(scores[:, 1], scores[:, 0]) + (odds[1] - odds[0]))

    def _application(self) -> Application:
        """Return the application with ``priors``, or the training priors by default, and unit costs."""
        priors = self.training_priors_ if self.priors is None else self.priors
        application = Application(priors if isinstance(priors, Mapping) else np.asarray(priors))
        return application.aligned(self.classes_)


class DensityClassifier(EvidenceClassifier):
    """Base class of classifiers whose log-likelihoods are log-densities, without an unknown constant per row."""

    def log_density(self, X: Any) -> Floats:
        """Return the log-density of each row, summed over the classes, of shape (n,). It is low for outliers.

        The classes are weighted by the priors of ``predict``.
        """
        scores = self.log_likelihood(X)
        return np.asarray(logsumexp(scores + log(self._application().priors), axis=1))


class ScoreClassifier(Fitted, ClassifierMixin):  # type: ignore[misc]
    """Base class of classifiers whose score has no probabilistic meaning.

    The score ranks rows and gives decisions. A subclass provides ``classes_`` and ``_scores`` for validated rows: one
    score per class, or one score per row for two classes. There is no ``log_likelihood``; the error message refers to
    :class:`likely.CalibratedClassifier`, which adds one.
    """

    _inputs: ClassVar[Constraints] = LABELLED_INPUTS
    classes_: Labels

    def _scores(self, X: Rows) -> Floats:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second class, of shape (n,); its sign gives the decision.

        For more than two classes, return one score per class, of shape (n, n_classes).
        """
        check_is_fitted(self)
        return self._scores(check_rows(self, X))

    def predict(self, X: Any) -> Labels:
        """Return the class with the highest score. Ties go to the last class."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[highest(scores)])

    def __getattr__(self, name: str) -> Any:
        if name in EVIDENCE:
            raise AttributeError(
                f"{type(self).__name__} has no {name}, because its score has no probabilistic meaning. "
                f"Use CalibratedClassifier({type(self).__name__}()), which converts the score to log-likelihoods."
            )
        return super().__getattr__(name)
