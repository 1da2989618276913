"""Cross-entropy of linear logits: losses of single rows, and their sums over the rows of a block.

Conventions. A logit is the log posterior odds (two classes, shape (n,)) or the log posterior up to a constant of the
row (shape (n, n_classes)). A target is the probability with which a row belongs to a class: 0 or 1, or in between for
soft targets. Losses are in nats. Their derivative with respect to the logits, the residual, is posterior − target.

Parameters θ are an array of shape (R, d + 1). The last column holds the biases. Two classes have one row (R = 1, the
logit of the second class), more classes have a row each. Logits are (x − centre) W' + b. All sums are weighted: a row
of class k and weight w has the weight w · class_weight[k].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Floats, Integers
from likely.blocks import Block, for_each
from likely.objectives.linear_rows import LinearRows, check_finite_sum, extend_rows
from likely.statistics.objective import Objective


def logistic_loss(logit: Floats, target: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the loss of each row for two classes, and its first and second derivative by the logit; all of shape (n,).

    Notes
    -----
    The loss at logit z and target t is log(1 + exp z) − t z = log(1 + exp −|z|) + max(z, 0) − t z. The right-hand side
    does not overflow, and loses no digits where t is 0 or 1. The first derivative is (1 − t) P − t (1 − P), with P the
    posterior. It loses no digits either, because P and 1 − P are computed separately: P as
    exp(min(z, 0)) / (1 + exp −|z|), and 1 − P as exp(−max(z, 0)) / (1 + exp −|z|).
    """
    # P = up / (1 + small) and 1 − P = down / (1 + small), with small = exp −|z|.
    up, down = np.exp(np.minimum(logit, 0)), np.exp(-np.maximum(logit, 0))
    small = up * down
    larger = 1 / (1 + small)
    up *= larger
    down *= larger
    # max(z, 0) − t z + log(1 + exp −|z|), in place.
    loss = np.maximum(logit, 0)
    loss -= target * logit
    loss += np.log1p(small)
    return loss, (1 - target) * up - target * down, up * down


def softmax_loss(logits: Floats, targets: Floats, codes: Integers) -> tuple[Floats, Floats, Floats]:
    """Return the loss of each row, of shape (n,), and its residuals and posteriors, of shape (n, n_classes).

    Parameters
    ----------
    logits : array of shape (n, n_classes)
        Overwritten.
    targets : array of shape (n_classes, n_classes)
        Target probabilities of a row of each class.
    codes : array of int of shape (n,)
        Class of each row.

    Notes
    -----
    The residual of the true class is computed as minus the sum of the other residuals: posterior − 1 would lose digits
    where the posterior is near 1.
    """
    ones = np.ones(logits.shape[1])  # a product with ones sums rows in a tenth of the time of sum(axis=1)
    # Softmax relative to the largest logit, so that nothing overflows.
    logits -= _row_max(logits)[:, None]
    wanted = targets[codes]
    loss = -np.einsum("nk,nk->n", wanted, logits)
    posteriors = np.exp(logits, out=logits)
    total = posteriors @ ones
    posteriors /= total[:, None]
    loss += np.log(total)
    # The residual of the true class is minus the sum of the other residuals.
    residuals = posteriors - wanted
    rows = np.arange(len(codes))
    residuals[rows, codes] = 0.0
    residuals[rows, codes] = -(residuals @ ones)
    return loss, residuals, posteriors


def _row_max(logits: Floats) -> Floats:
    """Return the maximum of each row, of shape (n,).

    If there are few columns, the maximum is computed column by column, because NumPy reduces short rows slowly.
    """
    if logits.shape[1] > 64:
        return np.asarray(logits.max(axis=1))
    highest = logits[:, 0].copy()
    for column in logits.T[1:]:
        np.maximum(highest, column, out=highest)
    return highest


def _complements(posteriors: Floats) -> Floats:
    """Return 1 − P for the posteriors P of each row.

    For the largest P of a row, 1 − P would lose digits. It is computed as the sum of the other posteriors.
    """
    rest, others = 1 - posteriors, posteriors.copy()
    largest = np.arange(len(posteriors)), posteriors.argmax(axis=1)
    others[largest] = 0.0
    rest[largest] = others.sum(axis=1)
    return rest


