"""The command ``evaluate``: evaluate the scores of any system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely._formatting import format_count, format_label, format_number, format_percent
from likely.cli.app import check_output, note
from likely.cli.options import ApplicationOptions, AsJson, JudgingOptions, ScoreOptions, ScoresFile, applications_from
from likely.cli.rendering import (
    confusion_table,
    console,
    format_class_counts,
    format_interval,
    print_json,
    status,
    table,
)
from likely.cli.scores import Scores

if TYPE_CHECKING:
    from likely.decisions import Application

Named = Sequence[tuple[str, "Application"]]
SLIGHT = 0.05
"""If a cost exceeds its minimum by less than this share of the minimum, calibration is not recommended."""


def evaluate(
    scores: ScoresFile,
    where: ApplicationOptions,
    how: JudgingOptions,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Also write a report: a page (.html), .md or .json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate the scores of any system: what decisions with these scores cost, and what they could cost.

    For two classes, each column holds the log-likelihood ratios of one system. The actual cost is what decisions with
    the scores as given cost, at your priors and costs. The minimum cost is the cost at the best threshold. Their
    difference is due to poor calibration, which 'likely calibrate' reduces. Costs are divided by the cost of deciding
    without looking, that is of always giving the same answer. For scores that only rank, EER, AUC and minimum costs
    are valid. More classes need one column of log-likelihoods for each class. Its name is the label of the class.

    For example:
        likely evaluate scores.csv
        likely evaluate scores.csv --prior 0.01 --cost-fn 10 --positive malignant
        likely evaluate scores.csv --page scores.html
    """
    if page is not None:
        check_output(page, (".html", ".md", ".json"))
    facts = _judge_file(scores, where, how)
    if as_json:
        print_json(facts)
    else:
        _show_systems(facts) if "systems" in facts else _show_classes(facts)
    if page is not None:
        from likely.cli.report import score_report, write_report

        write_report(score_report(scores, where, ScoreOptions(how.label, how.column)), page)
        if not as_json:
            console().print(f"\nThe report is in {page}.")


def _judge_file(path: Path, where: ApplicationOptions, how: JudgingOptions) -> dict[str, Any]:
    """Evaluate the scores of a file, and return the facts."""
    from likely.cli.scores import read_labelled

    evidence = read_labelled(path, how.label, how.column, where.positive)
    applications, n_resamples = applications_from(where, evidence.classes), how.resamples if how.intervals else 0
    facts = {
        "file": str(path),
        "rows": len(evidence.scores),
        "classes": evidence.counts,
        "applications": [describe_application(name, app, evidence.classes) for name, app in applications],
    }
    with status("Resampling the rows …" if how.intervals else "Evaluating …"):
        if not evidence.is_binary:
            return facts | _judge_classes(evidence, applications, n_resamples)
        systems = [
            _judge_system(name, evidence, column, applications, n_resamples)
            for name, column in evidence.systems().items()
        ]
        facts |= {"target": evidence.target, "systems": systems}
        if len(systems) > 1:
            facts["differences"] = _differences(evidence, systems, applications[0], n_resamples)
    return facts


def describe_application(name: str, application: Application, classes: Sequence[Any]) -> dict[str, Any]:
    """Describe an application: priors by label, costs and, for two classes, the threshold."""
    from likely.report.facts import put_target_last, target_facts

    app = application.aligned(classes)
    facts = {
        "name": name,
        "priors": dict(zip(map(str, classes), app.priors.tolist(), strict=True)),
        "costs": app.costs.tolist(),
        "reject_cost": app.reject_cost,
    }
    if len(classes) == 2:
        target = 1 if application.labels is None else list(classes).index(application.labels[1])
        towards = target_facts(put_target_last(app, target))
        facts |= {key: towards[key] for key in ("threshold", "effective_prior")}
    return facts


def _judge_system(name: str, evidence: Scores, llr: Any, applications: Named, n_resamples: int) -> dict[str, Any]:
    """Evaluate one system of two classes."""
    from likely import evaluation

    apps = [app for _, app in applications]
    costs = {"actual": evaluation.actual_dcf, "minimum": evaluation.min_dcf, "loss": evaluation.calibration_loss}
    measures = {key: partial(costs[key], applications=apps, pos_label=evidence.target) for key in costs}
    rates = {"eer": evaluation.eer, "auc": evaluation.roc_auc, "cllr": evaluation.cllr, "min_cllr": evaluation.min_cllr}
    measures |= {key: partial(measure, pos_label=evidence.target) for key, measure in rates.items()}
    found = _measure(measures, evidence.labels, llr, n_resamples)
    system: dict[str, Any] = {"name": name}
    system |= {key: found[key] for key in rates}
    actual, minimum = system["cllr"]["estimate"], system["min_cllr"]["estimate"]
    system["calibration_loss"] = 0.0 if actual == minimum else actual - minimum  # inf − inf would be NaN
    system["costs"] = [
        {"application": heading, **{key: {end: found[key][end][at] for end in found[key]} for key in costs}}
        for at, (heading, _) in enumerate(applications)
    ]
    return system | {"verdict": _verdict(system)}


