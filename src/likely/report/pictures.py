"""Plots of the report as SVG: curves and scores of the systems, and their costs.

All plots except ``standings`` and ``costs_of_grid`` use functions of ``likely.plots``, as the displays do. The page
adds titles, descriptions, and marks that its script moves. ``series`` are systems as in the facts of a report.
``index`` numbers the plots of one kind on a page, so that their ids differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from markupsafe import Markup

from likely._formatting import format_percent, format_significant
from likely._typing import Floats
from likely.plots import curves
from likely.plots.canvas import Axis, Trace, category_axis, linear_axis, log_axis
from likely.report.svg import element, group, path, shorten, whole, width
from likely.report.svg_canvas import BELOW, LEFT, LETTER, RIGHT, SvgCanvas, hue

VARIANTS = {"given": "as given", "calibrated": "calibrated"}
"""Variants of scores and their names: original, and after calibration."""

Series: TypeAlias = Mapping[str, Any]
"""Facts of one system."""

_MIN_REACH, _CLAIM_REACH = 2.0, 4.0
"""Range of a reliability plot. The plot always shows llrs up to ± _MIN_REACH and all observed llrs. Claimed llrs extend
the range to at most twice the larger of _CLAIM_REACH and the largest observed llr."""

_GRID_LEFT, _GRID_RIGHT = LEFT + 8, RIGHT - 8
"""Left and right end of the axes of a plot of costs against a setting. There is room for the dots at the first and at
the last value."""

_ROW, _MAX_NAMES_WIDTH = 22, 210
"""Height of a row of the standings, and maximum width of the names."""

_HIGHEST_COST = 1.2
"""Costs above this are drawn on the edge of the standings, so that one bad system does not compress the others."""


def roc(series: Sequence[Series]) -> Markup:
    """Draw hits against false alarms of all systems.

    Examples
    --------
    >>> steps = {"false_alarms": [0, 0, 0.5, 1], "misses": [1, 0.5, 0, 0]}
    >>> drawn = roc([{"name": "A", "auc": 0.875, "roc": {"given": steps}}])
    >>> 'd="M46 390v-181l181-181h181"' in drawn
    True
    """
    canvas, known = SvgCanvas("roc"), [one for one in series if one.get("auc") is not None]
    notes = ["" if one.get("auc") is None else f"AUC {one['auc']:.3f}" for one in series]
    curves.draw_roc(canvas, [_trace_rates(one, note) for one, note in zip(series, notes, strict=True)])
    canvas.marks("minimum", "actual")
    best = max(known, key=lambda one: one["auc"], default=None)
    gist = f"Largest area under the curve: {best['auc']:.3f} ({whole(best['name'])})." if best else "No curve."
    return canvas.finish("Hits against false alarms (ROC)", gist)


def det(series: Sequence[Series]) -> Markup:
    """Draw misses against false alarms of all systems. On these axes, Gaussian scores give straight lines."""
    canvas, known = SvgCanvas("det"), [one for one in series if one.get("eer") is not None]
    notes = ["" if one.get("eer") is None else f"EER {format_percent(one['eer'])}" for one in series]
    traces = [_trace_rates(one, note, hits=False) for one, note in zip(series, notes, strict=True)]
    x, _ = curves.draw_det(canvas, traces, max((one["eer"] for one in known), default=0.3))
    canvas.reference([x.low, x.high], [x.low, x.high], "equal rates")
    canvas.marks("minimum", "actual")
    best = min(known, key=lambda one: one["eer"], default=None)
    gist = f"Lowest equal error rate: {format_percent(best['eer'])} ({whole(best['name'])})." if best else "No curve."
    return canvas.finish("Misses against false alarms (DET)", gist)


def precision_recall(series: Sequence[Series], prior: float) -> Markup:
    """Draw precision against recall of all systems at a prior of the target.

    Examples
    --------
    >>> steps = {"false_alarms": [0, 0, 1], "misses": [1, 0.5, 0]}
    >>> drawn = precision_recall([{"name": "A", "roc": {"given": steps}}], 0.5)
    >>> 'd="M227 28l181 181"' in drawn  # from half of the targets alone to all rows, half of them targets
    True
    """
    canvas = SvgCanvas("precision-recall")
    curves.draw_precision_recall(canvas, [_trace_rates(one) for one in series], prior)
    canvas.marks("minimum", "actual")
    title = f"Precision against recall at a prior of {format_significant(prior)}"
    return canvas.finish(title, f"Accepting every row has a precision of {format_percent(prior)}.")


def bayes_error(series: Sequence[Series]) -> Markup:
    """Draw normalised costs of all systems at all priors and costs. Actual costs are solid, minimum costs dashed."""
    canvas = SvgCanvas("bayes-error", height=262)
    curves.draw_bayes_error(canvas, [_trace_costs(one) for one in series])
    canvas.marks("threshold", "minimum", "actual")
    title = "Bayes error plot: actual cost (solid) and minimum cost (dashed) for all priors and costs"
    return canvas.finish(title, _describe_even_odds(series))


def histogram(one_series: Series, index: int, variant: str, labels: Sequence[str]) -> Markup:
    """Draw histograms of the scores of nontargets and targets, as shares of each class."""
    of = one_series["histogram"].get(variant) or {"low": 0.0, "high": 1.0, "nontargets": [], "targets": []}
    both = [_to_array(of[kind]) for kind in ("nontargets", "targets")]
    notes = [f"({format_percent(share)} outside)" if share else "" for share in of.get("outside") or (None, None)]
    title = {"given": "Score, as given", "calibrated": "Log-likelihood ratio, calibrated"}[variant]
    canvas = SvgCanvas("histogram", series=index)
    edges = np.linspace(of["low"], of["high"], len(both[0]) + 1)
    curves.draw_histograms(canvas, edges, both, list(map(str, labels)), title, notes)
    canvas.marks("threshold")
    has_other = any(name != variant and one_series["histogram"].get(name) for name in VARIANTS)
    return canvas.finish(
        f"Scores of {whole(one_series['name'])} by class, {VARIANTS[variant]}",
        f"The two histograms share {format_percent(float(np.minimum(*both).sum()))} of their area.",
        key=f"histogram-{index}-{variant}",
        variant=variant if has_other else f"{variant} only",
    )


def reliability(one_series: Series, index: int) -> Markup:
    """Draw claimed against observed log-likelihood ratios, for the scores as given and for the calibrated scores.

    Each block of scores (PAV) is a horizontal stroke, thicker for more rows. A block with rows of one class only has an
    infinite observed ratio and lies on the edge.
    """
    blocks = {name: _read_blocks(of) for name in VARIANTS if (of := one_series["reliability"].get(name))}
    x, y = _make_ratio_axes(list(blocks.values()))
    canvas = SvgCanvas("reliability", series=index)
    curves.draw_reliability(canvas, [Trace(None, blocks)], x, y)
    for name, (low, high, _, shares) in blocks.items():
        outside = float(shares[(low > x.high) | (high < x.low)].sum())
        note = f"({format_percent(outside)} of the rows outside)" if outside else ""
        canvas.entry(VARIANTS[name], "block w3", classes=f"{hue(index)} {name}", note=note)
    canvas.marks("threshold")
    return canvas.finish(
        f"Claimed and observed llrs of {whole(one_series['name'])}",
        " ".join(_describe_distance(VARIANTS[name], of) for name, of in blocks.items()) or "No scores.",
        key=f"reliability-{index}",
        note="thicker: more rows; ∞: rows of one class only",
    )


def standings(leaderboard: Sequence[Mapping[str, Any]], application: str, max_rows: int = 20, index: int = 0) -> Markup:
    """Draw the best systems' minimum and calibrated costs at an application, and the intervals of calibrated costs."""
    rows = [(str(one["name"]), one["costs"].get(application) or {}) for one in leaderboard[:max_rows]]
    names = min(max((LETTER * width(shorten(name, 40)) for name, _ in rows), default=0) + 18, _MAX_NAMES_WIDTH)
    canvas = SvgCanvas("standings", left=names, top=12, height=_ROW * max(len(rows), 1))
    drawn = [
        cost
        for _, costs in rows
        for cost in (costs.get("minimum"), costs.get("actual"), *(costs.get("actual interval") or ()))
        if cost is not None
    ]
    high = min(max(drawn, default=0.0) or 1.0, _HIGHEST_COST)
    canvas.axes(linear_axis(0, high, "Cost (1: deciding without looking)", 6 if names < 150 else 4), Axis(0, 1))
    if high > 1:
        canvas.reference([1, 1], [0, 1])
    for k, (name, row) in enumerate(rows):
        canvas.add(_draw_standing(canvas, name, row, canvas.top + _ROW * (k + 0.5), high))
    gist = "No system."
    if rows:
        y, words = canvas.bottom + BELOW + 9, ((26, "minimum"), (152, "calibrated"), (262, "95 % interval"))
        marks = _draw_dot("minimum", 16, y), _draw_dot("actual", 142, y), _draw_whisker(226, 254, y)
        canvas.add(group(*marks, *(element("text", text, x=x, y=y + 4) for x, text in words), class_="legend"))
        name, first = rows[0]
        amounts = [format_significant(first.get(which)) for which in ("actual", "minimum")]
        gist = f"First: {whole(name)}, calibrated cost {amounts[0]}, minimum cost {amounts[1]}."
    title, height = f"Costs of the systems at {whole(application)}", canvas.bottom + BELOW + 26
    return canvas.finish(title, gist, key=f"standings-{index}", height=height)


