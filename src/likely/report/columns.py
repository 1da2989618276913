"""What the columns look like: which of them tell the classes apart, how they go together, where the classes lie."""

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

MOST_ROWS, MOST_VALUES, FEWEST_ROWS = 20_000, 2**24, 500
"""Rows looked at, and values, since many columns of so many rows would not fit; but never fewer rows than the last."""

MOST_HISTOGRAMS, MOST_CORRELATED, MOST_BINS, MOST_COMPONENTS, MOST_WEIGHTS, MOST_POINTS = 12, 20, 24, 100, 8, 600
"""How much is drawn: as much as can be read."""

MOST_MIXED, MIXED = 1000, 500
"""Columns whose covariance is still taken, which costs their cube; of more, that of the most separating."""

REACH, TAIL = 3.0, 1.0
"""Values further than this many times the range of the middle ones beyond it are drawn to there; TAIL is what is left
out on either side of the middle, in percent. A single typing error would otherwise be all of a column's variance."""

MOST_DIRECTED, RESOLVED, ROWS_EACH = 200, 1e-6, 5
"""Columns, the most separating, that directions are sought among; and principal components of them: those with this
share of the largest's variance, and no more than one for so many rows, since among as many directions as rows some
always separate the classes."""


def column_facts(
    numbers: Any, names: Sequence[str], codes: Integers, class_labels: Sequence[str], weight: Floats | None = None
) -> dict[str, Any] | None:
    """The columns as plain facts: histograms, correlations, principal components and discriminant directions.

    At most 20,000 rows are looked at, as many of each class as there are up to a common number; they count for the rows
    of their class that were left out. All is on columns whose far outliers were drawn in.

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
    dict, or None where there are no columns or no rows
        ``separation`` of a histogram is the share of a column's variance that lies between the classes, less what
        chance would bring (adjusted η²). ``explained_of`` is there where the components are those of the most
        separating columns only, and says of how many. ``directions`` are None where the data do not determine them.

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
    spread = _Spread.of(sample)
    order = spread.order()
    mixed = order[: MIXED if d > MOST_MIXED else None]
    standardised = spread.standardised(sample, mixed)
    chosen = [str(names[j]) for j in mixed.tolist()]
    return {
        "rows": len(sample.codes),
        "of": int(n),
        "n_columns": int(d),
        "histograms": [_column(sample, spread, int(j), str(names[j])) for j in order[:MOST_HISTOGRAMS]],
        "correlation": _correlation(standardised, chosen[:MOST_CORRELATED]),
        **_mixed(standardised, chosen),
        **({"explained_of": len(mixed)} if d > MOST_MIXED else {}),
    }


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows looked at: values with NaN where missing, classes, and what each counts for."""

    values: Any
    codes: Integers
    weight: Floats
    n_classes: int

    @classmethod
    def of(cls, numbers: Any, codes: Integers, n_classes: int, weight: Floats | None) -> _Sample:
        most = int(np.clip(MOST_VALUES // numbers.shape[1], FEWEST_ROWS, MOST_ROWS))
        is_sparse = bool(issparse(numbers))
        chosen, count = _chosen(codes, n_classes, MOST_ROWS if is_sparse else most)
        values = numbers.tocsr()[chosen] if is_sparse else np.array(numbers[chosen], dtype=np.float64)
        if not is_sparse:
            _draw_in(values)
        return cls(values, codes[chosen], count if weight is None else count * weight[chosen], n_classes)


def _chosen(codes: Integers, n_classes: int, most: int) -> tuple[Integers, Floats]:
    """Rows of each class, all or at random up to a common number, and how many rows each of them stands for."""
    sizes = np.bincount(codes, minlength=n_classes)
    if len(codes) <= most:
        return np.arange(len(codes)), np.ones(len(codes))
    level = max(1, bisect_right(range(int(sizes.max())), most, key=lambda top: int(np.minimum(sizes, top).sum())) - 1)
    shuffled = np.random.default_rng(0).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled].astype(np.int32), kind="stable")]
    starts = np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([by_class[a : a + min(size, level)] for a, size in zip(starts, sizes, strict=True)]))
    return rows, (sizes / np.maximum(np.minimum(sizes, level), 1))[codes[rows]]


