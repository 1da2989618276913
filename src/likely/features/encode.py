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
            learned = [(None, None)] * len(table.names) if table.is_numeric() else _learned(table, weight)
            self.columns_ = table.names
            self.categories_ = [texts for texts, _ in learned]
            self.shares_ = [shares for _, shares in learned]
            self.n_kept_ = [min(len(texts or ()), self.most_categories) for texts in self.categories_]
        return self

    def transform(self, X: Any) -> Floats:
        """Encode rows; the result has shape (n, n_outputs)."""
        check_is_fitted(self)
        table = opened(self, X, reset=False)
        if table.is_numeric() and all(texts is None for texts in self.categories_):
            return _finite(table)
        codings = [self._coding(at) for at in range(len(self.columns_))]
        widths = [1 if coding is None else coding.shape[1] for coding in codings]
        out = np.empty((table.n, sum(widths)))
        ends = np.cumsum(widths).tolist()
        for at, (name, column) in enumerate(table.columns("Encode", self.columns_)):
            part = out[:, ends[at] - widths[at] : ends[at]]
            if (coding := codings[at]) is None:
                part[:, 0] = _numbers(name, column)
            else:
                part[:] = coding[_places(column, self.categories_[at])]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Names of the outputs, such as "age" and "purpose=radio"."""
        names: list[str] = []
        for at, name in enumerate(super().get_feature_names_out(input_features).tolist()):
            names += [name] if self.categories_[at] is None else [f"{name}={said}" for said in self._indicators(at)]
        return np.array(names, dtype=object)

    def _indicators(self, at: int) -> list[str]:
        """What the indicators of a column of categories say."""
        texts, kept = self.categories_[at], self.n_kept_[at]
        other = ["(other)"] if len(texts) > kept else []
        missing = ["(missing)"] if texts and self.shares_[at][-1] > 0 else []
        return [*texts[1:kept], *other, *missing]

    def _coding(self, at: int) -> Floats | None:
        """A row of indicators for each category of a column, then for a missing one, and for one not seen."""
        texts, kept, shares = self.categories_[at], self.n_kept_[at], self.shares_[at]
        if texts is None:
            return None
        rows = np.zeros((len(texts) + 2, len(self._indicators(at))))
        rows[np.arange(1, kept), np.arange(kept - 1)] = 1.0
        rows[kept:-2, kept - 1 : kept] = 1.0
        if shares[-1] > 0:
            rows[-2, -1:] = 1.0
        rows[-1] = shares @ rows[:-1]
        if not shares[-1] > 0:
            rows[-2] = rows[-1]
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.target_tags.required = False
        return tags


def _learned(table: Table, weight: Floats | None) -> list[Any]:
    """For each column nothing if it holds numbers, else its categories and their shares."""
    kinds = ((column, kind_of(column)) for _, column in table.columns("Encode", table.names))
    return [(None, None) if kind == "number" else _frequencies(column, weight) for column, kind in kinds]


def _frequencies(column: Any, weight: Floats | None) -> tuple[list[str], Floats]:
    """The categories of a column by falling frequency, and their shares, with that of the missing after them."""
    texts, codes = distinct(column)
    sums = np.bincount(codes + 1, weight, minlength=len(texts) + 1)
    shares = sums / sums.sum()
    # Sums of weights in another order may differ by rounding, and equally frequent categories must not.
    ranks = (-shares.round(12)).tolist()
    order = sorted((at for at in range(len(texts)) if sums[at + 1] > 0), key=lambda at: (ranks[at + 1], texts[at]))
    return [texts[at] for at in order], np.append(shares[1:][order], shares[0])


def _places(column: Any, categories: list[str]) -> Any:
    """Each row's place among the categories, or after them where it is missing, or last where it was not seen."""
    texts, codes = distinct(column)
    places = {text: at for at, text in enumerate(categories)}
    # The code of a missing cell is -1.
    found = [places.get(text, len(categories) + 1) for text in texts] + [len(categories)]
    return np.array(found)[codes]


def _numbers(name: Any, column: Any) -> Floats:
    """A column that held numbers at the fit as numbers."""
    if kind_of(column) == "category":
        texts, codes = distinct(column)
        if not texts:
            return np.full(len(codes), np.nan)
        row = int((codes >= 0).argmax())
        raise InvalidDataError(
            f"Column {name!r} held numbers when Encode was fitted, but now holds text: row {row} has "
            f"{texts[codes[row]]!r}. Correct it, or fit again with the column as text."
        )
    values = numbers_of(column)
    if np.isinf(values).any():
        raise InvalidDataError(
            f"Numbers must be finite or missing, but row {int(np.isinf(values).argmax())} of column {name!r} is "
            f"{values[np.isinf(values).argmax()]}. Correct it, or leave it empty."
        )
    return values


def _finite(table: Table) -> Floats:
    """An array of numbers in double precision, none of them infinite."""
    values = np.asarray(table.array, dtype=np.float64)
    if values.size and not np.isfinite(values.sum()):
        for at, name in enumerate(table.names):
            if np.isinf(values[:, at]).any():
                row = int(np.isinf(values[:, at]).argmax())
                raise InvalidDataError(
                    f"Numbers must be finite or missing, but row {row} of column {name!r} is {values[row, at]}. "
                    "Correct it, or leave it empty."
                )
    return values
