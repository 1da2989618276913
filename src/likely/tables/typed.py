"""Tables whose columns bring their types along, by their columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely.exceptions import TableError
from likely.tables.cells import kind_of, numbers_of, texts_of
from likely.tables.columns import typed_labels
from likely.tables.files import arrow

__all__ = ["TypedColumns"]


@dataclass(frozen=True, eq=False)
class TypedColumns:
    """Columns of a Parquet or Arrow file, or arrays, which all have a type."""

    path: Path
    table: Any

    def where(self, row: int, name: str) -> str:
        """The row, counted from 0 here and from 1 for the reader, and its file."""
        return f"row {row + 1} of {self.path}"

    def shown(self, row: int, name: str) -> str:
        """The cell of a row."""
        value = self.table[name][row].as_py()
        return "no value" if value is None else repr(value)

    def labels(self, name: str) -> tuple[Labels, int | None]:
        """A column as labels, and the first row without one, if there is one."""
        column = self.table[name]
        missing = arrow().compute.is_null(column, nan_is_null=True).to_numpy()
        if missing.any():
            return np.empty(0), int(missing.argmax())
        return typed_labels(self.path, name, column, "target="), None

    def numbers(self, name: str) -> tuple[Floats, int | None]:
        """A column as numbers, NaN where one is missing, and the first row if it holds none."""
        column = self.table[name]
        return (numbers_of(column), None) if kind_of(column) == "number" else (np.empty(0), 0)

    def feature(self, name: str, categorical: bool) -> Any:
        """A column as numbers or as categories, as its type says, or as categories whatever it holds."""
        column = self.table[name]
        kind = kind_of(column)
        if kind is None:
            raise TableError(
                f"Features must be numbers or categories, but column {name!r} of {self.path} is of type {column.type}. "
                f"Leave it out with exclude=/--exclude {name}, or turn it into a number."
            )
        if kind == "number" and not categorical:
            return numbers_of(column)
        texts = texts_of(column).cast(arrow().string())
        return arrow().compute.if_else(arrow().compute.equal(texts, ""), None, texts)
