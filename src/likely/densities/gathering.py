"""From blocks to moments: the functions that sources map over their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._typing import Labels
from likely._validation import check_two
from likely.blocks import Block
from likely.exceptions import DegenerateDataError, InvalidDataError, SourceError
from likely.statistics import ByClass, DiagonalMoments, JointMoments, Moments

__all__ = ["check_classes", "checked_total", "class_moments", "joint_moments", "moments"]

MOST_BYTES = 2**32
"""Memory that a scatter matrix may take."""


def moments(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> Any:
    """The moments of a block's rows."""
    _check_width(block, kind)
    with np.errstate(all="ignore"):
        return _finite(kind.of(block.X, block.weight), block)


def class_moments(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> ByClass[Any]:
    """The moments of a block's rows by class, or by (class, fold) where the block knows its folds."""
    _check_width(block, kind)
    with np.errstate(all="ignore"):
        cells = ByClass.of(kind, block.X, block.require_codes(), block.weight, block.folds, overwrite=block.is_copy)
    finite: ByClass[Any] = _finite(cells, block)
    return finite


def joint_moments(block: Block) -> JointMoments:
    """The moments of a block's rows and targets side by side."""
    if block.targets is None:
        raise SourceError("A regression learns from targets, but the source has none. Give it targets.")
    _check_width(block, Moments)
    with np.errstate(all="ignore"):
        joint = JointMoments.of(block.X, block.targets, block.weight)
    if not joint.is_finite():
        raise block.non_finite_targets() or block.non_finite()
    return joint


def check_classes(whom: str, statistics: ByClass[Any], classes: Labels, remedy: str = "") -> None:
    """Refuse statistics in which a class has no rows, or of one class only."""
    labels = classes.tolist()
    absent = [label for code, label in enumerate(labels) if code not in statistics.parts]
    if absent:
        raise DegenerateDataError(
            f"Class {absent[0]!r} has no rows yet, so nothing is known of it. Learn from some first."
        )
    check_two(whom, classes, remedy)


def checked_total(statistics: ByClass[Any]) -> Any:
    """The moments of all rows, refused where classes lie so far apart that they overflow."""
    with np.errstate(all="ignore"):
        total = statistics.total()
    if not total.is_finite():
        column = int(np.abs(total.mean).argmax())
        raise InvalidDataError(
            f"Values of column {column} are too large to be squared and summed. Rescale that column."
        )
    return total


def _check_width(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> None:
    """Refuse rows whose scatter matrix would not fit into memory."""
    d = block.X.shape[1]
    if kind is Moments and 8 * d**2 > MOST_BYTES:
        raise InvalidDataError(
            f"The covariance of {d} columns would take {8 * d**2 / 2**30:.0f} GiB. Use fewer columns, a diagonal "
            "covariance, or a model that does without one, such as LogisticRegression."
        )


def _finite(statistic: Any, block: Block) -> Any:
    """The statistic, if its sums are finite; that they are is what makes the rows finite."""
    if not statistic.is_finite():
        raise block.non_finite()
    return statistic