def costs_of_grid(grid: Mapping[str, Any], index: int = 0) -> Markup:
    """Draw actual (solid) and minimum (dashed) costs against a hyperparameter, and mark the lowest minimum cost."""
    lines, (places, x) = grid["lines"], _make_setting_axis(grid)
    costs = [{kind: _to_array(one.get(kind)) for kind in ("actual", "minimum")} for one in lines]
    canvas = SvgCanvas("grid", left=_GRID_LEFT, right=_GRID_RIGHT, linked=False)
    canvas.axes(x, _make_grid_cost_axis(costs))
    for k, (one, of) in enumerate(zip(lines, costs, strict=True)):
        label = (str(one["name"]), "") if one["name"] else None
        for kind, stroke in (("actual", "solid"), ("minimum", "dashed")):
            canvas.line(places[: len(of[kind])], of[kind], k, stroke, label=label)
            canvas.dots(places[: len(of[kind])], of[kind], k, "tried")
    minima = [(c, k, j) for k, of in enumerate(costs) for j, c in enumerate(of["minimum"].tolist()) if np.isfinite(c)]
    gist = "No cost."
    if minima:
        cost, k, j = min(minima)
        text = f"{format_significant(cost)} at {_format_setting(grid, j, 16)}"
        canvas.add(_draw_ring(canvas, text, k, places[j], cost))
        value = f"{whole(grid['parameter'])} = {_format_setting(grid, j, 60)}"
        gist = f"Lowest minimum cost: {format_significant(cost)} at {value}, {whole(lines[k]['name'])}."
    canvas.entry("calibrated", "solid")
    canvas.entry("minimum", "dashed")
    title = f"Calibrated and minimum costs of {whole(grid['family'])} by {whole(grid['parameter'])}"
    return canvas.finish(title, gist, key=f"grid-{index}")


