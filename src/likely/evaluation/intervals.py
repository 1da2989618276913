"""How far numbers can be trusted: bootstrap intervals, and paired comparison of two systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm, skew, t

from likely._typing import Floats
from likely._validation import check_labels, encode_labels
from likely.evaluation import costs, metrics
from likely.evaluation.bootstrap import Bootstrap
from likely.evaluation.trials import Trials
from likely.exceptions import InvalidDataError, InvalidParameterError

__all__ = ["Interval", "PairedDifference", "interval", "intervals", "paired_difference"]

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

_MINIMA = {
    metrics.eer,
    metrics.min_cllr,
    metrics.min_dcf,
    costs.bayes_risk_after_affine,
    costs.cross_entropy_after_affine,
}
"""Numbers that were made small on the very rows they are measured on, so that they come out too small."""


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
            return f"Interval(of {np.shape(self.estimate)} numbers, level={self.level})"
        return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"


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
        How often a difference as far from 0 would come about if there were none (two-sided, normal).
    """

    first: Any
    second: Any
    difference: Interval
    p_value: Any


def interval(
    metric: Callable[..., Any],
    y_true: Any,
    scores: Any,
    *args: Any,
    groups: Any = None,
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
    the estimate less twice the bias that the resamples show. ``docs/intervals.md`` has the coverage of all of them as
    measured. Where no trial is decided wrongly, resamples know nothing of rarer mistakes and the interval is empty: the
    truth may then be up to about 3 in the number of trials of a class.

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
    >>> interval(cllr, y, llr)
    0.5337 [0.4369, 0.6971]
    >>> interval(min_dcf, y, llr, 0.1)
    0.6325 [0.5462, 0.8775]
    """
    setup = {"groups": groups, "n_resamples": n_resamples, "level": level, "seed": seed}
    return intervals({"": _Measure(metric, args, options)}, y_true, scores, **setup)[""]


def intervals(
    measures: Mapping[str, Callable[..., Any] | _Measure],
    y_true: Any,
    scores: Any,
    *,
    groups: Any = None,
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
    y_true, scores, groups, n_resamples, level, seed
        As for :func:`interval`.

    Examples
    --------
    >>> from functools import partial
    >>> from likely import cllr, eer, min_dcf
    >>> y, llr = [0, 0, 0, 0, 1, 1, 1, 1], [-3.0, -2.0, -1.0, 1.0, -0.5, 2.0, 3.0, 4.0]
    >>> found = intervals({"Cllr": cllr, "EER": eer, "minDCF": partial(min_dcf, applications=0.5)}, y, llr)
    >>> sorted(found), round(found["Cllr"].estimate, 3)
    (['Cllr', 'EER', 'minDCF'], 0.536)
    """
    _check_level(level)
    judged = _Judged(y_true, scores)
    draws = Bootstrap(judged.codes, groups, n_resamples, seed)
    parts = [_Measure.of(measure) for measure in measures.values()]
    estimates = [judged.measured(part) for part in parts]
    resampled = draws.over(lambda weight: _all_of(judged.resampled(weight), parts))
    stops = np.cumsum([estimate.size for estimate in estimates])
    found = {}
    for name, part, estimate, values in zip(
        measures, parts, estimates, np.split(resampled, stops[:-1], 1), strict=True
    ):
        bounds = _around_minimum if part.function in _MINIMA else _accelerated
        low, high = bounds(estimate.ravel(), values, _quantile(level, draws.n_units))
        found[name] = _interval(estimate, estimate, low, high, level)
    return found


def paired_difference(
    metric: Callable[..., Any],
    y_true: Any,
    first: Any,
    second: Any,
    *args: Any,
    groups: Any = None,
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
    metric, y_true, *args, groups, n_resamples, level, seed, **options
        As for :func:`interval`.

    Notes
    -----
    The interval is normal; where the metric is a minimum, twice the bias that the resamples show is taken off.

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
    systems, part = [_Judged(y_true, scores) for scores in (first, second)], _Measure(metric, args, options)
    draws = Bootstrap(systems[0].codes, groups, n_resamples, seed)
    before, after = (system.measured(part) for system in systems)
    resampled = draws.over(lambda w: np.subtract(*(system.resampled(w).measured(part) for system in systems[::-1])))
    if not (np.isfinite(resampled).all() and np.isfinite(after - before).all()):
        raise InvalidDataError(
            "The metric is infinite for one of the systems, so their difference tells nothing. Bound the llrs, as "
            "IsotonicCalibrator(bounded=True) does."
        )
    gap, spread = after - before, resampled.std(axis=0, ddof=1)
    if metric in _MINIMA:
        gap = gap - 2 * (resampled.mean(axis=0) - gap)
    reach = _quantile(level, draws.n_units) * spread
    deviations = np.divide(np.abs(gap), spread, out=np.where(gap == 0, 0.0, np.inf), where=spread > 0)
    found = _interval(before, after - before, gap - reach, gap + reach, level)
    p_value = _as_came(np.asarray(2 * norm.sf(deviations)), before)
    return PairedDifference(_as_came(before, before), _as_came(after, before), found, p_value)


@dataclass(frozen=True, eq=False)
class _Measure:
    """A metric with what it takes besides truth and scores."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]

    @classmethod
    def of(cls, measure: Any) -> _Measure:
        if isinstance(measure, _Measure):
            return measure
        if not isinstance(measure, partial):
            return cls(measure, (), {})
        if measure.args:
            raise InvalidParameterError("Bind what a metric takes by name, as in partial(min_dcf, applications=0.1).")
        return cls(measure.func, (), measure.keywords)


class _Judged:
    """Truth and scores, sorted once for all metrics that can use it, at their own weights or those of a resample."""

    def __init__(self, y_true: Any, scores: Any) -> None:
        self.y_true, self.scores = check_labels("Evaluation", y_true), scores
        self.codes = encode_labels(self.y_true)[1]
        self.weight: Floats | None = None
        self._trials: dict[Any, Trials] = {}

    def resampled(self, weight: Floats) -> _Judged:
        """The same rows, drawn so many times each."""
        resample = copy(self)
        resample.weight = weight
        resample._trials = {key: trials.reweighted(weight) for key, trials in self._trials.items()}
        return resample

    def measured(self, part: _Measure) -> Floats:
        options = dict(part.options)
        given = options.pop("sample_weight", None)
        if part.function in _BY_TRIALS:
            trials = self._trials_of(options.pop("pos_label", None), given)
            value = _BY_TRIALS[part.function](trials, *part.args, **options)
        else:
            weights = (
                given if self.weight is None else self.weight if given is None else self.weight * np.asarray(given)
            )
            value = part.function(self.y_true, self.scores, *part.args, sample_weight=weights, **options)
        return np.asarray(value, dtype=np.float64)

    def _trials_of(self, pos_label: Any, sample_weight: Any) -> Trials:
        """Made by the first measurement, that of the estimate, so that resamples only reweight it."""
        key = (pos_label, id(sample_weight))
        if key not in self._trials:
            self._trials[key] = Trials(self.y_true, self.scores, pos_label=pos_label, sample_weight=sample_weight)
        return self._trials[key]


def _all_of(judged: _Judged, parts: list[_Measure]) -> Floats:
    return np.concatenate([judged.measured(part).ravel() for part in parts])


def _accelerated(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated percentiles (Efron's BCa)."""
    n = len(values)
    below = (values < estimate).mean(axis=0) + (values == estimate).mean(axis=0) / 2
    bias = norm.ppf(np.clip(below, 1 / n, 1 - 1 / n))
    finite = np.asarray(np.isfinite(values).all(axis=0))
    acceleration = np.zeros(len(estimate))
    moving = np.flatnonzero(finite)[values[:, finite].std(axis=0) > 0]
    acceleration[moving] = skew(values[:, moving]) / 6
    bounds = []
    for end in (-z, z):
        shifted = bias + (bias + end) / np.maximum(1 - acceleration * (bias + end), 0.1)
        shares = np.asarray(norm.cdf(shifted))
        bounds.append(np.array([_quantile_of(*pair) for pair in zip(values.T, shares, strict=True)]))
    return bounds[0], bounds[1]


def _quantile_of(values: Floats, share: float) -> float:
    """A quantile, interpolated unless there is an infinity, since nothing lies between infinities."""
    return float(
        np.quantile(values, share) if np.isfinite(values).all() else np.quantile(values, share, method="nearest")
    )


def _around_minimum(estimate: Floats, values: Floats, z: float) -> tuple[Floats, Floats]:
    """A normal interval of the logarithm, about the estimate less twice the bias that the resamples show."""
    mean = values.mean(axis=0)
    positive = (estimate > 0) & (mean > 0)
    ratio = np.divide(estimate, mean, out=np.ones(len(estimate)), where=positive)
    spread = np.divide(values.std(axis=0, ddof=1), mean, out=np.zeros(len(estimate)), where=positive)
    centre = estimate * ratio**2
    return np.asarray(centre * np.exp(-z * spread)), np.asarray(centre * np.exp(z * spread))


def _quantile(level: float, n_units: int) -> float:
    """Of Student's t, with the spread of a sample made up for: resamples of few units vary too little."""
    return float(t.ppf((1 + level) / 2, n_units - 1) * np.sqrt(n_units / (n_units - 1)))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidParameterError(f"level must lie between 0 and 1, but is {level!r}.")


def _interval(like: Floats, estimate: Floats, low: Floats, high: Floats, level: float) -> Interval:
    return Interval(_as_came(estimate, like), _as_came(low, like), _as_came(high, like), level)


def _as_came(values: Floats, like: Floats) -> Any:
    return float(values.reshape(())) if like.ndim == 0 else values.reshape(like.shape)
