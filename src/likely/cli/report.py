"""The verb ``report``: what came of a comparison, again, or what scores are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from likely.cli.options import ApplicationOptions, AsJson, JudgingOptions

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a comparison, or a file of scores.")],
    where: ApplicationOptions,
    how: JudgingOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it as Markdown (.md) instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show again what came of a comparison, without computing anything; or what scores are worth.

    The folder is the one that compare kept its run in. A file of scores is judged as by likely evaluate, which says
    what its columns are; the other options are for such a file.

    For example:
        likely report train-run
        likely report train-run -o report.md
        likely report scores.csv --prior 0.1 -o report.md
    """
    from likely.cli.guarding import check_output
    from likely.cli.reporting import write_markdown

    if output is not None:
        check_output(output, ".md")
    facts = _facts(run, where, how)
    if output is not None:
        write_markdown(facts, output)
    elif as_json:
        from likely.cli.rendering import print_json

        print_json(facts)
    elif "leaderboard" in facts:
        from likely.cli.leaderboards import show_comparison

        show_comparison(facts)
    else:
        from likely.cli.evaluate import show_judgement

        show_judgement(facts)


def _facts(run: Path, where: ApplicationOptions, how: JudgingOptions) -> dict[str, Any]:
    if run.is_file():
        from likely.cli.evaluate import judgement

        return judgement(run, where, how)
    from likely.cli.reporting import kept_facts
    from likely.exceptions import InvalidParameterError

    if run.is_dir() and (where != ApplicationOptions() or how != JudgingOptions()):
        raise InvalidParameterError(
            f"{str(run)!r} is a run, which has its own priors and costs. Give the command of the run for others."
        )
    return kept_facts(run)