@dataclass(frozen=True, eq=False)
class LogisticSetting:
    """All arguments of the sums over rows except the model parameters θ.

    Parameters
    ----------
    class_weight : array of shape (n_classes,)
    targets : array of shape (n_classes, n_classes)
        Target probabilities of a row of each class: the identity, or soft targets.
    centre : array of shape (d,)
    is_far : bool
        Whether the centre is subtracted from the rows before any product; see
        :class:`likely.objectives.linear_rows.LinearRows`.
    """

    class_weight: Floats
    targets: Floats
    centre: Floats
    is_far: bool = False

    def weight_of(self, block: Block) -> Floats:
        """Return the weight of each row of a block, times the weight of its class."""
        codes = block.require_codes()
        weight: Floats = self.class_weight.take(codes)
        if block.weight is not None:
            weight *= block.weight
        return weight

    def rows_of(self, block: Block) -> LinearRows:
        """Return the rows of a block as LinearRows."""
        return LinearRows.of(block.X, self.centre, self.is_far)

    def losses(self, z: Floats, codes: Integers) -> tuple[Floats, Floats, Floats]:
        """Return the losses, residuals and posteriors of rows with logits z, which may be overwritten.

        For two classes, the third array has P (1 − P) in place of the posterior P.
        """
        if z.ndim == 1:
            return logistic_loss(z, self.targets[:, 1].take(codes))
        return softmax_loss(z, self.targets, codes)


def value_and_gradient(block: Block, theta: Floats, setting: LogisticSetting) -> Objective:
    """Return the sum of the losses of a block, and its gradient as a flat array."""
    with np.errstate(all="ignore"):
        rows = setting.rows_of(block)
        weight = setting.weight_of(block)
        loss, residuals, _ = setting.losses(rows.scores(_squeeze(theta)), block.require_codes())
        value = check_finite_sum(float(weight @ loss), block)
        return Objective(value, rows.sums(_weigh(residuals, weight)).reshape(-1))


def value_gradient_hessian(block: Block, theta: Floats, setting: LogisticSetting) -> Objective:
    """Return the sum of the losses of a block, its flat gradient, and its Hessian, of shape (R (d + 1), R (d + 1))."""
    with np.errstate(all="ignore"):
        rows = extend_rows(block.X, setting.centre)
        weight = setting.weight_of(block)
        z = rows @ theta.T
        loss, residuals, posteriors = setting.losses(z[:, 0] if len(theta) == 1 else z, block.require_codes())
        # The gradient comes before the Hessian, which overwrites the rows.
        value = check_finite_sum(float(weight @ loss), block)
        residuals *= weight if residuals.ndim == 1 else weight[:, None]
        gradient = residuals.T @ rows
        hessian = _binary_hessian if posteriors.ndim == 1 else _softmax_hessian
        return Objective(value, gradient.reshape(-1), hessian(rows, posteriors, weight))


def hessian_product(block: Block, theta: Floats, direction: Floats, setting: LogisticSetting) -> Floats:
    """Return the product of the Hessian of a block's losses and a direction; both have the shape of θ."""
    with np.errstate(all="ignore"):
        rows = setting.rows_of(block)
        weight = setting.weight_of(block)
        _, _, posteriors = setting.losses(rows.scores(_squeeze(theta)), block.require_codes())
        change = rows.scores(_squeeze(direction))
        if posteriors.ndim == 1:
            change *= posteriors
        else:
            # (diag P − P P') δ for the change δ of each row's logits.
            change -= np.einsum("nk,nk->n", posteriors, change)[:, None]
            change *= posteriors
        return rows.sums(_weigh(change, weight))


def hessian_diagonal(block: Block, theta: Floats, setting: LogisticSetting) -> Floats:
    """Return the diagonal of the Hessian of a block's losses, in the shape of θ."""
    with np.errstate(all="ignore"):
        return setting.rows_of(block).gram_diagonal(_row_weights(block, theta, setting))


def hessian_weights(block: Block, theta: Floats, setting: LogisticSetting) -> Floats:
    """Return, for each of the R diagonal blocks of the Hessian, the sum of the weights of the data rows, of shape (R,).

    There is one diagonal block for each row of θ. The weight of a data row in a block is w P (1 − P).
    """
    with np.errstate(all="ignore"):
        return np.asarray(_row_weights(block, theta, setting).sum(axis=1))


