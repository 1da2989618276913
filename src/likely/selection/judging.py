"""From scores to systems in order: applications named, scores calibrated, fused, judged, and judged again elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from likely._typing import Floats, Labels
from likely.blocks import for_each
from likely.calibration import AffineCalibrator, LogisticFusion
from likely.decisions import Application, as_application
from likely.evaluation import Interval, Trials, actual_dcf, bayes_risk, cllr, cross_entropy, min_dcf
from likely.evaluation.intervals import NO_MISTAKES, Resampled
from likely.exceptions import DegenerateDataError, InvalidParameterError, warn_of_degenerate_data
from likely.report.facts import finite_or_none, first_of_each, place_systems, rank_costs
from likely.resampling import kfold_calibrate
from likely.resampling.chains import floor_of, in_classes
from likely.selection.candidates import Candidate
from likely.selection.rows import RowSet
from likely.selection.scoring import CandidateScores, describe_error, record_warnings

RESAMPLED_ROWS, LEAST_RESAMPLES, MOST_RESAMPLES = 2e7, 200, 1000
"""Rows drawn for an interval in all resamples; there are fewer resamples of many rows, whose costs vary little."""

DETAILED = 10
"""Systems at the head of the leaderboard that get intervals and a test against the best."""

SIGNIFICANT = 0.05
"""Level of the test of the choice on the evaluation rows."""


@dataclass(frozen=True, eq=False)
class SystemCosts:
    """Normalised costs of a system.

    Attributes
    ----------
    minimum : list of float
        Normalised cost at each application with the best threshold (two classes), or after the best affine calibration
        on the same rows (more), if that costs less than the scores as given, as it minimises cross-entropy, not costs.
    actual : list of float
        Normalised cost of the decisions that the calibrated scores lead to; no row is calibrated by a map that saw it.
    uncalibrated : list of float
        Normalised cost of the scores as given.
    cllr : float
        Of the calibrated scores: cross-entropy at equal priors, 1 where the scores say nothing.
    min_cllr : float
        The least that calibration can leave of it.
    intervals : dict {measure: Interval}
        Of the first systems of a leaderboard.
    """

    minimum: list[float]
    actual: list[float]
    uncalibrated: list[float]
    cllr: float
    min_cllr: float
    intervals: dict[str, Interval] = field(default_factory=dict)

    def by(self, measure: str) -> float:
        """The number that systems are ordered by: a mean over applications, or Cllr."""
        if measure == "cllr":
            return self.cllr
        costs = self.minimum if measure == "minimum" else self.actual
        return sum(costs) / len(costs)


@dataclass(frozen=True, eq=False)
class System:
    """A candidate, or a fusion of several, with its scores and costs.

    Attributes
    ----------
    name, family : str
    parts : list of Candidate
        One, or those that are fused.
    raw : list of array
        Out-of-fold scores of each part, as it gave them.
    scores : array of shape (n,) for two classes, else (n, n_classes)
        Those of a single part; of a fusion, its own.
    calibrated : array of the same shape
        Calibrated by maps that have not seen the row's fold.
    standing : SystemCosts
        Its costs.
    p_value : float or None
        Of the paired difference to the best system, where it was tested.
    """

    name: str
    family: str
    parts: list[Candidate]
    raw: list[Floats]
    scores: Floats
    calibrated: Floats
    standing: SystemCosts
    p_value: float | None = None

    @property
    def is_fusion(self) -> bool:
        return len(self.parts) > 1

    @property
    def family_key(self) -> str:
        """The family; an outside system is a family by itself, since outside systems need not be alike."""
        return self.name if self.family == "outside" else self.family


def _or_error(make: Callable[..., System]) -> Callable[..., System | Exception]:
    """Return a system, or the exception that prevented it: no calibrator may be able to learn from its scores."""

    def attempt(*args: Any) -> System | Exception:
        try:
            return make(*args)
        except Exception as error:  # noqa: BLE001  a calibrator of anybody's may raise anything, and the others go on
            return error

    return attempt


@dataclass(frozen=True, eq=False)
class Ranking:
    """How systems are ordered, fused and calibrated."""

    by: str
    fuse: int
    calibrator: Any

    def systems(self, found: CandidateScores, judge: Judge, folds: Any) -> tuple[list[System], list[str]]:
        """Make all systems, the best first, and return them with the warnings."""
        with record_warnings() as notes:
            names = list(found.scores)
            single = _successes(
                names, for_each(lambda name: self._make_single(found, name, judge, folds), names), found
            )
            if not single:
                raise DegenerateDataError(f"No candidate could be compared. {_first_failure(found)}")
            ordered = self._order(single)
            ordered = self._order(ordered + self._make_fusions(ordered, found, judge, folds))
            detailed = self._add_intervals(ordered[:DETAILED], judge)
        return detailed + ordered[DETAILED:], notes

    @_or_error
    def _make_single(self, found: CandidateScores, name: str, judge: Judge, folds: Any) -> System:
        candidate, raw = found.candidates[name], found.scores[name]
        scores = in_classes(raw, len(judge.classes), _floor(candidate, raw))
        calibrated = judge.calibrate(self.calibrator, scores, folds)
        return System(name, candidate.family, [candidate], [raw], scores, calibrated, judge.measure(scores, calibrated))

    def _make_fusions(self, ordered: list[System], found: CandidateScores, judge: Judge, folds: Any) -> list[System]:
        """Fuse the best systems of the best two families, of the best three, and so on."""
        leaders = first_of_each(ordered, lambda system: system.family_key)[: self.fuse]
        groups = [leaders[:k] for k in range(2, len(leaders) + 1)]
        fused = for_each(lambda members: self._fuse(members, judge, folds), groups)
        return _successes([_fusion_of(members) for members in groups], fused, found)

    @_or_error
    def _fuse(self, members: list[System], judge: Judge, folds: Any) -> System:
        inputs = np.stack([member.scores for member in members], axis=1)
        fused = judge.calibrate(LogisticFusion(), inputs, folds)
        parts, raw = [member.parts[0] for member in members], [member.raw[0] for member in members]
        return System(_fusion_of(members), "fusion", parts, raw, fused, fused, judge.measure(fused, fused))

    def _order(self, systems: list[System]) -> list[System]:
        """Sort by cost, then by Cllr; the sort is stable, and simpler systems come first."""
        return sorted(systems, key=lambda system: (system.standing.by(self.by), system.standing.cllr))

    def _add_intervals(self, ordered: list[System], judge: Judge) -> list[System]:
        """Add intervals and a paired test against the first system."""
        details = judge.resample([(system.scores, system.calibrated) for system in ordered])
        if any(own.is_constant for own in details):
            warn_of_degenerate_data(NO_MISTAKES)
        return [
            replace(
                system,
                standing=replace(system.standing, intervals=own.intervals()),
                p_value=own.p_value(details[0], self.by) if place else None,
            )
            for place, (system, own) in enumerate(zip(ordered, details, strict=True))
        ]

    def verdict(
        self, systems: list[System], found: CandidateScores, judge: Judge, there: Judge
    ) -> tuple[Verdict, list[str]]:
        """Judge all systems on the evaluation rows, calibrated by maps trained before; return warnings too."""
        with record_warnings() as notes:
            return self._verdict(systems, found, judge, there), notes

    def _verdict(self, systems: list[System], found: CandidateScores, judge: Judge, there: Judge) -> Verdict:
        known = [system for system in systems if all(part.name in found.evaluation for part in system.parts)]
        mapped = for_each(lambda system: self._score_elsewhere(system, found, judge), known)
        judged = [
            EvaluatedSystem(system.name, system.family, there.measure(*scores))
            for system, scores in zip(known, mapped, strict=True)
        ]
        costs = [each.standing.by(self.by) for each in judged]
        order = sorted(range(len(known)), key=lambda i: (costs[i], judged[i].standing.cllr))
        place = rank_costs(costs)[0]
        best, own = there.resample([mapped[order[0]], mapped[0]])
        chance = 1.0 if place == 1 else own.p_value(best, self.by)
        p_value = 1.0 if chance is None else min(1.0, chance * max(1, len(known) - 1))
        judged[0] = chosen = replace(judged[0], standing=replace(judged[0].standing, intervals=own.intervals()))
        return Verdict([judged[i] for i in order], chosen, place, p_value, self.by)

    def _score_elsewhere(self, system: System, found: CandidateScores, judge: Judge) -> tuple[Floats, Floats]:
        """Scores of the evaluation rows, and the same after calibration or fusion trained on the rows compared on."""
        n_classes = len(judge.classes)
        floors = [_floor(part, raw) for part, raw in zip(system.parts, system.raw, strict=True)]
        new = [
            in_classes(found.evaluation[p.name], n_classes, floor)
            for p, floor in zip(system.parts, floors, strict=True)
        ]
        if not system.is_fusion:
            return new[0], judge.train(self.calibrator, system.scores).transform(new[0])
        old = [in_classes(raw, n_classes, floor) for raw, floor in zip(system.raw, floors, strict=True)]
        fused = judge.train(LogisticFusion(), np.stack(old, axis=1)).transform(np.stack(new, axis=1))
        return fused, fused


def _successes(names: list[str], made: list[System | Exception], found: CandidateScores) -> list[System]:
    """Keep the systems that could be made and record the reasons of the others."""
    found.failures.update(
        {name: describe_error(e) for name, e in zip(names, made, strict=True) if isinstance(e, Exception)}
    )
    return [each for each in made if isinstance(each, System)]


def _fusion_of(members: list[System]) -> str:
    return "fusion: " + " + ".join(member.family_key for member in members)


def _floor(candidate: Candidate, raw: Floats) -> float:
    return -np.inf if candidate.estimator is None else floor_of(raw, candidate.estimator)


def _first_failure(found: CandidateScores) -> str:
    name, reason = next(iter(found.failures.items()), ("", ""))
    return f"The first, {name!r}, failed: {reason}"


@dataclass(frozen=True, eq=False)
class EvaluatedSystem:
    """A system and its costs on the evaluation rows, calibrated by maps trained before."""

    name: str
    family: str
    standing: SystemCosts


@dataclass(frozen=True, eq=False)
class Verdict:
    """How systems chosen by cross-validation do on rows that nothing was chosen on.

    Attributes
    ----------
    systems : list of EvaluatedSystem
        All of them, the best on the evaluation rows first, by the same measure as they were chosen by.
    chosen : EvaluatedSystem
        The one that was chosen.
    place : int
        Its place among all systems there; systems that cost the same share one.
    p_value : float
        Of the paired difference of the chosen one to the best there, on the evaluation rows, times the number of
        others, since the best there is the best of several (Bonferroni); at most 1, and 1 if it is the best.
    by : str
    """

    systems: list[EvaluatedSystem]
    chosen: EvaluatedSystem
    place: int
    p_value: float
    by: str

    @property
    def stands(self) -> bool:
        """Whether the evaluation rows do not tell the chosen system from the best there."""
        return self.place == 1 or self.p_value >= SIGNIFICANT

    def __str__(self) -> str:
        best, cost = self.systems[0], self.chosen.standing.by(self.by)
        text = f"{self.chosen.name!r}, chosen by cross-validation, costs {cost:.3f} ({self.by}) on the evaluation rows"
        if self.place == 1:
            return f"{text}: the least of all {len(self.systems)} systems. The choice was right."
        text += (
            f", place {self.place} of {len(self.systems)}. The best there, {best.name!r}, costs "
            f"{best.standing.by(self.by):.3f}"
        )
        if self.stands:
            return f"{text}, as the best of so many may by chance (p = {self.p_value:.2g}). The choice stands."
        return f"{text}, which is more than chance (p = {self.p_value:.2g}). Another choice would have been better."

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        systems = [
            {
                "name": each.name,
                "family": each.family,
                "minimum": each.standing.minimum,
                "actual": each.standing.actual,
                "cllr": finite_or_none(each.standing.cllr),
            }
            for each in self.systems
        ]
        place_systems(systems, self.by)
        return {
            "verdict": str(self),
            "chosen": self.chosen.name,
            "place": self.place,
            "p_value": finite_or_none(self.p_value),
            "systems": systems,
        }


class Judge:
    """Labels and applications that scores are measured against.

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
        """Make a judge of the rows that systems are judged on."""
        return cls(rows.y, classes, applications, rows.weight, rows.groups)

    def calibrate(self, calibrator: Any, scores: Floats, folds: Any) -> Floats:
        """Calibrate or fuse scores by maps that have not seen their fold."""
        return kfold_calibrate(calibrator, clip_infinite(scores), self.y, folds, self.groups, self.weight)

    def train(self, calibrator: Any, scores: Floats) -> Any:
        """Train a calibrator or fuser on all scores."""
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        return clone(calibrator).fit(clip_infinite(scores), self.y, **weights)

    def measure(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """Measure the costs of a system, without intervals."""
        return (
            self._measure_binary(scores, calibrated) if self.is_binary else self._measure_multiclass(scores, calibrated)
        )

    def _measure_binary(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        raw, mapped = (Trials(self.y, part, sample_weight=self.weight) for part in (scores, calibrated))
        minima, as_is = raw.min_dcf(self.applications), raw.actual_dcf(self.applications)
        actuals = mapped.actual_dcf(self.applications)
        return SystemCosts(minima.tolist(), actuals.tolist(), as_is.tolist(), mapped.cllr(), raw.min_cllr())

    def _measure_multiclass(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """As :func:`bayes_risk_after_affine` has it, with one calibration for all applications of the same priors."""
        equal = Application.equal(len(self.classes)).priors
        calibrations = {app.priors.tobytes(): app.priors for app in self.applications} | {equal.tobytes(): equal}
        best = {
            key: self.train(AffineCalibrator(priors), scores).transform(scores) for key, priors in calibrations.items()
        }
        as_is, actuals = ([self._risk(part, app) for app in self.applications] for part in (scores, calibrated))
        mended = [self._risk(best[app.priors.tobytes()], app) for app in self.applications]
        minima = [min(pair) for pair in zip(mended, as_is, strict=True)]
        return SystemCosts(minima, actuals, as_is, self._entropy(calibrated), self._entropy(best[equal.tobytes()]))

    def _risk(self, scores: Floats, application: Application) -> float:
        return bayes_risk(self.y, scores, application, labels=self.classes, sample_weight=self.weight)

    def _entropy(self, scores: Floats) -> float:
        """Cross-entropy at equal priors, 1 where the scores say nothing."""
        nats = cross_entropy(self.y, scores, labels=self.classes, sample_weight=self.weight)
        return float(nats / np.log(len(self.classes)))

    def resample(self, systems: list[tuple[Floats, Floats]]) -> list[ResampledCosts]:
        """Costs and Cllr of systems, given as (scores, calibrated scores), in bootstrap resamples of the rows.

        Minimum costs are resampled for two classes only, where the search is fast.
        """
        measures = {"actual": self._costs("actual") | {"cllr": self._cllr()}}
        measures |= {"minimum": self._costs("minimum")} if self.is_binary else {}
        parts = [(of, pair[which == "actual"]) for pair in systems for which, of in measures.items()]
        n_resamples = int(np.clip(RESAMPLED_ROWS / len(self.y), LEAST_RESAMPLES, MOST_RESAMPLES))
        found = iter(Resampled.of_each(parts, self.y, **self._setup, n_resamples=n_resamples))
        names = [str(i) for i in range(len(self.applications))]
        return [ResampledCosts({which: next(found) for which in measures}, names) for _ in systems]

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


def clip_infinite(scores: Floats) -> Floats:
    """Clip infinite scores to one beyond the range of the finite ones, so that calibrators can learn from them."""
    finite = scores[np.isfinite(scores)]
    if finite.size in (0, scores.size):
        return scores
    return np.clip(scores, finite.min() - 1, finite.max() + 1)


@dataclass(frozen=True, eq=False)
class ResampledCosts:
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
        """Whether all resamples cost the same, as when no decision is wrong."""
        return self.found["actual"].mean(self.names, "").is_constant

    def p_value(self, best: ResampledCosts, by: str) -> float | None:
        """P-value of the paired difference to the best system, in the measure that orders systems.

        Minima of more than two classes are not resampled, so their actual costs are tested. None if a cost is infinite.
        """
        which = "minimum" if by == "minimum" and "minimum" in self.found else "actual"
        names = ["cllr"] if by == "cllr" else self.names
        first, second = (each.found[which].mean(names, by) for each in (best, self))
        if not (np.isfinite(first.values[by]).all() and np.isfinite(second.values[by]).all()):
            return None
        return float(first.difference_to(second, by).p_value)


def name_applications(given: Any, classes: Labels, rejecting: bool = False) -> dict[str, Application]:
    """Name applications and put them in class order; drop reject costs unless rows may be rejected."""
    given = Application.equal(len(classes)) if given is None else given
    if isinstance(given, Mapping):
        parts = {str(name): as_application(part) for name, part in given.items()}
    else:
        listed = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
        applications = [as_application(part) for part in listed]
        parts = dict(zip(_names_of(applications), applications, strict=True))
    if not parts:
        raise InvalidParameterError("applications must name one application at least.")
    return {name: _plain(part.aligned(classes), rejecting) for name, part in parts.items()}


def find_target(given: Any, classes: Labels) -> Any:
    """The target of two classes: the one an application names (``positive=``), else the second; None of more."""
    if len(classes) != 2:
        return None
    listed = (
        list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    )
    named = [app.labels[1] for app in listed if isinstance(app, Application) and app.labels and app.labels[0] is None]
    return named[0] if named else classes[1].item() if hasattr(classes[1], "item") else classes[1]


def _plain(application: Application, rejecting: bool) -> Application:
    plain = Application(
        dict(zip(application.labels, application.priors.tolist(), strict=True))
        if application.labels
        else application.priors,
        application.costs,
        application.reject_cost if rejecting else None,
    )
    plain.constant_cost  # noqa: B018  refuses an application in which deciding costs nothing
    return plain


def _names_of(applications: list[Application]) -> list[str]:
    """A name for each application, numbered where it occurs more than once."""
    names = [_describe_application(application) for application in applications]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]


def _describe_application(application: Application) -> str:
    if application.n_classes == 2:
        return f"effective prior {application.effective_prior:.3g}"
    equal = np.ptp(application.priors) < 1e-12
    return "equal priors" if equal else "priors " + ", ".join(f"{prior:.3g}" for prior in application.priors)
