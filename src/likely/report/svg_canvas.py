"""The SVG canvas: a plot with its axes, legend and texts, and hidden marks that the page's script moves.

Elements have classes only. Their styles are in the style sheet ``plots.css``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import isnan
from typing import Any

import numpy as np
from markupsafe import Markup

from likely._typing import Booleans, Floats
from likely.plots.canvas import Axis
from likely.report.svg import Point, element, group, join, number, path, shorten, whole, width

WIDTH, LEFT, RIGHT, TOP = 420, 46, 408, 28
"""Default width of a plot, and default positions of the left, right and top edge of its axes."""

LETTER = 7.2
"""Width of an average letter at a font size of 12 units, in the widest of the common sans-serif fonts."""

BELOW = 44
"""Height below the axes for ticks and title."""

_HUES, _BOLD = 12, 8.2
"""Number of colours, and width of an average bold letter."""

_FAR = 1e6
"""Largest distance of a point from the axes, in axis lengths. Points further away are moved to this distance."""

_LINE, _MAX_ENTRIES, _HALF, _SAMPLE = 18, 24, (WIDTH - 10) / 2, 44
"""Legend: height of a line, maximum number of names, width of one of two columns, width of a stroke with its gaps."""

_BLOCKS = ((0.02, "w1"), (0.08, "w2"), (0.25, "w3"), (np.inf, "w4"))
"""CSS classes of blocks by their share of the rows. A block has the class of the first limit that its share does not
reach."""


class SvgCanvas:
    """A canvas that collects the elements of one SVG image.

    Parameters
    ----------
    kind : str
        The kind of plot, which the script uses to find it.
    height : float
        Height of the axes; ignored if they have equal scales.
    left, right, top, width : float
        Positions of the axes, and width of the image.
    series : int, optional
        The position of the system, if the plot shows a single one. Traces are numbered from it.
    linked : bool, default True
        Whether traces are systems. The script emphasises the chosen system.
    """

    edge = 0.0

    def __init__(
        self,
        kind: str,
        *,
        height: float = 212,
        left: float = LEFT,
        right: float = RIGHT,
        top: float = TOP,
        width: float = WIDTH,
        series: int | None = None,
        linked: bool = True,
    ) -> None:
        self._kind, self._width, self._series, self._linked = kind, width, series, linked
        self.left, self.right, self.top, self.bottom = left, right, top, top + height
        self._axes: tuple[Axis, Axis] | None = None
        self._below = 0.0
        self._back: list[Markup] = []
        self._traces: dict[int, dict[str, list[Markup]]] = {}
        self._front: list[Markup] = []
        self._marks: list[Markup] = []
        self._entries: dict[str, _Entry] = {}
        self._is_empty = True

    def axes(self, x: Axis, y: Axis, *, equal: bool = False) -> None:
        """Draw faint lines at the ticks, and the texts of ticks and titles, all horizontal."""
        if equal:
            self.bottom = self.top + (self.right - self.left) * y.length / x.length
        self._axes = x, y
        # Slant the texts of ticks if they are too long to fit side by side.
        longest = LETTER * max((len(text) for _, text in x.ticks), default=0)
        room = (self.right - self.left) / max(len(x.ticks), 1)
        slant = 0.6 * longest - 8 if x.scale == "category" and longest + LETTER > room else 0.0
        self._below = (BELOW if x.title else 24) + 15 * bool(x.under) + slant
        columns, second, rows = (
            list(zip(place([value for value, _ in ticks]).tolist(), [text for _, text in ticks], strict=True))
            for place, ticks in ((self.x, x.ticks), (self.x, x.under), (self.y, y.ticks))
        )
        across = [[(at, self.bottom), (at, self.top)] for at, _ in columns]
        up = [[(self.left, at), (self.right, at)] for at, _ in rows]
        texts = [_draw_tick(text, at, self.bottom, slant > 0) for at, text in columns]
        under = [element("text", text, x=at, y=self.bottom + 31, class_="note") for at, text in second]
        beside = [element("text", text, x=self.left - 6, y=at + 4) for at, text in rows]
        middle = min((self.left + self.right) / 2, self.right + 8 - _BOLD * width(x.title) / 2)
        title = {"x": middle, "y": self.bottom + self._below - 8, "text_anchor": "middle"}
        self._back.append(
            group(
                element("path", class_="grid", d=path(*across, *up)),
                element("path", class_="axis", d=path([(self.left, self.bottom), (self.right, self.bottom)])),
                group(*texts, *under, class_="tick", text_anchor="middle"),
                group(*beside, class_="tick", text_anchor="end"),
                element("text", x.title, class_="label", **title) if x.title else "",
                element("text", y.title, class_="label", x=4, y=self.top - 12) if y.title else "",
                class_="axes",
            )
        )

    def line(
        self,
        x: Any,
        y: Any,
        series: int,
        stroke: str = "line",
        *,
        variant: str = "",
        label: tuple[str, str] | None = None,
        steps: bool = False,
        keep: Booleans | None = None,
    ) -> None:
        """Draw a curve, clipped to the axes."""
        across, up = self.x(x), self.y(y)
        if steps:
            across, up = np.repeat(across, 2)[:-1], np.repeat(up, 2)[1:]
        self.put(series, self.stroke(self._clip(across, up), stroke), variant)
        key, look = f"trace {series}", self._classes(series)
        entry = self._entries.get(key)
        if label is None and entry is not None:
            label = entry.name, entry.note
        strokes = () if entry is None else entry.strokes
        if label is not None and stroke not in strokes:  # the legend shows every stroke of a system
            name, note = label
            self._entries[key] = _Entry(name, (*strokes, stroke), look["class_"], note, look.get("data_series"))

    def reference(self, x: Any, y: Any, label: str = "") -> None:
        self._back.append(self.stroke(self._clip(self.x(x), self.y(y)), "reference"))
        if label:
            self.entry(label, "reference")

    def bars(self, edges: Any, heights: Any, category: int, label: str, note: str = "") -> None:
        """Draw the outline of adjacent bars, which is open below. Empty bars are left out."""
        tall = np.nan_to_num(np.asarray(heights, dtype=np.float64))
        sides, tops = self.x(edges), np.clip(self.y(tall), self.top, self.bottom)
        runs: list[list[Point]] = []
        for filled, found in groupby(range(len(tall)), key=lambda k: tall[k] > 0):
            bins = list(found)
            if filled:
                over = [(sides[side], tops[k]) for k in bins for side in (k, k + 1)]
                runs.append([(over[0][0], self.bottom), *over, (over[-1][0], self.bottom)])
        self.category_entry(label, category, "area", note)
        if runs:
            outline = element("path", class_=f"area line {hue(category, 'c')}", d=path(*runs))
            self.add(group(element("title", whole(label)), outline))

    def blocks(self, low: Any, high: Any, level: Any, shares: Floats, series: int, *, variant: str = "") -> None:
        """Draw a horizontal stroke for each block. Its width, one of four, shows the block's share of the rows."""
        sides, levels = zip(self.x(low), self.x(high), strict=True), self.y(level)
        drawn = dict.fromkeys([name for _, name in _BLOCKS], "")
        for ends, at, share in zip(sides, levels, shares, strict=True):
            name = next(name for below, name in _BLOCKS if share < below)
            drawn[name] += path(*self._clip(np.array(ends), np.array([at, at])))
        for name, d in drawn.items():
            if d:
                self.put(series, element("path", class_=f"block {name}", d=d), variant)

    def entry(self, text: str, stroke: str, *, classes: str = "ink", note: str = "") -> None:
        self._entries[text] = _Entry(text, (stroke,), classes, note, is_name=False)

    def category_entry(self, label: str, category: int, stroke: str = "fill", note: str = "") -> None:
        """Add a class of the data to the legend."""
        self._entries[f"category {category}"] = _Entry(label, (stroke,), hue(category, "c"), note)

    # Methods beyond the Canvas protocol. Coordinates are those of the image.

    def x(self, values: Any) -> Floats:
        """Convert values of the x axis to coordinates."""
        assert self._axes is not None
        return _place(values, self._axes[0], self.left, self.right)

    def y(self, values: Any) -> Floats:
        """Convert values of the y axis to coordinates."""
        assert self._axes is not None
        return _place(values, self._axes[1], self.bottom, self.top)

    def add(self, *parts: Markup) -> None:
        """Add elements in front of the curves."""
        self._front += parts
        self._is_empty = False

    def put(self, series: int, part: Markup, variant: str = "") -> None:
        """Add an element of a system."""
        self._traces.setdefault(series, {}).setdefault(variant, []).append(part)
        self._is_empty &= not part

    def dots(self, x: Any, y: Any, series: int, kind: str = "dots") -> None:
        """Draw a dot at each point that lies within the axes."""
        across, up = self.x(x), self.y(y)
        # Allow a tenth of a unit beyond the axes. Rounding may move points at the ends by that much, which nobody sees.
        inside = (across >= self.left - 0.1) & (across <= self.right + 0.1)
        inside &= (up >= self.top - 0.1) & (up <= self.bottom + 0.1)
        self.put(series, self.stroke([[at] for at in zip(across[inside], up[inside], strict=True)], kind))

    def stroke(self, runs: Sequence[Sequence[Point]], kind: str) -> Markup:
        """Return a path through runs of points, with the CSS class ``kind``, or empty markup if there are no points."""
        return element("path", class_=kind, d=path(*runs)) if runs else Markup("")

    def marks(self, *kinds: str) -> None:
        """Add hidden marks that the script moves: ``actual`` and ``minimum`` points, and a ``threshold`` line."""
        for kind in kinds:
            if kind == "threshold":
                ends = {"x1": self.left, "x2": self.left, "y1": self.bottom, "y2": self.top}
                self._marks.append(element("line", class_=f"mark {kind}", **ends, display="none"))
            else:
                circle = {"cx": self.left, "cy": self.bottom, "r": 5.5, "display": "none"}
                self._marks.append(element("circle", class_=f"mark {kind}", **circle))

    def finish(
        self,
        title: str,
        gist: str,
        *,
        key: str = "",
        variant: str = "",
        note: str = "",
        height: float | None = None,
        heading: Markup | str = "",
    ) -> Markup:
        """Return the image with its title and ``gist``, a sentence for screen readers that tells the main number.

        ``key`` is the prefix of ids, by default the kind. Plots of the same kind need different keys. ``variant`` adds
        CSS classes, ``note`` is a text below the legend, and ``heading`` is a text above the plot. If ``height`` is
        given, the image has this height and no legend.
        """
        key = key or self._kind
        legend, top = Markup(""), self.bottom + self._below
        if height is None:
            legend, height = _draw_legend(list(self._entries.values()), top, "" if self._is_empty else note)
        scales: list[str | None] = [None, None]
        nothing = Markup("")
        if self._axes:  # for the script: the ends of each axis on its scale, and their coordinates
            places = ((self.left, self.right), (self.bottom, self.top))
            ends = [(*axis.ends, *at) for axis, at in zip(self._axes, places, strict=True)]
            scales = [*(f"{low:.9g} {high:.9g} {start:g} {end:g}" for low, high, start, end in ends)]
            if self._is_empty:
                middle = {"x": (self.left + self.right) / 2, "y": (self.top + self.bottom) / 2}
                nothing = element("text", "nothing to show", class_="nothing", text_anchor="middle", **middle)
        return element(
            "svg",
            element("title", title, id=f"{key}-title"),
            element("desc", gist, id=f"{key}-desc"),
            *self._back,
            heading,
            *self._groups(),
            *self._front,
            nothing,
            legend,
            *self._marks,
            class_=f"plot {variant}" if variant else "plot",
            data_plot=self._kind,
            data_series=self._series,
            data_x=scales[0],
            data_y=scales[1],
            viewBox=f"0 0 {number(self._width)} {number(height)}",
            role="img",
            aria_labelledby=f"{key}-title {key}-desc",
        )

    def _groups(self) -> Iterator[Markup]:
        """Yield one SVG group for each system, in which the elements of each variant form a group.

        The CSS class ``only`` marks the group of a variant that is the only one of its system.
        """
        for k, variants in self._traces.items():
            only = " only" if len([name for name in variants if name]) == 1 else ""
            parts = [group(*drawn, class_=f"{name}{only}") if name else join(drawn) for name, drawn in variants.items()]
            yield group(*parts, **self._classes(k))

    def _classes(self, trace: int) -> dict[str, Any]:
        k = trace + (self._series or 0)
        return {"class_": f"series {hue(k)}", "data_series": k} if self._linked else {"class_": hue(k)}

    def _clip(self, across: Floats, up: Floats) -> list[list[Point]]:
        """Return the parts of a curve that lie within the axes, as runs of points.

        A run ends where the curve leaves the axes and where a coordinate is NaN.
        """
        inside = (across >= self.left) & (across <= self.right) & (up >= self.top) & (up <= self.bottom)
        points = list(zip(zip(across.tolist(), up.tolist(), strict=True), inside.tolist(), strict=True))
        runs: list[list[Point]] = []
        for (one, starts_inside), (two, ends_inside) in pairwise([*points[:1], *points]):
            piece = (one, two) if starts_inside and ends_inside else self._clip_segment(one, two)
            if piece and runs and runs[-1][-1] == piece[0]:
                runs[-1].append(piece[1])
            elif piece:
                runs.append(list(piece))
        return runs

    def _clip_segment(self, one: Point, two: Point) -> tuple[Point, Point] | None:
        """Return the part of a line segment within the axes (Liang and Barsky, 1984)."""
        if isnan(two[0] + two[1]):
            return None
        one = two if isnan(one[0] + one[1]) else one
        enter, leave = 0.0, 1.0
        for a, b, lowest, highest in ((one[0], two[0], self.left, self.right), (one[1], two[1], self.top, self.bottom)):
            if a == b and not lowest <= a <= highest:
                return None
            if a != b:
                cuts = sorted(((lowest - a) / (b - a), (highest - a) / (b - a)))
                enter, leave = max(enter, cuts[0]), min(leave, cuts[1])
        return (_interpolate(one, two, enter), _interpolate(one, two, leave)) if enter <= leave else None


