"""Ascent of the dual of a support vector machine within a working set: the loops that are compiled.

Conventions, of all files of this room: z is +1 or −1, α the multipliers, 0 ≤ α ≤ C, and f = Σ_j α_j z_j k(·, x_j) the
scores without the bias. v = z − f is what the bias would have to be for a row to lie on its margin. A row is ``up`` if
z α can grow (which lowers its v), and ``low`` if it can shrink. With a bias, Σ z α = 0, and the multipliers are right
when no up row has a higher v than a low one; without, when no up row has v > 0 and no low one v < 0.
"""

from __future__ import annotations

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["add_rows", "by_ones", "by_pairs", "by_rows", "gather"]

FLAT = 1e-12
"""The least curvature of a step, in parts of the largest diagonal entry: equal rows have none."""


def by_pairs(K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, tolerance: float, most: int) -> int:
    """Change pairs of multipliers, keeping Σ z α, until no v of an up row exceeds one of a low row by the tolerance.

    The first of a pair has the highest v, the second gains most by the curvature. ``alpha`` and ``v`` are changed in
    place; gives the number of changes.
    """
    m, flat = len(z), FLAT * np.abs(np.diag(K)).max()
    flat = max(flat, 1e-300)
    for changes in range(most):
        i, highest = -1, -np.inf
        for t in range(m):
            if v[t] > highest and (alpha[t] < C[t] if z[t] > 0 else alpha[t] > 0):
                i, highest = t, v[t]
        if i < 0:
            return changes
        j, lowest, most_gain = -1, np.inf, 0.0
        for t in range(m):
            gap = highest - v[t]
            if gap > 0 and (alpha[t] > 0 if z[t] > 0 else alpha[t] < C[t]):
                lowest = min(lowest, v[t])
                gain = gap * gap / max(K[i, i] + K[t, t] - 2 * K[i, t], flat)
                if gain > most_gain:
                    j, most_gain = t, gain
        if j < 0 or highest - lowest <= tolerance:
            return changes
        room_i = C[i] - alpha[i] if z[i] > 0 else alpha[i]
        room_j = alpha[j] if z[j] > 0 else C[j] - alpha[j]
        step = min((highest - v[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], flat), room_i, room_j)
        alpha[i] = (C[i] if z[i] > 0 else 0.0) if step == room_i else alpha[i] + z[i] * step
        alpha[j] = (0.0 if z[j] > 0 else C[j]) if step == room_j else alpha[j] - z[j] * step
        for t in range(m):
            v[t] -= step * (K[i, t] - K[j, t])
    return most


def by_ones(K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, tolerance: float, most: int) -> int:
    """Change multipliers one by one, the one that gains most first, until none would by a slope above the tolerance."""
    m, flat = len(z), FLAT * np.abs(np.diag(K)).max()
    flat = max(flat, 1e-300)
    for changes in range(most):
        i, steepest, most_gain = -1, 0.0, 0.0
        for t in range(m):
            slope = z[t] * v[t]
            if alpha[t] < C[t] if slope > 0 else alpha[t] > 0:
                steepest = max(steepest, abs(slope))
                gain = slope * slope / max(K[t, t], flat)
                if gain > most_gain:
                    i, most_gain = t, gain
        if i < 0 or steepest <= tolerance:
            return changes
        before = alpha[i]
        alpha[i] = min(max(before + z[i] * v[i] / max(K[i, i], flat), 0.0), C[i])
        step = z[i] * (alpha[i] - before)
        for t in range(m):
            v[t] -= step * K[i, t]
    return most


def gather(kept: Floats, slots: Integers, columns: Integers, out: Floats, start: int, stop: int) -> None:
    """Some columns of some of the rows kept."""
    for i in range(start, stop):
        row = kept[slots[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]


def add_rows(f: Floats, kept: Floats, slots: Integers, factors: Floats, start: int, stop: int) -> None:
    """Add multiples of rows kept to scores, from one column to another."""
    for k in range(len(slots)):
        row, factor = kept[slots[k]], factors[k]
        for t in range(start, stop):
            f[t] += factor * row[t]


def by_rows(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    z: Floats,
    C: Floats,
    curvatures: Floats,
    alpha: Floats,
    w: Floats,
    bias: tuple[float, float, float],
    active: Integers,
    n_active: int,
    limits: tuple[float, float],
) -> tuple[int, float, float, float]:
    """Give the first ``n_active`` sparse rows their best multipliers, one after the other; α and w change in place.

    ``bias`` is (offset, ρ, Σ z α), and ``limits`` the slopes beyond which rows at α = 0 and at α = C go behind the
    active ones. Gives the number of active rows, Σ z α, and the highest and the lowest slope that was left to go.
    """
    offset, rho, lean = bias
    k, highest, lowest = 0, -np.inf, np.inf
    while k < n_active:
        i = active[k]
        score = offset + rho * lean
        for t in range(indptr[i], indptr[i + 1]):
            score += w[indices[t]] * data[t]
        before, slope = alpha[i], z[i] * score - 1
        if (before <= 0 and slope > limits[0]) or (before >= C[i] and slope < limits[1]):
            n_active -= 1
            active[k], active[n_active] = active[n_active], i
            continue
        k += 1
        if (before <= 0 and slope > 0) or (before >= C[i] and slope < 0):
            slope = 0.0
        highest, lowest = max(highest, slope), min(lowest, slope)
        alpha[i] = min(max(before - slope / curvatures[i], 0.0), C[i])
        step = (alpha[i] - before) * z[i]
        if step != 0:
            lean += step
            for t in range(indptr[i], indptr[i + 1]):
                w[indices[t]] += step * data[t]
    return n_active, lean, highest, lowest
