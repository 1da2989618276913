"""Data and folds of a cross-validation, checked once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import LeaveOneOut, check_cv

from likely._typing import Booleans, Floats, Integers, Labels, Rows
from likely._validation import check_labels, check_rows, check_weight, encode_labels
from likely.exceptions import DegenerateDataError, IncompatiblePartsError, InvalidDataError


@dataclass(frozen=True, eq=False)
class Split:
    """Data and folds of a cross-validation."""

    X: Any
    y: Labels
    classes: Labels
    codes: Integers
    """Position in ``classes`` of the label of each row."""
    weight: Floats
    tests: list[Integers]
    """Indices of the test rows of each fold."""
    trains: list[Integers | None]
    """Indices of the training rows of each fold. None stands for all rows except the test rows."""

    @classmethod
    def of(cls, X: Any, y: Any, folds: Any, groups: Any, sample_weight: Any) -> Split:
        """Check data and folds, and make a split of them."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = csr_array(X) if issparse(X) else X  # type: ignore[call-overload]
        y = check_labels("kfold_scores", y)
        if len(y) != X.shape[0]:
            raise InvalidDataError(
                f"X and y must have one entry for each row, but have {X.shape[0]} and {len(y)} entries."
            )
        given = check_weight(sample_weight, len(y))
        weight = np.ones(len(y)) if given is None else given
        splits = list(_splits(folds, X, y, groups))
        if not splits:
            raise InvalidDataError("There are no folds. A generator can be used only once, so pass a list of folds.")
        tests, trains = zip(*splits, strict=True)
        classes, codes = encode_labels(y)
        split = cls(X, y, classes, codes, weight, list(tests), list(trains))
        split._check_partition()
        split._check_classes()
        return split

    @cached_property
    def numbers(self) -> Rows | None:
        """The rows as numbers, or None if they are not numeric."""
        return numbers_or_none(self.X)

    @cached_property
    def is_complementary(self) -> bool:
        """Whether every model learns from all rows except its test rows."""
        return all(train is None for train in self.trains)

    @cached_property
    def is_leave_one_out(self) -> bool:
        """Whether every fold has exactly one test row."""
        return self.is_complementary and len(self.tests) == len(self.y)

    @cached_property
    def fold_of_row(self) -> Integers:
        """The number of the fold in which each row is a test row."""
        folds = np.empty(len(self.y), dtype=np.intp)
        folds[np.concatenate(self.tests)] = np.repeat(np.arange(len(self.tests)), [len(test) for test in self.tests])
        return folds

    def weight_of(self, rows: Any) -> Floats | None:
        """Return the weights of some rows, or None if all rows of the split have weight 1."""
        return None if (self.weight == 1).all() else self.weight[rows]

    def train(self, fold: int) -> Integers:
        """Return the indices of the training rows of a fold."""
        train = self.trains[fold]
        return np.flatnonzero(_mask_others(self.tests[fold], len(self.y))) if train is None else train

    def of_rows(self, X: Any) -> Split:
        """Return a split with the same folds and labels, in which ``X`` holds the same rows in another form."""
        return replace(self, X=X)

    def pool(self, parts: list[Floats]) -> Floats:
        """Combine the scores of the test rows of each fold into one array, in the order of the rows of ``X``."""
        scores = np.empty((len(self.y), *parts[0].shape[1:]))
        for test, part in zip(self.tests, parts, strict=True):
            if part.shape != (len(test), *scores.shape[1:]):
                raise IncompatiblePartsError(
                    f"Scores of all folds must have the same columns, but have shape {part.shape} for {len(test)} rows "
                    f"and {parts[0].shape} for the {len(self.tests[0])} rows of the first fold."
                )
            scores[test] = part
        return scores

    def _check_partition(self) -> None:
        """Raise unless the test sets hold every row exactly once."""
        times = np.bincount(np.concatenate(self.tests), minlength=len(self.y))
        if (times != 1).any():
            row = int((times != 1).argmax())
            raise InvalidDataError(
                f"The test sets of the folds must hold every row exactly once, but row {row} is in {times[row]} test "
                "sets. Use a splitter such as StratifiedKFold, GroupKFold or LeaveOneOut."
            )

    def _check_classes(self) -> None:
        """Raise unless every class has training rows of positive weight in every fold."""
        n_classes, learned = len(self.classes), self.weight > 0
        weightless = np.flatnonzero(np.bincount(self.codes, learned, n_classes) == 0)
        if len(weightless):
            raise DegenerateDataError(
                f"All rows of class {self.classes.tolist()[weightless[0]]!r} have weight 0, so it cannot be learned. "
                "Remove its rows."
            )
        if self.is_complementary:
            cells = self.codes * len(self.tests) + self.fold_of_row
            held_out = np.bincount(cells[learned], minlength=n_classes * len(self.tests)).reshape(n_classes, -1)
            left = held_out.sum(axis=1, keepdims=True) - held_out
        else:
            trains = [self.train(fold) for fold in range(len(self.tests))]
            left = np.column_stack([np.bincount(self.codes[rows], learned[rows], n_classes) for rows in trains])
        if (left == 0).any():
            k, fold = np.argwhere(left == 0)[0]
            raise DegenerateDataError(
                f"Class {self.classes.tolist()[k]!r} has no rows outside fold {fold}, so the model that is tested on "
                "this fold cannot learn the class. Use fewer folds, or folds stratified by class."
            )


