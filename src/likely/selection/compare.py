"""Comparison of systems on one data set: candidates that are trained here, or scores that others computed.

:func:`compare` and :func:`compare_scores` check their arguments once, as a :class:`CompareOptions`, which the command
line builds too. Then rows, folds and candidates are prepared, all candidates are scored, and the systems are ranked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._constraints import is_count
from likely._typing import Floats, Labels
from likely._validation import check_labels, check_option, check_scores, check_weight
from likely.calibration import AffineCalibrator
from likely.decisions import Application
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError, LikelyError
from likely.selection.candidates import (
    Candidate,
    DataShape,
    default_candidates,
    find_candidates,
    make_candidates,
    make_outside_candidates,
)
from likely.selection.comparison import Comparison, Workings, save_best_model, save_report
from likely.selection.judging import Judge, Ranking, find_target, name_applications
from likely.selection.rows import (
    Folds,
    GivenScores,
    HeldOutSet,
    RowSet,
    ScoringProtocol,
    check_two_classes,
    make_encoder,
    make_splitter,
)
from likely.selection.scoring import CandidateScores, Progress, score_candidates
from likely.selection.store import MemoryStore, RunStore, describe_settings, run_identity

Trial = tuple[RowSet, Mapping[str, Floats]]
"""Evaluation rows, and the scores that outside systems gave to them."""


@dataclass(frozen=True, eq=False)
class CompareOptions:
    """The arguments of :func:`compare` besides the training rows, checked when they are put together."""

    candidates: Any = None
    applications: Any = None
    folds: Any = 5
    groups: Any = None
    sample_weight: Any = None
    held_out: Any = None
    evaluation: Any = None
    scores: Mapping[str, Any] | None = None
    calibrator: Any = None
    by: str = "minimum"
    fuse: int = 3
    seed: int = 0
    run: str | os.PathLike[str] | None = None
    restart: bool = False
    about: dict[str, Any] | None = None
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        check_option("by", self.by, ("minimum", "actual", "cllr"))
        _check_count("fuse", self.fuse, 100)
        _check_count("seed", self.seed, 2**32 - 1)
        for name in ("held_out", "evaluation"):
            _check_pair(name, getattr(self, name))

    @property
    def ranking(self) -> Ranking:
        """How systems are ordered, fused and calibrated."""
        calibrator = AffineCalibrator(rising=True) if self.calibrator is None else self.calibrator
        return Ranking(self.by, self.fuse, calibrator)


def _check_count(name: str, value: Any, high: int) -> None:
    if not is_count(value, 0, high):
        raise InvalidParameterError(f"{name} must be an integer from 0 to {high}, but is {value!r}.", parameter=name)


def _check_pair(name: str, given: Any) -> None:
    """Raise unless other rows are given as (X, y), or as (X, y, scores) where outside systems are judged."""
    if given is not None and (not isinstance(given, (tuple, list)) or len(given) not in (2, 3)):
        raise InvalidParameterError(
            f"{name} must be (X, y), or (X, y, scores) where outside systems are judged.", parameter=name
        )
    if name == "held_out" and given is not None and len(given) == 3 and given[2] is not None:
        raise InvalidParameterError(
            "held_out must be (X, y): scores of outside systems are given by scores=.", parameter=name
        )


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
    """Compare all model families, or candidates of your own, on one data set by what their decisions cost.

    Every candidate scores rows it has not seen. Its pooled scores are judged at their best threshold (minimum cost) and
    calibrated by the K-fold protocol (actual cost, Cllr). The best systems of some families are fused. The systems are
    returned in order, with intervals and a paired test against the best for the first ten, and can be trained on all
    rows. Candidates that learn by adding up statistics are cross-validated from one pass over the data; others share
    features and regularization paths. A candidate that fails is reported with its reason.

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
        Fuse the best systems of the two, three, … best families, up to this number; 0 for no fusion.
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
    options = CompareOptions(
        candidates, applications, folds, groups, sample_weight, held_out, evaluation, scores,
        calibrator, by, fuse, seed, run, restart, about, progress,
    )  # fmt: skip
    return run_comparison(X, y, options)


