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
        if not (_is_number(floor.value) and 0 < floor.value < np.inf):
            raise InvalidParameterError(f"value of AbsoluteFloor must be a finite number > 0, but is {floor.value!r}.")
        return np.full(whole.n_features, float(floor.value))
    if not (_is_number(floor) and 0 <= floor < 1):
        raise InvalidParameterError(
            f"floor of a mixture must be a share from 0 to less than 1, or AbsoluteFloor, but is {floor!r}."
        )
    variances = whole.variances()
    constant = is_rounding(variances, np.sqrt(whole.mean**2 + variances))
    scale = np.where(constant, whole.mean**2, variances)
    return np.asarray(max(float(floor), resolved) * np.where(scale > 0, scale, 1.0))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
