"""Tables in and out of files: the only room that knows pyarrow, which it loads when first needed."""

from likely.tables.scores import ScoreTable, read_scores
from likely.tables.writing import write_scores

__all__ = ["ScoreTable", "read_scores", "write_scores"]
