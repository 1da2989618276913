"""Decomposition method for the dual of a support vector machine with any kernel, by working sets.

Conventions: z is +1 or −1, α are the dual coefficients, 0 ≤ α ≤ C, and f = Σ_j α_j z_j k(·, x_j) are the scores without
the bias. v = z − f is the derivative of the dual by z α, and also the bias with which a row lies on its margin. A row
is in I_up if its z α can increase (which decreases its v), and in I_low if its z α can decrease. With a free bias,
Σ z α = 0, and the coefficients are optimal if max v over I_up ≤ min v over I_low. Without a free bias, the coefficients
are optimal if v ≤ 0 on I_up and v ≥ 0 on I_low. A coefficient is free if 0 < α < C; its row is called free too.

Each round selects the rows that violate these conditions most (Joachims 1998), maximises the dual over their
coefficients by sequential minimal optimisation (Platt 1998) with second-order selection of pairs (Fan, Chen and Lin
2005), and updates the scores of all rows. The inner loops are plain functions that :mod:`likely.objectives._kernels`
compiles.

References
----------
Platt, Fast training of support vector machines using sequential minimal optimization, in Advances in kernel methods
(1998). Fan, Chen and Lin, Working set selection using second order information for training support vector machines,
JMLR 6 (2005). Joachims, Making large-scale SVM learning practical, in Advances in kernel methods (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likely._typing import Booleans, Floats, Integers
from likely.blocks import Block, for_each, one_blas_thread
from likely.kernels import GramRows

WORKING_SET = 1024
"""Minimum size of a working set, if there are as many rows. For 8,000 images of 784 pixels, sets of 256 rows took four
times as long, and sets of 2048 rows a third longer. If more coefficients are free at the solution, the set must hold
all of them; otherwise many rounds change the same coefficients again and again."""

PRECISION, CHANGES = 0.1, 20
"""The inner loop ends when the largest violation within the working set is at most the first number times the largest
violation of all rows, or after the second number of changes per row of the set."""

MAX_IDLE, MIN_GAIN = 20, 1e-12
"""Stop after the first number of consecutive working sets if each increased the dual by at most the second number,
relative to its value: further increases are below rounding."""

MIN_VIOLATION = 1e-14
"""A violation below this value, relative to the largest score, is rounding."""

MAX_STEPS, WORK = 30, 4000
"""``MAX_STEPS`` is the maximum number of Newton steps on the free coefficients. If many coefficients are free, fewer
steps are taken: ``WORK`` limits the time of the Newton steps to about that of the pair changes before them."""

RIDGE = 1e-13
"""Value added to the diagonal of the Gram matrix of the free rows, relative to the mean of the diagonal. It is needed
because free rows may be linearly dependent."""

FLAT = 1e-12
"""Lower bound of the curvature of the dual along a step, relative to the largest diagonal entry of the Gram matrix. It
avoids a division by 0 for a pair of equal rows."""


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Dual coefficients of the rows of a problem, with the primal and the dual objective.

    Attributes
    ----------
    alpha : array of shape (n,)
        Dual coefficients.
    f : array of shape (n,)
        Scores of the rows, without the bias.
    intercept : float
    primal, dual : float
        Values of the primal and the dual objective; the optimal value lies between them.
    square : float
        ‖w‖².
    n_iter : int
        Number of working sets, or of passes of coordinate descent.
    converged : bool
        Whether the duality gap, relative to the primal objective, is within the tolerance.
    precise : bool
        Whether rounding errors of the scores are small enough for the tolerance.
    """

    alpha: Floats
    f: Floats
    intercept: float
    primal: float
    dual: float
    square: float
    n_iter: int
    converged: bool
    precise: bool = True

    def scaled_to(self, share: float) -> tuple[Floats, Floats]:
        """Return coefficients sα and their scores sf, for a warm start with every C multiplied by ``share``.

        The dual objective D(sα) = s Σα − s²/2 ‖w‖² is largest at s = Σα / ‖w‖². The coefficients are within the new
        bounds if s ≤ share.
        """
        total = float(self.alpha.sum())
        s = min(share, total / self.square) if self.square > 0 else 1.0
        return s * self.alpha, s * self.f


