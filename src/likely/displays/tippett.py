"""How many trials have at least a given llr, by class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from likely._typing import Floats
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, draw_line, trials_of
from likely.evaluation import TippettCurve

__all__ = ["TippettDisplay", "finite_range"]


@dataclass(eq=False, repr=False)
class TippettDisplay(TrialsDisplay):
    """Tippett plot of one or several systems: shares of targets and of nontargets whose llr is at least a value.

    Infinite llrs are drawn on the edges of the axes.

    Attributes
    ----------
    curves : dict {system: TippettCurve}

    Examples
    --------
    >>> display = TippettDisplay.from_predictions([0, 0, 1, 1], [-2.0, 1.0, 0.5, 3.0], name="A")
    >>> display.curves["A"].llr, display.curves["A"].targets
    (array([-inf, -2. ,  0.5,  1. ,  3. ]), array([1. , 1. , 1. , 0.5, 0.5]))
    """

    curves: Mapping[str, TippettCurve]

    @classmethod
    def from_predictions(
        cls, y_true: Any, scores: Any, *, name: str | None = None, pos_label: Any = None, sample_weight: Any = None
    ) -> Self:
        """Compute the curves of log-likelihood ratios; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true, scores, name, pos_label, sample_weight
            As for :meth:`BayesErrorDisplay.from_predictions`.
        """
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls({key: each.tippett() for key, each in trials.items()})

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
        low, high = finite_range(curve.llr for curve in self.curves.values())
        margin = 0.04 * (high - low)
        ax.set(xlim=(low - margin, high + margin), ylim=(0, 1.02))
        ax.axvline(0, color=canvas.QUIET, linewidth=1, linestyle=":", zorder=1)
        for name, curve, color in self._colored():
            x, shares = _closed(curve, *ax.get_xlim())
            style = {"color": color, "drawstyle": "steps-pre", **line}
            draw_line(ax, x, shares[0], label=name, **style)
            draw_line(ax, x, shares[1], **{**style, "linestyle": "--"})
        canvas.tidy(ax, "Log-likelihood ratio", "Share of trials with at least this llr")
        if legend:
            styles = [canvas.proxy("targets"), canvas.proxy("nontargets", linestyle="--")]
            canvas.legend(ax, styles, beside=own)
        return self


def finite_range(parts: Iterable[Floats]) -> tuple[float, float]:
    """The least and greatest finite value, kept apart where they are one; −1 and 1 where there is none."""
    values = np.concatenate([part[np.isfinite(part)] for part in parts])
    if not len(values):
        return -1.0, 1.0
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _closed(curve: TippettCurve, low: float, high: float) -> tuple[Floats, tuple[Floats, Floats]]:
    """The curve from edge to edge of the axes: infinite llrs lie on the edges, and above the highest there is none."""
    x = np.append(np.clip(curve.llr, low, high), high)
    beyond = np.isposinf(curve.llr[-1])
    ends = (curve.targets[-1], curve.nontargets[-1]) if beyond else (0.0, 0.0)
    return x, (np.append(curve.targets, ends[0]), np.append(curve.nontargets, ends[1]))
