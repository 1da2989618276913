"""Where a solver stopped."""

from __future__ import annotations

from dataclasses import dataclass

from likely._typing import Floats
from likely.statistics.objective import Objective

__all__ = ["Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver stopped.

    Attributes
    ----------
    parameters : array of shape (p,)
    objective : Objective
        At the parameters; without the absolute values, if those are penalised.
    converged : bool
        Whether the objective is at its least value, to the tolerance.
    gap : float
        How far above its least value the objective is, as estimated from its gradient: half the squared norm of the
        gradient, measured by the inverse of the curvature.
    history : tuple of float
        Values of the objective at the start and after every step (for descents: every epoch).
    late_step : array of shape (p,), or None
        The step that Newton's method still wanted when nothing was left to gain that shows in eleven digits.
    diverged : bool
        Whether steps were so long that the objective rose out of bounds; the parameters are those before it did.
    """

    parameters: Floats
    objective: Objective
    converged: bool
    gap: float
    history: tuple[float, ...]
    late_step: Floats | None = None
    diverged: bool = False

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.history) - 1
