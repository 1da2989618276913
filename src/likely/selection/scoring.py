"""Scores of all candidates: computed in batches that share work, each kept in the run store."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.resampling.chains import fingerprint, is_isolated, is_mappable, steps_of
from likely.resampling.kfold import HeldOut
from likely.selection.candidates import Candidate, digest, make_outside_candidates, score_shapes
from likely.selection.rows import RowSet, ScoringProtocol, score_new_rows
from likely.selection.store import MemoryStore, Piece


@dataclass(frozen=True)
class Progress:
    """Progress of a comparison: candidates done (with fractions), their total, and which are being computed."""

    done: float
    total: int
    name: str


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Candidates with their scores of the rows compared on and of the evaluation rows.

    A candidate that lacks either has failed.
    """

    candidates: dict[str, Candidate]
    scores: dict[str, Floats]
    evaluation: dict[str, Floats]
    failures: dict[str, str]
    notes: list[str]
    batches: list[dict[str, Any]]
    """Families of each batch and the seconds it took, in this run or an earlier one."""


def score_candidates(
    candidates: list[Candidate],
    rows: RowSet,
    protocol: ScoringProtocol,
    trial: tuple[RowSet, Mapping[str, Any]] | None,
    store: MemoryStore,
    progress: Callable[[Progress], None] | None,
) -> CandidateScores:
    """Score all candidates batch by batch; outside systems keep the scores they came with."""
    n_classes, batches = len(np.unique(rows.y)), make_batches(candidates)
    outside = {each.name: each.scores for each in candidates if each.scores is not None}
    steps: list[Any] = [(batch, protocol.scores, "scores", len(protocol.judged.y)) for batch in batches]
    evaluation: dict[str, Floats] = {}
    if trial is not None:
        there = make_outside_candidates(trial[1], len(trial[0].y), n_classes)
        evaluation = {each.name: each.scores for each in there if each.scores is not None}
        steps += [(batch, partial(_score_trial, rows, trial[0]), "evaluation", len(trial[0].y)) for batch in batches]
    outcomes: dict[str, list[Outcome]] = {"scores": [], "evaluation": []}
    log: list[dict[str, Any]] = []
    done, total = 0, sum(len(step[0].candidates) for step in steps)
    for batch, score, room, n in steps:
        tell = partial(_report_progress, progress, done, total, batch)
        tell(0.0)
        suffix = "" if trial is None or room == "scores" else trial[0].fingerprint
        outcomes[room].append(run_batch(batch, partial(score, tell=tell), n, n_classes, store, room, suffix))
        done += len(batch.candidates)
        log.append({"of": batch.name, "candidates": len(batch.candidates), "seconds": outcomes[room][-1].seconds})
    if progress is not None:
        progress(Progress(done, total, "judging"))
    return _collect(candidates, outside, evaluation, outcomes, log)


def _score_trial(rows: RowSet, there: RowSet, models: dict[int, Any], encoded: bool, tell: Any) -> HeldOut:
    """Score the evaluation rows by models trained on all rows."""
    return score_new_rows(models, rows, there, encoded)


def _collect(
    candidates: list[Candidate],
    outside: dict[str, Floats],
    evaluation: dict[str, Floats],
    outcomes: dict[str, list[Outcome]],
    log: list[dict[str, Any]],
) -> CandidateScores:
    every = [*outcomes["scores"], *outcomes["evaluation"]]
    failures = {name: reason for outcome in every for name, reason in outcome.failures.items()}
    scores = outside | {name: part for outcome in outcomes["scores"] for name, part in outcome.scores.items()}
    there = evaluation | {name: part for outcome in outcomes["evaluation"] for name, part in outcome.scores.items()}
    notes = list(dict.fromkeys(note for outcome in every for note in outcome.notes))
    names = {candidate.name: candidate for candidate in candidates if candidate.name not in failures}
    kept = {name: scores[name] for name in names}
    return CandidateScores(names, kept, there, failures, notes, log)


