"""Rows that are in memory."""

from __future__ import annotations

from likely._typing import Floats, Integers, Labels, Rows
from likely.blocks.block import Block
from likely.blocks.source import Source

__all__ = ["ArraySource"]

MOST_ROWS = 2**14
"""Rows of a block: 6.5 MB at 50 features. Shorter blocks pay for Python, longer ones leave the cache."""

MOST_VALUES = 2**24
"""Values of a block, so that wide rows do not need gigabytes of working space."""


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
        Rows of a block; chosen by the number of features if not given.

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
        self.block_rows = block_rows or max(1, min(MOST_ROWS, MOST_VALUES // max(d, 1)))
        self.n_blocks = -(-n // self.block_rows)

    def block(self, index: int) -> Block:
        start = index * self.block_rows
        rows = slice(start, start + self.block_rows)
        codes = None if self.codes is None else self.codes[rows]
        weight = None if self.weight is None else self.weight[rows]
        folds = None if self.folds is None else self.folds[rows]
        return Block(self.X[rows], codes, weight, folds, start)
