"""The seam between models and where their rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from scipy.sparse import issparse

from likely._typing import Labels
from likely.blocks.block import Block
from likely.blocks.threads import tree_reduce

__all__ = ["Source"]

S = TypeVar("S", bound=Any)


class Source(ABC):
    """Rows in blocks, on which a model learns by adding up statistics.

    The cutting into blocks is fixed by the shape of the data, never by the machine, and results are added in a fixed
    tree order; so the same rows give the same bits however many workers there are.

    Attributes
    ----------
    n_features : int
    classes : array of labels, or None
        The classes in sorted order, to whose positions the blocks' codes refer.
    n_blocks : int
    """

    n_features: int
    classes: Labels | None
    n_blocks: int

    @property
    def is_sparse(self) -> bool:
        """Whether blocks hold sparse rows; found by looking at one."""
        return bool(issparse(self.block(0).X))

    @abstractmethod
    def block(self, index: int) -> Block:
        """The block at this position."""

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        """Add up ``of(block, *args)`` over all blocks.

        Parameters
        ----------
        of : function
            Pure and at module level, so that it can be sent to where the rows are.
        *args
            What ``of`` needs besides the block, such as the parameters of the last pass.
        """
        return tree_reduce(lambda index: of(self.block(index), *args), self.n_blocks)
