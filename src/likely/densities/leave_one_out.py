"""Leave-one-out log densities of Gaussians by downdating, at the cost of a few fits for any number of rows.

References
----------
J. Sherman and W. Morrison, "Adjustment of an inverse matrix corresponding to a change in one element of a given
matrix", Annals of Mathematical Statistics 21, 1950.
"""

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
"""Maximum leverage of a row, its share of the scatter in a direction. Above it the downdated scatter has lost three
digits, and the model is refitted without the row."""


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Rows that share a covariance, and the effect of leaving out each of them.

    δ is the deviation of a row of weight w from the mean of its class of weight n. Without the row, the scatter of the
    class decreases by a δδ' with a = w n / (n − w), and the deviation of the row from the new mean is grow · δ with
    grow = n / (n − w). The degrees of freedom of the scatter change from ``before`` to ``after``.
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
    """Return log densities (n, K) of the rows that ``statistics`` were computed from, each row left out in turn.

    Returns the scores, and a mask of the rows for which the model must be refitted instead: rows whose leverage is near
    1, and all rows if the covariances are shrunk, floored, or close to the floor.

    Notes
    -----
    Leaving out a row changes S to S' = S − a δδ'. The Sherman–Morrison formula gives S'⁻¹ from S, and the matrix
    determinant lemma gives |S'|. Both use 1 − a δ'S⁻¹δ. For diagonal covariance types, S' is computed column by column.
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
        # Downdate the covariance that these rows share, and refit where the leverage is too large.
        downdate = _downdate_full if isinstance(shape, Full) else _downdate_diagonal
        with np.errstate(all="ignore"):
            scores[np.ix_(rows, classes)], leverage = downdate(gaussians, p, shape, left, classes)
        refit[rows] |= ~(leverage < MAX_LEVERAGE) | (after <= 0)
    return scores, refit


def _downdate_full(
    gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, classes: Integers
) -> tuple[Floats, Floats]:
    """Return log densities and leverages, computed in coordinates in which the covariance is the identity."""
    assert isinstance(gaussians.covariances, FullCovariances)
    origin, U = gaussians.means.mean(axis=0), gaussians.covariances.whiteners[p]
    Z, centres = (left.X - origin) @ U, (gaussians.means - origin) @ U
    # Squared distances to the class means, and components along the row's own deviation δ. The mean of the row's own
    # class moves, which multiplies its deviation by grow.
    own = Z - centres[left.codes]
    length = np.einsum("nd,nd->n", own, own)
    is_own = left.codes[:, None] == classes
    squares = DistancesByVariances(centres[classes], np.ones_like(centres[classes]))(Z)
    squares = np.where(is_own, (left.grow**2 * length)[:, None], squares)
    along = np.einsum("nd,nd->n", own, Z)[:, None] - own @ centres[classes].T
    along = np.where(is_own, (left.grow * length)[:, None], along)
    # Sherman–Morrison for the distances, the determinant lemma for the log-determinants.
    b, ratio = left.a / left.before, left.after / left.before
    leverage = b * length
    distances = ratio[:, None] * (squares + (b / (1 - leverage))[:, None] * along**2)
    d = Z.shape[1]
    logs = gaussians.covariances.log_determinants[p] + np.log1p(-leverage) - d * np.log(ratio) + d * LOG_2PI
    return -0.5 * (distances + logs[:, None]), leverage


def _downdate_diagonal(
    gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, classes: Integers
) -> tuple[Floats, Floats]:
    """Return log densities and leverages, with the scatter downdated column by column."""
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
    """Return whether covariances are scatter over degrees of freedom, far from the floor whichever row is left out."""
    if shape.shrinkage:
        return False
    if not isinstance(shape, Full):
        plain = part.variances(lost)
        plain = np.full_like(plain, plain.mean()) if isinstance(shape, Spherical) else plain
        return bool(np.allclose(estimate, plain, rtol=1e-9, atol=0) and (part.column_weights == part.weight).all())
    variances = part.variances(lost)
    if not np.allclose(estimate.diagonal(), variances, rtol=1e-9, atol=0):  # a constant column was floored
        return False
    scale = np.sqrt(variances)
    R = part.covariance(lost) / np.outer(scale, scale)
    return factor_if_well_conditioned(R, shape.floor / (1 - MAX_LEVERAGE)) is not None
