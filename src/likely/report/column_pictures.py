"""Plots of the columns of the data as SVG: histograms, correlations, principal components, discriminant directions.

The functions take parts of the facts about the columns (``columns.column_facts``), and labels in class order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from markupsafe import Markup

from likely._formatting import format_percent, format_significant
from likely._typing import Floats
from likely.plots import curves
from likely.plots.canvas import Axis, linear_axis, share_axis
from likely.report.svg import element, group, number, path, shorten, whole
from likely.report.svg_canvas import LETTER, RIGHT, WIDTH, SvgCanvas, hue

_SMALL = 220
"""Width of a small histogram."""

_CORRELATION_NAMES, _WEIGHT_NAMES, _WEIGHT_ROW = 134, 158, 20
"""Width of the names beside correlations, width of the names beside weights, and height of a row of weights."""

_KEPT = 0.9
"""The plot shows how many principal components keep this share of the variance."""

Ellipse: TypeAlias = tuple[float, float, float, float, float]
"""Coordinates x and y of the centre, standard deviations along both principal axes, and angle of the first axis in
degrees."""


def column_histogram(histogram: Mapping[str, Any], class_labels: Sequence[str], index: int = 0) -> Markup:
    """Draw a small histogram of a column for each class, as shares of the rows of the class."""
    by_class = [_to_shares(counts) for counts in histogram["counts"]]
    highest = max((float(np.max(shares, initial=0.0)) for shares in by_class), default=0.0)
    canvas = SvgCanvas("column", left=8, right=_SMALL - 8, top=30, height=82, width=_SMALL)
    x = linear_axis(histogram["low"], histogram["high"], n_ticks=4)
    canvas.axes(x, Axis(0, (highest or 1) * 1.02))
    for k, (shares, label) in enumerate(zip(by_class, class_labels, strict=False)):
        canvas.bars(np.linspace(x.low, x.high, len(shares) + 1), shares, k, str(label))
    missing = f"; {format_percent(histogram['missing'])} of the values are missing" if histogram.get("missing") else ""
    name = shorten(histogram["name"], (_SMALL - 16) / LETTER / 1.05)
    return canvas.finish(
        f"{whole(histogram['name'])} by class",
        f"{format_percent(histogram['separation'])} of the variance is between the classes{missing}.",
        key=f"column-{index}",
        height=136,
        heading=element("text", name, class_="label name", x=8, y=18),
    )


def correlation(facts: Mapping[str, Any]) -> Markup:
    """Draw correlations of columns as a triangle of cells in eleven tones. A tooltip shows the number of each cell."""
    names, values = [str(name) for name in facts["names"]], facts["values"]
    cell = min(22.0, (WIDTH - _CORRELATION_NAMES - 6) / max(len(names), 1))
    canvas = SvgCanvas("correlation")
    canvas.add(group(*(_draw_correlation_row(k, names, values[k], cell) for k in range(len(names))), class_="heat"))
    # Colour scale.
    left, texts = WIDTH - 150, enumerate(("−1", "0", "1"))
    tones = [element("rect", class_=f"r{k}", x=left + 12 * (k + 5), y=10, width=12, height=10) for k in range(-5, 6)]
    ticks = [element("text", text, x=left + 6 + 60 * k, y=34) for k, text in texts]
    canvas.add(group(group(*tones, class_="heat"), group(*ticks, class_="tick", text_anchor="middle")))
    pairs = [(abs(v), k, j) for k in range(len(names)) for j in range(k) if (v := values[k][j]) is not None]
    gist = "No pair of columns."
    if pairs:
        _, k, j = max(pairs)
        between = f"{shorten(names[k], 60)} and {shorten(names[j], 60)}"
        gist = f"The strongest correlation is {_format_correlation(values[k][j])}, between {between}."
    return canvas.finish("Correlations between columns", gist, height=max(16 + cell * len(names), 60))


def explained_variance(shares: Sequence[float | None]) -> Markup:
    """Draw the share of the columns' variance that the first k principal components keep, against k."""
    kept = np.array([np.nan if share is None else share for share in shares], dtype=np.float64)
    counts = np.arange(1, len(kept) + 1)
    x = linear_axis(1, max(len(kept), 2), "Principal components", 8)
    x = replace(x, ticks=tuple((at, f"{at:.0f}") for at, _ in x.ticks if at == round(at)))
    canvas = SvgCanvas("explained-variance", height=192, linked=False)
    canvas.axes(x, share_axis(1, "Variance kept (%)"))
    canvas.line(counts, kept, 0, "solid")
    canvas.dots(counts[:1], kept[:1], 0)
    enough = next((int(k) for k in counts[kept >= _KEPT]), None)
    if enough is not None:
        canvas.reference([x.low, enough, enough], [_KEPT, _KEPT, 0])
        at, is_right = float(canvas.x(enough)), enough > (x.low + x.high) / 2
        side = {"x": at - 8, "text_anchor": "end"} if is_right else {"x": at + 8}
        text = f"{format_percent(_KEPT)} with {enough}"
        canvas.add(element("text", text, class_="best", y=canvas.bottom - 8, **side))
        gist = f"{enough} of {len(kept)} components keep {format_percent(_KEPT)} of the variance."
    elif known := kept[np.isfinite(kept)].tolist():
        gist = f"{len(kept)} components keep {format_percent(known[-1])} of the variance."
    else:
        gist = "No components."
    return canvas.finish("Variance kept by principal components", gist)


