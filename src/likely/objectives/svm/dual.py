"""The dual of a support vector machine, by working sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import Block, for_each, one_blas_thread
from likely.kernels import GramRows
from likely.objectives.svm.faces import climb_face
from likely.objectives.svm.working_set import Standing, fresh_and_old, primal_value

__all__ = ["DualSolution", "solution_of", "solve_dual"]

WORKING_SET = 1024
"""Multipliers changed together. Of 8,000 images of 784 pixels 256 took four times as long, 2048 a third longer. But
where more are free at once the set must hold them all, or it goes round for long."""

PRECISION, CHANGES = 0.1, 20
"""A working set is left when its worst violation is that part of the worst of all, or after so many changes a row."""

MOST_IDLE, LEAST_GAIN = 20, 1e-12
"""Working sets in a row that raise the dual by no more than that part of it, after which rounding lets none gain."""

LEAST_VIOLATION = 1e-14
"""Below it, beside the largest score, a violation is rounding."""


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Where the ascent of the dual ended.

    Attributes
    ----------
    alpha : array of shape (n,)
        Multipliers.
    f : array of shape (n,)
        Scores of the rows, without the bias.
    intercept : float
    primal, dual : float
        Values of both problems, between which the best value of both lies.
    square : float
        ‖w‖².
    n_iter : int
        Working sets solved.
    converged : bool
        Whether the two differ by no more than the tolerance, relative to the primal.
    precise : bool
        Whether scores have as many digits as that takes.
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
        """Multipliers and scores to start from when every C is that many times as large.

        D(sα) = s Σα − s²/2 ‖w‖² is highest at s = Σα / ‖w‖², and sα keeps its bounds up to s = share.
        """
        total = float(self.alpha.sum())
        s = min(share, total / self.square) if self.square > 0 else 1.0
        return s * self.alpha, s * self.f


def solve_dual(
    rows: GramRows,
    z: Floats,
    C: Floats,
    has_bias: bool,
    tolerance: float,
    most_rounds: int,
    start: tuple[Floats, Floats] | None = None,
    tell: Callable[[int, float], None] | None = None,
    look: Callable[[Floats, Floats], None] | None = None,
) -> DualSolution:
    """Maximise Σ α − ½ Σ α_i α_j z_i z_j k(x_i, x_j) over 0 ≤ α ≤ C, and Σ z α = 0 where there is a free bias.

    Parameters
    ----------
    rows : GramRows
    z, C : arrays of shape (n,)
        Sides, and bounds, which may be infinite.
    start : multipliers and the scores they give, optional
    tell : function of the number of working sets and the relative gap, optional
        Called after each.
    look : function of multipliers and scores, optional
        Called after each too; it may raise.
    """
    n = rows.n
    alpha, f = (np.zeros(n), np.zeros(n)) if start is None else (start[0].copy(), start[1].copy())
    chosen, K, rounds, idle = np.empty(0, dtype=np.intp), np.empty((0, 0)), 0, 0
    space = np.empty(rows.most_together**2)
    standing = Standing.of(alpha, f, z, C, has_bias)
    with one_blas_thread():
        while not _is_done(standing, tolerance, f) and rounds < most_rounds and idle < MOST_IDLE:
            is_free = (alpha > 0) & (alpha < C)
            last, chosen = chosen, fresh_and_old(standing, chosen, _room(rows, int(is_free.sum())), is_free)
            slots = rows.slots(chosen)
            K = K if np.array_equal(last, chosen) else _square(rows, slots, chosen, space)
            steps = _improve(K, chosen, alpha, f, z, C, has_bias, PRECISION * standing.violation)
            _add(rows, slots, steps, f)
            if not np.isfinite(f).all():
                raise Block(rows.X).non_finite()
            before, standing = standing, Standing.of(alpha, f, z, C, has_bias)
            rounds, idle = rounds + 1, idle + 1 if standing.dual <= before.dual * (1 + LEAST_GAIN) else 0
            if tell is not None:
                tell(rounds, _relative_gap(standing))
            if look is not None:
                look(alpha, f)
    return solution_of(alpha, f, z, C, has_bias, rounds, tolerance)


def solution_of(
    alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool, rounds: int, tolerance: float
) -> DualSolution:
    """What multipliers, and the scores they give, are worth: with the best bias, and as long as is best."""
    standing = Standing.of(alpha, f, z, C, has_bias)
    bias, square = standing.bias, standing.square
    if has_bias and np.isfinite(C).all():
        best = _best_bias(z - f, z, C)
        bias = best if primal_value(alpha, square, z * (f + best), C)[0] < standing.primal else bias
    primal, s = primal_value(alpha, square, z * (f + bias), C)
    dual = s * float(alpha.sum()) - s**2 * square / 2
    near = _is_near(primal, dual, tolerance)
    return DualSolution(s * alpha, s * f, s * bias, primal, dual, s**2 * square, rounds, near)


def _is_near(primal: float, dual: float, tolerance: float) -> bool:
    return bool(np.isfinite(primal)) and abs(primal - dual) <= tolerance * abs(primal)


def _room(rows: GramRows, n_free: int) -> int:
    """Rows of a working set: half as many again as are free, within the limits."""
    return int(min(max(WORKING_SET, 3 * n_free // 2), rows.most_together))


def _relative_gap(standing: Standing) -> float:
    return (standing.primal - standing.dual) / standing.primal if np.isfinite(standing.primal) else np.inf


def _is_done(standing: Standing, tolerance: float, f: Floats) -> bool:
    if _is_near(standing.primal, standing.dual, tolerance):
        return True
    return standing.violation <= LEAST_VIOLATION * max(1.0, float(np.abs(f).max()))


def _square(rows: GramRows, slots: Integers, chosen: Integers, space: Floats) -> Floats:
    """The kernel's matrix of the rows chosen, in space that is used again: new megabytes would cost as much."""
    from likely.objectives import _kernels as compiled  # Numba takes a while to import

    m = len(chosen)
    K = space[: m * m].reshape(m, m)
    for_each(lambda part: compiled.gather(rows.kept, slots, chosen, K, *part), _parts(m, 256))
    return K


