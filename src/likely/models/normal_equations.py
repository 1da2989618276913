"""Least squares in closed form: the normal equations, solved from moments."""

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
from likely.densities.factors import factor_if_well_conditioned, invert_factor
from likely.exceptions import warn_of_degenerate_data
from likely.models.linear_scores import check_scores, linear_scores
from likely.statistics import LinearMap, Moments

MIN_EIGENVALUE = 1e-12
"""Minimum eigenvalue of the covariance matrix of the inputs, after they are scaled to unit variance. Only along
directions with larger eigenvalues do the rows determine the solution. Sums in double precision resolve 1e-16 of the
largest eigenvalue, so every eigenvalue above the minimum has at least four correct digits."""


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Least-squares solution x ↦ t̄ + (x − m) W.

    The product uses deviations from the mean, not the rows themselves, so data far from zero lose no digits.

    Parameters
    ----------
    map : LinearMap
        Map with the centre m and the matrix W of shape (n_features, n_targets).
    target_mean : array of shape (n_targets,)
        t̄, the mean of the targets.
    whitener : array of shape (n_features, rank)
        U with U U' = (C + λI)⁻¹, where C is the covariance of the inputs; or with U U' equal to the pseudo-inverse, if
        C + λI is singular.
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
        """Values of the fitted functions at x = 0, of shape (n_targets,)."""
        return np.asarray(self.target_mean - self.coef @ self.map.centre)

    @property
    def rank(self) -> int:
        """Number of directions of the inputs along which the rows determine the solution."""
        return int(self.whitener.shape[1])

    def outputs(self, X: Rows) -> Floats:
        """Return the values of the fitted functions at validated rows, of shape (n, n_targets).

        Raise if a row is not finite.
        """
        return linear_scores(X, self.coef, self.target_mean, self.map.centre)

    def distances(self, X: Rows) -> Floats:
        """Return (x − m)' (C + λI)⁻¹ (x − m) for each validated row x, as an array of shape (n,)."""
        return check_scores(over_rows(partial(_distances, self), X, 1), X)[:, 0]


def cached_block_rows(width: int) -> int:
    """Return the number of rows of ``width`` values in a block that fits in the cache.

    It should fit because a block is read twice: once for the means, and once for the scatter about them.
    """
    return max(1, min(2**13, 2**20 // max(width, 1)))


def solve_least_squares(
    inputs: Moments, cross: Floats, target_mean: Floats, regularization: float, whom: str
) -> LinearFit:
    """Return the fit x ↦ x W + b that minimises the mean over rows of ½ ‖t − (x W + b)‖², plus λ/2 ‖W‖².

    The row vector x holds the inputs of a row, and t its targets.

    If the inputs do not determine W, return the solution of minimum norm, in units in which the columns have unit
    variance, and warn. Constant columns get the weight 0.

    Parameters
    ----------
    inputs : Moments
    cross : array of shape (n_features, n_targets)
        Sum over rows of w (x − mean)'(t − mean), where w is the weight of the row.
    target_mean : array of shape (n_targets,)
    regularization : float
        λ.
    whom : str
        Name of the estimator, for the warning.

    Notes
    -----
    The normal equations are (C + λI) W = c, with C = Σ w (x − mean)'(x − mean) / n and c = cross / n. n is the sum of
    the weights. C + λI is scaled to a unit diagonal. If the scaled matrix is well conditioned, its Cholesky factor
    solves the equations. Otherwise its eigenvectors solve them, and those with eigenvalues below 1e-12 are omitted.
    """
    d, variances = inputs.n_features, inputs.variances()
    # Columns whose variance is only rounding error are constant and get the weight 0.
    varying = np.flatnonzero(~is_rounding(variances, np.sqrt(inputs.mean**2 + variances)))
    C = inputs.covariance()[np.ix_(varying, varying)]
    white = _whitener(C + regularization * np.eye(len(varying)))
    if regularization > 0 and white.shape[1] < len(varying):  # C is singular and λ is negligible
        white = _ridge_whitener(C, regularization)
    U = np.zeros((d, white.shape[1]))
    U[varying] = white
    if white.shape[1] < d and not regularization:
        _warn_of_rank(whom, inputs, white.shape[1], np.setdiff1d(np.arange(d), varying))
    # W = (C + λI)⁻¹ c = U U' c
    W = U @ (U.T @ (cross / inputs.weight))
    return LinearFit(LinearMap(inputs.mean, W), target_mean, U)


def _whitener(A: Floats) -> Floats:
    """Return U with U U' = A⁻¹ for a covariance A.

    If A is singular, U U' is the pseudo-inverse of A in units in which A has a unit diagonal.
    """
    if not len(A):
        return A
    scale = np.sqrt(A.diagonal())
    R = A / np.outer(scale, scale)
    lower = factor_if_well_conditioned(R, MIN_EIGENVALUE)
    if lower is not None:
        return invert_factor(lower) / scale[:, None]
    values, vectors = eigh(R)
    kept = values > max(MIN_EIGENVALUE, len(R) * np.finfo(np.float64).eps)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])


def _ridge_whitener(C: Floats, regularization: float) -> Floats:
    """Return U with U U' = (C + λI)⁻¹, restricted to the directions along which the inputs vary.

    The weights are then 0 along the other directions, so their norm is the smallest, in the units of the inputs.
    """
    values, vectors = eigh(C)
    kept = values > len(C) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + regularization))


def _warn_of_rank(whom: str, inputs: Moments, rank: int, constant: Integers) -> None:
    d, weight = inputs.n_features, inputs.weight
    rows = "1 row" if weight == 1 else f"{weight:g} rows" if weight.is_integer() else f"a weight of {weight:g}"
    columns = ", ".join(map(str, constant[:5])) + (", …" if len(constant) > 5 else "")
    where = f" (constant columns: {columns})" if 0 < len(constant) < d else ""
    warn_of_degenerate_data(
        f"{whom} has {rows} for {d} features. The covariance of the features has rank {rank}{where}. The solution is "
        "not unique. The solution of minimum norm is used, with columns scaled to unit standard deviation. "
        "Drop constant and duplicate columns, or set regularization."
    )


def _distances(fit: LinearFit, rows: Floats) -> Floats:
    with np.errstate(all="ignore"):
        white = (rows - fit.map.centre) @ fit.whitener
        return np.asarray(np.einsum("ij,ij->i", white, white)[:, None])
