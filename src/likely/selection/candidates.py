"""What is compared: estimators, families of them by name, and scores of outside systems."""

from __future__ import annotations

import hashlib
import json
import pickle
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likely._typing import Floats
from likely._validation import check_scores
from likely.exceptions import IncompatiblePartsError, InvalidParameterError
from likely.resampling.chains import steps_of
from likely.resampling.scoring import check_scorer

__all__ = ["Candidate", "described", "digest", "named_candidates", "outside_systems", "score_shapes"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One system to compare: an estimator with its settings, or the scores of an outside system.

    Parameters
    ----------
    name : str
        Unlike all others'.
    estimator : classifier or chain, or None
        Not fitted, and never changed; None for an outside system.
    family : str
        What it is one of: candidates of a family differ by their settings.
    settings : dict
        The settings in which it differs from others of its family, for tables and plots.
    encoded : bool
        Whether it learns from columns as numbers, not from the rows as they were given.
    scores : array, optional
        Those of an outside system.
    """

    name: str
    estimator: Any
    family: str
    settings: dict[str, Any] = field(default_factory=dict)
    encoded: bool = False
    scores: Floats | None = None

    @cached_property
    def key(self) -> str:
        """A short text that is the same for the same settings, in any run."""
        parts = [described(self.estimator), self.encoded, described(self.scores)]
        return digest(json.dumps(parts))


def digest(text: str) -> str:
    """A short fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def described(value: Any) -> Any:
    """A value as plain data that differ where settings do: estimators by class and parameters, arrays by their bytes.

    What has no settings of its own to show is told by what it is pickled as; what cannot be pickled, such as a function
    without a name, is like nothing, not even itself when asked again: what remembers must not take it for another.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        return ["array", str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()]
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        return [type(value).__module__, type(value).__qualname__, {k: described(v) for k, v in sorted(params.items())}]
    if isinstance(value, Mapping):
        return ["mapping", [[described(k), described(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return [type(value).__qualname__, repr(value) if isinstance(value, (float, complex)) else _pickled(value)]


def _pickled(value: Any) -> str:
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # noqa: BLE001  anybody's object may refuse in any way
        return secrets.token_hex(16)  # not its id, which is another's once it is gone


def named_candidates(given: Any) -> list[Candidate]:
    """Candidates of the user's own: a classifier, several, or several by name."""
    if hasattr(given, "fit"):
        given = [given]
    if not isinstance(given, Iterable) or not (entries := list(given.items() if isinstance(given, Mapping) else given)):
        raise InvalidParameterError(
            "candidates must be a classifier, a list of classifiers or of (name, classifier), a mapping {name: "
            f"classifier}}, or names of families, but is {given!r}."
        )
    made = [_candidate(entry) for entry in entries]
    return _with_own_names(made)


def _candidate(entry: Any) -> Candidate:
    if isinstance(entry, Candidate):
        return entry
    name, estimator = entry if isinstance(entry, tuple) and len(entry) == 2 else (None, entry)
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise IncompatiblePartsError(
            f"A candidate must be a classifier with fit, or a (name, classifier), but one is {estimator!r}."
        )
    check_scorer(estimator, weighted=False)
    steps = steps_of(estimator)
    return Candidate(_said(steps) if name is None else str(name), estimator, type(steps[-1]).__name__)


def _said(steps: list[Any]) -> str:
    """A chain in a few words, as Python would write it."""
    return " → ".join(" ".join(str(step).split()) for step in steps)[:200]


def _with_own_names(candidates: list[Candidate]) -> list[Candidate]:
    """The same, numbered where a name comes twice."""
    times = Counter(candidate.name for candidate in candidates)
    count: Counter[str] = Counter()
    named = []
    for candidate in candidates:
        count[candidate.name] += 1
        numbered = f"{candidate.name} ({count[candidate.name]})"
        named.append(replace(candidate, name=numbered) if times[candidate.name] > 1 else candidate)
    return named


def score_shapes(n: int, n_classes: int) -> list[tuple[int, ...]]:
    """The shapes that scores of so many rows may have."""
    return [(n,), (n, 2)] if n_classes == 2 else [(n, n_classes)]


def outside_systems(scores: Mapping[str, Any] | None, n: int, n_classes: int) -> list[Candidate]:
    """Candidates made of scores of the very rows that are compared on."""
    systems = []
    for name, values in (scores or {}).items():
        column = check_scores(f"The outside system {name!r}", values)
        shapes = score_shapes(n, n_classes)
        if column.shape not in shapes:
            raise IncompatiblePartsError(
                f"Scores of the outside system {name!r} must have shape {' or '.join(map(str, shapes))}, one for each "
                f"row, but have {column.shape}."
            )
        systems.append(Candidate(str(name), None, "outside", scores=column))
    return systems
