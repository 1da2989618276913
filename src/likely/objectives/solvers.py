"""Solvers of linear problems: which one to use, by name, options or size; and gradient descent as it is taught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from likely._constraints import (
    check_argument,
    check_parameters,
    count,
    either,
    instance_of,
    none_or,
    number,
    one_of,
    random_state,
)
from likely._typing import Floats, Integers
from likely.blocks import one_blas_thread
from likely.exceptions import InvalidParameterError
from likely.objectives.linear_rows import extend_rows
from likely.objectives.newton import Goal, Solution, newton, newton_cg
from likely.objectives.problem import LinearProblem
from likely.objectives.quasi_newton import quasi_newton
from likely.objectives.whitening import diagonal_whitening, estimated_gap

FEW_PARAMETERS, FEW_PRODUCTS = 512, 2**31
"""Up to so many parameters, and multiplications in a pass, Hessians are formed: Newton's method."""

SAMPLE_TOLERANCE, SAMPLE_STEPS = 1e-4, 100
"""Tolerance and most steps on a subsample: its minimum is not that of all rows."""

DENSE_VALUES = 2**20
"""Values of the rows that are standardised at once."""

RUNAWAY = 100.0
"""Times the objective at the start, past which a descent diverges."""


@dataclass(frozen=True)
class Solver:
    """A way to minimise a problem.

    Parameters
    ----------
    minimise : function of a LinearProblem, a start and a Goal
    takes_l1 : bool
        Whether it can minimise absolute values.
    starts_on_sample : bool
        Whether it starts from the minimum on a subsample.
    """

    minimise: Callable[[LinearProblem, Floats, Goal], Solution]
    takes_l1: bool = False
    starts_on_sample: bool = True

    def solve(self, problem: LinearProblem, start: Floats | None, goal: Goal) -> Solution:
        """Minimise from a start; without one from the minimum on a subsample, where there are many rows."""
        with one_blas_thread():
            if start is None:
                start = self._warm_start(problem, goal) if self.starts_on_sample else problem.start()
            return self.minimise(problem, start, goal)

    def _warm_start(self, problem: LinearProblem, goal: Goal) -> Floats:
        """The minimum on a subsample, unless a constant is better: a subsample may be separable by chance."""
        constant, few = problem.start(), problem.subsample
        if few is None:
            return constant
        bound = few.lowest_mixed_value if np.isfinite(goal.lower_bound) else -np.inf
        rough = Goal(max(goal.tol, SAMPLE_TOLERANCE), SAMPLE_STEPS, bound)
        found = self.minimise(few, constant, rough).parameters
        return found if problem.value(found) < problem.value_at_start else constant


def choose_solver(value: Any, l1: float) -> Solver:
    """The solver that a name or a GradientDescent stands for, if it can take the penalty."""
    check_argument("solver", value, SOLVER)
    solver = value.solver() if isinstance(value, GradientDescent) else _BY_NAME[value]
    if l1 > 0 and not solver.takes_l1:
        raise InvalidParameterError("The L1 penalty has corners, which this solver cannot take. Use solver='auto'.")
    return solver


