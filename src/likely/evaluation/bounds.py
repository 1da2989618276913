"""Ends of intervals from the values that resamples gave: one form for plain numbers, one for minima, one for losses."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, skew, t

from likely._typing import Floats

__all__ = ["accelerated", "around_loss", "around_minimum", "student_quantile"]


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
