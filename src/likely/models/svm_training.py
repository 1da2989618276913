"""Training of support vector machines: all problems of a model, for several costs, by either solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import ArraySource, ClassCounts, Source
from likely.kernels import Kernel, LinearKernel
from likely.objectives.svm.coordinates import is_wide
from likely.objectives.svm.dual import DualSolution
from likely.objectives.svm.machine import DualMachine
from likely.objectives.svm.options import DualSolver, PrimalSolver, teller
from likely.objectives.svm.primal import LinearSolution, solve_primal
from likely.objectives.svm.schemes import said_of
from likely.objectives.svm.support import supporting

__all__ = ["Machine", "Task", "train"]

FEW_SETS = 50
"""Working sets of dense rows after which the primal is tried, where that can be."""

SUPPORT = 1e-6
"""Least multiplier of a support vector found in the primal, in parts of the largest of its side."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned.

    Parameters
    ----------
    source : Source
    kernel : Kernel
        Fitted.
    bias_scale : float or None
    sides : array of shape (n_problems, n_classes)
    costs : list of arrays of shape (n_classes,)
        What a row of each class costs, for every machine asked for; in the order in which they start from each other.
    tolerance : float
    counts : ClassCounts
        Rows and weights of each class.
    """

    source: Source
    kernel: Kernel
    bias_scale: float | None
    sides: Floats
    costs: list[Floats]
    tolerance: float
    counts: ClassCounts


@dataclass(frozen=True, eq=False)
class Machine:
    """What was learned.

    Attributes
    ----------
    intercept, squares : arrays of shape (n_problems,)
        Biases, and squared lengths of the weights.
    primal, dual : arrays of shape (n_problems,)
        Of shape (1,) for a joint margin, as is the next.
    n_iter : array of int of shape (n_problems,)
    converged : bool
    support : array of int of shape (n_support,), or None
        Rows in memory with a multiplier > 0.
    dual_coef : array of shape (n_problems, n_support), or None
    coef : array of shape (n_problems, d), or None
        Of linear kernels.
    centre : array of shape (d,), or None
        What is to be taken off rows before ``coef`` and ``intercept``.
    precise : bool
        Whether scores have as many digits as the gap promises.
    """

    intercept: Floats
    squares: Floats
    primal: Floats
    dual: Floats
    n_iter: Integers
    converged: bool
    support: Integers | None = None
    dual_coef: Floats | None = None
    coef: Floats | None = None
    centre: Floats | None = None
    precise: bool = True


def train(task: Task, solver: DualSolver | PrimalSolver | None) -> list[Machine]:
    """A machine for each of the costs; without a solver by the dual, and where that ends early, by the primal."""
    if isinstance(solver, PrimalSolver):
        return _in_primal(task, solver)
    assert isinstance(task.source, ArraySource)
    few = None if is_wide(task.kernel, task.source.X) else FEW_SETS
    machines = _in_dual(task, task.source, solver or DualSolver(max_iter=few))
    if solver is not None or all(machine.converged and machine.precise for machine in machines):
        return machines
    others = _in_primal(task, PrimalSolver())
    return [min(pair, key=_how_bad) for pair in zip(machines, others, strict=True)]


def _how_bad(machine: Machine) -> tuple[bool, bool, float]:
    return not machine.converged, not machine.precise, float((machine.primal - machine.dual).sum())


def _in_dual(task: Task, source: ArraySource, solver: DualSolver) -> list[Machine]:
    assert source.codes is not None
    assert source.classes is not None
    linear = isinstance(task.kernel, LinearKernel)
    # A free bias makes linear machines indifferent to where the rows are, but not their digits.
    centre = dense(source.X).mean(axis=0) if linear and task.bias_scale is None and not issparse(source.X) else None
    X: Any = source.X if centre is None else source.X - centre
    if task.kernel.is_precomputed and source.positions is not None:
        X = X[:, source.positions]
    machine = DualMachine(
        X, source.codes, source.weight, task.kernel, task.bias_scale, task.sides, source.classes, source.positions
    )
    found = machine.solve(task.costs, solver, task.tolerance)
    return [_joined(machine, solutions, linear, centre) for solutions in found]


def _joined(machine: DualMachine, solutions: list[DualSolution], linear: bool, centre: Floats | None) -> Machine:
    """The solutions of all problems, with the rows that support any of them."""
    signed = np.zeros((len(solutions), machine.X.shape[0]))
    for row, side, solution in zip(signed, machine.sides, solutions, strict=True):
        members = machine.members(side)
        row[members] = solution.alpha * side[machine.codes[members]]
    support = np.flatnonzero(signed.any(axis=0))
    dual_coef = signed[:, support]
    intercept = np.array([solution.intercept for solution in solutions])
    squares = np.array([solution.square for solution in solutions])
    if machine.bias_scale is not None:
        weights = machine.bias_scale * dual_coef.sum(axis=1)  # of the feature that is K in all rows
        intercept, squares = machine.bias_scale * weights, squares - np.square(weights)
    coef = np.asarray(dual_coef @ machine.X[support]) if linear else None
    return Machine(
        intercept,
        np.maximum(squares, 0.0) if coef is None else np.square(coef).sum(axis=1),
        np.array([solution.primal for solution in solutions]),
        np.array([solution.dual for solution in solutions]),
        np.array([solution.n_iter for solution in solutions]),
        all(solution.converged for solution in solutions),
        support,
        dual_coef,
        coef,
        centre,
        all(solution.precise for solution in solutions),
    )


def _in_primal(task: Task, solver: PrimalSolver) -> list[Machine]:
    found: list[list[LinearSolution]] = [[] for _ in task.costs]
    assert task.source.classes is not None
    for side in task.sides:
        start: tuple[Floats, float] | None = None
        tell = teller(solver.verbose, f"SVM, {said_of(side, task.source.classes)}")
        for solutions, costs in zip(found, task.costs, strict=True):
            options = task.bias_scale, task.tolerance, solver.max_iter, start, tell, task.counts
            solutions.append(solve_primal(task.source, side, costs, *options))
            start = solutions[-1].coef, solutions[-1].intercept
    return [_planes(task, solutions, costs) for solutions, costs in zip(found, task.costs, strict=True)]


def _planes(task: Task, solutions: list[LinearSolution], costs: Floats) -> Machine:
    coef, centre = np.array([solution.coef for solution in solutions]), solutions[0].centre
    # Each problem has a centre of its own, that of the rows that take part in it.
    moved = [float(solution.coef @ (centre - solution.centre)) for solution in solutions]
    machine = Machine(
        np.array([solution.centred_intercept for solution in solutions]) + moved,
        np.square(coef).sum(axis=1),
        np.array([solution.primal for solution in solutions]),
        np.array([solution.dual for solution in solutions]),
        np.array([solution.n_iter for solution in solutions]),
        all(solution.converged for solution in solutions),
        coef=coef,
        centre=centre,
    )
    source = task.source
    if not isinstance(source, ArraySource):
        return machine
    found = [_signed(task, source, *each, costs) for each in zip(task.sides, solutions, strict=True)]
    signed, dual = np.array([each[0] for each in found]), np.array([each[1] for each in found])
    support = np.flatnonzero(signed.any(axis=0))
    near = machine.converged or bool((machine.primal - dual <= task.tolerance * machine.primal).all())
    return replace(machine, support=support, dual_coef=signed[:, support], dual=dual, converged=near)


def _signed(
    task: Task, source: ArraySource, side: Floats, solution: LinearSolution, costs: Floats
) -> tuple[Floats, float]:
    """Multipliers times the side, and the value of the dual.

    They are of few rows if the gap allows it; else of all but those that are next to nothing beside the largest of
    their side.
    """
    block = source.all_rows()
    assert block.codes is not None
    z, few = side[block.codes], supporting(block, solution, side, costs, task.bias_scale, task.tolerance)
    if few is not None:
        return few[0] * z, few[1]
    alpha = solution.multipliers(block, side, costs)
    for sign in (-1, 1):
        alpha[(z == sign) & (alpha <= SUPPORT * alpha[z == sign].max(initial=0.0))] = 0.0
    return np.asarray(alpha * z), solution.dual
