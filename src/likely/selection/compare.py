"""Comparison of systems on one data set: candidates that are trained here, or scores computed elsewhere.

:func:`compare` and :func:`compare_scores` check their arguments once, as :class:`CompareOptions`. The command line
makes such options too. Then rows, folds and candidates are prepared, the candidates score the rows, and the systems are
ranked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._constraints import is_count
from likely._typing import Floats, Labels, RankedBy
from likely._validation import check_labels, check_option, check_scores, check_weight
from likely.calibration import TailCalibrator
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
from likely.selection.comparison import Comparison, Workings, save_comparison
from likely.selection.judging import Judge, Ranking, find_target, name_applications
from likely.selection.rows import (
    Folds,
    HeldOutSet,
    RowSet,
    ScoringProtocol,
    check_two_classes,
    make_encoder,
    make_splitter,
)
from likely.selection.scoring import CandidateScores, Progress, record_warnings, score_candidates
from likely.selection.store import RunStore, library_versions, run_identity

EvaluationSet = tuple[RowSet, Mapping[str, Floats]]
"""Evaluation rows, and the scores of external systems for them."""


@dataclass(frozen=True, eq=False)
class CompareOptions:
    """All arguments of :func:`compare` except the training rows. They are checked on construction."""

    candidates: Any = None
    applications: Any = None
    folds: Any = 5
    groups: Any = None
    sample_weight: Any = None
    held_out: Any = None
    evaluation: Any = None
    scores: Mapping[str, Any] | None = None
    calibrator: Any = None
    by: RankedBy = "minimum"
    fuse: int = 3
    seed: int = 0
    run: str | os.PathLike[str] | None = None
    restart: bool = False
    about: dict[str, Any] | None = None
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        check_option("by", self.by, ("minimum", "actual", "cllr"))
        for name, high in (("fuse", 100), ("seed", 2**32 - 1)):
            value = getattr(self, name)
            if not is_count(value, 0, high):
                raise InvalidParameterError(
                    f"{name} must be an integer from 0 to {high}, but is {value!r}.", parameter=name
                )
        for name in ("held_out", "evaluation"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, (tuple, list)) or len(given) not in (2, 3)):
                raise InvalidParameterError(
                    f"{name} must be (X, y). If there are external systems, it must be (X, y, scores).", parameter=name
                )
        if self.held_out is not None and len(self.held_out) == 3 and self.held_out[2] is not None:
            raise InvalidParameterError(
                "held_out must be (X, y). Pass the scores of external systems with scores=.", parameter="held_out"
            )
        if self.calibrator is None:
            object.__setattr__(self, "calibrator", TailCalibrator(rising=True))


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
    by: RankedBy = "minimum",
    fuse: int = 3,
    seed: int = 0,
    run: str | os.PathLike[str] | None = None,
    restart: bool = False,
    about: dict[str, Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Compare all model families, or your own candidates, on one data set by the cost of their decisions.

    Each candidate scores rows that it was not trained on. The minimum cost is that of its pooled scores at the best
    threshold. The actual cost and Cllr are those of the scores after calibration, which is also done fold by fold. The
    best systems of some families are fused. The systems are returned in order, the best first. The first ten have
    intervals and a paired test against the best. Any system can be trained on all rows. Candidates that learn from sums
    are cross-validated in one pass over the data. Other candidates share features and regularization paths. If a
    candidate fails, the reason is reported.

    Parameters
    ----------
    X : array, sparse matrix or data frame (pandas, Polars, pyarrow) of shape (n, n_features)
        Columns of a frame may hold categories, which are encoded as indicators for the families of this library
        (:class:`likely.Encode`). Missing values are filled with column means, except for diagonal Gaussians, which
        leave them out. Your own candidates get the rows unchanged. For candidates with precomputed kernels, X is the
        kernel matrix of all rows, of shape (n, n), and folds select its rows and its columns. For other candidates, the
        columns of X are features.
    y : array of labels of shape (n,)
    candidates : optional
        By default every family of the library, each with a small grid of features and settings. Otherwise a list of
        names of families, such as ``["gaussian", "logistic"]``, or your own classifiers, compatible with scikit-learn:
        one classifier, a list of classifiers or of (name, classifier), or a mapping {name: classifier}. A list may
        contain both names of families and classifiers.
    applications : Application, effective prior, list of them, or mapping {name: application}, optional
        The priors and costs at which systems are compared; by default, equal priors and costs. Systems are ranked by
        the mean cost over the applications. Reject costs are ignored.
    folds : int, "leave-one-out", splitter, or list of (train, test), default 5
        An integer is a number of folds. These folds are shuffled, stratified by class, and keep ``groups`` together.
    groups : array of shape (n,), optional
        Equal values mark rows that depend on each other. Folds keep them together, intervals resample them together,
        and "leave-one-out" leaves out one group at a time.
    sample_weight : array of shape (n,), optional
        How often each row counts. Rows of weight 0 are dropped.
    held_out : (X, y), optional
        Rows on which systems are compared, instead of folds. Candidates then learn from all rows of ``X``.
    evaluation : (X, y) or (X, y, scores), optional
        Rows on which all systems are evaluated in the end, to check whether another choice would have been better.
    scores : mapping {name: array}, optional
        Scores that external systems gave to the rows on which systems are compared. Each array has shape (n,) for two
        classes, else (n, n_classes).
    calibrator : calibrator, default TailCalibrator(rising=True)
    by : {"minimum", "actual", "cllr"}, default "minimum"
        Measure that ranks systems: minimum cost, actual cost after calibration, or Cllr.
    fuse : int, default 3
        Fuse the best systems of the two, three, … best families, up to this number of families. 0 means no fusion.
    seed : int, default 0
        Random seed of the folds.
    run : path, optional
        Folder for all results, including the report ``report.html``. The same call resumes a run that was interrupted.
        If the folder holds a run with other data, folds or versions, an error is raised.
    restart : bool, default False
        Whether to delete the results of an earlier run in the folder.
    about : dict of plain values, optional
        Description that is saved with the best system's model, in the file ``models/best.likely`` of the folder.
    progress : function of a Progress, optional
        Function that is called before each batch of candidates, after each fold of a batch (in the thread that computed
        the fold), and before the systems are ranked.

    Returns
    -------
    Comparison

    Notes
    -----
    The best of many candidates is chosen on the same rows on which its cost is computed, so this cost is slightly
    optimistic. Use separate rows (``evaluation``) for an unbiased estimate.

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
    by: RankedBy = "minimum",
    fuse: int = 0,
    seed: int = 0,
) -> Comparison:
    """Compare the scores of several systems by what decisions cost: as given, calibrated, and at the best threshold.

    This is :func:`likely.compare` for scores computed elsewhere. It returns costs, Cllr, intervals, a paired test
    against the best system, and a report. ``model()`` is the best system's calibrator, trained on all rows.

    Parameters
    ----------
    y_true : array of labels of shape (n,)
    scores : array, or mapping {name: array}
        Scores of one system, or of several systems by name. For two classes: log-likelihood ratios of shape (n,), of
        the target against the nontarget, or log-likelihoods of shape (n, 2). Scores that only rank the rows are allowed
        too. For more classes: log-likelihoods of shape (n, n_classes).
    applications : Application, effective prior, list of them, or mapping {name: application}, optional
        By default equal priors and costs.
    pos_label : label, optional
        The target: for two classes and scores of shape (n,), the class that has high scores. By default, the class that
        an application names, else the second class.
    sample_weight : array of shape (n,), optional
        How often each row counts.
    groups : array of shape (n,), optional
        Equal values mark rows that depend on each other. Calibration folds keep them together, and intervals resample
        them together.
    calibrator : calibrator, default TailCalibrator(rising=True)
    by : {"minimum", "actual", "cllr"}, default "minimum"
    fuse : int, default 0
        Fuse the best two, three, … systems, up to this number.
    seed : int, default 0
        Random seed of the calibration folds.

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
    oriented = _orient_scores(scores, target is not None and target == classes[0])
    systems = make_outside_candidates(oriented, len(rows.y), len(classes))
    if not systems:
        raise InvalidParameterError("scores must hold at least one system, but is empty.", parameter="scores")
    rows, parts = _without_zero_weights(rows, {each.name: each.scores for each in systems if each.scores is not None})
    protocol = ScoringProtocol(rows, "scores as given", seed)
    found = CandidateScores({each.name: each for each in systems}, parts, {}, {}, [], [])
    workings = Workings(rows, protocol, Judge(rows, classes, list(named.values())), options.calibrator, None)
    return _rank(found, named, options, workings, None, target)


