"""Blocks of rows, sources that add up statistics over blocks, and base classes of estimators that learn from them."""

from likely.blocks.arrays import ArraySource, block_rows, over_rows
from likely.blocks.gathering import (
    SAMPLE_ROWS,
    ClassCounts,
    RowSample,
    check_classes,
    check_finite,
    class_counts,
    class_moments,
    count_classes,
    hash_positions,
    joint_moments,
    moments,
    sample_rows,
    total_moments,
)
from likely.blocks.learner import AdditiveLearner, AdditiveState, SourceLearner
from likely.blocks.mapped import MappedSource, with_positions
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
    "block_rows",
    "check_classes",
    "check_finite",
    "class_counts",
    "class_moments",
    "count_classes",
    "for_each",
    "hash_positions",
    "joint_moments",
    "moments",
    "one_blas_thread",
    "over_rows",
    "sample_rows",
    "total_moments",
    "with_positions",
]
