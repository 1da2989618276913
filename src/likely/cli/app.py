"""The frame of the command line: commands that are imported when they run, and errors that become sentences.

``likely --help`` imports this module and none of the library. A command is imported when it is run, and imports what it
needs of the library inside its functions.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from likely._formatting import escape_controls
from likely.cli.options import CommandError, with_options_expanded

COMMANDS = {
    "compare": "Compare all model families on a file, and keep the best.",
    "inspect": "Say what is in a file of data, or in a model file.",
    "fit": "Train one system on a file, calibrated, and save it.",
    "score": "Give the evidence of a saved model about each row of a file.",
    "evaluate": "Judge anybody's scores: what they cost, and what they could.",
    "calibrate": "Make scores log-likelihood ratios that can be acted on.",
    "fuse": "Make one score of those of several systems.",
    "decide": "Turn evidence into decisions, at your priors and costs.",
    "report": "Show the results of a comparison again, or what scores are worth.",
    "demo": "Run the main job on data that come along.",
}
"""Each command with its line in the list. Its function is the one of its name in the module of its name."""

WRONG, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit codes."""


class LazyGroup(TyperGroup):
    """Commands that are imported when they are run, under a guard that turns errors into sentences."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` before or after the command."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command with its options, in place of the one that only stands in the list."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else load_command(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; only a bug shows a traceback."""
        with guarded(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


def load_command(name: str) -> Any:
    """Import a command."""
    function = with_options_expanded(getattr(import_module(f"likely.cli.{name}"), name))
    single = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    single.command(name, help=_help_text(function.__doc__ or ""))(function)
    return get_command(single)


def _help_text(text: str) -> str:
    """Join the lines of each paragraph, except of paragraphs with example commands."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join("\b\n" + p if "\n    " in p else " ".join(p.split()) for p in paragraphs)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ABOUT = """Pattern recognition whose outputs you can act on.

Models give evidence; you bring the application, priors and costs, when you decide. Each command says more by itself:
likely evaluate --help.
"""


def _print_version(asked: bool) -> None:
    if asked:
        from likely._version import library_version

        typer.echo(f"likely {library_version()}")
        raise typer.Exit


@app.callback(help=_help_text(_ABOUT))
def likely(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version, and end.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="LIKELY_DEBUG", help="Show tracebacks of errors.")] = False,
) -> None:
    """Take the options that all commands share."""


for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)


def run() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows a question mark
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="likely")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # threads may be in the middle of long work; files are written whole or not
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise


# Errors and warnings as sentences on stderr.


@contextmanager
def guarded(debug: bool = False) -> Iterator[None]:
    """Turn errors that a user can repair into a sentence and exit code 2; a bug, or any with ``debug``, is raised."""
    if debug:
        yield
        return
    try:
        with _warnings_as_notes():
            yield
            sys.stdout.flush()
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            _silence_stdout()
            raise typer.Exit(PIPE_CLOSED) from None
        sentence = _sentence(error)
        if sentence is None:
            raise
        typer.echo(f"Error: {sentence}", err=True)
        raise typer.Exit(WRONG) from None


def _sentence(error: Exception) -> str | None:
    """Describe an error, or return None for one that nobody expected."""
    if isinstance(error, OSError) and not _is_of_likely(error):
        reason = error.strerror or str(error)
        return f"{os.fspath(error.filename)!r} cannot be used: {reason}." if error.filename else f"{reason}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    if isinstance(error, CommandError) or _is_of_likely(error):
        return as_options(str(error), getattr(error, "parameter", None))
    if isinstance(error, (ValueError, TypeError)) and _is_of_scikit_learn(error):
        return as_options(str(error), "n_splits")  # of its splitters; its other parameters are no options
    return None


def _is_of_likely(error: Exception) -> bool:
    """Whether it is an error of this library, without importing its errors: one that was raised has been imported."""
    module = sys.modules.get("likely.exceptions")
    return module is not None and isinstance(error, module.LikelyError)


def _is_of_scikit_learn(error: Exception) -> bool:
    """Whether it was raised by scikit-learn itself, as its validators do."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("sklearn.")


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print each warning once, as a line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, *rest: Any, **more: Any) -> None:
        text = as_options(str(message))
        if text not in seen:
            seen.add(text)
            typer.echo(f"Note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def note(message: str) -> None:
    """Print a note on stderr."""
    warnings.warn(message, UserWarning, stacklevel=2)


def _silence_stdout() -> None:
    """Discard the rest of the output, since nobody reads it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process


_OPTIONS = {
    "by": "--by",
    "categories": "--category",
    "columns": "--column",
    "evaluation": "--evaluation",
    "exclude": "--exclude",
    "folds": "--folds",
    "fuse": "--fuse",
    "groups": "--group",
    "held_out": "--held-out",
    "label": "--label",
    "n_splits": "--folds",
    "restart": "--restart",
    "scores": "--scores",
    "seed": "--seed",
    "target": "--target",
    "weight": "--weight",
}
"""Parameters of the library, and the options that set them."""


def as_options(message: str, parameter: str | None = None) -> str:
    """Write a message of the library on one line; if it is about a parameter, with options in place of parameters.

    Examples
    --------
    >>> as_options("data.csv has no column 'x'. Name it with target=.", "target")
    "data.csv has no column 'x'. Name it with --target."
    >>> as_options("held_out must have the 3 features of X, but has 2.", "held_out")
    '--held-out must have the 3 features of X, but has 2.'
    >>> as_options("To go on, set folds=3 or restart=True, or leave it out with exclude='id'.", "folds")
    "To go on, set --folds 3 or --restart, or leave it out with --exclude 'id'."
    """
    text = _cut_quotations(escape_controls(" ".join(message.split())))
    if parameter not in _OPTIONS:
        return text
    if text.startswith((f"{parameter} ", f"{parameter}:")):
        text = _OPTIONS[parameter] + text.removeprefix(parameter)
    text = f" {text}"
    for name, option in _OPTIONS.items():
        first, *others = text.split(f" {name}=")
        text = first + "".join(f" {_with_value(option, other)}" for other in others)
    return text[1:]


def _with_value(option: str, text: str) -> str:
    """Put an option before a text that begins with its value, as Python writes it, or with no value."""
    if text.startswith("True"):
        return option + text.removeprefix("True")
    return f"{option} {text}" if text[:1].isdigit() or text[:1] in ("'", '"') else option + text


def _cut_quotations(text: str, longest: int = 300, kept: int = 60) -> str:
    """Cut labels and other quotations that would fill the screen."""
    first, *inner = text.split("'")
    return "'".join([first, *(f"{part[:kept]}…" if len(part) > longest else part for part in inner)])


# Files to write.


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let errors of the operating system name the file that was asked for, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def check_output(path: Path, suffix: str | tuple[str, ...] = "") -> None:
    """Raise unless a file can be written later: its name ends as it should, and its folder takes files."""
    if not path.name.lower().endswith(suffix):
        endings = suffix if isinstance(suffix, str) else " or ".join(suffix)
        raise CommandError(f"The file to write must end with {endings}, but is {str(path)!r}. Rename it.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise CommandError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it.")
    if path.is_dir():
        raise CommandError(f"{str(path)!r} cannot be written: it is a folder. Give the name of a file.")
    with writing(path), TemporaryFile(dir=folder):
        pass
