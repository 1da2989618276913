"""The perceptron's loops over rows: plain Python, which Numba compiles as it stands.

Importing Numba takes a second, so a few rows are presented by Python itself; either gives the same bits.

Rows are a dense X, or, where ``starts`` is not empty, the entries of a CSR array: ``data`` in ``columns``, those of row
i from ``starts[i]`` on. W holds the weights of each class, or of two classes a single row; its last column is the bias.
(Arrays are passed one by one: in a tuple or a class, counting who refers to them takes as long as the arithmetic.)
"""

from typing import Any

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["hold", "learn", "margin", "mistakes", "present", "score"]

PRESENTED, RUN, MISTAKES, UPDATES = range(4)
"""Places in a tally: rows presented so far, right answers since the last mistake, mistakes of this pass, all in units
of weight; and the number of updates so far."""


def present(
    X: Any,
    data: Floats,
    columns: Integers,
    starts: Integers,
    codes: Integers,
    weight: Floats,
    W: Floats,
    late: Floats,
    tally: Floats,
    steady: Floats,
    runs: Floats,
) -> int:
    """Present every row once, as often as its weight says, and learn from mistakes.

    Brings up to date in place the weights, how late they came, the tally, and the few weights that were right the
    longest, with their runs. Gives the position of the first row whose score is not finite, where it stops, or −1.
    """
    scores = np.empty(len(W))
    for i in range(len(codes)):
        left = weight[i]
        while left > 0.0:
            score(X, data, columns, starts, i, W, scores)
            gap, rival = margin(scores, codes[i])
            if not np.isfinite(gap):
                return i
            if gap > 0.0:
                tally[PRESENTED] += left
                tally[RUN] += left
                break
            hold(W, tally[RUN], steady, runs)
            step = min(left, 1.0)
            for k in range(len(W)):
                sign = (k == codes[i]) - 1.0 * (k == rival) if len(W) > 1 else 2.0 * codes[i] - 1.0
                if sign != 0.0:
                    learn(X, data, columns, starts, i, k, sign * step, W, late, tally[PRESENTED])
            tally[RUN] = 0.0
            tally[PRESENTED] += step
            tally[MISTAKES] += step
            tally[UPDATES] += 1.0
            left -= step
    return -1


def hold(W: Floats, run: float, steady: Floats, runs: Floats) -> None:
    """Put weights that were right for long in the place of those that were so for the shortest time."""
    slot = 0
    for m in range(len(runs)):
        if runs[m] < runs[slot]:
            slot = m
    if len(runs) and run > runs[slot]:
        runs[slot] = run
        for k in range(W.shape[0]):
            for j in range(W.shape[1]):
                steady[slot, k, j] = W[k, j]


def mistakes(
    X: Any, data: Floats, columns: Integers, starts: Integers, codes: Integers, weight: Floats, candidates: Floats
) -> Floats:
    """Weight of the rows that each of some fixed weights gets wrong."""
    totals, scores = np.zeros(len(candidates)), np.empty(candidates.shape[1])
    for i in range(len(codes)):
        for m in range(len(candidates)):
            score(X, data, columns, starts, i, candidates[m], scores)
            if not margin(scores, codes[i])[0] > 0.0:
                totals[m] += weight[i]
    return totals


def score(X: Any, data: Floats, columns: Integers, starts: Integers, i: int, W: Floats, scores: Floats) -> None:
    """Inner products of a row with all weights, each in four sums that a processor can form side by side."""
    for k in range(len(W)):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        if len(starts):
            for j in range(starts[i], starts[i + 1]):
                a += data[j] * W[k, columns[j]]
        else:
            fours = X.shape[1] // 4 * 4
            for j in range(0, fours, 4):
                a += X[i, j] * W[k, j]
                b += X[i, j + 1] * W[k, j + 1]
                c += X[i, j + 2] * W[k, j + 2]
                d += X[i, j + 3] * W[k, j + 3]
            for j in range(fours, X.shape[1]):
                a += X[i, j] * W[k, j]
        scores[k] = (a + b) + (c + d) + W[k, -1]


def margin(scores: Floats, code: int) -> tuple[float, int]:
    """By how much the score of a row's class exceeds the highest of the others, and whose that is, of ties the last.

    A NaN or infinity in the row makes every score NaN or infinite, and so the margin.
    """
    if len(scores) == 1:
        return (scores[0] if code == 1 else -scores[0]), 0
    high, rival = -np.inf, -1
    for k in range(len(scores)):
        if k != code and not scores[k] < high:
            high, rival = scores[k], k
    return scores[code] - high, rival


def learn(
    X: Any,
    data: Floats,
    columns: Integers,
    starts: Integers,
    i: int,
    k: int,
    step: float,
    W: Floats,
    late: Floats,
    presented: float,
) -> None:
    """Add a multiple of a row to the weights of a class, and to ``late`` that multiple times the rows before it."""
    missed = step * presented
    if len(starts):
        for j in range(starts[i], starts[i + 1]):
            W[k, columns[j]] += step * data[j]
            late[k, columns[j]] += missed * data[j]
    else:
        for j in range(X.shape[1]):
            W[k, j] += step * X[i, j]
            late[k, j] += missed * X[i, j]
    W[k, -1] += step
    late[k, -1] += missed
