"""Formatting of numbers, names and lists in messages, tables, pages and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_JOINERS = "\u200c\u200d"
"""Invisible characters that join their neighbours. Some scripts and emoji need them, so they are not escaped."""


def format_number(value: float | None, none: str = "") -> str:
    """Format a number with three decimals, or with three significant digits if it is very small or large.

    The three decimals are used for 0 and for magnitudes from 0.001 up to 1000.

    Parameters
    ----------
    value : float or None
    none : str, default ""
        The text for None.

    Examples
    --------
    >>> format_number(0.12345), format_number(1234.5), format_number(0.00012), format_number(math.inf)
    ('0.123', '1.23e+03', '0.00012', '∞')
    """
    if value is None:
        return none
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1000 else f"{value:.3g}"


def format_cost(cost: float | None) -> str:
    """Format a cost. None is an infinite cost: costs may come from JSON, which has no infinity.

    Examples
    --------
    >>> format_cost(0.5), format_cost(None)
    ('0.500', '∞')
    """
    return format_number(cost, none="∞")


def format_significant(value: float | None, digits: int = 3, none: str = "infinite") -> str:
    """Format a number with ``digits`` significant digits, a minus sign and a short exponent, as on axes of plots.

    Examples
    --------
    >>> format_significant(0.12345), format_significant(-2.0), format_significant(1234567.0), format_significant(None)
    ('0.123', '−2', '1.23e6', 'infinite')
    """
    if value is None:
        return none
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 10**digits:
        text = f"{value:.{digits}g}"
    elif 1 <= abs(value) < 1e5:
        text = f"{value:.0f}"
    else:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    return text.replace("-", "−")


def format_percent(share: float | None, digits: int = 3, none: str = "unknown") -> str:
    """Format a share in percent with ``digits`` significant digits, or with at most two if the share is below 1 %.

    Examples
    --------
    >>> format_percent(0.12345), format_percent(0.000625), format_percent(1.0), format_percent(0.12345, 2)
    ('12.3 %', '0.062 %', '100 %', '12 %')
    """
    if share is None:
        return none
    return f"{format_significant(100 * share, digits if share >= 0.01 else min(digits, 2))} %"


def format_amount(value: float | None) -> str:
    """Format a count or a setting.

    Whole numbers have commas between groups of three digits. Other numbers have three significant digits.

    Examples
    --------
    >>> format_amount(1234567), format_amount(0.25), format_amount(None)
    ('1,234,567', '0.25', '')
    """
    if value is None:
        return ""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.3g}"


def format_count(n: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> format_count(1, "row"), format_count(3, "row"), format_count(0, "class", "classes")
    ('1 row', '3 rows', '0 classes')
    """
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def shorten(text: str, width: int) -> str:
    """Cut a text to at most ``width`` characters. A text that was cut ends with an ellipsis.

    Examples
    --------
    >>> shorten("a long name", 7), shorten("name", 7)
    ('a long…', 'name')
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def escape_controls(text: str) -> str:
    r"""Replace line breaks, and other characters that are invisible or control a terminal, by escape sequences.

    Examples
    --------
    >>> print(escape_controls("one\ntwo"))
    one\ntwo
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in _JOINERS else repr(sign)[1:-1] for sign in text)


def format_label(label: Any, width: int = 60) -> str:
    r"""Format a label or name of any content on one line of at most ``width`` characters.

    Examples
    --------
    >>> format_label("one\ntwo"), format_label(3), format_label("long" * 100, width=9)
    ('one\\ntwo', '3', 'longlong…')
    """
    return shorten(escape_controls(str(label)[: 2 * width]), width)


def quote(name: Any, width: int = 60) -> str:
    """Format a label or name in quotation marks.

    Examples
    --------
    >>> quote("setosa")
    "'setosa'"
    """
    return f"'{format_label(name, width)}'"


def format_value(value: Any, width: int = 62) -> str:
    """Format any value by its ``repr``, cut to at most ``width`` characters.

    A text that is cut keeps its closing quotation mark.

    Examples
    --------
    >>> format_value(0.5), format_value("x" * 100, 10)
    ('0.5', "'xxxxxxx…'")
    """
    text = repr(value)
    if len(text) <= width:
        return text
    end = text[-1] if isinstance(value, (str, bytes)) else ""
    return shorten(text[: -len(end) or None], width - len(end)) + end


def format_names(names: Sequence[Any], max_names: int = 10) -> str:
    """Format names as a list in a sentence. After the first ``max_names``, only the number of further names is given.

    Examples
    --------
    >>> format_names(["a", "b"]), format_names([1, 2, 3], max_names=2)
    ("'a', 'b'", '1, 2 and 1 more')
    """
    listed = ", ".join(format_value(name) for name in list(names)[:max_names])
    return listed + (f" and {len(names) - max_names} more" if len(names) > max_names else "")
