"""Ranking of systems: calibrate and fuse scores, compute costs, and check the choice on evaluation rows."""

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

RESAMPLED_ROWS, MIN_RESAMPLES, MAX_RESAMPLES = 2e7, 200, 1000
"""Intervals are computed from about RESAMPLED_ROWS drawn rows in all resamples together, so a large data set has fewer
resamples. These suffice, since costs of many rows vary little. The number of resamples is between MIN_RESAMPLES and
MAX_RESAMPLES."""

N_DETAILED = 10
"""Number of systems at the top of the leaderboard that get intervals and a test against the best."""

SIGNIFICANCE_LEVEL = 0.05
"""Significance level of the test whether the chosen system is worse than the best system on the evaluation rows."""


@dataclass(frozen=True, eq=False)
class SystemCosts:
    """Normalised costs of a system.

    Attributes
    ----------
    minimum : list of float
        Normalised cost at each application. For two classes, this is the cost at the best threshold. For more classes,
        it is the lower of two costs: the cost after the best affine calibration on the same rows, and the cost of the
        scores as given. The second is needed because the calibration minimises cross-entropy, so it can increase a
        cost.
    actual : list of float
        Normalised cost of decisions with the calibrated scores. Each row's map was learned from other rows.
    uncalibrated : list of float
        Normalised cost of the scores as given.
    cllr : float
        Normalised cross-entropy of the calibrated scores at equal priors; 1 if the scores carry no information.
    min_cllr : float
        The minimum of ``cllr`` over all calibrations.
    intervals : dict {measure: Interval}
        Intervals, only for the first systems of a leaderboard.
    """

    minimum: list[float]
    actual: list[float]
    uncalibrated: list[float]
    cllr: float
    min_cllr: float
    intervals: dict[str, Interval] = field(default_factory=dict)

    def by(self, measure: str) -> float:
        """Return the number by which systems are ranked: the mean cost over applications, or Cllr."""
        if measure == "cllr":
            return self.cllr
        costs = self.minimum if measure == "minimum" else self.actual
        return sum(costs) / len(costs)


