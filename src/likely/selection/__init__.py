"""Comparison of model families on one data set, by the cost of their decisions."""

from likely.selection.candidates import FAMILIES
from likely.selection.compare import CompareOptions, compare, compare_scores, run_comparison
from likely.selection.comparison import Comparison
from likely.selection.judging import System
from likely.selection.scoring import Progress

__all__ = [
    "FAMILIES",
    "CompareOptions",
    "Comparison",
    "Progress",
    "System",
    "compare",
    "compare_scores",
    "run_comparison",
]
