"""The maximum of several numbers, smoothed: the best mixture of them, with a reward for mixing.

max u is the maximum over probabilities p of Σ p_k u_k; smoothed, of Σ p_k u_k + 2 (Σ √p_k − 1). The best p are
(λ − u_k)⁻², λ such that they sum to 1, and ∂p = 2 (diag g − g g' / Σ g) ∂u with g = p^1.5. Tails fall as those of the
smoothed hinge do, as |u|⁻² and their slopes as |u|⁻³, so that Newton steps see rows before these come to the margin;
those of log Σ exp fall exponentially, and steps overshoot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["SmoothedMax", "smoothed_max"]

MOST_ROUNDS = 20
"""Newton steps for λ, whose error they square."""


class SmoothedMax(NamedTuple):
    """Smoothed maxima of the lines of u: the best p, ``rest`` = 1 − g / Σ g, and the height above the plain maximum."""

    p: Floats
    rest: Floats
    height: Floats

    @property
    def g(self) -> Floats:
        return np.asarray(self.p * np.sqrt(self.p))

    @property
    def bend(self) -> Floats:
        """Σ g (1 − g / Σ g) of each line: how much it matters to the Hessian."""
        return np.asarray((self.g * self.rest).sum(axis=1))

    def slope(self, change: Floats) -> Floats:
        """The change of p with u."""
        g = self.g
        mean = np.einsum("nk,nk->n", g, change) / g.sum(axis=1)
        return np.asarray(2 * g * (change - mean[:, None]))

    def spread(self, C: Floats) -> Floats:
        """Σ C 2 (diag g − g g' / Σ g)."""
        g = self.g
        pairs = -(g * (2 * C / g.sum(axis=1))[:, None]).T @ g
        pairs[np.diag_indices_from(pairs)] = 2 * (C @ (g * self.rest))
        return np.asarray(pairs)

    def take(self, kept: Integers) -> SmoothedMax:
        return SmoothedMax(self.p[kept], self.rest[kept], self.height[kept])


def smoothed_max(u: Floats) -> SmoothedMax:
    """The smoothed maximum of each line of u, computed such that no digits cancel.

    δ = λ − max u lies between 1 and √K. (Σ (δ + a)⁻²)^−½ is concave and grows with δ, so that Newton's steps from 1
    come nearer from below.
    """
    below = u.max(axis=1, keepdims=True) - u
    delta = np.ones((len(u), 1))
    for _ in range(MOST_ROUNDS):
        inverse = 1 / (delta + below)
        squares = np.square(inverse)
        total, third = squares.sum(axis=1, keepdims=True), (squares * inverse).sum(axis=1, keepdims=True)
        step = (np.sqrt(total) - 1) * total / third
        delta += step
        if not (step > 1e-15 * delta).any():
            break
    root = 1 / (delta + below)
    first = np.arange(len(u)), u.argmax(axis=1)
    others = root.copy()
    others[first] = 0.0
    p, g = np.square(root), root * root * root
    rest = 1 - g / g.sum(axis=1, keepdims=True)
    rest[first] = (others * others * others).sum(axis=1) / g.sum(axis=1)
    over = delta[:, 0] - 1
    return SmoothedMax(p, rest, over * over / delta[:, 0] + others.sum(axis=1))
