"""Newton's method for smooth convex objectives of few parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from likely._typing import Floats
from likely.statistics.objective import Objective

__all__ = ["Solution", "newton"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver stopped.

    Attributes
    ----------
    parameters : array of shape (p,)
    objective : Objective
        At the parameters.
    n_iter : int
    converged : bool
        Whether gradient and step have both vanished. A gradient that vanishes while steps do not is that of an
        objective without a minimum, which only falls towards its bound.
    """

    parameters: Floats
    objective: Objective
    n_iter: int
    converged: bool


def newton(
    evaluate: Callable[[Floats], Objective], start: Floats, tolerance: float = 1e-8, most_iterations: int = 50
) -> Solution:
    """Minimise a smooth convex objective by Newton steps, halved while they do not descend.

    Parameters
    ----------
    evaluate : function of the parameters
    start : array of shape (p,)
    tolerance : float
        Of the gradient's largest entry, and of the step's relative to the parameters. The objective and its parameters
        should be of the order of 1.
    """
    parameters, objective, flat = start, evaluate(start), 0
    for iteration in range(most_iterations):
        step = _step(objective)
        small = np.abs(step).max() <= np.sqrt(tolerance) * (1 + np.abs(parameters).max())
        flat += np.abs(objective.gradient).max() <= tolerance
        # Near a minimum one more step is small. Without a minimum all are alike, until rounding hides them.
        if (flat and small) or flat > 3:
            return Solution(parameters, objective, iteration, bool(small))
        found = _descend(evaluate, parameters, objective, step)
        if found is None:  # no digit is left to gain
            return Solution(parameters, objective, iteration, bool(small))
        parameters, objective = found
    return Solution(parameters, objective, most_iterations, False)


def _step(objective: Objective) -> Floats:
    try:
        return np.asarray(-cho_solve(cho_factor(objective.curvature), objective.gradient))
    except LinAlgError:
        return np.asarray(-lstsq(objective.curvature, objective.gradient)[0])


def _descend(
    evaluate: Callable[[Floats], Objective], parameters: Floats, objective: Objective, step: Floats
) -> tuple[Floats, Objective] | None:
    slope = float(objective.gradient @ step)
    for halvings in range(40):
        length = 0.5**halvings
        there = parameters + length * step
        candidate = evaluate(there)
        if candidate.value <= objective.value + 1e-4 * length * slope:
            return there, candidate
        # Near the minimum the values differ by less than their rounding, but gradients still tell.
        close = abs(candidate.value - objective.value) <= 1e-13 * max(abs(objective.value), 1e-300)
        if close and np.abs(candidate.gradient).max() < np.abs(objective.gradient).max():
            return there, candidate
    return None
