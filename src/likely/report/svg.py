"""SVG as text: elements whose attributes and words are escaped, numbers of one decimal, and short paths."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from markupsafe import Markup, escape

Point: TypeAlias = tuple[float, float]

LONGEST = 400
"""Characters of a name that a tooltip shows; names of thousands would outgrow the page."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, *inside: Any, **attributes: Any) -> Markup:
    """An element, with everything in it escaped that is not markup already.

    Parameters
    ----------
    tag : str
    *inside : str or Markup
    **attributes
        With ``_`` for ``-`` (and ``class_``); numbers are rounded to one decimal, and None leaves the attribute out.

    Examples
    --------
    >>> print(element("text", "a < b", x=12.04, text_anchor="end", class_="tick"))
    <text x="12" text-anchor="end" class="tick">a &lt; b</text>
    """
    opened = f"<{tag}" + "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup(f"{opened}>{join(inside)}</{tag}>" if inside else f"{opened}/>")


def group(*inside: Any, **attributes: Any) -> Markup:
    """A group of elements."""
    return element("g", *inside, **attributes)


def join(parts: Iterable[Any]) -> Markup:
    """Parts one after the other, escaped where they are not markup already."""
    return Markup("").join(part if isinstance(part, Markup) else clean(str(part)) for part in parts)


def _attribute(key: str, value: Any) -> str:
    said = number(value) if isinstance(value, int | float) else escape(clean(str(value)))
    return f' {key.rstrip("_").replace("_", "-")}="{said}"'


def clean(text: str) -> str:
    """Text without the characters that XML does not know."""
    return _NOT_XML.sub("\ufffd", text)


def shorten(text: str, room: float) -> str:
    """Text that is about as wide as ``room`` letters at most, with … for its middle.

    The middle, since names of systems often begin alike and differ at their ends.

    Examples
    --------
    >>> shorten("gaussian, tied, of 10 principal components", 20)
    'gaussian, t…omponents'
    """
    text = whole(text)
    if width(text) <= room:
        return text
    head = _fitting(text, (room - 1) / 2)
    tail = _fitting(text[::-1], room - 1 - width(head))[::-1]
    return f"{head}…{tail}"


def whole(text: str) -> str:
    """Text as a tooltip tells it: on one line, and all of it unless it is endless."""
    text = " ".join(clean(text).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def width(text: str) -> float:
    """How wide text is, in average letters of a sans-serif face."""
    return sum(map(_letter, text))


def _letter(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    if letter in "MWmw%@":
        return 1.6
    return 0.55 if letter in "iljtfrI.,:;'|!()[] " else 1.25 if letter.isupper() else 1.0


def _fitting(text: str, room: float) -> str:
    """The longest beginning of a text that fits."""
    used, kept = 0.0, 0
    for letter in text:
        used += _letter(letter)
        if used > room:
            break
        kept += 1
    return text[:kept]


def number(value: float) -> str:
    """A coordinate, to one decimal.

    Examples
    --------
    >>> number(3.04), number(-0.01), number(-0.5), number(7)
    ('3', '0', '-.5', '7')
    """
    return _tenths(round(10 * value))


def _tenths(tenths: int) -> str:
    return f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths / 10:.1f}".replace("0.", ".", abs(tenths) < 10)


def path(*runs: Sequence[Point], close: bool = False) -> str:
    """The shortest path data, in relative steps of tenths, through one or several runs of points.

    Examples
    --------
    >>> path([(10, 20), (15, 20), (15, 20.04), (15, 18.5), (16.5, 17)])
    'M10 20h5v-1.5l1.5-1.5'
    >>> path([(0, 0)], [(3, 4)])
    'M0 0h0M3 4h0'
    """
    return "".join(_run([(round(10 * x), round(10 * y)) for x, y in run], close) for run in runs if run)


def _run(points: list[tuple[int, int]], close: bool) -> str:
    (x, y), rest = points[0], points[1:]
    parts = [f"M{_pair(x, y)}"]
    for step in _merged(_steps(x, y, rest)):
        parts.append(_command(*step))
    return "".join(parts) + ("h0" if len(parts) == 1 else "") + ("z" if close else "")


def _steps(x: int, y: int, rest: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    for after_x, after_y in rest:
        if (after_x, after_y) != (x, y):
            yield after_x - x, after_y - y
        x, y = after_x, after_y


def _merged(steps: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Steps along an axis in the same direction made one."""
    merged: list[tuple[int, int]] = []
    for dx, dy in steps:
        x, y = merged[-1] if merged else (0, 0)
        if (dx == x == 0 and dy * y > 0) or (dy == y == 0 and dx * x > 0):
            merged[-1] = (x + dx, y + dy)
        else:
            merged.append((dx, dy))
    return merged


def _command(dx: int, dy: int) -> str:
    return f"v{_tenths(dy)}" if dx == 0 else f"h{_tenths(dx)}" if dy == 0 else f"l{_pair(dx, dy)}"


def _pair(x: int, y: int) -> str:
    return f"{_tenths(x)}{'' if y < 0 else ' '}{_tenths(y)}"
