"""The least variances that components of a mixture may have, fixed before anything is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likely._numerics import is_rounding
from likely._typing import Floats
from likely.exceptions import InvalidParameterError
from likely.statistics import DiagonalMoments

__all__ = ["FLOOR", "AbsoluteFloor", "least_variances"]

FLOOR = 1e-6
"""Default floor of a mixture, relative to the variances of all rows."""


class AbsoluteFloor(BaseEstimator):  # type: ignore[misc]
    """A least eigenvalue of every covariance, in the units of the data, as courses teach it.

    It means the same for all columns, so it is for columns on one scale that is known.

    Parameters
    ----------
    value : float, default 0.01

    Examples
    --------
    >>> from likely import GaussianMixture
    >>> mixture = GaussianMixture(2, floor=AbsoluteFloor(0.01)).fit([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    >>> mixture.covariances_.ravel()
    array([0.01, 0.01])
    """

    def __init__(self, value: float = 0.01) -> None:
        self.value = value


def least_variances(floor: Any, whole: DiagonalMoments, resolved: float) -> Floats:
    """The least variance of each column: a share of its own over all rows, or the same for all.

    A column that is constant has none; it is given its mean square, or 1, as everywhere in the library.

    Parameters
    ----------
    resolved : float
        The least share that can be told from none.
    """
    if isinstance(floor, AbsoluteFloor):
        _check("value of AbsoluteFloor", floor.value, np.inf)
        return np.full(whole.n_features, float(floor.value))
    _check("floor", floor, 1.0)
    variances = whole.variances()
    constant = is_rounding(variances, np.sqrt(whole.mean**2 + variances))
    scale = np.where(constant, whole.mean**2, variances)
    return np.asarray(max(float(floor), resolved) * np.where(scale > 0, scale, 1.0))


def _check(name: str, value: Any, most: float) -> None:
    if isinstance(value, bool) or not (isinstance(value, (int, float, np.number)) and 0 <= value < most):
        limit = "from 0 to less than 1, or AbsoluteFloor" if most == 1.0 else "above 0"
        raise InvalidParameterError(f"{name} of a mixture must be a number {limit}, but is {value!r}.")
    if most == np.inf and not value > 0:
        raise InvalidParameterError(f"{name} must be a number above 0, but is {value!r}.")
