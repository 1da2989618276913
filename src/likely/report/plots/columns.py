"""Plots of the columns of the data: histograms, correlations, principal components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, curve, finite, linear, percent, probability
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    draw_axes,
    hue,
    line,
    nothing,
    picture,
)
from likely.report.plots.outlines import outline, shares
from likely.report.svg import element, group, path, shorten, whole

__all__ = ["column_histogram", "correlation", "explained_variance"]

_SMALL = 220
_NAMES = 134
_KEPT = 0.9
"""The share of variance at which the plot says how many components it takes."""


def column_histogram(histogram: Mapping[str, Any], class_labels: Sequence[str], index: int = 0) -> Markup:
    """A small histogram of a column, each class as shares of its own rows.

    Parameters
    ----------
    histogram : dict of the facts' columns
    class_labels : sequence of str
        In class order.
    index : int, default 0
        The place among the histograms, for the ids.
    """
    by_class = [shares(counts) for counts in histogram["counts"]]
    x = linear(histogram["low"], histogram["high"], 8, _SMALL - 8, count=4)
    most = max((share for each in by_class for share in each), default=0)
    y = Axis(0, (most or 1) * 1.02, 112, 30)
    shapes = [
        group(element("title", whole(str(label))), outline(each, x, y, f"area line {hue(k, 'c')}"))
        for k, (each, label) in enumerate(zip(by_class, class_labels, strict=False))
    ]
    name = element("text", shorten(histogram["name"], (_SMALL - 16) / LETTER / 1.05), class_="label name", x=8, y=18)
    separation = f"{percent(histogram['separation'])} of the variance lies between the classes"
    missing = f"; {percent(histogram['missing'])} of the values are missing" if histogram.get("missing") else ""
    return picture(
        "column",
        draw_axes(x, y),
        name,
        *shapes,
        Markup("") if most else nothing(x, y),
        title=f"{whole(histogram['name'])} by class",
        gist=f"{separation}{missing}.",
        size=(_SMALL, 136),
        axes=(x, y),
        key=f"column-{index}",
    )


def correlation(facts: Mapping[str, Any]) -> Markup:
    """Correlations of columns as a triangle of cells in eleven tones, with the numbers as tooltips.

    Parameters
    ----------
    facts : dict of the facts' columns
        ``names`` and ``values``.
    """
    names, values = [str(name) for name in facts["names"]], facts["values"]
    cell = min(22.0, (WIDTH - _NAMES - 6) / max(len(names), 1))
    rows = [_cells(k, names, values[k], cell) for k in range(len(names))]
    height = max(16 + cell * len(names), 60)
    return picture(
        "correlation",
        group(*rows, class_="heat"),
        _scale(WIDTH - 150, 10),
        title="Correlations between columns",
        gist=_strongest(names, values),
        size=(WIDTH, height),
    )


def _cells(row: int, names: Sequence[str], values: Sequence[float | None], cell: float) -> Markup:
    """A row of the triangle: its name and number, and its correlations with the columns before it."""
    y = 8 + cell * row
    said = element(
        "text",
        shorten(names[row], (_NAMES - 12) / LETTER),
        class_="name",
        x=_NAMES - 6,
        y=y + cell / 2 + 4,
        text_anchor="end",
    )
    here = element(
        "text", f"{row + 1}", class_="note", x=_NAMES + cell * (row + 0.5), y=y + cell / 2 + 4, text_anchor="middle"
    )
    cells = [
        element(
            "rect",
            element("title", f"{shorten(names[row], 30)} and {shorten(names[k], 30)}: {_said(values[k])}"),
            class_=_tone(values[k]),
            x=_NAMES + cell * k,
            y=y,
            width=cell - 1,
            height=cell - 1,
        )
        for k in range(row)
    ]
    return group(said, *cells, here)


def _tone(value: float | None) -> str:
    """One of eleven classes, from r-5 to r5."""
    return "r-none" if value is None else f"r{round(5 * min(max(value, -1.0), 1.0))}"


def _said(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}".replace("-", "−")


def _scale(left: float, top: float) -> Markup:
    """Which tone is which correlation."""
    tones = [element("rect", class_=f"r{k}", x=left + 12 * (k + 5), y=top, width=12, height=10) for k in range(-5, 6)]
    said = [element("text", t, x=left + 6 + 60 * k, y=top + 24) for k, t in enumerate(("−1", "0", "1"))]
    return group(group(*tones, class_="heat"), group(*said, class_="tick", text_anchor="middle"))


def _strongest(names: Sequence[str], values: Sequence[Sequence[float | None]]) -> str:
    pairs = [(abs(v), k, j) for k in range(len(names)) for j in range(k) if (v := values[k][j]) is not None]
    if not pairs:
        return "No pair of columns."
    _, k, j = max(pairs)
    return f"The strongest is {_said(values[k][j])}, between {shorten(names[k], 60)} and {shorten(names[j], 60)}."


def explained_variance(shares: Sequence[float | None]) -> Markup:
    """The share of the columns' variance that the first principal components keep, against their number.

    Parameters
    ----------
    shares : sequence of float
        Cumulative.
    """
    x = linear(1, max(len(shares), 2), LEFT, RIGHT, "Principal components", 8)
    x = replace(x, ticks=tuple((at, f"{at:.0f}") for at, _ in x.ticks if at == round(at)))
    y = replace(probability(1, 220, TOP, "Variance kept (%)"), high=1.0)
    counted = range(1, len(shares) + 1)
    enough = next((k for k, share in zip(counted, shares, strict=True) if share is not None and share >= _KEPT), None)
    few = line(
        path([(x.at(k), y.inside(share)) for k, share in zip(counted, shares, strict=True) if share is not None][:1]),
        "dots",
    )
    return picture(
        "explained-variance",
        draw_axes(x, y),
        group(line(curve(x, y, counted, shares), "solid"), few, _guide(enough, x, y), class_="s0"),
        Markup("") if finite(shares) else nothing(x, y),
        title="Variance that principal components keep",
        gist=_kept(enough, shares),
        size=(WIDTH, y.start + BELOW),
        axes=(x, y),
    )


def _guide(enough: int | None, x: Axis, y: Axis) -> Markup:
    """Lines down and across from where enough variance is kept, and its number."""
    if enough is None:
        return Markup("")
    at, up = x.at(enough), y.at(_KEPT)
    right = enough > (x.low + x.high) / 2
    words = element(
        "text",
        f"{percent(_KEPT)} with {enough}",
        class_="best",
        x=at + (-8 if right else 8),
        y=y.start - 8,
        text_anchor="end" if right else None,
    )
    return line(path([(x.start, up), (at, up), (at, y.start)]), "reference") + words


def _kept(enough: int | None, shares: Sequence[float | None]) -> str:
    if enough is not None:
        return f"{enough} of {len(shares)} components keep {percent(_KEPT)} of the variance."
    known = finite(shares)
    return f"{len(shares)} components keep {percent(known[-1])} of the variance." if known else "No components."
