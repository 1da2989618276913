"""Plots of the directions that separate the classes best, and of what they are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, linear, plain, probability
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    class_entries,
    draw_axes,
    hue,
    legend,
    line,
    nothing,
    picture,
)
from likely.report.plots.outlines import outline, shares
from likely.report.svg import element, group, number, path, shorten, whole

__all__ = ["direction_weights", "directions"]

_NAMES, _ROW = 158, 20


def directions(facts: Mapping[str, Any], class_labels: Sequence[str]) -> Markup:
    """The classes along the best direction (a histogram) or the best two (points, means, ellipses).

    Parameters
    ----------
    facts : dict of the facts' columns
    class_labels : sequence of str
        In class order.
    """
    names = [str(name).capitalize() for name in facts["names"]]
    if facts.get("points") is not None and len(names) > 1:
        return _two_directions(facts, names, class_labels)
    return _one_direction(facts.get("histogram") or {"low": 0, "high": 1, "counts": []}, names, class_labels)


def _one_direction(of: Mapping[str, Any], names: Sequence[str], labels: Sequence[str]) -> Markup:
    by_class = [shares(counts) for counts in of["counts"]]
    most = max((share for each in by_class for share in each), default=0)
    x = linear(of["low"], of["high"], LEFT, RIGHT, names[0] if names else "", 8)
    y = probability(most or 1, 240, TOP, "Rows of each class (%)")
    shapes = [outline(each, x, y, f"area line {hue(k, 'c')}") for k, each in enumerate(by_class)]
    key, height = legend(class_entries(labels), y.start + BELOW)
    return picture(
        "directions",
        draw_axes(x, y),
        *shapes,
        Markup("") if most else nothing(x, y),
        key,
        title="The classes along the direction that separates them best",
        gist=f"{len(by_class)} classes between {plain(of['low'])} and {plain(of['high'])}.",
        size=(WIDTH, y.start + BELOW + height),
        axes=(x, y),
    )


def _two_directions(facts: Mapping[str, Any], names: Sequence[str], labels: Sequence[str]) -> Markup:
    points = [(float(a), float(b), int(k)) for a, b, k in facts["points"] if a is not None and b is not None]
    ellipses = _ellipses(facts)
    x, y = _equal_axes(points, ellipses, names)
    classes = [group(*_of_class(k, points, ellipses, x, y), class_=hue(k, "c")) for k in range(len(labels))]
    key, height = legend(class_entries(labels, "fill"), y.start + BELOW, "ellipses: one and two standard deviations")
    return picture(
        "directions",
        draw_axes(x, y),
        *classes,
        Markup("") if points or ellipses else nothing(x, y),
        key,
        title="The classes along the two directions that separate them best",
        gist=f"{len(points)} rows of {len(labels)} classes; ellipses hold one and two standard deviations.",
        size=(WIDTH, y.start + BELOW + height),
        axes=(x, y),
    )


Ellipse = tuple[float, float, float, float, float]
"""Centre, the two standard deviations along its axes, and the angle of the first, in degrees."""


def _ellipses(facts: Mapping[str, Any]) -> dict[int, Ellipse]:
    """Of the classes whose mean and covariance are known."""
    found = {}
    for k, (mean, covariance) in enumerate(zip(facts.get("means") or [], facts.get("covariances") or [], strict=False)):
        if mean and covariance and None not in (*mean, *covariance[0], *covariance[1]):
            found[k] = (float(mean[0]), float(mean[1]), *_principal(covariance))
    return found


def _principal(covariance: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Standard deviations along the principal axes of two variables, and the angle of the first."""
    (a, b), (_, d) = covariance
    middle, apart = (a + d) / 2, math.hypot((a - d) / 2, b)
    deviations = (math.sqrt(max(middle + apart, 0)), math.sqrt(max(middle - apart, 0)))
    return *deviations, math.degrees(math.atan2(2 * b, a - d) / 2)


