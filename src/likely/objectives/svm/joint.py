"""The multiclass linear support vector machine of Crammer and Singer, with a joint margin, in the primal.

Conventions: parameters θ have a row (w_k, b_k) for each of K classes, concatenated if parameters are flat. Scores are
f_k = (x − centre)'w_k + b_k. A row of class y has t_k = 1 + f_k − f_y for the other classes, t_y = 0, and the cost C.
Its loss is C max_k t_k, which is C times the maximum of Σ p_k t_k over probabilities p. The smoothed loss is C times
the maximum of Σ p_k t_k + 2 μ (Σ √p_k − 1) over p. Its derivative by t is C p at the maximising p. From this p follow
the dual coefficients of the row, η_k = C (p_k − [k = y]).

References
----------
Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2 (2001).
Nesterov, Smooth minimization of non-smooth functions, Mathematical Programming 103 (2005), for smoothing a maximum by a
strongly concave term in the dual variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import ArraySource, Block, Source, class_counts, one_blas_thread
from likely.exceptions import DegenerateDataError
from likely.objectives.linear_rows import LinearRows, subsample
from likely.objectives.svm.path_following import (
    MarginProblem,
    MarginSetting,
    MarginSums,
    PathPoint,
    SmoothedLosses,
    follow_path,
    select_heavy_rows,
)
from likely.objectives.svm.primal import WARM_MU, PrimalSolution, make_margin_setting, start_on_sample

FEW_PARAMETERS, MORE_PARAMETERS = 1000, 2500
"""Maximum number of parameters of all classes for which Hessians are formed. The second number applies if there are no
more rows than parameters."""

MAX_PRODUCT_VALUES = 2**22
"""Maximum number of values, rows times parameters of all classes, that are held at once while a Hessian is formed."""

MAX_LAMBDA_STEPS = 20
"""Maximum number of Newton steps for λ of :class:`SmoothedMax`; the steps converge quadratically."""


def solve_joint(
    source: Source,
    costs: Floats,
    bias_scale: float | None,
    tol: float,
    max_passes: int,
    start: tuple[Floats, Floats] | None = None,
    on_pass: Callable[[int, float], None] | None = None,
) -> PrimalSolution:
    """Minimise ½ Σ ‖w_k‖² + Σ C max_k (1 − [k = y] + f_k − f_y), with f_k = w_k'x + b_k and C = costs[y] · weight.

    Parameters
    ----------
    source : Source
        Rows with codes, at least one of every class.
    costs : array of shape (n_classes,)
        Finite and > 0.
    bias_scale : float, optional
        Scale K of penalised biases: rows are extended by the constant K, whose weights are penalised like the others.
        So ½ Σ b_k² / K² is added to the objective. By default biases are free, and sum to 0.
    tol : float
        Duality gap to reach, relative to the primal objective.
    max_passes : int
        Maximum number of points to evaluate, each by two passes over all rows.
    start : (coef, intercept), optional
        Warm start. By default the start is the solution on a subsample, if there are many rows.
    on_pass : function of the number of points and the relative gap, optional
        Called after each point.

    Notes
    -----
    The loss of a row is the maximum over probabilities p of C Σ p_k t_k. Let η_k = C (p_k − [k = y]). Exchanging the
    maxima and the minimum gives the dual

        max Σ C (1 − p_y) − ½ Σ_k ‖Σ η_k x‖²   over p ≥ 0 that sum to 1 for each row, with Σ η_k = 0 for each class,

    and w_k = −Σ η_k x. With ``bias_scale`` the last condition is dropped, and −½ K² Σ_k (Σ η_k)² is added. The smoothed
    losses give a p for every row at every point of the path. A correction makes these p feasible, so that every point
    has a dual bound. See :func:`likely.objectives.svm.path_following.follow_path`.

    For two classes w_1 = −w_0 = w / 2, where w and b solve the binary problem with twice the costs. The objective of
    the binary problem is twice as large as the joint objective: ½ ‖w_0‖² + ½ ‖w_1‖² = ¼ ‖w‖².

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
        raise DegenerateDataError("A joint margin needs rows of every class with a cost and weight > 0.")
    with one_blas_thread():
        sample = None if start is not None else subsample(source, counts)
        problem = _problem(source, sample, costs, bias_scale, int(counts.rows.sum()))
        if start is None:
            theta, mu = start_on_sample(problem, sample, counts)
        else:
            theta, mu = (
                problem.centre_biases(np.column_stack([start[0], start[1] + start[0] @ problem.origin])),
                WARM_MU,
            )
        point, passes = follow_path(problem, theta, mu, tol, max_passes, on_pass)
    point = replace(point, theta=problem.centre_biases(point.theta.reshape(problem.shape)))
    return PrimalSolution(problem, point, passes, bool(point.relative_gap <= tol))


