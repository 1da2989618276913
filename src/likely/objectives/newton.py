"""Newton's method for smooth convex objectives of few parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

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
        Steps taken.
    converged : bool
        Whether the objective is at its least value, to the tolerance.
    resting_step : array of shape (p,)
        The step that Newton's method wanted when nothing of the objective was left to gain that shows in eight digits:
        large where the objective is flat along some direction.
    """

    parameters: Floats
    objective: Objective
    n_iter: int
    converged: bool
    resting_step: Floats


def newton(
    evaluate: Callable[[Floats], Objective],
    start: Floats,
    tolerance: float = 1e-15,
    most_iterations: int = 200,
    bottom: float = -np.inf,
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
    """
    parameters, objective, resting, converged, taken = start, evaluate(start), None, False, 0
    while taken < most_iterations:
        step = _step(objective)
        gap = -objective.gradient @ step / 2
        if resting is None and gap <= 1e-8 * abs(objective.value):
            resting = step  # later ones lose flat directions to rounding
        converged = bool(gap <= tolerance * abs(objective.value))
        if converged or objective.value < bottom:
            break
        found = _descend(evaluate, parameters, objective, step)
        if found is None:  # no digit is left to gain
            converged = bool(gap <= 1e-9 * abs(objective.value))
            break
        parameters, objective = found
        taken += 1
    converged = converged and not objective.value < bottom
    return Solution(parameters, objective, taken, converged, step if resting is None else resting)


def _step(objective: Objective) -> Floats:
    """The Newton step, within the directions in which the objective is curved at all.

    Scaled to a unit diagonal, so that parameters of any units are judged alike.
    """
    diagonal = np.sqrt(objective.curvature.diagonal())
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
