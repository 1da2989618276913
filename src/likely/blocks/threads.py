"""Functions that run tasks in threads. No other module of the package starts threads.

On a few cores, Python threads over blocks, each with a single-threaded BLAS, are faster than a threaded BLAS, which is
slow for products of tall, thin matrices. The limit on BLAS threads applies to the whole process. The first function
that needs the limit therefore sets it, and the last function that is still running lifts it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S", bound=Any)

SUBTREES = 8
"""Maximum number of tasks into which the summation tree is divided. So many tasks keep a few threads equally busy, and
there is enough memory to store the sum of each task."""

_worker = local()
_lock = Lock()
_inside = 0
_limit: Any = None


def n_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tree_reduce(leaf: Callable[[int], S], n: int) -> S:
    """Add ``leaf(0) … leaf(n − 1)`` as a balanced binary tree.

    The tree depends only on ``n``, so the result has the same bits for any number of threads. A thread stores one sum
    for each level of its branch, not one for each leaf.
    """
    if n == 1:  # one block is too small for a threaded BLAS: on a busy machine BLAS threads wait for each other
        with one_blas_thread():
            return leaf(0)
    branches = _branches(0, n, SUBTREES)
    sums = dict(zip(branches, for_each(lambda branch: _sum(leaf, *branch), branches), strict=True))
    return _join(sums, 0, n)


def for_each(task: Callable[[Any], S], items: list[Any]) -> list[S]:
    """Return ``task(item)`` for each item, in the order of the items.

    The tasks run on all cores, each with a single-threaded BLAS. If a task itself calls ``for_each``, the inner tasks
    run one after another in the thread of the outer task.
    """
    if len(items) < 2 or n_threads() == 1 or getattr(_worker, "busy", False):
        return [task(item) for item in items]
    # Each task has a copy of the caller's context variables: the name of the estimator for error messages, the
    # suppressed warnings, and NumPy's errstate.
    contexts = [copy_context() for _ in items]
    with one_blas_thread():
        return list(_pool().map(lambda context, item: context.run(task, item), contexts, items))


def _middle(low: int, high: int) -> int:
    return (low + high + 1) // 2


def _sum(leaf: Callable[[int], S], low: int, high: int) -> S:
    if high - low == 1:
        return leaf(low)
    middle = _middle(low, high)
    total: S = _sum(leaf, low, middle) + _sum(leaf, middle, high)
    return total


def _branches(low: int, high: int, max_branches: int) -> list[tuple[int, int]]:
    if max_branches == 1 or high - low == 1:
        return [(low, high)]
    middle = _middle(low, high)
    return _branches(low, middle, max_branches // 2) + _branches(middle, high, max_branches // 2)


def _join(sums: dict[tuple[int, int], S], low: int, high: int) -> S:
    if (low, high) in sums:
        return sums.pop((low, high))
    middle = _middle(low, high)
    total: S = _join(sums, low, middle) + _join(sums, middle, high)
    return total


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool of the process.

    The pool is created once and reused, because starting two threads takes as long as scoring a thousand rows.
    """
    return ThreadPoolExecutor(n_threads(), "likely", initializer=lambda: setattr(_worker, "busy", True))


def _reset_after_fork() -> None:
    """Reset the state of this module in a forked child process.

    The child inherits the lock, the pool and the BLAS limit of its parent, but none of the parent's threads.
    """
    global _lock, _inside, _limit
    if _inside:
        _limit.__exit__(None, None, None)
    _lock, _inside, _limit = Lock(), 0, None
    _worker.busy = False
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the context.

    In many small matrix products, several BLAS threads would mostly wait for each other.
    """
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.__exit__(None, None, None)
