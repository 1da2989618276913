"""The rows of one class, or all rows without their classes, as a source of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from likely._typing import Integers, Labels
from likely.blocks.arrays import ArraySource
from likely.blocks.block import Block
from likely.blocks.mapped import MappedSource
from likely.blocks.source import Source
from likely.exceptions import SourceError

__all__ = ["class_source", "without_classes"]

S = TypeVar("S", bound=Any)


def class_source(source: Source, code: int) -> Source:
    """The rows of one class, as a source that knows no classes.

    Rows in memory are copied, and cut into blocks by their own shape; mapped rows are mapped after they were chosen. Of
    any other source each block is cut down to the rows of the class when it is asked for.

    Parameters
    ----------
    source : Source
        With classes.
    code : int
        Position of the class in ``source.classes``.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.arange(6.0).reshape(3, 2), np.array([0, 1, 0]), classes=np.array(["a", "b"]))
    >>> class_source(source, 0).block(0).X
    array([[0., 1.],
           [4., 5.]])
    """
    if isinstance(source, MappedSource):
        return MappedSource(class_source(source.source, code), source.function, source.n_features)
    if not isinstance(source, ArraySource):
        return _OfClass(source, code)
    rows = np.flatnonzero(source.codes == code)
    weight = None if source.weight is None else source.weight[rows]
    positions = rows if source.positions is None else source.positions[rows]
    return ArraySource(source.X[rows], weight=weight, positions=positions)


def without_classes(source: Source) -> Source:
    """The same rows, as a source that knows no classes."""
    if isinstance(source, MappedSource):
        return MappedSource(without_classes(source.source), source.function, source.n_features)
    if isinstance(source, ArraySource):
        return ArraySource(source.X, weight=source.weight, positions=source.positions)
    return source if source.classes is None else _Unlabelled(source)


class _Unlabelled(Source):
    """Another source's blocks, without codes."""

    def __init__(self, source: Source) -> None:
        self.source, self.n_features, self.n_blocks = source, source.n_features, source.n_blocks
        self.classes: Labels | None = None

    def block(self, index: int) -> Block:
        return replace(self.source.block(index), codes=None)

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        total: S = self.source.reduce(_of_unlabelled, of, args)
        return total


class _OfClass(Source):
    """Those blocks of another source that hold rows of a class, cut down to these."""

    def __init__(self, source: Source, code: int) -> None:
        self.source, self.code, self.n_features = source, code, source.n_features
        self.classes: Labels | None = None

    @property
    def n_blocks(self) -> int:  # type: ignore[override]
        return len(self._holders)

    @cached_property
    def _holders(self) -> Integers:
        """Positions of the blocks that hold rows of the class; only ``block`` needs this pass, ``reduce`` does not."""
        held = [np.any(self.source.block(index).codes == self.code) for index in range(self.source.n_blocks)]
        return np.flatnonzero(held)

    def block(self, index: int) -> Block:
        return _rows_of(self.source.block(int(self._holders[index])), self.code)

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        total = self.source.reduce(_of_class, self.code, of, args)
        if total.empty:
            raise SourceError(f"The source has no rows of the class at position {self.code}.")
        statistic: S = total.statistic
        return statistic


@dataclass(frozen=True)
class _Sum:
    """A statistic that may be of no rows, and then needs no zero of its own."""

    statistic: Any = None
    empty: bool = False

    def __add__(self, other: _Sum) -> _Sum:
        if self.empty or other.empty:
            return other if self.empty else self
        return _Sum(self.statistic + other.statistic)


def _of_class(block: Block, code: int, of: Callable[..., Any], args: tuple[Any, ...]) -> _Sum:
    rows = _rows_of(block, code)
    return _Sum(of(rows, *args)) if len(rows) else _Sum(empty=True)


def _of_unlabelled(block: Block, of: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return of(replace(block, codes=None), *args)


def _rows_of(block: Block, code: int) -> Block:
    return replace(block.take(np.flatnonzero(block.codes == code)), codes=None)
