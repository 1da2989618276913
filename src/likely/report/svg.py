"""SVG as text: elements with escaped attributes and text, numbers with one decimal, and short paths."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from markupsafe import Markup, escape

Point: TypeAlias = tuple[float, float]

MAX_LENGTH = 400
"""Maximum number of characters of a name in a tooltip, so that long names do not make the page large."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, *inside: Any, **attributes: Any) -> Markup:
    """Make an element, and escape all content that is not markup.

    Parameters
    ----------
    tag : str
    *inside : str or Markup
    **attributes
        Write ``_`` for ``-`` and ``class_`` for ``class``. Numbers are rounded to one decimal. None omits an attribute.

    Examples
    --------
    >>> print(element("text", "a < b", x=12.04, text_anchor="end", class_="tick"))
    <text x="12" text-anchor="end" class="tick">a &lt; b</text>
    """
    opened = f"<{tag}"
    for key, value in attributes.items():
        if value is not None:
            text = number(value) if isinstance(value, int | float) else escape(clean(str(value)))
            opened += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    return Markup(f"{opened}>{join(inside)}</{tag}>" if inside else f"{opened}/>")


def group(*inside: Any, **attributes: Any) -> Markup:
    """Make a group of elements."""
    return element("g", *inside, **attributes)


def join(parts: Iterable[Any]) -> Markup:
    """Concatenate parts, and escape those that are not markup."""
    return Markup("").join(part if isinstance(part, Markup) else clean(str(part)) for part in parts)


def clean(text: str) -> str:
    """Replace characters that are not allowed in XML."""
    return _NOT_XML.sub("\ufffd", text)


def shorten(text: str, room: float) -> str:
    """Shorten text to a width of about ``room`` average letters. Its middle is replaced by "…".

    The ends are kept, since names of systems often begin alike and differ at the end.

    Examples
    --------
    >>> shorten("gaussian, tied, of 10 principal components", 20)
    'gaussian, t…omponents'
    """
    text = whole(text)
    if width(text) <= room:
        return text
    head = _take_fitting(text, (room - 1) / 2)
    tail = _take_fitting(text[::-1], room - 1 - width(head))[::-1]
    return f"{head}…{tail}"


def whole(text: str) -> str:
    """Format text for a tooltip, on one line. Only very long text is shortened."""
    text = " ".join(clean(text).split())
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"


def width(text: str) -> float:
    """Estimate the width of text, in average letters of a sans-serif font."""
    return sum(map(_letter, text))


def _letter(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    if letter in "MWmw%@":
        return 1.6
    return 0.55 if letter in "iljtfrI.,:;'|!()[] " else 1.25 if letter.isupper() else 1.0


def _take_fitting(text: str, room: float) -> str:
    """Return the longest prefix of a text whose width is at most ``room``."""
    return text[: bisect_right(list(accumulate(map(_letter, text))), room)]


def number(value: float) -> str:
    """Format a coordinate with one decimal.

    Examples
    --------
    >>> number(3.04), number(-0.01), number(-0.5), number(7)
    ('3', '0', '-.5', '7')
    """
    return _tenths(round(10 * value))


def _tenths(tenths: int) -> str:
    return f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths / 10:.1f}".replace("0.", ".", abs(tenths) < 10)


def path(*runs: Sequence[Point], close: bool = False) -> str:
    """Return short path data through one or several runs of points, in relative steps that are multiples of 0.1.

    Examples
    --------
    >>> path([(10, 20), (15, 20), (15, 20.04), (15, 18.5), (16.5, 17)])
    'M10 20h5v-1.5l1.5-1.5'
    >>> path([(0, 0)], [(3, 4)])
    'M0 0h0M3 4h0'
    """
    return "".join(_run([(round(10 * x), round(10 * y)) for x, y in run], close) for run in runs if run)


def _run(points: list[tuple[int, int]], close: bool) -> str:
    """Return the path data of one run. Consecutive steps in the same direction along an axis are merged."""
    x, y = points[0]
    start, steps = f"M{_pair(x, y)}", [(0, 0)]
    for x_next, y_next in points[1:]:
        dx, dy, before = x_next - x, y_next - y, steps[-1]
        if (dx == before[0] == 0 and dy * before[1] > 0) or (dy == before[1] == 0 and dx * before[0] > 0):
            steps[-1] = before[0] + dx, before[1] + dy
        elif dx or dy:
            steps.append((dx, dy))
        x, y = x_next, y_next
    drawn = "".join(
        f"v{_tenths(dy)}" if dx == 0 else f"h{_tenths(dx)}" if dy == 0 else f"l{_pair(dx, dy)}" for dx, dy in steps[1:]
    )
    return start + (drawn or "h0") + ("z" if close else "")


def _pair(x: int, y: int) -> str:
    return f"{_tenths(x)}{'' if y < 0 else ' '}{_tenths(y)}"
