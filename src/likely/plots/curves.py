"""The plots: what is drawn on which axes, for any canvas.

Every function takes a canvas and the traces of some systems, sets the axes and draws. A trace has parts: tuples of
arrays of coordinates, in units of the data. NaN interrupts a curve. Callers add legends and anything that only their
canvas supports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import logit

from likely._formatting import format_significant
from likely._typing import Floats
from likely.plots.canvas import Axis, Canvas, Trace, linear_axis, probit_axis, share_axis, value_at

FALSE_ALARMS, MISSES = "False alarms: nontargets accepted (%)", "Misses: targets refused (%)"
WITHOUT_SCORES = "best decision without scores"

_LOW_ENDS = (0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""Possible low ends of the axes of a DET plot."""

_MAX_COST = 1.2
"""Largest cost shown in a plot of normalised costs. Curves are cut off above it, so that lower costs can be
distinguished."""

_PRIORS = tuple((float(logit(prior)), f"{100 * prior:g} %") for prior in (0.01, 0.1, 0.5, 0.9, 0.99))


def draw_roc(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """Draw hits against false alarms. Parts of traces are (false-alarm rates, hit rates)."""
    canvas.axes(share_axis(1, FALSE_ALARMS), share_axis(1, "Hits: targets accepted (%)"), equal=True)
    canvas.reference([0, 1], [0, 1], "chance")
    _draw_lines(canvas, traces)


def draw_det(canvas: Canvas, traces: Sequence[Trace], worst_eer: float) -> tuple[Axis, Axis]:
    """Draw misses against false alarms on probit axes, on which Gaussian scores give straight lines. Return the axes.

    Parts of traces are (false-alarm rates, miss rates). A rate of 0 is infinitely far away on such axes and is drawn on
    their lower edge. The high end of the axes depends on the largest equal error rate.
    """
    high = 0.6 if worst_eer < 0.1 else 0.9 if worst_eer < 0.25 else 0.99
    pairs = [part for trace in traces for part in trace.parts.values()]
    x = probit_axis(_find_low_end(pairs, high), high, FALSE_ALARMS)
    y = probit_axis(_find_low_end([pair[::-1] for pair in pairs], high), high, MISSES)
    canvas.axes(x, y, equal=True)
    lowest = [value_at(axis, canvas.edge) for axis in (x, y)]
    for k, trace in enumerate(traces):
        for variant, rates in trace.parts.items():
            alarms, misses = (np.where(rate == 0, low, rate) for rate, low in zip(rates, lowest, strict=True))
            canvas.line(alarms, misses, k, variant=variant, label=trace.label, keep=trace.keep)
    return x, y


def _find_low_end(pairs: Sequence[Sequence[Floats]], high: float) -> float:
    """Return the low end of one axis of a DET plot: a round rate below all visible rates except 0.

    ``pairs`` has, for each curve, its rates on this axis and its rates on the other axis. A point is visible if its
    rate on the other axis is at most ``high``.
    """
    seen = [rate[(rate > 0) & (other <= high)] for rate, other in pairs]
    least = min((float(np.min(rates, initial=0.015)) for rates in seen), default=0.015)
    return next((low for low in _LOW_ENDS if 1.2 * low <= least), _LOW_ENDS[-1])


def draw_precision_recall(canvas: Canvas, traces: Sequence[Trace], prior: float) -> None:
    """Draw precision against recall. Parts of traces are (false-alarm rates, hit rates).

    ``prior`` is the prior of the target for which precisions are computed.
    """
    title = f"Precision at a prior of {format_significant(prior)} (%)"
    canvas.axes(share_axis(1, "Recall: targets accepted (%)"), share_axis(1, title), equal=True)
    canvas.reference([0, 1], [prior, prior], "accepting every row")
    for k, trace in enumerate(traces):
        for variant, (alarms, hits) in trace.parts.items():
            is_defined = hits > 0  # precision is undefined if nothing is accepted
            hits, alarms = hits[is_defined], alarms[is_defined]
            precision = prior * hits / (prior * hits + (1 - prior) * alarms)
            canvas.line(hits, precision, k, variant=variant, label=trace.label)


def draw_bayes_error(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """Draw normalised costs against the prior log-odds of applications.

    Parts of traces are (log-odds, costs): minimum costs under the name "minimum", actual costs under any other name.
    """
    low, high = _find_x_range(traces, (-5.0, 5.0))
    x = linear_axis(low, high, "Prior log-odds, costs included (misses matter more →)", 10)
    x = replace(x, under=tuple((at, text) for at, text in _PRIORS if x.contains(at)))
    y = linear_axis(0, _MAX_COST, "Normalised cost")
    _draw_costs(canvas, traces, x, y, ([x.low, x.high], [1, 1]), WITHOUT_SCORES)


def draw_cost_curve(canvas: Canvas, traces: Sequence[Trace], constant: tuple[Floats, Floats]) -> None:
    """Draw costs, not normalised, against the effective prior. Parts of traces are those of a Bayes error plot.

    ``constant`` is (effective priors, costs) of the best constant decision.
    """
    highest = _find_highest_cost(traces)
    top = 1.25 * highest if 0 < highest < 0.3 else 0.52
    x = linear_axis(*_find_x_range(traces, (0.0, 1.0)), "Effective prior of the target")
    _draw_costs(canvas, traces, x, linear_axis(0, top, "Cost (error rate at that prior)"), constant, WITHOUT_SCORES)


def draw_cross_entropy(canvas: Canvas, traces: Sequence[Trace], neutral: tuple[Floats, Floats]) -> None:
    """Draw empirical cross-entropies against prior log-odds. Parts of traces are those of a Bayes error plot.

    ``neutral`` is (log-odds, cross-entropies) of a system whose llrs are all 0.
    """
    top = min(max(1.05 * _find_highest_cost(traces), 1.05), 1.3)
    x = linear_axis(*_find_x_range(traces, (-5.0, 5.0)), "Prior log-odds of the target")
    y = linear_axis(0, top, "Empirical cross-entropy (bits)")
    _draw_costs(canvas, traces, x, y, neutral, "without scores (llr 0)")


def _draw_costs(
    canvas: Canvas,
    traces: Sequence[Trace],
    x: Axis,
    y: Axis,
    reference: tuple[Iterable[float], Iterable[float]],
    name: str,
) -> None:
    """Draw actual costs (solid) and minimum costs (dashed), and the curve ``reference`` with the legend ``name``."""
    canvas.axes(x, y)
    for k, trace in enumerate(traces):
        for variant, (across, costs) in trace.parts.items():
            if variant == "minimum":
                canvas.line(across, costs, k, "dashed")
            else:
                canvas.line(across, costs, k, "solid", variant=variant, label=trace.label)
    canvas.entry("actual", "solid")
    canvas.entry("minimum", "dashed")
    canvas.reference(*reference, name)


def draw_tippett(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """Draw shares of targets (solid) and nontargets (dashed) whose llr is at least a value.

    Parts of traces are (llrs, shares of targets, shares of nontargets). Infinite llrs are drawn on the edges.
    """
    low, high = find_finite_range(part[0] for trace in traces for part in trace.parts.values())
    margin = 0.04 * (high - low)
    x = linear_axis(low - margin, high + margin, "Log-likelihood ratio")
    y = replace(share_axis(1, "Trials with at least this llr (%)"), high=1.02)
    canvas.axes(x, y)
    canvas.reference([0, 0], [y.low, y.high])
    for k, trace in enumerate(traces):
        for llr, *shares in trace.parts.values():
            # Above the highest llr, both shares are 0. An infinite llr is drawn on the edge.
            at_edge = float(np.isposinf(llr[-1]))
            across = np.append(np.clip(llr, x.low, x.high), x.high)
            targets, nontargets = (np.append(share, at_edge * share[-1]) for share in shares)
            canvas.line(across, targets, k, "solid", label=trace.label, steps=True)
            canvas.line(across, nontargets, k, "dashed", steps=True)
    canvas.entry("targets", "solid")
    canvas.entry("nontargets", "dashed")


def draw_risk_coverage(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """Draw the mean cost of the decided rows against their share. Parts of traces are (coverages, costs)."""
    highest = max(float(risk.max()) for trace in traces for _, risk in trace.parts.values())
    top = 1.08 * highest if highest > 0 else 1.0
    coverage = share_axis(1, "Rows decided, the most certain first (%)")
    canvas.axes(coverage, linear_axis(0, top, "Mean cost of the decided rows"))
    _draw_lines(canvas, traces)


def draw_histograms(
    canvas: Canvas,
    edges: Floats,
    heights: Sequence[Floats],
    labels: Sequence[str],
    title: str,
    notes: Sequence[str] = (),
) -> None:
    """Draw one histogram for each class, all on the same axes. Heights are shares of the rows of the class.

    ``title`` is the title of the x axis.
    """
    highest = max((float(np.max(shares, initial=0)) for shares in heights), default=0.0)
    canvas.axes(linear_axis(edges[0], edges[-1], title, 8), share_axis(highest or 1, "Rows of each class (%)"))
    for k, (shares, label) in enumerate(zip(heights, labels, strict=False)):
        canvas.bars(edges, shares, k, label, notes[k] if notes else "")


def draw_reliability(canvas: Canvas, traces: Sequence[Trace], x: Axis, y: Axis) -> None:
    """Draw a reliability diagram: claimed against observed values, by blocks of the best monotone map (PAV).

    Parts of traces are (lowest claim, highest claim, observed value, share of the rows) of each block. Infinite values
    are drawn on the edges. The curve of a calibrated system follows the diagonal.
    """
    canvas.axes(x, y, equal=True)
    canvas.reference([x.low, x.high], [y.low, y.high], "well calibrated")
    for k, trace in enumerate(traces):
        for variant, (low, high, level, shares) in trace.parts.items():
            level = np.clip(level, y.low, y.high)
            ends = np.ravel([low, high], order="F")
            canvas.line(ends, np.repeat(level, 2), k, "thread", variant=variant, label=trace.label)
            canvas.blocks(low, high, level, shares, k, variant=variant)


def find_finite_range(parts: Iterable[Floats]) -> tuple[float, float]:
    """Return the lowest and the highest finite value of some arrays, as the limits of an axis.

    Return −1 and 1 if no value is finite, and x − 1 and x + 1 if x is the only finite value.
    """
    values = np.concatenate([part[np.isfinite(part)] for part in parts])
    if not len(values):
        return -1.0, 1.0
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _draw_lines(canvas: Canvas, traces: Sequence[Trace]) -> None:
    for k, trace in enumerate(traces):
        for variant, (x, y) in trace.parts.items():
            canvas.line(x, y, k, variant=variant, label=trace.label, keep=trace.keep)


def _find_x_range(traces: Sequence[Trace], default: tuple[float, float]) -> tuple[float, float]:
    known = [x[np.isfinite(x)] for trace in traces for x, _ in trace.parts.values()]
    return find_finite_range(known) if any(map(len, known)) else default


def _find_highest_cost(traces: Sequence[Trace]) -> float:
    """Return the highest finite actual cost of all traces."""
    costs = [y for trace in traces for variant, (_, y) in trace.parts.items() if variant != "minimum"]
    return max((float(np.max(y[np.isfinite(y)], initial=0.0)) for y in costs), default=0.0)
