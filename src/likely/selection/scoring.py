"""Scores of all candidates, from the store or from work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.resampling.held_out import HeldOut, Rows, chain_of, held_out_scores
from likely.selection.batches import Batch, Outcome, batches_of, run_batch
from likely.selection.candidates import Candidate, outside_systems
from likely.selection.data import RowSet
from likely.selection.protocols import Protocol
from likely.selection.store import MemoryStore

__all__ = ["Progress", "Scored", "scored"]


@dataclass(frozen=True)
class Progress:
    """How far a comparison has come: candidates done, parts of them counted, of how many, and which are at work."""

    done: float
    total: int
    name: str


@dataclass(frozen=True, eq=False)
class Scored:
    """Candidates with their scores of the rows compared on, and of the evaluation rows.

    A candidate without scores of the one or the other has failed.
    """

    candidates: dict[str, Candidate]
    scores: dict[str, Floats]
    evaluation: dict[str, Floats]
    failures: dict[str, str]
    notes: list[str]
    batches: list[dict[str, Any]]
    """What each batch was of, and the seconds it took, in this run or an earlier one."""


def scored(
    candidates: list[Candidate],
    rows: RowSet,
    protocol: Protocol,
    trial: tuple[RowSet, Mapping[str, Any]] | None,
    store: MemoryStore,
    progress: Callable[[Progress], None] | None,
) -> Scored:
    """Scores of all candidates: those of outside systems as they are, all others batch by batch."""
    n_classes, batches = len(np.unique(rows.y)), batches_of(candidates)
    outside = {each.name: each.scores for each in candidates if each.scores is not None}
    steps: list[Any] = [(batch, protocol.scores, "scores", len(protocol.judged.y)) for batch in batches]
    evaluation: dict[str, Floats] = {}
    if trial is not None:
        there = outside_systems(trial[1], len(trial[0].y), n_classes)
        evaluation = {each.name: each.scores for each in there if each.scores is not None}
        steps += [(batch, partial(_of_trial, rows, trial[0]), "evaluation", len(trial[0].y)) for batch in batches]
    outcomes: dict[str, list[Outcome]] = {"scores": [], "evaluation": []}
    log: list[dict[str, Any]] = []
    done, total = 0, sum(len(step[0].candidates) for step in steps)
    for batch, score, room, n in steps:
        tell = partial(_tell, progress, done, total, batch)
        tell(0.0)
        suffix = "" if trial is None or room == "scores" else trial[0].fingerprint
        outcomes[room].append(run_batch(batch, partial(score, tell=tell), n, n_classes, store, room, suffix))
        done += len(batch.candidates)
        log.append({"of": batch.name, "candidates": len(batch.candidates), "seconds": outcomes[room][-1].seconds})
    if progress is not None:
        progress(Progress(done, total, "judging"))
    return _gathered(candidates, outside, evaluation, outcomes, log)


def _of_trial(rows: RowSet, there: RowSet, models: dict[int, Any], encoded: bool, tell: Any) -> HeldOut:
    """Scores of the evaluation rows by models trained on everything."""
    parts = Rows(rows.rows_for(encoded), rows.y, rows.weight, there.rows_for(encoded))
    return held_out_scores({i: chain_of(model) for i, model in models.items()}, parts)


def _gathered(
    candidates: list[Candidate],
    outside: dict[str, Floats],
    evaluation: dict[str, Floats],
    outcomes: dict[str, list[Outcome]],
    log: list[dict[str, Any]],
) -> Scored:
    every = [*outcomes["scores"], *outcomes["evaluation"]]
    failures = {name: reason for outcome in every for name, reason in outcome.failures.items()}
    scores = outside | {name: part for outcome in outcomes["scores"] for name, part in outcome.scores.items()}
    there = evaluation | {name: part for outcome in outcomes["evaluation"] for name, part in outcome.scores.items()}
    notes = list(dict.fromkeys(note for outcome in every for note in outcome.notes))
    names = {candidate.name: candidate for candidate in candidates if candidate.name not in failures}
    kept = {name: scores[name] for name in names}
    return Scored(names, kept, there, failures, notes, log)


def _tell(progress: Callable[[Progress], None] | None, done: int, total: int, batch: Batch, share: float) -> None:
    """How far it is with a share of a batch."""
    if progress is not None:
        progress(Progress(done + share * len(batch.candidates), total, batch.name))
