"""Full covariances from rows with missing values, by expectation and maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from likely._typing import Booleans, Floats
from likely.blocks import Block, Source, repeat_until_stable
from likely.densities.covariance import Covariance, Diagonal
from likely.densities.gathering import class_moments, moments
from likely.densities.gaussian import Gaussians, estimate_gaussians
from likely.exceptions import InvalidDataError
from likely.statistics import ByClass, DiagonalMoments, Moments

__all__ = ["expected_moments"]

TOLERANCE = 1e-9
MOST_PASSES = 1000


@dataclass(frozen=True)
class _Expectation:
    """A pass's statistic: the expected moments of each class, and the log-likelihood they were expected under."""

    moments: ByClass[Moments]
    log_likelihood: float
    weight: float

    def __add__(self, other: _Expectation) -> _Expectation:
        return _Expectation(
            self.moments + other.moments, self.log_likelihood + other.log_likelihood, self.weight + other.weight
        )


def expected_moments(source: Source, shape: Covariance, tied: bool = False) -> ByClass[Moments]:
    """The moments by class that complete rows are expected to have, at the maximum of the likelihood.

    Rows are completed by their conditional means given what was observed, and the conditional covariance of what was
    filled in is added to the scatter (Little and Rubin 2002, section 11.2). Stops when the mean log-likelihood of a row
    moves by less than 1e-9.
    """
    by_class = source.classes is not None
    diagonal = source.reduce(class_moments if by_class else moments, DiagonalMoments)
    start = diagonal if by_class else ByClass({0: diagonal})
    names = [_name(source, key) for key in start.parts]
    first = estimate_gaussians(start, names, Diagonal(floor=shape.floor), tied)

    def estimate(pass_: _Expectation) -> tuple[tuple[Gaussians, ByClass[Moments]], float]:
        gaussians = estimate_gaussians(pass_.moments, names, shape, tied)
        return (gaussians, pass_.moments), pass_.log_likelihood / pass_.weight

    begin: tuple[Gaussians, ByClass[Moments]] = (first, ByClass.zero())
    (_, completed), _ = repeat_until_stable(source, _expect, estimate, begin, TOLERANCE, MOST_PASSES)
    return completed


def _expect(block: Block, state: tuple[Gaussians, ByClass[Moments]]) -> _Expectation:
    gaussians, _ = state
    X = block.dense()
    if np.isinf(X).any():
        raise block.non_finite()
    codes = np.zeros(len(X), dtype=np.intp) if block.codes is None else block.codes
    weight = np.ones(len(X)) if block.weight is None else block.weight
    scores = gaussians.log_density(X)[np.arange(len(X)), codes]
    parts = {int(k): _complete(X[codes == k], weight[codes == k], gaussians, int(k)) for k in np.unique(codes)}
    return _Expectation(ByClass(parts), float(weight @ scores), float(weight.sum()))


def _complete(X: Floats, weight: Floats, gaussians: Gaussians, k: int) -> Moments:
    """Expected moments of one class's rows, pattern by pattern."""
    mean, C = gaussians.means[k], gaussians.covariances.matrix(k)
    patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    total = Moments.zero(X.shape[1])
    for p, observed in enumerate(patterns):
        chosen = which.ravel() == p
        total = total + _complete_pattern(X[chosen], weight[chosen], observed, mean, C)
    return total


def _complete_pattern(X: Floats, weight: Floats, observed: Booleans, mean: Floats, C: Floats) -> Moments:
    if observed.all():
        return Moments.of(X, weight)
    o, m = np.flatnonzero(observed), np.flatnonzero(~observed)
    rest = C[np.ix_(m, m)]
    filled = X.copy()
    if len(o):
        slopes = cho_solve(cho_factor(C[np.ix_(o, o)]), C[np.ix_(o, m)])
        filled[:, m] = mean[m] + (X[:, o] - mean[o]) @ slopes
        rest = rest - C[np.ix_(m, o)] @ slopes
    else:
        filled[:, m] = mean
    part = Moments.of(filled, weight)
    scatter = part.scatter.copy()
    scatter[np.ix_(m, m)] += part.weight * rest
    return Moments(part.weight, part.mean, scatter)


def _name(source: Source, key: object) -> str:
    if source.classes is None:
        return "X"
    if not isinstance(key, int):
        raise InvalidDataError("Missing values cannot be completed by fold.")
    return f"Class {source.classes[key].item()!r}"
