"""Perceptron learning: weights are updated after every misclassified row, in the order of the rows.

The loops over rows are plain Python functions that Numba compiles. Importing Numba takes a second, so Python runs the
loops itself if there are few rows. Both give the same bits.

Conventions of the loops. Rows are a dense X, or, if ``starts`` is not empty, the entries of a CSR array: ``data`` in
``columns``; the entries of row i begin at ``starts[i]``. W has a row of weights for each class, or a single row for two
classes; its last column is the bias. Arrays are passed as separate arguments: in a tuple or a class, reference counting
takes as long as the arithmetic.

References
----------
Rosenblatt, The perceptron, Psychological Review 65 (1958). Gallant, Perceptron-based learning algorithms, IEEE Trans.
Neural Networks 1 (1990). Freund and Schapire, Large margin classification using the perceptron algorithm, Machine
Learning 37 (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from likely._constraints import Scope, count, floats
from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block

MAX_PYTHON_PRODUCTS = 2**18
"""Maximum number of products that Python computes itself. They take some tenths of a second, less than importing
Numba."""

PRESENTED, RUN, MISTAKES, UPDATES = range(4)
"""Indices of a tally: rows presented so far, correct rows since the last mistake, mistakes of this pass (all three in
units of weight), and the number of updates so far."""


@dataclass(eq=False)
class PerceptronWeights:
    """Weights of a perceptron and counts of presented rows, starting at zero.

    Attributes
    ----------
    last : array of shape (n_classes, n_features + 1), or (1, n_features + 1) for two classes
        Current weights; the bias is the last column.
    late : array of the same shape
        Sum of all updates, each multiplied by the total weight of the rows presented before it.
    tally : array
        Counts, at the indices PRESENTED, RUN, MISTAKES and UPDATES.
    n_passes : int
    steady : array of shape (n_candidates, *last.shape)
        Weights of the last pass with the longest runs of correctly classified rows: candidates of the pocket algorithm.
    """

    last: Annotated[Floats, floats("r", "columns")]
    late: Annotated[Floats, floats("r", "columns")]
    tally: Annotated[Floats, floats(4, low=0)]
    n_passes: Annotated[int, count(1)]
    steady: Annotated[Floats, floats("candidates*", "r", "columns")]

    def _check_state(self, scope: Scope) -> None:
        scope.sizes["d"] = self.last.shape[1] - 1

    @classmethod
    def zero(cls, n_classes: int, n_features: int, n_candidates: int = 0) -> Self:
        """Return weights and counts of zero."""
        shape = (1 if n_classes == 2 else n_classes, n_features + 1)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(4), 0, np.zeros((n_candidates, *shape)))

    def copy(self) -> Self:
        """Return a copy that shares no arrays."""
        return type(self)(self.last.copy(), self.late.copy(), self.tally.copy(), self.n_passes, self.steady.copy())

    @property
    def candidates(self) -> Floats:
        """Weights among which the pocket algorithm chooses after a pass."""
        return np.concatenate([self.steady, self.last[None]])

    @property
    def n_updates(self) -> int:
        """Number of updates."""
        return int(self.tally[UPDATES])

    @property
    def average(self) -> Floats:
        """Mean of the weights over all presentations of rows, each after the update for that row."""
        return np.asarray(self.last - self.late / self.tally[PRESENTED])

    def run_pass(self, blocks: Iterable[Block]) -> float:
        """Make one pass and update the weights in place; return the total weight of the misclassified rows."""
        self.tally[MISTAKES] = 0.0
        self.steady[:], runs = self.last, np.full(len(self.steady), -1.0)
        self.n_passes += 1
        for block in blocks:
            rows, loops = _access(block.X), _loops(block.X, len(self.last), self.n_passes)
            with np.errstate(all="ignore"):
                at = loops.present_rows(*rows, *_labels(block), self.last, self.late, self.tally, self.steady, runs)
            if at >= 0:  # report the row by its number in the user's data
                place = at if block.positions is None else block.positions[at]
                raise Block(block.X[at : at + 1], positions=[int(place)]).non_finite()
        return float(self.tally[MISTAKES])


def count_block_mistakes(block: Block, candidates: Floats, n_passes: int) -> Floats:
    """Return the total weight of a block's rows that each candidate misclassifies; scores round as in learning."""
    n_candidates, n_vectors, _ = candidates.shape
    loops = _loops(block.X, n_candidates * n_vectors, n_passes)
    with np.errstate(all="ignore"):
        return np.asarray(loops.count_mistakes(*_access(block.X), *_labels(block), candidates))


def _access(X: Rows) -> tuple[Any, Floats, Any, Integers]:
    """Return rows as arguments of the loops, always with the same array types, so that each loop is compiled once."""
    if not issparse(X):
        return np.ascontiguousarray(dense(X)), np.empty(0), np.empty(0, np.int32), np.empty(0, np.intp)
    columns, starts = np.ascontiguousarray(X.indices, np.int32), np.ascontiguousarray(X.indptr, np.intp)
    return np.empty((0, 0)), np.ascontiguousarray(X.data, np.float64), columns, starts


