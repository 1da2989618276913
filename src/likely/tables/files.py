"""Files of tables: suffixes of their names, checks of their content and column names, and reading of columns."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from likely._files import FilePath
from likely._formatting import format_names
from likely.exceptions import MissingDependencyError, TableError
from likely.tables.lines import check_encoding, first_line, records

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_SUFFIXES = [*DELIMITERS, ".parquet", ".arrow", ".feather"]

_START_LENGTH = 512
_GZIP = "a gzip file"
_SIGNATURES = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive, for example a spreadsheet or a .npz file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": _GZIP,
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
"""First bytes of files that are not text, and what such a file is called in messages."""


def arrow() -> Any:
    """Return the package pyarrow, whose submodules that this library uses are imported on the first call."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Reading and writing tables needs pyarrow, which is not installed. Run: pip install pyarrow"
        ) from error
    return pyarrow


# Names of files.


def suffix_of(path: FilePath, *others: str) -> str:
    """Return the suffix of a file name, in lower case. Raise unless it is a suffix of a table or one of ``others``.

    ``others`` are further suffixes that the caller can read.
    """
    name, suffixes = os.fspath(path), [*_SUFFIXES, *others]
    found = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), None)
    if found is None:
        known = ", ".join(suffixes)
        raise TableError(
            f"The file name of a table must end with one of {known}, but is {name!r}. Rename or convert the file."
        )
    return found


def delimiter_of(path: FilePath) -> str | None:
    """Return the delimiter of a text table that is to be read, or None if the file is not a text table.

    In countries where the comma is the decimal mark, spreadsheets separate the cells of a .csv file by semicolons. So
    the delimiter is a semicolon if the first line contains semicolons and no commas.
    """
    usual = DELIMITERS.get(suffix_of(path))
    if usual != ",":
        return usual
    header = first_line(Path(path))
    return ";" if ";" in header and "," not in header else usual


def find_file(path: FilePath, *others: str) -> Path:
    """Return the path of a file. Raise if its suffix is unknown (see :func:`suffix_of`) or the file does not exist."""
    suffix_of(path, *others)
    file = Path(path)
    if not file.is_file():
        siblings = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise TableError(
            f"There is no file {os.fspath(path)!r}.{suggest_name(file.name, siblings) or ' Check the path.'}"
        )
    return file


def suggest_name(name: str, names: Sequence[str]) -> str:
    """Return a question that suggests the one of ``names`` that is most similar to ``name``, or an empty text.

    ``names`` is often the header of a table. If it is a single name that contains tabs or bars, the table probably has
    another delimiter, and a hint about the delimiter is returned instead.
    """
    if len(names) == 1 and name.lower() != names[0].lower():
        for mark, plural in (("\t", "tabs"), ("|", "bars")):
            if mark in names[0]:
                return (
                    f" Its columns seem to be separated by {plural}. Save the file with commas, or as .tsv with tabs."
                )
    lowered = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), lowered, n=1)
    return f" Did you mean {lowered[close[0]]!r}?" if close else ""


def check_content(path: Path) -> None:
    """Raise if a file with the name of a text table begins like a file of another kind."""
    if suffix_of(path, ".npz") not in DELIMITERS:
        return
    with open(path, "rb") as stream:
        start = stream.read(_START_LENGTH)
    if path.suffix.lower() == ".gz" and start:
        if _identify(start) != _GZIP:
            raise _wrong_content(path, "a gzip file", _identify(start) or "something else")
        start = _decompressed_start(path)
    found = _identify(start) or ("binary data" if b"\0" in start else None)
    if found is not None:
        raise _wrong_content(path, "text", found)


def _identify(start: bytes) -> str | None:
    return next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), None)


def _decompressed_start(path: Path) -> bytes:
    """Return the first bytes of the content of a gzip file.

    For a damaged file, return no bytes: the damage is reported when the whole file is read.
    """
    try:
        with gzip.open(path, "rb") as stream:
            return stream.read(_START_LENGTH)
    except (OSError, EOFError, zlib.error):
        return b""


