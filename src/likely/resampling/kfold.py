"""Out-of-fold scores of many models: the public functions, and the code that executes a plan.

Pipelines whose steps learn from moments are estimated from sums over rows. All other pipelines are fitted fold by fold.
If several pipelines begin with equal steps, these steps are fitted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from likely._numerics import dense
from likely._typing import Floats, Integers, Labels, Rows
from likely._validation import encode_labels
from likely.blocks import ArraySource, class_moments, for_each
from likely.exceptions import IncompatiblePartsError, LikelyError
from likely.resampling.chains import (
    check_scorer,
    estimate_step,
    fingerprint,
    fits_in_memory,
    group_alike,
    is_isolated,
    is_pairwise,
    needs_of,
    scores_of,
    steps_of,
)
from likely.resampling.folds import Split, numbers_or_none, take
from likely.resampling.plan import Plan, PlannedChain, Strategy, plan_folds, plan_rows
from likely.statistics import ByClass

Chains = dict[int, list[Any]]
"""The steps of each of several pipelines, keyed by the number of the pipeline."""


def kfold_scores(pipelines: Any, X: Any, y: Any, folds: Any = 5, groups: Any = None, sample_weight: Any = None) -> Any:
    """Compute pooled out-of-fold scores: every row is scored by a model trained without its fold.

    Some pipelines are estimated from sums for each class and fold, which take one pass over the data: those that have
    only linear features of this library and end in a Gaussian model, Fisher's discriminant or least squares. Leading
    steps that are equal in several pipelines are estimated and applied once. Leave-one-out scores of a Gaussian model
    without other steps are computed by downdating: each row is removed from the estimates in turn. All other models are
    refitted fold by fold. Models of this library then share equal leading features, and models that differ only in the
    strength of a penalty, or in the number of components, are fitted along a path.

    Parameters
    ----------
    pipelines : classifier or pipeline, or a list of them
        They are not changed.
    X : array, data frame or sparse matrix of shape (n, n_features)
        For models whose scikit-learn tags declare precomputed kernels, X is the kernel matrix of all rows, of shape
        (n, n), and folds select its rows and columns. For other models, the columns of X are features.
    y : array of labels of shape (n,)
    folds : int, scikit-learn splitter, or iterable of (train, test) positions
        Each row must be in exactly one test set.
    groups : array of shape (n,), optional
        Passed to splitters that keep groups together.
    sample_weight : array of shape (n,), optional
        How often each row counts in training. Rows of weight 0 are scored, but models do not learn from them.

    Returns
    -------
    array of shape (n, n_classes), or a list of them
        Log-likelihoods in row order, with columns in sorted order of the labels, even if a model's ``classes_`` are
        not sorted. A model without log-likelihoods is scored by its ``decision_function``, or else by its
        ``predict_log_proba``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import PCA, GaussianClassifier, make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> pipelines = [make_pipeline(PCA(k), GaussianClassifier(tied=True)) for k in (1, 2, 3)]
    >>> [float((s.argmax(axis=1) == y).mean().round(3)) for s in kfold_scores(pipelines, X, y)]
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
    """Calibrate or fuse the scores of each fold with a map learned from the other folds.

    Use it to evaluate a calibrator or fuser.

    Parameters
    ----------
    calibrator : calibrator or fuser
        Any object that has the methods ``fit(scores, y)`` and ``transform(scores)``. It is not changed.
    scores : array of shape (n, …)
        For example the out-of-fold scores of :func:`kfold_scores`.
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
    >>> scores = 5 * rng.normal(size=600) + 10 * y  # overconfident
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
            kwargs["near"] = fitted  # warm start from the previous fold
        fitted = clone(calibrator).fit(scores[train], split.y[train], **kwargs)
        part = fitted.transform(scores[test])
        mapped = np.empty((len(scores), *part.shape[1:])) if mapped is None else mapped
        mapped[test] = part
    assert mapped is not None
    return mapped


@dataclass(frozen=True)
class HeldOut:
    """Scores of held-out rows, and the errors of pipelines that failed, both keyed by the number of the pipeline."""

    scores: dict[int, Floats] = field(default_factory=dict)
    failures: dict[int, Exception] = field(default_factory=dict)

    @classmethod
    def attempt(cls, chains: Iterable[int], work: Callable[..., HeldOut], *args: Any) -> HeldOut:
        """Return the result of ``work(*args)``.

        If it raises an error, return this error as the failure of all pipelines whose numbers are in ``chains``.
        """
        try:
            return work(*args)
        except Exception as error:  # noqa: BLE001  third-party models may raise anything, and the others continue
            return cls(failures=dict.fromkeys(chains, error))

    def __or__(self, other: HeldOut) -> HeldOut:
        return HeldOut(self.scores | other.scores, self.failures | other.failures)


@dataclass(frozen=True, eq=False)
class TrainTest:
    """Training rows, their labels and weights, and the rows to score."""

    X: Any
    y: Labels
    weight: Floats | None
    X_new: Any

    def transform_by(self, step: Any) -> TrainTest:
        """Fit a transformer to the training rows, and return the transformed training rows and rows to score."""
        fitted = clone(step).fit(self.X, self.y, **self.weights_for(step))
        return TrainTest(fitted.transform(self.X), self.y, self.weight, fitted.transform(self.X_new))

    def weights_for(self, step: Any) -> dict[str, Floats]:
        """Return the keyword arguments that pass the weights to ``fit`` of a step: none if there are no weights.

        Raise if there are weights and the step takes none.
        """
        if self.weight is None:
            return {}
        if not has_fit_parameter(step, "sample_weight"):
            raise IncompatiblePartsError(f"{type(step).__name__} takes no sample_weight. Do not pass weights.")
        return {"sample_weight": self.weight}


def kfold_held_out(
    models: dict[int, Any],
    split: Split,
    all_in_threads: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> HeldOut:
    """Return pooled out-of-fold scores of models, and the errors of models that fail, keyed by the model's number.

    Models that are not isolated (see :func:`is_isolated`) may change the warning filters of the process, or draw from
    its random generator. So their folds are fitted one after another, unless ``all_in_threads`` is True. Each time a
    fold is done, ``on_progress`` is called with the fraction of folds done, in the thread that computed the fold.
    """
    plan = plan_folds(models, split)
    found = HeldOut(_downdate(plan.using(Strategy.DOWNDATING), split))
    found |= HeldOut(_score_from_cells(plan.using(Strategy.CELLS), split))
    left = plan.without(found.scores).chains
    for isolated in (True, False):
        some = {i: chain for i, chain in left.items() if is_isolated(chain.model) is isolated}
        found |= _score_folds(some, split, isolated or all_in_threads, on_progress)
    return found


def score_held_out(models: dict[int, Any], rows: TrainTest) -> HeldOut:
    """Train models on the training rows, and return their scores of the new rows, keyed by the model's number."""
    return _execute(plan_rows(models).chains, rows)


