"""The exceptions that derive from scikit-learn's. ``likely.exceptions`` offers them and loads this module on first use."""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from likely.exceptions import DegenerateDataError


class NotEnoughDataError(DegenerateDataError, NotFittedError):  # type: ignore[misc]
    """The batches seen so far do not determine the parameters; more batches may."""


class NotConvergedWarning(ConvergenceWarning):  # type: ignore[misc]
    """An iterative solver stopped before it converged; the message states the limit that it reached and the remedy."""
