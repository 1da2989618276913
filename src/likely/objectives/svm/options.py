"""How a support vector machine is solved: the solvers, and their options."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._validation import check_count, is_number
from likely._words import counted
from likely.exceptions import InvalidParameterError

__all__ = ["DualSolver", "PrimalSolver", "svm_solver_of"]

Tell = Callable[[int, float], None]


@dataclass(frozen=True)
class DualSolver:
    """Multipliers of the rows, by working sets: for every kernel, and for rows that are all in memory.

    Parameters
    ----------
    cache_mb : float, optional
        Most megabytes for rows of the kernel's matrix, a limit that is not passed, taken as they are needed; there are
        two such caches where folds are fitted in two threads. Rows that do not fit are reckoned again, and where hardly
        any do, working sets are small and many. By default 1000, or half of the machine's memory if that is less.
    max_iter : int, optional
        Most working sets, of 1024 to 3072 rows, or passes over sparse rows; a solver stopped by it says how far it got.
        By default 1000, or 200 for a hard margin, which may not exist.
    verbose : bool, default False
        Whether to say on the standard error stream, once a second, how far it is.

    Examples
    --------
    >>> import likely
    >>> model = likely.SVM(kernel="rbf", solver=likely.DualSolver(cache_mb=100))
    """

    cache_mb: float | None = None
    max_iter: int | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, "DualSolver")
        if self.cache_mb is not None and not (is_number(self.cache_mb) and 0 < self.cache_mb < np.inf):
            raise InvalidParameterError(
                f"cache_mb of DualSolver must be a finite number > 0, but is {self.cache_mb!r}."
            )

    def bytes_kept(self) -> int:
        """The limit of the cache, which the machine must be able to keep."""
        there = _memory()
        if self.cache_mb is None:
            return int(min(1e9, there / 2))
        asked = int(self.cache_mb * 1e6)
        if asked > there:
            raise InvalidParameterError(
                f"cache_mb of DualSolver is {self.cache_mb:g}, but the machine has {there / 1e6:.0f} MB of memory in "
                "all. Lower it: rows of the kernel that do not fit are reckoned again."
            )
        return asked

    def most(self, is_hard: bool = False) -> int:
        """Most working sets or passes."""
        return self.max_iter or (200 if is_hard else 1000)


@dataclass(frozen=True)
class PrimalSolver:
    """Weights of the columns, by Newton's method on ever less smoothed losses: for the linear kernel.

    It learns from sums over blocks of rows, so from rows anywhere.

    Parameters
    ----------
    max_iter : int, default 500
        Most passes over the rows; a solver stopped by it says how far it got.
    verbose : bool, default False
        Whether to say on the standard error stream, once a second, how far it is.

    Examples
    --------
    >>> import likely
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> likely.SVM(solver=likely.PrimalSolver()).fit(X, y).coef_.round(3)
    array([[1.]])
    """

    max_iter: int = 500
    verbose: bool = False

    def __post_init__(self) -> None:
        check_count("max_iter", self.max_iter, "PrimalSolver")


def svm_solver_of(value: Any) -> DualSolver | PrimalSolver | None:
    """The solver that a name stands for, or the solver itself; None where the data decide."""
    named: dict[str, DualSolver | PrimalSolver | None] = {
        "auto": None,
        "dual": DualSolver(),
        "primal": PrimalSolver(),
    }
    if isinstance(value, str) and value in named:
        return named[value]
    if isinstance(value, (DualSolver, PrimalSolver)):
        return value
    raise InvalidParameterError(
        f"solver of SVM must be 'auto', 'dual', 'primal', DualSolver(...) or PrimalSolver(...), but is {value!r}."
    )


def teller(verbose: bool, what: str) -> Tell | None:
    """A function that says how far a solver is, at most once a second."""
    if not verbose:
        return None
    said = time.monotonic()

    def tell(steps: int, gap: float) -> None:
        nonlocal said
        if time.monotonic() - said >= 1:
            said = time.monotonic()
            print(f"{what}: {counted(steps, 'step')}, relative gap {gap:.1e}", file=sys.stderr, flush=True)

    return tell


def _memory() -> int:
    """Bytes of the machine, or as many as can be if it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
