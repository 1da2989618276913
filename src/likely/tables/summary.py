"""What a column of features holds, in short; and columns that no model should learn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.exceptions import TableError
from likely.tables.cells import Kind, distinct

__all__ = ["ColumnSummary", "check_feature", "check_finite", "summary_of"]

_MOST_COUNTED = 2_000_000
_ROWS_OF_AN_IDENTIFIER = 20


@dataclass(frozen=True)
class ColumnSummary:
    """What a column of features holds, in short.

    Parameters
    ----------
    name : str
    kind : {"number", "category"}
    n_missing : int
        Rows without a value.
    n_distinct : int or None
        Distinct values, the missing one not counted; None for numbers of a large table, unless all are equal.
    example : str
        The range of numbers, or the first few categories.

    Examples
    --------
    >>> ColumnSummary("age", "number", 3, 51, "19 to 75").kind
    'number'
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int | None
    example: str


def summary_of(name: str, column: Any, n_cells: int = 0) -> ColumnSummary:
    """The summary of numbers in an array, or of categories in an Arrow column, of a table of so many cells."""
    return _of_numbers(name, column, n_cells) if isinstance(column, np.ndarray) else _of_texts(name, column)


def _of_numbers(name: str, values: Floats, n_cells: int) -> ColumnSummary:
    there = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    n_missing = len(values) - len(there)
    if not len(there):
        return ColumnSummary(name, "number", n_missing, 0, "")
    low, high = float(there.min()), float(there.max())
    counted = len(np.unique(there)) if low < high and n_cells <= _MOST_COUNTED else None
    said = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return ColumnSummary(name, "number", n_missing, 1 if low == high else counted, said)


def _of_texts(name: str, column: Any) -> ColumnSummary:
    texts, codes = distinct(column)
    shown = ", ".join(text if len(text) <= 16 else text[:15] + "…" for text in texts[:3])
    return ColumnSummary(name, "category", int((codes < 0).sum()), len(texts), shown + (", …" if texts[3:] else ""))


def check_feature(path: Path, summary: ColumnSummary, n: int) -> None:
    """A feature to learn from has a value in some of n rows, and is no identifier."""
    name = summary.name
    remedy = f"Leave it out with exclude=/--exclude {name}."
    if summary.n_missing == n:
        raise TableError(f"A feature must have values, but column {name!r} of {path} has no value in any row. {remedy}")
    if summary.kind == "category" and n >= _ROWS_OF_AN_IDENTIFIER and 2 * (summary.n_distinct or 0) > n:
        raise TableError(
            f"Categories must repeat to be learned from, but column {name!r} of {path} has {summary.n_distinct} "
            f"texts in {n} rows, as an identifier has. {remedy}"
        )


def check_finite(columns: Any, name: str, values: Any) -> None:
    """Numbers to learn from or to score are finite or missing."""
    bad = np.isinf(values)
    if bad.any():
        row = int(bad.argmax())
        raise TableError(
            f"Features must be finite or missing, but {columns.where(row, name)} has {values[row]} in column "
            f"{name!r}. Correct it, or leave the cell empty."
        )
