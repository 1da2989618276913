"""Functions on pipelines: whether two steps are equal, learning of steps from moments, and scores.

A chain is the list of steps of a pipeline. A step can learn from moments if it has the attributes ``needs`` (the class
of the smallest moments from which it can learn) and ``by_class`` (whether it needs the moments of each class), and the
methods ``estimate(statistics, classes)`` and, unless it is the last step, ``map_statistics(statistics)``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from likely._numerics import difference, log
from likely._typing import Floats, Labels
from likely.exceptions import IncompatiblePartsError
from likely.statistics import ByClass, DiagonalMoments, Moments

Member = TypeVar("Member")

MAX_BYTES = 2**31
"""Maximum memory, in bytes, of the moments of all groups of rows. A group is a class, or the rows of a class in one
fold."""

_ISOLATED = (QuantileTransformer,)
"""Steps of scikit-learn that are treated as if they declared ``fits_are_isolated``."""

_METHODS = ("log_likelihood", "decision_function", "predict_log_proba", "predict_proba")
"""Methods of models that return scores, in order of preference. The last two return posteriors, which depend on the
training priors; calibrating the scores removes these priors."""


def fits_in_memory(kind: type[Moments] | type[DiagonalMoments], n_cells: int, n_features: int) -> bool:
    """Return whether the moments of ``n_cells`` groups of rows fit in ``MAX_BYTES``."""
    return 8 * n_cells * n_features ** (2 if kind is Moments else 1) <= MAX_BYTES


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, without passthrough steps. Any other model is its own only step."""
    if not isinstance(model, Pipeline):
        return [model]
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


def is_isolated(model: Any) -> bool:
    """Return whether a model, or every step of a pipeline, declares ``fits_are_isolated``.

    By this attribute a step declares that ``fit_transform`` gives the same as ``fit`` and then ``transform``, and that
    fitting neither changes warning filters nor draws from the global random generator. Pipelines may then share fitted
    steps, and folds may be fitted in threads.
    """
    return all(getattr(step, "fits_are_isolated", False) or isinstance(step, _ISOLATED) for step in steps_of(model))


def is_pairwise(model: Any) -> bool:
    """Return whether a model, or the first step of a pipeline, takes a matrix of kernels or distances between rows.

    Such a matrix has a column for each training row, so a fold selects columns as well as rows.
    """
    first = next(iter(steps_of(model)), model)
    try:
        return bool(get_tags(first).input_tags.pairwise)
    except Exception:  # noqa: BLE001  a model without tags takes rows; ``fit`` reports any error
        return False


def fingerprint(step: Any, but: str | None = None) -> Hashable:
    """Return a key that is the same for all steps of one class with equal parameters. The parameter ``but`` is ignored.

    A key is valid only while its step exists, because it may contain the ``id`` of a parameter.
    """
    params = step.get_params(deep=False)
    return type(step), *(_key_of(value) for name, value in sorted(params.items()) if name != but)


def _key_of(value: Any) -> Hashable:
    """Return a key for the value of a parameter: its pickle.

    The key of a value that cannot be pickled, such as a lambda, is its ``id``, so it equals only itself.
    """
    try:
        return pickle.dumps(clone(value, safe=False))
    except Exception:  # noqa: BLE001  pickling a third-party object may raise anything
        return id(value)  # not the id of a copy, which may be reused after the copy is deleted


def group_alike(members: Mapping[int, Member], key: Callable[[Member], Hashable]) -> Iterator[dict[int, Member]]:
    """Yield groups of members for which ``key`` returns equal keys. Each group maps numbers to members."""
    groups: dict[Hashable, dict[int, Member]] = {}
    for i, member in members.items():
        groups.setdefault(key(member), {})[i] = member
    yield from groups.values()


# Learning from moments


def is_mappable(steps: list[Any]) -> bool:
    """Return whether all steps of a pipeline can be estimated from the moments of the input of the pipeline."""
    return (
        len(steps) > 0
        and all(hasattr(step, "needs") and hasattr(step, "estimate") for step in steps)
        and all(hasattr(step, "map_statistics") for step in steps[:-1])
    )


