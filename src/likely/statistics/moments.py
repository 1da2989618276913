"""Moments of rows: total weight, mean and scatter about the mean. Gaussians and linear features learn from them.

Two immutable classes have the same methods. :class:`Moments` holds the scatter matrix, and :class:`DiagonalMoments`
only its diagonal. Moments are computed from rows by ``of``, are added by ``+``, and have a ``zero``. The method
``mapped`` computes the moments of the rows after a linear map, without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.linalg import blas, eigh
from scipy.sparse import issparse

from likely._constraints import Scope, ViolationError, either, floats, number
from likely._numerics import Workspace, dense
from likely._typing import Floats, Integers, Rows
from likely.exceptions import IncompatiblePartsError

_WORKSPACE = Workspace()

ROUNDING = 1e-6
"""Relative size of the rounding errors that are allowed in a scatter matrix that is loaded from a file. Rounding may
make the matrix asymmetric, or an entry of its diagonal negative."""

LARGE, MAX_CANCELLED = 2**15, 16.0
"""Limits for computing the scatter of a block without a centred copy of its rows (see :func:`scatter_about_zero`). The
block must have at least ``LARGE`` values, and in every column the mean square must be at most ``MAX_CANCELLED`` times
the variance."""


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Affine map x ↦ (x − centre) P, where P is a matrix, or a vector that is the diagonal of a diagonal matrix.

    The centre is subtracted before the product, so data far from zero lose no digits.

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

    centre: Annotated[Floats, floats("d")]
    matrix: Annotated[Floats, either(floats("d", "m"), floats("d"))]

    def _check_state(self, scope: Scope) -> None:
        if self.is_diagonal:
            scope.sizes["m"] = scope.sizes["d"]
            if not self.matrix.all():
                raise ViolationError("matrix must have no 0 on its diagonal, but has a 0 there")
        scope.sizes["axes"] = self.matrix.ndim

    @property
    def is_diagonal(self) -> bool:
        """Whether P is diagonal, so that each output is a multiple of one centred input."""
        return self.matrix.ndim == 1

    @property
    def n_outputs(self) -> int:
        """Number of columns of the mapped rows."""
        return int(self.matrix.shape[-1])

    def __call__(self, X: Floats) -> Floats:
        """Return the mapped rows (x − centre) P."""
        return self.times(np.subtract(X, self.centre, out=_WORKSPACE.array("about centre", X.shape)))

    def inverse(self, Z: Floats) -> Floats:
        """Return the rows that the map takes to ``Z``.

        If P has fewer outputs than inputs, many rows are mapped to the same output. The one nearest to the centre is
        returned.
        """
        if self.is_diagonal:
            return np.asarray(Z / self.matrix + self.centre)
        return np.asarray(Z @ np.linalg.pinv(self.matrix) + self.centre)

    def times(self, A: Floats) -> Floats:
        """Return A P, where A holds rows from which the centre has been subtracted."""
        return np.asarray(A * self.matrix if self.is_diagonal else A @ self.matrix)

    def scatter(self, S: Floats) -> Floats:
        """Return P' S P, the scatter matrix of the mapped rows, where S is the scatter matrix of the rows."""
        if self.is_diagonal:
            return np.asarray(self.matrix[:, None] * S * self.matrix)
        return np.asarray(self.matrix.T @ S @ self.matrix)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and full scatter matrix of weighted rows.

    Sums are in double precision for any type of input. The scatter is computed about the mean, so the variance is
    accurate even if it is 1 and the mean is 1e8.

    Parameters
    ----------
    weight : float
        Total weight of the rows; weights are frequencies.
    mean : array of shape (n_features,)
    scatter : array of shape (n_features, n_features)
        Σ w (x − mean)(x − mean)'.

    Notes
    -----
    Two sets of rows merge by (Chan, Golub and LeVeque 1983)::

        n = n_a + n_b,    δ = m_b − m_a,    m = m_a + (n_b / n) δ,    S = S_a + S_b + (n_a n_b / n) δδ'

    and an affine map x ↦ (x − c) P takes m to (m − c) P and S to P'SP.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 1.0]])
    >>> parts = Moments.of(X[:1]) + Moments.of(X[1:])
    >>> parts.mean, parts.covariance()
    (array([3., 1.]), array([[2.66666667, 0.66666667],
           [0.66666667, 0.66666667]]))
    """

    weight: Annotated[float, number(above=0)]
    mean: Annotated[Floats, floats("d")]
    scatter: Annotated[Floats, floats("d", "d")]

    def _check_state(self, scope: Scope) -> None:
        S = self.scatter
        with np.errstate(over="ignore"):
            # If all rows are equal, the scatter of the mapped rows is rounding error. The size of this error is
            # relative to the squares of the rows, so the scale includes the square of the mean.
            scale = np.abs(S).max() + self.weight * np.square(self.mean).max()
        slack = ROUNDING * scale + np.finfo(np.float64).tiny
        if (S.diagonal() < -slack).any():
            raise ViolationError("scatter must have no negative variance, but has one")
        if not np.abs(S - S.T).max() <= slack:
            raise ViolationError("scatter must be symmetric, but is not")

    def __post_init__(self) -> None:
        _freeze(self, "mean", "scatter")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @classmethod
    def zero(cls, n_features: int) -> Moments:
        """Return the moments of no rows."""
        return cls(0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    @classmethod
    def of(cls, X: Rows, weight: Floats | None = None, overwrite: bool = False) -> Moments:
        """Return the moments of rows. Sparse rows are made dense, because their scatter matrix is dense.

        With ``overwrite``, the memory of ``X``, if it is an array in double precision, may be used as working space,
        which destroys its contents.
        """
        X = dense(X)
        w = np.ones(len(X)) if weight is None else weight
        total = float(w.sum())
        mean = np.asarray(w @ X / total)
        scatter = scatter_about_zero(X, mean) if weight is None else None
        if scatter is not None:
            return cls(total, mean, scatter)
        # Rows with non-finite values are not overwritten, because the caller needs them for its error message.
        spare = overwrite and bool(np.isfinite(mean).all())
        centred = np.subtract(X, mean, out=X if spare else _WORKSPACE.array("centred", X.shape))
        return cls(total, *about_mean(centred, mean, weight))

    @classmethod
    def grouped(
        cls, X: Rows, codes: Integers, weight: Floats | None = None, overwrite: bool = False
    ) -> dict[int, Moments]:
        """Return the moments of the rows of each code that occurs in ``codes``, keyed by code."""
        return _moments_by_code(cls, X, codes, weight, overwrite)

    def __add__(self, other: Moments) -> Moments:
        _check_alike(self, other)
        if not self.weight or not other.weight:
            return self if self.weight else other
        weight = self.weight + other.weight
        share = other.weight / weight
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter = blas.dger(self.weight * share, step, step, a=scatter.T, overwrite_a=True).T
        return Moments(weight, self.mean + share * step, scatter)

    def mapped(self, linear: LinearMap) -> Moments:
        """Return the moments of the mapped rows."""
        return Moments(self.weight, linear.times(self.mean - linear.centre), linear.scatter(self.scatter))

    def leading(self, k: int) -> Moments:
        """Return the moments of the first k columns."""
        return Moments(self.weight, self.mean[:k], self.scatter[:k, :k])

    def centred(self) -> Moments:
        """Return the moments of the centred rows."""
        return Moments(self.weight, np.zeros_like(self.mean), self.scatter)

    def diagonal(self) -> DiagonalMoments:
        """Return the moments of the columns without their correlations."""
        d = len(self.mean)
        return DiagonalMoments(self.weight, np.full(d, self.weight), self.mean, self.scatter.diagonal().copy())

    def covariance(self, lost_degrees: float = 0) -> Floats:
        """Return the scatter divided by weight − ``lost_degrees``, or zeros if this divisor is not positive.

        ``lost_degrees`` is 0 for the maximum-likelihood estimate and 1 for the unbiased estimate.
        """
        degrees = self.weight - lost_degrees
        return np.asarray(self.scatter / degrees) if degrees > 0 else np.zeros_like(self.scatter)

    def variances(self, lost_degrees: float = 0) -> Floats:
        """Return the diagonal of the covariance."""
        return self.diagonal().variances(lost_degrees)

    def is_finite(self) -> bool:
        """Return whether all sums are finite.

        They are not finite if a value of a row is not finite, or if its square overflows.
        """
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.scatter.diagonal()).all())

    @cached_property
    def principal_axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the covariance, largest first, and the eigenvectors as columns.

        They are cached, so that every PCA of the same moments shares one decomposition.
        """
        values, vectors = eigh(self.covariance(), driver="evd")
        return values[::-1], vectors[:, ::-1]


