"""Separability of the two sides of a hard-margin problem in the feature space of the kernel.

Two finite sets of points cannot be separated by a hyperplane with a positive margin if and only if their convex hulls
share a point. Such a point, written as a convex combination of the rows of each side, is the certificate. It is found
by non-negative least squares.

References
----------
Lawson and Hanson, Solving least squares problems (1974), chapter 23, for non-negative least squares.
"""

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

NEAR_DISTANCE = 1e-2
"""A proof is sought once the distance of the two convex combinations, relative to the norm of the longest row, is
below this value."""

MAX_VALUES = 2**22
"""Maximum number of feature values for the test; it then takes seconds."""

ROUNDING = 1e-12
"""Relative sizes, and weights of a convex combination, that are treated as 0."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """Certificate that classes are not separable: a point that lies in the convex hulls of both sides.

    Attributes
    ----------
    rows : array of int of shape (k,)
        Rows with a positive weight.
    weights : array of shape (k,)
        Weight of each row in the convex combination of its side. The weights of each side sum to 1.
    distance : float
        Distance between the two convex combinations, relative to the spread of the rows: 0 up to rounding.

    Notes
    -----
    Without a bias (``bias_scale=0``) the certificate shows that the origin is a convex combination of the rows, where
    those of the first side are multiplied by −1. All weights together sum to 1, and ``distance`` is that of the
    combination from the origin, relative to the size of the rows.
    """

    rows: Annotated[Integers, integers("n")]
    weights: Annotated[Floats, floats("n")]
    distance: Annotated[float, number(0)]


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Feature vectors of the rows whose dot product is the kernel, centred and scaled to unit spread.

    Without a bias they are not centred, and scaled to unit size.

    Attributes
    ----------
    values : array of shape (n, d)
    rounding : float
        Bound of the rounding error of a difference of two rows.
    """

    values: Floats
    rounding: float

    @classmethod
    def of_rows(cls, X: Floats, has_bias: bool = True) -> KernelFeatures:
        """Return the features of a linear kernel. Each column has its own scale, which does not change separability."""
        size, spread = np.abs(X).max(axis=0), X.std(axis=0)
        if not has_bias:
            return cls(X[:, size > 0] / size[size > 0], 1e-14)
        varies = spread > ROUNDING * size
        values = (X - X.mean(axis=0))[:, varies] / spread[varies]
        return cls(values, 1e-14 * float((size[varies] / spread[varies]).max(initial=0.0)))

    @classmethod
    def of_matrix(cls, K: Floats, has_bias: bool = True) -> KernelFeatures:
        """Return features of any kernel, as many as the rank of its Gram matrix: K = ΦΦ' by pivoted Cholesky."""
        size = np.sqrt(float(K.diagonal().max()))
        factor, pivots, rank, _ = dpstrf(K, lower=1, tol=1e-13 * size**2)
        features = np.empty((len(K), rank))
        features[pivots - 1] = np.tril(factor)[:, :rank]
        if not has_bias:
            return cls(features / size, 1e-9)
        features -= features.mean(axis=0)
        spread = np.sqrt(float(np.square(features).sum(axis=1).mean()))
        spread = spread if spread > ROUNDING * size else size
        # The smallest pivot is 3e-7, the root of tol, and entries are known to 1e-16: their quotient has an error of
        # about 1e-9.
        return cls(features / spread, 1e-9 * size / spread)

    @property
    def is_small(self) -> bool:
        """Whether the features are few enough for the test."""
        return self.values.size <= MAX_VALUES


def find_overlap(features: KernelFeatures, z: Floats) -> Overlap | None:
    """Return the certificate, or None if a plane separates the sides or rounding does not allow a decision.

    Notes
    -----
    Let A be the matrix with the columns (z φ, [z = 1], [z = −1]), and b = (0, 1, 1). Then α ≥ 0 with Aα = b are the
    weights of two equal convex combinations. Let α ≥ 0 minimise ‖b − Aα‖ (non-negative least squares), and r = b − Aα.
    By the optimality conditions A'r ≤ 0 and b'r = ‖r‖². So if r is not 0, the plane with normal −r separates the sides.
    """
    columns = np.vstack([features.values.T * z, z > 0, z < 0])
    wanted = np.append(np.zeros(features.values.shape[1]), [1.0, 1.0])
    try:
        alpha, _ = nnls(columns, wanted)
    except RuntimeError:  # the active-set method cycles if features are collinear up to rounding
        return None
    # The residual is the normal of a separating plane, unless it is 0.
    normal = (columns @ alpha - wanted)[:-2]
    return None if _is_separating(features, normal, z) else _make_certificate(alpha, features, z)


def find_overlap_at_origin(features: KernelFeatures, z: Floats) -> Overlap | None:
    """Return the certificate that no plane through the origin separates the sides, or None as :func:`find_overlap`.

    Notes
    -----
    Let A be the matrix with the columns (z φ, 1), and b = (0, 1). Either α ≥ 0 with Aα = b exists, or a plane through
    the origin separates the sides (Gordan's theorem). As above, its normal is −r for the residual r of least squares.
    """
    columns = np.vstack([features.values.T * z, np.ones(len(z))])
    try:
        alpha, _ = nnls(columns, np.append(np.zeros(features.values.shape[1]), 1.0))
    except RuntimeError:
        return None
    normal = (columns @ alpha)[:-1]
    if float((z * (features.values @ normal)).min()) > features.rounding * float(np.linalg.norm(normal)):
        return None
    alpha = np.where(alpha > ROUNDING, alpha, 0.0)
    if not alpha.any():
        return None
    weights, rows = alpha / alpha.sum(), np.flatnonzero(alpha)
    distance = float(np.abs((weights * z) @ features.values).max(initial=0.0))
    return Overlap(rows, weights[rows], distance) if distance <= 10 * features.rounding else None


