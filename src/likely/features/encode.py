"""Encoding of numeric and categorical columns as numbers, and imputation of missing numbers."""

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
from likely._validation import check_rows, check_weight, check_width
from likely.blocks import AdditiveLearner, AdditiveState, Block, moments, over_rows
from likely.exceptions import InvalidDataError
from likely.statistics import DiagonalMoments
from likely.tables.cells import column_of, encode_distinct, kind_of, numbers_of
from likely.tables.files import suggest_name

MAX_LOOKUP_CELLS = 2**27
"""Maximum number of cells in the lookup table of the categories of one column. So many cells take one gibibyte."""


def _check_texts(value: Any, scope: Scope) -> None:
    list_of(none_or(list_of(text, types=(list,))), types=(list,))(value, scope)
    if any(column is not None and len(set(column)) < len(column) for column in value):
        raise ViolationError("must be distinct texts, but one text occurs twice")


@dataclass(frozen=True, eq=False)
class EncodeState:
    """Fitted state of :class:`Encode`, whose attributes are described there."""

    columns_: Annotated[list[Any], list_of(label, types=(list,))]
    categories_: Annotated[
        list[Any], Constraint("a list with an entry for each column: None or a list of distinct texts", _check_texts)
    ]
    shares_: Annotated[list[Any], list_of(none_or(floats("_", low=0)), types=(list,))]
    n_kept_: Annotated[list[int], list_of(count(), types=(list,))]


class Encode(OneToOneFeatureMixin, Fitted, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode the columns of a table as numbers: numbers are unchanged, categories become indicators.

    The input is a pandas, Polars or pyarrow frame, or an array. The output is an array in double precision. Columns of
    numbers and booleans are numeric; columns of texts and dictionaries are categorical. Columns of a frame are found
    by name, in any order, and additional columns are ignored. Missing numbers stay NaN. A missing category is a
    separate category if the column had missing cells in training. A category that did not occur in training, missing
    cells included, is encoded as the average training row, so it is neutral.

    Labels are not used, so the encoder may be fitted before the rows are divided into folds without leaking labels. It
    learns only the categories and their frequencies.

    Parameters
    ----------
    max_categories : int, default 32
        Maximum number of categories of a column that get separate indicators. The most frequent categories are kept;
        the others share one indicator.

    Attributes
    ----------
    columns_ : list
        The names of the columns: x0, x1 and so on for an array.
    categories_ : list
        For each column its texts, the most frequent first and equally frequent ones sorted; None if it is numeric.
    shares_ : list
        For each column the share of each category in training, followed by the share of missing cells; None if it is
        numeric.
    n_kept_ : list of int
        For each column the number of categories with separate indicators.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Present only if all column names are strings.

    Notes
    -----
    The most frequent category of a column is the reference. It has no indicator, so all indicators of the column are 0
    for it. The other categories follow by frequency, then "(other)" and "(missing)" if there are such rows.

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
        """Learn the columns and their categories; an error leaves the estimator unchanged.

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
            table = open_table(self, X, reset=True)
            weight = check_weight(sample_weight, table.n)
            found = [None] * len(table.names) if table.is_numeric() else self._find_categories(table, weight)
            self._state = EncodeState(
                table.names,
                [None if column is None else column.texts for column in found],
                [None if column is None else column.shares for column in found],
                [0 if column is None else column.kept for column in found],
            )
        return self

    def _check_state(self, scope: Scope) -> None:
        """Check that every list has an entry for each column, and that lookup tables do not exceed MAX_LOOKUP_CELLS."""
        if not scope.fitted:
            return
        d = scope.sizes["d"]
        lists = (self.columns_, self.categories_, self.shares_, self.n_kept_)
        if any(len(entries) != d for entries in lists) or len(set(self.columns_)) < d:
            raise ViolationError(f"must have a distinct name and an entry of categories for each of {d} columns")
        for texts, shares, kept in zip(self.categories_, self.shares_, self.n_kept_, strict=True):
            _check_categories(texts, shares, kept)
        scope.sizes["out"] = sum(1 if coding is None else len(coding.indicators()) for coding in self._codings())

    def _find_categories(self, table: Table, weight: Floats | None) -> list[Categories | None]:
        """Return the categories of each column of a training table, with None for a numeric column."""
        columns = (column for _, column in table.columns("Encode", table.names))
        return [
            None if kind_of(column) == "number" else Categories.of(column, weight, self.max_categories)
            for column in columns
        ]

    def transform(self, X: Any) -> Floats:
        """Encode rows; the result has shape (n, n_outputs)."""
        check_is_fitted(self)
        table, codings = open_table(self, X, reset=False), self._codings()
        if table.is_numeric() and not any(codings):
            return _finite_array(table)
        ends = np.cumsum([0, *(1 if coding is None else len(coding.indicators()) for coding in codings)]).tolist()
        out = np.empty((table.n, ends[-1]))
        for at, (name, column) in enumerate(table.columns("Encode", self.columns_)):
            coding = codings[at]
            encoded = _read_numbers(name, column)[:, None] if coding is None else coding.encode(column)
            out[:, ends[at] : ends[at + 1]] = encoded
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Return the names of the outputs, such as "age" and "purpose=radio"."""
        names: list[str] = []
        for name, coding in zip(super().get_feature_names_out(input_features), self._codings(), strict=True):
            names += [name] if coding is None else [f"{name}={category}" for category in coding.indicators()]
        return np.array(names, dtype=object)

    def _codings(self) -> list[Categories | None]:
        """Return the fitted categories of each column, with None for a numeric column."""
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


def _read_numbers(name: Any, column: Any) -> Floats:
    """Return the values of a column that was numeric in ``fit``, with NaN for missing cells.

    Raise if the column now holds text, or if a value is infinite.
    """
    if kind_of(column) == "number":
        values = numbers_of(column)
        _check_finite(name, values)
        return values
    texts, codes = encode_distinct(column)
    if not texts:
        return np.full(len(codes), np.nan)
    row = int((codes >= 0).argmax())
    raise InvalidDataError(
        f"Column {name!r} held numbers when Encode was fitted, but now holds text: row {row} has "
        f"{texts[codes[row]]!r}. Correct the value, or fit again with the column as text."
    )


def _finite_array(table: Table) -> Floats:
    """Return the array of a numeric table in double precision; raise if one of its values is infinite."""
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
            f"Numbers must be finite or missing, but row {row} of column {name!r} is {values[row]}. Correct the value, "
            "or replace it by NaN."
        )


