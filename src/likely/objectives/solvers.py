"""Choice of a solver for linear problems, by name, options or size; and textbook gradient descent."""

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
from likely.objectives.whitening import estimate_gap, make_diagonal_whitening

FEW_PARAMETERS, FEW_PRODUCTS = 512, 2**31
"""Upper limits of the number of parameters, and of multiplications per pass, for Newton's method with formed
Hessians."""

SAMPLE_TOLERANCE, SAMPLE_STEPS = 1e-4, 100
"""Tolerance and maximum number of steps on a subsample. Its minimum differs from that of all rows, so more precision
is of no use."""

DENSE_VALUES = 2**20
"""Number of values that are standardised at a time."""

DIVERGENCE_FACTOR = 100.0
"""A descent has diverged when the objective exceeds this factor times 1 + its value at the start."""


@dataclass(frozen=True)
class Solver:
    """Function that minimises a problem, with its capabilities.

    Parameters
    ----------
    minimise : function of a LinearProblem, a start and a Goal
    takes_l1 : bool
        Whether it can minimise an L1 penalty.
    starts_on_sample : bool
        Whether it starts from the minimum on a subsample.
    """

    minimise: Callable[[LinearProblem, Floats, Goal], Solution]
    takes_l1: bool = False
    starts_on_sample: bool = True

    def solve(self, problem: LinearProblem, start: Floats | None, goal: Goal) -> Solution:
        """Minimise from ``start``; without one, start from the minimum on a subsample if there are many rows."""
        with one_blas_thread():
            if start is None:
                start = self._warm_start(problem, goal) if self.starts_on_sample else problem.start()
            return self.minimise(problem, start, goal)

    def _warm_start(self, problem: LinearProblem, goal: Goal) -> Floats:
        """Return the minimum on a subsample, or the constant model if that has a lower objective on all rows.

        The constant model can be better because a subsample may be separable by chance.
        """
        # Minimise on the subsample, roughly, and keep the result only if it helps on all rows.
        constant, few = problem.start(), problem.subsample
        if few is None:
            return constant
        bound = few.separation_bound if np.isfinite(goal.lower_bound) else -np.inf
        rough = Goal(max(goal.tol, SAMPLE_TOLERANCE), SAMPLE_STEPS, bound)
        found = self.minimise(few, constant, rough).parameters
        return found if problem.value(found) < problem.value_at_start else constant


def choose_solver(value: Any, l1: float) -> Solver:
    """Return the solver given by a name or a GradientDescent; raise if it cannot minimise the L1 penalty."""
    check_argument("solver", value, SOLVER)
    solver = value.solver() if isinstance(value, GradientDescent) else _BY_NAME[value]
    if l1 > 0 and not solver.takes_l1:
        raise InvalidParameterError(
            "The L1 penalty is not differentiable at 0, and this solver needs a smooth objective. Use solver='auto'."
        )
    return solver


