"""Costs against a hyperparameter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, categories, curve, finite, linear, plain
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    LETTER,
    RIGHT,
    SOLID_AND_DASHED,
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

__all__ = ["costs_of_grid"]

_KINDS = {"actual": "solid", "minimum": "dashed"}


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
    y = _cost_axis(lines)
    drawn = [group(*_strokes(one, at, x, y), class_=hue(k)) for k, one in enumerate(lines)]
    entries = [Entry(str(one["name"]), tuple(_KINDS.values()), hue(k)) for k, one in enumerate(lines) if one["name"]]
    below = y.start + BELOW + x.slant
    key, height = legend(entries, below, SOLID_AND_DASHED if lines else "")
    least = min(_minima(lines), default=None)
    return picture(
        "grid",
        draw_axes(x, y),
        *drawn,
        nothing(x, y) if least is None else _ring(least, grid, (x.at(at[least[1]]), y.inside(least[0]))),
        key,
        title=f"Calibrated and minimum costs of {whole(grid['family'])} by {whole(grid['parameter'])}",
        gist=_gist(least, grid),
        size=(WIDTH, below + height),
        axes=(x, y),
        key=f"grid-{index}",
    )


def _strokes(one: Mapping[str, Any], at: Sequence[float], x: Axis, y: Axis) -> Iterator[Markup]:
    """A line's two curves, with a dot for each value that was tried."""
    for kind, stroke in _KINDS.items():
        costs = one.get(kind) or []
        yield line(curve(x, y, at, costs), stroke)
        tried = [(x.at(a), y.at(c)) for a, c in zip(at, costs, strict=False) if c is not None and y.holds(c)]
        yield line(path(*([point] for point in tried)), "tried")


def _cost_axis(lines: Sequence[Mapping[str, Any]]) -> Axis:
    """From below the least minimum to where all minima, and each line's least actual cost, are seen."""
    minima = [cost for cost, _, _ in _minima(lines)] or [0.0, 1.0]
    actual = [finite(one.get("actual") or []) for one in lines]
    low, high = min(minima), max(minima)
    seen = max([2 * high - low, 1.1 * high, *(1.05 * min(costs) for costs in actual if costs)])
    most = max([high, *(cost for costs in actual for cost in costs)])
    top = most if most - low < 1.5 * (seen - low) else seen
    return linear(low - 0.18 * (top - low), top, 240, TOP, "Cost (1: deciding without looking)", 5)


def _minima(lines: Sequence[Mapping[str, Any]]) -> list[tuple[float, int, int]]:
    """Every minimum cost, with the place of its value and of its line."""
    return [
        (float(cost), k, place)
        for place, one in enumerate(lines)
        for k, cost in enumerate(one.get("minimum") or [])
        if cost is not None
    ]


def _ring(least: tuple[float, int, int], grid: Mapping[str, Any], at: tuple[float, float]) -> Markup:
    """A ring around the least minimum, and what it is under it, where nothing else is drawn."""
    cost, k, place = least
    said = f"{plain(cost)} at {_value(grid['values'][k], 16)}"
    room = LETTER / 2 * len(said) + 2
    return group(
        element("circle", class_="ring", cx=at[0], cy=at[1], r=6),
        element(
            "text",
            said,
            class_="best",
            x=min(max(at[0], LEFT + room), RIGHT - room),
            y=at[1] + 19,
            text_anchor="middle",
        ),
        class_=hue(place),
    )


def _gist(least: tuple[float, int, int] | None, grid: Mapping[str, Any]) -> str:
    if least is None:
        return "No cost."
    cost, k, place = least
    value = f"{whole(grid['parameter'])} = {_value(grid['values'][k], 60)}"
    return f"Least minimum cost: {plain(cost)} at {value}, {whole(grid['lines'][place]['name'])}."


def _value(value: Any, letters: float) -> str:
    return shorten(plain(value) if isinstance(value, int | float) else str(value), letters)


def _places(grid: Mapping[str, Any]) -> tuple[list[float], Axis]:
    """Where the values of the hyperparameter lie, and their axis; what has no logarithm makes it one of categories."""
    values, title = grid["values"], str(grid["parameter"])
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if numbers and len(numbers) == len(values) and grid["scale"] != "category":
        if grid["scale"] == "linear":
            return numbers, _linear_axis(numbers, title)
        if min(numbers) > 0:
            logs = [math.log10(value) for value in numbers]
            return logs, _log_axis(min(logs), max(logs), title)
    names = [_value(value, 22) for value in values]
    x = categories(names, LEFT, RIGHT, title)
    longest = max(map(len, names), default=0) * LETTER
    if longest + LETTER > (RIGHT - LEFT) / max(len(values), 1):
        x = replace(x, slant=0.6 * longest - 8)
    return [float(k) for k in range(len(values))], x


def _linear_axis(numbers: Sequence[float], title: str) -> Axis:
    """An axis with ticks at the values that were tried, where they leave each other room."""
    x = linear(min(numbers), max(numbers), LEFT + 8, RIGHT - 8, title)
    tried = sorted(set(numbers))
    gaps = [x.at(b) - x.at(a) for a, b in pairwise(tried)]
    roomy = all(gap > LETTER * (len(plain(max(tried, key=abs))) + 1) for gap in gaps)
    return replace(x, ticks=tuple((value, plain(value)) for value in tried)) if roomy else x


def _log_axis(low: float, high: float, title: str) -> Axis:
    """An axis of decimal logarithms, with ticks at powers of ten, or at 1, 2 and 5 of them where it is short."""
    x = linear(low, high, LEFT + 8, RIGHT - 8, title)
    every = max(1, math.ceil((x.high - x.low) / 8))
    factors = (1, 2, 5) if x.high - x.low < 2 else (1,)
    powers = range(math.floor(x.low), math.ceil(x.high) + 1)
    ticks = [(p + math.log10(f), f * 10.0**p) for p in powers if p % every == 0 for f in factors]
    return replace(x, ticks=tuple((at, plain(value)) for at, value in ticks if x.low - 1e-9 <= at <= x.high + 1e-9))
