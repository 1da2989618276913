"""Counting the rows of a source, and taking some of each class: passes that come before the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from likely._typing import Floats, Integers, Rows
from likely.blocks import ArraySource, Block, Source, block_rows

__all__ = ["Census", "census", "some_of_each_class"]


@dataclass(frozen=True, eq=False)
class Census:
    """Rows of each class.

    Parameters
    ----------
    rows : array of int of shape (n_classes,)
    weights : array of shape (n_classes,)
        Their total weights.
    lightest : array of shape (n_classes,)
        The least weight of a row; infinite where there are none.
    """

    rows: Integers
    weights: Floats
    lightest: Floats

    def __add__(self, other: Census) -> Census:
        return Census(self.rows + other.rows, self.weights + other.weights, np.minimum(self.lightest, other.lightest))


def census(block: Block, n_classes: int) -> Census:
    """The census of a block."""
    codes: Any = block.codes
    rows = np.bincount(codes, minlength=n_classes)
    if block.weight is None:
        return Census(rows, rows.astype(np.float64), np.where(rows > 0, 1.0, np.inf))
    lightest = np.full(n_classes, np.inf)
    np.minimum.at(lightest, codes, block.weight)
    weights: Floats = np.asarray(np.bincount(codes, block.weight, n_classes), dtype=np.float64)
    return Census(rows, weights, lightest)


def some_of_each_class(source: Source, rows: Integers, wanted: int) -> ArraySource:
    """About so many rows of each class, taken evenly, as a source of its own; all of a class that has no more.

    Parameters
    ----------
    rows : array of int of shape (n_classes,)
        How many there are.
    """
    strides = np.maximum(1, rows // wanted)
    taken: _Taken = source.reduce(_take, strides)
    return ArraySource(
        taken.X,
        taken.codes,
        taken.weight,
        source.classes,
        block_rows=block_rows(taken.X),
        positions=taken.positions,
    )


@dataclass(frozen=True, eq=False)
class _Taken:
    """Rows taken from blocks; they add up by standing one after another."""

    X: Rows
    codes: Integers
    weight: Floats | None
    positions: Integers

    def __add__(self, other: _Taken) -> _Taken:
        weight = None if self.weight is None or other.weight is None else np.concatenate([self.weight, other.weight])
        stack: Any = vstack if issparse(self.X) else np.concatenate
        return _Taken(
            stack([self.X, other.X]),
            np.concatenate([self.codes, other.codes]),
            weight,
            np.concatenate([self.positions, other.positions]),
        )


def _take(block: Block, strides: Integers) -> _Taken:
    codes: Any = block.codes
    kept = np.sort(np.concatenate([np.flatnonzero(codes == k)[::stride] for k, stride in enumerate(strides.tolist())]))
    where = range(len(block)) if block.positions is None else block.positions
    positions = where.start + kept if isinstance(where, range) else np.asarray(where)[kept]
    return _Taken(block.X[kept], codes[kept], None if block.weight is None else block.weight[kept], positions)
