"""What each family costs against its settings: lines over the one that varies most, one for each of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["grid_facts", "mean_cost"]

WIDE = 20
"""Settings that vary by more than this factor are drawn on a logarithmic scale."""


def grid_facts(leaderboard: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each family of several systems that differ by settings, in the order of the leaderboard."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in leaderboard:
        if row["settings"] and row["family"] != "fusion":
            families.setdefault(row["family"], []).append(row)
    return [grid for family, rows in families.items() if (grid := _grid(family, rows)) is not None]


def mean_cost(row: dict[str, Any], which: str) -> float | None:
    """A system's cost, the mean over applications; None where one is infinite."""
    costs = [cost[which] for cost in row["costs"].values()]
    return None if None in costs else sum(costs) / len(costs)


def _grid(family: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    parameter = _varied(rows)
    if parameter is None:
        return None
    rows = [row for row in rows if parameter in row["settings"]]
    values = list(dict.fromkeys(row["settings"][parameter] for row in rows))
    numeric = all(_is_number(value) for value in values)
    values = sorted(values, key=None if numeric else _natural)
    scale = _scale(values) if numeric else "category"
    lines: dict[str, dict[Any, dict[str, Any]]] = {}
    for row in rows:
        others = [_said(name, value) for name, value in row["settings"].items() if name != parameter]
        lines.setdefault(", ".join(others), {})[row["settings"][parameter]] = row
    return {
        "family": family,
        "parameter": parameter,
        "scale": scale,
        "values": [_text(value) for value in values] if scale == "category" else values,
        "lines": [
            {"name": name}
            | {which: [_cost(found.get(value), which) for value in values] for which in ("minimum", "actual")}
            for name, found in sorted(lines.items())
        ],
    }


def _varied(rows: list[dict[str, Any]]) -> str | None:
    """The setting that takes the most values, a number before a choice; None where none takes two."""
    values: dict[str, set[Any]] = {}
    for row in rows:
        for name, value in row["settings"].items():
            values.setdefault(name, set()).add(value)
    several = {name: found for name, found in values.items() if len(found) > 1}
    return max(several, key=lambda name: (all(map(_is_number, several[name])), len(several[name])), default=None)


def _scale(values: list[float]) -> str:
    """Logarithmic where values vary by factors; where one of those is 0, one place for each."""
    if values[0] > 0:
        return "log" if values[-1] > WIDE * values[0] else "linear"
    return "category"


def _natural(text: Any) -> list[Any]:
    """An order of texts in which numbers in them count: PCA 5 before PCA 10."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in re.split(r"(\d+)", str(text))]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cost(row: dict[str, Any] | None, which: str) -> float | None:
    return None if row is None else mean_cost(row, which)


def _said(name: str, value: Any) -> str:
    return f"{name} {value:g}" if _is_number(value) else str(value)


def _text(value: Any) -> str:
    return f"{value:g}" if _is_number(value) else str(value)
