"""Plots of all systems together: ROC, DET and Bayes error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from markupsafe import Markup
from scipy.special import logit, ndtri

from likely.report.plots.axes import Axis, curve, finite, linear, percent, plain
from likely.report.plots.frame import (
    BELOW,
    LEFT,
    RIGHT,
    SOLID_AND_DASHED,
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
from likely.report.svg import element, group, join, path, whole

__all__ = ["VARIANTS", "bayes_error", "det", "precision_recall", "roc", "variants"]

VARIANTS = ("given", "calibrated")
"""Scores as they are, and after calibration."""

Series = Mapping[str, Any]

_BOTTOM = TOP + RIGHT - LEFT
_RATES = (0.01, 0.1, 0.001, 0.4, 0.0001, 0.00001, 0.02, 0.2, 0.6, 0.8, 0.9, 0.95, 0.99, 0.05, 0.005, 0.98)
"""Ticks of a DET plot, those first that stay where there is no room for all."""

_LOWEST = (0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001, 0.00001)
_HIGHEST_COST = 1.2
_INFINITE = 1e6
"""A cost that leaves the picture straight upwards."""

_PRIORS = tuple((float(logit(prior)), f"{100 * prior:g} %") for prior in (0.01, 0.1, 0.5, 0.9, 0.99))


def roc(series: Sequence[Series]) -> Markup:
    """Hits against false alarms of all systems.

    Parameters
    ----------
    series : sequence of Series of the facts

    Examples
    --------
    >>> steps = {"false_alarms": [0, 0, 0.5, 1], "misses": [1, 0.5, 0, 0]}
    >>> drawn = roc([{"name": "A", "auc": 0.875, "roc": {"given": steps}}])
    >>> 'd="M46 390v-181l181-181h181"' in drawn
    True
    """
    x = _shares(LEFT, RIGHT, "False alarms: nontargets accepted (%)")
    y = _shares(_BOTTOM, TOP, "Hits: targets accepted (%)")

    def steps(of: Mapping[str, Any]) -> Markup:
        return line(curve(x, y, of["false_alarms"], [None if miss is None else 1 - miss for miss in of["misses"]]))

    drawn = [variants(one["roc"], steps) for one in series]
    notes = [_noted("AUC", one.get("auc"), "{:.3f}".format) for one in series]
    best = max(_known(series, "auc"), key=itemgetter("auc"), default=None)
    gist = f"Largest area under the curve: {best['auc']:.3f}, of {whole(best['name'])}." if best else "No curve."
    parts, height = _systems(series, drawn, notes, (x, y))
    body = (draw_axes(x, y), _diagonal(x, y), parts, marks("minimum", "actual", x=x, y=y))
    return picture("roc", *body, title="Hits against false alarms (ROC)", gist=gist, size=(WIDTH, height), axes=(x, y))


def det(series: Sequence[Series]) -> Markup:
    """Misses against false alarms of all systems, on axes where Gaussian scores give straight lines.

    Rates of 0, infinitely far away on such axes, are drawn on their edge.

    Parameters
    ----------
    series : sequence of Series of the facts
    """
    low, high = _limits(series)
    x = _probits(low, high, LEFT, RIGHT, "False alarms: nontargets accepted (%)")
    y = _probits(low, high, _BOTTOM, TOP, "Misses: targets refused (%)")

    def steps(of: Mapping[str, Any]) -> Markup:
        return line(curve(x, y, *(_on_edge(of[rates], low) for rates in ("false_alarms", "misses"))))

    drawn = [variants(one["roc"], steps) for one in series]
    notes = [_noted("EER", one.get("eer"), percent) for one in series]
    best = min(_known(series, "eer"), key=itemgetter("eer"), default=None)
    gist = f"Lowest equal error rate: {percent(best['eer'])}, of {whole(best['name'])}." if best else "No curve."
    parts, height = _systems(series, drawn, notes, (x, y))
    body = (draw_axes(x, y), _diagonal(x, y), parts, marks("minimum", "actual", x=x, y=y))
    title = "Misses against false alarms (DET)"
    return picture("det", *body, title=title, gist=gist, size=(WIDTH, height), axes=(x, y))


def precision_recall(series: Sequence[Series], prior: float) -> Markup:
    """How many of what is accepted are targets, against how many targets are accepted, where they are so frequent.

    Parameters
    ----------
    series : sequence of Series of the facts
    prior : float
        How frequent targets are where the systems are used, which need not be as in the rows.

    Examples
    --------
    >>> steps = {"false_alarms": [0, 0, 1], "misses": [1, 0.5, 0]}
    >>> drawn = precision_recall([{"name": "A", "roc": {"given": steps}}], 0.5)
    >>> 'd="M227 28l181 181"' in drawn  # half of the targets and nothing else; or everything, half of it targets
    True
    """
    x = _shares(LEFT, RIGHT, "Recall: targets accepted (%)")
    y = _shares(_BOTTOM, TOP, f"Precision at a prior of {plain(prior)} (%)")

    def steps(of: Mapping[str, Any]) -> Markup:
        pairs = zip(of["false_alarms"], of["misses"], strict=True)
        rates = [(1 - miss, alarm) for alarm, miss in pairs if None not in (alarm, miss) and miss < 1]
        return line(
            curve(x, y, [hit for hit, _ in rates], [prior * hit / (prior * hit + (1 - prior) * a) for hit, a in rates])
        )

    drawn = [variants(one["roc"], steps) for one in series]
    parts, height = _systems(series, drawn, [""] * len(series), (x, y))
    gist = f"Deciding for everything has a precision of {percent(prior)}."
    blind = line(path([(x.start, y.at(prior)), (x.end, y.at(prior))]), "reference")
    body = (draw_axes(x, y), blind, parts, marks("minimum", "actual", x=x, y=y))
    title = f"Precision against recall at a prior of {plain(prior)}"
    return picture("precision-recall", *body, title=title, gist=gist, size=(WIDTH, height), axes=(x, y))


def bayes_error(series: Sequence[Series]) -> Markup:
    """Normalised costs of all systems at every application: as decided solid, minima dashed.

    Parameters
    ----------
    series : sequence of Series of the facts
    """
    odds = [value for one in series for value in finite(one["bayes_error"]["log_odds"])] or [-5.0, 5.0]
    x = linear(min(odds), max(odds), LEFT, RIGHT, "Prior of the target, with costs in it: log-odds, and in %", 10)
    x = replace(x, under=tuple((at, said) for at, said in _PRIORS if x.holds(at)))
    y = linear(0, _HIGHEST_COST, 290, TOP, "Cost, as a multiple of the cost of deciding without looking")
    drawn = [_costs(one["bayes_error"], x, y) for one in series]
    parts, height = _systems(series, drawn, [""] * len(series), (x, y), ("solid", "dashed"), SOLID_AND_DASHED)
    blind = line(path([(x.start, y.at(1)), (x.end, y.at(1))]), "reference")
    middle = (x.start + x.end) / 2
    said = element(
        "text", "deciding without looking", class_="note halo", x=middle, y=y.at(1) - 5, text_anchor="middle"
    )
    body = (draw_axes(x, y), blind, parts, said, marks("threshold", "minimum", "actual", x=x, y=y))
    title = "Bayes error: cost of every application, as decided (solid) and minimum (dashed)"
    return picture(
        "bayes-error", *body, title=title, gist=_best_at_even_odds(series), size=(WIDTH, height), axes=(x, y)
    )


def variants(of: Mapping[str, Any], draw: Callable[[Any], Markup]) -> Markup:
    """What is drawn of scores as given and of calibrated ones, each in its group; ``only`` where there is just one."""
    there = [name for name in VARIANTS if of.get(name)]
    return join(group(draw(of[name]), class_=name if len(there) > 1 else f"{name} only") for name in there)


def _systems(
    series: Sequence[Series],
    drawn: Sequence[Markup],
    notes: Sequence[str],
    axes: tuple[Axis, Axis],
    kinds: tuple[str, ...] = ("line",),
    note: str = "",
) -> tuple[Markup, float]:
    """The groups of all systems with their legend, and the height of the picture."""
    x, y = axes
    top = y.start + BELOW + 15 * bool(x.under)
    groups = [group(part, class_=f"series {hue(k)}", data_series=k) for k, part in enumerate(drawn)]
    entries = [
        Entry(str(one["name"]), kinds, f"series {hue(k)}", note, k)
        for k, (one, note) in enumerate(zip(series, notes, strict=True))
    ]
    key, height = legend(entries, top, note if entries else "")
    empty = nothing(x, y) if not any("<path" in part for part in drawn) else ""
    return join((*groups, key, empty)), top + height


def _costs(costs: Mapping[str, Any], x: Axis, y: Axis) -> Markup:
    def at(values: Sequence[float | None], kind: str) -> Markup:
        far = [None if all(v is None for v in values) else _INFINITE if v is None else v for v in values]
        return line(curve(x, y, costs["log_odds"], far), kind)

    return at(costs.get("minimum") or [], "dashed") + variants(costs, lambda values: at(values, "solid"))


def _best_at_even_odds(series: Sequence[Series]) -> str:
    """Who costs least where both classes matter the same."""
    found = []
    for one in series:
        costs = one["bayes_error"]
        pairs = [
            (abs(o), m) for o, m in zip(costs["log_odds"], costs.get("minimum") or [], strict=False) if m is not None
        ]
        if pairs:
            found.append((min(pairs)[1], str(one["name"])))
    if not found:
        return "No curve."
    least, name = min(found)
    return f"At even odds the minimum cost is {plain(least)}, of {whole(name)}; 1 is the cost of not looking."


def _known(series: Sequence[Series], what: str) -> list[Series]:
    return [one for one in series if one.get(what) is not None]


def _noted(what: str, value: float | None, said: Callable[[float], str]) -> str:
    return "" if value is None else f"{what} {said(value)}"


def _diagonal(x: Axis, y: Axis) -> Markup:
    return line(path([(x.start, y.start), (x.end, y.end)]), "reference")


def _shares(start: float, end: float, title: str) -> Axis:
    return Axis(0, 1, start, end, tuple((k / 5, f"{20 * k}") for k in range(6)), title)


def _limits(series: Sequence[Series]) -> tuple[float, float]:
    """From about the least rate that is not 0, to where the curves have nothing to say any more."""
    worst = max((one["eer"] for one in _known(series, "eer")), default=0.3)
    high = 0.6 if worst < 0.1 else 0.9 if worst < 0.25 else 0.99
    curves = [of for one in series for of in one["roc"].values() if of]
    pairs = [pair for of in curves for pair in zip(of["false_alarms"], of["misses"], strict=False) if None not in pair]
    least = min((min(a, b) if min(a, b) > 0 else max(a, b) for a, b in pairs if 0 < max(a, b) <= high), default=0.001)
    return next((low for low in _LOWEST if low < least), _LOWEST[-1]), high


def _probits(low: float, high: float, start: float, end: float, title: str) -> Axis:
    """A normal-deviate axis, with as many of the ticks as have room."""
    axis = Axis(float(ndtri(low)), float(ndtri(high)), start, end, title=title)
    kept: list[tuple[float, str]] = []
    for rate in _RATES:
        at = float(ndtri(rate))
        if axis.holds(at) and all(abs(axis.at(at) - axis.at(other)) >= 27 for other, _ in kept):
            kept.append((at, f"{100 * rate:g}"))
    return replace(axis, ticks=tuple(sorted(kept)))


def _on_edge(rates: Sequence[float | None], low: float) -> list[float | None]:
    """Rates as probits, those below the axis on its edge."""
    return [None if rate is None else float(ndtri(min(max(rate, low), 1 - 1e-12))) for rate in rates]
