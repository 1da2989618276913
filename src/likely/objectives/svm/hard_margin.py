"""Whether a surface keeps classes apart, and the proof that none does: a point that is a mixture of either's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls

from likely._typing import Floats, Integers

__all__ = ["Features", "Overlap", "overlap_of"]

MOST_VALUES = 2**22
"""Values of features that are looked at in seconds."""

ROUNDING = 1e-12
"""Parts of a size, and weights in a mixture, that are taken for none."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """The certificate that classes are not separable: one point that is a mixture of rows of either side.

    Attributes
    ----------
    rows : array of int of shape (k,)
        The rows that take part.
    weights : array of shape (k,)
        Of each in the mixture of its side; those of a side sum to 1.
    distance : float
        Between the two mixtures, in parts of the spread of the rows: 0 but for rounding.
    """

    rows: Integers
    weights: Floats
    distance: float


@dataclass(frozen=True, eq=False)
class Features:
    """Rows in a space where the kernel is their dot product, in units of their spread there.

    Attributes
    ----------
    values : array of shape (n, d)
    rounding : float
        What a difference of two rows may be wrong by.
    """

    values: Floats
    rounding: float

    @classmethod
    def of_rows(cls, X: Floats) -> Features:
        """Of a linear kernel, which sees the same planes whatever the unit of each column."""
        size, spread = np.abs(X).max(axis=0), X.std(axis=0)
        varies = spread > ROUNDING * size
        values = (X - X.mean(axis=0))[:, varies] / spread[varies]
        return cls(values, 1e-14 * float((size[varies] / spread[varies]).max(initial=0.0)))

    @classmethod
    def of_matrix(cls, K: Floats) -> Features:
        """Of any kernel, as many as its matrix has rank: K = ΦΦ', by Cholesky's method with pivots."""
        size = np.sqrt(float(K.diagonal().max()))
        factor, pivots, rank, _ = dpstrf(K, lower=1, tol=1e-13 * size**2)
        features = np.empty((len(K), rank))
        features[pivots - 1] = np.tril(factor)[:, :rank]
        features -= features.mean(axis=0)
        spread = np.sqrt(float(np.square(features).sum(axis=1).mean()))
        spread = spread if spread > ROUNDING * size else size
        return cls(features / spread, 1e-9 * size / spread)  # a pivot of 3e-7 divides what is known to 1e-16

    @property
    def is_small(self) -> bool:
        """Whether they are looked at soon."""
        return self.values.size <= MOST_VALUES


def overlap_of(features: Features, z: Floats) -> Overlap | None:
    """The certificate; none if a plane keeps the sides apart, however near they are, or rounding leaves it open.

    Notes
    -----
    With A the matrix of the columns (z φ, [z = 1], [z = −1]) and b = (0, 1, 1), α ≥ 0 with Aα = b are two mixtures that
    are equal. Let α ≥ 0 be those with the least ‖b − Aα‖, and r = b − Aα. Then A'r ≤ 0 and b'r = ‖r‖², so unless r is 0
    the plane across −r keeps the sides apart.
    """
    columns = np.vstack([features.values.T * z, z > 0, z < 0])
    wanted = np.append(np.zeros(features.values.shape[1]), [1.0, 1.0])
    try:
        alpha, _ = nnls(columns, wanted)
    except RuntimeError:  # it goes round where features depend on each other but for rounding
        return None
    normal = (columns @ alpha - wanted)[:-2]
    return None if _is_apart(features, normal, z) else _mixtures(alpha, features, z)


def _is_apart(features: Features, normal: Floats, z: Floats) -> bool:
    along = features.values @ normal
    between = float(along[z > 0].min()) - float(along[z < 0].max())
    return between > features.rounding * float(np.linalg.norm(normal))


def _mixtures(alpha: Floats, features: Features, z: Floats) -> Overlap | None:
    """Mixtures that are equal but for rounding; none if they are not."""
    alpha = np.where(alpha > ROUNDING, alpha, 0.0)
    totals = np.where(z > 0, alpha[z > 0].sum(), alpha[z < 0].sum())
    if not totals.all():
        return None
    weights, rows = alpha / totals, np.flatnonzero(alpha)
    distance = float(np.abs((weights * z) @ features.values).max(initial=0.0))
    return Overlap(rows, weights[rows], distance) if distance <= 10 * features.rounding else None