def _improve(
    K: Floats, chosen: Integers, alpha: Floats, f: Floats, z: Floats, C: Floats, has_bias: bool, tolerance: float
) -> Floats:
    """Maximise over the multipliers chosen; gives the steps of z α."""
    from likely.objectives import _kernels as compiled

    z_in, C_in, changed = z[chosen], C[chosen], alpha[chosen]
    v, most = z_in - f[chosen], CHANGES * len(chosen)
    ascend = compiled.by_pairs if has_bias else compiled.by_ones
    if ascend(K, z_in, C_in, changed, v, tolerance, most) == most:
        climb_face(K, z_in, C_in, changed, v, has_bias)
    steps = (changed - alpha[chosen]) * z_in
    alpha[chosen] = changed
    return np.asarray(steps)


def _add(rows: GramRows, slots: Integers, steps: Floats, f: Floats) -> None:
    """Bring the scores of all rows up to date."""
    from likely.objectives import _kernels as compiled

    moved = np.flatnonzero(steps)
    for_each(lambda part: compiled.add_rows(f, rows.kept, slots[moved], steps[moved], *part), _parts(rows.n, 4096))


def _parts(n: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def _best_bias(v: Floats, z: Floats, C: Floats) -> float:
    """The bias that makes Σ C max(0, 1 − z (f + b)) least: the middle of where its slope changes sign.

    The slope at b is Σ C over the rows with z < 0 and v < b, less that over those with z > 0 and v > b.
    """
    order = np.argsort(v, kind="stable")
    slope = np.cumsum(C[order]) - C[z > 0].sum()  # just above each v
    slack = 1e-12 * float(C.sum())
    first = int(np.searchsorted(slope, -slack))
    last = int(np.searchsorted(slope, slack, side="right"))
    ends = v[order]
    return float((ends[min(first, len(v) - 1)] + ends[min(last, len(v) - 1)]) / 2)
