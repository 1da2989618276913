"""Options of the solvers of support vector machines, the task they solve, and the solution they return."""

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
    """Solver of the dual by working sets or coordinate descent, for every kernel and rows in memory.

    Parameters
    ----------
    cache_mb : float, optional
        Maximum size, in megabytes, of the cache of rows of the Gram matrix. Memory is allocated when it is needed. If
        folds are fitted in two threads there are two caches. Rows that do not fit are recomputed. With a very small
        cache there are many small working sets. By default 1000, or half of the machine's memory if that is less.
    max_iter : int, optional
        Maximum number of working sets, of 1024 to 3072 rows each, or of passes over sparse rows. A solver that reaches
        it warns and reports its duality gap. By default 1000, or 200 for a hard margin, which may not exist.
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
        """Return the maximum size of the cache in bytes; raise if the machine has less memory."""
        available = _memory()
        if self.cache_mb is None:
            return int(min(1e9, available / 2))
        asked = int(self.cache_mb * 1e6)
        if asked > available:
            raise InvalidParameterError(
                f"cache_mb of DualSolver is {self.cache_mb:g}, but the machine has {available / 1e6:.0f} MB of memory "
                "in total. Set a lower value. Rows of the Gram matrix that do not fit into the cache are recomputed.",
                parameter="cache_mb",
            )
        return asked

    def max_rounds(self, is_hard: bool = False) -> int:
        """Return the maximum number of working sets or passes."""
        return self.max_iter or (200 if is_hard else 1000)


@dataclass(frozen=True, kw_only=True)
class PrimalSolver:
    """Solver of the primal by Newton's method on smoothed losses, for the linear kernel.

    It needs only sums over blocks of rows, so it can learn from any source.

    Parameters
    ----------
    max_iter : int, default 500
        Maximum number of passes over the rows. A solver that reaches it warns and reports its duality gap.
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
"""Constraint on the solver parameter of SVM: a name, or a solver with options."""


def _memory() -> int:
    """Return the bytes of memory of the machine, or the largest integer if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def report_progress(verbose: bool, what: str) -> Callable[[int, float], None] | None:
    """Return a function that prints steps and relative gap at most once a second; None if not verbose."""
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
    """Training task of a support vector machine: one binary problem for each row of ``sides``, for each of the costs.

    Parameters
    ----------
    source : Source
    kernel : Kernel
        Fitted.
    bias_scale : float or None
        Scale of a penalised bias, 0 for no bias; None for a free bias.
    sides : array of shape (n_problems, n_classes)
        Side of every class in every problem; see :func:`make_sides`.
    costs : list of arrays of shape (n_classes,)
        Cost C of a row of each class, for every machine to be learned. Costs do not decrease, since each solution is
        the warm start of the next.
    tol : float
        Duality gap to reach, relative to the primal objective.
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
    """Trained support vector machine: the solutions of all problems of a task for one of the costs.

    Attributes
    ----------
    intercept, squares : arrays of shape (n_problems,)
        Biases b, and squared norms ‖w‖² of the weights.
    primal, dual : arrays of shape (n_problems,)
        Both objectives; of shape (1,) for a joint margin.
    n_iter : array of int of shape (n_problems,)
        Of shape (1,) for a joint margin.
    converged : bool
    support : array of int of shape (n_support,), or None
        Support vectors, as row numbers; None if the rows are not in memory.
    dual_coef : array of shape (n_problems, n_support), or None
        Dual coefficients times the side, z α, of the support vectors.
    coef : array of shape (n_problems, d), or None
        Weights w of linear kernels.
    centre : array of shape (d,), or None
        Subtracted from rows before ``coef`` and ``intercept`` are applied.
    precise : bool
        Whether rounding errors of the scores are small enough for the tolerance.
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


def make_sides(scheme: str, n_classes: int) -> Floats:
    """Return the side of every class in every problem: +1, −1, or 0 for a class that takes no part.

    The result has shape (n_problems, n_classes). Two classes make one problem, the second against the first. More
    classes make one problem for each class against the rest ("ovr"), or one for each pair, the later class against the
    earlier ("ovo"). A joint margin has a score for each class, as in one against the rest.
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


def combine_scores(scores: Floats, sides: Floats) -> Floats:
    """Combine the scores of the problems into scores of the classes; one score per row for two classes.

    In one against the rest, the score of a class is that of its problem. In one against one, the score of a class is
    the number of pairs it wins. Ties are broken by the sum of its pairwise scores, scaled to less than 1/3.
    """
    if len(sides) == 1:
        return np.asarray(scores[:, 0])
    if (sides != 0).all():
        return scores
    wins = np.where(scores >= 0, 1.0, 0.0) @ (sides > 0) + np.where(scores < 0, 1.0, 0.0) @ (sides < 0)
    sums = scores @ sides
    return np.asarray(wins + sums / (3 * (np.abs(sums) + 1)))
