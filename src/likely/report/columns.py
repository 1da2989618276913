"""Facts about the columns of the data: histograms by class, correlations, principal components and LDA directions."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense, is_rounding
from likely._typing import Booleans, Floats, Integers
from likely.exceptions import DegenerateDataWarning, LikelyError
from likely.features import LDA, PCA
from likely.statistics import ByClass, DiagonalMoments, Moments

MAX_ROWS, MAX_VALUES, MIN_ROWS = 20_000, 2**24, 500
"""At most MAX_ROWS rows and at most MAX_VALUES values (rows times columns) are used. MAX_VALUES limits the memory for
tables with many columns, but at least MIN_ROWS rows are used."""

MAX_HISTOGRAMS, MAX_CORRELATED, MAX_BINS, MAX_COMPONENTS, MAX_WEIGHTS, MAX_POINTS = 12, 20, 24, 100, 8, 600
"""Maximum numbers of histograms, of columns in the table of correlations, of bins, of principal components, of weights
of a direction, and of points. They are chosen so that plots stay readable."""

MAX_JOINT, JOINT = 1000, 500
"""If a table has more than MAX_JOINT columns, covariances are computed from the JOINT most separating columns only. The
time to decompose a covariance grows with the cube of the number of columns."""

REACH, TAIL = 3.0, 1.0
"""Values are clipped at a distance of REACH times the central range from its ends. The central range leaves out TAIL
percent on each side. Without clipping, a single typing error could make up all of a column's variance."""

MAX_DIRECTED, RESOLVED, ROWS_EACH = 200, 1e-6, 5
"""LDA uses the MAX_DIRECTED most separating columns. Of their principal components, it uses those whose variance is at
least the share RESOLVED of the largest, and at most one for every ROWS_EACH rows: with as many directions as rows, some
directions always separate the classes."""


def column_facts(
    numbers: Any, names: Sequence[str], codes: Integers, class_labels: Sequence[str], weight: Floats | None = None
) -> dict[str, Any] | None:
    """Compute facts about the columns: histograms, correlations, principal components and discriminant directions.

    At most 20,000 rows are used. A class with more rows than a common maximum is sampled, and the sampled rows get a
    weight that makes up for the rows left out. Far outliers of dense columns are clipped.

    Parameters
    ----------
    numbers : array or sparse array of shape (n, n_columns)
        NaN is a missing value.
    names : sequence of str
    codes : array of shape (n,)
        The class of each row.
    class_labels : sequence of str
    weight : array of shape (n,), optional

    Returns
    -------
    dict, or None if there are no columns or no rows
        ``separation`` of a histogram is the share of a column's variance between the classes, corrected for chance
        (adjusted η²). ``explained_of`` is the number of columns from which the components are computed. It is present
        only if this is a part of the columns, the most separating ones. ``directions`` is None if the data do not
        determine directions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 3.0], [1.0, 1.0], [10.0, 2.0], [11.0, 2.0]])
    >>> facts = column_facts(X, ["a", "b"], np.array([0, 0, 1, 1]), ["no", "yes"])
    >>> facts["histograms"][0]["name"], round(facts["histograms"][0]["separation"], 3)
    ('a', 0.985)
    """
    n, d = numbers.shape
    if n == 0 or d == 0:
        return None
    sample = _Sample.of(numbers, codes, len(class_labels), weight)
    statistics = _ColumnStatistics.of(sample)
    order = statistics.rank_columns()
    joint = order[: JOINT if d > MAX_JOINT else None]
    standardised = statistics.standardise(sample, joint)
    joint_names = [str(names[j]) for j in joint.tolist()]
    return {
        "rows": len(sample.codes),
        "of": int(n),
        "n_columns": int(d),
        "histograms": [_describe_column(sample, statistics, int(j), str(names[j])) for j in order[:MAX_HISTOGRAMS]],
        "correlation": _correlate(standardised, joint_names[:MAX_CORRELATED]),
        **_analyse_jointly(standardised, joint_names),
        **({"explained_of": len(joint)} if d > MAX_JOINT else {}),
    }


