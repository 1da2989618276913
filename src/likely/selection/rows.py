"""Rows of a comparison, which are checked once, and protocols that score rows with models not trained on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold

from likely._constraints import is_count
from likely._formatting import format_count
from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_option, check_rows, check_weight, encode_labels
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.features import Encode
from likely.resampling.folds import Split, take
from likely.resampling.kfold import HeldOut, TrainTest, kfold_held_out, score_held_out
from likely.selection.candidates import DataShape, describe, digest

MAX_CALIBRATION_FOLDS = 20
"""Calibrators use the folds of the models if there are at most this many folds. If there are more, folds are small and
may lack a class. Calibrators then get five folds of their own, each with rows of every class."""


@dataclass(frozen=True, eq=False)
class RowSet:
    """Labelled rows in two forms.

    ``X`` has the rows as given, for candidates of the user. ``numbers`` has the rows encoded as numbers, for the
    candidates of the model families.
    """

    X: Any
    numbers: Any
    y: Labels
    weight: Floats | None = None
    groups: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, groups: Any, encoder: Encode | None, whose: str) -> RowSet:
        """Check rows, encode them as numbers, and return a RowSet. Rows of weight 0 are kept.

        ``whose`` names the rows in messages.
        """
        labels, X = check_labels(whose, y), _as_rows(X)
        weight = check_weight(sample_weight, len(labels))
        names = None if groups is None else np.asarray(groups)
        for what, part in (("rows", X), ("groups", names)):
            if part is not None and part.shape[0] != len(labels):
                raise InvalidDataError(
                    f"{whose}: there are {part.shape[0]} {what} but {len(labels)} labels. Each row needs one label."
                )
        try:
            numbers = X if encoder is None else encoder.transform(X)
        except InvalidDataError as error:
            raise type(error)(f"{whose}: {error}") from error
        rows = cls(X, check_rows(BaseEstimator(), numbers, reset=True), labels, weight, names)
        rows._check_values(whose, encoder)
        return rows

    def of_rows(self, rows: Integers) -> RowSet:
        """Return some of the rows, by position."""
        parts = (None if part is None else part[rows] for part in (self.weight, self.groups))
        return RowSet(take(self.X, rows), self.numbers[rows], self.y[rows], *parts)

    @property
    def has_missing(self) -> bool:
        values = _stored(self.numbers)
        return bool(values.dtype.kind == "f" and np.isnan(values.sum(dtype=np.float64)) and np.isnan(values).any())

    def _check_values(self, whose: str, encoder: Encode | None) -> None:
        """Raise InvalidDataError if a value is infinite, or if a column has no value in any row."""
        values = _stored(self.numbers)
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
            return
        if np.isinf(values).any():
            where = (
                "" if hasattr(self.numbers, "tocsr") else f" in {_name_column(np.isinf(values).any(axis=0), encoder)}"
            )
            raise InvalidDataError(f"{whose}: features must be finite or missing (NaN), but one is infinite{where}.")
        empty = np.isnan(values).all(axis=0)
        if values.ndim == 2 and empty.any():
            raise InvalidDataError(
                f"{whose}: {_name_column(empty, encoder)} has no value in any row. Remove this column."
            )

    @property
    def fingerprint(self) -> str:
        """Digest of values, types, labels, weights and groups in row order."""
        sha = hashlib.sha256()
        for part in (*_arrays_of(self.X), self.y, self.weight, self.groups):
            _update_digest(sha, part)
        return sha.hexdigest()[:16]


def make_encoder(X: Any, sample_weight: Any) -> Encode | None:
    """Fit an encoder to a data frame or an array of objects. Return None for an array of numbers, which needs none."""
    is_table = (
        hasattr(X, "columns") or hasattr(X, "column_names") or getattr(X, "dtype", np.dtype(float)).kind in "OUST"
    )
    return Encode().fit(X, sample_weight=sample_weight) if is_table else None


def _as_rows(X: Any) -> Any:
    """Convert rows to an object that has a shape and whose rows can be selected by position."""
    if issparse(X):
        return csr_array(X)  # type: ignore[call-overload]
    return X if hasattr(X, "shape") else np.asarray(X)


def check_two_classes(y: Labels, whose: str) -> Labels:
    """Return the classes that occur among labels. Raise if there are fewer than two."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise DegenerateDataError(
            f"{whose} needs rows of at least two classes, but all {len(y)} are of class {classes.tolist()[0]!r}."
        )
    return classes