def compare_scores(
    y_true: Any,
    scores: Any,
    applications: Any = None,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    calibrator: Any = None,
    by: str = "minimum",
    fuse: int = 0,
    seed: int = 0,
) -> Comparison:
    """Compare the scores of several systems by what their decisions cost: as given, calibrated, and at best.

    What :func:`likely.compare` does with scores of its candidates, for scores that others gave: costs, Cllr, intervals,
    a paired test against the best, and a report. ``model()`` is the best system's calibrator, trained on all rows.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    scores : array, or mapping {name: array}
        Of one system, or of several by name. Two classes: log-likelihood ratios of shape (n,), target against
        nontarget, or log-likelihoods of shape (n, 2); what only ranks is judged too. More: shape (n, n_classes).
    applications : Application, effective prior, list of them, or mapping {name: application}, optional
        By default equal priors and costs.
    pos_label : label, optional
        Of two classes, the one that scores of shape (n,) are high for: by default the one that an application names,
        or else the second.
    sample_weight : array of shape (n,), optional
        Frequencies.
    groups : array of shape (n,), optional
        Rows that depend on each other: calibration keeps them together, and intervals draw them together.
    calibrator : calibrator, default AffineCalibrator(rising=True)
    by : {"minimum", "actual", "cllr"}, default "minimum"
    fuse : int, default 0
        Fuse the best two, three, … systems, up to this number.
    seed : int, default 0
        Of the folds that calibrators are judged by.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from likely import Application, compare_scores
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> comparison = compare_scores(y, {"mine": llr}, Application.binary(0.5))
    >>> round(comparison.best.standing.minimum[0], 4), round(comparison.best.standing.uncalibrated[0], 4)
    (0.3333, 0.6667)
    """
    options = CompareOptions(None, applications, calibrator=calibrator, by=by, fuse=fuse, seed=seed)
    rows = _rows_without_columns(y_true, sample_weight, groups)
    classes = check_two_classes(rows.y, "compare_scores")
    named = name_applications(applications, classes, rejecting=True)
    target = find_target(applications, classes) if pos_label is None else _check_target(pos_label, classes.tolist())
    oriented = _oriented_scores(scores, target is not None and target == classes[0])
    systems = make_outside_candidates(oriented, len(rows.y), len(classes))
    if not systems:
        raise InvalidParameterError("There is nothing to compare: scores is empty.", parameter="scores")
    rows, parts = _without_zero_weights(rows, {each.name: each.scores for each in systems if each.scores is not None})
    protocol, judge = GivenScores(rows, seed), Judge.of(rows, classes, list(named.values()))
    workings = Workings(rows, protocol, judge, options.ranking.calibrator, None)
    found = CandidateScores({each.name: each for each in systems}, parts, {}, {}, [], [])
    comparison = _rank(found, named, options.ranking, workings, None, target)
    comparison.record.update(describe_settings(options.ranking, seed, systems))
    return comparison


def run_comparison(X: Any, y: Any, options: CompareOptions) -> Comparison:
    """Compare candidates on the rows ``X`` with labels ``y``; keep everything in the folder ``options.run``, if any."""
    encoder = make_encoder(X, options.sample_weight)
    rows, outside = _training_rows(X, y, options, encoder)
    classes = check_two_classes(rows.y, "compare")
    named = name_applications(options.applications, classes)
    protocol = _protocol(rows, options, encoder)
    trial = None if options.evaluation is None else _evaluation(options.evaluation, encoder, rows, classes)
    shape = protocol.shape(rows) if trial is None else protocol.shape(rows, trial[0])
    candidates = _candidates(options.candidates, shape, outside, len(protocol.judged.y), len(classes))
    _check_judged(candidates, trial)
    opened = None
    if options.run is not None:
        opened = RunStore(options.run, run_identity(rows, protocol, classes), options.restart)
    with nullcontext(MemoryStore()) if opened is None else closing(opened) as store:
        found = score_candidates(candidates, rows, protocol, trial, store, options.progress)
        judge = Judge.of(protocol.judged, classes, list(named.values()))
        workings = Workings(rows, protocol, judge, options.ranking.calibrator, encoder)
        target = find_target(options.applications, classes)
        comparison = _rank(found, named, options.ranking, workings, trial, target)
        comparison.record.update(describe_settings(options.ranking, options.seed, candidates))
        if opened is not None:
            comparison.record["model"] = save_best_model(comparison, opened, options.about or {})
        store.write_json("leaderboard.json", comparison.to_dict())
        if opened is not None:
            save_report(comparison, opened, options.about or {})
    return comparison


def _rank(
    found: CandidateScores,
    named: dict[str, Application],
    ranking: Ranking,
    workings: Workings,
    trial: Trial | None,
    target: Any,
) -> Comparison:
    """Order the systems by their scores, and judge them on the evaluation rows if there are any."""
    judge = workings.judge
    systems, notes = ranking.systems(found, judge, workings.protocol.calibration_folds())
    verdict = None
    if trial is not None:
        there = Judge.of(trial[0], judge.classes, judge.applications)
        verdict, more = ranking.verdict(systems, found, judge, there)
        notes += more
    notes = list(dict.fromkeys([*found.notes, *notes]))
    total = sum(batch["seconds"] for batch in found.batches)
    record: dict[str, Any] = {"seconds": {"total": total, "batches": found.batches}}
    return Comparison(systems, named, ranking.by, found.failures, notes, verdict, record, workings, target)


# Rows.


def _training_rows(X: Any, y: Any, options: CompareOptions, encoder: Any) -> tuple[RowSet, dict[str, Any]]:
    """Check the rows to learn from, and the outside scores of the rows compared on."""
    rows = RowSet.of(X, y, options.sample_weight, options.groups, encoder, "compare")
    if options.held_out is not None:  # the scores are of the held-out rows
        return _without_zero_weights(rows, {})[0], dict(options.scores or {})
    return _without_zero_weights(rows, _check_outside(options.scores, rows.y))