@dataclass(frozen=True, eq=False)
class Categories:
    """Categories of one column, and their encoding as indicators.

    ``texts`` holds the categories, the most frequent first. Of these, the first ``kept`` are encoded separately, and
    the others share one indicator. ``shares`` holds the share of each category among the training rows, followed by the
    share of missing cells.
    """

    texts: list[str]
    shares: Floats
    kept: int

    @classmethod
    def of(cls, column: Any, weight: Floats | None, max_categories: int) -> Categories:
        """Return the categories of an Arrow column. Equally frequent categories are in sorted order."""
        texts, codes = encode_distinct(column)
        sums = np.bincount(codes + 1, weight, minlength=len(texts) + 1)
        shares = sums / sums.sum()
        # Sums of weights depend on the order of the rows by rounding errors. Shares are rounded, so that categories of
        # equal weight count as equally frequent.
        ranks = (-shares.round(12)).tolist()
        seen = np.flatnonzero(sums[1:] > 0).tolist()
        order = sorted(seen, key=lambda at: (ranks[at + 1], texts[at]))
        kept = min(len(order), max_categories)
        return cls([texts[at] for at in order], np.append(shares[1:][order], shares[0]), kept)

    def indicators(self) -> list[str]:
        """Return the category of each indicator; the first category is the reference and has no indicator."""
        other = ["(other)"] if len(self.texts) > self.kept else []
        missing = ["(missing)"] if self.texts and self.shares[-1] > 0 else []
        return [*self.texts[1 : self.kept], *other, *missing]

    def lookup_table(self) -> Floats:
        """Return the table of indicators: one row for each category, one for missing cells, and one for new categories.

        A new category is one that did not occur in training. Its row is the average of the training rows. The row of
        missing cells is the same if training had no missing cells.
        """
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

    def encode(self, column: Any) -> Floats:
        """Return the indicators of the cells of an Arrow column. Each distinct text is looked up only once."""
        texts, codes = encode_distinct(column)
        places = {text: at for at, text in enumerate(self.texts)}
        found = [places.get(text, len(self.texts) + 1) for text in texts]
        # The code of a missing cell is -1, so it selects the last entry of the array: the row of missing cells.
        return np.asarray(self.lookup_table()[np.array([*found, len(self.texts)])[codes]])


