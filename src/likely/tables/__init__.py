"""Tables in and out of files: the only room that knows pyarrow, which it loads when first needed."""

from likely.tables.data import DataTable, read_data
from likely.tables.scores import ScoreTable, read_scores
from likely.tables.summary import ColumnSummary
from likely.tables.writing import write_columns, write_scores

__all__ = ["ColumnSummary", "DataTable", "ScoreTable", "read_data", "read_scores", "write_columns", "write_scores"]
