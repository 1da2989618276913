"""What the library noted on the way, told in short: a line for each kind, with how often it was said."""

from __future__ import annotations

import re

from likely._formatting import shorten as shortened
from likely.cli.app import as_options

__all__ = ["brief_notes", "first_sentence"]

_MOST, _WIDTH = 5, 150
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z'\"(])")
_FOLDED = [
    (re.compile(r" \([^()]*\)"), ""),
    (re.compile(r"'[^']*'"), "#"),
    (re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?"), "#"),
    (re.compile(r"#(?:(?:, | and |, and )(?:#|…))+"), "#"),
]


def brief_notes(notes: list[str]) -> tuple[list[str], bool]:
    """The first note of each kind in about two lines, and whether anything was left out.

    Notes are alike if their first sentences are, but for numbers, names, lists of them and what is in brackets.

    Examples
    --------
    >>> brief_notes(["Class 'a' has rank 3 (constant: 1, 2). Drop it.", "Class 'b' has rank 1e-2.", "Slow."])
    (["Class 'a' has rank 3 (constant: 1, 2). (and 1 like it)", 'Slow.'], True)
    """
    kinds: dict[str, list[str]] = {}
    for note in notes:
        first = first_sentence(as_options(note))
        kinds.setdefault(_folded(first), []).append(first)
    lines = [_line(alike) for alike in kinds.values()]
    whole = lines[:_MOST] == [as_options(note) for note in notes]
    return lines[:_MOST], not whole


def first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    return _SENTENCE.split(text, maxsplit=1)[0]


def _line(alike: list[str]) -> str:
    more = f" (and {len(alike) - 1} like it)" if len(alike) > 1 else ""
    return shortened(alike[0], _WIDTH - len(more)) + more


def _folded(text: str) -> str:
    for pattern, sign in _FOLDED:
        text = pattern.sub(sign, text)
    return text
