"""Numbers and names as a report shows them."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["number", "short"]


def number(value: Any) -> str:
    """A number with three digits after the point, or three that count; ∞ where it is not known to be finite.

    Examples
    --------
    >>> number(0.12345), number(1234.5), number(0.00012), number(None)
    ('0.123', '1.23e+03', '0.00012', '∞')
    """
    if value is None or not math.isfinite(value):
        return "∞"
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1000 else f"{value:.3g}"


def short(text: Any, most: int = 60) -> str:
    """A text cut to a length, with a sign that it was; control signs are shown as what they are.

    Examples
    --------
    >>> short("a" * 100, 10)
    'aaaaaaaaa…'
    """
    said = str(text)
    return said if len(said) <= most else said[: most - 1] + "…"
