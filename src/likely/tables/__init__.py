"""Tables read from and written to files.

No other package imports pyarrow, and this package imports it only when it is first needed.
"""

from likely.tables.data import ColumnSummary, DataTable, ScoreTable, read_data, read_scores
from likely.tables.writing import write_columns, write_scores

__all__ = ["ColumnSummary", "DataTable", "ScoreTable", "read_data", "read_scores", "write_columns", "write_scores"]
