"""Counts of codes, and entropies and impurities of counts.

The functions take the weights of one histogram, or of a stack of histograms, as a list, an array or :class:`Counts`.
Weights need not sum to one. Logarithms are natural unless ``base`` is given, and 0 log 0 is 0. Entropy and impurity are
0 if all weights are 0, so an empty branch costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from likely._typing import Floats, Integers
from likely.exceptions import InvalidDataError, InvalidParameterError

_TABLE = (-2, -1)
"""The axes of the branches and of the classes in a table of counts."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Total weight of each code: an immutable value with ``+`` and a zero.

    Parameters
    ----------
    weights : array of shape (n_codes,)
        Total weight of the rows with each code.

    Examples
    --------
    >>> import numpy as np
    >>> a = Counts.of(np.array([0, 2, 2]), n_codes=3)
    >>> b = Counts.of(np.array([1, 2]), n_codes=3, weight=np.array([0.5, 4.0]))
    >>> (a + b).weights
    array([1. , 0.5, 6. ])
    >>> (a + Counts.zero(3)).proportions()
    array([0.33333333, 0.        , 0.66666667])
    """

    weights: Floats

    def __post_init__(self) -> None:
        self.weights.flags.writeable = False

    @classmethod
    def zero(cls, n_codes: int) -> Counts:
        """Return the counts of no rows."""
        return cls(np.zeros(n_codes))

    @classmethod
    def of(cls, codes: Integers, n_codes: int, weight: Floats | None = None) -> Counts:
        """Count the rows of each code 0, 1, …, n_codes − 1. If weights are given, sum the weights of these rows."""
        return cls(np.bincount(codes, weight, minlength=n_codes).astype(np.float64))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.weights + other.weights)

    def proportions(self) -> Floats:
        """Return the share of each code in the total weight: the maximum-likelihood probabilities."""
        return np.asarray(self.weights / self.weights.sum())


def entropy(counts: Any, axis: int = -1, base: float | None = None) -> Any:
    """Return the entropy of counts.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes), or Counts
        Weights, finite and not negative.
    axis : int
        The axis of the classes.
    base : float, optional
        Base of the logarithm: 2 for bits; natural logarithm (nats) by default.

    Returns
    -------
    float or array of shape (...)
        Between 0 and the logarithm of the number of classes; 0 if all weights are 0.

    Notes
    -----
    H = −Σ p log p, where p are the counts divided by their sum.

    Examples
    --------
    >>> round(float(entropy([29, 35], base=2)), 3)
    0.994
    """
    return _in_base(entr(_shares(counts, axis)).sum(axis=axis), base)


def distribution_cross_entropy(counts: Any, model: Any, axis: int = -1, base: float | None = None) -> Any:
    """Return the cross-entropy of two distributions: the mean negative log-probability of counts under a model.

    Parameters
    ----------
    counts, model : array-like of shape (..., n_classes), or Counts
        Weights of the observed distribution P and of the model distribution Q.
    axis, base
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        At least the entropy of the counts; infinite if a class with positive count has probability 0 in the model.

    Notes
    -----
    H(P, Q) = −Σ p log q = H(P) + KL(P‖Q). If P are the counts of labels, it is the mean negative log-likelihood of
    these labels under Q.

    Examples
    --------
    >>> float(distribution_cross_entropy([3, 1], [1, 1], base=2))
    1.0
    """
    p, q = _pair(counts, model, axis)
    return _in_base(_not_negative(-xlogy(p, q).sum(axis=axis)), base)


def kl_divergence(counts: Any, model: Any, axis: int = -1, base: float | None = None) -> Any:
    """Return the Kullback-Leibler divergence of counts from a model: cross-entropy minus entropy.

    Parameters
    ----------
    counts, model, axis, base
        As in ``distribution_cross_entropy``.

    Returns
    -------
    float or array of shape (...)
        Σ p log(p / q). It is not negative. It is 0 if the two distributions are equal, and infinite if a class with
        positive count has probability 0 in the model.

    Examples
    --------
    >>> float(kl_divergence([1, 0], [1, 1], base=2))
    1.0
    """
    p, q = _pair(counts, model, axis)
    return _in_base(_not_negative(rel_entr(p, q).sum(axis=axis)), base)


def conditional_entropy(table: Any, base: float | None = None) -> Any:
    """Return the conditional entropy of the class given the branch.

    Parameters
    ----------
    table : array-like of shape (..., n_branches, n_classes)
        Weight of each class in each branch.
    base : float, optional
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        H(Y | A) = −Σ p(a, y) log(p(a, y) / p(a)): the entropies of the branches, weighted by their shares. At most the
        entropy of the classes; 0 if every branch has one class.

    Examples
    --------
    >>> round(float(conditional_entropy([[21, 5], [8, 30]], base=2)), 3)
    0.728
    """
    joint = _shares(table, _TABLE)
    conditional = -rel_entr(joint, joint.sum(axis=-1, keepdims=True)).sum(axis=_TABLE)
    return _in_base(_not_negative(conditional), base)


def information_gain(table: Any, base: float | None = None) -> Any:
    """Return the mutual information of branch and class: the information gain of a split.

    Parameters
    ----------
    table, base
        As in ``conditional_entropy``.

    Returns
    -------
    float or array of shape (...)
        Not negative, and 0 if the classes have the same shares in every branch. The transposed table has the same
        information gain.

    Notes
    -----
    I = H(Y) − H(Y | A) = Σ p(a) KL(p(y | a)‖p(y)). It is computed by the second formula, whose terms do not underflow.

    Examples
    --------
    >>> round(float(information_gain([[21, 5], [8, 30]], base=2)), 3)
    0.266
    """
    joint = _shares(table, _TABLE)
    divergences = rel_entr(_shares(joint, -1), joint.sum(axis=-2, keepdims=True)).sum(axis=-1)
    return _in_base(_not_negative((joint.sum(axis=-1) * divergences).sum(axis=-1)), base)


def gini(counts: Any, axis: int = -1) -> Any:
    """Return the Gini impurity of counts: the probability that two independent draws have different classes.

    Parameters
    ----------
    counts, axis
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        1 − Σ p²: from 0 for one class to 1 − 1/K for K equally frequent classes; 0 if all weights are 0.

    Examples
    --------
    >>> float(gini([1, 1]))
    0.5
    """
    p = _shares(counts, axis)
    # Σ p (1 − p) equals 1 − Σ p², but is accurate if the impurity is near 0.
    return (p * (1 - p)).sum(axis=axis)


def conditional_gini(table: Any) -> Any:
    """Return the conditional Gini impurity of the class given the branch.

    Parameters
    ----------
    table
        As in ``conditional_entropy``.

    Returns
    -------
    float or array of shape (...)
        The impurities of the branches, weighted by their shares; at most the impurity of the classes.

    Examples
    --------
    >>> round(float(conditional_gini([[21, 5], [8, 30]])), 3)
    0.324
    """
    joint = _shares(table, _TABLE)
    return (joint.sum(axis=-1) * gini(joint)).sum(axis=-1)


def _shares(counts: Any, axis: int | tuple[int, int]) -> Floats:
    """Return weights divided by their sum along ``axis``. If the sum is 0, the shares are 0."""
    weights = _checked(counts, axis)
    with np.errstate(over="ignore"):
        total = weights.sum(axis=axis, keepdims=True)
    if not np.isfinite(total).all():
        # The sum of finite weights overflows. Rescaling does not change the shares.
        weights = weights / weights.max(axis=axis, keepdims=True).clip(min=1.0)
        total = weights.sum(axis=axis, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


def _checked(counts: Any, axis: int | tuple[int, int]) -> Floats:
    weights = np.asarray(counts.weights if isinstance(counts, Counts) else counts, dtype=np.float64)
    if weights.ndim < (2 if axis == _TABLE else 1):
        what = "(..., n_branches, n_classes)" if axis == _TABLE else "(..., n_classes)"
        raise InvalidDataError(f"Counts must have shape {what}, but have shape {weights.shape}.")
    valid = (weights >= 0) & (weights < np.inf)
    if not valid.all():
        raise InvalidDataError(f"Counts must be finite and >= 0, but one is {weights[~valid][0]}.")
    return weights


def _pair(counts: Any, model: Any, axis: int) -> tuple[Floats, Floats]:
    p, q = _shares(counts, axis), _shares(model, axis)
    if p.shape[axis] != q.shape[axis]:
        raise InvalidDataError(
            f"Counts and model must have the same number of classes, but have {p.shape[axis]} and {q.shape[axis]}."
        )
    return p, q


def _not_negative(value: Any) -> Any:
    """Return a sum that cannot be negative, except by rounding errors. A negative value and −0 become 0."""
    return np.maximum(value, 0.0) + 0.0


def _in_base(nats: Any, base: float | None) -> Any:
    if base is None:
        return nats
    if not 1 < base < np.inf:
        raise InvalidParameterError(f"base must be a finite number > 1, such as 2 for bits, but is {base!r}.")
    return nats / np.log(base)
