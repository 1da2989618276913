"""Data of the decision explorer: exact counts at every threshold its sliders can reach, or a sample of more classes.

Two classes are decided by a threshold on the llr, or by two with a reject cost. The sliders have few positions, so the
counts at few thresholds suffice: any number of rows becomes a short text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likely._typing import Floats, Integers
from likely.calibration.pav import Pooled
from likely.calibration.steps import Steps
from likely.decisions import Application, llr_threshold
from likely.evaluation import Trials
from likely.report.facts import target_facts

_UP_TO_HALF = (0.001, 0.002, 0.005, *(k / 100 for k in range(1, 10)), *(k / 20 for k in range(2, 10)))
PRIORS = (*_UP_TO_HALF, 0.5, *(round(1 - prior, 3) for prior in reversed(_UP_TO_HALF)))
COSTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
REJECT_COSTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, *COSTS[:-1])
"""Positions of the sliders, besides those of the given applications."""

RESOLUTION, ROUNDING = 1e-9, 5e-13
"""Thresholds nearer to each other than the first are one; llrs nearer to a threshold than the second lie on it."""

MOST_SAMPLED, MOST_VALUES, DEEPEST = 2000, 60_000, 100.0
"""Rows of a sample; scores in all samples of a page; and what a log-likelihood below the row's highest is cut at."""


@dataclass(frozen=True)
class Controls:
    """Positions of the sliders of two classes' explorer.

    Attributes
    ----------
    priors, costs, reject_costs : tuple of float
        Ascending.
    """

    priors: tuple[float, ...] = PRIORS
    costs: tuple[float, ...] = COSTS
    reject_costs: tuple[float, ...] = REJECT_COSTS

    @classmethod
    def around(cls, applications: Iterable[Application]) -> Controls:
        """The usual positions, and those of some applications, whose second class is the target."""
        priors, costs, rejects = set(PRIORS), set(COSTS), set(REJECT_COSTS)
        for application in applications:
            facts = target_facts(application)
            priors.add(facts["prior"])
            costs.update((facts["cost_fn"], facts["cost_fp"]))
            rejects.update(() if application.reject_cost is None else (float(application.reject_cost),))
        return cls(*(tuple(sorted(each for each in part if each > 0)) for part in (priors, costs, rejects)))

    @cached_property
    def thresholds(self) -> dict[str, Floats]:
        """Every llr that some position of the sliders decides by, ascending.

        ``middle``: from it on the target is decided; with a reject cost, up to ``low`` it is refused, and from
        ``high`` on decided.
        """
        ratios = sorted({(cost_fp / cost_fn, cost_fn, cost_fp) for cost_fn in self.costs for cost_fp in self.costs})
        middle = [llr_threshold((1 - p) * fp, p * fn) for p in self.priors for _, fn, fp in ratios]
        odds = np.array([np.log1p(-prior) - np.log(prior) for prior in self.priors])
        shares = _distinct((np.array(self.reject_costs)[:, None] / self.costs).ravel())
        shares = shares[shares < 1]
        rejecting = np.log(shares) - np.log1p(-shares)
        low, high = (_distinct((odds[:, None] + offsets).ravel()) for offsets in (rejecting, -rejecting))
        return {"middle": np.unique(middle), "low": low, "high": high}

    def to_dict(self) -> dict[str, Any]:
        """As the page's script reads it: thresholds as differences in units of the resolution."""
        units = {kind: np.rint(values / RESOLUTION).astype(np.int64) for kind, values in self.thresholds.items()}
        return {
            "priors": list(self.priors),
            "costs": list(self.costs),
            "reject_costs": list(self.reject_costs),
            "thresholds": {
                kind: {"first": int(part[0]), "steps": encode_numbers(np.diff(part).tolist())}
                for kind, part in units.items()
            },
            "resolution": RESOLUTION,
        }

    def counts(self, trials: Trials, unit: float) -> dict[str, dict[str, str]]:
        """Targets and nontargets below each threshold: by the scores as they are, and by the best monotone map of them.

        A text holds a triple for each threshold at which a count changes: how many thresholds further it is, and what
        comes to the targets and to the nontargets, in units of weight.
        """
        return {
            "actual": self._below(trials.steps, trials.steps.thresholds, trials, unit),
            "minimum": self._below(trials.pooled, trials.pooled.llr, trials, unit),
        }

    def _below(self, of: Steps | Pooled, llr: Floats, trials: Trials, unit: float) -> dict[str, str]:
        """Where rejecting costs no less than deciding, up to rounding, a row is decided: so it is by applications."""
        middle, low, high = self.thresholds.values()
        found = {
            "middle": np.searchsorted(llr, middle),
            "low": np.searchsorted(llr, low + ROUNDING, side="right"),
            "high": np.searchsorted(llr, high - ROUNDING),
        }
        n = trials.n_nontargets
        return {kind: _changes(of.misses[at], n - of.false_alarms[at], unit) for kind, at in found.items()}


