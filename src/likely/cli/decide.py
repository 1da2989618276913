"""The verb ``decide``: decisions of evidence, at an application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely.cli.options import ApplicationOptions, AsJson, Columns, OutputOrCsv
from likely.cli.rendering import confusion_table, console, deliver, number
from likely.cli.words import counted, shown

if TYPE_CHECKING:
    from likely.cli.modelling import RowEvidence
    from likely.decisions import Application

__all__ = ["decide"]


def decide(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scores, or with --model rows of data.")],
    where: ApplicationOptions,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="A model to score the rows by.")
    ] = None,
    output: OutputOrCsv = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="The column of labels, if there is one.")
    ] = None,
    column: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Turn evidence into decisions, at your priors and costs.

    Scores are a column llr, or the one named by --column, or one column of log-likelihoods for each class. Each row
    gets the decision of least expected cost, or none where rejecting is cheaper. The same scores serve any number of
    applications. With labels, decisions are counted against the truth, and their cost is said. The target of two
    classes is the second in sorted order, or with --model the one that it was trained for, unless --positive names it.

    For example:
        likely decide scores.csv --prior 0.01 --cost-fn 10 -o decisions.csv
        likely decide new.csv --model model.likely --priors a=0.2,b=0.5,c=0.3
    """
    from likely.cli.applications import applications_from
    from likely.cli.deciding import read_evidence
    from likely.cli.modelling import said_of_llr, scored, trained_target
    from likely.exceptions import InvalidParameterError

    if model is None:
        found = read_evidence(file, label or "label", column, where.positive)
    else:
        where = where if where.positive is not None else replace(where, positive=trained_target(model))
        found = scored(model, file, label, where.positive)
    applications = applications_from(where, found.classes)
    if len(applications) > 1:
        raise InvalidParameterError(f"Decisions are for one application, but {len(applications)} were given.")
    name, application = applications[0]
    decisions, facts = _decided(found, name, application)
    facts = {"file": str(file), **facts}
    if deliver({**found.columns(), "decision": decisions}, output, facts, as_json):
        turned = found.target is not None and found.target != found.classes[1]
        _show(facts, output, f" Its column {said_of_llr(found)}." if turned else "")


def _decided(found: RowEvidence, name: str, application: Application) -> tuple[Any, dict[str, Any]]:
    """The decision of each row, and what there is to say of all of them."""
    from likely.cli.judging import application_facts

    order = found.order()
    decisions = application.decide(found.evidence, order)
    counts: dict[str, int] = {str(label): int((decisions == label).sum()) for label in order}
    if application.reject_cost is not None:
        counts["rejected"] = len(decisions) - sum(counts.values())
    facts = {
        "rows": len(decisions),
        "target": found.target,
        "application": application_facts(name, application, order),
        "decisions": counts,
    }
    return decisions, facts | _judged(found, decisions, order, application)


def _judged(found: RowEvidence, decisions: Any, order: list[Any], application: Application) -> dict[str, Any]:
    """Decisions against the truth, if it is known of every class that is expected."""
    from likely.evaluation import confusion

    if found.labels is None or not set(found.labels.tolist()) <= set(order):
        return {}
    counted = confusion(found.labels, decisions, labels=order)
    facts = {
        "classes": order,
        "confusion": counted.counts.astype(int).tolist(),
        "error_rate": counted.error_rate,
    }
    if (counted.counts.sum(axis=1) > 0).all():
        costs = {key: counted.risk(application, normalize=key == "normalized") for key in ("mean", "normalized")}
        facts["cost"] = costs
    return facts


def _said_of_target(target: Any, application: dict[str, Any]) -> str:
    """Which of two classes evidence is for, and from where on it is decided."""
    if target is None:
        return ""
    if application["reject_cost"] is not None:
        return f": llrs are of {shown(target)}"
    return f": {shown(target)} from llr {number(application['threshold'])} on"


def _show(facts: dict[str, Any], output: Path | None, reading: str) -> None:
    out = console(err=output is None)
    application = facts["application"]
    out.print(f"At {application['name']}{_said_of_target(facts['target'], application)}.")
    counts = ", ".join(f"{count} {shown(label)}" for label, count in facts["decisions"].items())
    where = "" if output is None else f" Written to {output}."
    out.print(f"{counted(facts['rows'], 'row')} decided: {counts}.{where}{reading}")
    if "confusion" in facts:
        out.print(confusion_table(facts["classes"], facts["confusion"], application["name"]))
    if "cost" in facts:
        mean, normalized = facts["cost"]["mean"], facts["cost"]["normalized"]
        out.print(f"Cost: {number(mean)} a row at these priors, {number(normalized)} times that of not looking.")
