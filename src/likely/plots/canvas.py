"""Axes, the protocol of a canvas, and the thinning of long curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from likely._formatting import format_significant
from likely._typing import Booleans, Floats

Tick: TypeAlias = tuple[float, str]

CELLS = 2000
"""Number of cells along each axis. Curves are thinned to a few points in each cell. The cells are finer than the pixels
of a plot that is printed as wide as a page."""

_CERTAIN = 1e-12
"""Rates are clipped to at least this distance from 0 and 1 before their normal quantile is taken."""

_FAR = 1e300
"""The ends of an axis are clipped to ± this value, so that the difference of the two ends does not overflow."""

_RATES = (0.01, 0.1, 1e-3, 0.4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.02, 0.2, 0.6, 0.8, 0.9, 0.95, 0.99, 0.05, 5e-3, 0.98)
"""Ticks of a probit axis, the most important first. A tick is left out if it is too close to a more important one."""

_MIN_DISTANCE = 0.0745
"""Minimum distance of two ticks of a probit axis, as a share of its length."""


class Canvas(Protocol):
    """Protocol of a canvas on which plots are drawn.

    ``series`` is the position of a system, which determines its colour. ``variant`` names one of several versions of a
    curve; the page shows one version at a time. ``stroke`` is one of "line", "solid", "dashed" and "thread". A label
    is a name and a note for the legend.

    Attributes
    ----------
    edge : float
        Points beyond the axes are drawn at this distance from the edge, as a share of the axis length.
    """

    edge: float

    def axes(self, x: Axis, y: Axis, *, equal: bool = False) -> None:
        """Set both axes. ``equal`` gives them the same scale. Call this method first."""

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
        """Draw a curve, clipped to the axes. NaN interrupts the curve.

        With ``steps``, each value extends back to the previous point. ``keep`` marks points that thinning must not
        drop.
        """

    def reference(self, x: Any, y: Any, label: str = "") -> None:
        """Draw a dotted reference line behind the curves."""

    def bars(self, edges: Any, heights: Any, category: int, label: str, note: str = "") -> None:
        """Draw adjacent bars in the colour of a class of the data."""

    def blocks(self, low: Any, high: Any, level: Any, shares: Floats, series: int, *, variant: str = "") -> None:
        """Draw horizontal blocks from ``low`` to ``high`` at the height ``level``, with one array entry for each block.

        The size of a block shows its share of the rows.
        """

    def entry(self, text: str, stroke: str) -> None:
        """Add to the legend an entry with ``text`` that explains what a stroke means."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One system in a plot.

    Attributes
    ----------
    name : str or None
        If None, the system is not in the legend.
    note : str
        Text after the name in the legend.
    parts : mapping {variant: tuple of arrays}
        Coordinates of each version of the curve; their meaning depends on the plot.
    keep : array of bool, optional
        Points that thinning must not drop.
    """

    name: str | None
    parts: Mapping[str, Sequence[Floats]]
    note: str = ""
    keep: Booleans | None = None

    @property
    def label(self) -> tuple[str, str] | None:
        return None if self.name is None else (self.name, self.note)


@dataclass(frozen=True)
class Axis:
    """A range of values with its ticks and title.

    Attributes
    ----------
    low, high : float
        ``low < high``, in units of the data.
    title : str
    ticks : tuple of (value, text)
    under : tuple of (value, text)
        A second row of ticks.
    scale : {"linear", "probit", "log", "category"}
    percent : bool
        Whether values are shares, shown by ticks in percent.
    """

    low: float
    high: float
    title: str = ""
    ticks: tuple[Tick, ...] = ()
    under: tuple[Tick, ...] = ()
    scale: str = "linear"
    percent: bool = False

    def transform(self, values: Any) -> Floats:
        """Return the positions of values on the scale of the axis.

        On a probit scale these are the normal quantiles, on a logarithmic scale the decimal logarithms, and on the
        other scales the values themselves.
        """
        given = np.asarray(values, dtype=np.float64)
        if self.scale == "probit":
            return np.asarray(ndtri(np.clip(given, _CERTAIN, 1 - _CERTAIN)))
        return np.log10(given) if self.scale == "log" else given

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The positions of ``low`` and ``high`` on the scale (see :meth:`transform`)."""
        low, high = self.transform([self.low, self.high]).tolist()
        return low, high

    @property
    def length(self) -> float:
        """Distance between the ends on the scale."""
        return self.ends[1] - self.ends[0]

    def contains(self, value: float) -> bool:
        """Return whether a value lies within the axis."""
        return self.low <= value <= self.high


def linear_axis(low: float, high: float, title: str = "", n_ticks: int = 6, *, rounded: bool = False) -> Axis:
    """Make an axis of numbers with about ``n_ticks`` ticks at round values.

    ``rounded`` moves the ends outwards to the next ticks. If both ends are equal, the axis is widened around them.

    Examples
    --------
    >>> linear_axis(0, 0.97, rounded=True).ticks[-1]
    (1.0, '1.0')
    """
    low, high = _widen(low, high)
    step = _round_up((high - low) / n_ticks)
    if rounded:
        low, high = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
    return Axis(low, high, title, tuple(_make_ticks(low, high, n_ticks)))


