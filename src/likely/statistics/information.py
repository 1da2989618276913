"""Counts of codes, and the entropies and impurities of counts.

The functions take weights that need not sum to one: a list, an array or :class:`Counts`, of one histogram or of stacks
of them. Logarithms are natural unless ``base`` says otherwise, and 0 log 0 is 0. Without weight, entropy and impurity
are 0: an empty branch costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from likely._typing import Floats, Integers
from likely.exceptions import InvalidDataError, InvalidParameterError

_TABLE = (-2, -1)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight per code: an immutable value with ``+`` and a zero.

    Parameters
    ----------
    weights : array of shape (n_codes,)
        Total weight of the rows that carry each code.

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
        """The counts of no rows."""
        return cls(np.zeros(n_codes))

    @classmethod
    def of(cls, codes: Integers, n_codes: int, weight: Floats | None = None) -> Counts:
        """The counts of rows that carry ``codes`` in ``range(n_codes)``."""
        return cls(np.bincount(codes, weight, minlength=n_codes).astype(np.float64))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.weights + other.weights)

    def proportions(self) -> Floats:
        """Each code's share of the whole weight: the maximum-likelihood probabilities."""
        return np.asarray(self.weights / self.weights.sum())


def entropy(counts: Any, axis: int = -1, base: float | None = None) -> Any:
    """Entropy of counts: the expected surprise at a draw from them.

    Parameters
    ----------
    counts : array-like of shape (..., n_classes), or Counts
        Weights, finite and not negative.
    axis : int
        The axis of the classes.
    base : float, optional
        Base of the logarithm: 2 for bits; nats if not given.

    Returns
    -------
    float or array of shape (...)
        Between 0 and the logarithm of the number of classes; 0 where there is no weight.

    Notes
    -----
    H = −Σ p log p with p the counts' shares of their sum.

    Examples
    --------
    >>> round(float(entropy([29, 35], base=2)), 3)
    0.994
    """
    return _in_base(entr(_shares(counts, axis)).sum(axis=axis), base)


def cross_entropy(counts: Any, model: Any, axis: int = -1, base: float | None = None) -> Any:
    """Cross-entropy of a model under counts: the mean surprise of one who believes the model.

    Parameters
    ----------
    counts, model : array-like of shape (..., n_classes), or Counts
        Weights of what happens and of what is believed.
    axis, base
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        At least the entropy of the counts; infinite where something happens that the model holds impossible.

    Notes
    -----
    H(P, Q) = −Σ p log q = H(P) + KL(P‖Q). With P the counts of labels it is the mean negative log-likelihood of those
    labels under Q.

    Examples
    --------
    >>> float(cross_entropy([3, 1], [1, 1], base=2))
    1.0
    """
    p, q = _pair(counts, model, axis)
    return _in_base(_not_negative(-xlogy(p, q).sum(axis=axis)), base)


def kl_divergence(counts: Any, model: Any, axis: int = -1, base: float | None = None) -> Any:
    """Kullback-Leibler divergence of counts from a model: what believing the model costs beyond the entropy.

    Parameters
    ----------
    counts, model, axis, base
        As in ``cross_entropy``.

    Returns
    -------
    float or array of shape (...)
        Σ p log(p / q): not negative, 0 where the two agree, infinite where the impossible of the model happens.

    Examples
    --------
    >>> float(kl_divergence([1, 0], [1, 1], base=2))
    1.0
    """
    p, q = _pair(counts, model, axis)
    return _in_base(_not_negative(rel_entr(p, q).sum(axis=axis)), base)


def conditional_entropy(table: Any, base: float | None = None) -> Any:
    """Entropy of the class that is left once the branch is known.

    Parameters
    ----------
    table : array-like of shape (..., n_branches, n_classes)
        Weight of each class in each branch.
    base : float, optional
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        H(Y given A) = −Σ p(a, y) log(p(a, y) / p(a)): the branches' entropies weighted by the branches' shares. At most
        the entropy of the classes; 0 where every branch has one class.

    Examples
    --------
    >>> round(float(conditional_entropy([[21, 5], [8, 30]], base=2)), 3)
    0.728
    """
    joint = _shares(table, _TABLE)
    left = -rel_entr(joint, joint.sum(axis=-1, keepdims=True)).sum(axis=_TABLE)
    return _in_base(_not_negative(left), base)


