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
    """Return the natural logarithm; log 0 is minus infinity, without a warning."""
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
    """Shift each row of log-weights so that its exponentials sum to one.

    If a row contains plus infinities, they share all of its mass equally.
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

    n copies of one number have a computed variance of the order of (eps · number)². The factor 64 allows for the
    rounding of the sums.
    """
    return variance <= (64 * np.finfo(np.float64).eps * mean) ** 2


class Workspace(threading.local):
    """Named arrays that are reused for every block of rows; each thread has its own arrays.

    A module or an object that needs working memory creates one workspace. Two workspaces never share memory. Two names
    of one workspace do not share memory either, nor do two threads.

    Notes
    -----
    Without reuse, the system maps and unmaps new arrays of some megabytes for every block. On tall, thin data the page
    faults cost as much as the arithmetic. Above eight megabytes the arithmetic dominates, and arrays are not kept.

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
        """Return an uninitialised array; its contents are valid until this thread requests the same name again."""
        size = math.prod(shape)
        if size > MAX_BUFFER_VALUES:
            return np.empty(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size)
        return buffer[:size].reshape(shape)

    @contextmanager
    def borrow(self, name: str, shape: tuple[int, ...]) -> Iterator[Floats]:
        """Lend an uninitialised array; requests for the same name inside the block get other memory.

        This is for code that calls functions of the user, because such a function may call the same code again.
        """
        array = self.array(name, shape)
        lent = self._buffers.pop(name, None)
        try:
            yield array
        finally:
            if lent is not None:
                self._buffers[name] = lent
