"""Pictures of facts as SVG text: no script, no colours, whole without any style sheet's help but their look."""

from likely.report.plots.columns import column_histogram, correlation, explained_variance
from likely.report.plots.costs import costs_of_grid, standings
from likely.report.plots.curves import bayes_error, det, roc
from likely.report.plots.directions import direction_weights, directions
from likely.report.plots.scores import histogram, reliability

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
    "reliability",
    "roc",
    "standings",
]