def information_gain(table: Any, base: float | None = None) -> Any:
    """Information that branch and class hold of each other: what a split gains.

    Parameters
    ----------
    table, base
        As in ``conditional_entropy``.

    Returns
    -------
    float or array of shape (...)
        Not negative; 0 where the classes have the same shares in every branch; the same for the table transposed.

    Notes
    -----
    I = H(Y) − H(Y given A) = Σ p(a) KL(p(y given a)‖p(y)); computed as the latter, whose terms do not underflow.

    Examples
    --------
    >>> round(float(information_gain([[21, 5], [8, 30]], base=2)), 3)
    0.266
    """
    joint = _shares(table, _TABLE)
    apart = rel_entr(_shares(joint, -1), joint.sum(axis=-2, keepdims=True)).sum(axis=-1)
    return _in_base(_not_negative((joint.sum(axis=-1) * apart).sum(axis=-1)), base)


def gini(counts: Any, axis: int = -1) -> Any:
    """Gini impurity of counts: how often two draws from them differ.

    Parameters
    ----------
    counts, axis
        As in ``entropy``.

    Returns
    -------
    float or array of shape (...)
        1 − Σ p²: from 0 for one class to 1 − 1/K for K classes alike; 0 where there is no weight.

    Examples
    --------
    >>> float(gini([1, 1]))
    0.5
    """
    p = _shares(counts, axis)
    # The same as 1 − Σ p², but with its digits kept near 0.
    return (p * (1 - p)).sum(axis=axis)


def conditional_gini(table: Any) -> Any:
    """Gini impurity of the class that is left once the branch is known.

    Parameters
    ----------
    table
        As in ``conditional_entropy``.

    Returns
    -------
    float or array of shape (...)
        The branches' impurities weighted by the branches' shares; at most the impurity of the classes.

    Examples
    --------
    >>> round(float(conditional_gini([[21, 5], [8, 30]])), 3)
    0.324
    """
    joint = _shares(table, _TABLE)
    return (joint.sum(axis=-1) * gini(joint)).sum(axis=-1)


def _shares(counts: Any, axis: int | tuple[int, int]) -> Floats:
    """Weights as shares of their sum along an axis, all 0 where the sum is."""
    weights = _checked(counts, axis)
    with np.errstate(over="ignore"):
        total = weights.sum(axis=axis, keepdims=True)
    if not np.isfinite(total).all():
        # Finite weights whose sum is not: shares are the same on any scale.
        weights = weights / weights.max(axis=axis, keepdims=True).clip(min=1.0)
        total = weights.sum(axis=axis, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


def _checked(counts: Any, axis: int | tuple[int, int]) -> Floats:
    weights = np.asarray(counts.weights if isinstance(counts, Counts) else counts, dtype=np.float64)
    if weights.ndim < (2 if axis == _TABLE else 1):
        what = "(..., n_branches, n_classes)" if axis == _TABLE else "(..., n_classes)"
        raise InvalidDataError(f"Counts must be of shape {what}, but are of shape {weights.shape}.")
    legal = (weights >= 0) & (weights < np.inf)
    if not legal.all():
        raise InvalidDataError(f"Counts must be finite and >= 0, but one is {weights[~legal][0]}.")
    return weights


def _pair(counts: Any, model: Any, axis: int) -> tuple[Floats, Floats]:
    p, q = _shares(counts, axis), _shares(model, axis)
    if p.shape[axis] != q.shape[axis]:
        raise InvalidDataError(f"Counts of {p.shape[axis]} classes cannot be judged by a model of {q.shape[axis]}.")
    return p, q


def _not_negative(value: Any) -> Any:
    """A sum that cannot be negative, without what rounding may have taken from 0, and without the sign of −0."""
    return np.maximum(value, 0.0) + 0.0


def _in_base(nats: Any, base: float | None) -> Any:
    if base is None:
        return nats
    if not 1 < base < np.inf:
        raise InvalidParameterError(f"base must be a number above 1, such as 2 for bits, but is {base!r}.")
    return nats / np.log(base)
