"""Training of support vector machines: choice of the solver, and training with one margin for all classes (joint)."""

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
from likely.kernels.gram import copy_landmarks, require_in_memory
from likely.objectives.svm.coordinate_descent import is_wide
from likely.objectives.svm.dual import solve_in_dual
from likely.objectives.svm.joint import JointProblem, solve_joint
from likely.objectives.svm.primal import MIN_SUPPORT, PrimalSolution, solve_in_primal
from likely.objectives.svm.task import DualSolver, Machine, PrimalSolver, Task, report_progress

MAX_DUAL_ROWS = 2048
"""Maximum number of rows for which "auto" solves a linear SVM in the dual, which gives exact dual coefficients."""

MAX_WORKING_SETS = 50
"""Number of working sets after which "auto" stops the dual solver for dense rows, and runs the primal solver."""

CUTOFFS = (1e-2, 1e-3, 1e-4, 1e-5, MIN_SUPPORT)
"""Thresholds, relative to the upper bound of the coefficients of a row, below which dual coefficients are set to 0. The
largest threshold is used with which the duality gap stays within the tolerance. Such a threshold is needed because the
primal solver smooths the loss, which gives every row a small coefficient."""

SOLVER_SHARE = 0.5
"""Share of the tolerance that the solver may use for a joint margin with a nonlinear kernel. The rest is left for the
error that is made when small coefficients are dropped."""

RIDGE = 1e-12
"""Number that is added to the diagonal of the Gram matrix of the kept rows, relative to the mean of the diagonal.
Without it the matrix would be singular if rows are linearly dependent."""


@dataclass(frozen=True)
class SolverPlan:
    """Solvers to run: the dual solver, the primal solver, or both.

    If both are given, the dual solver runs first, and the primal solver runs if the dual solver did not converge.

    Parameters
    ----------
    dual : DualSolver, optional
    primal : PrimalSolver, optional
    by_coordinates : bool
        Whether the dual is solved by coordinate descent over sparse rows.
    is_joint : bool
        Whether all classes share one margin. Only the primal solver can solve this problem.
    """

    dual: DualSolver | None = None
    primal: PrimalSolver | None = None
    by_coordinates: bool = False
    is_joint: bool = False


def plan_solvers(
    asked: str | DualSolver | PrimalSolver, kernel: Kernel, source: Source, is_hard: bool, is_joint: bool
) -> SolverPlan:
    """Return the solvers that ``asked`` names or, for "auto", that suit the size and type of the problem.

    Raise if the named solver cannot solve the problem. ``is_hard`` means a hard margin (infinite C).
    """
    named = {"auto": None, "dual": DualSolver(), "primal": PrimalSolver()}
    solver = named[asked] if isinstance(asked, str) else asked
    if is_joint:
        return SolverPlan(primal=_joint_solver(solver, kernel, source), is_joint=True)
    is_linear, rows = isinstance(kernel, LinearKernel), source.arrays
    by_coordinates = rows is not None and is_wide(kernel, rows.X) and not is_hard
    if solver is None and is_linear and not is_hard:
        if rows is not None and (by_coordinates or rows.X.shape[0] <= MAX_DUAL_ROWS):
            return SolverPlan(
                DualSolver(max_iter=None if by_coordinates else MAX_WORKING_SETS), PrimalSolver(), by_coordinates
            )
        return SolverPlan(primal=PrimalSolver())
    if isinstance(solver, PrimalSolver):
        if is_hard or not is_linear:
            raise InvalidParameterError(
                "The primal solver needs a linear kernel and a finite C. Use solver='auto' or solver='dual'. "
                "Alternatively, put NystromFeatures before a linear SVM.",
                parameter="solver",
            )
        return SolverPlan(primal=solver)
    if rows is None:
        raise SourceError(
            "Kernels and hard margins need the dual solver of SVM. This solver needs all rows at once, but the source "
            "returns them in blocks. Use fit with rows in memory. Alternatively, put NystromFeatures before a linear "
            "SVM with a finite C."
        )
    return SolverPlan(solver or DualSolver(), by_coordinates=by_coordinates)


def _joint_solver(asked: DualSolver | PrimalSolver | None, kernel: Kernel, source: Source) -> PrimalSolver:
    """Return the solver of a joint margin (one margin for all classes).

    Raise if ``asked`` is the dual solver. For nonlinear kernels, raise if the rows are not in memory or are too many.
    """
    if isinstance(asked, DualSolver):
        raise InvalidParameterError(
            "SVM with multiclass='joint' has only a primal solver, for every kernel, but solver is the dual solver. "
            "Use solver='auto' or solver=PrimalSolver(...). Alternatively, use multiclass='ovr' or multiclass='ovo'.",
            parameter="solver",
        )
    if not isinstance(kernel, LinearKernel):
        require_in_memory(
            source,
            "SVM with multiclass='joint' and a nonlinear kernel",
            MAX_ROWS,
            "Put NystromFeatures before a linear SVM. Alternatively, fit arrays with multiclass='ovr' or "
            "multiclass='ovo'.",
        )
    return PrimalSolver() if asked is None else asked


def train(task: Task, plan: SolverPlan) -> list[Machine]:
    """Return one trained machine for each cost C of the task. If both solvers run, keep the better machine."""
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


