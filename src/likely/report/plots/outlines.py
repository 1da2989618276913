"""Histograms as one closed path each."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from likely.report.plots.axes import Axis
from likely.report.svg import Point, element, path

__all__ = ["outline", "shares"]


def outline(heights: Sequence[float | None], x: Axis, y: Axis, classes: str) -> Markup:
    """The outline of bins that share the x axis evenly; nothing where all are empty."""
    if not any(heights):
        return Markup("")
    width = (x.end - x.start) / len(heights)
    points: list[Point] = [(x.start, y.start)]
    for k, height in enumerate(heights):
        up = y.inside(height or 0)
        points += [(x.start + k * width, up), (x.start + (k + 1) * width, up)]
    return element("path", class_=classes, d=path([*points, (x.end, y.start)], close=True))


def shares(counts: Sequence[float | None]) -> list[float]:
    """Counts as shares of their sum; zeros where there are none."""
    total = sum(count or 0 for count in counts)
    return [(count or 0) / total if total else 0.0 for count in counts]
