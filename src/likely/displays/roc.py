"""Hits against false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from likely._typing import Booleans
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, draw_line, trials_of
from likely.displays.operating_points import OperatingPoint, draw_points, operating_points, point_entries
from likely.evaluation import RocCurve, Trials

__all__ = ["RocDisplay", "hull_corners"]


@dataclass(eq=False, repr=False)
class RocDisplay(TrialsDisplay):
    """Receiver operating characteristics of one or several systems.

    Attributes
    ----------
    curves : dict {system: RocCurve}
    on_hull : dict {system: array of bool of shape (points,)}
        Which points of each curve are corners of its convex hull.
    points : dict {system: list of OperatingPoint}
        Of the applications asked for.

    Examples
    --------
    >>> y = ["ham", "ham", "spam", "spam"]
    >>> display = RocDisplay.from_predictions(y, {"A": [-2.0, 1.0, 0.5, 3.0], "B": [-1.0, -2.0, 1.0, 2.0]})
    >>> {name: curve.auc() for name, curve in display.curves.items()}
    {'A': 0.75, 'B': 1.0}
    >>> display.frame("pandas").columns.tolist()
    ['system', 'fpr', 'tpr', 'thresholds', 'on_hull']
    """

    curves: Mapping[str, RocCurve]
    on_hull: Mapping[str, Booleans]
    points: Mapping[str, list[OperatingPoint]] = field(default_factory=dict)
    _size: ClassVar[tuple[float, float]] = (4.9, 4.8)

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
        y_true : array of labels of shape (n,)
        scores : array of shape (n,) or (n, 2), or mapping {name: scores}
        name : str, optional
            Of a single system.
        application : Application, effective prior, or a sequence of them, optional
            Marked on the curves: the point at which each system decides, and the best point there is.
        pos_label : label, optional
            The target; by default the second label in sorted order.
        sample_weight : array of shape (n,), optional
            Frequencies.
        """
        trials = trials_of(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.roc() for key, each in trials.items()},
            {key: hull_corners(each) for key, each in trials.items()},
            {key: operating_points(each, application) for key, each in trials.items()},
        )

    def plot(self, ax: Any = None, *, hull: bool = False, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        hull : bool, default False
            Draw the convex hulls, too: what the system reaches with its scores calibrated at best.
        legend : bool, default True
        **line
            Options of matplotlib's lines, for all curves.
        """
        ax = self._begin(ax)
        ax.set(xlim=(-0.01, 1), ylim=(0, 1.01), aspect="equal")
        ax.plot([0, 1], [0, 1], color=canvas.QUIET, linewidth=1, linestyle=":", label="chance")
        for name, curve, color in self._colored():
            self._draw_curve(ax, name, hull, {"color": color, "label": f"{name} (AUC {curve.auc():.4g})", **line})
        canvas.tidy(ax, "False-alarm rate (nontargets accepted)", "Hit rate (targets accepted)")
        if legend:
            first = next(iter(self.points.values()), [])
            hulls = [canvas.proxy("convex hull", linestyle="--", linewidth=0.9)] if hull else []
            canvas.legend(ax, [*hulls, *point_entries(first)], loc="lower right")
        return self

    def _draw_curve(self, ax: Any, name: str, hull: bool, line: dict[str, Any]) -> None:
        curve, corners = self.curves[name], self.on_hull[name]
        draw_line(ax, curve.fpr, curve.tpr, corners, **line)
        if hull:
            ax.plot(curve.fpr[corners], curve.tpr[corners], color=canvas.INK, linewidth=0.9, linestyle="--", zorder=3)
        marks = [((p.actual[0], 1 - p.actual[1]), (p.minimum[0], 1 - p.minimum[1])) for p in self.points.get(name, [])]
        draw_points(ax, marks, line["color"])

    def _columns(self, name: str) -> dict[str, Any]:
        return {**super()._columns(name), "on_hull": self.on_hull[name]}


def hull_corners(trials: Trials) -> Booleans:
    """Which points of the ROC or DET, from accepting nothing on, are corners of the ROC's convex hull."""
    corners = np.zeros(len(trials.steps.thresholds) + 1, dtype=bool)
    corners[trials.pooled.starts] = True
    return corners[::-1]
