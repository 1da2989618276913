"""The linear support vector machine of all classes at once, with one margin among them, in the primal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve

from likely._typing import Floats
from likely.blocks import ArraySource, Block, Source, one_blas_thread
from likely.exceptions import DegenerateDataError
from likely.objectives.problem import FAR
from likely.objectives.sampling import Census, census
from likely.objectives.svm.joint_sums import (
    DualSums,
    JointRepair,
    JointSums,
    dual_sums,
    joint_margin,
    joint_product,
    joint_sums,
    pulls,
)
from likely.objectives.svm.path import follow
from likely.objectives.svm.points import Point
from likely.objectives.svm.primal import FIRST, SAMPLE_PASSES, SAMPLE_TOLERANCE, WARM, columns_of, sample_of
from likely.objectives.svm.rows import Setting
from likely.objectives.svm.systems import System, by_hessian, by_products

__all__ = ["JointProblem", "JointSolution", "solve_joint"]

FEW_PARAMETERS = 1000
"""Most parameters of all classes together for Hessians to be formed."""

PRECISION = 0.1
"""Relative residual of steps found by products: a joint margin needs more of these than one between two sides, and more
steps that are less precise take fewer."""


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Minimise ½ Σ ‖w_k‖² + Σ C max_k t_k, with ½ Σ (b_k − w_k'origin)² / K² beside it if biases are regularised.

    Parameters
    ----------
    source : Source
    setting : Setting
    bias_scale : float, optional
        K.
    origin : array of shape (d,)
        The centre of the rows, in whose coordinates the w are.
    """

    source: Source
    setting: Setting
    bias_scale: float | None
    origin: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and parameters of each."""
        return len(self.setting.costs), len(self.origin) + 1

    @property
    def stiff(self) -> Floats:
        """a, where the penalty of a class's bias is ½ (a'θ_k)²; 0 for a free one."""
        if self.bias_scale is None:
            return np.zeros(self.shape[1])
        return np.append(-self.origin, 1.0) / self.bias_scale

    def pressed(self, theta: Floats) -> Floats:
        """The gradient of the penalties."""
        lines = theta.reshape(self.shape)
        pressed = np.outer(lines @ self.stiff, self.stiff)
        pressed[:, :-1] += lines[:, :-1]
        return pressed.reshape(-1)

    def at(self, theta: Floats, mu: float) -> Point:
        """Look at a point: a pass over the rows for the sums there, and one for the dual value."""
        sums = self.source.reduce(joint_sums, theta, mu, self.setting)
        pressed = self.pressed(theta)
        penalty = float(theta @ pressed) / 2
        dual, repair = -np.inf, JointRepair(np.zeros(self.shape[0]), np.zeros(self.shape[0]))
        if np.isfinite(sums.value):
            repair = self.repair(sums, theta)
            dual, share = self.dual(self.source.reduce(dual_sums, theta, mu, repair, self.setting))
            repair = replace(repair, shares=share * repair.shares)
        return Point(theta, mu, sums, pressed + sums.gradient, penalty, dual, repair)

    def repair(self, sums: JointSums, theta: Floats) -> JointRepair:
        """What balances multipliers: free biases want Σ η_k = 0 for each class, others −b_k / K² where all is best.

        Multipliers are shifted as moved biases would do it. If that is too much, those of regularised biases go as far
        as they may; for free ones the multipliers of each class are multiplied by the share of time that is spent in
        the class where ``flows`` are the rates of moving from class to class: all that moves in moves out again.
        """
        K, still = self.shape[0], np.zeros(self.shape[0])
        wanted = still if self.bias_scale is None else -theta.reshape(self.shape) @ self.stiff / self.bias_scale
        rates = sums.spread + np.trace(sums.spread) / K**2
        try:
            shift = solve(rates, wanted - sums.flows.sum(axis=0), assume_a="sym", check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            shift = np.full(K, np.inf)
        width = np.ptp(shift) if np.isfinite(shift).all() else np.inf
        if width <= 0.5:
            return JointRepair(shift, np.ones(K))
        if self.bias_scale is None:
            return JointRepair(still, _stationary(sums.flows))
        return JointRepair(shift / (2 * width) if np.isfinite(width) else still, np.ones(K))

    def dual(self, sums: DualSums) -> tuple[float, float]:
        """The value of the best multiple, up to 1, of multipliers that keep the constraints; and which multiple."""
        pull, total = sums.pulls[:, :-1], sums.pulls[:, -1]
        square = float(np.square(pull).sum())
        if self.bias_scale is not None:
            square = float(
                np.square(pull + np.outer(total, self.origin)).sum() + np.square(self.bias_scale * total).sum()
            )
        share = min(1.0, sums.total / square) if square > 0 else 1.0
        return share * sums.total - share**2 * square / 2, share

    def system(self, point: Point) -> System:
        """The Newton step at a point: by the Hessian, or by products with it."""
        if not np.isfinite(point.value):
            return System(point, np.zeros_like)
        if self.setting.forms:
            return System(point, by_hessian(self._penalised(point.sums.curvature)))
        place = point.theta, point.mu
        rows = self.source.reduce(joint_margin, *place, self.setting)

        def times(direction: Floats) -> Floats:
            if rows.parts is not None:
                return self.pressed(direction) + rows.product(direction)
            return np.asarray(
                self.pressed(direction) + self.source.reduce(joint_product, *place, direction, self.setting)
            )

        penalties = np.append(np.ones(len(self.origin)), 0.0) + np.square(self.stiff)
        return System(point, by_products(times, point.sums.curvature + np.tile(penalties, self.shape[0]), PRECISION))

    def _penalised(self, curvature: Floats) -> Floats:
        """The Hessian with penalties; that of the sum of free biases, which nothing depends on, may be any."""
        (K, q), hessian = self.shape, curvature.copy()
        one = np.diag(np.append(np.ones(q - 1), 0.0)) + np.outer(self.stiff, self.stiff)
        for k in range(K):
            hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] += one
        biases = slice(q - 1, None, q)
        hessian[biases, biases] += np.trace(hessian[biases, biases]) / K**2
        return hessian


@dataclass(frozen=True, eq=False)
class JointSolution:
    """Scores of all classes, and bounds from both sides of the least value of the objective.

    Attributes
    ----------
    coef : array of shape (n_classes, d)
    intercept : array of shape (n_classes,)
    primal : float
        The objective at these.
    dual : float
        The dual objective at multipliers that keep its constraints: no scores have a lower value of the objective.
    n_iter : int
        Points looked at, each by two passes over all rows.
    converged : bool
        Whether the gap is within the tolerance, relative to ``primal``.
    problem : JointProblem
    point : Point
    """

    coef: Floats
    intercept: Floats
    primal: float
    dual: float
    n_iter: int
    converged: bool
    problem: JointProblem
    point: Point

    @property
    def gap(self) -> float:
        """How far above the least value the objective is, at most."""
        return self.primal - self.dual

    @property
    def centre(self) -> Floats:
        """About which the rows were seen."""
        return self.problem.origin

    @property
    def centred_intercept(self) -> Floats:
        """Biases of rows less the centre; of rows far from zero they have digits that ``intercept`` has lost."""
        return self.point.theta.reshape(self.problem.shape)[:, -1].copy()

    def multipliers(self, block: Block) -> Floats:
        """−η of the rows of a block, (n, n_classes): the dual point that ``dual`` is the value of.

        They sum to 0 over the classes of a row, and only that of the row's own class is positive.
        """
        return -pulls(block, self.point.theta, self.point.mu, self.point.repair, self.problem.setting)


def solve_joint(
    source: Source,
    costs: Floats,
    bias_scale: float | None,
    tolerance: float,
    most_passes: int,
    start: tuple[Floats, Floats] | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> JointSolution:
    """Minimise ½ Σ ‖w_k‖² + Σ C max_k (1 − [k = y] + f_k − f_y), with f_k = w_k'x + b_k and C = costs[y] · weight.

    Parameters
    ----------
    source : Source
        Rows with codes, some of every class.
    costs : array of shape (n_classes,)
        Finite and > 0.
    bias_scale : float, optional
        K: rows are extended by the constant K, whose weights are penalised like others, so ½ Σ b_k² / K² is added.
        Without it biases are free, and sum to 0.
    tolerance : float
        Of the gap between the primal and the dual objective, relative to the primal.
    most_passes : int
        Points to look at, each by two passes over all rows.
    start : (coef, intercept), optional
        Where to begin; by default from the solution of a sample, if rows are many.
    tell : function of the passes so far and the relative gap, optional
        Called after each.

    Notes
    -----
    A maximum is the best mixture, so the loss of a row is the maximum over probabilities p of C Σ p_k t_k. With
    η_k = C (p_k − [k = y]), and maxima and minimum exchanged, the dual is

        max Σ C (1 − p_y) − ½ Σ_k ‖Σ η_k x‖²   over p ≥ 0 that sum to 1 for each row, with Σ η_k = 0 for each class,

    w_k = −Σ η_k x. With ``bias_scale`` the last condition goes, and −½ K² Σ_k (Σ η_k)² comes. Smoothing gives p at
    every point on the way, see :mod:`likely.objectives.svm.joint_sums`; they are made to keep the conditions, so that
    the dual bound holds at each. See :func:`likely.objectives.svm.path.follow`.

    For two classes w_1 = −w_0 = w / 2 with w and b those of the binary problem, whose costs are twice as high and whose
    objective is then twice as large: ½ ‖w_0‖² + ½ ‖w_1‖² = ¼ ‖w‖².

    References
    ----------
    Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), classes=np.array([0, 1]))
    >>> found = solve_joint(source, np.array([10.0, 10.0]), None, 1e-8, 100)
    >>> found.coef.round(6), found.intercept.round(6), round(found.primal, 6), found.converged
    (array([[-0.5],
           [ 0.5]]), array([ 1., -1.]), 0.25, True)
    """
    costs = np.asarray(costs, dtype=np.float64)
    counts = source.reduce(census, len(costs))
    if not (costs * counts.weights > 0).all():
        raise DegenerateDataError("A joint margin needs rows of every class, of a cost and weight > 0.")
    with one_blas_thread():
        sample = None if start is not None else sample_of(source, counts, np.ones(len(costs)))
        problem = _problem(source, sample, costs, bias_scale)
        theta, mu = _start(problem, sample, counts, start)
        point, passes = follow(problem, theta, mu, tolerance, most_passes, tell)
    coef, biases = point.theta.reshape(problem.shape)[:, :-1], point.theta.reshape(problem.shape)[:, -1]
    near = bool(point.relative_gap <= tolerance)
    return JointSolution(coef, biases - coef @ problem.origin, point.primal, point.dual, passes, near, problem, point)


def _problem(source: Source, sample: ArraySource | None, costs: Floats, bias_scale: float | None) -> JointProblem:
    """The problem about the middle of the rows, or of the sample of them."""
    part = np.ones(len(costs))
    columns = (source if sample is None or source.is_sparse else sample).reduce(columns_of, part)
    far = not source.is_sparse and bool((np.abs(columns.mean) > FAR * np.sqrt(columns.variances())).any())
    forms = len(costs) * (source.n_features + 1) <= FEW_PARAMETERS
    return JointProblem(source, Setting(part, costs, columns.mean, far, forms), bias_scale, columns.mean)


def _start(
    problem: JointProblem, sample: ArraySource | None, counts: Census, start: tuple[Floats, Floats] | None
) -> tuple[Floats, float]:
    """Parameters and μ to begin with: those given, or those of a sample whose costs stand for all rows, or none."""
    if start is not None:
        coef, intercept = start
        biases = intercept + coef @ problem.origin
        if problem.bias_scale is None:
            biases = biases - biases.mean()
        return np.column_stack([coef, biases]).reshape(-1), WARM
    theta = np.zeros(problem.shape[0] * problem.shape[1])
    if sample is None:
        return theta, FIRST
    few = sample.reduce(census, len(counts.weights))
    setting = replace(problem.setting, costs=problem.setting.costs * counts.weights / few.weights)
    some = replace(problem, source=sample, setting=setting)
    point, _ = follow(some, theta, FIRST, SAMPLE_TOLERANCE, SAMPLE_PASSES)
    return point.theta, point.mu


def _stationary(flows: Floats) -> Floats:
    """Shares a ≥ 0, at most 1, with Σ_y a_y flows[y] = 0, for lines that sum to 0 and are < 0 on the diagonal only.

    Classes are taken out one after another, what flows through them being led past, and put back in turn: sums of what
    is not negative, so nothing cancels (Grassmann, Taksar and Heyman, 1985).
    """
    K, rates = len(flows), flows.copy()
    np.fill_diagonal(rates, 0.0)
    for k in range(K - 1, 0, -1):
        out = rates[k, :k].sum()
        if not out > 0:
            return np.zeros(K)
        rates[:k, k] /= out
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    shares = np.ones(K)
    for k in range(1, K):
        shares[k] = shares[:k] @ rates[:k, k]
    return np.asarray(shares / shares.max())
