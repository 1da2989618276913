"""The matplotlib canvas, and figures with panels. Global settings of matplotlib are not changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from likely._typing import Booleans, Floats
from likely.exceptions import InvalidParameterError, MissingDependencyError
from likely.plots.canvas import Axis, visible_points

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D")
"""Colours of Okabe and Ito, which colour-blind people can distinguish. Yellow is left out: it is pale on white."""

INK, QUIET = "#333333", "#8a8a8a"
"""Colour of texts and marks that do not belong to one system, and colour of reference lines."""

FEW = 4000
"""Curves of at most this many points are not thinned."""

_SHAPES = "osD^v"


class MatplotlibCanvas:
    """A canvas on matplotlib axes.

    Parameters
    ----------
    ax : matplotlib Axes
    options : dict
        The user's options for all lines, bars or points.
    """

    edge = 0.006

    def __init__(self, ax: Any, options: dict[str, Any]) -> None:
        self.ax, self._options = ax, options
        self._x = self._y = Axis(0, 1)
        self._entries: list[Any] = []

    def axes(self, x: Axis, y: Axis, *, equal: bool = False) -> None:
        """Set scales, limits and titles. Draw a light grid, and no frame at the top and right."""
        # Add a margin. Without it, the frame of square axes would hide half the width of a line that follows an edge.
        room = 0.015 if equal and x.scale == "linear" else 0.0
        for axis, which in ((x, "x"), (y, "y")):
            self._set_scale(axis, which)
            margin = room * (axis.high - axis.low)
            self.ax.set(**{f"{which}lim": (axis.low - margin, axis.high + margin), f"{which}label": axis.title})
        if equal:
            self.ax.set(aspect="equal")
        self.ax.set_axisbelow(True)
        self.ax.grid(True, color="#e4e4e4", linewidth=0.7)
        self.ax.spines[["top", "right"]].set_visible(False)
        self._x, self._y = x, y

    def _set_scale(self, axis: Axis, which: str) -> None:
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        drawn = self.ax.xaxis if which == "x" else self.ax.yaxis
        if axis.scale == "probit":
            getattr(self.ax, f"set_{which}scale")("function", functions=(axis.transform, ndtr))
            drawn.set_major_locator(FixedLocator([rate for rate, _ in axis.ticks]))
            drawn.set_minor_locator(NullLocator())
        if axis.percent:
            drawn.set_major_formatter(FuncFormatter(_format_percent))

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
        """Draw a curve. A long curve is thinned to the points that suffice to draw it."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if len(x) > FEW:
            scaled = self._x.transform(x), self._y.transform(y)
            kept = visible_points(*scaled, self._x.ends, self._y.ends, keep)
            x, y = x[kept], y[kept]
        style = {"color": get_color(series), "linewidth": 1.6, "label": _join_label(label)}
        style |= {"drawstyle": "steps-pre"} if steps else {}
        style |= self._options
        style |= {"linestyle": "--", "label": None} if stroke == "dashed" else {}
        self.ax.plot(x, y, **style)

    def reference(self, x: Any, y: Any, label: str = "") -> None:
        self.ax.plot(x, y, color=QUIET, linewidth=1.2, linestyle=":", zorder=1, label=label or None)

    def bars(self, edges: Any, heights: Any, category: int, label: str, note: str = "") -> None:
        options = {"color": get_color(category), "alpha": 0.5, "label": _join_label((label, note)), **self._options}
        self.ax.bar(edges[:-1], heights, np.diff(edges), align="edge", linewidth=0, **options)

    def blocks(self, low: Any, high: Any, level: Any, shares: Floats, series: int, *, variant: str = "") -> None:
        """Draw a disc in the middle of each block, with an area proportional to its share of the rows."""
        color = self._options.get("color", get_color(series))
        self.ax.scatter((low + high) / 2, level, s=600 * shares, color=color, alpha=0.35, linewidth=0, clip_on=False)

    def entry(self, text: str, stroke: str) -> None:
        self.add_entry(text, linestyle="--" if stroke == "dashed" else "-")

    # Methods beyond the Canvas protocol.

    def band(self, x: Floats, low: Floats, high: Floats, series: int, alpha: float) -> None:
        """Fill the area between two curves."""
        color = self._options.get("color", get_color(series))
        self.ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)

    def mark(self, at: tuple[float, float], series: int, shape: int, hollow: bool) -> None:
        """Draw a marker at the point ``at``. If the point lies beyond the axes, draw the marker on the nearest edge."""
        point = [float(np.clip(value, axis.low, axis.high)) for value, axis in zip(at, (self._x, self._y), strict=True)]
        look = {"markersize": 9, "markerfacecolor": "white", "markeredgewidth": 1.6} if hollow else {"markersize": 5.5}
        color = self._options.get("color", get_color(series))
        marker = _SHAPES[shape % len(_SHAPES)]
        self.ax.plot(*point, color=color, marker=marker, linestyle="none", clip_on=False, zorder=5 - hollow, **look)

    def mark_entry(self, text: str, shape: int, hollow: bool) -> None:
        """Explain a marker in the legend."""
        look = {"markersize": 8, "markerfacecolor": "white"} if hollow else {"markersize": 5.5}
        self.add_entry(text, linestyle="none", marker=_SHAPES[shape % len(_SHAPES)], **look)

    def add_entry(self, text: str, **style: Any) -> None:
        """Add to the legend an entry with ``text`` that belongs to no curve."""
        from matplotlib.lines import Line2D

        self._entries.append(Line2D([], [], label=text, **{"color": INK, "linewidth": 1.4, **style}))

    def legend(self, *, beside: bool = False, loc: str = "best") -> None:
        """Draw the legend of all labelled curves and of all entries, within the axes or beside them."""
        handles = [*self.ax.get_legend_handles_labels()[0], *self._entries]
        # Beside the axes, use a legend of the figure, because the layout reserves space for it. A legend of the axes
        # would be cut off if the axes have a fixed aspect ratio.
        owner, where = (self.ax.figure, "outside right upper") if beside else (self.ax, loc)
        if handles:
            owner.legend(handles=handles, loc=where, edgecolor="none", framealpha=0.85, fontsize=9)


