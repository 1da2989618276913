"""The command ``report``: a report about scores or about a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likely.cli.app import check_output, writing
from likely.cli.options import ApplicationOptions, AsJson, CommandError, ScoreOptions, applications_from, strip_suffixes
from likely.cli.rendering import console, print_json, status

if TYPE_CHECKING:
    from likely.report import Report

_OUTPUT = "Page (.html), Markdown (.md) or facts (.json) to write. Default for scores: NAME-report.html."


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN|SCORES", help="Folder of a comparison, or file of scores.")],
    where: ApplicationOptions,
    which: ScoreOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report about the scores of any system, or show the results of a comparison again.

    The report is one page that needs no network and no other file. It has a verdict, costs, curves, calibration before
    and after, and sliders for priors and costs. A file of scores has the columns that 'likely evaluate' reads. A folder
    must be one that 'likely compare' wrote. Its report exists already, so nothing is computed again.

    For example:
        likely report scores.csv --prior 0.1 --cost-fn 10
        likely report train-run
        likely report train-run -o report.md
    """
    if output is not None:
        check_output(output, (".html", ".md", ".json"))
    _of_scores(run, where, which, output, as_json) if run.is_file() else _of_run(run, where, which, output, as_json)


def _of_scores(
    scores: Path, where: ApplicationOptions, which: ScoreOptions, output: Path | None, as_json: bool
) -> None:
    page = output or (None if as_json else Path(f"{strip_suffixes(scores)}-report.html"))
    if page is not None:
        check_output(page)
    made = score_report(scores, where, which)
    if page is not None:
        write_report(made, page)
    if as_json:
        print_json(made.facts)
        return
    _show_report(made)
    console().print(f"\nThe report is in {page}.")


def _of_run(run: Path, where: ApplicationOptions, which: ScoreOptions, output: Path | None, as_json: bool) -> None:
    from likely.cli.leaderboards import show_comparison
    from likely.report import Report

    if run.is_dir() and (where != ApplicationOptions() or which != ScoreOptions()):
        raise CommandError(
            f"{str(run)!r} is a comparison with its own priors and costs. To change them, run 'likely compare' again."
        )
    facts = _read_leaderboard(run)
    if output is not None:
        write_report(Report(_read_json(run, "report.json")), output)
    if as_json:
        print_json(_read_json(run, "report.json") | {key: facts[key] for key in ("run", "page", "model")})
    elif output is not None:
        console().print(f"The report is in {output}.")
    else:
        show_comparison(facts)


def _read_leaderboard(folder: Path) -> dict[str, Any]:
    """Read the facts of a finished comparison, and find its report and its model."""
    facts = _read_json(folder, "leaderboard.json")
    page = folder / "report.html"
    found = {"run": str(folder), "page": str(page) if page.is_file() else None, "model": None}
    return facts | found | _find_model(folder, facts)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a file of facts from the folder of a comparison."""
    from likely.report.facts import complete_facts

    path = folder / name
    if not folder.exists():
        raise CommandError(
            f"There is no file or folder {str(folder)!r}. Name the folder of a comparison, or a file of scores."
        )
    if not path.is_file():
        if (folder / "run.json").is_file():
            raise CommandError(f"The comparison in {str(folder)!r} is not finished. Run its command again.")
        raise CommandError(f"The folder {str(folder)!r} holds no comparison. Name the folder of a comparison.")
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{str(path)!r} cannot be read: {error}. Run the command of the comparison again."
        ) from error
    return complete_facts(facts)


def _find_model(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the path of the best system's model, under the key ``model``.

    If the model cannot be read or belongs to another comparison, return a text that explains this, under the key
    ``model_missing``. If no model was saved, return no entry.
    """
    from likely.exceptions import ModelFileError
    from likely.persistence import read_about

    if facts.get("model") is None:
        return {}
    path = folder / facts["model"]
    try:
        system = (read_about(path)["about"] or {}).get("system")
    except (ModelFileError, OSError):
        return {"model_missing": f"The model {path} cannot be read. Run the command of the comparison again."}
    if system != facts["leaderboard"][0]["name"]:
        return {"model_missing": f"The model {path} belongs to another comparison. Run the command of this one again."}
    return {"model": str(path)}


def score_report(scores: Path, where: ApplicationOptions, which: ScoreOptions) -> Report:
    """Make a report about the scores of a file."""
    from likely.cli.scores import read_labelled
    from likely.selection import compare_scores

    evidence = read_labelled(scores, which.label, which.column, where.positive)
    systems = evidence.systems() if evidence.is_binary else {"scores": evidence.scores}
    applications = dict(applications_from(where, evidence.classes))
    with status("Evaluating …"):
        comparison = compare_scores(evidence.labels, systems, applications, pos_label=evidence.target)
        return comparison.report(about={"file": scores.name})


def write_report(report: Report, path: Path) -> None:
    """Write a report as a page, as Markdown or as JSON, depending on the suffix of the file."""
    with writing(path):
        report.write(path)


def _show_report(report: Report) -> None:
    """Print the verdict and the findings."""
    out = console()
    for sentence in report.facts["verdict"]:
        out.print(sentence)
    for finding in report.facts["findings"]:
        out.print(f"\n{finding['code']}: {finding['said']}\n→ {finding['remedy']}")