@dataclass(frozen=True, eq=False)
class DiagonalMoments:
    """Weight, mean and sum of squared deviations of each column.

    Missing values (NaN) are skipped column by column, so each column has a separate weight.

    Parameters
    ----------
    weight : float
        Total weight of the rows.
    column_weights : array of shape (n_features,)
        Weight of the rows in which each column is present.
    mean : array of shape (n_features,)
        Mean of the values present; 0 for a column without values.
    scatter : array of shape (n_features,)
        Σ w (x − mean)² over the values present.

    Examples
    --------
    >>> import numpy as np
    >>> m = DiagonalMoments.of(np.array([[1.0, np.nan], [3.0, 5.0]]))
    >>> m.column_weights, m.mean, m.variances()
    (array([2., 1.]), array([2., 5.]), array([1., 0.]))
    """

    weight: Annotated[float, number(above=0)]
    column_weights: Annotated[Floats, floats("d", low=0)]
    mean: Annotated[Floats, floats("d")]
    scatter: Annotated[Floats, floats("d", low=0)]

    def __post_init__(self) -> None:
        _freeze(self, "column_weights", "mean", "scatter")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @classmethod
    def zero(cls, n_features: int) -> DiagonalMoments:
        """Return the moments of no rows."""
        return cls(0.0, np.zeros(n_features), np.zeros(n_features), np.zeros(n_features))

    @classmethod
    def of(cls, X: Rows, weight: Floats | None = None, overwrite: bool = False) -> DiagonalMoments:
        """Return the moments of dense or sparse rows. Values that a sparse array does not store are zeros.

        ``overwrite`` has no effect. :meth:`Moments.of` has the same argument.
        """
        w = np.ones(X.shape[0]) if weight is None else weight
        if issparse(X):
            return _sparse_moments(X, w)
        X = dense(X)
        missing = np.isnan(X)
        column_weights = w @ ~missing if missing.any() else np.full(X.shape[1], w.sum())
        present = np.where(missing, 0.0, X) if missing.any() else X
        mean = w @ present / _divisor(column_weights)
        deviations = np.where(missing, 0.0, X - mean)
        return cls(float(w.sum()), column_weights, mean, w @ np.square(deviations))

    @classmethod
    def grouped(
        cls, X: Rows, codes: Integers, weight: Floats | None = None, overwrite: bool = False
    ) -> dict[int, DiagonalMoments]:
        """Return the moments of the rows of each code that occurs in ``codes``, keyed by code.

        For a large dense block, one compiled loop over the rows computes the sums of all codes. Sorting the rows by
        code and summing the rows of each code with NumPy takes three times as long, mostly because the rows are copied.
        """
        if issparse(X) or X.size < 2**18:
            return _moments_by_code(cls, X, codes, weight, overwrite)
        from likely.statistics._kernels import sums_by_code

        w = np.ones(X.shape[0]) if weight is None else weight
        X = np.ascontiguousarray(dense(X))
        shift = np.full((int(codes.max()) + 1, X.shape[1]), np.nan)
        rows, present, first, second = sums_by_code(X, codes, w, shift)
        # The shift of a column is its first value. If this value has a small weight and is far from the others, the
        # sums lose many digits. Then repeat the pass with the mean as the shift.
        if (second > 1e6 * (second - first**2 / _divisor(present))).any():
            shift += first / _divisor(present)
            rows, present, first, second = sums_by_code(X, codes, w, shift)
        step = first / _divisor(present)
        scatter = np.maximum(second - first * step, 0.0)
        mean = np.where(present > 0, shift + step, 0.0)
        return {int(k): cls(float(rows[k]), present[k], mean[k], scatter[k]) for k in np.flatnonzero(rows)}

    def __add__(self, other: DiagonalMoments) -> DiagonalMoments:
        _check_alike(self, other)
        present = self.column_weights + other.column_weights
        share = other.column_weights / _divisor(present)
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter + self.column_weights * share * np.square(step)
        return DiagonalMoments(self.weight + other.weight, present, self.mean + share * step, scatter)

    def mapped(self, linear: LinearMap) -> DiagonalMoments:
        """Return the moments of the mapped rows; raise if the map is not diagonal."""
        if not linear.is_diagonal:
            raise IncompatiblePartsError(
                "Diagonal moments cannot be mapped by a projection, which mixes columns. "
                "Collect the statistics with the class Moments instead."
            )
        mean = np.where(self.column_weights > 0, linear.times(self.mean - linear.centre), 0.0)
        return DiagonalMoments(self.weight, self.column_weights, mean, self.scatter * np.square(linear.matrix))

    def centred(self) -> DiagonalMoments:
        """Return the moments of the centred rows."""
        return DiagonalMoments(self.weight, self.column_weights, np.zeros_like(self.mean), self.scatter)

    def diagonal(self) -> DiagonalMoments:
        """Return the moments themselves."""
        return self

    def variances(self, lost_degrees: float = 0) -> Floats:
        """Return, for each column, the scatter divided by the weight of the column − ``lost_degrees``.

        The variance is 0 if this divisor is not positive.
        """
        degrees = self.column_weights - lost_degrees
        return np.where(degrees > 0, self.scatter / _divisor(np.maximum(degrees, 0.0)), 0.0)

    def is_finite(self) -> bool:
        """Return whether all sums are finite.

        They are not finite if a value of a row is infinite, or if its square overflows. NaN is skipped as missing.
        """
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.scatter).all())


