"""The contract of every classifier that gives evidence, written once."""

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
"""What only classifiers that give evidence have."""

LABELLED_INPUTS = {**INPUTS, "classes_": class_labels()}
"""Attributes of a fitted classifier that are not in its state."""


class EvidenceClassifier(Fitted, ClassifierMixin):  # type: ignore[misc]
    """A classifier whose score is the log-likelihood of the observation under each class.

    A subclass provides ``_evidence`` (log-likelihoods of validated rows), or ``log_likelihood`` where rows are checked
    by others, ``classes_``, ``training_priors_`` and a constructor parameter ``priors``. Everything else follows here:
    no prior enters ``log_likelihood`` or ``llr``; the posteriors of ``predict``, ``predict_proba`` and
    ``decision_function`` are under ``priors``, or else under ``training_priors_``; ``decide`` takes an application of
    its own.
    """

    _inputs: ClassVar[Constraints] = LABELLED_INPUTS
    classes_: Labels
    priors: Any

    @property
    def training_priors_(self) -> Floats:
        """The priors the fit was made under."""
        raise NotImplementedError

    def _evidence(self, X: Rows) -> Floats:
        raise NotImplementedError

    def log_likelihood(self, X: Any) -> Floats:
        """Natural log-likelihood of each row under each class, of shape (n, n_classes), without priors."""
        check_is_fitted(self)
        return self._evidence(check_rows(self, X))

    def llr(self, X: Any) -> Floats:
        """Log-likelihood ratio of each row, second class against first, of shape (n,), without priors."""
        scores = self.log_likelihood(X)
        if scores.shape[1] != 2:
            raise InvalidDataError(
                f"A log-likelihood ratio compares two classes, but the model knows {scores.shape[1]}. "
                "Use log_likelihood, and take the difference of the two classes that matter."
            )
        return difference(scores[:, 1], scores[:, 0])

    def decide(self, X: Any, application: Application | float) -> Labels:
        """The decisions that cost least in an application; None, in an object array, where it rejects.

        For two classes a number stands for ``Application.binary(number)``.
        """
        return as_application(application).decide(self.log_likelihood(X), self.classes_)

    def predict(self, X: Any) -> Labels:
        """The most probable class of each row; of equally probable ones the last."""
        scores = self.log_likelihood(X)
        return self._application().decide(scores, self.classes_)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log posteriors, of shape (n, n_classes)."""
        scores = self.log_likelihood(X)
        return self._application().log_posteriors(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Posteriors, of shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def decision_function(self, X: Any) -> Floats:
        """Log posterior odds of the second class, of shape (n,); for more classes, log posteriors (n, n_classes)."""
        scores = self.log_likelihood(X)
        if scores.shape[1] != 2:
            return self._application().log_posteriors(scores)
        odds = log(self._application().priors)
        return np.asarray(difference(scores[:, 1], scores[:, 0]) + (odds[1] - odds[0]))

    def _application(self) -> Application:
        """The constructor's priors, or else the training priors, at unit costs."""
        priors = self.training_priors_ if self.priors is None else self.priors
        application = Application(priors if isinstance(priors, Mapping) else np.asarray(priors))
        return application.aligned(self.classes_)


class DensityClassifier(EvidenceClassifier):
    """A classifier whose log-likelihoods are those of densities, not only up to a constant of the row."""

    def log_density(self, X: Any) -> Floats:
        """Log density of each row whatever its class, of shape (n,): low for outliers.

        The classes are mixed with ``priors``, or else with ``training_priors_``.
        """
        scores = self.log_likelihood(X)
        return np.asarray(logsumexp(scores + log(self._application().priors), axis=1))


class ScoreClassifier(Fitted, ClassifierMixin):  # type: ignore[misc]
    """A classifier whose score ranks and decides, but has no probabilistic meaning, so it gives no evidence.

    A subclass provides ``_scores`` (of validated rows: one a class, or one a row for two classes) and ``classes_``. It
    has no ``log_likelihood`` until :class:`likely.CalibratedClassifier` gives it one; asking says so.
    """

    _inputs: ClassVar[Constraints] = LABELLED_INPUTS
    classes_: Labels

    def _scores(self, X: Rows) -> Floats:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Score of the second class, of shape (n,), decided by its sign; for more classes, (n, n_classes)."""
        check_is_fitted(self)
        return self._scores(check_rows(self, X))

    def predict(self, X: Any) -> Labels:
        """The class of the highest score; of equally high ones the last."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[highest(scores)])

    def __getattr__(self, name: str) -> Any:
        if name in EVIDENCE:
            raise AttributeError(
                f"{type(self).__name__} has no {name}, because its score has no probabilistic meaning. Wrap it: "
                f"CalibratedClassifier({type(self).__name__}()) turns the score into evidence."
            )
        return super().__getattr__(name)
