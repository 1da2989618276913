"""Findings about the rows that were judged: how many of each class there are, and how frequent it is among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely._formatting import format_percent
from likely._numerics import log
from likely._typing import Floats
from likely.report.findings.looked import Finding, Looked, cost_at, labels_of

__all__ = ["prior_mismatch", "tiny_class"]

FACTOR = 2.0
"""Odds that differ by less than this change accuracies little: half to two thirds, say."""

FEW, VERY_FEW = 30, 10
"""Rows, or groups, of a class below which its error rate is known to ten points or so at best, or hardly at all."""

QUANTILE = 1.96
"""Standard errors on either side that make 95 %."""


def prior_mismatch(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """Classes are more or less frequent among the rows than where the decisions will be made."""
    weights = np.bincount(looked.codes, looked.weights, minlength=len(facts["classes"]))
    frequencies = weights / weights.sum()
    gaps = [_gap(frequencies, application.priors) for application in looked.applications]
    concerned = [i for i, gap in enumerate(gaps) if np.abs(gap).max() > np.log(FACTOR) + 1e-9]
    if not concerned:
        return None
    i = max(concerned, key=lambda at: float(np.abs(gaps[at]).max()))
    k = int(np.abs(gaps[i]).argmax())
    more = f" So it is at {len(concerned)} of {len(gaps)} applications." if len(gaps) > 1 else ""
    said = (
        f"{format_percent(frequencies[k], 2)} of the rows are {labels_of(facts)[k]}, but its "
        f"prior{cost_at(facts, i)} is "
        f"{format_percent(looked.applications[i].priors[k], 2)}, so accuracy on these rows is not what the "
        "application will "
        f"see.{more} All costs here are at the application's priors already."
    )
    remedy = (
        "Nothing needs weighting: the application does it. Compare costs, not accuracies; if the rows are a fair "
        "sample of where it will be used, give their frequencies as its priors."
    )
    return Finding("prior-mismatch", "note", said, remedy)


def _gap(frequencies: Floats, priors: Floats) -> Floats:
    """By how much the log-odds of each class among the rows exceed those of its prior, all within a million to one."""
    a, b = (np.clip(log(p) - log(1 - p), -14, 14) for p in (frequencies, priors))
    return np.asarray(a - b)


def tiny_class(facts: dict[str, Any], looked: Looked) -> Finding | None:
    """A class has so few rows that its error rate is poorly known."""
    few = [k for k, count in enumerate(looked.units.tolist()) if 0 < count < FEW]
    if not few:
        return None
    k = min(few, key=lambda at: int(looked.units[at]))
    n, what = int(looked.units[k]), "rows" if looked.groups is None else "groups"
    is_of_class = looked.codes == k
    wrong = (looked.decisions[0] != k) & (looked.decisions[0] >= 0)  # a rejected row is neither right nor wrong
    rate = float(np.average(wrong[is_of_class], weights=looked.weights[is_of_class]))
    low, high = _wilson(rate, n)
    others = (
        f" {len(few) - 1} more {'class has' if len(few) == 2 else 'classes have'} fewer than {FEW}."
        if len(few) > 1
        else ""
    )
    said = (
        f"Class {labels_of(facts)[k]} has {n} {what if n > 1 else what[:-1]}: its error rate of "
        f"{format_percent(rate, 2)} "
        f"may as well be anything from {format_percent(low, 2)} to {format_percent(high, 2)} (95 %).{others}"
    )
    remedy = (
        "Gather more of it, or merge it with a class it need not be told from. Whatever differs by less than that "
        "should not be chosen by."
    )
    return Finding("tiny-class", "warning" if n < VERY_FEW else "note", said, remedy)


def _wilson(rate: float, n: int) -> tuple[float, float]:
    """Interval of an error rate seen in n rows (Wilson 1927), which is right where few mistakes were seen too."""
    z = QUANTILE**2 / n
    centre, reach = (rate + z / 2) / (1 + z), np.sqrt(z * rate * (1 - rate) + z**2 / 4) / (1 + z)
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))