def _wrong_content(path: Path, expected: str, found: str) -> TableError:
    return TableError(
        f"{path} must be {expected} according to its suffix, but begins like {found}. Rename or convert the file."
    )


# Names of columns.


def read_header(path: Path) -> list[str]:
    """Return the names of a table's columns without reading its rows."""
    delimiter = delimiter_of(path)
    if delimiter is None:
        with _open_typed(path) as file:
            return list(file.schema_arrow.names if hasattr(file, "schema_arrow") else file.schema.names)
    line, names = next(records(path, delimiter), (0, []))
    if not line:
        raise TableError(f"{path} must begin with a line of column names, but is empty.")
    for name in names:
        check_encoding(path, line, name)
    return names


def check_distinct(path: Path, header: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise TableError(f"Columns must have distinct names, but {path} has {twice[0]!r} twice. Rename one of them.")


def check_present(
    path: Path, header: Sequence[str], name: str, role: str, parameter: str | None, remedy: str = ""
) -> None:
    """Raise if a column is not in the header.

    ``role`` completes "a column ...", and ``parameter`` is the argument that names the column. ``remedy`` replaces the
    advice to set this argument.
    """
    if name not in header:
        advice = suggest_name(name, header) or f" {remedy or f'Name it with {parameter}=.'}"
        raise TableError(
            f"{path} must have a column {role} {name!r}, but its columns are {format_names(header, 20)}.{advice}",
            parameter=parameter,
        )


def check_named(path: Path, names: Sequence[str], role: str, parameter: str, remedy: str) -> None:
    """Raise if a column has no name, or a name that pandas gives to its index.

    Such a column holds row numbers, which are not data. ``role`` completes "every column ...", and "``remedy`` with
    ``parameter``=" is the advice in the message.
    """
    for name in names:
        if not name or re.fullmatch(r"__index_level_\d+__", name):
            raise TableError(
                f"Every column {role} must have a name, but {path} has one with the name {name!r}. pandas gives this "
                f"name to row numbers. Write the file with index=False. Alternatively, {remedy} with {parameter}=.",
                parameter=parameter,
            )


# Columns.


def read_text_table(
    path: Path, delimiter: str, types: dict[str, Any], missing: Sequence[str] = (), block: int = 2**20
) -> Any:
    """Read some columns of a text table as an Arrow table.

    ``types`` maps the name of each column to its Arrow type, in the order of the result. Cells that are equal to a text
    of ``missing`` become null, except in columns of text. ``block`` is the number of bytes that Arrow reads at a time.
    Raises ``pyarrow.ArrowInvalid`` if a cell is not of the type of its column, if a row has too few or too many cells,
    or if a row is longer than two blocks.
    """
    pa = arrow()
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        return pa.csv.read_csv(
            stream,
            read_options=pa.csv.ReadOptions(block_size=block),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=list(missing)
            ),
        )


def read_typed_table(path: Path, names: Sequence[str]) -> Any:
    """Read the columns ``names`` of a Parquet, Arrow or Feather file as an Arrow table, in the order of ``names``."""
    with _open_typed(path) as file:
        return (file.read(names) if hasattr(file, "schema_arrow") else file.read_all()).select(names)


@contextmanager
def _open_typed(path: Path) -> Iterator[Any]:
    """Open a Parquet file or an Arrow file.

    An Arrow file may have Arrow's file format, which is also that of Feather files, or Arrow's stream format.
    """
    pa = arrow()
    kind = "a Parquet" if suffix_of(path) == ".parquet" else "an Arrow"
    try:
        with open(path, "rb") as stream:
            start = stream.read(6)
            stream.seek(0)
            if kind == "a Parquet":
                yield pa.parquet.ParquetFile(stream)
            else:
                yield pa.ipc.open_file(stream) if start == b"ARROW1" else pa.ipc.open_stream(stream)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise TableError(f"{path} must be {kind} file, but cannot be read as one: {error}") from error