def _without_zero_weights(rows: RowSet, scores: dict[str, Floats]) -> tuple[RowSet, dict[str, Floats]]:
    """Drop rows of weight 0, and their scores, before anything else."""
    if rows.weight is None or rows.weight.all():
        return rows, scores
    kept = np.flatnonzero(rows.weight)
    return rows.of_rows(kept), {name: column[kept] for name, column in scores.items()}


def _check_outside(scores: Mapping[str, Any] | None, y: Labels) -> dict[str, Floats]:
    """Check that each column of outside scores is an array with an entry for each row."""
    systems = make_outside_candidates(scores, len(y), len(np.unique(y)))
    return {each.name: each.scores for each in systems if each.scores is not None}


def _protocol(rows: RowSet, options: CompareOptions, encoder: Any) -> ScoringProtocol:
    if options.held_out is None:
        return Folds(rows, *make_splitter(rows, options.folds, options.seed))
    with _naming("held_out"):
        judged = RowSet.of(options.held_out[0], options.held_out[1], None, None, encoder, "held_out")
        _check_alike(judged, rows, np.unique(rows.y), "held_out")
    return HeldOutSet(rows, judged, options.seed)


def _evaluation(given: Any, encoder: Any, rows: RowSet, classes: Labels) -> Trial:
    with _naming("evaluation"):
        judged = RowSet.of(given[0], given[1], None, None, encoder, "evaluation")
        _check_alike(judged, rows, classes, "evaluation")
        if int(np.unique(judged.y, return_counts=True)[1].min()) < 2:
            raise DegenerateDataError(
                "evaluation must have two rows of each class at least, but has one of some class."
            )
        return judged, _check_outside(given[2] if len(given) == 3 else None, judged.y)


@contextmanager
def _naming(parameter: str) -> Iterator[None]:
    """Inside, errors of this library are about a parameter."""
    try:
        yield
    except LikelyError as error:
        error.parameter = parameter
        raise


def _check_alike(judged: RowSet, rows: RowSet, classes: Labels, whose: str) -> None:
    """Raise unless the rows to judge on have the features and classes of the training rows."""
    n_features = [int(each.numbers.shape[1]) for each in (rows, judged)]
    if n_features[0] != n_features[1]:
        raise InvalidDataError(f"{whose} must have the {n_features[0]} features of X, but has {n_features[1]}.")
    there = np.unique(judged.y)
    if not np.array_equal(there, classes):
        raise DegenerateDataError(
            f"{whose} must have rows of the classes that are compared, {classes.tolist()}, but has {there.tolist()}."
        )


# Candidates.


def _candidates(given: Any, shape: DataShape, outside: Any, n: int, n_classes: int) -> list[Candidate]:
    """List the candidates, each under a name that no other has: families, classifiers, and outside systems."""
    found = _classifiers(given, shape) + make_outside_candidates(outside, n, n_classes)
    if not found:
        raise InvalidParameterError("There is nothing to compare: candidates is empty.", parameter="candidates")
    names = [candidate.name for candidate in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidParameterError(f"Candidates must have different names, but two are called {twice!r}.")
    return found


def _classifiers(given: Any, shape: DataShape) -> list[Candidate]:
    if given is None:
        return default_candidates(shape)
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, (list, tuple)) else given
    if not isinstance(listed, list):
        return make_candidates(listed)
    families = [candidate for name in listed if isinstance(name, str) for candidate in find_candidates(name, shape)]
    own = [entry for entry in listed if not isinstance(entry, str)]
    return families + (make_candidates(own) if own else [])


def _check_judged(candidates: list[Candidate], trial: Trial | None) -> None:
    """Raise unless every outside system has scores of the evaluation rows too: it may be the one that is chosen."""
    if trial is None:
        return
    for each in candidates:
        if each.estimator is None and each.name not in trial[1]:
            raise InvalidParameterError(
                f"evaluation must bring scores of the outside system {each.name!r} too, as (X, y, scores).",
                parameter="evaluation",
            )


# Scores without a model.


def _rows_without_columns(y_true: Any, sample_weight: Any, groups: Any) -> RowSet:
    """Check labels, weights and groups."""
    labels = check_labels("compare_scores", y_true)
    names = None if groups is None else np.asarray(groups)
    if names is not None and len(names) != len(labels):
        raise InvalidDataError(f"compare_scores: {len(names)} groups came with {len(labels)} labels.")
    nothing = np.empty((len(labels), 0))
    return RowSet(nothing, nothing, labels, check_weight(sample_weight, len(labels)), names)


def _oriented_scores(scores: Any, turned: bool) -> dict[str, Any]:
    """Scores by name; llrs of two classes are those of the second class."""
    systems = dict(scores) if isinstance(scores, Mapping) else {"scores": scores}
    arrays = {str(name): check_scores(f"The system {str(name)!r}", values) for name, values in systems.items()}
    return {name: -values if turned and values.ndim == 1 else values for name, values in arrays.items()}


def _check_target(pos_label: Any, classes: list[Any]) -> Any:
    if len(classes) != 2 or pos_label not in classes:
        raise InvalidParameterError(
            f"pos_label must be one of two classes, but is {pos_label!r} of {classes}.", parameter="pos_label"
        )
    return pos_label
