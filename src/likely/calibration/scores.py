"""Validation of the scores that one or several systems (classifiers) give to rows of two or more classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._numerics import difference
from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_scores, check_weight, encode_labels
from likely.exceptions import DegenerateDataError, InvalidDataError


@dataclass(frozen=True, eq=False)
class Systems:
    """Scores that several systems (classifiers) give to the same rows.

    Attributes
    ----------
    x : array of shape (n, systems), or (n, systems, n_classes) for more than two classes
        Scores; for two classes, log-likelihood ratios or similar scores.
    pairs : bool
        Whether the input had two columns per system; results then have two columns as well.
    """

    x: Floats
    pairs: bool

    @classmethod
    def of(cls, scores: Any, whom: str) -> Systems:
        """Validate scores of shape (n, systems), (n, systems, 2) or (n, systems, n_classes)."""
        x = check_scores(whom, scores)
        if x.ndim not in (2, 3) or 0 in x.shape[1:]:
            raise InvalidDataError(
                f"{whom} needs scores of shape (n, systems) or (n, systems, classes), but they have shape {x.shape}."
            )
        if x.ndim == 3 and x.shape[2] < 2:
            raise InvalidDataError(f"{whom} needs scores of at least two classes, but they have shape {x.shape}.")
        if x.ndim == 3 and x.shape[2] == 2:
            return cls(difference(x[:, :, 1], x[:, :, 0]), True)
        return cls(x, False)

    @classmethod
    def of_one(cls, scores: Any, whom: str) -> Systems:
        """Validate scores of one system, of shape (n,), (n, 1) or (n, n_classes)."""
        x = check_scores(whom, scores)
        if x.ndim > 2:
            raise InvalidDataError(
                f"{whom} needs scores of shape (n,) or (n, classes), but they have shape {x.shape}. "
                "Use LogisticFusion for scores of several systems."
            )
        return cls.of(x.reshape(len(x), 1) if x.ndim == 1 or x.shape[1] == 1 else x[:, None, :], whom)

    def restore_columns(self, mapped: Floats) -> Floats:
        """Return llrs of two classes, ``mapped`` of shape (n,), in the form of the input.

        If the input had two columns per system, the result has two columns, and the first is 0.
        """
        return np.column_stack([np.zeros(len(mapped)), mapped]) if self.pairs else mapped


def check_training_scores(
    whom: str, systems: Systems, y: Any, sample_weight: Any
) -> tuple[Floats, Labels, Integers, Floats | None]:
    """Return validated scores, classes, codes and weights for the training of a calibration or fusion.

    Rows of weight 0 are dropped. Raise if a score is infinite, or if the scores do not match the number of classes.
    """
    x, labels = systems.x, check_labels(whom, y)
    if len(x) != len(labels):
        raise InvalidDataError(f"Scores and y must have one entry for each row, but have {len(x)} and {len(labels)}.")
    weight = check_weight(sample_weight, len(labels))
    if weight is not None and not weight.all():
        kept = weight > 0
        x, labels, weight = x[kept], labels[kept], weight[kept]
    classes, codes = encode_labels(labels)
    if len(classes) < 2:
        raise DegenerateDataError(f"{whom} needs rows of at least two classes, but y has {classes.tolist()}.")
    if not np.isfinite(x).all():
        row = int((~np.isfinite(x)).reshape(len(x), -1).any(axis=1).argmax())
        raise InvalidDataError(
            f"{whom} cannot be fitted to infinite scores, but row {row} has one. Drop such rows or bound the scores. "
            "Alternatively, use IsotonicCalibrator, which uses only the order of the scores."
        )
    expected = 2 if x.ndim == 2 else x.shape[2]
    if expected != len(classes):
        raise InvalidDataError(
            f"{whom}: y has {len(classes)} classes, but the scores are for {expected} classes. For two classes, pass "
            "one column of scores. For more classes, pass one column per class."
        )
    return x, classes, codes, weight
