"""What intervals are of: metrics with what they take, and truth and scores sorted once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from likely._typing import Floats
from likely._validation import check_labels, check_weight, encode_labels
from likely.evaluation import costs, metrics
from likely.evaluation.bounds import accelerated, around_loss, around_minimum
from likely.evaluation.curves import Curve
from likely.evaluation.trials import Trials
from likely.evaluation.truth import check_lengths
from likely.exceptions import InvalidParameterError

__all__ = ["Judged", "Measure", "all_of"]

_BY_TRIALS: dict[Any, Callable[..., Any]] = {
    function: getattr(Trials, function.__name__)
    for function in (
        metrics.actual_dcf,
        metrics.auc,
        metrics.calibration_loss,
        metrics.cllr,
        metrics.eer,
        metrics.min_cllr,
        metrics.min_dcf,
    )
}
"""Functions that a resample of sorted trials answers without sorting again."""

_BY_ROWS: dict[Any, Callable[..., costs.RowPrices]] = {
    costs.bayes_risk: costs.RowPrices.of_risk,
    costs.cross_entropy: costs.RowPrices.of_cross_entropy,
}
"""Functions that are means of what each row costs, which a resample only weighs anew."""

_MINIMA = {
    metrics.eer: 0.5,
    metrics.min_cllr: 1.0,
    metrics.min_dcf: 1.0,
    costs.bayes_risk_after_affine: np.inf,
    costs.cross_entropy_after_affine: np.inf,
}
"""Numbers that were made small on the very rows they are measured on, so that they come out too small; and what they
never exceed."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A metric with what it takes besides truth and scores."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]

    @classmethod
    def of(cls, measure: Any, args: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None) -> Measure:
        if isinstance(measure, Measure):
            return measure
        bound = measure.keywords if isinstance(measure, partial) else {}
        if "sample_weight" in bound:
            raise InvalidParameterError(
                "Give sample_weight to the interval, not to the metric, so that all rows know it."
            )
        if isinstance(measure, partial) and measure.args:
            raise InvalidParameterError("Bind what a metric takes by name, as in partial(min_dcf, applications=0.1).")
        return cls(measure.func if isinstance(measure, partial) else measure, args, {**bound, **(options or {})})

    @property
    def is_minimum(self) -> bool:
        """Whether it was made small on the rows it is measured on."""
        return self.function in _MINIMA

    def bounds(self, estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
        """The ends of the interval, from the values of the resamples."""
        if self.function is metrics.calibration_loss:
            return around_loss(estimate, values, z)
        if self.function not in _MINIMA:
            return accelerated(estimate, values, z)
        low, high = around_minimum(estimate, values, z)
        taken = signature(self.function).bind(None, None, *self.args, **self.options).arguments
        bounded = taken.get("normalize", True) and taken.get("method", "rocch") == "rocch"
        most = _MINIMA[self.function] if bounded else np.inf
        return np.minimum(low, most), np.minimum(high, most)


class Judged:
    """Truth and scores, sorted once for all metrics that can use it, at their own weights or those of a resample."""

    def __init__(self, y_true: Any, scores: Any, sample_weight: Any) -> None:
        labels = check_labels("Evaluation", y_true)
        weight = check_weight(sample_weight, len(labels))
        self._rows = None if weight is None else np.flatnonzero(weight)
        check_lengths("scores", np.asarray(scores), len(labels))
        self.y_true, self.scores, self.weight = labels, scores, weight
        if self._rows is not None:
            self.y_true, self.scores, self.weight = (self.kept(part) for part in (labels, scores, weight))
        self.codes = encode_labels(self.y_true)[1]
        self._trials: dict[Any, Trials] = {}
        self._prices: dict[Measure, costs.RowPrices] = {}

    def kept(self, values: Any) -> Any:
        """What belongs to the rows that have a weight."""
        return values if values is None or self._rows is None else np.asarray(values)[self._rows]

    def resampled(self, times: Floats) -> Judged:
        """The same rows, drawn so many times each."""
        resample = copy(self)
        resample.weight = times if self.weight is None else times * self.weight
        resample._trials = {key: trials.reweighted(times) for key, trials in self._trials.items()}
        return resample

    def coarse(self) -> Judged:
        """The same, quick to resample: of many trials, scores are lowered a little, to those of others."""
        quick = copy(self)
        quick._trials = {key: trials.coarse() for key, trials in self._trials.items()}
        return quick

    def measured(self, part: Measure) -> Floats:
        if part.function in _BY_TRIALS:
            options = dict(part.options)
            trials = self._trials_of(options.pop("pos_label", None))
            value = _BY_TRIALS[part.function](trials, *part.args, **options)
        elif part.function in _BY_ROWS:
            value = self._prices_of(part).mean(self.weight)
        else:
            value = part.function(self.y_true, self.scores, *part.args, sample_weight=self.weight, **part.options)
        if isinstance(value, Curve):
            raise InvalidParameterError(
                f"{part.function.__name__} gives a curve. Ask for intervals of numbers, such as actual_dcf at many "
                "priors."
            )
        return np.asarray(value, dtype=np.float64)

    def _prices_of(self, part: Measure) -> costs.RowPrices:
        if part not in self._prices:
            self._prices[part] = _BY_ROWS[part.function](self.y_true, self.scores, *part.args, **part.options)
        return self._prices[part]

    def _trials_of(self, pos_label: Any) -> Trials:
        """Made by the first measurement, that of the estimate, so that resamples only reweight it."""
        if pos_label not in self._trials:
            self._trials[pos_label] = Trials(self.y_true, self.scores, pos_label=pos_label, sample_weight=self.weight)
        return self._trials[pos_label]


def all_of(judged: Judged, parts: list[Measure]) -> Floats:
    """Several measures side by side."""
    return np.concatenate([judged.measured(part).ravel() for part in parts])
