"""Plots of costs: of the best systems, and against a hyperparameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, categories, curve, finite, linear, plain, spread
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    Entry,
    draw_axes,
    hue,
    legend,
    line,
    nothing,
    picture,
)
from likely.report.svg import element, group, path, shorten, whole

__all__ = ["costs_of_grid", "standings"]

_ROW, _NAMES = 22, 158
_HIGHEST_COST = 1.2
"""Costs above are drawn on the edge, so that one bad system does not squeeze all others."""


def standings(leaderboard: Sequence[Mapping[str, Any]], application: str, most: int = 20, index: int = 0) -> Markup:
    """Minimum and actual costs of the best systems at an application, with the actual's interval.

    Parameters
    ----------
    leaderboard : sequence of dict of the facts
        Best first.
    application : str
        Its name.
    most : int, default 20
        How many systems to draw.
    index : int, default 0
        A number for each plot of this kind on one page, for its ids.
    """
    rows = [(str(one["name"]), one["costs"].get(application) or {}) for one in leaderboard[:most]]
    bottom = 12 + _ROW * max(len(rows), 1)
    x = _cost_axis([cost for _, costs in rows for cost in _drawn_costs(costs)])
    y = Axis(-0.5, max(len(rows), 1) - 0.5, bottom, 12)
    drawn = [_standing(name, costs, x, 12 + _ROW * (k + 0.5)) for k, (name, costs) in enumerate(rows)]
    key, height = _dots(bottom + BELOW)
    return picture(
        "standings",
        draw_axes(x, y),
        line(path([(x.at(1), y.start), (x.at(1), y.end)]) if x.holds(1) and x.high > 1 else "", "reference"),
        *drawn,
        key if rows else nothing(x, y),
        title=f"Costs of the systems at {whole(application)}",
        gist=_leader(rows),
        size=(WIDTH, bottom + BELOW + height),
        axes=(x, y),
        key=f"standings-{index}",
    )


def _drawn_costs(costs: Mapping[str, Any]) -> list[float]:
    return finite([costs.get("minimum"), costs.get("actual"), *(costs.get("actual interval") or [])])


def _cost_axis(costs: Sequence[float]) -> Axis:
    high = min(max(costs, default=1.0), _HIGHEST_COST)
    title = "Cost (1: deciding without looking)"
    return replace(spread(0, high or 1.0, _NAMES, RIGHT, count=5), title=title)


def _standing(name: str, costs: Mapping[str, Any], x: Axis, y: float) -> Markup:
    """A row: the name, the way from the minimum to the actual cost, and the actual's interval."""
    least, actual, interval = costs.get("minimum"), costs.get("actual"), costs.get("actual interval")
    said = f"{whole(name)}: minimum {plain(least)}, actual {plain(actual)}"
    parts = [element("title", said), _name(name, y)]
    if interval:
        ends = [x.inside(math.inf if end is None else end) for end in interval]
        parts.append(line(path([(end, y) for end in ends], *([(end, y - 4), (end, y + 4)] for end in ends)), "whisker"))
    if least is not None:
        parts.append(line(path([(x.inside(least), y), (_reached(actual, x), y)]), "bar"))
        parts.append(element("circle", class_="dot minimum", cx=x.inside(least), cy=y, r=4))
    parts.append(_actual_dot(actual, x, y))
    return group(*parts, class_="row")


def _actual_dot(actual: float | None, x: Axis, y: float) -> Markup:
    """A dot, or an arrow where the cost lies beyond the axis."""
    at = _reached(actual, x)
    if actual is not None and x.holds(actual):
        return element("circle", class_="dot actual", cx=at, cy=y, r=4)
    return element("path", class_="dot actual", d=path([(at - 3, y - 5), (at + 5, y), (at - 3, y + 5)], close=True))


def _reached(cost: float | None, x: Axis) -> float:
    return x.end if cost is None else x.inside(cost)


def _name(name: str, y: float) -> Markup:
    letters = (_NAMES - 16) / LETTER
    return element("text", shorten(name, letters), class_="name", x=_NAMES - 10, y=y + 4, text_anchor="end")


def _dots(top: float) -> tuple[Markup, float]:
    """What the marks of a row are."""
    places = ((_NAMES - 148, "minimum", "least possible"), (_NAMES - 36, "actual", "actual"))
    parts = []
    for x, kind, said in places:
        parts += [
            element("circle", class_=f"dot {kind}", cx=x + 8, cy=top + 9, r=4),
            element("text", said, x=x + 18, y=top + 13),
        ]
    whisker = line(
        path([(232, top + 9), (256, top + 9)], [(232, top + 5), (232, top + 13)], [(256, top + 5), (256, top + 13)]),
        "whisker",
    )
    return group(*parts, whisker, element("text", "interval of the actual", x=264, y=top + 13), class_="legend"), 26