# Scores of all folds at once, by downdating or from sums of cells. A cell is the rows of one class in one fold. If this
# raises a LikelyError, the pipelines are fitted fold by fold later. Any other exception is a bug and propagates.


def _downdate(chains: dict[int, PlannedChain], split: Split) -> dict[int, Floats]:
    """Return leave-one-out scores of models that can be downdated, keyed by the number of the pipeline.

    Where removing a row from the estimates is inaccurate, the model is refitted without this row. Models that fail have
    no scores.
    """
    results: dict[int, Floats] = {}
    for i, chain in chains.items():
        try:
            scores = _downdate_model(i, chain, split)
        except LikelyError:
            continue
        if scores is not None:
            results[i] = scores
    return results


def _downdate_model(i: int, chain: PlannedChain, split: Split) -> Floats | None:
    assert split.numbers is not None
    rows, weight = dense(split.numbers), split.weight_of(slice(None))
    fitted = clone(chain.model).fit(rows, split.y, sample_weight=weight)
    # ``fitted`` is estimated from all rows. Its scores of a row are those after removing this row from the estimates.
    # A row is doubtful if rounding errors dominate after its removal. Refit the model without each doubtful row.
    scores, doubtful = fitted.leave_one_out(rows, split.codes, weight)
    alone = plan_rows({i: chain.model}).chains
    for row in np.flatnonzero(doubtful):
        part = _score_fold(alone, split, int(split.fold_of_row[row]))
        if part.failures:
            return None
        scores[row] = part.scores[i]
    return np.asarray(scores)


