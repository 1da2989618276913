"""Affine maps of rows, which moments can follow without seeing the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._numerics import Workspace
from likely._typing import Floats

__all__ = ["LinearMap"]

_WORKSPACE = Workspace()


@dataclass(frozen=True, eq=False)
class LinearMap:
    """The map x ↦ (x − centre) P, with P a matrix, or a vector that stands for a diagonal matrix.

    The centre is taken off before the product, so data far from zero lose no digits.

    Parameters
    ----------
    centre : array of shape (n_features,)
    matrix : array of shape (n_features, n_outputs), or (n_features,) for a diagonal P

    Examples
    --------
    >>> import numpy as np
    >>> LinearMap(np.array([1.0, 2.0]), np.array([10.0, 100.0]))(np.array([[2.0, 2.5]]))
    array([[10., 50.]])
    """

    centre: Floats
    matrix: Floats

    @property
    def is_diagonal(self) -> bool:
        """Whether each output is a multiple of one input."""
        return self.matrix.ndim == 1

    @property
    def n_outputs(self) -> int:
        """Number of columns of the mapped rows."""
        return int(self.matrix.shape[-1])

    def __call__(self, X: Floats) -> Floats:
        """Map rows."""
        return self.times(np.subtract(X, self.centre, out=_WORKSPACE.array("centred", X.shape)))

    def inverse(self, Z: Floats) -> Floats:
        """The rows that map to ``Z`` (of least squared distance to the centre, where P has fewer outputs)."""
        if self.is_diagonal:
            return np.asarray(Z / self.matrix + self.centre)
        return np.asarray(Z @ np.linalg.pinv(self.matrix) + self.centre)

    def times(self, A: Floats) -> Floats:
        """A P, for rows that have their centre off already."""
        return np.asarray(A * self.matrix if self.is_diagonal else A @ self.matrix)

    def scatter(self, S: Floats) -> Floats:
        """P' S P: how the map moves a scatter matrix."""
        if self.is_diagonal:
            return np.asarray(self.matrix[:, None] * S * self.matrix)
        return np.asarray(self.matrix.T @ S @ self.matrix)
