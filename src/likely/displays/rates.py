"""Displays of error rates: ROC and DET curves, with operating points of applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from likely._formatting import format_percent
from likely._typing import Booleans
from likely.decisions import Application, as_application
from likely.displays.base import CurveDisplay, TrialsDisplay, make_trials
from likely.displays.canvas import INK, MatplotlibCanvas
from likely.evaluation import DetCurve, RocCurve, Trials
from likely.exceptions import InvalidParameterError
from likely.plots import curves
from likely.plots.canvas import Trace


@dataclass(eq=False, repr=False)
class RocDisplay(TrialsDisplay, CurveDisplay):
    """Receiver operating characteristic (ROC) curves of one or several systems.

    Attributes
    ----------
    curves : dict {system: RocCurve}
    on_hull : dict {system: array of bool of shape (points,)}
        Whether each point of a curve is a corner of its convex hull.
    points : dict {system: list of OperatingPoint}
        Of the applications given.

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
    _legend_beside: ClassVar[bool] = False
    _legend_loc: ClassVar[str] = "lower right"

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
            Name of a single system.
        application : Application, effective prior, or a sequence of them, optional
            Applications whose operating points are marked: for each system, the actual and the best operating point.
        pos_label : label, optional
            The target; by default the second label in sorted order.
        sample_weight : array of shape (n,), optional
            Frequency weights.
        """
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.roc_curve() for key, each in trials.items()},
            {key: _find_hull_corners(each) for key, each in trials.items()},
            {key: _operating_points(each, application) for key, each in trials.items()},
        )

    def plot(self, ax: Any = None, *, hull: bool = False, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        hull : bool, default False
            Whether to draw the convex hulls, which systems reach with optimally calibrated scores.
        legend : bool, default True
            Whether to draw a legend.
        **line
            Options of matplotlib's lines, for all curves.
        """
        self._draws_hull = hull
        return super().plot(ax, legend=legend, **line)

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        traces = [
            Trace(name, {"": (curve.fpr, curve.tpr)}, f"AUC {curve.auc():.4g}", self.on_hull[name])
            for name, curve in self.curves.items()
        ]
        curves.draw_roc(canvas, traces)
        if self._draws_hull:
            look = {"color": INK, "linewidth": 0.9, "linestyle": "--"}
            for trace in traces:
                fpr, tpr = trace.parts[""]
                canvas.ax.plot(fpr[trace.keep], tpr[trace.keep], zorder=3, **look)
            canvas.add_entry("convex hull", **look)
        _draw_points(canvas, [self.points.get(name, []) for name in self.curves], hits=True)

    def _columns(self, name: str) -> dict[str, Any]:
        return {**super()._columns(name), "on_hull": self.on_hull[name]}


@dataclass(eq=False, repr=False)
class DetDisplay(TrialsDisplay, CurveDisplay):
    """Detection error trade-off (DET) curves of one or several systems, on normal-deviate (probit) axes.

    The axes are in units of rates, so limits and further lines are given as rates. A rate of 0 is infinitely far away
    on them and is drawn on their lower edge. Operating points beyond the axes are drawn on the nearest edge.

    Attributes
    ----------
    curves : dict {system: DetCurve}
    eer : dict {system: float}
        Equal error rates of the convex hulls.
    on_hull : dict {system: array of bool of shape (points,)}
        Whether each point of a curve is a corner of the convex hull of the ROC curve.
    points : dict {system: list of OperatingPoint}
        Of the applications given.

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
    _size: ClassVar[tuple[float, float]] = (5.2, 5.1)
    _legend_loc: ClassVar[str] = "upper right"

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
        trials = make_trials(y_true, scores, name, pos_label, sample_weight)
        return cls(
            {key: each.det_curve() for key, each in trials.items()},
            {key: each.eer() for key, each in trials.items()},
            {key: _find_hull_corners(each) for key, each in trials.items()},
            {key: _operating_points(each, application) for key, each in trials.items()},
        )

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        traces = [
            Trace(name, {"": (curve.fpr, curve.fnr)}, f"EER {format_percent(self.eer[name])}", self.on_hull[name])
            for name, curve in self.curves.items()
        ]
        curves.draw_det(canvas, traces, max(self.eer.values()))
        _draw_points(canvas, [self.points.get(name, []) for name in self.curves])


@dataclass(frozen=True)
class OperatingPoint:
    """Operating point: the rates of false alarms and of misses of a system in an application.

    Attributes
    ----------
    effective_prior : float
        Effective prior of the application.
    actual : (float, float)
        False-alarm rate and miss rate of decisions that take the scores as log-likelihood ratios.
    minimum : (float, float)
        The same rates at the threshold of minimum cost.
    """

    effective_prior: float
    actual: tuple[float, float]
    minimum: tuple[float, float]


def as_applications(application: Any) -> list[Application]:
    """Return a list of applications. The argument is None, one application or a sequence of applications.

    A number p stands for ``Application.binary(p)``.
    """
    if application is None:
        return []
    several: Any = [application] if np.ndim(application) == 0 else application
    return [as_application(app) for app in several]


def _operating_points(trials: Trials, application: Any) -> list[OperatingPoint]:
    """Compute the operating points of one system in some applications."""
    points = []
    for app in as_applications(application):
        if app.reject_cost is not None:
            raise InvalidParameterError(
                "An operating point accepts or refuses every trial, but the application has a reject cost. Use an "
                "application without reject_cost.",
                parameter="application",
            )
        aligned = app.aligned(trials.classes)
        actual = _rates_at(trials, trials.steps, aligned.accepted_from(trials.steps.thresholds))
        minimum = _rates_at(trials, trials.pooled, aligned.accepted_from(trials.pooled.llr))
        points.append(OperatingPoint(aligned.effective_prior, actual, minimum))
    return points


def _rates_at(trials: Trials, of: Any, point: int) -> tuple[float, float]:
    return float(of.false_alarms[point] / trials.n_nontargets), float(of.misses[point] / trials.n_targets)


def _find_hull_corners(trials: Trials) -> Booleans:
    """Return a mask of the points of the ROC or DET curve that are corners of the convex hull of the ROC curve."""
    corners = np.zeros(len(trials.steps.thresholds) + 1, dtype=bool)
    corners[trials.pooled.starts] = True
    return corners[::-1]


def _draw_points(canvas: MatplotlibCanvas, by_system: Sequence[list[OperatingPoint]], hits: bool = False) -> None:
    """Mark the operating points of all systems: hollow marks for minimum cost, filled marks for actual decisions.

    Each application has its own shape. With ``hits``, the y axis shows hit rates instead of miss rates.
    """
    for k, points in enumerate(by_system):
        for i, point in enumerate(points):
            for (alarm, miss), hollow in ((point.minimum, True), (point.actual, False)):
                canvas.mark((alarm, 1 - miss if hits else miss), k, i, hollow)
    for i, point in enumerate(by_system[0]):
        at = f"at effective prior {point.effective_prior:.3g}"
        canvas.mark_entry(f"decisions {at}", i, hollow=False)
        canvas.mark_entry(f"best threshold {at}", i, hollow=True)
