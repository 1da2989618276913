"""Where an application puts a system on its curve: as it decides, and as it could at best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.decisions import Application, as_application
from likely.displays import canvas
from likely.evaluation import Trials
from likely.exceptions import InvalidParameterError

__all__ = ["OperatingPoint", "as_applications", "draw_points", "operating_points", "point_entries"]

_SHAPES = "osD^v"


@dataclass(frozen=True)
class OperatingPoint:
    """Rates of false alarms and misses of a system in an application.

    Attributes
    ----------
    effective_prior : float
        The application's.
    actual : (float, float)
        False-alarm rate and miss rate of deciding by the scores as they are, as log-likelihood ratios.
    minimum : (float, float)
        The same of the threshold that costs least.
    """

    effective_prior: float
    actual: tuple[float, float]
    minimum: tuple[float, float]


def as_applications(application: Any) -> list[Application]:
    """Applications as a list, from none, one or several; a number stands for ``Application.binary(number)``."""
    if application is None:
        return []
    several: Any = [application] if np.ndim(application) == 0 else application
    return [as_application(app) for app in several]


def operating_points(trials: Trials, application: Any) -> list[OperatingPoint]:
    """The operating points of one system in some applications."""
    return [_point(trials, app.aligned(trials.classes)) for app in as_applications(application)]


def _point(trials: Trials, app: Application) -> OperatingPoint:
    if app.reject_cost is not None:
        raise InvalidParameterError(
            "An operating point accepts or refuses every trial, but the application may reject. Leave out reject_cost."
        )
    actual = _rates(trials, trials.steps, app.accepted_from(trials.steps.thresholds))
    minimum = _rates(trials, trials.pooled, app.accepted_from(trials.pooled.llr))
    return OperatingPoint(app.effective_prior, actual, minimum)


def _rates(trials: Trials, of: Any, point: int) -> tuple[float, float]:
    return float(of.false_alarms[point] / trials.n_nontargets), float(of.misses[point] / trials.n_targets)


def draw_points(ax: Any, points: Sequence[tuple[Any, Any]], color: str) -> None:
    """Filled marks at the actual points, hollow ones at the best, each application with its own shape."""
    for i, (actual, minimum) in enumerate(points):
        common = {"color": color, "marker": _SHAPES[i % len(_SHAPES)], "linestyle": "none", "clip_on": False}
        ax.plot(*minimum, markersize=9, markerfacecolor="white", markeredgewidth=1.6, zorder=4, **common)
        ax.plot(*actual, markersize=5.5, zorder=5, **common)


def point_entries(points: Sequence[OperatingPoint]) -> list[Any]:
    """Entries of a legend that explain the marks."""
    entries = []
    for i, point in enumerate(points):
        common = {"marker": _SHAPES[i % len(_SHAPES)], "linestyle": "none", "color": canvas.INK}
        at = f"at effective prior {point.effective_prior:.3g}"
        entries.append(canvas.proxy(f"decisions {at}", markersize=5.5, **common))
        entries.append(canvas.proxy(f"best threshold {at}", markersize=8, markerfacecolor="white", **common))
    return entries