def _score_from_cells(chains: dict[int, PlannedChain], split: Split) -> dict[int, Floats]:
    """Return the scores of pipelines that are estimated from the moments of cells, keyed by the pipeline's number.

    One pass over the data computes the moments of all cells: one pass for full and one for diagonal moments. Pipelines
    that fail have no scores.
    """
    results: dict[int, Floats] = {}
    steps = {i: steps_of(chain.model) for i, chain in chains.items()}
    for kind, members in _group_by_needs(steps):
        try:
            results |= _score_cells_of(kind, members, split)
        except LikelyError:  # for example missing values, which full moments do not take
            continue
    return results


def _group_by_needs(chains: Chains) -> Iterator[tuple[Any, Chains]]:
    """Yield each class of moments, ``Moments`` or ``DiagonalMoments``, with the pipelines that learn from it."""
    for members in group_alike(chains, lambda steps: needs_of(steps).__name__):
        yield needs_of(next(iter(members.values()))), members


def _score_cells_of(kind: Any, chains: Chains, split: Split) -> dict[int, Floats]:
    rows = split.numbers
    assert rows is not None
    cells = _gather_cells(kind, rows, split)  # the only pass over the data

    def score_fold(fold: tuple[Integers, ByClass[Any]]) -> dict[int, Floats]:
        test, statistics = fold
        return _score_together(chains, statistics, split.classes, rows[test])

    folds = list(zip(split.tests, _sums_outside_folds(cells, len(split.tests)), strict=True))
    parts = for_each(score_fold, folds)
    return {i: split.pool([part.pop(i) for part in parts]) for i in chains}


def _gather_cells(kind: Any, rows: Rows, split: Split) -> ByClass[Any]:
    """Return the moments of every cell, that is of each class in each fold. Rows of weight 0 are left out."""
    codes, folds = split.codes, split.fold_of_row
    if split.weight.all():
        return ArraySource(rows, codes, split.weight_of(slice(None)), split.classes, folds).reduce(class_moments, kind)
    kept = np.flatnonzero(split.weight)
    source = ArraySource(rows[kept], codes[kept], split.weight_of(kept), split.classes, folds[kept])
    return source.reduce(class_moments, kind)


def _sums_outside_folds(cells: ByClass[Any], n_folds: int) -> Iterator[ByClass[Any]]:
    """Yield, for each fold, the statistics of each class over the rows of all other folds.

    They are the sum over all folds before this one plus the sum over all folds after it. Subtracting the fold from the
    total would lose digits by cancellation, which adding does not.
    """
    folds = [cells.regrouped(partial(_class_inside, fold)) for fold in range(n_folds)]
    after: list[ByClass[Any]] = [ByClass.zero()]
    for fold in reversed(folds[1:]):
        after.append(fold + after[-1])
    before: ByClass[Any] = ByClass.zero()
    for fold in folds:
        yield before + after.pop()
        before = before + fold


def _class_inside(fold: int, cell: tuple[int, int]) -> int | None:
    """Return the class of a cell (class, fold) if the cell belongs to the given fold, otherwise None."""
    return cell[0] if cell[1] == fold else None


