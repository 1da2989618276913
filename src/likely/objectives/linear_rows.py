"""The rows of a source as linear models use them: counted by class, sampled, centred and multiplied.

Logistic regression and support vector machines share this chapter. Both compute scores (x − centre)'w + b, so every sum
over rows is a sum over extended rows (x − centre, 1). The centre is subtracted from the results of a product, and rows
are not copied, unless it is so far from zero that digits would cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from likely._numerics import Workspace, dense
from likely._typing import Booleans, Floats, Integers, Rows
from likely.blocks import ArraySource, Block, ClassCounts, Source, block_rows
from likely.statistics import DiagonalMoments

SAMPLE_ROWS, SAMPLE_VALUES, MAX_SAMPLE_VALUES = 2**13, 2**21, 2**25
"""A warm start is computed on a sample of about so many rows: more where rows are short, fewer where they are very
wide, and only if the sample is a small part of all rows. From there few passes over all rows are left."""

_workspace = Workspace()

FAR = 1e3
"""Standard deviations from zero to the centre, beyond which the centre is subtracted from every row."""


def subsample(source: Source, counts: ClassCounts, takes_part: Booleans | None = None) -> ArraySource | None:
    """Draw rows for a warm start, evenly from each class, or None if there are not many times as many in all.

    Parameters
    ----------
    takes_part : array of bool of shape (n_classes,), optional
        Classes to draw from; by default all.
    """
    takes_part = np.ones(len(counts.rows), dtype=bool) if takes_part is None else takes_part
    rows = np.where(takes_part, counts.rows, 0)
    size = max(SAMPLE_ROWS, min(4 * SAMPLE_ROWS, SAMPLE_VALUES // source.n_features))
    if not source.is_sparse:
        size = min(size, max(1, MAX_SAMPLE_VALUES // source.n_features))
    if rows.sum() < 4 * size:
        return None
    wanted = max(1, size // int(np.count_nonzero(rows)))
    return some_of_each_class(source, np.where(takes_part, counts.rows, 2**62), wanted)


def some_of_each_class(source: Source, rows: Integers, wanted: int) -> ArraySource:
    """Draw about ``wanted`` rows of each class, evenly spaced; all rows of a class that has no more.

    Parameters
    ----------
    rows : array of int of shape (n_classes,)
        How many rows each class has.
    """
    taken = source.reduce(_take, np.maximum(1, rows // wanted))
    stack: Any = partial(vstack, format="csr") if issparse(taken[0].X) else np.concatenate
    X = stack([part.X for part in taken])
    weight = None if taken[0].weight is None else _join(taken, "weight")
    return ArraySource(
        X,
        _join(taken, "codes"),
        weight,
        source.classes,
        block_rows=block_rows(X),
        positions=_join(taken, "positions"),
    )


def _take(block: Block, strides: Integers) -> list[Block]:
    """Every stride-th row of each class of a block, in a list, since lists add up by concatenation."""
    codes = block.require_codes()
    of_each = [np.flatnonzero(codes == k)[::stride] for k, stride in enumerate(strides.tolist())]
    return [block.take(np.sort(np.concatenate(of_each)))]


def _join(parts: list[Block], name: str) -> Any:
    return np.concatenate([getattr(part, name) for part in parts])


def column_moments(block: Block, takes_part: Booleans | None = None) -> DiagonalMoments:
    """Means and variances of the columns of a block, over the classes that take part; raise for non-finite rows."""
    codes = block.require_codes()
    if takes_part is not None and not takes_part.take(codes).all():
        block = block.take(np.flatnonzero(takes_part.take(codes)))
    with np.errstate(all="ignore"):
        moments = DiagonalMoments.of(block.X, block.weight)
    if not moments.is_finite() or (moments.column_weights < moments.weight).any():
        raise block.non_finite()
    return moments


def is_far(source: Source, centre: Floats, deviation: Floats) -> bool:
    """Whether the centre must be subtracted from the rows themselves; sparse rows would lose their zeros."""
    return not source.is_sparse and bool((np.abs(centre) > FAR * deviation).any())


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows of a block, to be multiplied as extended rows (x − centre, 1).

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    centre : array of shape (d,), or None
        What products subtract; None if it is subtracted from X already.
    """

    X: Rows
    centre: Floats | None

    @classmethod
    def of(cls, X: Rows, centre: Floats, far: bool) -> LinearRows:
        """Rows about a centre, which is subtracted at once if it is far from zero."""
        if issparse(X):
            return cls(X, centre)
        X = dense(X)
        return cls(np.subtract(X, centre, out=_workspace.array("centred", X.shape)), None) if far else cls(X, centre)

    def take(self, kept: Integers) -> LinearRows:
        """Some of the rows."""
        return LinearRows(self.X[kept], self.centre)

    @property
    def n_values(self) -> int:
        """Numbers that the rows hold in memory."""
        return int(self.X.nnz if issparse(self.X) else self.X.size)

    def extended(self) -> Floats:
        """The extended rows, dense, in reused memory."""
        return extend_rows(self.X, 0.0 if self.centre is None else self.centre)

    def scores(self, theta: Floats) -> Floats:
        """(x − centre)'w + b, of shape (n,) for θ = (w, b) of shape (d + 1,), or (n, R) for R rows of θ."""
        W, b = theta[..., :-1], theta[..., -1]
        offset = b if self.centre is None else b - W @ self.centre
        return np.asarray(self.X.dot(W.T) + offset)  # .dot takes a third of the time of @ for few columns

    def sums(self, factors: Floats) -> Floats:
        """Σ factor · (x − centre, 1) for each row of factors (R, n), of shape (R, d + 1)."""
        totals = factors.sum(axis=1)
        if not issparse(self.X):
            first = factors @ self.X
        elif len(factors) == 1:
            first = (self.X.T @ factors[0])[None]
        else:
            first = np.asarray((self.X.T @ factors.T).T)
        if self.centre is not None:
            first = first - np.outer(totals, self.centre)
        return np.column_stack([first, totals])

    def gram(self, D: Floats) -> Floats:
        """Σ D (x − centre, 1) (x − centre, 1)', of shape (d + 1, d + 1)."""
        rows = self.extended()
        rows *= np.sqrt(D)[:, None]
        return np.asarray(rows.T @ rows)

    def gram_diagonal(self, D: Floats) -> Floats:
        """The diagonal of Σ D (x − centre, 1) (x − centre, 1)' for each row of D (R, n), of shape (R, d + 1)."""
        squares = self.X.astype(np.float64).power(2) if issparse(self.X) else np.square(self.X)
        second, totals = np.asarray(D @ squares), D.sum(axis=1, keepdims=True)
        if self.centre is not None:
            second = second + self.centre * (self.centre * totals - 2 * np.asarray(D @ self.X))
        return np.column_stack([np.maximum(second, 0.0), totals])


def extend_rows(X: Rows, centre: Any) -> Floats:
    """(x − centre, 1) for every row, dense, in reused memory."""
    n, d = X.shape
    rows = _workspace.array("extended", (n, d + 1))
    np.subtract(dense(X), centre, out=rows[:, :d])
    rows[:, d] = 1.0
    return rows


def check_finite_sum(value: float, block: Block) -> float:
    """Return the value, or inf if parameters made it non-finite; raise if the rows themselves are not finite."""
    if np.isfinite(value):
        return value
    X = block.X.data if issparse(block.X) else block.X
    if not np.isfinite(X).all():
        raise block.non_finite()
    return np.inf
