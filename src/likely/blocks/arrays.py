"""Rows that are in memory."""

from __future__ import annotations

from likely._typing import Floats, Integers, Labels, Rows
from likely.blocks.block import Block
from likely.blocks.source import Source

__all__ = ["ArraySource"]

ROWS = 2**14
"""Rows of a block of few features: 6.5 MB at 50. Shorter blocks pay for Python, longer ones leave the cache."""

WIDE_ROWS, WIDE = 2**15, 256
"""Rows of a block from so many features on, where the products outweigh the traffic and merging is what costs."""

MOST_VALUES = 2**25
"""Values of a block, so that very wide rows do not need gigabytes of working space."""


class ArraySource(Source):
    """A source over validated arrays in memory.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_features)
    codes : array of int of shape (n,), optional
        Positions in ``classes``.
    weight : array of shape (n,), optional
        All positive.
    classes : array of labels, optional
    folds : array of int of shape (n,), optional
    block_rows : int, optional
        Most rows of a block; set by the number of features if not given. Blocks are cut evenly.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.arange(10.0).reshape(5, 2), block_rows=2)
    >>> source.n_blocks, source.reduce(lambda block: block.X.sum(axis=0))
    (3, array([20., 25.]))
    """

    def __init__(
        self,
        X: Rows,
        codes: Integers | None = None,
        weight: Floats | None = None,
        classes: Labels | None = None,
        folds: Integers | None = None,
        block_rows: int | None = None,
    ) -> None:
        n, d = X.shape
        self.X, self.codes, self.weight, self.classes, self.folds = X, codes, weight, classes, folds
        self.n_features = d
        most = block_rows or max(1, min(ROWS if d < WIDE else WIDE_ROWS, MOST_VALUES // max(d, 1)))
        self.n_blocks = max(1, -(-n // most))
        self.block_rows = -(-n // self.n_blocks)

    def block(self, index: int) -> Block:
        start = index * self.block_rows
        rows = slice(start, start + self.block_rows)
        codes = None if self.codes is None else self.codes[rows]
        weight = None if self.weight is None else self.weight[rows]
        folds = None if self.folds is None else self.folds[rows]
        return Block(self.X[rows], codes, weight, folds, start)
