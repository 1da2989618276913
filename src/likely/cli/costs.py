"""Tables of costs: labels as header and first column, truth in rows, decision in columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from likely.cli.words import listing, shown
from likely.exceptions import TableError
from likely.tables.files import check_content, delimiter_of, existing
from likely.tables.lines import check_encoding, check_width, records

__all__ = ["read_costs"]


def read_costs(path: Path, names: Sequence[str]) -> list[list[float]]:
    """The costs of a file in the order of the classes' names."""
    lines = _lines(existing(path))
    decisions = [cell.strip() for cell in lines[0][1][1:]] if lines else []
    truths = [cells[0].strip() for _, cells in lines[1:]]
    for which, found in (("header", decisions), ("first column", truths)):
        if sorted(found) != sorted(names):
            raise TableError(
                f"The {which} of {path} must hold each class once, {listing(names)}, but holds {listing(found)}."
            )
    table = {
        (truth, decision): _cost(path, line, decision, cell)
        for truth, (line, cells) in zip(truths, lines[1:], strict=True)
        for decision, cell in zip(decisions, cells[1:], strict=True)
    }
    return [[table[truth, decision] for decision in names] for truth in names]


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The records of a text table, all of one width, each after its line."""
    delimiter = delimiter_of(path)
    if delimiter is None:
        raise TableError(f"A table of costs must be text, .csv or .tsv, but is {str(path)!r}. Convert it.")
    check_content(path)
    found = []
    for line, cells in records(path, delimiter):
        for cell in cells:
            check_encoding(path, line, cell)
        if any(cell.strip() for cell in cells):
            found.append((line, cells))
            check_width(path, line, cells, len(found[0][1]))
    return found


def _cost(path: Path, line: int, decision: str, cell: str) -> float:
    try:
        cost = float(cell)
    except ValueError:
        cost = math.nan
    if not math.isfinite(cost):
        raise TableError(
            f"Costs must be finite numbers, but line {line} of {path} has {shown(cell)!r} in column {decision!r}."
        )
    return cost
