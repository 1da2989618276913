"""Was the choice the right one? Systems chosen on some rows, judged on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.selection.judging import Standing

__all__ = ["Judged", "Verdict", "cost_of", "finite"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A system on the evaluation rows: what it costs there, calibrated by what was learned before."""

    name: str
    family: str
    standing: Standing


@dataclass(frozen=True, eq=False)
class Verdict:
    """How systems chosen by cross-validation did on rows that nothing was chosen on.

    Attributes
    ----------
    systems : list of Judged
        All of them, the best on the evaluation rows first, by the same measure as they were chosen by.
    chosen : Judged
        The one that was chosen.
    place : int
        Its place among all systems there; systems that cost the same share one.
    p_value : float
        Of the paired difference of the chosen one to the best there, on the evaluation rows, times the number of
        others, since the best there is the best of so many (Bonferroni); at most 1, and 1 if it is the best.
    by : str
    """

    systems: list[Judged]
    chosen: Judged
    place: int
    p_value: float
    by: str

    @property
    def stands(self) -> bool:
        """Whether the evaluation rows do not tell the chosen system from the best there."""
        return self.place == 1 or self.p_value >= 0.05

    def __str__(self) -> str:
        best, cost = self.systems[0], cost_of(self.chosen.standing, self.by)
        said = f"{self.chosen.name!r}, chosen by cross-validation, costs {cost:.3f} ({self.by}) on the evaluation rows"
        if self.place == 1:
            return f"{said}: the least of all {len(self.systems)} systems. The choice was right."
        said += (
            f", place {self.place} of {len(self.systems)}. The best there, {best.name!r}, costs "
            f"{cost_of(best.standing, self.by):.3f}"
        )
        if self.stands:
            return f"{said}, as the best of so many may by chance (p = {self.p_value:.2g}). The choice stands."
        return f"{said}, which is more than chance (p = {self.p_value:.2g}). Another choice would have been better."

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "verdict": str(self),
            "chosen": self.chosen.name,
            "place": self.place,
            "p_value": finite(self.p_value),
            "systems": [
                {
                    "name": each.name,
                    "family": each.family,
                    "minimum": each.standing.minimum,
                    "actual": each.standing.actual,
                    "cllr": finite(each.standing.cllr),
                }
                for each in self.systems
            ],
        }


def cost_of(standing: Standing, by: str) -> float:
    """The number that systems are put in order by: a mean over applications, or Cllr."""
    if by == "cllr":
        return standing.cllr
    costs = standing.minimum if by == "minimum" else standing.actual
    return sum(costs) / len(costs)


def finite(value: Any) -> float | None:
    """A number for plain data, where infinities have no name: None."""
    return float(value) if np.isfinite(value) else None
