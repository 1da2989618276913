"""The verb ``report``: what came of a comparison, again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likely.cli.options import AsJson

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a comparison.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it as Markdown (.md) instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show again what came of a comparison, without computing anything.

    The folder is the one that compare kept its run in. Scores of your own are judged by likely evaluate.

    For example:
        likely report train-run
        likely report train-run -o report.md
    """
    from likely.cli.reporting import kept_facts, write_markdown

    facts = kept_facts(run)
    if output is not None:
        write_markdown(facts, output)
    elif as_json:
        from likely.cli.rendering import print_json

        print_json(facts)
    else:
        from likely.cli.leaderboards import show_comparison

        show_comparison(facts)
