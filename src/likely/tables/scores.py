"""Score files read: a column of labels and a column of scores for each system or class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from likely._typing import Floats, Labels
from likely.exceptions import InvalidParameterError, TableError
from likely.tables.columns import blame_text, refuse_no_rows, text_labels, typed_labels, typed_scores
from likely.tables.files import FilePath, arrow, delimiter_of, existing, read_header, read_table
from likely.tables.header import check_distinct, check_named, check_there

__all__ = ["ScoreTable", "check_choice", "read_scores"]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Labelled rows and the scores that one or more systems, or classes, gave them.

    Parameters
    ----------
    labels : array of shape (n,)
        Each row's label: integers, text or booleans.
    scores : array of shape (n, n_columns)
        Each row's scores in double precision: none is NaN, some may be infinite.
    names : tuple of str
        What each column of scores is called.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable(np.array([0, 1]), np.array([[-1.5, 0.0], [2.0, np.inf]]), ("a", "b"))
    >>> table.n, table.names
    (2, ('a', 'b'))
    """

    labels: Labels
    scores: Floats
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("labels", "scores"):
            view = getattr(self, name).view()  # the caller's own array stays writeable
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.labels)


def read_scores(path: FilePath, label: str = "label", columns: Sequence[str] | None = None) -> ScoreTable:
    r"""Labels and scores from a CSV, TSV, Parquet, Arrow or Feather file, told by its suffix.

    Parameters
    ----------
    path : str or path
        A file that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather. Text is UTF-8 and begins with
        a line of column names; a .csv may have semicolons for commas throughout.
    label : str
        The column of labels.
    columns : sequence of str, optional
        The columns of scores, in the order wanted; all but the labels if not given.

    Returns
    -------
    ScoreTable
        Labels in text are integers if all of them are whole numbers (``1`` or ``1.0``, but not ``01``), else text:
        ``true`` is text. Other files keep integers, text and booleans, and whole floats become integers.

    Raises
    ------
    TableError
        If the file or a column is not there, or a row is too short or too long, or a label is missing, or a score is
        missing, NaN or no number. ``inf``, ``-inf`` and ``Infinity`` are numbers, in any case of letters.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "trials.csv")
    ...     _ = path.write_text("label,voice,face\ntarget,2.5,inf\nother,-1,-0.25\n")
    ...     table = read_scores(path, columns=["face", "voice"])
    >>> table.labels
    array(['target', 'other'], dtype='<U6')
    >>> table.scores
    array([[  inf,  2.5 ],
           [-0.25, -1.  ]])
    """
    file = existing(path)
    header = read_header(file)
    names = _score_names(file, header, label, columns)
    delimiter = delimiter_of(file)
    if delimiter is None:
        return _read_typed(file, label, names)
    return _read_text(file, delimiter, label, names)


def _score_names(path: Path, header: list[str], label: str, columns: Sequence[str] | None) -> list[str]:
    """The columns to take scores from, once the header has been found in order."""
    check_distinct(path, header)
    check_there(path, header, label, "of labels", "label=")
    if columns is None:
        names = [name for name in header if name != label]
        check_named(path, names, "of scores", "name the columns of scores with columns=")
    else:
        names = [columns] if isinstance(columns, str) else list(columns)
        check_choice(names, label)
        for name in names:
            check_there(path, header, name, "of scores", "columns=")
    if not names:
        raise TableError(f"{path} must have a column of scores beside {label!r}, but none is there or asked for.")
    return names


def check_choice(names: list[str], label: str) -> None:
    """Columns of scores are named once each, and none like that of the labels."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidParameterError(f"Columns of scores must be named once each, but {twice[0]!r} is named twice.")
    if label in names:
        raise InvalidParameterError(f"{label!r} is the column of labels and cannot be one of scores too. Set label=.")


def _read_text(path: Path, delimiter: str, label: str, names: list[str]) -> ScoreTable:
    pa = arrow()
    types = dict.fromkeys(names, pa.float64()) | {label: pa.dictionary(pa.int32(), pa.string())}
    try:
        table = read_table(path, [label, *names], types)
    except (pa.ArrowInvalid, OSError) as error:
        blame_text(path, delimiter, label, names, error)
    if not table.num_rows:
        refuse_no_rows(path)
    scores = _stacked([table[name].to_numpy() for name in names])
    labels = text_labels(table[label])
    if np.isnan(scores).any() or (labels.dtype.kind == "U" and (labels == "").any()):
        blame_text(path, delimiter, label, names, None)
    return ScoreTable(labels, scores, tuple(names))


def _read_typed(path: Path, label: str, names: list[str]) -> ScoreTable:
    table = read_table(path, [label, *names])
    if not table.num_rows:
        refuse_no_rows(path)
    labels = typed_labels(path, label, table[label])
    return ScoreTable(labels, _stacked([typed_scores(path, name, table[name]) for name in names]), tuple(names))


def _stacked(columns: list[Floats]) -> Floats:
    """Columns side by side; filling an array is a third of the time that ``column_stack`` takes."""
    scores = np.empty((len(columns[0]), len(columns)))
    for at, column in enumerate(columns):
        scores[:, at] = column
    return scores
