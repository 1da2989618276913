"""Out-of-fold scores of many models from one pass over the data."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.utils.validation import has_fit_parameter

from likely._numerics import dense
from likely._typing import Booleans, Floats, Integers, Labels, Rows
from likely._validation import check_labels, check_rows, check_weight, encode_labels
from likely.blocks import ArraySource
from likely.densities import class_moments
from likely.exceptions import DegenerateDataError, IncompatiblePartsError, InvalidDataError, MissingValuesError
from likely.resampling.chains import estimate_step, fits_in_memory, is_mappable, needs_of, steps_of
from likely.statistics import ByClass

__all__ = ["kfold_scores"]


def kfold_scores(pipelines: Any, X: Any, y: Any, folds: Any = 5, groups: Any = None, sample_weight: Any = None) -> Any:
    """Pooled out-of-fold scores: every row scored by a model that has not seen its fold.

    Chains of this library's linear features and Gaussian models are estimated from sums gathered in one pass over the
    data, one for each class and fold; equal beginnings of several chains are estimated and applied once. Leaving out
    one row at a time is downdated for Gaussian models that stand alone. All else is refitted fold by fold.

    Parameters
    ----------
    pipelines : classifier or pipeline, or a list of them
        They are not changed.
    X : array, data frame or sparse matrix of shape (n, n_features)
    y : array of labels of shape (n,)
    folds : int, scikit-learn splitter, or iterable of (train, test) positions
        Its test sets hold every row once.
    groups : array of shape (n,), optional
        For splitters that keep groups together.
    sample_weight : array of shape (n,), optional
        Frequencies to learn with; rows of weight 0 are scored and not learned from.

    Returns
    -------
    array of shape (n, n_classes), or a list of them
        Log-likelihoods in row order and class order; of a model that has none, its ``decision_function``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import PCA, GaussianClassifier, make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> chains = [make_pipeline(PCA(k), GaussianClassifier(tied=True)) for k in (1, 2, 3)]
    >>> [float((s.argmax(axis=1) == y).mean().round(3)) for s in kfold_scores(chains, X, y)]
    [0.927, 0.96, 0.987]
    """
    single = not isinstance(pipelines, (list, tuple))
    models = [pipelines] if single else list(pipelines)
    trial = _Trial.of(X, y, folds, groups, sample_weight)
    for model in models:
        _check_model(model, trial)
    results: dict[int, Floats] = {}
    if trial.leaves_one_out:
        results = _downdated(models, trial)
    elif trial.complementary:
        results = _from_cells(models, trial)
    scores = [results[i] if i in results else _refitted(model, trial) for i, model in enumerate(models)]
    return scores[0] if single else scores


def _check_model(model: Any, trial: _Trial) -> None:
    """What is asked of every model is asked before any work is done."""
    name = type(steps_of(model)[-1]).__name__
    if not hasattr(model, "log_likelihood") and not hasattr(model, "decision_function"):
        raise IncompatiblePartsError(f"{name} has neither log_likelihood nor decision_function, so it gives no scores.")
    if trial.weight_of(slice(None)) is not None and not has_fit_parameter(model, "sample_weight"):
        raise IncompatiblePartsError(f"{type(model).__name__} ({name}) takes no sample_weight. Leave the weights out.")


@dataclass(frozen=True, eq=False)
class _Trial:
    """The data and how they are split, checked once."""

    X: Any
    y: Labels
    classes: Labels
    codes: Integers
    weight: Floats
    tests: list[Integers]
    trains: list[Integers | None]
    """Rows learned from; None stands for all rows but those tested on."""

    @classmethod
    def of(cls, X: Any, y: Any, folds: Any, groups: Any, sample_weight: Any) -> _Trial:
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = csr_array(X) if issparse(X) else X  # type: ignore[call-overload]
        y = check_labels("kfold_scores", y)
        if len(y) != X.shape[0]:
            raise InvalidDataError(f"X and y must have one entry for each row, but have {X.shape[0]} and {len(y)}.")
        given = check_weight(sample_weight, len(y))
        weight = np.ones(len(y)) if given is None else given
        tests, trains = zip(*_splits(folds, X, y, groups), strict=True)
        classes, codes = encode_labels(y)
        trial = cls(X, y, classes, codes, weight, list(tests), list(trains))
        trial._check_partition()
        trial._check_classes()
        return trial

    @cached_property
    def complementary(self) -> bool:
        """Whether every model learns from all rows but those it is tested on."""
        return all(train is None for train in self.trains)

    @cached_property
    def leaves_one_out(self) -> bool:
        """Whether every row is a fold of its own."""
        return self.complementary and len(self.tests) == len(self.y)

    @cached_property
    def fold_of_row(self) -> Integers:
        """The fold in which each row is held out."""
        folds = np.empty(len(self.y), dtype=np.intp)
        folds[np.concatenate(self.tests)] = np.repeat(np.arange(len(self.tests)), [len(test) for test in self.tests])
        return folds

    def weight_of(self, rows: Any) -> Floats | None:
        """Weights of some rows; None where all rows of the trial weigh one."""
        return None if (self.weight == 1).all() else self.weight[rows]

    def train(self, fold: int) -> Integers:
        """The rows that the model of a fold learns from."""
        train = self.trains[fold]
        return np.flatnonzero(_others(self.tests[fold], len(self.y))) if train is None else train

    def _check_partition(self) -> None:
        times = np.bincount(np.concatenate(self.tests), minlength=len(self.y))
        if (times != 1).any():
            row = int((times != 1).argmax())
            raise InvalidDataError(
                f"The test sets of the folds must hold every row once, but row {row} is held out {times[row]} times. "
                "Use a splitter such as StratifiedKFold, GroupKFold or LeaveOneOut."
            )

    def _check_classes(self) -> None:
        """Every model must learn from every class: what a class weighs outside a fold is more than nothing."""
        n_classes, learned = len(self.classes), self.weight > 0
        weightless = np.flatnonzero(np.bincount(self.codes, learned, n_classes) == 0)
        if len(weightless):
            raise DegenerateDataError(
                f"All rows of class {self.classes.tolist()[weightless[0]]!r} have weight 0, so it cannot be learned. "
                "Leave its rows out."
            )
        if self.complementary:
            cells = self.codes * len(self.tests) + self.fold_of_row
            held_out = np.bincount(cells[learned], minlength=n_classes * len(self.tests)).reshape(n_classes, -1)
            left = held_out.sum(axis=1, keepdims=True) - held_out
        else:
            trains = [self.train(fold) for fold in range(len(self.tests))]
            left = np.column_stack([np.bincount(self.codes[rows], learned[rows], n_classes) for rows in trains])
        if (left == 0).any():
            k, fold = np.argwhere(left == 0)[0]
            raise DegenerateDataError(
                f"Class {self.classes.tolist()[k]!r} has no rows outside fold {fold}, so the model tested there cannot "
                "learn it. Use fewer folds, or folds stratified by class."
            )


def _from_cells(models: list[Any], trial: _Trial) -> dict[int, Floats]:
    """Scores of the chains that can be learned from moments, by one pass for each kind of moments."""
    chains = {
        i: steps_of(model)
        for i, model in enumerate(models)
        if is_mappable(steps_of(model)) and hasattr(model, "log_likelihood")
    }
    kinds = {i: needs_of(steps) for i, steps in chains.items()}
    results: dict[int, Floats] = {}
    for kind in set(kinds.values()):
        alike = {i: steps for i, steps in chains.items() if kinds[i] is kind}
        results |= _from_cells_of(kind, alike, trial)
    return results


def _from_cells_of(kind: Any, chains: dict[int, list[Any]], trial: _Trial) -> dict[int, Floats]:
    """Scores from cells; none where the cells would take too much memory, or values are missing that need EM."""
    rows = check_rows(BaseEstimator(), trial.X, reset=True)
    if not fits_in_memory(kind, len(trial.classes) * len(trial.tests), rows.shape[1]):
        return {}
    try:
        cells = _gathered(kind, rows, trial)
    except MissingValuesError:
        return {}
    scores = {i: np.empty((len(trial.y), len(trial.classes))) for i in chains}
    held_out = _HeldOut(rows, max(map(len, trial.tests)))
    for test, statistics in zip(trial.tests, _outside_each_fold(cells, len(trial.tests)), strict=True):
        for i, part in _score_together(chains, statistics, trial.classes, held_out.rows(test)).items():
            scores[i][test] = part
    return scores


class _HeldOut:
    """A fold's rows, brought together in memory that the folds share: touching fresh pages costs more than the copy."""

    def __init__(self, X: Rows, most: int) -> None:
        self.X = X
        self.space = np.empty((most, X.shape[1]), dtype=X.dtype) if isinstance(X, np.ndarray) else None

    def rows(self, test: Integers) -> Rows:
        if self.space is None or not isinstance(self.X, np.ndarray):
            return self.X[test]
        return np.asarray(np.take(self.X, test, axis=0, out=self.space[: len(test)], mode="clip"))