def share_axis(high: float, title: str = "", n_ticks: int = 5) -> Axis:
    """Make an axis of shares from 0 to ``high``, which is rounded up. Ticks are in percent."""
    axis = linear_axis(0, 100 * high, title, n_ticks, rounded=True)
    return replace(axis, high=axis.high / 100, ticks=tuple((at / 100, text) for at, text in axis.ticks), percent=True)


def probit_axis(low: float, high: float, title: str = "") -> Axis:
    """Make a normal-deviate axis of rates. It has as many ticks, in percent, as there is room for.

    Examples
    --------
    >>> [text for _, text in probit_axis(0.01, 0.6).ticks]
    ['1', '2', '5', '10', '20', '40', '60']
    """
    axis = Axis(low, high, title, scale="probit", percent=True)
    kept: list[float] = []
    for rate in filter(axis.contains, _RATES):
        distances = np.abs(axis.transform(kept) - axis.transform(rate))
        if np.all(distances >= _MIN_DISTANCE * axis.length):
            kept.append(rate)
    texts = [(rate, np.format_float_positional(round(100 * rate, 10), trim="-")) for rate in sorted(kept)]
    return replace(axis, ticks=tuple(texts))


def log_axis(low: float, high: float, title: str = "") -> Axis:
    """Make a log axis with ticks at powers of ten. A short axis also has ticks at 2 and 5 times a power of ten."""
    if high <= low * (1 + 1e-9):
        low, high = low / 3, high * 3
    decades = math.log10(high) - math.log10(low)
    every, factors = max(1, math.ceil(decades / 8)), (1, 2, 5) if decades < 2 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers if power % every == 0 for factor in factors]
    inside = [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return Axis(low, high, title, tuple((value, format_significant(value)) for value in inside), scale="log")


def category_axis(names: Sequence[str], title: str = "") -> Axis:
    """Make an axis with one position for each name: 0, 1, and so on."""
    return Axis(-0.5, max(len(names), 1) - 0.5, title, tuple(enumerate(names)), scale="category")


def visible_points(
    x: Floats,
    y: Floats,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    keep: Booleans | None = None,
    cells: int = CELLS,
) -> Booleans:
    """Select the points of a long curve that suffice to draw it.

    The axes are divided into fine cells. Of consecutive points in one cell, only the first and the last are kept.

    Parameters
    ----------
    x, y : arrays of shape (points,)
        Coordinates on the scale of the axes. They may be infinite.
    x_limits, y_limits : (low, high)
        Ends of the axes, on the same scale.
    keep : array of bool of shape (points,), optional
        Points that are always kept.
    cells : int, default 2000
        Number of cells along each axis.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1_000_001)
    >>> kept = visible_points(x, x**2, (0, 1), (0, 1))
    >>> int(kept.sum()) < 8000, bool(kept[0] and kept[-1])
    (True, True)
    """
    moves = np.diff(_number_cells(x, x_limits, cells)) != 0
    moves |= np.diff(_number_cells(y, y_limits, cells)) != 0
    kept: Booleans = np.append(True, moves) | np.append(moves, True)
    return kept if keep is None else kept | keep


def _number_cells(values: Floats, limits: tuple[float, float], cells: int) -> Floats:
    """Return the number of the cell of each value, where ``limits`` are divided into equal cells.

    All values far below the low limit get the same number, and so do all values far above the high limit.
    """
    low, high = limits
    return np.floor(np.clip((values - low) / (high - low), -0.01, 1.01) * cells)


def value_at(axis: Axis, share: float) -> float:
    """Return the value at a position on the axis: ``share`` is 0 at the low end and 1 at the high end."""
    at = axis.ends[0] + share * axis.length
    return float(ndtr(at)) if axis.scale == "probit" else at


def _widen(low: float, high: float) -> tuple[float, float]:
    """Return ``low`` and ``high``, or a wider range around them if they are equal or almost equal."""
    low, high = (max(-_FAR, min(_FAR, float(value))) for value in (low, high))
    size = max(abs(low), abs(high))
    if high - low > max(1e-9 * size, 1e-200):
        return low, high
    half = size / 2 if size > 1e-200 else 0.5
    return low - half, high + half


def _round_up(value: float) -> float:
    """Return the smallest number ≥ ``value`` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-9))


def _make_ticks(low: float, high: float, n_ticks: int) -> Iterable[Tick]:
    step = _round_up((high - low) / n_ticks)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    for k in range(first, last + 1):
        value = k * step
        if abs(value) < 1e5 and decimals <= 4:
            yield value, f"{value:.{decimals}f}".replace("-", "−")
        else:
            yield value, format_significant(value)
