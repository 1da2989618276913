"""Newton's method for smooth convex objectives of few parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from likely._typing import Floats
from likely.objectives.solution import Solution
from likely.statistics.objective import Objective

__all__ = ["newton"]

FINEST, ROUNDING = 1e-20, 1e-9
"""Relative gaps: finer ones are not asked for, and below the other rounding may end a descent."""

LATE = 1e-11
"""Relative gap at which the step that is left is kept: there those along flat directions are told from the others,
which have become short."""


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
    parameters, objective, converged = start, evaluate(start), False
    history, late = [objective.value], None
    tolerance = max(tolerance, FINEST)
    while True:
        step, unseen = _step(objective) if step_of is None else (step_of(parameters, objective), 0.0)
        gap = -float(objective.gradient @ step) / 2
        if late is None and gap <= LATE * abs(objective.value):
            late = step  # later ones lose flat directions to rounding
        converged = bool(gap + unseen <= tolerance * abs(objective.value))
        at_rest = gap <= tolerance * abs(objective.value)
        if at_rest or objective.value < bottom or len(history) > most_iterations:
            break
        found = _descend(evaluate, parameters, objective, step)
        if found is None:  # no digit is left to gain
            converged = bool(gap + unseen <= ROUNDING * abs(objective.value))
            break
        parameters, objective = found
        history.append(objective.value)
    converged = converged and not objective.value < bottom
    return Solution(parameters, objective, converged, gap + unseen, tuple(history), step if late is None else late)


def _step(objective: Objective) -> tuple[Floats, float]:
    """The Newton step within the directions whose curvature rounding leaves any digit, and what the others might gain.

    Scaled to a unit diagonal, so that parameters of any units are judged alike. Along a direction left out the slope is
    rounding too, unless columns depend on each other so nearly that only rows, and not their squares, tell them apart.
    """
    diagonal = np.sqrt(np.maximum(objective.curvature.diagonal(), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros(len(diagonal)), where=diagonal > 0)
    values, vectors = eigh(objective.curvature * scale[:, None] * scale)
    least = 8 * len(values) * np.finfo(np.float64).eps * max(values[-1], np.finfo(np.float64).tiny)
    slopes = vectors.T @ (scale * objective.gradient)
    curved = values > least
    unseen = float(np.square(slopes[~curved]).sum()) / least / 2
    return np.asarray(-scale * (vectors[:, curved] @ (slopes[curved] / values[curved]))), unseen


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
