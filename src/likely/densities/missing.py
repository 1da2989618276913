"""Full covariances from rows with missing values, by EM.

References
----------
R. Little and D. Rubin, "Statistical Analysis with Missing Data", 2nd ed., 2002, section 11.2.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likely._numerics import dense, is_rounding
from likely._typing import Booleans, Floats
from likely.blocks import Block, Source
from likely.blocks.gathering import class_moments, moments
from likely.densities.covariance import FLOOR, Covariance, Diagonal, Full
from likely.densities.factors import condition_on_observed, fill_in
from likely.densities.gaussian import Gaussians, estimate_gaussians
from likely.exceptions import DegenerateDataWarning
from likely.statistics import ByClass, DiagonalMoments, Moments

TOL = 1e-8
MAX_ITER = 1000


def estimate_expected_moments(source: Source, shape: Covariance, tied: bool = False) -> ByClass[Moments]:
    """Estimate the expected moments of the complete rows of each class, at the maximum of the likelihood.

    The E step replaces missing values by their conditional means given the observed values, and adds the conditional
    covariance of the missing values to the scatter (Little and Rubin 2002, section 11.2). EM stops when no mean or
    covariance changes by more than 1e-8 of the standard deviations of its columns.
    """
    by_class = source.classes is not None
    diagonal = source.reduce(class_moments if by_class else moments, DiagonalMoments)
    start: ByClass[DiagonalMoments] = diagonal if by_class else ByClass({0: diagonal})
    whole = start.total()
    typical = np.sqrt(whole.mean**2 + whole.variances())
    about = [start.within()] * len(start.parts) if tied else start.parts.values()
    constant = np.stack([is_rounding(part.variances(), typical) for part in about])
    constant = _find_floored(shape, constant, is_rounding(start.within().variances(), typical))
    labels = None if source.classes is None else source.classes.tolist()
    names = ["X" if labels is None else f"Class {labels[k]!r}" for k in start.parts]

    def estimate(expected: ByClass[Any], shape: Covariance = shape) -> _Iterate:
        with warnings.catch_warnings():
            # Only the final estimate warns about floors.
            warnings.simplefilter("ignore", DegenerateDataWarning)
            return _Iterate(estimate_gaussians(expected, names, shape, tied), constant, expected)

    state = estimate(start, Diagonal(floor=shape.floor or FLOOR))
    for _ in range(MAX_ITER):
        # E step: expected moments of the completed rows. M step: estimate the Gaussians from them.
        before, state = state, estimate(source.reduce(_sum_expected, state))
        if _max_change(before, state) <= TOL:
            break
    else:
        warnings.warn(
            f"EM for missing values stopped after {MAX_ITER} iterations before the parameters converged. "
            "If few values of a column are observed, the likelihood may have no maximum. Drop such columns.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return state.expected


def _find_floored(shape: Covariance, constant: Booleans, constant_within: Booleans) -> Booleans:
    """Return the mask of the variances that are only floors: constant columns, unless the target gives a variance."""
    if not isinstance(shape, Full) or not shape.shrinkage or shape.towards == "diagonal":
        return constant
    is_without_target = constant_within if shape.towards == "pooled" else constant.all(axis=1, keepdims=True)
    return np.asarray(constant & is_without_target)


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Densities of an iteration, mask of the floored columns of each class, and the moments of the estimate."""

    gaussians: Gaussians
    constant: Booleans
    expected: ByClass[Any]


def _max_change(before: _Iterate, after: _Iterate) -> float:
    """Return the largest change of a mean or covariance, in standard deviations."""
    moved = 0.0
    for k in range(len(before.constant)):
        scale = np.sqrt(np.diag(after.gaussians.covariances.matrix(k)))
        step = (after.gaussians.means[k] - before.gaussians.means[k]) / scale
        turn = after.gaussians.covariances.matrix(k) - before.gaussians.covariances.matrix(k)
        moved = max(moved, np.abs(step).max(), np.abs(turn / np.outer(scale, scale)).max())
    return float(moved)


def _sum_expected(block: Block, state: _Iterate) -> ByClass[Moments]:
    X = dense(block.X)
    codes = np.zeros(len(X), dtype=np.intp) if block.codes is None else block.codes
    weight = np.ones(len(X)) if block.weight is None else block.weight
    return ByClass({int(k): _complete_rows(X[codes == k], weight[codes == k], state, int(k)) for k in np.unique(codes)})


def _complete_rows(X: Floats, weight: Floats, state: _Iterate, k: int) -> Moments:
    """Return the expected moments of one class's rows, one pattern of missing values at a time."""
    mean, C = state.gaussians.means[k], state.gaussians.covariances.matrix(k)
    # The variance of a constant column is only its floor, and must not be added to the scatter.
    floored = np.diag(C) * state.constant[k]
    patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    total = Moments.zero(X.shape[1])
    for p, observed in enumerate(patterns):
        chosen = which.ravel() == p
        total = total + _complete_pattern(X[chosen], weight[chosen], observed, mean, C, floored)
    return total


def _complete_pattern(
    X: Floats, weight: Floats, observed: Booleans, mean: Floats, C: Floats, floored: Floats
) -> Moments:
    if observed.all():
        return Moments.of(X, weight)
    # Moments of the filled rows, plus the conditional covariance of the missing values.
    slopes, residual = condition_on_observed(C[None], observed)
    part = Moments.of(fill_in(X, observed, mean, slopes[0]), weight)
    scatter = part.scatter.copy()
    scatter[np.ix_(~observed, ~observed)] += part.weight * (residual[0] - np.diag(floored[~observed]))
    return Moments(part.weight, part.mean, scatter)
