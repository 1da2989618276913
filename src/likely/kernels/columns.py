"""Matrices of kernels, a piece at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import product
from typing import Any

import numpy as np

from likely._numerics import Workspace
from likely._typing import Floats, Rows
from likely.blocks import for_each

__all__ = ["Columns", "by_pieces", "matrix_of", "weighted_sums"]

_WORKSPACE = Workspace()

ROWS, COLUMNS = 256, 512
"""Of a piece: a megabyte, so that exponentials find its products in the second-level cache."""


class Columns(ABC):
    """Rows made ready to be the columns of a kernel's matrix.

    Attributes
    ----------
    n : int
        How many they are.
    """

    n: int

    @abstractmethod
    def facing(self, A: Rows) -> Any:
        """Other rows, made ready to be the rows of the matrix."""

    @abstractmethod
    def fill(self, rows: Any, part: slice, columns: slice, out: Floats) -> None:
        """Write the kernel of a part of the rows made ready, and of some of the columns."""


def matrix_of(columns: Columns, A: Rows) -> Floats:
    """The kernel of all rows of A with all columns, of shape (n_A, n)."""
    out = np.empty((A.shape[0], columns.n))

    def keep(part: slice, some: slice, piece: Floats) -> None:
        out[part, some] = piece

    by_pieces(columns, A, keep)
    return out


def weighted_sums(columns: Columns, A: Rows, weights: Floats) -> Floats:
    """Σ_j k(a, x_j) weights[j] for each row a of A, of shape (n_A, n_outputs); no matrix is held."""
    out = np.zeros((A.shape[0], weights.shape[1]))

    def score(start: int) -> None:
        part = slice(start, min(start + ROWS, len(out)))
        with np.errstate(over="ignore", invalid="ignore"):
            ready = columns.facing(A[part])
            for some in _cuts(columns.n, COLUMNS):
                with _piece(part, some) as piece:
                    columns.fill(ready, slice(None), some, piece)
                    out[part] += piece @ weights[some]

    for_each(score, list(range(0, len(out), ROWS)))
    return out


def by_pieces(columns: Columns, A: Rows, keep: Callable[[slice, slice, Floats], None]) -> None:
    """The kernel of all rows with all columns, in pieces that are kept by a function.

    Values too large for doubles come out as infinities or NaN, without warnings; callers must look for them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        ready, n = columns.facing(A), A.shape[0]

    def fill(piece: tuple[slice, slice]) -> None:
        with _piece(*piece) as out:
            with np.errstate(over="ignore", invalid="ignore"):  # here too: it holds for one thread
                columns.fill(ready, *piece, out)
            keep(*piece, out)

    for_each(fill, list(product(_cuts(n, ROWS), _cuts(columns.n, COLUMNS))))


def _piece(part: slice, columns: slice) -> AbstractContextManager[Floats]:
    """Working memory for a piece of the matrix, lent: a function of the user may evaluate another kernel meanwhile."""
    return _WORKSPACE.borrow("piece", (part.stop - part.start, columns.stop - columns.start))


def _cuts(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
