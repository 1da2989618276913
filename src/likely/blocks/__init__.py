"""Where rows come from: blocks, sources that map and add over them, and the estimators that learn so.

This room knows no statistic; it adds whatever has ``+``.
"""

from likely.blocks.arrays import ArraySource, block_rows
from likely.blocks.block import Block
from likely.blocks.learner import AdditiveLearner
from likely.blocks.loop import repeat_until_stable
from likely.blocks.mapped import MappedSource, placed
from likely.blocks.of_class import class_source, without_classes
from likely.blocks.presented import presented_blocks
from likely.blocks.rows import over_rows
from likely.blocks.source import Source
from likely.blocks.source_learner import SourceLearner, all_or_nothing
from likely.blocks.threads import for_each, one_blas_thread

__all__ = [
    "AdditiveLearner",
    "ArraySource",
    "Block",
    "MappedSource",
    "Source",
    "SourceLearner",
    "all_or_nothing",
    "block_rows",
    "class_source",
    "for_each",
    "one_blas_thread",
    "over_rows",
    "placed",
    "presented_blocks",
    "repeat_until_stable",
    "without_classes",
]
