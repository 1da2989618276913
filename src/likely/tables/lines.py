"""A text table record by record, each with its line: slow, and right about where a fault is.

The fast reader works on blocks in parallel and cannot say on which line it stumbled, so a file it refuses is read again
here, up to the fault.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from likely.exceptions import TableError

__all__ = ["check_encoding", "check_width", "first_line", "is_decoded", "line_of", "records"]

_BREAK = re.compile(r"\r\n|\r|\n")
_UNDECODED = re.compile("[\ud800-\udfff]")
_UNREADABLE = (csv.Error, EOFError, zlib.error, gzip.BadGzipFile)


def records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record of a text table after the line it begins on; blank lines are no records.

    Lines count from 1. A quoted cell may hold line breaks, so a record may cover several.
    """
    begins = 1
    try:
        with _opened(path) as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in reader:
                if cells:
                    yield begins, cells
                begins = reader.line_num + 1
    except _UNREADABLE as error:
        raise TableError(
            f"{path} cannot be read from line {begins} on ({error}). Look for an open quotation mark or a damaged file."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """The file as text; bytes that are not UTF-8 come as lone surrogates, to be told by their line."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def first_line(path: Path) -> str:
    """The first line of a text table, or nothing where it cannot be read."""
    try:
        with _opened(path) as stream:
            return stream.readline()
    except (OSError, *_UNREADABLE):
        return ""


def line_of(begins: int, cells: list[str], at: int) -> int:
    """The line on which cell ``at`` of a record begins: line breaks in the cells before it count."""
    return begins + sum(len(_BREAK.findall(cell)) for cell in cells[:at])


def check_width(path: Path, begins: int, cells: list[str], width: int) -> None:
    """A record has one cell a column."""
    if len(cells) != width:
        raise TableError(
            f"Every row of {path} must have {width} cells, one a column, but the row on line {begins} has "
            f"{len(cells)}. Look there for a delimiter too few or too many, or an open quotation mark."
        )


def is_decoded(cell: str) -> bool:
    """Whether a cell was UTF-8."""
    return cell.isascii() or not _UNDECODED.search(cell)


def check_encoding(path: Path, line: int, cell: str) -> None:
    """A cell was UTF-8."""
    if not is_decoded(cell):
        raw = cell.encode("utf-8", "surrogateescape")
        raise TableError(f"{path} must be UTF-8, but line {line} holds {_shortened(raw)}. Save it with that encoding.")


def _shortened(value: object, most: int = 40) -> str:
    said = repr(value)
    return said if len(said) <= most else said[: most - 1] + "…"
