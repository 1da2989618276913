"""Names of systems, and the evidence that their estimators give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely._validation import check_labels
from likely.evaluation.truth import codes_of
from likely.exceptions import IncompatiblePartsError, InvalidDataError, InvalidParameterError
from likely.resampling.scoring import check_scorer, scores_of

__all__ = ["decisions_of", "evidence_of", "named_estimators", "named_scores", "target_scores_of"]


def named_scores(scores: Any, name: str | None) -> dict[str, Any]:
    """Scores by the name of their system: a mapping as it is, or one system's under its name."""
    return _named(scores, "scores" if name is None else name, name)


def named_estimators(estimator: Any, name: str | None) -> dict[str, Any]:
    """Estimators by name: a mapping as it is, or one under the given name or that of its class."""
    return _named(estimator, type(estimator).__name__ if name is None else name, name)


def _named(systems: Any, default: str, name: str | None) -> dict[str, Any]:
    if not isinstance(systems, Mapping):
        return {default: systems}
    if not systems:
        raise InvalidParameterError("A display needs one system at least, but the mapping is empty.")
    if name is not None:
        raise InvalidParameterError(
            f"name={name!r} names a single system, but a mapping of {len(systems)} was given, which names them itself."
        )
    return {str(key): system for key, system in systems.items()}


def target_scores_of(estimator: Any, X: Any, y: Any, pos_label: Any) -> Floats:
    """Scores of two classes, target against nontarget."""
    classes, scores = evidence_of(estimator, X, y)
    if scores.ndim == 1 and pos_label is not None and pos_label == classes.tolist()[0]:
        return -scores
    return scores


def evidence_of(estimator: Any, X: Any, y: Any) -> tuple[Labels, Floats]:
    """Classes in column order, and ``log_likelihood``, or else ``decision_function``, or else log posteriors."""
    check_scorer(estimator, weighted=False)
    return _classes(estimator, y), scores_of(estimator, X)


def decisions_of(estimator: Any, X: Any, application: Any) -> Labels:
    """What an estimator decides in an application, or, without one, predicts."""
    if application is None:
        return np.asarray(estimator.predict(X))
    if not hasattr(estimator, "decide"):
        raise IncompatiblePartsError(
            f"{type(estimator).__name__} has no decide, so it takes no application. Calibrate it first, or leave "
            "application out to show what it predicts."
        )
    return np.asarray(estimator.decide(X, application))


def _classes(estimator: Any, y: Any) -> Labels:
    """The classes an estimator knows, in the order of its scores' columns, among which all labels must be."""
    classes = np.sort(np.asarray(estimator.classes_))
    labels = check_labels("Evaluation", y)
    strangers = [label for label in codes_of(labels)[0].tolist() if label not in classes.tolist()]
    if strangers:
        raise InvalidDataError(
            f"y holds the label {strangers[0]!r}, which {type(estimator).__name__} does not know. It knows "
            f"{classes.tolist()[:10]}."
        )
    return classes
