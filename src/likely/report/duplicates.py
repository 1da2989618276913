"""Rows that were judged although the model that scored them had learned from exact copies of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likely._typing import Booleans, Floats, Integers

__all__ = ["duplicates_across"]

CHUNK = 2**16
"""Values hashed or compared at a time: they stay in cache."""

ODD, HALF = np.uint64(0xFF51AFD7ED558CCD), np.uint64(33)
"""What bits are multiplied and shifted by to mix them, as MurmurHash3 does."""

Bits = NDArray[np.uint64]


def duplicates_across(numbers: Any, codes: Integers, tests: Sequence[Integers]) -> tuple[int, int]:
    """How many judged rows have an exact copy in another fold, and of how many such a copy has another label.

    Rows of other folds are what the model that scored a row has learned from, so copies there make its task too easy.
    Copies have equal values in all columns; −0 equals 0, and missing values are alike.

    Parameters
    ----------
    numbers : array or sparse array of shape (n, n_columns)
        NaN is a missing value.
    codes : array of shape (n,)
        The class of each row.
    tests : sequence of arrays
        The positions of the rows that each fold judges. Rows in none of them are learned from by all models.

    Returns
    -------
    n_rows, n_contradicting : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0], [3.0, 5.0]])
    >>> duplicates_across(X, np.array([0, 1, 1, 1]), [np.array([0, 1]), np.array([2, 3])])
    (2, 2)
    """
    if not numbers.shape[1] or not len(codes):
        return 0, 0
    folds = np.full(len(codes), -1)
    for fold, test in enumerate(tests):
        folds[test] = fold
    rows, sets = _copies(_canonical(numbers), folds)
    in_all, in_fold = _alike(sets), _alike(sets, folds[rows])
    of_label, of_both = _alike(sets, codes[rows]), _alike(sets, folds[rows], codes[rows])
    is_apart = (folds[rows] >= 0) & (in_all > in_fold)
    is_contradicted = is_apart & (in_all - in_fold > of_label - of_both)
    return int(is_apart.sum()), int(is_contradicted.sum())


def _canonical(numbers: Any) -> Any:
    """Rows by position; sparse ones with no column stored twice."""
    if not hasattr(numbers, "tocsr"):
        return numbers
    rows = numbers.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _copies(X: Any, folds: Integers) -> tuple[Integers, Integers]:
    """Rows that have copies in other folds, and the first row of each one's set of copies."""
    hashes = _hashes(X)
    order = np.argsort(hashes, kind="stable")
    begins = np.append(True, np.diff(hashes[order]) != 0)
    run = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    torn = np.minimum.reduceat(folds[order], starts) < np.maximum.reduceat(folds[order], starts)
    kept = torn[run]
    return _verified(X, order[kept], order[starts][run][kept])


def _verified(X: Any, rows: Integers, first: Integers) -> tuple[Integers, Integers]:
    """Rows of equal hash that are copies of the first, and in further rounds what is left of each set by itself."""
    found: list[tuple[Integers, Integers]] = [(rows[:0], rows[:0])]
    while len(rows):
        same = _are_equal(X, rows, first)
        found.append((rows[same], first[same]))
        rows, sets = rows[~same], first[~same]
        names, at, run = np.unique(sets, return_index=True, return_inverse=True)
        first = rows[at][run] if len(names) else sets
    return np.concatenate([part for part, _ in found]), np.concatenate([part for _, part in found])


def _alike(*labels: Integers) -> Integers:
    """How many rows share all labels of each."""
    if not len(labels[0]):
        return labels[0]
    key = labels[0]
    for more in labels[1:]:
        key = np.unique(key, return_inverse=True)[1] * (int(more.max()) + 2) + more + 1
    _, at, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[at])


def _hashes(X: Any) -> Bits:
    """A number for each row, the same for copies and else as good as never."""
    n, d = X.shape
    factors = np.random.default_rng(0).integers(0, 2**63, d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(n, dtype=np.uint64)
    of = _of_stored if issparse(X) else _of_values
    for start, stop in _chunks(X):
        hashes[start:stop] = of(X[start:stop], factors)
    return hashes


def _chunks(X: Any) -> Iterator[tuple[int, int]]:
    n, d = X.shape
    width = max(1.0, len(X.data) / n) if hasattr(X, "indptr") else d
    step = max(1, int(CHUNK // width))
    return ((start, min(start + step, n)) for start in range(0, n, step))


def _of_values(rows: Any, factors: Bits) -> Bits:
    mixed = _mixed(_bits(rows))
    mixed *= factors
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64))


def _of_stored(rows: Any, factors: Bits) -> Bits:
    """Zeros count for nothing, stored or not; sums that wrap around give right differences."""
    mixed = np.where(rows.data == 0, np.uint64(0), _mixed(_bits(rows.data)) * factors[rows.indices])
    sums = np.append(np.uint64(0), np.cumsum(mixed, dtype=np.uint64))
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _bits(values: Any) -> Bits:
    """The bits of numbers, of which zeros, and missing values, have one kind each."""
    plain: Floats = np.array(values, dtype=np.float64)
    plain += 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def _mixed(bits: Bits) -> Bits:
    """Bits each of which depends on all, in place: whole numbers differ in few, and only in high ones."""
    bits ^= bits >> HALF
    bits *= ODD
    bits ^= bits >> HALF
    return bits


def _are_equal(X: Any, rows: Integers, others: Integers) -> Booleans:
    """Whether rows equal others, a few at a time."""
    same = np.empty(len(rows), dtype=bool)
    step = max(1, CHUNK // X.shape[1]) if not issparse(X) else 2**14
    of = _same_stored if issparse(X) else _same_values
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        same[part] = of(X[rows[part]], X[others[part]])
    return same


def _same_values(a: Any, b: Any) -> Booleans:
    return np.asarray(((a == b) | ((a != a) & (b != b))).all(axis=1))


def _same_stored(a: Any, b: Any) -> Booleans:
    """Sparse rows, as matrices of bits, in which missing values are equal."""
    parts = []
    for rows in (a.copy(), b.copy()):
        rows.eliminate_zeros()
        rows.data = _bits(rows.data).view(np.int64)
        parts.append(rows)
    return np.asarray(np.diff((parts[0] != parts[1]).tocsr().indptr) == 0)
