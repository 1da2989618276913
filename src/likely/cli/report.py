"""The verb ``report``: one page about a comparison, or about anybody's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.options import ApplicationOptions, AsJson, ScoreOptions

__all__ = ["report"]

_OUTPUT = "A page (.html), Markdown (.md) or facts (.json). NAME-report.html for scores if not given."


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN|SCORES", help="The folder of a comparison, or a file of scores.")],
    where: ApplicationOptions,
    which: ScoreOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Make one page about anybody's scores, or show again what came of a comparison.

    The page needs no network and no other file: a verdict in words, costs, curves, calibration before and after, and
    sliders for priors and costs that show what is decided. A file of scores has columns as likely evaluate reads them.
    The folder is the one that compare kept its run in, with its page; nothing is computed again.

    For example:
        likely report scores.csv --prior 0.1 --cost-fn 10
        likely report train-run
        likely report train-run -o report.md
    """
    from likely.cli.guarding import check_output

    if output is not None:
        check_output(output, (".html", ".md", ".json"))
    _of_scores(run, where, which, output, as_json) if run.is_file() else _of_run(run, where, which, output, as_json)


def _of_scores(
    scores: Path, where: ApplicationOptions, which: ScoreOptions, output: Path | None, as_json: bool
) -> None:
    from likely.cli.guarding import check_output
    from likely.cli.rendering import console, print_json
    from likely.cli.reporting import score_report, show_report, write_report
    from likely.cli.words import stem

    page = output or (None if as_json else Path(f"{stem(scores)}-report.html"))
    if page is not None:
        check_output(page)
    made = score_report(scores, where, which)
    if page is not None:
        write_report(made, page)
    if as_json:
        print_json(made.facts)
        return
    show_report(made)
    console().print(f"\nThe report is in {page}.")


def _of_run(run: Path, where: ApplicationOptions, which: ScoreOptions, output: Path | None, as_json: bool) -> None:
    from likely.cli.rendering import console, print_json
    from likely.cli.reporting import kept_facts, kept_report, write_report
    from likely.exceptions import InvalidParameterError

    if run.is_dir() and (where != ApplicationOptions() or which != ScoreOptions()):
        raise InvalidParameterError(
            f"{str(run)!r} is a run, which has its own priors and costs. Give the command of the run for others."
        )
    facts = kept_facts(run)
    if output is not None:
        write_report(kept_report(run), output)
    if as_json:
        print_json(kept_report(run).facts | {key: facts[key] for key in ("run", "page", "model")})
    elif output is not None:
        console().print(f"The report is in {output}.")
    else:
        from likely.cli.leaderboards import show_comparison

        show_comparison(facts)
