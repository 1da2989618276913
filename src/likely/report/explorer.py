"""Data of the decision explorer: exact counts for two classes, a sample of rows for more.

Two classes are decided by a threshold on the llr or, with a reject cost, by two thresholds. The sliders have few
positions, so counts at few thresholds suffice. Their text is short, whatever the number of rows.
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
"""Default positions of the sliders. The priors and costs of the given applications are added to them."""

RESOLUTION, ROUNDING = 1e-9, 5e-13
"""Thresholds that differ by less than RESOLUTION are merged. An llr that differs from a threshold by less than ROUNDING
counts as equal to it."""

MAX_SAMPLED, MAX_VALUES, MAX_DEPTH = 2000, 60_000, 100.0
"""Maximum number of rows in a sample, maximum number of scores in a page, and maximum difference between a
log-likelihood and the highest log-likelihood of the same row. Larger differences are clipped."""


@dataclass(frozen=True)
class Controls:
    """Positions of the sliders of the explorer for two classes.

    Attributes
    ----------
    priors, costs, reject_costs : tuple of float
        Positions in ascending order.
    """

    priors: tuple[float, ...] = PRIORS
    costs: tuple[float, ...] = COSTS
    reject_costs: tuple[float, ...] = REJECT_COSTS

    @classmethod
    def for_applications(cls, applications: Iterable[Application]) -> Controls:
        """Return the default positions together with the priors and costs of some applications.

        The second class of each application must be the target.
        """
        priors, costs, rejects = set(PRIORS), set(COSTS), set(REJECT_COSTS)
        for application in applications:
            facts = target_facts(application)
            priors.add(facts["prior"])
            costs.update((facts["cost_fn"], facts["cost_fp"]))
            rejects.update(() if application.reject_cost is None else (float(application.reject_cost),))
        return cls(*(tuple(sorted(each for each in part if each > 0)) for part in (priors, costs, rejects)))

    @cached_property
    def thresholds(self) -> dict[str, Floats]:
        """Thresholds of all slider positions, ascending.

        The target is accepted if the llr is at least ``middle``. With a reject cost, it is refused up to ``low`` and
        accepted from ``high`` on.
        """
        ratios = sorted({(cost_fp / cost_fn, cost_fn, cost_fp) for cost_fn in self.costs for cost_fp in self.costs})
        middle = [llr_threshold((1 - p) * fp, p * fn) for p in self.priors for _, fn, fp in ratios]
        odds = np.array([np.log1p(-prior) - np.log(prior) for prior in self.priors])
        # Rejecting is cheaper than refusing if the posterior exceeds reject_cost / cost_fn; likewise for accepting.
        ratios_of_reject = _merge_close((np.array(self.reject_costs)[:, None] / self.costs).ravel())
        ratios_of_reject = ratios_of_reject[ratios_of_reject < 1]
        logits = np.log(ratios_of_reject) - np.log1p(-ratios_of_reject)
        low, high = (_merge_close((odds[:, None] + offsets).ravel()) for offsets in (logits, -logits))
        return {"middle": np.unique(middle), "low": low, "high": high}

    def to_dict(self) -> dict[str, Any]:
        """Return the positions and the thresholds for the page's script.

        Of each kind of thresholds, the first threshold and the differences between neighbours are given, in units of
        RESOLUTION.
        """
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
        """Count targets and nontargets below each threshold, for the scores and after their best monotone map (PAV).

        A text has three numbers for each threshold at which a count changes: the number of thresholds since the last
        change, and by how much the counts of targets and of nontargets increase, in multiples of ``unit``.
        """
        return {
            "actual": self._count_below(trials.steps, trials.steps.thresholds, trials, unit),
            "minimum": self._count_below(trials.pooled, trials.pooled.llr, trials, unit),
        }

    def _count_below(self, of: Steps | Pooled, llr: Floats, trials: Trials, unit: float) -> dict[str, str]:
        """Return, for each kind of threshold, the counts of targets and nontargets below the thresholds, as text.

        ``llr`` has the ascending llrs of the steps or blocks of ``of``. If rejecting a row costs as much as a decision,
        up to rounding, the row is not rejected.
        """
        middle, low, high = self.thresholds.values()
        found = {
            "middle": np.searchsorted(llr, middle),
            "low": np.searchsorted(llr, low + ROUNDING, side="right"),
            "high": np.searchsorted(llr, high - ROUNDING),
        }
        n = trials.n_nontargets
        return {kind: _encode_changes(of.misses[at], n - of.false_alarms[at], unit) for kind, at in found.items()}


def _merge_close(values: Floats) -> Floats:
    """Return the values in ascending order. Of values that differ by rounding only, keep one."""
    ordered = np.sort(values)
    kept = np.append(True, np.diff(ordered) > RESOLUTION * np.maximum(1e-3, np.abs(ordered[1:])))
    return np.asarray(ordered[kept])


def _encode_changes(targets: Floats, nontargets: Floats, unit: float) -> str:
    below = np.rint(np.column_stack([targets, nontargets]) / unit).astype(np.int64)
    increases = np.diff(below, axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    at = np.flatnonzero(increases.any(axis=1))
    gaps = np.diff(at, prepend=0)
    return encode_numbers(np.column_stack([gaps, increases[at]]).ravel().tolist())


def choose_count_unit(weight: Floats | None) -> float:
    """Return the weight that one unit of a count stands for.

    It is 1 if all weights are integers, and otherwise a very small share of the total weight, because counts are stored
    as integers.
    """
    if weight is None or not np.any(weight % 1):
        return 1.0
    return float(weight.sum() / 1e12)


def _encode_scores(scores: Floats) -> dict[str, Any]:
    """Encode, for each log-likelihood, its difference from the highest log-likelihood of the same row.

    The differences are integers in units of ``resolution``, which is much smaller than most differences.
    """
    with np.errstate(invalid="ignore"):
        depth = np.nan_to_num(scores.max(axis=1, keepdims=True) - scores, nan=0.0, posinf=MAX_DEPTH)
    depth = np.minimum(depth, MAX_DEPTH)
    median = float(np.median(depth[depth > 0])) if depth.any() else 1.0
    resolution = min(1e-3, float(f"{median / 1e4:.0e}"))
    steps = np.rint(depth / resolution).astype(np.int64).ravel()
    return {"scores": encode_numbers(steps.tolist()), "resolution": resolution}


def sample_facts(
    codes: Integers, n_classes: int, weight: Floats | None, systems: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Sample rows of more than two classes for the explorer, with the scores of some systems.

    Half of the rows are drawn in proportion to the classes and half equally from all classes, so that rare classes have
    enough rows. There are fewer rows if the page would hold too many scores. The same rows are drawn each time.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row.
    n_classes : int
    weight : array of shape (n,), or None
    systems : sequence of dict
        Each has an array of ``scores``. It is replaced by the encoded scores of the sample.
    """
    max_rows = max(n_classes, min(MAX_SAMPLED, MAX_VALUES // (n_classes * len(systems))))
    rows, counts = np.arange(len(codes)), np.bincount(codes, minlength=n_classes)
    if len(codes) > max_rows:
        rng = np.random.default_rng(0)
        wanted = counts * max_rows // (2 * len(codes)) + max_rows // (2 * n_classes)
        sizes = np.minimum(counts, np.maximum(1, wanted))
        drawn = [rng.choice(np.flatnonzero(codes == k), sizes[k], replace=False) for k in range(n_classes)]
        rows = np.sort(np.concatenate(drawn))
    weights = None
    if weight is not None:
        weights = encode_numbers(np.rint(weight[rows] / choose_count_unit(weight[rows])).astype(np.int64).tolist())
    return {
        "codes": encode_numbers(codes[rows].tolist()),
        "weights": weights,
        "rows": len(rows),
        "of": int(counts.sum()),
        "class_rows": counts.tolist(),
        "systems": [part | _encode_scores(part["scores"][rows]) for part in systems],
    }


# Integers as short text in base 32, which the script of the page decodes.

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""A number is a sequence of letters. Each letter has five bits of the number, with the lowest bits first. The first 32
letters of the alphabet are used for the last letter of a number, the other 32 for the letters before the last."""


def encode_numbers(numbers: Iterable[int]) -> str:
    """Encode nonnegative integers as text. Integers below 32 take one letter.

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
