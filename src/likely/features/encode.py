"""Columns of numbers and of categories as numbers, and missing numbers filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from likely._constraints import (
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    check_parameters,
    count,
    floats,
    instance_of,
    label,
    list_of,
    none_or,
    text,
)
from likely._fitted import Fitted, all_or_nothing
from likely._typing import Floats, Labels
from likely._validation import check_rows, check_weight
from likely.blocks import AdditiveLearner, AdditiveState, Block, moments, over_rows
from likely.exceptions import InvalidDataError
from likely.statistics import DiagonalMoments
from likely.tables.cells import column_of, distinct, kind_of, numbers_of
from likely.tables.files import hint

MOST_OUTPUTS = 2**27
"""Cells of the table that categories of one column may be looked up in: a gibibyte."""


def _check_texts(value: Any, scope: Scope) -> None:
    list_of(none_or(list_of(text, types=(list,))), types=(list,))(value, scope)
    if any(column is not None and len(set(column)) < len(column) for column in value):
        raise ViolationError("must be distinct texts, but one stands twice")


@dataclass(frozen=True, eq=False)
class EncodeState:
    """The columns, the categories of each (None for one of numbers), their shares, and how many are kept."""

    columns_: Annotated[list[Any], list_of(label, types=(list,))]
    categories_: Annotated[list[Any], Constraint("for each column None, or its distinct texts", _check_texts)]
    shares_: Annotated[list[Any], list_of(none_or(floats("_", low=0)), types=(list,))]
    n_kept_: Annotated[list[int], list_of(count(), types=(list,))]


class Encode(OneToOneFeatureMixin, Fitted, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of a table as numbers: numbers as they are, categories as indicators.

    It takes a pandas, Polars or pyarrow frame, or an array, and gives an array in double precision. Numbers and
    booleans are numbers; texts and dictionaries are categories. Columns of a frame are found by name, in any order, and
    further columns are ignored. Missing numbers stay NaN. A missing category is a category of its own if one was
    missing in training. A category that training did not have, as a missing one may be, is encoded as the average row
    of training: it says nothing.

    Labels are not looked at, so it may be fitted before rows are divided into folds: nothing of the labels leaks. What
    it learns is which categories there are and how frequent they are.

    Parameters
    ----------
    max_categories : int, default 32
        How many categories of a column are told apart, the most frequent ones; the others share one indicator.

    Attributes
    ----------
    columns_ : list
        The names of the columns: x0, x1 and so on for an array.
    categories_ : list
        For each column None if it holds numbers, else its texts, the most frequent first, equally frequent ones sorted.
    shares_ : list
        For each column None if it holds numbers, else the share of each category in training, and last that of the
        missing.
    n_kept_ : list of int
        For each column how many categories are told apart.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only where the columns have names that are texts.

    Notes
    -----
    The most frequent category of a column is its reference and has no indicator: all indicators of the column are then
    0. The others follow by frequency, then "(other)" and "(missing)" where there are such rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [35.0, None, 41.0], "purpose": ["car", "radio", "car"]})
    >>> encode = Encode().fit(table)
    >>> encode.get_feature_names_out()
    array(['age', 'purpose=radio'], dtype=object)
    >>> encode.transform(table)
    array([[35.,  0.],
           [nan,  1.],
           [41.,  0.]])
    >>> encode.transform(pa.table({"purpose": ["boat"], "age": [28]})).round(3)
    array([[28.   ,  0.333]])
    """

    fits_are_isolated: ClassVar[bool] = True
    _State = EncodeState
    _constraints: ClassVar[Constraints] = {"max_categories": count(1, 2**31)}
    columns_: list[Any]
    categories_: list[Any]
    shares_: list[Any]
    n_kept_: list[int]

    def __init__(self, *, max_categories: int = 32) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the columns, and the categories of each; an error leaves the estimator as it was.

        Parameters
        ----------
        X : frame or array of shape (n, n_features)
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            table = opened(self, X, reset=True)
            weight = check_weight(sample_weight, table.n)
            found = [None] * len(table.names) if table.is_numeric() else self._found(table, weight)
            self._state = EncodeState(
                table.names,
                [None if column is None else column.texts for column in found],
                [None if column is None else column.shares for column in found],
                [0 if column is None else column.kept for column in found],
            )
        return self

    def _check_state(self, scope: Scope) -> None:
        """Check that every list has an entry for each column, and that tables of categories stay small."""
        if not scope.fitted:
            return
        d = scope.sizes["d"]
        lists = (self.columns_, self.categories_, self.shares_, self.n_kept_)
        if any(len(entries) != d for entries in lists) or len(set(self.columns_)) < d:
            raise ViolationError(f"must know the name and the categories of each of {d} columns")
        for texts, shares, kept in zip(self.categories_, self.shares_, self.n_kept_, strict=True):
            _check_categories(texts, shares, kept)
        scope.sizes["out"] = sum(1 if coding is None else len(coding.indicators()) for coding in self._codings())

    def _found(self, table: Table, weight: Floats | None) -> list[Categories | None]:
        """What each column's categories are, None for one of numbers."""
        columns = (column for _, column in table.columns("Encode", table.names))
        return [
            None if kind_of(column) == "number" else Categories.of(column, weight, self.max_categories)
            for column in columns
        ]

    def transform(self, X: Any) -> Floats:
        """Encode rows; the result has shape (n, n_outputs)."""
        check_is_fitted(self)
        table, codings = opened(self, X, reset=False), self._codings()
        if table.is_numeric() and not any(codings):
            return _finite(table)
        ends = np.cumsum([0, *(1 if coding is None else len(coding.indicators()) for coding in codings)]).tolist()
        out = np.empty((table.n, ends[-1]))
        for at, (name, column) in enumerate(table.columns("Encode", self.columns_)):
            coding = codings[at]
            encoded = _numbers(name, column)[:, None] if coding is None else coding.encoded(column)
            out[:, ends[at] : ends[at + 1]] = encoded
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Names of the outputs, such as "age" and "purpose=radio"."""
        names: list[str] = []
        for name, coding in zip(super().get_feature_names_out(input_features), self._codings(), strict=True):
            names += [name] if coding is None else [f"{name}={said}" for said in coding.indicators()]
        return np.array(names, dtype=object)

    def _codings(self) -> list[Categories | None]:
        """How each column is encoded, None for one of numbers."""
        columns = zip(self.categories_, self.shares_, self.n_kept_, strict=True)
        return [
            None if texts is None or shares is None else Categories(texts, shares, kept)
            for texts, shares, kept in columns
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.target_tags.required = False
        return tags


def _numbers(name: Any, column: Any) -> Floats:
    """A column that held numbers at the fit as numbers."""
    if kind_of(column) == "number":
        values = numbers_of(column)
        _check_finite(name, values)
        return values
    texts, codes = distinct(column)
    if not texts:
        return np.full(len(codes), np.nan)
    row = int((codes >= 0).argmax())
    raise InvalidDataError(
        f"Column {name!r} held numbers when Encode was fitted, but now holds text: row {row} has "
        f"{texts[codes[row]]!r}. Correct it, or fit again with the column as text."
    )


def _finite(table: Table) -> Floats:
    """An array of numbers in double precision, none of them infinite."""
    values = np.asarray(table.array, dtype=np.float64)
    with np.errstate(all="ignore"):
        doubtful = not np.isfinite(values.sum())
    if doubtful:
        for name, column in zip(table.names, values.T, strict=True):
            _check_finite(name, column)
    return values


def _check_finite(name: Any, values: Floats) -> None:
    bad = np.isinf(values)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidDataError(
            f"Numbers must be finite or missing, but row {row} of column {name!r} is {values[row]}. Correct it, or "
            "leave it out."
        )


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a column in descending order of frequency, of which the first ``kept`` are distinguished.

    ``shares`` has the share of each in training, and after them that of the missing.
    """

    texts: list[str]
    shares: Floats
    kept: int

    @classmethod
    def of(cls, column: Any, weight: Floats | None, most: int) -> Categories:
        """The categories of an Arrow column; equally frequent ones are sorted."""
        texts, codes = distinct(column)
        sums = np.bincount(codes + 1, weight, minlength=len(texts) + 1)
        shares = sums / sums.sum()
        # Sums of weights in another order may differ by rounding, and equally frequent categories must not.
        ranks = (-shares.round(12)).tolist()
        seen = np.flatnonzero(sums[1:] > 0).tolist()
        order = sorted(seen, key=lambda at: (ranks[at + 1], texts[at]))
        return cls([texts[at] for at in order], np.append(shares[1:][order], shares[0]), min(len(order), most))

    def indicators(self) -> list[str]:
        """What each indicator stands for; the first category is the reference and has none."""
        other = ["(other)"] if len(self.texts) > self.kept else []
        missing = ["(missing)"] if self.texts and self.shares[-1] > 0 else []
        return [*self.texts[1 : self.kept], *other, *missing]

    def rows(self) -> Floats:
        """A row of indicators for each category, then for a missing one, and last for one that was not seen."""
        kept = self.kept
        rows = np.zeros((len(self.texts) + 2, len(self.indicators())))
        rows[np.arange(1, kept), np.arange(kept - 1)] = 1.0
        rows[kept:-2, kept - 1 : kept] = 1.0
        if self.shares[-1] > 0:
            rows[-2, -1:] = 1.0
        rows[-1] = self.shares @ rows[:-1]
        if not self.shares[-1] > 0:
            rows[-2] = rows[-1]
        return rows

    def encoded(self, column: Any) -> Floats:
        """The indicators of an Arrow column; the distinct texts are looked up, not the rows."""
        texts, codes = distinct(column)
        places = {text: at for at, text in enumerate(self.texts)}
        found = [places.get(text, len(self.texts) + 1) for text in texts]
        # The code of a missing cell is -1.
        return np.asarray(self.rows()[np.array([*found, len(self.texts)])[codes]])


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


