"""Bootstrap resamples of trials, and the ends of intervals computed from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm, skew, t

from likely._constraints import is_count
from likely._typing import Floats, Integers
from likely.blocks import for_each
from likely.evaluation.truth import check_lengths
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError


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


def accelerated(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated percentiles (Efron's BCa)."""
    n = len(values)
    below = (values < estimate).mean(axis=0) + (values == estimate).mean(axis=0) / 2
    bias = norm.ppf(np.clip(below, 1 / n, 1 - 1 / n))
    finite = np.asarray(np.isfinite(values).all(axis=0))
    acceleration = np.zeros(len(estimate))
    spread, size = values[:, finite].std(axis=0), np.abs(values[:, finite]).max(axis=0)
    moving = np.flatnonzero(finite)[spread > 1e-12 * size]
    acceleration[moving] = skew(values[:, moving]) / 6
    bounds = []
    for end in (-z, z):
        shifted = bias + (bias + end) / np.maximum(1 - acceleration * (bias + end), 0.1)
        shares = np.asarray(norm.cdf(shifted))
        bounds.append(np.array([_quantile_of(*pair) for pair in zip(values.T, shares, strict=True)]))
    return bounds[0], bounds[1]


def _quantile_of(values: Floats, share: float) -> float:
    """A quantile, interpolated unless there is an infinity, since nothing lies between infinities."""
    return float(
        np.quantile(values, share) if np.isfinite(values).all() else np.quantile(values, share, method="nearest")
    )


def around_minimum(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """A normal interval of the logarithm, about the estimate less twice the bias that the resamples show."""
    mean = values.mean(axis=0)
    positive = (estimate > 0) & (mean > 0)
    ratio = np.divide(estimate, mean, out=np.ones(len(estimate)), where=positive)
    spread = np.divide(values.std(axis=0, ddof=1), mean, out=np.zeros(len(estimate)), where=positive)
    centre = estimate * ratio**2
    return np.asarray(centre * np.exp(-z * spread)), np.asarray(centre * np.exp(z * spread))


def around_loss(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """A normal interval about the estimate less twice the bias, which for actual minus minimum is upward; from 0 on."""
    centre = estimate - 2 * (values.mean(axis=0) - estimate)
    reach = z * values.std(axis=0, ddof=1)
    return np.maximum(centre - reach, 0), np.maximum(centre + reach, 0)


def student_quantile(level: float, n_units: int) -> float:
    """Of Student's t, with the spread of a sample made up for: resamples of few units vary too little."""
    return float(t.ppf((1 + level) / 2, n_units - 1) * np.sqrt(n_units / (n_units - 1)))
