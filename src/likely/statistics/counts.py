"""How much weight fell on each of a fixed number of codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["Counts"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight per code: an immutable value with ``+`` and a zero.

    Parameters
    ----------
    weights : array of shape (n_codes,)
        Total weight of the rows that carry each code.

    Examples
    --------
    >>> import numpy as np
    >>> a = Counts.of(np.array([0, 2, 2]), n_codes=3)
    >>> b = Counts.of(np.array([1, 2]), n_codes=3, weight=np.array([0.5, 4.0]))
    >>> (a + b).weights
    array([1. , 0.5, 6. ])
    >>> (a + Counts.zero(3)).proportions()
    array([0.33333333, 0.        , 0.66666667])
    """

    weights: Floats

    def __post_init__(self) -> None:
        self.weights.flags.writeable = False

    @classmethod
    def zero(cls, n_codes: int) -> Counts:
        """The counts of no rows."""
        return cls(np.zeros(n_codes))

    @classmethod
    def of(cls, codes: Integers, n_codes: int, weight: Floats | None = None) -> Counts:
        """The counts of rows that carry ``codes`` in ``range(n_codes)``."""
        return cls(np.bincount(codes, weight, minlength=n_codes).astype(np.float64))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.weights + other.weights)

    def proportions(self) -> Floats:
        """Each code's share of the whole weight: the maximum-likelihood probabilities."""
        return np.asarray(self.weights / self.weights.sum())
