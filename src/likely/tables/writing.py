"""Score files written, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely._typing import Floats, Labels
from likely._validation import check_labels
from likely.exceptions import InvalidDataError, InvalidParameterError, MissingValuesError
from likely.tables.files import FilePath, arrow, write_table
from likely.tables.scores import check_choice

__all__ = ["write_columns", "write_scores"]


def write_scores(
    path: FilePath, labels: Any, scores: Any, names: Sequence[str] | None = None, label: str = "label"
) -> None:
    """Labels and scores as a file of the kind its suffix says, which ``read_scores`` reads back.

    The file is written beside its place and then moved there, so that it is whole or, after a failure, as it was.

    Parameters
    ----------
    path : str or path
        A name that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather, in a folder that is there.
    labels : array-like of shape (n,)
        Whole numbers, text or booleans; a text file gives booleans back as the texts ``true`` and ``false``, and texts
        that are all whole numbers as integers.
    scores : array-like of shape (n,) or (n, n_columns)
        Numbers, which may be infinite but not NaN. They are read back to the last bit.
    names : sequence of str, optional
        What each column of scores is called: ``score``, or ``score_0``, ``score_1`` and so on, if not given.
    label : str
        What the column of labels is called.

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
    given = _check_label_values(labels, len(values))
    titles = _check_names(names, values.shape[1], label)
    arrays = [given, *(np.ascontiguousarray(column) for column in values.T)]
    write_table(path, arrow().table(arrays, names=[label, *titles]))


def write_columns(path: FilePath, columns: Mapping[str, Any]) -> None:
    """Columns by name as a file of the kind its suffix says, whole or not at all.

    Parameters
    ----------
    path : str or path
        A name that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather, in a folder that is there.
    columns : mapping {name: array of shape (n,)}
        Texts, numbers or booleans; None among objects, as for a decision that was rejected, is an empty cell or a null.

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
        raise InvalidDataError("A table must have a column, but none came.")
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{length} in {name!r}" for name, length in lengths.items())
        raise InvalidDataError(f"All columns of a table must have as many rows, but there are {said}.")
    write_table(path, arrow().table(arrays))


def _check_column(name: Any, values: Any) -> Any:
    """A column as Arrow has it."""
    if not (isinstance(name, str) and name):
        raise InvalidParameterError(f"Names of columns must be texts that are not empty, but one is {name!r}.")
    pa, given = arrow(), np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iufbUO":
        raise InvalidDataError(
            f"A column must be texts, numbers or booleans in an array of one dimension, but {name!r} is of type "
            f"{given.dtype} and shape {given.shape}."
        )
    try:
        return pa.array(given.tolist() if given.dtype.kind == "O" else given)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidDataError(
            f"The cells of a column must be of one type, but those of {name!r} are not: {error}."
        ) from None


def _check_scores(scores: Any) -> Floats:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"Scores must be numbers in an array of one or two dimensions: {error}.") from error
    if values.ndim not in (1, 2) or not values.size:
        raise InvalidDataError(f"Scores must be of shape (n,) or (n, columns), none of them 0, but are {values.shape}.")
    values = values.reshape(len(values), -1)
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        row, column = missing[0].tolist()
        raise MissingValuesError(f"No score may be NaN, but row {row} has it in column {column}. Drop such rows.")
    return values


def _check_label_values(labels: Any, n: int) -> Labels:
    given = check_labels("write_scores", labels)
    if len(given) != n:
        raise InvalidDataError(f"Every row must have a label and scores, but {len(given)} labels came with {n} scores.")
    if given.dtype.kind == "f":
        return given.astype(np.int64)
    if given.dtype.kind not in "iubU":
        raise InvalidDataError(f"Labels must be whole numbers, text or booleans, but are of type {given.dtype}.")
    if given.dtype.kind == "U" and (given == "").any():
        raise InvalidDataError(f"No label may be an empty text, but that of row {int((given == '').argmax())} is.")
    return given


def _check_names(names: Sequence[str] | None, n_columns: int, label: str) -> list[str]:
    if names is None:
        titles = ["score"] if n_columns == 1 else [f"score_{at}" for at in range(n_columns)]
    else:
        titles = [names] if isinstance(names, str) else list(names)
    if len(titles) != n_columns:
        raise InvalidParameterError(f"names must name each of {n_columns} columns of scores, but has {len(titles)}.")
    for title in (label, *titles):
        if not (isinstance(title, str) and title):
            raise InvalidParameterError(f"Names of columns must be texts that are not empty, but one is {title!r}.")
    check_choice(titles, label)
    return titles
