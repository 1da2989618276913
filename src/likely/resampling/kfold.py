"""Out-of-fold scores of many models from one pass over the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely._validation import check_rows
from likely.resampling.cells import scores_from_cells
from likely.resampling.folds import Split
from likely.resampling.scoring import check_scorer, scores_of

__all__ = ["kfold_calibrate", "kfold_scores"]


def kfold_scores(pipelines: Any, X: Any, y: Any, folds: Any = 5, groups: Any = None, sample_weight: Any = None) -> Any:
    """Pooled out-of-fold scores: every row scored by a model that has not seen its fold.

    Chains of this library's linear features that end in a Gaussian model, Fisher's discriminant or least squares are
    estimated from sums gathered in one pass over the data, one for each class and fold; equal beginnings of several
    chains are estimated and applied once. Leaving out one row at a time is downdated for Gaussian models that stand
    alone. All else is refitted fold by fold.

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
        Log-likelihoods in row order and class order; of a model that has none, its ``decision_function``, or else its
        ``predict_log_proba``.

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
    split = Split.of(X, y, folds, groups, sample_weight)
    for model in models:
        check_scorer(model, split.weight_of(slice(None)) is not None)
    results: dict[int, Floats] = {}
    if split.leaves_one_out:
        results = _downdated(models, split)
    elif split.complementary:
        results = scores_from_cells(models, split)
    scores = [results[i] if i in results else _refitted(model, split) for i, model in enumerate(models)]
    return scores[0] if single else scores


def kfold_calibrate(
    calibrator: Any, scores: Any, y: Any, folds: Any = 5, groups: Any = None, sample_weight: Any = None
) -> Floats:
    """Scores calibrated, or fused, by maps that have not seen their fold: for judging a calibrator or fuser.

    Parameters
    ----------
    calibrator : calibrator or fuser
        Anything with ``fit(scores, y)`` and ``transform(scores)``; it is not changed.
    scores : array of shape (n, …)
        Such as the pooled out-of-fold scores that :func:`kfold_scores` gives.
    y, folds, groups, sample_weight
        As for :func:`kfold_scores`.

    Returns
    -------
    array of shape (n,) or (n, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from likely import AffineCalibrator, cllr
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 300)
    >>> scores = 5 * rng.normal(size=600) + 10 * y  # far too sure of itself
    >>> round(cllr(y, scores), 2), round(cllr(y, kfold_calibrate(AffineCalibrator(), scores, y)), 2)
    (1.57, 0.51)
    """
    scores = np.asarray(scores, dtype=np.float64)
    split = Split.of(scores, y, folds, groups, sample_weight)
    mapped: Floats | None = None
    for fold, test in enumerate(split.tests):
        train = split.train(fold)
        fitted = clone(calibrator).fit(scores[train], split.y[train], sample_weight=split.weight_of(train))
        part = fitted.transform(scores[test])
        mapped = np.empty((len(scores), *part.shape[1:])) if mapped is None else mapped
        mapped[test] = part
    assert mapped is not None
    return mapped


def _downdated(models: list[Any], split: Split) -> dict[int, Floats]:
    """Leave-one-out scores of models that can downdate, with the rows they cannot do refitted."""
    results: dict[int, Floats] = {}
    for i, model in enumerate(models):
        if not hasattr(model, "leave_one_out") or not split.weight.all():
            continue
        rows = dense(check_rows(BaseEstimator(), split.X, reset=True))
        if np.isnan(rows).any():
            continue
        weight = split.weight_of(slice(None))
        fitted = clone(model).fit(rows, split.y, sample_weight=weight)
        scores, doubtful = fitted.leave_one_out(rows, split.codes, weight)
        folds = [split.fold_of_row[row] for row in np.flatnonzero(doubtful)]
        results[i] = _refitted(model, split, scores, folds)
    return results


def _refitted(model: Any, split: Split, scores: Floats | None = None, folds: Iterable[int] | None = None) -> Floats:
    """Scores by fitting anew for each fold, or for some folds into scores that are there already."""
    for fold in range(len(split.tests)) if folds is None else folds:
        train, test = split.train(fold), split.tests[fold]
        weight = split.weight_of(train)
        kwargs = {} if weight is None else {"sample_weight": weight}
        fitted = clone(model).fit(_take(split.X, train), split.y[train], **kwargs)
        part = scores_of(fitted, _take(split.X, test))
        if scores is None:
            scores = np.empty((len(split.y), *part.shape[1:]))
        scores[test] = part
    assert scores is not None
    return scores


def _take(X: Any, rows: Integers) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
