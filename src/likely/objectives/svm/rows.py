"""Rows as sums over them see them: centred, extended by a one for the bias, with signs and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense, scratch
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block

__all__ = ["SeenRows", "Setting", "refuse_non_finite", "weighty"]

SLIGHT, MANY = 1e-4, 2000
"""Of so many rows, most are far from the margin: those whose curvature is so small beside the mean are left out of
Hessians."""


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


@dataclass(frozen=True, eq=False)
class SeenRows:
    """The rows of a block that take part, with their signs and costs; a far centre is off them, another is not."""

    X: Rows
    z: Floats
    C: Floats
    centre: Floats | None

    @classmethod
    def of(cls, block: Block, setting: Setting) -> SeenRows:
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
        """Of parameters, or of several lines of them."""
        w, b = theta[..., :-1], theta[..., -1]
        return np.asarray(self.X @ w.T + (b if self.centre is None else b - w @ self.centre))

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
            kept = weighty(D)
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


def weighty(D: Floats) -> Integers:
    """Which rows matter to a Hessian: of few all."""
    least = SLIGHT * D.mean() if len(D) > MANY else -1.0
    return np.flatnonzero(least < D)


def refuse_non_finite(block: Block) -> None:
    """Refuse rows that are NaN or infinite; parameters may make sums infinite too."""
    X = block.X.data if issparse(block.X) else block.X
    if not np.isfinite(X).all():
        raise block.non_finite()
