"""Costs against the effective prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from likely.displays import canvas
from likely.displays.actual_and_minimum import CostsDisplay
from likely.displays.base import trials_of
from likely.evaluation import CostCurve

__all__ = ["CostCurveDisplay"]


@dataclass(eq=False, repr=False)
class CostCurveDisplay(CostsDisplay):
    """Actual and minimum costs of one or several systems, not normalised, against the effective prior.

    Attributes
    ----------
    curves : dict {system: CostCurve}

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = CostCurveDisplay.from_predictions(y, llr, name="A", effective_priors=[0.1, 0.5])
    >>> display.curves["A"].minimum.round(3), display.curves["A"].constant
    (array([0.033, 0.167]), array([0.1, 0.5]))
    """

    curves: Mapping[str, CostCurve]
    _labels: ClassVar[tuple[str, str]] = ("Effective prior of the target", "Cost (error rate at that prior)")
    _worth_seeing: ClassVar[float] = 0.52

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        effective_priors: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        effective_priors : array of shape (points,), optional
            By default 101 from 0 to 1.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.cost_curve(effective_priors) for key, each in trials.items()})

    def _draw_reference(self, ax: Any) -> list[Any]:
        style = {"color": canvas.QUIET, "linestyle": ":", "linewidth": 1.2}
        first = next(iter(self.curves.values()))
        ax.plot(first.effective_prior, first.constant, zorder=1, **style)
        return [canvas.proxy("best decision without scores", **style)]

    def _top(self, highest: float) -> float:
        return 1.25 * highest if highest < 0.3 else self._worth_seeing
