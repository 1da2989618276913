"""The compiled loop of this room, imported only when a large block asks for it."""

import numba
import numpy as np

from likely._typing import Floats, Integers

__all__ = ["sums_by_code"]


@numba.njit(nogil=True, cache=True)
def sums_by_code(X: Floats, codes: Integers, weight: Floats, n_codes: int) -> tuple[Floats, ...]:
    """Weighted sums and sums of squares by code and column, NaN left out, about each code's first value.

    The shift is one of the values summed, so its squared distance to the mean is at most the scatter itself: the
    cancellation when the sums are moved to the mean costs no more digits than log10 of the number of rows.
    """
    n, d = X.shape
    rows = np.zeros(n_codes)
    present, shift = np.zeros((n_codes, d)), np.zeros((n_codes, d))
    first, second = np.zeros((n_codes, d)), np.zeros((n_codes, d))
    for i in range(n):
        k, w = codes[i], weight[i]
        rows[k] += w
        for j in range(d):
            x = X[i, j]
            if x == x:
                if present[k, j] == 0:
                    shift[k, j] = x
                x -= shift[k, j]
                present[k, j] += w
                first[k, j] += w * x
                second[k, j] += w * x * x
    return rows, present, shift, first, second
