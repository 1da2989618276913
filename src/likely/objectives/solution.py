"""Where a solver stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    resting_step : array of shape (p,), or None
        The step that Newton's method wanted when nothing of the objective was left to gain that shows in eight digits:
        large where the objective is flat along some direction.
    diverged : bool
        Whether steps were so long that the objective rose out of bounds; the parameters are those before it did.
    """

    parameters: Floats
    objective: Objective
    converged: bool
    gap: float
    history: tuple[float, ...]
    resting_step: Floats | None = None
    diverged: bool = False

    @property
    def flat_step(self) -> Floats | None:
        """The resting step, if it is so large that the objective must be flat along it."""
        step = self.resting_step
        if step is None or np.abs(step).max() <= 1e-3 * (1 + np.abs(self.parameters).max()):
            return None
        return step

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.history) - 1
