"""Least squares in closed form from moments: what the linear models without iteration share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from scipy.linalg import eigh

from likely._constraints import Scope, ViolationError, floats, instance_of
from likely._numerics import is_rounding
from likely._typing import Floats, Integers, Rows
from likely.blocks import over_rows
from likely.densities.factors import invert_factor, factor_if_well_conditioned
from likely.exceptions import warn_of_degenerate_data
from likely.models.linear_scores import check_scores, linear_scores
from likely.statistics import LinearMap, Moments

CUT = 1e-12
"""Least eigenvalue, of inputs scaled to unit variance, at which a direction counts as determined: sums in double
precision resolve 1e-16 of the largest, so what is kept has at least four digits."""


@dataclass(frozen=True, eq=False)
class LinearFit:
    """The function x ↦ t̄ + (x − m) W of least mean squared error.

    Deviations from the mean are multiplied, and not rows and an intercept, so data far from zero lose no digits.

    Parameters
    ----------
    map : LinearMap
        With the centre m and the matrix W, of shape (n_features, n_targets).
    target_mean : array of shape (n_targets,)
    whitener : array of shape (n_features, rank)
        U with U U' = (C + λI)⁻¹, for C the covariance of the inputs, or its pseudo-inverse.
    """

    map: Annotated[LinearMap, instance_of(LinearMap, d="d", m="t")]
    target_mean: Annotated[Floats, floats("t")]
    whitener: Annotated[Floats, floats("d", "rank*")]

    def _check_state(self, scope: Scope) -> None:
        if self.map.is_diagonal:
            raise ViolationError("map must have a matrix, but has only a diagonal")

    @property
    def coef(self) -> Floats:
        """W', of shape (n_targets, n_features)."""
        return self.map.matrix.T

    @property
    def intercept(self) -> Floats:
        """Values at the origin, of shape (n_targets,)."""
        return np.asarray(self.target_mean - self.coef @ self.map.centre)

    @property
    def rank(self) -> int:
        """Number of directions of the inputs that are determined."""
        return int(self.whitener.shape[1])

    def outputs(self, X: Rows) -> Floats:
        """Values at validated rows, of shape (n, n_targets); rows that are not finite are refused."""
        return linear_scores(X, self.coef, self.target_mean, self.map.centre)

    def distances(self, X: Rows) -> Floats:
        """(x − m)' (C + λI)⁻¹ (x − m) of validated rows, of shape (n,)."""
        return check_scores(over_rows(partial(_distances, self), X, 1), X)[:, 0]


def short_blocks(width: int) -> int:
    """Rows of blocks that are read twice in a row, for their means and for their scatter: what nearby caches hold."""
    return max(1, min(2**13, 2**20 // max(width, 1)))


def solve_least_squares(
    inputs: Moments, cross: Floats, target_mean: Floats, regularization: float, whom: str
) -> LinearFit:
    """Minimise the mean of ½ ‖t − (x W + b)‖², plus λ/2 ‖W‖², over W and b.

    Where inputs leave W undetermined, the solution of least norm is taken, in units in which the columns have unit
    variance, with a warning; constant columns get 0.

    Parameters
    ----------
    inputs : Moments
    cross : array of shape (n_features, n_targets)
        Σ w (x − mean)(t − mean)'.
    target_mean : array of shape (n_targets,)
    regularization : float
        λ.
    whom : str
        The estimator, for the warning.

    Notes
    -----
    (C + λI) W = c, with C = Σ w (x − mean)(x − mean)' / n and c = cross / n, is solved with C + λI scaled to a unit
    diagonal: by its Cholesky factor where it is well conditioned, and otherwise by its eigenvectors, of which those
    with eigenvalues below 1e-12 are left out.
    """
    d, variances = inputs.n_features, inputs.variances()
    varying = np.flatnonzero(~is_rounding(variances, np.sqrt(inputs.mean**2 + variances)))
    C = inputs.covariance()[np.ix_(varying, varying)]
    white = _whitener(C + regularization * np.eye(len(varying)))
    if regularization > 0 and white.shape[1] < len(varying):  # a penalty too small to be seen beside the covariance
        white = _ridge_whitener(C, regularization)
    U = np.zeros((d, white.shape[1]))
    U[varying] = white
    if white.shape[1] < d and not regularization:
        _warn(whom, inputs, white.shape[1], np.setdiff1d(np.arange(d), varying))
    W = U @ (U.T @ (cross / inputs.weight))
    return LinearFit(LinearMap(inputs.mean, W), target_mean, U)


def _whitener(A: Floats) -> Floats:
    """U with U U' the inverse of a matrix, or its pseudo-inverse in units in which it has a unit diagonal."""
    if not len(A):
        return A
    scale = np.sqrt(A.diagonal())
    R = A / np.outer(scale, scale)
    lower = factor_if_well_conditioned(R, CUT)
    if lower is not None:
        return invert_factor(lower) / scale[:, None]
    values, vectors = eigh(R)
    kept = values > max(CUT, len(R) * np.finfo(np.float64).eps)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])


def _ridge_whitener(C: Floats, regularization: float) -> Floats:
    """U with U U' the inverse of C + λI on the directions that vary, for the smallest weights in the user's units."""
    values, vectors = eigh(C)
    kept = values > len(C) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + regularization))


def _warn(whom: str, inputs: Moments, rank: int, constant: Integers) -> None:
    d, weight = inputs.n_features, inputs.weight
    rows = "1 row" if weight == 1 else f"{weight:g} rows" if weight.is_integer() else f"a weight of {weight:g}"
    columns = ", ".join(map(str, constant[:5])) + (", …" if len(constant) > 5 else "")
    where = f" (constant columns: {columns})" if 0 < len(constant) < d else ""
    warn_of_degenerate_data(
        f"{whom} has {rows} for {d} features, whose covariance has rank {rank}{where}. Of all coefficients that fit "
        "equally well the smallest were taken, in units of each column's spread. Drop constant and duplicate columns, "
        "or set regularization."
    )


def _distances(fit: LinearFit, rows: Floats) -> Floats:
    with np.errstate(all="ignore"):
        white = (rows - fit.map.centre) @ fit.whitener
        return np.asarray(np.einsum("ij,ij->i", white, white)[:, None])