def _draw_in(values: Floats) -> None:
    """Draw far outliers in, in place; what is infinite counts as missing."""
    values[~np.isfinite(values)] = np.nan
    few = values[:: len(values) // 2000 + 1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
        low, high = np.nanpercentile(few, [TAIL, 100 - TAIL], axis=0)
        reach = np.where(high > low, REACH * (high - low), np.inf)
        np.clip(values, low - reach, high + reach, out=values)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Where each column lies, how far it spreads, and how much of that is between the classes."""

    mean: Floats
    deviation: Floats
    separation: Floats
    missing: Floats
    varies: Booleans

    @classmethod
    def of(cls, sample: _Sample) -> _Spread:
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

    def order(self) -> Integers:
        """The columns that vary, the most separating first."""
        order = np.argsort(-self.separation, kind="stable")
        return np.asarray(order[self.varies[order]])

    def standardised(self, sample: _Sample, columns: Integers) -> _Sample:
        """Some columns, made dense, with mean 0 and variance 1."""
        values = (dense(sample.values[:, columns]) - self.mean[columns]) / self.deviation[columns]
        return replace(sample, values=values)


def _column(sample: _Sample, spread: _Spread, j: int, name: str) -> dict[str, Any]:
    separation, missing = float(spread.separation[j]), float(np.clip(spread.missing[j], 0.0, 1.0))
    values = dense(sample.values[:, [j]]).ravel()
    return {"name": name, "separation": separation, "missing": missing, **_histogram(sample, values)}


def _histogram(sample: _Sample, values: Floats) -> dict[str, Any]:
    """Counts by class in equal bins over most of the range; what lies beyond is counted in the bins at the ends."""
    known = np.isfinite(values)
    seen = values[known]
    low, high, n_bins = _bins(seen)
    # Halves, since the difference of the largest numbers is no number.
    at = np.clip((seen / 2 - low / 2) / (high / 2 - low / 2) * n_bins, 0, n_bins - 1).astype(np.intp)
    cells = np.bincount(sample.codes[known] * n_bins + at, sample.weight[known], sample.n_classes * n_bins)
    return {"low": low, "high": high, "counts": cells.round(3).reshape(sample.n_classes, n_bins).tolist()}


def _bins(values: Floats) -> tuple[float, float, int]:
    """Where bins begin and end, and how many there are; whole numbers have them around the numbers."""
    low, high = _range(values)
    if high - low < 2**40 and bool((values == np.round(values)).all()):
        low, high = float(np.floor(low)), float(np.ceil(high))
        width = int((high - low) // MOST_BINS + 1)
        n_bins = int((high - low) // width + 1)
        return low - 0.5, low - 0.5 + n_bins * width, n_bins
    return low, high, int(np.clip(2 * np.cbrt(len(values)), 6, MOST_BINS))


def _range(values: Floats) -> tuple[float, float]:
    """From the least to the greatest value, or to a quarter of the range of nearly all beyond that."""
    least, greatest = float(values.min()), float(values.max())
    low, high = np.percentile(values / 4, [0.5, 99.5])
    if high > low:
        beyond = (high - low) / 4
        return max(least, 4 * float(low - beyond)), min(greatest, 4 * float(high + beyond))
    return (least, greatest) if greatest > least else (least - 0.5, least + 0.5)


def _correlation(standardised: _Sample, names: list[str]) -> dict[str, Any] | None:
    """Correlations of the first columns, each from the rows in which both are known."""
    Z, w = standardised.values[:, : len(names)], standardised.weight[:, None]
    if len(names) < 2:
        return None
    known = np.isfinite(Z)
    Z = np.where(known, Z, 0.0)
    squares = (w * Z**2).T @ known
    sizes = np.sqrt(squares * squares.T)
    values = np.divide((w * Z).T @ Z, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return {"names": names, "values": (np.clip(values, -1, 1).round(2) + 0.0).tolist()}


def _mixed(standardised: _Sample, names: list[str]) -> dict[str, Any]:
    """What columns show together, missing values being filled with means: principal components and directions."""
    if not names:
        return {"explained_variance": [], "directions": None}
    filled = replace(standardised, values=np.nan_to_num(standardised.values))
    classes: ByClass[Moments] = ByClass.of(Moments, filled.values, filled.codes, filled.weight)
    shares = PCA().estimate(classes.total()).explained_variance_ratio_
    explained = np.minimum(np.cumsum(shares), 1.0)[:MOST_COMPONENTS].round(4).tolist()
    return {"explained_variance": explained, "directions": _directions(filled, classes, names[:MOST_DIRECTED])}


def _directions(filled: _Sample, classes: ByClass[Moments], names: list[str]) -> dict[str, Any] | None:
    """Where the classes lie in the directions that separate them most."""
    first = classes.each(lambda part: part.leading(len(names)))
    # The principal components that the data determine, the largest first and not too many.
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
        "weights": [_largest(direction, names) for direction in directions.T],
        **_places(filled, filled.values[:, : len(names)] @ directions),
    }


def _largest(direction: Floats, names: list[str]) -> list[list[Any]]:
    """The columns that weigh most in a direction; weights are of standardised columns."""
    largest = np.argsort(-np.abs(direction), kind="stable")[:MOST_WEIGHTS]
    return [[names[j], round(float(direction[j]), 4)] for j in largest.tolist()]


def _places(sample: _Sample, Z: Floats) -> dict[str, Any]:
    """The rows in one direction, as a histogram, or in two, as means, covariances and points."""
    if Z.shape[1] == 1:
        return {"histogram": _histogram(sample, Z[:, 0]), "means": None, "covariances": None, "points": None}
    parts = ByClass.of(Moments, Z, sample.codes, sample.weight).parts
    each = [parts.get(k) for k in range(sample.n_classes)]
    rows, _ = _chosen(sample.codes, sample.n_classes, MOST_POINTS)
    codes = sample.codes[rows].tolist()
    return {
        "histogram": None,
        "means": [None if part is None else part.mean.round(4).tolist() for part in each],
        "covariances": [None if part is None else part.covariance().round(4).tolist() for part in each],
        "points": [[*place, k] for place, k in zip(Z[rows].round(3).tolist(), codes, strict=True)],
    }
