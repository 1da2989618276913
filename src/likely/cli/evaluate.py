"""The verb ``evaluate``: judge anybody's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from likely.cli.options import ApplicationOptions, AsJson, JudgingOptions, ScoreOptions, ScoresFile
from likely.cli.rendering import confusion_table, console, number, percent, print_json, status, table, within
from likely.cli.words import counted, shown

__all__ = ["evaluate", "judgement", "show_judgement"]


def evaluate(
    scores: ScoresFile,
    where: ApplicationOptions,
    how: JudgingOptions,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write a report of it too: a page (.html), .md or .json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge anybody's scores: what decisions by them cost, and what they could cost.

    Scores of two classes are log-likelihood ratios, a column for each system. Their actual cost is that of deciding by
    them as they are, at your priors and costs, divided by the cost of deciding without looking; the minimum is what
    the best threshold would cost. What lies between is bad calibration, and can be mended. Scores that only rank still
    have an EER, an AUC and minima. More classes have a column of log-likelihoods for each, named like the labels.

    For example:
        likely evaluate scores.csv
        likely evaluate scores.csv --prior 0.01 --cost-fn 10 --positive malignant
        likely evaluate scores.csv --page scores.html
    """
    if page is not None:
        from likely.cli.guarding import check_output

        check_output(page, (".html", ".md", ".json"))
    facts = judgement(scores, where, how)
    print_json(facts) if as_json else show_judgement(facts)
    if page is not None:
        from likely.cli.reporting import score_report, write_report

        write_report(score_report(scores, where, ScoreOptions(how.label, how.column)), page)
        if not as_json:
            console().print(f"\nThe report is in {page}.")


def judgement(scores: Path, where: ApplicationOptions, how: JudgingOptions) -> dict[str, Any]:
    """What the scores of a file are worth."""
    from likely.cli.applications import applications_from
    from likely.cli.judging import judged
    from likely.cli.scorefiles import evidence_of, read_labelled

    evidence = evidence_of(read_labelled(scores, how.label, how.column), where.positive)
    applications = applications_from(where, evidence.classes)
    with status("Resampling the rows …" if how.intervals else "Judging …"):
        return {"file": str(scores), **judged(evidence, applications, how.resamples if how.intervals else 0)}


def show_judgement(facts: dict[str, Any]) -> None:
    """The facts about scores as tables."""
    _show_systems(facts) if "systems" in facts else _show_classes(facts)


def _show_systems(facts: dict[str, Any]) -> None:
    out = console()
    counts = ", ".join(f"{count} {shown(label)}" for label, count in facts["classes"].items())
    out.print(f"{counted(facts['rows'], 'row')}: {counts}. The target is {shown(facts['target'])}.\n")
    for system in facts["systems"]:
        out.print(_system_table(system))
        out.print(f"Ranks alone: EER {within(system['eer'])}, AUC {within(system['auc'])}")
        out.print(f"{system['verdict']}\n")
    if "differences" in facts:
        _show_differences(facts["differences"])
    out.print(
        "Costs are divided by that of deciding without looking. Brackets: 95 % intervals."
        if facts["systems"][0]["cllr"]["low"] is not None
        else "Costs are divided by that of deciding without looking."
    )


def _system_table(system: dict[str, Any]) -> Any:
    rows = [
        (
            f"cost at {cost['application']}",
            within(cost["actual"]),
            within(cost["minimum"]),
            number(cost["loss"]["estimate"]),
        )
        for cost in system["costs"]
    ]
    rows += [
        ("Cllr, bits", within(system["cllr"]), within(system["min_cllr"]), number(system["calibration_loss"])),
    ]
    return table([system["name"], "actual", "minimum", "loss"], rows)


def _show_differences(facts: dict[str, Any]) -> None:
    rows = [
        (
            other["name"],
            within(other["actual"]),
            _clear(other["actual"]),
            within(other["minimum"]),
            _clear(other["minimum"]),
        )
        for other in facts["others"]
    ]
    names = [f"more than {facts['best']}", "actual", "", "minimum", ""]
    console().print(table(names, rows, title=f"Cost at {facts['application']}, on the same rows"))
    if any("*" in row for row in rows):
        console().print("* The interval leaves 0 out: the systems differ.\n")


def _clear(difference: dict[str, Any]) -> str:
    return "*" if difference["low"] is not None and not difference["low"] <= 0 <= difference["high"] else ""


def _show_classes(facts: dict[str, Any]) -> None:
    out = console()
    out.print(f"{counted(facts['rows'], 'row')} of {len(facts['classes'])} classes.\n")
    rows = [
        (f"cost at {cost['application']}", within(cost["actual"]), number(cost["after_affine"]))
        for cost in facts["costs"]
    ]
    rows.append(("cross-entropy, nats", within(facts["cross_entropy"]), number(facts["cross_entropy_after_affine"])))
    rows.append((f"errors at {facts['costs'][0]['application']}", percent(facts["error_rate"]), ""))
    out.print(table(["", "actual", "after affine"], rows))
    out.print(f"{facts['verdict']}\n")
    out.print(confusion_table(list(facts["classes"]), facts["confusion"], facts["costs"][0]["application"]))
