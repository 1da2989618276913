"""All problems of a support vector machine in the dual, for several costs: kernels are shared, and starts handed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likely._numerics import dense
from likely._typing import Floats, Integers, Labels, Rows
from likely._words import counted
from likely.blocks import Block, for_each
from likely.exceptions import DegenerateDataError, NotSeparableError
from likely.kernels import ConstantKernel, GramRows, Kernel, LinearKernel
from likely.objectives.svm.coordinates import is_wide, solve_rows
from likely.objectives.svm.dual import DualSolution, solve_dual
from likely.objectives.svm.hard_margin import Features, Overlap, overlap_of
from likely.objectives.svm.options import DualSolver, teller
from likely.objectives.svm.schemes import said_of

__all__ = ["DualMachine"]

Start = tuple[Floats, Floats] | None
Ascend = Callable[[Floats, Start], DualSolution]
"""Solves a problem for the costs of its rows, from multipliers and scores to start from."""

NEAR = 1e-2
"""Distance of two mixtures, in parts of the length of the longest row, at which it is worth to look for a proof."""


@dataclass(frozen=True, eq=False)
class DualMachine:
    """Rows, sides and a kernel.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    codes : array of int of shape (n,)
        Classes of the rows.
    weight : array of shape (n,), or None
    kernel : Kernel
        Fitted.
    bias_scale : float or None
        None for a free bias.
    sides : array of shape (n_problems, n_classes)
    classes : array of labels
    positions : array of int of shape (n,), or None
        Where the rows were before some were dropped, for messages.
    """

    X: Rows
    codes: Integers
    weight: Floats | None
    kernel: Kernel
    bias_scale: float | None
    sides: Floats
    classes: Labels
    positions: Integers | None = None

    def solve(self, costs: list[Floats], solver: DualSolver, tolerance: float) -> list[list[DualSolution]]:
        """Solutions of every problem for each of the costs of the classes, which do not fall.

        Solutions are of the rows that take part in a problem. A problem's costs are gone through in their order, each
        starting from the one before, with one kernel; problems that all rows take part in share it too.
        """
        if is_wide(self.kernel, self.X) and all(np.isfinite(cost).all() for cost in costs):
            by_rows = for_each(
                lambda side: self._along(side, costs, self._by_rows(side, solver, tolerance)), [*self.sides]
            )
            by_problem = [
                self._finished(*each, costs, solver, tolerance) for each in zip(self.sides, by_rows, strict=True)
            ]
        else:
            shared = self._rows(slice(None), solver) if (self.sides != 0).all() else None
            by_problem = [
                self._along(side, costs, self._by_sets(side, solver, tolerance, shared)) for side in self.sides
            ]
        return [list(solutions) for solutions in zip(*by_problem, strict=True)]

    def members(self, side: Floats) -> Integers:
        """Rows that take part in a problem."""
        return np.flatnonzero(side[self.codes])

    def _rows(self, members: Integers | slice, solver: DualSolver) -> GramRows:
        kernel = self.kernel if self.bias_scale is None else self.kernel + ConstantKernel(self.bias_scale**2)
        X: Any = self.X[members]
        if kernel.is_precomputed:
            X = X[:, members]
        return GramRows(kernel, X, solver.bytes_kept())

    def _along(self, side: Floats, costs: list[Floats], ascend: Ascend) -> list[DualSolution]:
        found: list[DualSolution] = []
        for cost, before in zip(costs, [None, *costs], strict=False):
            start = None if before is None else found[-1].scaled_to(_ratio(before, cost))
            found.append(ascend(self._bounds(side, cost), start))
        return found

    def _finished(
        self, side: Floats, found: list[DualSolution], costs: list[Floats], solver: DualSolver, tolerance: float
    ) -> list[DualSolution]:
        """By working sets what did not get to its end by rows, as where columns are of very different scale."""
        if solver.max_iter is not None or all(solution.converged for solution in found):
            return found
        ascend = self._by_sets(side, solver, tolerance, None)
        pairs = zip(found, costs, strict=True)
        return [s if s.converged else ascend(self._bounds(side, cost), (s.alpha, s.f)) for s, cost in pairs]

    def _bounds(self, side: Floats, cost: Floats) -> Floats:
        """What the rows of a problem cost."""
        members = self.members(side)
        C = cost[self.codes[members]]
        return C if self.weight is None else C * self.weight[members]

    def _by_rows(self, side: Floats, solver: DualSolver, tolerance: float) -> Ascend:
        """What solves a problem of sparse rows."""
        members, tell = self.members(side), self._teller(side, solver)
        X, z = self.X if len(members) == self.X.shape[0] else self.X[members], side[self.codes[members]]
        return lambda C, start: solve_rows(X, z, C, self.bias_scale, tolerance, solver.most(), start, tell)

    def _by_sets(self, side: Floats, solver: DualSolver, tolerance: float, shared: GramRows | None) -> Ascend:
        """What solves a problem of any kernel."""
        members, tell = self.members(side), self._teller(side, solver)
        rows, z = self._rows(members, solver) if shared is None else shared, side[self.codes[members]]

        def ascend(C: Floats, start: Start) -> DualSolution:
            is_hard = not np.isfinite(C).all()
            look = _Lookout(self, rows, z, members, side) if is_hard else None
            has_bias, most = self.bias_scale is None, solver.most(is_hard)
            solution = solve_dual(rows, z, C, has_bias, tolerance, most, start, tell, look)
            if not np.isfinite(solution.primal):
                raise _undecided(most, said_of(side, self.classes)) if is_hard else Block(rows.X).non_finite()
            return replace(solution, precise=not _lost_digits(rows, solution, C, tolerance))

        return ascend

    def _teller(self, side: Floats, solver: DualSolver) -> Callable[[int, float], None] | None:
        return teller(solver.verbose, f"SVM, {said_of(side, self.classes)}")


def _undecided(n_sets: int, said: str) -> DegenerateDataError:
    return DegenerateDataError(
        f"SVM with a hard margin found within {counted(n_sets, 'working set')} neither a surface that keeps {said} "
        "apart nor a proof that there is none: if there is one it is narrow beside rounding, or rows are too many for "
        "the proof. Set a finite C, put Standardize before it, or raise max_iter of DualSolver."
    )


def _lost_digits(rows: GramRows, solution: DualSolution, C: Floats, tolerance: float) -> bool:
    """Whether rounding of the scores may change the objective by more than the tolerance.

    It changes the losses of the support vectors, or the length of the weights where there are no losses.
    """
    support = np.flatnonzero(solution.alpha)
    some = support[: min(256, rows.capacity)]
    largest = float(rows.kept[rows.slots(some), some].max(initial=0.0))
    rounding = np.finfo(np.float64).eps * largest * float(np.linalg.norm(solution.alpha))
    has_losses = solution.primal > solution.square / 2 * (1 + 1e-9)
    stake = float(C[support].sum()) if has_losses else solution.square
    return bool(rounding * stake > max(tolerance, 1e-7) * solution.primal)


def _ratio(before: Floats, now: Floats) -> float:
    """How many times as large every cost has become."""
    return float((now / before).min()) if np.isfinite(before).all() else 1.0


class _Lookout:
    """Looks, while a hard margin is sought, whether there is one; if not it says so with the proof.

    Where classes overlap the weighted means of the two sides, with the multipliers as weights, approach each other.
    Once they are near, it is looked whether the support vectors are separable, at working sets 1, 2, 4 and so on: if
    these are not, all rows are not.
    """

    def __init__(self, machine: DualMachine, rows: GramRows, z: Floats, members: Integers, side: Floats) -> None:
        self.machine, self.rows, self.z, self.members, self.side = machine, rows, z, members, side
        self.calls, self.next = 0, 1

    def __call__(self, alpha: Floats, f: Floats) -> None:
        self.calls += 1
        some = np.flatnonzero(alpha)
        if self.calls < self.next or not 1 < len(some) <= self.rows.most_together:
            return
        length = np.sqrt(float(self.rows.kept[self.rows.slots(some), some].max()))
        distance = np.sqrt(max(float((alpha * self.z) @ f), 0.0)) / (float(alpha.sum()) / 2)
        if distance > NEAR * length or len(np.unique(self.z[some])) < 2:
            return
        self.next = 2 * self.calls
        features = self._features(some)
        overlap = overlap_of(features, self.z[some]) if features.is_small else None
        if overlap is not None:
            self._refuse(some, overlap)

    def _features(self, some: Integers) -> Features:
        if isinstance(self.machine.kernel, LinearKernel) and self.rows.X.shape[1] <= len(some):
            return Features.of_rows(dense(self.rows.X[some]))
        return Features.of_matrix(self.rows.kept[self.rows.slots(some)[:, None], some])

    def _refuse(self, some: Integers, overlap: Overlap) -> None:
        rows = self.members[some[overlap.rows]]
        ups = self.z[some[overlap.rows]] > 0
        if self.machine.positions is not None:
            rows = self.machine.positions[rows]
        raise NotSeparableError(
            f"SVM with a hard margin (C=inf) needs classes that a surface keeps apart, but no surface of this kernel "
            f"does so for {said_of(self.side, self.machine.classes)}: a mixture of {_named(rows[ups])} and one of "
            f"{_named(rows[~ups])} are the same point but for {max(overlap.distance, 1e-16):.0e} of the spread "
            "of the rows (the error's certificate has the rows and their weights). Set a finite C, or use another "
            "kernel.",
            Overlap(rows, overlap.weights, overlap.distance),
        )


def _named(rows: Integers) -> str:
    few = ", ".join(map(str, rows[:3].tolist()))
    if len(rows) == 1:
        return f"row {few}"
    return f"rows {few}" if len(rows) <= 3 else f"rows {few} and {len(rows) - 3} more"
