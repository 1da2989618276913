"""Sums over rows of the hinge loss of linear scores and of its smoothing: what sources map over their blocks.

Conventions: parameters θ = (w, b), the bias last, and scores f = (x − centre)'w + b. A row of class k and weight a has
the sign z = signs[k], −1, 0 or 1, and the cost C = costs[k] · a; with sign 0 it takes no part. With t = 1 − z f its
loss is C max(0, t), smoothed C (t + √(t² + 4 μ²)) / 2. The slope of that by t, α = C σ(t / μ) with
σ(u) = (1 + u / √(u² + 4)) / 2, is the row's multiplier in the dual. The tails of σ' fall as |u|⁻³, so that Newton steps
see rows before these come to the margin; with log(1 + exp u), whose tails fall exponentially, steps overshoot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats
from likely.blocks import Block, for_each
from likely.objectives.svm.rows import SeenRows, Setting, refuse_non_finite, weighty

__all__ = ["Margin", "Repair", "Smoothed", "margin", "multipliers", "product", "smoothed"]

MOST_VALUES = 2**25
"""Numbers of the rows at the margin that are kept for products."""


@dataclass(frozen=True)
class Repair:
    """What makes multipliers keep the constraints of the dual: α = C (σ − z shift σ') · share of the sign.

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
class Smoothed:
    """Sums at a point, of the losses and of the dual point that belongs to it.

    Parameters
    ----------
    value, hinge : float
        The losses, smoothed and as they are.
    alphas : array of shape (2,)
        Σ α of the rows of sign −1 and of sign 1.
    pulls : array of shape (2, d)
        Σ α (x − centre), likewise.
    drift : array of shape (d + 1,)
        Derivative of the gradient of ``value`` by μ.
    lean : array of shape (d + 1,)
        Σ s (x − centre, 1), where s = C σ'(t / μ) is what a row has at the margin.
    tilt : float
        Σ z s.
    reach : float
        Σ s (1 + (t / 2 μ)²): a step may move a row by a part of √(t² + 4 μ²) before its curvature is another.
    curvature : array of shape (d + 1, d + 1) or (d + 1,)
        Hessian of ``value``, or its diagonal.
    """

    value: float
    hinge: float
    alphas: Floats
    pulls: Floats
    drift: Floats
    lean: Floats
    tilt: float
    reach: float
    curvature: Floats

    def __add__(self, other: Smoothed) -> Smoothed:
        return Smoothed(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def gradient(self) -> Floats:
        """Of ``value``: −Σ α z (x − centre, 1)."""
        return np.append(self.pulls[0] - self.pulls[1], self.alphas[0] - self.alphas[1])

    @property
    def spread(self) -> float:
        """Σ s."""
        return float(self.lean[-1])


def smoothed(block: Block, theta: Floats, mu: float, setting: Setting) -> Smoothed:
    """The sums of a block."""
    with np.errstate(all="ignore"):
        rows = SeenRows.of(block, setting)
        t = 1 - rows.z * rows.scores(theta)
        u = t / mu
        sigma, slope, height = _smoothing(u)
        alpha, s, over = rows.C * sigma, rows.C * slope, np.maximum(t, 0.0)
        value = float(rows.C @ (over + mu * height))
        if not np.isfinite(value):
            refuse_non_finite(block)
        first = rows.sums(np.stack([alpha * (rows.z < 0), alpha * (rows.z > 0), rows.z * s * (u / mu), s]))
        second = rows.squares(s / mu) if setting.forms else rows.squares_of_columns(s / mu)
    pulls, alphas = first[:2, :-1], first[:2, -1]
    tilt, reach = float(rows.z @ s), float(s @ (1 + np.square(u) / 4))
    return Smoothed(value, float(rows.C @ over), alphas, pulls, first[2], first[3], tilt, reach, second)


def product(block: Block, theta: Floats, mu: float, direction: Floats, setting: Setting) -> Floats:
    """The Hessian of the smoothed losses times a direction."""
    with np.errstate(all="ignore"):
        rows = SeenRows.of(block, setting)
        return rows.times(_curvatures(rows, theta, mu), direction)


@dataclass(frozen=True, eq=False)
class Margin:
    """Copies of the rows that make the Hessian at a point, as long as they take little memory.

    Parameters
    ----------
    parts : list of functions of a direction, or None
        What the copies of each block make of it; None if they take too much.
    values : int
        Numbers that they hold.
    """

    parts: list[Callable[[Floats], Floats]] | None
    values: int

    def __add__(self, other: Margin) -> Margin:
        values = self.values + other.values
        if self.parts is None or other.parts is None or values > MOST_VALUES:
            return Margin(None, values)
        return Margin(self.parts + other.parts, values)

    def product(self, direction: Floats) -> Floats:
        """The Hessian times a direction."""
        assert self.parts is not None
        products = for_each(lambda part: part(direction), self.parts)
        return np.asarray(sum(products[1:], products[0]))


def margin(block: Block, theta: Floats, mu: float, setting: Setting) -> Margin:
    """The rows of a block that make the Hessian."""
    with np.errstate(all="ignore"):
        rows = SeenRows.of(block, setting)
        D = _curvatures(rows, theta, mu)
        kept = weighty(D)
    X = rows.X[kept]
    few = SeenRows(X, rows.z[kept], rows.C[kept], rows.centre)
    return Margin([partial(few.times, D[kept])], X.nnz if issparse(X) else X.size)


def multipliers(
    block: Block,
    coef: Floats,
    intercept: float,
    smoothing: float,
    signs: Floats,
    costs: Floats,
    repair: Repair | None = None,
    centre: Floats | None = None,
) -> Floats:
    """α of the rows of a block in the dual point that belongs to a primal one.

    Parameters
    ----------
    block : Block
    coef : array of shape (d,)
    intercept : float
        The bias; that of rows less the centre, if one is given.
    smoothing : float
        μ.
    signs, costs : arrays of shape (n_classes,)
    repair : Repair, optional
        Without it α is C σ(t / μ), which keeps the constraint Σ α z = 0 of a free bias only nearly.
    centre : array of shape (d,), optional
        Taken off the rows: scores of rows far from zero have few digits left otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> block = Block(np.array([[0.0], [3.0]]), np.array([0, 1]))
    >>> multipliers(block, np.array([1.0]), -1.0, 0.5, np.array([-1.0, 1.0]), np.array([2.0, 2.0])).round(3)
    array([1.   , 0.293])
    """
    codes: Any = block.codes
    repair, z = repair or Repair(), signs.take(codes)
    C = costs.take(codes) * (1.0 if block.weight is None else block.weight)
    X, offset = block.X, intercept
    if centre is not None:
        X, offset = (X, intercept - float(coef @ centre)) if issparse(X) else (dense(X) - centre, intercept)
    with np.errstate(all="ignore"):
        sigma, slope, _ = _smoothing((1 - z * (X @ coef + offset)) / smoothing)
        alpha = C * (sigma - z * repair.shift * slope) * np.where(z < 0, *repair.shares)
    return np.where(z == 0, 0.0, alpha)


def _smoothing(u: Floats) -> tuple[Floats, Floats, Floats]:
    """Slope σ, curvature σ' and height above max(0, u) of the smoothed hinge (u + √(u² + 4)) / 2; nothing cancels."""
    size = np.abs(u)
    root = np.sqrt(np.square(u) + 4)
    height = 2 / (root + size)
    small = height / root
    return np.where(u > 0, 1 - small, small), 2 / (root * root * root), height


def _curvatures(rows: SeenRows, theta: Floats, mu: float) -> Floats:
    """Second derivatives of the smoothed losses by the scores."""
    _, slope, _ = _smoothing((1 - rows.z * rows.scores(theta)) / mu)
    return np.asarray(rows.C * slope / mu)
