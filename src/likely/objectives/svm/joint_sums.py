"""Sums over rows of the loss of a joint margin among classes, and of its smoothing.

Conventions: parameters θ have a line (w_k, b_k) for each of K classes, scores are f_k = (x − centre)'w_k + b_k, and the
lines are one after another where parameters are flat. A row of class y has t_k = 1 + f_k − f_y for the other classes,
t_y = 0, and the cost C; its loss is C max_k t_k. That is C max over probabilities p of Σ p_k t_k, smoothed
C max [Σ p_k t_k + 2 μ (Σ √p_k − 1)], whose slope by t is C p: the row's multipliers in the dual.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers
from likely.blocks import Block
from likely.objectives.svm.rows import SeenRows, Setting, refuse_non_finite, weighty
from likely.objectives.svm.smoothed import Margin
from likely.objectives.svm.smoothed_max import SmoothedMax, smoothed_max

__all__ = [
    "DualSums",
    "JointRepair",
    "JointSums",
    "dual_sums",
    "joint_loss",
    "joint_margin",
    "joint_product",
    "joint_sums",
    "pulls",
]

SPREAD_VALUES = 2**22
"""Values, of rows times parameters of all classes, that are held at once while a Hessian is formed."""


@dataclass(frozen=True, eq=False)
class JointRepair:
    """What makes multipliers keep the constraints of the dual.

    A row of class y has p_k + 2 g_k (shift_k − mean of the shifts, weighted by g) in place of p_k, which is p to the
    first order at biases moved by μ · shift, and its multipliers are multiplied by shares[y].

    Parameters
    ----------
    shift : array of shape (n_classes,)
        That differ by at most ½, so that no probability is negative.
    shares : array of shape (n_classes,), of 0 to 1
    """

    shift: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class JointSums:
    """Sums at a point.

    Parameters
    ----------
    value, hinge : float
        The losses, smoothed and as they are.
    alphas : array of shape (n_classes,)
        Σ C (1 − p_y) of the rows of each class y.
    gradient, drift : arrays of shape (n_parameters,)
        Of ``value``, and its derivative by μ.
    flows : array of shape (n_classes, n_classes)
        Σ C (p − 1 at y) of the rows of each class y, a line each.
    spread : array of shape (n_classes, n_classes)
        Hessian of ``value`` by the biases, times μ.
    reach : float
        See :class:`likely.objectives.svm.points.Sums`.
    curvature : array of shape (n_parameters, n_parameters) or (n_parameters,)
        Hessian of ``value``, or its diagonal.
    """

    value: float
    hinge: float
    alphas: Floats
    gradient: Floats
    drift: Floats
    flows: Floats
    spread: Floats
    reach: float
    curvature: Floats

    def __add__(self, other: JointSums) -> JointSums:
        return JointSums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


@dataclass(frozen=True, eq=False)
class DualSums:
    """Σ C (1 − p_y), and Σ η (x − centre, 1) of shape (n_classes, d + 1), with η = C (p − 1 at y)."""

    total: float
    pulls: Floats

    def __add__(self, other: DualSums) -> DualSums:
        return DualSums(self.total + other.total, self.pulls + other.pulls)


def joint_sums(block: Block, theta: Floats, mu: float, setting: Setting) -> JointSums:
    """The sums of a block at flat parameters."""
    with np.errstate(all="ignore"):
        rows, codes, C = _seen(block, setting)
        t = _excesses(rows, theta, codes, setting)
        top, at = t.max(axis=1), smoothed_max(t / mu)
        value = float(C @ (top + mu * at.height))
        if not np.isfinite(value):
            refuse_non_finite(block)
        eta = C[:, None] * _less_one(at.p, codes)
        turned = C[:, None] * at.slope((top[:, None] - t) / mu**2)
        first = rows.sums(np.hstack([eta, turned]).T)
        second = _hessian(rows, C / mu, at) if setting.forms else _diagonal(rows, C / mu, at)
        K = t.shape[1]
        flows = np.zeros((K, K))
        np.add.at(flows, codes, eta)
        reach = float(C @ (np.sqrt(at.p) * at.rest).sum(axis=1)) / 2
    return JointSums(
        value,
        float(C @ top),
        -flows.diagonal(),
        first[:K].reshape(-1),
        first[K:].reshape(-1),
        flows,
        at.spread(C),
        reach,
        second,
    )


def joint_loss(block: Block, theta: Floats, setting: Setting) -> float:
    """The losses of a block, as they are."""
    rows, codes, C = _seen(block, setting)
    return float(C @ _excesses(rows, theta, codes, setting).max(axis=1))


def dual_sums(block: Block, theta: Floats, mu: float, repair: JointRepair, setting: Setting) -> DualSums:
    """The sums of a block's repaired multipliers."""
    codes: Any = block.codes
    with np.errstate(all="ignore"):
        eta = pulls(block, theta, mu, repair, setting)
        own = eta[np.arange(len(codes)), codes]
        return DualSums(-float(own.sum()), SeenRows.of(block, setting).sums(eta.T))


