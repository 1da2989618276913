"""Candidates in batches that share work, each computed once and kept in the run store."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.resampling.chains import fingerprint, is_mappable, steps_of
from likely.resampling.held_out import HeldOut, is_of_this_house
from likely.selection.candidates import Candidate, digest, score_shapes
from likely.selection.store import MemoryStore, Piece

__all__ = ["Batch", "Outcome", "batches_of", "overheard", "reason_of", "run_batch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates that are scored together: the unit that is kept, so that a run that goes on repeats the same work."""

    candidates: list[Candidate]

    @property
    def key(self) -> str:
        return digest(json.dumps(sorted(candidate.key for candidate in self.candidates)))

    @property
    def name(self) -> str:
        """What it is about, for those who wait."""
        families = sorted({candidate.family for candidate in self.candidates})
        return ", ".join(families)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of candidates by name, why some have none, and what was said on the way."""

    scores: dict[str, Floats]
    failures: dict[str, str]
    notes: list[str]
    seconds: float


def batches_of(candidates: list[Candidate]) -> list[Batch]:
    """Chains that learn from moments together, others with their family where they begin alike, foreign ones alone."""
    groups: dict[Hashable, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.estimator is not None:
            groups.setdefault(_group(candidate), []).append(candidate)
    return [Batch(members) for members in groups.values()]


def _group(candidate: Candidate) -> Hashable:
    steps = steps_of(candidate.estimator)
    if is_mappable(steps):
        return f"sums {candidate.encoded}"
    if not is_of_this_house(candidate.estimator):
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
    """What is there of a batch, or else what comes of it now, kept for the next time.

    Parameters
    ----------
    score : function
        Of models by number, and whether they learn from columns as numbers; gives scores of n rows.
    room, of : str
        Where the piece is kept, and of which rows it is, if there may be several.
    """
    key = batch.key + of
    piece = store.get(room, key)
    if piece is None or not _is_of(piece, batch, n):
        piece = _computed(batch, score, n, n_classes)
        if not piece.about["passing"]:
            store.put(room, key, piece)
    failed, keys = piece.about["failures"], {each.name: each.key for each in batch.candidates}
    scores = {name: piece.arrays[key] for name, key in keys.items() if key in piece.arrays}
    failures = {name: failed[key] for name, key in keys.items() if key in failed}
    return Outcome(scores, failures, piece.about["notes"], piece.about["seconds"])


def _is_of(piece: Piece, batch: Batch, n: int) -> bool:
    """Whether a piece speaks of every candidate, and of as many rows."""
    known = {*piece.arrays, *piece.about.get("failures", {})}
    return known >= {each.key for each in batch.candidates} and all(len(part) == n for part in piece.arrays.values())


def _computed(batch: Batch, score: Callable[[dict[int, Any], bool], HeldOut], n: int, n_classes: int) -> Piece:
    start = time.perf_counter()
    models = {i: candidate.estimator for i, candidate in enumerate(batch.candidates)}
    with overheard() as notes:
        found = HeldOut.attempted(models, score, models, batch.candidates[0].encoded)
    arrays, failures = {}, {}
    for i, candidate in enumerate(batch.candidates):
        reason = reason_of(found.failures[i]) if i in found.failures else _fault(found.scores[i], n, n_classes)
        if reason is None:
            arrays[candidate.key] = found.scores[i]
        else:
            failures[candidate.key] = reason
    # What the machine refused today it may grant tomorrow: such a batch is tried again.
    passing = any(isinstance(error, (MemoryError, OSError)) for error in found.failures.values())
    seconds = time.perf_counter() - start
    return Piece(arrays, {"failures": failures, "notes": notes, "seconds": seconds, "passing": passing})


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Warnings as a list that is there at the end, sorted: from threads they come in any order."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += sorted({str(warning.message) for warning in caught})


def reason_of(error: Exception) -> str:
    """What an error says, in one line."""
    said = " ".join(str(error).split())
    return said or type(error).__name__


def _fault(scores: Floats, n: int, n_classes: int) -> str | None:
    """What is wrong with scores that a model gave, or None."""
    shapes = score_shapes(n, n_classes)
    if scores.shape not in shapes:
        return f"Its scores have shape {scores.shape} where {' or '.join(map(str, shapes))} is needed."
    if np.isnan(scores).any():
        return f"Its score of row {int(np.isnan(scores).reshape(n, -1).any(axis=1).argmax())} is NaN."
    return None
