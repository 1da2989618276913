"""Exceptions that derive from scikit-learn's; ``likely.exceptions`` loads this module when one is first used."""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from likely.exceptions import DegenerateDataError


class NotEnoughDataError(DegenerateDataError, NotFittedError):  # type: ignore[misc]
    """The batches seen so far do not determine the parameters; more batches may."""


class NotConvergedWarning(ConvergenceWarning):  # type: ignore[misc]
    """An iterative solver stopped before it converged; the message states the limit that it reached and the remedy."""
