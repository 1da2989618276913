"""Score files as the verbs see them: systems side by side, or one system with a column for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely._numerics import difference
from likely._typing import Floats, Labels
from likely.cli.applications import target_of
from likely.cli.words import listing
from likely.exceptions import TableError
from likely.tables import ScoreTable, read_scores
from likely.tables.columns import read_columns
from likely.tables.files import existing, hint, read_header

__all__ = ["Evidence", "Scores", "as_systems", "evidence_of", "named_classes", "read_any", "read_labelled"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Columns of scores, with labels if the file has them."""

    labels: Labels | None
    scores: Floats
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labelled scores sorted out.

    Attributes
    ----------
    labels : array of shape (n,)
    classes : list of labels, sorted
    scores : array of shape (n, systems) for two classes, or (n, classes) for more
    names : tuple of str
        The systems of two classes, or the classes.
    target : label or None
        Of two classes.
    """

    labels: Labels
    classes: list[Any]
    scores: Floats
    names: tuple[str, ...]
    target: Any

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, so that columns are systems."""
        return len(self.classes) == 2

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each class has."""
        return {label: int((self.labels == label).sum()) for label in self.classes}


def read_labelled(path: Path, label: str, columns: Sequence[str] | None) -> ScoreTable:
    """Labels and scores of a file."""
    return read_scores(path, label, columns or None)


def read_any(path: Path, label: str, columns: Sequence[str] | None) -> Scores:
    """Scores of a file, with labels if it has a column of them."""
    file = existing(path)
    header = read_header(file)
    if label in header:
        table = read_labelled(file, label, columns)
        return Scores(table.labels, table.scores, table.names)
    names = list(columns or header)
    for name in names:
        if name not in header:
            raise TableError(f"{path} has no column {name!r}, but {listing(header)}.{hint(name, header)}")
    return Scores(None, _unlabelled(file, names), tuple(names))


def _unlabelled(path: Path, names: list[str]) -> Floats:
    """Columns of numbers, none of them missing."""
    columns = read_columns(path, names)
    return np.column_stack([columns.scores(name, "columns") for name in names])


def evidence_of(table: ScoreTable | Scores, positive: str | None = None) -> Evidence:
    """A table sorted out: its columns are classes if they are named like the labels, else systems of two classes."""
    assert table.labels is not None
    distinct = np.unique(table.labels).tolist()
    classes = named_classes(distinct, table.names)
    if classes is None:
        _check_two(distinct, table.names)
        return Evidence(table.labels, distinct, table.scores, table.names, target_of(positive, distinct))
    scores = table.scores[:, [table.names.index(str(label)) for label in classes]]
    if len(classes) > 2:
        return Evidence(table.labels, classes, scores, tuple(map(str, classes)), None)
    target = target_of(positive, classes)
    at = classes.index(target)
    return Evidence(table.labels, classes, difference(scores[:, at], scores[:, 1 - at])[:, None], ("llr",), target)


def as_systems(table: Scores, classes: Sequence[Any], target: Any) -> Scores:
    """Scores of two classes as llrs, also where they came as a column for each class."""
    names = [str(label) for label in classes]
    if sorted(table.names) != sorted(names):
        return table
    at = table.names.index(names[1] if target is None else str(target))
    return Scores(table.labels, difference(table.scores[:, at], table.scores[:, 1 - at])[:, None], ("llr",))


def named_classes(distinct: Sequence[Any], names: Sequence[str]) -> list[Any] | None:
    """The classes that columns are named by, sorted, if every label has a column."""
    known = {str(label): label for label in distinct}
    if len(names) < 2 or not known.keys() <= set(names):
        return None
    whole = all(isinstance(label, int) for label in distinct)
    if whole and not all(name in known or name.isdecimal() for name in names):
        return None
    return sorted(known.get(name, int(name) if whole else name) for name in names)


def _check_two(distinct: list[Any], names: Sequence[str]) -> None:
    if len(distinct) > 2:
        raise TableError(
            f"The labels are of {len(distinct)} classes, {listing(distinct)}, so each must have a column of "
            f"log-likelihoods named like it, but the columns are {listing(names)}. Rename them or use --column."
        )
    if len(distinct) < 2:
        raise TableError(f"Scores are judged by rows of two classes or more, but all labels are {listing(distinct)}.")
