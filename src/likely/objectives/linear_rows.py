"""Operations of linear models on the rows of a source: sampling by class, centring and products.

Logistic regression and support vector machines share this module. Both compute scores (x − centre)'w + b, so every sum
over rows is a sum over extended rows (x − centre, 1). The centre is subtracted from the result of a product, so that
rows need not be copied. Only if the centre is so far from zero that digits would be lost, the centre is subtracted from
the rows themselves.
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
"""Size of the subsample for a warm start. It has at least the first number of rows. Rows of few columns are added up to
the second number of values, to at most four times as many rows. Dense rows of very many columns are limited to the
third number of values. After a warm start, few passes over all rows are needed."""

_workspace = Workspace()

FAR = 1e3
"""If the centre of a column is more than this number of standard deviations from zero, the centre is subtracted from
every row."""


def subsample(source: Source, counts: ClassCounts, takes_part: Booleans | None = None) -> ArraySource | None:
    """Return a sample with about as many rows of each class, for a warm start, or None if there are too few rows.

    There are too few rows if the sample would have more than a quarter of them.

    Parameters
    ----------
    takes_part : array of bool of shape (n_classes,), optional
        Classes to draw from; all by default.
    """
    takes_part = np.ones(len(counts.rows), dtype=bool) if takes_part is None else takes_part
    rows = np.where(takes_part, counts.rows, 0)
    size = max(SAMPLE_ROWS, min(4 * SAMPLE_ROWS, SAMPLE_VALUES // source.n_features))
    if not source.is_sparse:
        size = min(size, max(1, MAX_SAMPLE_VALUES // source.n_features))
    if rows.sum() < 4 * size:
        return None
    wanted = max(1, size // int(np.count_nonzero(rows)))
    return sample_each_class(source, np.where(takes_part, counts.rows, 2**62), wanted)


def sample_each_class(source: Source, rows: Integers, wanted: int) -> ArraySource:
    """Return about ``wanted`` evenly spaced rows of each class, or all rows of a class with fewer rows.

    Parameters
    ----------
    rows : array of int of shape (n_classes,)
        Number of rows of each class.
    """
    # One pass takes every (n_k // wanted)-th row of class k of each block.
    taken = source.reduce(_take_strided, np.maximum(1, rows // wanted))
    stack: Any = partial(vstack, format="csr") if issparse(taken[0].X) else np.concatenate
    X = stack([part.X for part in taken])
    weight = None if taken[0].weight is None else _concatenate(taken, "weight")
    return ArraySource(
        X,
        _concatenate(taken, "codes"),
        weight,
        source.classes,
        block_rows=block_rows(X),
        positions=_concatenate(taken, "positions"),
    )


def _take_strided(block: Block, strides: Integers) -> list[Block]:
    """Return every stride-th row of each class of a block, as a list of one block.

    The lists of several blocks are added, which concatenates them.
    """
    codes = block.require_codes()
    of_each = [np.flatnonzero(codes == k)[::stride] for k, stride in enumerate(strides.tolist())]
    return [block.take(np.sort(np.concatenate(of_each)))]


def _concatenate(parts: list[Block], name: str) -> Any:
    return np.concatenate([getattr(part, name) for part in parts])


def column_moments(block: Block, takes_part: Booleans | None = None) -> DiagonalMoments:
    """Return the moments of a block's columns over the rows of classes that take part; raise if a row is not finite."""
    codes = block.require_codes()
    if takes_part is not None and not takes_part.take(codes).all():
        block = block.take(np.flatnonzero(takes_part.take(codes)))
    with np.errstate(all="ignore"):
        moments = DiagonalMoments.of(block.X, block.weight)
    if not moments.is_finite() or (moments.column_weights < moments.weight).any():
        raise block.non_finite()
    return moments


def is_far(source: Source, centre: Floats, deviation: Floats) -> bool:
    """Return whether the centre must be subtracted from the rows, so that products lose no digits.

    ``deviation`` are the standard deviations of the columns. The answer is False for sparse rows, which would become
    dense.
    """
    return not source.is_sparse and bool((np.abs(centre) > FAR * deviation).any())


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows x of a block, and matrix products of their extended rows (x − centre, 1).

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    centre : array of shape (d,), or None
        Centre that is subtracted from the results of products; None if it is already subtracted from X.
    """

    X: Rows
    centre: Floats | None

    @classmethod
    def of(cls, X: Rows, centre: Floats, far: bool) -> LinearRows:
        """Return rows with a centre. If ``far``, the centre is subtracted from the rows now, unless they are sparse."""
        if issparse(X):
            return cls(X, centre)
        X = dense(X)
        return cls(np.subtract(X, centre, out=_workspace.array("centred", X.shape)), None) if far else cls(X, centre)

    def take(self, kept: Integers) -> LinearRows:
        """Return some of the rows."""
        return LinearRows(self.X[kept], self.centre)

    @property
    def n_values(self) -> int:
        """Number of values that the rows hold in memory."""
        return int(self.X.nnz if issparse(self.X) else self.X.size)

    def extended(self) -> Floats:
        """Return the extended rows as a dense array, in memory that the next call overwrites."""
        return extend_rows(self.X, 0.0 if self.centre is None else self.centre)

    def scores(self, theta: Floats) -> Floats:
        """Return (x − centre)'w + b, of shape (n,) for θ = (w, b) of shape (d + 1,), or (n, R) for R rows of θ."""
        W, b = theta[..., :-1], theta[..., -1]
        offset = b if self.centre is None else b - W @ self.centre
        return np.asarray(self.X.dot(W.T) + offset)  # .dot takes a third of the time of @ for few columns

    def sums(self, factors: Floats) -> Floats:
        """Return Σ factor · (x − centre, 1) for each row of factors (R, n), of shape (R, d + 1)."""
        # Σ factor x without copying the rows; the centre is subtracted from the sums.
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
        """Return Σ D (x − centre, 1) (x − centre, 1)', of shape (d + 1, d + 1)."""
        # One symmetric product of the rows scaled by √D.
        rows = self.extended()
        rows *= np.sqrt(D)[:, None]
        return np.asarray(rows.T @ rows)

    def gram_diagonal(self, D: Floats) -> Floats:
        """Return the diagonal of Σ D (x − centre, 1) (x − centre, 1)' for each row of D (R, n), of shape (R, d + 1)."""
        squares = self.X.astype(np.float64).power(2) if issparse(self.X) else np.square(self.X)
        second, totals = np.asarray(D @ squares), D.sum(axis=1, keepdims=True)
        if self.centre is not None:  # Σ D (x − c)² = Σ D x² + c (c Σ D − 2 Σ D x)
            second = second + self.centre * (self.centre * totals - 2 * np.asarray(D @ self.X))
        return np.column_stack([np.maximum(second, 0.0), totals])


def extend_rows(X: Rows, centre: Any) -> Floats:
    """Return (x − centre, 1) for every row x as a dense array, in memory that the next call overwrites."""
    n, d = X.shape
    rows = _workspace.array("extended", (n, d + 1))
    np.subtract(dense(X), centre, out=rows[:, :d])
    rows[:, d] = 1.0
    return rows


def check_finite_sum(value: float, block: Block) -> float:
    """Return a sum over a block if it is finite. Otherwise raise if the rows are not finite, or else return inf."""
    # The rows are searched only after a failure: the sum itself is the cheap test.
    if np.isfinite(value):
        return value
    X = block.X.data if issparse(block.X) else block.X
    if not np.isfinite(X).all():
        raise block.non_finite()
    return np.inf
