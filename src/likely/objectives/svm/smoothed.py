"""Sums over rows of the hinge loss of linear scores and of its smoothing: what sources map over their blocks.

Conventions: parameters θ = (w, b), the bias last, and scores f = (x − centre)'w + b. A row of class k and weight a has
the sign z = signs[k], −1, 0 or 1, and the cost C = costs[k] · a; with sign 0 it takes no part. With t = 1 − z f its
loss is C max(0, t), smoothed C (t + √(t² + 4 μ²)) / 2. The slope of that by t, α = C σ(t / μ) with
σ(u) = (1 + u / √(u² + 4)) / 2, is the row's multiplier in the dual. The tails of σ' fall as |u|⁻³, so that Newton steps
see rows before these come to the margin; with log(1 + exp u), whose tails fall exponentially, steps overshoot.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense, scratch
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block, for_each

__all__ = ["Margin", "Repair", "Setting", "Smoothed", "margin", "multipliers", "product", "smoothed"]

SLIGHT, MANY = 1e-4, 2000
"""Of so many rows, most are far from the margin: those whose curvature is so small beside the mean are left out of
Hessians."""

MOST_VALUES = 2**25
"""Numbers of the rows at the margin that are kept for products."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What the sums depend on besides rows, parameters and μ.

    Parameters
    ----------
    signs, costs : arrays of shape (n_classes,)
    centre : array of shape (d,)
    is_far : bool
        Whether the centre is taken off dense rows before any product, lest digits cancel, or else off the results.
    forms : bool
        Whether Hessians are formed, or else only their diagonals.
    """

    signs: Floats
    costs: Floats
    centre: Floats
    is_far: bool = False
    forms: bool = True


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
        rows = _Rows.of(block, setting)
        t = 1 - rows.z * rows.scores(theta)
        u = t / mu
        sigma, slope, height = _smoothing(u)
        alpha, s, over = rows.C * sigma, rows.C * slope, np.maximum(t, 0.0)
        value = float(rows.C @ (over + mu * height))
        if not np.isfinite(value):
            _refuse_non_finite(block)
        first = rows.sums(np.stack([alpha * (rows.z < 0), alpha * (rows.z > 0), rows.z * s * (u / mu), s]))
        second = rows.squares(s / mu) if setting.forms else rows.squares_of_columns(s / mu)
    pulls, alphas = first[:2, :-1], first[:2, -1]
    tilt, reach = float(rows.z @ s), float(s @ (1 + np.square(u) / 4))
    return Smoothed(value, float(rows.C @ over), alphas, pulls, first[2], first[3], tilt, reach, second)


def product(block: Block, theta: Floats, mu: float, direction: Floats, setting: Setting) -> Floats:
    """The Hessian of the smoothed losses times a direction."""
    with np.errstate(all="ignore"):
        rows = _Rows.of(block, setting)
        return rows.times(rows.curvatures(theta, mu), direction)


@dataclass(frozen=True, eq=False)
class Margin:
    """Copies of the rows that make the Hessian at a point, as long as they take little memory.

    Parameters
    ----------
    parts : list of (rows, curvatures), or None
        None if they take too much.
    values : int
        Numbers that they hold.
    """

    parts: list[tuple[_Rows, Floats]] | None
    values: int

    def __add__(self, other: Margin) -> Margin:
        values = self.values + other.values
        if self.parts is None or other.parts is None or values > MOST_VALUES:
            return Margin(None, values)
        return Margin(self.parts + other.parts, values)

    def product(self, direction: Floats) -> Floats:
        """The Hessian times a direction."""
        assert self.parts is not None
        products = for_each(lambda part: part[0].times(part[1], direction), self.parts)
        return np.asarray(sum(products[1:], products[0]))


def margin(block: Block, theta: Floats, mu: float, setting: Setting) -> Margin:
    """The rows of a block that make the Hessian."""
    with np.errstate(all="ignore"):
        rows = _Rows.of(block, setting)
        D = rows.curvatures(theta, mu)
        kept = _weighty(D)
    X = rows.X[kept]
    return Margin([(_Rows(X, rows.z[kept], rows.C[kept], rows.centre), D[kept])], X.nnz if issparse(X) else X.size)


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


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a block that take part, with their signs and costs; a far centre is off them, another is not."""

    X: Rows
    z: Floats
    C: Floats
    centre: Floats | None

    @classmethod
    def of(cls, block: Block, setting: Setting) -> _Rows:
        codes: Any = block.codes
        X, z, C = block.X, setting.signs.take(codes), setting.costs.take(codes)
        if block.weight is not None:
            C = C * block.weight
        if not z.all():
            part = np.flatnonzero(z)
            X, z, C = X[part], z[part], C[part]
        if issparse(X):
            return cls(X, z, C, setting.centre)
        X = dense(X)
        if setting.is_far:
            return cls(np.subtract(X, setting.centre, out=scratch(X.shape, slot=2)), z, C, None)
        return cls(X, z, C, setting.centre)

    def scores(self, theta: Floats) -> Floats:
        offset = theta[-1] if self.centre is None else theta[-1] - theta[:-1] @ self.centre
        return np.asarray(self.X @ theta[:-1] + offset)

    def curvatures(self, theta: Floats, mu: float) -> Floats:
        """Second derivatives of the smoothed losses by the scores."""
        _, slope, _ = _smoothing((1 - self.z * self.scores(theta)) / mu)
        return np.asarray(self.C * slope / mu)

    def times(self, D: Floats, direction: Floats) -> Floats:
        """Σ D (x − centre, 1) (x − centre, 1)' direction."""
        return np.asarray(self.sums((D * self.scores(direction))[None])[0])

    def sums(self, factors: Floats) -> Floats:
        """Σ factor · (x − centre, 1) for each line of factors."""
        totals = factors.sum(axis=1)
        first = np.asarray((self.X.T @ factors.T).T if issparse(self.X) else factors @ self.X)
        if self.centre is not None:
            first = first - np.outer(totals, self.centre)
        return np.column_stack([first, totals])

    def squares(self, D: Floats) -> Floats:
        """Σ D (x − centre, 1) (x − centre, 1)'."""
        X, d = self.X, self.X.shape[1]
        if len(D) > MANY:
            kept = _weighty(D)
            X, D = X[kept], D[kept]
        rows = scratch((len(D), d + 1), slot=3)
        np.subtract(dense(X), 0.0 if self.centre is None else self.centre, out=rows[:, :d])
        rows[:, d] = 1.0
        rows *= np.sqrt(D)[:, None]
        return np.asarray(rows.T @ rows)

    def squares_of_columns(self, D: Floats) -> Floats:
        """The diagonal of that."""
        squares = self.X.astype(np.float64).power(2) if issparse(self.X) else np.square(self.X)
        second, total = np.asarray(D @ squares), D.sum()
        if self.centre is not None:
            second = second + self.centre * (self.centre * total - 2 * np.asarray(D @ self.X))
        return np.append(np.maximum(second, 0.0), total)


def _smoothing(u: Floats) -> tuple[Floats, Floats, Floats]:
    """Slope σ, curvature σ' and height above max(0, u) of the smoothed hinge (u + √(u² + 4)) / 2; nothing cancels."""
    size = np.abs(u)
    root = np.sqrt(np.square(u) + 4)
    height = 2 / (root + size)
    small = height / root
    return np.where(u > 0, 1 - small, small), 2 / (root * root * root), height


def _weighty(D: Floats) -> Integers:
    """Which rows matter to a Hessian: of few all."""
    least = SLIGHT * D.mean() if len(D) > MANY else -1.0
    return np.flatnonzero(least < D)


def _refuse_non_finite(block: Block) -> None:
    """Refuse rows that are NaN or infinite; parameters may make sums infinite too."""
    X = block.X.data if issparse(block.X) else block.X
    if not np.isfinite(X).all():
        raise block.non_finite()
