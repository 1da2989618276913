"""What a support vector machine is asked to solve, by which solver, and what it learned."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from likely._constraints import check_parameters, count, either, flag, instance_of, none_or, number, one_of
from likely._formatting import format_count
from likely._typing import Floats, Integers, Labels
from likely.blocks import ClassCounts, Source
from likely.exceptions import InvalidParameterError
from likely.kernels import Kernel


@dataclass(frozen=True, kw_only=True)
class DualSolver:
    """Solve the dual, by working sets or coordinate descent: for every kernel, and for rows in memory.

    Parameters
    ----------
    cache_mb : float, optional
        Most megabytes for rows of the kernel's matrix, allocated as they are needed; there are two such caches where
        folds are fitted in two threads. Rows that do not fit are computed again, and where hardly any fit, working sets
        are small and many. By default 1000, or half of the machine's memory if that is less.
    max_iter : int, optional
        Most working sets, of 1024 to 3072 rows, or passes over sparse rows; a solver stopped by it warns, with its gap.
        By default 1000, or 200 for a hard margin, which may not exist.
    verbose : bool, default False
        Whether to print progress to the standard error stream, once a second.

    Examples
    --------
    >>> import likely
    >>> model = likely.SVM(kernel="rbf", solver=likely.DualSolver(cache_mb=100))
    """

    cache_mb: Annotated[float | None, none_or(number(above=0))] = None
    max_iter: Annotated[int | None, none_or(count(1))] = None
    verbose: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    def cache_bytes(self) -> int:
        """The limit of the cache; raise if the machine has less memory."""
        available = _memory()
        if self.cache_mb is None:
            return int(min(1e9, available / 2))
        asked = int(self.cache_mb * 1e6)
        if asked > available:
            raise InvalidParameterError(
                f"cache_mb of DualSolver is {self.cache_mb:g}, but the machine has {available / 1e6:.0f} MB of memory "
                "in all. Lower it: rows of the kernel that do not fit are computed again.",
                parameter="cache_mb",
            )
        return asked

    def max_rounds(self, is_hard: bool = False) -> int:
        """Most working sets or passes."""
        return self.max_iter or (200 if is_hard else 1000)


@dataclass(frozen=True, kw_only=True)
class PrimalSolver:
    """Solve the primal, by Newton's method on smoothed losses: for the linear kernel.

    It learns from sums over blocks of rows, so from rows anywhere.

    Parameters
    ----------
    max_iter : int, default 500
        Most passes over the rows; a solver stopped by it warns, with its gap.
    verbose : bool, default False
        Whether to print progress to the standard error stream, once a second.

    Examples
    --------
    >>> import likely
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> likely.SVM(solver=likely.PrimalSolver()).fit(X, y).coef_.round(3)
    array([[1.]])
    """

    max_iter: Annotated[int, count(1)] = 500
    verbose: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        check_parameters(self)


SVM_SOLVER = either(one_of("auto", "dual", "primal"), instance_of(DualSolver, PrimalSolver))
"""A solver of support vector machines, by name or with options."""


def _memory() -> int:
    """Bytes of the machine, or the largest integer if they are unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def report_progress(verbose: bool, what: str) -> Callable[[int, float], None] | None:
    """A function that prints the steps and the relative gap of a solver, at most once a second; None if not verbose."""
    if not verbose:
        return None
    printed = time.monotonic()

    def report(steps: int, gap: float) -> None:
        nonlocal printed
        if time.monotonic() - printed >= 1:
            printed = time.monotonic()
            print(f"{what}: {format_count(steps, 'step')}, relative gap {gap:.1e}", file=sys.stderr, flush=True)

    return report


@dataclass(frozen=True, eq=False)
class Task:
    """What a machine learns: one problem for each row of ``sides``, for each of the costs.

    Parameters
    ----------
    source : Source
    kernel : Kernel
        Fitted.
    bias_scale : float or None
    sides : array of shape (n_problems, n_classes)
    costs : list of arrays of shape (n_classes,)
        Cost of a row of each class, for every machine to be learned; not decreasing, since each is the warm start of
        the next.
    tol : float
    counts : ClassCounts
        Rows and weights of each class.
    """

    source: Source
    kernel: Kernel
    bias_scale: float | None
    sides: Floats
    costs: list[Floats]
    tol: float
    counts: ClassCounts


@dataclass(frozen=True, eq=False)
class Machine:
    """What was learned: the solutions of all problems for one of the costs.

    Attributes
    ----------
    intercept, squares : arrays of shape (n_problems,)
        Biases, and squared lengths of the weights.
    primal, dual : arrays of shape (n_problems,)
        Of shape (1,) for a joint margin, as is the next.
    n_iter : array of int of shape (n_problems,)
    converged : bool
    support : array of int of shape (n_support,), or None
        Rows in memory with a dual coefficient > 0.
    dual_coef : array of shape (n_problems, n_support), or None
    coef : array of shape (n_problems, d), or None
        Of linear kernels.
    centre : array of shape (d,), or None
        To be subtracted from rows before ``coef`` and ``intercept``.
    precise : bool
        Whether scores have as many digits as the gap promises.
    """

    intercept: Floats
    squares: Floats
    primal: Floats
    dual: Floats
    n_iter: Integers
    converged: bool
    support: Integers | None = None
    dual_coef: Floats | None = None
    coef: Floats | None = None
    centre: Floats | None = None
    precise: bool = True


def sides_of(scheme: str, n_classes: int) -> Floats:
    """The side of every class in every problem: +1, −1, or 0 for one that takes no part; (n_problems, n_classes).

    Two classes are one problem, the second against the first. More are a problem for each class, against the rest, or
    for each pair, the later class against the earlier. A joint margin has a score for each class, as against the rest.
    """
    if n_classes == 2:
        return np.array([[-1.0, 1.0]])
    if scheme != "ovo":
        return 2 * np.eye(n_classes) - 1
    pairs = np.zeros((n_classes * (n_classes - 1) // 2, n_classes))
    for row, (first, second) in zip(pairs, combinations(range(n_classes), 2), strict=True):
        row[first], row[second] = -1.0, 1.0
    return pairs


def describe_sides(sides: Floats, classes: Labels) -> str:
    """Describe a problem for messages: "'b' against 'a'", or "'b' against the rest"."""
    names = classes.tolist()
    first, second = np.flatnonzero(sides < 0), np.flatnonzero(sides > 0)
    against = repr(names[int(first[0])]) if len(first) == 1 else "the rest"
    return f"{names[int(second[0])]!r} against {against}"


def class_scores(scores: Floats, sides: Floats) -> Floats:
    """Scores of the classes, from those of the problems; one a row for two classes.

    Against the rest every class has a score. Of pairs a class has as many points as pairs it wins, and ties are broken
    by the sum of its scores, scaled to less than a third of a point.
    """
    if len(sides) == 1:
        return np.asarray(scores[:, 0])
    if (sides != 0).all():
        return scores
    wins = np.where(scores >= 0, 1.0, 0.0) @ (sides > 0) + np.where(scores < 0, 1.0, 0.0) @ (sides < 0)
    sums = scores @ sides
    return np.asarray(wins + sums / (3 * (np.abs(sums) + 1)))
