"""Weight, mean and scatter about the mean: all that Gaussian models and linear features learn from.

Two immutable values with the same methods: :class:`Moments` holds the whole scatter matrix, :class:`DiagonalMoments`
its diagonal. Both are made ``of`` rows, add up by the pairwise merge, have a ``zero``, and follow linear maps.
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
"""Share of its size by which rounding may make a scatter asymmetric, or a variance in it negative."""

LARGE, MOST_CANCELLED = 2**15, 16.0
"""Values of a block that may be worth not copying, and how far its squares may exceed those about the mean."""


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

    centre: Annotated[Floats, floats("d")]
    matrix: Annotated[Floats, either(floats("d", "m"), floats("d"))]

    def _check_state(self, scope: Scope) -> None:
        if self.is_diagonal:
            scope.sizes["m"] = scope.sizes["d"]
            if not self.matrix.all():
                raise ViolationError("matrix must not be 0 on its diagonal, but is")
        scope.sizes["axes"] = self.matrix.ndim

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
        return self.times(np.subtract(X, self.centre, out=_WORKSPACE.array("about centre", X.shape)))

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


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and full scatter matrix of weighted rows.

    Sums are in double precision whatever the input, and the scatter is taken about the mean, so unit variance around
    1e8 comes out as unit variance.

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
            # Of mapped rows that lie in one point the scatter is all rounding, of the size of their squares.
            scale = np.abs(S).max() + self.weight * np.square(self.mean).max()
        slack = ROUNDING * scale + np.finfo(np.float64).tiny
        if (S.diagonal() < -slack).any():
            raise ViolationError("scatter must have no negative variances, but has")
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
        """The moments of no rows."""
        return cls(0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    @classmethod
    def of(cls, X: Rows, weight: Floats | None = None, overwrite: bool = False) -> Moments:
        """The moments of rows; sparse rows are made dense, since their scatter is.

        With ``overwrite`` an array in double precision may be used as working space.
        """
        X = dense(X)
        w = np.ones(len(X)) if weight is None else weight
        total = float(w.sum())
        mean = np.asarray(w @ X / total)
        scatter = scatter_about_zero(X, mean) if weight is None else None
        if scatter is not None:
            return cls(total, mean, scatter)
        # Rows that are not finite are kept as they are, to be looked at.
        spare = overwrite and bool(np.isfinite(mean).all())
        centred = np.subtract(X, mean, out=X if spare else _WORKSPACE.array("centred", X.shape))
        return cls(total, *about_mean(centred, mean, weight))

    @classmethod
    def grouped(
        cls, X: Rows, codes: Integers, weight: Floats | None = None, overwrite: bool = False
    ) -> dict[int, Moments]:
        """The moments of the rows of each code that occurs."""
        return _of_each_group(cls, X, codes, weight, overwrite)

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
        """The moments of the mapped rows."""
        return Moments(self.weight, linear.times(self.mean - linear.centre), linear.scatter(self.scatter))

    def leading(self, k: int) -> Moments:
        """The moments of the first k columns."""
        return Moments(self.weight, self.mean[:k], self.scatter[:k, :k])

    def centred(self) -> Moments:
        """The moments of the same rows moved to have mean zero."""
        return Moments(self.weight, np.zeros_like(self.mean), self.scatter)

    def diagonal(self) -> DiagonalMoments:
        """What remains when the correlations are forgotten."""
        d = len(self.mean)
        return DiagonalMoments(self.weight, np.full(d, self.weight), self.mean, self.scatter.diagonal().copy())

    def covariance(self, lost_degrees: float = 0) -> Floats:
        """The scatter over the weight less ``lost_degrees`` (1 for the unbiased estimate); zero where none is left."""
        degrees = self.weight - lost_degrees
        return np.asarray(self.scatter / degrees) if degrees > 0 else np.zeros_like(self.scatter)

    def variances(self, lost_degrees: float = 0) -> Floats:
        """The diagonal of the covariance."""
        return self.diagonal().variances(lost_degrees)

    def is_finite(self) -> bool:
        """Whether the sums are finite, which they are only if the rows were, and not too large to be squared."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.scatter.diagonal()).all())

    @cached_property
    def principal_axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the covariance, largest first, and the eigenvectors as columns.

        Kept on the value, so that every PCA of the same rows shares one decomposition.
        """
        values, vectors = eigh(self.covariance(), driver="evd")
        return values[::-1], vectors[:, ::-1]


@dataclass(frozen=True, eq=False)
class DiagonalMoments:
    """Weight, mean and sums of squared deviations of each column by itself.

    Missing values (NaN) are left out column by column, so each column has a weight of its own.

    Parameters
    ----------
    weight : float
        Total weight of the rows.
    column_weights : array of shape (n_features,)
        Weight of the rows in which each column is present.
    mean : array of shape (n_features,)
        Mean of the values present; 0 where there are none.
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
        """The moments of no rows."""
        return cls(0.0, np.zeros(n_features), np.zeros(n_features), np.zeros(n_features))

    @classmethod
    def of(cls, X: Rows, weight: Floats | None = None, overwrite: bool = False) -> DiagonalMoments:
        """The moments of rows, dense or sparse; a sparse column's absent values are zeros."""
        w = np.ones(X.shape[0]) if weight is None else weight
        if issparse(X):
            return _of_sparse(X, w)
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
        """The moments of the rows of each code that occurs.

        One compiled pass over a large dense block: sorting the rows by code and summing each slice by array
        operations takes three times as long, most of it in moving memory.
        """
        if issparse(X) or X.size < 2**18:
            return _of_each_group(cls, X, codes, weight, overwrite)
        from likely.statistics._kernels import sums_by_code

        w = np.ones(X.shape[0]) if weight is None else weight
        X = np.ascontiguousarray(dense(X))
        shift = np.full((int(codes.max()) + 1, X.shape[1]), np.nan)
        rows, present, first, second = sums_by_code(X, codes, w, shift)
        # A light row far from the rest makes a bad origin; then the mean it led to makes a good one.
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
        """The moments of the mapped rows; only a diagonal map keeps columns apart."""
        if not linear.is_diagonal:
            raise IncompatiblePartsError(
                "Diagonal moments cannot follow a projection, which mixes columns. Gather full Moments instead."
            )
        mean = np.where(self.column_weights > 0, linear.times(self.mean - linear.centre), 0.0)
        return DiagonalMoments(self.weight, self.column_weights, mean, self.scatter * np.square(linear.matrix))

    def centred(self) -> DiagonalMoments:
        """The moments of the same rows moved to have mean zero."""
        return DiagonalMoments(self.weight, self.column_weights, np.zeros_like(self.mean), self.scatter)

    def diagonal(self) -> DiagonalMoments:
        """Itself."""
        return self

    def variances(self, lost_degrees: float = 0) -> Floats:
        """The scatter over each column's weight less ``lost_degrees``; zero where none is left."""
        degrees = self.column_weights - lost_degrees
        return np.where(degrees > 0, self.scatter / _divisor(np.maximum(degrees, 0.0)), 0.0)

    def is_finite(self) -> bool:
        """Whether all sums are finite, which they are only if the values present were."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.scatter).all())


def about_mean(centred: Floats, mean: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Mean and scatter of rows from which their mean was taken, as far as it was known.

    What is left of the mean is its rounding error: of rows far from zero that is many times what the mean itself can
    hold, and the squares of it are lost in the scatter.
    """
    if weight is None:
        return np.asarray(mean + np.ones(len(centred)) @ centred / len(centred)), np.asarray(centred.T @ centred)
    left = weight @ centred / weight.sum()
    centred *= np.sqrt(weight)[:, None]
    return np.asarray(mean + left), np.asarray(centred.T @ centred)


