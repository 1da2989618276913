"""Plots, each drawn once: functions over a few primitives that every canvas offers.

``likely.displays`` draws them with matplotlib, ``likely.report`` as SVG. This package imports neither.
"""

from likely.plots.canvas import (
    Axis,
    Canvas,
    Tick,
    Trace,
    category_axis,
    linear_axis,
    log_axis,
    probit_axis,
    share_axis,
    visible_points,
)
from likely.plots.curves import (
    draw_bayes_error,
    draw_cost_curve,
    draw_cross_entropy,
    draw_det,
    draw_histograms,
    draw_precision_recall,
    draw_reliability,
    draw_risk_coverage,
    draw_roc,
    draw_tippett,
    finite_range,
)

__all__ = [
    "Axis",
    "Canvas",
    "Tick",
    "Trace",
    "category_axis",
    "draw_bayes_error",
    "draw_cost_curve",
    "draw_cross_entropy",
    "draw_det",
    "draw_histograms",
    "draw_precision_recall",
    "draw_reliability",
    "draw_risk_coverage",
    "draw_roc",
    "draw_tippett",
    "finite_range",
    "linear_axis",
    "log_axis",
    "probit_axis",
    "share_axis",
    "visible_points",
]
