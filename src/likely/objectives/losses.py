"""Losses of single rows, as functions of their logits.

Conventions: a logit is a log posterior odds (two classes, shape (n,)) or a log posterior up to a constant of the row
(shape (n, n_classes)). A target is the probability that the loss wants to see: 0 or 1, or softer. Losses are
cross-entropies in nats; their derivative by the logits is posterior − target.
"""

from __future__ import annotations

import numpy as np

from likely._numerics import log_normalized
from likely._typing import Floats

__all__ = ["logistic_loss", "softmax_loss"]


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


def softmax_loss(logits: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Loss of each row, of shape (n,), and its posteriors, of shape (n, n_classes)."""
    log_posteriors = log_normalized(logits)
    return -np.einsum("nk,nk->n", target, log_posteriors), np.asarray(np.exp(log_posteriors))
