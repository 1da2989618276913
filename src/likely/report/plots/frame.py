"""What every plot shares: the picture around it, its axes, its legend and the marks that the page moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from likely.report.plots.axes import Axis
from likely.report.svg import Point, element, group, join, number, path, shorten, whole, width

__all__ = [
    "LEFT",
    "RIGHT",
    "SOLID_AND_DASHED",
    "TOP",
    "WIDTH",
    "Entry",
    "draw_axes",
    "hue",
    "legend",
    "line",
    "marks",
    "nothing",
    "picture",
]

WIDTH, LEFT, RIGHT, TOP = 420, 46, 408, 28
"""Of a usual plot: the whole, and where its axes begin and end."""

HUES = 12
LETTER = 7.2
"""Width of an average letter of 12 units, in the widest of the usual sans-serif faces."""

SOLID_AND_DASHED = "solid: cost as decided; dashed: minimum"

BELOW = 44
"""Room under the axes for ticks and title."""

_LINE, _MOST, _HALF, _BOLD = 18, 24, (WIDTH - 10) / 2, 8.2


def picture(
    name: str,
    *parts: Markup,
    title: str,
    gist: str,
    size: Point,
    axes: tuple[Axis, Axis] | None = None,
    key: str = "",
    series: int | None = None,
    variant: str = "",
) -> Markup:
    """A whole plot: what it is and what it says in words, its axes for the script, and the drawing.

    Parameters
    ----------
    name : str
        Of the kind of plot.
    *parts : Markup
    title, gist : str
        The heading, and one sentence with the number that matters.
    size : (width, height)
    axes : (Axis, Axis), optional
    key : str, optional
        What the ids begin with, by default the name: for plots of which there are several.
    series : int, optional
        The place in the facts' series, of a plot of one series.
    variant : str, optional
        Further classes.
    """
    key = key or name
    words = (element("title", title, id=f"{key}-title"), element("desc", gist, id=f"{key}-desc"))
    x, y = (axis.told() for axis in axes) if axes else (None, None)
    return element(
        "svg",
        *words,
        *parts,
        class_=f"plot {variant}" if variant else "plot",
        data_plot=name,
        data_series=series,
        data_x=x,
        data_y=y,
        viewBox=f"0 0 {number(size[0])} {number(size[1])}",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
    )


def draw_axes(x: Axis, y: Axis) -> Markup:
    """Faint lines at the ticks, their texts, and a title at the end of each axis, all of it written level."""
    across = [((x.at(value), y.start), (x.at(value), y.end)) for value, _ in x.ticks]
    up = [((x.start, y.at(value)), (x.end, y.at(value))) for value, _ in y.ticks]
    below = [_tick(said, x.at(value), y.start, bool(x.slant)) for value, said in x.ticks]
    below += [element("text", said, x=x.at(value), y=y.start + 31, class_="note") for value, said in x.under]
    beside = [element("text", said, x=x.start - 6, y=y.at(value) + 4) for value, said in y.ticks]
    lower = y.start + (51 if x.under else 36) + x.slant
    middle = min((x.start + x.end) / 2, x.end + 8 - _BOLD * width(x.title) / 2)
    return group(
        element("path", class_="grid", d=path(*across, *up)),
        element("path", class_="axis", d=path([(x.start, y.start), (x.end, y.start)])),
        group(*below, class_="tick", text_anchor="middle"),
        group(*beside, class_="tick", text_anchor="end"),
        element("text", x.title, class_="label", x=middle, y=lower, text_anchor="middle"),
        element("text", y.title, class_="label", x=4, y=y.end - 12),
        class_="axes",
    )


def _tick(said: str, x: float, y: float, aslant: bool) -> Markup:
    """The text of a tick below an axis."""
    if not aslant:
        return element("text", said, x=x, y=y + 16)
    turned = f"rotate(-35 {number(x + 4)} {number(y + 14)})"
    return element("text", said, x=x + 4, y=y + 14, text_anchor="end", transform=turned)


def line(d: str, kind: str = "line") -> Markup:
    """A stroke of a kind that the style sheet knows; nothing where there is no way to go."""
    return element("path", class_=kind, d=d) if d else Markup("")


def hue(index: int, of: str = "s") -> str:
    """The class that gives the colour and dashes of a series (s) or of a class of the data (c)."""
    return f"{of}{index % HUES}"


def marks(*kinds: str, x: Axis, y: Axis) -> Markup:
    """Hidden marks for the script to move: ``actual`` and ``minimum`` points, and a ``threshold`` line."""
    drawn = []
    for kind in kinds:
        if kind == "threshold":
            drawn.append(
                element("line", class_=f"mark {kind}", x1=x.start, x2=x.start, y1=y.start, y2=y.end, display="none")
            )
        else:
            drawn.append(element("circle", class_=f"mark {kind}", cx=x.start, cy=y.start, r=5.5, display="none"))
    return join(drawn)


def nothing(x: Axis, y: Axis, said: str = "nothing to show") -> Markup:
    """A word in the middle of empty axes."""
    middle = {"x": (x.start + x.end) / 2, "y": (y.start + y.end) / 2}
    return element("text", said, class_="nothing", text_anchor="middle", **middle)


@dataclass(frozen=True)
class Entry:
    """A line of a legend.

    Attributes
    ----------
    name : str
        Of anybody's choice, shortened where it is long.
    kinds : tuple of str
        The strokes shown beside it, one under the other; ``area`` and ``fill`` are squares.
    classes : str
    note : str
        Said after the name, never shortened.
    series : int, optional
        The place in the facts' series.
    """

    name: str
    kinds: tuple[str, ...]
    classes: str
    note: str = ""
    series: int | None = None


def class_entries(labels: Sequence[str], kind: str = "area") -> list[Entry]:
    """The lines of a legend of the classes of the data."""
    return [Entry(str(label), (kind,), hue(k, "c")) for k, label in enumerate(labels)]


def legend(entries: Sequence[Entry], top: float, note: str = "") -> tuple[Markup, float]:
    """A legend in one or two columns with a note under it, and the height it takes."""
    shown = list(islice(entries, _MOST))
    widest = max((width(shorten(e.name, 60)) + width(e.note) for e in shown), default=0)
    columns = 2 if len(shown) > 1 and 44 + LETTER * widest <= _HALF else 1
    rows = -(-len(shown) // columns)
    drawn = [
        _entry(entry, 10 + _HALF * (k // rows), top + 13 + _LINE * (k % rows), 2 * _HALF / columns)
        for k, entry in enumerate(shown)
    ]
    notes = [f"… and {len(entries) - _MOST} more"] if len(entries) > _MOST else []
    for said in [*notes, *[note][: bool(note)]]:
        drawn.append(element("text", said, class_="note", x=10, y=top + 13 + _LINE * rows))
        rows += 1
    return group(*drawn, class_="legend"), _LINE * rows + 8 * bool(rows)


def _entry(entry: Entry, x: float, y: float, room: float) -> Markup:
    letters = (room - 44) / LETTER - width(entry.note)
    name = element("tspan", shorten(entry.name, letters), class_="name")
    note = element("tspan", f" {entry.note}", class_="note") if entry.note else Markup("")
    return group(
        element("title", whole(f"{entry.name} {entry.note}")),
        *_samples(entry.kinds),
        element("text", name, note, x=32),
        class_=entry.classes,
        data_series=entry.series,
        transform=f"translate({number(x)} {number(y)})",
    )


def _samples(kinds: tuple[str, ...]) -> list[Markup]:
    if kinds in (("area",), ("fill",)):
        kind = "area line" if kinds == ("area",) else "fill"
        return [element("rect", class_=kind, x=6, y=-10, width=14, height=11)]
    first = -4 - 2.5 * (len(kinds) - 1)
    return [
        element("path", class_=kind, d=path([(0, first + 5 * k), (26, first + 5 * k)])) for k, kind in enumerate(kinds)
    ]
