"""Classification and conversion of Arrow columns to numbers, categories and labels.

The first part of this file converts columns that have a type, from files and from data frames. The second part is about
columns of text tables: their cells decide whether a column holds numbers or categories, and which cells are missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from likely._typing import Booleans, Floats, Integers, Labels
from likely.tables.files import arrow

ColumnKind: TypeAlias = Literal["number", "category"]


# Columns that have a type.


def kind_of(column: Any) -> ColumnKind | None:
    """Return the kind of an Arrow column by its type, or None if it holds neither numbers nor categories.

    Integers, floats, decimals, booleans and columns of nulls are numbers; texts and dictionaries are categories.
    """
    types, kind = arrow().types, column.type
    if types.is_dictionary(kind) or is_text(kind):
        return "category"
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return "number" if any(test(kind) for test in tests) else None


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is a type of text."""
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def numbers_of(column: Any) -> Floats:
    """Convert an Arrow column of numbers to double precision; nulls become NaN."""
    numbers = column.cast(arrow().float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False) if hasattr(numbers, "buffers") else numbers.to_numpy())


def texts_of(column: Any) -> Any:
    """Convert an Arrow column to texts.

    Numbers are written with the fewest digits that identify them, so 1.0 becomes ``1``. NaN becomes null.
    """
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pa.compute.if_else(pa.compute.is_nan(column), None, column.cast(pa.float64()))
    return column.cast(pa.large_string())


def encode_distinct(column: Any) -> tuple[list[str], Integers]:
    """Return the distinct texts of an Arrow column, and for each row the index of its text among them.

    The texts are in the order of their first occurrence. The index of a null is -1.
    """
    encoded = _dictionary_encode(column)
    return encoded.dictionary.to_pylist(), _codes(encoded)


def _dictionary_encode(column: Any) -> Any:
    texts = texts_of(column)
    # Combine the chunks before encoding. If each of a thousand chunks is encoded with its own dictionary of distinct
    # texts, joining the dictionaries takes minutes.
    return (texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts).dictionary_encode()


def _codes(encoded: Any) -> Integers:
    return np.asarray(encoded.indices.fill_null(-1).to_numpy().astype(np.intp))


def column_of(values: Labels) -> Any:
    """Convert an array to an Arrow column. None and NaN become null.

    If an array of objects mixes types, such as texts and numbers, all cells become texts.
    """
    pa = arrow()
    if values.dtype.kind not in "OT":
        return pa.array(values.astype(values.dtype.newbyteorder("=")), from_pandas=True)
    cells = values.astype(object)
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([_text_of_cell(cell) for cell in cells], pa.large_string())


def _text_of_cell(cell: Any) -> str | None:
    """Return the text that a text table would hold for one cell, or None for a missing value."""
    if isinstance(cell, str):
        return cell
    pa = arrow()
    try:
        text: str | None = texts_of(pa.array([cell], from_pandas=True))[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return str(cell)
    return text


# Columns of text tables. A cell is a number, or missing, or another text. Spaces and tabs around a cell are ignored.
# Letters may be upper or lower case.

_BLANKS = " \t"
_NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)"
_NUMBER_WITH_COMMA = r"[+-]?[0-9.]+(?:,[0-9]+)+(?:\.[0-9]+)?"
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")
_MISSING_TEXTS = ["", "na", "n/a", "nan", "null"]
"""Cells that are missing in a column of categories, labels or groups."""
_MISSING_NUMBERS = [*_MISSING_TEXTS, "none", "?", "+nan", "-nan"]
"""Cells that are missing in a column of numbers."""

MISSING_SPELLINGS = sorted({case for text in _MISSING_NUMBERS for case in (text, text.upper(), text.capitalize())})
"""Usual spellings of missing numbers, for Arrow's reader, which compares the exact text of a cell. Other spellings,
such as cells with blanks, are recognised later by :func:`cast_numbers`."""

_is_number = re.compile(_NUMBER, re.IGNORECASE).fullmatch


def is_number_or_missing(cell: str) -> bool:
    """Return whether a cell of a text table is a number, or is missing in a column of numbers."""
    cell = cell.strip(_BLANKS)
    return _is_number(cell) is not None or cell.lower() in _MISSING_NUMBERS


