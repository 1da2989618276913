"""Columns of numbers and of categories as numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely._typing import Floats, Labels
from likely._validation import check_weight, is_count
from likely.blocks import all_or_nothing
from likely.exceptions import InvalidDataError, InvalidParameterError
from likely.features.categories import Categories
from likely.features.frames import Table, opened
from likely.tables.cells import distinct, kind_of, numbers_of

__all__ = ["Encode"]


class Encode(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
    most_categories : int, default 32
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

    def __init__(self, most_categories: int = 32) -> None:
        self.most_categories = most_categories

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
        if not is_count(self.most_categories, 1, 2**31):
            raise InvalidParameterError(
                f"most_categories of Encode must be a whole number >= 1, but is {self.most_categories!r}."
            )
        with all_or_nothing(self):
            table = opened(self, X, reset=True)
            weight = check_weight(sample_weight, table.n)
            found = [None] * len(table.names) if table.is_numeric() else self._found(table, weight)
            self.columns_ = table.names
            self.categories_ = [None if column is None else column.texts for column in found]
            self.shares_ = [None if column is None else column.shares for column in found]
            self.n_kept_ = [0 if column is None else column.kept for column in found]
        return self

    def _found(self, table: Table, weight: Floats | None) -> list[Categories | None]:
        """What each column's categories are, None for one of numbers."""
        columns = (column for _, column in table.columns("Encode", table.names))
        return [
            None if kind_of(column) == "number" else Categories.of(column, weight, self.most_categories)
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
