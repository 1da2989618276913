"""Exceptions that derive from exceptions of scikit-learn.

``likely.exceptions`` loads this module when one of them is first used, so that importing it does not import
scikit-learn.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from likely.exceptions import DegenerateDataError


class NotEnoughDataError(DegenerateDataError, NotFittedError):  # type: ignore[misc]
    """The batches seen so far do not determine the parameters. Further batches may determine them."""


class NotConvergedWarning(ConvergenceWarning):  # type: ignore[misc]
    """An iterative solver stopped before it converged; the message states the limit that it reached and the remedy."""
