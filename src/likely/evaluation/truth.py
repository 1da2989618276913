"""Validation of labels, scores and weights for evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._formatting import format_count
from likely._numerics import difference
from likely._typing import Booleans, Floats, Integers, Labels
from likely._validation import check_labels, check_scores, check_weight, encode_labels
from likely.exceptions import InvalidDataError


def check_two_classes(
    y_true: Any, scores: Any, pos_label: Any, sample_weight: Any
) -> tuple[Labels, Booleans, Floats, Floats | None]:
    """Check labels and scores of two classes.

    Return the two labels (nontarget, target), a mask of the rows that are targets, the scores as llrs of shape (n,),
    and the weights or None.
    """
    labels = check_labels("Evaluation", y_true)
    classes, codes = encode_labels(labels)
    values = _check_scores(scores, len(labels))
    weight = check_weight(sample_weight, len(labels))
    if len(classes) != 2:
        raise InvalidDataError(
            f"Trials must have two classes, but y_true has {_format_classes(classes)}. "
            + (
                "Add trials of the other class."
                if len(classes) < 2
                else "To evaluate one class against the others, pass y == label."
            )
        )
    target = 1 if pos_label is None else _position(pos_label, classes)
    if values.ndim == 2:
        if values.shape[1] != 2:
            raise InvalidDataError(
                f"Scores of two classes must be one llr or two log-likelihoods per row, but have shape {values.shape}."
            )
        values = difference(values[:, target], values[:, 1 - target])
    is_target = codes == target
    if weight is not None and not (weight[is_target].any() and weight[~is_target].any()):
        raise InvalidDataError("All trials of one class have weight 0. Give some trials of each class a weight > 0.")
    return classes[[1 - target, target]], is_target, values, weight


def check_evidence(
    y_true: Any, log_likelihoods: Any, labels: Any, sample_weight: Any
) -> tuple[Labels, Integers, Floats, Floats]:
    """Check labels and scores of any number of classes.

    Return the classes, the index of the class of each row, the log-likelihoods of shape (n, n_classes), and the
    weights, which are 1 by default.
    """
    truth = check_labels("Evaluation", y_true)
    scores = _check_scores(log_likelihoods, len(truth))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    classes, codes = codes_of(truth, labels)
    if scores.shape[1] != len(classes):
        raise InvalidDataError(
            f"Log-likelihoods need one column for each class, but there are {scores.shape[1]} columns for "
            f"{format_count(len(classes), 'class', 'classes')}: {_format_labels(classes)}. Pass all classes as "
            "labels=, in the order of the columns."
        )
    weight = check_weight(sample_weight, len(truth))
    return classes, codes, scores, np.ones(len(truth)) if weight is None else weight


def codes_of(values: Labels, labels: Any = None, name: str = "y_true") -> tuple[Labels, Integers]:
    """Return the classes, sorted or in the order of ``labels``, and the index of each value among them."""
    found, codes = encode_labels(values)
    if labels is None:
        return found, codes
    classes = check_labels("labels", list(labels))
    position = {label: i for i, label in enumerate(classes.tolist())}
    if len(position) < len(classes):
        raise InvalidDataError(f"labels must name each class exactly once, but are {classes.tolist()}.")
    unknown = [label for label in found.tolist() if label not in position]
    if unknown:
        raise InvalidDataError(f"{name} holds the label {unknown[0]!r}, which is not among labels={classes.tolist()}.")
    return classes, np.array([position[label] for label in found.tolist()], dtype=np.intp)[codes]


def check_lengths(name: str, values: Any, n: int) -> None:
    """Raise InvalidDataError unless ``values`` has one value for each of the n rows."""
    if len(values) != n:
        raise InvalidDataError(f"y_true and {name} must have one entry for each row, but have {n} and {len(values)}.")


def _check_scores(scores: Any, n: int) -> Floats:
    values = check_scores("Evaluation", scores)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim > 2:
        raise InvalidDataError(f"Scores must have shape (n,) or (n, n_classes), but have shape {values.shape}.")
    check_lengths("scores", values, n)
    return values


def _position(label: Any, classes: Labels) -> int:
    known = classes.tolist()
    if label not in known:
        raise InvalidDataError(f"pos_label={label!r} is not among the labels {_format_classes(classes)}.")
    return int(known.index(label))


def _format_classes(classes: Labels) -> str:
    return f"{len(classes)} ({_format_labels(classes)})"


def _format_labels(classes: Labels) -> str:
    return ", ".join(repr(c) for c in classes.tolist()[:5]) + (", …" if len(classes) > 5 else "")
