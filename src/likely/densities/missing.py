"""Full covariances from rows with missing values, by expectation and maximisation."""

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
from likely.densities.covariance import FLOOR, Covariance, Diagonal
from likely.densities.factors import condition_on_observed, fill_in
from likely.densities.gaussian import Gaussians, estimate_gaussians
from likely.exceptions import DegenerateDataWarning
from likely.statistics import ByClass, DiagonalMoments, Moments

TOL = 1e-8
MAX_ITER = 1000


def estimate_expected_moments(source: Source, shape: Covariance, tied: bool = False) -> ByClass[Moments]:
    """The moments by class that complete rows are expected to have, at the maximum of the likelihood.

    Rows are completed by their conditional means given what was observed, and the conditional covariance of what was
    filled in is added to the scatter (Little and Rubin 2002, section 11.2). Stops when no mean or covariance moves by
    more than 1e-8 of the standard deviations of its columns.
    """
    by_class = source.classes is not None
    diagonal = source.reduce(class_moments if by_class else moments, DiagonalMoments)
    start: ByClass[DiagonalMoments] = diagonal if by_class else ByClass({0: diagonal})
    whole = start.total()
    typical = np.sqrt(whole.mean**2 + whole.variances())
    about = [start.within()] * len(start.parts) if tied else start.parts.values()
    constant = np.stack([is_rounding(part.variances(), typical) for part in about])
    labels = None if source.classes is None else source.classes.tolist()
    names = ["X" if labels is None else f"Class {labels[k]!r}" for k in start.parts]

    def estimate(expected: ByClass[Any], shape: Covariance = shape) -> _Iterate:
        with warnings.catch_warnings():
            # What is floored is said once, of the final estimate.
            warnings.simplefilter("ignore", DegenerateDataWarning)
            return _Iterate(estimate_gaussians(expected, names, shape, tied), constant, expected)

    state = estimate(start, Diagonal(floor=shape.floor or FLOOR))
    for _ in range(MAX_ITER):
        # E step: complete the rows by their expectations; M step: estimate the Gaussians.
        before, state = state, estimate(source.reduce(_sum_expected, state))
        if _max_change(before, state) <= TOL:
            break
    else:
        warnings.warn(
            f"EM for missing values stopped after {MAX_ITER} passes before the parameters came to rest. "
            "Where few values of a column were observed the likelihood may have no maximum; drop such columns.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return state.expected


@dataclass(frozen=True, eq=False)
class _Iterate:
    """The densities of a pass, the columns of each class that never vary, and the moments they were estimated from."""

    gaussians: Gaussians
    constant: Booleans
    expected: ByClass[Any]


def _max_change(before: _Iterate, after: _Iterate) -> float:
    """The largest move of a mean or covariance, in standard deviations."""
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
    """Expected moments of one class's rows, pattern by pattern."""
    mean, C = state.gaussians.means[k], state.gaussians.covariances.matrix(k)
    # A column that never varies has no variance to fill in; its floor would be taken for one.
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
    slopes, rest = condition_on_observed(C[None], observed)
    part = Moments.of(fill_in(X, observed, mean, slopes[0]), weight)
    scatter = part.scatter.copy()
    scatter[np.ix_(~observed, ~observed)] += part.weight * (rest[0] - np.diag(floored[~observed]))
    return Moments(part.weight, part.mean, scatter)
