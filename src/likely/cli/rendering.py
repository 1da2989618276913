"""What the verbs show: tables for people, one JSON document for programs, rows as CSV."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likely._formatting import format_label
from likely._words import number as plain
from likely._words import printable

if TYPE_CHECKING:
    from rich.console import Console, Group

__all__ = [
    "console",
    "deliver",
    "number",
    "percent",
    "print_csv",
    "print_json",
    "status",
    "table",
    "within",
    "write_file",
]

_LEAST = 20
"""A column of text keeps so many letters abreast, however many numbers follow."""


def console(err: bool = False) -> Console:
    """Where to print: without colours where it is no terminal, and without reading markup into labels."""
    from rich.console import Console

    return Console(file=sys.stderr if err else sys.stdout, markup=False, emoji=False, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", texts: int = 1) -> Group:
    """A table whose first columns are text and whose others are numbers, under a title if there is one."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[printable(cell) for cell in row] for row in rows]
    for at, name in enumerate(columns):
        text = at < texts
        least = min(_LEAST, max((len(row[at]) for row in cells), default=0)) if text else None
        justify: Any = "left" if text else "right"
        made.add_column(printable(name), justify=justify, no_wrap=not text, overflow="fold", min_width=least)
    for row in cells:
        made.add_row(*row)
    return Group(Text(title, style="bold"), made) if title else Group(made)


def confusion_table(labels: list[Any], counts: list[list[int]], application: str) -> Any:
    """Decisions counted by truth; of many classes, the most frequent mistakes."""
    names = [format_label(label, 20) for label in labels]
    if len(names) <= 10:
        rejected = any(row[-1] for row in counts)
        lines = [[name, *map(str, row if rejected else row[:-1])] for name, row in zip(names, counts, strict=True)]
        return table(["truth", *names, *(["rejected"] if rejected else [])], lines, title=f"Decisions at {application}")
    mistakes = [
        (counts[truth][decided], names[truth], names[decided])
        for truth in range(len(names))
        for decided in range(len(names))
        if decided != truth and counts[truth][decided]
    ]
    lines = [[truth, decided, str(count)] for count, truth, decided in sorted(mistakes, reverse=True)[:10]]
    return table(["truth", "decided", "rows"], lines, title=f"Most frequent mistakes at {application}", texts=2)


def status(message: str) -> Any:
    """A sign of life on stderr while something takes its time; nothing where nobody looks."""
    return console(err=True).status(message)


def number(value: float | None) -> str:
    """A number, or nothing where there is none."""
    return "" if value is None else plain(value)


def percent(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f} %"


def within(value: Mapping[str, Any]) -> str:
    """A number with its interval, if it has one."""
    if value.get("low") is None:
        return number(value["estimate"])
    return f"{number(value['estimate'])} [{number(value['low'])}, {number(value['high'])}]"


def print_json(facts: Any) -> None:
    """One JSON document on stdout; infinite numbers are the texts "inf" and "-inf", missing ones null."""
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """The same in what JSON knows."""
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
    """Columns to a file, or to stdout if none is named; facts as JSON if asked for, and whether they are still to show.

    Without a file, the JSON document holds the columns too, and whatever is still to show belongs on stderr.
    """
    if output is not None:
        write_file(output, columns)
    elif not as_json:
        print_csv(columns)
    if as_json:
        print_json(facts if output is not None else {**facts, "columns": columns})
    return not as_json


def write_file(path: Path, columns: Mapping[str, Any]) -> None:
    """Columns as a file of the kind its suffix says, whole or not at all."""
    from likely.cli.app import writing
    from likely.tables import write_columns

    with writing(path):
        write_columns(path, columns)


def print_csv(columns: Mapping[str, Any]) -> None:
    """Columns as CSV on stdout, in which floats read back as the same numbers."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