def _place(values: Any, axis: Axis, start: float, end: float) -> Floats:
    """Convert values of an axis to coordinates between ``start`` and ``end``."""
    share = (axis.transform(values) - axis.ends[0]) / axis.length
    return np.asarray(start + np.clip(share, -_FAR, _FAR) * (end - start))


@dataclass(frozen=True)
class _Entry:
    """An entry of the legend: a text, which is a name or an explanation, and a note after the text.

    A long name is shortened. An explanation is not.
    """

    name: str
    strokes: tuple[str, ...]
    classes: str
    note: str = ""
    series: int | None = None
    is_name: bool = True


def hue(index: int, of: str = "s") -> str:
    """Return the CSS class of the colour and dashes of a series (s) or of a class of the data (c)."""
    return f"{of}{index % _HUES}"


def _draw_legend(entries: Sequence[_Entry], top: float, note: str) -> tuple[Markup, float]:
    """Draw names in one or two columns, explanations of strokes in rows, and a note.

    Return the legend and its lower end.
    """
    names, strokes = ([entry for entry in entries if entry.is_name is kind] for kind in (True, False))
    shown = names[:_MAX_ENTRIES]
    widest = max((width(shorten(each.name, 60)) + width(each.note) for each in shown), default=0)
    columns = 2 if len(shown) > 1 and _SAMPLE + LETTER * widest <= _HALF else 1
    rows = -(-len(shown) // columns)
    drawn = [
        _draw_entry(entry, 10 + _HALF * (k // rows), top + 13 + _LINE * (k % rows), 2 * _HALF / columns)
        for k, entry in enumerate(shown)
    ]
    left = 10.0
    for k, entry in enumerate(strokes):
        wide = _SAMPLE + LETTER * (width(entry.name) + width(entry.note))
        left, rows = (10.0, rows + 1) if k == 0 or left + wide > WIDTH else (left, rows)
        drawn.append(_draw_entry(entry, left, top + 13 + _LINE * (rows - 1), wide))
        left += wide
    more = f"… and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    for text in filter(None, (more, note)):
        drawn.append(element("text", text, class_="note", x=10, y=top + 13 + _LINE * rows))
        rows += 1
    return group(*drawn, class_="legend") if drawn else Markup(""), top + _LINE * rows + 8 * bool(rows)


def _draw_entry(entry: _Entry, x: float, y: float, room: float) -> Markup:
    letters = (room - _SAMPLE) / LETTER - width(entry.note)
    name = element("tspan", shorten(entry.name, letters), class_="name") if entry.is_name else entry.name
    note = element("tspan", f" {entry.note}", class_="note") if entry.note else ""
    return group(
        element("title", whole(f"{entry.name} {entry.note}")),
        *_draw_samples(entry.strokes),
        element("text", name, note, x=32),
        class_=entry.classes,
        data_series=entry.series,
        transform=f"translate({number(x)} {number(y)})",
    )


def _draw_samples(strokes: Sequence[str]) -> list[Markup]:
    """Draw the strokes of an entry, one below the other. ``area`` and ``fill`` are drawn as squares."""
    if strokes[0] in ("area", "fill"):
        kind = "area line" if strokes[0] == "area" else "fill"
        return [element("rect", class_=kind, x=6, y=-10, width=14, height=11)]
    heights = [5 * k - 4 - 2.5 * (len(strokes) - 1) for k in range(len(strokes))]
    return [element("path", class_=each, d=path([(0, y), (26, y)])) for each, y in zip(strokes, heights, strict=True)]


def _draw_tick(text: str, x: float, y: float, is_slanted: bool) -> Markup:
    """Draw the text of a tick below an axis."""
    if not is_slanted:
        return element("text", text, x=x, y=y + 16)
    turned = f"rotate(-35 {number(x + 4)} {number(y + 14)})"
    return element("text", text, x=x + 4, y=y + 14, text_anchor="end", transform=turned)


def _interpolate(one: Point, two: Point, share: float) -> Point:
    if share in (0.0, 1.0):
        return two if share else one
    return one[0] + share * (two[0] - one[0]), one[1] + share * (two[1] - one[1])