def _labels(block: Block) -> tuple[Integers, Floats]:
    """Return codes and weights of a block's rows."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return np.ascontiguousarray(block.codes, dtype=np.intp), np.ascontiguousarray(weight, dtype=np.float64)


class Loops(NamedTuple):
    """The two loops over rows, plain or compiled."""

    present_rows: Callable[..., int]
    count_mistakes: Callable[..., Floats]


def _loops(X: Rows, n_vectors: int, n_passes: int) -> Loops:
    """Return the plain Python loops for the first passes over few rows, else the compiled loops."""
    values = X.nnz if issparse(X) else X.size
    if values * n_vectors * n_passes <= MAX_PYTHON_PRODUCTS:
        return Loops(present_rows, count_mistakes)
    from likely.objectives import _kernels

    return Loops(_kernels.present_rows, _kernels.count_mistakes)


def present_rows(
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
    """Present every row as often as its weight, and update the weights after mistakes.

    Changes in place the weights, ``late``, the tally, and the candidates with the longest runs of correct rows. Returns
    the position of the first row whose score is not finite, where the loop stops, or −1.
    """
    scores = np.empty(len(W))
    for i in range(len(codes)):
        left = weight[i]
        while left > 0.0:
            compute_scores(X, data, columns, starts, i, W, scores)
            margin, rival = compute_margin(scores, codes[i])
            if not np.isfinite(margin):
                return i
            # A correct row extends the run by all of its weight.
            if margin > 0.0:
                tally[PRESENTED] += left
                tally[RUN] += left
                break
            # Mistake: add the row to its class and subtract it from the rival, at most one unit of weight at a time.
            keep_longest_run(W, tally[RUN], steady, runs)
            step = min(left, 1.0)
            for k in range(len(W)):
                sign = (k == codes[i]) - 1.0 * (k == rival) if len(W) > 1 else 2.0 * codes[i] - 1.0
                if sign != 0.0:
                    add_row(X, data, columns, starts, i, k, sign * step, W, late, tally[PRESENTED])
            tally[RUN] = 0.0
            tally[PRESENTED] += step
            tally[MISTAKES] += step
            tally[UPDATES] += 1.0
            left -= step
    return -1


def keep_longest_run(W: Floats, run: float, steady: Floats, runs: Floats) -> None:
    """Replace the candidate with the shortest run of correct rows by the current weights, if their run is longer."""
    # The slot with the shortest run; the first of ties.
    slot = 0
    for m in range(len(runs)):
        if runs[m] < runs[slot]:
            slot = m
    if len(runs) and run > runs[slot]:
        runs[slot] = run
        for k in range(W.shape[0]):
            for j in range(W.shape[1]):
                steady[slot, k, j] = W[k, j]


def count_mistakes(
    X: Any, data: Floats, columns: Integers, starts: Integers, codes: Integers, weight: Floats, candidates: Floats
) -> Floats:
    """Return the total weight of the rows that each candidate misclassifies."""
    totals, scores = np.zeros(len(candidates)), np.empty(candidates.shape[1])
    for i in range(len(codes)):
        for m in range(len(candidates)):
            compute_scores(X, data, columns, starts, i, candidates[m], scores)
            if not compute_margin(scores, codes[i])[0] > 0.0:
                totals[m] += weight[i]
    return totals


def compute_scores(
    X: Any, data: Floats, columns: Integers, starts: Integers, i: int, W: Floats, scores: Floats
) -> None:
    """Compute the dot products of row i with all weights, each in four partial sums that run in parallel."""
    for k in range(len(W)):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        if len(starts):  # sparse row
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


def compute_margin(scores: Floats, code: int) -> tuple[float, int]:
    """Return the score of a row's class minus the highest other score, and the class of that score (the last in a tie).

    A NaN or infinity in the row makes every score NaN or infinite, and therefore the margin too.
    """
    if len(scores) == 1:  # two classes share one vector of weights
        return (scores[0] if code == 1 else -scores[0]), 0
    high, rival = -np.inf, -1
    for k in range(len(scores)):
        if k != code and not scores[k] < high:
            high, rival = scores[k], k
    return scores[code] - high, rival


def add_row(
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
    """Add ``step`` times a row to the weights of class k, and ``step · presented`` times the row to ``late``."""
    # average = last − late / presented: an update counts only for presentations after it (Freund and Schapire 1999).
    late_step = step * presented
    if len(starts):
        for j in range(starts[i], starts[i + 1]):
            W[k, columns[j]] += step * data[j]
            late[k, columns[j]] += late_step * data[j]
    else:
        for j in range(X.shape[1]):
            W[k, j] += step * X[i, j]
            late[k, j] += late_step * X[i, j]
    W[k, -1] += step
    late[k, -1] += late_step
