"""Some rows of many, evenly taken: what starting points are looked for in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks.source import Block

__all__ = ["SAMPLE_ROWS", "Sample", "sampled", "scattered"]

SAMPLE_ROWS = 2**14
"""Most rows of a sample."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio: multiples of it, modulo 2⁶⁴, spread evenly, whatever period the rows have."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Those rows of many whose places come first in an order that is fixed and even."""

    order: Any
    rows: Floats
    weight: Floats

    def __add__(self, other: Sample) -> Sample:
        order = np.concatenate([self.order, other.order])
        rows = np.concatenate([self.rows, other.rows])
        return Sample(order, rows, np.concatenate([self.weight, other.weight])).cut()

    def cut(self) -> Sample:
        """The first of these rows, as many as are wanted in all."""
        if len(self.order) <= SAMPLE_ROWS:
            return self
        first = np.argpartition(self.order, SAMPLE_ROWS)[:SAMPLE_ROWS]
        return Sample(self.order[first], self.rows[first], self.weight[first])

    def distinct(self) -> tuple[Floats, Floats]:
        """The different rows in sorted order, and the weight of each: neither order nor repetition of rows matters."""
        rows, which = np.unique(self.rows, axis=0, return_inverse=True)
        return rows, np.asarray(np.bincount(which.ravel(), self.weight), dtype=np.float64)


def sampled(block: Block) -> Sample:
    """A block's rows, dense, each with its place in the order."""
    weight = np.ones(len(block)) if block.weight is None else np.asarray(block.weight, dtype=np.float64)
    return Sample(_places(block) * GOLDEN, dense(block.X), weight).cut()


def scattered(block: Block, seed: int) -> Any:
    """A number for each row that looks drawn by lot, and depends on the row's place and the seed alone (SplitMix64)."""
    mixed = _places(block) * GOLDEN + np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(33)


def _places(block: Block) -> Any:
    places = np.arange(len(block)) if block.positions is None else np.asarray(block.positions)
    return places.astype(np.uint64)
