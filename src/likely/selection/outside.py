"""Scores of anybody's systems compared, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely._validation import check_labels, check_scores, check_weight
from likely.exceptions import InvalidDataError, InvalidParameterError
from likely.selection.applications import named_applications, target_of
from likely.selection.candidates import outside_systems
from likely.selection.compare import checked_ranking, judged
from likely.selection.comparison import Comparison, Workings
from likely.selection.data import RowSet, check_two_classes
from likely.selection.judging import Judge
from likely.selection.protocols import GivenScores
from likely.selection.record import settings
from likely.selection.scoring import Scored

__all__ = ["compare_scores"]


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
    """Scores of systems compared by what decisions cost: as they are, calibrated by the K-fold protocol, and at best.

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
        Fuse the best two, three, … systems, up to so many.
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
    ranking = checked_ranking(by, fuse, calibrator, seed)
    rows = _rows(y_true, sample_weight, groups)
    classes = check_two_classes(rows.y, "compare_scores")
    named = named_applications(applications, classes, rejecting=True)
    target = target_of(applications, classes) if pos_label is None else _checked_target(pos_label, classes.tolist())
    systems = outside_systems(_oriented(scores, target is not None and target == classes[0]), len(rows.y), len(classes))
    if not systems:
        raise InvalidParameterError("There is nothing to compare: scores is empty.")
    names = {system.name: system for system in systems}
    parts = {name: system.scores for name, system in names.items() if system.scores is not None}
    if rows.weight is not None and not rows.weight.all():
        kept = np.flatnonzero(rows.weight)
        rows, parts = rows.of_rows(kept), {name: part[kept] for name, part in parts.items()}
    protocol = GivenScores(rows, seed)
    judge = Judge.of(rows, classes, list(named.values()))
    workings = Workings(rows, protocol, judge, ranking.calibrator, None)
    found = Scored(names, parts, {}, {}, [], [])
    comparison = judged(found, named, ranking, workings, None, target)
    comparison.record.update(settings(ranking, seed, systems))
    return comparison


def _rows(y_true: Any, sample_weight: Any, groups: Any) -> RowSet:
    """Labels, weights and groups, of rows without columns."""
    labels = check_labels("compare_scores", y_true)
    names = None if groups is None else np.asarray(groups)
    if names is not None and len(names) != len(labels):
        raise InvalidDataError(f"compare_scores: {len(names)} groups came with {len(labels)} labels.")
    nothing = np.empty((len(labels), 0))
    return RowSet(nothing, nothing, labels, check_weight(sample_weight, len(labels)), names)


def _oriented(scores: Any, turned: bool) -> dict[str, Any]:
    """Scores by name, two classes' llrs those of the second class."""
    systems = dict(scores) if isinstance(scores, Mapping) else {"scores": scores}
    arrays = {str(name): check_scores(f"The system {str(name)!r}", values) for name, values in systems.items()}
    return {name: -values if turned and values.ndim == 1 else values for name, values in arrays.items()}


def _checked_target(pos_label: Any, classes: list[Any]) -> Any:
    if len(classes) != 2 or pos_label not in classes:
        raise InvalidParameterError(f"pos_label must be one of two classes, but is {pos_label!r} of {classes}.")
    return pos_label