def _problem(
    source: Source, sample: ArraySource | None, costs: Floats, bias_scale: float | None, n_rows: int
) -> JointProblem:
    """Return the problem, which forms Hessians if there are few parameters."""
    size = len(costs) * (source.n_features + 1)
    forms_hessian = size <= (MORE_PARAMETERS if n_rows <= size else FEW_PARAMETERS)
    setting = make_margin_setting(source, sample, np.ones(len(costs)), costs, forms_hessian)
    return JointProblem(source, setting, bias_scale, setting.centre)


@dataclass(frozen=True, eq=False)
class JointRepair:
    """Correction that makes dual coefficients feasible.

    In a row of class y, p_k is replaced by p_k + 2 g_k (shift_k − the mean of the shifts with weights g), where
    g = p^1.5. To first order this is the row's p after the biases have changed by μ · shift. Then the coefficients η of
    the row are multiplied by shares[y].

    Parameters
    ----------
    shift : array of shape (n_classes,)
        Shifts that differ by at most ½, so that no probability is negative.
    shares : array of shape (n_classes,)
        Factors from 0 to 1.
    """

    shift: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class JointSums(MarginSums):
    """Sums of a joint problem at θ and μ. ``alphas`` are the sums of C (1 − p_y) over the rows of each class y.

    Parameters
    ----------
    eta_sums : array of shape (n_classes, n_classes)
        The entry [y, k] is the sum of η_k over the rows of class y.
    bias_hessian : array of shape (n_classes, n_classes)
        Hessian of ``value`` with respect to the biases, times μ.
    """

    eta_sums: Floats
    bias_hessian: Floats


