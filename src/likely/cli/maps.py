"""Maps on scores, as the verbs ``calibrate`` and ``fuse`` learn, keep and apply them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely import evaluation
from likely._typing import Floats
from likely.cli.guarding import check_output, note, writing
from likely.cli.options import MapOptions
from likely.cli.rendering import print_json, write_file
from likely.cli.scorefiles import Evidence, Scores, evidence_of, read_any
from likely.cli.words import listing
from likely.exceptions import InvalidParameterError, ModelFileError, TableError
from likely.resampling import kfold_calibrate

__all__ = [
    "Learned",
    "cllrs",
    "judgeable",
    "keep",
    "labelled",
    "learned",
    "loaded",
    "mapped",
    "note_reversal",
    "oriented",
    "written",
]

_VERBS = {"AffineCalibrator": "calibrate", "IsotonicCalibrator": "calibrate", "LogisticFusion": "fuse"}
"""Which verb applies a saved map."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A map learned from all rows, and the scores that maps which have not seen a row made of it."""

    map: Any
    scores: Floats


def mapped(path: Path, how: MapOptions, learn: Any, apply: Any, show: Any) -> None:
    """Learn a map from scores, or apply one that is kept; write what comes out, and say what it is worth."""
    if how.using is not None and how.save is not None:
        raise InvalidParameterError("--using applies a map that is kept already, so there is none to --save.")
    check_output(how.output)
    if how.save is not None:
        check_output(how.save, ".likely")
    columns, facts = learn(path, how) if how.using is None else apply(path, how, how.using)
    write_file(how.output, columns)
    facts = {"file": str(path), "output": str(how.output), **facts}
    print_json(facts) if how.as_json else show(facts)


def labelled(path: Path, how: MapOptions) -> Evidence:
    """The scores of a file, sorted out by the labels that a map is learned from."""
    table = read_any(path, how.label, how.column)
    if table.labels is None:
        raise TableError(
            f"{path} has no column {how.label!r} of labels to learn from. Name it with --label, or apply a map that "
            "was saved by --using."
        )
    return evidence_of(table, how.positive)


def note_reversal(weights: dict[str, float]) -> None:
    """Say of which systems the target scores lower than the rest: their map turns them round."""
    turned = [name for name, weight in weights.items() if weight < 0]
    if turned:
        note(
            f"The scores of {listing(turned)} rank the other way round, lower for the target, and were turned: perhaps "
            "they are of the other class, to be named by --positive."
        )


def learned(untrained: Any, scores: Floats, evidence: Evidence, folds: int) -> Learned:
    """A map to keep, and scores to judge."""
    turned = evidence.is_binary and evidence.target != evidence.classes[1]
    truth: Any = evidence.labels == evidence.target if turned else evidence.labels
    return Learned(untrained.fit(scores, truth), kfold_calibrate(untrained, scores, truth, folds))


def keep(trained: Any, path: Path, verb: str, evidence: Evidence, label: str) -> None:
    """Save a map with what it is of."""
    from likely.persistence import save

    about = {
        "made_by": f"likely {verb}",
        "target": label,
        "positive": evidence.target,
        "columns": list(evidence.names),
    }
    with writing(path):
        save(trained, path, about=about)


def loaded(path: Path, verb: str) -> tuple[Any, dict[str, Any]]:
    """A saved map and what was kept about it, if it is one for this verb."""
    from likely.persistence import load, read_about

    found = load(path)
    kind = type(found).__name__
    if _VERBS.get(kind) != verb:
        remedy = f"Use likely {_VERBS[kind]} --using." if kind in _VERBS else "Use likely score."
        raise ModelFileError(f"{str(path)!r} is of kind {kind}, which is no map to {verb} with. {remedy}")
    return found, read_about(path)["about"] or {}


def oriented(transform: Any, about: dict[str, Any], classes: Any) -> Any:
    """A kept map as a function of the target's scores; one that compare made is of the second class's."""
    named = about.get("positive")
    turned = "system" in about and named is not None and str(named) == str(classes[0])
    return (lambda scores: -transform(-scores)) if turned else transform


def cllrs(evidence: Evidence, columns: dict[str, Floats]) -> list[dict[str, Any]]:
    """Cllr of each column of scores of two classes, and what the best monotone map leaves of it."""
    trials = {
        name: evaluation.Trials(evidence.labels, column, pos_label=evidence.target) for name, column in columns.items()
    }
    return [{"name": name, "cllr": each.cllr(), "min_cllr": each.min_cllr()} for name, each in trials.items()]


def written(table: Scores, label: str, names: Sequence[str], scores: Floats) -> dict[str, Any]:
    """The columns to write: labels, if there are any, and scores."""
    labels = {} if table.labels is None else {label: table.labels}
    return labels | dict(zip(names, np.ascontiguousarray(scores.reshape(len(scores), -1).T), strict=True))


def judgeable(table: Scores, positive: Any) -> Evidence | None:
    """The evidence in a table whose labels are of two classes or more, if it has labels."""
    if table.labels is None or len(np.unique(table.labels)) < 2:
        return None
    return evidence_of(table, None if positive is None else str(positive))