def _measure(measures: dict[str, Any], labels: Any, scores: Any, n_resamples: int) -> dict[str, Any]:
    """Return the estimate and the interval of each measure, as numbers or, for several applications, as lists."""
    import numpy as np

    from likely.evaluation import confidence_intervals
    from likely.exceptions import DegenerateDataError

    if n_resamples:
        try:
            found = confidence_intervals(measures, labels, scores, n_resamples=n_resamples)
            ends = ("estimate", "low", "high")
            return {key: {end: np.asarray(getattr(i, end)).tolist() for end in ends} for key, i in found.items()}
        except DegenerateDataError as error:
            note(f"There are no intervals. {error}")
    values = {key: np.asarray(measure(labels, scores)) for key, measure in measures.items()}
    unknown = {key: [None] * len(value) if value.ndim else None for key, value in values.items()}
    return {key: {"estimate": v.tolist(), "low": unknown[key], "high": unknown[key]} for key, v in values.items()}


def _verdict(system: dict[str, Any]) -> str:
    """Return sentences that say how good the scores of a system are.

    They describe the application with the largest calibration loss.
    """
    if _upper_end(system["auc"]) < 0.5:
        return "Targets score lower than the other class. Change the sign, or name the other class with --positive."
    worst = max(system["costs"], key=lambda cost: cost["loss"]["estimate"])
    actual, minimum = worst["actual"]["estimate"], worst["minimum"]["estimate"]
    at = f"At {worst['application']} they cost"
    if actual < 1 + SLIGHT and min(_upper_end(cost["minimum"]) for cost in system["costs"]) > 0.99:
        return "No threshold does clearly better than deciding without looking."
    if actual > 1:
        return f"{at} {actual:.2f} times as much as deciding without looking: calibrate them before you decide."
    if worst["loss"]["estimate"] > SLIGHT * max(minimum, 0.01):
        may_be_chance = worst["loss"]["low"] is not None and worst["loss"]["low"] <= 0
        remedy = ". With this number of rows, that may be chance" if may_be_chance else ": calibrate them"
        return f"{at} {_describe_excess(actual, minimum)}{remedy}."
    if _is_clearly_above(system["cllr"], system["min_cllr"]["estimate"]):
        return f"{at} about what they could, but Cllr shows that they cost more at other priors: calibrate them."
    return "Well calibrated: they cost about what they could."


def _describe_excess(actual: float, minimum: float) -> str:
    """Compare a cost with its minimum: in percent up to twice the minimum, and as a multiple above that.

    Examples
    --------
    >>> _describe_excess(0.23, 0.2), _describe_excess(0.96, 0.05)
    ('15 % more than they could', '19 times what they could')
    """
    if minimum == 0:
        return f"{format_number(actual)}, but nothing at the best threshold"
    ratio = actual / minimum
    return f"{100 * (ratio - 1):.0f} % more than they could" if ratio < 2 else f"{ratio:.2g} times what they could"


def _upper_end(value: dict[str, Any]) -> float:
    """Return the upper end of a number's interval, or the number if it has no interval."""
    return float(value["estimate"] if value["high"] is None else value["high"])


def _is_clearly_above(actual: dict[str, Any], possible: float) -> bool:
    """Return True if a cost is clearly above the cost that is possible (see ``SLIGHT``).

    If the cost has an interval, the whole interval must be above the possible cost.
    """
    low = actual["estimate"] if actual["low"] is None else actual["low"]
    return bool(actual["estimate"] - possible > SLIGHT * max(possible, 0.01) and low > possible)


def _differences(evidence: Scores, systems: Any, application: tuple[str, Application], n: int) -> dict[str, Any]:
    """Compare the system of lowest actual cost with each of the other systems, on the same rows."""
    from likely import evaluation

    best = min(range(len(systems)), key=lambda at: systems[at]["costs"][0]["actual"]["estimate"])
    name, app = application
    metrics = {"actual": evaluation.actual_dcf, "minimum": evaluation.min_dcf}
    others = []
    for at, system in enumerate(systems):
        if at == best:
            continue
        pair, found = [evidence.scores[:, best], evidence.scores[:, at]], {"name": system["name"]}
        for key, metric in metrics.items():
            if n:
                test = evaluation.paired_difference(
                    metric, evidence.labels, *pair, app, pos_label=evidence.target, n_resamples=n
                )
                gap = test.difference
                found[key] = {"estimate": gap.estimate, "low": gap.low, "high": gap.high, "p_value": test.p_value}
            else:
                costs = [metric(evidence.labels, llr, app, pos_label=evidence.target) for llr in pair]
                found[key] = {"estimate": costs[1] - costs[0], "low": None, "high": None, "p_value": None}
        others.append(found)
    return {"application": name, "best": systems[best]["name"], "others": others}


