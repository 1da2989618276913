"""The linear support vector machine in the primal, by passes over the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import ArraySource, Block, ClassCounts, Source, class_counts, one_blas_thread
from likely.objectives.linear_rows import MAX_SAMPLE_VALUES, column_moments, is_far, subsample
from likely.objectives.svm.path import follow
from likely.objectives.svm.points import Point
from likely.objectives.svm.rows import Setting
from likely.objectives.svm.smoothed import Repair, multipliers
from likely.objectives.svm.systems import MarginProblem

__all__ = ["LinearSolution", "sampled_start", "setting_of", "solve_primal"]

FIRST, WARM = 1.0, 0.1
"""μ to begin with, from nowhere and from a start: the margin is 1."""

FEW_PARAMETERS = 2000
"""Most columns for Hessians to be formed."""

SAMPLE_TOLERANCE, SAMPLE_PASSES = 1e-3, 100
"""Relative gap that a start is sought to on a sample, and passes over it."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A plane, and bounds from both sides of the least value of the objective.

    Attributes
    ----------
    coef : array of shape (d,)
    intercept : float
    primal : float
        The objective at the plane.
    dual : float
        The dual objective at multipliers that keep its constraints: no plane has a lower value of the objective.
    n_iter : int
        Passes over all rows.
    converged : bool
        Whether the gap is within the tolerance, relative to ``primal``.
    smoothing : float
        The last μ.
    repair : Repair
        With ``smoothing``, what gives the multipliers.
    centre : array of shape (d,)
        About which the rows were seen.
    centred_intercept : float
        The bias of rows less the centre; of rows far from zero it has digits that ``intercept`` has lost.
    """

    coef: Floats
    intercept: float
    primal: float
    dual: float
    n_iter: int
    converged: bool
    smoothing: float
    repair: Repair = field(default_factory=Repair)
    centre: Floats = field(default_factory=lambda: np.empty(0))
    centred_intercept: float = 0.0

    @property
    def gap(self) -> float:
        """How far above the least value the objective is, at most."""
        return self.primal - self.dual

    def multipliers(self, block: Block, signs: Floats, costs: Floats) -> Floats:
        """α of the rows of a block: the dual point that ``dual`` is the value of."""
        place = self.coef, self.centred_intercept, self.smoothing
        return multipliers(block, *place, signs, costs, self.repair, self.centre)


def solve_primal(
    source: Source,
    signs: Floats,
    costs: Floats,
    bias_scale: float | None,
    tolerance: float,
    most_passes: int,
    start: tuple[Floats, float] | None = None,
    tell: Callable[[int, float], None] | None = None,
    counts: ClassCounts | None = None,
) -> LinearSolution:
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
    tolerance : float
        Of the gap between the primal and the dual objective, relative to the primal.
    most_passes : int
        Over all rows.
    start : (coef, intercept), optional
        Where to begin; by default from the solution of a sample, if rows are many.
    tell : function of the passes so far and the relative gap, optional
        Called after each.
    counts : ClassCounts, optional
        Rows and weights of each class, if they are known.

    Notes
    -----
    The losses are smoothed to C (t + √(t² + 4 μ²)) / 2, t = 1 − z (w'x + b). Where that objective is least, multipliers
    α = C σ(t / μ), its slopes, keep the constraints of the dual, and the gap is Σ C max(0, t) − α t: it falls about
    as μ where few rows are at the margin, and as μ² where many are. Elsewhere the multipliers of rows at the margin are
    shifted to balance, so that the dual bound holds at every step. See :func:`likely.objectives.svm.path.follow`.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), classes=np.array([0, 1]))
    >>> found = solve_primal(source, np.array([-1.0, 1.0]), np.array([10.0, 10.0]), None, 1e-8, 100)
    >>> found.coef.round(6), round(found.intercept, 6), round(found.primal, 6), found.converged
    (array([1.]), -2.0, 0.5, True)
    """
    signs, costs = np.where(costs > 0, signs, 0.0), np.asarray(costs, dtype=np.float64)
    counts = counts or source.reduce(class_counts, len(signs))
    sides = [float((costs * counts.weights)[signs == sign].sum()) for sign in (-1, 1)]
    with one_blas_thread():
        sample = None if start is not None else subsample(source, counts, signs != 0)
        setting = setting_of(source, sample, signs, costs, source.n_features < FEW_PARAMETERS)
        problem = MarginProblem(source, setting, bias_scale, setting.centre)
        if min(sides) == 0 and (bias_scale is None or max(sides) == 0):
            return _one_sided(problem, np.sign(sides[1] - sides[0]))
        theta, mu = _start(problem, sample, counts, start)
        compact, basis = _compacted(problem, int(counts.rows.sum()))
        point, passes = follow(compact, _within(theta, basis), mu, tolerance, most_passes, tell)
    return _solution(problem, point, passes, tolerance, basis)