@dataclass(frozen=True, eq=False)
class JointLosses(SmoothedLosses):
    """Smoothed joint losses of the rows of a block.

    Parameters
    ----------
    rows : LinearRows
    codes : array of int of shape (n,)
        Class y of each row.
    C : array of shape (n,)
        Cost of each row.
    t : array of shape (n, n_classes)
        t_k = 1 + f_k − f_y, and t_y = 0.
    mu : float
    forms_hessian : bool
        Whether ``sums`` has the Hessian, or only its diagonal.
    """

    rows: LinearRows
    codes: Integers
    C: Floats
    t: Floats
    mu: float
    forms_hessian: bool

    @classmethod
    def of(cls, block: Block, theta: Floats, mu: float, setting: MarginSetting) -> JointLosses:
        rows, codes, C = setting.rows_of(block)
        # t_k = 1 + f_k − f_y, and t_y = 0.
        t = rows.scores(theta.reshape(len(setting.costs), -1))
        own = np.arange(len(t)), codes
        t += 1 - t[own][:, None]
        t[own] = 0.0
        return cls(rows, codes, C, t, mu, setting.forms_hessian)

    @cached_property
    def smoothing(self) -> SmoothedMax:
        return smoothed_max(self.t / self.mu)

    @property
    def hinge(self) -> float:
        """Sum of the losses without smoothing."""
        return float(self.C @ self.t.max(axis=1))

    def row_weights(self) -> Floats:
        return np.asarray(self.C * self.smoothing.curvature)

    def sums(self) -> JointSums:
        C, mu, at, K = self.C, self.mu, self.smoothing, self.t.shape[1]
        top = self.t.max(axis=1)
        # η = C (p − [k = y]), and its derivative by μ, as p depends on u = t / μ. Adding top / μ² to all ∂u of a row
        # does not change ∂p.
        eta = C[:, None] * self._subtract_own_class(at.p)
        by_mu = C[:, None] * at.derivative((top[:, None] - self.t) / mu**2)
        first = self.rows.sums(np.hstack([eta, by_mu]).T)
        eta_sums = np.zeros((K, K))
        np.add.at(eta_sums, self.codes, eta)
        return JointSums(
            value=float(C @ (top + mu * at.excess)),
            hinge=float(C @ top),
            alphas=-eta_sums.diagonal(),
            gradient=first[:K].reshape(-1),
            gradient_by_mu=first[K:].reshape(-1),
            # D r² / μ with D = 2 C g (1 − g / Σ g) / μ and r = μ / (2 √p).
            squared_radius=float(C @ (np.sqrt(at.p) * at.complement).sum(axis=1)) / 2,
            hessian=self._hessian(C / mu) if self.forms_hessian else self._hessian_diagonal(C / mu),
            eta_sums=eta_sums,
            bias_hessian=at.hessian_sum(C),
        )

    def dual_coefficients(self, repair: JointRepair) -> Floats:
        """Return η = C (p − [k = y]) of feasible p, of shape (n, n_classes)."""
        at = self.smoothing
        # Add the first-order change of p for the shift, then multiply by the share of the row's class.
        p = at.p + at.derivative(np.broadcast_to(repair.shift, at.p.shape))
        return np.asarray(
            (self.C * repair.shares.take(self.codes))[:, None] * self._subtract_own_class(np.maximum(p, 0.0))
        )

    def _subtract_own_class(self, p: Floats) -> Floats:
        """Return p_k − [k = y] for each class k.

        At the class y of a row, p_y − 1 would cancel digits. It is computed as minus the sum of the other p.
        """
        own = np.arange(len(p)), self.codes
        p = p.copy()
        p[own] = 0.0
        p[own] = -p.sum(axis=1)
        return p

    def hessian_operator(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        rows, weight, at = self.rows, self.C / self.mu, self.smoothing
        if kept is not None:
            rows, weight, at = rows.take(kept), weight[kept], at.take(kept)
        return partial(_multiply, rows, weight, at), rows.n_values + at.p.size

    def _hessian_diagonal(self, weight: Floats) -> Floats:
        D = 2 * weight[:, None] * self.smoothing.g * self.smoothing.complement
        return self.rows.gram_diagonal(np.ascontiguousarray(D.T)).reshape(-1)

    def _hessian(self, weight: Floats) -> Floats:
        """Return Σ 2 weight (diag g − g g' / Σ g) ⊗ x x' over the rows of the block, without rows of negligible weight.

        Rows are added in runs whose products fit MAX_PRODUCT_VALUES.
        """
        kept = select_heavy_rows(weight * self.smoothing.curvature)
        K, q = self.t.shape[1], self.rows.X.shape[1] + 1
        hessian, blocks = np.zeros((K * q, K * q)), np.zeros((K, q, q))
        run_rows = max(1, MAX_PRODUCT_VALUES // (K * q))
        for low in range(0, len(kept), run_rows):
            run = kept[low : low + run_rows]
            _add_squares(hessian, blocks, self.rows.take(run).extended(), weight[run], self.smoothing.take(run))
        for k, block in enumerate(blocks):
            hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] = block
        return hessian


def _multiply(rows: LinearRows, weight: Floats, at: SmoothedMax, direction: Floats) -> Floats:
    """Return the product of the Hessian of the rows, with weights C / μ, and a flat direction of θ."""
    change = at.derivative(rows.scores(direction.reshape(at.p.shape[1], -1)))
    return np.asarray(rows.sums((weight[:, None] * change).T)).reshape(-1)


def _add_squares(hessian: Floats, blocks: Floats, x: Floats, weight: Floats, at: SmoothedMax) -> None:
    """Add the terms of a run of rows x to a Hessian and to its diagonal blocks, both in place.

    ``hessian`` gets −Σ 2 weight g g' / Σ g ⊗ x x', which is complete only outside the diagonal blocks. ``blocks`` gets
    the complete diagonal blocks.
    """
    g = at.g
    # All pairs of classes in one product.
    scale = np.sqrt(2 * weight / g.sum(axis=1))
    pairs = ((g * scale[:, None])[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    hessian -= pairs.T @ pairs
    # Diagonal blocks Σ 2 weight g (1 − g / Σ g) x x'. Adding Σ 2 weight g x x' to the above would cancel digits.
    own = np.sqrt(2 * weight[:, None] * g * at.complement)
    for block, root in zip(blocks, own.T, strict=True):
        scaled = x * root[:, None]
        block += scaled.T @ scaled


def _hinge(block: Block, theta: Floats, setting: MarginSetting) -> float:
    """Return the sum of the losses of a block without smoothing."""
    return JointLosses.of(block, theta, 1.0, setting).hinge


@dataclass(frozen=True, eq=False)
class _DualSums:
    """Sums over rows at feasible dual coefficients.

    Parameters
    ----------
    total : float
        Σ C (1 − p_y), the linear term of the dual objective.
    eta : array of shape (n_classes, d + 1)
        Σ η_k (x − centre, 1) for each class k.
    """

    total: float
    eta: Floats

    def __add__(self, other: _DualSums) -> _DualSums:
        return _DualSums(self.total + other.total, self.eta + other.eta)


def _dual_sums(block: Block, theta: Floats, mu: float, repair: JointRepair, setting: MarginSetting) -> _DualSums:
    with np.errstate(all="ignore"):
        at = JointLosses.of(block, theta, mu, setting)
        eta = at.dual_coefficients(repair)
        return _DualSums(-float(eta[np.arange(len(eta)), at.codes].sum()), at.rows.sums(eta.T))


class JointProblem(MarginProblem):
    """Minimise ½ Σ ‖w_k‖² + Σ C max_k t_k, plus ½ Σ (b_k − w_k'origin)² / K² if biases are penalised."""

    losses = JointLosses
    # Newton-CG steps are less precise than for binary problems. That saves more Hessian-vector products than the
    # additional steps take.
    precision, max_products = 0.03, 1500

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.setting.costs), len(self.origin) + 1

    def centre_biases(self, theta: Floats) -> Floats:
        """Return θ as a flat array, with free biases shifted to the sum 0. A common shift changes no loss."""
        theta = theta.copy()
        if self.bias_scale is None:
            theta[:, -1] -= theta[:, -1].mean()
        return theta.reshape(-1)

    def primal(self, theta: Floats) -> float:
        """Return the primal objective at θ."""
        return float(theta @ self.penalty_gradient(theta)) / 2 + self.source.reduce(_hinge, theta, self.setting)

    def dual_coefficients(self, block: Block, point: PathPoint) -> Floats:
        """Return −η of the rows of a block, of shape (n, n_classes).

        These are the feasible coefficients at which the dual objective is ``point.dual``. The values of a row sum to 0
        over the classes, and only the value of the row's own class is positive.
        """
        with np.errstate(all="ignore"):
            return -JointLosses.of(block, point.theta, point.mu, self.setting).dual_coefficients(point.repair)

    def dual_bound(self, sums: JointSums, theta: Floats, mu: float) -> tuple[float, JointRepair]:
        """Return the dual objective at feasible coefficients, and the repair that gives these coefficients.

        Repaired coefficients η are multiplied by the s ≤ 1 for which the dual objective is largest. This takes one more
        pass over the rows.
        """
        if not np.isfinite(sums.value):
            return -np.inf, JointRepair(np.zeros(self.shape[0]), np.zeros(self.shape[0]))
        repair = self.repair(sums, theta)
        found = self.source.reduce(_dual_sums, theta, mu, repair, self.setting)
        eta_rows, eta, total = found.eta[:, :-1], found.eta[:, -1], found.total
        square = float(np.square(eta_rows).sum())
        if self.bias_scale is not None:
            square = float(
                np.square(eta_rows + np.outer(eta, self.origin)).sum() + np.square(self.bias_scale * eta).sum()
            )
        # D(s η) = s total − s²/2 ‖w‖² is largest at s = total / ‖w‖².
        share = min(1.0, total / square) if square > 0 else 1.0
        return share * total - share**2 * square / 2, replace(repair, shares=share * repair.shares)

    def repair(self, sums: JointSums, theta: Floats) -> JointRepair:
        """Return the correction of the dual coefficients, so that Σ η_k = 0 for free biases.

        For penalised biases any p is feasible, and the correction makes Σ η_k about −b_k / K², as at the minimum.
        Coefficients are shifted to first order as by a change of the biases. A shift that is too large is reduced for
        penalised biases. For free biases it is replaced by factors: the coefficients of the rows of each class are
        multiplied by the stationary probability of the class in the Markov chain with rates ``eta_sums``. Then Σ η_k is
        0 for each class k.
        """
        K, no_shift = self.shape[0], np.zeros(self.shape[0])
        wanted = (
            no_shift if self.bias_scale is None else -theta.reshape(self.shape) @ self.bias_penalty / self.bias_scale
        )
        # Newton step for the biases: (Hessian of the biases) shift = wanted − Σ η. Curvature is added along a common
        # shift of all biases, along which the Hessian has none.
        rates = sums.bias_hessian + np.trace(sums.bias_hessian) / K**2
        try:  # small shifts have small residuals even if the system is ill-conditioned (few rows near a margin)
            shift = np.linalg.solve(rates, wanted - sums.eta_sums.sum(axis=0))
        except np.linalg.LinAlgError:
            shift = np.full(K, np.inf)
        # Shifts are admissible if they differ by at most ½.
        width = np.ptp(shift) if np.isfinite(shift).all() else np.inf
        if width <= 0.5:
            return JointRepair(shift, np.ones(K))
        if self.bias_scale is None:
            return JointRepair(no_shift, _stationary_shares(sums.eta_sums))
        return JointRepair(shift / (2 * width) if np.isfinite(width) else no_shift, np.ones(K))


def _stationary_shares(eta_sums: Floats) -> Floats:
    """Return factors a_y from 0 to 1, one for each class y, such that Σ_y a_y eta_sums[y] = 0.

    Each row of ``eta_sums`` sums to 0, and only its diagonal entry is negative.

    Up to a common factor, a is the stationary distribution of the continuous-time Markov chain with these rates. The
    GTH algorithm eliminates one class after another, then computes their shares in reverse order. All terms of its sums
    are non-negative, so no digits cancel. All factors are 0 if a class cannot be eliminated because no rate leads from
    it to the remaining classes.

    References
    ----------
    Grassmann, Taksar and Heyman, Regenerative analysis and steady state distributions for Markov chains, Operations
    Research 33 (1985).
    """
    K, rates = len(eta_sums), eta_sums.copy()
    np.fill_diagonal(rates, 0.0)
    # Elimination: the chain observed on the first k classes only.
    for k in range(K - 1, 0, -1):
        out = rates[k, :k].sum()
        if not out > 0:
            return np.zeros(K)
        rates[:k, k] /= out
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    # Back substitution.
    shares = np.ones(K)
    for k in range(1, K):
        shares[k] = shares[:k] @ rates[:k, k]
    return np.asarray(shares / shares.max())


class SmoothedMax(NamedTuple):
    """Smoothed maxima of the rows of an array u of shape (n, K).

    Attributes
    ----------
    p : array of shape (n, K)
        The maximising probabilities.
    complement : array of shape (n, K)
        1 − g / Σ g, with g = p^1.5.
    excess : array of shape (n,)
        Smoothed maximum minus max u.

    Notes
    -----
    max u is the maximum over probabilities p of Σ p_k u_k. The smoothed maximum is that of Σ p_k u_k + 2 (Σ √p_k − 1).
    It is attained at p_k = (λ − u_k)⁻², with λ such that Σ p_k = 1, and ∂p = 2 (diag g − g g' / Σ g) ∂u. As for the
    smoothed hinge, p decays as |u|⁻² and its derivatives as |u|⁻³, so that Newton steps take rows into account before
    these reach the margin. With log Σ exp as the smoothed maximum, derivatives would decay exponentially, and Newton
    steps would overshoot.
    """

    p: Floats
    complement: Floats
    excess: Floats

    @property
    def g(self) -> Floats:
        return np.asarray(self.p * np.sqrt(self.p))

    @property
    def curvature(self) -> Floats:
        """Σ_k g_k (1 − g_k / Σ g) of each row: half the trace of ∂p/∂u, which measures its weight in the Hessian."""
        return np.asarray((self.g * self.complement).sum(axis=1))

    def derivative(self, change: Floats) -> Floats:
        """Return the first-order change ∂p of p for a change ∂u of u."""
        g = self.g
        mean = np.einsum("nk,nk->n", g, change) / g.sum(axis=1)
        return np.asarray(2 * g * (change - mean[:, None]))

    def hessian_sum(self, C: Floats) -> Floats:
        """Return the sum of 2 C (diag g − g g' / Σ g) over the rows, of shape (K, K)."""
        g = self.g
        pairs = -(g * (2 * C / g.sum(axis=1))[:, None]).T @ g
        pairs[np.diag_indices_from(pairs)] = 2 * (C @ (g * self.complement))
        return np.asarray(pairs)

    def take(self, kept: Integers) -> SmoothedMax:
        return SmoothedMax(self.p[kept], self.complement[kept], self.excess[kept])


def smoothed_max(u: Floats) -> SmoothedMax:
    """Return the smoothed maximum of each row of u, computed without cancellation.

    λ is defined in :class:`SmoothedMax`, and δ = λ − max u lies between 1 and √K. With a = max u − u, δ solves
    (Σ (δ + a)⁻²)^−½ = 1. The left-hand side is concave and increasing in δ, so that Newton steps from δ = 1 converge
    monotonically from below.
    """
    below = u.max(axis=1, keepdims=True) - u
    # Newton's method for (Σ (δ + a)⁻²)^−½ = 1.
    delta = np.ones((len(u), 1))
    for _ in range(MAX_LAMBDA_STEPS):
        inverse = 1 / (delta + below)
        squares = np.square(inverse)
        total, third = squares.sum(axis=1, keepdims=True), (squares * inverse).sum(axis=1, keepdims=True)
        step = (np.sqrt(total) - 1) * total / third
        delta += step
        if not (step > 1e-15 * delta).any():
            break
    # p and the complement 1 − g / Σ g. At the largest u it is Σ of the other g / Σ g, because 1 − g / Σ g would cancel.
    root = 1 / (delta + below)
    first = np.arange(len(u)), u.argmax(axis=1)
    others = root.copy()
    others[first] = 0.0
    p, g = np.square(root), root * root * root
    complement = 1 - g / g.sum(axis=1, keepdims=True)
    complement[first] = (others * others * others).sum(axis=1) / g.sum(axis=1)
    over = delta[:, 0] - 1
    return SmoothedMax(p, complement, over * over / delta[:, 0] + others.sum(axis=1))
