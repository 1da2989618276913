"""Options that say what the columns of a data file are, shared by the verbs that learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely.cli.words import counted, shown

if TYPE_CHECKING:
    from likely.tables import DataTable

__all__ = ["DataFile", "DataOptions", "told", "training_table"]

DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="Rows to learn from: CSV, TSV, Parquet, Arrow, npz.")]

_SCORES = "Scores of an outside system, higher for the target of two classes; repeatable."


def _what(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="What the columns are")


@dataclass(frozen=True)
class DataOptions:
    """Options that say what the columns of a data file are. Every other column is a feature."""

    target: Annotated[str, _what("--target", "COLUMN", "The column of labels.")]
    exclude: Annotated[list[str] | None, _what("--exclude", "COLUMN", "A column to leave out; repeatable.")] = None
    category: Annotated[
        list[str] | None, _what("--category", "COLUMN", "A column of categories although it holds numbers; repeatable.")
    ] = None
    group: Annotated[
        str | None, _what("--group", "COLUMN", "Rows that depend on each other, such as a speaker's, have one value.")
    ] = None
    weight: Annotated[str | None, _what("--weight", "COLUMN", "How often each row counts.")] = None
    scores: Annotated[list[str] | None, _what("--scores", "COLUMN", _SCORES)] = None


def training_table(file: Path, options: DataOptions) -> DataTable:
    """The rows of a file, with columns taken as the options say."""
    from likely.tables import read_data

    return read_data(
        file,
        options.target,
        exclude=options.exclude or (),
        categories=options.category or (),
        groups=options.group,
        weight=options.weight,
        scores=options.scores or (),
    )


def told(table: DataTable) -> str:
    """What a file was found to hold, in a few lines."""
    kinds = {kind: [column.name for column in table.columns if column.kind == kind] for kind in ("number", "category")}
    missing = [f"{column.name} ({column.n_missing})" for column in table.columns if column.n_missing]
    lines = [f"{table.path}: {counted(table.n, 'row')}, {_classes(table.labels)}."]
    plurals = {"number": "numbers", "category": "categories"}
    lines += [
        f"  {counted(len(names), 'column')} of {plurals[kind]}: {_few(names)}" for kind, names in kinds.items() if names
    ]
    lines += [f"  missing values in {_few(missing)}"] if missing else []
    return "\n".join(lines)


def _classes(labels: Any) -> str:
    import numpy as np

    classes, counts = np.unique(labels, return_counts=True)
    said = [f"{shown(label)} {count}" for label, count in zip(classes.tolist(), counts.tolist(), strict=True)]
    return f"{counted(len(said), 'class', 'classes')} ({_few(said)})"


def _few(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