@dataclass(frozen=True, eq=False)
class _Sample:
    """Sampled rows: values (NaN is a missing value), class codes and weights."""

    values: Any
    codes: Integers
    weight: Floats
    n_classes: int

    @classmethod
    def of(cls, numbers: Any, codes: Integers, n_classes: int, weight: Floats | None) -> _Sample:
        max_rows = int(np.clip(MAX_VALUES // numbers.shape[1], MIN_ROWS, MAX_ROWS))
        is_sparse = bool(issparse(numbers))
        chosen, count = _sample_rows(codes, n_classes, MAX_ROWS if is_sparse else max_rows)
        values = numbers.tocsr()[chosen] if is_sparse else np.array(numbers[chosen], dtype=np.float64)
        if not is_sparse:
            _clip_outliers(values)
        return cls(values, codes[chosen], count if weight is None else count * weight[chosen], n_classes)


def _sample_rows(codes: Integers, n_classes: int, max_rows: int) -> tuple[Integers, Floats]:
    """Sample rows at random, with the same maximum number for each class. Return the rows and their weights.

    The weight of a row is the number of rows of its class divided by the number of sampled rows of the class.
    """
    sizes = np.bincount(codes, minlength=n_classes)
    if len(codes) <= max_rows:
        return np.arange(len(codes)), np.ones(len(codes))
    # Find the largest maximum per class for which the total does not exceed max_rows.
    levels = range(int(sizes.max()))
    level = max(1, bisect_right(levels, max_rows, key=lambda top: int(np.minimum(sizes, top).sum())) - 1)
    shuffled = np.random.default_rng(0).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled].astype(np.int32), kind="stable")]
    starts = np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([by_class[a : a + min(size, level)] for a, size in zip(starts, sizes, strict=True)]))
    return rows, (sizes / np.maximum(np.minimum(sizes, level), 1))[codes[rows]]


