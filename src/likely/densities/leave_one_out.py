"""Leave-one-out log densities of Gaussians by downdating: about the cost of one fit and one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._typing import Booleans, Floats, Integers
from likely.densities.covariance import Covariance, Full, Spherical, well_conditioned_factor
from likely.densities.gaussian import LOG_2PI, Gaussians
from likely.statistics import ByClass

__all__ = ["leave_one_out"]

MOST_LEVERAGE = 0.999
"""Share of a direction's scatter that a row may hold: past it the rest has lost three digits, and is refitted."""


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Rows that share a covariance, and what leaving out each of them does to it.

    With δ the deviation of a row of weight w from the mean of its class of weight n, the class loses the scatter
    a δδ', a = w n / (n − w), and its mean moves so that the row deviates by grow · δ, grow = n / (n − w).
    """

    own: Floats
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
    if not all(_is_plain(shape, part, estimates[p], lost) for p, part in enumerate(parts)):
        return scores, np.ones(len(X), dtype=bool)
    refit = n - w <= w.min() / 2
    for p, part in enumerate(parts):
        rows = np.arange(len(X)) if tied else np.flatnonzero(codes == p)
        rest = np.maximum(n - w, w.min() / 2)[rows]
        own = X[rows] - gaussians.means[codes[rows]]
        left = _LeftOut(own, w[rows] * n[rows] / rest, n[rows] / rest, part.weight - lost, part.weight - lost - w[rows])
        for k in range(len(gaussians.means)) if tied else [p]:
            is_own = (codes[rows] == k)[:, None]
            deviations = np.where(is_own, own * left.grow[:, None], X[rows] - gaussians.means[k])
            log_density = _full if isinstance(shape, Full) else _diagonal
            with np.errstate(all="ignore"):
                scores[rows, k], leverage = log_density(gaussians, p, shape, left, deviations)
            refit[rows] |= ~(leverage < MOST_LEVERAGE) | (left.after <= 0)
    return scores, refit


def _full(gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, e: Floats) -> tuple[Floats, Floats]:
    U, log_determinant = gaussians.covariances.whiteners[p], gaussians.covariances.log_determinants[p]  # type: ignore[attr-defined]
    white_own, white = left.own @ U, e @ U
    b = left.a / left.before
    leverage = b * np.square(white_own).sum(axis=1)
    along = np.einsum("nd,nd->n", white_own, white)
    ratio = left.after / left.before
    distances = ratio * (np.square(white).sum(axis=1) + b * along**2 / (1 - leverage))
    logs = log_determinant + np.log1p(-leverage) - e.shape[1] * np.log(ratio)
    return -0.5 * (distances + logs + e.shape[1] * LOG_2PI), leverage


def _diagonal(gaussians: Gaussians, p: int, shape: Covariance, left: _LeftOut, e: Floats) -> tuple[Floats, Floats]:
    scatter = gaussians.covariances.array()[p] * left.before
    taken = left.a[:, None] * np.square(left.own)
    if isinstance(shape, Spherical):
        taken = taken.mean(axis=1, keepdims=True)
    variances = (scatter - taken) / left.after[:, None]
    distances = (np.square(e) / variances).sum(axis=1)
    logs = np.log(variances).sum(axis=1)
    return -0.5 * (distances + logs + e.shape[1] * LOG_2PI), (taken / scatter).max(axis=1)


def _is_plain(shape: Covariance, part: Any, estimate: Floats, lost: float) -> bool:
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
    return well_conditioned_factor(R, shape.floor / (1 - MOST_LEVERAGE)) is not None
