"""Numbers as short text: whole numbers in base 32, five bits to a letter, as the page's script reads them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["decoded", "encoded"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""The first 32 end a number; each of the others is followed by the next five bits."""


def encoded(numbers: Iterable[int]) -> str:
    """Whole numbers >= 0, the small ones in one letter.

    Examples
    --------
    >>> encoded([0, 31, 32, 1000])
    'AfgBof'
    >>> decoded("AfgBof")
    [0, 31, 32, 1000]
    """
    letters = []
    for number in numbers:
        while number > 31:
            letters.append(_LETTERS[32 + (number & 31)])
            number >>= 5
        letters.append(_LETTERS[number])
    return "".join(letters)


def decoded(text: str) -> list[int]:
    """The numbers that :func:`encoded` wrote."""
    numbers, number, shift = [], 0, 0
    for letter in text:
        value = _LETTERS.index(letter)
        number |= (value & 31) << shift
        shift += 5
        if value < 32:
            numbers.append(number)
            number, shift = 0, 0
    return numbers
