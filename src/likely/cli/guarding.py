"""What goes wrong, said in one sentence on stderr; and warnings as notes."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import typer

from likely.cli.words import as_options

__all__ = ["INTERRUPTED", "check_output", "guarded", "note", "writing"]

WRONG, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


@contextmanager
def guarded(debug: bool = False) -> Iterator[None]:
    """Errors that a user can mend become a sentence and exit code 2; a bug, or any with ``debug``, has a traceback."""
    if debug:
        yield
        return
    try:
        with _noted_warnings():
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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the operating system name the file that was asked for, not the one beside it that is written first."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def check_output(path: Path, suffix: str | tuple[str, ...] = "") -> None:
    """A file that is to be written later can be: its name ends as it should, and its folder takes files."""
    from likely.exceptions import InvalidParameterError

    if not path.name.lower().endswith(suffix):
        endings = suffix if isinstance(suffix, str) else " or ".join(suffix)
        raise InvalidParameterError(f"The file to write must end with {endings}, but is {str(path)!r}. Rename it.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InvalidParameterError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it.")
    if path.is_dir():
        raise InvalidParameterError(f"{str(path)!r} cannot be written: it is a folder. Give the name of a file.")
    with writing(path), TemporaryFile(dir=folder):
        pass


def note(message: str) -> None:
    """Say something beside the results."""
    warnings.warn(message, UserWarning, stacklevel=2)


def _sentence(error: Exception) -> str | None:
    """What to say of an error, or None of one that nobody expected."""
    if isinstance(error, OSError) and not _is_of_likely(error):
        reason = error.strerror or str(error)
        return f"{os.fspath(error.filename)!r} cannot be used: {reason}." if error.filename else f"{reason}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    if _is_of_likely(error) or (isinstance(error, (ValueError, TypeError)) and _is_of_scikit_learn(error)):
        return as_options(str(error))
    return None


def _is_of_likely(error: Exception) -> bool:
    """Whether it is an error of this library, without loading its errors: one that was raised has been loaded."""
    module = sys.modules.get("likely.exceptions")
    return module is not None and isinstance(error, module.LikelyError)


def _is_of_scikit_learn(error: Exception) -> bool:
    """Whether it was raised by scikit-learn itself, as its validators do."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("sklearn.")


@contextmanager
def _noted_warnings() -> Iterator[None]:
    """Each warning of the library once, as a line on stderr."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, *rest: Any, **more: Any) -> None:
        text = as_options(str(message))
        if text not in said:
            said.add(text)
            typer.echo(f"Note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _silence_stdout() -> None:
    """Nobody reads on: what is still to be flushed at the end goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process
