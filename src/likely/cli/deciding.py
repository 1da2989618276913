"""Score files as evidence to decide by, with labels or without."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likely._numerics import difference
from likely.cli.applications import target_of
from likely.cli.modelling import RowEvidence
from likely.cli.scorefiles import Scores, evidence_of, read_any
from likely.cli.words import listing
from likely.exceptions import TableError
from likely.tables.files import existing, read_header

__all__ = ["read_evidence"]


def read_evidence(path: Path, label: str, columns: Sequence[str] | None, positive: str | None) -> RowEvidence:
    """One system's evidence, of two classes or more."""
    header = read_header(existing(path))
    if not columns and "llr" in header:
        columns = ["llr"]
    table = read_any(path, label, columns)
    if table.labels is not None and len(np.unique(table.labels)) > 1:
        evidence = evidence_of(table, positive)
        if evidence.is_binary:
            _check_one(evidence.names)
            return RowEvidence(evidence.classes, evidence.target, evidence.scores[:, 0], table.labels)
        return RowEvidence(evidence.classes, None, evidence.scores, table.labels)
    return _without_truth(table, positive)


def _without_truth(table: Scores, positive: str | None) -> RowEvidence:
    """Evidence whose classes only its columns name, or nobody."""
    if len(table.names) == 1:
        target = "target" if positive is None else positive
        other = "nontarget" if positive is None else f"not {positive}"
        return RowEvidence([other, target], target, table.scores[:, 0], table.labels)
    whole = all(name.isdecimal() for name in table.names)
    classes: list[Any] = [int(name) for name in table.names] if whole else list(table.names)
    if len(classes) > 2:
        return RowEvidence(classes, None, table.scores, table.labels)
    target = target_of(positive, classes)
    at = classes.index(target)
    return RowEvidence(classes, target, difference(table.scores[:, at], table.scores[:, 1 - at]), table.labels)


def _check_one(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise TableError(f"Decisions are by one system's scores, but there are {listing(names)}. Choose by --column.")
