"""A source whose rows are mapped block by block, so that not all mapped rows are in memory at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

from likely._numerics import dense
from likely._typing import Integers, Rows
from likely.blocks.arrays import ArraySource
from likely.blocks.source import Block, Source
from likely.exceptions import InvalidDataError

S = TypeVar("S", bound=Any)


class MappedSource(Source):
    """Source of the rows of another source, mapped by a function. Codes, weights and positions do not change.

    A block is mapped each time it is requested, and the mapped rows are not stored. If the map adds columns, ``reduce``
    divides each block into shorter blocks before it maps them. It does so in the process that holds the rows.

    Parameters
    ----------
    source : Source
    function : function of rows, such as a fitted step's ``transform``
        Maps an array or CSR array (n, n_features) to the same number of rows. A module-level function or a method can
        be sent to the process that holds the rows.
    n_features : int, optional
        Number of columns of the mapped rows; by default it is determined by mapping a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.arange(6.0).reshape(3, 2))
    >>> squares = MappedSource(source, np.square)
    >>> squares.n_features, squares.reduce(lambda block: block.X.sum(axis=0))
    (2, array([20., 35.]))
    """

    def __init__(self, source: Source, function: Callable[[Any], Any], n_features: int | None = None) -> None:
        self.source, self.function = source, function
        self.classes, self.n_blocks = source.classes, source.n_blocks
        found = function(np.zeros((1, source.n_features))).shape[1] if n_features is None else n_features
        self.n_features = int(found)

    def block(self, index: int) -> Block:
        return _map_block(self.source.block(index), self.function, self.n_features)

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        total: S = self.source.reduce(_of_short_blocks, self.function, self.n_features, of, args)
        return total

    def of_class(self, code: int) -> MappedSource:
        return MappedSource(self.source.of_class(code), self.function, self.n_features)

    def without_classes(self) -> MappedSource:
        return MappedSource(self.source.without_classes(), self.function, self.n_features)


def _of_short_blocks(
    block: Block, function: Callable[[Any], Any], width: int, of: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Return the statistic ``of`` of a block's mapped rows.

    If the map adds columns, the block is divided and the rows are mapped a few at a time, which saves memory.
    """
    if width <= block.X.shape[1] or not len(block):
        return _of_mapped(block, function, width, of, args)
    positions = None if block.positions is None else _as_array(block.positions)
    rows = ArraySource(
        block.X, block.codes, block.weight, folds=block.folds, positions=positions, targets=block.targets
    )
    return rows.reblock(width).reduce(_of_mapped, function, width, of, args)


def _as_array(positions: Any) -> Integers:
    """Return positions, a range or a sequence, as an array.

    A range is converted by ``numpy.arange``: ``numpy.asarray`` of a range would take as long as mapping the rows.
    """
    return np.arange(positions.start, positions.stop) if isinstance(positions, range) else np.asarray(positions)


def _of_mapped(
    block: Block, function: Callable[[Any], Any], width: int, of: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    return of(_map_block(block, function, width), *args)


def _map_block(block: Block, function: Callable[[Any], Any], width: int) -> Block:
    if not len(block):
        return replace(block, X=np.zeros((0, width)))
    try:
        mapped = function(block.X)
    except InvalidDataError as error:
        raise with_positions(error, block) from None
    is_sparse = bool(issparse(mapped))
    X: Rows = csr_array(mapped) if is_sparse else np.asarray(mapped)
    return replace(block, X=X, is_copy=block.is_copy or not _may_share_memory(X, block.X))


def _may_share_memory(X: Rows, Y: Rows) -> bool:
    """Return whether X and Y may share memory. For sparse rows this is not checked, and the result is True."""
    return issparse(X) or issparse(Y) or np.may_share_memory(X, Y)


def with_positions(error: InvalidDataError, block: Block) -> InvalidDataError:
    """Return an error about a NaN or infinity of the block, with the position of the row in the source.

    An error of any other kind is returned unchanged.
    """
    if np.isfinite(dense(block.X)).all():
        return error
    located = block.non_finite()
    return located if type(located) is type(error) else error
