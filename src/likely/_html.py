"""Small HTML tables, which notebooks show for applications, trials, confusion tables and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from likely._formatting import format_number

_TABLE = 'style="border-collapse: collapse; font-variant-numeric: tabular-nums"'
_CAPTION = 'style="caption-side: top; text-align: left; font-weight: bold; padding: 0 0 0.3em"'
_CELL = "padding: 0.15em 0.7em; text-align: "

MAX_ROWS = 40
"""Maximum number of rows that a table shows. A line below the table gives the number of further rows."""


def html_table(caption: str, header: Sequence[Any], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return the HTML of a table whose first column holds the names of its rows.

    Floats are formatted by :func:`format_number`. In all texts, the special characters of HTML are escaped.

    Parameters
    ----------
    caption : str
    header : sequence of labels, one for each column
    rows : iterable of sequences of cells
    note : str
        A line below the table.

    Examples
    --------
    >>> html_table("Costs", ["system", "minimum"], [["A & B", 0.25]]).count("<td")
    1
    """
    shown = list(rows)
    if len(shown) > MAX_ROWS:
        note = f"{note} {len(shown) - MAX_ROWS} more rows are not shown.".strip()
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in shown[:MAX_ROWS])
    head = "".join(f'<th scope="col" style="{_CELL}{_side(i)}">{_text(label)}</th>' for i, label in enumerate(header))
    below = f'<p style="margin: 0.3em 0">{escape(note)}</p>' if note else ""
    return (
        f"<table {_TABLE}><caption {_CAPTION}>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


def _cells(row: Sequence[Any]) -> str:
    first, *others = row
    name = f'<th scope="row" style="{_CELL}left; font-weight: normal">{_text(first)}</th>'
    return name + "".join(f'<td style="{_CELL}right">{_text(cell)}</td>' for cell in others)


def _side(column: int) -> str:
    return "right" if column else "left"


def _text(cell: Any) -> str:
    return escape(format_number(cell) if isinstance(cell, float) else str(cell))
