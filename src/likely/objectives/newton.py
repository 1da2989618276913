"""Newton's method for smooth convex objectives, with formed Hessians or by Hessian-vector products (Newton-CG).

References
----------
Boyd and Vandenberghe, Convex optimization (2004), section 9.5. Nocedal and Wright, Numerical optimization, 2nd ed.
(2006), sections 3.1 (backtracking line search) and 7.1 (inexact Newton methods).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats
from likely.objectives.problem import LinearProblem
from likely.objectives.whitening import make_whitening
from likely.statistics.objective import Objective

MIN_TOL, ROUNDING = 1e-20, 1e-9
"""Two relative gaps. Tolerances below the first gap are raised to it. A descent that ends because of rounding counts as
converged if its gap is below the second."""

VALUE_ROUNDING = 1e-15
"""Smallest relative difference of two values of an objective that exceeds rounding."""

LATE_GAP = 1e-11
"""Relative gap at which the remaining Newton step is recorded. There the step is short along all directions except
those along which the objective is flat."""

MAX_PRODUCTS = 500
"""Maximum number of Hessian-vector products of one step of Newton-CG."""


@dataclass(frozen=True)
class Goal:
    """Stopping rule of a solver.

    Parameters
    ----------
    tol : float
        Stop when the estimated gap to the minimum, relative to the objective, is at most this value.
    max_iter : int
        Maximum number of steps, or of epochs of a gradient descent.
    lower_bound : float, default −inf
        Stop when the objective is below this value. It detects objectives that decrease to 0 without a minimum.
    """

    tol: float = 1e-15
    max_iter: int = 200
    lower_bound: float = -np.inf


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of a solver.

    Attributes
    ----------
    parameters : array of shape (p,)
    objective : Objective
        Value and derivatives at the parameters, without the L1 penalty.
    converged : bool
        Whether the gap is within the tolerance.
    gap : float
        Estimated gap of the objective to its minimum, ½ g'H⁻¹g (half the squared Newton decrement).
    history : tuple of float
        Values of the objective at the start and after every step, or every epoch of a gradient descent.
    late_step : array of shape (p,), or None
        Newton step at the first iterate with a relative gap below 1e-11; used to detect separable classes.
    diverged : bool
        Whether a gradient descent diverged. The parameters are the last ones before it did.
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
        """Number of steps."""
        return len(self.history) - 1


def newton(
    evaluate: Callable[[Floats], Objective],
    start: Floats,
    goal: Goal = Goal(),  # noqa: B008
    compute_step: Callable[[Floats, Objective], Floats] | None = None,
) -> Solution:
    """Minimise a smooth convex objective by Newton steps with backtracking.

    Parameters
    ----------
    evaluate : function of the parameters
        Returns value, gradient and Hessian; the Hessian only if ``compute_step`` is not given.
    start : array of shape (p,)
    goal : Goal
        The gap is half the squared Newton decrement, which does not depend on the units of the parameters. Rounding
        may end the loop before the gap is within the tolerance.
    compute_step : function of the parameters and the objective there, optional
        Computes the Newton step if the Hessian is not formed.

    References
    ----------
    Boyd and Vandenberghe, Convex optimization (2004), section 9.5.
    """
    parameters, objective, converged = start, evaluate(start), False
    history, late = [objective.value], None
    tol = max(goal.tol, MIN_TOL)
    while True:
        # Newton step −H⁻¹g and half the squared Newton decrement, ½ g'H⁻¹g.
        step, flat_gain = (
            _newton_step(objective) if compute_step is None else (compute_step(parameters, objective), 0.0)
        )
        gap = -float(objective.gradient @ step) / 2
        if late is None and gap <= LATE_GAP * abs(objective.value):
            late = step  # in later steps rounding hides the flat directions
        # Stopping rule. A possible decrease along flat directions matters only if it exceeds rounding of the value.
        converged = bool(gap + flat_gain <= max(tol, VALUE_ROUNDING) * abs(objective.value))
        reached = gap <= tol * abs(objective.value)
        if reached or objective.value < goal.lower_bound or len(history) > goal.max_iter:
            break
        found = _line_search(evaluate, parameters, objective, step)
        if found is None:  # any further decrease is below rounding
            converged = bool(gap + flat_gain <= ROUNDING * abs(objective.value))
            break
        parameters, objective = found
        history.append(objective.value)
    converged = converged and not objective.value < goal.lower_bound
    return Solution(parameters, objective, converged, gap + flat_gain, tuple(history), step if late is None else late)


def _newton_step(objective: Objective) -> tuple[Floats, float]:
    """Return the Newton step in the numerical range of the Hessian, and a bound of the decrease in its null space.

    The Hessian is scaled to a unit diagonal, so that the units of the parameters do not matter. In the null space the
    gradient is rounding too, unless columns are so nearly collinear that they differ, but their squares do not.
    """
    diagonal = np.sqrt(np.maximum(objective.hessian.diagonal(), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros(len(diagonal)), where=diagonal > 0)
    # Eigenvalues at or below the rounding of the largest one count as 0.
    values, vectors = eigh(objective.hessian * scale[:, None] * scale)
    cutoff = 8 * len(values) * np.finfo(np.float64).eps * max(values[-1], np.finfo(np.float64).tiny)
    gradient = vectors.T @ (scale * objective.gradient)
    curved = values > cutoff
    flat_gain = float(np.square(gradient[~curved]).sum()) / cutoff / 2
    return np.asarray(-scale * (vectors[:, curved] @ (gradient[curved] / values[curved]))), flat_gain


def _line_search(
    evaluate: Callable[[Floats], Objective], parameters: Floats, objective: Objective, step: Floats
) -> tuple[Floats, Objective] | None:
    """Halve the step until the value decreases sufficiently (Armijo condition); return None if no halving suffices."""
    decrease = float(objective.gradient @ step)
    for halvings in range(40):
        length = 0.5**halvings
        candidate = evaluate(parameters + length * step)
        # Near the minimum values may differ by rounding only, so that much increase is allowed.
        if candidate.value <= objective.value + 1e-15 * abs(objective.value) + 1e-4 * length * decrease:
            return parameters + length * step, candidate
    return None


def newton_cg(problem: LinearProblem, start: Floats, goal: Goal, max_products: int = MAX_PRODUCTS) -> Solution:
    """Minimise by truncated Newton steps, each found by conjugate gradients in whitened coordinates (Newton-CG).

    The relative residual of a step decreases with the gradient, so that convergence is superlinear. ``max_products`` is
    the maximum number of Hessian-vector products of a step.

    References
    ----------
    Nocedal and Wright, Numerical optimization, 2nd ed. (2006), section 7.1.
    """
    change = make_whitening(problem, start)

    def compute_step(v: Floats, objective: Objective) -> Floats:
        # Forcing sequence: the residual allowed is proportional to the norm of the gradient.
        gradient = change.apply_transpose(objective.gradient)
        relative = np.linalg.norm(gradient) / np.sqrt(max(abs(objective.value), np.finfo(np.float64).tiny))
        # T'HT u = −T'g by conjugate gradients; the step is T u.
        size = len(gradient)
        hessian = LinearOperator(
            (size, size), matvec=lambda u: change.apply_transpose(problem.hessian_product(v, change.apply(u)))
        )
        step, _ = cg(hessian, -gradient, rtol=min(0.3, float(relative)), maxiter=max_products)
        return change.apply(np.asarray(step))

    return newton(problem.value_and_gradient, start, goal, compute_step)
