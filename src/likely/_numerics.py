"""Small numerical functions used in several packages, and reusable working memory."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Rows

MAX_BUFFER_VALUES = 2**20
"""Number of values of the largest array that a workspace keeps: eight megabytes."""


def dense(X: Rows) -> Floats:
    """Return rows as a dense array in double precision. Rows that already are such an array are not copied."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def log(values: Any) -> Floats:
    """Return the natural logarithms of values. The logarithm of 0 is minus infinity, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(values, dtype=np.float64)))


def difference(a: Floats, b: Floats) -> Floats:
    """Return ``a - b``, with 0 as the difference of two equal infinities.

    An observation that is impossible under both hypotheses is evidence for neither. Its log-likelihood ratio is 0, not
    NaN.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.asarray(a - b)
    return np.where(np.isnan(gap) & (np.asarray(a) == np.asarray(b)), 0.0, gap)


def log_normalize(log_weights: Floats) -> Floats:
    """Subtract a constant from each row of log-weights so that the exponentials of the row sum to one.

    If entries of a row are plus infinity, these entries share the mass of the row equally, and the others get none.
    """
    top = log_weights.max(axis=1, keepdims=True)
    if np.isposinf(top).any():
        log_weights = np.where(np.isposinf(top), log(np.isposinf(log_weights)), log_weights)
        top = log_weights.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        shifted = log_weights - top
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def is_rounding(variance: Floats, mean: Floats) -> Any:
    """Return whether a variance is no larger than the rounding error of a constant column with this mean.

    The computed variance of n copies of one number is of the order of (eps · number)², where eps is the precision of a
    double. The factor 64 allows for the rounding errors of the sums over rows.
    """
    return variance <= (64 * np.finfo(np.float64).eps * mean) ** 2


class Workspace(threading.local):
    """Working memory: named arrays that are reused for every block of rows.

    A module or an object that needs working memory creates one workspace. Arrays share memory only if they have the
    same name in the same workspace and belong to the same thread.

    Notes
    -----
    Without reuse, the operating system maps and unmaps memory for new arrays of some megabytes in every block. For data
    with many rows and few columns, these page faults take as long as the arithmetic. For arrays above eight megabytes
    the arithmetic takes much longer, so these arrays are not kept.

    Examples
    --------
    >>> workspace = Workspace()
    >>> one, other = workspace.array("one", (2, 3)), workspace.array("other", (2, 3))
    >>> one.shape, np.shares_memory(one, other)
    ((2, 3), False)
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return an uninitialised array.

        Its contents are valid until this thread requests an array of the same name again, which may use its memory.
        """
        size = math.prod(shape)
        if size > MAX_BUFFER_VALUES:
            return np.empty(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size)
        return buffer[:size].reshape(shape)

    @contextmanager
    def borrow(self, name: str, shape: tuple[int, ...]) -> Iterator[Floats]:
        """Lend an uninitialised array to a ``with`` block.

        Inside the block, requests for an array of the same name get other memory. Code that calls a function of the
        user in the block needs this: the function may call the same code again, which must not overwrite the array.
        """
        array = self.array(name, shape)
        lent = self._buffers.pop(name, None)
        try:
            yield array
        finally:
            if lent is not None:
                self._buffers[name] = lent