def scatter_about_zero(X: Floats, mean: Floats) -> Floats | None:
    """Σ (x − mean)(x − mean)' of rows that lie about zero, or None of others, which must be centred first.

    Copying a large block to centre it takes as long as the product. Where no column's mean square is more than 16 times
    its variance, X'X − n mean mean' loses at most four bits. A few rows tell beforehand whether it is worth trying.
    """
    n = len(X)
    if X.size < LARGE:
        return None
    few = X[:: n // 32 + 1]
    excess = np.einsum("ij,ij->j", few, few) / len(few) - np.square(mean)
    if not bool((np.square(mean) <= MOST_CANCELLED / 4 * excess).all()):
        return None
    scatter = X.T @ X
    squares = scatter.diagonal().copy()
    total = mean * np.sqrt(n)
    scatter -= total[:, None] * total
    return scatter if bool((squares <= MOST_CANCELLED * scatter.diagonal()).all()) else None


def _freeze(statistic: Any, *names: str) -> None:
    """Hold arrays as read-only views, in double precision and row order."""
    for name in names:
        view = np.ascontiguousarray(getattr(statistic, name), dtype=np.float64).view()
        view.flags.writeable = False
        object.__setattr__(statistic, name, view)


def _check_alike(a: Any, b: Any) -> None:
    if type(a) is not type(b) or a.n_features != b.n_features:
        raise IncompatiblePartsError(
            f"{type(a).__name__} of {a.n_features} columns cannot be added to {type(b).__name__} of {b.n_features}. "
            "Statistics add if they are of one kind; a model whose shape of covariance was changed must be fitted anew."
        )


def _divisor(weights: Floats) -> Floats:
    """Weights to divide by: an empty column's sums are zero, and stay so."""
    return np.where(weights > 0, weights, 1.0)


def _of_sparse(X: Any, w: Floats) -> DiagonalMoments:
    """Deviations of the stored values one by one, and of all the zeros of a column at once."""
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


def _of_each_group(kind: Any, X: Rows, codes: Integers, weight: Floats | None, overwrite: bool) -> dict[int, Any]:
    """Bring each code's rows together, keeping their order, and take the moments of every run."""
    sizes = np.bincount(codes)
    occurring = np.flatnonzero(sizes)
    if len(occurring) == 1:
        return {int(occurring[0]): kind.of(X, weight, overwrite)}
    # NumPy sorts 16-bit integers by radix: 16 times as fast as the comparison sort of wider ones.
    order = np.argsort(codes.astype(np.int16) if len(sizes) < 2**15 else codes, kind="stable")
    rows = X if issparse(X) else dense(X)
    ends = np.cumsum(sizes)
    runs = {int(k): order[ends[k] - sizes[k] : ends[k]] for k in occurring}
    return {k: _of_rows(kind, rows, run, weight) for k, run in runs.items()}


def _of_rows(kind: Any, X: Rows, run: Integers, weight: Floats | None) -> Any:
    """The moments of some rows, brought together in one reused piece of memory that stays in cache."""
    w = None if weight is None else weight[run]
    if issparse(X):
        return kind.of(X[run], w)
    together = np.take(X, run, axis=0, out=_WORKSPACE.array("group", (len(run), X.shape[1])), mode="clip")
    return kind.of(together, w, overwrite=True)