def _outside_each_fold(cells: ByClass[Any], n_folds: int) -> Iterator[ByClass[Any]]:
    """The sums by class of the cells outside each fold in turn: those before it and those after it, both running."""
    folds = [cells.regrouped(partial(_class_inside, fold)) for fold in range(n_folds)]
    after: list[ByClass[Any]] = [ByClass.zero()]
    for fold in reversed(folds[1:]):
        after.append(fold + after[-1])
    before: ByClass[Any] = ByClass.zero()
    for fold in folds:
        yield before + after.pop()
        before = before + fold


def _class_inside(fold: int, cell: tuple[int, int]) -> int | None:
    return cell[0] if cell[1] == fold else None


def _gathered(kind: Any, rows: Rows, trial: _Trial) -> ByClass[Any]:
    """The moments of every (class, fold) cell; rows of no weight are not learned from."""
    codes, folds = trial.codes, trial.fold_of_row
    if trial.weight.all():
        return ArraySource(rows, codes, trial.weight_of(slice(None)), trial.classes, folds).reduce(class_moments, kind)
    kept = np.flatnonzero(trial.weight)
    source = ArraySource(rows[kept], codes[kept], trial.weight_of(kept), trial.classes, folds[kept])
    return source.reduce(class_moments, kind)


def _score_together(
    chains: dict[int, list[Any]], statistics: ByClass[Any], classes: Labels, rows: Rows
) -> dict[int, Floats]:
    """Scores of a fold's rows by chains; those that begin alike share what they begin with."""
    groups: dict[bytes, dict[int, list[Any]]] = {}
    for i, steps in chains.items():
        groups.setdefault(pickle.dumps(clone(steps[0])), {})[i] = steps
    firsts = [estimate_step(clone(next(iter(m.values()))[0]), statistics, classes) for m in groups.values()]
    results: dict[int, Floats] = {}
    passed_on = _PassedOn(statistics, rows)
    for step, members in sorted(zip(firsts, groups.values(), strict=True), key=_width, reverse=True):
        results |= {i: step.log_likelihood(rows) for i, steps in members.items() if len(steps) == 1}
        longer = {i: steps[1:] for i, steps in members.items() if len(steps) > 1}
        if longer:
            mapped, transformed = passed_on.by(step)
            results |= _score_together(longer, mapped, classes, transformed)
    return results


