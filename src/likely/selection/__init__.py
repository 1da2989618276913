"""All model families compared on one data set, by what their decisions cost."""

from likely.selection.compare import CompareOptions, compare, compare_scores, run_comparison
from likely.selection.comparison import Comparison, System
from likely.selection.families import FAMILIES
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
