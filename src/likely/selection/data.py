"""The rows of a comparison: checked once, as they were given and as numbers, with a fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator

from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_rows, check_weight
from likely.exceptions import DegenerateDataError, InvalidDataError
from likely.features import Encode
from likely.resampling.folds import take

__all__ = ["RowSet", "encoder_for"]


@dataclass(frozen=True, eq=False)
class RowSet:
    """Labelled rows: as they were given, for candidates of the user's own, and as numbers, for all others."""

    X: Any
    numbers: Any
    y: Labels
    weight: Floats | None = None
    groups: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, groups: Any, encoder: Encode | None, whose: str) -> RowSet:
        """Checked rows, with those of weight 0 still among them."""
        labels, X = check_labels(whose, y), as_rows(X)
        weight = check_weight(sample_weight, len(labels))
        names = None if groups is None else np.asarray(groups)
        for what, part in (("rows", X), ("groups", names)):
            if part is not None and part.shape[0] != len(labels):
                raise InvalidDataError(
                    f"{whose}: {part.shape[0]} {what} came with {len(labels)} labels. There must be one for each row."
                )
        numbers = X if encoder is None else _encoded(X, encoder, whose)
        rows = cls(X, check_rows(BaseEstimator(), numbers, reset=True), labels, weight, names)
        rows._check_values(whose, encoder)
        return rows

    def of_rows(self, rows: Integers) -> RowSet:
        """Some of the rows."""
        parts = (None if part is None else part[rows] for part in (self.weight, self.groups))
        return RowSet(take(self.X, rows), self.numbers[rows], self.y[rows], *parts)

    def rows_for(self, encoded: bool) -> Any:
        return self.numbers if encoded else self.X

    @property
    def has_missing(self) -> bool:
        values = _stored(self.numbers)
        return bool(values.dtype.kind == "f" and np.isnan(values.sum(dtype=np.float64)) and np.isnan(values).any())

    def _check_values(self, whose: str, encoder: Encode | None) -> None:
        """Values are finite or missing, and no column is missing everywhere."""
        values = _stored(self.numbers)
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
            return
        if np.isinf(values).any():
            where = "" if hasattr(self.numbers, "tocsr") else f" in {_column(np.isinf(values).any(axis=0), encoder)}"
            raise InvalidDataError(f"{whose}: features must be finite or missing (NaN), but one is infinite{where}.")
        empty = np.isnan(values).all(axis=0)
        if values.ndim == 2 and empty.any():
            raise InvalidDataError(f"{whose}: {_column(empty, encoder)} has no value in any row. Leave it out.")

    @property
    def fingerprint(self) -> str:
        """The same for the same values, types, labels, weights and groups in the same order."""
        sha = hashlib.sha256()
        for part in (*_parts(self.X), self.y, self.weight, self.groups):
            _add(sha, part)
        return sha.hexdigest()[:16]


def _encoded(X: Any, encoder: Encode, whose: str) -> Any:
    """Columns as numbers; what is wrong with them is said of whose they are."""
    try:
        return encoder.transform(X)
    except InvalidDataError as error:
        raise type(error)(f"{whose}: {error}") from error


def encoder_for(X: Any, sample_weight: Any) -> Encode | None:
    """How columns of a data frame, or cells of an array of objects, become numbers; None for arrays of numbers."""
    is_table = (
        hasattr(X, "columns") or hasattr(X, "column_names") or getattr(X, "dtype", np.dtype(float)).kind in "OUST"
    )
    return Encode().fit(X, sample_weight=sample_weight) if is_table else None


def as_rows(X: Any) -> Any:
    """Rows that have a shape and can be taken by position."""
    if issparse(X):
        return csr_array(X)  # type: ignore[call-overload]
    return X if hasattr(X, "shape") else np.asarray(X)


def check_two_classes(y: Labels, whose: str) -> Labels:
    """The classes of some labels, of which there are two at least."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise DegenerateDataError(
            f"{whose} must have rows of two classes at least, but all {len(y)} are of class {classes.tolist()[0]!r}."
        )
    return classes


def _column(which: Any, encoder: Encode | None) -> str:
    """The first of some columns, by name or by number."""
    at = int(which.argmax())
    return f"column {at}" if encoder is None else f"column {str(encoder.get_feature_names_out()[at])!r}"


def _stored(X: Any) -> Any:
    """The values of an array, or those that a sparse one stores."""
    return X.data if hasattr(X, "tocsr") else X


def _parts(X: Any) -> list[Any]:
    """The arrays that rows are made of; of a frame its columns after their names."""
    if hasattr(X, "tocsr"):
        return [X.data, X.indices, X.indptr, np.array(X.shape)]
    if isinstance(X, np.ndarray):
        return [X]
    frame = nw.from_native(X, eager_only=True)
    return [part for name in frame.columns for part in (str(name), frame[name].to_numpy())]


def _add(sha: Any, part: Any) -> None:
    if part is None or isinstance(part, str):
        sha.update(str(part).encode() + b"|")
        return
    values = np.asarray(part)
    if values.dtype.kind in "OT":  # 1 and "1" read alike, and are not
        sha.update(str(sorted({type(value).__name__ for value in values.ravel().tolist()})).encode())
        values = values.astype(str)
    sha.update(f"{values.dtype}{values.shape}|".encode())
    sha.update(np.ascontiguousarray(values))