def _equal_axes(
    points: Sequence[tuple[float, float, int]], ellipses: Mapping[int, Ellipse], names: Sequence[str]
) -> tuple[Axis, Axis]:
    """Axes of one scale, so that a distance is the same both ways; the flatter the data, the flatter the picture."""
    reach = [(cx + way * 2 * s, cy + way * 2 * s) for cx, cy, s, _, _ in ellipses.values() for way in (-1, 1)]
    both = [
        sorted(values) or [0.0, 1.0] for values in zip(*((*point[:2],) for point in [*points, *reach]), strict=True)
    ]
    (left, right), (low, high) = ((v[0], v[-1]) for v in both) if both else ((0.0, 1.0), (0.0, 1.0))
    width = max(right - left, (high - low), 1e-12) * 1.04
    tall = min(max((high - low) * 1.04 / width, 0.5), 1.0)
    x_middle, y_middle = (left + right) / 2, (low + high) / 2
    end = TOP + tall * (RIGHT - LEFT)
    x = linear(x_middle - width / 2, x_middle + width / 2, LEFT, RIGHT, names[0], 7)
    return x, linear(y_middle - tall * width / 2, y_middle + tall * width / 2, end, TOP, names[1], 6)


def _of_class(
    k: int, points: Sequence[tuple[float, float, int]], ellipses: Mapping[int, Ellipse], x: Axis, y: Axis
) -> list[Markup]:
    """The points of a class as one path of dots, its ellipses, and its mean."""
    drawn = [line(path(*([(x.at(a), y.at(b))] for a, b, of in points if of == k)), "dots")]
    if k in ellipses:
        cx, cy, first, second, angle = ellipses[k]
        unit = (x.end - x.start) / (x.high - x.low)
        turned = f"translate({number(x.at(cx))} {number(y.at(cy))}) rotate({number(-angle)})"
        drawn += [
            element("ellipse", class_=f"sigma{n}", rx=n * first * unit, ry=n * second * unit, transform=turned)
            for n in (1, 2)
        ]
        drawn.append(element("circle", class_="mean", cx=x.at(cx), cy=y.at(cy), r=4))
    return drawn


def direction_weights(weights: Sequence[Sequence[tuple[str, float]]]) -> Markup:
    """The columns of largest weight in each direction, as bars from zero.

    Parameters
    ----------
    weights : sequence of sequences of (column name, weight)
        One for each direction.
    """
    known = [[(str(name), float(w)) for name, w in each if w is not None] for each in weights]
    most = max((abs(w) for each in known for _, w in each), default=0) or 1.0
    x = linear(-most, most, _NAMES, RIGHT, count=4)
    panels, top = [], 0.0
    for k, each in enumerate(known):
        panels.append(_panel(f"Direction {k + 1}", each, x, top))
        top += 26 + _ROW * len(each) + 8
    return picture(
        "direction-weights",
        *panels,
        title="Weights of the columns in the directions",
        gist=_heaviest(known),
        size=(WIDTH, max(top, 40)),
    )


def _panel(title: str, each: Sequence[tuple[str, float]], x: Axis, top: float) -> Markup:
    rows = [_bar(name, weight, x, top + 26 + _ROW * (k + 0.5)) for k, (name, weight) in enumerate(each)]
    zero = line(path([(x.at(0), top + 24), (x.at(0), top + 28 + _ROW * len(each))]), "axis")
    return group(element("text", title, class_="label", x=4, y=top + 16), *rows, zero)


def _bar(name: str, weight: float, x: Axis, y: float) -> Markup:
    """A column's name and bar, with the number at the free side of zero."""
    left, right = sorted((x.at(0), x.at(weight)))
    said = shorten(name, (_NAMES - 16) / LETTER)
    return group(
        element("title", f"{whole(name)}: {plain(weight)}"),
        element("text", said, class_="name", x=_NAMES - 10, y=y + 4, text_anchor="end"),
        element("rect", class_=f"fill {'s0' if weight >= 0 else 's1'}", x=left, y=y - 6, width=right - left, height=12),
        element(
            "text",
            plain(weight, 2),
            class_="note",
            x=x.at(0) + (-6 if weight >= 0 else 6),
            y=y + 4,
            text_anchor="end" if weight >= 0 else None,
        ),
    )


def _heaviest(known: Sequence[Sequence[tuple[str, float]]]) -> str:
    first = [each[0] for each in known if each]
    if not first:
        return "No weights."
    name, weight = max(first, key=lambda pair: abs(pair[1]))
    return f"The largest weight is {plain(weight)}, of {whole(name)}."
