"""The door of this room: scores of one system or several, of two classes or more."""

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
    """Scores of several systems about the same rows.

    Attributes
    ----------
    x : array of shape (n, systems), or (n, systems, n_classes) for more than two classes
        For two classes, log-likelihood ratios or scores that behave like them.
    pairs : bool
        Whether they came as two columns a system, so that results should be given so too.
    """

    x: Floats
    pairs: bool

    @classmethod
    def of(cls, scores: Any, whom: str) -> Systems:
        """Scores of shape (n, systems), (n, systems, 2) or (n, systems, n_classes)."""
        x = check_scores(whom, scores)
        if x.ndim not in (2, 3) or 0 in x.shape[1:]:
            raise InvalidDataError(
                f"{whom} takes scores of shape (n, systems) or (n, systems, classes), but they came with shape "
                f"{x.shape}."
            )
        if x.ndim == 3 and x.shape[2] < 2:
            raise InvalidDataError(f"{whom} takes scores of two classes or more, but they came with shape {x.shape}.")
        if x.ndim == 3 and x.shape[2] == 2:
            return cls(difference(x[:, :, 1], x[:, :, 0]), True)
        return cls(x, False)

    @classmethod
    def of_one(cls, scores: Any, whom: str) -> Systems:
        """Scores of a single system, of shape (n,), (n, 1) or (n, n_classes)."""
        x = check_scores(whom, scores)
        if x.ndim > 2:
            raise InvalidDataError(
                f"{whom} takes scores of shape (n,) or (n, classes), but they came with shape {x.shape}. "
                "LogisticFusion takes those of several systems."
            )
        return cls.of(x.reshape(len(x), 1) if x.ndim == 1 or x.shape[1] == 1 else x[:, None, :], whom)

    def given_back(self, mapped: Floats) -> Floats:
        """Two classes' llrs in the form in which the scores came."""
        return np.column_stack([np.zeros(len(mapped)), mapped]) if self.pairs else mapped


def check_training_scores(
    whom: str, systems: Systems, y: Any, sample_weight: Any
) -> tuple[Floats, Labels, Integers, Floats | None]:
    """Finite scores, classes, codes and weights to learn a map from; rows of weight 0 are dropped."""
    x, labels = systems.x, check_labels(whom, y)
    if len(x) != len(labels):
        raise InvalidDataError(f"Scores and y must have one entry for each row, but have {len(x)} and {len(labels)}.")
    weight = check_weight(sample_weight, len(labels))
    if weight is not None and not weight.all():
        kept = weight > 0
        x, labels, weight = x[kept], labels[kept], weight[kept]
    classes, codes = encode_labels(labels)
    if len(classes) < 2:
        raise DegenerateDataError(f"{whom} learns from rows of two classes or more, but y holds {classes.tolist()}.")
    if not np.isfinite(x).all():
        row = int((~np.isfinite(x)).reshape(len(x), -1).any(axis=1).argmax())
        raise InvalidDataError(
            f"{whom} cannot learn from infinite scores, and row {row} has one. Drop such rows, bound the scores, or "
            "use IsotonicCalibrator, which only ranks."
        )
    expected = 2 if x.ndim == 2 else x.shape[2]
    if expected != len(classes):
        raise InvalidDataError(
            f"{whom}: y holds {len(classes)} classes, but the scores are of {expected}. Give one column of scores for "
            "two classes, or one for each class."
        )
    return x, classes, codes, weight