# Internals: systems of the facts as traces.


def _to_array(values: Sequence[float | None] | None, none: float = np.nan) -> Floats:
    """Return a list of facts as an array. None, an infinite or unknown value, is replaced by the argument ``none``."""
    return np.array([none if value is None else value for value in values or ()], dtype=np.float64)


def _trace_rates(one: Series, note: str = "", *, hits: bool = True) -> Trace:
    """Make a trace of hit rates, or of miss rates, against false-alarm rates."""
    parts = {}
    for variant in VARIANTS:
        if of := one["roc"].get(variant):
            alarms, misses = _to_array(of["false_alarms"]), _to_array(of["misses"])
            parts[variant] = (alarms, 1 - misses if hits else misses)
    return Trace(str(one["name"]), parts, note)


def _trace_costs(one: Series) -> Trace:
    """Make a trace of costs against log-odds. None stands for an infinite cost."""
    costs = one["bayes_error"]
    kinds = [kind for kind in (*VARIANTS, "minimum") if costs.get(kind)]
    return Trace(str(one["name"]), {k: (_to_array(costs["log_odds"]), _to_array(costs[k], np.inf)) for k in kinds})


def _describe_even_odds(series: Sequence[Series]) -> str:
    """Return a sentence that names the system with the lowest minimum cost at even prior odds."""
    found = []
    for one in series:
        odds, costs = (_to_array(one["bayes_error"].get(kind)) for kind in ("log_odds", "minimum"))
        known = np.flatnonzero(np.isfinite(costs))
        if len(known):
            found.append((float(costs[known[np.argmin(np.abs(odds[known]))]]), str(one["name"])))
    if not found:
        return "No curve."
    least, name = min(found)
    amount = format_significant(least)
    return f"Lowest minimum cost at even odds: {amount} ({whole(name)}); 1 is the cost of deciding without looking."


