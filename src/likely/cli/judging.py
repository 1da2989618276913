"""The facts about scores, as plain dictionaries: what they cost, what they could cost, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from likely import evaluation
from likely.cli.guarding import note
from likely.cli.scorefiles import Evidence
from likely.decisions import Application
from likely.exceptions import DegenerateDataError

__all__ = ["application_facts", "judged"]

Named = Sequence[tuple[str, Application]]
SLIGHT = 0.05
"""A cost this much above its minimum is no reason to calibrate."""


def judged(evidence: Evidence, applications: Named, n_resamples: int) -> dict[str, Any]:
    """Everything about the scores; without intervals if ``n_resamples`` is 0."""
    facts = {
        "rows": len(evidence.labels),
        "classes": evidence.counts,
        "applications": [application_facts(name, app, evidence.classes) for name, app in applications],
    }
    if not evidence.is_binary:
        return facts | _of_classes(evidence, applications, n_resamples)
    systems = [
        _of_system(name, evidence, column, applications, n_resamples)
        for name, column in zip(evidence.names, evidence.scores.T, strict=True)
    ]
    facts |= {"target": evidence.target, "systems": systems}
    if len(systems) > 1:
        facts["differences"] = _differences(evidence, systems, applications[0], n_resamples)
    return facts


def application_facts(name: str, application: Application, classes: Sequence[Any]) -> dict[str, Any]:
    """What an application asks for."""
    app = application.aligned(classes)
    facts = {
        "name": name,
        "priors": dict(zip(map(str, classes), app.priors.tolist(), strict=True)),
        "costs": app.costs.tolist(),
        "reject_cost": app.reject_cost,
    }
    if len(classes) == 2:
        towards = application.aligned(_target_last(application, classes))
        facts |= {"threshold": towards.threshold, "effective_prior": towards.effective_prior}
    return facts


def _target_last(application: Application, classes: Sequence[Any]) -> list[Any]:
    target = classes[1] if application.labels is None else application.labels[1]
    return [*(label for label in classes if label != target), target]


def _of_system(name: str, evidence: Evidence, llr: Any, applications: Named, n_resamples: int) -> dict[str, Any]:
    """One system of two classes."""
    apps = [app for _, app in applications]
    costs = {"actual": evaluation.actual_dcf, "minimum": evaluation.min_dcf, "loss": evaluation.calibration_loss}
    measures = {key: partial(costs[key], applications=apps, pos_label=evidence.target) for key in costs}
    for number in (evaluation.eer, evaluation.auc, evaluation.cllr, evaluation.min_cllr):
        measures[number.__name__] = partial(number, pos_label=evidence.target)
    found = _measured(measures, evidence.labels, llr, n_resamples)
    system: dict[str, Any] = {"name": name}
    system |= {key: found[key] for key in ("eer", "auc", "cllr", "min_cllr")}
    system["calibration_loss"] = _less(system["cllr"]["estimate"], system["min_cllr"]["estimate"])
    system["costs"] = [
        {"application": heading, **{key: {end: found[key][end][at] for end in found[key]} for key in costs}}
        for at, (heading, _) in enumerate(applications)
    ]
    return system | {"verdict": _verdict(system)}


def _less(first: float, second: float) -> float:
    """A difference that is 0 between two infinities."""
    return 0.0 if first == second else first - second


def _measured(measures: dict[str, Any], labels: Any, scores: Any, n_resamples: int) -> dict[str, Any]:
    """Estimate, low and high end of each measure, of numbers or lists."""
    if n_resamples:
        try:
            found = evaluation.intervals(measures, labels, scores, n_resamples=n_resamples)
            return {
                key: {end: _listed(getattr(i, end)) for end in ("estimate", "low", "high")} for key, i in found.items()
            }
        except DegenerateDataError as error:
            note(f"There are no intervals. {error}")
    values = {key: np.asarray(measure(labels, scores)) for key, measure in measures.items()}
    return {key: {"estimate": v.tolist(), "low": _none(v), "high": _none(v)} for key, v in values.items()}


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()


def _none(like: Any) -> Any:
    return [None] * len(like) if like.ndim else None


def _verdict(system: dict[str, Any]) -> str:
    """In plain words, at the application where it is worst."""
    if _most(system["auc"]) < 0.5:
        return "Targets score lower than the rest: change the sign, or name the other class by --positive."
    worst = max(system["costs"], key=lambda cost: cost["loss"]["estimate"])
    actual, minimum = worst["actual"]["estimate"], worst["minimum"]["estimate"]
    at = f"At {worst['application']} they cost"
    if actual < 1 + SLIGHT and min(_most(cost["minimum"]) for cost in system["costs"]) > 0.99:
        return "No threshold does clearly better than deciding without looking."
    if actual > 1:
        return f"{at} more than deciding without looking, {actual:.2f} times as much: calibrate them before deciding."
    if worst["loss"]["estimate"] > SLIGHT * max(minimum, 0.01):
        chance = worst["loss"]["low"] is not None and worst["loss"]["low"] <= 0
        remedy = ", which with so few rows may be chance" if chance else ": calibrate them"
        return f"{at} {_more(actual, minimum)}{remedy}."
    if _matters(system["cllr"], system["min_cllr"]["estimate"]):
        return f"{at} about what they could, but not at other priors, as Cllr shows: calibrate them."
    return "Well calibrated: they cost about what they could."


def _most(value: dict[str, Any]) -> float:
    """The upper end of a number's interval, or itself."""
    return float(value["estimate"] if value["high"] is None else value["high"])


