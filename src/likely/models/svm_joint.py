"""Training of support vector machines with one margin among all classes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likely._typing import Floats
from likely.blocks import ArraySource, Source
from likely.exceptions import InvalidParameterError
from likely.features.expansions import expanded
from likely.features.kernel_features import MOST_ROWS, rooted
from likely.kernels import Kernel, LinearKernel
from likely.kernels.gram import all_at_once, landmarks_of
from likely.models.svm_training import SUPPORT, Machine, Task
from likely.objectives.svm.joint import JointSolution, solve_joint
from likely.objectives.svm.options import DualSolver, PrimalSolver, teller

__all__ = ["joint_solver", "train_joint"]

CUTS = (1e-2, 1e-3, 1e-4, 1e-5, SUPPORT)
"""Thresholds, relative to a row's bound, below which multipliers are dropped; the largest that keeps the gap is used.
A smoothed loss leaves a small multiplier to every row."""

ROOM = 0.5
"""Share of the tolerance that the solver may use, for kernels; dropping small multipliers may use the rest."""

RIDGE = 1e-12
"""Added to the diagonal of the matrix of the rows kept, relative to its mean: rows may depend on each other."""


def joint_solver(asked: DualSolver | PrimalSolver | None, kernel: Kernel, source: Source) -> PrimalSolver:
    """The solver of a joint margin; refuses another, and for kernels rows that are not at hand or too many."""
    if isinstance(asked, DualSolver):
        raise InvalidParameterError(
            "SVM with multiclass='joint' is solved in the primal, for kernels too, but solver asks for the dual. Use "
            "solver='auto' or PrimalSolver(...), or multiclass='ovr' or 'ovo'."
        )
    if not isinstance(kernel, LinearKernel):
        all_at_once(
            source,
            "SVM with multiclass='joint' and a kernel that is not linear",
            MOST_ROWS,
            "Put NystromFeatures before a linear SVM, or give arrays to one with multiclass='ovr' or 'ovo'.",
        )
    return PrimalSolver() if asked is None else asked


def train_joint(task: Task, solver: PrimalSolver) -> list[Machine]:
    """A machine for each of the costs: of linear kernels from any source, of others from features that make them."""
    if not all(np.isfinite(costs).all() for costs in task.costs):
        raise InvalidParameterError(
            "SVM with multiclass='joint' needs a finite C, but got inf. Set a large one, or ask for a hard margin with "
            "multiclass='ovr' or 'ovo'."
        )
    if isinstance(task.kernel, LinearKernel):
        return [_linear(task.source, found) for found in _along(task, task.source, task.tolerance, solver)]
    assert isinstance(task.source, ArraySource)
    rows, projection = _features(task.source, task.kernel)
    solutions = _along(task, rows, ROOM * task.tolerance, solver)
    return [_kernelled(rows, found, task.tolerance, projection) for found in solutions]


def _along(task: Task, source: Source, tolerance: float, solver: PrimalSolver) -> list[JointSolution]:
    """Solutions for each of the costs, each starting from the one before."""
    tell = teller(solver.verbose, "SVM, all classes at once")
    solutions: list[JointSolution] = []
    for costs in task.costs:
        start = (solutions[-1].coef, solutions[-1].intercept) if solutions else None
        solutions.append(solve_joint(source, costs, task.bias_scale, tolerance, solver.max_iter, start, tell))
    return solutions


def _features(source: ArraySource, kernel: Kernel) -> tuple[ArraySource, Floats]:
    """Features whose dot products are the kernel, in place of the rows; and what makes them of its values."""
    U, roots = rooted(kernel, landmarks_of(kernel, source.X, source.positions), source.X)
    return expanded(source, U * roots), U / roots


def _linear(source: Source, found: JointSolution) -> Machine:
    """Weights of columns; and multipliers, if rows are at hand."""
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
    if not isinstance(source, ArraySource):
        return machine
    kept = _kept(source, found, SUPPORT)
    support = np.flatnonzero(kept.any(axis=1))
    return replace(machine, support=support, dual_coef=np.ascontiguousarray(kept[support].T))


def _kernelled(source: ArraySource, found: JointSolution, tolerance: float, projection: Floats) -> Machine:
    """Weights of rows, in place of those of the features that the columns of the source are."""
    few = _of_few_rows(source, found, tolerance)
    weights, coef, primal = few or (found.coef @ projection.T, found.coef, found.primal)
    support = np.flatnonzero(weights.any(axis=0))
    return Machine(
        found.centred_intercept - coef @ found.centre,
        np.square(coef).sum(axis=1),
        np.array([primal]),
        np.array([found.dual]),
        np.array([found.n_iter]),
        bool(primal - found.dual <= tolerance * primal),
        support,
        np.ascontiguousarray(weights[:, support]),
    )


def _of_few_rows(source: ArraySource, found: JointSolution, tolerance: float) -> tuple[Floats, Floats, float] | None:
    """Scores made of few rows with a gap within the tolerance, or None if there are none.

    Returns the weights (n_classes, n) of the rows, those of the features, and the objective. What the multipliers kept
    leave of the features' weights is projected onto the rows kept. So these rows keep their scores, and weights get no
    longer: only the losses of rows left out, which are far from the margin, can grow.
    """
    X: Any = source.X
    for cut in CUTS:
        kept = _kept(source, found, cut)
        support = np.flatnonzero(kept.any(axis=1))
        some = X[support]
        K = some @ some.T
        K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / max(1, len(K))
        with np.errstate(all="ignore"), suppress(LinAlgError):
            kept[support] += cho_solve(cho_factor(K), some @ (found.coef - kept[support].T @ some).T)
        coef = kept[support].T @ some
        primal = found.problem.primal(np.column_stack([coef, found.centred_intercept]).reshape(-1))
        if primal <= max(found.primal, found.dual / (1 - tolerance)):
            return np.ascontiguousarray(kept.T), coef, primal
    return None


def _kept(source: ArraySource, found: JointSolution, cut: float) -> Floats:
    """Multipliers (n, n_classes), with 0 for those below ``cut`` times the bound of their row."""
    block = source.all_rows()
    codes: Any = block.codes
    bound, own = found.problem.setting.costs.take(codes), (np.arange(len(codes)), codes)
    if block.weight is not None:
        bound = bound * block.weight
    kept = found.multipliers(block)
    kept[own] = 0.0
    kept[kept > -cut * bound[:, None]] = 0.0
    kept[own] = -kept.sum(axis=1)
    return kept
