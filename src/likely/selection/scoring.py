"""Scores of all candidates. They are computed in batches that share work, and each batch is kept in the run store."""

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
from likely.exceptions import LikelyError
from likely.resampling.chains import fingerprint, is_isolated, is_mappable, steps_of
from likely.resampling.kfold import HeldOut
from likely.selection.candidates import Candidate, digest, score_shapes
from likely.selection.rows import RowSet, ScoringProtocol, score_new_rows
from likely.selection.store import Piece, RunStore

Batch = list[Candidate]
"""Candidates that are scored and stored together. A resumed run computes the same batches, so it gives equal scores."""


@dataclass(frozen=True)
class Progress:
    """Progress of a comparison: how many candidates are done, how many there are, and what is computed now.

    The number done includes the finished fraction of the current batch.
    """

    done: float
    total: int
    name: str


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Candidates, and their scores of the compared rows and of the evaluation rows.

    A candidate without one of these scores is in ``failures``. ``batches`` holds the families of each batch and the
    seconds that its computation took.
    """

    candidates: dict[str, Candidate]
    scores: dict[str, Floats]
    evaluation: dict[str, Floats]
    failures: dict[str, str]
    notes: list[str]
    batches: list[dict[str, Any]]

    def add(self, which: str, batch: Batch, piece: Piece) -> None:
        """Add the scores, failures and warnings of a batch."""
        found, failed = self.scores if which == "scores" else self.evaluation, piece.about["failures"]
        for candidate in batch:
            if candidate.key in piece.arrays:
                found[candidate.name] = piece.arrays[candidate.key]
            if candidate.key in failed:
                self.failures[candidate.name] = failed[candidate.key]
        self.notes.extend(note for note in piece.about["notes"] if note not in self.notes)
        self.batches.append({"of": _families(batch), "candidates": len(batch), "seconds": piece.about["seconds"]})


def score_candidates(
    candidates: list[Candidate],
    rows: RowSet,
    protocol: ScoringProtocol,
    evaluation_set: tuple[RowSet, Mapping[str, Floats]] | None,
    store: RunStore | None,
    progress: Callable[[Progress], None] | None,
) -> CandidateScores:
    """Score all candidates batch by batch. External systems have scores already."""
    n_classes, batches = len(np.unique(rows.y)), make_batches(candidates)
    outside = {each.name: each.scores for each in candidates if each.scores is not None}
    named = {candidate.name: candidate for candidate in candidates}
    found = CandidateScores(named, outside, {} if evaluation_set is None else dict(evaluation_set[1]), {}, [], [])
    jobs: list[Any] = [("scores", protocol.judged, protocol.scores)]
    if evaluation_set is not None:
        jobs.append(("evaluation", evaluation_set[0], partial(score_new_rows, rows, evaluation_set[0])))
    done, total = 0, len(jobs) * sum(map(len, batches))
    for which, judged, score in jobs:
        suffix = judged.fingerprint if which == "evaluation" and store is not None else ""
        for batch in batches:
            on_progress = partial(_report_progress, progress, done, total, batch)
            on_progress(0.0)
            key = digest(json.dumps(sorted(candidate.key for candidate in batch))) + suffix
            piece = None if store is None else store.get(which, key)
            if piece is None or not _is_complete(piece, batch, len(judged.y)):
                piece = _compute(batch, partial(score, on_progress=on_progress), len(judged.y), n_classes)
                if store is not None and not piece.about["passing"]:
                    store.put(which, key, piece)
            found.add(which, batch, piece)
            done += len(batch)
    if progress is not None:
        progress(Progress(done, total, "judging"))
    return found


def _families(batch: Batch) -> str:
    return ", ".join(sorted({candidate.family for candidate in batch}))


def _report_progress(
    progress: Callable[[Progress], None] | None, done: int, total: int, batch: Batch, fraction: float
) -> None:
    """Call ``progress``, if it is given, with the number of finished candidates.

    This number includes a ``fraction`` of the candidates of the current batch.
    """
    if progress is not None:
        progress(Progress(done + fraction * len(batch), total, _families(batch)))


def make_batches(candidates: list[Candidate]) -> list[Batch]:
    """Group candidates into batches: all pipelines that learn from moments, then the others by family and first steps.

    A third-party candidate is a batch of its own.
    """
    groups: dict[Hashable, Batch] = {}
    for candidate in candidates:
        if candidate.estimator is None:
            continue
        steps = steps_of(candidate.estimator)
        group: Hashable = (candidate.family, candidate.encoded, *map(fingerprint, steps[:-1]))
        if is_mappable(steps):
            group = f"sums {candidate.encoded}"
        elif not is_isolated(candidate.estimator):
            group = candidate.key
        groups.setdefault(group, []).append(candidate)
    return list(groups.values())


def _is_complete(piece: Piece, batch: Batch, n: int) -> bool:
    """Return True if a stored piece has the result of every candidate of a batch, with scores of n rows.

    The result of a candidate is an array of scores, or the reason why it failed.
    """
    known = {*piece.arrays, *piece.about.get("failures", {})}
    return known >= {each.key for each in batch} and all(len(part) == n for part in piece.arrays.values())


def _compute(batch: Batch, score: Callable[[dict[int, Any], bool], HeldOut], n: int, n_classes: int) -> Piece:
    """Score n rows with the models of a batch.

    If a single model fails, its error is recorded in the result. If the whole batch fails with an error of this
    library, or for lack of memory or disk space, the error is recorded for all models of the batch. Any other exception
    is a bug and is raised.
    """
    start = time.perf_counter()
    models = {i: candidate.estimator for i, candidate in enumerate(batch)}
    with record_warnings() as notes:
        try:
            found = score(models, batch[0].encoded)
        except (LikelyError, MemoryError, OSError) as error:
            found = HeldOut(failures=dict.fromkeys(models, error))
    arrays, failures = {}, {}
    for i, candidate in enumerate(batch):
        reason = describe_error(found.failures[i]) if i in found.failures else None
        reason = reason or _find_fault(found.scores[i], n, n_classes)
        if reason is None:
            arrays[candidate.key] = found.scores[i]
        else:
            failures[candidate.key] = reason
    # Lack of memory or disk space may be temporary: such a batch is not stored, so the next run computes it again.
    passing = any(isinstance(error, (MemoryError, OSError)) for error in found.failures.values())
    seconds = time.perf_counter() - start
    return Piece(arrays, {"failures": failures, "notes": notes, "seconds": seconds, "passing": passing})


@contextmanager
def record_warnings() -> Iterator[list[str]]:
    """Record warnings in a list of texts.

    The list is filled when the context ends. It is sorted, since threads warn in any order.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += sorted({str(warning.message) for warning in caught})


def describe_error(error: Exception) -> str:
    """Return the message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _find_fault(scores: Floats, n: int, n_classes: int) -> str | None:
    """Describe what is wrong with a model's scores. Return None if nothing is wrong."""
    shapes = score_shapes(n, n_classes)
    if scores.shape not in shapes:
        return f"Its scores must have shape {' or '.join(map(str, shapes))}, but have {scores.shape}."
    if np.isnan(scores).any():
        return f"Its score of row {int(np.isnan(scores).reshape(n, -1).any(axis=1).argmax())} is NaN."
    return None