@dataclass(frozen=True, eq=False)
class HessianSample:
    """Sampled rows A for each diagonal block of a Hessian, scaled such that A'A estimates the block.

    There is one diagonal block for each row of θ; ``parts`` has a list of arrays for each of them. Samples add by
    concatenation of these lists, because adding the blocks themselves would move more memory.
    """

    parts: list[list[Floats]]

    def __add__(self, other: HessianSample) -> HessianSample:
        return HessianSample([mine + theirs for mine, theirs in zip(self.parts, other.parts, strict=True)])

    def blocks(self) -> Floats:
        """Return the estimates A'A of the diagonal blocks, of shape (R, d + 1, d + 1)."""
        return np.stack(for_each(_gram_of_parts, self.parts))


def _gram_of_parts(parts: list[Floats]) -> Floats:
    rows = np.concatenate(parts)
    return np.asarray(rows.T @ rows)


def sample_hessian(block: Block, theta: Floats, setting: LogisticSetting, spacing: Floats) -> HessianSample:
    """Return rows drawn by importance sampling, from which the diagonal blocks of the Hessian are estimated.

    A row with weight D in a block is included with probability min(1, D / spacing), and then has the weight
    max(D, spacing). So rows with D ≥ spacing are always included. Rows are taken at equal steps of the running sum of
    the probabilities (systematic sampling). ``spacing`` has one value for each block; a spacing of 0 takes all rows.
    """
    with np.errstate(all="ignore"):
        parts = []
        for D, gap in zip(_row_weights(block, theta, setting), spacing.tolist(), strict=True):
            kept = slice(None) if gap == 0 else _systematic_sample(np.minimum(1.0, D / gap))
            # √weight times the rows, so that A'A is the weighted sum of x x'.
            rows = extend_rows(block.X[kept], setting.centre)
            parts.append([rows * np.sqrt(np.maximum(D[kept], gap))[:, None]])
        return HessianSample(parts)


def _systematic_sample(probabilities: Floats) -> Integers:
    """Return the positions of the rows at which the running sum of the probabilities reaches ½, 1½, 2½ and so on."""
    if not len(probabilities):
        return np.empty(0, dtype=np.intp)
    running = np.cumsum(probabilities)
    kept = np.searchsorted(running, np.arange(int(running[-1] + 0.5)) + 0.5)
    return np.minimum(kept, len(running) - 1)


def _row_weights(block: Block, theta: Floats, setting: LogisticSetting) -> Floats:
    """Return the weight of each row in each diagonal block of the Hessian, w P (1 − P), of shape (R, n)."""
    weight = setting.weight_of(block)
    _, _, posteriors = setting.losses(setting.rows_of(block).scores(_squeeze(theta)), block.require_codes())
    if posteriors.ndim == 1:
        return (posteriors * weight)[None]
    return np.ascontiguousarray((posteriors * _complements(posteriors) * weight[:, None]).T)


def _squeeze(theta: Floats) -> Floats:
    """Return the single row of θ as a vector for two classes, so that the logits are a vector too; else return θ."""
    return theta[0] if len(theta) == 1 else theta


def _weigh(residuals: Floats, weight: Floats) -> Floats:
    """Return residuals times the weights of the rows, of shape (R, n). The residuals are overwritten."""
    if residuals.ndim == 1:
        return np.multiply(residuals, weight, out=residuals)[None]
    return np.multiply(residuals, weight[:, None], out=residuals).T


def _binary_hessian(rows: Floats, second: Floats, weight: Floats) -> Floats:
    """Return the Hessian Σ w P (1 − P) x x' for two classes; ``second`` is P (1 − P). The rows x are overwritten."""
    rows *= np.sqrt(second * weight)[:, None]
    return rows.T @ rows


def _softmax_hessian(rows: Floats, posteriors: Floats, weight: Floats) -> Floats:
    """Return the Hessian Σ w (diag P − P P') ⊗ x x' over rows x with weights w and posteriors P."""
    (n, q), K = rows.shape, posteriors.shape[1]
    # −Σ w P P' ⊗ x x' for all pairs of classes in one product.
    pairs = (posteriors * np.sqrt(weight)[:, None])[:, :, None] * rows[:, None, :]
    hessian = -(pairs.reshape(n, K * q).T @ pairs.reshape(n, K * q))
    # Replace the diagonal blocks by Σ w P (1 − P) x x': P − P² would lose digits where P is near 1.
    own = (posteriors * _complements(posteriors) * weight[:, None])[:, :, None] * rows[:, None, :]
    blocks = (rows.T @ own.reshape(n, K * q)).reshape(q, K, q)
    for k in range(K):
        hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] = blocks[:, k]
    return np.asarray(hessian)
