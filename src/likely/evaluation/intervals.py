"""Bootstrap confidence intervals of metrics, and paired comparison of two systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from scipy.stats import t

from likely._typing import Floats
from likely._validation import check_labels, check_weight, encode_labels
from likely.evaluation import costs, metrics
from likely.evaluation.bootstrap import (
    Bootstrap,
    compute_bca_bounds,
    compute_loss_bounds,
    compute_minimum_bounds,
    student_quantile,
)
from likely.evaluation.curves import Curve
from likely.evaluation.trials import Trials
from likely.evaluation.truth import check_lengths
from likely.exceptions import InvalidDataError, InvalidParameterError, warn_of_degenerate_data

NO_MISTAKES = (
    "All resamples give the same numbers, so the interval has length 0. This happens if no trial is decided wrongly. "
    "Resamples cannot show rarer mistakes: an error rate may still be as high as about 3 divided by the number of "
    "trials of its class. Report that bound, or evaluate more trials."
)

_BY_TRIALS: dict[Any, Callable[..., Any]] = {
    function: getattr(Trials, function.__name__)
    for function in (
        metrics.actual_dcf,
        metrics.roc_auc,
        metrics.calibration_loss,
        metrics.cllr,
        metrics.eer,
        metrics.min_cllr,
        metrics.min_dcf,
    )
}
"""For each metric of two classes, the method of Trials that computes it. Trials are sorted once, and a resample only
changes their weights, so it needs no new sorting."""

_BY_ROWS: dict[Any, Callable[..., costs.RowCosts]] = {
    costs.bayes_risk: costs.RowCosts.of_risk,
    costs.cross_entropy: costs.RowCosts.of_cross_entropy,
}
"""For each metric that is a mean of the costs of single rows, the function that computes these costs. They are computed
once, because a resample only changes the weights of the rows."""

_MINIMA = {
    metrics.eer: 0.5,
    metrics.min_cllr: 1.0,
    metrics.min_dcf: 1.0,
    costs.bayes_risk_after_affine: np.inf,
    costs.cross_entropy_after_affine: np.inf,
}
"""For each metric that is a minimum, its upper limit. A minimum is found on the same rows on which it is measured, so
it is biased downwards."""


@dataclass(frozen=True, eq=False)
class Interval:
    """An estimate, or an array of estimates, with a confidence interval.

    Attributes
    ----------
    estimate, low, high : float or array
    level : float
        The confidence level.
    """

    estimate: Any
    low: Any
    high: Any
    level: float

    def __repr__(self) -> str:
        if np.ndim(self.estimate):
            return "\n".join(f"{e:.4g} [{a:.4g}, {b:.4g}]" for e, a, b in self._rows())
        return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"

    def _rows(self) -> Iterator[tuple[float, float, float]]:
        return zip(*(np.ravel(part).tolist() for part in (self.estimate, self.low, self.high)), strict=True)


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """Difference of a metric between two systems on the same trials.

    Attributes
    ----------
    first, second : float or array
        The metric of each system.
    difference : Interval
        Second minus first.
    p_value : float or array
        Probability of a difference at least as far from 0 if the true difference is 0 (two-sided). It is below
        1 − level exactly where the interval excludes 0.
    """

    first: Any
    second: Any
    difference: Interval
    p_value: Any


def confidence_interval(
    metric: Callable[..., Any],
    y_true: Any,
    scores: Any,
    *args: Any,
    groups: Any = None,
    sample_weight: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Interval:
    """Estimate a metric with a bootstrap confidence interval.

    Parameters
    ----------
    metric : function
        A metric of this library, such as ``cllr``, ``min_dcf`` or ``bayes_risk``, or any function of ``y_true`` and
        ``scores`` that takes ``sample_weight``.
    y_true, scores
        Arguments of the metric.
    *args, **options
        Further arguments of the metric, such as the application.
    groups : array of labels of shape (n,), optional
        Rows of one group depend on each other, such as those of a speaker or a patient, and are drawn together.
    sample_weight : array of shape (n,), optional
        The weight of each row whenever it is drawn. Rows of weight 0 are dropped. A row of weight 2 is drawn as one
        row, because its two copies are not independent.
    n_resamples : int, default 1000
    level : float, default 0.95
        The confidence level.
    seed : int, default 0

    Returns
    -------
    Interval

    Notes
    -----
    The interval of most metrics, such as costs, Cllr and AUC, is the bias-corrected and accelerated (BCa) percentile
    interval. The acceleration is a sixth of the skewness of the resampled values. For few rows or groups the interval
    is widened by quantiles of Student's t.

    Minima (``min_dcf``, ``min_cllr``, ``eer`` and costs after affine calibration) are minimised on the rows they are
    measured on, so they are biased downwards. Resamples show about half of this bias. The interval is normal on a
    logarithmic scale, centred at the estimate minus twice the bias of the resamples. The interval of
    ``calibration_loss`` is computed in the same way on a linear scale. The function object selects the method: a
    user's function that calls ``min_dcf`` gets no such correction.

    If no trial is decided wrongly, the resamples contain no mistakes and the interval is empty, with a warning. An
    error rate may then be as high as about 3 divided by the number of trials of its class. ``docs/intervals.md`` lists
    the measured coverage.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical Association 82,
    171-185.

    Hesterberg, T. (2015). What teachers should know about the bootstrap. The American Statistician 69, 371-386.

    Examples
    --------
    >>> import numpy as np
    >>> from likely import cllr, min_dcf
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [400, 100])
    >>> llr = 2 * rng.normal(size=500) + np.where(y == 1, 2, -2)
    >>> confidence_interval(cllr, y, llr)
    0.5337 [0.4369, 0.6971]
    >>> confidence_interval(min_dcf, y, llr, 0.1)
    0.6325 [0.5462, 0.8775]
    """
    setup = {"groups": groups, "sample_weight": sample_weight, "n_resamples": n_resamples, "level": level, "seed": seed}
    return confidence_intervals({"": Measure.of(metric, args, options)}, y_true, scores, **setup)[""]


def confidence_intervals(
    measures: Mapping[str, Callable[..., Any] | Measure],
    y_true: Any,
    scores: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Estimate several metrics with confidence intervals from the same resamples; scores are sorted once.

    Parameters
    ----------
    measures : mapping {name: function}
        Functions as ``metric`` of :func:`confidence_interval`. Bind their further arguments with ``functools.partial``,
        as in ``partial(min_dcf, applications=[0.1, 0.5])``.
    y_true, scores, groups, sample_weight, n_resamples, level, seed
        As for :func:`confidence_interval`.

    Examples
    --------
    >>> from functools import partial
    >>> from likely import cllr, eer, min_dcf
    >>> y, llr = [0, 0, 0, 0, 1, 1, 1, 1], [-3.0, -2.0, -1.0, 1.0, -0.5, 2.0, 3.0, 4.0]
    >>> found = confidence_intervals({"Cllr": cllr, "EER": eer, "minDCF": partial(min_dcf, applications=0.5)}, y, llr)
    >>> sorted(found), round(found["Cllr"].estimate, 3)
    (['Cllr', 'EER', 'minDCF'], 0.536)
    """
    _check_level(level)
    found = Resampled.of(measures, y_true, scores, groups, sample_weight, n_resamples, seed)
    if found.is_constant:
        warn_of_degenerate_data(NO_MISTAKES)
    return {name: found.interval(name, level) for name in measures}


