"""How decisions among more than two classes are made of decisions between two sides."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from likely._typing import Floats, Labels

__all__ = ["class_scores", "said_of", "sides_of"]


def sides_of(scheme: str, n_classes: int) -> Floats:
    """The side of every class in every problem: +1, −1, or 0 for one that takes no part; (n_problems, n_classes).

    Two classes are one problem, the second against the first. More are a problem for each class, which stands against
    the rest, or one for each pair, the later class against the earlier. With a joint margin each class has a score of
    its own too, as against the rest.
    """
    if n_classes == 2:
        return np.array([[-1.0, 1.0]])
    if scheme != "ovo":
        return 2 * np.eye(n_classes) - 1
    pairs = np.zeros((n_classes * (n_classes - 1) // 2, n_classes))
    for row, (first, second) in zip(pairs, combinations(range(n_classes), 2), strict=True):
        row[first], row[second] = -1.0, 1.0
    return pairs


def said_of(sides: Floats, classes: Labels) -> str:
    """Who stands against whom."""
    names = classes.tolist()
    first, second = np.flatnonzero(sides < 0), np.flatnonzero(sides > 0)
    against = repr(names[int(first[0])]) if len(first) == 1 else "the rest"
    return f"{names[int(second[0])]!r} against {against}"


def class_scores(scores: Floats, sides: Floats) -> Floats:
    """Scores of the classes, from those of the problems; one a row for two classes.

    Against the rest a class has its own score. Of pairs a class has as many points as pairs it wins, and ties are
    broken by the sum of its scores, made less than a third of a point.
    """
    if len(sides) == 1:
        return np.asarray(scores[:, 0])
    if (sides != 0).all():
        return scores
    wins = np.where(scores >= 0, 1.0, 0.0) @ (sides > 0) + np.where(scores < 0, 1.0, 0.0) @ (sides < 0)
    sums = scores @ sides
    return np.asarray(wins + sums / (3 * (np.abs(sums) + 1)))