def run_comparison(X: Any, y: Any, options: CompareOptions) -> Comparison:
    """Compare candidates on the rows ``X`` with labels ``y``. Keep results in the folder ``options.run``, if any."""
    encoder = make_encoder(X, options.sample_weight)
    rows, outside = _training_rows(X, y, options, encoder)
    classes = check_two_classes(rows.y, "compare")
    named = name_applications(options.applications, classes)
    protocol: ScoringProtocol
    if options.held_out is None:
        protocol = Folds(rows, *make_splitter(rows, options.folds, options.seed))
    else:
        protocol = HeldOutSet(rows, _other_rows("held_out", options.held_out, encoder, rows)[0], options.seed)
    evaluation_set = (
        None if options.evaluation is None else _other_rows("evaluation", options.evaluation, encoder, rows)
    )
    shape = protocol.shape(rows) if evaluation_set is None else protocol.shape(rows, evaluation_set[0])
    candidates = _candidates(options.candidates, shape, outside, len(protocol.judged.y), len(classes))
    for each in candidates:  # a chosen external system needs scores of the evaluation rows
        if evaluation_set is not None and each.estimator is None and each.name not in evaluation_set[1]:
            raise InvalidParameterError(
                f"evaluation must include scores of the external system {each.name!r}. Pass (X, y, scores).",
                parameter="evaluation",
            )
    store = None
    if options.run is not None:
        store = RunStore(options.run, run_identity(rows, protocol, classes), options.restart)
    with nullcontext() if store is None else closing(store):
        found = score_candidates(candidates, rows, protocol, evaluation_set, store, options.progress)
        judge = Judge(protocol.judged, classes, list(named.values()))
        workings = Workings(rows, protocol, judge, options.calibrator, encoder)
        comparison = _rank(found, named, options, workings, evaluation_set, find_target(options.applications, classes))
        if store is not None:
            save_comparison(comparison, store, options.about or {})
    return comparison