def _report_progress(
    progress: Callable[[Progress], None] | None, done: int, total: int, batch: Batch, share: float
) -> None:
    """Report that a share of a batch is done."""
    if progress is not None:
        progress(Progress(done + share * len(batch.candidates), total, batch.name))


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates that are scored together: the unit that is stored, so a resumed run repeats the same work."""

    candidates: list[Candidate]

    @property
    def key(self) -> str:
        return digest(json.dumps(sorted(candidate.key for candidate in self.candidates)))

    @property
    def name(self) -> str:
        """The families in it, for progress messages."""
        families = sorted({candidate.family for candidate in self.candidates})
        return ", ".join(families)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of candidates by name, the reasons why some have none, and the warnings."""

    scores: dict[str, Floats]
    failures: dict[str, str]
    notes: list[str]
    seconds: float


def make_batches(candidates: list[Candidate]) -> list[Batch]:
    """Group chains that learn from moments; others by family and first steps; third-party ones stay alone."""
    groups: dict[Hashable, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.estimator is not None:
            groups.setdefault(_group(candidate), []).append(candidate)
    return [Batch(members) for members in groups.values()]


def _group(candidate: Candidate) -> Hashable:
    steps = steps_of(candidate.estimator)
    if is_mappable(steps):
        return f"sums {candidate.encoded}"
    if not is_isolated(candidate.estimator):
        return candidate.key
    return candidate.family, candidate.encoded, *map(fingerprint, steps[:-1])


def run_batch(
    batch: Batch,
    score: Callable[[dict[int, Any], bool], HeldOut],
    n: int,
    n_classes: int,
    store: MemoryStore,
    room: str,
    of: str = "",
) -> Outcome:
    """Read a batch from the store, or compute and store it.

    Parameters
    ----------
    score : function
        Called with models by number and whether they learn from encoded columns; returns scores of n rows.
    room, of : str
        The part of the store, and the fingerprint of the rows if there may be several.
    """
    key = batch.key + of
    piece = store.get(room, key)
    if piece is None or not _is_of(piece, batch, n):
        piece = _compute(batch, score, n, n_classes)
        if not piece.about["passing"]:
            store.put(room, key, piece)
    failed, keys = piece.about["failures"], {each.name: each.key for each in batch.candidates}
    scores = {name: piece.arrays[key] for name, key in keys.items() if key in piece.arrays}
    failures = {name: failed[key] for name, key in keys.items() if key in failed}
    return Outcome(scores, failures, piece.about["notes"], piece.about["seconds"])


def _is_of(piece: Piece, batch: Batch, n: int) -> bool:
    """Whether a piece holds every candidate and the right number of rows."""
    known = {*piece.arrays, *piece.about.get("failures", {})}
    return known >= {each.key for each in batch.candidates} and all(len(part) == n for part in piece.arrays.values())


def _compute(batch: Batch, score: Callable[[dict[int, Any], bool], HeldOut], n: int, n_classes: int) -> Piece:
    start = time.perf_counter()
    models = {i: candidate.estimator for i, candidate in enumerate(batch.candidates)}
    with record_warnings() as notes:
        found = HeldOut.attempted(models, score, models, batch.candidates[0].encoded)
    arrays, failures = {}, {}
    for i, candidate in enumerate(batch.candidates):
        reason = (
            describe_error(found.failures[i]) if i in found.failures else _find_fault(found.scores[i], n, n_classes)
        )
        if reason is None:
            arrays[candidate.key] = found.scores[i]
        else:
            failures[candidate.key] = reason
    # Lack of memory or disk may be temporary: such a batch is not stored, so it is tried again.
    passing = any(isinstance(error, (MemoryError, OSError)) for error in found.failures.values())
    seconds = time.perf_counter() - start
    return Piece(arrays, {"failures": failures, "notes": notes, "seconds": seconds, "passing": passing})


@contextmanager
def record_warnings() -> Iterator[list[str]]:
    """Record warnings in a list that is filled at the end, sorted since threads warn in any order."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += sorted({str(warning.message) for warning in caught})


def describe_error(error: Exception) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _find_fault(scores: Floats, n: int, n_classes: int) -> str | None:
    """Describe what is wrong with a model's scores; None if nothing is."""
    shapes = score_shapes(n, n_classes)
    if scores.shape not in shapes:
        return f"Its scores have shape {scores.shape} where {' or '.join(map(str, shapes))} is needed."
    if np.isnan(scores).any():
        return f"Its score of row {int(np.isnan(scores).reshape(n, -1).any(axis=1).argmax())} is NaN."
    return None
