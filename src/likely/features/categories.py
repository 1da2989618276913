"""A column of categories as indicators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.tables.cells import distinct

__all__ = ["Categories"]


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a column by falling frequency, of which the first ``kept`` are told apart.

    ``shares`` has the share of each in training, and after them that of the missing.
    """

    texts: list[str]
    shares: Floats
    kept: int

    @classmethod
    def of(cls, column: Any, weight: Floats | None, most: int) -> Categories:
        """The categories of an Arrow column; equally frequent ones are sorted."""
        texts, codes = distinct(column)
        sums = np.bincount(codes + 1, weight, minlength=len(texts) + 1)
        shares = sums / sums.sum()
        # Sums of weights in another order may differ by rounding, and equally frequent categories must not.
        ranks = (-shares.round(12)).tolist()
        seen = np.flatnonzero(sums[1:] > 0).tolist()
        order = sorted(seen, key=lambda at: (ranks[at + 1], texts[at]))
        return cls([texts[at] for at in order], np.append(shares[1:][order], shares[0]), min(len(order), most))

    def indicators(self) -> list[str]:
        """What each indicator stands for; the first category is the reference and has none."""
        other = ["(other)"] if len(self.texts) > self.kept else []
        missing = ["(missing)"] if self.texts and self.shares[-1] > 0 else []
        return [*self.texts[1 : self.kept], *other, *missing]

    def rows(self) -> Floats:
        """A row of indicators for each category, then for a missing one, and last for one that was not seen."""
        kept = self.kept
        rows = np.zeros((len(self.texts) + 2, len(self.indicators())))
        rows[np.arange(1, kept), np.arange(kept - 1)] = 1.0
        rows[kept:-2, kept - 1 : kept] = 1.0
        if self.shares[-1] > 0:
            rows[-2, -1:] = 1.0
        rows[-1] = self.shares @ rows[:-1]
        if not self.shares[-1] > 0:
            rows[-2] = rows[-1]
        return rows

    def encoded(self, column: Any) -> Floats:
        """The indicators of an Arrow column; the distinct texts are looked up, not the rows."""
        texts, codes = distinct(column)
        places = {text: at for at, text in enumerate(self.texts)}
        found = [places.get(text, len(self.texts) + 1) for text in texts]
        # The code of a missing cell is -1.
        return np.asarray(self.rows()[np.array([*found, len(self.texts)])[codes]])