def _name_column(which: Any, encoder: Encode | None) -> str:
    """Return words for the first column that is True in the mask ``which``: its name if it has one, or its number."""
    at = int(which.argmax())
    return f"column {at}" if encoder is None else f"column {str(encoder.get_feature_names_out()[at])!r}"


def _stored(X: Any) -> Any:
    """Return the values of an array, or the stored values of a sparse array."""
    return X.data if hasattr(X, "tocsr") else X


def _arrays_of(X: Any) -> list[Any]:
    """Return the arrays that hold the rows; for a frame, the name and values of each column."""
    if hasattr(X, "tocsr"):
        return [X.data, X.indices, X.indptr, np.array(X.shape)]
    if isinstance(X, np.ndarray):
        return [X]
    frame = nw.from_native(X, eager_only=True)
    return [part for name in frame.columns for part in (str(name), frame[name].to_numpy())]


def _update_digest(sha: Any, part: Any) -> None:
    if part is None or isinstance(part, str):
        sha.update(str(part).encode() + b"|")
        return
    values = np.asarray(part)
    if values.dtype.kind in "OT":  # include the types, since 1 and "1" have the same text
        sha.update(str(sorted({type(value).__name__ for value in values.ravel().tolist()})).encode())
        values = values.astype(str)
    sha.update(f"{values.dtype}{values.shape}|".encode())
    sha.update(np.ascontiguousarray(values))