def about_mean(centred: Floats, mean: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the corrected mean and the scatter of rows from which the computed mean was subtracted.

    The mean of the centred rows is the rounding error of the computed mean. For rows far from zero this error can be
    many times the precision of the mean, so it is added to the mean. Its square is negligible in the scatter.
    """
    if weight is None:
        return np.asarray(mean + np.ones(len(centred)) @ centred / len(centred)), np.asarray(centred.T @ centred)
    error = weight @ centred / weight.sum()
    centred *= np.sqrt(weight)[:, None]
    return np.asarray(mean + error), np.asarray(centred.T @ centred)


def scatter_about_zero(X: Floats, mean: Floats) -> Floats | None:
    """Return Σ (x − mean)(x − mean)', computed without centring the rows, or None if the rows must be centred.

    Rows must be centred if their mean is far from zero. Small blocks are centred too, because this is fast. But
    centring a copy of a large block takes as long as the matrix product. The scatter is therefore computed as
    X'X − n mean mean'. This difference loses at most four bits if the mean square of every column is at most 16 times
    its variance. A few rows are tested for this before the product is computed, and all rows afterwards.
    """
    n = len(X)
    if X.size < LARGE:
        return None
    # Test about 32 rows. The limit is stricter by a factor of 4, because a few rows give only an estimate.
    few = X[:: n // 32 + 1]
    excess = np.einsum("ij,ij->j", few, few) / len(few) - np.square(mean)
    if not bool((np.square(mean) <= MAX_CANCELLED / 4 * excess).all()):
        return None
    # Compute X'X − n mean mean', and accept it if no column loses too many digits by cancellation.
    scatter = X.T @ X
    squares = scatter.diagonal().copy()
    total = mean * np.sqrt(n)
    scatter -= total[:, None] * total
    return scatter if bool((squares <= MAX_CANCELLED * scatter.diagonal()).all()) else None


def _freeze(statistic: Any, *names: str) -> None:
    """Replace the named arrays of a statistic by read-only views, in double precision and C order."""
    for name in names:
        view = np.ascontiguousarray(getattr(statistic, name), dtype=np.float64).view()
        view.flags.writeable = False
        object.__setattr__(statistic, name, view)


def _check_alike(a: Any, b: Any) -> None:
    if type(a) is not type(b) or a.n_features != b.n_features:
        raise IncompatiblePartsError(
            f"{type(a).__name__} of {a.n_features} columns cannot be added to {type(b).__name__} of {b.n_features} "
            "columns. Statistics must have the same type and number of columns. If the covariance of a model was "
            "changed, fit the model again."
        )


def _divisor(weights: Floats) -> Floats:
    """Return weights with 1 in place of 0, to be used as divisors.

    The sums of a column without values are 0, so that dividing them by 1 gives 0 instead of NaN.
    """
    return np.where(weights > 0, weights, 1.0)


def _sparse_moments(X: Any, w: Floats) -> DiagonalMoments:
    """Return the moments of sparse rows with weights ``w``.

    Squared deviations are summed over the stored values. The values that are not stored are zeros, and all zeros of a
    column are added as one term.
    """
    entries = X.tocoo()
    columns, values = entries.coords[1], entries.data.astype(np.float64)
    stored = w[entries.coords[0]]
    total, d = float(w.sum()), X.shape[1]
    known = ~np.isnan(values)
    columns, values, absent = columns[known], values[known], np.bincount(columns[~known], stored[~known], minlength=d)
    stored = stored[known]
    present: Floats = np.asarray(total - absent, dtype=np.float64)
    mean = np.bincount(columns, stored * values, minlength=d) / _divisor(present)
    zeros = np.maximum(present - np.bincount(columns, stored, minlength=d), 0.0)
    deviations = np.bincount(columns, stored * np.square(values - mean[columns]), minlength=d)
    return DiagonalMoments(total, present, mean, deviations + zeros * np.square(mean))


def _moments_by_code(kind: Any, X: Rows, codes: Integers, weight: Floats | None, overwrite: bool) -> dict[int, Any]:
    """Return the moments, of class ``kind``, of the rows of each code, keyed by code.

    The rows of each code are copied next to each other, in the order in which they occur.
    """
    sizes = np.bincount(codes)
    occurring = np.flatnonzero(sizes)
    if len(occurring) == 1:
        return {int(occurring[0]): kind.of(X, weight, overwrite)}
    # NumPy sorts 16-bit integers by radix sort, 16 times as fast as its comparison sort of wider integers.
    order = np.argsort(codes.astype(np.int16) if len(sizes) < 2**15 else codes, kind="stable")
    rows = X if issparse(X) else dense(X)
    ends = np.cumsum(sizes)
    runs = {int(k): order[ends[k] - sizes[k] : ends[k]] for k in occurring}
    return {k: _moments_of_rows(kind, rows, run, weight) for k, run in runs.items()}


def _moments_of_rows(kind: Any, X: Rows, run: Integers, weight: Floats | None) -> Any:
    """Return the moments, of class ``kind``, of the rows with the indices ``run``.

    Dense rows are copied next to each other into memory that is reused, because such memory stays in the cache.
    """
    w = None if weight is None else weight[run]
    if issparse(X):
        return kind.of(X[run], w)
    together = np.take(X, run, axis=0, out=_WORKSPACE.array("group", (len(run), X.shape[1])), mode="clip")
    return kind.of(together, w, overwrite=True)
