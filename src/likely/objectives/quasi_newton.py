"""L-BFGS in whitened coordinates, with SciPy's L-BFGS-B.

References
----------
Nocedal and Wright, Numerical optimization, 2nd ed. (2006), section 7.2. Byrd, Lu, Nocedal and Zhu, A limited memory
algorithm for bound constrained optimization, SIAM J. Scientific Computing 16 (1995).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from likely._typing import Floats
from likely.objectives.newton import MIN_TOL, ROUNDING, Goal, Solution
from likely.objectives.problem import LinearProblem
from likely.objectives.whitening import Whitening, estimate_gap, make_diagonal_whitening, make_whitening

ROUNDS = (12, 100)
"""Number of steps after which the whitening is computed again; the last number repeats."""

MEMORY = 20
"""Number of pairs of steps and gradient changes that L-BFGS keeps."""


def quasi_newton(problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
    """Minimise by L-BFGS in whitened coordinates, which are computed again as the Hessian changes.

    With an L1 penalty, weights are split into positive and negative parts with bounds at 0. The whitening is then
    diagonal, since bounds on single parameters allow no other change of coordinates.
    """
    descent = _Descent(problem, start, goal)
    # Each round has its own whitening, and ends after a number of steps.
    round_ = 0
    while len(descent.history) <= goal.max_iter:
        steps = ROUNDS[min(round_, len(ROUNDS) - 1)]
        if not _run_round(descent, min(steps, goal.max_iter + 1 - len(descent.history))):
            break
        round_ += 1
    if problem.l1 > 0:
        descent.gap = descent.full_gap()
    return descent.solution()


@dataclass
class _Descent:
    """State of the descent: the current point, its gap, and the tolerance, which a round may tighten."""

    problem: LinearProblem
    v: Floats
    goal: Goal
    gap: float = np.inf
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tol = self.goal.tol
        self._cached_gap: tuple[Floats | None, float] = (None, np.inf)
        self.objective = self.problem.value_and_gradient(self.v)
        self.history.append(self.problem.value(self.v))

    def full_gap(self) -> float:
        """Return the gap at the current point, estimated from the diagonal blocks of the Hessian; cached."""
        if self._cached_gap[0] is not self.v:
            self._cached_gap = self.v, estimate_gap(self.problem, self.v, self.objective.gradient)
        return self._cached_gap[1]

    def is_over(self) -> bool:
        """Return whether the gap is within the tolerance, or the objective below the lower bound."""
        return self.gap <= self.tol * abs(self.history[-1]) or self.history[-1] < self.goal.lower_bound

    def solution(self) -> Solution:
        """Return the current point as a Solution."""
        value = self.history[-1]
        near = self.gap <= max(self.goal.tol, ROUNDING) * abs(value)
        converged = bool(near and not value < self.goal.lower_bound)
        return Solution(self.v, self.objective, converged, self.gap, tuple(self.history))


def _run_round(descent: _Descent, steps: int) -> bool:
    """Take some steps with the whitening at the current point; return whether another round is needed."""
    problem, trial = descent.problem, _ScipyObjective(descent)
    if descent.is_over():
        return problem.l1 > 0 and _is_gap_underestimated(descent)

    def after_step(intermediate_result: Any) -> None:  # SciPy passes the value only under this parameter name
        trial.accept(intermediate_result)

    # SciPy's own stopping rules are off: ``accept`` stops by the gap.
    taken = len(descent.history)
    options: Any = {"maxiter": steps, "maxfun": 20 * steps, "ftol": 0.0, "gtol": 0.0, "maxcor": MEMORY}
    bounds = trial.coordinates.bounds
    minimize(trial, trial.start, jac=True, method="L-BFGS-B", bounds=bounds, callback=after_step, options=options)
    progress = len(descent.history) > taken
    if not progress or descent.history[-1] < descent.goal.lower_bound:
        return False
    if problem.l1 > 0:
        return _is_gap_underestimated(descent)
    # If the objective has decreased by half in this round, the whitening is out of date: check the gap with a new one.
    return not descent.is_over() or descent.history[-1] < descent.history[taken - 1] / 2


def _is_gap_underestimated(descent: _Descent) -> bool:
    """Return whether the gap estimated from the diagonal blocks of the Hessian still exceeds the tolerance.

    A diagonal whitening ignores correlations of columns, so the gap it gives may be too small. In that case the
    tolerance for that gap is tightened.
    """
    value, gap, asked = descent.history[-1], descent.full_gap(), descent.goal.tol
    if gap <= asked * abs(value):
        return False
    if descent.is_over():
        descent.tol *= max(0.03, 0.3 * asked * abs(value) / gap)
    return descent.tol > MIN_TOL


class _ScipyObjective:
    """The function that SciPy minimises; it keeps the point of its last evaluation."""

    def __init__(self, descent: _Descent) -> None:
        self.descent, self.coordinates = descent, _coordinates(descent.problem, descent.v)
        self.v, self.objective = descent.v, descent.objective
        gradient = self.coordinates.gradient(descent.objective.gradient)
        # Without bounds SciPy's first step has length 1. In this unit it has the norm of the whitened gradient.
        norm = self.coordinates.norm(self.coordinates.start, gradient)
        self.unit = norm if norm > 0 and self.coordinates.bounds is None else 1.0
        descent.gap = norm**2 / 2
        self.start = self.coordinates.start / self.unit
        self.first: Any = descent.history[-1], gradient * self.unit

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        if self.first is not None:  # SciPy evaluates the start first, which is known
            first, self.first = self.first, None
            return first  # type: ignore[no-any-return]
        self.v = self.coordinates.parameters(x * self.unit)
        self.objective = self.descent.problem.value_and_gradient(self.v)
        gradient = self.coordinates.gradient(self.objective.gradient)
        self.gap = self.coordinates.norm(x * self.unit, gradient) ** 2 / 2
        return self.descent.problem.value(self.v), gradient * self.unit

    def accept(self, intermediate_result: Any) -> None:
        """Accept the point of the last evaluation; SciPy calls this after every step."""
        descent = self.descent
        descent.v, descent.objective, descent.gap = self.v, self.objective, self.gap
        descent.history.append(float(intermediate_result.fun))
        if descent.is_over():
            raise StopIteration


class _Coordinates(Protocol):
    """Change from SciPy's variables x to the parameters v.

    ``parameters`` returns v, ``gradient`` converts a gradient with respect to v into one with respect to x, and
    ``norm`` returns the norm of the projected gradient at x.
    """

    start: Floats
    bounds: Any

    def parameters(self, x: Floats) -> Floats: ...

    def gradient(self, gradient: Floats) -> Floats: ...

    def norm(self, x: Floats, gradient: Floats) -> float: ...


def _coordinates(problem: LinearProblem, base: Floats) -> _Coordinates:
    if problem.l1 > 0:
        return _SplitCoordinates(problem, base, make_diagonal_whitening(problem, base))
    return _FreeCoordinates(base, make_whitening(problem, base))


class _FreeCoordinates:
    """v = base + T x, with T a whitening at the base."""

    bounds: Any = None

    def __init__(self, base: Floats, whitened: Whitening) -> None:
        self.base, self.whitened, self.start = base, whitened, np.zeros(len(base))

    def parameters(self, x: Floats) -> Floats:
        return np.asarray(self.base + self.whitened.apply(x))

    def gradient(self, gradient: Floats) -> Floats:
        return self.whitened.apply_transpose(gradient)

    def norm(self, x: Floats, gradient: Floats) -> float:
        return float(np.linalg.norm(gradient))


class _SplitCoordinates:
    """v = scale · (x⁺ − x⁻) with x⁺, x⁻ ≥ 0, so that the L1 penalty is linear; unpenalised parameters have no x⁻."""

    def __init__(self, problem: LinearProblem, base: Floats, scaled: Whitening) -> None:
        self.scaled, self.cost = scaled, problem.l1_weights
        self.split = self.cost > 0
        scale = scaled.apply(np.ones(len(base)))
        x = np.divide(base, scale, out=np.zeros(len(base)), where=scale > 0)
        # Positive part in place, negative part appended, both bounded below by 0.
        negative = np.maximum(-x[self.split], 0.0)
        x[self.split] = np.maximum(x[self.split], 0.0)
        self.start = np.concatenate([x, negative])
        low = np.where(np.concatenate([self.split, np.ones(len(negative), dtype=bool)]), 0.0, -np.inf)
        self.bounds = np.column_stack([low, np.full(len(low), np.inf)])

    def parameters(self, x: Floats) -> Floats:
        whole = x[: len(self.split)].copy()
        whole[self.split] -= x[len(self.split) :]
        return self.scaled.apply(whole)

    def gradient(self, gradient: Floats) -> Floats:
        positive = self.scaled.apply_transpose(gradient + self.cost)
        negative = self.scaled.apply_transpose(self.cost - gradient)
        return np.concatenate([positive, negative[self.split]])

    def norm(self, x: Floats, gradient: Floats) -> float:
        """Norm of the projected gradient. At a bound, only components that descend into the feasible region count."""
        return float(np.linalg.norm(np.where((x > self.bounds[:, 0]) | (gradient < 0), gradient, 0.0)))
