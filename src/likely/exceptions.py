"""Every error and warning the library raises on its own account.

::

    LikelyError
    ├── InvalidParameterError     a constructor argument or option is out of range     (ValueError)
    ├── InvalidDataError          rows, labels, weights or priors break a rule         (ValueError)
    │   └── MissingValuesError    NaN where the method takes none
    ├── DegenerateDataError       legal data that does not determine the parameters    (ValueError)
    │   ├── NotEnoughDataError    instalments so far do not; more may                  (NotFittedError)
    │   └── NotSeparableError     no surface keeps the classes apart; holds the proof
    ├── IncompatiblePartsError    two parts that do not go together                    (TypeError)
    ├── SourceError               rows that cannot be learned from where they are
    ├── TableError                a table's file, line or column is not as it must be  (ValueError)
    ├── ModelFileError            a model's file is not as it must be, or a model has none (ValueError)
    ├── RunError                  a folder's earlier run does not go with this one, or cannot be kept
    └── MissingDependencyError    an optional dependency is not installed              (ImportError)

    DegenerateDataWarning         parameters were floored; the message says which and why
    NotConvergedWarning           learning stopped before it came to rest              (ConvergenceWarning)
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sklearn.exceptions import ConvergenceWarning, NotFittedError


class LikelyError(Exception):
    """Base of the errors of this library; catch it to catch them all.

    Attributes
    ----------
    parameter : str or None
        Name of the argument that the error is about, or whose change repairs it. The message writes it as Python does
        (``exclude=``); the command line replaces it by its option (``--exclude``).
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class InvalidParameterError(LikelyError, ValueError):
    """A constructor argument or an option is outside what it may be."""


class InvalidDataError(LikelyError, ValueError):
    """Rows, labels, weights or priors break a rule that every input must keep."""


class MissingValuesError(InvalidDataError):
    """Rows hold NaN where the method takes no missing values."""


class DegenerateDataError(LikelyError, ValueError):
    """The data are legal but do not determine the parameters asked for."""


class NotEnoughDataError(DegenerateDataError, NotFittedError):  # type: ignore[misc]
    """The instalments learned so far do not determine the parameters asked for; more may."""


class NotSeparableError(DegenerateDataError):
    """No surface keeps the classes apart.

    Attributes
    ----------
    certificate : Overlap
        The proof: rows of either class, and weights with which their mixtures are the same point.
    """

    def __init__(self, message: str, certificate: object = None, *, parameter: str | None = None) -> None:
        super().__init__(message, parameter=parameter)
        self.certificate = certificate

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.certificate)


class IncompatiblePartsError(LikelyError, TypeError):
    """Two parts were put together that do not fit each other."""


class SourceError(LikelyError):
    """Rows cannot be learned from where they are."""


class TableError(LikelyError, ValueError):
    """A table cannot be read or written as asked; the message says which file, line and column."""


class ModelFileError(LikelyError, ValueError):
    """A model cannot be saved or loaded; the message says which file or part, and why."""


class RunError(LikelyError):
    """What a folder holds of an earlier run does not go with this one, or cannot be written or read."""


class MissingDependencyError(LikelyError, ImportError):
    """An optional dependency is not installed; the message says what brings it."""


class DegenerateDataWarning(UserWarning):
    """Parameters were floored because the data do not determine them."""


class NotConvergedWarning(ConvergenceWarning):  # type: ignore[misc]
    """Learning was stopped before it came to rest; the message says after what, and what to do."""


_whom: ContextVar[str] = ContextVar("_whom", default="")


@contextmanager
def speaking_of(whom: str) -> Iterator[None]:
    """Inside, errors and warnings of this library begin with whom they are about, as in "Class 'b': …"."""
    said = _whom.set(f"{_whom.get()}{whom}: ")
    try:
        yield
    except LikelyError as error:
        error.args = (f"{whom}: {error}",)  # the error itself, with whatever else it holds
        raise
    finally:
        _whom.reset(said)


_unsaid: ContextVar[tuple[type[Warning], ...]] = ContextVar("_unsaid", default=())


@contextmanager
def quietly(*categories: type[Warning]) -> Iterator[None]:
    """Inside, this library gives no warnings of some categories, in this thread: where they say what is known."""
    before = _unsaid.set((*_unsaid.get(), *categories))
    try:
        yield
    finally:
        _unsaid.reset(before)


def warn_of_degenerate_data(message: str) -> None:
    """Warn that parameters were floored."""
    _warn_caller(message, DegenerateDataWarning)


def warn_of_no_convergence(message: str) -> None:
    """Warn that learning did not come to rest."""
    _warn_caller(message, NotConvergedWarning)


def _warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line that called this library, through whichever door it came."""
    if category in _unsaid.get():
        return
    frame, level = sys._getframe(1), 2
    # scikit-learn's frames too: its pipelines and searches call models of this library.
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(("likely.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    warnings.warn(_whom.get() + message, category, stacklevel=level)