def directions(facts: Mapping[str, Any], class_labels: Sequence[str]) -> Markup:
    """Draw the classes along one discriminant direction (as a histogram) or two (as points, means and ellipses)."""
    names = [str(name).capitalize() for name in facts["names"]]
    if facts.get("points") is not None and len(names) > 1:
        return _draw_two_directions(facts, names, class_labels)
    return _draw_one_direction(facts.get("histogram") or {"low": 0, "high": 1, "counts": []}, names, class_labels)


def direction_weights(weights: Sequence[Sequence[tuple[str, float]]]) -> Markup:
    """Draw the columns with the largest weights in each direction, as bars that start at zero."""
    known = [[(str(name), float(weight)) for name, weight in each if weight is not None] for each in weights]
    largest = max((abs(weight) for each in known for _, weight in each), default=0.0) or 1.0
    canvas, top = SvgCanvas("direction-weights"), 0.0
    for k, each in enumerate(known):
        canvas.add(_draw_weights(f"Direction {k + 1}", each, largest, top))
        top += 26 + _WEIGHT_ROW * len(each) + 8
    first = max((each[0] for each in known if each), key=lambda pair: abs(pair[1]), default=None)
    gist = f"The largest weight is {format_significant(first[1])} ({whole(first[0])})." if first else "No weights."
    return canvas.finish("Weights of the columns in the directions", gist, height=max(top, 40))


def _to_shares(counts: Sequence[float | None]) -> Floats:
    """Convert counts to shares of their sum. If the sum is 0, the shares are 0."""
    known = np.array([count or 0.0 for count in counts], dtype=np.float64)
    return np.asarray(known / (known.sum() or 1.0))


# Internals: correlations.


def _draw_correlation_row(row: int, names: Sequence[str], values: Sequence[float | None], cell: float) -> Markup:
    """Draw one row of the triangle: the column's name and number, and its correlations with the columns before it."""
    top, left, middle = 8 + cell * row, _CORRELATION_NAMES, 12 + cell * (row + 0.5)
    name = shorten(names[row], (left - 12) / LETTER)
    cells = [
        element(
            "rect",
            element("title", f"{shorten(names[row], 30)} and {shorten(names[k], 30)}: {_format_correlation(value)}"),
            class_="r-none" if value is None else f"r{round(5 * min(max(value, -1.0), 1.0))}",  # one of eleven tones
            x=left + cell * k,
            y=top,
            width=cell - 1,
            height=cell - 1,
        )
        for k, value in enumerate(values[:row])
    ]
    return group(
        element("text", name, class_="name", x=left - 6, y=middle, text_anchor="end"),
        *cells,
        element("text", f"{row + 1}", class_="note", x=left + cell * (row + 0.5), y=middle, text_anchor="middle"),
    )


def _format_correlation(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}".replace("-", "−")


# Internals: directions.


def _draw_one_direction(of: Mapping[str, Any], names: Sequence[str], labels: Sequence[str]) -> Markup:
    by_class = [_to_shares(counts) for counts in of["counts"]]
    n_bins = max(map(len, by_class), default=0)
    x = linear_axis(of["low"], of["high"])
    canvas = SvgCanvas("directions")
    edges = np.linspace(x.low, x.high, n_bins + 1)
    curves.draw_histograms(canvas, edges, by_class, list(map(str, labels)), names[0] if names else "")
    return canvas.finish(
        "Classes along the discriminant direction",
        f"{len(by_class)} classes between {format_significant(of['low'])} and {format_significant(of['high'])}.",
    )


