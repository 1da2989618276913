"""Gradient descent, as it is taught: on all rows, on batches of some, or online."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import Block
from likely.objectives import linear
from likely.objectives.problem import LinearProblem
from likely.objectives.solution import Solution
from likely.objectives.whitening import diagonal_whitening
from likely.statistics.objective import Objective

__all__ = ["batch_descent", "gradient_descent"]


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
    seed: int = 0,
) -> Solution:
    """Step against the gradient over a few rows at a time.

    The blocks of the source are gone through in order, the rows of each in a random order. The rate falls with the
    root of the epoch, without which steps would forever be as long as the gradients of single rows differ.
    """
    random = np.random.default_rng(seed)
    log = _Log(problem, start, tolerance, bottom)
    first = _safe_rate(problem, log.scale, batch) if learning_rate is None else learning_rate
    while not log.is_over(most_epochs):
        v, rate = log.v, log.scale**2 * first / np.sqrt(len(log.history))
        for index in range(problem.source.n_blocks):
            v = _through(problem, problem.source.block(index), v, rate, batch, random)
        log.record(v)
    return log.solution()


@dataclass
class _Log:
    """The objective after every epoch, and whether its gradient says that the end is reached."""

    problem: LinearProblem
    v: Floats
    tolerance: float
    bottom: float

    def __post_init__(self) -> None:
        self.scale = diagonal_whitening(self.problem, self.v).out(np.ones(len(self.v)))
        self.history: list[float] = []
        self.record(self.v)

    def record(self, v: Floats) -> None:
        self.v, self.objective = v, self.problem.slope(v)
        self.history.append(self.objective.value)
        self.gap = float(np.sum(np.square(self.scale * self.objective.gradient))) / 2

    def is_over(self, most_epochs: int) -> bool:
        reached = self.gap <= self.tolerance * abs(self.history[-1]) or self.history[-1] < self.bottom
        return reached or len(self.history) > most_epochs

    def solution(self) -> Solution:
        value = self.history[-1]
        converged = bool(self.gap <= self.tolerance * abs(value) and not value < self.bottom)
        return Solution(self.v, self.objective, converged, self.gap, tuple(self.history))


def _through(
    problem: LinearProblem, block: Block, v: Floats, rate: Floats, batch: int, random: np.random.Generator
) -> Floats:
    """The parameters after the batches of a block."""
    order = random.permutation(len(block))
    total = float(problem.setting.weight_of(block).sum())
    for low in range(0, len(order), batch):
        some = _rows_of(block, order[low : low + batch])
        objective = _of_batch(problem, some, v, len(order) / len(some) / (total * problem.n_rows / len(order)))
        v = v - rate * objective.gradient
    return v


def _of_batch(problem: LinearProblem, some: Block, v: Floats, share: float) -> Objective:
    """The objective as a batch would have it: its losses averaged, and the whole penalty."""
    setting = replace(problem.setting, class_weight=problem.setting.class_weight * share)
    sums = linear.slope(some, problem.natural(v), setting)
    gradient = (sums.gradient.reshape(problem.shape) * problem.units).reshape(-1)
    return Objective(sums.value, gradient + problem.squares * v)


def _rows_of(block: Block, kept: Integers) -> Block:
    weight = None if block.weight is None else block.weight[kept]
    assert block.codes is not None
    return Block(block.X[kept], block.codes[kept], weight)


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
