"""Which solver minimises a problem: by name, by an object with options, or by size and shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Floats
from likely._validation import is_count
from likely.blocks import one_blas_thread
from likely.exceptions import InvalidParameterError
from likely.objectives.descent import batch_descent, gradient_descent
from likely.objectives.matrix_free import matrix_free_newton
from likely.objectives.newton import newton
from likely.objectives.problem import LinearProblem
from likely.objectives.quasi_newton import quasi_newton
from likely.objectives.solution import Solution

__all__ = ["GradientDescent", "Solver", "solver_of"]

FEW_PARAMETERS, FEW_PRODUCTS = 512, 2**31
"""Hessians of so many parameters, that take so many multiplications a pass, are formed and solved: Newton."""

SAMPLE_TOLERANCE, SAMPLE_STEPS = 1e-4, 100
"""How precisely, and by how many steps at most, a start is sought on a sample: its minimum is not that of all rows."""


class Solver(ABC):
    """A way to minimise a problem."""

    takes_l1: bool = False
    """Whether it can minimise absolute values."""

    from_sample: bool = True
    """Whether it starts from the minimum on a sample."""

    def solve(
        self, problem: LinearProblem, start: Floats | None, tolerance: float, most_iterations: int, bottom: float
    ) -> Solution:
        """Minimise from a start; if there is none, from the minimum on a sample where there are many rows."""
        with one_blas_thread():
            if start is None:
                start = self._start(problem, tolerance, bottom) if self.from_sample else problem.start()
            return self.minimise(problem, start, tolerance, most_iterations, bottom)

    def _start(self, problem: LinearProblem, tolerance: float, bottom: float) -> Floats:
        """The minimum on a sample, if that is better than nothing: a sample may be separable where all rows are not."""
        nothing, few = problem.start(), problem.some
        if few is None:
            return nothing
        lowest = few.lowest_mixed_value if np.isfinite(bottom) else -np.inf
        found = self.minimise(few, nothing, max(tolerance, SAMPLE_TOLERANCE), SAMPLE_STEPS, lowest).parameters
        return found if problem.value(found) < problem.value_at_start else nothing

    @abstractmethod
    def minimise(
        self, problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float
    ) -> Solution:
        """Minimise from a start."""


@dataclass(frozen=True)
class _By(Solver):
    """A solver that is a function."""

    function: Callable[[LinearProblem, Floats, float, int, float], Solution]
    takes_l1: bool = False

    def minimise(
        self, problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float
    ) -> Solution:
        return self.function(problem, start, tolerance, most_iterations, bottom)


def _by_hessians(
    problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float
) -> Solution:
    return newton(problem.curvature, start, tolerance, most_iterations, bottom)


class _Auto(Solver):
    """Newton where Hessians are cheap, L-BFGS where they are not, where there are many rows, or for the L1 penalty."""

    takes_l1 = True

    def minimise(
        self, problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float
    ) -> Solution:
        few = problem.n_parameters <= FEW_PARAMETERS and problem.n_rows * problem.n_parameters**2 <= FEW_PRODUCTS
        cheap = few and problem.some is None and problem.l1 == 0
        minimised = _by_hessians if cheap else quasi_newton
        return minimised(problem, start, tolerance, most_iterations, bottom)


@dataclass(frozen=True)
class GradientDescent(Solver):
    """Steps against the gradient, as they are taught; slower than the solvers chosen by default.

    Columns are standardised inside, so that one rate suits them all; ``loss_history_`` of the model holds the
    objective after every epoch.

    Parameters
    ----------
    batch : int, optional
        Rows a step; all if not given (steepest descent), 1 for online descent. Batches take rows in a random order; of
        sources elsewhere the blocks, and the rows of each.
    learning_rate : float, optional
        What the gradient is multiplied by; for batches at first, falling with the root of the thousands of rows seen.
        By default as large as the curvature allows.
    random_state : int, RandomState or None, default 0
        Where the orders of the rows come from.

    Notes
    -----
    Parameters are first divided by the root of the curvature along each at the start (of standardised columns and the
    penalty), in which units the objective is about as curved along one as along another; a step is minus the rate times
    the gradient by these.

    Examples
    --------
    >>> import likely
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = likely.LogisticRegression(solver=likely.GradientDescent(), max_iter=1000).fit(X, y)
    >>> model.coef_.round(3), model.loss_history_[[0, 1, -1]].round(3)
    (array([[0.908]]), array([0.693, 0.589, 0.587]))
    """

    batch: int | None = None
    learning_rate: float | None = None
    random_state: Any = 0

    from_sample = False

    def __post_init__(self) -> None:
        if self.batch is not None and not is_count(self.batch, 1, 2**62):
            raise InvalidParameterError(
                f"batch of GradientDescent must be a number of rows >= 1, but is {self.batch!r}."
            )
        rate = self.learning_rate
        if rate is not None and not (isinstance(rate, (int, float, np.number)) and 0 < rate < np.inf):
            raise InvalidParameterError(f"learning_rate of GradientDescent must be > 0, but is {rate!r}.")

    def minimise(
        self, problem: LinearProblem, start: Floats, tolerance: float, most_iterations: int, bottom: float
    ) -> Solution:
        """Descend."""
        goal = (tolerance, most_iterations, bottom, self.learning_rate)
        if self.batch is None:
            return gradient_descent(problem, start, *goal)
        return batch_descent(problem, start, *goal, self.batch, self.random_state)


_BY_NAME: dict[str, Solver] = {
    "auto": _Auto(),
    "newton": _By(_by_hessians),
    "l-bfgs": _By(quasi_newton, takes_l1=True),
    "newton-cg": _By(matrix_free_newton),
    "gradient-descent": GradientDescent(),
    "mini-batch": GradientDescent(batch=64),
    "online": GradientDescent(batch=1),
}


def solver_of(value: Any, l1: float) -> Solver:
    """The solver that a name stands for, or the solver itself, if it can take the penalty."""
    if isinstance(value, str) and value in _BY_NAME:
        value = _BY_NAME[value]
    if not isinstance(value, Solver):
        names = ", ".join(map(repr, _BY_NAME))
        raise InvalidParameterError(f"solver must be one of {names}, or GradientDescent(...), but is {value!r}.")
    if l1 > 0 and not value.takes_l1:
        raise InvalidParameterError("The L1 penalty has corners, which this solver cannot take. Use solver='auto'.")
    return value
