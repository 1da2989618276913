"""Counting the rows of a source, and taking some of each class: passes that come before the sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from likely._typing import Floats, Integers
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
    taken = source.reduce(_take, np.maximum(1, rows // wanted))
    stack: Any = partial(vstack, format="csr") if issparse(taken[0].X) else np.concatenate
    X = stack([part.X for part in taken])
    weight = None if taken[0].weight is None else _joined(taken, "weight")
    return ArraySource(
        X,
        _joined(taken, "codes"),
        weight,
        source.classes,
        block_rows=block_rows(X),
        positions=_joined(taken, "positions"),
    )


def _take(block: Block, strides: Integers) -> list[Block]:
    """Some rows of each class of a block, in a list: lists add up by standing one after another."""
    codes: Any = block.codes
    of_each = [np.flatnonzero(codes == k)[::stride] for k, stride in enumerate(strides.tolist())]
    return [block.take(np.sort(np.concatenate(of_each)))]


def _joined(parts: list[Block], name: str) -> Any:
    return np.concatenate([getattr(part, name) for part in parts])