def paired_difference(
    metric: Callable[..., Any],
    y_true: Any,
    first: Any,
    second: Any,
    *args: Any,
    groups: Any = None,
    sample_weight: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> PairedDifference:
    """Estimate the difference of a metric between two systems on the same trials, second minus first.

    Both systems are measured on the same resamples, so trials that are difficult for both do not widen the interval.

    Parameters
    ----------
    first, second : arrays
        Scores of two systems for the same rows.
    metric, y_true, *args, groups, sample_weight, n_resamples, level, seed, **options
        As for :func:`confidence_interval`.

    Notes
    -----
    The interval is Student's t interval around the difference, without bias correction, also if the metric is a
    minimum. The biases of the two systems mostly cancel. With the correction, the test would reject too often for two
    equal systems: in simulations 12 to 22 times in a hundred at a level of 5 %, and 3 to 8 times without it.

    Examples
    --------
    >>> import numpy as np
    >>> from likely import cllr
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> good = 2 * rng.normal(size=400) + np.where(y == 1, 2, -2)
    >>> worse = good + rng.normal(size=400)
    >>> found = paired_difference(cllr, y, good, worse)
    >>> bool(found.difference.low > 0), bool(found.p_value < 0.01)
    (True, True)
    """
    _check_level(level)
    measures = {"": Measure.of(metric, args, options)}
    of_first, of_second = (
        Resampled.of(measures, y_true, scores, groups, sample_weight, n_resamples, seed) for scores in (first, second)
    )
    return of_first.difference_to(of_second, "", level)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Metrics of one system, estimated from its trials and from their resamples.

    Systems resampled from the same trials with the same seed have the same draws, so their differences are paired.
    """

    measures: dict[str, Measure]
    estimates: dict[str, Floats]
    values: dict[str, Floats]
    """For each measure, its values in the resamples: an array of shape (n_resamples, number of values of the
    measure)."""
    n_units: int

    @classmethod
    def of(
        cls,
        measures: Mapping[str, Callable[..., Any] | Measure],
        y_true: Any,
        scores: Any,
        groups: Any = None,
        sample_weight: Any = None,
        n_resamples: int = 1000,
        seed: int = 0,
    ) -> Resampled:
        """Draw resamples and measure each of them."""
        return cls.of_each([(measures, scores)], y_true, groups, sample_weight, n_resamples, seed)[0]

    @classmethod
    def of_each(
        cls,
        systems: Sequence[tuple[Mapping[str, Callable[..., Any] | Measure], Any]],
        y_true: Any,
        groups: Any = None,
        sample_weight: Any = None,
        n_resamples: int = 1000,
        seed: int = 0,
    ) -> list[Resampled]:
        """Draw resamples once, and compute the measures of several systems for each resample.

        Each system is given as a pair of its measures and its scores.
        """
        tables = [SortedScores(y_true, scores, sample_weight) for _, scores in systems]
        draws = Bootstrap(tables[0].codes, tables[0].select(groups), n_resamples, seed)
        parts = [{name: Measure.of(measure) for name, measure in measures.items()} for measures, _ in systems]
        estimates = [
            {name: one.measure(part) for name, part in own.items()} for one, own in zip(tables, parts, strict=True)
        ]
        # Resample trials with fewer distinct scores. For many trials, this is much faster than to keep all scores.
        coarse = [(one.coarsen(), list(own.values())) for one, own in zip(tables, parts, strict=True)]
        values = draws.evaluate(
            lambda weight: np.concatenate([measure_all(one.resample(weight), own) for one, own in coarse])
        )
        # The coarser scores change the estimates a little. Shift the resampled values by the exact estimate minus the
        # coarse estimate.
        about = np.concatenate([measure_all(one, own) for one, own in coarse])
        exact = np.concatenate([estimate.ravel() for own in estimates for estimate in own.values()])
        values += np.subtract(exact, about, out=np.zeros(len(exact)), where=np.isfinite(exact) & np.isfinite(about))
        stops = np.cumsum([estimate.size for own in estimates for estimate in own.values()])
        split = iter(np.split(values, stops[:-1], 1))
        return [
            cls(own, found, {name: next(split) for name in own}, draws.n_units)
            for own, found in zip(parts, estimates, strict=True)
        ]

    @property
    def is_constant(self) -> bool:
        """Whether all resamples give the same values."""
        values = np.hstack(list(self.values.values()))
        return bool(np.isfinite(values).all() and (np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)).all())

    def mean(self, names: Sequence[str], new_name: str) -> Resampled:
        """Return the mean of several measures as the only measure, under the name ``new_name``.

        The measures must be of one kind, because the first of them determines how intervals are computed.
        """
        estimate = np.mean(np.concatenate([self.estimates[name].ravel() for name in names]))
        values = np.hstack([self.values[name] for name in names]).mean(axis=1, keepdims=True)
        return Resampled(
            {new_name: self.measures[names[0]]}, {new_name: np.asarray(estimate)}, {new_name: values}, self.n_units
        )

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Return a measure with its confidence interval."""
        estimate = self.estimates[name]
        quantile = student_quantile(level, self.n_units)
        low, high = self.measures[name].bounds(estimate.ravel(), self.values[name], quantile)
        return _make_interval(estimate, estimate, low, high, level)

    def difference_to(self, other: Resampled, name: str, level: float = 0.95) -> PairedDifference:
        """Return the paired difference of a measure: its value for the other system minus its value for this system."""
        before, after = (each.estimates[name].ravel() for each in (self, other))
        like, gap, resampled = self.estimates[name], after - before, other.values[name] - self.values[name]
        if not (np.isfinite(resampled).all() and np.isfinite(gap).all()):
            raise InvalidDataError(
                "The metric must be finite for a paired difference, but is infinite for one of the systems. Bound the "
                "llrs, as IsotonicCalibrator(bounded=True) does."
            )
        # Student's t interval and two-sided p-value from the standard deviation of the paired differences.
        spread = resampled.std(axis=0, ddof=1)
        reach = student_quantile(level, self.n_units) * spread
        deviations = np.divide(np.abs(gap), spread, out=np.where(gap == 0, 0.0, np.inf), where=spread > 0)
        p_value = 2 * t.sf(deviations * np.sqrt((self.n_units - 1) / self.n_units), self.n_units - 1)
        found = _make_interval(like, after - before, gap - reach, gap + reach, level)
        first, second, p_values = (_reshape_like(np.asarray(part), like) for part in (before, after, p_value))
        return PairedDifference(first, second, found, p_values)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidParameterError(f"level must be in the open interval (0, 1), but is {level!r}.")


def _make_interval(like: Floats, estimate: Floats, low: Floats, high: Floats, level: float) -> Interval:
    return Interval(_reshape_like(estimate, like), _reshape_like(low, like), _reshape_like(high, like), level)


def _reshape_like(values: Floats, like: Floats) -> Any:
    return float(values.reshape(())) if like.ndim == 0 else values.reshape(like.shape)


@dataclass(frozen=True, eq=False)
class Measure:
    """A metric with its arguments other than ``y_true`` and ``scores``."""

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
                "sample_weight must not be an argument of partial. Pass it to the function that computes the intervals."
            )
        if isinstance(measure, partial) and measure.args:
            raise InvalidParameterError(
                "Arguments of a metric must be given to partial by name, as in partial(min_dcf, applications=0.1)."
            )
        return cls(measure.func if isinstance(measure, partial) else measure, args, {**bound, **(options or {})})

    def bounds(self, estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
        """Return the bounds of the interval, computed from the values of the resamples."""
        if self.function is metrics.calibration_loss:
            return compute_loss_bounds(estimate, values, z)
        if self.function not in _MINIMA:
            return compute_bca_bounds(estimate, values, z)
        low, high = compute_minimum_bounds(estimate, values, z)
        # The upper limits in _MINIMA are valid only for normalised costs and for the EER of the convex hull.
        bound = signature(self.function).bind(None, None, *self.args, **self.options).arguments
        bounded = bound.get("normalize", True) and bound.get("method", "rocch") == "rocch"
        upper_limit = _MINIMA[self.function] if bounded else np.inf
        return np.minimum(low, upper_limit), np.minimum(high, upper_limit)


class SortedScores:
    """Labels, scores and weights of rows. The scores are sorted once for all metrics that need sorted scores.

    In a resample, the weight of a row is multiplied by the number of times that the row was drawn.
    """

    def __init__(self, y_true: Any, scores: Any, sample_weight: Any) -> None:
        labels = check_labels("Evaluation", y_true)
        weight = check_weight(sample_weight, len(labels))
        self._rows = None if weight is None else np.flatnonzero(weight)
        check_lengths("scores", np.asarray(scores), len(labels))
        self.y_true, self.scores, self.weight = labels, scores, weight
        if self._rows is not None:
            self.y_true, self.scores, self.weight = (self.select(part) for part in (labels, scores, weight))
        self.codes = encode_labels(self.y_true)[1]
        self._trials: dict[Any, Trials] = {}
        self._row_costs: dict[Measure, costs.RowCosts] = {}

    def select(self, values: Any) -> Any:
        """Return the values of the rows with a weight above 0."""
        return values if values is None or self._rows is None else np.asarray(values)[self._rows]

    def resample(self, times: Floats) -> SortedScores:
        """Return the same rows, with each weight multiplied by ``times``: how often the row was drawn."""
        resample = copy(self)
        resample.weight = times if self.weight is None else times * self.weight
        resample._trials = {key: trials.reweighted(times) for key, trials in self._trials.items()}
        return resample

    def coarsen(self) -> SortedScores:
        """Return a copy with fewer distinct scores, so that resampling is faster.

        Each score is lowered a little, to the next lower score that is kept.
        """
        coarse = copy(self)
        coarse._trials = {key: trials.coarse() for key, trials in self._trials.items()}
        return coarse

    def measure(self, part: Measure) -> Floats:
        """Return the value of a metric."""
        if part.function in _BY_TRIALS:
            options = dict(part.options)
            trials = self._trials_of(options.pop("pos_label", None))
            value = _BY_TRIALS[part.function](trials, *part.args, **options)
        elif part.function in _BY_ROWS:
            value = self._row_costs_of(part).mean(self.weight)
        else:
            value = part.function(self.y_true, self.scores, *part.args, sample_weight=self.weight, **part.options)
        if isinstance(value, Curve):
            raise InvalidParameterError(
                f"A metric must return a number or an array, but {part.function.__name__} returns a curve. Use a "
                "metric such as actual_dcf at many priors."
            )
        return np.asarray(value, dtype=np.float64)

    def _row_costs_of(self, part: Measure) -> costs.RowCosts:
        if part not in self._row_costs:
            self._row_costs[part] = _BY_ROWS[part.function](self.y_true, self.scores, *part.args, **part.options)
        return self._row_costs[part]

    def _trials_of(self, pos_label: Any) -> Trials:
        """Return the trials whose target is ``pos_label``.

        They are made and sorted when the estimate is computed. Resamples only change their weights.
        """
        if pos_label not in self._trials:
            self._trials[pos_label] = Trials(self.y_true, self.scores, pos_label=pos_label, sample_weight=self.weight)
        return self._trials[pos_label]


def measure_all(table: SortedScores, parts: list[Measure]) -> Floats:
    """Return the values of several measures in one array."""
    return np.concatenate([table.measure(part).ravel() for part in parts])