def _score_together(chains: Chains, statistics: ByClass[Any], classes: Labels, rows: Rows) -> dict[int, Floats]:
    """Estimate pipelines from the moments of each class, and return their scores of ``rows``.

    Leading steps that are equal in several pipelines are estimated and applied once.
    """
    groups = list(group_alike(chains, lambda steps: fingerprint(steps[0])))
    firsts = [estimate_step(clone(next(iter(members.values()))[0]), statistics, classes) for members in groups]
    results: dict[int, Floats] = {}
    mapping = _SharedMapping(statistics, rows)
    # Begin with the projection that has the most directions. A projection on the first few of these directions reuses
    # its output.
    for step, members in sorted(zip(firsts, groups, strict=True), key=_width, reverse=True):
        results |= {i: scores_of(step, rows) for i, steps in members.items() if len(steps) == 1}
        longer = {i: steps[1:] for i, steps in members.items() if len(steps) > 1}
        if longer:
            mapped, transformed = mapping.map_by(step)
            results |= _score_together(longer, mapped, classes, transformed)
    return results


def _width(pair: tuple[Any, Any]) -> int:
    """Return the number of directions of the step in a pair (step, pipelines), or 0 if the step is no projection."""
    return len(getattr(pair[0], "components_", ()))


class _SharedMapping:
    """Maps the same rows and statistics by several steps.

    The widest projection must come first. A later projection on the first k of its directions takes the first k columns
    of its output, instead of computing them again.
    """

    def __init__(self, statistics: ByClass[Any], rows: Rows) -> None:
        self.statistics, self.rows = statistics, rows
        self.widest: tuple[Any, ByClass[Any], Rows] | None = None

    def map_by(self, step: Any) -> tuple[ByClass[Any], Rows]:
        """Return the statistics and the rows after they are mapped by a step."""
        if self.widest is not None and _is_leading_part(step, self.widest[0]):
            k = len(step.components_)
            return self.widest[1].each(lambda part: part.leading(k)), self.widest[2][:, :k]
        passed = step.map_statistics(self.statistics), step.transform(self.rows)
        if hasattr(step, "components_"):
            self.widest = (step, *passed)
        return passed


def _is_leading_part(step: Any, wider: Any) -> bool:
    """Return whether a step is a projection with the same mean as ``wider``, on the first of its directions."""
    return (
        hasattr(step, "components_")
        and np.array_equal(step.mean_, wider.mean_)
        and np.array_equal(step.components_, wider.components_[: len(step.components_)])
    )


# Fold by fold


def _score_folds(
    chains: dict[int, PlannedChain], split: Split, in_threads: bool, on_progress: Callable[[float], None] | None
) -> HeldOut:
    """Return the scores of the test rows of all folds, pooled in row order.

    A pipeline that fails in one fold has no scores. Its error in the first such fold is its failure.
    """
    if not chains:
        return HeldOut()
    folds, done = list(range(len(split.tests))), count(1)

    def score(fold: int) -> HeldOut:
        found = _score_fold(chains, split, fold)
        if on_progress is not None:
            on_progress(next(done) / len(folds))
        return found

    parts = for_each(score, folds) if in_threads else [score(fold) for fold in folds]
    failures = {i: error for part in reversed(parts) for i, error in part.failures.items()}
    return HeldOut({i: split.pool([part.scores[i] for part in parts]) for i in chains if i not in failures}, failures)


def _score_fold(chains: dict[int, PlannedChain], split: Split, fold: int) -> HeldOut:
    found = HeldOut()
    for members in group_alike(chains, lambda chain: is_pairwise(chain.model)):
        pairwise = is_pairwise(next(iter(members.values())).model)
        try:
            rows = _take_fold(split, fold, pairwise)
        except LikelyError as error:  # a matrix of kernels or distances that is not square
            found |= HeldOut(failures=dict.fromkeys(members, error))
        else:
            found |= _execute(members, rows)
    return found


def _take_fold(split: Split, fold: int, pairwise: bool) -> TrainTest:
    """Return the training and test rows of a fold. Rows of weight 0 are not among the training rows."""
    train, test = split.train(fold), split.tests[fold]
    if split.weight_of(train) is not None:
        train = train[split.weight[train] > 0]
    columns = train if pairwise else None
    X, X_new = take(split.X, train, columns), take(split.X, test, columns)
    return TrainTest(X, split.y[train], split.weight_of(train), X_new)


