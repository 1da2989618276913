"""Pictures of facts as SVG text: no script, and no colours but those that the page's style sheet gives."""

from likely.report.plots.columns import column_histogram, correlation, explained_variance
from likely.report.plots.curves import bayes_error, det, precision_recall, roc
from likely.report.plots.directions import direction_weights, directions
from likely.report.plots.grids import costs_of_grid
from likely.report.plots.scores import histogram, reliability
from likely.report.plots.standings import standings

__all__ = [
    "bayes_error",
    "column_histogram",
    "correlation",
    "costs_of_grid",
    "det",
    "direction_weights",
    "directions",
    "explained_variance",
    "histogram",
    "precision_recall",
    "reliability",
    "roc",
    "standings",
]
