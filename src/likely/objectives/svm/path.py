"""The way to the minimum of a sum of hinge losses: the minima of smoothed ones, followed as they become sharp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likely._typing import Floats
from likely.objectives.svm.points import Point, Problem
from likely.objectives.svm.systems import System

__all__ = ["follow"]

NEAR, AIM, LOST, ASTRAY = 0.3, 0.3, 1.0, 25.0
"""Newton steps in units of μ, as they move the rows at the margin: from which on the next μ may be gone to, how long
the first one there is wished to be, from where on the way there is taken to be lost, and a start to be astray: starts
from samples with 15 to 22 took some 25 passes, those with 30 to 50,000, of few rows of one class, 60 to 500."""

SMOOTH = 1.0
"""μ at which a start from nowhere finds its way: the margin is 1."""

FIRST_BEND = 0.5
"""How much the path is taken to bend at first, by μ."""

LEAST_RATIO, MOST_RATIO = 1e-4, 0.9
"""Of one μ to the one before."""

SMOOTH_SHARE, AIMED_SHARE = 0.8, 0.5
"""Of the gap that is allowed, how much smoothing may make, and how much it is aimed to make."""

CERTAIN, FLATTER, ROUNDING, MOST_TRIALS = 0.02, 0.7, 1e-14, 30
"""A step so short is taken as it is; a longer one must make the objective flatter by such a factor along it, with
some rounding of the value allowed, in so many trials."""

SURE = 1e-8
"""Relative gap that doubles allow for but the worst of rows; smaller ones are gone to in stages, as far as they do."""

PATIENCE = 20
"""Passes without progress after which rounding is taken to allow none."""


@dataclass(eq=False)
class _Walk:
    """The state of a walk along the path."""

    problem: Problem
    tolerance: float
    most_passes: int
    tell: Callable[[int, float], None] | None
    passes: int = 0
    idle: int = 0
    best: Point | None = None
    bend: float = 0.0
    power: float = 1.0

    def look(self, theta: Floats, mu: float) -> Point:
        point = self.problem.at(theta, mu)
        self.passes += 1
        gap, least = point.relative_gap, np.inf if self.best is None else self.best.relative_gap
        self.idle = 0 if gap < 0.99 * least else self.idle + 1
        if self.best is None or gap < least:
            self.best = point
        if self.tell is not None:
            self.tell(self.passes, gap)
        return point

    @property
    def goal(self) -> float:
        """The gap to reach next."""
        assert self.best is not None
        return max(self.tolerance, min(SURE, self.best.relative_gap / 10))

    @property
    def is_over(self) -> bool:
        assert self.best is not None
        return self.best.relative_gap <= self.tolerance or self.passes >= self.most_passes or self.idle >= PATIENCE


def follow(
    problem: Problem,
    theta: Floats,
    mu: float,
    tolerance: float,
    most_passes: int,
    tell: Callable[[int, float], None] | None = None,
) -> tuple[Point, int]:
    """The point with the least gap on the way, and the number of passes.

    At every μ Newton steps lead to the minimum of the smoothed objective; when it is near, the next step goes towards
    the minimum of a smaller μ, along the tangent of the path of minima. How much smaller μ may be is learned on the
    way: the first Newton step at the new μ shows how much the path bends. Once what smoothing adds to the gap is small
    enough, μ stays, and Newton steps close the gap. A start that is astray is not taken.
    """
    walk = _Walk(problem, tolerance, most_passes, tell, bend=FIRST_BEND / mu)
    point = walk.look(theta, mu)
    newton = problem.system(point)
    if newton.length > ASTRAY and mu < SMOOTH:
        walk.bend, point = FIRST_BEND / SMOOTH, walk.look(np.zeros_like(theta), SMOOTH)
        newton = problem.system(point)
    while not walk.is_over:
        if point.smooth_gap > 1:  # more is smoothed than there is
            point = walk.look(point.theta, point.mu * float(np.clip(point.smooth_gap**-0.5, 1e-3, 0.3)))
            newton = problem.system(point)
            continue
        if newton.length < NEAR and point.smooth_gap > SMOOTH_SHARE * walk.goal:
            found = _advance(walk, point, newton)
            if found is not None:
                point, newton = found
                continue
        if walk.is_over:
            break
        lower = _descend(walk, point, newton)
        if lower is None:
            break
        point, newton = lower, problem.system(lower)
    assert walk.best is not None
    return walk.best, walk.passes


def _advance(walk: _Walk, point: Point, newton: System) -> tuple[Point, System] | None:
    """A point near the minimum at a smaller μ; none, if the path bends so much that μ can hardly be smaller."""
    ratio = _ratio(walk, point, newton.length)
    for _ in range(2):
        mu = ratio * point.mu
        ahead = walk.look(point.theta + newton.step + (mu - point.mu) * newton.tangent, mu)
        onward = walk.problem.system(ahead)
        # The error of the Newton step before and that of the tangent add up, and count the more the smaller μ is.
        bent = max(onward.length * ratio - newton.length**2, 1e-3 * onward.length * ratio)
        walk.bend = bent / (1 - ratio) ** 2 / point.mu if np.isfinite(bent) else walk.bend
        if onward.length < LOST or ahead.relative_gap < point.relative_gap / 2 or walk.is_over:
            walk.idle = 0
            gained = ahead.smooth_gap / point.smooth_gap
            walk.power = float(np.clip(np.log(gained) / np.log(ratio), 1, 2)) if gained > 0 else 1.0
            return ahead, onward
        ratio = min(float(np.sqrt(ratio)), MOST_RATIO)
    return None


def _ratio(walk: _Walk, point: Point, length: float) -> float:
    """How much smaller the next μ shall be: as much as the path allows, and no more than the gap needs."""
    tried = np.geomspace(LEAST_RATIO, 1.0, 200)
    expected = (length**2 + walk.bend * point.mu * (1 - tried) ** 2) / tried
    allowed = float(tried[np.flatnonzero(expected <= AIM)[0]])
    needed = float(AIMED_SHARE * walk.goal / point.smooth_gap) ** (1 / walk.power)
    return float(min(max(allowed, needed), MOST_RATIO))


def _descend(walk: _Walk, point: Point, newton: System) -> Point | None:
    """A point further down at the same μ; none, if rounding hides where down is.

    Where a step goes too far, along it the smoothed objective is nearly two straight lines with a narrow bend, at which
    a row comes to the margin. They meet where the tangents do that are known, and there the next step sees the row.
    """
    start = low = _Along(0.0, point.value, float(point.gradient @ newton.step))
    high, length, slack, idle = None, 1.0, ROUNDING * abs(point.value), walk.idle
    for _ in range(MOST_TRIALS):
        lower = walk.look(point.theta + length * newton.step, point.mu)
        walk.idle = min(walk.idle, idle + 1)  # trials are no steps
        here = _Along(length, lower.value, float(lower.gradient @ newton.step))
        fell = here.value <= start.value + 1e-4 * length * start.slope + slack
        if newton.length < CERTAIN or (fell and abs(here.slope) <= -FLATTER * start.slope):
            walk.idle = 0 if here.value < start.value - 1e3 * slack else walk.idle
            return lower
        if walk.is_over:
            return None
        if here.slope < 0 and fell:
            if high is None:
                return lower
            low = here
        else:
            high = here
        length = low.meets(high)
    return lower if fell else None


@dataclass(frozen=True)
class _Along:
    """The smoothed objective at a place along a step."""

    length: float
    value: float
    slope: float

    def meets(self, other: _Along | None) -> float:
        """Where the tangents here and at a place further on meet, within what is between."""
        assert other is not None
        gap = other.length - self.length
        if not np.isfinite(other.value + other.slope):
            return self.length + gap / 10
        steeper = other.slope - self.slope
        share = (self.value - other.value + other.slope * gap) / (steeper * gap) if steeper > 0 else 0.5
        return self.length + gap * min(0.95, max(0.01, share))
