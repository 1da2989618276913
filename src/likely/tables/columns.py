"""Columns of data and score files as features, labels, weights and scores.

:func:`read_columns` reads some columns of a file. The object that it returns has a method for each role of a column,
which converts the column to features, labels, weights or scores. An error about a cell names the file, the line or row,
and the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely.exceptions import InvalidParameterError, TableError
from likely.tables.cells import (
    MISSING_SPELLINGS,
    TextColumn,
    cast_numbers,
    encode_distinct,
    is_number_or_missing,
    is_text,
    kind_of,
    numbers_of,
    texts_of,
)
from likely.tables.files import (
    arrow,
    check_distinct,
    check_named,
    check_present,
    delimiter_of,
    read_header,
    read_text_table,
    read_typed_table,
)
from likely.tables.lines import check_not_empty, check_records, line_of, records

_SAMPLE = 200
"""Number of records at the start of a text table from which the type of each column is guessed."""
_BLOCK = 2**20
_LARGER_BLOCKS = (2**25, 2**30)
"""Bytes per block of Arrow's reader, first ``_BLOCK``. If a row is longer than two blocks, the reader fails, and the
file is read again with one of the larger sizes."""
_MAX_COMPRESSION = 1032
"""Maximum compression ratio of a gzip file (deflate)."""


@dataclass(frozen=True)
class Roles:
    """Roles of the columns of a data file.

    Columns without a role are features, unless they are excluded. If ``only`` is given, the columns that it names are
    the features, and further columns are ignored.
    """

    target: str | None = None
    groups: str | None = None
    weight: str | None = None
    scores: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def named_columns(self) -> Iterator[tuple[str, str, str]]:
        """Yield the role, the parameter and the name of each column that is read and is not a feature.

        The role completes "a column ...", for example "of labels". The parameter is the argument that names the column.
        """
        single = [("of labels", "target", self.target), ("of groups", "groups", self.groups)]
        single += [("of weights", "weight", self.weight)]
        yield from ((role, parameter, name) for role, parameter, name in single if name is not None)
        yield from (("of scores", "scores", name) for name in self.scores)

    def others(self) -> list[str]:
        """Return the names of the columns that are read and are not features."""
        return [name for _, _, name in self.named_columns()]

    def texts(self) -> set[str]:
        """Return the names of the columns that are read as text, even if all of their cells are numbers."""
        return {name for name in (self.target, self.groups, *self.categories) if name is not None}

    def check(self, path: Path, header: Sequence[str]) -> None:
        """Raise unless every column that has a role is in the header and has only one role."""
        check_distinct(path, header)
        taken: dict[str, str] = {}
        excluded = [("to leave out", "exclude", name) for name in self.exclude]
        for role, parameter, name in (*self.named_columns(), *excluded):
            check_present(path, header, name, role, parameter)
            first = taken.setdefault(name, parameter)
            if first != parameter or (parameter == "scores" and self.scores.count(name) > 1):
                raise InvalidParameterError(
                    f"A column must have only one role, but {name!r} is named by {first}= and by {parameter}=. "
                    "Name another column in one of them.",
                    parameter=parameter,
                )
        for name in self.categories:
            check_present(path, header, name, "of categories", "categories")

    def features(self, path: Path, header: Sequence[str]) -> list[str]:
        """Return the names of the columns of features, in the order of the file or, if given, of ``only``."""
        self.check(path, header)
        if self.only is not None:
            for name in self.only:
                remedy = "Give it the name that it has in the training rows."
                check_present(path, header, name, "of features", "features", remedy)
            return list(self.only)
        aside = {*self.others(), *self.exclude}
        names = [name for name in header if name not in aside]
        if not names:
            raise TableError(f"{path} must have a column of features, but all of its columns have other roles.")
        check_named(path, names, "of features", "exclude", "leave the column out")
        return names


def read_columns(path: Path, names: Sequence[str], texts: Set[str] = frozenset()) -> FileColumns:
    """Read some columns of a file.

    A column of a text table is read as numbers if its cells in the first rows are numbers and ``texts`` does not name
    it. If a later cell of such a column is not a number, all columns are read as text, and each column is converted
    when it is used.
    """
    delimiter = delimiter_of(path)
    if delimiter is None:
        columns: FileColumns = FileColumns(path, read_typed_table(path, names))
    else:
        columns = _read_text(path, delimiter, names, texts)
    check_not_empty(path, columns.table.num_rows)
    return columns


@dataclass(frozen=True, eq=False)
class FileColumns:
    """Columns that have a type: those of a Parquet, Arrow or Feather file, or arrays of a .npz file."""

    path: Path
    table: Any

    def labels(self, name: str, role: str = "label", parameter: str = "target", *, literal: bool = False) -> Labels:
        """Convert a column to labels; raise if a label is missing.

        With ``literal``, only empty cells and nulls are missing, and texts such as NA are labels. In the message,
        ``role`` is the noun for a label, and ``parameter`` is the argument that names the column.
        """
        labels, row = self._labels(name, parameter, literal)
        if row is not None:
            raise TableError(
                f"Every row must have a {role}, but {self._cell(row, name)}. Fill in the cell or drop the row.",
                parameter=parameter,
            )
        return labels

    def weights(self, name: str) -> Floats:
        """Convert a column to weights; raise unless they are finite and not negative."""
        values, row = self._numbers(name)
        row = _first(~(np.isfinite(values) & (values >= 0))) if row is None else row
        if row is not None:
            raise TableError(
                f"Weights must be finite numbers >= 0, but {self._cell(row, name)}. Correct the cell. "
                "Alternatively, set weight= to the name of the column of weights.",
                parameter="weight",
            )
        return values

    def scores(self, name: str, parameter: str = "scores", *, booleans: bool = True) -> Floats:
        """Convert a column to scores; raise if a score is missing or not a number.

        ``parameter`` is the argument that names the columns of scores. Booleans raise an error unless ``booleans`` is
        True.
        """
        values, row = self._numbers(name)
        row = _first(np.isnan(values)) if row is None else row
        if not booleans and arrow().types.is_boolean(self.table[name].type):
            row = 0
        if row is not None:
            raise TableError(
                f"Scores must be numbers and none may be missing, but {self._cell(row, name)}. Correct the cell or "
                f"drop the row. Alternatively, set {parameter}= to the names of the columns of scores.",
                parameter=parameter,
            )
        return values

    def feature(self, name: str, categorical: bool) -> Any:
        """Convert a column to an array of numbers or an Arrow column of categories.

        The type of the column decides, unless ``categorical`` asks for categories.
        """
        column, pa = self.table[name], arrow()
        kind = kind_of(column)
        if kind is None:
            raise TableError(
                f"Features must be numbers or categories, but column {name!r} of {self.path} is of type {column.type}. "
                f"Leave the column out with exclude={name!r}, or convert it to numbers.",
                parameter="exclude",
            )
        if kind == "number" and not categorical:
            return numbers_of(column)
        texts = texts_of(column).cast(pa.string())
        return pa.compute.if_else(pa.compute.equal(texts, ""), None, texts)

    def describe_place(self, row: int, name: str) -> str:
        """Return the place of a cell for a message. ``row`` counts from 0; the row in the message counts from 1."""
        return f"row {row + 1} of {self.path}"

    def format_cell(self, row: int, name: str) -> str:
        """Return the value of a cell for a message."""
        value = self.table[name][row].as_py()
        return "no value" if value is None else repr(value)

    def _cell(self, row: int, name: str) -> str:
        return f"{self.describe_place(row, name)} has {self.format_cell(row, name)} in column {name!r}"

    def _labels(self, name: str, parameter: str, literal: bool) -> tuple[Labels, int | None]:
        """Return a column as labels, and None; or, if labels are missing, an empty array and the first such row."""
        column, pa = self.table[name], arrow()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        missing = pa.compute.is_null(column, nan_is_null=not literal)
        if is_text(column.type):
            missing = pa.compute.or_(missing, pa.compute.fill_null(pa.compute.equal(column, ""), False))
        row = _first(missing.to_numpy())
        return (self._convert_labels(name, column, parameter) if row is None else np.empty(0)), row

    def _convert_labels(self, name: str, column: Any, parameter: str) -> Labels:
        types = arrow().types
        if is_text(column.type):
            texts, codes = encode_distinct(column)
            return np.asarray(np.array(texts)[codes])
        if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
            raise TableError(
                f"Labels must be whole numbers, text or booleans, but column {name!r} of {self.path} is of type "
                f"{column.type}.",
                parameter=parameter,
            )
        return self._whole_labels(name, column.to_numpy(), parameter)

    def _whole_labels(self, name: str, labels: Labels, parameter: str) -> Labels:
        """Convert labels that are numbers to 64-bit integers, and return booleans unchanged.

        Floats must be whole numbers. Integers of a type that does not fit in 64 bits with a sign keep their type.
        """
        if labels.dtype.kind == "f":
            labels = labels.astype(np.float64)
            row = _first(~(np.isfinite(labels) & (labels == np.trunc(labels)) & (np.abs(labels) < 2.0**63)))
            if row is not None:
                raise TableError(
                    f"Labels that are numbers must be whole numbers, but column {name!r} of {self.path} has "
                    f"{labels[row]} in row {row + 1}. Name the column of labels with {parameter}=.",
                    parameter=parameter,
                )
            return labels.astype(np.int64)
        return labels.astype(np.int64) if np.can_cast(labels.dtype, np.int64) and labels.dtype.kind != "b" else labels

    def _numbers(self, name: str) -> tuple[Floats, int | None]:
        """Return a column as numbers, with NaN for missing cells, and None.

        If the column does not hold numbers, return an empty array and the first row whose cell is not a number.
        """
        column = self.table[name]
        return (numbers_of(column), None) if kind_of(column) == "number" else (np.empty(0), 0)


@dataclass(frozen=True, eq=False)
class TextFileColumns(FileColumns):
    """Columns of a text table, each read as numbers or as text. Messages quote a cell as it is written in the file."""

    delimiter: str
    header: list[str]

    def feature(self, name: str, categorical: bool) -> Any:
        """Convert a column to an array of numbers or an Arrow column of categories.

        A column holds numbers if every cell that is not missing is a number. It holds categories if fewer than half of
        these cells are numbers. Any other column raises an error.
        """
        numbers = None if categorical else self._cast(name)
        if numbers is not None:
            return numbers
        column = TextColumn.of(self.table[name])
        if not categorical:
            self._check_categories(name, column)
        return column.categories()

    def describe_place(self, row: int, name: str) -> str:
        """Return the place of a cell for a message: its line in the file."""
        begins, cells = self._record(row)
        return f"line {line_of(begins, cells, self.header.index(name))} of {self.path}"

    def format_cell(self, row: int, name: str) -> str:
        """Return the text of a cell for a message, as it is written in the file."""
        cell = self._record(row)[1][self.header.index(name)]
        return repr(cell) if cell.strip(" \t") else "an empty cell"

    def _record(self, row: int) -> tuple[int, list[str]]:
        return next(islice(records(self.path, self.delimiter), row + 1, None))

    def _labels(self, name: str, parameter: str, literal: bool) -> tuple[Labels, int | None]:
        column = TextColumn.of(self.table[name])
        row = column.first_empty() if literal else column.first_missing()
        return (column.labels() if row is None else np.empty(0)), row

    def _numbers(self, name: str) -> tuple[Floats, int | None]:
        numbers = self._cast(name)
        return (np.empty(0), TextColumn.of(self.table[name]).first_text()) if numbers is None else (numbers, None)

    def _cast(self, name: str) -> Floats | None:
        column = self.table[name]
        return cast_numbers(column) if is_text(column.type) else numbers_of(column)

    def _check_categories(self, name: str, column: TextColumn) -> None:
        """Raise if at least half of the cells that are not missing are numbers, with or without a comma.

        Such a column is probably a column of numbers in which some cells are wrong, and not one of categories.
        """
        row, share = column.first_comma(), column.share_of_numbers()
        remedy = f"or declare the column as categories with categories={name!r}."
        if row is not None:
            raise TableError(
                f"Numbers must be written with a decimal point and without separators of thousands, but "
                f"{self.describe_place(row, name)} has {column.cell(row)!r} in column {name!r}. "
                f"Rewrite the numbers of this column, {remedy}",
                parameter="categories",
            )
        if share >= 0.5:
            row = column.first_text() or 0
            raise TableError(
                f"A column must hold either numbers or categories, but {self.describe_place(row, name)} has "
                f"{column.cell(row)!r} in column {name!r}, although {math.floor(100 * share)} % of the cells of this "
                f"column are numbers. Correct the cell, {remedy}",
                parameter="categories",
            )


def _read_text(path: Path, delimiter: str, names: Sequence[str], texts: Set[str]) -> TextFileColumns:
    """Read columns of a text table with the types that are guessed from its first rows.

    If this fails, read all columns as text, in larger blocks. If this fails too, raise an error that names the first
    faulty line.
    """
    pa, header = arrow(), read_header(path)
    as_text = texts | _guess_texts(path, delimiter, header)
    guessed = {name: pa.large_string() if name in as_text else pa.float64() for name in names}
    all_text = dict.fromkeys(names, pa.large_string())
    failure: Exception | None = None
    for types, block in ((guessed, _BLOCK), *((all_text, block) for block in _useful_blocks(path))):
        try:
            table = read_text_table(path, delimiter, types, MISSING_SPELLINGS, block)
        except (pa.ArrowInvalid, OSError) as error:
            failure = error
        else:
            return TextFileColumns(path, table, delimiter, header)
    check_records(path, delimiter)
    raise TableError(f"{path} cannot be read: {failure}") from failure


def _guess_texts(path: Path, delimiter: str, header: list[str]) -> set[str]:
    """Return the names of the columns that have, in one of the first rows, a cell that is neither a number nor missing.

    Errors in these rows are ignored here, because they are reported when all rows are read.
    """
    found: set[str] = set()
    with suppress(TableError):
        for _, cells in islice(records(path, delimiter), 1, _SAMPLE):
            left = (pair for pair in zip(header, cells, strict=False) if pair[0] not in found)
            found.update(name for name, cell in left if not is_number_or_missing(cell))
    return found


def _useful_blocks(path: Path) -> Iterator[int]:
    """Yield the larger block sizes, without those that cannot help because the whole file fits in a smaller block."""
    size = path.stat().st_size * (_MAX_COMPRESSION if path.suffix.lower() == ".gz" else 1)
    yield from (block for block, smaller in zip(_LARGER_BLOCKS, (0, *_LARGER_BLOCKS), strict=False) if size > smaller)


def _first(mask: Any) -> int | None:
    """Return the index of the first true value of a mask, or None if there is no true value."""
    return int(mask.argmax()) if mask.any() else None