def _execute(chains: dict[int, PlannedChain], rows: TrainTest, depth: int = 0) -> HeldOut:
    """Score new rows with pipelines whose first ``depth`` steps have been applied to the rows already.

    Pipelines whose strategy is planned for this depth are scored. The other pipelines are grouped by their next step.
    For each group, this step is fitted and applied once, and the function calls itself with the transformed rows.
    """
    plan = Plan({i: chain for i, chain in chains.items() if chain.n_fitted == depth})
    found = HeldOut(_score_from_moments(plan.using(Strategy.MOMENTS), rows, depth))
    for along in group_alike(plan.using(Strategy.PATH), PlannedChain.path_key):
        found |= HeldOut(_score_along_path(along, rows))
    # These pipelines have no scores yet: they are planned for refitting or for a larger depth, or their fast strategy
    # (moments or path) failed.
    left = {
        i: chain if i not in plan.chains else chain.demote(depth + 1)
        for i, chain in chains.items()
        if i not in found.scores
    }
    for i in [i for i, chain in left.items() if chain.n_fitted == depth]:
        found |= HeldOut.attempt([i], _refit, i, left.pop(i).steps[-1], rows)
    for members in group_alike(left, lambda chain: fingerprint(chain.steps[depth])):
        found |= _map_and_execute(members, rows, depth)
    return found


def _map_and_execute(members: dict[int, PlannedChain], rows: TrainTest, depth: int) -> HeldOut:
    """Fit and apply the step number ``depth``, which is equal in all ``members``, and execute their other steps.

    If the step fails, all these pipelines fail.
    """
    try:
        mapped = rows.transform_by(next(iter(members.values())).steps[depth])
    except Exception as error:  # noqa: BLE001  third-party steps may raise anything, and the other pipelines continue
        return HeldOut(failures=dict.fromkeys(members, error))
    return _execute(members, mapped, depth + 1)


def _score_from_moments(chains: dict[int, PlannedChain], rows: TrainTest, depth: int) -> dict[int, Floats]:
    """Estimate pipelines from the moments of each class in the training rows, and return their scores of the new rows.

    Pipelines have no scores if their moments do not fit in memory, or if estimating them fails.
    """
    scores: dict[int, Floats] = {}
    steps = {i: chain.steps[depth:] for i, chain in chains.items()}
    X, X_new = (numbers_or_none(part) if chains else None for part in (rows.X, rows.X_new))
    if X is None or X_new is None:
        return scores
    classes, codes = encode_labels(rows.y)
    source = ArraySource(X, codes, rows.weight, classes)
    for kind, members in _group_by_needs(steps):
        if not fits_in_memory(kind, 2 * len(classes), X.shape[1]):
            continue
        try:
            scores |= _score_together(members, source.reduce(class_moments, kind), classes, X_new)
        except LikelyError:
            continue
    return scores


def _score_along_path(chains: dict[int, PlannedChain], rows: TrainTest) -> dict[int, Floats]:
    """Fit models that differ only in their path parameter along one path, and return their scores of the new rows.

    If this fails, return no scores; the models are then refitted one by one.
    """
    models = {i: chain.steps[-1] for i, chain in chains.items()}
    model = next(iter(models.values()))
    values = [getattr(each, model.path_parameter) for each in models.values()]
    try:
        fitted = clone(model).path(rows.X, rows.y, values, **rows.weights_for(model))
        return {i: scores_of(each, rows.X_new) for i, each in zip(models, fitted, strict=True)}
    except LikelyError:
        return {}


def _refit(i: int, model: Any, rows: TrainTest) -> HeldOut:
    fitted = clone(model).fit(rows.X, rows.y, **rows.weights_for(model))
    return HeldOut({i: scores_of(fitted, rows.X_new)})