def make_panels(ax: Any, n: int, size: tuple[float, float], *, by_row: bool = True, beside: bool = False) -> Any:
    """Return an array of n axes: the given axes, or those of a new figure, side by side or below each other.

    With ``beside``, a new figure has space for a legend beside the axes.
    """
    if ax is None:
        return arrange_panels(None, n, n if by_row else 1, size, 2.4 if beside else 0.0)
    _require_matplotlib()
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != n:
        raise InvalidParameterError(
            f"ax must be {'one axes object' if n == 1 else f'a sequence of {n} axes, one for each system'}, "
            f"but holds {len(axes)} axes.",
            parameter="ax",
        )
    return axes


def arrange_panels(ax: Any, n: int, n_columns: int, size: tuple[float, float], margin: float) -> Any:
    """Return an array of n axes: the given axes, or those of a new figure.

    A new figure has ``n_columns`` panels in each row, each of the given ``size`` (width, height) in inches, and a
    ``margin`` for other elements.
    """
    if ax is not None:
        return make_panels(ax, n, size)
    _require_matplotlib()
    import matplotlib.pyplot as plt

    n_rows = -(-n // n_columns)
    shape = (size[0] * n_columns + margin, size[1] * n_rows)
    _, grid = plt.subplots(n_rows, n_columns, figsize=shape, layout="compressed", squeeze=False)
    axes = grid.ravel()
    for empty in axes[n:]:
        empty.remove()
    return axes[:n]


def get_color(index: int) -> str:
    """Return the colour of a system or class by its position. Colours repeat after seven."""
    return COLORS[index % len(COLORS)]


def lighten(color: str, share: float = 0.3) -> tuple[float, float, float]:
    """Mix a colour with white. ``share`` is the part of the colour in the mixture."""
    red, green, blue = (1 - share * (1 - int(color[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return red, green, blue


def _require_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Drawing needs matplotlib, which is not installed. Run: pip install 'likely[plot]'"
        ) from error


def _join_label(label: tuple[str, str] | None) -> str | None:
    if label is None:
        return None
    name, note = label
    return f"{name} ({note})" if note else name


def _format_percent(share: float, _: Any = None) -> str:
    return np.format_float_positional(round(100 * share, 10), trim="-")