def _width(pair: tuple[Any, Any]) -> int:
    return len(getattr(pair[0], "components_", ()))


class _PassedOn:
    """What steps pass on of one input; of two projections where one begins like the other, the wider serves both."""

    def __init__(self, statistics: ByClass[Any], rows: Rows) -> None:
        self.statistics, self.rows = statistics, rows
        self.widest: tuple[Any, ByClass[Any], Rows] | None = None

    def by(self, step: Any) -> tuple[ByClass[Any], Rows]:
        if self.widest is not None and _begins_like(step, self.widest[0]):
            k = len(step.components_)
            return self.widest[1].each(lambda part: part.leading(k)), self.widest[2][:, :k]
        passed = step.map_statistics(self.statistics), step.transform(self.rows)
        if hasattr(step, "components_"):
            self.widest = (step, *passed)
        return passed


def _begins_like(step: Any, wider: Any) -> bool:
    """Whether a step's directions are the first of a wider step's, about the same mean."""
    return (
        hasattr(step, "components_")
        and np.array_equal(step.mean_, wider.mean_)
        and np.array_equal(step.components_, wider.components_[: len(step.components_)])
    )


def _downdated(models: list[Any], trial: _Trial) -> dict[int, Floats]:
    """Leave-one-out scores of models that can downdate, with the rows they cannot do refitted."""
    results: dict[int, Floats] = {}
    for i, model in enumerate(models):
        if not hasattr(model, "leave_one_out") or not trial.weight.all():
            continue
        rows = dense(check_rows(BaseEstimator(), trial.X, reset=True))
        if np.isnan(rows).any():
            continue
        weight = trial.weight_of(slice(None))
        fitted = clone(model).fit(rows, trial.y, sample_weight=weight)
        scores, doubtful = fitted.leave_one_out(rows, trial.codes, weight)
        folds = [trial.fold_of_row[row] for row in np.flatnonzero(doubtful)]
        results[i] = _refitted(model, trial, scores, folds)
    return results


