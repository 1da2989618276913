"""Functions that compute a statistic of one block. A source applies such a function to its blocks and adds the results.

The statistics are moments of all rows or of each class, class counts, and an even sample of the rows. Models find
starting points, centres and landmarks in such a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers, Labels
from likely._validation import check_n_classes
from likely.blocks.source import Block, Source
from likely.exceptions import DegenerateDataError, InvalidDataError, SourceError
from likely.statistics import ByClass, DiagonalMoments, JointMoments, Moments

MAX_BYTES = 2**32
"""Maximum memory of a scatter matrix, in bytes."""

SAMPLE_ROWS = 2**14
"""Maximum number of rows of a sample."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio. Its multiples modulo 2⁶⁴ are evenly distributed. The rows at the positions with the
smallest multiples are therefore an even sample, also if the rows repeat periodically."""


def moments(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> Any:
    """Return the moments of a block's rows."""
    _check_width(block, kind)
    with np.errstate(all="ignore"):
        return _finite(kind.of(block.X, block.weight), block)


def class_moments(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> ByClass[Any]:
    """Return the moments of a block's rows, separately for each class, or for each class and fold if it has folds."""
    _check_width(block, kind)
    with np.errstate(all="ignore"):
        cells = ByClass.of(kind, block.X, block.require_codes(), block.weight, block.folds, overwrite=block.is_copy)
    finite: ByClass[Any] = _finite(cells, block)
    return finite


def joint_moments(block: Block) -> JointMoments:
    """Return the joint moments of a block's rows and targets."""
    if block.targets is None:
        raise SourceError("A regression learns from targets, but the source has none. Pass targets to the source.")
    _check_width(block, Moments)
    with np.errstate(all="ignore"):
        joint = JointMoments.of(block.X, block.targets, block.weight)
    if not joint.is_finite():
        raise block.non_finite_targets() or block.non_finite()
    return joint


def check_classes(whom: str, statistics: ByClass[Any], classes: Labels, remedy: str = "") -> None:
    """Raise if a class has no rows, or if there is only one class."""
    labels = classes.tolist()
    absent = [label for code, label in enumerate(labels) if code not in statistics.parts]
    if absent:
        raise DegenerateDataError(f"Class {absent[0]!r} has no rows yet. Learn from rows of this class first.")
    check_n_classes(whom, classes, remedy)


def total_moments(statistics: ByClass[Any]) -> Any:
    """Return the moments of the rows of all classes together.

    Raise if they overflow, which happens if the class means are extremely far apart.
    """
    with np.errstate(all="ignore"):
        total = statistics.total()
    if not total.is_finite():
        column = int(np.abs(total.mean).argmax())
        raise InvalidDataError(
            f"Values of column {column} are too large to be squared and summed. Rescale that column."
        )
    return total


def check_finite(block: Block) -> int:
    """Return the number of a block's rows; raise if one of their values is not finite."""
    if not np.isfinite(block.X.data if issparse(block.X) else block.X).all():
        raise block.non_finite()
    return len(block)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """For each class the number of its rows, their total weight, and their smallest weight.

    Parameters
    ----------
    rows : array of int of shape (n_classes,)
        Number of rows.
    weights : array of shape (n_classes,)
        Total weight of the rows.
    lightest : array of shape (n_classes,)
        Smallest weight of a row; infinite for a class without rows.
    """

    rows: Integers
    weights: Floats
    lightest: Floats

    def __add__(self, other: ClassCounts) -> ClassCounts:
        lightest = np.minimum(self.lightest, other.lightest)
        return ClassCounts(self.rows + other.rows, self.weights + other.weights, lightest)


def class_counts(block: Block, n_classes: int) -> ClassCounts:
    """Count the rows of each class in a block."""
    codes = block.require_codes()
    rows = np.bincount(codes, minlength=n_classes)
    if block.weight is None:
        return ClassCounts(rows, rows.astype(np.float64), np.where(rows > 0, 1.0, np.inf))
    lightest = np.full(n_classes, np.inf)
    np.minimum.at(lightest, codes, block.weight)
    weights: Floats = np.asarray(np.bincount(codes, block.weight, n_classes), dtype=np.float64)
    return ClassCounts(rows, weights, lightest)


def count_classes(source: Source) -> ClassCounts:
    """Count the rows of each class of a source; raise if a class has none."""
    classes = source.require_classes()
    counts = source.reduce(class_counts, len(classes))
    if not counts.rows.all():
        absent = classes.tolist()[int(counts.rows.argmin())]
        raise DegenerateDataError(f"Class {absent!r} has no rows to learn from.")
    return counts


@dataclass(frozen=True, eq=False)
class RowSample:
    """Even sample of rows: the ``SAMPLE_ROWS`` rows with the smallest sort keys, and their weights.

    The sort key (``order``) of a row is its position times ``GOLDEN``, modulo 2⁶⁴. It depends on nothing else, so the
    sample does not depend on the division into blocks.
    """

    order: Any
    rows: Floats
    weight: Floats

    def __add__(self, other: RowSample) -> RowSample:
        order = np.concatenate([self.order, other.order])
        rows = np.concatenate([self.rows, other.rows])
        return RowSample(order, rows, np.concatenate([self.weight, other.weight])).cut()

    def cut(self) -> RowSample:
        """Return the sample of the ``SAMPLE_ROWS`` rows with the smallest sort keys."""
        if len(self.order) <= SAMPLE_ROWS:
            return self
        first = np.argpartition(self.order, SAMPLE_ROWS)[:SAMPLE_ROWS]
        return RowSample(self.order[first], self.rows[first], self.weight[first])

    def distinct(self) -> tuple[Floats, Floats]:
        """Return the distinct rows in sorted order, and the total weight of each.

        The result therefore does not depend on the order of the rows, nor on whether equal rows are repeated or
        weighted.
        """
        rows, which = np.unique(self.rows, axis=0, return_inverse=True)
        return rows, np.asarray(np.bincount(which.ravel(), self.weight), dtype=np.float64)


def sample_rows(block: Block) -> RowSample:
    """Return the even sample of a block's rows (see :class:`RowSample`), as dense rows."""
    weight = np.ones(len(block)) if block.weight is None else np.asarray(block.weight, dtype=np.float64)
    return RowSample(_places(block) * GOLDEN, dense(block.X), weight).cut()


def hash_positions(block: Block, seed: int) -> Any:
    """Return a pseudo-random integer below 2³¹ for each row of a block (SplitMix64).

    The number depends only on the position of the row in the source and on the seed.
    """
    mixed = _places(block) * GOLDEN + np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(33)


def _places(block: Block) -> Any:
    places = np.arange(len(block)) if block.positions is None else np.asarray(block.positions)
    return places.astype(np.uint64)


def _check_width(block: Block, kind: type[Moments] | type[DiagonalMoments]) -> None:
    """Raise if the scatter matrix of the rows would not fit into memory."""
    d = block.X.shape[1]
    if kind is Moments and 8 * d**2 > MAX_BYTES:
        raise InvalidDataError(
            f"The covariance of {d} columns would take {8 * d**2 / 2**30:.0f} GiB. Use fewer columns, a diagonal "
            "covariance, or a model without a covariance, such as LogisticRegression."
        )


def _finite(statistic: Any, block: Block) -> Any:
    """Return the statistic if its sums are finite; otherwise raise an error that names the row and column.

    If the sums are finite, all values of the rows are finite, so the rows need no separate check.
    """
    if not statistic.is_finite():
        raise block.non_finite()
    return statistic
