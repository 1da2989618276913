"""Columns of a table as arrays of labels and of scores, and what is said of cells that are neither."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from likely._typing import Booleans, Floats, Labels
from likely.exceptions import TableError
from likely.tables.cells import distinct, is_text
from likely.tables.files import arrow
from likely.tables.lines import check_encoding, check_width, is_decoded, line_of, records

__all__ = [
    "blame_text",
    "is_number",
    "refuse_no_rows",
    "text_labels",
    "typed_labels",
    "typed_scores",
]

_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")
_MISSING = {"", "nan", "+nan", "-nan", "na", "n/a", "null", "none"}
_REMEDY = "Fill it in or drop the row."


def text_labels(column: Any) -> Labels:
    """Labels read as text: whole numbers if all are, else text; leading zeros make a text of a number.

    The distinct texts are looked at, not the rows: labels repeat.
    """
    texts, codes = distinct(column)
    whole = all(_WHOLE.fullmatch(text.strip(" \t")) for text in texts)
    numbers = [int(text.strip(" \t").split(".")[0]) for text in texts] if whole else []
    fits = whole and min(numbers) >= -(2**63) and max(numbers) < 2**63
    return np.asarray(np.array(numbers if fits else texts)[codes])


def typed_labels(path: Path, name: str, column: Any, option: str = "label=") -> Labels:
    """Labels that have a type: whole numbers, text or booleans; ``option`` is what names their column."""
    types = arrow().types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        _refuse_missing_label(path, name, "row", _first(column.is_null()))
    if is_text(column.type):
        texts, codes = distinct(column)
        if "" in texts:
            _refuse_missing_label(path, name, "row", int((codes == texts.index("")).argmax()) + 1)
        return np.asarray(np.array(texts)[codes])
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TableError(
            f"Labels must be whole numbers, text or booleans, but column {name!r} of {path} is of type {column.type}."
        )
    return _whole(path, name, column.to_numpy(), option)


def _whole(path: Path, name: str, labels: Labels, option: str) -> Labels:
    """Numbers that are whole, as integers of 64 bits where they fit; booleans as they are."""
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float64)
        bad = ~(np.isfinite(labels) & (labels == np.trunc(labels)) & (np.abs(labels) < 2.0**63))
        if bad.any():
            row = int(bad.argmax())
            raise TableError(
                f"Labels that are numbers must be whole, but column {name!r} of {path} has {labels[row]} in row "
                f"{row + 1}. Name the column of labels with {option}."
            )
        return labels.astype(np.int64)
    return labels.astype(np.int64) if np.can_cast(labels.dtype, np.int64) and labels.dtype.kind != "b" else labels


def typed_scores(path: Path, name: str, column: Any) -> Floats:
    """Scores that have a type: a number in every row."""
    types = arrow().types
    if column.null_count:
        _refuse_missing(path, name, "row", _first(column.is_null()), "nothing")
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)):
        raise TableError(
            f"Scores must be numbers, but column {name!r} of {path} is of type {column.type}: row 1 has "
            f"{column[0].as_py()!r}. Name the columns of scores with columns=."
        )
    scores: Floats = column.cast(arrow().float64(), safe=False).to_numpy()
    missing: Booleans = np.isnan(scores)
    if missing.any():
        _refuse_missing(path, name, "row", int(missing.argmax()) + 1, "nan")
    return scores


def blame_text(path: Path, delimiter: str, label: str, names: Sequence[str], error: Exception | None) -> NoReturn:
    """Raise what is wrong with the first line of a text table that cannot be read, or else the reader's own words."""
    lines = records(path, delimiter)
    header = next(lines)[1]
    wanted = [(header.index(name), name) for name in (label, *names)]
    begins = 0
    for begins, cells in lines:
        check_width(path, begins, cells, len(header))
        for at, name in wanted:
            if not (_is_label if name == label else is_number)(cells[at]):
                _refuse_cell(path, line_of(begins, cells, at), name, cells[at], name == label)
    if not begins:
        refuse_no_rows(path)
    raise TableError(f"{path} cannot be read: {error}") from error


def refuse_no_rows(path: Path) -> NoReturn:
    """Say that a table has column names only."""
    raise TableError(f"{path} must have rows, but has none after its column names.")


def is_number(cell: str) -> bool:
    """Whether a cell is a number, which may be infinite."""
    return _NUMBER.fullmatch(cell.strip(" \t")) is not None


def _is_label(cell: str) -> bool:
    return bool(cell) and is_decoded(cell)


def _refuse_cell(path: Path, line: int, name: str, cell: str, is_label: bool) -> NoReturn:
    check_encoding(path, line, cell)
    if is_label:
        _refuse_missing_label(path, name, "line", line)
    value = cell.strip(" \t")
    if value.lower() in _MISSING or value.lower().startswith("nan("):
        _refuse_missing(path, name, "line", line, repr(cell) if value else "an empty cell")
    raise TableError(
        f"Scores must be numbers, but line {line} of {path} has {cell!r} in column {name!r}. "
        "Correct it, or name the columns of scores with columns=."
    )


def _refuse_missing(path: Path, name: str, unit: str, at: int, what: str) -> NoReturn:
    raise TableError(f"No score may be missing, but {unit} {at} of {path} has {what} in column {name!r}. {_REMEDY}")


def _refuse_missing_label(path: Path, name: str, unit: str, at: int) -> NoReturn:
    raise TableError(f"Every row must have a label, but {unit} {at} of {path} has none in column {name!r}. {_REMEDY}")


def _first(mask: Any) -> int:
    """The first true row of a mask, counted from 1."""
    return int(mask.to_numpy().argmax()) + 1
