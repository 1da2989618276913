"""The command group: commands are imported when they run, and errors are printed as one sentence.

``likely --help`` imports this module and nothing else of the library. A command is imported when it runs. It imports
the parts of the library that it needs inside its functions.
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
    "compare": "Compare all model families on a data file, and save the best.",
    "inspect": "Describe a data file or a model file.",
    "fit": "Train and calibrate one system on a data file, and save it.",
    "score": "Score the rows of a file with a saved model.",
    "evaluate": "Evaluate the scores of any system by the cost of decisions.",
    "calibrate": "Turn scores into calibrated log-likelihood ratios.",
    "fuse": "Combine the scores of several systems into one.",
    "decide": "Turn scores into decisions at your priors and costs.",
    "report": "Write a report about scores, or show a comparison again.",
    "demo": "Run a comparison on example data.",
}
"""The commands, and their descriptions in the list of commands. The command ``name`` is the function ``name`` in the
module ``likely.cli.name``."""

WRONG, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit codes."""


class LazyGroup(TyperGroup):
    """Command group that imports a command only when the command runs, and prints each error as one sentence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept ``--debug`` before or after the command."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the named command and return its name, the command and its arguments.

        The import is needed because the placeholder in the list of commands cannot parse options.
        """
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else load_command(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command. A traceback is shown only for a bug, or for every error with ``--debug``."""
        with handle_errors(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


def load_command(name: str) -> Any:
    """Import a command and expand its groups of options."""
    function = with_options_expanded(getattr(import_module(f"likely.cli.{name}"), name))
    single = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    single.command(name, help=_help_text(function.__doc__ or ""))(function)
    return get_command(single)


def _help_text(text: str) -> str:
    """Return the help text of a command, made from its docstring.

    The lines of each paragraph are joined, so that the terminal can wrap them. Example commands keep their lines.
    """
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

Models give evidence: log-likelihoods and their ratios. You supply the application, that is priors and costs, when you
decide. Each command has its own help, for example: likely evaluate --help.
"""


def _print_version(asked: bool) -> None:
    if asked:
        from likely._version import library_version

        typer.echo(f"likely {library_version()}")
        raise typer.Exit


@app.callback(help=_help_text(_ABOUT))
def likely(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="LIKELY_DEBUG", help="Show the traceback of every error.")
    ] = False,
) -> None:
    """Accept the options that all commands share."""


for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)


def run() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # print a question mark for a character that the terminal cannot show
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="likely")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # do not wait for threads: files are written completely or not at all
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise


# Errors and warnings as sentences on stderr


@contextmanager
def handle_errors(debug: bool = False) -> Iterator[None]:
    """Print errors that a user can fix as one sentence and exit with code 2.

    A bug is raised with its traceback. With ``debug``, every error is raised with its traceback.
    """
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
        sentence = _describe_error(error)
        if sentence is None:
            raise
        typer.echo(f"Error: {sentence}", err=True)
        raise typer.Exit(WRONG) from None


def _describe_error(error: Exception) -> str | None:
    """Return the message of an error that a user can fix, or None for a bug."""
    if isinstance(error, OSError) and not _is_of_likely(error):
        reason = error.strerror or str(error)
        return f"{os.fspath(error.filename)!r} cannot be used: {reason}." if error.filename else f"{reason}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    if isinstance(error, CommandError) or _is_of_likely(error):
        return as_options(str(error), getattr(error, "parameter", None))
    if isinstance(error, (ValueError, TypeError)) and _is_of_scikit_learn(error):
        return as_options(str(error), "n_splits")  # n_splits is the only parameter that an option sets
    return None


def _is_of_likely(error: Exception) -> bool:
    """Return whether an error is a ``LikelyError``, without importing ``likely.exceptions``.

    If a ``LikelyError`` was raised, that module has been imported already, so no import is needed.
    """
    module = sys.modules.get("likely.exceptions")
    return module is not None and isinstance(error, module.LikelyError)


def _is_of_scikit_learn(error: Exception) -> bool:
    """Return whether an error was raised by code of scikit-learn, such as its validators."""
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
    """Discard the rest of the output after the reader has closed the pipe."""
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
"""Parameters of the library and the options that set them."""


def as_options(message: str, parameter: str | None = None) -> str:
    """Put a message of the library on one line. If it concerns a parameter, name the option that sets the parameter.

    Examples
    --------
    >>> as_options("data.csv has no column 'x'. Name it with target=.", "target")
    "data.csv has no column 'x'. Name it with --target."
    >>> as_options("held_out must have the 3 features of X, but has 2.", "held_out")
    '--held-out must have the 3 features of X, but has 2.'
    >>> as_options("Set folds=3 or restart=True, or leave it out with exclude='id'.", "folds")
    "Set --folds 3 or --restart, or leave it out with --exclude 'id'."
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
    """Return an option followed by a text.

    If the text begins with the value of the option in Python syntax, the value is written as on the command line: a
    space comes before a number or a quoted text, and True is left out.
    """
    if text.startswith("True"):
        return option + text.removeprefix("True")
    return f"{option} {text}" if text[:1].isdigit() or text[:1] in ("'", '"') else option + text


def _cut_quotations(text: str, max_length: int = 300, kept: int = 60) -> str:
    """Shorten each label or other text in quotation marks that has more than ``max_length`` characters."""
    first, *inner = text.split("'")
    return "'".join([first, *(f"{part[:kept]}…" if len(part) > max_length else part for part in inner)])


# Output files


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise errors of the operating system again, with the name of the requested file.

    Files are first written to a temporary file beside the requested file. Its name would mean nothing to the user.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def check_output(path: Path, suffix: str | tuple[str, ...] = "") -> None:
    """Raise CommandError if a file cannot be written later.

    Reasons are a wrong suffix, and a folder that does not exist or is not writable.
    """
    if not path.name.lower().endswith(suffix):
        endings = suffix if isinstance(suffix, str) else " or ".join(suffix)
        raise CommandError(f"The name of the output file must end with {endings}, but is {str(path)!r}. Change it.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise CommandError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Create it.")
    if path.is_dir():
        raise CommandError(f"{str(path)!r} cannot be written: it is a folder. Choose another name.")
    with writing(path), TemporaryFile(dir=folder):
        pass
