"""The smoothed hinge loss of binary problems: its sums over rows, and the problem of minimising them.

Conventions: parameters are θ = (w, b), the bias last, and scores f = (x − centre)'w + b. A row of class k and weight a
has the sign z = signs[k], −1, 0 or 1, and the cost C = costs[k] · a; with sign 0 it takes no part. With t = 1 − z f its
loss is C max(0, t), smoothed to C (t + √(t² + 4 μ²)) / 2, the Chen-Harker-Kanzow-Smale smoothing of max(0, t). The
derivative by t, α = C σ(t / μ) with σ(u) = (1 + u / √(u² + 4)) / 2, is the row's dual coefficient. The second
derivative decays as |u|⁻³ only, so that Newton steps take rows into account before these reach the margin. With
log(1 + exp u), whose second derivative decays exponentially, steps overshoot.

References
----------
Chen and Mangasarian, A class of smoothing functions for nonlinear and mixed complementarity problems, Computational
Optimization and Applications 5 (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import Block
from likely.objectives.linear_rows import LinearRows
from likely.objectives.svm.path_following import (
    MANY_HESSIAN_ROWS,
    MarginProblem,
    MarginSetting,
    MarginSums,
    PathPoint,
    SmoothedLosses,
    select_heavy_rows,
)


@dataclass(frozen=True)
class Repair:
    """Correction that makes dual coefficients feasible: α = C (σ − z shift σ') · share of the sign.

    Parameters
    ----------
    shift : float, from −1 to 1
        First-order change of σ when the bias changes by μ · shift; only rows near the margin change.
    shares : (float, float)
        Factors of the coefficients of sign −1 and of sign 1, both at most 1.
    """

    shift: float = 0.0
    shares: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class HingeSums(MarginSums):
    """Sums of a binary problem at θ and μ; ``alphas`` are Σ α of the rows of sign −1 and of sign 1.

    Parameters
    ----------
    alpha_rows : array of shape (2, d)
        Σ α (x − centre) of the rows of sign −1 and of sign 1.
    margin_rows : array of shape (d + 1,)
        Σ s (x − centre, 1), where s = C σ'(t / μ) is largest for rows at the margin.
    signed_margin : float
        Σ z s.
    """

    alpha_rows: Floats
    margin_rows: Floats
    signed_margin: float


@dataclass(frozen=True, eq=False)
class HingeLosses(SmoothedLosses):
    """Smoothed hinge losses of the rows of a block."""

    rows: LinearRows
    z: Floats
    C: Floats
    t: Floats
    mu: float
    forms_hessian: bool

    @classmethod
    def of(cls, block: Block, theta: Floats, mu: float, setting: MarginSetting) -> HingeLosses:
        rows, codes, C = setting.rows_of(block)
        z = setting.signs.take(codes)
        return cls(rows, z, C, 1 - z * rows.scores(theta), mu, setting.forms_hessian)

    @cached_property
    def u(self) -> Floats:
        return np.asarray(self.t / self.mu)

    @cached_property
    def smoothing(self) -> tuple[Floats, Floats, Floats]:
        return _smooth(self.u)

    def row_weights(self) -> Floats:
        """Second derivatives of the smoothed losses by the scores."""
        return np.asarray(self.C * self.smoothing[1] / self.mu)

    def sums(self) -> HingeSums:
        z, C, mu, u = self.z, self.C, self.mu, self.u
        sigma, slope, excess = self.smoothing
        alpha, s, over = C * sigma, C * slope, np.maximum(self.t, 0.0)
        # Σ α (x, 1) of each sign, Σ z s u / μ (x, 1) = ∂gradient/∂μ, and Σ s (x, 1), in one product with the rows.
        first = self.rows.sums(np.stack([alpha * (z < 0), alpha * (z > 0), z * s * (u / mu), s]))
        return HingeSums(
            value=float(C @ (over + mu * excess)),
            hinge=float(C @ over),
            alphas=first[:2, -1],
            gradient=first[0] - first[1],
            gradient_by_mu=first[2],
            # D r² / μ with D = s / μ and r = √(t² + 4 μ²) / 2, the scale on which the second derivative changes.
            squared_radius=float(s @ (1 + np.square(u) / 4)),
            hessian=self._hessian(s / mu) if self.forms_hessian else self.rows.gram_diagonal((s / mu)[None])[0],
            alpha_rows=first[:2, :-1],
            margin_rows=first[3],
            signed_margin=float(z @ s),
        )

    def _hessian(self, D: Floats) -> Floats:
        """Return Σ D (x, 1) (x, 1)', without rows of negligible D if there are many."""
        if len(D) <= MANY_HESSIAN_ROWS:
            return self.rows.gram(D)
        kept = select_heavy_rows(D)
        return self.rows.take(kept).gram(D[kept])

    def hessian_operator(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        D = self.row_weights()
        if kept is None:
            return partial(_multiply, self.rows, D), self.rows.n_values
        rows = self.rows.take(kept)
        return partial(_multiply, rows, D[kept]), rows.n_values


class OriginHingeLosses(HingeLosses):
    """Smoothed hinge losses without a bias: the losses do not depend on b, which stays 0."""

    def sums(self) -> HingeSums:
        found = super().sums()
        hessian = found.hessian.copy()
        hessian[..., -1] = 0.0
        hessian[-1] = 0.0
        drop = np.append(np.ones(len(found.gradient) - 1), 0.0)
        return replace(
            found, gradient=found.gradient * drop, gradient_by_mu=found.gradient_by_mu * drop, hessian=hessian
        )

    def hessian_operator(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        product, n_values = super().hessian_operator(kept)
        return partial(_drop_bias, product), n_values


def _drop_bias(product: Callable[[Floats], Floats], direction: Floats) -> Floats:
    found = product(direction)
    found[-1] = 0.0
    return found


def _multiply(rows: LinearRows, D: Floats, direction: Floats) -> Floats:
    """Return Σ D (x − centre, 1) (x − centre, 1)' times a direction."""
    return np.asarray(rows.sums((D * rows.scores(direction))[None])[0])


def _smooth(u: Floats) -> tuple[Floats, Floats, Floats]:
    """Return σ, σ' and the excess over max(0, u) of the smoothed maximum (u + √(u² + 4)) / 2, without cancellation."""
    size = np.abs(u)
    root = np.sqrt(np.square(u) + 4)
    excess = 2 / (root + size)
    small = excess / root
    return np.where(u > 0, 1 - small, small), 2 / (root * root * root), excess


class HingeProblem(MarginProblem):
    """Minimise ½ ‖w‖² + Σ C max(0, 1 − z f), plus ½ (b − w'origin)² / K² if the bias is penalised."""

    losses = HingeLosses

    @property
    def shape(self) -> tuple[int, int]:
        return 1, len(self.origin) + 1

    def dual_bound(self, sums: HingeSums, theta: Floats, mu: float) -> tuple[float, Repair]:
        """Return the dual objective at feasible coefficients near α = C σ(t / μ), and the correction that gives them.

        A free bias requires Σ α z = 0. Coefficients of rows near the margin are shifted as a change of the bias would
        shift them, to first order. If that is not enough, the side with the larger Σ α is scaled down. With a penalised
        bias any 0 ≤ α ≤ C is feasible, and the shift is the one that maximises the dual.
        """
        negative, positive = sums.alphas
        total, w, repair = negative + positive, sums.alpha_rows[1] - sums.alpha_rows[0], Repair()
        if self.bias_scale is not None:
            # D(α − shift z s) is quadratic in the shift: w − shift · direction, exact maximum, clipped to [−1, 1].
            w = self._extend(w, positive - negative)
            direction = self._extend(sums.margin_rows[:-1], sums.margin_rows[-1])
            square = float(direction @ direction)
            shift = float(np.clip((w @ direction - sums.signed_margin) / square, -1, 1)) if square > 0 else 0.0
            repair = Repair(shift)
            total, w = total - shift * sums.signed_margin, w - shift * direction
        elif abs(positive - negative) <= sums.margin_rows[-1]:
            # Σ α z − shift Σ s = 0 has a solution with |shift| ≤ 1.
            near = float(sums.margin_rows[-1])
            repair = Repair((positive - negative) / near if near > 0 else 0.0)
            total, w = total - repair.shift * sums.signed_margin, w - repair.shift * sums.margin_rows[:-1]
        else:
            # Scale the side with the larger Σ α down.
            smaller = min(negative, positive)
            shares = smaller / negative if negative > 0 else 0.0, smaller / positive if positive > 0 else 0.0
            repair = Repair(0.0, shares)
            total, w = 2 * smaller, shares[1] * sums.alpha_rows[1] - shares[0] * sums.alpha_rows[0]
        # D(s α) = s Σα − s²/2 ‖w‖² is largest at s = Σα / ‖w‖²; s ≤ 1 keeps the bounds.
        square = float(w @ w)
        share = min(1.0, float(total) / square) if square > 0 else 1.0
        scaled = Repair(repair.shift, (share * repair.shares[0], share * repair.shares[1]))
        return share * float(total) - share**2 * square / 2, scaled

    def _extend(self, sums: Floats, total: float) -> Floats:
        """Convert sums of centred rows into sums of the user's rows extended by the constant K."""
        assert self.bias_scale is not None
        return np.append(sums + self.origin * total, self.bias_scale * total)

    def dual_coefficients(self, block: Block, point: PathPoint) -> Floats:
        """Return α of the rows of a block, the feasible point with the dual objective of ``point``."""
        return dual_coefficients(block, point.theta, point.mu, self.setting, point.repair)


class OriginHingeProblem(HingeProblem):
    """Hinge problem without a bias (K = 0), for rows that are not centred.

    The parameter b remains in θ, so that all problems have the same layout. No loss depends on it. Its own penalty,
    ½ b², keeps the Hessian regular, and b stays 0.
    """

    losses = OriginHingeLosses

    @property
    def bias_penalty(self) -> Floats:
        return np.append(np.zeros(len(self.origin)), 1.0)


def dual_coefficients(
    block: Block, theta: Floats, mu: float, setting: MarginSetting, repair: Repair | None = None
) -> Floats:
    """Return the dual coefficients α of the rows of a block at θ and μ.

    Without a repair α is C σ(t / μ), which satisfies the constraint Σ α z = 0 of a free bias only approximately.

    Examples
    --------
    >>> import numpy as np
    >>> block = Block(np.array([[0.0], [3.0]]), np.array([0, 1]))
    >>> setting = MarginSetting(np.array([-1.0, 1.0]), np.array([2.0, 2.0]), np.zeros(1))
    >>> dual_coefficients(block, np.array([1.0, -1.0]), 0.5, setting).round(3)
    array([1.   , 0.293])
    """
    repair = repair or Repair()
    with np.errstate(all="ignore"):
        at = HingeLosses.of(block, theta, mu, setting)
        sigma, slope, _ = at.smoothing
        found = at.C * (sigma - at.z * repair.shift * slope) * np.where(at.z < 0, *repair.shares)
    alpha = np.zeros(len(block))
    alpha[setting.signs.take(block.require_codes()) != 0] = found
    return alpha
