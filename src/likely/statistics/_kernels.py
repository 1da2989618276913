"""Compiled loop of this package, imported only for large blocks."""

import numba
import numpy as np

from likely._typing import Floats, Integers


@numba.njit(nogil=True, cache=True)
def sums_by_code(X: Floats, codes: Integers, weight: Floats, shift: Floats) -> tuple[Floats, ...]:
    """Return weighted sums and sums of squares of x − ``shift`` by code and column, without NaN.

    A shift of NaN is replaced, in place, by the first value. That is one of the values summed. If no weight is much
    smaller than the others, the squared distance of this value to the mean is at most the scatter itself. Moving the
    sums to the mean then cancels no more than log10(number of rows) digits.
    """
    (n, d), n_codes = X.shape, len(shift)
    rows, present = np.zeros(n_codes), np.zeros((n_codes, d))
    first, second = np.zeros((n_codes, d)), np.zeros((n_codes, d))
    for i in range(n):
        k, w = codes[i], weight[i]
        rows[k] += w
        for j in range(d):
            x = X[i, j]
            if x == x:  # not NaN
                if present[k, j] == 0 and shift[k, j] != shift[k, j]:
                    shift[k, j] = x
                x -= shift[k, j]
                present[k, j] += w
                first[k, j] += w * x
                second[k, j] += w * x * x
    return rows, present, first, second
