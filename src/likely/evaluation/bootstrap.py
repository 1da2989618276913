"""Bootstrap resamples of trials, and the bounds of intervals computed from them.

References
----------
Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical Association 82, 171-185.
Hesterberg, T. (2015). What teachers should know about the bootstrap. The American Statistician 69, 371-386.
"""

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
    """Bootstrap resamples: draws with replacement of rows, or of groups of dependent rows.

    Draws are stratified by class if every group is of one class only, as is always true for single rows. Each class
    then keeps its number of draws. If groups contain several classes, groups are drawn regardless of their classes.

    Parameters
    ----------
    codes : array of int of shape (n,)
        The class of each row.
    groups : array of labels of shape (n,), optional
        Rows of a group (a speaker, a patient) are drawn together.
    n_resamples : int
    seed : int
        The same seed gives the same draws for any number of threads, and for every metric and system.
    """

    def __init__(self, codes: Integers, groups: Any, n_resamples: int, seed: int) -> None:
        if not is_count(n_resamples, 10, 10**7):
            raise InvalidParameterError(f"n_resamples must be a whole number >= 10, but is {n_resamples!r}.")
        if not is_count(seed, 0, 2**63):
            raise InvalidParameterError(f"seed must be a whole number >= 0, but is {seed!r}.")
        self.n_resamples, self.seed, self.codes = n_resamples, seed, codes
        self.group_of_row = None if groups is None else _encode_groups(groups, len(codes))
        self._strata = self._make_strata()
        self.n_units = min(len(stratum) for stratum in self._strata)
        if self.n_units < 2:
            raise DegenerateDataError(
                "An interval needs at least two independent rows or groups of each class, but a class has only one. "
                "Collect more rows or groups. Alternatively, do not pass groups."
            )

    def _make_strata(self) -> list[Integers]:
        """Return the strata: for each stratum, the indices of its units, which are rows or groups.

        Units are drawn separately within each stratum. There is one stratum per class, or a single stratum if a group
        contains several classes.
        """
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
        """Return how often each row is drawn in the resample with this index.

        If groups contain several classes, a draw may lack a class. Such a draw is repeated, up to 1000 times.
        """
        rng = np.random.default_rng((self.seed, index))
        n_classes = int(self.codes.max()) + 1
        for _ in range(1000):
            weights = self._draw(rng)
            if len(self._strata) > 1 or (np.bincount(self.codes, weights, n_classes) > 0).all():
                return weights
        raise DegenerateDataError(
            "Resamples of groups must contain all classes, but 1000 successive resamples did not. Collect more "
            "groups, or do not pass groups."
        )

    def _draw(self, rng: np.random.Generator) -> Floats:
        n_units = sum(len(stratum) for stratum in self._strata)
        times = np.zeros(n_units)
        for stratum in self._strata:
            drawn = rng.integers(len(stratum), size=len(stratum))
            times[stratum] = np.bincount(drawn, minlength=len(stratum))
        return times if self.group_of_row is None else times[self.group_of_row]

    def evaluate(self, metric: Callable[[Floats], Floats]) -> Floats:
        """Return the value of ``metric`` for each resample, as an array of shape (n_resamples, …).

        ``metric`` is a function of the weights of the rows in a resample (see :meth:`weights`).
        """
        return np.array(for_each(lambda index: metric(self.weights(index)), list(range(self.n_resamples))))


def _encode_groups(groups: Any, n: int) -> Integers:
    """Return, for each row, the index of its group among the sorted groups. Names of groups may have any type."""
    names = np.asarray(groups)
    check_lengths("groups", names, n)
    if names.ndim != 1 or any(name is None or name != name for name in names.tolist()):
        raise InvalidDataError("groups must be a 1D array with one group for each row, but some groups are missing.")
    return np.unique(names.astype(str) if names.dtype.kind in "OT" else names, return_inverse=True)[1].astype(np.intp)


