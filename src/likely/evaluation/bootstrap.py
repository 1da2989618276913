"""Resamples of trials: which rows are drawn how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likely._typing import Floats, Integers
from likely._validation import is_count
from likely.blocks import for_each
from likely.evaluation.truth import check_lengths
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError

__all__ = ["Bootstrap"]


class Bootstrap:
    """Draws of rows, or of groups of rows that depend on each other, with replacement.

    Each class keeps its number of draws where groups are of one class each, as single rows are. Where groups hold
    several classes, groups are drawn whatever they hold.

    Parameters
    ----------
    codes : array of int of shape (n,)
        The class of each row.
    groups : array of labels of shape (n,), optional
        Rows of a group (a speaker, a patient) are drawn together.
    n_resamples : int
    seed : int
        The same seed draws the same, however many threads there are, and for every metric and system.
    """

    def __init__(self, codes: Integers, groups: Any, n_resamples: int, seed: int) -> None:
        if not is_count(n_resamples, 10, 10**7):
            raise InvalidParameterError(f"n_resamples must be a whole number from 10 on, but is {n_resamples!r}.")
        if not is_count(seed, 0, 2**63):
            raise InvalidParameterError(f"seed must be a whole number from 0 on, but is {seed!r}.")
        self.n_resamples, self.seed, self.codes = n_resamples, seed, codes
        self.group_of_row = None if groups is None else _groups(groups, len(codes))
        self._strata = self._make_strata()
        self.n_units = min(len(stratum) for stratum in self._strata)
        if self.n_units < 2:
            raise DegenerateDataError(
                "An interval needs two independent rows or groups of each class at least, but there is one. "
                "Gather more, or draw rows instead of groups."
            )

    def _make_strata(self) -> list[Integers]:
        """Units, that is rows or groups, that are drawn among each other."""
        if self.group_of_row is None:
            return [np.flatnonzero(self.codes == k) for k in np.unique(self.codes)]
        n_groups = int(self.group_of_row.max()) + 1
        low, high = np.full(n_groups, np.iinfo(np.intp).max), np.full(n_groups, -1)
        np.minimum.at(low, self.group_of_row, self.codes)
        np.maximum.at(high, self.group_of_row, self.codes)
        if (low == high).all():
            return [np.flatnonzero(low == k) for k in np.unique(low)]
        return [np.arange(n_groups)]

    def weights(self, index: int) -> Floats:
        """How often each row is drawn in the resample of this index."""
        rng = np.random.default_rng((self.seed, index))
        n_classes = int(self.codes.max()) + 1
        for _ in range(1000):
            weights = self._draw(rng)
            if len(self._strata) > 1 or (np.bincount(self.codes, weights, n_classes) > 0).all():
                return weights
        raise DegenerateDataError(
            "Resamples of groups hardly ever hold all classes. Gather more groups, or draw rows instead."
        )

    def _draw(self, rng: np.random.Generator) -> Floats:
        n_units = sum(len(stratum) for stratum in self._strata)
        times = np.zeros(n_units)
        for stratum in self._strata:
            drawn = rng.integers(len(stratum), size=len(stratum))
            times[stratum] = np.bincount(drawn, minlength=len(stratum))
        return times if self.group_of_row is None else times[self.group_of_row]

    def over(self, metric: Callable[[Floats], Floats]) -> Floats:
        """Values of a function of the weights, of shape (n_resamples, …)."""
        return np.array(for_each(lambda index: metric(self.weights(index)), list(range(self.n_resamples))))


def _groups(groups: Any, n: int) -> Integers:
    """The position of each row's group among the groups; whatever names them."""
    names = np.asarray(groups)
    check_lengths("groups", names, n)
    if names.ndim != 1 or any(name is None or name != name for name in names.tolist()):
        raise InvalidDataError("groups must name the group of every row, in one row, but some are missing.")
    return np.unique(names.astype(str) if names.dtype.kind in "OT" else names, return_inverse=True)[1].astype(np.intp)
