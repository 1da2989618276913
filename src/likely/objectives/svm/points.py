"""What is known at a point of the way to a widest margin, whichever margin problem it is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from likely._typing import Floats

if TYPE_CHECKING:
    from likely.objectives.svm.systems import System

__all__ = ["Point", "Problem", "Sums"]


class Sums(Protocol):
    """Sums over rows that every margin problem has; parameters are flat here.

    ``value`` and ``hinge`` are the losses, smoothed and as they are; ``alphas`` sum to the linear part of the dual;
    ``gradient`` is that of ``value``, ``drift`` its derivative by μ, and ``curvature`` the Hessian or its diagonal.
    ``reach`` sums, with the curvatures as weights, the squares of how far rows may move before these change.
    """

    @property
    def value(self) -> float: ...

    @property
    def hinge(self) -> float: ...

    @property
    def alphas(self) -> Floats: ...

    @property
    def gradient(self) -> Floats: ...

    @property
    def drift(self) -> Floats: ...

    @property
    def reach(self) -> float: ...

    @property
    def curvature(self) -> Floats: ...


class Problem(Protocol):
    """What the way to a minimum is found by."""

    def at(self, theta: Floats, mu: float) -> Point: ...

    def system(self, point: Point) -> System: ...


@dataclass(frozen=True, eq=False)
class Point:
    """What is found at θ and μ: bounds of the least value from both sides, and the way on.

    Parameters
    ----------
    theta : array of shape (n_parameters,)
    mu : float
    sums : Sums
    gradient : array of shape (n_parameters,)
        Of the smoothed objective.
    penalty, dual : float
    repair : object
        Of the multipliers that ``dual`` is the value of.
    """

    theta: Floats
    mu: float
    sums: Sums
    gradient: Floats
    penalty: float
    dual: float
    repair: Any

    @property
    def value(self) -> float:
        """The smoothed objective."""
        return self.penalty + self.sums.value

    @property
    def primal(self) -> float:
        """The objective."""
        return self.penalty + self.sums.hinge

    @property
    def relative_gap(self) -> float:
        """By how much the objective is above the dual value, relative to the objective."""
        gap = self.primal - self.dual
        return gap / self.primal if self.primal > 0 else (np.inf if gap > 0 else 0.0)

    @property
    def smooth_gap(self) -> float:
        """The part of the relative gap that smoothing causes.

        Σ C max(0, t) − α t, relative to the objective: the whole gap, where the smoothed objective is least.
        """
        sums = self.sums
        return float(sums.hinge - sums.alphas.sum() - self.theta @ sums.gradient) / self.primal