def _leader(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    if not rows:
        return "No system."
    name, costs = rows[0]
    return (
        f"First: {whole(name)}, actual cost {plain(costs.get('actual'))}, least possible {plain(costs.get('minimum'))}."
    )


def costs_of_grid(grid: Mapping[str, Any], index: int = 0) -> Markup:
    """Actual (solid) and minimum (dashed) costs against a hyperparameter, with the least minimum marked.

    Parameters
    ----------
    grid : dict of the facts' grids
    index : int, default 0
        A number for each plot of this kind on one page, for its ids.
    """
    lines = grid["lines"]
    at, x = _places(grid)
    costs = [cost for one in lines for kind in ("minimum", "actual") for cost in finite(one.get(kind) or [])]
    floor = min(costs, default=0.0)
    y = spread(
        floor,
        max(min(max(costs, default=1.0), max(_HIGHEST_COST, floor + 0.1)), floor),
        240,
        TOP,
        "Mean cost over the applications",
        5,
    )
    drawn = [
        group(
            line(curve(x, y, at, one.get("actual") or []), "solid"),
            line(curve(x, y, at, one.get("minimum") or []), "dashed"),
            class_=hue(k),
        )
        for k, one in enumerate(lines)
    ]
    key, height = legend(
        [Entry(str(one["name"]), ("solid", "dashed"), hue(k)) for k, one in enumerate(lines)], y.start + BELOW
    )
    mark, gist = _least(grid, at, x, y)
    return picture(
        "grid",
        draw_axes(x, y),
        *drawn,
        mark if costs else nothing(x, y),
        key,
        title=f"Actual (solid) and least possible (dashed) costs of {whole(grid['family'])}",
        gist=gist,
        size=(WIDTH, y.start + BELOW + height),
        axes=(x, y),
        key=f"grid-{index}",
    )


def _places(grid: Mapping[str, Any]) -> tuple[list[float], Axis]:
    """Where the values of the hyperparameter lie, and their axis; what has no logarithm makes it one of categories."""
    values, title = grid["values"], str(grid["parameter"])
    numbers = [value for value in values if isinstance(value, int | float)]
    if grid["scale"] == "linear" and numbers and len(numbers) == len(values):
        x = linear(min(numbers), max(numbers), LEFT + 8, RIGHT - 8, title)
        return [float(value) for value in numbers], x
    if grid["scale"] == "log" and numbers and len(numbers) == len(values) and min(numbers) > 0:
        logs = [math.log10(value) for value in numbers]
        return logs, _log_axis(min(logs), max(logs), title)
    letters = (RIGHT - LEFT) / max(len(values), 1) / LETTER
    names = [_value(value, max(letters - 1, 3)) for value in values]
    return [float(k) for k in range(len(values))], categories(names, LEFT, RIGHT, title)


def _value(value: Any, letters: float) -> str:
    return shorten(plain(value) if isinstance(value, int | float) else str(value), letters)


def _log_axis(low: float, high: float, title: str) -> Axis:
    """An axis of decimal logarithms, with ticks at powers of ten, or at 1, 2 and 5 of them where it is short."""
    x = linear(low, high, LEFT + 8, RIGHT - 8, title)
    every = max(1, math.ceil((x.high - x.low) / 8))
    factors = (1, 2, 5) if x.high - x.low < 2 else (1,)
    powers = range(math.floor(x.low), math.ceil(x.high) + 1)
    ticks = [(p + math.log10(f), f * 10.0**p) for p in powers if p % every == 0 for f in factors]
    return replace(x, ticks=tuple((at, plain(value)) for at, value in ticks if x.low - 1e-9 <= at <= x.high + 1e-9))


def _least(grid: Mapping[str, Any], at: Sequence[float], x: Axis, y: Axis) -> tuple[Markup, str]:
    """A ring around the least minimum, with its number, and a sentence about it."""
    found = [
        (cost, k, place)
        for place, one in enumerate(grid["lines"])
        for k, cost in enumerate(one.get("minimum") or [])
        if cost is not None
    ]
    if not found:
        return Markup(""), "No cost."
    cost, k, place = min(found)
    said = f"{shorten(grid['parameter'], 12)} = {_value(grid['values'][k], 12)}"
    left = x.at(at[k]) < (x.start + x.end) / 2
    ring = element("circle", class_="ring", cx=x.at(at[k]), cy=y.inside(cost), r=6)
    words = element(
        "text",
        f"{plain(cost)} at {said}",
        class_="best",
        x=x.at(at[k]) + (10 if left else -10),
        y=y.inside(cost) - 9,
        text_anchor=None if left else "end",
    )
    gist = f"Least minimum cost: {plain(cost)} at {said}, {whole(grid['lines'][place]['name'])}."
    return group(ring, words, class_=hue(place)), gist