class ScoringProtocol:
    """The rows on which systems are compared, and how they are scored with models that were not trained on them.

    Attributes
    ----------
    judged : RowSet
        The rows on which candidates are compared.
    description : str
        The protocol in a few words.
    n_training : int
        Minimum number of rows that a model learns from.
    tests : list of arrays, or None
        The positions of the test rows of each fold.
    """

    n_training: int = 0
    tests: list[Integers] | None = None

    def __init__(self, judged: RowSet, description: str, seed: int | None) -> None:
        """Make separate folds for calibrators with a random seed. If the seed is None, calibrators use other folds."""
        self.judged, self.description = judged, description
        self._calibration_folds = [] if seed is None else _split_for_calibration(judged, seed)

    def calibration_folds(self) -> list[tuple[Integers, Integers]]:
        """Return the folds for calibrators: (train, test) positions of judged rows."""
        return self._calibration_folds

    def shape(self, rows: RowSet, *others: RowSet) -> DataShape:
        """Return the properties of the data on which the grids of hyperparameters depend.

        ``rows`` are the training rows, and ``others`` are further rows that will be scored.
        """
        has_missing = any(each.has_missing for each in (rows, self.judged, *others))
        can_gaussianise = rows.weight is None and not hasattr(rows.numbers, "tocsr")
        smallest = int(np.bincount(encode_labels(rows.y)[1]).min()) * self.n_training // len(rows.y)
        return DataShape(self.n_training, int(rows.numbers.shape[1]), has_missing, can_gaussianise, smallest)

    def scores(self, models: dict[int, Any], encoded: bool, on_progress: Callable[[float], None]) -> HeldOut:
        """Score the judged rows with models not trained on them. ``on_progress`` receives the fraction done."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """A text that identifies the protocol: two different protocols on the same rows have different texts."""
        raise NotImplementedError


class Folds(ScoringProtocol):
    """Cross-validation: every row is scored by models that were trained without the rows of its fold."""

    def __init__(self, rows: RowSet, splitter: Any, description: str) -> None:
        self.split = split = Split.of(rows.numbers, rows.y, splitter, rows.groups, rows.weight)
        self.tests = list(split.tests)
        self.n_training = min(len(rows.y) - len(test) for test in self.tests)
        _check_groups(rows.groups, split)
        super().__init__(rows, description, 0 if len(self.tests) > MAX_CALIBRATION_FOLDS else None)

    def calibration_folds(self) -> list[tuple[Integers, Integers]]:
        return self._calibration_folds or [(self.split.train(k), test) for k, test in enumerate(self.split.tests)]

    def scores(self, models: dict[int, Any], encoded: bool, on_progress: Callable[[float], None]) -> HeldOut:
        split = self.split if encoded else self.split.of_rows(self.judged.X)
        return kfold_held_out(
            models, split, all_in_threads=True, on_progress=on_progress
        )  # batches restore the warning filters

    @property
    def identity(self) -> str:
        folds = self.split.fold_of_row
        return f"{self.description} ({digest(str(describe([folds, *self.split.trains])))})"


def _check_groups(groups: Any, split: Split) -> None:
    """Raise if a group has both training rows and test rows in a fold."""
    if groups is None:
        return
    names, codes = np.unique(groups, return_inverse=True)
    for fold, test in enumerate(split.tests):
        shared = np.intersect1d(codes[test], codes[split.train(fold)])
        if len(shared):
            raise InvalidDataError(
                f"folds must keep groups together, but group {names.tolist()[int(shared[0])]!r} has training rows "
                f"and test rows in fold {fold}. Use a splitter such as GroupKFold, or do not pass groups."
            )


class HeldOutSet(ScoringProtocol):
    """A held-out set: its rows are scored by models trained on all training rows."""

    def __init__(self, training: RowSet, judged: RowSet, seed: int) -> None:
        super().__init__(judged, "held-out rows", seed)
        self.training, self.n_training = training, len(training.y)

    def scores(self, models: dict[int, Any], encoded: bool, on_progress: Callable[[float], None]) -> HeldOut:
        return score_new_rows(self.training, self.judged, models, encoded, on_progress)

    @property
    def identity(self) -> str:
        return f"held out ({self.judged.fingerprint})"


def score_new_rows(
    training: RowSet, new: RowSet, models: dict[int, Any], encoded: bool, on_progress: Callable[[float], None]
) -> HeldOut:
    """Train models on some rows and score other rows. ``on_progress`` is not called, since there are no folds."""
    if encoded:
        return score_held_out(models, TrainTest(training.numbers, training.y, training.weight, new.numbers))
    return score_held_out(models, TrainTest(training.X, training.y, training.weight, new.X))


def make_splitter(rows: RowSet, folds: Any, seed: int) -> tuple[Any, str]:
    """Return a splitter and its description in words.

    A number of folds gives shuffled and stratified folds, which keep the rows of a group together.
    """
    if isinstance(folds, str):
        check_option("folds", folds, ("leave-one-out",))
        return (LeaveOneOut(), folds) if rows.groups is None else (LeaveOneGroupOut(), "leave-one-group-out")
    if not is_count(folds, 2, 10**9):
        if isinstance(folds, (int, float)):
            raise InvalidParameterError(
                f"folds must be an integer >= 2, a splitter or 'leave-one-out', but is {folds!r}.",
                parameter="folds",
            )
        return folds, type(folds).__name__ if hasattr(folds, "split") else "own folds"
    label, count, what = _find_rarest(rows)
    if count < folds:
        fewer = f"Set folds={count}. Alternatively, collect" if count > 1 else "Collect"
        raise DegenerateDataError(
            f"Class {label!r} has only {format_count(count, what)}, but there are {folds} folds, so some folds would "
            f"have no {what} of this class. {fewer} more {what}s of the class, or remove the class from the data.",
            parameter="folds",
        )
    make: Callable[..., Any] = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    name = f"{folds} folds" + ("" if rows.groups is None else " of groups")
    return make(int(folds), shuffle=True, random_state=seed), name


def _split_for_calibration(rows: RowSet, seed: int) -> list[tuple[Integers, Integers]]:
    """Split rows into five folds for calibrators, or into fewer if the rarest class has fewer rows or groups."""
    label, count, what = _find_rarest(rows)
    if count < 2:
        raise DegenerateDataError(
            f"Class {label!r} has only one {what} to compare systems on, so a calibrator cannot be trained and tested "
            f"on different {what}s of this class. Collect more {what}s of the class, or remove the class from the data."
        )
    splitter, _ = make_splitter(rows, min(5, count), seed)
    return list(splitter.split(rows.numbers, rows.y, rows.groups))


def _find_rarest(rows: RowSet) -> tuple[Any, int, str]:
    """Return the class with the fewest rows, the number of these rows, and the word "row".

    If there are groups, groups are counted instead of rows, and the word is "group".
    """
    classes, codes = encode_labels(rows.y)
    units, what = np.bincount(codes, minlength=len(classes)), "row"
    if rows.groups is not None:
        pairs = np.unique(np.column_stack([codes, np.unique(rows.groups, return_inverse=True)[1]]), axis=0)
        units, what = np.bincount(pairs[:, 0], minlength=len(classes)), "group"
    rarest = int(units.argmin())
    return classes.tolist()[rarest], int(units[rarest]), what
