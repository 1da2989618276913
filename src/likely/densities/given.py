"""Checks of parameters that are given to a density instead of being estimated from rows."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely._constraints import show
from likely._typing import CovarianceName, Floats
from likely._validation import as_floats
from likely.densities.base import SUM_TOLERANCE
from likely.densities.factors import ASYMMETRY, Covariances, DiagonalCovariances, FullCovariances, min_eigenvalue
from likely.exceptions import InvalidParameterError

SHAPES: tuple[CovarianceName, ...] = ("spherical", "diagonal", "full")
"""Names of the covariance shapes, by the number of axes of one covariance: a number, a vector or a matrix."""


def check_array(name: str, value: Any, axes: int, owner: str, hint: str = "") -> Floats:
    """Return a copy of given numbers as an array; raise unless they are finite and have ``axes`` axes."""
    array = as_floats(value)
    if array is None or array.ndim != axes or array.size == 0:
        kind = {1: "a vector of numbers", 2: "a matrix of numbers"}[axes]
        found = show(value) if array is None else f"has the shape {array.shape}"
        raise _error(name, owner, f"must be {kind}, but {'is ' if array is None else ''}{found}.{hint}")
    _check_finite(name, array, owner)
    return array


def check_probabilities(name: str, value: Any, owner: str, hint: str = "") -> Floats:
    """Return given probabilities, divided by their sum; raise unless they sum to 1 up to rounding."""
    array = check_array(name, value, 1, owner, hint)
    if (array < 0).any():
        raise _error(name, owner, f"must be >= 0, but number {array.argmin()} is {array.min():g}.")
    if abs(array.sum() - 1) > SUM_TOLERANCE:
        raise _error(name, owner, f"must sum to 1, but sum to {array.sum():.7g}. Divide them by their sum.")
    return np.asarray(array / array.sum())


def check_covariances(
    name: str, value: Any, n_features: int, n: int | None, owner: str
) -> tuple[CovarianceName, Covariances]:
    """Return given covariances and the name of their shape, which follows from the number of axes.

    Parameters
    ----------
    value : array of shape (), (d,) or (d, d)
        One variance, d variances or a matrix; with ``n`` as many of them, along the first axis.
    n : int or None
        Number of covariances; None for one, without the first axis.
    """
    first, d = () if n is None else (n,), n_features
    array = as_floats(value)
    shapes = [(*first, *(d,) * axes) for axes in range(3)]
    if array is None or array.shape not in shapes:
        forms = ["a variance" if n is None else "variances of components", "variances of the columns", "a matrix"]
        forms[2] = forms[2] if n is None else "matrices"
        expected = " or ".join(f"{shape} ({form})" for shape, form in zip(shapes, forms, strict=True))
        found = f"is {show(value)}" if array is None else f"has the shape {array.shape}"
        raise _error(name, owner, f"must have the shape {expected}, as the means have {d} columns, but {found}.")
    _check_finite(name, array, owner)
    axes = array.ndim - len(first)
    array = array if first else array[None]
    if axes == 2:
        return "full", FullCovariances.of(np.stack([_check_matrix(name, C, k, n, owner) for k, C in enumerate(array)]))
    if not (array > 0).all():
        raise _error(name, owner, f"must be variances above 0, but the smallest is {array.min():g}.")
    variances = array if axes == 1 else np.repeat(array[:, None], d, axis=1)
    return SHAPES[axes], DiagonalCovariances(variances)


def copy_fitted(density: Any, name: str, owner: str) -> Any:
    """Return a copy of a fitted density, without names of columns, which its owner keeps; raise if it is not fitted."""
    has_all = all(hasattr(density, method) for method in ("fit_source", "log_density"))
    if isinstance(density, type) or not has_all or getattr(density, "by_class", True):
        raise InvalidParameterError(
            f"{name} of {owner}.given must be a density, such as Gaussian.given([0.0], [[1.0]]), but is {density!r}."
        )
    try:
        check_is_fitted(density)
    except ValueError:
        raise InvalidParameterError(
            f"{name} of {owner}.given must be a fitted density, but {type(density).__name__} is not fitted. Fit it, or "
            f"make it with {type(density).__name__}.given(...)."
        ) from None
    found = copy(density)
    found.__dict__.pop("feature_names_in_", None)
    return found


def _check_matrix(name: str, C: Floats, k: int, n: int | None, owner: str) -> Floats:
    """Return a covariance matrix without asymmetry by rounding; raise unless it is symmetric and positive definite."""
    which = "" if n is None else f" (number {k})"
    variances = C.diagonal()
    if not (variances > 0).all():
        raise _error(name, owner, f"must have variances above 0, but the smallest is {variances.min():g}{which}.")
    # Scale to a correlation matrix, so that the checks do not depend on the units of the columns.
    scales = np.sqrt(variances)
    R = C / scales / scales[:, None]
    if not np.abs(R - R.T).max() <= ASYMMETRY:
        i, j = np.unravel_index(np.abs(R - R.T).argmax(), R.shape)
        difference = f"element ({i}, {j}) is {C[i, j]:g} and element ({j}, {i}) is {C[j, i]:g}"
        raise _error(name, owner, f"must be symmetric, but {difference}{which}.")
    least = float(np.linalg.eigvalsh((R + R.T) / 2)[0])
    if not least > min_eigenvalue(0.0, len(R)):
        raise _error(
            name,
            owner,
            f"must be positive definite, but the smallest eigenvalue of the correlations is {least:.3g}{which}. Drop "
            "columns that are sums of others, or raise the variances.",
        )
    return np.asarray((C + C.T) / 2)


def _check_finite(name: str, array: Floats, owner: str) -> None:
    if not np.isfinite(array).all():
        raise _error(name, owner, "must be finite, but has NaN or infinity.")


def _error(name: str, owner: str, message: str) -> InvalidParameterError:
    return InvalidParameterError(f"{name} of {owner}.given {message}", parameter=name)
