"""Binary linear support vector machines in the primal, by passes over the rows of a source.

The minimum is found by :func:`likely.objectives.svm.path_following.follow_path`. For rows in memory, sparse dual
coefficients are then recovered by a linear program.
"""

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
from likely.objectives.svm.path_following import FIRST_MU, MarginProblem, MarginSetting, PathPoint, follow_path
from likely.objectives.svm.smoothed_hinge import HingeProblem, OriginHingeProblem
from likely.objectives.svm.task import Machine, PrimalSolver, Task, describe_sides, report_progress

WARM_MU = 0.1
"""First μ from a warm start; the margin is 1."""

FEW_PARAMETERS = 2000
"""Maximum number of columns for which Hessians are formed."""

SAMPLE_TOLERANCE, SAMPLE_PASSES = 1e-3, 100
"""Relative gap, and maximum number of passes, of the warm start on a subsample."""

MIN_SUPPORT = 1e-6
"""Smallest dual coefficient of a support vector found in the primal, relative to the largest of its side."""

MARGIN_ROWS_PER_COLUMN, MAX_VALUES = (3, 12, 48), 2**19
"""Numbers of rows per column that are assumed to be at the margin, tried in turn; and maximum number of values of these
rows in a linear program."""


@dataclass(frozen=True, eq=False)
class PrimalSolution:
    """Weights and biases of one or more planes, with the primal and dual objectives.

    Parameters
    ----------
    problem : MarginProblem
    point : PathPoint
    n_iter : int
        Number of points evaluated.
    converged : bool
        Whether the duality gap, relative to ``primal``, is within the tolerance.
    """

    problem: MarginProblem
    point: PathPoint
    n_iter: int
    converged: bool

    @property
    def _theta(self) -> Floats:
        return self.point.theta if self.problem.shape[0] == 1 else self.point.theta.reshape(self.problem.shape)

    @property
    def coef(self) -> Floats:
        """Weights, of shape (d,), or (n_classes, d) for a joint margin."""
        return self._theta[..., :-1]

    @property
    def centred_intercept(self) -> Any:
        """Biases for centred rows. For rows far from zero they are more precise than ``intercept``."""
        return self._theta[..., -1]

    @property
    def intercept(self) -> Any:
        """The bias, or the biases of a joint margin."""
        return self.centred_intercept - self.coef @ self.centre

    @property
    def centre(self) -> Floats:
        """Centre of the rows."""
        return self.problem.origin

    @property
    def primal(self) -> float:
        """Value of the primal objective."""
        return self.point.primal

    @property
    def dual(self) -> float:
        """Dual objective at a feasible point: a lower bound of the primal objective of any plane."""
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
        −1 or 1; rows of a class with sign 0 take no part.
    costs : array of shape (n_classes,)
    bias_scale : float, optional
        Scale K of a penalised bias: rows are extended by the constant K, whose weight v is penalised like the others.
        So ½ b² / K² is added to the objective, and b = K v. With 0 there is no bias. By default the bias is free.
    tol : float
        Duality gap to reach, relative to the primal objective.
    max_passes : int
        Maximum number of passes over all rows.
    start : (coef, intercept), optional
        Warm start; by default the solution on a subsample, if there are many rows.
    on_pass : function of the number of passes and the relative gap, optional
        Called after each pass.
    counts : ClassCounts, optional
        Rows and weights of each class, if known.

    Notes
    -----
    The losses are smoothed to C (t + √(t² + 4 μ²)) / 2, t = 1 − z (w'x + b). At the minimum of the smoothed objective,
    the derivatives of the losses by t, α = C σ(t / μ), are feasible dual coefficients, and the gap is
    Σ C max(0, t) − α t. It decreases about as μ if few rows are at the margin, and as μ² if many are. At other points
    the coefficients of rows near the margin are shifted such that Σ α z = 0, so that the dual bound holds at every
    point. See :func:`likely.objectives.svm.path_following.follow_path`.

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
        if bias_scale == 0:
            # Without a bias, centring would change the problem.
            setting = replace(setting, centre=np.zeros(source.n_features), is_far=False)
        kind = OriginHingeProblem if bias_scale == 0 else HingeProblem
        problem = kind(source, setting, bias_scale, setting.centre)
        # If all rows have the same sign and the bias is free, a bias of ±1 gives a loss of 0.
        if min(sides) == 0 and (bias_scale is None or max(sides) == 0):
            sign = np.sign(sides[1] - sides[0])
            return PrimalSolution(
                problem, problem.evaluate(np.append(np.zeros(source.n_features), sign), FIRST_MU), 0, True
            )
        # Warm start, with the bias for centred rows.
        if start is None:
            theta, mu = start_on_sample(problem, sample, counts)
        else:
            theta, mu = np.append(start[0], start[1] + float(start[0] @ problem.origin)), WARM_MU
        # Few wide rows are solved in an orthonormal basis of their span.
        compact, basis = _project_on_span(problem, int(counts.rows.sum()))
        theta = theta if basis is None else np.append(basis.T @ theta[:-1], theta[-1])
        point, passes = follow_path(compact, theta, mu, tol, max_passes, on_pass)
    if basis is not None:
        point = replace(point, theta=np.append(basis @ point.theta[:-1], point.theta[-1]))
    return PrimalSolution(problem, point, passes, bool(point.relative_gap <= tol))


def make_margin_setting(
    source: Source, sample: ArraySource | None, signs: Floats, costs: Floats, forms_hessian: bool
) -> MarginSetting:
    """Return the setting of a problem, with the mean of the rows, or of a subsample, as centre."""
    columns = (source if sample is None or source.is_sparse else sample).reduce(column_moments, signs != 0)
    far = is_far(source, columns.mean, np.sqrt(columns.variances()))
    return MarginSetting(signs, costs, columns.mean, far, forms_hessian)


def start_on_sample(problem: MarginProblem, sample: ArraySource | None, counts: ClassCounts) -> tuple[Floats, float]:
    """Return θ and μ that solve the problem on a subsample with costs scaled to all rows; else θ = 0."""
    theta = np.zeros(problem.shape[0] * problem.shape[1])
    if sample is None:
        return theta, FIRST_MU
    # Costs are multiplied by the ratio of the total weights of each class.
    few = sample.reduce(class_counts, len(counts.weights))
    more = np.divide(counts.weights, few.weights, out=np.zeros(len(few.weights)), where=few.weights > 0)
    setting = replace(problem.setting, costs=problem.setting.costs * more)
    point, _ = follow_path(
        replace(problem, source=sample, setting=setting), theta, FIRST_MU, SAMPLE_TOLERANCE, SAMPLE_PASSES
    )
    return point.theta, point.mu


def _project_on_span(problem: HingeProblem, n_rows: int) -> tuple[HingeProblem, Floats | None]:
    """Return the problem in an orthonormal basis of the span of few wide rows, and that basis.

    The optimal weights lie in the span. Other problems are returned unchanged, with None.
    """
    setting, d = problem.setting, len(problem.origin)
    if setting.forms_hessian or n_rows >= FEW_PARAMETERS or n_rows * d > MAX_SAMPLE_VALUES:
        return problem, None
    blocks: list[Any] = problem.source.reduce(_as_list)
    # QR of the transposed rows: columns of ``basis`` span the rows, ``triangle`` holds their coordinates.
    rows = np.concatenate([dense(block.X) - problem.origin for block in blocks])
    basis, triangle = qr(np.vstack([rows, problem.origin]).T, mode="economic", check_finite=False)
    codes: Any = np.concatenate([block.codes for block in blocks])
    weight: Any = None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks])
    source = ArraySource(np.ascontiguousarray(triangle.T[:-1]), codes, weight, problem.source.classes)
    origin = triangle.T[-1].copy()
    setting = replace(setting, centre=np.zeros(len(origin)), is_far=False, forms_hessian=True)
    return type(problem)(source, setting, problem.bias_scale, origin), basis