def _check_categories(texts: Any, shares: Any, kept: int) -> None:
    n = -1 if texts is None else len(texts)
    if (shares is None) != (texts is None) or (shares is not None and shares.shape != (n + 1,)):
        raise ViolationError("shares_ must be one for each category and one for the missing")
    if shares is not None and not abs(shares.sum() - 1) < 1e-6:
        raise ViolationError(f"shares_ must sum to 1, but sum to {shares.sum():g}")
    if not min(max(n, 0), 1) <= kept <= max(n, 0) or (n + 2) * (kept + 2) > MOST_OUTPUTS:
        raise ViolationError(f"n_kept_ must be a number of categories that can be told apart, but is {kept} of {n}")


@dataclass(frozen=True, eq=False)
class FillState(AdditiveState):
    """The moments of the columns, and their means."""

    statistics_: Annotated[DiagonalMoments, instance_of(DiagonalMoments, d="d")]
    _parameters: Annotated[Floats | None, none_or(floats("d"))] = None


class Fill(OneToOneFeatureMixin, TransformerMixin, AdditiveLearner):  # type: ignore[misc]
    """Fill missing values with the mean of their column: for models that take none.

    Unlike scikit-learn's imputers it takes weights, learns in instalments and from sources. A filled value looks like
    one that was observed, so models are surer of such rows than they should be; generative models of this library need
    no filling, and leave missing values out exactly. A column without any value is filled with 0.

    Attributes
    ----------
    mean_ : array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> Fill().fit_transform([[1.0, 5.0], [3.0, np.nan]])
    array([[1., 5.],
           [3., 5.]])
    """

    _State = FillState
    _constraints: ClassVar[Constraints] = {}

    def _check_state(self, scope: Scope) -> None:
        super()._check_state(scope)
        if scope.fitted:
            scope.sizes["out"] = scope.sizes["d"]

    @property
    def mean_(self) -> Floats:
        mean: Floats = self._learned()
        return mean

    def transform(self, X: Any) -> Floats:
        """The rows, with means in place of NaN."""
        mean, rows = self.mean_, check_rows(self, X)
        filled = over_rows(partial(_filled, mean), rows, len(mean))
        infinite = np.flatnonzero(np.isinf(filled).any(axis=1))
        if len(infinite):
            at = int(infinite[0])
            raise Block(rows[at : at + 1], positions=[at]).non_finite()
        return filled

    def _statistic(self) -> Any:
        return moments, (DiagonalMoments,)

    def _estimate(self, statistics: Any) -> Floats:
        return np.asarray(np.nan_to_num(statistics.mean))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _filled(mean: Floats, rows: Floats) -> Floats:
    return np.where(np.isnan(rows), mean, rows)
