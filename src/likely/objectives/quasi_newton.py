"""L-BFGS, by SciPy, in coordinates of our choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from likely._typing import Floats
from likely.objectives.newton import FINEST, ROUNDING
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution
from likely.objectives.whitening import Whitening, diagonal_whitening, estimated_gap, whitening

__all__ = ["quasi_newton"]

ROUNDS = (12, 100)
"""Steps after which the coordinates are chosen anew, the last as often as needed."""

MEMORY = 20
"""Pairs of steps and changes of slope that are kept."""


def quasi_newton(
    problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float = -np.inf
) -> Solution:
    """Minimise by L-BFGS in whitened coordinates.

    Where absolute values are penalised, weights are split into two parts that are not negative, and coordinates are
    scaled column by column, which keeps the parts apart.
    """
    descent = _Descent(problem, start, tolerance, bottom)
    round_ = 0
    while len(descent.history) <= most_iterations:
        steps = ROUNDS[min(round_, len(ROUNDS) - 1)]
        if not _round(descent, min(steps, most_iterations + 1 - len(descent.history))):
            break
        round_ += 1
    if problem.l1 > 0:
        descent.gap = descent.whole_gap()
    return descent.solution()


class _Coordinates(Protocol):
    """How the variables of SciPy become parameters."""

    start: Floats
    bounds: Any

    def parameters(self, x: Floats) -> Floats: ...

    def slopes(self, gradient: Floats) -> Floats: ...

    def norm(self, x: Floats, slopes: Floats) -> float: ...


class _Free:
    """Steps from a base, whitened."""

    bounds: Any = None

    def __init__(self, base: Floats, whitened: Whitening) -> None:
        self.base, self.whitened, self.start = base, whitened, np.zeros(len(base))

    def parameters(self, x: Floats) -> Floats:
        return np.asarray(self.base + self.whitened.out(x))

    def slopes(self, gradient: Floats) -> Floats:
        return self.whitened.back(gradient)

    def norm(self, x: Floats, slopes: Floats) -> float:
        return float(np.linalg.norm(slopes))


class _Split:
    """Parameters as differences of two parts that are not negative, so that absolute values are sums."""

    def __init__(self, problem: LinearProblem, base: Floats, scaled: Whitening) -> None:
        self.scaled, self.cost = scaled, problem.absolutes
        self.split = self.cost > 0
        scale = scaled.out(np.ones(len(base)))
        x = np.divide(base, scale, out=np.zeros(len(base)), where=scale > 0)
        negative = np.maximum(-x[self.split], 0.0)
        x[self.split] = np.maximum(x[self.split], 0.0)
        self.start = np.concatenate([x, negative])
        low = np.where(np.concatenate([self.split, np.ones(len(negative), dtype=bool)]), 0.0, -np.inf)
        self.bounds = np.column_stack([low, np.full(len(low), np.inf)])

    def parameters(self, x: Floats) -> Floats:
        whole = x[: len(self.split)].copy()
        whole[self.split] -= x[len(self.split) :]
        return self.scaled.out(whole)

    def slopes(self, gradient: Floats) -> Floats:
        above, below = self.scaled.back(gradient + self.cost), self.scaled.back(self.cost - gradient)
        return np.concatenate([above, below[self.split]])

    def norm(self, x: Floats, slopes: Floats) -> float:
        """Of the slopes that lead anywhere: at a bound only those that leave it."""
        return float(np.linalg.norm(np.where((x > self.bounds[:, 0]) | (slopes < 0), slopes, 0.0)))


@dataclass
class _Descent:
    """What rounds share: the best point so far, and how far it got."""

    problem: LinearProblem
    v: Floats
    tolerance: float
    bottom: float
    gap: float = np.inf
    goal: float = 0.0
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.goal = self.tolerance
        self._known: tuple[Floats | None, float] = (None, np.inf)
        self.objective = self.problem.slope(self.v)
        self.history.append(self.problem.value(self.v))

    def whole_gap(self) -> float:
        """The gap at the best point, reckoned with what columns have to do with each other; kept while the point is."""
        if self._known[0] is not self.v:
            self._known = self.v, estimated_gap(self.problem, self.v, self.objective.gradient)
        return self._known[1]

    def is_over(self) -> bool:
        """Whether the least value, or the bottom, is reached."""
        return self.gap <= self.tolerance * abs(self.history[-1]) or self.history[-1] < self.bottom

    def solution(self) -> Solution:
        value = self.history[-1]
        converged = self.gap <= max(self.goal, ROUNDING) * abs(value) and not value < self.bottom
        return Solution(self.v, self.objective, bool(converged), self.gap, tuple(self.history))


class _Trial:
    """The function that SciPy minimises, which remembers the point it was last asked about."""

    def __init__(self, descent: _Descent) -> None:
        self.descent, self.coordinates = descent, _coordinates(descent.problem, descent.v)
        self.v, self.objective = descent.v, descent.objective
        slopes = self.coordinates.slopes(descent.objective.gradient)
        # Without bounds SciPy's first step has length 1: in this unit, that of the whitened gradient.
        norm = self.coordinates.norm(self.coordinates.start, slopes)
        self.unit = norm if norm > 0 and self.coordinates.bounds is None else 1.0
        descent.gap = norm**2 / 2
        self.start = self.coordinates.start / self.unit
        self.first: Any = descent.history[-1], slopes * self.unit

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        if self.first is not None:  # SciPy asks about the start, which is known
            first, self.first = self.first, None
            return first  # type: ignore[no-any-return]
        self.v = self.coordinates.parameters(x * self.unit)
        self.objective = self.descent.problem.slope(self.v)
        slopes = self.coordinates.slopes(self.objective.gradient)
        self.gap = self.coordinates.norm(x * self.unit, slopes) ** 2 / 2
        return self.descent.problem.value(self.v), slopes * self.unit

    def accept(self, intermediate_result: Any) -> None:
        """Take the point last asked about; SciPy calls this after every step."""
        descent = self.descent
        descent.v, descent.objective, descent.gap = self.v, self.objective, self.gap
        descent.history.append(float(intermediate_result.fun))
        if descent.is_over():
            raise StopIteration


def _round(descent: _Descent, steps: int) -> bool:
    """Some steps in coordinates chosen at the best point; whether more are worth while."""
    problem, trial = descent.problem, _Trial(descent)
    if descent.is_over():
        return problem.l1 > 0 and _hides_too_much(descent)

    def after_step(intermediate_result: Any) -> None:  # by this name SciPy gives the value too
        trial.accept(intermediate_result)

    taken = len(descent.history)
    options: Any = {"maxiter": steps, "maxfun": 20 * steps, "ftol": 0.0, "gtol": 0.0, "maxcor": MEMORY}
    bounds = trial.coordinates.bounds
    minimize(trial, trial.start, jac=True, method="L-BFGS-B", bounds=bounds, callback=after_step, options=options)
    progress = len(descent.history) > taken
    if not progress or descent.history[-1] < descent.bottom:
        return False
    if problem.l1 > 0:
        return _hides_too_much(descent)
    # If the objective has fallen much since the coordinates were chosen, so has the curvature: look again from here.
    return not descent.is_over() or descent.history[-1] < descent.history[taken - 1] / 2


def _hides_too_much(descent: _Descent) -> bool:
    """Whether the gap is too large when reckoned with what columns have to do with each other.

    Coordinates scaled column by column do not know that. If they show the end too early, the gap that they show must
    become smaller.
    """
    value, gap = descent.history[-1], descent.whole_gap()
    if gap <= descent.goal * abs(value):
        return False
    if descent.is_over():
        descent.tolerance *= max(0.03, 0.3 * descent.goal * abs(value) / gap)
    return descent.tolerance > FINEST


def _coordinates(problem: LinearProblem, base: Floats) -> _Coordinates:
    if problem.l1 > 0:
        return _Split(problem, base, diagonal_whitening(problem, base))
    return _Free(base, whitening(problem, base))
