"""Histograms as one path each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from likely.report.plots.axes import Axis
from likely.report.svg import Point, element, path

__all__ = ["outline", "shares"]


def outline(heights: Sequence[float | None], x: Axis, y: Axis, classes: str) -> Markup:
    """The outline of bins that share the x axis evenly, open below, and nothing where they are empty."""
    width = (x.end - x.start) / max(len(heights), 1)
    runs = []
    for filled, bins in groupby(enumerate(heights), key=lambda pair: bool(pair[1])):
        if filled:
            runs.append(_run([(x.start + k * width, y.inside(height or 0)) for k, height in bins], width, y.start))
    return element("path", class_=classes, d=path(*runs)) if runs else Markup("")


def _run(corners: list[Point], width: float, base: float) -> list[Point]:
    """Up from the base, over the bins from the left corner of each, and down again."""
    over = [point for left, up in corners for point in ((left, up), (left + width, up))]
    return [(over[0][0], base), *over, (over[-1][0], base)]


def shares(counts: Sequence[float | None]) -> list[float]:
    """Counts as shares of their sum; zeros where there are none."""
    total = sum(count or 0 for count in counts)
    return [(count or 0) / total if total else 0.0 for count in counts]
