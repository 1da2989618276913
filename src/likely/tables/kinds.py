"""Columns of text: are they numbers or categories, and what in them is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from likely._typing import Booleans, Floats, Integers
from likely.tables.cells import Kind, distinct
from likely.tables.columns import is_number
from likely.tables.files import arrow

__all__ = ["NO_NUMBER", "TextColumn", "is_gap", "is_missing_text"]

_COMMA = re.compile(r"[+-]?[0-9.]+(,[0-9]+)+(\.[0-9]+)?")
_MISSING_TEXTS = {"", "na", "n/a", "nan", "null"}
_MISSING_NUMBERS = _MISSING_TEXTS | {"none", "?", "+nan", "-nan"}


def is_missing_text(cell: str) -> bool:
    """Whether a cell of a column of categories is missing: empty, NA, N/A, NaN or null."""
    return cell.strip(" \t").lower() in _MISSING_TEXTS


def is_gap(cell: str) -> bool:
    """Whether a cell of a column of numbers is missing: as for categories, and None and the question mark."""
    return cell.strip(" \t").lower() in _MISSING_NUMBERS


def _cases(word: str) -> list[str]:
    """A word in all mixtures of small and capital letters."""
    return ["".join(letters) for letters in product(*({letter.lower(), letter.upper()} for letter in word))]


NO_NUMBER = sorted(case for word in _MISSING_NUMBERS for case in _cases(word))
"""The texts that the fast reader takes for a missing number; it knows them only letter for letter."""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text by its distinct texts, so that it is the texts that are looked at, not the rows."""

    texts: list[str]
    codes: Integers

    @classmethod
    def of(cls, column: Any) -> TextColumn:
        return cls(*distinct(column))

    def share(self, test: Callable[[str], bool] = is_number) -> float:
        """The share of numbers, or of what else is asked for, among the cells that are not missing: 1 if all are."""
        counts = np.bincount(self.codes, minlength=len(self.texts))
        found = int(counts[self._mask(test)].sum())
        there = int(counts[~self._mask(is_gap)].sum())
        return found / there if there else 1.0

    def kind(self) -> Kind | None:
        """Numbers if every cell that is not missing is one, categories if fewer than half are, else neither."""
        share = self.share()
        if share == 1.0:
            return "number"
        return "category" if share < 0.5 else None

    def numbers(self) -> Floats:
        """The cells as numbers: NaN where there is none."""
        values = [float(text) if is_number(text) else np.nan for text in self.texts]
        return np.asarray(np.array(values, dtype=np.float64)[self.codes])

    def categories(self) -> Any:
        """The cells as an Arrow column of texts, null where they are missing."""
        pa = arrow()
        texts = pa.array([None if is_missing_text(text) else text for text in self.texts], pa.string())
        return pa.chunked_array([texts.take(pa.array(self.codes))])

    def first_text(self) -> int | None:
        """The first row whose cell is neither a number nor missing, if there is one."""
        return self._first(lambda text: not (is_number(text) or is_gap(text)))

    def first_missing(self) -> int | None:
        """The first row whose text is missing, if there is one."""
        return self._first(is_missing_text)

    def first_comma(self) -> int | None:
        """The first row of a number with a comma, if at least half of the cells are numbers with or without one."""
        row = self._first(_has_comma)
        often = row is not None and self.share(lambda text: is_number(text) or _has_comma(text)) >= 0.5
        return row if often else None

    def _first(self, test: Callable[[str], bool]) -> int | None:
        rows = self._mask(test)[self.codes]
        return int(rows.argmax()) if rows.any() else None

    def _mask(self, test: Callable[[str], bool]) -> Booleans:
        return np.array([test(text) for text in self.texts], dtype=bool)


def _has_comma(cell: str) -> bool:
    """Whether a cell is a number written with a comma, for decimals or thousands."""
    return _COMMA.fullmatch(cell.strip(" \t")) is not None