@dataclass(frozen=True, eq=False)
class System:
    """A candidate, or a fusion of several candidates, and its scores and costs.

    Attributes
    ----------
    name, family : str
    parts : list of Candidate
        The candidate, or the candidates that are fused.
    raw : list of array
        Out-of-fold scores of each part, unchanged.
    scores : array of shape (n,) for two classes, else (n, n_classes)
        The scores of the only part, or the fused scores.
    calibrated : array of the same shape
        The calibrated scores. Each row is calibrated by a map learned from other folds.
    standing : SystemCosts
        The costs of the system.
    p_value : float or None
        P-value of the paired difference from the best system, if the difference was tested.
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
        """The name of the family. An external system is a family of its own, so its own name is returned."""
        return self.name if self.family == "outside" else self.family


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks systems: calibrates the scores of candidates, fuses the best, and computes costs.

    Attributes
    ----------
    found : CandidateScores
    judge : Judge
        The rows on which systems are compared, and the applications.
    folds : list of (train, test)
        Folds for calibrators and fusers.
    by, fuse, calibrator
        As for :func:`likely.compare`.
    """

    found: CandidateScores
    judge: Judge
    folds: Any
    by: str
    fuse: int
    calibrator: Any

    def systems(self) -> list[System]:
        """Return all systems, the best first, with intervals and tests for those at the top."""
        scored = [name for name in self.found.candidates if name not in self.found.failures]
        single = self._attempt(self._make_single, {name: name for name in scored})
        if not single:
            name, reason = next(iter(self.found.failures.items()), ("", ""))
            raise DegenerateDataError(f"No candidate could be compared. The first, {name!r}, failed: {reason}")
        single = self._order(single)
        # Fuse the best systems of the best families.
        leaders = first_of_each(single, lambda system: system.family_key)[: self.fuse]
        groups = [leaders[:k] for k in range(2, len(leaders) + 1)]  # the best systems of two, three, … families
        fusions = self._attempt(self._fuse, {_name_fusion(members): members for members in groups})
        ordered = self._order(single + fusions)
        return self._add_intervals(ordered[:N_DETAILED]) + ordered[N_DETAILED:]

    def _attempt(self, make: Callable[[Any], System], items: dict[str, Any]) -> list[System]:
        """Return the systems that ``make`` makes from the items {name: item}.

        If ``make`` raises an error for an item, the error is recorded as the reason why this item failed.
        """

        def attempt(item: Any) -> System | Exception:
            try:
                return make(item)
            except Exception as error:  # noqa: BLE001  a third-party calibrator may raise anything, and the others continue
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
        """Return the systems sorted by the measure ``by``, and systems of equal cost by Cllr.

        The sort is stable, so equal systems keep their order, in which simpler systems come first.
        """
        return sorted(systems, key=lambda system: (system.standing.by(self.by), system.standing.cllr))

    def _add_intervals(self, ordered: list[System]) -> list[System]:
        """Add intervals, and the p-value of a paired test against the first system, to the systems at the top."""
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

    def verdict(self, systems: list[System], evaluation: Judge) -> Verdict:
        """Compute costs on the evaluation rows, with the maps learned on the compared rows, and test the choice."""
        known = [system for system in systems if all(part.name in self.found.evaluation for part in system.parts)]
        mapped = for_each(self._score_evaluation_rows, known)
        judged = [
            EvaluatedSystem(system.name, system.family, evaluation.measure(*scores))
            for system, scores in zip(known, mapped, strict=True)
        ]
        costs = [each.standing.by(self.by) for each in judged]
        order = sorted(range(len(known)), key=lambda i: (costs[i], judged[i].standing.cllr))
        place = rank_costs(costs)[0]
        best, own = evaluation.resample([mapped[order[0]], mapped[0]])
        # Bonferroni: the system tested is selected as the best of the len(known) - 1 systems that were not chosen.
        single = 1.0 if place == 1 else own.p_value(best, self.by)
        p_value = 1.0 if single is None else min(1.0, single * max(1, len(known) - 1))
        judged[0] = chosen = replace(judged[0], standing=replace(judged[0].standing, intervals=own.intervals()))
        return Verdict([judged[i] for i in order], chosen, place, p_value, self.by)

    def _score_evaluation_rows(self, system: System) -> tuple[Floats, Floats]:
        """Return the scores of the evaluation rows, before and after the map that was learned on the compared rows."""
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
    """A system, and its costs on the evaluation rows. It was calibrated on the compared rows."""

    name: str
    family: str
    standing: SystemCosts


