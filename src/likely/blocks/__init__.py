"""Where rows come from: blocks, sources that map statistics over them and add them up, and estimators that learn so."""

from collections.abc import Iterator

from numpy.random import RandomState

from likely.blocks.arrays import ArraySource, block_rows, over_rows
from likely.blocks.gathering import (
    SAMPLE_ROWS,
    ClassCounts,
    RowSample,
    check_classes,
    check_finite,
    checked_total,
    class_counts,
    class_moments,
    count_classes,
    joint_moments,
    moments,
    sampled,
    scattered,
)
from likely.blocks.learner import AdditiveLearner, AdditiveState, SourceLearner, all_or_nothing
from likely.blocks.loop import repeat_until_stable
from likely.blocks.mapped import MappedSource, placed
from likely.blocks.source import Block, Source
from likely.blocks.threads import for_each, one_blas_thread

__all__ = [
    "SAMPLE_ROWS",
    "AdditiveLearner",
    "AdditiveState",
    "ArraySource",
    "Block",
    "ClassCounts",
    "MappedSource",
    "RowSample",
    "Source",
    "SourceLearner",
    "all_or_nothing",
    "block_rows",
    "check_classes",
    "check_finite",
    "checked_total",
    "class_counts",
    "class_moments",
    "class_source",
    "count_classes",
    "for_each",
    "joint_moments",
    "moments",
    "one_blas_thread",
    "over_rows",
    "placed",
    "presented_blocks",
    "repeat_until_stable",
    "sampled",
    "scattered",
    "without_classes",
]


def class_source(source: Source, code: int) -> Source:
    """Old spelling of ``source.of_class(code)``."""
    return source.of_class(code)


def without_classes(source: Source) -> Source:
    """Old spelling of ``source.without_classes()``."""
    return source.without_classes()


def presented_blocks(source: Source, random: RandomState | None) -> Iterator[Block]:
    """Old spelling of ``source.iter_blocks(random)``."""
    return source.iter_blocks(random)