def pulls(block: Block, theta: Floats, mu: float, repair: JointRepair, setting: Setting) -> Floats:
    """η of the rows of a block, of shape (n, n_classes): their multipliers, less C at the class of the row."""
    with np.errstate(all="ignore"):
        rows, codes, C = _seen(block, setting)
        at = smoothed_max(_excesses(rows, theta, codes, setting) / mu)
        p = at.p + at.slope(np.broadcast_to(repair.shift, at.p.shape))
        return np.asarray((C * repair.shares.take(codes))[:, None] * _less_one(np.maximum(p, 0.0), codes))


def joint_product(block: Block, theta: Floats, mu: float, direction: Floats, setting: Setting) -> Floats:
    """The Hessian of the smoothed losses times a direction, flat as the parameters are."""
    with np.errstate(all="ignore"):
        rows, codes, C = _seen(block, setting)
        at = smoothed_max(_excesses(rows, theta, codes, setting) / mu)
        return _times(rows, C / mu, at, direction)


def joint_margin(block: Block, theta: Floats, mu: float, setting: Setting) -> Margin:
    """The rows of a block that matter to the Hessian."""
    with np.errstate(all="ignore"):
        rows, codes, C = _seen(block, setting)
        at = smoothed_max(_excesses(rows, theta, codes, setting) / mu)
        kept = weighty(C * at.bend)
    X = rows.X[kept]
    few = SeenRows(X, rows.z[kept], C[kept], rows.centre)
    size = (X.nnz if issparse(X) else X.size) + at.p.shape[1] * len(kept)
    return Margin([partial(_times, few, C[kept] / mu, at.take(kept))], size)


def _seen(block: Block, setting: Setting) -> tuple[SeenRows, Any, Floats]:
    rows = SeenRows.of(block, setting)
    return rows, block.codes, rows.C


def _excesses(rows: SeenRows, theta: Floats, codes: Integers, setting: Setting) -> Floats:
    """The t of the rows, of shape (n, n_classes)."""
    t = rows.scores(theta.reshape(len(setting.costs), -1))
    own = np.arange(len(t)), codes
    t += 1 - t[own][:, None]
    t[own] = 0.0
    return t


def _less_one(p: Floats, codes: Integers) -> Floats:
    """The p less 1 at the class of each row, as minus the sum of the others, which does not cancel."""
    own = np.arange(len(p)), codes
    p = p.copy()
    p[own] = 0.0
    p[own] = -p.sum(axis=1)
    return p


def _times(rows: SeenRows, weight: Floats, at: SmoothedMax, direction: Floats) -> Floats:
    change = at.slope(rows.scores(direction.reshape(at.p.shape[1], -1)))
    return np.asarray(rows.sums((weight[:, None] * change).T)).reshape(-1)


def _hessian(rows: SeenRows, weight: Floats, at: SmoothedMax) -> Floats:
    """Σ 2 weight (diag g − g g' / Σ g) ⊗ x x': one product for all pairs of classes, and one for the diagonal."""
    kept = weighty(weight * at.bend)
    K, q = at.p.shape[1], rows.X.shape[1] + 1
    hessian, blocks = np.zeros((K * q, K * q)), np.zeros((K, q, q))
    together = max(1, SPREAD_VALUES // (K * q))
    for low in range(0, len(kept), together):
        run = kept[low : low + together]
        _add_squares(hessian, blocks, _extended(rows, run), weight[run], at.take(run))
    for k, block in enumerate(blocks):
        hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] = block
    return hessian


def _add_squares(hessian: Floats, blocks: Floats, x: Floats, weight: Floats, at: SmoothedMax) -> None:
    g = at.g
    scale = np.sqrt(2 * weight / g.sum(axis=1))
    spread = ((g * scale[:, None])[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    hessian -= spread.T @ spread
    own = np.sqrt(2 * weight[:, None] * g * at.rest)
    for block, root in zip(blocks, own.T, strict=True):
        scaled = x * root[:, None]
        block += scaled.T @ scaled


def _extended(rows: SeenRows, kept: Integers) -> Floats:
    """Rows less the centre, with a one beside them."""
    X = dense(rows.X[kept])
    return np.column_stack([X if rows.centre is None else X - rows.centre, np.ones(len(kept))])


def _diagonal(rows: SeenRows, weight: Floats, at: SmoothedMax) -> Floats:
    return np.concatenate([rows.squares_of_columns(D) for D in (2 * weight[:, None] * at.g * at.rest).T])
