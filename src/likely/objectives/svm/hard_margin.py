"""Whether a surface separates the classes, and the proof that none does: a point in the convex hulls of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls

from likely._constraints import floats, integers, number
from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.exceptions import NotSeparableError
from likely.kernels import GramRows

NEAR = 1e-2
"""Distance of two mixtures, relative to the length of the longest row, below which a proof is sought."""

MAX_VALUES = 2**22
"""Values of features for which the test takes seconds."""

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

    rows: Annotated[Integers, integers("n")]
    weights: Annotated[Floats, floats("n")]
    distance: Annotated[float, number(0)]


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
        """Whether the test is quick."""
        return self.values.size <= MAX_VALUES


def overlap_of(features: Features, z: Floats) -> Overlap | None:
    """The certificate; None if a plane separates the sides, however near they are, or rounding leaves it open.

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
    except RuntimeError:  # it cycles where features are collinear up to rounding
        return None
    normal = (columns @ alpha - wanted)[:-2]
    return None if _is_apart(features, normal, z) else _mixtures(alpha, features, z)


def _is_apart(features: Features, normal: Floats, z: Floats) -> bool:
    along = features.values @ normal
    between = float(along[z > 0].min()) - float(along[z < 0].max())
    return between > features.rounding * float(np.linalg.norm(normal))


def _mixtures(alpha: Floats, features: Features, z: Floats) -> Overlap | None:
    """Mixtures that are equal but for rounding; None if they are not."""
    alpha = np.where(alpha > ROUNDING, alpha, 0.0)
    totals = np.where(z > 0, alpha[z > 0].sum(), alpha[z < 0].sum())
    if not totals.all():
        return None
    weights, rows = alpha / totals, np.flatnonzero(alpha)
    distance = float(np.abs((weights * z) @ features.values).max(initial=0.0))
    return Overlap(rows, weights[rows], distance) if distance <= 10 * features.rounding else None


class SeparabilityCheck:
    """Checks, while a hard margin is sought, whether there is one; if not it raises with the proof.

    Where classes overlap the weighted means of the two sides, with the dual coefficients as weights, approach each
    other. Once they are near, the support vectors are tested for separability, at working sets 1, 2, 4 and so on: if
    these are not separable, all rows are not.

    Parameters
    ----------
    rows : GramRows
    z : array of shape (n,)
        Sides of the rows.
    is_linear : bool
    positions : array of int of shape (n,)
        Of the rows among those of the user, for the message.
    problem : str
        Description of the problem, for the message.
    """

    def __init__(self, rows: GramRows, z: Floats, is_linear: bool, positions: Integers, problem: str) -> None:
        self.rows, self.z, self.is_linear, self.positions, self.problem = rows, z, is_linear, positions, problem
        self.calls, self.next = 0, 1

    def __call__(self, alpha: Floats, f: Floats) -> None:
        self.calls += 1
        support = np.flatnonzero(alpha)
        if self.calls < self.next or not 1 < len(support) <= self.rows.most_together:
            return
        length = np.sqrt(float(self.rows.kept[self.rows.slots(support), support].max()))
        distance = np.sqrt(max(float((alpha * self.z) @ f), 0.0)) / (float(alpha.sum()) / 2)
        if distance > NEAR * length or len(np.unique(self.z[support])) < 2:
            return
        self.next = 2 * self.calls
        features = self._features(support)
        overlap = overlap_of(features, self.z[support]) if features.is_small else None
        if overlap is not None:
            raise self._error(support, overlap)

    def _features(self, support: Integers) -> Features:
        if self.is_linear and self.rows.X.shape[1] <= len(support):
            return Features.of_rows(dense(self.rows.X[support]))
        return Features.of_matrix(self.rows.kept[self.rows.slots(support)[:, None], support])

    def _error(self, support: Integers, overlap: Overlap) -> NotSeparableError:
        rows = self.positions[support[overlap.rows]]
        ups = self.z[support[overlap.rows]] > 0
        return NotSeparableError(
            f"SVM with a hard margin (C=inf) needs classes that a surface keeps apart, but no surface of this kernel "
            f"does so for {self.problem}: a mixture of {_name_rows(rows[ups])} and one of "
            f"{_name_rows(rows[~ups])} are the same point but for {max(overlap.distance, 1e-16):.0e} of the spread "
            "of the rows (the error's certificate has the rows and their weights). Set a finite C, or use another "
            "kernel.",
            Overlap(rows, overlap.weights, overlap.distance),
        )


def _name_rows(rows: Integers) -> str:
    few = ", ".join(map(str, rows[:3].tolist()))
    if len(rows) == 1:
        return f"row {few}"
    return f"rows {few}" if len(rows) <= 3 else f"rows {few} and {len(rows) - 3} more"
