"""The smoothed hinge loss of two sides: its sums over rows, and the problem that they make.

Conventions: parameters θ = (w, b), the bias last, and scores f = (x − centre)'w + b. A row of class k and weight a has
the sign z = signs[k], −1, 0 or 1, and the cost C = costs[k] · a; with sign 0 it takes no part. With t = 1 − z f its
loss is C max(0, t), smoothed C (t + √(t² + 4 μ²)) / 2. The derivative by t, α = C σ(t / μ) with
σ(u) = (1 + u / √(u² + 4)) / 2, is the row's dual coefficient. The tails of σ' fall as |u|⁻³, so that Newton steps see
rows before these come to the margin; with log(1 + exp u), whose tails fall exponentially, steps overshoot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import Block
from likely.objectives.linear_rows import LinearRows
from likely.objectives.svm.path_following import (
    MANY,
    MarginProblem,
    MarginSetting,
    MarginSums,
    Point,
    SmoothedLosses,
    weighty,
)


@dataclass(frozen=True)
class Repair:
    """What makes dual coefficients feasible: α = C (σ − z shift σ') · share of the sign.

    Parameters
    ----------
    shift : float, from −1 to 1
        The first order of what moving the bias would do; only rows at the margin change.
    shares : (float, float)
        Of the signs −1 and 1, both at most 1.
    """

    shift: float = 0.0
    shares: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class HingeSums(MarginSums):
    """Sums at a point; ``alphas`` are Σ α of the rows of sign −1 and of sign 1.

    Parameters
    ----------
    alpha_rows : array of shape (2, d)
        Σ α (x − centre) of the rows of sign −1 and of sign 1.
    margin_rows : array of shape (d + 1,)
        Σ s (x − centre, 1), where s = C σ'(t / μ) measures how near the margin a row is.
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
    forms: bool

    @classmethod
    def of(cls, block: Block, theta: Floats, mu: float, setting: MarginSetting) -> HingeLosses:
        rows, codes, C = setting.rows_of(block)
        z = setting.signs.take(codes)
        return cls(rows, z, C, 1 - z * rows.scores(theta), mu, setting.forms)

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
        sigma, slope, height = self.smoothing
        alpha, s, over = C * sigma, C * slope, np.maximum(self.t, 0.0)
        first = self.rows.sums(np.stack([alpha * (z < 0), alpha * (z > 0), z * s * (u / mu), s]))
        return HingeSums(
            value=float(C @ (over + mu * height)),
            hinge=float(C @ over),
            alphas=first[:2, -1],
            gradient=first[0] - first[1],
            gradient_by_mu=first[2],
            # A step may move a row by a part of √(t² + 4 μ²) before its curvature changes.
            reach=float(s @ (1 + np.square(u) / 4)),
            hessian=self._hessian(s / mu) if self.forms else self.rows.gram_diagonal((s / mu)[None])[0],
            alpha_rows=first[:2, :-1],
            margin_rows=first[3],
            signed_margin=float(z @ s),
        )

    def _hessian(self, D: Floats) -> Floats:
        if len(D) <= MANY:
            return self.rows.gram(D)
        kept = weighty(D)
        return self.rows.take(kept).gram(D[kept])

    def hessian_product(self, kept: Integers | None = None) -> tuple[Callable[[Floats], Floats], int]:
        D = self.row_weights()
        if kept is None:
            return partial(_multiply, self.rows, D), self.rows.n_values
        rows = self.rows.take(kept)
        return partial(_multiply, rows, D[kept]), rows.n_values


def _multiply(rows: LinearRows, D: Floats, direction: Floats) -> Floats:
    """Σ D (x − centre, 1) (x − centre, 1)' direction."""
    return np.asarray(rows.sums((D * rows.scores(direction))[None])[0])


def _smooth(u: Floats) -> tuple[Floats, Floats, Floats]:
    """First derivative σ, second derivative σ' and height above max(0, u) of (u + √(u² + 4)) / 2; nothing cancels."""
    size = np.abs(u)
    root = np.sqrt(np.square(u) + 4)
    height = 2 / (root + size)
    small = height / root
    return np.where(u > 0, 1 - small, small), 2 / (root * root * root), height


class HingeProblem(MarginProblem):
    """Minimise ½ ‖w‖² + Σ C max(0, 1 − z f), plus ½ (b − w'origin)² / K² if the bias is regularised."""

    losses = HingeLosses

    @property
    def shape(self) -> tuple[int, int]:
        return 1, len(self.origin) + 1

    def dual_bound(self, sums: HingeSums, theta: Floats, mu: float) -> tuple[float, Repair]:
        """The dual objective at feasible coefficients near α = C σ(t / μ), and what makes them feasible.

        A free bias demands Σ α z = 0. Coefficients of rows at the margin are shifted as moving the bias would do it; if
        that is not enough, the heavier side is scaled down. With a regularised bias any α is feasible, and the shift is
        the one that raises the dual most.
        """
        less, more = sums.alphas
        total, w, repair = less + more, sums.alpha_rows[1] - sums.alpha_rows[0], Repair()
        if self.bias_scale is not None:
            w, toward = self._extend(w, more - less), self._extend(sums.margin_rows[:-1], sums.margin_rows[-1])
            square = float(toward @ toward)
            shift = float(np.clip((w @ toward - sums.signed_margin) / square, -1, 1)) if square > 0 else 0.0
            repair = Repair(shift)
            total, w = total - shift * sums.signed_margin, w - shift * toward
        elif abs(more - less) <= sums.margin_rows[-1]:
            near = float(sums.margin_rows[-1])
            repair = Repair((more - less) / near if near > 0 else 0.0)
            total, w = total - repair.shift * sums.signed_margin, w - repair.shift * sums.margin_rows[:-1]
        else:
            shares = min(less, more) / less if less > 0 else 0.0, min(less, more) / more if more > 0 else 0.0
            repair = Repair(0.0, shares)
            total, w = 2 * min(less, more), shares[1] * sums.alpha_rows[1] - shares[0] * sums.alpha_rows[0]
        square = float(w @ w)
        share = min(1.0, float(total) / square) if square > 0 else 1.0  # the best multiple that stays within bounds
        scaled = Repair(repair.shift, (share * repair.shares[0], share * repair.shares[1]))
        return share * float(total) - share**2 * square / 2, scaled

    def _extend(self, sums: Floats, total: float) -> Floats:
        """Sums of centred rows as sums of rows with the constant K beside them."""
        assert self.bias_scale is not None
        return np.append(sums + self.origin * total, self.bias_scale * total)

    def dual_coefficients(self, block: Block, point: Point) -> Floats:
        """α of the rows of a block: the feasible point at which the dual has the value of the point."""
        return dual_coefficients(block, point.theta, point.mu, self.setting, point.repair)


def dual_coefficients(
    block: Block, theta: Floats, mu: float, setting: MarginSetting, repair: Repair | None = None
) -> Floats:
    """α of the rows of a block in the dual point that belongs to θ and μ.

    Without a repair α is C σ(t / μ), which satisfies the constraint Σ α z = 0 of a free bias only nearly.

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
