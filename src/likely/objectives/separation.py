"""Detection of separable classes, for which an unpenalised likelihood has no maximum.

The maximum does not exist if and only if some direction of the parameters increases no row's loss and decreases that of
at least one row: complete or quasi-complete separation.

References
----------
Albert and Anderson, On the existence of maximum likelihood estimates in logistic regression models, Biometrika 71
(1984).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.optimize import linprog

from likely._constraints import floats, number
from likely._typing import Floats, Integers
from likely.blocks import Block, one_blas_thread
from likely.objectives.cross_entropy import LogisticSetting
from likely.objectives.linear_rows import extend_rows
from likely.objectives.newton import LATE_GAP, Goal, Solution, newton, newton_cg
from likely.objectives.problem import LinearProblem

LONG_STEP = 0.3
"""Smallest margin by which a Newton step counts as long. Along a direction of separation the loss of a row decays as
exp(−z), so the Newton step adds 1 to its logit z."""

FEW_PARAMETERS, MAX_STEPS, MAX_PRODUCTS = 1000, 60, 100
"""Maximum number of parameters for which Hessians are formed to find a flat direction. For more parameters: maximum
numbers of steps of Newton-CG, and of Hessian-vector products of each step."""

LARGE_LOGIT = 8.0
"""Lower bound of the largest logit of diverging parameters when a gap of about 1e-8 ends a descent."""

MAX_VALUES = 2**22
"""Maximum number of coefficients of the linear program, which is then solved in about a second."""


@dataclass(frozen=True, eq=False)
class Separator:
    """Certificate that classes are separable: a linear score with which no training row is on the wrong side.

    Attributes
    ----------
    coef : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept : array of shape (1,) or (n_classes,)
    least_margin : float
        Smallest margin of a row, the score of its own class minus the largest other score: > 0 for complete separation,
        0 if some rows lie on the boundary (quasi-complete separation).
    most_margin : float
        Largest margin of a row.
    """

    coef: Annotated[Floats, floats("r", "d")]
    intercept: Annotated[Floats, floats("r")]
    least_margin: Annotated[float, number(finite=False)]
    most_margin: Annotated[float, number(finite=False)]


def find_separator(problem: LinearProblem, solution: Solution) -> Separator | None:
    """Return a direction that increases some margins and decreases none, or None if no such direction is found.

    The logits of maximum-likelihood parameters diverge along such a direction. So if no logit is large, there is no
    such direction. Otherwise Newton's method continues until one of the following holds. If the objective falls below
    ``separation_bound``, the parameters themselves separate the classes. If the gap vanishes first, the remaining
    Newton step decides: if it is short the likelihood has a maximum, and if it decreases no margin the likelihood has
    none. Neither may hold, because rows with very large margins hardly affect the objective. Then a linear program
    decides, if there are few rows.
    """
    bound = problem.separation_bound
    # 1. If no logit is large, the parameters do not diverge.
    if solution.objective.value >= bound:
        if _margins(problem, solution.parameters).largest_size < LARGE_LOGIT:
            return None
        # Without a Hessian a solver may have moved so far that the curvature there vanishes, so start again.
        start = problem.start() if solution.late_step is None else solution.parameters
        solution = _run_newton(problem, start, bound)
    # 2. A value this low is possible only if every row is classified correctly.
    if solution.objective.value < bound:
        return _separator(problem, solution.parameters)
    # 3. The Newton step that remains at a vanishing gap.
    assert solution.late_step is not None
    margins = _margins(problem, solution.late_step)
    if margins.largest_size < LONG_STEP:
        return None
    if margins.is_separating:
        return _separator(problem, solution.late_step)
    # 4. Rounding leaves open whether the classes are separable: solve a linear program.
    n_values = problem.n_rows * max(1, problem.shape[0] - 1) * problem.n_parameters
    return _by_linear_program(problem) if n_values <= MAX_VALUES else None


def _by_linear_program(problem: LinearProblem) -> Separator | None:
    """Maximise the sum of margins over directions in [−1, 1]^p without negative margins; None if the maximum is 0."""
    parts = problem.source.reduce(_margin_matrix, problem.setting, problem.units, problem.shape[0])
    A = np.concatenate(parts)
    found = linprog(-A.mean(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return None if found.x is None or float(A.mean(axis=0) @ found.x) <= 1e-9 else _separator(problem, found.x)


def _margin_matrix(block: Block, setting: LogisticSetting, units: Floats, n_blocks: int) -> list[Floats]:
    """Return a list of one matrix A, such that A θ are the margins of every row over each other class; θ is flat."""
    rows, codes = extend_rows(block.X, setting.centre) * units, block.require_codes()
    if n_blocks == 1:
        return [rows * (2 * codes - 1)[:, None]]
    # (e_y − e_k) ⊗ x for every row and every other class k.
    pairs = np.eye(n_blocks)[codes][:, None, :] - np.eye(n_blocks)[None]
    rivals = pairs[np.arange(n_blocks) != codes[:, None]]
    return [(rivals[:, :, None] * np.repeat(rows, n_blocks - 1, axis=0)[:, None, :]).reshape(len(rivals), -1)]


def _run_newton(problem: LinearProblem, start: Floats, bound: float) -> Solution:
    """Run Newton's method until the gap vanishes or the objective falls below a bound."""
    with one_blas_thread():
        if problem.n_parameters <= FEW_PARAMETERS:
            return newton(problem.value_gradient_hessian, start, Goal(LATE_GAP, lower_bound=bound))
        return newton_cg(problem, start, Goal(LATE_GAP, MAX_STEPS, bound), MAX_PRODUCTS)


