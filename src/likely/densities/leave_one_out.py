"""Leave-one-out log densities of Gaussians by downdating: the cost of a few fits and scores, whatever the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Booleans, Floats, Integers
from likely.densities.covariance import Covariance, Full, Spherical
from likely.densities.factors import LOG_2PI, DistancesByVariances, FullCovariances, factor_if_well_conditioned
from likely.densities.gaussian import Gaussians
from likely.statistics import ByClass

MAX_LEVERAGE = 0.999
"""Share of a direction's scatter that a row may hold: past it the rest has lost three digits, and is refitted."""


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Rows that share a covariance, and what leaving out each of them does to it.

    With δ the deviation of a row of weight w from the mean of its class of weight n, the class loses the scatter
    a δδ', a = w n / (n − w), and its mean moves so that the row deviates by grow · δ, grow = n / (n − w). The degrees
    of freedom that the scatter is divided by go from ``before`` to ``after``.
    """

    X: Floats
    codes: Integers
    a: Floats
    grow: Floats
    before: float
    after: Floats


def leave_one_out(
    statistics: ByClass[Any],
    gaussians: Gaussians,
    shape: Covariance,
    X: Floats,
    codes: Integers,
    weight: Floats | None,
) -> tuple[Floats, Booleans]:
    """Log densities (n, K) of the rows that ``statistics`` were made of, each with itself left out.

    Returns the scores, and a mask of the rows for which they must be refitted instead: those whose leverage is near 1,
    and all rows where the covariances are shrunk, floored, or nearly so.

    Notes
    -----
    Leaving out a row takes S to S' = S − a δδ'. The Sherman–Morrison formula gives S'⁻¹ and the determinant lemma |S'|
    from S, both through 1 − a δ'S⁻¹δ; for diagonal shapes S' is subtracted column by column.
    """
    scores = gaussians.log_density(X)
    w = np.ones(len(X)) if weight is None else weight
    n = statistics.weights()[codes]
    tied = len(gaussians.covariances.array()) == 1
    parts = [statistics.within()] if tied else list(statistics.parts.values())
    lost = (len(statistics.parts) if tied else 1) if shape.unbiased else 0
    estimates = gaussians.covariances.array()
    if not all(_can_downdate(shape, part, estimates[p], lost) for p, part in enumerate(parts)):
        return scores, np.ones(len(X), dtype=bool)
    refit = n - w <= w.min() / 2
    for p, part in enumerate(parts):
        rows = np.arange(len(X)) if tied else np.flatnonzero(codes == p)
        classes = np.arange(len(gaussians.means)) if tied else np.array([p])
        rest = np.maximum(n - w, w.min() / 2)[rows]
        after = part.weight - lost - w[rows]
        left = _LeftOut(X[rows], codes[rows], w[rows] * n[rows] / rest, n[rows] / rest, part.weight - lost, after)
        downdated = _downdate_full if isinstance(shape, Full) else _downdate_diagonal
        with np.errstate(all="ignore"):
            scores[np.ix_(rows, classes)], leverage = downdated(gaussians, p, shape, left, classes)
        refit[rows] |= ~(leverage < MAX_LEVERAGE) | (after <= 0)
    return scores, refit


def _downdate_full(gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, classes: Integers) -> tuple[Floats, Floats]:
    """Log densities and leverages, in coordinates in which the covariance is the identity."""
    assert isinstance(gaussians.covariances, FullCovariances)
    origin, U = gaussians.means.mean(axis=0), gaussians.covariances.whiteners[p]
    Z, centres = (left.X - origin) @ U, (gaussians.means - origin) @ U
    own = Z - centres[left.codes]
    length = np.einsum("nd,nd->n", own, own)
    is_own = left.codes[:, None] == classes
    squares = DistancesByVariances(centres[classes], np.ones_like(centres[classes]))(Z)
    squares = np.where(is_own, (left.grow**2 * length)[:, None], squares)
    along = np.einsum("nd,nd->n", own, Z)[:, None] - own @ centres[classes].T
    along = np.where(is_own, (left.grow * length)[:, None], along)
    b, ratio = left.a / left.before, left.after / left.before
    leverage = b * length
    distances = ratio[:, None] * (squares + (b / (1 - leverage))[:, None] * along**2)
    d = Z.shape[1]
    logs = gaussians.covariances.log_determinants[p] + np.log1p(-leverage) - d * np.log(ratio) + d * LOG_2PI
    return -0.5 * (distances + logs[:, None]), leverage


def _downdate_diagonal(
    gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, classes: Integers
) -> tuple[Floats, Floats]:
    """Log densities and leverages, the scatter subtracted column by column."""
    scatter = gaussians.covariances.array()[p] * left.before
    own = left.X - gaussians.means[left.codes]
    taken = left.a[:, None] * np.square(own)
    if isinstance(shape, Spherical):
        taken = np.broadcast_to(taken.mean(axis=1, keepdims=True), taken.shape)
    variances = (scatter - taken) / left.after[:, None]
    logs = np.log(variances).sum(axis=1) + own.shape[1] * LOG_2PI
    scores = np.empty((len(own), len(classes)))
    for i, k in enumerate(classes):
        is_own = (left.codes == k)[:, None]
        deviations = np.where(is_own, own * left.grow[:, None], left.X - gaussians.means[k])
        scores[:, i] = -0.5 * ((np.square(deviations) / variances).sum(axis=1) + logs)
    return scores, (taken / scatter).max(axis=1)


def _can_downdate(shape: Covariance, part: Any, estimate: Floats, lost: float) -> bool:
    """Whether the estimate is the scatter over its degrees of freedom, and stays far from the floor for any row."""
    if shape.shrinkage:
        return False
    if not isinstance(shape, Full):
        plain = part.variances(lost)
        plain = np.full_like(plain, plain.mean()) if isinstance(shape, Spherical) else plain
        return bool(np.allclose(estimate, plain, rtol=1e-9, atol=0) and (part.column_weights == part.weight).all())
    scale = np.sqrt(part.variances(lost))
    if not scale.all():
        return False
    R = part.covariance(lost) / np.outer(scale, scale)
    return factor_if_well_conditioned(R, shape.floor / (1 - MAX_LEVERAGE)) is not None
