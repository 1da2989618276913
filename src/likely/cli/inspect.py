"""The command ``inspect``: describe a data file or a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely._formatting import format_count, format_label, format_names
from likely.cli.options import AsJson
from likely.cli.rendering import console, format_class_counts, print_json, table

if TYPE_CHECKING:
    from likely._typing import Labels
    from likely.tables import ColumnSummary, DataTable

_MAX_COLUMNS = 60


def inspect(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Data (CSV, TSV, Parquet, Arrow, npz) or a .likely file.")
    ],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Column of labels, whose classes are counted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a data file or a model file before you use it.

    For data: the rows, the kind of each column, missing and distinct values, the classes of the target, and how
    'likely compare' would treat the columns. For a model: its kind, its parts, and what it was trained for.

    For example:
        likely inspect data.csv --target diagnosis
        likely inspect model.likely
    """
    facts = _model_facts(file) if _is_model(file) else _data_facts(file, target)
    if as_json:
        print_json(facts)
    elif "steps" in facts:
        _show_model(facts)
    else:
        _show_data(facts)


def _is_model(path: Path) -> bool:
    """Return True if a file holds a model. The suffix decides or, if it is unknown, the first bytes of the file."""
    from likely.exceptions import TableError
    from likely.tables.files import find_file

    if path.suffix.lower() == ".likely":
        return True
    try:
        find_file(path, ".npz")
    except TableError:
        if not path.is_file():
            return False
        with open(path, "rb") as file:
            start = file.read(9)
        return len(start) == 9 and start.endswith(b"{") and int.from_bytes(start[:8], "little") < path.stat().st_size
    return False


def _read_table(path: Path, target: str | None) -> tuple[DataTable, Labels | None]:
    """Read a data file. Return its table and, if ``target`` is given, the labels in this column.

    Labels of a table are read as groups. A target would be checked: an error is raised if no model can learn it.
    """
    from likely.cli.score import header_of
    from likely.tables import read_data
    from likely.tables.files import check_present, find_file

    if find_file(path, ".npz").suffix.lower() == ".npz":
        table = read_data(path, target)
        return table, table.labels
    if target is not None:
        check_present(path, header_of(path), target, "of labels", "target")
    table = read_data(path, groups=target)
    return table, table.groups


def _data_facts(path: Path, target: str | None) -> dict[str, Any]:
    """Describe a data file, and how ``compare`` would treat its columns."""
    import numpy as np

    table, labels = _read_table(path, target)
    classes, counts = np.unique(np.empty(0) if labels is None else labels, return_counts=True)
    return {
        "file": str(path),
        "rows": table.n,
        "target": target,
        "classes": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "missing": column.n_missing,
                "distinct": column.n_distinct,
                "example": column.example,
            }
            for column in table.columns
        ],
        "plan": _plan(table.columns, table.n, None if labels is None else len(counts)),
    }


def _plan(columns: tuple[ColumnSummary, ...], n: int, n_classes: int | None) -> list[str]:
    """Return sentences that say how ``compare`` would treat the columns, and which columns should be left out."""
    texts = [c for c in columns if c.kind == "category"]
    found = {
        "Categories become indicators, one for each value": [c.name for c in texts],
        "Missing numbers are filled in where a model needs them": [
            c.name for c in columns if c.kind == "number" and 0 < c.n_missing < n
        ],
        "No value in any row; leave out with --exclude": [c.name for c in columns if c.n_missing == n],
        "The same value in every row, so these columns are of no use": [
            c.name for c in columns if c.n_distinct == 1 and not c.n_missing
        ],
        "A different text in most rows, like an identifier; leave out with --exclude": [
            c.name for c in texts if n >= 20 and 2 * (c.n_distinct or 0) > n
        ],
    }
    lines = [f"{what}: {format_names(names)}." for what, names in found.items() if names]
    if n_classes == 1:
        lines.append("The target has a single class, so there is nothing to classify.")
    if n_classes is not None and n_classes > 20 and 2 * n_classes > n:
        lines.append(
            f"The target has {n_classes} distinct values: it looks like a quantity or an identifier, not like classes."
        )
    return lines


def _model_facts(path: Path) -> dict[str, Any]:
    """Describe a model file."""
    from likely.persistence import load, read_about

    model, kept = load(path), read_about(path)
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return {
        "file": str(path),
        "kind": kept["kind"],
        "library": kept["library"],
        "classes": kept["classes"],
        "n_features": kept["n_features"],
        "features": kept["feature_names"],
        "steps": [" ".join(repr(step).split()) for step in steps],
        "about": kept["about"],
        "n_bytes": kept["n_bytes"],
    }


def _show_data(facts: dict[str, Any]) -> None:
    out = console()
    columns = format_count(len(facts["columns"]), "column")
    out.print(f"{facts['file']}: {format_count(facts['rows'], 'row')}, {columns} of features.")
    if facts["classes"]:
        classes = format_count(len(facts["classes"]), "class", "classes")
        out.print(f"{facts['target']} has {classes}. {format_class_counts(facts['classes'], n_shown=20)}.")
    rows = [
        [
            c["name"],
            c["kind"],
            c["example"],
            str(c["missing"] or ""),
            "" if c["distinct"] is None else str(c["distinct"]),
        ]
        for c in facts["columns"][:_MAX_COLUMNS]
    ]
    out.print(table(["column", "kind", "values", "missing", "distinct"], rows, texts=3))
    if len(facts["columns"]) > _MAX_COLUMNS:
        out.print(f"… and {format_count(len(facts['columns']) - _MAX_COLUMNS, 'more column')}.\n")
    for line in facts["plan"]:
        out.print(line)


def _show_model(facts: dict[str, Any]) -> None:
    out = console()
    out.print(f"{facts['file']}: {facts['kind']}, {facts['n_bytes']} bytes, written by likely {facts['library']}.")
    features = _format(facts["features"]) if facts["features"] else ""
    rows = [[f"step {at}", step] for at, step in enumerate(facts["steps"], 1)]
    rows += [["classes", _format(facts["classes"])]] if facts["classes"] else []
    rows += [["features", f"{facts['n_features']}{': ' if features else ''}{features}"]] if facts["n_features"] else []
    rows += [[str(key), _format(value)] for key, value in (facts["about"] or {}).items() if value is not None]
    out.print(table(["part", "description"], rows, texts=2))


def _format(value: Any) -> str:
    """Format a value on one line. Of a long list, only the beginning is shown."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_format(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(format_label(item, 40) for item in value[:12]) + (", …" if len(value) > 12 else "")
    return "" if value is None else format_label(value, 120)
