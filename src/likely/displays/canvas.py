"""What displays ask of matplotlib: axes, colours, lines and legends, without touching its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.exceptions import InvalidParameterError, MissingDependencyError

__all__ = [
    "COLORS",
    "INK",
    "QUIET",
    "color_of",
    "grid",
    "legend",
    "light",
    "panels",
    "proxy",
    "require_matplotlib",
    "tidy",
]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D")
"""Okabe and Ito's colours, which colour-blind people tell apart, without the yellow that white paper swallows."""

INK, QUIET = "#333333", "#8a8a8a"
"""Text and marks that belong to no system; lines to compare with."""


def require_matplotlib() -> None:
    """Load matplotlib, or say how to get it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Drawing needs matplotlib, which is not installed. Run: pip install 'likely[plot]'"
        ) from error


def panels(ax: Any, n: int, size: tuple[float, float], by_row: bool = True, beside: bool = False) -> Any:
    """An array of n axes: the given ones, or those of a new figure, side by side or below each other.

    A new figure is wide enough for a legend ``beside`` the axes, if there is to be one.
    """
    require_matplotlib()
    if ax is None:
        return _new_panels(n, size, by_row, 2.4 if beside else 0.0)
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != n:
        raise InvalidParameterError(
            f"ax must be {'one axes object' if n == 1 else f'a sequence of {n} axes, one for each system'}, "
            f"but there {'is' if len(axes) == 1 else 'are'} {len(axes)}."
        )
    return axes


def grid(ax: Any, n: int, columns: int, size: tuple[float, float]) -> Any:
    """An array of n axes: the given ones, or those of a new figure in rows of so many, with room for a scale beside."""
    if ax is not None:
        return panels(ax, n, size)
    require_matplotlib()
    rows = -(-n // columns)
    axes = _subplots(rows, columns, size, 0.9)
    for empty in axes[n:]:
        empty.remove()
    return axes[:n]


def _new_panels(n: int, size: tuple[float, float], by_row: bool, margin: float) -> Any:
    rows, columns = (1, n) if by_row else (n, 1)
    return _subplots(rows, columns, size, margin)


def _subplots(rows: int, columns: int, size: tuple[float, float], margin: float) -> Any:
    import matplotlib.pyplot as plt

    shape = (size[0] * columns + margin, size[1] * rows)
    _, axes = plt.subplots(rows, columns, figsize=shape, layout="compressed", squeeze=False)
    return axes.ravel()


def color_of(index: int) -> str:
    """The colour of a system or class by its position; they repeat after seven."""
    return COLORS[index % len(COLORS)]


def light(color: str, share: float = 0.3) -> tuple[float, float, float]:
    """A colour mixed with white, of which it keeps a share."""
    red, green, blue = (1 - share * (1 - int(color[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return red, green, blue


def tidy(ax: Any, x_label: str, y_label: str) -> None:
    """Labels, a quiet grid behind the curves, and no frame at the top and right."""
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.set_axisbelow(True)
    ax.grid(True, color="#e4e4e4", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)


def proxy(label: str, **line: Any) -> Any:
    """An entry of a legend that stands for a style, not for a curve."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"color": INK, "linewidth": 1.4, **line})


def legend(ax: Any, more: Sequence[Any] = (), *, beside: bool = False, loc: str = "best") -> None:
    """A legend of the labelled curves and some entries more, within the axes or beside them."""
    handles = [*ax.get_legend_handles_labels()[0], *more]
    # A legend of the figure has its room kept free; that of axes of a fixed shape would be cut off.
    owner, where = (ax.figure, "outside right upper") if beside else (ax, loc)
    if handles:
        owner.legend(handles=handles, loc=where, edgecolor="none", framealpha=0.85, fontsize=9)