def solve_dual(
    rows: GramRows,
    z: Floats,
    C: Floats,
    has_bias: bool,
    tol: float,
    max_rounds: int,
    start: tuple[Floats, Floats] | None = None,
    on_round: Callable[[int, float], None] | None = None,
    check: Callable[[Floats, Floats], None] | None = None,
) -> DualSolution:
    """Maximise Σ α − ½ Σ α_i α_j z_i z_j k(x_i, x_j) over 0 ≤ α ≤ C, with Σ z α = 0 if the bias is free.

    Parameters
    ----------
    rows : GramRows
    z, C : arrays of shape (n,)
        Sides, +1 or −1, and upper bounds, which may be infinite.
    has_bias : bool
        Whether there is a free bias.
    tol : float
        Duality gap to reach, relative to the primal objective.
    max_rounds : int
        Maximum number of working sets.
    start : (dual coefficients, their scores), optional
        Warm start.
    on_round : function of the number of working sets and the relative gap, optional
        Called after each working set.
    check : function of coefficients and scores, optional
        Called after each working set. It may raise, as when classes are not separable.
    """
    n = rows.n
    alpha, f = (np.zeros(n), np.zeros(n)) if start is None else (start[0].copy(), start[1].copy())
    chosen, K, rounds, idle = np.empty(0, dtype=np.intp), np.empty((0, 0)), 0, 0
    space = np.empty(rows.max_set**2)
    state = DualState.of(alpha, f, z, C, has_bias)
    with one_blas_thread():
        while not _is_done(state, tol, f) and rounds < max_rounds and idle < MAX_IDLE:
            # Select a working set: the worst violators, and rows of the last set.
            is_free = (alpha > 0) & (alpha < C)
            last, chosen = chosen, select_working_set(state, chosen, _set_size(rows, int(is_free.sum())), is_free)
            slots = rows.slots(chosen)
            K = K if np.array_equal(last, chosen) else _gram(rows, slots, chosen, space)
            # Maximise the dual over the working set, then update the scores of all rows.
            steps = _ascend(K, chosen, alpha, f, z, C, has_bias, PRECISION * state.violation)
            _update_scores(rows, slots, steps, f)
            if not np.isfinite(f).all():
                raise Block(rows.X).non_finite()
            # Optimality and duality gap at the new coefficients.
            before, state = state, DualState.of(alpha, f, z, C, has_bias)
            rounds, idle = rounds + 1, idle + 1 if state.dual <= before.dual * (1 + MIN_GAIN) else 0
            if on_round is not None:
                on_round(rounds, _relative_gap(state))
            if check is not None:
                check(alpha, f)
    return dual_solution(alpha, f, z, C, has_bias, rounds, tol)


def dual_solution(
    alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool, rounds: int, tol: float
) -> DualSolution:
    """Return the solution at dual coefficients and their scores.

    The bias, if free, and the scale of w are those with the smallest primal objective that are tried: see
    :func:`_best_bias` and :func:`primal_value`. ``rounds`` is the number of working sets so far.
    """
    state = DualState.of(alpha, f, z, C, has_bias)
    bias, square = state.bias, state.square
    if has_bias and np.isfinite(C).all():
        best = _best_bias(z - f, z, C)
        bias = best if primal_value(alpha, square, z * (f + best), C)[0] < state.primal else bias
    primal, s = primal_value(alpha, square, z * (f + bias), C)
    dual = s * float(alpha.sum()) - s**2 * square / 2
    near = _is_within(primal, dual, tol)
    return DualSolution(s * alpha, s * f, s * bias, primal, dual, s**2 * square, rounds, near)


def _is_within(primal: float, dual: float, tol: float) -> bool:
    """Return whether the duality gap is within the relative tolerance."""
    return bool(np.isfinite(primal)) and abs(primal - dual) <= tol * abs(primal)


