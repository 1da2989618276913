"""The one module that owns threads.

On a few cores, Python threads over blocks with a single-threaded BLAS in each beat a threaded BLAS, whose threads hurt
on tall, thin products. The limit on BLAS is process-wide, so it is set by whoever comes first and lifted by whoever
leaves last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S", bound=Any)

SUBTREES = 8
"""Tasks the tree is cut into: enough to balance a few threads, few enough to hold their sums."""

_worker = local()
_lock = Lock()
_inside = 0
_limit: Any = None


def n_threads() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tree_reduce(leaf: Callable[[int], S], n: int) -> S:
    """Add ``leaf(0) … leaf(n − 1)`` as a balanced binary tree.

    The tree depends on ``n`` alone, so the result has the same bits for any number of threads; a thread holds one sum
    for each level of its branch, never one for each leaf.
    """
    if n == 1:  # too little for a threaded BLAS, whose threads wait for each other the longer the busier the machine is
        with one_blas_thread():
            return leaf(0)
    branches = _branches(0, n, SUBTREES)
    sums = dict(zip(branches, for_each(lambda branch: _sum(leaf, *branch), branches), strict=True))
    return _join(sums, 0, n)


def for_each(task: Callable[[Any], S], items: list[Any]) -> list[S]:
    """Results of a task for each item, in order, on all cores with one BLAS thread in each.

    A task that calls this again does so in its own thread.
    """
    if len(items) < 2 or n_threads() == 1 or getattr(_worker, "busy", False):
        return [task(item) for item in items]
    with one_blas_thread():
        return list(_pool().map(task, items))


def _middle(low: int, high: int) -> int:
    return (low + high + 1) // 2


def _sum(leaf: Callable[[int], S], low: int, high: int) -> S:
    if high - low == 1:
        return leaf(low)
    middle = _middle(low, high)
    total: S = _sum(leaf, low, middle) + _sum(leaf, middle, high)
    return total


def _branches(low: int, high: int, most: int) -> list[tuple[int, int]]:
    if most == 1 or high - low == 1:
        return [(low, high)]
    middle = _middle(low, high)
    return _branches(low, middle, most // 2) + _branches(middle, high, most // 2)


def _join(sums: dict[tuple[int, int], S], low: int, high: int) -> S:
    if (low, high) in sums:
        return sums.pop((low, high))
    middle = _middle(low, high)
    total: S = _join(sums, low, middle) + _join(sums, middle, high)
    return total


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that are kept: starting two costs as much as scoring a thousand rows."""
    return ThreadPoolExecutor(n_threads(), "likely", initializer=lambda: setattr(_worker, "busy", True))


def _start_afresh() -> None:
    """In a forked child there are no threads, whoever held the lock is gone, and the limit is the parent's."""
    global _lock, _inside, _limit
    if _inside:
        _limit.__exit__(None, None, None)
    _lock, _inside, _limit = Lock(), 0, None
    _worker.busy = False
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside, BLAS uses one thread: for many small products, at which several would wait for each other."""
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