def _judge_classes(evidence: Scores, applications: Named, n_resamples: int) -> dict[str, Any]:
    """Evaluate one system of more than two classes."""
    from likely import evaluation
    from likely.report.facts import describe_mistakes

    labels, scores, classes = evidence.labels, evidence.scores, evidence.classes
    measures = {"": partial(evaluation.cross_entropy, labels=classes)}
    measures |= {name: partial(evaluation.bayes_risk, application=app, labels=classes) for name, app in applications}
    found = _measure(measures, labels, scores, n_resamples)
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
    counts = table.counts.astype(int).tolist()
    return {
        "cross_entropy": found[""],
        "cross_entropy_after_affine": after,
        "costs": costs,
        "error_rate": table.error_rate,
        "rejection_rate": table.rejection_rate,
        "confusion": counts,
        "mistakes": describe_mistakes(counts, [str(label) for label in classes]),
        "verdict": _verdict_on_classes(found[""], after, costs, len(classes)),
    }


def _verdict_on_classes(entropy: dict[str, Any], after: float, costs: list[dict[str, Any]], n_classes: int) -> str:
    worst = max(costs, key=lambda cost: cost["actual"]["estimate"] - cost["after_affine"])
    actual, calibrated = worst["actual"]["estimate"], worst["after_affine"]
    if actual > 1 or entropy["estimate"] > math.log(n_classes):
        return "They are worse than no scores: deciding without looking is cheaper. Calibrate them."
    if _is_clearly_above(worst["actual"], calibrated):
        return f"Affine calibration would reduce their cost by {100 * (1 - calibrated / actual):.0f} %: calibrate them."
    if _is_clearly_above(entropy, after):
        return "Affine calibration would hardly change decisions, but it would improve probabilities: calibrate them."
    return "Well calibrated: affine calibration would change little."


# Tables


def _show_systems(facts: dict[str, Any]) -> None:
    out = console()
    counts = f"{format_count(facts['rows'], 'row')}. {format_class_counts(facts['classes'])}."
    out.print(f"{counts} The target is {format_label(facts['target'], 40)}.")
    out.print(_explain_costs(facts["systems"][0]["cllr"]))
    for system in facts["systems"]:
        rows = [
            (f"cost at {cost['application']}", cost["actual"], cost["minimum"], cost["loss"]["estimate"])
            for cost in system["costs"]
        ]
        rows.append(("Cllr, bits", system["cllr"], system["min_cllr"], system["calibration_loss"]))
        cells = [
            (name, format_interval(actual), format_interval(low), format_number(loss))
            for name, actual, low, loss in rows
        ]
        out.print(table([system["name"], "actual", "minimum", "loss"], cells))
        out.print(f"By rank alone: EER {format_interval(system['eer'])}, AUC {format_interval(system['auc'])}")
        out.print(f"{system['verdict']}\n")
    if "differences" in facts:
        _show_differences(facts["differences"])


def _explain_costs(measure: dict[str, Any]) -> str:
    """Return a sentence that explains the unit of costs and, if a measure has an interval, the brackets."""
    brackets = "" if measure["low"] is None else " Brackets: 95 % intervals."
    return f"A cost of 1 is that of deciding without looking: always giving the same answer.{brackets}\n"


def _show_differences(facts: dict[str, Any]) -> None:
    def cells(difference: dict[str, Any]) -> tuple[str, str]:
        low, high = difference["low"], difference["high"]
        return format_interval(difference), "" if low is None or low <= 0 <= high else "*"

    rows = [(other["name"], *cells(other["actual"]), *cells(other["minimum"])) for other in facts["others"]]
    names = [f"minus {facts['best']}", "actual", "", "minimum", ""]
    console().print(table(names, rows, title=f"Difference of costs at {facts['application']}, on the same rows"))
    if any("*" in row for row in rows):
        console().print("* The interval does not contain 0: the systems differ.\n")


def _show_classes(facts: dict[str, Any]) -> None:
    out = console()
    out.print(f"{format_count(facts['rows'], 'row')}. {format_class_counts(facts['classes'])}.")
    out.print(_explain_costs(facts["cross_entropy"]))
    rows = [
        (f"cost at {cost['application']}", format_interval(cost["actual"]), format_number(cost["after_affine"]))
        for cost in facts["costs"]
    ]
    rows.append(
        (
            "cross-entropy, nats",
            format_interval(facts["cross_entropy"]),
            format_number(facts["cross_entropy_after_affine"]),
        )
    )
    rows.append((f"errors at {facts['costs'][0]['application']}", format_percent(facts["error_rate"]), ""))
    out.print(table(["", "actual", "after affine"], rows))
    out.print(f"{facts['verdict']}\n")
    application = facts["costs"][0]["application"]
    out.print(confusion_table(list(facts["classes"]), facts["confusion"], facts["mistakes"], application))
