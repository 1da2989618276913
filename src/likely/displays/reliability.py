"""What scores claim against what the trials show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from likely._typing import Floats
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, draw_line, trials_of
from likely.evaluation import ReliabilityCurve
from likely.exceptions import InvalidParameterError

__all__ = ["ReliabilityDisplay"]


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(TrialsDisplay):
    """Claimed against observed posteriors of the target at a prior, by blocks of the best monotone map (PAV).

    A calibrated system lies on the diagonal. Each block of scores is a level piece of the line, with a disc in its
    middle whose area is the block's share of the trials.

    Attributes
    ----------
    curves : dict {system: ReliabilityCurve}
    prior : float

    Examples
    --------
    >>> y, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = ReliabilityDisplay.from_predictions(y, llr, name="A")
    >>> display.frame("pandas")[["claimed_low", "claimed_high", "observed"]].round(2).values.tolist()
    [[0.05, 0.27, 0.0], [0.38, 0.73, 0.5], [0.88, 0.98, 1.0]]
    """

    curves: Mapping[str, ReliabilityCurve]
    prior: float = 0.5
    _size: ClassVar[tuple[float, float]] = (4.9, 4.8)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        prior: float = 0.5,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        prior : float, default 0.5
            Of the target, at which llrs are turned into posteriors.
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        if not 0 < prior < 1:
            raise InvalidParameterError(f"prior must lie between 0 and 1, but is {prior!r}.")
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.reliability() for key, each in trials.items()}, prior)

    def plot(self, ax: Any = None, *, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        legend : bool, default True
        **line
            Options of matplotlib's lines, for all curves.
        """
        own = ax is None
        ax = self._begin(ax, beside=legend)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.plot([0, 1], [0, 1], color=canvas.QUIET, linewidth=1, linestyle=":", label="calibrated")
        for name, curve, color in self._colored():
            self._draw_blocks(ax, curve, {"color": color, "label": name, **line})
        at = f"at prior {self.prior:g}"
        canvas.tidy(ax, f"Claimed posterior of the target {at}", f"Observed posterior {at}")
        if legend:
            disc = canvas.proxy("area: share of trials", linestyle="none", marker="o", alpha=0.35)
            canvas.legend(ax, [disc], beside=own, loc="upper left")
        return self

    def _draw_blocks(self, ax: Any, curve: ReliabilityCurve, line: dict[str, Any]) -> None:
        low, high, observed = curve.posteriors(self.prior)
        draw_line(ax, np.ravel([low, high], order="F"), np.repeat(observed, 2), **line)
        area = 600 * _shares(curve)
        ax.scatter((low + high) / 2, observed, s=area, color=line["color"], alpha=0.35, linewidth=0, clip_on=False)

    def _columns(self, name: str) -> dict[str, Any]:
        curve = self.curves[name]
        posteriors = zip(("claimed_low", "claimed_high", "observed"), curve.posteriors(self.prior), strict=True)
        return {**curve.columns(), **dict(posteriors)}


def _shares(curve: ReliabilityCurve) -> Floats:
    weight = curve.targets + curve.nontargets
    return np.asarray(weight / weight.sum())
