"""Data files read: features of every kind, and the columns that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from likely._typing import Floats, Labels
from likely.exceptions import TableError
from likely.tables.columns import refuse_no_rows
from likely.tables.content import check_content
from likely.tables.files import FilePath, arrow, delimiter_of, existing, read_header, read_table, suffix_of
from likely.tables.npz import read_npz
from likely.tables.roles import Roles
from likely.tables.summary import ColumnSummary, check_feature, check_finite, summary_of
from likely.tables.text import TextColumns
from likely.tables.typed import TypedColumns

__all__ = ["DataTable", "read_data"]

Columns: TypeAlias = "TextColumns | TypedColumns"


@dataclass(frozen=True, eq=False)
class DataTable:
    """Rows of a file: features, and the labels, groups, weights and scores that go with them.

    Parameters
    ----------
    X : pyarrow.Table or array of shape (n, n_features)
        The features in the order of the file: numbers in double precision, NaN where one is missing, and categories as
        texts, null where one is missing. Of a .npz whose features are one array of numbers, that array as stored.
    labels : array of shape (n,), or None
        Integers, text or booleans.
    groups : array of shape (n,), or None
        What rows that belong together share.
    weight : array of shape (n,), or None
        How often each row counts.
    scores : dict {name: array of shape (n,)}
        Another system's scores, which are no features.
    columns : tuple of ColumnSummary
        What each feature holds: ``name``, ``kind`` ("number" or "category"), ``n_missing``, ``n_distinct`` and
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
    r"""Features and labels from a CSV, TSV, Parquet, Arrow, Feather or NumPy file, told by its suffix.

    The kinds of columns are found. In text, a column holds numbers if all its cells do that are not missing, and
    categories if fewer than half do; what is in between is refused. Empty cells, NA, N/A, NaN and null are missing in
    any case of letters, and so are None and ? in a column of numbers. Other files say themselves: booleans are numbers
    too, and texts and dictionaries are categories.

    Parameters
    ----------
    path : str or path
        A file that ends with .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow, .feather or .npz. Text is UTF-8 and begins
        with a line of column names; a .csv may have semicolons for commas throughout.
    target : str, optional
        The column of labels. Without one, every column that has no other use is a feature, as in rows to be scored, and
        may then be missing in every row, or have a text of its own in each.
    exclude : sequence of str
        Columns to leave out; of a .npz, arrays too.
    categories : sequence of str
        Columns that hold categories whatever they look like, such as codes that are numbers.
    groups : str, optional
        The column that says which rows belong together.
    weight : str, optional
        The column of weights, finite and not negative.
    scores : sequence of str
        Columns of another system's scores.
    features : sequence of str, optional
        The columns of features, as other rows had them: the file must have them, further ones do not matter, and they
        may be missing in every row or have a text of their own in each.

    Returns
    -------
    DataTable
        Labels and groups are read as :func:`likely.read_scores` reads labels.

    Raises
    ------
    TableError
        If the file is not what its name says, a column is not there, a row is too short or too long, a label, group,
        weight or score is missing, a feature is infinite or of a type that is neither number nor category; and, where a
        target is named, if a feature has no value in any row or is an identifier, that is, has more texts than half the
        rows, of which there are 20 or more.

    Notes
    -----
    The features of a .npz are the arrays with as many rows as the target: those of one dimension are columns of their
    name; the columns of one that has more are called x0, x1 and so on, or, if there are several such arrays, by the
    array's name and a number. Without a target there must be just one such array, which is then alone ``X``.

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
    file = existing(path, ".npz")
    check_content(file)
    only = None if features is None else _names(features)
    roles = Roles(target, groups, weight, _names(scores), _names(categories), _names(exclude), only)
    if suffix_of(file, ".npz") == ".npz":
        arrays, matrix, roles = read_npz(file, roles)
        columns: Columns = TypedColumns(file, arrow().table(arrays))
        if matrix is not None:
            return _table(columns, roles, matrix, _matrix_summaries(columns, roles, matrix))
        names = roles.features(file, list(arrays))
    else:
        columns, names = _opened(file, roles)
    read = {name: columns.feature(name, name in roles.categories) for name in names}
    summaries = [_summary(columns, roles, name, column, len(names)) for name, column in read.items()]
    return _table(columns, roles, arrow().table(read), summaries)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _opened(path: Path, roles: Roles) -> tuple[Columns, list[str]]:
    """The columns of a file that are in use, and the names of the features among them."""
    header = read_header(path)
    names = roles.features(path, header)
    wanted = [*roles.others(), *names]
    delimiter = delimiter_of(path)
    if delimiter is not None:
        texts = {name for name in (roles.target, roles.groups, *roles.categories) if name is not None}
        return TextColumns.read(path, delimiter, header, wanted, texts), names
    table = read_table(path, wanted)
    if not table.num_rows:
        refuse_no_rows(path)
    return TypedColumns(path, table), names


def _table(columns: Columns, roles: Roles, X: Any, summaries: Iterable[ColumnSummary]) -> DataTable:
    return DataTable(
        X,
        None if roles.target is None else _labels(columns, roles.target, "label"),
        None if roles.groups is None else _labels(columns, roles.groups, "group"),
        None if roles.weight is None else _weight(columns, roles.weight),
        {name: scores_of(columns, name) for name in roles.scores},
        tuple(summaries),
        columns.path,
    )


def _summary(columns: Columns, roles: Roles, name: str, column: Any, n_columns: int) -> ColumnSummary:
    """The summary of a feature that can be used."""
    if isinstance(column, np.ndarray):
        check_finite(columns, name, column)
    summary = summary_of(name, column, len(column) * n_columns)
    if roles.target is not None and roles.only is None:
        check_feature(columns.path, summary, len(column))
    return summary


def _matrix_summaries(columns: Columns, roles: Roles, matrix: Labels, step: int = 64) -> Iterable[ColumnSummary]:
    """The summaries of an array's columns, of which some at a time are laid out to be read in order."""
    n_columns = matrix.shape[1]
    for start in range(0, n_columns, step):
        for at, values in enumerate(np.ascontiguousarray(matrix[:, start : start + step].T), start):
            yield _summary(columns, roles, f"x{at}", values, n_columns)


def _labels(columns: Columns, name: str, what: str) -> Labels:
    labels, missing = columns.labels(name)
    if missing is not None:
        raise TableError(
            f"Every row must have a {what}, but {columns.where(missing, name)} has {columns.shown(missing, name)} in "
            f"column {name!r}. Fill it in or drop the row."
        )
    return labels


def _weight(columns: Columns, name: str) -> Floats:
    values, text = columns.numbers(name)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0))) if text is None else [text]
    if len(bad):
        row = int(bad[0])
        raise TableError(
            f"Weights must be finite numbers >= 0, but {columns.where(row, name)} has {columns.shown(row, name)} in "
            f"column {name!r}. Correct it, or name the column of weights with weight=."
        )
    return values


def scores_of(columns: Columns, name: str, option: str = "scores=") -> Floats:
    """A column of scores, none of them missing; ``option`` is what names such columns."""
    values, text = columns.numbers(name)
    bad = np.flatnonzero(np.isnan(values)) if text is None else [text]
    if len(bad):
        row = int(bad[0])
        raise TableError(
            f"Scores must be numbers and none may be missing, but {columns.where(row, name)} has "
            f"{columns.shown(row, name)} in column {name!r}. Correct it, or name the columns of scores with {option}."
        )
    return values
