"""Squares and products of columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from likely._typing import Floats, Integers, Labels
from likely.blocks import Source, all_or_nothing
from likely.exceptions import InvalidParameterError
from likely.features.expansion import Expansion

__all__ = ["QuadraticFeatures"]

LARGEST = np.sqrt(np.finfo(np.float64).max / 2)
"""The largest value whose products, with their factor √2, do not overflow."""


class QuadraticFeatures(OneToOneFeatureMixin, Expansion):  # type: ignore[misc]
    """Add the squares and products of the columns, so that linear models of the outputs have quadratic boundaries.

    Products carry the factor √2, so that dot products of outputs are those of (vec(xx'), x), in which every product
    stands twice: models that know the rows by their dot products or distances alone, such as penalised linear ones,
    are the same on both, and here in about half the columns. Nothing is learned. Missing values are refused, since one
    of them would empty as many outputs as there are columns; put an imputer before. Large columns dominate the
    squares: put :class:`likely.Standardize` before it, or after it, or both.

    Parameters
    ----------
    kernel : bool, default False
        Whether to scale for the polynomial kernel: the columns themselves carry the factor √2 too, and a last output
        is 1, so that dot products are (x'y + 1)².

    Attributes
    ----------
    n_features_in_ : int

    Notes
    -----
    For d columns the d(d + 1)/2 + d outputs are x_0², √2 x_0 x_1, …, √2 x_0 x_{d−1}, x_1², …, x_{d−1}², x_0, …,
    x_{d−1}, with dot products φ(x)'φ(y) = (x'y)² + x'y. With ``kernel`` they are x_0², …, x_{d−1}², √2 x_0, …,
    √2 x_{d−1}, 1, one more, with dot products (x'y + 1)². Outputs are dense and in double precision. A
    :class:`likely.Pipeline` learns and scores through the expansion without holding it all.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> phi = QuadraticFeatures(kernel=True).fit([x, y])
    >>> phi.get_feature_names_out()
    array(['x0^2', 'x0 x1', 'x1^2', 'x0', 'x1', '1'], dtype=object)
    >>> phi.transform([x]).round(3)
    array([[1.   , 2.828, 4.   , 1.414, 2.828, 1.   ]])
    >>> a, b = phi.transform([x, y])
    >>> round(float(a @ b), 10), (x @ y + 1) ** 2
    (4.0, np.float64(4.0))
    """

    def __init__(self, kernel: bool = False) -> None:
        self.kernel = kernel

    def expands_to(self, n_features: int) -> int:
        """Number of outputs for so many features: d(d + 1)/2 + d, and one more for the kernel."""
        return n_features * (n_features + 3) // 2 + bool(self.kernel)

    def _learn(self, source: Source) -> None:
        if not isinstance(self.kernel, (bool, np.bool_)):
            raise InvalidParameterError(f"kernel of QuadraticFeatures must be True or False, but is {self.kernel!r}.")

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Check one more instalment of rows; there is nothing to learn from it."""
        with all_or_nothing(self):
            self._source(X, y, sample_weight, first=not hasattr(self, "n_features_in_"))
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Names of the outputs, such as "x0^2", "x0 x1" and "x0", with the names of the columns where they are known.

        The factor √2 is not shown.
        """
        names = super().get_feature_names_out(input_features).tolist()
        pairs = [f"{a}^2" if i == j else f"{a} {b}" for i, a in enumerate(names) for j, b in enumerate(names) if i <= j]
        return np.array([*pairs, *names, *(["1"] if self.kernel else [])], dtype=object)

    def _fill(self, rows: Floats, out: Floats) -> bool:
        if not np.abs(rows).max(initial=0.0) <= LARGEST:
            return False
        d, starts = rows.shape[1], _starts(rows.shape[1])
        scaled = np.sqrt(2.0) * rows
        for i, start in enumerate(starts):
            np.multiply(scaled[:, i:], rows[:, i : i + 1], out=out[:, start : start + d - i])
        out[:, starts] = np.square(rows)
        end = starts[-1] + 1
        out[:, end : end + d] = scaled if self.kernel else rows
        out[:, end + d :] = 1.0
        return True


def _starts(d: int) -> Integers:
    """Where the products of each column with itself and with those after it begin."""
    i = np.arange(d)
    return np.asarray(i * d - i * (i - 1) // 2)
