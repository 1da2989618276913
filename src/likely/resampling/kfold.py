"""Out-of-fold scores of many models from one pass over the data."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from likely._numerics import dense
from likely._typing import Floats
from likely._validation import check_rows
from likely.blocks import for_each
from likely.resampling.cells import scores_from_cells
from likely.resampling.chains import Chains, is_pairwise
from likely.resampling.folds import Split, take
from likely.resampling.held_out import HeldOut, Rows, chain_of, held_out_scores, is_of_this_house
from likely.resampling.scoring import check_scorer

__all__ = ["kfold_calibrate", "kfold_held_out", "kfold_scores"]


def kfold_scores(pipelines: Any, X: Any, y: Any, folds: Any = 5, groups: Any = None, sample_weight: Any = None) -> Any:
    """Pooled out-of-fold scores: every row scored by a model that has not seen its fold.

    Chains of this library's linear features that end in a Gaussian model, Fisher's discriminant or least squares are
    estimated from sums gathered in one pass over the data, one for each class and fold; equal beginnings of several
    chains are estimated and applied once. Leaving out one row at a time is downdated for Gaussian models that stand
    alone. All else is refitted fold by fold; models of this library then share the features they begin with, and those
    that differ by the strength of a penalty, or the number of components, alone start from each other.

    Parameters
    ----------
    pipelines : classifier or pipeline, or a list of them
        They are not changed.
    X : array, data frame or sparse matrix of shape (n, n_features)
        For models of precomputed kernels, as their scikit-learn tags say, the kernel of all rows, (n, n): folds then
        cut its rows and columns. To other models its columns are features.
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
        Log-likelihoods in row order, and in sorted order of the labels whatever the order of a model's ``classes_``; of
        a model that has none, its ``decision_function``, or else its ``predict_log_proba``.

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
    found = kfold_held_out(dict(enumerate(models)), split)
    for error in found.failures.values():
        raise error
    scores = [found.scores[i] for i in range(len(models))]
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
    fitted: Any = None
    for fold, test in enumerate(split.tests):
        train = split.train(fold)
        weight = split.weight_of(train)
        kwargs: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        if fitted is not None and has_fit_parameter(calibrator, "near"):
            kwargs["near"] = fitted
        fitted = clone(calibrator).fit(scores[train], split.y[train], **kwargs)
        part = fitted.transform(scores[test])
        mapped = np.empty((len(scores), *part.shape[1:])) if mapped is None else mapped
        mapped[test] = part
    assert mapped is not None
    return mapped


def kfold_held_out(
    models: dict[int, Any],
    split: Split,
    all_in_threads: bool = False,
    tell: Callable[[float], None] | None = None,
) -> HeldOut:
    """Pooled out-of-fold scores of models by their numbers, and why some have none.

    Models that can be scored from sums, or downdated, are; what fails so is tried in the ordinary way, and alone. Folds
    of foreign models are fitted one after another unless the caller bears what threads do to them: warnings filters
    are the process's, and so is the generator that models without a seed draw from. ``tell`` is told the share of folds
    done, by the thread that did the last.
    """
    found = HeldOut(HeldOut.attempted(models, _from_sums, models, split).scores)
    left = {i: model for i, model in models.items() if i not in found.scores}
    for ours in (True, False):
        some = {i: model for i, model in left.items() if is_of_this_house(model) is ours}
        found |= _refitted(some, split, ours or all_in_threads, tell)
    return found


def _from_sums(models: dict[int, Any], split: Split) -> HeldOut:
    if split.leaves_one_out:
        return HeldOut(_downdated(models, split))
    return HeldOut(scores_from_cells(models, split) if split.complementary else {})


def _refitted(models: dict[int, Any], split: Split, in_threads: bool, tell: Callable[[float], None] | None) -> HeldOut:
    """Scores by learning anew for each fold, pooled in row order; the failure of one fold is that of the model."""
    if not models:
        return HeldOut()
    folds, done = list(range(len(split.tests))), count(1)

    def score(fold: int) -> HeldOut:
        found = _scores_of_fold(models, split, fold)
        if tell is not None:
            tell(next(done) / len(folds))
        return found

    parts = for_each(score, folds) if in_threads else [score(fold) for fold in folds]
    failures = {i: error for part in reversed(parts) for i, error in part.failures.items()}
    return HeldOut({i: split.pooled([part.scores[i] for part in parts]) for i in models if i not in failures}, failures)


def _scores_of_fold(models: dict[int, Any], split: Split, fold: int) -> HeldOut:
    found = HeldOut()
    for pairwise in (False, True):
        chains = {i: chain_of(model) for i, model in models.items() if is_pairwise(model) is pairwise}
        if chains:
            found |= HeldOut.attempted(chains, _scores_of_cut, chains, split, fold, pairwise)
    return found


def _scores_of_cut(chains: Chains, split: Split, fold: int, pairwise: bool) -> HeldOut:
    train, test = split.train(fold), split.tests[fold]
    if split.weight_of(train) is not None:
        train = train[split.weight[train] > 0]
    columns = train if pairwise else None
    X, X_new = take(split.X, train, columns), take(split.X, test, columns)
    return held_out_scores(chains, Rows(X, split.y[train], split.weight_of(train), X_new))


def _downdated(models: dict[int, Any], split: Split) -> dict[int, Floats]:
    """Leave-one-out scores of models that can downdate, with the rows they cannot do refitted."""
    results: dict[int, Floats] = {}
    for i, model in models.items():
        if not hasattr(model, "leave_one_out") or not split.weight.all():
            continue
        rows = dense(check_rows(BaseEstimator(), split.X, reset=True))
        if np.isnan(rows).any():
            continue
        weight = split.weight_of(slice(None))
        fitted = clone(model).fit(rows, split.y, sample_weight=weight)
        scores, doubtful = fitted.leave_one_out(rows, split.codes, weight)
        for row in np.flatnonzero(doubtful):
            part = _scores_of_fold({i: model}, split, int(split.fold_of_row[row]))
            for error in part.failures.values():
                raise error
            scores[row] = part.scores[i]
        results[i] = scores
    return results
