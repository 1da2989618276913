"""How rows are kept apart from the models that score them: folds, groups, one at a time, or a held-out set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold

from likely._typing import Integers
from likely._validation import check_option, encode_labels, is_count
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.resampling.folds import Split
from likely.resampling.held_out import HeldOut, Rows, chain_of, held_out_scores
from likely.resampling.kfold import kfold_held_out
from likely.selection.candidates import described, digest
from likely.selection.data import RowSet
from likely.selection.families import Shape

__all__ = ["Folds", "GivenScores", "HeldOutSet", "Protocol", "folds_of"]


MOST_FOLDS = 20
"""Folds beyond which calibrators are judged by five of their own: they need rows of every class to be tested on."""


class Protocol:
    """Which rows are judged, and who scores them.

    Attributes
    ----------
    judged : RowSet
        The rows that candidates are compared on.
    """

    judged: RowSet
    n_training: int
    said: str

    def shape(self, rows: RowSet, *others: RowSet) -> Shape:
        """What the grids of candidates depend on; other rows will be scored too."""
        has_missing = any(each.has_missing for each in (rows, self.judged, *others))
        ranks = rows.weight is None and not hasattr(rows.numbers, "tocsr")
        smallest = int(np.bincount(encode_labels(rows.y)[1]).min()) * self.n_training // len(rows.y)
        return Shape(self.n_training, int(rows.numbers.shape[1]), has_missing, ranks, smallest)

    def scores(self, models: dict[int, Any], encoded: bool, tell: Callable[[float], None]) -> HeldOut:
        """Scores of the judged rows by models that have not seen them; the share done is told on the way."""
        raise NotImplementedError

    def cv(self) -> Any:
        """The folds that calibrators are judged by, as a list of (train, test) positions of judged rows."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """What tells it from others, besides the rows."""
        raise NotImplementedError


class Folds(Protocol):
    """Every row is judged, scored by models trained without its fold."""

    def __init__(self, rows: RowSet, splitter: Any, said: str) -> None:
        self.judged, self.said = rows, said
        self.split = Split.of(rows.numbers, rows.y, splitter, rows.groups, rows.weight)
        self.n_training = min(len(rows.y) - len(test) for test in self.split.tests)
        self._check_groups()
        self._cv = _calibration_folds(rows, 0) if len(self.split.tests) > MOST_FOLDS else None

    def scores(self, models: dict[int, Any], encoded: bool, tell: Callable[[float], None]) -> HeldOut:
        split = self.split if encoded else self.split.of_rows(self.judged.X)
        return kfold_held_out(models, split, all_in_threads=True, tell=tell)  # a batch restores warnings' filters

    def _check_groups(self) -> None:
        """Folds of the user's own keep groups together too."""
        if self.judged.groups is None:
            return
        groups = np.unique(self.judged.groups, return_inverse=True)[1]
        for fold, test in enumerate(self.split.tests):
            torn = np.intersect1d(groups[test], groups[self.split.train(fold)])
            if len(torn):
                name = np.unique(self.judged.groups).tolist()[int(torn[0])]
                raise InvalidDataError(
                    f"folds must keep groups together, but group {name!r} is both learned from and tested on in fold "
                    f"{fold}. Use a splitter such as GroupKFold, or leave groups out."
                )

    def cv(self) -> Any:
        return self._cv or [(self.split.train(fold), test) for fold, test in enumerate(self.split.tests)]

    @property
    def identity(self) -> str:
        folds = self.split.fold_of_row
        return f"{self.said} ({digest(str(described([folds, *self.split.trains])))})"


class HeldOutSet(Protocol):
    """Rows of their own are judged, scored by models trained on all others."""

    def __init__(self, training: RowSet, judged: RowSet, seed: int) -> None:
        self.training, self.judged, self._cv = training, judged, _calibration_folds(judged, seed)
        self.n_training, self.said = len(training.y), "held-out rows"

    def scores(self, models: dict[int, Any], encoded: bool, tell: Callable[[float], None]) -> HeldOut:
        train = self.training
        rows = Rows(train.rows_for(encoded), train.y, train.weight, self.judged.rows_for(encoded))
        return held_out_scores({i: chain_of(model) for i, model in models.items()}, rows)

    def cv(self) -> Any:
        return self._cv

    @property
    def identity(self) -> str:
        return f"held out ({self.judged.fingerprint})"


class GivenScores(Protocol):
    """Rows that came with their scores: nothing is learned but calibrators, by folds of their own."""

    def __init__(self, judged: RowSet, seed: int) -> None:
        self.judged, self._cv = judged, _calibration_folds(judged, seed)
        self.n_training, self.said = 0, "scores as given"

    def cv(self) -> Any:
        return self._cv

    @property
    def identity(self) -> str:
        return f"given ({self.judged.fingerprint})"


def folds_of(rows: RowSet, folds: Any, seed: int) -> tuple[Any, str]:
    """A splitter, and its name: K folds shuffled and stratified, and grouped where groups are given."""
    if isinstance(folds, str):
        check_option("folds", folds, ("leave-one-out",))
        return (LeaveOneOut(), folds) if rows.groups is None else (LeaveOneGroupOut(), "leave-one-group-out")
    if not is_count(folds, 2, 10**9):
        if isinstance(folds, (int, float)):
            raise InvalidParameterError(
                f"folds must be a whole number from 2 on, a splitter or 'leave-one-out', but is {folds!r}.",
                parameter="folds",
            )
        return folds, type(folds).__name__ if hasattr(folds, "split") else "own folds"
    _check_frequent(rows, int(folds))
    make: Callable[..., Any] = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    name = f"{folds} folds" + ("" if rows.groups is None else " of groups")
    return make(int(folds), shuffle=True, random_state=seed), name


def _calibration_folds(rows: RowSet, seed: int) -> list[tuple[Integers, Integers]]:
    """Five folds for calibrators where models have none, or as many as the rarest class allows."""
    label, count, what = _rarest(rows)
    if count < 2:
        raise DegenerateDataError(
            f"Class {label!r} has one of the {what} that systems are compared on, so no calibrator can be judged that "
            "has not seen it. Gather more of it, or leave it out."
        )
    splitter, _ = folds_of(rows, min(5, count), seed)
    return list(splitter.split(rows.numbers, rows.y, rows.groups))


def _check_frequent(rows: RowSet, n_folds: int) -> None:
    """Every class must be in every fold, or some models would not be tested on it, or not learn it."""
    label, count, what = _rarest(rows)
    if count < n_folds:
        fewer = f"set folds={count}, " if count > 1 else ""
        raise DegenerateDataError(
            f"Class {label!r} has {count} {what}, fewer than the {n_folds} folds, so some would be without it. To go "
            f"on, {fewer}gather more of it, or leave it out.",
            parameter="folds",
        )


def _rarest(rows: RowSet) -> tuple[Any, int, str]:
    """The class with the fewest rows, or groups where there are some, how many, and which of the two."""
    classes, codes = encode_labels(rows.y)
    units, what = np.bincount(codes, minlength=len(classes)), "rows"
    if rows.groups is not None:
        pairs = np.unique(np.column_stack([codes, np.unique(rows.groups, return_inverse=True)[1]]), axis=0)
        units, what = np.bincount(pairs[:, 0], minlength=len(classes)), "groups"
    rarest = int(units.argmin())
    return classes.tolist()[rarest], int(units[rarest]), what