def _draw_two_directions(facts: Mapping[str, Any], names: Sequence[str], labels: Sequence[str]) -> Markup:
    rows = [point for point in facts["points"] if None not in point[:2]]
    points, codes = np.array([row[:2] for row in rows]).reshape(-1, 2), np.array([row[2] for row in rows], dtype=int)
    ellipses = _find_ellipses(facts)
    canvas = SvgCanvas("directions", linked=False)
    canvas.axes(*_make_equal_axes(points, ellipses, names), equal=True)
    for k, label in enumerate(labels):
        places = zip(canvas.x(points[codes == k, 0]), canvas.y(points[codes == k, 1]), strict=True)
        parts = [canvas.stroke([[place] for place in places], "dots")]
        if k in ellipses:
            parts += _draw_ellipses(canvas, ellipses[k])
        if any(parts):
            canvas.add(group(*parts, class_=hue(k, "c")))
        canvas.category_entry(str(label), k)
    return canvas.finish(
        "Classes along two discriminant directions",
        f"{len(points)} rows of {len(labels)} classes, with ellipses of one and two standard deviations.",
        note="ellipses: one and two standard deviations",
    )


def _find_ellipses(facts: Mapping[str, Any]) -> dict[int, Ellipse]:
    """Return the ellipse of each class whose mean and covariance are known, by the index of the class."""
    found = {}
    for k, (mean, covariance) in enumerate(zip(facts.get("means") or [], facts.get("covariances") or [], strict=False)):
        if mean and covariance and None not in (*mean, *covariance[0], *covariance[1]):
            (a, b), (_, d) = covariance
            middle, apart = (a + d) / 2, math.hypot((a - d) / 2, b)
            deviations = math.sqrt(max(middle + apart, 0)), math.sqrt(max(middle - apart, 0))
            found[k] = float(mean[0]), float(mean[1]), *deviations, math.degrees(math.atan2(2 * b, a - d) / 2)
    return found


def _make_equal_axes(points: Floats, ellipses: Mapping[int, Ellipse], names: Sequence[str]) -> tuple[Axis, Axis]:
    """Return x and y axes of the same scale, so that a unit has the same length in both directions.

    If the data extend less in the direction of y, the plot is lower, but at least half as high as wide.
    """
    reach = [(cx + side * 2 * s, cy + side * 2 * s) for cx, cy, s, _, _ in ellipses.values() for side in (-1, 1)]
    both = np.vstack([points, np.reshape(reach, (-1, 2))])
    both = both if len(both) else np.array([[0.0, 0.0], [1.0, 1.0]])
    (left, low), (right, high) = both.min(axis=0).tolist(), both.max(axis=0).tolist()
    wide = max(right - left, high - low, 1e-12) * 1.04
    tall = min(max((high - low) * 1.04, 0.5 * wide), wide)
    x_middle, y_middle = (left + right) / 2, (low + high) / 2
    x = linear_axis(x_middle - wide / 2, x_middle + wide / 2, names[0], 7)
    return x, linear_axis(y_middle - tall / 2, y_middle + tall / 2, names[1], 6)


def _draw_ellipses(canvas: SvgCanvas, ellipse: Ellipse) -> list[Markup]:
    """Draw ellipses of one and two standard deviations around a mean."""
    cx, cy, first, second, angle = ellipse
    x, y, unit = float(canvas.x(cx)), float(canvas.y(cy)), float(canvas.x(cx + 1) - canvas.x(cx))
    turned = f"translate({number(x)} {number(y)}) rotate({number(-angle)})"
    rings = [
        element("ellipse", class_=f"sigma{n}", rx=n * first * unit, ry=n * second * unit, transform=turned)
        for n in (1, 2)
    ]
    return [*rings, element("circle", class_="mean", cx=x, cy=y, r=4)]


def _draw_weights(title: str, weights: Sequence[tuple[str, float]], largest: float, top: float) -> Markup:
    """Draw the weights of one direction as bars from zero. The number of a bar is on the other side of zero."""
    zero, unit = (_WEIGHT_NAMES + RIGHT) / 2, (RIGHT - _WEIGHT_NAMES) / 2 / largest
    rows = []
    for k, (name, weight) in enumerate(weights):
        y, is_positive = top + 26 + _WEIGHT_ROW * (k + 0.5), weight >= 0
        bar = {"x": min(zero, zero + unit * weight), "y": y - 6, "width": unit * abs(weight), "height": 12}
        side = {"x": zero - 6, "text_anchor": "end"} if is_positive else {"x": zero + 6}
        shown = shorten(name, (_WEIGHT_NAMES - 16) / LETTER)
        rows.append(
            group(
                element("title", f"{whole(name)}: {format_significant(weight)}"),
                element("text", shown, class_="name", x=_WEIGHT_NAMES - 10, y=y + 4, text_anchor="end"),
                element("rect", class_=f"fill {hue(0 if is_positive else 1)}", **bar),
                element("text", format_significant(weight, 2), class_="note", y=y + 4, **side),
            )
        )
    ends = [(zero, top + 24), (zero, top + 28 + _WEIGHT_ROW * len(weights))]
    axis = element("path", class_="axis", d=path(ends))
    return group(element("text", title, class_="label", x=4, y=top + 16), *rows, axis)
