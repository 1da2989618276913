"""Functions of single rows, evaluated a block at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likely._numerics import dense
from likely._typing import Floats, Rows
from likely.blocks.threads import for_each

__all__ = ["over_rows"]

ROWS = 2**10
"""Rows scored at once: their products with all classes stay in the second-level cache."""


def over_rows(function: Callable[[Floats], Floats], X: Rows, n_outputs: int) -> Floats:
    """Stack ``function(rows)`` over blocks of dense, double-precision rows.

    Parameters
    ----------
    function : function of an array (n, n_features)
        Gives an array (n, n_outputs).
    """
    n = X.shape[0]
    out = np.empty((n, n_outputs))

    def fill(start: int) -> None:
        rows = X[start : start + ROWS]
        out[start : start + ROWS] = function(dense(rows))

    for_each(fill, list(range(0, n, ROWS)))
    return out
