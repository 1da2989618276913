"""All model families compared on one data set, by what their decisions cost."""

from likely.selection.compare import compare
from likely.selection.comparison import Comparison, System
from likely.selection.families import FAMILIES
from likely.selection.outside import compare_scores
from likely.selection.scoring import Progress

__all__ = ["FAMILIES", "Comparison", "Progress", "System", "compare", "compare_scores"]
