"""Fewer points for the same picture."""

from __future__ import annotations

import numpy as np

from likely._typing import Booleans, Floats

__all__ = ["FEW", "thinned"]

FEW = 4000
"""Curves of no more points are drawn as they are."""

_CELLS = 2000
"""Cells along each side of the axes: finer than the pixels of a page-wide print."""

Limits = tuple[float, float]


def thinned(x: Floats, y: Floats, x_limits: Limits, y_limits: Limits, always: Booleans | None = None) -> Booleans:
    """Which points of a curve to draw so that nobody sees a difference.

    The axes are cut into fine cells. While a curve stays in one cell, only its first and last point there are drawn.

    Parameters
    ----------
    x, y : arrays of shape (points,)
        Coordinates on the axes as drawn, that is, after a scale has been applied. They may be infinite.
    x_limits, y_limits : (low, high)
        Ends of the axes, in the same coordinates.
    always : array of bool of shape (points,), optional
        Points to draw in any case.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1_000_001)
    >>> kept = thinned(x, x**2, (0, 1), (0, 1))
    >>> int(kept.sum()) < 8000, bool(kept[0] and kept[-1])
    (True, True)
    """
    if len(x) <= FEW:
        return np.ones(len(x), dtype=bool)
    moves = (np.diff(_cells(x, x_limits)) != 0) | (np.diff(_cells(y, y_limits)) != 0)
    kept: Booleans = np.append(True, moves) | np.append(moves, True)
    return kept if always is None else kept | always


def _cells(values: Floats, limits: Limits) -> Floats:
    """The number of the cell each value lies in; what lies outside of the axes shares a cell."""
    low, high = limits
    return np.floor(np.clip((values - low) / (high - low), -0.01, 1.01) * _CELLS)
