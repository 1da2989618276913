"""The linear support vector machine of all classes at once, with one margin among them, in the primal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likely._typing import Floats
from likely.blocks import ArraySource, Block, ClassCounts, Source, class_counts, one_blas_thread
from likely.exceptions import DegenerateDataError
from likely.objectives.linear_rows import subsample
from likely.objectives.svm.joint_problem import JointProblem
from likely.objectives.svm.joint_sums import pulls
from likely.objectives.svm.path import follow
from likely.objectives.svm.points import Point
from likely.objectives.svm.primal import WARM, sampled_start, setting_of

__all__ = ["JointSolution", "solve_joint"]

FEW_PARAMETERS, MORE_PARAMETERS = 1000, 2500
"""Most parameters of all classes together for Hessians to be formed; the second, where rows are no more than those."""


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
    centred_intercept : array of shape (n_classes,)
        Biases of rows less the centre; of rows far from zero they have digits that ``intercept`` has lost.
    """

    coef: Floats
    intercept: Floats
    primal: float
    dual: float
    n_iter: int
    converged: bool
    problem: JointProblem
    point: Point
    centred_intercept: Floats

    @property
    def gap(self) -> float:
        """How far above the least value the objective is, at most."""
        return self.primal - self.dual

    @property
    def centre(self) -> Floats:
        """About which the rows were seen."""
        return self.problem.origin

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
    counts = source.reduce(class_counts, len(costs))
    if not (costs * counts.weights > 0).all():
        raise DegenerateDataError("A joint margin needs rows of every class, of a cost and weight > 0.")
    with one_blas_thread():
        sample = None if start is not None else subsample(source, counts)
        problem = _problem(source, sample, costs, bias_scale, int(counts.rows.sum()))
        theta, mu = _start(problem, sample, counts, start)
        point, passes = follow(problem, theta, mu, tolerance, most_passes, tell)
    theta = point.theta.reshape(problem.shape)
    coef, biases = theta[:, :-1].copy(), theta[:, -1] - (theta[:, -1].mean() if bias_scale is None else 0.0)
    found = point.primal, point.dual, passes, bool(point.relative_gap <= tolerance)
    return JointSolution(coef, biases - coef @ problem.origin, *found, problem, point, biases)


def _problem(
    source: Source, sample: ArraySource | None, costs: Floats, bias_scale: float | None, n_rows: int
) -> JointProblem:
    """The problem, with Hessians formed if parameters are few."""
    size = len(costs) * (source.n_features + 1)
    forms = size <= (MORE_PARAMETERS if n_rows <= size else FEW_PARAMETERS)
    setting = setting_of(source, sample, np.ones(len(costs)), costs, forms)
    return JointProblem(source, setting, bias_scale, setting.centre)


def _start(
    problem: JointProblem, sample: ArraySource | None, counts: ClassCounts, start: tuple[Floats, Floats] | None
) -> tuple[Floats, float]:
    """Parameters and μ to begin with: those given, or those found by a sample."""
    if start is None:
        return sampled_start(problem, sample, counts, problem.shape[0] * problem.shape[1])
    coef, intercept = start
    biases = intercept + coef @ problem.origin
    if problem.bias_scale is None:
        biases = biases - biases.mean()
    return np.column_stack([coef, biases]).reshape(-1), WARM
