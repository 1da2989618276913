"""The frame that the verbs hang on."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from likely.cli.guarding import INTERRUPTED, guarded
from likely.cli.options import with_options_expanded

__all__ = ["app", "run"]

VERBS = {
    "compare": ("likely.cli.compare:compare", "Compare all model families on a file, and keep the best."),
    "inspect": ("likely.cli.inspect:inspect", "Say what is in a file of data, or in a model file."),
    "fit": ("likely.cli.fit:fit", "Train one system on a file, calibrated, and save it."),
    "score": ("likely.cli.score:score", "Give the evidence of a saved model about each row of a file."),
    "evaluate": ("likely.cli.evaluate:evaluate", "Judge anybody's scores: what they cost, and what they could."),
    "calibrate": ("likely.cli.calibrate:calibrate", "Make scores log-likelihood ratios that can be acted on."),
    "fuse": ("likely.cli.fuse:fuse", "Make one score of those of several systems."),
    "decide": ("likely.cli.decide:decide", "Turn evidence into decisions, at your priors and costs."),
    "report": ("likely.cli.report:report", "Show again what came of a comparison, or what scores are worth."),
    "demo": ("likely.cli.demo:demo", "Run the main job on data that come along."),
}
"""Each verb: where its function is, and the line that says what it is for."""


class Verbs(TyperGroup):
    """Verbs that are imported when they are run, in a guard that turns errors into sentences."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` before or after the verb."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb with its options, in place of the one that only stands in the list."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else _loaded(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; nothing but a bug shows a traceback."""
        with guarded(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


def _loaded(name: str) -> Any:
    """A verb, from the module that it is in."""
    module, function = VERBS[name][0].split(":")
    verb = with_options_expanded(getattr(import_module(module), function))
    single = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    single.command(name, help=_kept_lines(verb.__doc__ or ""))(verb)
    return get_command(single)


def _kept_lines(text: str) -> str:
    """A help text whose paragraphs are one line each, but for those with example commands, which keep theirs."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join("\b\n" + p if "\n    " in p else " ".join(p.split()) for p in paragraphs)


app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        from likely._version import library_version

        typer.echo(f"likely {library_version()}")
        raise typer.Exit


_ABOUT = """Pattern recognition whose outputs you can act on.

Models give evidence; you bring the application, priors and costs, when you decide. Each command says more by itself:
likely evaluate --help.
"""


@app.callback(help=_kept_lines(_ABOUT))
def likely(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version, and end.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="LIKELY_DEBUG", help="Show tracebacks of errors.")] = False,
) -> None:
    """Take the options that all verbs share."""


for _name, (_where, _line) in VERBS.items():
    app.command(_name, help=_line)(lambda: None)


def run() -> None:
    """Run the command with the arguments it was called with."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign shows a question mark
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="likely")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # threads may be amid long work; what is to be kept has been written whole
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
