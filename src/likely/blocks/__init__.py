"""Where rows come from: blocks, sources that map statistics over them and add them up, and estimators that learn so."""

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
    "checked_total",
    "class_counts",
    "class_moments",
    "count_classes",
    "for_each",
    "joint_moments",
    "moments",
    "one_blas_thread",
    "over_rows",
    "sampled",
    "scattered",
    "with_positions",
]