def _as_list(block: Block) -> list[Block]:
    return [block]


# All problems of a machine


def solve_in_primal(task: Task, solver: PrimalSolver) -> list[Machine]:
    """Return a machine for each of the costs. Each problem starts from its solution for the previous costs."""
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
    """Join the solutions of all problems, with one centre; and the support vectors, if rows are in memory."""
    coef, centre = np.array([solution.coef for solution in solutions]), solutions[0].centre
    # Problems have different centres, those of the rows that take part. Refer all biases to the first one.
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
    """Return dual coefficients times the side, and the dual objective.

    The coefficients are sparse if the gap allows it. Otherwise only coefficients below ``MIN_SUPPORT`` times the
    largest of their side are set to 0.
    """
    z, few = side[block.require_codes()], _sparse_coefficients(block, solution, task.bias_scale, task.tol)
    if few is not None:
        return few[0] * z, few[1]
    problem: Any = solution.problem
    alpha = problem.dual_coefficients(block, solution.point)
    for sign in (-1, 1):
        alpha[(z == sign) & (alpha <= MIN_SUPPORT * alpha[z == sign].max(initial=0.0))] = 0.0
    return np.asarray(alpha * z), solution.dual


# Dual coefficients that are 0 or C for all but few rows


def _sparse_coefficients(
    block: Block, solution: PrimalSolution, bias_scale: float | None, tol: float
) -> tuple[Floats, float] | None:
    """Return sparse dual coefficients and the dual objective; None if the gap would exceed the tolerance.

    Notes
    -----
    The smoothed loss gives every row a positive coefficient. At the optimum rows outside the margin have α = 0 and rows
    inside it have α = C (complementary slackness). The rows at the margin are about as many as the parameters. Their
    coefficients follow from Σ α z x = w and, with a free bias, Σ α z = 0. Of all solutions within the bounds a linear
    program finds the one with the largest Σ α, which maximises the dual.
    """
    codes, setting = block.require_codes(), solution.problem.setting
    z, C = setting.signs.take(codes), setting.costs.take(codes) * (1.0 if block.weight is None else block.weight)
    rows = _DualRows(block.X, z, C * np.abs(z), solution.centre, bias_scale)
    excess = np.where(z == 0, -np.inf, 1 - z * rows.linear.scores(solution.point.theta))
    for per_column in MARGIN_ROWS_PER_COLUMN:
        free = _select_nearest(np.abs(excess), per_column * (len(solution.coef) + 1))
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
    """Rows of a problem with their signs and costs, for the recovery of dual coefficients."""

    X: Any
    z: Floats
    C: Floats
    centre: Floats
    bias_scale: float | None

    @property
    def linear(self) -> LinearRows:
        return LinearRows.of(self.X, self.centre, True)

    def complete(self, solution: PrimalSolution, excess: Floats, free: Integers) -> Floats | None:
        """Return coefficients of 0 or C, and those of the free rows such that Σ α z x = w; None if infeasible."""
        # Rows other than the free ones are at a bound. The free ones supply the rest of Σ α z (x, 1).
        alpha = np.where(excess > 0, self.C, 0.0)
        alpha[free] = 0.0
        total = solution.intercept / self.bias_scale**2 if self.bias_scale else 0.0
        sums = self.linear.sums((alpha * self.z)[None])[0]
        wanted = np.append(solution.coef - total * self.centre, total) - sums
        has_sum = self.bias_scale != 0
        rows, wanted = dense(self.X[free]) - self.centre, wanted if has_sum else wanted[:-1]
        found = _maximise_coefficients(rows, self.z[free], self.C[free], wanted, has_sum)
        if found is None:
            return None
        alpha[free] = found
        return alpha if self.bias_scale is not None else balance_coefficients(alpha, self.z)

    def dual(self, alpha: Floats) -> float:
        """Return the dual objective."""
        sums = self.linear.sums((alpha * self.z)[None])[0]
        w, v = sums[:-1] + sums[-1] * self.centre, 0.0 if self.bias_scale is None else self.bias_scale * sums[-1]
        return float(alpha.sum()) - (float(w @ w) + v**2) / 2


