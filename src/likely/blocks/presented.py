"""Blocks one after another, for what learns from rows in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likely.blocks.arrays import ArraySource
from likely.blocks.block import Block
from likely.blocks.source import Source

__all__ = ["presented_blocks"]


def presented_blocks(source: Source, random: np.random.RandomState | None) -> Iterator[Block]:
    """The blocks of a source in order, or shuffled.

    Rows in memory are shuffled all together; of other sources the blocks, and the rows of each.
    """
    if random is None:
        yield from (source.block(index) for index in range(source.n_blocks))
    elif isinstance(source, ArraySource):
        everything = source.all_rows()
        for rows in np.array_split(random.permutation(len(everything)), source.n_blocks):
            yield everything.take(rows)
    else:
        for index in random.permutation(source.n_blocks):
            block = source.block(int(index))
            yield block.take(random.permutation(len(block)))