def _distinct(values: Floats) -> Floats:
    """Sort values and drop those that differ by rounding alone."""
    ordered = np.sort(values)
    kept = np.append(True, np.diff(ordered) > RESOLUTION * np.maximum(1e-3, np.abs(ordered[1:])))
    return np.asarray(ordered[kept])


def _changes(targets: Floats, nontargets: Floats, unit: float) -> str:
    below = np.rint(np.column_stack([targets, nontargets]) / unit).astype(np.int64)
    rises = np.diff(below, axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    at = np.flatnonzero(rises.any(axis=1))
    gaps = np.diff(at, prepend=0)
    return encode_numbers(np.column_stack([gaps, rises[at]]).ravel().tolist())


def unit_of(weight: Floats | None) -> float:
    """What one count stands for: 1, or a small part of the whole where weights are no whole numbers."""
    if weight is None or not np.any(weight % 1):
        return 1.0
    return float(weight.sum() / 1e12)


def _encode_scores(scores: Floats) -> dict[str, Any]:
    """How far below the highest of their row log-likelihoods lie, in units that are small beside most of them."""
    with np.errstate(invalid="ignore"):
        depth = np.nan_to_num(scores.max(axis=1, keepdims=True) - scores, nan=0.0, posinf=DEEPEST)
    depth = np.minimum(depth, DEEPEST)
    usual = float(np.median(depth[depth > 0])) if depth.any() else 1.0
    resolution = min(1e-3, float(f"{usual / 1e4:.0e}"))
    steps = np.rint(depth / resolution).astype(np.int64).ravel()
    return {"scores": encode_numbers(steps.tolist()), "resolution": resolution}


def sample_facts(
    codes: Integers, n_classes: int, weight: Floats | None, systems: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Some rows of more than two classes, on which the explorer decides, with the scores of some systems.

    Half of the rows are drawn by the share of their class and half of them alike, so that no class is known by few
    rows. Their number keeps all scores of all systems few. The same rows are drawn each time.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row.
    n_classes : int
    weight : array of shape (n,), or None
    systems : sequence of dict
        With an array of ``scores``, which a short text of those of the sample replaces.
    """
    most = max(n_classes, min(MOST_SAMPLED, MOST_VALUES // (n_classes * len(systems))))
    rows, counts = np.arange(len(codes)), np.bincount(codes, minlength=n_classes)
    if len(codes) > most:
        rng = np.random.default_rng(0)
        shares = np.minimum(counts, np.maximum(1, counts * most // (2 * len(codes)) + most // (2 * n_classes)))
        drawn = [rng.choice(np.flatnonzero(codes == k), shares[k], replace=False) for k in range(n_classes)]
        rows = np.sort(np.concatenate(drawn))
    weights = None
    if weight is not None:
        weights = encode_numbers(np.rint(weight[rows] / unit_of(weight[rows])).astype(np.int64).tolist())
    return {
        "codes": encode_numbers(codes[rows].tolist()),
        "weights": weights,
        "rows": len(rows),
        "of": int(counts.sum()),
        "class_rows": counts.tolist(),
        "systems": [part | _encode_scores(part["scores"][rows]) for part in systems],
    }


# Whole numbers as short text: base 32, five bits to a letter, as the script of the page reads them.

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""The first 32 end a number; each of the others is followed by the next five bits."""


def encode_numbers(numbers: Iterable[int]) -> str:
    """Encode integers >= 0; those below 32 take one letter.

    Examples
    --------
    >>> encode_numbers([0, 31, 32, 1000])
    'AfgBof'
    >>> decode_numbers("AfgBof")
    [0, 31, 32, 1000]
    """
    letters = []
    for number in numbers:
        while number > 31:
            letters.append(_LETTERS[32 + (number & 31)])
            number >>= 5
        letters.append(_LETTERS[number])
    return "".join(letters)


def decode_numbers(text: str) -> list[int]:
    """Decode the text of :func:`encode_numbers`."""
    numbers, number, shift = [], 0, 0
    for letter in text:
        value = _LETTERS.index(letter)
        number |= (value & 31) << shift
        shift += 5
        if value < 32:
            numbers.append(number)
            number, shift = 0, 0
    return numbers
