"""The command ``decide``: make decisions from scores at given priors and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely._formatting import format_count, format_label, format_names, format_number
from likely.cli.options import (
    ApplicationOptions,
    AsJson,
    Columns,
    CommandError,
    OutputOrCsv,
    applications_from,
    target_of,
)
from likely.cli.rendering import confusion_table, console, deliver, format_class_counts
from likely.cli.scores import Scores, as_llr, find_classes, has_classes, read_any

if TYPE_CHECKING:
    from likely.decisions import Application


def decide(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scores or, with --model, rows of data.")],
    where: ApplicationOptions,
    model: Annotated[Path | None, typer.Option("--model", metavar="MODEL", help="Model that scores the rows.")] = None,
    output: OutputOrCsv = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Column of labels, if there is one.")
    ] = None,
    column: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Turn scores into decisions at your priors and costs.

    Scores are in the column llr, in the column named by --column, or in one column of log-likelihoods for each class.
    Each row gets the decision with the lowest expected cost, or no decision if rejecting is cheaper. The same scores
    serve any number of applications. If there are labels, decisions are counted by true class, and their cost is shown.
    The target of two classes is the second in sorted order. With --model, it is the target that the model was trained
    for. Option --positive changes the target.

    For example:
        likely decide scores.csv --prior 0.01 --cost-fn 10 -o decisions.csv
        likely decide new.csv --model model.likely --priors a=0.2,b=0.5,c=0.3
    """
    from likely.cli.score import describe_llr, read_trained_target, score_rows

    if model is None:
        found = _read_system(file, label or "label", column, where.positive)
    else:
        where = where if where.positive is not None else replace(where, positive=read_trained_target(model))
        found = score_rows(model, file, label, where.positive)
    applications = applications_from(where, found.classes)
    if len(applications) > 1:
        raise CommandError(f"Decisions are made for one application, but the options describe {len(applications)}.")
    name, application = applications[0]
    decisions, facts = _decide(found, name, application)
    facts = {"file": str(file), **facts}
    if deliver({**found.columns(), "decision": decisions}, output, facts, as_json):
        is_reversed = found.target is not None and found.target != found.classes[1]
        _show(facts, output, f" Column llr is the {describe_llr(found)}." if is_reversed else "")


def _read_system(path: Path, label: str, columns: Sequence[str] | None, positive: str | None) -> Scores:
    """Read the scores of one system about two or more classes, with or without labels."""
    from likely.tables.files import find_file, read_header

    header = read_header(find_file(path))
    if not columns and "llr" in header:
        columns = ["llr"]
    table = read_any(path, label, columns)
    if not has_classes(table):
        return _classes_of_columns(table, positive)
    found = find_classes(table, positive)
    if found.is_binary and len(found.names) > 1:
        raise CommandError(
            f"Decisions need the scores of one system, but there are {format_names(found.names)}. Choose one with "
            "--column."
        )
    return replace(found, names=("llr",)) if found.is_binary else found


def _classes_of_columns(table: Scores, positive: str | None) -> Scores:
    """Return the scores with classes that are taken from the names of the columns.

    This is used if the labels do not determine the classes. A single column holds llrs of a target against a nontarget.
    """
    if len(table.names) == 1:
        target = "target" if positive is None else positive
        other = "nontarget" if positive is None else f"not {positive}"
        return replace(table, names=("llr",), classes=[other, target], target=target)
    whole = all(name.isdecimal() for name in table.names)
    classes: list[Any] = [int(name) for name in table.names] if whole else list(table.names)
    found = replace(table, names=tuple(map(str, classes)), classes=classes)
    return found if len(classes) > 2 else as_llr(found, target_of(positive, classes))


def _decide(found: Scores, name: str, application: Application) -> tuple[Any, dict[str, Any]]:
    """Decide about each row, and collect the facts about all decisions."""
    from likely.cli.evaluate import describe_application

    order = found.ordered_classes
    decisions = application.decide(found.evidence, order)
    counts: dict[str, int] = {str(label): int((decisions == label).sum()) for label in order}
    if application.reject_cost is not None:
        counts["rejected"] = len(decisions) - sum(counts.values())
    facts = {
        "rows": len(decisions),
        "target": found.target,
        "application": describe_application(name, application, order),
        "decisions": counts,
    }
    return decisions, facts | _judge(found, decisions, order, application)


def _judge(found: Scores, decisions: Any, order: list[Any], application: Application) -> dict[str, Any]:
    """Return the counts of decisions by true class and their cost, or no facts if a label is not among the classes."""
    from likely.evaluation import confusion
    from likely.report.facts import describe_mistakes

    if found.labels is None or not set(found.labels.tolist()) <= set(order):
        return {}
    table = confusion(found.labels, decisions, labels=order)
    counts = table.counts.astype(int).tolist()
    facts = {
        "classes": order,
        "confusion": counts,
        "mistakes": describe_mistakes(counts, [str(label) for label in order]),
        "error_rate": table.error_rate,
    }
    if (table.counts.sum(axis=1) > 0).all():
        costs = {key: table.risk(application, normalize=key == "normalized") for key in ("mean", "normalized")}
        facts["cost"] = costs
    return facts


def _show(facts: dict[str, Any], output: Path | None, reading: str) -> None:
    out = console(err=output is None)
    application = facts["application"]
    target = ""
    if facts["target"] is not None:
        label = format_label(facts["target"], 40)
        target = f": the llr threshold for {label} is {format_number(application['threshold'])}"
        if application["reject_cost"] is not None:
            target = f": a high llr favours {label}"
    out.print(f"At {application['name']}{target}.")
    counts = format_class_counts(facts["decisions"], "Decision", n_shown=len(facts["decisions"]))
    where = "" if output is None else f" Written to {output}."
    out.print(f"{format_count(facts['rows'], 'row')} decided. {counts}.{where}{reading}")
    if "confusion" in facts:
        out.print(confusion_table(facts["classes"], facts["confusion"], facts["mistakes"], application["name"]))
    if "cost" in facts:
        mean, normalized = facts["cost"]["mean"], facts["cost"]["normalized"]
        out.print(
            f"Cost: {format_number(mean)} per row at these priors, {format_number(normalized)} times the cost of "
            "deciding without looking (always giving the same answer)."
        )
