"""Plots of one system's scores: by class, and what they claim against what the rows show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from likely.report.plots.axes import Axis, finite, linear, percent, plain, probability
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
_LEAST_REACH, _MOST_REACH = 2.0, 6.0
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
    blocks = {name: of for name, of in one_series["reliability"].items() if of and of["llr"]}
    reach = _reach(list(blocks.values()))
    x = linear(-reach, reach, LEFT, RIGHT, "Log-likelihood ratio that the scores claim", 8)
    y = linear(-reach, reach, TOP + 320, TOP, "Log-likelihood ratio that the rows show", 8)
    drawn = variants(blocks, lambda of: _blocks(of, x, y))
    there = [name for name in VARIANTS if name in blocks]
    entries = [Entry(_SAID[name], ("block w3",), f"{hue(index)} {name}") for name in there]
    entries.append(Entry("what a calibrated system follows", ("reference",), ""))
    key, height = legend(entries, y.start + BELOW)
    return picture(
        "reliability",
        draw_axes(x, y),
        line(path([(x.start, y.start), (x.end, y.end)]), "reference"),
        group(drawn, class_=f"series {hue(index)}", data_series=index),
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


def _reach(blocks: Sequence[Mapping[str, Any]]) -> float:
    """How far the axes go both ways: as far as claims and shown ratios, but claims alone do not take them far."""
    shown = max((abs(v) for of in blocks for v in finite(of["llr"])), default=0.0)
    claimed = max((abs(v) for of in blocks for v in finite([*of["low"], *of["high"]])), default=0.0)
    return max(min(max(shown, claimed), max(1.5 * shown, _MOST_REACH)), _LEAST_REACH) * 1.05


def _blocks(of: Mapping[str, Any], x: Axis, y: Axis) -> Markup:
    """A thin line through all blocks, and on it a stroke for each, of one of a few widths."""
    weights = [(t or 0) + (n or 0) for t, n in zip(of["targets"], of["nontargets"], strict=True)]
    total = sum(weights) or 1
    pieces = [_piece(of, k, x, y) for k in range(len(weights))]
    by_width = [
        line(path(*(p for p, w in zip(pieces, weights, strict=True) if least <= w / total < most)), f"block {name}")
        for (most, name), least in zip(_WIDTHS, (-1.0, *(most for most, _ in _WIDTHS)), strict=False)
    ]
    return join((line(path([point for piece in pieces for point in piece]), "thread"), *by_width))


def _piece(of: Mapping[str, Any], k: int, x: Axis, y: Axis) -> list[tuple[float, float]]:
    shown = of["llr"][k]
    if shown is None:
        only_targets = (of["targets"][k] or 0) > (of["nontargets"][k] or 0)
        shown = y.high if only_targets else y.low
    ends = (x.low if of["low"][k] is None else of["low"][k], x.high if of["high"][k] is None else of["high"][k])
    return [(x.inside(end), y.inside(shown)) for end in ends]


def _distance(name: str, of: Mapping[str, Any]) -> str:
    """How far claims lie from what is shown, in the mean over the rows of blocks that show a finite ratio."""
    total, apart = 0.0, 0.0
    for low, high, shown, t, n in zip(*(of[k] for k in ("low", "high", "llr", "targets", "nontargets")), strict=True):
        if None not in (low, high, shown, t, n):
            total += t + n
            apart += (t + n) * abs((low + high) / 2 - shown)
    said = f"lie {plain(apart / total, 2)} from what the rows show on average" if total else "show no finite ratio"
    return f"Scores {_SAID.get(name, name)} {said}."
