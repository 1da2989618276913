"""Small numerical functions used in several packages, and reusable working memory."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Rows

MOST_VALUES = 2**20
"""Values of the largest array that a workspace keeps: eight megabytes."""


def dense(X: Rows) -> Floats:
    """Rows as a dense array in double precision; no copy where they are one already."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def log(values: Any) -> Floats:
    """Natural logarithm in which the log of zero is quietly minus infinity."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(values, dtype=np.float64)))


def difference(a: Floats, b: Floats) -> Floats:
    """``a - b`` in which two equal infinities differ by nothing.

    An observation impossible under both hypotheses is evidence for neither, so its log-likelihood ratio is 0 and not
    NaN.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.asarray(a - b)
    return np.where(np.isnan(gap) & (np.asarray(a) == np.asarray(b)), 0.0, gap)


def log_normalized(log_weights: Floats) -> Floats:
    """Rows of log-weights shifted so that their exponentials sum to one.

    Plus infinities share the whole mass of their row.
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
    """Whether a variance is no more than the rounding of a constant ``mean``.

    n copies of one number leave a variance of the order of (eps · number)²; 64 eps leaves room for the sums.
    """
    return variance <= (64 * np.finfo(np.float64).eps * mean) ** 2


class Workspace(threading.local):
    """Named arrays that their owner uses again for every block of rows; each thread has its own.

    A module, or an object, that needs working memory makes one workspace. Two workspaces never share memory, nor do
    two names of one workspace, nor two threads.

    Notes
    -----
    The system maps and unmaps fresh arrays of some megabytes on every block, and the page faults cost as much as the
    arithmetic on tall, thin data. Past eight megabytes the arithmetic dominates, and nothing is kept.

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
        """Return an uninitialised array, whose contents last until this thread asks for the same name again."""
        size = math.prod(shape)
        if size > MOST_VALUES:
            return np.empty(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size)
        return buffer[:size].reshape(shape)

    @contextmanager
    def borrow(self, name: str, shape: tuple[int, ...]) -> Iterator[Floats]:
        """Lend an uninitialised array; who asks for the same name meanwhile gets other memory.

        This is for code that calls functions of the user, which may come back to the same code.
        """
        array = self.array(name, shape)
        lent = self._buffers.pop(name, None)
        try:
            yield array
        finally:
            if lent is not None:
                self._buffers[name] = lent
