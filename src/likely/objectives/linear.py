"""Sums over rows of the losses of linear logits: what sources map over their blocks.

Conventions: parameters θ are an array of shape (R, d + 1), the last column the biases, with one row for two classes
(R = 1, the logit of the second) and a row for each of more. Logits are (x − centre) W' + b. All sums are weighted: a
row of class k and weight w counts w · class_weight[k].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense, scratch
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block, for_each
from likely.objectives.losses import complements, logistic_loss, softmax_loss
from likely.objectives.margins import Margins
from likely.statistics.objective import Objective

__all__ = [
    "Drawn",
    "Setting",
    "column_curvatures",
    "curvature",
    "draw",
    "logits",
    "margins",
    "product",
    "slope",
    "total_spread",
]


@dataclass(frozen=True, eq=False)
class Setting:
    """What the sums depend on besides rows and parameters.

    Parameters
    ----------
    class_weight : array of shape (n_classes,)
    targets : array of shape (n_classes, n_classes)
        Posteriors wanted of a row of each class: the identity, or softer.
    centre : array of shape (d,)
    is_far : bool
        Whether the centre is so far from zero, beside the spread of the rows, that it must be taken off the rows
        before any product, lest digits cancel. Otherwise it is taken off the results, and rows are not copied.
    """

    class_weight: Floats
    targets: Floats
    centre: Floats
    is_far: bool = False

    def weight_of(self, block: Block) -> Floats:
        """What each row of a block counts."""
        weight = self.class_weight.take(_codes(block))
        if block.weight is not None:
            weight *= block.weight
        return weight

    def centred(self, block: Block) -> Floats:
        """The rows of a block less the centre, dense, with a column of ones for the bias; in reused memory."""
        n, d = block.X.shape
        rows = scratch((n, d + 1), slot=2)
        np.subtract(dense(block.X), self.centre, out=rows[:, :d])
        rows[:, d] = 1.0
        return rows


def logits(rows: Any, theta: Floats, setting: Setting) -> Floats:
    """Logits of rows, of shape (n,) for two classes, else (n, n_classes)."""
    W, b = theta[:, :-1], theta[:, -1]
    offset = b if setting.is_far else b - W @ setting.centre
    if len(theta) == 1:
        return np.asarray(rows.dot(W[0]) + offset[0])  # a third of the time of @ for few columns
    return np.asarray(rows @ W.T + offset)


def slope(block: Block, theta: Floats, setting: Setting) -> Objective:
    """Value and gradient."""
    with np.errstate(all="ignore"):
        rows = _rows(block, setting)
        weight = setting.weight_of(block)
        loss, residuals, _ = _losses(logits(rows, theta, setting), block, setting)
        value = _finite(float(weight @ loss), block)
        return Objective(value, _gradient(rows, residuals, weight, setting))


def curvature(block: Block, theta: Floats, setting: Setting) -> Objective:
    """Value, gradient and Hessian, of (R (d + 1))² numbers."""
    with np.errstate(all="ignore"):
        rows = setting.centred(block)
        weight = setting.weight_of(block)
        z = rows @ theta.T
        loss, residuals, posteriors = _losses(z[:, 0] if len(theta) == 1 else z, block, setting)
        value = _finite(float(weight @ loss), block)
        residuals *= weight if residuals.ndim == 1 else weight[:, None]
        gradient = residuals.T @ rows
        hessian = _binary_hessian if posteriors.ndim == 1 else _softmax_hessian
        return Objective(value, gradient.reshape(-1), hessian(rows, posteriors, weight))


def product(block: Block, theta: Floats, direction: Floats, setting: Setting) -> Floats:
    """The Hessian times a direction of the shape of θ."""
    with np.errstate(all="ignore"):
        rows = _rows(block, setting)
        weight = setting.weight_of(block)
        _, _, posteriors = _losses(logits(rows, theta, setting), block, setting)
        change = logits(rows, direction, setting)
        if posteriors.ndim == 1:
            change *= posteriors
        else:
            change -= np.einsum("nk,nk->n", posteriors, change)[:, None]
            change *= posteriors
        return _gradient(rows, change, weight, setting).reshape(direction.shape)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn for the diagonal blocks of a Hessian, one block a row of θ, and scaled so that their squares make it.

    They add up by standing beside each other: sums of the blocks themselves would move more memory than the rows.
    """

    parts: list[list[Floats]]

    def __add__(self, other: Drawn) -> Drawn:
        return Drawn([mine + theirs for mine, theirs in zip(self.parts, other.parts, strict=True)])

    def curvatures(self) -> Floats:
        """The blocks, of shape (R, d + 1, d + 1)."""
        return np.stack(for_each(_square, self.parts))


def draw(block: Block, theta: Floats, setting: Setting, spacing: Floats) -> Drawn:
    """Rows for the diagonal blocks of the Hessian, by importance sampling.

    A row enters with probability min(1, D / spacing), for D its weight in the block, and then with weight
    max(D, spacing): so heavy rows all enter, and the expectation is exact. Rows are taken evenly along the running sum
    of the probabilities, not at random. A spacing of 0 takes all.
    """
    with np.errstate(all="ignore"):
        drawn = []
        for D, gap in zip(_spread(block, theta, setting), spacing.tolist(), strict=True):
            kept = slice(None) if gap == 0 else _evenly(np.minimum(1.0, D / gap))
            rows = setting.centred(Block(block.X[kept]))
            drawn.append([rows * np.sqrt(np.maximum(D[kept], gap))[:, None]])
        return Drawn(drawn)