def numbers_or_none(X: Any) -> Rows | None:
    """Convert rows to an array or CSR array of numbers. Return None if this is not possible, as for texts."""
    try:
        return check_rows(BaseEstimator(), X, reset=True)
    except (TypeError, ValueError):
        return None


def take(X: Any, rows: Integers, columns: Integers | None = None) -> Any:
    """Return some rows of an array, sparse matrix or data frame.

    If ``columns`` are given, return only these columns. This is for matrices of kernels or distances between rows.
    """
    if columns is not None:
        return _take_pairs(X, rows, columns)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "take") and hasattr(X, "column_names") else X[rows]


def _take_pairs(X: Any, rows: Integers, columns: Integers) -> Any:
    if X.shape[0] != X.shape[1]:
        raise InvalidDataError(
            "A model with precomputed kernels or distances needs a square matrix of all pairs of rows, but X has shape "
            f"{tuple(X.shape)}. If rows are removed, their columns must be removed too. compare removes rows of "
            "weight 0."
        )
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return nw.from_native(X, eager_only=True)[rows, columns].to_native()
    return X[np.ix_(rows, columns)]


def _splits(folds: Any, X: Any, y: Labels, groups: Any) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield the indices of the test rows and of the training rows of each fold.

    If a fold trains on all rows except its test rows, None takes the place of the training rows. Otherwise, the
    indices of n folds would take n² memory.
    """
    splitter = check_cv(folds, y, classifier=True)
    if isinstance(splitter, LeaveOneOut):
        yield from ((row, None) for row in np.arange(len(y))[:, None])
        return
    for fold, chosen in enumerate(splitter.split(X, y, groups)):
        train, test = (_positions(rows, len(y), fold) for rows in chosen)
        if not _mask_others(test, len(y))[train].all():
            raise InvalidDataError(
                f"Training and test rows must be different, but fold {fold} has a row that is in both."
            )
        complementary = (np.bincount(np.concatenate([train, test]), minlength=len(y)) == 1).all()
        yield test, None if complementary else train


def _mask_others(rows: Integers, n: int) -> Booleans:
    """Return a mask that is True for all rows except the given ones."""
    others = np.ones(n, dtype=bool)
    others[rows] = False
    return others


def _positions(chosen: Any, n: int, fold: int) -> Integers:
    rows = np.asarray(chosen)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
    if len(rows) and not (rows.min() >= 0 and rows.max() < n):
        row = rows.min() if rows.min() < 0 else rows.max()
        raise InvalidDataError(f"Folds must hold rows from 0 to {n - 1}, but fold {fold} holds row {row}.")
    return rows