def _is_separating(features: KernelFeatures, normal: Floats, z: Floats) -> bool:
    """Return whether the projections of the two sides on a normal do not overlap, beyond rounding."""
    along = features.values @ normal
    between = float(along[z > 0].min()) - float(along[z < 0].max())
    return between > features.rounding * float(np.linalg.norm(normal))


def _make_certificate(alpha: Floats, features: KernelFeatures, z: Floats) -> Overlap | None:
    """Normalise weights to two convex combinations; None if these are not equal up to rounding."""
    alpha = np.where(alpha > ROUNDING, alpha, 0.0)
    totals = np.where(z > 0, alpha[z > 0].sum(), alpha[z < 0].sum())
    if not totals.all():
        return None
    weights, rows = alpha / totals, np.flatnonzero(alpha)
    distance = float(np.abs((weights * z) @ features.values).max(initial=0.0))
    return Overlap(rows, weights[rows], distance) if distance <= 10 * features.rounding else None


class SeparabilityCheck:
    """Callback of the dual solver that raises, with a proof, if no hard margin exists.

    If classes overlap, the dual is unbounded, and the convex combinations of the two sides with the dual coefficients
    as weights approach each other. Once they are near, the support vectors are tested for separability, at working sets
    1, 2, 4 and so on. If the support vectors are not separable, all rows are not.

    Parameters
    ----------
    rows : GramRows
    z : array of shape (n,)
        Sides of the rows, +1 or −1.
    is_linear : bool
        Whether the kernel is linear.
    positions : array of int of shape (n,)
        Row numbers in the user's data, for the message.
    problem : str
        Description of the problem, for the message.
    has_bias : bool
        Whether there is a bias, free or penalised.
    """

    def __init__(
        self, rows: GramRows, z: Floats, is_linear: bool, positions: Integers, problem: str, has_bias: bool = True
    ) -> None:
        self.rows, self.z, self.is_linear, self.positions, self.problem = rows, z, is_linear, positions, problem
        self.has_bias = has_bias
        self.calls, self.next = 0, 1

    def __call__(self, alpha: Floats, f: Floats) -> None:
        self.calls += 1
        support = np.flatnonzero(alpha)
        if self.calls < self.next or not self.has_bias < len(support) <= self.rows.max_set:
            return
        # ‖w‖ / (Σ α / 2) is the distance of the two convex combinations.
        length = np.sqrt(float(self.rows.kept[self.rows.slots(support), support].max()))
        distance = np.sqrt(max(float((alpha * self.z) @ f), 0.0)) / (float(alpha.sum()) / 2)
        if distance > NEAR_DISTANCE * length or (self.has_bias and len(np.unique(self.z[support])) < 2):
            return
        self.next = 2 * self.calls
        features, find = self._features(support), find_overlap if self.has_bias else find_overlap_at_origin
        overlap = find(features, self.z[support]) if features.is_small else None
        if overlap is not None:
            raise self._error(support, overlap)

    def _features(self, support: Integers) -> KernelFeatures:
        if self.is_linear and self.rows.X.shape[1] <= len(support):
            return KernelFeatures.of_rows(dense(self.rows.X[support]), self.has_bias)
        return KernelFeatures.of_matrix(self.rows.kept[self.rows.slots(support)[:, None], support], self.has_bias)

    def _error(self, support: Integers, overlap: Overlap) -> NotSeparableError:
        rows = self.positions[support[overlap.rows]]
        ups = self.z[support[overlap.rows]] > 0
        certificate = Overlap(rows, overlap.weights, overlap.distance)
        if not self.has_bias:
            return NotSeparableError(
                "SVM with a hard margin (C=inf) needs separable classes, but without a bias (bias_scale=0) no surface "
                f"of this kernel separates them in the problem {self.problem}. If the rows of the first side are "
                f"multiplied by −1, the origin is a convex combination of {_format_rows(rows)}, up to "
                f"{max(overlap.distance, 1e-16):.0e} times the size of the rows. The certificate of this error holds "
                "the rows and their weights. Set a finite C, or do not set bias_scale.",
                certificate,
            )
        return NotSeparableError(
            f"SVM with a hard margin (C=inf) needs separable classes, but no surface of this kernel separates "
            f"them in the problem {self.problem}. A convex combination of {_format_rows(rows[ups])} equals a convex "
            f"combination of {_format_rows(rows[~ups])}, up to {max(overlap.distance, 1e-16):.0e} times the spread of "
            "the rows. The certificate of this error holds the rows and their weights. Set a finite C, or use another "
            "kernel.",
            certificate,
        )


def _format_rows(rows: Integers) -> str:
    few = ", ".join(map(str, rows[:3].tolist()))
    if len(rows) == 1:
        return f"row {few}"
    return f"rows {few}" if len(rows) <= 3 else f"rows {few} and {len(rows) - 3} more"
