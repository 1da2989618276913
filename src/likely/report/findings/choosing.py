"""Findings about what was chosen: by how little, at the end of what grid, and whether other rows agree."""

from __future__ import annotations

import math
from typing import Any

from likely._formatting import format_label, quote
from likely.report.findings.looked import Finding, Looked

__all__ = ["choice", "close_race", "edge_of_grid", "failed"]

SIGNIFICANT = 0.05
"""Chance below which a difference is taken for one."""

LEAST_VALUES, FLAT = 3, 0.01
"""Values from which on a grid has an end, and the share of the cost that its last step must bring."""


def choice(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Evaluation rows say that another system is clearly better."""
    there = facts["evaluation"]
    if not there or there["place"] == 1 or there["p_value"] is None or there["p_value"] >= SIGNIFICANT:
        return None
    best = there["systems"][0]
    said = (
        f"On the evaluation rows {quote(best['name'])} does better than {quote(there['chosen'])}, which was chosen "
        f"and is in place {there['place']} of {len(there['systems'])} there. That is more than chance (p = "
        f"{there['p_value']:.2g})."
    )
    remedy = (
        f"Consider it: comparison.model({best['name']!r}) trains it, and so does likely fit -m. Then it is chosen on "
        "those rows, so judge it on others before you promise its cost."
    )
    return Finding("choice", "warning", said, format_label(remedy, 400))


def close_race(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Other systems cannot be told from the first."""
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    alike = [row for row in tested if row["p_value"] > SIGNIFICANT]
    if not alike:
        return None
    names = ", ".join(quote(row["name"]) for row in alike[:3]) + (" and others" if len(alike) > 3 else "")
    count = f"{len(alike)} of the next {len(tested)} systems" if len(tested) > 1 else "The next system"
    said = f"{count} cannot be told from the first by more than chance (p > 0.05): {names}."
    remedy = f"Take the simplest or the cheapest{_taken(facts, alike)}. More rows may tell them apart."
    return Finding("close-race", "note", said, remedy)


def _taken(facts: dict[str, Any], alike: list[dict[str, Any]]) -> str:
    """How one of some systems is had, where there are models to be had."""
    if facts["kind"] == "scores":
        return ""
    simple = next((row["name"] for row in alike if row["family"] not in ("fusion", "outside")), None)
    return ": comparison.model(NAME)" + ("" if simple is None else f", or likely fit -m {quote(simple)}")


def failed(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Candidates have no scores."""
    failures = facts["failures"]
    if not failures:
        return None
    name, reason = next(iter(failures.items()))
    n = len(failures)
    said = f"{n} of {n + len(facts['leaderboard'])} candidates failed. {quote(name)}: {format_label(reason, 300)}"
    remedy = "The comparison goes without them. What each said is under failures; the message says what it needs."
    return Finding("failed", "warning" if n >= len(facts["leaderboard"]) else "note", said, remedy)


def edge_of_grid(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """The best setting of the best family is the last that was tried."""
    family = next((row["family"] for row in facts["leaderboard"] if row["family"] != "fusion"), None)
    which = "actual" if facts["about"]["by"] == "actual" else "minimum"
    for grid in facts.get("grids") or []:
        if grid["family"] != family or len(grid["values"]) < LEAST_VALUES:
            continue
        value = _last(grid, which)
        if value is not None:
            return _wider(grid, value)
    return None


def _last(grid: dict[str, Any], which: str) -> float | None:
    """The value at an end of a grid of numbers at which the best of its lines still falls."""
    try:
        order = sorted(range(len(grid["values"])), key=lambda i: float(grid["values"][i]))
    except ValueError:  # choices have no end
        return None
    lines = [[line[which][i] for i in order] for line in grid["lines"]]
    known = [line for line in lines if any(cost is not None for cost in line)]
    if not known:
        return None
    line = [
        math.inf if cost is None else cost
        for cost in min(known, key=lambda each: min(c for c in each if c is not None))
    ]
    for end, before in ((0, 1), (-1, -2)):
        value = float(grid["values"][order[end]])
        falls = math.isfinite(line[before]) and line[before] - line[end] > FLAT * line[before]
        if line[end] == min(line) and falls and value != 0:
            return value
    return None


def _wider(grid: dict[str, Any], value: float) -> Finding:
    values = [float(each) for each in grid["values"]]
    side, which = ("below", "least") if value == min(values) else ("above", "greatest")
    parameter = format_label(grid["parameter"])
    said = (
        f"The best {format_label(grid['family'])} system has {parameter} {value:g}, the "
        f"{which} of the {len(values)} values tried, and its cost still falls there."
    )
    remedy = (
        f"Try values {side} it: give compare candidates of your own, such as classifiers with other values of "
        f"{parameter}, beside the names of families."
    )
    return Finding("edge-of-grid", "note", said, remedy)
