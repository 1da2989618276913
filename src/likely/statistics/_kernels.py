"""The compiled loop of this package. It is imported only for large blocks, because importing numba is slow."""

import numba
import numpy as np

from likely._typing import Floats, Integers


@numba.njit(nogil=True, cache=True)
def sums_by_code(X: Floats, codes: Integers, weight: Floats, shift: Floats) -> tuple[Floats, ...]:
    """Return four sums over the rows of each code: of the weights, and for each column of w, w z and w z².

    Here w is the weight of a row, z is x − ``shift``, and values x that are NaN are left out of the sums of their
    column. A shift that is NaN is replaced, in place, by the first value of its code and column.

    Scatter about the mean is computed later from these sums, and subtracting in this formula loses digits if the shift
    is far from the mean. But the shift is one of the values summed. If no weight is much smaller than the others, its
    squared distance to the mean is at most the scatter, and no more than log10(number of rows) digits are lost.
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
