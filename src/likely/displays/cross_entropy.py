"""Cost of the evidence itself, over a range of priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from likely.displays import canvas
from likely.displays.actual_and_minimum import CostsDisplay
from likely.displays.base import trials_of
from likely.evaluation import CrossEntropyCurve

__all__ = ["CrossEntropyDisplay"]


@dataclass(eq=False, repr=False)
class CrossEntropyDisplay(CostsDisplay):
    """Empirical cross-entropy of one or several systems against prior log-odds.

    Attributes
    ----------
    curves : dict {system: CrossEntropyCurve}
    cllr, min_cllr : dict {system: float}
        The actual and the minimum curve at prior log-odds 0.

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = CrossEntropyDisplay.from_predictions(y, llr, name="A")
    >>> round(display.cllr["A"], 4), round(display.min_cllr["A"], 4)
    (0.6719, 0.3333)
    """

    curves: Mapping[str, CrossEntropyCurve]
    cllr: Mapping[str, float]
    min_cllr: Mapping[str, float]
    _labels: ClassVar[tuple[str, str]] = ("Prior log-odds of the target", "Empirical cross-entropy (bits)")
    _worth_seeing: ClassVar[float] = 1.3

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        prior_log_odds: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true, scores, name, prior_log_odds, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.empirical_cross_entropy(prior_log_odds) for key, each in trials.items()},
            {key: each.cllr() for key, each in trials.items()},
            {key: each.min_cllr() for key, each in trials.items()},
        )

    def _legend_of(self, name: str) -> str:
        actual = f"{self.cllr[name]:.3f}".replace("inf", "∞")
        return f"{name} (Cllr {actual}, minimum {self.min_cllr[name]:.3f})"

    def _draw_reference(self, ax: Any) -> list[Any]:
        style = {"color": canvas.QUIET, "linestyle": ":", "linewidth": 1.2}
        first = next(iter(self.curves.values()))
        ax.plot(first.prior_log_odds, first.neutral, zorder=1, **style)
        return [canvas.proxy("neutral: without scores", **style)]

    def _top(self, highest: float) -> float:
        return min(max(1.05 * highest, 1.05), self._worth_seeing)