def _clip_outliers(values: Floats) -> None:
    """Clip far outliers in place. Infinite values become missing values."""
    values[~np.isfinite(values)] = np.nan
    subsample = values[:: len(values) // 2000 + 1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # about columns without any value
        low, high = np.nanpercentile(subsample, [TAIL, 100 - TAIL], axis=0)
        reach = np.where(high > low, REACH * (high - low), np.inf)
        np.clip(values, low - reach, high + reach, out=values)


@dataclass(frozen=True, eq=False)
class _ColumnStatistics:
    """Mean and standard deviation of each column, and the share of the column's variance between the classes."""

    mean: Floats
    deviation: Floats
    separation: Floats
    missing: Floats
    varies: Booleans

    @classmethod
    def of(cls, sample: _Sample) -> _ColumnStatistics:
        with np.errstate(all="ignore"):
            classes = ByClass.of(DiagonalMoments, sample.values, sample.codes, sample.weight)
            total, within = classes.total(), classes.within()
            variance, known = total.variances(), total.column_weights / total.weight
            varies = np.isfinite(variance) & (variance > 0) & ~is_rounding(variance, total.mean)
            rows = known * len(sample.codes)
            chance = (rows - 1) / np.maximum(rows - len(classes.parts), 1e-9)
            share = 1 - chance * within.scatter / np.where(varies, total.scatter, 1.0)
        separation = np.where(varies, np.clip(share, 0.0, 1.0), 0.0)
        return cls(total.mean, np.sqrt(np.where(varies, variance, 1.0)), separation, 1 - known, varies)

    def rank_columns(self) -> Integers:
        """Return the columns that are not constant, the most separating first."""
        order = np.argsort(-self.separation, kind="stable")
        return np.asarray(order[self.varies[order]])

    def standardise(self, sample: _Sample, columns: Integers) -> _Sample:
        """Return some columns as a dense array with mean 0 and variance 1."""
        values = (dense(sample.values[:, columns]) - self.mean[columns]) / self.deviation[columns]
        return replace(sample, values=values)


def _describe_column(sample: _Sample, statistics: _ColumnStatistics, j: int, name: str) -> dict[str, Any]:
    separation, missing = float(statistics.separation[j]), float(np.clip(statistics.missing[j], 0.0, 1.0))
    values = dense(sample.values[:, [j]]).ravel()
    return {"name": name, "separation": separation, "missing": missing, **_count_by_class(sample, values)}


def _count_by_class(sample: _Sample, values: Floats) -> dict[str, Any]:
    """Count the rows of each class in equal bins of a column's values.

    The bins cover most of the range of the values. Values beyond the bins are counted in the outer bins.
    """
    known = np.isfinite(values)
    seen = values[known]
    low, high, n_bins = _choose_bins(seen)
    # Halve all numbers, because the difference of two very large floating-point numbers would overflow.
    at = np.clip((seen / 2 - low / 2) / (high / 2 - low / 2) * n_bins, 0, n_bins - 1).astype(np.intp)
    cells = np.bincount(sample.codes[known] * n_bins + at, sample.weight[known], sample.n_classes * n_bins)
    return {"low": low, "high": high, "counts": cells.round(3).reshape(sample.n_classes, n_bins).tolist()}


def _choose_bins(values: Floats) -> tuple[float, float, int]:
    """Return the low end of the bins, their high end, and their number. For integers, the ends are at ±½."""
    low, high = _choose_range(values)
    if high - low < 2**40 and bool((values == np.round(values)).all()):
        low, high = float(np.floor(low)), float(np.ceil(high))
        width = int((high - low) // MAX_BINS + 1)
        n_bins = int((high - low) // width + 1)
        return low - 0.5, low - 0.5 + n_bins * width, n_bins
    return low, high, int(np.clip(2 * np.cbrt(len(values)), 6, MAX_BINS))


def _choose_range(values: Floats) -> tuple[float, float]:
    """Return the ends of the range of the bins.

    It is the range of all values, but it extends the range of the central 99 % by at most a quarter on each side.
    """
    least, greatest = float(values.min()), float(values.max())
    low, high = np.percentile(values / 4, [0.5, 99.5])
    if high > low:
        beyond = (high - low) / 4
        return max(least, 4 * float(low - beyond)), min(greatest, 4 * float(high + beyond))
    return (least, greatest) if greatest > least else (least - 0.5, least + 0.5)


def _correlate(standardised: _Sample, names: list[str]) -> dict[str, Any] | None:
    """Return the correlations of the first columns, or None if there are too few columns.

    The correlation of two columns is computed from the rows in which both have a value.
    """
    Z, w = standardised.values[:, : len(names)], standardised.weight[:, None]
    if len(names) < 2:
        return None
    known = np.isfinite(Z)
    Z = np.where(known, Z, 0.0)
    squares = (w * Z**2).T @ known
    sizes = np.sqrt(squares * squares.T)
    values = np.divide((w * Z).T @ Z, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return {"names": names, "values": (np.clip(values, -1, 1).round(2) + 0.0).tolist()}


def _analyse_jointly(standardised: _Sample, names: list[str]) -> dict[str, Any]:
    """Compute principal components and discriminant directions. Missing values are replaced by means."""
    if not names:
        return {"explained_variance": [], "directions": None}
    filled = replace(standardised, values=np.nan_to_num(standardised.values))
    classes: ByClass[Moments] = ByClass.of(Moments, filled.values, filled.codes, filled.weight)
    shares = PCA().estimate(classes.total()).explained_variance_ratio_
    explained = np.minimum(np.cumsum(shares), 1.0)[:MAX_COMPONENTS].round(4).tolist()
    return {"explained_variance": explained, "directions": _find_directions(filled, classes, names[:MAX_DIRECTED])}


def _find_directions(filled: _Sample, classes: ByClass[Moments], names: list[str]) -> dict[str, Any] | None:
    """Find discriminant directions by PCA and LDA, and describe the classes along them."""
    first = classes.each(lambda part: part.leading(len(names)))
    # Keep the principal components that the data determine, in order of decreasing variance. The number of rows limits
    # the number of components.
    variances = PCA().estimate(first.total()).explained_variance_
    n_resolved = int((variances > RESOLVED * variances[0]).sum())
    pca = PCA(max(1, min(n_resolved, len(filled.codes) // ROWS_EACH))).estimate(first.total())
    n_kept = min(len(classes.parts) - 1, pca.n_components_, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DegenerateDataWarning)
            lda = LDA(n_kept).estimate(pca.map_statistics(first), np.array(list(classes.parts)))
    except (LikelyError, DegenerateDataWarning):
        return None
    directions = pca.components_.T @ lda.components_.T
    return {
        "names": [f"direction {i + 1}" for i in range(n_kept)],
        "weights": [_list_largest(direction, names) for direction in directions.T],
        **_describe_projection(filled, filled.values[:, : len(names)] @ directions),
    }


def _list_largest(direction: Floats, names: list[str]) -> list[list[Any]]:
    """Return the names and weights of the columns with the largest absolute weights in a direction.

    The weights belong to standardised columns, so they can be compared.
    """
    largest = np.argsort(-np.abs(direction), kind="stable")[:MAX_WEIGHTS]
    return [[names[j], round(float(direction[j]), 4)] for j in largest.tolist()]


def _describe_projection(sample: _Sample, Z: Floats) -> dict[str, Any]:
    """Describe the projections Z of the rows on one or two directions.

    For one direction, return a histogram. For two directions, return the mean and covariance of each class, and some
    points.
    """
    if Z.shape[1] == 1:
        return {"histogram": _count_by_class(sample, Z[:, 0]), "means": None, "covariances": None, "points": None}
    parts = ByClass.of(Moments, Z, sample.codes, sample.weight).parts
    each = [parts.get(k) for k in range(sample.n_classes)]
    rows, _ = _sample_rows(sample.codes, sample.n_classes, MAX_POINTS)
    codes = sample.codes[rows].tolist()
    return {
        "histogram": None,
        "means": [None if part is None else part.mean.round(4).tolist() for part in each],
        "covariances": [None if part is None else part.covariance().round(4).tolist() for part in each],
        "points": [[*place, k] for place, k in zip(Z[rows].round(3).tolist(), codes, strict=True)],
    }
