"""Rows of another file, to be judged by what was learned from the first: held-out rows and evaluation rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likely.cli.data_options import DataOptions
from likely.cli.guarding import note
from likely.cli.modelling import header_of
from likely.cli.words import listing
from likely.exceptions import TableError
from likely.tables import DataTable, read_data

__all__ = ["other_rows"]


def other_rows(file: Path, target: str, options: DataOptions, training: DataTable) -> DataTable:
    """The columns that the training rows have, of another file; what else it holds does not matter."""
    header = header_of(file)
    for column, what in ((options.weight, "weights"), (options.group, "groups")):
        if column is not None and column in header:
            note(f"The {what} of column {column!r} are those of {training.path}: they are not used in {file}.")
    table = _read(file, header, target, options, training)
    width = len(training.columns)
    if table.X.shape[1] != width:
        raise TableError(f"{file} must have the {width} features of {training.path}, but has {table.X.shape[1]}.")
    _check_kinds(table, training)
    _check_labels(table, target, np.unique(np.asarray(training.labels)).tolist(), training.path)
    return table


def _read(file: Path, header: list[str], target: str, options: DataOptions, training: DataTable) -> DataTable:
    if file.suffix.lower() == ".npz":
        aside = [*(options.exclude or []), options.weight, options.group]
        exclude = [name for name in aside if name is not None and name in header]
        return read_data(file, target, exclude=exclude, scores=options.scores or ())
    categories = [column.name for column in training.columns if column.kind == "category"]
    return read_data(
        file,
        target,
        categories=categories,
        scores=options.scores or (),
        features=[column.name for column in training.columns],
    )


def _check_kinds(table: DataTable, training: DataTable) -> None:
    """Columns that hold numbers in the training rows hold numbers, or nothing."""
    for column, known in zip(table.columns, training.columns, strict=True):
        if known.kind == "number" and column.kind == "category" and column.n_distinct:
            raise TableError(
                f"Column {column.name!r} of {table.path} must hold numbers, as in {training.path}, but holds text: "
                f"{column.example}."
            )


def _check_labels(table: DataTable, target: str, classes: Sequence[Any], first: Path) -> None:
    """Labels are of the classes that were learned, and every class has rows."""
    found = np.unique(np.asarray(table.labels)).tolist()
    strange = [label for label in found if label not in classes]
    if strange:
        raise TableError(
            f"Column {target!r} of {table.path} must hold the classes of {first}, {listing(classes)}, but holds "
            f"{listing(strange, 3)} too."
        )
    absent = [label for label in classes if label not in found]
    if absent:
        raise TableError(
            f"Column {target!r} of {table.path} must hold every class of {first}, but {listing(absent, 3)} has no row."
        )