def _minimise_by_hessians(problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
    return newton(problem.value_gradient_hessian, start, goal)


def _minimise_by_size(problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
    """Newton where Hessians are cheap; L-BFGS where they are not, where there are many rows, or for the L1 penalty."""
    few = problem.n_parameters <= FEW_PARAMETERS and problem.n_rows * problem.n_parameters**2 <= FEW_PRODUCTS
    cheap = few and problem.subsample is None and problem.l1 == 0
    return _minimise_by_hessians(problem, start, goal) if cheap else quasi_newton(problem, start, goal)


@dataclass(frozen=True, kw_only=True)
class GradientDescent:
    """Steps against the gradient, as they are taught; slower than the solvers chosen by default.

    Columns are standardised inside, so that one rate suits them all; ``loss_history_`` of the model holds the
    objective after every epoch.

    Parameters
    ----------
    batch : int, optional
        Rows of a step; all if not given (steepest descent), 1 for online descent. Batches take rows in a random order;
        of sources that are not in memory the blocks, and the rows of each.
    learning_rate : float, optional
        Factor of the gradient; for batches at first, falling with the root of the thousands of rows seen. By default
        as large as the curvature allows.
    random_state : int, RandomState or None, default 0
        Seed of the orders of the rows.

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

    batch: Annotated[int | None, none_or(count(1))] = None
    learning_rate: Annotated[float | None, none_or(number(above=0))] = None
    random_state: Annotated[Any, random_state] = 0

    def __post_init__(self) -> None:
        check_parameters(self)

    def solver(self) -> Solver:
        """The descent, as a solver."""
        minimise = self._descend if self.batch is None else self._descend_by_batches
        return Solver(minimise, starts_on_sample=False)

    def _descend(self, problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
        """Step against the gradient over all rows, as far as the largest curvature allows, or by a given rate."""
        log = _Log(problem, start, goal)
        rate = 1 / _largest_curvature(problem, log.scale) if self.learning_rate is None else self.learning_rate
        while not log.is_over():
            log.record(log.v - rate * log.scale**2 * log.objective.gradient)
        return log.solution()

    def _descend_by_batches(self, problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
        """Step against the gradient over a few rows at a time, in a random order.

        The rate falls with the root of the thousands of rows seen. Otherwise steps would always be as long as the
        gradients of single rows differ.
        """
        assert self.batch is not None
        random, log, seen = check_random_state(self.random_state), _Log(problem, start, goal), 0
        rate = _safe_rate(problem, log.scale, self.batch) if self.learning_rate is None else self.learning_rate
        while not log.is_over():
            V = log.v.reshape(problem.shape)
            steps = (log.scale**2).reshape(problem.shape)
            for rows, codes, weight in _batches(problem, self.batch, random):
                seen += len(rows)
                with np.errstate(all="ignore"):  # steps that are too long show in the log
                    V = V - rate / np.sqrt(1 + seen / 1000) * steps * _batch_gradient(problem, V, rows, codes, weight)
            log.record(V.reshape(-1))
        return log.solution()


_BY_NAME: dict[str, Solver] = {
    "auto": Solver(_minimise_by_size, takes_l1=True),
    "newton": Solver(_minimise_by_hessians),
    "l-bfgs": Solver(quasi_newton, takes_l1=True),
    "newton-cg": Solver(newton_cg),
    "gradient-descent": GradientDescent().solver(),
    "mini-batch": GradientDescent(batch=64).solver(),
    "online": GradientDescent(batch=1).solver(),
}

SOLVER = either(one_of(*_BY_NAME), instance_of(GradientDescent))


@dataclass
class _Log:
    """The objective after every epoch, and whether its gradient shows that the minimum is reached.

    ``scale`` divides parameters so that the objective is about as curved along each: one rate suits them all.
    """

    problem: LinearProblem
    v: Floats
    goal: Goal
    diverged: bool = False

    def __post_init__(self) -> None:
        self.scale = diagonal_whitening(self.problem, self.v).apply(np.ones(len(self.v)))
        self.history: list[float] = []
        self.record(self.v)

    def record(self, v: Floats) -> None:
        """Take the parameters after an epoch, unless they diverge."""
        with np.errstate(all="ignore"):
            objective = self.problem.value_and_gradient(v) if np.isfinite(v).all() else None
        value = np.inf if objective is None else objective.value
        if objective is None or (self.history and not value <= RUNAWAY * (1 + self.history[0])):
            self.diverged = True
            return
        self.v, self.objective = v, objective
        self.history.append(value)

    def is_over(self) -> bool:
        """Whether to stop; the gap is first estimated parameter by parameter, which costs nothing."""
        near = self.goal.tol * abs(self.history[-1])
        reached = float(np.sum(np.square(self.scale * self.objective.gradient))) / 2 <= near
        reached = reached and estimated_gap(self.problem, self.v, self.objective.gradient) <= near
        is_low = self.history[-1] < self.goal.lower_bound
        return reached or is_low or self.diverged or len(self.history) > self.goal.max_iter

    def solution(self) -> Solution:
        value, gap = self.history[-1], estimated_gap(self.problem, self.v, self.objective.gradient)
        reached = gap <= self.goal.tol * abs(value) and not value < self.goal.lower_bound
        converged = bool(reached and not self.diverged)
        return Solution(self.v, self.objective, converged, gap, tuple(self.history), diverged=self.diverged)


def _batches(
    problem: LinearProblem, batch: int, random: np.random.RandomState
) -> Iterator[tuple[Floats, Integers, Floats]]:
    """Standardised rows, their classes and weights, in batches; sparse rows become dense some thousands at a time."""
    setting, together = problem.setting, max(1, DENSE_VALUES // (batch * problem.shape[1])) * batch
    for block in problem.source.iter_blocks(random):
        for low in range(0, len(block), together):
            part = block.take(np.arange(low, min(low + together, len(block))))
            rows = extend_rows(part.X, setting.centre) * problem.units
            weight, codes = setting.weight_of(part), part.require_codes()
            for at in range(0, len(rows), batch):
                run = slice(at, at + batch)
                yield rows[run], codes[run], weight[run]


def _batch_gradient(problem: LinearProblem, V: Floats, rows: Floats, codes: Integers, weight: Floats) -> Floats:
    """The gradient estimated from a batch: the mean of its losses, and the whole penalty."""
    z = rows @ V.T
    _, residuals, _ = problem.setting.losses(z[:, 0] if len(V) == 1 else z, codes)
    residuals = residuals.reshape(len(rows), -1)
    share = problem.n_rows / len(rows)
    return np.asarray((share * weight[:, None] * residuals).T @ rows + problem.l2_weights.reshape(V.shape) * V)


def _largest_curvature(problem: LinearProblem, scale: Floats) -> float:
    """An upper bound of the curvature along any direction of scaled parameters, anywhere.

    Where all logits are 0 the Hessian is Σ w x x' times ¼ for two classes, and times (I − 11'/K) / K for K; nowhere
    is it above ¼, or ½, times the sum. Its largest eigenvalue is found by power iteration.
    """
    zero, direction = np.zeros(problem.n_parameters), np.random.default_rng(0).normal(size=problem.n_parameters)
    size = 1.0
    for _ in range(30):
        direction /= np.linalg.norm(direction)
        direction = scale * problem.hvp(zero, scale * direction)
        size = float(np.linalg.norm(direction))
    return 1.05 * size * max(1.0, problem.shape[0] / 2)


def _safe_rate(problem: LinearProblem, scale: Floats, batch: int) -> float:
    """One over a bound of the curvature of a batch's loss: that of all rows, and a share of that of a single row.

    For a row of standardised columns the latter is ¼, or ½, times the sum of the squared scales.
    """
    one = float(np.square(scale).sum()) * (1 / 4 if problem.shape[0] == 1 else 1 / 2 / problem.shape[0])
    return 1 / (_largest_curvature(problem, scale) + one / batch)
