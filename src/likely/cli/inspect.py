"""The verb ``inspect``: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from likely.cli.options import AsJson
from likely.cli.rendering import console, print_json, table
from likely.cli.words import counted, shown

__all__ = ["inspect"]

_MOST_COLUMNS = 60


def inspect(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Data: CSV, TSV, Parquet, Arrow, npz. Or a .likely file.")
    ],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="The column of labels, to count its classes.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is in a file of data, or in a model file, before anything is done with it.

    Of data: rows, the kind of each column, missing and distinct values, the classes of the target, and what a
    comparison of models would make of them. Of a model: what it is, of which parts, and what it was trained for.

    For example:
        likely inspect data.csv --target diagnosis
        likely inspect model.likely
    """
    from likely.cli.inspecting import data_facts, model_facts
    from likely.cli.modelling import is_model

    facts = model_facts(file) if is_model(file) else data_facts(file, target)
    if as_json:
        print_json(facts)
    elif "steps" in facts:
        _show_model(facts)
    else:
        _show_data(facts)


def _show_data(facts: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"{facts['file']}: {counted(facts['rows'], 'row')}, {counted(len(facts['columns']), 'column')} of features."
    )
    if facts["classes"]:
        counts = ", ".join(f"{shown(label)} {count}" for label, count in list(facts["classes"].items())[:20])
        out.print(f"{facts['target']} has {counted(len(facts['classes']), 'class', 'classes')}: {counts}.")
    rows = [
        [
            c["name"],
            c["kind"],
            c["example"],
            str(c["missing"] or ""),
            "" if c["distinct"] is None else str(c["distinct"]),
        ]
        for c in facts["columns"][:_MOST_COLUMNS]
    ]
    out.print(table(["column", "kind", "values", "missing", "distinct"], rows, texts=3))
    if len(facts["columns"]) > _MOST_COLUMNS:
        out.print(f"… and {counted(len(facts['columns']) - _MOST_COLUMNS, 'more column')}.\n")
    for line in facts["plan"]:
        out.print(line)


def _show_model(facts: dict[str, Any]) -> None:
    out = console()
    out.print(f"{facts['file']}: {facts['kind']}, {facts['n_bytes']} bytes, written by likely {facts['library']}.")
    features = _said(facts["features"]) if facts["features"] else ""
    rows = [[f"step {at}", step] for at, step in enumerate(facts["steps"], 1)]
    rows += [["classes", _said(facts["classes"])]] if facts["classes"] else []
    rows += [["features", f"{facts['n_features']}{': ' if features else ''}{features}"]] if facts["n_features"] else []
    rows += [[str(key), _said(value)] for key, value in (facts["about"] or {}).items() if value is not None]
    out.print(table(["part", "what it is"], rows, texts=2))


def _said(value: Any) -> str:
    """A value in a line; of a long list, its beginning."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value[:12]) + (", …" if len(value) > 12 else "")
    return "" if value is None else shown(value, 120)
