"""Axes: where a value lies in a picture, and which values get a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from likely.report.svg import Point, path

__all__ = [
    "Axis",
    "Tick",
    "categories",
    "curve",
    "finite",
    "linear",
    "percent",
    "plain",
    "probability",
    "span",
    "spread",
]

Tick: TypeAlias = tuple[float, str]

_FAR = 1e300
"""Values further out are drawn here, so that differences of two do not overflow."""


@dataclass(frozen=True)
class Axis:
    """A range of (transformed) values on a range of a picture's coordinates.

    Attributes
    ----------
    low, high : float
        ``low < high``.
    start, end : float
        Where they lie in the picture.
    ticks : tuple of (value, text)
    title : str
    under : tuple of (value, text)
        A second row of ticks.
    slant : float
        Room that ticks take below the axis where they are written aslant; 0 where they are level.

    Examples
    --------
    >>> Axis(0, 1, 50, 410).at(0.5)
    230.0
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[Tick, ...] = ()
    title: str = ""
    under: tuple[Tick, ...] = ()
    slant: float = 0.0

    def at(self, value: float) -> float:
        """The coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def within(self, value: float, room: float = 0.0) -> float:
        """A value, or the end of the axis nearest to it, made longer by ``room`` times its length both ways."""
        room *= self.high - self.low
        return min(max(value, self.low - room), self.high + room)

    def inside(self, value: float) -> float:
        """The coordinate of a value, or of the end of the axis that is nearest to it."""
        return self.at(self.within(value))

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def told(self) -> str:
        """What the script reads: both values, both coordinates."""
        return f"{self.low:.9g} {self.high:.9g} {self.start:g} {self.end:g}"


def linear(low: float, high: float, start: float, end: float, title: str = "", count: int = 6) -> Axis:
    """An axis of plain numbers, with about ``count`` ticks at round values."""
    low, high = span(low, high)
    return Axis(low, high, start, end, tuple(_round_ticks(low, high, count)), title)


def spread(low: float, high: float, start: float, end: float, title: str = "", count: int = 6) -> Axis:
    """An axis of plain numbers that ends at round values around the data."""
    low, high = span(low, high)
    step = _step((high - low) / count)
    low, high = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
    return linear(low, high, start, end, title, count)


def probability(high: float, start: float, end: float, title: str = "", count: int = 5) -> Axis:
    """An axis of shares from 0 on, with ticks in percent."""
    axis = spread(0, 100 * high, start, end, title, count)
    return replace(axis, low=0, high=axis.high / 100, ticks=tuple((at / 100, said) for at, said in axis.ticks))


def categories(names: Sequence[str], start: float, end: float, title: str = "") -> Axis:
    """An axis of one place for each name: the first at 0, the second at 1."""
    return Axis(-0.5, max(len(names), 1) - 0.5, start, end, tuple(enumerate(names)), title)


def span(low: float, high: float) -> Point:
    """A range that is not empty around two values that may be the same."""
    low, high = (max(-_FAR, min(_FAR, float(value))) for value in (low, high))
    size = max(abs(low), abs(high))
    if high - low > max(1e-9 * size, 1e-200):
        return low, high
    half = size / 2 if size > 1e-200 else 0.5
    return low - half, high + half


def finite(values: Iterable[Any]) -> list[float]:
    """The numbers among values, without None."""
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def plain(value: float | None, digits: int = 3) -> str:
    """A number as people write it, with so many significant digits.

    Examples
    --------
    >>> plain(0.12345), plain(-2.0), plain(1234567.0), plain(None)
    ('0.123', '−2', '1.23e6', 'infinite')
    """
    if value is None:
        return "infinite"
    said = f"{value:.{digits}g}" if 1e-4 <= abs(value) < 10**digits else _large(value, digits)
    return _signed(said)


def percent(share: float | None) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.12345), percent(0.000625), percent(1.0)
    ('12.3 %', '0.062 %', '100 %')
    """
    return "unknown" if share is None else f"{plain(100 * share, 3 if share >= 0.01 else 2)} %"


def _large(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    if 1 <= abs(value) < 1e5:
        return f"{value:.0f}"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"


def _signed(said: str) -> str:
    return said.replace("-", "−")


def _step(least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _round_ticks(low: float, high: float, count: int) -> Iterable[Tick]:
    step = _step((high - low) / count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    for k in range(first, last + 1):
        value = k * step
        short = abs(value) < 1e5 and decimals <= 4
        yield value, _signed(f"{value:.{decimals}f}" if short else _large(value, 3))


def curve(x: Axis, y: Axis, across: Iterable[Any], up: Iterable[Any]) -> str:
    """The path through points, cut where it leaves the axes; None breaks it."""
    runs: list[list[Point]] = [[]]
    before: Point | None = None
    for pair in zip(across, up, strict=False):
        after = None if None in pair else (x.at(pair[0]), y.at(pair[1]))
        piece = _cut(before or after, after, x, y) if after else None
        if piece and runs[-1] and runs[-1][-1] == piece[0]:
            runs[-1].append(piece[1])
        elif piece:
            runs.append(list(piece))
        before = after
    return path(*runs)


def _cut(one: Point | None, two: Point | None, x: Axis, y: Axis) -> tuple[Point, Point] | None:
    """The part of a straight line that lies between the axes (Liang and Barsky)."""
    if one is None or two is None:
        return None
    enter, leave = 0.0, 1.0
    for axis, a, b in ((x, one[0], two[0]), (y, one[1], two[1])):
        least, most = sorted((axis.start, axis.end))
        if a == b and not least <= a <= most:
            return None
        if a != b:
            cuts = sorted(((least - a) / (b - a), (most - a) / (b - a)))
            enter, leave = max(enter, cuts[0]), min(leave, cuts[1])
    return (_along(one, two, enter), _along(one, two, leave)) if enter <= leave else None


def _along(one: Point, two: Point, share: float) -> Point:
    if share in (0.0, 1.0):
        return two if share else one
    return one[0] + share * (two[0] - one[0]), one[1] + share * (two[1] - one[1])
