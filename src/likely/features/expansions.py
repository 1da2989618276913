"""Feature expansions: non-linear maps of rows to more columns.

A linear model of the new columns is non-linear in the original columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    count,
    flag,
    floats,
    none_or,
    number,
    numbers,
    random_state,
)
from likely._fitted import all_or_nothing
from likely._numerics import dense
from likely._typing import Floats, Integers, Labels
from likely._validation import check_rows
from likely.blocks import (
    SAMPLE_ROWS,
    ArraySource,
    Block,
    RowSample,
    Source,
    SourceLearner,
    block_rows,
    check_finite,
    for_each,
    sample_rows,
)
from likely.densities.mixtures.kmeans import cluster_sample
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.kernels import RBFKernel

MAX_OUTPUTS = 2**27
"""Maximum number of outputs of an expansion. One row with this number of outputs takes one gibibyte."""

ROWS, MIN_ROWS, VALUES = 2**10, 2**5, 2**19
"""Size of the blocks in which rows are expanded: ROWS rows, or fewer so that the outputs of a block are at most VALUES
numbers (4 MB), but at least MIN_ROWS rows. With blocks of 1 MB, quadratic features took 1.5 times as long, because
threads waited for each other. Larger blocks were not faster."""

MAX_VALUE = np.sqrt(np.finfo(np.float64).max / 2)
"""Largest size of a value in a row. The product of two such values, times √2, does not overflow."""


class Expansion(TransformerMixin, SourceLearner):  # type: ignore[misc]
    """Base class of non-linear maps of rows to rows of more columns (the outputs).

    A subclass returns its number of outputs (``expands_to``), learns from a source (``_learn``), and fills a block of
    outputs (``_fill``). A pipeline checks for ``expands_to`` and then expands the rows block by block.
    """

    def expands_to(self, n_features: int) -> int:
        """Return the number of outputs for rows of ``n_features`` columns. It is known before fitting."""
        raise NotImplementedError

    def _learn(self, source: Source) -> None:
        """Learn from the source; by default there is nothing to learn."""

    def _fill(self, rows: Floats, out: Floats) -> bool:
        """Write the outputs of dense rows into ``out``, and return whether the rows and the outputs are finite."""
        raise NotImplementedError

    def _source(self, X: Any, y: Any, sample_weight: Any, first: bool = True, encode: Any = None) -> ArraySource:
        """Return the training rows as a source; raise if a value is not finite."""
        source = super()._source(X, None, sample_weight, first)
        source.reduce(check_finite)
        return source

    def transform(self, X: Any) -> Floats:
        """Return the outputs of rows as a dense array of shape (n, n_outputs).

        Sparse rows are made dense block by block.
        """
        check_is_fitted(self)
        rows = check_rows(self, X)
        out = np.empty((rows.shape[0], self._n_features_out))
        step = max(MIN_ROWS, min(ROWS, VALUES // out.shape[1]))

        def fill(start: int) -> None:
            part = dense(rows[start : start + step])
            if not self._fill(part, out[start : start + step]):
                raise Block(part, positions=range(start, start + len(part))).non_finite()

        for_each(fill, list(range(0, len(out), step)))
        return out

    @property
    def _n_features_out(self) -> int:
        return self.expands_to(self.n_features_in_)


def replace_rows(source: ArraySource, X: Floats) -> ArraySource:
    """Return a source with the rows X and the labels, weights and positions of the given source."""
    return ArraySource(
        X, source.codes, source.weight, source.classes, block_rows=block_rows(X), positions=source.positions
    )


def sample_finite_rows(block: Block) -> RowSample:
    """Return an even sample of a block's rows (see ``RowSample``); raise if a value of the block is not finite."""
    check_finite(block)
    return sample_rows(block)


