"""Which multipliers to change next, and how far they are from right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Booleans, Floats, Integers

__all__ = ["Standing", "fresh_and_old", "primal_value"]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where multipliers stand.

    Attributes
    ----------
    bias : float
        Between the highest v of an up row and the lowest of a low one; 0 where there is none.
    violation : float
        By how much the worst row is on the wrong side of it.
    upper, lower : array of shape (n,)
        v of the rows that are up (else −inf), and of those that are low (else inf).
    primal, dual : float
        Values of both problems: the primal's is infinite where a hard margin is not kept.
    square : float
        ‖w‖².
    """

    bias: float
    violation: float
    upper: Floats
    lower: Floats
    primal: float
    dual: float
    square: float

    @classmethod
    def of(cls, alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool) -> Standing:
        """That of multipliers and the scores they give."""
        v = z - f
        can_rise, can_fall = alpha < C, alpha > 0
        upper = np.where(np.where(z > 0, can_rise, can_fall), v, -np.inf)
        lower = np.where(np.where(z > 0, can_fall, can_rise), v, np.inf)
        highest, lowest = float(upper.max()), float(lower.min())
        bias = (highest + lowest) / 2 if has_bias else 0.0
        square = max(float((alpha * z) @ f), 0.0)
        dual = float(alpha.sum()) - square / 2
        violation = max(highest - bias, bias - lowest)
        primal, _ = primal_value(alpha, square, z * (f + bias), C)
        return cls(bias, violation, upper, lower, primal, dual, square)


def primal_value(alpha: Floats, square: float, margins: Floats, C: Floats) -> tuple[float, float]:
    """½‖w‖² + Σ C max(0, 1 − margin), and by how much weights are to be made longer for it.

    That is 1; or until all margins are 1, if the value is less then and multipliers keep their bounds. There is no
    other value of a hard margin, and with a large C it is what rounding leaves: 1 − margin is 1e-16 at best.
    """
    least = float(margins.min())
    s = 1 / min(least, 1.0) if least > 0 else np.inf
    value = np.inf if np.isinf(C).any() else square / 2 + float(C @ np.maximum(1 - margins, 0.0))
    longer = square / 2 * s**2 if s < np.inf and (s * alpha <= C).all() else np.inf
    return (longer, s) if longer < value else (value, 1.0)


def fresh_and_old(standing: Standing, old: Integers, most: int, is_free: Booleans) -> Integers:
    """All rows if there is room; else those most wrong, of each side a quarter of it, and then those of the last time.

    Of the last ones those come first that are between their bounds: they belong to the solution, and change whenever
    others do.
    """
    if len(is_free) <= most:
        return np.arange(len(is_free))
    some = max(1, most // 4)
    wrong_up, wrong_low = _largest(standing.upper, some), _largest(-standing.lower, some)
    wrong_up = wrong_up[standing.upper[wrong_up] > standing.bias]
    wrong_low = wrong_low[standing.lower[wrong_low] < standing.bias]
    fresh = np.union1d(wrong_up, wrong_low)
    left = old[~np.isin(old, fresh)]
    left = np.concatenate([left[is_free[left]], left[~is_free[left]]])
    return np.sort(np.concatenate([fresh, left])[:most])


def _largest(values: Floats, k: int) -> Integers:
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]