@dataclass(frozen=True, eq=False)
class Table:
    """Table whose columns have names, over an array or a data frame.

    A column is converted to an Arrow column when it is requested.
    """

    names: list[Any]
    n: int
    array: Labels | None = None
    frame: Any = None

    def is_numeric(self) -> bool:
        """Return whether the table is an array of numbers or booleans, not of objects or texts, and not a frame."""
        return self.array is not None and self.array.dtype.kind in "iufb"

    def columns(self, whom: str, names: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the name and the Arrow column of each of the given names.

        Raise if a column is missing, or is neither numeric nor categorical. ``whom`` is the name of the estimator, for
        the error message.
        """
        for at, name in enumerate(names):
            column = column_of(self.array[:, at]) if self.array is not None else self._of_frame(whom, name)
            if kind_of(column) is None:
                raise InvalidDataError(
                    f"{whom} takes numeric and categorical columns, but column {name!r} has the type {column.type}. "
                    "Drop the column, or convert it to numbers."
                )
            yield name, column

    def _of_frame(self, whom: str, name: Any) -> Any:
        if name not in self.names:
            likely = suggest_name(str(name), [str(other) for other in self.names])
            raise InvalidDataError(
                f"{whom} needs all columns of the rows it was fitted to, but X has no column {name!r}.{likely}"
            )
        series = self.frame.get_column(name)
        try:
            return series.to_arrow()
        except (TypeError, ValueError):  # the column mixes texts and numbers
            return column_of(series.to_numpy().astype(object))


def open_table(estimator: Any, X: Any, reset: bool) -> Table:
    """Return X, an array or a data frame, as a table.

    With ``reset``, which ``fit`` uses, store the names and the number of the columns in the estimator.
    """
    whom = type(estimator).__name__
    if issparse(X):
        raise InvalidDataError(
            f"{whom} takes dense rows, but X is sparse, so its columns are already numbers. Omit {whom}."
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
    """Return a narwhals frame if X is a frame of a supported library; return X otherwise."""
    try:
        frame = nw.from_native(X, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
    except DuplicateError:
        names = list(X.columns)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidDataError(f"Column names must be unique, but X has {twice[0]!r} twice. Rename one of them.")
    return frame


def _of_array(estimator: Any, X: Any, reset: bool) -> Table:
    if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind == "U":
        X = np.array(X, dtype=object)  # NumPy would convert numbers next to texts to texts
    if not reset:
        check_width(type(estimator).__name__, estimator, X)
    array = np.asarray(validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False))
    return Table([f"x{at}" for at in range(array.shape[1])], len(array), array=array)


def _keep_names(estimator: Any, names: list[Any]) -> None:
    """Store ``n_features_in_`` and, if all names are strings, ``feature_names_in_``, as scikit-learn does."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _check_categories(texts: Any, shares: Any, kept: int) -> None:
    n = -1 if texts is None else len(texts)
    if (shares is None) != (texts is None) or (shares is not None and shares.shape != (n + 1,)):
        raise ViolationError("shares_ must have one entry for each category and one for missing cells")
    if shares is not None and not abs(shares.sum() - 1) < 1e-6:
        raise ViolationError(f"shares_ must sum to 1, but sum to {shares.sum():g}")
    if not min(max(n, 0), 1) <= kept <= max(n, 0) or (n + 2) * (kept + 2) > MAX_LOOKUP_CELLS:
        raise ViolationError(f"n_kept_ must suit {max(n, 0)} categories, but is {kept}")


@dataclass(frozen=True, eq=False)
class FillState(AdditiveState):
    """Moments of the columns, and the means that replace missing values."""

    statistics_: Annotated[DiagonalMoments, instance_of(DiagonalMoments, d="d")]
    _parameters: Annotated[Floats | None, none_or(floats("d"))] = None


class Fill(OneToOneFeatureMixin, TransformerMixin, AdditiveLearner):  # type: ignore[misc]
    """Mean imputation: replace missing values by the mean of their column.

    Use it before models that do not accept missing values. Unlike scikit-learn's imputers it takes sample weights,
    supports ``partial_fit`` and learns from sources. Models treat an imputed value as observed, so they are
    overconfident about such rows. Generative models of this library need no imputation: they marginalise missing
    values exactly. A column without any value is filled with 0.

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
        mean: Floats = self._get_parameters()
        return mean

    def transform(self, X: Any) -> Floats:
        """Return the rows with NaN replaced by the column means."""
        mean, rows = self.mean_, check_rows(self, X)
        filled = over_rows(partial(_fill_missing, mean), rows, len(mean))
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


def _fill_missing(mean: Floats, rows: Floats) -> Floats:
    return np.where(np.isnan(rows), mean, rows)
