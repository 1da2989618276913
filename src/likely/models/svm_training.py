"""Training of support vector machines: which solvers run, and joint margins in the space of a kernel."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import ArraySource, Source
from likely.exceptions import InvalidParameterError, SourceError
from likely.features.expansions import replace_rows
from likely.features.kernel_features import MAX_ROWS, factor_gram
from likely.kernels import Kernel, LinearKernel
from likely.kernels.gram import all_at_once, landmarks_of
from likely.objectives.svm.coordinate_descent import is_wide
from likely.objectives.svm.dual import solve_in_dual
from likely.objectives.svm.joint import JointProblem, solve_joint
from likely.objectives.svm.primal import MIN_SUPPORT, PrimalSolution, solve_in_primal
from likely.objectives.svm.task import DualSolver, Machine, PrimalSolver, Task, report_progress

DUAL_ROWS = 2048
"""Up to so many rows a linear machine is solved in the dual, whose coefficients are exact."""

FEW_SETS = 50
"""Working sets of dense rows after which the primal is tried, where that is possible."""

CUTS = (1e-2, 1e-3, 1e-4, 1e-5, MIN_SUPPORT)
"""Thresholds, relative to a row's bound, below which dual coefficients are dropped; the largest that keeps the gap is
used. A smoothed loss leaves a small coefficient to every row."""

ROOM = 0.5
"""Share of the tolerance that the solver may use, for kernels; dropping small coefficients may use the rest."""

RIDGE = 1e-12
"""Added to the diagonal of the matrix of the rows kept, relative to its mean: rows may depend on each other."""


@dataclass(frozen=True)
class SolverPlan:
    """Which solvers run: the dual, the primal, or the primal where the dual did not converge.

    Parameters
    ----------
    dual : DualSolver, optional
    primal : PrimalSolver, optional
    by_coordinates : bool
        Whether the dual is solved by coordinate descent over sparse rows.
    is_joint : bool
        Whether there is one margin among all classes, which only the primal can solve.
    """

    dual: DualSolver | None = None
    primal: PrimalSolver | None = None
    by_coordinates: bool = False
    is_joint: bool = False


def plan_solvers(
    asked: str | DualSolver | PrimalSolver, kernel: Kernel, source: Source, is_hard: bool, is_joint: bool
) -> SolverPlan:
    """Choose solvers by what was asked for, or by the size and kind of the problem; raise if they cannot solve it."""
    named = {"auto": None, "dual": DualSolver(), "primal": PrimalSolver()}
    solver = named[asked] if isinstance(asked, str) else asked
    if is_joint:
        return SolverPlan(primal=_joint_solver(solver, kernel, source), is_joint=True)
    is_linear, rows = isinstance(kernel, LinearKernel), source.arrays
    by_coordinates = rows is not None and is_wide(kernel, rows.X) and not is_hard
    if solver is None and is_linear and not is_hard:
        if rows is not None and (by_coordinates or rows.X.shape[0] <= DUAL_ROWS):
            return SolverPlan(DualSolver(max_iter=None if by_coordinates else FEW_SETS), PrimalSolver(), by_coordinates)
        return SolverPlan(primal=PrimalSolver())
    if isinstance(solver, PrimalSolver):
        if is_hard or not is_linear:
            raise InvalidParameterError(
                "The primal is solved for linear kernels and a finite C. Use solver='auto' or 'dual', or put "
                "NystromFeatures before a linear SVM.",
                parameter="solver",
            )
        return SolverPlan(primal=solver)
    if rows is None:
        raise SourceError(
            "SVM needs all rows at once for its dual, which kernels and hard margins ask for, but the source gives "
            "them in blocks. Use fit with rows in memory, or NystromFeatures and a linear SVM with a finite C."
        )
    return SolverPlan(solver or DualSolver(), by_coordinates=by_coordinates)


def _joint_solver(asked: DualSolver | PrimalSolver | None, kernel: Kernel, source: Source) -> PrimalSolver:
    """The solver of a joint margin; raise for the dual, and for kernels of rows that are not in memory or too many."""
    if isinstance(asked, DualSolver):
        raise InvalidParameterError(
            "SVM with multiclass='joint' is solved in the primal, for kernels too, but solver asks for the dual. Use "
            "solver='auto' or PrimalSolver(...), or multiclass='ovr' or 'ovo'.",
            parameter="solver",
        )
    if not isinstance(kernel, LinearKernel):
        all_at_once(
            source,
            "SVM with multiclass='joint' and a kernel that is not linear",
            MAX_ROWS,
            "Put NystromFeatures before a linear SVM, or give arrays to one with multiclass='ovr' or 'ovo'.",
        )
    return PrimalSolver() if asked is None else asked


def train(task: Task, plan: SolverPlan) -> list[Machine]:
    """A machine for each of the costs; of two attempts the better one."""
    if plan.dual is None:
        assert plan.primal is not None
        return _train_joint(task, plan.primal) if plan.is_joint else solve_in_primal(task, plan.primal)
    machines = solve_in_dual(task, plan.dual, plan.by_coordinates)
    if plan.primal is None or all(machine.converged and machine.precise for machine in machines):
        return machines
    others = solve_in_primal(task, plan.primal)
    return [min(pair, key=_badness) for pair in zip(machines, others, strict=True)]


def _badness(machine: Machine) -> tuple[bool, bool, float]:
    return not machine.converged, not machine.precise, float((machine.primal - machine.dual).sum())


# One margin among all classes.


def _train_joint(task: Task, solver: PrimalSolver) -> list[Machine]:
    """A machine for each of the costs: of linear kernels from any source, of others from features that make them."""
    if not all(np.isfinite(costs).all() for costs in task.costs):
        raise InvalidParameterError(
            "SVM with multiclass='joint' needs a finite C, but got inf. Set a large one, or ask for a hard margin with "
            "multiclass='ovr' or 'ovo'."
        )
    if isinstance(task.kernel, LinearKernel):
        return [_linear(task.source, found) for found in _solve_along_costs(task, task.source, task.tol, solver)]
    rows, projection = _features(task.source.in_memory("SVM with multiclass='joint'"), task.kernel)
    solutions = _solve_along_costs(task, rows, ROOM * task.tol, solver)
    return [_kernelled(rows, found, task.tol, projection) for found in solutions]


def _solve_along_costs(task: Task, source: Source, tol: float, solver: PrimalSolver) -> list[PrimalSolution]:
    """Solutions for each of the costs, each starting from the one before."""
    on_pass = report_progress(solver.verbose, "SVM, all classes at once")
    solutions: list[PrimalSolution] = []
    for costs in task.costs:
        start = (solutions[-1].coef, solutions[-1].intercept) if solutions else None
        solutions.append(solve_joint(source, costs, task.bias_scale, tol, solver.max_iter, start, on_pass))
    return solutions


def _features(source: ArraySource, kernel: Kernel) -> tuple[ArraySource, Floats]:
    """Features whose dot products are the kernel, in place of the rows; and the map from its values to them."""
    U, roots = factor_gram(kernel, landmarks_of(kernel, source.X, source.positions), source.X)
    return replace_rows(source, U * roots), U / roots


def _linear(source: Source, found: PrimalSolution) -> Machine:
    """Weights of columns; and dual coefficients, if rows are in memory."""
    machine = Machine(
        found.centred_intercept,
        np.square(found.coef).sum(axis=1),
        np.array([found.primal]),
        np.array([found.dual]),
        np.array([found.n_iter]),
        found.converged,
        coef=found.coef,
        centre=found.centre,
    )
    rows = source.arrays
    if rows is None:
        return machine
    kept = _kept(rows, found, MIN_SUPPORT)
    support = np.flatnonzero(kept.any(axis=1))
    return replace(machine, support=support, dual_coef=np.ascontiguousarray(kept[support].T))


def _kernelled(source: ArraySource, found: PrimalSolution, tol: float, projection: Floats) -> Machine:
    """Weights of rows, in place of those of the features that the columns of the source are."""
    few = _of_few_rows(source, found, tol)
    weights, coef, primal = few or (found.coef @ projection.T, found.coef, found.primal)
    support = np.flatnonzero(weights.any(axis=0))
    return Machine(
        found.centred_intercept - coef @ found.centre,
        np.square(coef).sum(axis=1),
        np.array([primal]),
        np.array([found.dual]),
        np.array([found.n_iter]),
        bool(primal - found.dual <= tol * primal),
        support,
        np.ascontiguousarray(weights[:, support]),
    )


def _of_few_rows(source: ArraySource, found: PrimalSolution, tol: float) -> tuple[Floats, Floats, float] | None:
    """Scores made of few rows with a gap within the tolerance, or None if there are none.

    Returns the weights (n_classes, n) of the rows, those of the features, and the objective. What the coefficients kept
    leave of the features' weights is projected onto the rows kept. So the scores of these rows do not change, and the
    norm of the weights does not grow: only the losses of rows left out, which are far from the margin, can grow.
    """
    X, problem = dense(source.X), found.problem
    assert isinstance(problem, JointProblem)
    for cut in CUTS:
        kept = _kept(source, found, cut)
        support = np.flatnonzero(kept.any(axis=1))
        few = X[support]
        K = few @ few.T
        K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / max(1, len(K))
        with np.errstate(all="ignore"), suppress(LinAlgError):
            kept[support] += cho_solve(cho_factor(K), few @ (found.coef - kept[support].T @ few).T)
        coef = kept[support].T @ few
        primal = problem.primal(np.column_stack([coef, found.centred_intercept]).reshape(-1))
        if primal <= max(found.primal, found.dual / (1 - tol)):
            return np.ascontiguousarray(kept.T), coef, primal
    return None


def _kept(source: ArraySource, found: PrimalSolution, cut: float) -> Floats:
    """Dual coefficients (n, n_classes), with 0 for those below ``cut`` times the bound of their row."""
    block = source.all_rows()
    codes, problem = block.require_codes(), found.problem
    assert isinstance(problem, JointProblem)
    bound, own = problem.setting.costs.take(codes), (np.arange(len(codes)), codes)
    if block.weight is not None:
        bound = bound * block.weight
    kept = problem.dual_coefficients(block, found.point)
    kept[own] = 0.0
    kept[kept > -cut * bound[:, None]] = 0.0
    kept[own] = -kept.sum(axis=1)
    return kept