def total_spread(block: Block, theta: Floats, setting: Setting) -> Floats:
    """What all rows weigh in each diagonal block of the Hessian, of shape (R,)."""
    with np.errstate(all="ignore"):
        return np.asarray(_spread(block, theta, setting).sum(axis=1))


def column_curvatures(block: Block, theta: Floats, setting: Setting) -> Floats:
    """The diagonal of the Hessian, of the shape of θ."""
    with np.errstate(all="ignore"):
        D = _spread(block, theta, setting)
        rows = _rows(block, setting)
        squares = rows.astype(np.float64).power(2) if issparse(rows) else np.square(rows)
        second = np.asarray(D @ squares)
        if not setting.is_far:
            second += setting.centre * (setting.centre * D.sum(axis=1, keepdims=True) - 2 * np.asarray(D @ rows))
        return np.column_stack([np.maximum(second, 0.0), D.sum(axis=1)])


def margins(block: Block, theta: Floats, setting: Setting) -> Margins:
    """Margins of the rows of a block."""
    return Margins.of(logits(_rows(block, setting), theta, setting), _codes(block))


def _codes(block: Block) -> Integers:
    assert block.codes is not None
    return block.codes


def _rows(block: Block, setting: Setting) -> Rows:
    """Rows to take products with: as they are, or with a far centre off."""
    if issparse(block.X):
        return block.X
    X = dense(block.X)
    return np.subtract(X, setting.centre, out=scratch(X.shape, slot=2)) if setting.is_far else X


def _losses(z: Floats, block: Block, setting: Setting) -> tuple[Floats, Floats, Floats]:
    """Losses, residuals, and posteriors; for two classes in place of posteriors the second derivative."""
    if z.ndim == 1:
        return logistic_loss(z, setting.targets[:, 1].take(_codes(block)))
    return softmax_loss(z, setting.targets, _codes(block))


def _gradient(rows: Rows, residuals: Floats, weight: Floats, setting: Setting) -> Floats:
    """Σ weight · residual · (row − centre, 1), flat."""
    if residuals.ndim == 1:
        residuals = np.multiply(residuals, weight, out=residuals)[None]
        first = (rows.T @ residuals[0])[None] if issparse(rows) else residuals @ rows
    else:
        residuals = np.multiply(residuals, weight[:, None], out=residuals).T
        first = np.asarray((rows.T @ residuals.T).T if issparse(rows) else residuals @ rows)
    sums = residuals.sum(axis=1)
    if not setting.is_far:
        first = first - np.outer(sums, setting.centre)
    return np.column_stack([first, sums]).reshape(-1)


def _square(parts: list[Floats]) -> Floats:
    rows = np.concatenate(parts)
    return np.asarray(rows.T @ rows)


def _spread(block: Block, theta: Floats, setting: Setting) -> Floats:
    """Weight of each row in each diagonal block of the Hessian, of shape (R, n)."""
    weight = setting.weight_of(block)
    _, _, posteriors = _losses(logits(_rows(block, setting), theta, setting), block, setting)
    if posteriors.ndim == 1:
        return (posteriors * weight)[None]
    return np.ascontiguousarray((posteriors * complements(posteriors) * weight[:, None]).T)


def _binary_hessian(rows: Floats, slopes: Floats, weight: Floats) -> Floats:
    rows *= np.sqrt(slopes * weight)[:, None]
    return rows.T @ rows


def _softmax_hessian(rows: Floats, posteriors: Floats, weight: Floats) -> Floats:
    """Σ w (diag P − P P') ⊗ x x': one product for all pairs of classes, and one for the blocks of the diagonal."""
    (n, q), K = rows.shape, posteriors.shape[1]
    spread = (posteriors * np.sqrt(weight)[:, None])[:, :, None] * rows[:, None, :]
    hessian = -(spread.reshape(n, K * q).T @ spread.reshape(n, K * q))
    # P − P² would cancel where P is near 1.
    own = (posteriors * complements(posteriors) * weight[:, None])[:, :, None] * rows[:, None, :]
    blocks = (rows.T @ own.reshape(n, K * q)).reshape(q, K, q)
    for k in range(K):
        hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] = blocks[:, k]
    return np.asarray(hessian)


def _evenly(probabilities: Floats) -> Integers:
    """Positions at which the running sum of the probabilities passes ½, 1 ½ and so on."""
    if not len(probabilities):
        return np.empty(0, dtype=np.intp)
    running = np.cumsum(probabilities)
    kept = np.searchsorted(running, np.arange(int(running[-1] + 0.5)) + 0.5)
    return np.minimum(kept, len(running) - 1)


def _finite(value: float, block: Block) -> float:
    """The value, unless rows make it NaN or infinite; parameters may make it infinite."""
    if np.isfinite(value):
        return value
    X = block.X.data if issparse(block.X) else block.X
    if not np.isfinite(X).all():
        raise block.non_finite()
    return np.inf
