"""Numbers and names as a report shows them."""

from __future__ import annotations

import math
from typing import Any

from likely._words import number as plain
from likely._words import printable, shortened

__all__ = ["number", "short"]


def number(value: Any) -> str:
    """A number, and ∞ where it is not known to be finite.

    Examples
    --------
    >>> number(0.12345), number(None)
    ('0.123', '∞')
    """
    return "∞" if value is None or not math.isfinite(value) else plain(value)


def short(text: Any, most: int = 60) -> str:
    """A text cut to a length, with a sign that it was; signs that are not seen are spelt out.

    Examples
    --------
    >>> short("a" * 100, 10)
    'aaaaaaaaa…'
    """
    return shortened(printable(str(text)[: 2 * most]), most)
