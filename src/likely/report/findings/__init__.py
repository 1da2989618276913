"""What to beware of in a report, in plain words and with what to do about it."""

from __future__ import annotations

from typing import Any

from likely.report.findings.calibration import miscalibrated, worthless, wrong_sign
from likely.report.findings.choosing import choice, close_race, edge_of_grid, failed
from likely.report.findings.learning import duplicate_rows, overfitting, separable, unstable_fold
from likely.report.findings.looked import Finding, Looked
from likely.report.findings.sampling import prior_mismatch, tiny_class

__all__ = ["Finding", "Looked", "findings"]

CHECKS = (
    wrong_sign,
    worthless,
    separable,
    duplicate_rows,
    miscalibrated,
    overfitting,
    unstable_fold,
    choice,
    tiny_class,
    failed,
    edge_of_grid,
    close_race,
    prior_mismatch,
)
"""One for each code, the gravest first."""


def findings(facts: dict[str, Any], looked: Looked) -> list[dict[str, Any]]:
    """All that there is to beware of, warnings before notes.

    Parameters
    ----------
    facts : dict
        The facts of a report, complete but for "findings" and "verdict".
    looked : Looked
        What they were taken from.

    Returns
    -------
    list of dict with "code", "level", "said" and "remedy"
    """
    found = [finding for check in CHECKS if (finding := check(facts, looked)) is not None]
    return [finding.to_dict() for finding in sorted(found, key=lambda finding: finding.level != "warning")]
