"""Which of its outputs a classifier is judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from likely._numerics import difference, log
from likely._typing import Floats
from likely.exceptions import IncompatiblePartsError
from likely.resampling.chains import steps_of

__all__ = ["check_scorer", "floor_of", "in_classes", "scores_of"]

_METHODS = ("log_likelihood", "decision_function", "predict_log_proba", "predict_proba")
"""Best first: evidence, then scores, then posteriors, whose priors a calibrator takes out."""


def check_scorer(model: Any, weighted: bool) -> None:
    """Refuse a model that gives no scores, or takes no weights where there are some, before any work is done."""
    name = type(steps_of(model)[-1]).__name__
    if not any(hasattr(model, method) for method in _METHODS):
        raise IncompatiblePartsError(
            f"{name} has neither log_likelihood nor decision_function nor predict_log_proba, so it gives no scores. "
            "Put a classifier that has one of them in its place, or leave it out."
        )
    if getattr(steps_of(model)[-1], "decision_function_shape", "ovr") == "ovo":
        raise IncompatiblePartsError(
            f"{name} gives a score for each pair of classes. Set decision_function_shape='ovr' for one a class."
        )
    if weighted and not has_fit_parameter(model, "sample_weight"):
        raise IncompatiblePartsError(f"{type(model).__name__} ({name}) takes no sample_weight. Leave the weights out.")


def scores_of(model: Any, X: Any) -> Floats:
    """Log-likelihoods of a fitted model, or else decision values, or else log posteriors.

    Columns are in sorted order of the labels, whatever the order of a model's ``classes_``.
    """
    method = next(method for method in _METHODS if hasattr(model, method))
    with np.errstate(divide="ignore"):
        # Probabilities of 0 are −inf, quietly.
        scores = getattr(model, method)(X)
    scores = np.asarray(log(scores) if method == "predict_proba" else scores, dtype=np.float64)
    return _in_sorted_order(scores, getattr(model, "classes_", None))


def _in_sorted_order(scores: Floats, classes: Any) -> Floats:
    """Scores by a model whose classes may have an order of their own, such as the unknown class last."""
    if classes is None or np.ndim(classes) != 1:
        return scores
    order = np.argsort(classes, kind="stable")
    if (order == np.arange(len(order))).all():
        return scores
    if scores.ndim == 1:  # of the second class against the first
        return -scores
    return scores[:, order] if scores.shape[1] == len(order) else scores


def floor_of(scores: Floats, model: Any) -> float:
    """Half the least posterior above 0 that a model gave, in logarithms: what its posteriors of 0 are counted as.

    A forest's share of votes, or a tree's share of rows, is 0 where it has seen nothing of a class, not where there is
    nothing. Scores of other kinds have no floor.
    """
    if hasattr(model, "log_likelihood") or hasattr(model, "decision_function"):
        return -np.inf
    return float(scores[np.isfinite(scores)].min() - np.log(2))


def in_classes(scores: Floats, n_classes: int, floor: float = -np.inf) -> Floats:
    """One score a row for two classes, one for each class for more; none below the floor."""
    scores = np.maximum(scores, floor)
    if n_classes == 2 and scores.ndim == 2 and scores.shape[1] == 2:
        return difference(scores[:, 1], scores[:, 0])
    if scores.ndim != 1 + (n_classes > 2) or (scores.ndim == 2 and scores.shape[1] != n_classes):
        raise IncompatiblePartsError(
            f"A model gives scores of shape {scores.shape} for {n_classes} classes. One for each class is needed."
        )
    return scores
