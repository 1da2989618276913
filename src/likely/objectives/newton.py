"""Newton's method for smooth convex objectives, with the Hessian formed or by Hessian-vector products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats
from likely.objectives.problem import LinearProblem
from likely.objectives.whitening import whitening
from likely.statistics.objective import Objective

FINEST, ROUNDING = 1e-20, 1e-9
"""Relative gaps: smaller tolerances than the first are raised to it; below the second rounding may end a descent."""

SHOWN = 1e-15
"""Relative difference of two values of an objective that can be told from rounding."""

LATE = 1e-11
"""Relative gap at which the remaining Newton step is recorded: there steps along flat directions differ from the
others, which have become short."""

MAX_PRODUCTS = 500
"""Hessian-vector products of one step of Newton-CG."""


@dataclass(frozen=True)
class Goal:
    """When a solver stops.

    Parameters
    ----------
    tol : float
        Of the objective, relative: stop when the estimated distance to the minimum is below.
    max_iter : int
        Most steps, or epochs of a descent.
    lower_bound : float, default −inf
        Stop at values below it, as when an objective falls to 0 without a minimum.
    """

    tol: float = 1e-15
    max_iter: int = 200
    lower_bound: float = -np.inf


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver stopped.

    Attributes
    ----------
    parameters : array of shape (p,)
    objective : Objective
        At the parameters; without the L1 penalty.
    converged : bool
        Whether the objective is at its minimum, to the tolerance.
    gap : float
        Estimated distance of the objective to its minimum, ½ g'H⁻¹g (half the squared Newton decrement).
    history : tuple of float
        Values of the objective at the start and after every step (for descents: every epoch).
    late_step : array of shape (p,), or None
        Newton step at the first iterate with a relative gap below 1e-11; it shows whether classes are separable.
    diverged : bool
        Whether steps were so long that the objective rose out of bounds; the parameters are those before it did.
    """

    parameters: Floats
    objective: Objective
    converged: bool
    gap: float
    history: tuple[float, ...]
    late_step: Floats | None = None
    diverged: bool = False

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.history) - 1


def newton(
    evaluate: Callable[[Floats], Objective],
    start: Floats,
    goal: Goal = Goal(),  # noqa: B008
    step_of: Callable[[Floats, Objective], Floats] | None = None,
) -> Solution:
    """Minimise a smooth convex objective by Newton steps, halved while they do not descend.

    Parameters
    ----------
    evaluate : function of the parameters
    start : array of shape (p,)
    goal : Goal
        The gap is half the squared Newton decrement, which does not depend on the units of the parameters. Rounding
        may end the loop before it is small enough.
    step_of : function of the parameters and the objective there, optional
        Computes the step, where the Hessian is not formed.

    References
    ----------
    Boyd and Vandenberghe, Convex optimization (2004), section 9.5.
    """
    parameters, objective, converged = start, evaluate(start), False
    history, late = [objective.value], None
    tol = max(goal.tol, FINEST)
    while True:
        step, hidden = _step(objective) if step_of is None else (step_of(parameters, objective), 0.0)
        gap = -float(objective.gradient @ step) / 2
        if late is None and gap <= LATE * abs(objective.value):
            late = step  # later steps lose flat directions to rounding
        # What flat directions might still gain matters only where it would show in the digits of the value.
        converged = bool(gap + hidden <= max(tol, SHOWN) * abs(objective.value))
        at_rest = gap <= tol * abs(objective.value)
        if at_rest or objective.value < goal.lower_bound or len(history) > goal.max_iter:
            break
        found = _line_search(evaluate, parameters, objective, step)
        if found is None:  # rounding hides any further decrease
            converged = bool(gap + hidden <= ROUNDING * abs(objective.value))
            break
        parameters, objective = found
        history.append(objective.value)
    converged = converged and not objective.value < goal.lower_bound
    return Solution(parameters, objective, converged, gap + hidden, tuple(history), step if late is None else late)


def _step(objective: Objective) -> tuple[Floats, float]:
    """The Newton step within directions of significant curvature, and a bound of what the others might gain.

    The Hessian is scaled to a unit diagonal, so that the units of the parameters do not matter. Along a direction left
    out the gradient is rounding too, unless columns are so nearly collinear that rows, but not their squares, differ.
    """
    diagonal = np.sqrt(np.maximum(objective.hessian.diagonal(), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros(len(diagonal)), where=diagonal > 0)
    values, vectors = eigh(objective.hessian * scale[:, None] * scale)
    least = 8 * len(values) * np.finfo(np.float64).eps * max(values[-1], np.finfo(np.float64).tiny)
    gradient = vectors.T @ (scale * objective.gradient)
    curved = values > least
    hidden = float(np.square(gradient[~curved]).sum()) / least / 2
    return np.asarray(-scale * (vectors[:, curved] @ (gradient[curved] / values[curved]))), hidden


def _line_search(
    evaluate: Callable[[Floats], Objective], parameters: Floats, objective: Objective, step: Floats
) -> tuple[Floats, Objective] | None:
    """Halve the step until the value decreases sufficiently (Armijo); None if it never does."""
    decrease = float(objective.gradient @ step)
    for halvings in range(40):
        length = 0.5**halvings
        candidate = evaluate(parameters + length * step)
        # Near the minimum values differ by no more than their rounding.
        if candidate.value <= objective.value + 1e-15 * abs(objective.value) + 1e-4 * length * decrease:
            return parameters + length * step, candidate
    return None


def newton_cg(problem: LinearProblem, start: Floats, goal: Goal, max_products: int = MAX_PRODUCTS) -> Solution:
    """Minimise by truncated Newton steps, each found by conjugate gradients in whitened coordinates.

    A step is solved the more precisely the nearer the minimum is, so that convergence is superlinear. ``max_products``
    bounds the Hessian-vector products of a step.

    References
    ----------
    Nocedal and Wright, Numerical optimization, 2nd ed. (2006), section 7.1.
    """
    change = whitening(problem, start)

    def step_of(v: Floats, objective: Objective) -> Floats:
        gradient = change.pull_back(objective.gradient)
        relative = np.linalg.norm(gradient) / np.sqrt(max(abs(objective.value), np.finfo(np.float64).tiny))
        size = len(gradient)
        hessian = LinearOperator((size, size), matvec=lambda u: change.pull_back(problem.hvp(v, change.apply(u))))
        step, _ = cg(hessian, -gradient, rtol=min(0.3, float(relative)), maxiter=max_products)
        return change.apply(np.asarray(step))

    return newton(problem.value_and_gradient, start, goal, step_of)
