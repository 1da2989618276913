"""Rows of a kernel's matrix, kept within a limit of memory."""

from __future__ import annotations

import math

import numpy as np

from likely._typing import Floats, Integers, Rows
from likely.blocks import Block
from likely.exceptions import InvalidParameterError
from likely.kernels.base import Kernel
from likely.kernels.columns import by_pieces

__all__ = ["GramRows"]

LARGEST_SET = 3072
"""Rows that are looked at together, at most: their square takes 75 MB."""


class GramRows:
    """Rows of the kernel's matrix of the training rows, reckoned when asked for and kept while there is room.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR array of shape (n, d)
    bytes_kept : int
        Most memory, of which a quarter is for a square of rows that are looked at together, and the rest for rows kept;
        those not used for the longest time make room for others.

    Attributes
    ----------
    n : int
    capacity : int
        Rows that can be kept.
    most_together : int
        Rows that can be looked at together.
    n_reckoned : int
        Rows reckoned so far, of which some may have been so more than once.
    """

    def __init__(self, kernel: Kernel, X: Rows, bytes_kept: int) -> None:
        self.X, self.n = X, X.shape[0]
        self._columns = kernel.columns(X)
        together = int(min(LARGEST_SET, math.isqrt(bytes_kept // 32)))
        self.capacity = min(self.n, (bytes_kept - 8 * min(together, self.n) ** 2) // (8 * self.n))
        if min(self.capacity, together) < 2:
            raise InvalidParameterError(
                f"Two rows of the kernel of {self.n} rows must be kept, which with their square takes "
                f"{(16 * self.n + 128) / 1e6:.2g} MB, but the cache may take {bytes_kept / 1e6:.2g} MB. Raise cache_mb."
            )
        self.most_together = min(together, self.capacity)
        self.kept = np.empty((self.capacity, self.n))  # memory that nobody wrote to is not taken
        self._slot = np.full(self.n, -1, dtype=np.intp)
        self._owner = np.full(self.capacity, -1, dtype=np.intp)
        self._used = np.zeros(self.capacity, dtype=np.intp)
        self._clock, self.n_reckoned = 0, 0

    def slots(self, rows: Integers) -> Integers:
        """Where in ``kept`` these rows are now, at most ``capacity`` of them; the others may be gone after the call."""
        self._clock += 1
        found = self._slot[rows]
        self._used[found[found >= 0]] = self._clock
        missing = rows[found < 0]
        if len(missing):
            self._reckon(missing)
        return np.asarray(self._slot[rows])

    def _reckon(self, missing: Integers) -> None:
        slots = np.argsort(self._used, kind="stable")[: len(missing)]  # unused ones first, in their order
        owners = self._owner[slots]
        self._slot[owners[owners >= 0]] = -1
        self._owner[slots], self._slot[missing], self._used[slots] = missing, slots, self._clock

        def keep(part: slice, columns: slice, piece: Floats) -> None:
            self.kept[slots[part], columns] = piece

        by_pieces(self._columns, self.X[missing], keep)
        if not np.isfinite(
            self.kept[slots, missing]
        ).all():  # no kernel of two rows is larger than those with themselves
            raise Block(self.X).non_finite()
        self.n_reckoned += len(missing)
