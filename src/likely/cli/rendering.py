"""Output of the commands: tables for people, one JSON document for programs, rows as CSV."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likely._formatting import escape_controls, format_count, format_label, format_number

if TYPE_CHECKING:
    from rich.console import Console, Group

_MIN_WIDTH = 20
"""Minimum width of a column of text, in characters."""


def console(err: bool = False) -> Console:
    """Make a console that does not interpret labels as markup. It prints colours only on a terminal."""
    from rich.console import Console

    return Console(file=sys.stderr if err else sys.stdout, markup=False, emoji=False, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", texts: int = 1) -> Group:
    """Make a table. The first ``texts`` columns are text, the others numbers. The title is optional."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[escape_controls(cell) for cell in row] for row in rows]
    for at, name in enumerate(columns):
        text = at < texts
        min_width = min(_MIN_WIDTH, max((len(row[at]) for row in cells), default=0)) if text else None
        justify: Any = "left" if text else "right"
        made.add_column(escape_controls(name), justify=justify, no_wrap=not text, overflow="fold", min_width=min_width)
    for row in cells:
        made.add_row(*row)
    return Group(Text(title, style="bold"), made) if title else Group(made)


def confusion_table(
    labels: list[Any], counts: list[list[int]], mistakes: list[dict[str, Any]], application: str
) -> Any:
    """Make a table of decisions by true class or, for more than ten classes, of the most frequent mistakes."""
    names = [format_label(label, 20) for label in labels]
    if len(names) <= 10:
        rejected = any(row[-1] for row in counts)
        lines = [[name, *map(str, row if rejected else row[:-1])] for name, row in zip(names, counts, strict=True)]
        return table(["truth", *names, *(["rejected"] if rejected else [])], lines, title=f"Decisions at {application}")
    lines = [[format_label(m["truth"], 20), format_label(m["decided"], 20), str(m["rows"])] for m in mistakes[:10]]
    return table(["truth", "decided", "rows"], lines, title=f"Most frequent mistakes at {application}", texts=2)


def status(message: str) -> Any:
    """Show a spinner on stderr during a computation, if stderr is a terminal."""
    return console(err=True).status(message)


def format_class_counts(counts: Mapping[Any, int], what: str = "Class", n_shown: int = 8) -> str:
    """Format the number of rows of each class. If there are many classes, only the first are shown.

    Examples
    --------
    >>> format_class_counts({0: 164, 1: 55}), format_class_counts({"a": 1, "b": 2, "c": 3}, "Decision", n_shown=1)
    ('Class 0: 164 rows, 1: 55', 'Decision a: 1 row, and 2 more')
    """
    shown = list(counts.items())[:n_shown]
    parts = [
        f"{format_label(label, 40)}: {count if at else format_count(count, 'row')}"
        for at, (label, count) in enumerate(shown)
    ]
    parts += [f"and {len(counts) - n_shown} more"] if len(counts) > n_shown else []
    return f"{what} {', '.join(parts)}"


def format_interval(value: Mapping[str, Any]) -> str:
    """Format a number and its interval, if it has one. A dash stands for an interval of length 0.

    Examples
    --------
    >>> format_interval({"estimate": 0.5, "low": 0.4, "high": 0.7})
    '0.500 [0.400, 0.700]'
    >>> format_interval({"estimate": 0.0, "low": 0.0, "high": 0.0})
    '0.000 [–]'
    """
    estimate = format_number(value["estimate"])
    if value.get("low") is None:
        return estimate
    if value["low"] == value["high"]:  # without mistakes, all resamples give the same number
        return f"{estimate} [–]"
    return f"{estimate} [{format_number(value['low'])}, {format_number(value['high'])}]"


def print_json(facts: Any) -> None:
    """Print one JSON document. Infinite numbers become the texts "inf" and "-inf", missing numbers become null."""
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent: convert arrays, NumPy numbers, paths and infinite numbers."""
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
    """Write columns to a file or to stdout, or print the facts as JSON. Return whether the facts must still be shown.

    Without a file, the JSON document also holds the columns. If columns go to stdout, the caller must show the facts on
    stderr.
    """
    if output is not None:
        write_file(output, columns)
    elif not as_json:
        print_csv(columns)
    if as_json:
        print_json(facts if output is not None else {**facts, "columns": columns})
    return not as_json


def write_file(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns to a file, completely or not at all. The format depends on the suffix of the file."""
    from likely.cli.app import writing
    from likely.tables import write_columns

    with writing(path):
        write_columns(path, columns)


def print_csv(columns: Mapping[str, Any]) -> None:
    """Print columns as CSV with all digits, so that floats are read back unchanged."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
