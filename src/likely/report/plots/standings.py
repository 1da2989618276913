"""The best systems by their costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, finite, plain, spread
from likely.report.plots.frame import (
    BELOW,
    LETTER,
    RIGHT,
    WIDTH,
    draw_axes,
    line,
    nothing,
    picture,
)
from likely.report.svg import element, group, path, shorten, whole

__all__ = ["standings"]

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
    return replace(spread(0, high or 1.0, _NAMES, RIGHT, count=6), title=title)


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
