"""Newton's steps over the multipliers that are between their bounds: for problems at which steps of pairs crawl."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likely._typing import Floats

__all__ = ["climb_face"]

MOST_STEPS, WORK = 30, 4000
"""Steps, each of which solves for all free multipliers and ends at the first bound; and fewer where these are many, so
that they take about as long as the changes of pairs before them."""

RIDGE = 1e-13
"""Added to the diagonal, in parts of its mean, where free rows depend on each other."""


def climb_face(K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, has_bias: bool) -> None:
    """Maximise the dual over the free multipliers, which leave when they come to a bound; α and v change in place.

    Steps of pairs gain little where the matrix is nearly singular, as with columns of very different scale: thousands
    of them do what one solution of K_FF δ = v_F − b does, with Σ δ = 0 where there is a bias. Steps are cut at the
    first bound, so each climbs.
    """
    for steps in range(MOST_STEPS):
        free = np.flatnonzero((alpha > 0) & (alpha < C))
        if len(free) < 2 or steps > WORK * len(z) ** 2 // len(free) ** 3:
            return
        step = _newton(K[np.ix_(free, free)], v[free], has_bias)
        if step is None:
            return
        toward = z[free] * step
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                toward > 0, (C[free] - alpha[free]) / toward, np.where(toward < 0, -alpha[free] / toward, np.inf)
            )
        first = int(room.argmin())
        length = min(1.0, float(room[first]))
        alpha[free] = np.clip(alpha[free] + length * toward, 0.0, C[free])
        if length < 1:
            alpha[free[first]] = C[free[first]] if toward[first] > 0 else 0.0
        v -= length * (step @ K[free])
        if length == 1:
            return


def _newton(K: Floats, v: Floats, has_bias: bool) -> Floats | None:
    """The step that leaves the same v at all free rows (0 without a bias); none if K, overwritten, has no factor."""
    K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / len(K)
    try:
        factor = cho_factor(K, lower=True, overwrite_a=True)
    except LinAlgError:
        return None
    step = cho_solve(factor, v)
    if has_bias:
        ones = cho_solve(factor, np.ones(len(v)))
        step -= step.sum() / ones.sum() * ones
        step -= step.mean()  # where free rows depend on each other both are huge, and what cancels leaves no zero
    return np.asarray(step) if np.isfinite(step).all() and float(step @ v) > 0 else None
