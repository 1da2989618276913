"""Newton's method for many parameters: Hessians are multiplied, never formed."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from likely._typing import Floats
from likely.objectives.newton import newton
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution
from likely.objectives.whitening import whitening
from likely.statistics.objective import Objective

__all__ = ["matrix_free_newton"]

MOST_PRODUCTS = 500
"""Products with the Hessian that one step may take."""


def matrix_free_newton(
    problem: LinearProblem,
    start: Floats,
    tolerance: float,
    most_iterations: int,
    bottom: float = -np.inf,
    most_products: int = MOST_PRODUCTS,
) -> Solution:
    """Minimise by Newton steps, each found by conjugate gradients in whitened coordinates.

    A step is solved for the more precisely the nearer it leads to the minimum, so that convergence is faster than
    linear; ``most_products`` with the Hessian bound the work of each.
    """
    change = whitening(problem, start)

    def step_of(v: Floats, objective: Objective) -> Floats:
        slopes = change.back(objective.gradient)
        relative = np.linalg.norm(slopes) / np.sqrt(max(abs(objective.value), np.finfo(np.float64).tiny))
        size = len(slopes)
        hessian = LinearOperator((size, size), matvec=lambda u: change.back(problem.product(v, change.out(u))))
        step, _ = cg(hessian, -slopes, rtol=min(0.3, float(relative)), maxiter=most_products)
        return change.out(np.asarray(step))

    return newton(problem.slope, start, tolerance, most_iterations, bottom, step_of)