@dataclass(frozen=True, eq=False)
class Verdict:
    """Costs of the systems on the evaluation rows, which were used neither to train nor to choose a system.

    Attributes
    ----------
    systems : list of EvaluatedSystem
        All systems, ranked on the evaluation rows by the measure ``by``, the best first.
    chosen : EvaluatedSystem
        The system that was chosen.
    place : int
        The place of the chosen system among all systems on the evaluation rows. Systems of equal cost share a place.
    p_value : float
        P-value of the paired difference between the chosen system and the system that is best on the evaluation rows,
        multiplied by the number of other systems (Bonferroni). At most 1. It is 1 if the chosen system is the best.
    by : str
    """

    systems: list[EvaluatedSystem]
    chosen: EvaluatedSystem
    place: int
    p_value: float
    by: str

    @property
    def stands(self) -> bool:
        """Whether the chosen system is the best on the evaluation rows, or not significantly worse."""
        return self.place == 1 or self.p_value >= SIGNIFICANCE_LEVEL

    def __str__(self) -> str:
        best, cost = self.systems[0], self.chosen.standing.by(self.by)
        text = f"{self.chosen.name!r}, chosen by cross-validation, costs {cost:.3f} ({self.by}) on the evaluation rows"
        if self.place == 1:
            return f"{text}, the lowest cost of all {len(self.systems)} systems. The choice was right."
        text += (
            f", place {self.place} of {len(self.systems)}. The best system there, {best.name!r}, costs "
            f"{best.standing.by(self.by):.3f}."
        )
        if self.stands:
            return f"{text} The difference may be chance (p = {self.p_value:.2g}). The choice stands."
        chance = f"The difference is more than chance (p = {self.p_value:.2g})."
        return f"{text} {chance} Another choice would have been better."

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
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
    """Computes the costs of scores of labelled rows at some applications. Classes are in sorted order."""

    rows: RowSet
    classes: Labels
    applications: list[Application]

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    def calibrate(self, calibrator: Any, scores: Floats, folds: Any) -> Floats:
        """Calibrate or fuse the scores of each fold with a map learned from the other folds."""
        rows = self.rows
        return kfold_calibrate(calibrator, clip_infinite(scores), rows.y, folds, rows.groups, rows.weight)

    def train(self, calibrator: Any, scores: Floats) -> Any:
        """Train a calibrator or fuser on all scores."""
        weights = {} if self.rows.weight is None else {"sample_weight": self.rows.weight}
        return clone(calibrator).fit(clip_infinite(scores), self.rows.y, **weights)

    def measure(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """Compute the costs of a system, without intervals."""
        if not self.is_binary:
            return self._measure_multiclass(scores, calibrated)
        raw, mapped = (Trials(self.rows.y, part, sample_weight=self.rows.weight) for part in (scores, calibrated))
        minima, as_given = raw.min_dcf(self.applications), raw.actual_dcf(self.applications)
        actuals = mapped.actual_dcf(self.applications)
        return SystemCosts(minima.tolist(), actuals.tolist(), as_given.tolist(), mapped.cllr(), raw.min_cllr())

    def _measure_multiclass(self, scores: Floats, calibrated: Floats) -> SystemCosts:
        """Compute the costs of a system of more than two classes.

        The results are those of :func:`bayes_risk_after_affine`, but applications with the same priors share one
        calibration.
        """
        rows: dict[str, Any] = {"labels": self.classes, "sample_weight": self.rows.weight}
        equal = Application.equal(len(self.classes)).priors
        calibrations = {app.priors.tobytes(): app.priors for app in self.applications} | {equal.tobytes(): equal}
        best = {
            key: self.train(AffineCalibrator(training_prior=priors), scores).transform(scores)
            for key, priors in calibrations.items()
        }
        as_given, actuals, recalibrated = (
            [bayes_risk(self.rows.y, of(app), app, **rows) for app in self.applications]
            for of in (lambda _: scores, lambda _: calibrated, lambda app: best[app.priors.tobytes()])
        )
        minima = [min(pair) for pair in zip(recalibrated, as_given, strict=True)]
        # Cross-entropies at equal priors, normalised to 1 for scores without information.
        entropies = (cross_entropy(self.rows.y, part, **rows) for part in (calibrated, best[equal.tobytes()]))
        actual, minimum = (float(nats / np.log(len(self.classes))) for nats in entropies)
        return SystemCosts(minima, actuals, as_given, actual, minimum)

    def resample(self, systems: list[tuple[Floats, Floats]]) -> list[ResampledCosts]:
        """Compute the costs and Cllr of systems in bootstrap resamples of the rows.

        A system is given as (scores, calibrated scores). Minimum costs are resampled for two classes only. For more
        classes, each minimum needs a calibration, which would take too long for every resample.
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
        n_resamples = int(np.clip(RESAMPLED_ROWS / len(self.rows.y), MIN_RESAMPLES, MAX_RESAMPLES))
        setup = {"sample_weight": self.rows.weight, "groups": self.rows.groups, "n_resamples": n_resamples}
        found = iter(Resampled.of_each(parts, self.rows.y, **setup))
        return [ResampledCosts({which: next(found) for which in measures}, list(apps)) for _ in systems]


def clip_infinite(scores: Floats) -> Floats:
    """Replace infinite scores by finite scores, so that calibrators can learn from them.

    The new scores are 1 below the lowest finite score and 1 above the highest finite score.
    """
    finite = scores[np.isfinite(scores)]
    if finite.size in (0, scores.size):
        return scores
    return np.clip(scores, finite.min() - 1, finite.max() + 1)


@dataclass(frozen=True, eq=False)
class ResampledCosts:
    """Costs of a system in each resample, by application: "actual" and, for two classes only, "minimum"."""

    found: dict[str, Resampled]
    names: list[str]

    def intervals(self) -> dict[str, Interval]:
        """Return the intervals of costs, as arrays over the applications, and for two classes the interval of Cllr."""
        parts = {which: self._stack_intervals(resampled) for which, resampled in self.found.items()}
        return parts | ({"cllr": self.found["actual"].interval("cllr")} if "minimum" in self.found else {})

    def _stack_intervals(self, resampled: Resampled) -> Interval:
        parts = [resampled.interval(name) for name in self.names]
        estimate, low, high = (np.array([getattr(part, end) for part in parts]) for end in ("estimate", "low", "high"))
        return Interval(estimate, low, high, parts[0].level)

    @property
    def is_constant(self) -> bool:
        """Whether all resamples have the same cost, for example because no decision is wrong."""
        return self.found["actual"].mean(self.names, "").is_constant

    def p_value(self, best: ResampledCosts, by: str) -> float | None:
        """Return the p-value of the paired difference from the best system, in the measure that ranks systems.

        For more than two classes, minimum costs are not resampled, so actual costs are tested instead. Return None if a
        cost is infinite.
        """
        which = "minimum" if by == "minimum" and "minimum" in self.found else "actual"
        names = ["cllr"] if by == "cllr" else self.names
        first, second = (each.found[which].mean(names, by) for each in (best, self))
        if not (np.isfinite(first.values[by]).all() and np.isfinite(second.values[by]).all()):
            return None
        return float(first.difference_to(second, by).p_value)


def name_applications(given: Any, classes: Labels, rejecting: bool = False) -> dict[str, Application]:
    """Return the applications {name: application}, with priors and costs in the order of the classes.

    Reject costs are removed unless ``rejecting`` is True.
    """
    given = Application.equal(len(classes)) if given is None else given
    if isinstance(given, Mapping):
        parts = {str(name): as_application(part) for name, part in given.items()}
    else:
        listed = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
        applications = [as_application(part) for part in listed]
        parts = dict(zip(_make_names(applications), applications, strict=True))
    if not parts:
        raise InvalidParameterError("applications must hold at least one application.")
    named = {}
    for name, part in parts.items():
        aligned = part.aligned(classes)
        priors: Any = aligned.priors
        if aligned.labels:
            priors = dict(zip(aligned.labels, aligned.priors.tolist(), strict=True))
        named[name] = Application(priors, aligned.costs, reject_cost=aligned.reject_cost if rejecting else None)
        named[name].constant_cost  # noqa: B018  raises if every decision costs nothing
    return named


def find_target(given: Any, classes: Labels) -> Any:
    """Return the target of two classes: the class that an application names (``positive=``), else the second class.

    Return None for more than two classes.
    """
    if len(classes) != 2:
        return None
    listed = (
        list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    )
    named = [app.labels[1] for app in listed if isinstance(app, Application) and app.labels and app.labels[0] is None]
    return named[0] if named else classes[1].item() if hasattr(classes[1], "item") else classes[1]


def _make_names(applications: list[Application]) -> list[str]:
    """Return a name for each application. Equal names are numbered."""
    names = [_describe_application(application) for application in applications]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]


def _describe_application(application: Application) -> str:
    if application.n_classes == 2:
        return f"effective prior {application.effective_prior:.3g}"
    equal = np.ptp(application.priors) < 1e-12
    return "equal priors" if equal else "priors " + ", ".join(f"{prior:.3g}" for prior in application.priors)