def _margins(problem: LinearProblem, v: Floats) -> Margins:
    margins: Margins = problem.source.reduce(compute_margins, problem.unscale(v), problem.setting)
    return margins


def compute_margins(block: Block, theta: Floats, setting: LogisticSetting) -> Margins:
    """Return the margins of the rows of a block."""
    scores = setting.rows_of(block).scores(theta[0] if len(theta) == 1 else theta)
    return Margins.of(scores, block.require_codes())


def _separator(problem: LinearProblem, v: Floats) -> Separator | None:
    """Return the direction v as a Separator, or None if v decreases the margin of some row."""
    theta, margins = problem.unscale(v), _margins(problem, v)
    coef = theta[:, :-1]
    offset = theta[:, -1] - coef @ problem.setting.centre
    return Separator(coef, offset, max(margins.lowest, 0.0), margins.highest) if margins.is_separating else None


@dataclass(frozen=True)
class Margins:
    """Minimum and maximum over rows of the margin, the logit of the true class minus the largest other logit.

    Examples
    --------
    >>> import numpy as np
    >>> Margins.of(np.array([2.0, -1.0]), np.array([1, 1])) + Margins.of(np.array([-4.0]), np.array([0]))
    Margins(lowest=-1.0, highest=4.0)
    """

    lowest: float
    highest: float

    @classmethod
    def of(cls, logits: Floats, codes: Integers) -> Margins:
        """Return the margins of rows with logits of shape (n,), for two classes, or (n, n_classes), overwritten."""
        if not len(codes):
            return cls(np.inf, -np.inf)
        if logits.ndim == 1:
            margins = (2 * codes - 1) * logits
        else:
            rows = np.arange(len(codes))
            truth = logits[rows, codes]
            logits[rows, codes] = -np.inf
            margins = truth - logits.max(axis=1)
        return cls(float(margins.min()), float(margins.max()))

    def __add__(self, other: Margins) -> Margins:
        return Margins(min(self.lowest, other.lowest), max(self.highest, other.highest))

    @property
    def is_separating(self) -> bool:
        """Whether some margin is positive and none negative, up to rounding."""
        return bool(self.lowest >= -1e-9 * self.highest and self.highest > 0)

    @property
    def largest_size(self) -> float:
        """Largest absolute value of a margin."""
        return max(abs(self.lowest), abs(self.highest))


def soften_targets(weights: Floats) -> Floats:
    """Return soft target probabilities, of shape (K, K), from the total weights of the K classes.

    They are as if, for every class, one extra row with each of the K labels were added to its rows (Laplace's rule).
    Soft targets keep the logits of separable classes finite.
    """
    K = len(weights)
    return np.asarray((np.eye(K) + 1 / weights[:, None]) / (1 + K / weights[:, None]))
