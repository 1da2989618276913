"""Numbers of a leaderboard: what scores cost at each application, as they are, calibrated, and at best."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from likely._typing import Floats, Labels
from likely.calibration import AffineCalibrator
from likely.decisions import Application
from likely.evaluation import (
    Interval,
    Trials,
    actual_dcf,
    bayes_risk,
    cllr,
    cross_entropy,
    min_dcf,
)
from likely.evaluation.intervals import Resampled
from likely.resampling import kfold_calibrate
from likely.selection.data import RowSet

__all__ = ["Details", "Judge", "Standing"]

RESAMPLED_ROWS, LEAST_RESAMPLES, MOST_RESAMPLES = 2e7, 200, 1000
"""Rows that are drawn for an interval: fewer resamples of many rows, whose costs vary little."""


@dataclass(frozen=True, eq=False)
class Standing:
    """What a system costs.

    Attributes
    ----------
    minimum : list of float
        Normalised cost at each application with the best threshold (two classes), or after the best affine calibration
        on the same rows (more), if that costs less than the scores as they are: it is made for evidence, not for costs.
    actual : list of float
        Normalised cost of the decisions that the calibrated scores lead to; no row is calibrated by a map that saw it.
    uncalibrated : list of float
        That of the scores as they are.
    cllr : float
        Of the calibrated scores: cross-entropy at equal priors, 1 where the scores say nothing.
    min_cllr : float
        What is left of it at best.
    """

    minimum: list[float]
    actual: list[float]
    uncalibrated: list[float]
    cllr: float
    min_cllr: float
    intervals: dict[str, Interval] = field(default_factory=dict)


class Judge:
    """Truth and applications, against which scores are held.

    Parameters
    ----------
    y : array of labels
    classes : array of labels
    applications : list of Application
        In class order.
    weight, groups
        Of the rows.
    """

    def __init__(
        self, y: Labels, classes: Labels, applications: list[Application], weight: Floats | None, groups: Any
    ) -> None:
        self.y, self.classes, self.applications, self.weight, self.groups = y, classes, applications, weight, groups
        self.is_binary = len(classes) == 2
        self._setup = {"sample_weight": weight, "groups": groups}

    @classmethod
    def of(cls, rows: RowSet, classes: Labels, applications: list[Application]) -> Judge:
        """Of the rows that systems are judged on."""
        return cls(rows.y, classes, applications, rows.weight, rows.groups)

    def calibrated(self, calibrator: Any, scores: Floats, folds: Any) -> Floats:
        """Scores calibrated, or fused, by maps that have not seen their fold."""
        return kfold_calibrate(calibrator, bounded(scores), self.y, folds, self.groups, self.weight)

    def trained(self, calibrator: Any, scores: Floats) -> Any:
        """A calibrator or fuser trained on all scores."""
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        return clone(calibrator).fit(bounded(scores), self.y, **weights)

    def standing(self, scores: Floats, calibrated: Floats) -> Standing:
        """Numbers of a system, without intervals."""
        return self._of_two(scores, calibrated) if self.is_binary else self._of_more(scores, calibrated)

    def _of_two(self, scores: Floats, calibrated: Floats) -> Standing:
        raw, mapped = (Trials(self.y, part, sample_weight=self.weight) for part in (scores, calibrated))
        minima, as_is = raw.min_dcf(self.applications), raw.actual_dcf(self.applications)
        actuals = mapped.actual_dcf(self.applications)
        return Standing(minima.tolist(), actuals.tolist(), as_is.tolist(), mapped.cllr(), raw.min_cllr())

    def _of_more(self, scores: Floats, calibrated: Floats) -> Standing:
        """As :func:`bayes_risk_after_affine` has it, with one calibration for all applications of the same priors."""
        equal = Application.equal(len(self.classes)).priors
        calibrations = {app.priors.tobytes(): app.priors for app in self.applications} | {equal.tobytes(): equal}
        best = {
            key: self.trained(AffineCalibrator(priors), scores).transform(scores)
            for key, priors in calibrations.items()
        }
        as_is, actuals = ([self._risk(part, app) for app in self.applications] for part in (scores, calibrated))
        mended = [self._risk(best[app.priors.tobytes()], app) for app in self.applications]
        minima = [min(pair) for pair in zip(mended, as_is, strict=True)]
        return Standing(minima, actuals, as_is, self._entropy(calibrated), self._entropy(best[equal.tobytes()]))

    def _risk(self, scores: Floats, application: Application) -> float:
        return bayes_risk(self.y, scores, application, labels=self.classes, sample_weight=self.weight)

    def _entropy(self, scores: Floats) -> float:
        """Cross-entropy at equal priors, 1 where the scores say nothing."""
        nats = cross_entropy(self.y, scores, labels=self.classes, sample_weight=self.weight)
        return float(nats / np.log(len(self.classes)))

    def details(self, systems: list[tuple[Floats, Floats]]) -> list[Details]:
        """What costs and Cllr of systems, given by their scores and calibrated scores, are in resamples of the rows.

        Minima only of two classes, whose search is quick.
        """
        measures = {"actual": self._costs("actual") | {"cllr": self._cllr()}}
        measures |= {"minimum": self._costs("minimum")} if self.is_binary else {}
        parts = [(of, pair[which == "actual"]) for pair in systems for which, of in measures.items()]
        n_resamples = int(np.clip(RESAMPLED_ROWS / len(self.y), LEAST_RESAMPLES, MOST_RESAMPLES))
        found = iter(Resampled.of_each(parts, self.y, **self._setup, n_resamples=n_resamples))
        names = [str(i) for i in range(len(self.applications))]
        return [Details({which: next(found) for which in measures}, names) for _ in systems]

    def _costs(self, which: str) -> dict[str, Any]:
        """The cost at each application."""
        if self.is_binary:
            metric = min_dcf if which == "minimum" else actual_dcf
            return {str(i): partial(metric, applications=app) for i, app in enumerate(self.applications)}
        return {
            str(i): partial(bayes_risk, application=app, labels=self.classes) for i, app in enumerate(self.applications)
        }

    def _cllr(self) -> Any:
        return cllr if self.is_binary else partial(cross_entropy, labels=self.classes)


def bounded(scores: Floats) -> Floats:
    """Scores that calibrators can learn from: infinite ones lie as far out as all others, and a little further."""
    finite = scores[np.isfinite(scores)]
    if finite.size in (0, scores.size):
        return scores
    return np.clip(scores, finite.min() - 1, finite.max() + 1)


@dataclass(frozen=True, eq=False)
class Details:
    """Resampled costs of a system: "minimum" (of two classes) and "actual", by application."""

    found: dict[str, Resampled]
    names: list[str]

    def intervals(self) -> dict[str, Interval]:
        """Intervals of costs, as arrays over the applications, and of two classes' Cllr."""
        parts = {which: self._together(resampled) for which, resampled in self.found.items()}
        return parts | ({"cllr": self.found["actual"].interval("cllr")} if "minimum" in self.found else {})

    def _together(self, resampled: Resampled) -> Interval:
        parts = [resampled.interval(name) for name in self.names]
        estimate, low, high = (np.array([getattr(part, end) for part in parts]) for end in ("estimate", "low", "high"))
        return Interval(estimate, low, high, parts[0].level)

    @property
    def is_constant(self) -> bool:
        """Whether all resamples cost the same, as they do where nothing is decided wrongly."""
        return self.found["actual"].mean(self.names, "").is_constant

    def p_value(self, best: Details, by: str) -> float | None:
        """How often a difference to the best, in what systems are put in order by, would come about if there were none.

        Of more than two classes' minima that of the actual costs; None where one of the two is infinite.
        """
        which = "minimum" if by == "minimum" and "minimum" in self.found else "actual"
        names = ["cllr"] if by == "cllr" else self.names
        first, second = (each.found[which].mean(names, by) for each in (best, self))
        if not (np.isfinite(first.values[by]).all() and np.isfinite(second.values[by]).all()):
            return None
        return float(first.difference_to(second, by).p_value)
