"""Newton's method for smooth convex objectives of few parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from likely._typing import Floats
from likely.objectives.solution import Solution
from likely.statistics.objective import Objective

__all__ = ["newton"]


def newton(
    evaluate: Callable[[Floats], Objective],
    start: Floats,
    tolerance: float = 1e-15,
    most_iterations: int = 200,
    bottom: float = -np.inf,
    step_of: Callable[[Floats, Objective], Floats] | None = None,
) -> Solution:
    """Minimise a smooth convex objective by Newton steps, halved while they do not descend.

    Parameters
    ----------
    evaluate : function of the parameters
    start : array of shape (p,)
    tolerance : float
        Of the objective, relative: the loop ends when half the squared Newton decrement, which estimates the distance
        to the least value in any units of the parameters, is below. Rounding may end it before.
    most_iterations : int
        Steps after which to give up.
    bottom : float, default −inf
        A value below which there is no point in going on, as when an objective falls to 0 without a minimum.
    step_of : function of the parameters and the objective there, optional
        The step, where the curvature is not at hand.
    """
    parameters, objective, resting, converged = start, evaluate(start), None, False
    history, gap = [objective.value], np.inf
    while True:
        step = _step(objective) if step_of is None else step_of(parameters, objective)
        gap = -float(objective.gradient @ step) / 2
        if resting is None and gap <= 1e-8 * abs(objective.value):
            resting = step  # later ones lose flat directions to rounding
        converged = bool(gap <= tolerance * abs(objective.value))
        if converged or objective.value < bottom or len(history) > most_iterations:
            break
        found = _descend(evaluate, parameters, objective, step)
        if found is None:  # no digit is left to gain
            converged = bool(gap <= 1e-9 * abs(objective.value))
            break
        parameters, objective = found
        history.append(objective.value)
    converged = converged and not objective.value < bottom
    return Solution(parameters, objective, converged, gap, tuple(history), step if resting is None else resting)


def _step(objective: Objective) -> Floats:
    """The Newton step, within the directions in which the objective is curved at all.

    Scaled to a unit diagonal, so that parameters of any units are judged alike.
    """
    diagonal = np.sqrt(np.maximum(objective.curvature.diagonal(), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros(len(diagonal)), where=diagonal > 0)
    values, vectors = eigh(objective.curvature * scale[:, None] * scale)
    curved = values > 1e-12 * values[-1]
    along = (vectors[:, curved].T @ (scale * objective.gradient)) / values[curved]
    return np.asarray(-scale * (vectors[:, curved] @ along))


def _descend(
    evaluate: Callable[[Floats], Objective], parameters: Floats, objective: Objective, step: Floats
) -> tuple[Floats, Objective] | None:
    slope = float(objective.gradient @ step)
    for halvings in range(40):
        length = 0.5**halvings
        candidate = evaluate(parameters + length * step)
        # Near the minimum values differ by no more than their rounding.
        if candidate.value <= objective.value + 1e-15 * abs(objective.value) + 1e-4 * length * slope:
            return parameters + length * step, candidate
    return None
