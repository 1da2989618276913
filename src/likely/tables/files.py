"""Files as Arrow tables, told by their suffix, and written whole or not at all."""

from __future__ import annotations

import gzip
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, TypeAlias

from likely.exceptions import MissingDependencyError, TableError
from likely.tables.lines import check_encoding, first_line, records

__all__ = [
    "FilePath",
    "arrow",
    "delimiter_of",
    "existing",
    "hint",
    "read_header",
    "read_table",
    "suffix_of",
    "write_table",
]

FilePath: TypeAlias = "str | os.PathLike[str]"

_DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_SUFFIXES = [*_DELIMITERS, ".parquet", ".arrow", ".feather"]
_BLOCKS = (2**20, 2**25, 2**30)
"""Bytes read at once; a row that is longer than two blocks needs larger ones."""
_STRUCTURAL = '[",\t\r\n]'


def arrow() -> Any:
    """The pyarrow package with the parts in use here, loaded when first asked for."""
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


def suffix_of(path: FilePath, *others: str) -> str:
    """The known suffix a file's name ends with, in any case; a reader may know others."""
    name, suffixes = os.fspath(path), [*_SUFFIXES, *others]
    found = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), None)
    if found is None:
        known = ", ".join(suffixes)
        raise TableError(f"A table's file name must end with one of {known}, but is {name!r}. Rename or convert it.")
    return found


def delimiter_of(path: FilePath) -> str | None:
    """What stands between the cells of a text table that is to be read; None for other files.

    Where commas are decimal marks, spreadsheets write semicolons between the cells of a .csv.
    """
    usual = _DELIMITERS.get(suffix_of(path))
    if usual != ",":
        return usual
    header = first_line(Path(path))
    return ";" if ";" in header and "," not in header else usual


def existing(path: FilePath, *others: str) -> Path:
    """The path of a file that is there, of a suffix that is known."""
    suffix_of(path, *others)
    file = Path(path)
    if not file.is_file():
        beside = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise TableError(f"There is no file {os.fspath(path)!r}.{hint(file.name, beside) or ' Check the path.'}")
    return file


def hint(name: str, names: Sequence[str]) -> str:
    """A question after the one of the names that is nearly this one, or nothing."""
    if len(names) == 1 and name.lower() != names[0].lower():
        for mark, said in (("\t", "tabs"), ("|", "bars")):
            if mark in names[0]:
                return f" Its columns seem to be divided by {said}: save it with commas, or as .tsv with tabs."
    lowered = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), lowered, n=1)
    return f" Did you mean {lowered[close[0]]!r}?" if close else ""


def read_header(path: Path) -> list[str]:
    """The names of a table's columns, without its rows."""
    delimiter = delimiter_of(path)
    if delimiter is None:
        with _opened(path) as file:
            return list(file.schema_arrow.names if hasattr(file, "schema_arrow") else file.schema.names)
    line, names = next(records(path, delimiter), (0, []))
    if not line:
        raise TableError(f"{path} must begin with a line of column names, but is empty.")
    for name in names:
        check_encoding(path, line, name)
    return names


def read_table(
    path: Path, names: Sequence[str], types: dict[str, Any] | None = None, missing: Sequence[str] = ()
) -> Any:
    """Some columns of a file as an Arrow table, in that order.

    Text columns are read as ``types`` says, which must name each; a cell that is not of its column's type raises
    ``pyarrow.ArrowInvalid``. The texts of ``missing`` stand for nulls, except in columns of text. Other files bring
    their types along.
    """
    delimiter = delimiter_of(path)
    if delimiter is None:
        with _opened(path) as file:
            return (file.read(names) if hasattr(file, "schema_arrow") else file.read_all()).select(names)
    for block in _BLOCKS:
        try:
            return _read_text(path, delimiter, block, include_columns=names, column_types=types, null_values=missing)
        except arrow().ArrowInvalid as error:
            if "straddling" not in str(error) or block == _BLOCKS[-1]:
                raise
    return None


def _read_text(path: Path, delimiter: str, block: int, **conversion: Any) -> Any:
    pa = arrow()
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        return pa.csv.read_csv(
            stream,
            read_options=pa.csv.ReadOptions(block_size=block),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(**conversion),
        )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A Parquet file, or an Arrow file laid out for random access, as Feather is, or as a stream."""
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


def write_table(path: FilePath, table: Any) -> None:
    """An Arrow table as a file of the kind its suffix says, whole or not at all."""
    suffix = suffix_of(path)
    with replacing(path) as temporary, open(temporary, "xb") as stream:
        _write(stream, table, suffix)
        stream.flush()
        os.fsync(stream.fileno())


def _write(stream: IO[bytes], table: Any, suffix: str) -> None:
    if suffix.endswith(".gz"):
        # No name and no time inside, so that equal tables are equal files. The digits of scores hardly compress:
        # level 6 takes five times as long as level 1 for a file 7 % smaller.
        with gzip.GzipFile("", "wb", compresslevel=1, fileobj=stream, mtime=0) as packed:
            _write_text(packed, table, _DELIMITERS[suffix])
    elif suffix in _DELIMITERS:
        _write_text(stream, table, _DELIMITERS[suffix])
    elif suffix == ".parquet":
        arrow().parquet.write_table(table, stream, write_page_checksum=True)
    else:
        with arrow().ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)


def _write_text(stream: Any, table: Any, delimiter: str) -> None:
    """Delimited text, in which floats have the fewest digits that read back as the same number.

    pyarrow quotes every text as soon as it may quote one, so it may only where some text needs it.
    """
    pa = arrow()
    stream.write((delimiter.join(map(_quoted, table.column_names)) + "\n").encode())
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    quoted = any(pa.compute.any(pa.compute.match_substring_regex(text, _STRUCTURAL)).as_py() for text in texts)
    style = "needed" if quoted else "none"
    options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
    pa.csv.write_csv(table, stream, options)


def _quoted(name: str) -> str:
    """A name in quotation marks where it needs them; a first character that is taken for a byte order mark does."""
    needs = re.search(_STRUCTURAL, name) or name.startswith("\ufeff")
    return '"' + name.replace('"', '""') + '"' if needs else name


def write_whole(path: FilePath, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary, open(temporary, "x", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """The name of a file to write beside ``path``, which takes its place if all goes well and is gone if not."""
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise TableError(f"{os.fspath(path)!r} cannot be written: there is no folder {str(target.parent)!r}. Make it.")
    if target.is_dir():
        raise TableError(f"{os.fspath(path)!r} cannot be written: it is a folder. Give the name of a file.")
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