def _rank(
    found: CandidateScores,
    named: dict[str, Application],
    options: CompareOptions,
    workings: Workings,
    evaluation_set: EvaluationSet | None,
    target: Any,
) -> Comparison:
    """Rank the systems, and evaluate them on the evaluation rows if there are any."""
    judge, folds = workings.judge, workings.protocol.calibration_folds()
    ranking = Ranking(found, judge, folds, options.by, options.fuse, options.calibrator)
    verdict, more = None, []
    with record_warnings() as notes:
        systems = ranking.systems()
    if evaluation_set is not None:
        with record_warnings() as more:
            verdict = ranking.verdict(systems, Judge(evaluation_set[0], judge.classes, judge.applications))
    notes = list(dict.fromkeys([*found.notes, *notes, *more]))
    settings = {"fuse": options.fuse, "seed": options.seed, "calibrator": str(options.calibrator)}
    record = {
        "seconds": {"total": sum(batch["seconds"] for batch in found.batches), "batches": found.batches},
        "settings": settings | {"candidates": list(found.candidates)},
        "versions": library_versions(),
    }
    return Comparison(systems, named, options.by, found.failures, notes, verdict, record, workings, target)


# Rows


def _training_rows(X: Any, y: Any, options: CompareOptions, encoder: Any) -> tuple[RowSet, dict[str, Any]]:
    """Check the training rows, and the scores of external systems for the rows on which systems are compared."""
    rows = RowSet.of(X, y, options.sample_weight, options.groups, encoder, "compare")
    if options.held_out is not None:  # scores of external systems are for the held-out rows
        return _without_zero_weights(rows, {})[0], dict(options.scores or {})
    return _without_zero_weights(rows, _check_outside(options.scores, rows.y))