def cast_numbers(column: Any) -> Floats | None:
    """Convert an Arrow column of texts to numbers, with NaN for missing cells.

    Return None if some cell is neither a number nor missing.
    """
    pa = arrow()
    texts = pa.compute.utf8_trim(column, characters=_BLANKS)
    texts = pa.compute.if_else(_is_one_of(texts, _MISSING_NUMBERS), pa.scalar(None, texts.type), texts)
    try:
        return numbers_of(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of a text table: its distinct texts, and for each row the index of its text among them.

    Tests of cells, for example whether a cell is a number, run once for each distinct text.
    """

    texts: Any
    codes: Integers

    @classmethod
    def of(cls, column: Any) -> TextColumn:
        """Encode an Arrow column of texts without nulls."""
        encoded = _dictionary_encode(column)
        return cls(encoded.dictionary, _codes(encoded))

    def cell(self, row: int) -> str:
        """Return the text of a row."""
        return str(self.texts[int(self.codes[row])].as_py())

    def labels(self) -> Labels:
        """Return the cells as integers if all are whole numbers without leading zeros, else as texts."""
        texts = self.texts.to_pylist()
        whole = all(_INTEGER.fullmatch(text.strip(_BLANKS)) for text in texts)
        numbers = [int(text.strip(_BLANKS).split(".")[0]) for text in texts] if whole else []
        fits = whole and min(numbers) >= -(2**63) and max(numbers) < 2**63
        return np.asarray(np.array(numbers if fits else texts)[self.codes])

    def categories(self) -> Any:
        """Return the cells as an Arrow column of texts. Missing cells become null."""
        pa = arrow()
        missing = _is_one_of(self._trimmed(), _MISSING_TEXTS)
        texts = pa.compute.if_else(missing, pa.scalar(None, self.texts.type), self.texts).cast(pa.string())
        return pa.chunked_array([texts.take(pa.array(self.codes))])

    def share_of_numbers(self) -> float:
        """Return the share of numbers among the cells that are not missing, or 1 if all cells are missing."""
        return self._share(self._numbers())

    def first_missing(self) -> int | None:
        """Return the first row whose cell is missing as a category, label or group, or None if there is no such row."""
        return self._first(_as_mask(_is_one_of(self._trimmed(), _MISSING_TEXTS)))

    def first_empty(self) -> int | None:
        """Return the first row with an empty cell, or None if there is no such row."""
        return self._first(_as_mask(arrow().compute.equal(self.texts, "")))

    def first_text(self) -> int | None:
        """Return the first row whose cell is neither a number nor missing, or None if there is no such row."""
        return self._first(~(self._numbers() | self._missing()))

    def first_comma(self) -> int | None:
        """Return the first row whose cell is a number with a comma, such as ``1,5``, if there is one.

        Return None if fewer than half of the cells that are not missing are numbers, with or without a comma.
        """
        with_comma = self._matches(_NUMBER_WITH_COMMA)
        return self._first(with_comma) if self._share(self._numbers() | with_comma) >= 0.5 else None

    def _share(self, mask: Booleans) -> float:
        counts = np.bincount(self.codes, minlength=len(self.texts))
        present = int(counts[~self._missing()].sum())
        return int(counts[mask].sum()) / present if present else 1.0

    def _first(self, mask: Booleans) -> int | None:
        rows = mask[self.codes]
        return int(rows.argmax()) if rows.any() else None

    def _numbers(self) -> Booleans:
        return self._matches(_NUMBER)

    def _missing(self) -> Booleans:
        return _as_mask(_is_one_of(self._trimmed(), _MISSING_NUMBERS))

    def _matches(self, pattern: str) -> Booleans:
        pattern = rf"\A(?:{pattern})\z"
        return _as_mask(arrow().compute.match_substring_regex(self._trimmed(), pattern=pattern, ignore_case=True))

    def _trimmed(self) -> Any:
        return arrow().compute.utf8_trim(self.texts, characters=_BLANKS)


def _is_one_of(texts: Any, words: list[str]) -> Any:
    pa = arrow()
    return pa.compute.is_in(pa.compute.utf8_lower(texts), value_set=pa.array(words, texts.type))


def _as_mask(found: Any) -> Booleans:
    return np.asarray(found.to_numpy(zero_copy_only=False))
