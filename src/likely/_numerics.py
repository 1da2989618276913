"""Small numerical pieces used in several rooms, each with its reason."""

import math
import threading
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._typing import Floats, Rows

__all__ = ["dense", "difference", "is_rounding", "log", "log_normalized", "scratch"]

_local = threading.local()


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


def scratch(shape: tuple[int, ...], slot: int) -> Floats:
    """A reused, uninitialised array of this thread's own; contents last until the slot's next use.

    Fresh megabyte arrays are mapped and unmapped by the system on every block; the page faults cost as much as the
    arithmetic on tall, thin data. Past eight megabytes the arithmetic dominates and nothing is kept.
    """
    size = math.prod(shape)
    if size > 2**20:
        return np.empty(shape)
    buffers: dict[int, Floats] = _local.__dict__.setdefault("buffers", {})
    if slot not in buffers or buffers[slot].size < size:
        buffers[slot] = np.empty(size)
    return buffers[slot][:size].reshape(shape)
