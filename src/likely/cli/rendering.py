"""What the verbs show: tables for people, one JSON document for programs, rows as CSV."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "number", "percent", "print_csv", "print_json", "status", "table", "within"]


def console(err: bool = False) -> Console:
    """Where to print: without colours where it is no terminal, and without reading markup into labels."""
    from rich.console import Console

    return Console(file=sys.stderr if err else sys.stdout, markup=False, emoji=False, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, texts: int = 1) -> Table:
    """A table whose first columns are text and whose others are numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for at, name in enumerate(columns):
        made.add_column(name, justify="left" if at < texts else "right", no_wrap=at >= texts, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def status(message: str) -> Any:
    """A sign of life on stderr while something takes its time; nothing where nobody looks."""
    return console(err=True).status(message)


def number(value: float | None) -> str:
    """A number with three digits after the point, or as many as make it one."""
    if value is None:
        return ""
    if not math.isfinite(value) or value == 0 or 0.001 <= abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:.3g}"


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


def print_csv(columns: Mapping[str, Any]) -> None:
    """Columns as CSV on stdout, in which floats read back as the same numbers."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