def _without_zero_weights(rows: RowSet, scores: dict[str, Floats]) -> tuple[RowSet, dict[str, Floats]]:
    """Drop rows of weight 0 and their scores."""
    if rows.weight is None or rows.weight.all():
        return rows, scores
    kept = np.flatnonzero(rows.weight)
    return rows.of_rows(kept), {name: column[kept] for name, column in scores.items()}


def _check_outside(scores: Mapping[str, Any] | None, y: Labels) -> dict[str, Floats]:
    """Check that the scores of external systems are arrays with one entry for each row."""
    systems = make_outside_candidates(scores, len(y), len(np.unique(y)))
    return {each.name: each.scores for each in systems if each.scores is not None}


def _other_rows(name: str, given: Any, encoder: Any, training: RowSet) -> EvaluationSet:
    """Check held-out or evaluation rows, and the scores of external systems for them.

    Features and classes must be those of the training rows.
    """
    try:
        judged = RowSet.of(given[0], given[1], None, None, encoder, name)
        expected, found = (int(rows.numbers.shape[1]) for rows in (training, judged))
        if expected != found:
            raise InvalidDataError(f"{name} must have the {expected} features of X, but has {found}.")
        classes, (present, counts) = np.unique(training.y), np.unique(judged.y, return_counts=True)
        if not np.array_equal(present, classes):
            raise DegenerateDataError(
                f"{name} must have rows of exactly the classes of y. These classes are {classes.tolist()}, but the "
                f"rows have the classes {present.tolist()}."
            )
        if name == "evaluation" and counts.min() < 2:
            rarest = classes.tolist()[int(counts.argmin())]
            raise DegenerateDataError(
                f"evaluation must have at least two rows of each class, but has one row of class {rarest!r}."
            )
        return judged, _check_outside(given[2] if len(given) == 3 else None, judged.y)
    except LikelyError as error:
        error.parameter = name
        raise


# Candidates


def _candidates(given: Any, shape: DataShape, outside: Any, n: int, n_classes: int) -> list[Candidate]:
    """Return all candidates: families, classifiers, and external systems. Their names must be different."""
    found = _classifiers(given, shape) + make_outside_candidates(outside, n, n_classes)
    if not found:
        raise InvalidParameterError("candidates must hold at least one system, but is empty.", parameter="candidates")
    names = [candidate.name for candidate in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidParameterError(f"Candidates must have different names, but two have the name {twice!r}.")
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


# Scores without a model


def _rows_without_columns(y_true: Any, sample_weight: Any, groups: Any) -> RowSet:
    """Check labels, weights and groups."""
    labels = check_labels("compare_scores", y_true)
    names = None if groups is None else np.asarray(groups)
    if names is not None and len(names) != len(labels):
        raise InvalidDataError(f"compare_scores: there are {len(names)} groups but {len(labels)} labels.")
    nothing = np.empty((len(labels), 0))
    return RowSet(nothing, nothing, labels, check_weight(sample_weight, len(labels)), names)


def _orient_scores(scores: Any, is_reversed: bool) -> dict[str, Any]:
    """Return scores by the name of their system. For two classes, the sign of llrs is that of the second class."""
    systems = dict(scores) if isinstance(scores, Mapping) else {"scores": scores}
    arrays = {str(name): check_scores(f"The system {str(name)!r}", values) for name, values in systems.items()}
    return {name: -values if is_reversed and values.ndim == 1 else values for name, values in arrays.items()}


def _check_target(pos_label: Any, classes: list[Any]) -> Any:
    if len(classes) != 2 or pos_label not in classes:
        raise InvalidParameterError(
            f"pos_label must be one of the two classes, but is {pos_label!r}, and the classes are {classes}.",
            parameter="pos_label",
        )
    return pos_label