def _set_size(rows: GramRows, n_free: int) -> int:
    """Return the size of a working set: 1.5 times the number of free coefficients, from WORKING_SET to the maximum."""
    return int(min(max(WORKING_SET, 3 * n_free // 2), rows.max_set))


def _relative_gap(state: DualState) -> float:
    return (state.primal - state.dual) / state.primal if np.isfinite(state.primal) else np.inf


def _is_done(state: DualState, tol: float, f: Floats) -> bool:
    """Return whether the duality gap is within the tolerance, or the largest violation is only a rounding error."""
    if _is_within(state.primal, state.dual, tol):
        return True
    return state.violation <= MIN_VIOLATION * max(1.0, float(np.abs(f).max()))


def _gram(rows: GramRows, slots: Integers, chosen: Integers, space: Floats) -> Floats:
    """Return the Gram matrix of the working set, copied into the memory ``space``.

    The memory is reused because a new allocation would take as long as the copy.
    """
    from likely.objectives import _kernels as compiled  # Numba takes a while to import

    m = len(chosen)
    K = space[: m * m].reshape(m, m)
    for_each(lambda part: compiled.gather(rows.kept, slots, chosen, K, *part), _parts(m, 256))
    return K


def _ascend(
    K: Floats, chosen: Integers, alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool, tol: float
) -> Floats:
    """Maximise the dual over the coefficients of the working set, which change in place in ``alpha``.

    Returns the changes of z α of these rows. ``tol`` is the largest violation to leave within the set.
    """
    from likely.objectives import _kernels as compiled

    z_in, C_in, changed = z[chosen], C[chosen], alpha[chosen]
    v, max_changes = z_in - f[chosen], CHANGES * len(chosen)
    ascend = compiled.ascend_by_pairs if has_bias else compiled.ascend_by_coordinates
    # If changes of pairs do not suffice, Newton steps on the free coefficients follow.
    if ascend(K, z_in, C_in, changed, v, tol, max_changes) == max_changes:
        newton_on_face(K, z_in, C_in, changed, v, has_bias)
    steps = (changed - alpha[chosen]) * z_in
    alpha[chosen] = changed
    return np.asarray(steps)


def _update_scores(rows: GramRows, slots: Integers, steps: Floats, f: Floats) -> None:
    """Update the scores f of all rows in place, for the changes ``steps`` of z α of the working set."""
    from likely.objectives import _kernels as compiled

    moved = np.flatnonzero(steps)
    for_each(lambda part: compiled.add_rows(f, rows.kept, slots[moved], steps[moved], *part), _parts(rows.n, 4096))


def _parts(n: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def _best_bias(v: Floats, z: Floats, C: Floats) -> float:
    """Return the bias that minimises Σ C max(0, 1 − z (f + b)): the middle of the interval of minima.

    The function is piecewise linear in b. Its derivative is Σ C over the rows with z < 0 and v < b, minus Σ C over the
    rows with z > 0 and v > b.
    """
    order = np.argsort(v, kind="stable")
    slope = np.cumsum(C[order]) - C[z > 0].sum()  # just above each v
    slack = 1e-12 * float(C.sum())
    first = int(np.searchsorted(slope, -slack))
    last = int(np.searchsorted(slope, slack, side="right"))
    ends = v[order]
    return float((ends[min(first, len(v) - 1)] + ends[min(last, len(v) - 1)]) / 2)


@dataclass(frozen=True, eq=False)
class DualState:
    """Both objectives, and the violation of the optimality conditions, at given dual coefficients.

    Attributes
    ----------
    bias : float
        Midpoint of the largest v in I_up and the smallest v in I_low; 0 without a free bias.
    violation : float
        Largest violation of the optimality conditions.
    upper, lower : array of shape (n,)
        v of each row; −inf in ``upper`` for a row outside I_up, and inf in ``lower`` for a row outside I_low.
    primal, dual : float
        Values of both objectives. The primal objective is infinite if a hard margin is violated.
    square : float
        ‖w‖².
    """

    bias: float
    violation: float
    upper: Floats
    lower: Floats
    primal: float
    dual: float
    square: float

    @classmethod
    def of(cls, alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool) -> DualState:
        """Return the state at the dual coefficients α and their scores f."""
        v = z - f
        can_rise, can_fall = alpha < C, alpha > 0
        upper = np.where(np.where(z > 0, can_rise, can_fall), v, -np.inf)
        lower = np.where(np.where(z > 0, can_fall, can_rise), v, np.inf)
        highest, lowest = float(upper.max()), float(lower.min())
        bias = (highest + lowest) / 2 if has_bias else 0.0
        square = max(float((alpha * z) @ f), 0.0)
        dual = float(alpha.sum()) - square / 2
        violation = max(highest - bias, bias - lowest)
        primal, _ = primal_value(alpha, square, z * (f + bias), C)
        return cls(bias, violation, upper, lower, primal, dual, square)


def primal_value(alpha: Floats, square: float, margins: Floats, C: Floats) -> tuple[float, float]:
    """Return the primal objective ½‖w‖² + Σ C max(0, 1 − margin) at s w, and the factor s.

    s is 1, or the factor that makes the smallest margin 1 if this s gives a lower value and keeps sα ≤ C. For a hard
    margin only the value at the latter s is finite. For a large C that value also avoids the rounding error of
    1 − margin, which is at least about 1e-16 and would be multiplied by C. ``square`` is ‖w‖².
    """
    smallest = float(margins.min())
    s = 1 / min(smallest, 1.0) if smallest > 0 else np.inf
    value = np.inf if np.isinf(C).any() else square / 2 + float(C @ np.maximum(1 - margins, 0.0))
    scaled = square / 2 * s**2 if s < np.inf and (s * alpha <= C).all() else np.inf
    return (scaled, s) if scaled < value else (value, 1.0)


def select_working_set(state: DualState, old: Integers, size: int, is_free: Booleans) -> Integers:
    """Select a working set of at most ``size`` rows.

    The set has all rows if they fit. Otherwise up to a quarter of the set are the worst violators in I_up, and up to a
    quarter the worst violators in I_low. The remaining rows come from the last set, ``old``. Its free rows come first:
    they are likely to be free at the solution, and their coefficients change whenever other coefficients change.
    """
    if len(is_free) <= size:
        return np.arange(len(is_free))
    quarter = max(1, size // 4)
    worst_up, worst_low = _select_largest(state.upper, quarter), _select_largest(-state.lower, quarter)
    worst_up = worst_up[state.upper[worst_up] > state.bias]
    worst_low = worst_low[state.lower[worst_low] < state.bias]
    fresh = np.union1d(worst_up, worst_low)
    left = old[~np.isin(old, fresh)]
    left = np.concatenate([left[is_free[left]], left[~is_free[left]]])
    return np.sort(np.concatenate([fresh, left])[:size])


def _select_largest(values: Floats, k: int) -> Integers:
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]


def newton_on_face(K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, has_bias: bool) -> None:
    """Take Newton steps on the free coefficients, while the others stay at their bounds; α and v change in place.

    Changes of pairs converge slowly if the Gram matrix K is nearly singular, as with columns of very different scales.
    Let F be the free rows. One solution δ of K_FF δ = v_F − b replaces thousands of such changes. The constant b is 0,
    or such that Σ δ = 0 if there is a free bias. Every Newton step stops at the first bound that it meets, so it
    increases the dual. The coefficient at that bound is no longer free.
    """
    for steps in range(MAX_STEPS):
        free = np.flatnonzero((alpha > 0) & (alpha < C))
        if len(free) < 2 or steps > WORK * len(z) ** 2 // len(free) ** 3:
            return
        # Newton step on the free coefficients, by Cholesky of K_FF.
        step = _face_step(K[np.ix_(free, free)], v[free], has_bias)
        if step is None:
            return
        toward = z[free] * step
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                toward > 0, (C[free] - alpha[free]) / toward, np.where(toward < 0, -alpha[free] / toward, np.inf)
            )
        # The step ends at the first bound that a coefficient reaches. That coefficient is set exactly to the bound.
        first = int(room.argmin())
        length = min(1.0, float(room[first]))
        alpha[free] = np.clip(alpha[free] + length * toward, 0.0, C[free])
        if length < 1:
            alpha[free[first]] = C[free[first]] if toward[first] > 0 else 0.0
        v -= length * (step @ K[free])
        if length == 1:
            return


def _face_step(K: Floats, v: Floats, has_bias: bool) -> Floats | None:
    """Return the Newton step of z α after which all free rows have the same v, which is 0 without a free bias.

    Returns None if K, the Gram matrix of the free rows, has no Cholesky factor, or if the step does not increase the
    dual. K is overwritten.
    """
    K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / len(K)
    try:
        factor = cho_factor(K, lower=True, overwrite_a=True)
    except LinAlgError:
        return None
    step = cho_solve(factor, v)
    if has_bias:
        # δ = K⁻¹ (v − b 1), with b such that Σ δ = 0.
        ones = cho_solve(factor, np.ones(len(v)))
        step -= step.sum() / ones.sum() * ones
        step -= step.mean()  # if free rows are linearly dependent, both terms are huge and their sum is not exactly 0
    return np.asarray(step) if np.isfinite(step).all() and float(step @ v) > 0 else None


# Compiled loops


def ascend_by_pairs(K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, tol: float, max_changes: int) -> int:
    """Change pairs of coefficients at constant Σ z α, until max v over I_up − min v over I_low ≤ ``tol``.

    This is sequential minimal optimisation (Platt 1998) with second-order selection of pairs (Fan, Chen and Lin 2005).
    ``alpha`` and ``v`` change in place. Returns the number of pairs changed.
    """
    m, flat = len(z), FLAT * np.abs(np.diag(K)).max()
    flat = max(flat, 1e-300)
    for changes in range(max_changes):
        # The first row of the pair has the largest v in I_up.
        i, highest = -1, -np.inf
        for t in range(m):
            if v[t] > highest and (alpha[t] < C[t] if z[t] > 0 else alpha[t] > 0):
                i, highest = t, v[t]
        if i < 0:
            return changes
        # The second is the row of I_low with the largest increase of the dual by a Newton step along the pair.
        j, lowest, max_gain = -1, np.inf, 0.0
        for t in range(m):
            gap = highest - v[t]
            if gap > 0 and (alpha[t] > 0 if z[t] > 0 else alpha[t] < C[t]):
                lowest = min(lowest, v[t])
                gain = gap * gap / max(K[i, i] + K[t, t] - 2 * K[i, t], flat)
                if gain > max_gain:
                    j, max_gain = t, gain
        if j < 0 or highest - lowest <= tol:
            return changes
        # Newton step along the pair, clipped to the box. A coefficient that reaches a bound is set exactly to it.
        room_i = C[i] - alpha[i] if z[i] > 0 else alpha[i]
        room_j = alpha[j] if z[j] > 0 else C[j] - alpha[j]
        step = min((highest - v[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], flat), room_i, room_j)
        alpha[i] = (C[i] if z[i] > 0 else 0.0) if step == room_i else alpha[i] + z[i] * step
        alpha[j] = (0.0 if z[j] > 0 else C[j]) if step == room_j else alpha[j] - z[j] * step
        for t in range(m):
            v[t] -= step * (K[i, t] - K[j, t])
    return max_changes


def ascend_by_coordinates(
    K: Floats, z: Floats, C: Floats, alpha: Floats, v: Floats, tol: float, max_changes: int
) -> int:
    """Change single coefficients until no derivative of the dual exceeds ``tol``; for problems without a free bias.

    Only derivatives count along which the coefficient can move within its bounds. Each step changes the coefficient
    whose Newton step increases the dual most. ``alpha`` and ``v`` change in place. Returns the number of changes.
    """
    m, flat = len(z), FLAT * np.abs(np.diag(K)).max()
    flat = max(flat, 1e-300)
    for changes in range(max_changes):
        i, steepest, max_gain = -1, 0.0, 0.0
        for t in range(m):
            slope = z[t] * v[t]
            if alpha[t] < C[t] if slope > 0 else alpha[t] > 0:
                steepest = max(steepest, abs(slope))
                gain = slope * slope / max(K[t, t], flat)
                if gain > max_gain:
                    i, max_gain = t, gain
        if i < 0 or steepest <= tol:
            return changes
        # Newton step along the coordinate, clipped to the box.
        before = alpha[i]
        alpha[i] = min(max(before + z[i] * v[i] / max(K[i, i], flat), 0.0), C[i])
        step = z[i] * (alpha[i] - before)
        for t in range(m):
            v[t] -= step * K[i, t]
    return max_changes


def gather(kept: Floats, slots: Integers, columns: Integers, out: Floats, start: int, stop: int) -> None:
    """Copy ``kept[slots[i], columns]`` to ``out[i]`` for i from ``start`` to ``stop`` − 1; ``kept`` are cached rows."""
    for i in range(start, stop):
        row = kept[slots[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]


def add_rows(f: Floats, kept: Floats, slots: Integers, factors: Floats, start: int, stop: int) -> None:
    """Add Σ factors[k] kept[slots[k]] to f, in columns ``start`` to ``stop`` − 1; ``kept`` are cached rows."""
    for k in range(len(slots)):
        row, factor = kept[slots[k]], factors[k]
        for t in range(start, stop):
            f[t] += factor * row[t]