def _refitted(model: Any, trial: _Trial, scores: Floats | None = None, folds: Iterable[int] | None = None) -> Floats:
    """Scores by fitting anew for each fold, or for some folds into scores that are there already."""
    for fold in range(len(trial.tests)) if folds is None else folds:
        train, test = trial.train(fold), trial.tests[fold]
        weight = trial.weight_of(train)
        kwargs = {} if weight is None else {"sample_weight": weight}
        fitted = clone(model).fit(_take(trial.X, train), trial.y[train], **kwargs)
        score = fitted.log_likelihood if hasattr(fitted, "log_likelihood") else fitted.decision_function
        part = score(_take(trial.X, test))
        if scores is None:
            scores = np.empty((len(trial.y), *part.shape[1:]))
        scores[test] = part
    assert scores is not None
    return scores


def _splits(folds: Any, X: Any, y: Labels, groups: Any) -> Iterator[tuple[Integers, Integers | None]]:
    """Test and training rows of each fold; None for training on all others, so that n folds do not take n² numbers."""
    splitter = check_cv(folds, y, classifier=True)
    if isinstance(splitter, LeaveOneOut):
        yield from ((row, None) for row in np.arange(len(y))[:, None])
        return
    for fold, chosen in enumerate(splitter.split(X, y, groups)):
        train, test = (_positions(rows, len(y), fold) for rows in chosen)
        if not _others(test, len(y))[train].all():
            raise InvalidDataError(f"Fold {fold} learns from rows that it is tested on. Keep them apart.")
        complementary = (np.bincount(np.concatenate([train, test]), minlength=len(y)) == 1).all()
        yield test, None if complementary else train


def _others(rows: Integers, n: int) -> Booleans:
    others = np.ones(n, dtype=bool)
    others[rows] = False
    return others


def _positions(chosen: Any, n: int, fold: int) -> Integers:
    rows = np.asarray(chosen)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
    if len(rows) and not (rows.min() >= 0 and rows.max() < n):
        raise InvalidDataError(f"Fold {fold} names row {rows.min() if rows.min() < 0 else rows.max()} of {n} rows.")
    return rows


def _take(X: Any, rows: Integers) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
