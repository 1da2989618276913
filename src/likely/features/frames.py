"""Rows with columns of several kinds, of whatever library they come from, as Arrow columns by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from likely._typing import Labels
from likely.exceptions import InvalidDataError
from likely.tables.cells import column_of, kind_of
from likely.tables.files import hint

__all__ = ["Table", "opened"]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name: an array of numbers, or columns that become Arrow columns when they are asked for."""

    names: list[Any]
    n: int
    array: Labels | None = None
    frame: Any = None

    def is_numeric(self) -> bool:
        """Whether all columns are numbers in one array."""
        return self.array is not None and self.array.dtype.kind in "iufb"

    def columns(self, whom: str, names: list[Any]) -> Iterator[tuple[Any, Any]]:
        """The columns of these names, each an Arrow column of numbers or of categories, after its name."""
        for at, name in enumerate(names):
            column = column_of(self.array[:, at]) if self.array is not None else self._of_frame(whom, name)
            if kind_of(column) is None:
                raise InvalidDataError(
                    f"{whom} takes columns of numbers and of categories, but column {name!r} is of type {column.type}. "
                    "Drop it, or turn it into a number."
                )
            yield name, column

    def _of_frame(self, whom: str, name: Any) -> Any:
        if name not in self.names:
            likely = hint(str(name), [str(other) for other in self.names])
            raise InvalidDataError(f"{whom} takes the columns it was fitted on, but X has no column {name!r}.{likely}")
        series = self.frame.get_column(name)
        try:
            return series.to_arrow()
        except (TypeError, ValueError):  # cells that mix texts and numbers
            return column_of(series.to_numpy().astype(object))


def opened(estimator: Any, X: Any, reset: bool) -> Table:
    """Rows to be encoded; at a fit (``reset``) the names and number of columns are kept in the estimator."""
    whom = type(estimator).__name__
    if issparse(X):
        raise InvalidDataError(
            f"{whom} takes dense rows, but X is sparse: its columns are numbers already. Leave {whom} out."
        )
    frame = _as_frame(X)
    if isinstance(frame, nw.LazyFrame):
        raise InvalidDataError(f"{whom} takes rows in memory, but X is a lazy frame. Collect it first.")
    if not isinstance(frame, nw.DataFrame):
        return _of_array(estimator, X, reset)
    names = list(frame.columns)
    if not (names and len(frame)):
        raise InvalidDataError(f"Found array with {len(frame)} sample(s) and {len(names)} feature(s) in X of {whom}.")
    if reset:
        _keep_names(estimator, names)
    return Table(names, len(frame), frame=frame)


def _as_frame(X: Any) -> Any:
    """A frame that can be asked for its columns, whatever library it is of; anything else as it is."""
    try:
        frame = nw.from_native(X, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
    except DuplicateError:
        names = list(X.columns)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidDataError(f"Columns must have names of their own, but X has {twice[0]!r} twice. Rename one.")
    return frame


def _of_array(estimator: Any, X: Any, reset: bool) -> Table:
    if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind == "U":
        X = np.array(X, dtype=object)  # numbers beside texts stay numbers
    array = np.asarray(validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False))
    return Table([f"x{at}" for at in range(array.shape[1])], len(array), array=array)


def _keep_names(estimator: Any, names: list[Any]) -> None:
    """What scikit-learn keeps of a frame's columns."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