# Internals: reliability.


def _read_blocks(of: Mapping[str, Any]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the lowest and highest claim, the observed ratio and the share of rows of each block."""
    targets, nontargets = _to_array(of["targets"], 0.0), _to_array(of["nontargets"], 0.0)
    llr = _to_array(of["llr"])
    shown = np.where(np.isnan(llr), np.where(targets > nontargets, np.inf, -np.inf), llr)
    rows = targets + nontargets
    return _to_array(of["low"], -np.inf), _to_array(of["high"], np.inf), shown, rows / (rows.sum() or 1.0)


def _make_ratio_axes(parts: Sequence[tuple[Floats, ...]]) -> tuple[Axis, Axis]:
    """Return two axes of the same range, for claimed and for observed log-likelihood ratios.

    The range contains all finite observed ratios. Claimed ratios extend it by a limited factor only (see
    ``_CLAIM_REACH``).
    """
    llrs, claims = [llr for _, _, llr, _ in parts], [ends for low, high, _, _ in parts for ends in (low, high)]
    shown, claimed = (
        max((float(np.max(np.abs(each[np.isfinite(each)]), initial=0.0)) for each in arrays), default=0.0)
        for arrays in (llrs, claims)
    )
    reach = 1.08 * max(min(max(shown, claimed), 2 * max(shown, _CLAIM_REACH)), _MIN_REACH)
    x = linear_axis(-reach, reach, "Claimed log-likelihood ratio", 8)
    inner = [tick for tick in x.ticks if abs(tick[0]) < 0.91 * reach]
    return x, replace(x, title="Observed log-likelihood ratio", ticks=((-reach, "−∞"), *inner, (reach, "∞")))


def _describe_distance(variant: str, of: tuple[Floats, ...]) -> str:
    """Return a sentence about the mean distance between claimed and observed ratios.

    The mean is over the blocks in which both ratios are finite.
    """
    low, high, llr, shares = of
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(llr) & (shares > 0)
    if not known.any():
        return f"Scores {variant} have no finite observed ratio."
    distances = np.abs((low[known] + high[known]) / 2 - llr[known])
    mean = float(np.average(distances, weights=shares[known]))
    return f"Scores {variant} differ from the observed ratios by {format_significant(mean, 2)} on average."


# Internals: standings.


def _draw_standing(canvas: SvgCanvas, name: str, costs: Mapping[str, Any], y: float, high: float) -> Markup:
    """Draw a row: the name, a bar from the minimum to the actual cost, and the interval of the actual cost."""
    least, actual = costs.get("minimum"), costs.get("actual")

    def reach(cost: float | None) -> float:
        return canvas.right if cost is None else float(canvas.x(min(cost, high)))

    amounts = f"minimum {format_significant(least)}, calibrated {format_significant(actual)}"
    shown = shorten(name, (canvas.left - 14) / LETTER)
    parts = [
        element("title", f"{whole(name)}: {amounts}"),
        element("text", shown, class_="name", x=canvas.left - 10, y=y + 4, text_anchor="end"),
    ]
    if least is not None:
        parts.append(canvas.stroke([[(reach(least), y), (reach(actual), y)]], "bar"))
    if costs.get("actual interval"):
        low, top = costs["actual interval"]
        parts.append(_draw_whisker(reach(low), reach(top), y))
    if least is not None:
        parts.append(_draw_dot("minimum", reach(least), y))
    if "actual" in costs:
        parts.append(_draw_dot("actual", reach(actual), y, is_beyond=actual is None or actual > high))
    return group(*parts, class_="row")


def _draw_whisker(low: float, high: float, y: float) -> Markup:
    """Draw an interval as a line with end marks. Draw nothing if all of it lies beyond the axis."""
    ends = [[(end, y - 4), (end, y + 4)] for end in (low, high)]
    return element("path", class_="whisker", d=path([(low, y), (high, y)], *ends)) if low < high else Markup("")


def _draw_dot(kind: str, x: float, y: float, *, is_beyond: bool = False) -> Markup:
    """Draw a dot, or an arrow if the cost lies beyond the axis."""
    if is_beyond:
        return element("path", class_=f"dot {kind}", d=path([(x - 3, y - 5), (x + 5, y), (x - 3, y + 5)], close=True))
    return element("circle", class_=f"dot {kind}", cx=x, cy=y, r=4)


# Internals: costs against a hyperparameter.


def _make_grid_cost_axis(lines: Sequence[Mapping[str, Floats]]) -> Axis:
    """Choose an axis that shows all minimum costs, and the lowest actual cost of each line."""
    minima, actual = ([of[kind][np.isfinite(of[kind])] for of in lines] for kind in ("minimum", "actual"))
    known = np.concatenate([*minima, []])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    seen = max([2 * high - low, 1.1 * high, *(1.05 * float(costs.min()) for costs in actual if len(costs))])
    most = max([high, *(float(costs.max()) for costs in actual if len(costs))])
    top = most if most - low < 1.5 * (seen - low) else seen
    return linear_axis(low - 0.18 * (top - low), top, "Cost (1: deciding without looking)", 5)


def _make_setting_axis(grid: Mapping[str, Any]) -> tuple[list[float], Axis]:
    """Return the positions of a hyperparameter's values, and the axis of these positions.

    Values that are not numbers, or not all positive, are drawn as categories.
    """
    values, title = grid["values"], str(grid["parameter"])
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if numbers and len(numbers) == len(values) and grid["scale"] != "category":
        if grid["scale"] != "linear" and min(numbers) > 0:
            return numbers, log_axis(min(numbers), max(numbers), title)
        if grid["scale"] == "linear":
            # Place ticks at the values tried, if there is room for their texts.
            x, tried = linear_axis(min(numbers), max(numbers), title), sorted(set(numbers))
            room = LETTER * (len(format_significant(max(tried, key=abs))) + 1)
            if all((_GRID_RIGHT - _GRID_LEFT) / x.length * (b - a) > room for a, b in pairwise(tried)):
                x = replace(x, ticks=tuple((value, format_significant(value)) for value in tried))
            return numbers, x
    names = [_format_setting(grid, k, 22) for k in range(len(values))]
    return [float(k) for k in range(len(values))], category_axis(names, title)


def _draw_ring(canvas: SvgCanvas, text: str, line: int, place: float, cost: float) -> Markup:
    """Draw a ring around the lowest minimum cost. Its numbers are below the ring, where nothing else is drawn."""
    x, y = float(canvas.x(place)), float(canvas.y(cost))
    room = LETTER / 2 * len(text) + 2
    return group(
        element("circle", class_="ring", cx=x, cy=y, r=6),
        element("text", text, class_="best", x=min(max(x, LEFT + room), RIGHT - room), y=y + 19, text_anchor="middle"),
        class_=hue(line),
    )


def _format_setting(grid: Mapping[str, Any], index: int, letters: float) -> str:
    value = grid["values"][index]
    return shorten(format_significant(value) if isinstance(value, int | float) else str(value), letters)
