"""Whether a plane separates the classes without mistakes, so that an unpenalised likelihood has no maximum.

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
from likely.objectives.newton import LATE, Goal, Solution, newton, newton_cg
from likely.objectives.problem import LinearProblem

LONG = 0.3
"""Margin from which on a Newton step counts as long: where the loss of a row could decrease for ever, the step adds 1
to its logit."""

FEW_PARAMETERS, MAX_STEPS, MAX_PRODUCTS = 1000, 60, 100
"""Up to so many parameters Hessians are formed to find a flat direction; beyond, most steps of Newton-CG, and most
Hessian-vector products of each."""

LARGE_LOGIT = 8.0
"""Logits that diverging parameters reach before a gap of about 1e-8 ends a descent."""

MAX_VALUES = 2**22
"""Coefficients of a linear program that is solved in about a second."""


@dataclass(frozen=True, eq=False)
class Separator:
    """The certificate that classes are separable: a direction along which no training row is on the wrong side.

    Attributes
    ----------
    coef : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept : array of shape (1,) or (n_classes,)
    least_margin : float
        Smallest margin of a row, its own class over the best rival: > 0 where the classes are apart, 0 where some rows
        lie on the boundary.
    most_margin : float
        Largest margin of a row.
    """

    coef: Annotated[Floats, floats("r", "d")]
    intercept: Annotated[Floats, floats("r")]
    least_margin: Annotated[float, number(finite=False)]
    most_margin: Annotated[float, number(finite=False)]


def find_separator(problem: LinearProblem, solution: Solution) -> Separator | None:
    """Find a direction that moves some rows to the side of their class and none away from it, or None.

    Along such a direction logits grow without bound, so if no logit is large there is none. Otherwise Newton's method
    runs to its end. Either the objective falls so low that the parameters themselves separate the classes. Or a Newton
    step remains where the gap vanishes: if it is short the likelihood has a maximum, and if it harms no row it has
    none. If neither holds, as when some rows are so far on their side that harm to them does not show in the objective,
    a linear program decides, if there are few rows.
    """
    bound = problem.lowest_mixed_value
    # 1. Small logits: nothing diverges.
    if solution.objective.value >= bound:
        if _margins(problem, solution.parameters).largest < LARGE_LOGIT:
            return None
        # Solvers without a Hessian may have gone so far that no curvature is left there.
        start = problem.start() if solution.late_step is None else solution.parameters
        solution = _run_newton(problem, start, bound)
    # 2. A value this low needs every row on its side.
    if solution.objective.value < bound:
        return _separator(problem, solution.parameters)
    # 3. The step that remains at a vanishing gap.
    assert solution.late_step is not None
    margins = _margins(problem, solution.late_step)
    if margins.largest < LONG:
        return None
    if margins.harm_none:
        return _separator(problem, solution.late_step)
    # 4. Undecided by rounding: a linear program.
    n_values = problem.n_rows * max(1, problem.shape[0] - 1) * problem.n_parameters
    return _by_linear_program(problem) if n_values <= MAX_VALUES else None


def _by_linear_program(problem: LinearProblem) -> Separator | None:
    """The direction within the unit cube with the largest sum of margins, none of them negative."""
    parts = problem.source.reduce(_constraints, problem.setting, problem.units, problem.shape[0])
    A = np.concatenate(parts)
    found = linprog(-A.mean(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return None if found.x is None or float(A.mean(axis=0) @ found.x) <= 1e-9 else _separator(problem, found.x)


def _constraints(block: Block, setting: LogisticSetting, units: Floats, n_blocks: int) -> list[Floats]:
    """The margins of every row over each rival class as a matrix that multiplies parameters, in a list."""
    rows, codes = extend_rows(block.X, setting.centre) * units, block.require_codes()
    if n_blocks == 1:
        return [rows * (2 * codes - 1)[:, None]]
    favours = np.eye(n_blocks)[codes][:, None, :] - np.eye(n_blocks)[None]
    rivals = favours[np.arange(n_blocks) != codes[:, None]]
    return [(rivals[:, :, None] * np.repeat(rows, n_blocks - 1, axis=0)[:, None, :]).reshape(len(rivals), -1)]


def _run_newton(problem: LinearProblem, start: Floats, bound: float) -> Solution:
    with one_blas_thread():
        if problem.n_parameters <= FEW_PARAMETERS:
            return newton(problem.value_gradient_hessian, start, Goal(LATE, lower_bound=bound))
        return newton_cg(problem, start, Goal(LATE, MAX_STEPS, bound), MAX_PRODUCTS)


def _margins(problem: LinearProblem, v: Floats) -> Margins:
    margins: Margins = problem.source.reduce(margins_of, problem.natural(v), problem.setting)
    return margins


def margins_of(block: Block, theta: Floats, setting: LogisticSetting) -> Margins:
    """Margins of the rows of a block."""
    scores = setting.rows_of(block).scores(theta[0] if len(theta) == 1 else theta)
    return Margins.of(scores, block.require_codes())


def _separator(problem: LinearProblem, v: Floats) -> Separator | None:
    theta, margins = problem.natural(v), _margins(problem, v)
    coef = theta[:, :-1]
    offset = theta[:, -1] - coef @ problem.setting.centre
    return Separator(coef, offset, max(margins.least, 0.0), margins.most) if margins.harm_none else None


@dataclass(frozen=True)
class Margins:
    """Logit of the true class of a row minus the largest other logit: the minimum and the maximum over rows.

    Examples
    --------
    >>> import numpy as np
    >>> Margins.of(np.array([2.0, -1.0]), np.array([1, 1])) + Margins.of(np.array([-4.0]), np.array([0]))
    Margins(least=-1.0, most=4.0)
    """

    least: float
    most: float

    @classmethod
    def of(cls, logits: Floats, codes: Integers) -> Margins:
        """The margins of rows whose logits have shape (n,), for two classes, or (n, n_classes); overwrites these."""
        if not len(codes):
            return cls(np.inf, -np.inf)
        if logits.ndim == 1:
            favours = (2 * codes - 1) * logits
        else:
            rows = np.arange(len(codes))
            truth = logits[rows, codes]
            logits[rows, codes] = -np.inf
            favours = truth - logits.max(axis=1)
        return cls(float(favours.min()), float(favours.max()))

    def __add__(self, other: Margins) -> Margins:
        return Margins(min(self.least, other.least), max(self.most, other.most))

    @property
    def harm_none(self) -> bool:
        """Whether some margin is positive and none negative, up to rounding."""
        return bool(self.least >= -1e-9 * self.most and self.most > 0)

    @property
    def largest(self) -> float:
        """The largest of all margins, for or against the truth."""
        return max(abs(self.least), abs(self.most))


def softened_targets(weights: Floats) -> Floats:
    """Target probabilities as if each class had one more row labelled as each class (Laplace's rule).

    They keep logits finite where classes are separable.
    """
    K = len(weights)
    return np.asarray((np.eye(K) + 1 / weights[:, None]) / (1 + K / weights[:, None]))