def _select_nearest(distances: Floats, k: int) -> Integers:
    """Return the k rows nearest to the margin, and any others at the same distance as the k-th."""
    k = min(k, len(distances))
    return np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])


def _maximise_coefficients(rows: Floats, z: Floats, C: Floats, wanted: Floats, has_sum: bool) -> Floats | None:
    """Maximise Σ α over 0 ≤ α ≤ C with Σ α z (x, 1) = ``wanted``, by a linear program; None if infeasible.

    Without a bias, ``has_sum`` is False: the condition is Σ α z x = ``wanted``.
    """
    # Columns and bounds are scaled to about 1 for the solver's absolute tolerances.
    columns = np.column_stack([rows, np.ones(len(z))]) if has_sum else rows
    size = np.sqrt(np.square(columns).mean(axis=0))
    size[size == 0] = 1.0
    largest = C.max()
    A = (z * C / largest) * (columns / size).T
    precise: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-C / largest, A_eq=A, b_eq=wanted / size / largest, bounds=(0, 1), options=precise)
    if found.x is None:
        return None
    alpha = np.clip(found.x, 0, 1) * C
    if not has_sum:
        return np.asarray(alpha)
    # Distribute the remaining error of Σ α z over the rows strictly between their bounds.
    missing = float(wanted[-1]) - float(alpha @ z)
    free = (alpha > 0) & (alpha < C)
    room = np.where(free, np.where(z * missing > 0, C - alpha, alpha), 0.0)
    share = 1.0 if room.sum() <= abs(missing) else abs(missing) / float(room.sum())
    return np.asarray(alpha + np.sign(missing) * z * room * share)
