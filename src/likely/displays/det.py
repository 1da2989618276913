"""Misses against false alarms, on axes where Gaussian scores give straight lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from likely._typing import Booleans, Floats
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, draw_line, trials_of
from likely.displays.operating_points import OperatingPoint, draw_points, operating_points, point_entries
from likely.displays.roc import hull_corners
from likely.evaluation import DetCurve

__all__ = ["DetDisplay", "probit_axes"]

TICKS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 0.999)
"""Rates with a tick: about equally far from each other on the normal-deviate scale."""

_BOTH_WAYS = (("fpr", "fnr"), ("fnr", "fpr"))

_CERTAIN = 1e-12
"""Rates nearer to 0 and 1 are drawn as far out as this one."""


@dataclass(eq=False, repr=False)
class DetDisplay(TrialsDisplay):
    """Detection error trade-offs of one or several systems, on normal-deviate (probit) axes.

    The axes are in rates, so limits and further lines are given as rates. A rate of 0 is infinitely far away on them
    and is drawn on their lower edge; operating points beyond the axes are drawn on the nearest edge.

    Attributes
    ----------
    curves : dict {system: DetCurve}
    eer : dict {system: float}
        Equal error rates, by the convex hull.
    on_hull : dict {system: array of bool of shape (points,)}
        Which points of each curve are corners of the ROC's convex hull.
    points : dict {system: list of OperatingPoint}
        Of the applications asked for.

    Examples
    --------
    >>> y, scores = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
    >>> display = DetDisplay.from_predictions(y, scores, name="A")
    >>> round(display.eer["A"], 4)
    0.1667
    >>> display.frame("pandas").shape
    (7, 4)
    """

    curves: Mapping[str, DetCurve]
    eer: Mapping[str, float]
    on_hull: Mapping[str, Booleans]
    points: Mapping[str, list[OperatingPoint]] = field(default_factory=dict)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        name: str | None = None,
        application: Any = None,
        pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute the curves of scores; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true, scores, name, application, pos_label, sample_weight
            As for :meth:`RocDisplay.from_predictions`.
        """
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.det() for key, each in trials.items()},
            {key: each.eer() for key, each in trials.items()},
            {key: hull_corners(each) for key, each in trials.items()},
            {key: operating_points(each, application) for key, each in trials.items()},
        )

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
        probit_axes(ax, *(self._limits(*which) for which in _BOTH_WAYS))
        for name, curve, color in self._colored():
            style = {"color": color, "label": f"{name} (EER {100 * self.eer[name]:.3g} %)", **line}
            draw_line(ax, *_on_axes(ax, curve.fpr, curve.fnr), self.on_hull[name], **style)
            pairs = [(_inside(ax, p.actual), _inside(ax, p.minimum)) for p in self.points.get(name, [])]
            draw_points(ax, pairs, style["color"])
        canvas.tidy(ax, "False-alarm rate (nontargets accepted), %", "Miss rate (targets refused), %")
        if legend:
            canvas.legend(ax, point_entries(next(iter(self.points.values()), [])), beside=own, loc="upper right")
        return self

    def _figure_size(self) -> tuple[float, float]:
        """Of the shape of the axes, on which both rates have the same scale."""
        across, up = (float(np.diff(_probit(self._limits(*which)))[0]) for which in _BOTH_WAYS)
        inch = 4.4 / max(across, up)
        return inch * across + 0.8, inch * up + 0.7

    def _limits(self, rate: str, other: str) -> tuple[float, float]:
        """From below the least rate that is not 0, to where the curves have nothing to say any more."""
        worst = max(self.eer.values())
        high = 0.6 if worst < 0.1 else 0.9 if worst < 0.25 else 0.99
        columns = [(getattr(curve, rate), getattr(curve, other)) for curve in self.curves.values()]
        least = min(float(np.min(r[(r > 0) & (o <= high)], initial=0.015)) for r, o in columns)
        return max(least / 1.5, 1e-9), high


def probit_axes(ax: Any, x_limits: tuple[float, float], y_limits: tuple[float, float]) -> None:
    """Make axes of rates normal-deviate axes, with ticks in %."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("function", functions=(_probit, ndtr))
    ax.set_yscale("function", functions=(_probit, ndtr))
    ax.set(xlim=x_limits, ylim=y_limits, aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(list(TICKS)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_percent))


def _probit(rates: Any) -> Floats:
    return np.asarray(ndtri(np.clip(rates, _CERTAIN, 1 - _CERTAIN)))


def _percent(rate: float, _: Any = None) -> str:
    return np.format_float_positional(round(100 * rate, 10), trim="-")


def _on_axes(ax: Any, fpr: Any, fnr: Any) -> tuple[Floats, Floats]:
    """Rates, with those of 0 on the lower edge of the axes, not quite under the frame."""
    lowest = [ndtr(low + 0.006 * (high - low)) for low, high in map(_probit, (ax.get_xlim(), ax.get_ylim()))]
    return np.where(fpr == 0, lowest[0], fpr), np.where(fnr == 0, lowest[1], fnr)


def _inside(ax: Any, point: tuple[float, float]) -> tuple[float, float]:
    """A point on the axes, or on their edge where it lies outside."""
    fpr, fnr = _on_axes(ax, *np.array(point))
    return float(np.clip(fpr, *ax.get_xlim())), float(np.clip(fnr, *ax.get_ylim()))