def needs_of(steps: list[Any]) -> type[Moments] | type[DiagonalMoments]:
    """Return the class of the smallest moments of the input, full or diagonal, from which all steps can learn."""
    if not is_mappable(steps):
        unsupported = next((step for step in steps if not hasattr(step, "needs")), steps[0])
        raise IncompatiblePartsError(
            f"{type(unsupported).__name__} does not learn from moments, so this pipeline cannot be trained "
            "incrementally. Train it with fit, or use only steps such as Standardize, PCA, LDA and GaussianClassifier."
        )
    return Moments if any(step.needs is Moments for step in steps) else DiagonalMoments


def estimate_chain(steps: list[Any], statistics: ByClass[Any], classes: Labels | None) -> None:
    """Estimate all steps of a pipeline. ``statistics`` are the moments of the input of the pipeline for each class."""
    for step in steps[:-1]:
        statistics = estimate_step(step, statistics, classes).map_statistics(statistics)
    estimate_step(steps[-1], statistics, classes)


def estimate_step(step: Any, statistics: ByClass[Any], classes: Labels | None) -> Any:
    """Estimate one step, and return it. ``statistics`` are the moments of the input of the step for each class."""
    if step.needs is DiagonalMoments:
        statistics = statistics.each(lambda part: part.diagonal())
    return step.estimate(statistics if step.by_class else statistics.total(), classes)


# Scores


def check_scorer(model: Any, weighted: bool) -> None:
    """Raise if a model gives no scores, or if there are weights and the model takes no weights."""
    name = type(steps_of(model)[-1]).__name__
    if not any(hasattr(model, method) for method in _METHODS):
        raise IncompatiblePartsError(
            f"{name} has none of the methods log_likelihood, decision_function and predict_log_proba, so it gives no "
            "scores. Remove it, or use a classifier that has one of these methods."
        )
    if getattr(steps_of(model)[-1], "decision_function_shape", "ovr") == "ovo":
        raise IncompatiblePartsError(
            f"{name} gives a score for each pair of classes. Set decision_function_shape='ovr' for one score per class."
        )
    if weighted and not has_fit_parameter(model, "sample_weight"):
        raise IncompatiblePartsError(f"{type(model).__name__} ({name}) takes no sample_weight. Do not pass weights.")


def scores_of(model: Any, X: Any) -> Floats:
    """Return the log-likelihoods of a fitted model, or else its decision values, or else its log posteriors.

    Columns are in sorted order of the labels, even if the model's ``classes_`` are not.
    """
    method = next(method for method in _METHODS if hasattr(model, method))
    with np.errstate(divide="ignore"):
        # The logarithm of a probability of 0 is −inf, without a warning.
        scores = getattr(model, method)(X)
    scores = np.asarray(log(scores) if method == "predict_proba" else scores, dtype=np.float64)
    return _in_sorted_order(scores, getattr(model, "classes_", None))


def _in_sorted_order(scores: Floats, classes: Any) -> Floats:
    """Return scores with columns in sorted order of the classes.

    A model may have its classes in another order, for example with the unknown class last.
    """
    if classes is None or np.ndim(classes) != 1:
        return scores
    order = np.argsort(classes, kind="stable")
    if (order == np.arange(len(order))).all():
        return scores
    if scores.ndim == 1:  # scores of the second class against the first
        return -scores
    return scores[:, order] if scores.shape[1] == len(order) else scores


def floor_of(scores: Floats, model: Any) -> float:
    """Return the floor of log posteriors: the logarithm of half the smallest posterior that is not 0.

    The posterior of a tree or a forest is 0 where no training row of a class was seen. This does not prove that the
    class cannot occur there, so the floor replaces the logarithm of 0. Log-likelihoods and decision values have no
    floor: −∞ is returned for them.
    """
    if hasattr(model, "log_likelihood") or hasattr(model, "decision_function"):
        return -np.inf
    return float(scores[np.isfinite(scores)].min() - np.log(2))


def in_classes(scores: Floats, n_classes: int, floor: float = -np.inf) -> Floats:
    """Return scores in the shape for ``n_classes``, with lower values replaced by ``floor``.

    For two classes, there is one score for each row: the second column minus the first. For more classes, there is one
    column for each class.
    """
    scores = np.maximum(scores, floor)
    if n_classes == 2 and scores.ndim == 2 and scores.shape[1] == 2:
        return difference(scores[:, 1], scores[:, 0])
    if scores.ndim != 1 + (n_classes > 2) or (scores.ndim == 2 and scores.shape[1] != n_classes):
        raise IncompatiblePartsError(
            f"Scores of {n_classes} classes must have one column for each class, but have shape {scores.shape}."
        )
    return scores
