"""Search for exact copies of test rows among the rows on which the model was trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from likely._typing import Integers

CHUNK = 2**16
"""Number of values that are hashed at a time. It is so small that these values fit into the cache."""


def count_copies(numbers: Any, codes: Integers, tests: Sequence[Integers]) -> tuple[int, int]:
    """Count the test rows that have an exact copy in another fold, and those with a copy that has another label.

    The model that scored a row was trained on the rows of other folds, so copies there make its task too easy. Copies
    have equal values in all columns. −0 equals 0, and missing values equal each other.

    Parameters
    ----------
    numbers : array or sparse array of shape (n, n_columns)
        NaN is a missing value.
    codes : array of shape (n,)
        The class of each row.
    tests : sequence of arrays
        Positions of the test rows of each fold. Rows in no test set are training rows of all models.

    Returns
    -------
    n_rows, n_contradicting : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0], [3.0, 5.0]])
    >>> count_copies(X, np.array([0, 1, 1, 1]), [np.array([0, 1]), np.array([2, 3])])
    (2, 2)
    """
    if not numbers.shape[1] or not len(codes):
        return 0, 0
    folds = np.full(len(codes), -1)
    for fold, test in enumerate(tests):
        folds[test] = fold
    X = np.asarray(numbers) if not hasattr(numbers, "tocsr") else _merge_duplicates(numbers.tocsr())
    # Find the rows that have the same hash as another row. Then find the sets of equal rows among these rows.
    _, at, counts = np.unique(_hash_rows(X), return_inverse=True, return_counts=True)
    rows = np.flatnonzero(counts[at] > 1)
    known: dict[bytes, int] = {}
    keys = (key for part in _split_rows(X, len(rows)) for key in _make_keys(X[rows[part]]))
    sets = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
    in_all, in_fold = _count_alike(sets), _count_alike(sets, folds[rows])
    of_label, of_both = _count_alike(sets, codes[rows]), _count_alike(sets, folds[rows], codes[rows])
    is_apart = (folds[rows] >= 0) & (in_all > in_fold)
    is_contradicted = is_apart & (in_all - in_fold > of_label - of_both)
    return int(is_apart.sum()), int(is_contradicted.sum())


def _merge_duplicates(rows: Any) -> Any:
    """Return sparse rows in canonical format, in which a row stores each column at most once, in ascending order."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _hash_rows(X: Any) -> Integers:
    """Compute a 64-bit hash of each row."""
    hashes = np.empty(X.shape[0], dtype=np.int64)
    for part in _split_rows(X, X.shape[0]):
        hashes[part] = list(map(hash, _make_keys(X[part])))
    return hashes


def _split_rows(X: Any, n: int) -> Iterator[slice]:
    """Split n rows into slices of about CHUNK values each."""
    width = max(1.0, X.nnz / X.shape[0]) if hasattr(X, "indptr") else X.shape[1]
    step = max(1, int(CHUNK // width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _make_keys(rows: Any) -> list[bytes]:
    """Return a key for each row, made of the bytes of its values. Equal rows have equal keys."""
    if not hasattr(rows, "indptr"):
        values = np.ascontiguousarray(_normalise_bits(rows))
        return list(values.view(f"V{values.itemsize * values.shape[1]}").ravel().tolist())
    rows = rows.copy()
    rows.eliminate_zeros()
    values, columns = _normalise_bits(rows.data).tobytes(), rows.indices.tobytes()
    v, c = rows.data.itemsize, rows.indices.itemsize
    return [columns[c * a : c * b] + values[v * a : v * b] for a, b in pairwise(rows.indptr.tolist())]


def _normalise_bits(values: Any) -> Any:
    """Return a copy of ``values`` in which −0 is replaced by 0 and all missing values have the same bits."""
    values = np.array(values)
    if values.dtype.kind == "f":
        values += 0.0
        values[np.isnan(values)] = np.nan
    return values


def _count_alike(*labels: Integers) -> Integers:
    """Return, for each row, the number of rows (itself included) that have the same label in every array."""
    if not len(labels[0]):
        return labels[0]
    key = labels[0]
    for more in labels[1:]:
        key = np.unique(key, return_inverse=True)[1] * (int(more.max()) + 2) + more + 1
    _, at, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[at])