def setting_of(source: Source, sample: ArraySource | None, signs: Floats, costs: Floats, forms: bool) -> Setting:
    """Rows seen about their mean, or that of the sample of them."""
    columns = (source if sample is None or source.is_sparse else sample).reduce(column_moments, signs != 0)
    far = is_far(source, columns.mean, np.sqrt(columns.variances()))
    return Setting(signs, costs, columns.mean, far, forms)


def _start(
    problem: MarginProblem, sample: ArraySource | None, counts: ClassCounts, start: tuple[Floats, float] | None
) -> tuple[Floats, float]:
    """Parameters and μ to begin with: those given, or those found by a sample."""
    if start is None:
        return sampled_start(problem, sample, counts, len(problem.origin) + 1)
    return np.append(start[0], start[1] + float(start[0] @ problem.origin)), WARM


def sampled_start(
    problem: Any, sample: ArraySource | None, counts: ClassCounts, n_parameters: int
) -> tuple[Floats, float]:
    """Parameters and μ: those that solve the problem of the sample, its costs standing for all rows, or zeros."""
    theta = np.zeros(n_parameters)
    if sample is None:
        return theta, FIRST
    few = sample.reduce(class_counts, len(counts.weights))
    more = np.divide(counts.weights, few.weights, out=np.zeros(len(few.weights)), where=few.weights > 0)
    setting = replace(problem.setting, costs=problem.setting.costs * more)
    some = replace(problem, source=sample, setting=setting)
    point, _ = follow(some, theta, FIRST, SAMPLE_TOLERANCE, SAMPLE_PASSES)
    return point.theta, point.mu


def _compacted(problem: MarginProblem, n_rows: int) -> tuple[MarginProblem, Floats | None]:
    """Few wide rows in an orthonormal basis of their own span, where the best weights are; and that basis."""
    setting, d = problem.setting, len(problem.origin)
    if setting.forms or n_rows >= FEW_PARAMETERS or n_rows * d > MAX_SAMPLE_VALUES:
        return problem, None
    blocks: list[Any] = problem.source.reduce(_listed)
    rows = np.concatenate([dense(block.X) - problem.origin for block in blocks])
    basis, triangle = qr(np.vstack([rows, problem.origin]).T, mode="economic", check_finite=False)
    codes: Any = np.concatenate([block.codes for block in blocks])
    weight: Any = None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks])
    source = ArraySource(np.ascontiguousarray(triangle.T[:-1]), codes, weight, problem.source.classes)
    origin = triangle.T[-1].copy()
    setting = replace(setting, centre=np.zeros(len(origin)), is_far=False, forms=True)
    return MarginProblem(source, setting, problem.bias_scale, origin), basis


def _listed(block: Block) -> list[Block]:
    return [block]


def _within(theta: Floats, basis: Floats | None) -> Floats:
    return theta if basis is None else np.append(basis.T @ theta[:-1], theta[-1])


def _solution(
    problem: MarginProblem, point: Point, passes: int, tolerance: float, basis: Floats | None
) -> LinearSolution:
    w, b = point.theta[:-1], float(point.theta[-1])
    w = w if basis is None else basis @ w
    near = bool(point.relative_gap <= tolerance)
    place = point.repair, problem.origin, b
    intercept = b - float(w @ problem.origin)
    return LinearSolution(w, intercept, point.primal, point.dual, passes, near, point.mu, *place)


def _one_sided(problem: MarginProblem, sign: float) -> LinearSolution:
    """Rows of one sign only, or none, and a free bias: it alone keeps all of them off the margin, at no cost."""
    nothing = np.zeros(len(problem.origin))
    return LinearSolution(
        nothing, float(sign), 0.0, 0.0, 0, True, FIRST, Repair(0.0, (0.0, 0.0)), problem.origin, float(sign)
    )
