"""Texts and numbers as people read them."""

from __future__ import annotations

import math

__all__ = ["counted", "number", "printable", "shortened"]


_JOINERS = "\u200c\u200d"
"""Signs that are not seen, but without which some scripts and pictures of several signs fall apart."""


def printable(text: str) -> str:
    r"""A text whose line breaks, and other signs that are not seen or steer a terminal, are spelt out.

    Examples
    --------
    >>> print(printable("one\ntwo"))
    one\ntwo
    """
    return (
        text if text.isprintable() else "".join(s if s.isprintable() or s in _JOINERS else repr(s)[1:-1] for s in text)
    )


def shortened(text: str, most: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(n: int, what: str) -> str:
    """So many of something.

    Examples
    --------
    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"


def number(value: float) -> str:
    """A number with three digits after the point, or as many as make it one.

    Examples
    --------
    >>> number(0.12345), number(1234.5), number(0.00012)
    ('0.123', '1.23e+03', '0.00012')
    """
    if not math.isfinite(value) or value == 0 or 0.001 <= abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:.3g}"