def compute_bca_bounds(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the bounds of BCa intervals: bias-corrected and accelerated percentiles (Efron 1987).

    The bounds are the quantiles of the resampled values at Φ(z₀ + (z₀ ± z) / (1 − a (z₀ ± z))), with the bias
    correction z₀ and the acceleration a.

    Parameters
    ----------
    estimate : array of shape (m,)
    values : array of shape (n_resamples, m)
    z : float
        Quantile of the standard normal distribution, or a wider one for few units (:func:`student_quantile`).
    """
    n = len(values)
    # Bias correction z₀: the normal quantile of the share of resampled values that lie below the estimate. A value
    # equal to the estimate counts half.
    below = (values < estimate).mean(axis=0) + (values == estimate).mean(axis=0) / 2
    bias = norm.ppf(np.clip(below, 1 / n, 1 - 1 / n))
    # Acceleration a: a sixth of the skewness of the resampled values, or 0 if these values are infinite or constant.
    finite = np.asarray(np.isfinite(values).all(axis=0))
    acceleration = np.zeros(len(estimate))
    spread, size = values[:, finite].std(axis=0), np.abs(values[:, finite]).max(axis=0)
    varying = np.flatnonzero(finite)[spread > 1e-12 * size]
    acceleration[varying] = skew(values[:, varying]) / 6
    bounds = []
    for end in (-z, z):
        # Keep the denominator 1 − a (z₀ ± z) positive. If the skewness is strong, it would otherwise become negative.
        shifted = bias + (bias + end) / np.maximum(1 - acceleration * (bias + end), 0.1)
        levels = np.asarray(norm.cdf(shifted))
        bounds.append(np.array([_quantile(*pair) for pair in zip(values.T, levels, strict=True)]))
    return bounds[0], bounds[1]


def _quantile(values: Floats, level: float) -> float:
    """Return the quantile of ``values`` at ``level``.

    Quantiles are interpolated linearly. If a value is infinite, no interpolation is possible, so a value of the sample
    is returned.
    """
    return float(
        np.quantile(values, level) if np.isfinite(values).all() else np.quantile(values, level, method="nearest")
    )


def compute_minimum_bounds(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the bounds of the intervals of minima: normal intervals on a logarithmic scale, after bias correction.

    The centre is the estimate minus twice the bootstrap estimate of its bias, all on the logarithmic scale, because
    resamples show about half of the bias of a minimum.
    """
    mean = values.mean(axis=0)
    positive = (estimate > 0) & (mean > 0)
    # log centre = log estimate − 2 (log mean − log estimate)
    ratio = np.divide(estimate, mean, out=np.ones(len(estimate)), where=positive)
    centre = estimate * ratio**2
    # Delta method: the standard deviation of the logarithm is the relative standard deviation.
    spread = np.divide(values.std(axis=0, ddof=1), mean, out=np.zeros(len(estimate)), where=positive)
    return np.asarray(centre * np.exp(-z * spread)), np.asarray(centre * np.exp(z * spread))


def compute_loss_bounds(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the bounds of the intervals of a loss: actual cost minus minimum cost.

    The intervals are normal and contain no negative values. The centre is the estimate minus twice the bootstrap
    estimate of its bias. The bias is upward, because the minimum cost, which is subtracted, is biased downwards.
    """
    centre = estimate - 2 * (values.mean(axis=0) - estimate)
    reach = z * values.std(axis=0, ddof=1)
    return np.maximum(centre - reach, 0), np.maximum(centre + reach, 0)


def student_quantile(level: float, n_units: int) -> float:
    """Return the quantile of Student's t for a confidence level, times √(n / (n − 1)) for n units.

    Values of a metric vary too little between resamples of few units, so intervals would be too narrow. This factor
    corrects their width (Hesterberg 2015).
    """
    return float(t.ppf((1 + level) / 2, n_units - 1) * np.sqrt(n_units / (n_units - 1)))
