"""Reader of text tables that yields one record at a time, with its line number, so that messages can locate faults.

Arrow's reader processes blocks of a file in parallel and does not report line numbers. If it fails, this reader reads
the file again, up to the fault.
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

from likely._formatting import shorten
from likely.exceptions import TableError

_BREAK = re.compile(r"\r\n|\r|\n")
_UNDECODED = re.compile("[\ud800-\udfff]")
_UNREADABLE = (csv.Error, EOFError, zlib.error, gzip.BadGzipFile)


def records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield, for each record of a text table, the line on which the record begins, and its cells.

    Lines count from 1. Blank lines are skipped. A quoted cell may hold line breaks, so a record may cover several
    lines.
    """
    begins = 1
    try:
        with _open_text(path) as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in reader:
                if cells:
                    yield begins, cells
                begins = reader.line_num + 1
    except _UNREADABLE as error:
        raise TableError(
            f"{path} cannot be read from line {begins} onwards ({error}). The cause can be an unclosed quotation mark "
            "or a damaged file."
        ) from error


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a file as text, decompressed if its name ends with .gz.

    Bytes that are not UTF-8 become lone surrogates, so that :func:`check_encoding` can report them with their line.
    """
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def first_line(path: Path) -> str:
    """Return the first line of a text table, or an empty text if the file cannot be read."""
    try:
        with _open_text(path) as stream:
            return stream.readline()
    except (OSError, *_UNREADABLE):
        return ""


def line_of(begins: int, cells: list[str], at: int) -> int:
    """Return the line on which cell number ``at`` of a record begins.

    This is the line ``begins`` of the record plus the number of line breaks in the cells before this one.
    """
    return begins + sum(len(_BREAK.findall(cell)) for cell in cells[:at])


def check_records(path: Path, delimiter: str) -> None:
    """Raise for the first row of a text table that has a wrong number of cells, or a cell that is not UTF-8.

    Raise also if the table has no rows.
    """
    lines = records(path, delimiter)
    width, begins = len(next(lines)[1]), 0
    for begins, cells in lines:
        check_width(path, begins, cells, width)
        for at, cell in enumerate(cells):
            check_encoding(path, line_of(begins, cells, at), cell)
    check_not_empty(path, begins)


def check_not_empty(path: Path, n_rows: int) -> None:
    """Raise if a table has no rows after its column names."""
    if not n_rows:
        raise TableError(f"{path} must have rows, but has none after its column names.")


def check_width(path: Path, begins: int, cells: list[str], width: int) -> None:
    """Raise if a record does not have one cell for each column."""
    if len(cells) != width:
        raise TableError(
            f"Every row of {path} must have {width} cells, one per column, but the row on line {begins} has "
            f"{len(cells)}. Check this line for a missing delimiter, an extra delimiter or an unclosed quotation mark."
        )


def check_encoding(path: Path, line: int, cell: str) -> None:
    """Raise if the bytes of a cell in the file were not UTF-8."""
    if not cell.isascii() and _UNDECODED.search(cell):
        raw = repr(cell.encode("utf-8", "surrogateescape"))
        raise TableError(f"{path} must be UTF-8, but line {line} holds {shorten(raw, 40)}. Save the file in UTF-8.")
