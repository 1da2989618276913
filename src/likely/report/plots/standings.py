"""The best systems by their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from markupsafe import Markup

from likely.report.plots.axes import Axis, finite, linear, plain
from likely.report.plots.frame import BELOW, LETTER, RIGHT, WIDTH, draw_axes, line, nothing, picture
from likely.report.svg import element, group, path, shorten, whole, width

__all__ = ["standings"]

Row: TypeAlias = tuple[str, Mapping[str, Any]]
"""A system's name and its costs."""

_ROW, _TOP, _WIDEST_NAMES = 22, 12, 210
_HIGHEST_COST = 1.2
"""Costs above are drawn on the edge, so that one bad system does not squeeze all others."""


def standings(leaderboard: Sequence[Mapping[str, Any]], application: str, most: int = 20, index: int = 0) -> Markup:
    """Minimum and calibrated costs of the best systems at an application, with the interval of the latter.

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
    bottom = _TOP + _ROW * max(len(rows), 1)
    x = _cost_axis(rows)
    y = Axis(0, 1, bottom, _TOP)
    drawn = [_standing(name, costs, x, _TOP + _ROW * (k + 0.5)) for k, (name, costs) in enumerate(rows)]
    return picture(
        "standings",
        draw_axes(x, y),
        line(path([(x.at(1), y.start), (x.at(1), y.end)]) if x.high > 1 else "", "reference"),
        *drawn,
        _key(bottom + BELOW + 9) if rows else nothing(x, y, "no system"),
        title=f"Costs of the systems at {whole(application)}",
        gist=_leader(rows),
        size=(WIDTH, bottom + BELOW + 26),
        axes=(x, y),
        key=f"standings-{index}",
    )


def _cost_axis(rows: Sequence[Row]) -> Axis:
    """From 0 to the highest cost drawn, beside a column as wide as the names."""
    drawn = [
        cost
        for _, costs in rows
        for cost in finite([costs.get("minimum"), costs.get("actual"), *(costs.get("actual interval") or [])])
    ]
    high = min(max(drawn, default=0.0) or 1.0, _HIGHEST_COST)
    names = min(max((LETTER * width(shorten(name, 40)) for name, _ in rows), default=0) + 18, _WIDEST_NAMES)
    return linear(0, high, names, RIGHT, "Cost (1: deciding without looking)", 6 if names < 150 else 4)


def _standing(name: str, costs: Mapping[str, Any], x: Axis, y: float) -> Markup:
    """A row: the name, the way from the minimum to the actual cost, and the actual's interval."""
    least, actual = costs.get("minimum"), costs.get("actual")
    said = shorten(name, (x.start - 14) / LETTER)
    parts = [
        element("title", f"{whole(name)}: minimum {plain(least)}, calibrated {plain(actual)}"),
        element("text", said, class_="name", x=x.start - 10, y=y + 4, text_anchor="end"),
    ]
    if least is not None:
        parts.append(line(path([(x.inside(least), y), (_reached(actual, x), y)]), "bar"))
    if costs.get("actual interval"):
        low, high = costs["actual interval"]
        parts.append(_whisker(_reached(low, x), _reached(high, x), y))
    if least is not None:
        parts.append(_dot("minimum", x.inside(least), y))
    if "actual" in costs:
        parts.append(_dot("actual", _reached(actual, x), y, beyond=actual is None or actual > x.high))
    return group(*parts, class_="row")


def _reached(cost: float | None, x: Axis) -> float:
    return x.end if cost is None else x.inside(cost)


def _whisker(low: float, high: float, y: float) -> Markup:
    """A line with ends; nothing where all of it lies beyond the axis."""
    ends = [[(end, y - 4), (end, y + 4)] for end in (low, high)]
    return line(path([(low, y), (high, y)], *ends) if low < high else "", "whisker")


def _dot(kind: str, x: float, y: float, beyond: bool = False) -> Markup:
    """A dot, or an arrow where the cost lies beyond the axis."""
    if beyond:
        return element("path", class_=f"dot {kind}", d=path([(x - 3, y - 5), (x + 5, y), (x - 3, y + 5)], close=True))
    return element("circle", class_=f"dot {kind}", cx=x, cy=y, r=4)


def _key(y: float) -> Markup:
    """What the marks of a row are."""
    said = ((26, "minimum"), (152, "calibrated"), (262, "its interval"))
    words = [element("text", words, x=x, y=y + 4) for x, words in said]
    return group(_dot("minimum", 16, y), _dot("actual", 142, y), _whisker(226, 254, y), *words, class_="legend")


def _leader(rows: Sequence[Row]) -> str:
    if not rows:
        return "No system."
    name, costs = rows[0]
    actual, least = plain(costs.get("actual")), plain(costs.get("minimum"))
    return f"First: {whole(name)}, cost as calibrated {actual}, minimum {least}."
