"""The main job: everything compared on one data set, calibrated, at the user's costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from likely._typing import Labels
from likely._validation import check_option, is_count
from likely.calibration import AffineCalibrator
from likely.decisions import Application
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError
from likely.selection.applications import named_applications, target_of
from likely.selection.candidates import Candidate, named_candidates, outside_systems
from likely.selection.comparison import Comparison, Workings
from likely.selection.data import RowSet, check_two_classes, encoder_for
from likely.selection.families import Shape, default_candidates, family
from likely.selection.judging import Judge
from likely.selection.protocols import Folds, HeldOutSet, Protocol, folds_of
from likely.selection.ranking import Ranking
from likely.selection.record import identity, keep_report, kept_model, settings
from likely.selection.scoring import Progress, Scored, scored
from likely.selection.store import MemoryStore, RunStore

__all__ = ["checked_ranking", "compare", "judged"]


def compare(
    X: Any,
    y: Any,
    candidates: Any = None,
    applications: Any = None,
    *,
    folds: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    held_out: Any = None,
    evaluation: Any = None,
    scores: Mapping[str, Any] | None = None,
    calibrator: Any = None,
    by: str = "minimum",
    fuse: int = 3,
    seed: int = 0,
    run: str | os.PathLike[str] | None = None,
    restart: bool = False,
    about: dict[str, Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """All model families, or candidates of your own, compared on one data set by what their decisions cost.

    Every candidate scores rows it has not seen. Its pooled scores are judged: at best (minimum cost), and calibrated by
    the K-fold protocol (actual cost, Cllr). The best of some families are fused. The systems come back in order, with
    intervals and a paired test against the best for the first ten, and can be trained on everything. Candidates
    that learn by adding up statistics are cross-validated from one pass over the data; others share features and paths
    of a penalty. One that fails is reported with its reason.

    Parameters
    ----------
    X : array, sparse matrix or data frame (pandas, Polars, pyarrow) of shape (n, n_features)
        Columns of a frame may hold categories, which become indicators for the families of this library
        (:class:`likely.Encode`); missing values are filled with column means, except by diagonal Gaussians, which leave
        them out. Candidates of your own are given the rows as they are; for those of precomputed kernels X is the
        kernel of all rows, (n, n), whose columns folds cut too, and whose columns are features to all others.
    y : array of labels of shape (n,)
    candidates : optional
        By default every family of the library, each with a small grid of features and settings. Else names of families,
        such as ``["gaussian", "logistic"]``; or classifiers, this library's or anybody's who follows scikit-learn: one,
        a list of them or of (name, classifier), or a mapping {name: classifier}; or both in one list.
    applications : Application, effective prior, list of them, or mapping {name: application}, optional
        By default equal priors and costs. Costs are at these; systems are put in order by the mean of their costs. A
        reject cost plays no part here.
    folds : int, "leave-one-out", splitter, or list of (train, test), default 5
        A number makes shuffled folds stratified by class, which keep groups together where ``groups`` is given.
    groups : array of shape (n,), optional
        Rows that depend on each other: folds keep them together, and intervals draw them together. "leave-one-out" then
        leaves out one group at a time.
    sample_weight : array of shape (n,), optional
        Frequencies; rows of weight 0 are dropped.
    held_out : (X, y), optional
        Rows to compare on, in place of folds: candidates learn from all of ``X``.
    evaluation : (X, y) or (X, y, scores), optional
        Rows to judge the chosen systems on when all is done, and to ask whether another choice would have been better.
    scores : mapping {name: array}, optional
        Scores that outside systems gave to the rows compared on: of shape (n,) for two classes, else (n, n_classes).
    calibrator : calibrator, default AffineCalibrator(rising=True)
    by : {"minimum", "actual", "cllr"}, default "minimum"
        What systems are put in order by: minimum cost, cost of calibrated decisions, or Cllr.
    fuse : int, default 3
        Fuse the best systems of the two, three, … best families, up to so many; 0 for no fusion.
    seed : int, default 0
        Of the folds.
    run : path, optional
        A folder for everything that is computed, with a page of it, ``report.html``. The same call goes on where an
        earlier one was stopped. A folder of other data, folds or versions is refused.
    restart : bool, default False
        Remove what an earlier run left in the folder.
    about : dict of plain values, optional
        What to write into the file of the best system's model, which goes into the folder as ``models/best.likely``.
    progress : function of a Progress, optional
        Called before each batch of candidates, after each of its folds, by the thread that did it, and before judging.

    Returns
    -------
    Comparison

    Notes
    -----
    The best of many candidates was chosen on the rows it is judged on, so its cost comes out a little too low: judge it
    on rows of its own (``evaluation``) before you promise it to others.

    Examples
    --------
    >>> from likely import Application, compare
    >>> from likely.datasets import load_tumours
    >>> X, y, _ = load_tumours()
    >>> clinic = Application.binary(0.1, cost_fn=10, positive="malignant")
    >>> comparison = compare(X, y, ["nearest-mean", "Gaussian: LDA, full"], clinic, fuse=0)
    >>> comparison["nearest mean: raw"].standing.minimum[0] > comparison.best.standing.minimum[0]
    True
    >>> model = comparison.model()  # trained on everything, calibrated
    >>> model.decide(X[:2], clinic)
    array(['malignant', 'malignant'], dtype='<U9')
    """
    ranking = checked_ranking(by, fuse, calibrator, seed)
    encoder = encoder_for(X, sample_weight)
    rows = RowSet.of(X, y, sample_weight, groups, encoder, "compare")
    systems = checked_scores(scores, rows.y) if held_out is None else dict(scores or {})
    if rows.weight is not None and not rows.weight.all():  # rows of weight 0 are dropped before anything else
        kept = np.flatnonzero(rows.weight)
        rows = rows.of_rows(kept)
        systems = {name: column[kept] for name, column in systems.items()} if held_out is None else systems
    classes = check_two_classes(rows.y, "compare")
    named = named_applications(applications, classes)
    protocol = _protocol(rows, folds, held_out, encoder, seed)
    trial = None if evaluation is None else _evaluation(evaluation, encoder, rows, classes)
    shape = protocol.shape(rows) if trial is None else protocol.shape(rows, trial[0])
    chosen = _candidates(candidates, shape, systems, len(protocol.judged.y), len(classes))
    _check_names(chosen)
    _check_judged(chosen, trial)
    opened = RunStore(run, identity(rows, protocol, classes), restart) if run is not None else None
    with nullcontext(MemoryStore()) if opened is None else closing(opened) as store:
        found = scored(chosen, rows, protocol, trial, store, progress)
        judge = Judge.of(protocol.judged, classes, list(named.values()))
        workings = Workings(rows, protocol, judge, ranking.calibrator, encoder)
        comparison = judged(found, named, ranking, workings, trial, target_of(applications, classes))
        comparison.record.update(settings(ranking, seed, chosen))
        if opened is not None:
            comparison.record["model"] = kept_model(comparison, opened, about or {})
        store.write_json("leaderboard.json", comparison.to_dict())
        if opened is not None:
            keep_report(comparison, opened, about or {})
    return comparison


def checked_ranking(by: str, fuse: int, calibrator: Any, seed: int) -> Ranking:
    """How systems are put in order, fused and calibrated, once that and the seed of the folds make sense."""
    check_option("by", by, ("minimum", "actual", "cllr"))
    if not is_count(fuse, 0, 100) or not is_count(seed, 0, 2**32 - 1):
        raise InvalidParameterError(f"fuse and seed must be whole numbers from 0 on, but are {fuse!r} and {seed!r}.")
    return Ranking(by, fuse, AffineCalibrator(rising=True) if calibrator is None else calibrator)


def checked_scores(scores: Mapping[str, Any] | None, y: Labels) -> dict[str, Any]:
    """Columns of outside scores as arrays, one entry for each row."""
    return {each.name: each.scores for each in outside_systems(scores, len(y), len(np.unique(y)))}


def judged(
    found: Scored, named: dict[str, Application], ranking: Ranking, workings: Workings, trial: Any, target: Any
) -> Comparison:
    """The systems in order, from the scores of all candidates."""
    judge = workings.judge
    systems, notes = ranking.systems(found, judge, workings.protocol.cv())
    verdict = None
    if trial is not None:
        verdict, said = ranking.verdict(systems, found, judge, Judge.of(trial[0], judge.classes, judge.applications))
        notes += said
    notes = list(dict.fromkeys([*found.notes, *notes]))
    total = sum(batch["seconds"] for batch in found.batches)
    record: dict[str, Any] = {"seconds": {"total": total, "batches": found.batches}}
    return Comparison(systems, named, ranking.by, found.failures, notes, verdict, record, workings, target)


def _protocol(rows: RowSet, folds: Any, held_out: Any, encoder: Any, seed: int) -> Protocol:
    if held_out is None:
        return Folds(rows, *folds_of(rows, folds, seed))
    X, y, scores = _pair("held_out", held_out)
    if scores is not None:
        raise InvalidParameterError("held_out must be (X, y): scores of outside systems are given by scores.")
    judged = RowSet.of(X, y, None, None, encoder, "held_out")
    _check_alike(judged, rows, np.unique(rows.y), "held_out")
    return HeldOutSet(rows, judged, seed)


def _evaluation(given: Any, encoder: Any, rows: RowSet, classes: Labels) -> tuple[RowSet, Mapping[str, Any]]:
    X, y, scores = _pair("evaluation", given)
    judged = RowSet.of(X, y, None, None, encoder, "evaluation")
    _check_alike(judged, rows, classes, "evaluation")
    fewest = int(np.unique(judged.y, return_counts=True)[1].min())
    if fewest < 2:
        raise DegenerateDataError("evaluation must have two rows of each class at least, but has one of some class.")
    return judged, checked_scores(scores, judged.y)


def _pair(name: str, given: Any) -> tuple[Any, Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise InvalidParameterError(f"{name} must be (X, y), or (X, y, scores) where outside systems are judged.")
    return given[0], given[1], given[2] if len(given) == 3 else None


def _check_alike(judged: RowSet, rows: RowSet, classes: Labels, whose: str) -> None:
    """Rows to judge on have the features and classes of those learned from."""
    n_features = [int(each.numbers.shape[1]) for each in (rows, judged)]
    if n_features[0] != n_features[1]:
        raise InvalidDataError(f"{whose} must have the {n_features[0]} features of X, but has {n_features[1]}.")
    there = np.unique(judged.y)
    if not np.array_equal(there, classes):
        raise DegenerateDataError(
            f"{whose} must have rows of the classes that are compared, {classes.tolist()}, but has {there.tolist()}."
        )


def _candidates(given: Any, shape: Shape, outside: Any, n: int, n_classes: int) -> list[Candidate]:
    systems = outside_systems(outside, n, n_classes)
    if given is None:
        return default_candidates(shape) + systems
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, (list, tuple)) else given
    if not isinstance(listed, list):
        return named_candidates(listed) + systems
    families = [candidate for name in listed if isinstance(name, str) for candidate in family(name, shape)]
    own = [entry for entry in listed if not isinstance(entry, str)]
    if not (own or families or systems):
        raise InvalidParameterError("There is nothing to compare: candidates is empty.")
    return families + (named_candidates(own) if own else []) + systems


def _check_names(candidates: list[Candidate]) -> None:
    names = [candidate.name for candidate in candidates]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidParameterError(f"Every candidate needs a name of its own, but two are called {twice!r}.")


def _check_judged(candidates: list[Candidate], trial: tuple[RowSet, Mapping[str, Any]] | None) -> None:
    """An outside system that is compared has scores of the evaluation rows too: it may be the one that is chosen."""
    judged = {str(name) for name in trial[1]} if trial is not None else set()
    for each in candidates if trial is not None else []:
        if each.estimator is None and each.name not in judged:
            raise InvalidParameterError(
                f"evaluation must bring scores of the outside system {each.name!r} too, as (X, y, scores)."
            )
