"""Expansions: features that make every row longer, so that linear models of the outputs are curved in the inputs."""

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
    sampled,
)
from likely.densities.mixtures.kmeans import cluster_sample
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.kernels import RBFKernel

MOST_OUTPUTS = 2**27
"""Values that an expansion may make of one row: a gibibyte of them."""

ROWS, LEAST_ROWS, VALUES = 2**10, 2**5, 2**19
"""Rows mapped at once: so many, or fewer where their outputs are more values than these. Quadratic blocks of 1 MB took
half as long again as those of 4 MB, since threads then wait for each other; longer ones gain nothing."""

LARGEST = np.sqrt(np.finfo(np.float64).max / 2)
"""The largest value whose products, with their factor √2, do not overflow."""


class Expansion(TransformerMixin, SourceLearner):  # type: ignore[misc]
    """A map of rows to longer rows, such that a linear model of the outputs is a curved one of the inputs.

    A subclass says how many outputs it will have (``expands_to``), learns what it must from a source (``_learn``), and
    fills a block of outputs (``_fill``). A pipeline reads ``expands_to`` to know that rows must not be expanded all at
    once.
    """

    def expands_to(self, n_features: int) -> int:
        """Number of outputs for so many features; known before anything is learned."""
        raise NotImplementedError

    def _learn(self, source: Source) -> None:
        """Learn from the source; there is nothing to learn unless a subclass says so."""

    def _fill(self, rows: Floats, out: Floats) -> bool:
        """Write the outputs of dense rows, and say whether rows and outputs are finite."""
        raise NotImplementedError

    def _source(self, X: Any, y: Any, sample_weight: Any, first: bool = True, encode: Any = None) -> ArraySource:
        """Rows to learn from as a source, all of them finite."""
        source = super()._source(X, None, sample_weight, first)
        source.reduce(check_finite)
        return source

    def transform(self, X: Any) -> Floats:
        """Expand rows; the result is dense, of shape (n, n_outputs). Sparse rows are made dense a block at a time."""
        check_is_fitted(self)
        rows = check_rows(self, X)
        out = np.empty((rows.shape[0], self._n_features_out))
        step = max(LEAST_ROWS, min(ROWS, VALUES // out.shape[1]))

        def fill(start: int) -> None:
            part = dense(rows[start : start + step])
            if not self._fill(part, out[start : start + step]):
                raise Block(part, positions=range(start, start + len(part))).non_finite()

        for_each(fill, list(range(0, len(out), step)))
        return out

    @property
    def _n_features_out(self) -> int:
        return self.expands_to(self.n_features_in_)


def expanded(source: ArraySource, X: Floats) -> ArraySource:
    """Features of a source's rows in place of these, with the labels, weights and positions of the rows."""
    return ArraySource(
        X, source.codes, source.weight, source.classes, block_rows=block_rows(X), positions=source.positions
    )


def finite_sample(block: Block) -> RowSample:
    """Some of a block's rows, all of which must be finite."""
    check_finite(block)
    return sampled(block)


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

    _constraints: ClassVar[Constraints] = {"kernel": flag}

    def __init__(self, *, kernel: bool = False) -> None:
        self.kernel = kernel

    def expands_to(self, n_features: int) -> int:
        """Number of outputs for so many features: d(d + 1)/2 + d, and one more for the kernel."""
        return n_features * (n_features + 3) // 2 + bool(self.kernel)

    def _learn(self, source: Source) -> None:
        """There is nothing to learn."""

    def _check_state(self, scope: Scope) -> None:
        if scope.fitted:
            scope.sizes["out"] = self.expands_to(scope.sizes["d"])
            if scope.sizes["out"] > MOST_OUTPUTS:
                raise ViolationError(
                    f"would make {scope.sizes['out']} values of each row of {scope.sizes['d']}. At most {MOST_OUTPUTS} "
                    "are allowed: use fewer columns"
                )

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


@dataclass(frozen=True, eq=False)
class RadialState:
    """Fitted centres and width."""

    centers_: Annotated[Floats, floats("out", "d")]
    width_: Annotated[float, number(above=0)]


class RadialFeatures(ClassNamePrefixFeaturesOutMixin, Expansion):  # type: ignore[misc]
    """Replace the columns by bumps, each 1 at a centre and falling with the distance from it.

    Linear models of the outputs are sums of bumps. Distances are Euclidean, so columns should be on one scale: put
    :class:`likely.Standardize` before it. Far from all centres every output is 0, and a model there knows nothing.
    Missing values are refused.

    Parameters
    ----------
    n_centers : int, default 10
        How many centres to find by k-means, where none are given.
    centers : array of shape (n_centers, n_features), optional
        The centres themselves; nothing is then learned from the rows.
    width : float, optional
        Standard deviation σ of the bumps. If not given it is the mean distance of a centre from the nearest other
        one, so that neighbouring bumps overlap whatever the scale of the data; a single centre needs a width.
    random_state : int, RandomState or None
        For the starting points of k-means; an int gives the same centres every time.

    Attributes
    ----------
    centers_ : array of shape (n_centers, n_features)
    width_ : float
    n_features_in_ : int

    Notes
    -----
    φ_k(x) = exp(−‖x − c_k‖² / 2σ²). K-means learns from at most 16 384 rows, evenly taken, in one pass over arrays or
    a source; equal rows among them are added up and all are sorted, so that weights do what repeated rows do and the
    order of the rows does not matter.

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
        """Number of outputs: one for each centre."""
        check_parameters(self)
        return int(self.n_centers) if self.centers is None else len(self.centers)

    def _learn(self, source: Source) -> None:
        if self.centers is None:
            centers = self._cluster(source.reduce(finite_sample))
        else:
            centers = _checked_centres(self.centers, source.n_features)
        self._state = RadialState(centers, _spacing(centers) if self.width is None else float(self.width))

    def _cluster(self, sample: RowSample) -> Floats:
        """K-means of a sample, in which equal rows are added up, about its mean."""
        rows, weight = sample.distinct()
        if len(rows) < self.n_centers:
            raise DegenerateDataError(
                f"RadialFeatures looks for {self.n_centers} centres, but X has only {len(rows)} different rows "
                f"(n_samples={len(sample.rows)}). Set n_centers to that many or fewer."
            )
        mean = rows.mean(axis=0)
        random = check_random_state(self.random_state)
        return np.asarray(mean + cluster_sample(rows - mean, weight, self.n_centers, random))

    def _fill(self, rows: Floats, out: Floats) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            columns = RBFKernel(_gamma(self.width_)).columns(self.centers_)
            columns.fill(columns.facing(rows), slice(None), slice(None), out)
        return bool(np.isfinite(rows).all()) and not np.isnan(out.min(initial=0.0))

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)


def _gamma(width: float) -> float:
    """1 / 2σ², of any width a number that the kernel takes: bumps of extreme widths are points, or everywhere 1."""
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
    """The mean distance of a centre from the nearest other one."""
    if len(centres) == 1:
        raise InvalidParameterError(
            "width of RadialFeatures follows from the distances between centres, but there is only one. Set width."
        )
    between = cdist(centres, centres)
    np.fill_diagonal(between, np.inf)
    spacing = float(between.min(axis=1).mean())
    if not 0 < spacing < np.inf:
        raise DegenerateDataError(
            f"width of RadialFeatures follows from the distances between centres, but their mean is {spacing}. "
            "Set width."
        )
    return spacing
