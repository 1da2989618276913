"""Readers of data files and score files: :func:`read_data` and :func:`read_scores`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._files import FilePath
from likely._typing import Floats, Labels
from likely.exceptions import InvalidParameterError, TableError
from likely.tables.cells import ColumnKind, encode_distinct
from likely.tables.columns import FileColumns, Roles, read_columns
from likely.tables.files import (
    arrow,
    check_content,
    check_distinct,
    check_named,
    check_present,
    find_file,
    read_header,
    suffix_of,
)
from likely.tables.npz import read_npz

_MAX_COUNTED = 2_000_000
"""Maximum number of cells of a table for which the distinct values of columns of numbers are counted."""
_MIN_ROWS_OF_AN_IDENTIFIER = 20
"""Minimum number of rows of a table in which a column of mostly different texts is taken for an identifier."""


@dataclass(frozen=True)
class ColumnSummary:
    """Short description of a column of features.

    Parameters
    ----------
    name : str
    kind : {"number", "category"}
    n_missing : int
        Number of rows without a value.
    n_distinct : int or None
        Number of distinct values that are not missing. It is None, because it was not counted, for a column of numbers
        of a large table, unless all numbers are equal.
    example : str
        The range of numbers, or the first few categories.

    Examples
    --------
    >>> ColumnSummary("age", "number", 3, 51, "19 to 75").kind
    'number'
    """

    name: str
    kind: ColumnKind
    n_missing: int
    n_distinct: int | None
    example: str


@dataclass(frozen=True, eq=False)
class DataTable:
    """Rows of a file: features with their labels, groups, weights and scores.

    Parameters
    ----------
    X : pyarrow.Table or array of shape (n, n_features)
        The features in the order of the file. Numbers are in double precision, with NaN for missing values. Categories
        are texts, with null for missing values. If the features of a .npz file are one array of numbers, X is that
        array as stored.
    labels : array of shape (n,), or None
        Integers, text or booleans.
    groups : array of shape (n,), or None
        The same value for rows that belong together.
    weight : array of shape (n,), or None
        The frequency of each row.
    scores : dict {name: array of shape (n,)}
        Scores of other systems, which are not features.
    columns : tuple of ColumnSummary
        Description of each feature: ``name``, ``kind`` ("number" or "category"), ``n_missing``, ``n_distinct`` and
        ``example``.
    path : Path
        The file.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> DataTable(np.zeros((3, 2)), np.array([0, 1, 1]), None, None, {}, (), Path("three.npz")).n
    3
    """

    X: Any
    labels: Labels | None
    groups: Labels | None
    weight: Floats | None
    scores: dict[str, Floats]
    columns: tuple[ColumnSummary, ...]
    path: Path

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Labelled rows with the scores of one or more systems or classes.

    Parameters
    ----------
    labels : array of shape (n,)
        Each row's label: integers, text or booleans.
    scores : array of shape (n, n_columns)
        Each row's scores in double precision; they may be infinite but not NaN.
    names : tuple of str
        The name of each column of scores.

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
            view = getattr(self, name).view()  # only the view becomes read-only, not the caller's array
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.labels)


def read_data(
    path: FilePath,
    target: str | None = None,
    *,
    exclude: Sequence[str] = (),
    categories: Sequence[str] = (),
    groups: str | None = None,
    weight: str | None = None,
    scores: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> DataTable:
    r"""Read features and labels from a CSV, TSV, Parquet, Arrow, Feather or NumPy file, identified by its suffix.

    The kind of each column is detected. In a text file, a column holds numbers if all cells that are not missing are
    numbers, and categories if fewer than half are; other columns raise an error. Empty cells, NA, N/A, NaN and null are
    missing, in upper or lower case; so are None and ? in a column of numbers. Other files store types: booleans are
    numbers, and texts and dictionaries are categories.

    Parameters
    ----------
    path : str or path
        A file that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow, .feather or .npz. Text is UTF-8 and begins
        with a line of column names; a .csv may use semicolons instead of commas throughout.
    target : str, optional
        The column of labels. Without a target, every column that has no other role is a feature, as in rows to be
        scored. Such a feature may be missing in every row or have a different text in each row.
    exclude : sequence of str
        Columns to leave out; for a .npz file, also arrays.
    categories : sequence of str
        Columns to read as categories, whatever their cells are, such as codes that are numbers.
    groups : str, optional
        The column of groups; rows with the same value belong together.
    weight : str, optional
        The column of weights, finite and not negative.
    scores : sequence of str
        Columns of scores of other systems.
    features : sequence of str, optional
        The columns of features, such as those of the training rows. The file must have them, and its other columns are
        ignored. These features may be missing in every row or have a different text in each row.

    Returns
    -------
    DataTable
        Labels and groups are read by the rules of :func:`likely.read_scores` for labels.

    Raises
    ------
    TableError
        If the content of the file does not match its suffix, a column does not exist, a row is too short or too long,
        a label, group, weight or score is missing, or a feature is infinite or of a type that is neither number nor
        category. With a target, also if a feature has no value in any row, or is an identifier: a category with more
        distinct texts than half the number of rows, in a file of 20 or more rows.

    Notes
    -----
    The features of a .npz file are the arrays with as many rows as the target. An array of one dimension is a column
    with the name of the array. The columns of an array with more dimensions are named x0, x1 and so on, or, if there
    are several such arrays, by the name of the array and a number. Without a target there must be exactly one array
    with more dimensions, and ``X`` consists of that array alone.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "loans.csv")
    ...     _ = path.write_text("age,purpose,repaid\n35,car,yes\n?,radio,no\n41,,yes\n")
    ...     table = read_data(path, "repaid")
    >>> table.labels
    array(['yes', 'no', 'yes'], dtype='<U3')
    >>> for column in table.columns:
    ...     print(column.name, column.kind, column.n_missing, column.n_distinct, column.example)
    age number 1 2 35 to 41
    purpose category 1 2 car, radio
    >>> table.X["age"].to_pylist(), table.X["purpose"].to_pylist()
    ([35.0, nan, 41.0], ['car', 'radio', None])
    """
    file = find_file(path, ".npz")
    check_content(file)
    only = None if features is None else _as_names(features)
    roles = Roles(target, groups, weight, _as_names(scores), _as_names(categories), _as_names(exclude), only)
    if suffix_of(file, ".npz") == ".npz":
        arrays, matrix, roles = read_npz(file, roles)
        columns = FileColumns(file, arrow().table(arrays))
        if matrix is not None:
            return _as_table(columns, roles, matrix, _summarise_matrix(columns, roles, matrix))
        names = roles.features(file, list(arrays))
    else:
        names = roles.features(file, read_header(file))
        columns = read_columns(file, [*roles.others(), *names], roles.texts())
    read = {name: columns.feature(name, name in roles.categories) for name in names}
    summaries = [_summarise(columns, roles, name, column, len(names)) for name, column in read.items()]
    return _as_table(columns, roles, arrow().table(read), summaries)


def read_scores(path: FilePath, label: str = "label", columns: Sequence[str] | None = None) -> ScoreTable:
    r"""Read labels and scores from a CSV, TSV, Parquet, Arrow or Feather file, identified by its suffix.

    Parameters
    ----------
    path : str or path
        A file that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather. Text is UTF-8 and begins with
        a line of column names; a .csv may use semicolons instead of commas throughout.
    label : str
        The column of labels.
    columns : sequence of str, optional
        The columns of scores, in the required order; by default all columns except the labels.

    Returns
    -------
    ScoreTable
        Labels of a text file are integers if all of them are whole numbers (``1`` or ``1.0``, but not ``01``),
        otherwise text; ``true`` is text. In other files integers, text and booleans keep their type, and whole floats
        become integers.

    Raises
    ------
    TableError
        If the file or a column does not exist, a row is too short or too long, a label is missing, or a score is
        missing, NaN or not a number. ``inf``, ``-inf`` and ``Infinity`` are numbers, in upper or lower case.

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
    file = find_file(path)
    check_content(file)
    names = _score_columns(file, read_header(file), label, columns)
    read = read_columns(file, [label, *names], {label})
    labels = read.labels(label, parameter="label", literal=True)
    scores = np.empty((len(labels), len(names)))  # filling it takes a third of the time of np.column_stack
    for at, name in enumerate(names):
        scores[:, at] = read.scores(name, "columns", booleans=False)
    return ScoreTable(labels, scores, tuple(names))