class QuadraticFeatures(OneToOneFeatureMixin, Expansion):  # type: ignore[misc]
    """Squares and products of the columns, with which linear models have quadratic decision boundaries.

    Products have the factor √2. Dot products of the outputs then equal those of (vec(xx'), x), in which every product
    occurs twice. Models that depend only on dot products or distances of rows, such as penalised linear models, are
    the same with both, and the outputs have about half the columns. Nothing is learned. Missing values raise an error,
    because each of them would make as many outputs missing as there are columns; use an imputer first. Columns with
    large values dominate the squares: use :class:`likely.Standardize` before it, after it, or both.

    Parameters
    ----------
    kernel : bool, default False
        Whether to scale the outputs for the polynomial kernel. The columns themselves then have the factor √2 too, and
        the last output is 1, so that dot products are (x'y + 1)².

    Attributes
    ----------
    n_features_in_ : int

    Notes
    -----
    For d columns the d(d + 1)/2 + d outputs are x_0², √2 x_0 x_1, …, √2 x_0 x_{d−1}, x_1², …, x_{d−1}², x_0, …,
    x_{d−1}, with dot products φ(x)'φ(y) = (x'y)² + x'y. With ``kernel`` they are x_0², …, x_{d−1}², √2 x_0, …,
    √2 x_{d−1}, 1, one output more, with dot products (x'y + 1)². Outputs are dense and in double precision. A
    :class:`likely.Pipeline` fits and scores block by block, without storing all outputs.

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

    _constraints: ClassVar[Constraints] = {"kernel": flag}

    def __init__(self, *, kernel: bool = False) -> None:
        self.kernel = kernel

    def expands_to(self, n_features: int) -> int:
        """Return the number of outputs for d features: d(d + 1)/2 + d, and one more with ``kernel``."""
        return n_features * (n_features + 3) // 2 + bool(self.kernel)

    def _learn(self, source: Source) -> None:
        """Do nothing: there is nothing to learn."""

    def _check_state(self, scope: Scope) -> None:
        if scope.fitted:
            scope.sizes["out"] = self.expands_to(scope.sizes["d"])
            if scope.sizes["out"] > MAX_OUTPUTS:
                raise ViolationError(
                    f"would have {scope.sizes['out']} outputs for {scope.sizes['d']} columns, but the maximum is "
                    f"{MAX_OUTPUTS}. Use fewer columns"
                )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Validate one more batch of rows; there is nothing to learn from it."""
        with all_or_nothing(self):
            self._source(X, y, sample_weight, first=not hasattr(self, "n_features_in_"))
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Return the names of the outputs, such as "x0^2", "x0 x1" and "x0".

        They use the names of the columns if these are known. The factor √2 is not shown.
        """
        names = super().get_feature_names_out(input_features).tolist()
        pairs = [f"{a}^2" if i == j else f"{a} {b}" for i, a in enumerate(names) for j, b in enumerate(names) if i <= j]
        return np.array([*pairs, *names, *(["1"] if self.kernel else [])], dtype=object)

    def _fill(self, rows: Floats, out: Floats) -> bool:
        if not np.abs(rows).max(initial=0.0) <= MAX_VALUE:
            return False
        d, starts = rows.shape[1], _starts(rows.shape[1])
        scaled = np.sqrt(2.0) * rows
        # Products √2 x_i x_j for j >= i. The squares (j = i) have no factor, so they are overwritten below.
        for i, start in enumerate(starts):
            np.multiply(scaled[:, i:], rows[:, i : i + 1], out=out[:, start : start + d - i])
        out[:, starts] = np.square(rows)
        end = starts[-1] + 1
        out[:, end : end + d] = scaled if self.kernel else rows
        out[:, end + d :] = 1.0
        return True


def _starts(d: int) -> Integers:
    """Return, for each of d columns, the position of its square among the outputs of QuadraticFeatures.

    The products of the column with the columns after it follow its square.
    """
    i = np.arange(d)
    return np.asarray(i * d - i * (i - 1) // 2)


@dataclass(frozen=True, eq=False)
class RadialState:
    """Fitted centres and width."""

    centers_: Annotated[Floats, floats("out", "d")]
    width_: Annotated[float, number(above=0)]


class RadialFeatures(ClassNamePrefixFeaturesOutMixin, Expansion):  # type: ignore[misc]
    """Gaussian radial basis functions: each output is 1 at a centre and decreases with the distance from it.

    Linear models of the outputs are radial basis function networks. Distances are Euclidean, so columns should be on
    one scale: use :class:`likely.Standardize` first. Far from all centres every output is 0, so a model has no
    information there. Missing values raise an error.

    Parameters
    ----------
    n_centers : int, default 10
        Number of centres to find by k-means, if ``centers`` is not given.
    centers : array of shape (n_centers, n_features), optional
        Fixed centres; no centres are then learned from the rows.
    width : float, optional
        Standard deviation σ of the basis functions. By default it is the mean distance between a centre and its
        nearest neighbour, so that neighbouring functions overlap for any scale of the data. A single centre needs a
        width.
    random_state : int, RandomState or None
        Random state of the starting points of k-means; an int gives the same centres in every fit.

    Attributes
    ----------
    centers_ : array of shape (n_centers, n_features)
    width_ : float
    n_features_in_ : int

    Notes
    -----
    φ_k(x) = exp(−‖x − c_k‖² / 2σ²). K-means uses an even sample of at most 16 384 rows, taken in one pass over arrays
    or a source. Equal rows of the sample are merged and the rows are sorted, so that weights act as repetitions and
    the order of the rows does not matter.

    References
    ----------
    J. Moody and C. Darken, "Fast learning in networks of locally-tuned processing units", Neural Computation 1, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.2], [3.0], [3.2]])
    >>> bumps = RadialFeatures(n_centers=2, random_state=0).fit(X)
    >>> np.sort(bumps.centers_, axis=0).ravel(), bumps.width_
    (array([0.1, 3.1]), 3.0)
    >>> RadialFeatures(centers=[[0.0], [2.0]], width=1.0).fit_transform([[0.0], [1.0]]).round(3)
    array([[1.   , 0.135],
           [0.607, 0.607]])
    """

    _State = RadialState
    _constraints: ClassVar[Constraints] = {
        "n_centers": count(1, SAMPLE_ROWS),
        "centers": none_or(numbers(2)),
        "width": none_or(number(above=0)),
        "random_state": random_state,
    }
    centers_: Floats
    width_: float

    def __init__(
        self, n_centers: int = 10, *, centers: Any = None, width: float | None = None, random_state: Any = None
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.width = width
        self.random_state = random_state

    def expands_to(self, n_features: int) -> int:
        """Return the number of outputs: one for each centre."""
        check_parameters(self)
        return int(self.n_centers) if self.centers is None else len(self.centers)

    def _learn(self, source: Source) -> None:
        if self.centers is None:
            centers = self._cluster(source.reduce(sample_finite_rows))
        else:
            centers = _checked_centres(self.centers, source.n_features)
        self._state = RadialState(centers, _spacing(centers) if self.width is None else float(self.width))

    def _cluster(self, sample: RowSample) -> Floats:
        """Return the k-means centres of a sample of rows.

        Equal rows are merged, and their weights are added. The mean is subtracted during k-means, so that distances
        between rows far from 0 keep their digits.
        """
        rows, weight = sample.distinct()
        if len(rows) < self.n_centers:
            raise DegenerateDataError(
                f"RadialFeatures needs {self.n_centers} different rows for {self.n_centers} centres, but X has only "
                f"{len(rows)} different rows (n_samples={len(sample.rows)}). Set n_centers to at most {len(rows)}."
            )
        mean = rows.mean(axis=0)
        random = check_random_state(self.random_state)
        return np.asarray(mean + cluster_sample(rows - mean, weight, self.n_centers, random))

    def _fill(self, rows: Floats, out: Floats) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            columns = RBFKernel(_gamma(self.width_)).columns(self.centers_)
            columns.fill(columns.prepare_rows(rows), slice(None), slice(None), out)
        return bool(np.isfinite(rows).all()) and not np.isnan(out.min(initial=0.0))

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)


def _gamma(width: float) -> float:
    """Return γ = 1 / 2σ² for the width σ, clipped to numbers that the kernel accepts.

    With an extremely small width an output is 1 only at its centre; with an extremely large width it is 1 everywhere.
    """
    extremes = np.finfo(np.float64)
    return min(max(0.5 / width / width, float(extremes.tiny)), float(extremes.max) / 4)


def _checked_centres(centres: Any, n_features: int) -> Floats:
    checked: Floats = check_array(centres, dtype=np.float64, copy=True, input_name="centers")
    if checked.shape[1] != n_features:
        raise InvalidDataError(
            f"centers of RadialFeatures must have one column for each of the {n_features} features of X, but have "
            f"{checked.shape[1]}."
        )
    return checked


def _spacing(centres: Floats) -> float:
    """Return the distance from a centre to its nearest neighbour among the centres, averaged over all centres."""
    if len(centres) == 1:
        raise InvalidParameterError(
            "The default width of RadialFeatures is computed from the distances between centres, but there is only one "
            "centre. Set width."
        )
    between = cdist(centres, centres)
    np.fill_diagonal(between, np.inf)
    spacing = float(between.min(axis=1).mean())
    if not 0 < spacing < np.inf:
        raise DegenerateDataError(
            f"The default width of RadialFeatures is computed from the distances between centres, but their mean is "
            f"{spacing}. Set width."
        )
    return spacing
