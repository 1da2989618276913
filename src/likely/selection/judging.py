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
from likely.selection.scoring import CandidateScores, describe_error

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


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems made of the candidates' scores: calibrated, judged, put in order and fused.

    Attributes
    ----------
    found : CandidateScores
    judge : Judge
        Of the rows compared on.
    folds : list of (train, test)
        By which calibrators and fusers are judged.
    by, fuse, calibrator
        As :func:`likely.compare` takes them.
    """

    found: CandidateScores
    judge: Judge
    folds: Any
    by: str
    fuse: int
    calibrator: Any

    def systems(self) -> list[System]:
        """Make all systems, the best first, with intervals and a test of those at the head."""
        scored = [name for name in self.found.candidates if name not in self.found.failures]
        single = self._attempt(self._make_single, {name: name for name in scored})
        if not single:
            name, reason = next(iter(self.found.failures.items()), ("", ""))
            raise DegenerateDataError(f"No candidate could be compared. The first, {name!r}, failed: {reason}")
        single = self._order(single)
        leaders = first_of_each(single, lambda system: system.family_key)[: self.fuse]
        groups = [leaders[:k] for k in range(2, len(leaders) + 1)]  # the best of two families, of three, and so on
        fusions = self._attempt(self._fuse, {_name_fusion(members): members for members in groups})
        ordered = self._order(single + fusions)
        return self._add_intervals(ordered[:DETAILED]) + ordered[DETAILED:]

    def _attempt(self, make: Callable[[Any], System], items: dict[str, Any]) -> list[System]:
        """Make a system of each item; an error is recorded as the reason why there is no such system."""

        def attempt(item: Any) -> System | Exception:
            try:
                return make(item)
            except Exception as error:  # noqa: BLE001  a calibrator of the user may raise anything, and others continue
                return error

        made = dict(zip(items, for_each(attempt, list(items.values())), strict=True))
        self.found.failures.update({k: describe_error(each) for k, each in made.items() if isinstance(each, Exception)})
        return [each for each in made.values() if isinstance(each, System)]

    def _make_single(self, name: str) -> System:
        candidate, raw = self.found.candidates[name], self.found.scores[name]
        scores = in_classes(raw, len(self.judge.classes), _floor(candidate, raw))
        calibrated = self.judge.calibrate(self.calibrator, scores, self.folds)
        costs = self.judge.measure(scores, calibrated)
        return System(name, candidate.family, [candidate], [raw], scores, calibrated, costs)

    def _fuse(self, members: list[System]) -> System:
        inputs = np.stack([member.scores for member in members], axis=1)
        fused = self.judge.calibrate(LogisticFusion(), inputs, self.folds)
        parts, raw = [member.parts[0] for member in members], [member.raw[0] for member in members]
        return System(_name_fusion(members), "fusion", parts, raw, fused, fused, self.judge.measure(fused, fused))

    def _order(self, systems: list[System]) -> list[System]:
        """Sort by cost, then by Cllr; the sort is stable, and simpler systems come first."""
        return sorted(systems, key=lambda system: (system.standing.by(self.by), system.standing.cllr))

    def _add_intervals(self, ordered: list[System]) -> list[System]:
        """Add intervals and a paired test against the first system."""
        details = self.judge.resample([(system.scores, system.calibrated) for system in ordered])
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

    def verdict(self, systems: list[System], there: Judge) -> Verdict:
        """Judge all systems on the evaluation rows, calibrated by maps trained before."""
        known = [system for system in systems if all(part.name in self.found.evaluation for part in system.parts)]
        mapped = for_each(self._score_elsewhere, known)
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

    def _score_elsewhere(self, system: System) -> tuple[Floats, Floats]:
        """Scores of the evaluation rows, and the same after calibration or fusion trained on the rows compared on."""
        old, new = [], []
        for part, raw in zip(system.parts, system.raw, strict=True):
            n_classes, floor = len(self.judge.classes), _floor(part, raw)
            old.append(in_classes(raw, n_classes, floor))
            new.append(in_classes(self.found.evaluation[part.name], n_classes, floor))
        if not system.is_fusion:
            return new[0], self.judge.train(self.calibrator, old[0]).transform(new[0])
        fused = self.judge.train(LogisticFusion(), np.stack(old, axis=1)).transform(np.stack(new, axis=1))
        return fused, fused


def _name_fusion(members: list[System]) -> str:
    return "fusion: " + " + ".join(member.family_key for member in members)


def _floor(candidate: Candidate, raw: Floats) -> float:
    return -np.inf if candidate.estimator is None else floor_of(raw, candidate.estimator)


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


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows, with their labels, and applications that scores are measured against; all in class order."""

    rows: RowSet
    classes: Labels
    applications: list[Application]

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    def calibrate(self, calibrator: Any, scores: Floats, folds: Any) -> Floats:
        """Calibrate or fuse scores by maps that have not seen their fold."""
        rows = self.rows
        return kfold_calibrate(calibrator, clip_infinite(scores), rows.y, folds, rows.groups, rows.weight)

    def train(self, calibrator: Any, scores: Floats) -> Any:
        """Train a calibrator or fuser on all scores."""
        weights = {} if self.rows.weight is None else {"sample_weight": self.rows.weight}
        return clone(calibrator).fit(clip_infinite(scores), self.rows.y, **weights)

    def measure(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """Measure the costs of a system, without intervals."""
        if not self.is_binary:
            return self._measure_multiclass(scores, calibrated)
        raw, mapped = (Trials(self.rows.y, part, sample_weight=self.rows.weight) for part in (scores, calibrated))
        minima, as_is = raw.min_dcf(self.applications), raw.actual_dcf(self.applications)
        actuals = mapped.actual_dcf(self.applications)
        return SystemCosts(minima.tolist(), actuals.tolist(), as_is.tolist(), mapped.cllr(), raw.min_cllr())

    def _measure_multiclass(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """As :func:`bayes_risk_after_affine` has it, with one calibration for all applications of the same priors."""
        rows: dict[str, Any] = {"labels": self.classes, "sample_weight": self.rows.weight}
        equal = Application.equal(len(self.classes)).priors
        calibrations = {app.priors.tobytes(): app.priors for app in self.applications} | {equal.tobytes(): equal}
        best = {
            key: self.train(AffineCalibrator(training_prior=priors), scores).transform(scores)
            for key, priors in calibrations.items()
        }
        as_is, actuals, mended = (
            [bayes_risk(self.rows.y, of(app), app, **rows) for app in self.applications]
            for of in (lambda _: scores, lambda _: calibrated, lambda app: best[app.priors.tobytes()])
        )
        minima = [min(pair) for pair in zip(mended, as_is, strict=True)]
        # Cross-entropies at equal priors, 1 where the scores say nothing.
        entropies = (cross_entropy(self.rows.y, part, **rows) for part in (calibrated, best[equal.tobytes()]))
        actual, least = (float(nats / np.log(len(self.classes))) for nats in entropies)
        return SystemCosts(minima, actuals, as_is, actual, least)

    def resample(self, systems: list[tuple[Floats, Floats]]) -> list[ResampledCosts]:
        """Costs and Cllr of systems, given as (scores, calibrated scores), in bootstrap resamples of the rows.

        Minimum costs are resampled for two classes only, where the search is fast.
        """
        apps = {str(i): app for i, app in enumerate(self.applications)}
        measures: dict[str, dict[str, Any]]
        if self.is_binary:
            measures = {"actual": {i: partial(actual_dcf, applications=app) for i, app in apps.items()}}
            measures["minimum"] = {i: partial(min_dcf, applications=app) for i, app in apps.items()}
            measures["actual"]["cllr"] = cllr
        else:
            risk, entropy = (partial(metric, labels=self.classes) for metric in (bayes_risk, cross_entropy))
            measures = {"actual": {i: partial(risk, application=app) for i, app in apps.items()} | {"cllr": entropy}}
        parts = [(of, pair[which == "actual"]) for pair in systems for which, of in measures.items()]
        n_resamples = int(np.clip(RESAMPLED_ROWS / len(self.rows.y), LEAST_RESAMPLES, MOST_RESAMPLES))
        setup = {"sample_weight": self.rows.weight, "groups": self.rows.groups, "n_resamples": n_resamples}
        found = iter(Resampled.of_each(parts, self.rows.y, **setup))
        return [ResampledCosts({which: next(found) for which in measures}, list(apps)) for _ in systems]


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
    named = {}
    for name, part in parts.items():
        aligned = part.aligned(classes)
        priors: Any = aligned.priors
        if aligned.labels:
            priors = dict(zip(aligned.labels, aligned.priors.tolist(), strict=True))
        named[name] = Application(priors, aligned.costs, reject_cost=aligned.reject_cost if rejecting else None)
        named[name].constant_cost  # noqa: B018  refuses an application in which deciding costs nothing
    return named


def find_target(given: Any, classes: Labels) -> Any:
    """The target of two classes: the one an application names (``positive=``), else the second; None of more."""
    if len(classes) != 2:
        return None
    listed = (
        list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    )
    named = [app.labels[1] for app in listed if isinstance(app, Application) and app.labels and app.labels[0] is None]
    return named[0] if named else classes[1].item() if hasattr(classes[1], "item") else classes[1]


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
