"""Errors and warnings of this library.

::

    LikelyError
    ├── InvalidParameterError     a constructor argument or option is out of range     (ValueError)
    ├── InvalidDataError          rows, labels, weights or priors break a rule         (ValueError)
    │   └── MissingValuesError    NaN where the method does not accept missing values
    ├── DegenerateDataError       legal data that does not determine the parameters    (ValueError)
    │   ├── NotEnoughDataError    partial_fit has not seen enough rows yet             (NotFittedError)
    │   └── NotSeparableError     no surface separates the classes; holds the proof
    ├── IncompatiblePartsError    two parts cannot be combined                         (TypeError)
    ├── SourceError               a method cannot learn from this source of rows
    ├── TableError                a table's file, line or column is invalid            (ValueError)
    ├── ModelFileError            a model file is invalid, or a model cannot be saved  (ValueError)
    ├── RunError                  a stored run differs from this one, or cannot be read or written
    └── MissingDependencyError    an optional dependency is not installed              (ImportError)

    DegenerateDataWarning         parameters were floored; the message names them and the reason
    NotConvergedWarning           an iterative method stopped before convergence       (ConvergenceWarning)
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any


class LikelyError(Exception):
    """Base class of all errors of this library.

    Attributes
    ----------
    parameter : str or None
        Name of the argument that caused the error, or of an argument that can be changed to avoid the error. The
        message names it as in Python (``exclude=``). The command line replaces this by the option (``--exclude``).
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class InvalidParameterError(LikelyError, ValueError):
    """A constructor argument or an option has an invalid value."""


class InvalidDataError(LikelyError, ValueError):
    """Rows, labels, weights or priors are invalid."""


class MissingValuesError(InvalidDataError):
    """Rows contain NaN, but the method does not accept missing values."""


class DegenerateDataError(LikelyError, ValueError):
    """The data are valid but do not determine the parameters of the model."""


class NotSeparableError(DegenerateDataError):
    """No surface separates the classes.

    Attributes
    ----------
    certificate : Overlap
        The proof: rows of both classes, and convex weights for which the weighted means of the two classes coincide.
    """

    def __init__(self, message: str, certificate: object = None, *, parameter: str | None = None) -> None:
        super().__init__(message, parameter=parameter)
        self.certificate = certificate

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.certificate)


class IncompatiblePartsError(LikelyError, TypeError):
    """Two parts cannot be combined."""


class SourceError(LikelyError):
    """A method cannot learn from this source of rows."""


class TableError(LikelyError, ValueError):
    """A table cannot be read or written; the message names the file, line and column."""


class ModelFileError(LikelyError, ValueError):
    """A model cannot be saved or loaded; the message names the file or part, and the reason."""


class RunError(LikelyError):
    """The run stored in a folder differs from the present run, or cannot be read or written."""


class MissingDependencyError(LikelyError, ImportError):
    """An optional dependency is not installed; the message contains the command that installs it."""


class DegenerateDataWarning(UserWarning):
    """Parameters were floored (raised to the smallest value allowed), because the data do not determine them."""


_prefix: ContextVar[str] = ContextVar("_prefix", default="")


@contextmanager
def prefix_messages(subject: str) -> Iterator[None]:
    """Put ``subject`` before the messages of all errors and warnings of this library in the block: "Class 'b': …"."""
    token = _prefix.set(f"{_prefix.get()}{subject}: ")
    try:
        yield
    except LikelyError as error:
        error.args = (f"{subject}: {error}",)  # a new error would lose the other attributes of this one
        raise
    finally:
        _prefix.reset(token)


_suppressed: ContextVar[tuple[type[Warning], ...]] = ContextVar("_suppressed", default=())


@contextmanager
def suppress_warnings(*categories: type[Warning]) -> Iterator[None]:
    """Suppress the warnings of this library of the given categories, in the current thread, during the block."""
    token = _suppressed.set((*_suppressed.get(), *categories))
    try:
        yield
    finally:
        _suppressed.reset(token)


def warn_of_degenerate_data(message: str) -> None:
    """Warn that parameters were raised to a floor, because the data do not determine them."""
    _warn_caller(message, DegenerateDataWarning)


def warn_of_no_convergence(message: str) -> None:
    """Warn that an iterative method did not converge."""
    _warn_caller(message, __getattr__("NotConvergedWarning"))


def _warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning whose location is the line of the user's code that called this library."""
    if category in _suppressed.get():
        return
    frame, level = sys._getframe(1), 2
    # Skip scikit-learn's frames too: its pipelines and searches call models of this library.
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(("likely.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    warnings.warn(_prefix.get() + message, category, stacklevel=level)


def __getattr__(name: str) -> Any:
    """Load, on first use, the exceptions that derive from exceptions of scikit-learn.

    Code that does not need scikit-learn, such as ``Application``, can then use this module without importing it.
    """
    if name in ("NotConvergedWarning", "NotEnoughDataError"):
        return getattr(import_module("likely._learning_exceptions"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