def _matters(actual: dict[str, Any], possible: float) -> bool:
    """Whether a cost is above what is possible by more than a little, and by more than chance, as far as is known."""
    low = actual["estimate"] if actual["low"] is None else actual["low"]
    return bool(actual["estimate"] - possible > SLIGHT * max(possible, 0.01) and low > possible)


def _more(actual: float, minimum: float) -> str:
    return f"{100 * (actual / minimum - 1):.0f} % more than they could" if minimum > 0 else "where they need not"


def _differences(evidence: Evidence, systems: Any, application: tuple[str, Application], n: int) -> dict[str, Any]:
    """What the other systems cost more than the one of least actual cost, on the same rows."""
    best = min(range(len(systems)), key=lambda at: systems[at]["costs"][0]["actual"]["estimate"])
    others = [at for at in range(len(systems)) if at != best]
    return {
        "application": application[0],
        "best": systems[best]["name"],
        "others": [_difference(evidence, systems[at]["name"], best, at, application[1], n) for at in others],
    }


def _difference(evidence: Evidence, name: str, best: int, at: int, app: Application, n: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    first, second = evidence.scores[:, best], evidence.scores[:, at]
    for key, metric in (("actual", evaluation.actual_dcf), ("minimum", evaluation.min_dcf)):
        if n:
            pair = evaluation.paired_difference(
                metric, evidence.labels, first, second, app, pos_label=evidence.target, n_resamples=n
            )
            gap = pair.difference
            found[key] = {"estimate": gap.estimate, "low": gap.low, "high": gap.high, "p_value": pair.p_value}
        else:
            costs = [metric(evidence.labels, llr, app, pos_label=evidence.target) for llr in (first, second)]
            found[key] = {"estimate": costs[1] - costs[0], "low": None, "high": None, "p_value": None}
    return found


def _of_classes(evidence: Evidence, applications: Named, n_resamples: int) -> dict[str, Any]:
    """One system of more than two classes."""
    labels, scores, classes = evidence.labels, evidence.scores, evidence.classes
    measures = {"": partial(evaluation.cross_entropy, labels=classes)}
    measures |= {name: partial(evaluation.bayes_risk, application=app, labels=classes) for name, app in applications}
    found = _measured(measures, labels, scores, n_resamples)
    after = evaluation.cross_entropy_after_affine(labels, scores, labels=classes)
    costs = [
        {
            "application": name,
            "actual": found[name],
            "after_affine": evaluation.bayes_risk_after_affine(labels, scores, app, labels=classes),
        }
        for name, app in applications
    ]
    table = evaluation.confusion(labels, applications[0][1].decide(scores, classes), labels=classes)
    return {
        "cross_entropy": found[""],
        "cross_entropy_after_affine": after,
        "costs": costs,
        "error_rate": table.error_rate,
        "rejection_rate": table.rejection_rate,
        "confusion": table.counts.astype(int).tolist(),
        "verdict": _verdict_of_classes(found[""], after, costs, len(classes)),
    }


def _verdict_of_classes(entropy: dict[str, Any], after: float, costs: list[dict[str, Any]], n_classes: int) -> str:
    worst = max(costs, key=lambda cost: cost["actual"]["estimate"] - cost["after_affine"])
    actual, mended = worst["actual"]["estimate"], worst["after_affine"]
    if actual > 1 or entropy["estimate"] > np.log(n_classes):
        return "As evidence they are worse than none: deciding without looking is cheaper. Calibrate them."
    if _matters(worst["actual"], mended):
        return f"A scale and offsets would save {100 * (1 - mended / actual):.0f} % of what they cost: calibrate them."
    if _matters(entropy, after):
        return "Decisions are as good as a scale and offsets make them, but how sure they are is not: calibrate them."
    return "Well calibrated: a scale and offsets would change little."
