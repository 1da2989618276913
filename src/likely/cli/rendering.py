"""Output of the commands: tables for people, one JSON document for programs, rows as CSV."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likely._formatting import escape_controls, format_label, format_number

if TYPE_CHECKING:
    from rich.console import Console, Group

_LEAST = 20
"""Least width of a column of text."""


def console(err: bool = False) -> Console:
    """A console without colours if it is no terminal, and without markup in labels."""
    from rich.console import Console

    return Console(file=sys.stderr if err else sys.stdout, markup=False, emoji=False, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", texts: int = 1) -> Group:
    """Make a table whose first ``texts`` columns are text and whose others are numbers, with an optional title."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[escape_controls(cell) for cell in row] for row in rows]
    for at, name in enumerate(columns):
        text = at < texts
        least = min(_LEAST, max((len(row[at]) for row in cells), default=0)) if text else None
        justify: Any = "left" if text else "right"
        made.add_column(escape_controls(name), justify=justify, no_wrap=not text, overflow="fold", min_width=least)
    for row in cells:
        made.add_row(*row)
    return Group(Text(title, style="bold"), made) if title else Group(made)


def confusion_table(
    labels: list[Any], counts: list[list[int]], mistakes: list[dict[str, Any]], application: str
) -> Any:
    """A table of decisions by truth; of more than ten classes, the most frequent mistakes."""
    names = [format_label(label, 20) for label in labels]
    if len(names) <= 10:
        rejected = any(row[-1] for row in counts)
        lines = [[name, *map(str, row if rejected else row[:-1])] for name, row in zip(names, counts, strict=True)]
        return table(["truth", *names, *(["rejected"] if rejected else [])], lines, title=f"Decisions at {application}")
    lines = [[format_label(m["truth"], 20), format_label(m["decided"], 20), str(m["rows"])] for m in mistakes[:10]]
    return table(["truth", "decided", "rows"], lines, title=f"Most frequent mistakes at {application}", texts=2)


def status(message: str) -> Any:
    """Show a spinner on stderr while something is computed; nothing if it is no terminal."""
    return console(err=True).status(message)


def within(value: Mapping[str, Any]) -> str:
    """Format a number with its interval, if it has one."""
    estimate = format_number(value["estimate"])
    if value.get("low") is None:
        return estimate
    return f"{estimate} [{format_number(value['low'])}, {format_number(value['high'])}]"


def print_json(facts: Any) -> None:
    """Print one JSON document; infinite numbers become the texts "inf" and "-inf", missing ones null."""
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Convert a value to what JSON has."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def deliver(columns: Mapping[str, Any], output: Path | None, facts: dict[str, Any], as_json: bool) -> bool:
    """Write columns to a file, or to stdout without one; print facts as JSON if asked. Return whether to show facts.

    Without a file, the JSON document holds the columns too, and facts must be shown on stderr.
    """
    if output is not None:
        write_file(output, columns)
    elif not as_json:
        print_csv(columns)
    if as_json:
        print_json(facts if output is not None else {**facts, "columns": columns})
    return not as_json


def write_file(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns to a file of the format of its suffix, completely or not at all."""
    from likely.cli.app import writing
    from likely.tables import write_columns

    with writing(path):
        write_columns(path, columns)


def print_csv(columns: Mapping[str, Any]) -> None:
    """Print columns as CSV; floats read back as the same numbers."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
