"""The command ``report``: one page about a comparison, or about anybody's scores."""

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

_OUTPUT = "A page (.html), Markdown (.md) or facts (.json). NAME-report.html for scores if not given."


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN|SCORES", help="The folder of a comparison, or a file of scores.")],
    where: ApplicationOptions,
    which: ScoreOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Make one page about anybody's scores, or show the results of a comparison again.

    The page needs no network and no other file: a verdict in words, costs, curves, calibration before and after, and
    sliders for priors and costs that show what is decided. A file of scores has columns as likely evaluate reads them.
    The folder is the one that compare kept its run in, with its page; nothing is computed again.

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
            f"{str(run)!r} is a run, which has its own priors and costs. Give the command of the run for others."
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
    """Read the facts of a finished comparison, and find its page and model."""
    facts = _read_json(folder, "leaderboard.json")
    page = folder / "report.html"
    found = {"run": str(folder), "page": str(page) if page.is_file() else None, "model": None}
    return facts | found | _find_model(folder, facts)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    """Read facts that a comparison left in its folder."""
    from likely.report.facts import complete_facts

    path = folder / name
    if not folder.exists():
        raise CommandError(f"There is no {str(folder)!r}. Name the folder of a comparison, or a file of scores.")
    if not path.is_file():
        unfinished = (folder / "run.json").is_file()
        state = "has not come to its end: give its command again" if unfinished else "holds no run"
        raise CommandError(f"The folder {str(folder)!r} {state}. Name the folder of a comparison.")
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{str(path)!r} cannot be read: {error}. Give the command of the run again.") from error
    return complete_facts(facts)


def _find_model(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Find the best system's model; or, if it is of another run or missing, say so."""
    from likely.exceptions import ModelFileError
    from likely.persistence import read_about

    if facts.get("model") is None:
        return {}
    path = folder / facts["model"]
    try:
        system = (read_about(path)["about"] or {}).get("system")
    except (ModelFileError, OSError):
        return {"model_missing": f"The model {path} cannot be read: give the command of the run again."}
    if system != facts["leaderboard"][0]["name"]:
        return {"model_missing": f"The model {path} is of another run: give the command of this one again."}
    return {"model": str(path)}


def score_report(scores: Path, where: ApplicationOptions, which: ScoreOptions) -> Report:
    """Report what the scores of a file are worth, without a model."""
    from likely.cli.scores import read_labelled
    from likely.selection import compare_scores

    evidence = read_labelled(scores, which.label, which.column, where.positive)
    systems = evidence.systems() if evidence.is_binary else {"scores": evidence.scores}
    applications = dict(applications_from(where, evidence.classes))
    with status("Judging …"):
        comparison = compare_scores(evidence.labels, systems, applications, pos_label=evidence.target)
        return comparison.report(about={"file": scores.name})


def write_report(report: Report, path: Path) -> None:
    """Write a page, Markdown or facts, by the file's ending."""
    with writing(path):
        report.write(path)


def _show_report(report: Report) -> None:
    """Print the verdict and the findings."""
    out = console()
    for sentence in report.facts["verdict"]:
        out.print(sentence)
    for finding in report.facts["findings"]:
        out.print(f"\n{finding['code']}: {finding['said']}\n→ {finding['remedy']}")