def _score_columns(path: Path, header: list[str], label: str, columns: Sequence[str] | None) -> list[str]:
    """Return the names of the columns of scores. Raise if one of them, or the labels, is not in the header."""
    check_distinct(path, header)
    check_present(path, header, label, "of labels", "label")
    if columns is None:
        names = [name for name in header if name != label]
        check_named(path, names, "of scores", "columns", "name the columns of scores")
    else:
        names = list(_as_names(columns))
        check_score_names(names, label, "columns")
        for name in names:
            check_present(path, header, name, "of scores", "columns")
    if not names:
        raise TableError(
            f"{path} must have a column of scores besides the column of labels {label!r}. The file has no other "
            "column, or columns= is empty.",
            parameter="columns",
        )
    return names


def check_score_names(names: list[str], label: str, parameter: str) -> None:
    """Raise if two columns of scores have the same name, or if one of them has the name of the column of labels."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidParameterError(
            f"Each column of scores must be named once, but {twice[0]!r} is named twice.", parameter=parameter
        )
    if label in names:
        raise InvalidParameterError(
            f"The column of labels must not be a column of scores, but {label!r} is both. Name another with label=.",
            parameter="label",
        )


def _as_names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _as_table(columns: FileColumns, roles: Roles, X: Any, summaries: Iterable[ColumnSummary]) -> DataTable:
    return DataTable(
        X,
        None if roles.target is None else columns.labels(roles.target),
        None if roles.groups is None else columns.labels(roles.groups, "group", "groups"),
        None if roles.weight is None else columns.weights(roles.weight),
        {name: columns.scores(name) for name in roles.scores},
        tuple(summaries),
        columns.path,
    )


# Summaries of features, and features that cannot be learned from.


def _summarise(columns: FileColumns, roles: Roles, name: str, column: Any, n_columns: int) -> ColumnSummary:
    """Return the summary of a feature, and raise if the feature cannot be used.

    ``column`` is an array of numbers or an Arrow column of categories. ``n_columns`` is the number of features.
    """
    if isinstance(column, np.ndarray):
        _check_finite(columns, name, column)
        summary = _summarise_numbers(name, column, len(column) * n_columns)
    else:
        summary = _summarise_texts(name, column)
    if roles.target is not None and roles.only is None:
        _check_learnable(columns.path, summary, len(column))
    return summary


def _summarise_matrix(columns: FileColumns, roles: Roles, matrix: Labels, step: int = 64) -> Iterable[ColumnSummary]:
    """Yield the summary of each column of a matrix of features.

    ``step`` columns at a time are copied to contiguous memory, because reading a column of a matrix in row order is
    slow.
    """
    n_columns = matrix.shape[1]
    for start in range(0, n_columns, step):
        for at, values in enumerate(np.ascontiguousarray(matrix[:, start : start + step].T), start):
            yield _summarise(columns, roles, f"x{at}", values, n_columns)


def _summarise_numbers(name: str, values: Floats, n_cells: int) -> ColumnSummary:
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    n_missing = len(values) - len(present)
    if not len(present):
        return ColumnSummary(name, "number", n_missing, 0, "")
    low, high = float(present.min()), float(present.max())
    if low == high:
        return ColumnSummary(name, "number", n_missing, 1, f"{low:.4g}")
    n_distinct = len(np.unique(present)) if n_cells <= _MAX_COUNTED else None
    return ColumnSummary(name, "number", n_missing, n_distinct, f"{low:.4g} to {high:.4g}")


def _summarise_texts(name: str, column: Any) -> ColumnSummary:
    texts, codes = encode_distinct(column)
    shown = ", ".join(text if len(text) <= 16 else text[:15] + "…" for text in texts[:3])
    return ColumnSummary(name, "category", int((codes < 0).sum()), len(texts), shown + (", …" if texts[3:] else ""))


def _check_finite(columns: FileColumns, name: str, values: Floats) -> None:
    bad = np.isinf(values)
    if bad.any():
        row = int(bad.argmax())
        raise TableError(
            f"Features must be finite or missing, but {columns.describe_place(row, name)} has {values[row]} in column "
            f"{name!r}. Correct the value, or leave the cell empty."
        )


def _check_learnable(path: Path, summary: ColumnSummary, n: int) -> None:
    """Raise if a feature has no value in any of the n rows, or looks like an identifier.

    A category looks like an identifier if it has more distinct texts than half the number of rows.
    """
    name, remedy = summary.name, f"Leave the column out with exclude={summary.name!r}."
    if summary.n_missing == n:
        raise TableError(
            f"A feature must have values, but column {name!r} of {path} has no value in any row. {remedy}",
            parameter="exclude",
        )
    if summary.kind == "category" and n >= _MIN_ROWS_OF_AN_IDENTIFIER and 2 * (summary.n_distinct or 0) > n:
        raise TableError(
            f"Categories must occur in several rows so that a model can learn from them, but column {name!r} of {path} "
            f"has {summary.n_distinct} different texts in {n} rows. It seems to be an identifier. {remedy}",
            parameter="exclude",
        )
