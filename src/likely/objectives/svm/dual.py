"""Solution of all problems of a support vector machine in the dual, for several costs.

Problems share the rows of the Gram matrix, and each cost starts from the solution of the one before (warm start).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._formatting import format_count
from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import ArraySource, Block, for_each
from likely.exceptions import DegenerateDataError
from likely.kernels import ConstantKernel, GramRows, LinearKernel
from likely.objectives.svm.coordinate_descent import solve_dual_by_coordinates
from likely.objectives.svm.hard_margin import SeparabilityCheck
from likely.objectives.svm.task import DualSolver, Machine, Task, describe_sides, report_progress
from likely.objectives.svm.working_set import DualSolution, solve_dual

Start = tuple[Floats, Floats] | None
Ascend = Callable[[Floats, Start], DualSolution]
"""Solver of one problem: a function of the upper bounds C of the rows and a start (dual coefficients and scores)."""


def solve_in_dual(task: Task, solver: DualSolver, by_coordinates: bool) -> list[Machine]:
    """Return a machine for each of the costs of the task, whose rows are in memory.

    The costs of a problem are solved in order, each from the solution of the one before, with one cache of the Gram
    matrix. Problems in which all rows take part share the cache too.

    Parameters
    ----------
    by_coordinates : bool
        Whether to use coordinate descent over sparse rows, or else working sets.
    """
    source = task.source.in_memory("The dual of SVM")
    is_linear = isinstance(task.kernel, LinearKernel)
    # With a free bias, centring the rows does not change a linear machine. It avoids cancellation.
    centre = dense(source.X).mean(axis=0) if is_linear and task.bias_scale is None and not issparse(source.X) else None
    X: Any = source.X if centre is None else source.X - centre
    if task.kernel.is_precomputed and source.positions is not None:
        X = X[:, source.positions]
    problems = _Problems(task, solver, source, X)
    by_problem = problems.solve_by_coordinates() if by_coordinates else problems.solve_by_sets()
    return [_assemble_machine(problems, list(solutions), centre) for solutions in zip(*by_problem, strict=True)]


@dataclass(frozen=True, eq=False)
class _Problems:
    """Problems of a task, on rows X in memory."""

    task: Task
    solver: DualSolver
    source: ArraySource
    X: Any

    def solve_by_sets(self) -> list[list[DualSolution]]:
        """Return the solutions of every problem for each of the costs, by working sets."""
        shared = self._gram_rows(slice(None)) if (self.task.sides != 0).all() else None
        return [self._solve_along_costs(side, self._working_set_solver(side, shared)) for side in self.task.sides]

    def solve_by_coordinates(self) -> list[list[DualSolution]]:
        """Return the solutions of every problem for each of the costs, by coordinate descent.

        Problems for which it does not converge, as with columns of very different scales, are solved by working sets.
        """
        found = for_each(lambda side: self._solve_along_costs(side, self._coordinate_solver(side)), [*self.task.sides])
        return [
            self._solve_unconverged(side, solutions) for side, solutions in zip(self.task.sides, found, strict=True)
        ]

    def members(self, side: Floats) -> Integers:
        """Return the rows that take part in a problem."""
        return np.flatnonzero(side[self.codes])

    @property
    def codes(self) -> Integers:
        assert self.source.codes is not None
        return self.source.codes

    def _solve_along_costs(self, side: Floats, ascend: Ascend) -> list[DualSolution]:
        """Solve a problem for each of the costs. Each solution starts from the previous one."""
        found: list[DualSolution] = []
        costs = self.task.costs
        for cost, before in zip(costs, [None, *costs], strict=False):
            # Warm start: scaling α by the ratio of the costs keeps it within the new bounds.
            start = None if before is None else found[-1].scaled_to(_min_cost_ratio(before, cost))
            found.append(ascend(self._bounds(side, cost), start))
        return found

    def _solve_unconverged(self, side: Floats, found: list[DualSolution]) -> list[DualSolution]:
        """Solve the problems that did not converge by working sets, starting from the result of coordinate descent."""
        if self.solver.max_iter is not None or all(solution.converged for solution in found):
            return found
        ascend = self._working_set_solver(side, None)
        pairs = zip(found, self.task.costs, strict=True)
        return [s if s.converged else ascend(self._bounds(side, cost), (s.alpha, s.f)) for s, cost in pairs]

    def _bounds(self, side: Floats, cost: Floats) -> Floats:
        """Return the upper bounds C of the dual coefficients of the rows of a problem."""
        members, weight = self.members(side), self.source.weight
        C = cost[self.codes[members]]
        return C if weight is None else C * weight[members]

    def _gram_rows(self, members: Integers | slice) -> GramRows:
        """Return the cached Gram matrix of some rows; a penalised bias adds the constant K² to the kernel."""
        kernel, bias_scale = self.task.kernel, self.task.bias_scale
        kernel = kernel + ConstantKernel(bias_scale**2) if bias_scale else kernel
        X: Any = self.X[members]
        if kernel.is_precomputed:
            X = X[:, members]
        return GramRows(kernel, X, self.solver.cache_bytes())

    def _coordinate_solver(self, side: Floats) -> Ascend:
        members, on_pass = self.members(side), self._progress(side)
        X, z = self.X if len(members) == self.X.shape[0] else self.X[members], side[self.codes[members]]
        task, most = self.task, self.solver.max_rounds()
        return lambda C, start: solve_dual_by_coordinates(X, z, C, task.bias_scale, task.tol, most, start, on_pass)

    def _working_set_solver(self, side: Floats, shared: GramRows | None) -> Ascend:
        members, on_round, task = self.members(side), self._progress(side), self.task
        rows, z = self._gram_rows(members) if shared is None else shared, side[self.codes[members]]
        positions = members if self.source.positions is None else np.asarray(self.source.positions)[members]
        problem = describe_sides(side, task.source.require_classes())

        def ascend(C: Floats, start: Start) -> DualSolution:
            # A hard margin may not exist, so its solver checks separability on the way.
            is_hard, is_linear = not np.isfinite(C).all(), isinstance(task.kernel, LinearKernel)
            options = is_linear, positions, problem, task.bias_scale != 0
            check = SeparabilityCheck(rows, z, *options) if is_hard else None
            has_bias, most = task.bias_scale is None, self.solver.max_rounds(is_hard)
            solution = solve_dual(rows, z, C, has_bias, task.tol, most, start, on_round, check)
            if not np.isfinite(solution.primal):
                raise _undecided_error(most, problem) if is_hard else Block(rows.X).non_finite()
            return replace(solution, precise=not _has_lost_digits(rows, solution, C, task.tol))

        return ascend

    def _progress(self, side: Floats) -> Callable[[int, float], None] | None:
        return report_progress(self.solver.verbose, f"SVM, {describe_sides(side, self.task.source.require_classes())}")


def _assemble_machine(problems: _Problems, solutions: list[DualSolution], centre: Floats | None) -> Machine:
    """Join the solutions of all problems, with the rows that are support vectors of any of them."""
    task = problems.task
    # z α of every problem, one row each, 0 for rows that take no part.
    signed = np.zeros((len(solutions), problems.X.shape[0]))
    for row, side, solution in zip(signed, task.sides, solutions, strict=True):
        members = problems.members(side)
        row[members] = solution.alpha * side[problems.codes[members]]
    support = np.flatnonzero(signed.any(axis=0))
    dual_coef = signed[:, support]
    intercept = np.array([solution.intercept for solution in solutions])
    squares = np.array([solution.square for solution in solutions])
    if task.bias_scale is not None:
        # The bias is K times the weight v = K Σ z α of the constant feature K. ‖w‖² excludes v².
        weights = task.bias_scale * dual_coef.sum(axis=1)
        intercept, squares = task.bias_scale * weights, squares - np.square(weights)
    coef = np.asarray(dual_coef @ problems.X[support]) if isinstance(task.kernel, LinearKernel) else None
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


def _undecided_error(n_sets: int, problem: str) -> DegenerateDataError:
    return DegenerateDataError(
        f"SVM with a hard margin stopped after {format_count(n_sets, 'working set')}. For the problem {problem}, it "
        "found no separating surface, and no proof that such a surface does not exist. The margin may be too narrow "
        "for floating-point precision, or there may be too many rows for the proof. Set a finite C, put Standardize "
        "before SVM, or raise max_iter of DualSolver."
    )


def _has_lost_digits(rows: GramRows, solution: DualSolution, C: Floats, tol: float) -> bool:
    """Return whether rounding errors of the scores may change the objective by more than the tolerance.

    They change the losses of the support vectors, or ‖w‖² if there are no losses. The error of a score is about
    ε max k(x, x) ‖α‖.
    """
    # The largest k(x, x) among some support vectors stands for all.
    support = np.flatnonzero(solution.alpha)
    few = support[: min(256, rows.capacity)]
    largest = float(rows.kept[rows.slots(few), few].max(initial=0.0))
    rounding = np.finfo(np.float64).eps * largest * float(np.linalg.norm(solution.alpha))
    has_losses = solution.primal > solution.square / 2 * (1 + 1e-9)
    sensitivity = float(C[support].sum()) if has_losses else solution.square
    return bool(rounding * sensitivity > max(tol, 1e-7) * solution.primal)


def _min_cost_ratio(before: Floats, now: Floats) -> float:
    """Return the smallest ratio of the new costs to the previous ones; 1 if the latter are infinite."""
    return float((now / before).min()) if np.isfinite(before).all() else 1.0