def _minimise_by_hessians(problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
    return newton(problem.value_gradient_hessian, start, goal)


def _minimise_by_size(problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
    """Minimise by Newton's method if Hessians are cheap; else, as for many rows or the L1 penalty, by L-BFGS."""
    few = problem.n_parameters <= FEW_PARAMETERS and problem.n_rows * problem.n_parameters**2 <= FEW_PRODUCTS
    cheap = few and problem.subsample is None and problem.l1 == 0
    return _minimise_by_hessians(problem, start, goal) if cheap else quasi_newton(problem, start, goal)


@dataclass(frozen=True, kw_only=True)
class GradientDescent:
    """Textbook gradient descent: full-batch, mini-batch or online. It is slower than the default solvers.

    Columns are standardised internally, so that one learning rate suits all of them. ``loss_history_`` of the model
    holds the objective after every epoch.

    Parameters
    ----------
    batch : int, optional
        Number of rows of a step; all rows if not given (steepest descent), 1 for online descent. Batches take the rows
        in random order. For sources that are not in memory, the order of the blocks and that of the rows within each
        block are random.
    learning_rate : float, optional
        Factor of the gradient. With batches it is the initial rate, which is divided by √(1 + rows seen / 1000). By
        default as large as the curvature allows.
    random_state : int, RandomState or None, default 0
        Seed of the order of the rows.

    Notes
    -----
    Parameters are scaled by the inverse square root of the diagonal of the Hessian at the start, for standardised
    columns and including the penalty. In these units the curvature is about the same along every parameter. A step is
    minus the learning rate times the gradient with respect to the scaled parameters.

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
        """Return the descent as a Solver."""
        minimise = self._descend if self.batch is None else self._descend_by_batches
        return Solver(minimise, starts_on_sample=False)

    def _descend(self, problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
        """Run steepest descent over all rows, with the given rate or 1 / (bound of the largest curvature)."""
        log = _DescentLog(problem, start, goal)
        rate = 1 / _largest_curvature(problem, log.scale) if self.learning_rate is None else self.learning_rate
        # Gradient step in scaled parameters u = v / scale: v ← v − rate · scale² · gradient.
        while not log.is_over():
            log.record(log.v - rate * log.scale**2 * log.objective.gradient)
        return log.solution()

    def _descend_by_batches(self, problem: LinearProblem, start: Floats, goal: Goal) -> Solution:
        """Run stochastic gradient descent over batches of rows in random order.

        The rate is divided by √(1 + rows seen / 1000). With a constant rate the steps would not vanish at the minimum,
        because the gradients of single batches do not.
        """
        assert self.batch is not None
        random, log, seen = check_random_state(self.random_state), _DescentLog(problem, start, goal), 0
        rate = _safe_rate(problem, log.scale, self.batch) if self.learning_rate is None else self.learning_rate
        # One epoch per turn: a step for every batch, then one pass for the objective.
        while not log.is_over():
            V = log.v.reshape(problem.shape)
            steps = (log.scale**2).reshape(problem.shape)
            for rows, codes, weight in _batches(problem, self.batch, random):
                seen += len(rows)
                with np.errstate(all="ignore"):  # the log detects steps that are too long
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
class _DescentLog:
    """History of the objective, one value per epoch, and the stopping rule of a descent.

    ``scale`` is the inverse square root of the diagonal of the Hessian at the start. In scaled parameters the curvature
    is about 1 along each of them, so that one learning rate suits all.
    """

    problem: LinearProblem
    v: Floats
    goal: Goal
    diverged: bool = False

    def __post_init__(self) -> None:
        self.scale = make_diagonal_whitening(self.problem, self.v).apply(np.ones(len(self.v)))
        self.history: list[float] = []
        self.record(self.v)

    def record(self, v: Floats) -> None:
        """Accept the parameters after an epoch, unless the objective has diverged."""
        with np.errstate(all="ignore"):
            objective = self.problem.value_and_gradient(v) if np.isfinite(v).all() else None
        value = np.inf if objective is None else objective.value
        if objective is None or (self.history and not value <= DIVERGENCE_FACTOR * (1 + self.history[0])):
            self.diverged = True
            return
        self.v, self.objective = v, objective
        self.history.append(value)

    def is_over(self) -> bool:
        """Return whether to stop.

        The gap estimated from the diagonal of the Hessian at the start needs no pass over the rows, so it is tested
        first.
        """
        near = self.goal.tol * abs(self.history[-1])
        reached = float(np.sum(np.square(self.scale * self.objective.gradient))) / 2 <= near
        reached = reached and estimate_gap(self.problem, self.v, self.objective.gradient) <= near
        is_low = self.history[-1] < self.goal.lower_bound
        return reached or is_low or self.diverged or len(self.history) > self.goal.max_iter

    def solution(self) -> Solution:
        value, gap = self.history[-1], estimate_gap(self.problem, self.v, self.objective.gradient)
        reached = gap <= self.goal.tol * abs(value) and not value < self.goal.lower_bound
        converged = bool(reached and not self.diverged)
        return Solution(self.v, self.objective, converged, gap, tuple(self.history), diverged=self.diverged)


def _batches(
    problem: LinearProblem, batch: int, random: np.random.RandomState
) -> Iterator[tuple[Floats, Integers, Floats]]:
    """Yield standardised rows, their class codes and weights in batches; sparse rows are made dense part by part."""
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
    """Estimate the gradient from a batch: the scaled sum over its rows, plus the gradient of the whole penalty."""
    z = rows @ V.T
    _, residuals, _ = problem.setting.losses(z[:, 0] if len(V) == 1 else z, codes)
    residuals = residuals.reshape(len(rows), -1)
    share = problem.n_rows / len(rows)
    return np.asarray((share * weight[:, None] * residuals).T @ rows + problem.l2_weights.reshape(V.shape) * V)


def _largest_curvature(problem: LinearProblem, scale: Floats) -> float:
    """Return an upper bound of the largest eigenvalue of the Hessian in scaled parameters, valid everywhere.

    Where all logits are 0 the Hessian is Σ w x x' times ¼ for two classes, and times (I − 11'/K) / K for K classes. It
    is nowhere above ¼, or ½, times that sum. The largest eigenvalue at 0 is found by power iteration.
    """
    zero, direction = np.zeros(problem.n_parameters), np.random.default_rng(0).normal(size=problem.n_parameters)
    # Power iteration on the scaled Hessian at θ = 0; the factor 1.05 allows for its error.
    size = 1.0
    for _ in range(30):
        direction /= np.linalg.norm(direction)
        direction = scale * problem.hessian_product(zero, scale * direction)
        size = float(np.linalg.norm(direction))
    return 1.05 * size * max(1.0, problem.shape[0] / 2)


def _safe_rate(problem: LinearProblem, scale: Floats, batch: int) -> float:
    """Return 1 / (a bound of the curvature of a batch's loss).

    The bound is that of all rows plus that of a single row divided by the batch size. For a row of standardised columns
    the latter is ¼, or ½, times the sum of the squared scales.
    """
    one = float(np.square(scale).sum()) * (1 / 4 if problem.shape[0] == 1 else 1 / 2 / problem.shape[0])
    return 1 / (_largest_curvature(problem, scale) + one / batch)
