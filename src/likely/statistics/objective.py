"""Value, gradient and Hessian of an objective at one point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from likely._typing import Floats


@dataclass(frozen=True, eq=False)
class Objective:
    """Sum of losses over rows: its value, gradient and Hessian at given parameters.

    Parameters
    ----------
    value : float
    gradient : array of shape (p,)
    hessian : array of shape (p, p), optional
        Symmetric; empty if it was not computed.

    Examples
    --------
    >>> import numpy as np
    >>> a = Objective(1.0, np.array([1.0, 0.0]), np.eye(2))
    >>> (a + a).value, (a + Objective.zero(2)).gradient
    (2.0, array([1., 0.]))
    """

    value: float
    gradient: Floats
    hessian: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def zero(cls, n_parameters: int) -> Objective:
        """Return the objective of no rows, whose value, gradient and Hessian are 0."""
        return cls(0.0, np.zeros(n_parameters), np.zeros((n_parameters, n_parameters)))

    def __add__(self, other: Objective) -> Objective:
        return Objective(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)
