"""Losses of single rows, as functions of their logits.

Conventions: a logit is a log posterior odds (two classes, shape (n,)) or a log posterior up to a constant of the row
(shape (n, n_classes)). A target is the probability that the loss wants to see: 0 or 1, or softer. Losses are
cross-entropies in nats; their derivative by the logits, the residual, is posterior − target.
"""

from __future__ import annotations

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["complements", "logistic_loss", "softmax_loss"]


def logistic_loss(logit: Floats, target: Floats) -> tuple[Floats, Floats, Floats]:
    """Loss of each row, two classes, with its first and second derivative by the logit; all of shape (n,).

    Notes
    -----
    log(1 + exp z) − t z = log(1 + exp −|z|) + max(z, 0) − t z, in which nothing overflows, and nothing cancels where
    t is 0 or 1. Nor does anything in the derivative, (1 − t) P − t (1 − P): both posteriors are reckoned, P as
    exp(min(z, 0)) / (1 + exp −|z|) and 1 − P likewise, from two exponentials.
    """
    up, down = np.exp(np.minimum(logit, 0)), np.exp(-np.maximum(logit, 0))
    small = up * down
    larger = 1 / (1 + small)
    up *= larger
    down *= larger
    loss = np.maximum(logit, 0)
    loss -= target * logit
    loss += np.log1p(small)
    return loss, (1 - target) * up - target * down, up * down


def softmax_loss(logits: Floats, targets: Floats, codes: Integers) -> tuple[Floats, Floats, Floats]:
    """Loss of each row, of shape (n,), with its residuals and posteriors, of shape (n, n_classes).

    Parameters
    ----------
    logits : array of shape (n, n_classes)
        Overwritten.
    targets : array of shape (n_classes, n_classes)
        What is wanted of a row of each class.
    codes : array of int of shape (n,)
        The class of each row.

    Notes
    -----
    The residual of the truth is minus the sum of the others: posterior − 1 would cancel where the posterior is near 1.
    """
    ones = np.ones(logits.shape[1])  # a product with it sums rows in a tenth of the time of sum(axis=1)
    logits -= _highest(logits)[:, None]
    wanted = targets[codes]
    loss = -np.einsum("nk,nk->n", wanted, logits)
    posteriors = np.exp(logits, out=logits)
    total = posteriors @ ones
    posteriors /= total[:, None]
    loss += np.log(total)
    residuals = posteriors - wanted
    rows = np.arange(len(codes))
    residuals[rows, codes] = 0.0
    residuals[rows, codes] = -(residuals @ ones)
    return loss, residuals, posteriors


def _highest(logits: Floats) -> Floats:
    """The highest of each row, of few columns a column at a time: NumPy goes along short rows slowly."""
    if logits.shape[1] > 64:
        return np.asarray(logits.max(axis=1))
    highest = logits[:, 0].copy()
    for column in logits.T[1:]:
        np.maximum(highest, column, out=highest)
    return highest


def complements(posteriors: Floats) -> Floats:
    """1 − P, for the largest posterior of each row as the sum of the others, which does not cancel."""
    rest, others = 1 - posteriors, posteriors.copy()
    largest = np.arange(len(posteriors)), posteriors.argmax(axis=1)
    others[largest] = 0.0
    rest[largest] = others.sum(axis=1)
    return rest
