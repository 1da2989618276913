"""Gradient descent, as it is taught: on all rows, on batches of some, or online."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from likely._typing import Floats, Integers
from likely.blocks import presented_blocks
from likely.objectives.losses import logistic_loss, softmax_loss
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution
from likely.objectives.whitening import diagonal_whitening, estimated_gap

__all__ = ["batch_descent", "gradient_descent"]

DENSE_VALUES = 2**20
"""Values of the rows that are standardised at once."""

RUNAWAY = 100.0
"""Times the objective at the start, past which a descent runs away."""


def gradient_descent(
    problem: LinearProblem,
    start: Floats,
    tolerance: float,
    most_epochs: int,
    bottom: float = -np.inf,
    learning_rate: float | None = None,
) -> Solution:
    """Step against the gradient over all rows, as far as the largest curvature allows, or by a given rate.

    Parameters are scaled so that the objective is about as curved along each, or one rate would not suit them.
    """
    log = _Log(problem, start, tolerance, bottom)
    rate = 1 / _largest_curvature(problem, log.scale) if learning_rate is None else learning_rate
    while not log.is_over(most_epochs):
        log.record(log.v - rate * log.scale**2 * log.objective.gradient)
    return log.solution()


def batch_descent(
    problem: LinearProblem,
    start: Floats,
    tolerance: float,
    most_epochs: int,
    bottom: float = -np.inf,
    learning_rate: float | None = None,
    batch: int = 1,
    random_state: Any = 0,
) -> Solution:
    """Step against the gradient over a few rows at a time, in a random order.

    The rate falls with the root of the thousands of rows seen, or steps would forever be as long as the gradients of
    single rows differ.
    """
    random = check_random_state(random_state)
    log = _Log(problem, start, tolerance, bottom)
    rate = _safe_rate(problem, log.scale, batch) if learning_rate is None else learning_rate
    seen = 0
    while not log.is_over(most_epochs):
        V = log.v.reshape(problem.shape)
        steps = (log.scale**2).reshape(problem.shape)
        for rows, targets, weight in _batches(problem, batch, random):
            seen += len(rows)
            with np.errstate(all="ignore"):  # of steps that are too long, the log will tell
                V = V - rate / np.sqrt(1 + seen / 1000) * steps * _slope(problem, V, rows, targets, weight)
        log.record(V.reshape(-1))
    return log.solution()


def _batches(
    problem: LinearProblem, batch: int, random: np.random.RandomState
) -> Iterator[tuple[Floats, Integers, Floats]]:
    """Standardised rows, their classes and weights, a few at a time; dense, of sparse rows some thousands of values."""
    setting, together = problem.setting, max(1, DENSE_VALUES // (batch * problem.shape[1])) * batch
    for block in presented_blocks(problem.source, random):
        for low in range(0, len(block), together):
            some = block.take(np.arange(low, min(low + together, len(block))))
            rows = setting.centred(some) * problem.units
            weight, codes = setting.weight_of(some), some.codes
            assert codes is not None
            for at in range(0, len(rows), batch):
                run = slice(at, at + batch)
                yield rows[run], codes[run], weight[run]


def _slope(problem: LinearProblem, V: Floats, rows: Floats, codes: Integers, weight: Floats) -> Floats:
    """The gradient as a batch would have it: its losses averaged, and the whole penalty."""
    logits, targets = rows @ V.T, problem.setting.targets
    if len(V) == 1:
        _, residual, _ = logistic_loss(logits[:, 0], targets[codes, 1])
        residuals = residual[:, None]
    else:
        _, residuals, _ = softmax_loss(logits, targets, codes)
    share = problem.n_rows / len(rows)
    return np.asarray((share * weight[:, None] * residuals).T @ rows + problem.squares.reshape(V.shape) * V)


@dataclass
class _Log:
    """The objective after every epoch, and whether its gradient says that the end is reached."""

    problem: LinearProblem
    v: Floats
    tolerance: float
    bottom: float
    diverged: bool = False

    def __post_init__(self) -> None:
        self.scale = diagonal_whitening(self.problem, self.v).out(np.ones(len(self.v)))
        self.history: list[float] = []
        self.record(self.v)

    def record(self, v: Floats) -> None:
        """Take the parameters after an epoch, unless they have run away."""
        with np.errstate(all="ignore"):
            objective = self.problem.slope(v) if np.isfinite(v).all() else None
        value = np.inf if objective is None else objective.value
        if objective is None or (self.history and not value <= RUNAWAY * (1 + self.history[0])):
            self.diverged = True
            return
        self.v, self.objective = v, objective
        self.history.append(value)

    def is_over(self, most_epochs: int) -> bool:
        """Whether to stop; the gap is first judged parameter by parameter, which costs nothing."""
        goal = self.tolerance * abs(self.history[-1])
        reached = float(np.sum(np.square(self.scale * self.objective.gradient))) / 2 <= goal
        reached = reached and estimated_gap(self.problem, self.v, self.objective.gradient) <= goal
        return reached or self.history[-1] < self.bottom or self.diverged or len(self.history) > most_epochs

    def solution(self) -> Solution:
        value, gap = self.history[-1], estimated_gap(self.problem, self.v, self.objective.gradient)
        reached = gap <= self.tolerance * abs(value) and not value < self.bottom
        converged = bool(reached and not self.diverged)
        return Solution(self.v, self.objective, converged, gap, tuple(self.history), diverged=self.diverged)


def _largest_curvature(problem: LinearProblem, scale: Floats) -> float:
    """A bound of the curvature along any direction of scaled parameters, anywhere.

    Where all logits are 0 the Hessian is Σ w x x' times ¼ for two classes, and times (I − 11'/K) / K for K; nowhere
    is it above ¼, or ½, times the sum. Its largest eigenvalue is found by power iteration.
    """
    zero, direction = np.zeros(problem.n_parameters), np.random.default_rng(0).normal(size=problem.n_parameters)
    size = 1.0
    for _ in range(30):
        direction /= np.linalg.norm(direction)
        direction = scale * problem.product(zero, scale * direction)
        size = float(np.linalg.norm(direction))
    return 1.05 * size * max(1.0, problem.shape[0] / 2)


def _safe_rate(problem: LinearProblem, scale: Floats, batch: int) -> float:
    """One over a bound of the curvature of a batch's loss: that of all rows, and a share of that of a single row.

    For a row of standardised columns the latter is ¼, or ½, times the sum of the squared scales.
    """
    one = float(np.square(scale).sum()) * (1 / 4 if problem.shape[0] == 1 else 1 / 2 / problem.shape[0])
    return 1 / (_largest_curvature(problem, scale) + one / batch)
