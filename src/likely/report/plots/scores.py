"""Plots of one system's scores: by class, and what they claim against what the rows show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from likely.report.plots.axes import Axis, curve, finite, linear, percent, plain, probability
from likely.report.plots.curves import VARIANTS, variants
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Entry,
    draw_axes,
    hue,
    legend,
    line,
    marks,
    nothing,
    picture,
)
from likely.report.plots.outlines import outline
from likely.report.svg import group, join, path, whole

__all__ = ["histogram", "reliability"]

_CLAIMS = {"given": "Score, as given", "calibrated": "Log-likelihood ratio, calibrated"}
_SAID = {"given": "as given", "calibrated": "calibrated"}
_LEAST_REACH, _MOST_REACH = 2.0, 4.0
_WIDTHS = ((0.02, "w1"), (0.08, "w2"), (0.25, "w3"), (2.0, "w4"))
"""Up to which share of the rows a block has which width."""


def histogram(one_series: Mapping[str, Any], index: int, variant: str, labels: Sequence[str]) -> Markup:
    """Scores of nontargets and targets, each as shares of their class.

    Parameters
    ----------
    one_series : Series of the facts
    index : int
        Its place there.
    variant : {"given", "calibrated"}
    labels : (str, str)
        Of the nontargets and of the targets.
    """
    of = one_series["histogram"].get(variant) or {"low": 0.0, "high": 1.0, "nontargets": [], "targets": []}
    both = [of["nontargets"], of["targets"]]
    outside = of.get("outside") or [None, None]
    x = linear(of["low"], of["high"], LEFT, RIGHT, _CLAIMS.get(variant, variant), 8)
    most = max((share for shares in both for share in finite(shares)), default=0)
    y = probability(most or 1, 240, TOP, "Rows of each class (%)")
    shapes = [outline(shares, x, y, f"area line {hue(k, 'c')}") for k, shares in enumerate(both)]
    notes = [f"({percent(share)} outside)" if share else "" for share in outside]
    key, height = legend(
        [Entry(str(label), ("area",), hue(k, "c"), notes[k]) for k, label in enumerate(labels)], y.start + BELOW
    )
    empty = "" if most else nothing(x, y)
    other = [name for name in VARIANTS if name != variant and one_series["histogram"].get(name)]
    return picture(
        "histogram",
        draw_axes(x, y),
        join((*shapes, empty)),
        key,
        marks("threshold", x=x, y=y),
        title=f"Scores of {whole(one_series['name'])} by class, {_SAID.get(variant, variant)}",
        gist=_overlap(both),
        size=(WIDTH, y.start + BELOW + height),
        axes=(x, y),
        key=f"histogram-{index}-{variant}",
        series=index,
        variant=variant if other else f"{variant} only",
    )


def _overlap(both: Sequence[Sequence[float | None]]) -> str:
    common = sum(min(a or 0, b or 0) for a, b in zip(*both, strict=False))
    return f"The two histograms have {percent(common)} of their area in common."


def reliability(one_series: Mapping[str, Any], index: int) -> Markup:
    """What scores claim against what the rows show, as given and calibrated, on axes of log-likelihood ratios.

    Scores of a block (PAV) are a level stroke, the thicker the more rows it holds; a block of one class alone, which
    shows an infinite ratio, lies on the edge. A calibrated system follows the diagonal.

    Parameters
    ----------
    one_series : Series of the facts
    index : int
        Its place there.
    """
    blocks = {name: _rows_of(one_series["reliability"].get(name)) for name in VARIANTS}
    x, y = _ratio_axes([block for each in blocks.values() for block in each])
    there = [name for name in VARIANTS if blocks[name]]
    entries = [Entry(_SAID[name], ("block w3",), f"{hue(index)} {name}", _beyond(blocks[name], x)) for name in there]
    entries.append(Entry("well calibrated", ("reference",), ""))
    key, height = legend(entries, y.start + BELOW, "the thicker, the more rows; ∞: of one class only" if there else "")
    return picture(
        "reliability",
        draw_axes(x, y),
        line(path([(x.start, y.start), (x.end, y.end)]), "reference"),
        group(variants(blocks, lambda each: _strokes(each, x, y)), class_=f"series {hue(index)}", data_series=index),
        Markup("") if there else nothing(x, y),
        key,
        marks("threshold", x=x, y=y),
        title=f"What scores of {whole(one_series['name'])} claim, and what the rows show",
        gist=" ".join(_distance(name, blocks[name]) for name in there) or "No scores.",
        size=(WIDTH, y.start + BELOW + height),
        axes=(x, y),
        key=f"reliability-{index}",
        series=index,
    )


class _Block(NamedTuple):
    """Scores from low to high, the ratio they show, and the rows that they are."""

    low: float
    high: float
    llr: float
    rows: float


def _rows_of(of: Mapping[str, Any] | None) -> list[_Block]:
    """The blocks of one calibration, with infinities for None."""
    columns = [(of or {}).get(name) or [] for name in ("low", "high", "llr", "targets", "nontargets")]
    found = []
    for low, high, llr, targets, nontargets in zip(*columns, strict=True):
        t, n = targets or 0.0, nontargets or 0.0
        shown = llr if llr is not None else math.inf if t > n else -math.inf
        found.append(_Block(-math.inf if low is None else low, math.inf if high is None else high, shown, t + n))
    return found


def _ratio_axes(blocks: Sequence[_Block]) -> tuple[Axis, Axis]:
    """Axes of the same range both ways: as far as the ratios shown and claimed, but claims alone do not take it far."""
    shown = max((abs(block.llr) for block in blocks if math.isfinite(block.llr)), default=0.0)
    claimed = max((abs(v) for block in blocks for v in (block.low, block.high) if math.isfinite(v)), default=0.0)
    reach = 1.08 * max(min(max(shown, claimed), 2 * max(shown, _MOST_REACH)), _LEAST_REACH)
    x = linear(-reach, reach, LEFT, RIGHT, "Log-likelihood ratio that the scores claim", 8)
    y = linear(-reach, reach, TOP + 320, TOP, "Log-likelihood ratio that the rows show", 8)
    inner = [(value, said) for value, said in y.ticks if min(y.at(value) - y.end, y.start - y.at(value)) > 14]
    return x, replace(y, ticks=((-reach, "−∞"), *inner, (reach, "∞")))


def _strokes(blocks: Sequence[_Block], x: Axis, y: Axis) -> Markup:
    """A thin line through all blocks, and on it a stroke for each, of one of a few widths."""
    ends = [(x.within(end, 10), y.within(block.llr)) for block in blocks for end in (block.low, block.high)]
    drawn = {name: "" for _, name in _WIDTHS}
    total = sum(block.rows for block in blocks) or 1.0
    for block, *pair in zip(blocks, ends[::2], ends[1::2], strict=True):
        name = next(name for most, name in _WIDTHS if block.rows / total < most)
        drawn[name] += curve(x, y, *zip(*pair, strict=True))
    thread = line(curve(x, y, *zip(*ends, strict=True)), "thread")
    return thread + join(line(d, f"block {name}") for name, d in drawn.items())


def _beyond(blocks: Sequence[_Block], x: Axis) -> str:
    """What share of the rows claims more than the axis shows."""
    total = sum(block.rows for block in blocks)
    out = sum(block.rows for block in blocks if block.low > x.high or block.high < x.low)
    return f"({percent(out / total)} of the rows beyond)" if out and total else ""


def _distance(name: str, blocks: Sequence[_Block]) -> str:
    """How far claims lie from what is shown, in the mean over the rows of blocks where both are finite."""
    known = [b for b in blocks if b.rows and all(map(math.isfinite, b))]
    if not known:
        return f"Scores {_SAID[name]} show no finite ratio."
    apart = sum(b.rows * abs((b.low + b.high) / 2 - b.llr) for b in known) / sum(b.rows for b in known)
    return f"Scores {_SAID[name]} lie {plain(apart, 2)} from what the rows show, on average."