# Joint margin of all classes (Crammer and Singer, 2001).


def _train_joint(task: Task, solver: PrimalSolver) -> list[Machine]:
    """Return one machine with a joint margin for each cost C of the task.

    With a linear kernel, the machines are trained on the rows of any source. With another kernel, they are trained on
    features whose dot products are the kernel, and the rows must be in memory.
    """
    if not all(np.isfinite(costs).all() for costs in task.costs):
        raise InvalidParameterError(
            "SVM with multiclass='joint' needs a finite C, but C is inf. Set a large finite C. Alternatively, use "
            "multiclass='ovr' or multiclass='ovo', which can have a hard margin."
        )
    if isinstance(task.kernel, LinearKernel):
        return [
            _make_linear_machine(task.source, found)
            for found in _solve_along_costs(task, task.source, task.tol, solver)
        ]
    rows, projection = _make_features(task.source.in_memory("SVM with multiclass='joint'"), task.kernel)
    solutions = _solve_along_costs(task, rows, SOLVER_SHARE * task.tol, solver)
    return [_make_kernel_machine(rows, found, task.tol, projection) for found in solutions]


def _solve_along_costs(task: Task, source: Source, tol: float, solver: PrimalSolver) -> list[PrimalSolution]:
    """Return one solution for each cost C of the task. Each solution starts from the previous one (warm start)."""
    on_pass = report_progress(solver.verbose, "SVM, all classes at once")
    solutions: list[PrimalSolution] = []
    for costs in task.costs:
        start = (solutions[-1].coef, solutions[-1].intercept) if solutions else None
        solutions.append(solve_joint(source, costs, task.bias_scale, tol, solver.max_iter, start, on_pass))
    return solutions


def _make_features(source: ArraySource, kernel: Kernel) -> tuple[ArraySource, Floats]:
    """Return a source of features whose dot products are the kernel, and the projection matrix.

    The kernel values of a row with all training rows, times the projection matrix, are the features of the row.
    """
    U, roots = factor_gram(kernel, copy_landmarks(kernel, source.X, source.positions), source.X)
    return replace_rows(source, U * roots), U / roots


def _make_linear_machine(source: Source, found: PrimalSolution) -> Machine:
    """Return the machine of a solution, with feature weights. If the rows are in memory, add the dual coefficients."""
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
    kept = _drop_small(rows, found, MIN_SUPPORT)
    support = np.flatnonzero(kept.any(axis=1))
    return replace(machine, support=support, dual_coef=np.ascontiguousarray(kept[support].T))


def _make_kernel_machine(source: ArraySource, found: PrimalSolution, tol: float, projection: Floats) -> Machine:
    """Return the machine of a solution, with dual coefficients computed from the weights of the kernel features."""
    few = _sparsify(source, found, tol)
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


def _sparsify(source: ArraySource, found: PrimalSolution, tol: float) -> tuple[Floats, Floats, float] | None:
    """Set small dual coefficients to 0, as far as the duality gap stays within the tolerance.

    Return the dual coefficients of shape (n_classes, n), the feature weights, and the primal objective. Return None if
    even the smallest threshold of CUTOFFS exceeds the tolerance. The part of the
    feature weights that the kept coefficients do not explain is projected onto the kept rows. The scores of these rows
    therefore do not change, and the norm of the weights does not grow. Only the losses of dropped rows, which are far
    from the margin, can grow.
    """
    X, problem = dense(source.X), found.problem
    assert isinstance(problem, JointProblem)
    for cutoff in CUTOFFS:
        kept = _drop_small(source, found, cutoff)
        support = np.flatnonzero(kept.any(axis=1))
        few = X[support]
        # Project the unexplained part of the weights onto the kept rows: solve K β = X_s (W − β_s' X_s)' by Cholesky.
        K = few @ few.T
        K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / max(1, len(K))
        with np.errstate(all="ignore"), suppress(LinAlgError):
            kept[support] += cho_solve(cho_factor(K), few @ (found.coef - kept[support].T @ few).T)
        coef = kept[support].T @ few
        primal = problem.primal(np.column_stack([coef, found.centred_intercept]).reshape(-1))
        if primal <= max(found.primal, found.dual / (1 - tol)):
            return np.ascontiguousarray(kept.T), coef, primal
    return None


def _drop_small(source: ArraySource, found: PrimalSolution, cutoff: float) -> Floats:
    """Return the dual coefficients of shape (n, n_classes), with small ones set to 0.

    A coefficient is small if its size is below ``cutoff`` times the upper bound of the coefficients of its row.
    """
    block = source.all_rows()
    codes, problem = block.require_codes(), found.problem
    assert isinstance(problem, JointProblem)
    bound, own = problem.setting.costs.take(codes), (np.arange(len(codes)), codes)
    if block.weight is not None:
        bound = bound * block.weight
    kept = problem.dual_coefficients(block, found.point)
    # For row i of class y, β_iy = −Σ_{k≠y} β_ik. Set the small coefficients of the other classes to 0, and then compute
    # β_iy again from their sum.
    kept[own] = 0.0
    kept[kept > -cutoff * bound[:, None]] = 0.0
    kept[own] = -kept.sum(axis=1)
    return kept
