"""Bootstrap intervals of metrics, and paired comparison of two systems."""

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
from likely.evaluation.bootstrap import Bootstrap, accelerated, around_loss, around_minimum, student_quantile
from likely.evaluation.curves import Curve
from likely.evaluation.trials import Trials
from likely.evaluation.truth import check_lengths
from likely.exceptions import InvalidDataError, InvalidParameterError, warn_of_degenerate_data

NO_MISTAKES = (
    "All resamples give the same numbers, as they do where no trial is decided wrongly, so the interval is empty. "
    "They know nothing of rarer mistakes: a rate may still be up to about 3 in the number of trials of its class. "
    "Report that bound, or judge more trials."
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
class Interval:
    """A number, or an array of them, and the range in which the truth lies with some confidence.

    Attributes
    ----------
    estimate, low, high : float or array
    level : float
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
    """How much a number of the second system exceeds that of the first, on the same trials.

    Attributes
    ----------
    first, second : float or array
        The number of either system.
    difference : Interval
        Second minus first.
    p_value : float or array
        How often a difference as far from 0 would come about if there were none (two-sided). It is below 1 − level just
        where the interval leaves 0 out.
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
    """A metric with its bootstrap interval.

    Parameters
    ----------
    metric : function
        Of this library, such as ``cllr``, ``min_dcf``, ``bayes_risk``; or any function of ``y_true`` and ``scores``
        that takes ``sample_weight``.
    y_true, scores
        As the metric takes them.
    *args, **options
        What else the metric takes, such as the application.
    groups : array of labels of shape (n,), optional
        Rows that depend on each other, such as those of a speaker or a patient, are drawn together.
    sample_weight : array of shape (n,), optional
        What each row counts for whenever it is drawn. Rows of weight 0 are dropped; a row of weight 2 is drawn as one,
        since its two copies are not independent.
    n_resamples : int, default 1000
    level : float, default 0.95
    seed : int, default 0

    Returns
    -------
    Interval

    Notes
    -----
    Costs, Cllr, AUC and all else: the bootstrap's bias-corrected and accelerated percentiles, with the acceleration
    taken from the skewness of the resamples, widened as Student's t is for few rows or groups. Minima (``min_dcf``,
    ``min_cllr``, ``eer`` and costs after affine calibration) are measured on the rows they were made small on and come
    out too small; resamples repeat that, at about half its size. Their interval is normal on a logarithmic scale about
    the estimate less twice the bias that the resamples show; that of ``calibration_loss`` likewise on a linear scale.
    Functions are known by themselves: a function of your own that calls ``min_dcf`` gets no correction.
    ``docs/intervals.md`` has the coverage as measured. Where no trial is decided wrongly, resamples know nothing of
    rarer mistakes and the interval is empty, with a warning: the truth may then be up to about 3 in the number of
    trials of a class.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Hesterberg, T. (2015). What teachers should know about the
    bootstrap.

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
    """Several metrics with their intervals, from the same resamples; scores are sorted once.

    Parameters
    ----------
    measures : mapping {name: function}
        As ``metric`` of :func:`interval`; what else a function takes is bound by ``functools.partial``, as in
        ``partial(min_dcf, applications=[0.1, 0.5])``.
    y_true, scores, groups, sample_weight, n_resamples, level, seed
        As for :func:`interval`.

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
    """How much a metric of the second system's scores exceeds that of the first's, on the same trials.

    Both are measured on the same resamples, so what is difficult for both is no reason for doubt.

    Parameters
    ----------
    first, second : arrays
        Scores of two systems for the same rows.
    metric, y_true, *args, groups, sample_weight, n_resamples, level, seed, **options
        As for :func:`interval`.

    Notes
    -----
    The interval is Student's about the difference itself, also where the metric is a minimum: the biases of two systems
    mostly cancel, and taking them off would make differences of two that are alike look like more than chance (in
    simulations 12 to 22 times in a hundred where 5 are allowed; as it is, 3 to 8 times).

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
    """Numbers of one system, and what they are in resamples of its trials.

    Systems resampled from the same trials with the same seed are drawn alike, so their differences are paired.
    """

    measures: dict[str, Measure]
    estimates: dict[str, Floats]
    values: dict[str, Floats]
    """Of shape (n_resamples, number of values)."""
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
        """Draw, and measure every draw."""
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
        """The same of several systems, each with its measures and scores, from the same draws."""
        judged = [SortedScores(y_true, scores, sample_weight) for _, scores in systems]
        draws = Bootstrap(judged[0].codes, judged[0].kept(groups), n_resamples, seed)
        parts = [{name: Measure.of(measure) for name, measure in measures.items()} for measures, _ in systems]
        estimates = [
            {name: one.measured(part) for name, part in own.items()} for one, own in zip(judged, parts, strict=True)
        ]
        quick = [(one.coarse(), list(own.values())) for one, own in zip(judged, parts, strict=True)]
        values = draws.over(lambda weight: np.concatenate([all_of(one.resampled(weight), own) for one, own in quick]))
        # What the resamples of fewer steps are about is moved to what they stand for.
        about = np.concatenate([all_of(one, own) for one, own in quick])
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
        """Whether all resamples give the same."""
        values = np.hstack(list(self.values.values()))
        return bool(np.isfinite(values).all() and (np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)).all())

    def mean(self, names: Sequence[str], called: str) -> Resampled:
        """One number under a name of its own: the mean of all values of some, which are of one kind."""
        estimate = np.mean(np.concatenate([self.estimates[name].ravel() for name in names]))
        values = np.hstack([self.values[name] for name in names]).mean(axis=1, keepdims=True)
        return Resampled(
            {called: self.measures[names[0]]}, {called: np.asarray(estimate)}, {called: values}, self.n_units
        )

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """A number with its interval."""
        estimate = self.estimates[name]
        quantile = student_quantile(level, self.n_units)
        low, high = self.measures[name].bounds(estimate.ravel(), self.values[name], quantile)
        return _interval(estimate, estimate, low, high, level)

    def difference_to(self, other: Resampled, name: str, level: float = 0.95) -> PairedDifference:
        """How much a number of another system exceeds this one's."""
        before, after = (each.estimates[name].ravel() for each in (self, other))
        like, gap, resampled = self.estimates[name], after - before, other.values[name] - self.values[name]
        if not (np.isfinite(resampled).all() and np.isfinite(gap).all()):
            raise InvalidDataError(
                "The metric is infinite for one of the systems, so their difference tells nothing. Bound the llrs, as "
                "IsotonicCalibrator(bounded=True) does."
            )
        spread = resampled.std(axis=0, ddof=1)
        reach = student_quantile(level, self.n_units) * spread
        deviations = np.divide(np.abs(gap), spread, out=np.where(gap == 0, 0.0, np.inf), where=spread > 0)
        p_value = 2 * t.sf(deviations * np.sqrt((self.n_units - 1) / self.n_units), self.n_units - 1)
        found = _interval(like, after - before, gap - reach, gap + reach, level)
        first, second, chance = (_as_came(np.asarray(part), like) for part in (before, after, p_value))
        return PairedDifference(first, second, found, chance)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidParameterError(f"level must lie between 0 and 1, but is {level!r}.")


def _interval(like: Floats, estimate: Floats, low: Floats, high: Floats, level: float) -> Interval:
    return Interval(_as_came(estimate, like), _as_came(low, like), _as_came(high, like), level)


def _as_came(values: Floats, like: Floats) -> Any:
    return float(values.reshape(())) if like.ndim == 0 else values.reshape(like.shape)


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


class SortedScores:
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

    def resampled(self, times: Floats) -> SortedScores:
        """The same rows with other frequencies: how often each row was drawn."""
        resample = copy(self)
        resample.weight = times if self.weight is None else times * self.weight
        resample._trials = {key: trials.reweighted(times) for key, trials in self._trials.items()}
        return resample

    def coarse(self) -> SortedScores:
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


def all_of(judged: SortedScores, parts: list[Measure]) -> Floats:
    """Several measures side by side."""
    return np.concatenate([judged.measured(part).ravel() for part in parts])
