"""Text tables by their columns: numbers are read as such at once, and only columns that are not are looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from likely._typing import Floats, Labels
from likely.exceptions import TableError
from likely.tables.cells import is_text, numbers_of
from likely.tables.columns import is_number, refuse_no_rows, text_labels
from likely.tables.files import arrow, read_table
from likely.tables.kinds import NO_NUMBER, TextColumn, is_gap
from likely.tables.lines import check_encoding, check_width, line_of, records

__all__ = ["TextColumns"]

_SAMPLE = 200
_FAULTY = re.compile(r"In CSV column #(\d+): ")
_MOST_FAULTY = 3


@dataclass(frozen=True, eq=False)
class TextColumns:
    """Columns of a text table, each read as numbers or as text."""

    path: Path
    delimiter: str
    header: list[str]
    table: Any

    @classmethod
    def read(cls, path: Path, delimiter: str, header: list[str], names: Sequence[str], texts: set[str]) -> TextColumns:
        """Some columns of a file, those of ``texts`` as text and the others as numbers where they can be."""
        pa = arrow()
        as_text = texts | _seen_as_text(path, delimiter, header)
        for attempt in range(len(header) + 1):
            types = {name: pa.large_string() if name in as_text else pa.float64() for name in names}
            try:
                table = read_table(path, names, types, NO_NUMBER)
                break
            except (pa.ArrowInvalid, OSError) as error:
                faulty = _faulty(error, header) - as_text
                if not faulty:
                    _blame(path, delimiter, error)
                as_text |= faulty if attempt < _MOST_FAULTY else set(names)
        if not table.num_rows:
            refuse_no_rows(path)
        return cls(path, delimiter, header, table)

    def where(self, row: int, name: str) -> str:
        """The line that holds the cell of a row, counted from 0, and its file."""
        at = self.header.index(name)
        begins, cells = next(islice(records(self.path, self.delimiter), row + 1, None))
        return f"line {line_of(begins, cells, at)} of {self.path}"

    def shown(self, row: int, name: str) -> str:
        """The cell of a row as the file has it."""
        _, cells = next(islice(records(self.path, self.delimiter), row + 1, None))
        cell = cells[self.header.index(name)]
        return repr(cell) if cell.strip(" \t") else "an empty cell"

    def labels(self, name: str) -> tuple[Labels, int | None]:
        """A column as labels, and the first row without one, if there is one."""
        missing = TextColumn.of(self.table[name]).first_missing()
        return (np.empty(0) if missing is not None else text_labels(self.table[name])), missing

    def numbers(self, name: str) -> tuple[Floats, int | None]:
        """A column as numbers, NaN where one is missing, and the first row that holds text, if there is one."""
        if not is_text(self.table[name].type):
            return numbers_of(self.table[name]), None
        column = TextColumn.of(self.table[name])
        return column.numbers(), column.first_text()

    def feature(self, name: str, categorical: bool) -> Any:
        """A column as numbers or as categories, whichever it holds, or as categories whatever it holds."""
        if not is_text(self.table[name].type):
            return numbers_of(self.table[name])
        column = TextColumn.of(self.table[name])
        kind = "category" if categorical else column.kind()
        if not categorical and kind != "number":
            self._check_commas(name, column)
        if kind is None:
            self._refuse_mixture(name, column)
        return column.categories() if kind == "category" else column.numbers()

    def _check_commas(self, name: str, column: TextColumn) -> None:
        row = column.first_comma()
        if row is not None:
            raise TableError(
                f"Numbers must be written with a decimal point and nothing between thousands, but "
                f"{self.where(row, name)} has {column.texts[column.codes[row]]!r} in column {name!r}. Write them so, "
                f"or say that the column holds categories with categories=/--category {name}."
            )

    def _refuse_mixture(self, name: str, column: TextColumn) -> NoReturn:
        row, percent = column.first_text() or 0, math.floor(100 * column.share())
        raise TableError(
            f"A column must hold numbers or categories, but {self.where(row, name)} has "
            f"{column.texts[column.codes[row]]!r} in column {name!r}, where {percent} % of the cells "
            f"are numbers. Correct it, or say that the column holds categories with categories=/--category {name}."
        )


def _seen_as_text(path: Path, delimiter: str, header: list[str]) -> set[str]:
    """The columns that hold text in one of the first rows; what is wrong with rows is told by who reads them all."""
    found: set[str] = set()
    with suppress(TableError):
        for _, cells in islice(records(path, delimiter), 1, _SAMPLE):
            left = (pair for pair in zip(header, cells, strict=False) if pair[0] not in found)
            found.update(name for name, cell in left if not (is_number(cell) or is_gap(cell)))
    return found


def _faulty(error: Exception, header: list[str]) -> set[str]:
    """The column in which the fast reader met a cell that is not of the column's type."""
    found = _FAULTY.match(str(error))
    return {header[int(found[1])]} if found else set()


def _blame(path: Path, delimiter: str, error: Exception) -> NoReturn:
    """Raise what is wrong with the first line that breaks the shape of a table, or else the reader's own words."""
    lines = records(path, delimiter)
    width, begins = len(next(lines)[1]), 0
    for begins, cells in lines:
        check_width(path, begins, cells, width)
        for at, cell in enumerate(cells):
            check_encoding(path, line_of(begins, cells, at), cell)
    if not begins:
        refuse_no_rows(path)
    raise TableError(f"{path} cannot be read: {error}") from error
