"""Atomic writers of tables: files of scores, files of named columns, and the arrays of stored runs."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from likely._files import FilePath, atomic_write
from likely._typing import Floats, Labels
from likely._validation import check_labels
from likely.exceptions import InvalidDataError, InvalidParameterError, MissingValuesError, TableError
from likely.tables.data import check_score_names
from likely.tables.files import DELIMITERS, arrow, suffix_of

_STRUCTURAL = '[",\t\r\n]'
"""Pattern of the characters for which a text in a delimited file must be put in quotation marks."""
_METADATA_KEY = b"likely"
"""Key of the metadata of a Parquet file under which :func:`write_arrays` stores the description of the arrays."""


def write_scores(
    path: FilePath, labels: Any, scores: Any, names: Sequence[str] | None = None, label: str = "label"
) -> None:
    """Write labels and scores to a file, which ``read_scores`` reads back.

    The suffix selects the format. The file is replaced atomically: after a failure the old one is unchanged.

    Parameters
    ----------
    path : str or path
        A name that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather, in a folder that exists.
    labels : array-like of shape (n,)
        Whole numbers, text or booleans; a text file returns booleans as the texts ``true`` and ``false``, and texts
        that are all whole numbers as integers.
    scores : array-like of shape (n,) or (n, n_columns)
        Numbers, which may be infinite but not NaN. Reading returns exactly the same numbers.
    names : sequence of str, optional
        The name of each column of scores; by default ``score``, or ``score_0``, ``score_1`` and so on.
    label : str
        The name of the column of labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "trials.csv")
    ...     write_scores(path, ["target", "other"], [2.5, float("-inf")])
    ...     print(path.read_text())
    label,score
    target,2.5
    other,-inf
    <BLANKLINE>
    """
    values = _check_scores(scores)
    given = _check_written_labels(labels, len(values))
    titles = _check_names(names, values.shape[1], label)
    arrays = [given, *(np.ascontiguousarray(column) for column in values.T)]
    _write_table(path, arrow().table(arrays, names=[label, *titles]))


def write_columns(path: FilePath, columns: Mapping[str, Any]) -> None:
    """Write named columns to a file. The suffix selects the format, and an existing file is replaced atomically.

    Parameters
    ----------
    path : str or path
        A name that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather, in a folder that exists.
    columns : mapping {name: array of shape (n,)}
        Texts, numbers or booleans. None in an object array, as for a rejected decision, becomes an empty cell or a
        null.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "decisions.csv")
    ...     write_columns(path, {"llr": np.array([2.5, 0.125]), "decision": np.array(["yes", None], dtype=object)})
    ...     print(path.read_text())
    llr,decision
    2.5,yes
    0.125,
    <BLANKLINE>
    """
    arrays = {name: _check_column(name, values) for name, values in columns.items()}
    if not arrays:
        raise InvalidDataError("A table must have at least one column, but columns is empty.")
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{length} in {name!r}" for name, length in lengths.items())
        raise InvalidDataError(f"All columns of a table must have the same number of rows, but there are {shown}.")
    _write_table(path, arrow().table(arrays))


def write_arrays(path: Path, arrays: Mapping[str, Floats], about: Mapping[str, Any]) -> None:
    """Write named arrays and a description to a Parquet file, atomically.

    The arrays have shape (n,) or (n, k), with the same n for all arrays. Each column of an array is a column of the
    file. The description ``about``, which must be valid JSON, and the number of columns of each array are stored in the
    metadata of the file.
    """
    columns, widths = {}, {}
    for name, values in arrays.items():
        widths[name] = None if values.ndim == 1 else values.shape[1]
        for at, column in enumerate(np.reshape(values, (len(values), -1)).T):
            columns[f"{name}/{at}"] = np.ascontiguousarray(column, dtype=np.float64)
    facts = json.dumps({"about": dict(about), "widths": widths})
    _write_table(path, arrow().table(columns).replace_schema_metadata({_METADATA_KEY: facts.encode()}))


def read_arrays(path: Path) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the arrays and the description in a file that :func:`write_arrays` wrote.

    Raise ``TableError`` if the file is missing, damaged or of another kind.
    """
    pa = arrow()
    try:
        with open(path, "rb") as stream:
            table = pa.parquet.ParquetFile(stream, page_checksum_verification=True).read()
        facts = json.loads(table.schema.metadata[_METADATA_KEY])
        arrays = {name: _read_array(table, name, width) for name, width in facts["widths"].items()}
        return arrays, facts["about"]
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise TableError(f"{path} cannot be read as arrays: {error}") from error


