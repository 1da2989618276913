"""Linear support vector machines of two sides in the primal, by passes over the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import linprog

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import ArraySource, Block, ClassCounts, Source, class_counts, one_blas_thread
from likely.objectives.linear_rows import (
    MAX_SAMPLE_VALUES,
    LinearRows,
    column_moments,
    is_far,
    subsample,
)
from likely.objectives.svm.coordinate_descent import balance_coefficients
from likely.objectives.svm.path_following import MarginProblem, MarginSetting, PathPoint, follow_path
from likely.objectives.svm.smoothed_hinge import HingeProblem
from likely.objectives.svm.task import Machine, PrimalSolver, Task, describe_sides, report_progress

FIRST_MU, WARM_MU = 1.0, 0.1
"""μ to begin with, from θ = 0 and from a warm start: the margin is 1."""

FEW_PARAMETERS = 2000
"""Most columns for Hessians to be formed."""

SAMPLE_TOLERANCE, SAMPLE_PASSES = 1e-3, 100
"""Relative gap, and most passes, of the warm start on a subsample."""

MIN_SUPPORT = 1e-6
"""Smallest dual coefficient of a support vector found in the primal, relative to the largest of its side."""

MARGIN_ROWS_PER_COLUMN, MAX_VALUES = (3, 12, 48), 2**19
"""Rows for each column that are taken to be at the margin, in turn; and values of them for a linear program."""


@dataclass(frozen=True, eq=False)
class PrimalSolution:
    """Planes, and bounds from both sides of the minimum of the objective.

    Parameters
    ----------
    problem : MarginProblem
    point : PathPoint
    n_iter : int
        Points evaluated.
    converged : bool
        Whether the gap is within the tolerance, relative to ``primal``.
    """

    problem: MarginProblem
    point: PathPoint
    n_iter: int
    converged: bool

    @property
    def _lines(self) -> Floats:
        return self.point.theta if self.problem.shape[0] == 1 else self.point.theta.reshape(self.problem.shape)

    @property
    def coef(self) -> Floats:
        """Weights, of shape (d,), or (n_classes, d) for a joint margin."""
        return self._lines[..., :-1]

    @property
    def centred_intercept(self) -> Any:
        """Biases of rows less the centre; of rows far from zero they have digits that ``intercept`` has lost."""
        return self._lines[..., -1]

    @property
    def intercept(self) -> Any:
        """The bias, or the biases of a joint margin."""
        return self.centred_intercept - self.coef @ self.centre

    @property
    def centre(self) -> Floats:
        """About which the rows were seen."""
        return self.problem.origin

    @property
    def primal(self) -> float:
        """The objective."""
        return self.point.primal

    @property
    def dual(self) -> float:
        """The dual objective at a feasible point: a lower bound of the objective of any plane."""
        return self.point.dual

    @property
    def gap(self) -> float:
        """The duality gap."""
        return self.primal - self.dual


def solve_primal(
    source: Source,
    signs: Floats,
    costs: Floats,
    bias_scale: float | None,
    tol: float,
    max_passes: int,
    start: tuple[Floats, Any] | None = None,
    on_pass: Callable[[int, float], None] | None = None,
    counts: ClassCounts | None = None,
) -> PrimalSolution:
    """Minimise ½ ‖w‖² + Σ C max(0, 1 − z (w'x + b)), with z = signs[code] and C = costs[code] · weight of the row.

    Parameters
    ----------
    source : Source
        Rows with codes.
    signs : array of shape (n_classes,)
        −1 or 1; rows of a class of 0 take no part.
    costs : array of shape (n_classes,)
    bias_scale : float, optional
        K: rows are extended by the constant K, whose weight v is penalised like others, so ½ b² / K² is added and
        b = K v. Without it the bias is free.
    tol : float
        Of the duality gap, relative to the primal objective.
    max_passes : int
        Over all rows.
    start : (coef, intercept), optional
        A warm start; by default the solution on a subsample, if rows are many.
    on_pass : function of the passes so far and the relative gap, optional
        Called after each.
    counts : ClassCounts, optional
        Rows and weights of each class, if they are known.

    Notes
    -----
    The losses are smoothed to C (t + √(t² + 4 μ²)) / 2, t = 1 − z (w'x + b). At the minimum of that objective the dual
    coefficients α = C σ(t / μ), its derivatives, are feasible, and the gap is Σ C max(0, t) − α t: it falls about as μ
    where few rows are at the margin, and as μ² where many are. Elsewhere the coefficients of rows at the margin are
    shifted to balance, so that the dual bound holds at every step. See
    :func:`likely.objectives.svm.path_following.follow_path`.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), classes=np.array([0, 1]))
    >>> found = solve_primal(source, np.array([-1.0, 1.0]), np.array([10.0, 10.0]), None, 1e-8, 100)
    >>> found.coef.round(6), round(float(found.intercept), 6), round(found.primal, 6), found.converged
    (array([1.]), -2.0, 0.5, True)
    """
    signs, costs = np.where(costs > 0, signs, 0.0), np.asarray(costs, dtype=np.float64)
    counts = counts or source.reduce(class_counts, len(signs))
    sides = [float((costs * counts.weights)[signs == sign].sum()) for sign in (-1, 1)]
    with one_blas_thread():
        sample = None if start is not None else subsample(source, counts, signs != 0)
        setting = make_margin_setting(source, sample, signs, costs, source.n_features < FEW_PARAMETERS)
        problem = HingeProblem(source, setting, bias_scale, setting.centre)
        # Rows of one sign only and a free bias: the bias alone keeps all rows off the margin.
        if min(sides) == 0 and (bias_scale is None or max(sides) == 0):
            sign = np.sign(sides[1] - sides[0])
            return PrimalSolution(problem, problem.evaluate(np.append(np.zeros(source.n_features), sign), FIRST_MU), 0, True)
        if start is None:
            theta, mu = start_on_sample(problem, sample, counts)
        else:
            theta, mu = np.append(start[0], start[1] + float(start[0] @ problem.origin)), WARM_MU
        compact, basis = _project_on_span(problem, int(counts.rows.sum()))
        theta = theta if basis is None else np.append(basis.T @ theta[:-1], theta[-1])
        point, passes = follow_path(compact, theta, mu, tol, max_passes, on_pass)
    if basis is not None:
        point = replace(point, theta=np.append(basis @ point.theta[:-1], point.theta[-1]))
    return PrimalSolution(problem, point, passes, bool(point.relative_gap <= tol))


def make_margin_setting(
    source: Source, sample: ArraySource | None, signs: Floats, costs: Floats, forms_hessian: bool
) -> MarginSetting:
    """Centre rows about their mean, or that of a subsample."""
    columns = (source if sample is None or source.is_sparse else sample).reduce(column_moments, signs != 0)
    far = is_far(source, columns.mean, np.sqrt(columns.variances()))
    return MarginSetting(signs, costs, columns.mean, far, forms_hessian)


def start_on_sample(problem: MarginProblem, sample: ArraySource | None, counts: ClassCounts) -> tuple[Floats, float]:
    """θ and μ that solve the problem of a subsample, with costs that stand for all rows; or zeros without one."""
    theta = np.zeros(problem.shape[0] * problem.shape[1])
    if sample is None:
        return theta, FIRST_MU
    few = sample.reduce(class_counts, len(counts.weights))
    more = np.divide(counts.weights, few.weights, out=np.zeros(len(few.weights)), where=few.weights > 0)
    setting = replace(problem.setting, costs=problem.setting.costs * more)
    point, _ = follow_path(
        replace(problem, source=sample, setting=setting), theta, FIRST_MU, SAMPLE_TOLERANCE, SAMPLE_PASSES
    )
    return point.theta, point.mu


def _project_on_span(problem: HingeProblem, n_rows: int) -> tuple[HingeProblem, Floats | None]:
    """Few wide rows in an orthonormal basis of their span, where the best weights are; and that basis."""
    setting, d = problem.setting, len(problem.origin)
    if setting.forms_hessian or n_rows >= FEW_PARAMETERS or n_rows * d > MAX_SAMPLE_VALUES:
        return problem, None
    blocks: list[Any] = problem.source.reduce(_as_list)
    rows = np.concatenate([dense(block.X) - problem.origin for block in blocks])
    basis, triangle = qr(np.vstack([rows, problem.origin]).T, mode="economic", check_finite=False)
    codes: Any = np.concatenate([block.codes for block in blocks])
    weight: Any = None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks])
    source = ArraySource(np.ascontiguousarray(triangle.T[:-1]), codes, weight, problem.source.classes)
    origin = triangle.T[-1].copy()
    setting = replace(setting, centre=np.zeros(len(origin)), is_far=False, forms_hessian=True)
    return HingeProblem(source, setting, problem.bias_scale, origin), basis


def _as_list(block: Block) -> list[Block]:
    return [block]


# All problems of a machine.


def solve_in_primal(task: Task, solver: PrimalSolver) -> list[Machine]:
    """A machine for each of the costs, each problem starting from the solution for the costs before."""
    found: list[list[PrimalSolution]] = [[] for _ in task.costs]
    for side in task.sides:
        start: tuple[Floats, Any] | None = None
        on_pass = report_progress(solver.verbose, f"SVM, {describe_sides(side, task.source.require_classes())}")
        for solutions, costs in zip(found, task.costs, strict=True):
            options = task.bias_scale, task.tol, solver.max_iter, start, on_pass, task.counts
            solutions.append(solve_primal(task.source, side, costs, *options))
            start = solutions[-1].coef, solutions[-1].intercept
    return [_assemble_machine(task, solutions) for solutions in found]


def _assemble_machine(task: Task, solutions: list[PrimalSolution]) -> Machine:
    """The planes of all problems about one centre; with the rows that support them, if rows are in memory."""
    coef, centre = np.array([solution.coef for solution in solutions]), solutions[0].centre
    # Each problem has its own centre, that of the rows that take part in it.
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
    source = task.source.arrays
    if source is None:
        return machine
    found = [_signed_coefficients(task, source.all_rows(), *each) for each in zip(task.sides, solutions, strict=True)]
    signed, dual = np.array([each[0] for each in found]), np.array([each[1] for each in found])
    support = np.flatnonzero(signed.any(axis=0))
    near = machine.converged or bool((machine.primal - dual <= task.tol * machine.primal).all())
    return replace(machine, support=support, dual_coef=signed[:, support], dual=dual, converged=near)


def _signed_coefficients(task: Task, block: Block, side: Floats, solution: PrimalSolution) -> tuple[Floats, float]:
    """Dual coefficients times the side, and the dual objective.

    They are those of few rows if the gap allows it; otherwise of all rows but those with next to nothing beside the
    largest coefficient of their side.
    """
    z, few = side[block.require_codes()], _sparse_coefficients(block, solution, task.bias_scale, task.tol)
    if few is not None:
        return few[0] * z, few[1]
    problem: Any = solution.problem
    alpha = problem.dual_coefficients(block, solution.point)
    for sign in (-1, 1):
        alpha[(z == sign) & (alpha <= MIN_SUPPORT * alpha[z == sign].max(initial=0.0))] = 0.0
    return np.asarray(alpha * z), solution.dual


# Dual coefficients that are 0 or C for all but few rows.


def _sparse_coefficients(
    block: Block, solution: PrimalSolution, bias_scale: float | None, tol: float
) -> tuple[Floats, float] | None:
    """Dual coefficients of few rows, and the dual objective; None if the gap would exceed the tolerance.

    Notes
    -----
    The smoothed loss gives some coefficient to every row. At the best plane rows beyond the margin have 0 and rows
    within it have C; those at the margin are as many as there are parameters, or few more, and theirs follow from
    Σ α z x = w and, with a free bias, Σ α z = 0. Of all solutions within bounds a linear program finds the one with
    the largest Σ α, so that the dual is highest.
    """
    codes, setting = block.require_codes(), solution.problem.setting
    z, C = setting.signs.take(codes), setting.costs.take(codes) * (1.0 if block.weight is None else block.weight)
    rows = _DualRows(block.X, z, C * np.abs(z), solution.centre, bias_scale)
    excess = np.where(z == 0, -np.inf, 1 - z * rows.linear.scores(solution.point.theta))
    for most in MARGIN_ROWS_PER_COLUMN:
        free = _select_nearest(np.abs(excess), most * (len(solution.coef) + 1))
        if len(free) * len(solution.coef) > MAX_VALUES:
            return None
        alpha = rows.complete(solution, excess, free)
        if alpha is None:
            continue
        dual = rows.dual(alpha)
        if solution.primal - dual <= tol * solution.primal:
            return alpha, dual
    return None


@dataclass(frozen=True, eq=False)
class _DualRows:
    """Rows with their signs and costs, of a problem whose dual coefficients are sought."""

    X: Any
    z: Floats
    C: Floats
    centre: Floats
    bias_scale: float | None

    @property
    def linear(self) -> LinearRows:
        return LinearRows.of(self.X, self.centre, True)

    def complete(self, solution: PrimalSolution, excess: Floats, free: Integers) -> Floats | None:
        """Coefficients of 0 or C, and those of the free rows that make Σ α z x the weights; None if there are none."""
        alpha = np.where(excess > 0, self.C, 0.0)
        alpha[free] = 0.0
        total = 0.0 if self.bias_scale is None else solution.intercept / self.bias_scale**2
        sums = self.linear.sums((alpha * self.z)[None])[0]
        wanted = np.append(solution.coef - total * self.centre, total) - sums
        found = _maximise_coefficients(dense(self.X[free]) - self.centre, self.z[free], self.C[free], wanted)
        if found is None:
            return None
        alpha[free] = found
        return alpha if self.bias_scale is not None else balance_coefficients(alpha, self.z)

    def dual(self, alpha: Floats) -> float:
        """The dual objective."""
        sums = self.linear.sums((alpha * self.z)[None])[0]
        w, v = sums[:-1] + sums[-1] * self.centre, 0.0 if self.bias_scale is None else self.bias_scale * sums[-1]
        return float(alpha.sum()) - (float(w @ w) + v**2) / 2


def _select_nearest(distances: Floats, most: int) -> Integers:
    """Rows nearest to the margin, with those as near as the last of them."""
    most = min(most, len(distances))
    return np.flatnonzero(distances <= np.partition(distances, most - 1)[most - 1])


def _maximise_coefficients(rows: Floats, z: Floats, C: Floats, wanted: Floats) -> Floats | None:
    """α within bounds with the largest sum and Σ α z (x, 1) as wanted, by a linear program; None if infeasible."""
    size = np.append(np.sqrt(np.square(rows).mean(axis=0)), 1.0)
    size[size == 0] = 1.0
    largest = C.max()
    A = (z * C / largest) * (np.column_stack([rows, np.ones(len(z))]) / size).T
    precise: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-C / largest, A_eq=A, b_eq=wanted / size / largest, bounds=(0, 1), options=precise)
    if found.x is None:
        return None
    # Spread what the program's tolerance leaves of Σ α z over the rows between their bounds.
    alpha = np.clip(found.x, 0, 1) * C
    missing = float(wanted[-1]) - float(alpha @ z)
    free = (alpha > 0) & (alpha < C)
    room = np.where(free, np.where(z * missing > 0, C - alpha, alpha), 0.0)
    share = 1.0 if room.sum() <= abs(missing) else abs(missing) / float(room.sum())
    return np.asarray(alpha + np.sign(missing) * z * room * share)