def _read_array(table: Any, name: str, width: int | None) -> Floats:
    if width is None:
        return np.array(table[f"{name}/0"], dtype=np.float64)
    return np.column_stack([np.asarray(table[f"{name}/{at}"], dtype=np.float64) for at in range(width)])


# Arrow tables as files.


def _write_table(path: FilePath, table: Any) -> None:
    suffix = suffix_of(path)
    with atomic_write(path) as stream:
        _write(stream, table, suffix)


def _write(stream: IO[bytes], table: Any, suffix: str) -> None:
    if suffix.endswith(".gz"):
        # The gzip file stores no name and no time, so that equal tables give equal files. Compression level 1 is used
        # because the digits of scores hardly compress: level 6 takes five times as long for a file that is 7 % smaller.
        with gzip.GzipFile("", "wb", compresslevel=1, fileobj=stream, mtime=0) as packed:
            _write_text(packed, table, DELIMITERS[suffix])
    elif suffix in DELIMITERS:
        _write_text(stream, table, DELIMITERS[suffix])
    elif suffix == ".parquet":
        arrow().parquet.write_table(table, stream, write_page_checksum=True)
    else:
        with arrow().ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)


def _write_text(stream: Any, table: Any, delimiter: str) -> None:
    """Write a table as delimited text. Floats have the fewest digits that read back as the same number.

    If quoting is enabled, pyarrow puts every text in quotation marks. Quoting is therefore enabled only if some text
    needs it.
    """
    pa = arrow()
    stream.write((delimiter.join(map(_quote, table.column_names)) + "\n").encode())
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    quoted = any(pa.compute.any(pa.compute.match_substring_regex(text, _STRUCTURAL)).as_py() for text in texts)
    style = "needed" if quoted else "none"
    options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
    pa.csv.write_csv(table, stream, options)


def _quote(name: str) -> str:
    """Put a column name in quotation marks if it contains a delimiter, a quotation mark or a line break.

    A name that begins with a byte order mark is quoted too. Otherwise readers would drop the mark.
    """
    needs = re.search(_STRUCTURAL, name) or name.startswith("\ufeff")
    return '"' + name.replace('"', '""') + '"' if needs else name


# Checks of the columns, scores, labels and names to be written.


def _check_column(name: Any, values: Any) -> Any:
    """Convert a column to an Arrow array."""
    if not (isinstance(name, str) and name):
        raise InvalidParameterError(f"Column names must be texts that are not empty, but one is {name!r}.")
    pa, given = arrow(), np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iufbUO":
        raise InvalidDataError(
            f"A column must be an array of one dimension that holds texts, numbers or booleans, but {name!r} is of "
            f"type {given.dtype} and shape {given.shape}."
        )
    try:
        return pa.array(given.tolist() if given.dtype.kind == "O" else given)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidDataError(
            f"The cells of a column must be of one type, but the cells of {name!r} are not: {error}."
        ) from None


def _check_scores(scores: Any) -> Floats:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"Scores must be numbers in an array of one or two dimensions: {error}.") from error
    if values.ndim not in (1, 2) or not values.size:
        raise InvalidDataError(
            f"Scores must have shape (n,) or (n, n_columns) and must not be empty, but have shape {values.shape}."
        )
    values = values.reshape(len(values), -1)
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        row, column = missing[0].tolist()
        raise MissingValuesError(f"Scores must not be NaN, but row {row} has NaN in column {column}. Drop such rows.")
    return values


def _check_written_labels(labels: Any, n: int) -> Labels:
    given = check_labels("write_scores", labels)
    if len(given) != n:
        raise InvalidDataError(
            f"Every row must have a label and scores, but labels has length {len(given)} and scores has length {n}."
        )
    if given.dtype.kind == "f":
        return given.astype(np.int64)
    if given.dtype.kind not in "iubU":
        raise InvalidDataError(f"Labels must be whole numbers, text or booleans, but are of type {given.dtype}.")
    if given.dtype.kind == "U" and (given == "").any():
        raise InvalidDataError(
            f"Labels must not be empty texts, but the label of row {int((given == '').argmax())} is empty."
        )
    return given


def _check_names(names: Sequence[str] | None, n_columns: int, label: str) -> list[str]:
    if names is None:
        titles = ["score"] if n_columns == 1 else [f"score_{at}" for at in range(n_columns)]
    else:
        titles = [names] if isinstance(names, str) else list(names)
    if len(titles) != n_columns:
        raise InvalidParameterError(
            f"names must have one name for each of the {n_columns} columns of scores, but has {len(titles)}.",
            parameter="names",
        )
    for title in (label, *titles):
        if not (isinstance(title, str) and title):
            raise InvalidParameterError(f"Column names must be texts that are not empty, but one is {title!r}.")
    check_score_names(titles, label, "names")
    return titles
