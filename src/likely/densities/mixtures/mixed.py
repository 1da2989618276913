"""Densities mixed with weights: the value that mixtures learn and score with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely._numerics import log
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block, placed
from likely.exceptions import InvalidDataError

__all__ = ["Mixed"]

IMPOSSIBLE = -1e300
ROWS = 2**16
"""Rows whose densities under all components are held at once."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """A density that is a weighted sum of others.

    Parameters
    ----------
    weights : array of shape (n_components,)
        Not negative, with sum 1.
    components : densities side by side
        With ``log_density`` of rows, of shape (n, n_components), and ``sample`` of codes.

    Notes
    -----
    log p(x) = log Σ_k w_k p(x | k); the responsibility of component k for x is w_k p(x | k) / p(x).
    """

    weights: Floats
    components: Any

    @property
    def n_components(self) -> int:
        return len(self.weights)

    @property
    def log_weights(self) -> Floats:
        """Logs of the weights; of 0 a number so low that it comes to the same, which products can be made with."""
        return np.maximum(log(self.weights), IMPOSSIBLE)

    def log_density(self, X: Rows) -> Floats:
        """Log density of each row, of shape (n,)."""
        return self._by_rows(X, _log_sums)[:, 0]

    def responsibilities(self, X: Rows) -> Floats:
        """Posterior probability of each component, of shape (n, n_components); the weights where all are impossible."""

        def shares(log_joint: Floats) -> Floats:
            sums = _log_sums(log_joint)
            impossible = np.isneginf(sums)
            return np.where(impossible, self.weights, np.exp(log_joint - np.where(impossible, 0.0, sums)))

        return self._by_rows(X, shares)

    def nearest(self, X: Rows) -> Integers:
        """The likeliest component of each row, the first of equals."""
        return np.asarray(self._by_rows(X, lambda logs: logs.argmax(axis=1)[:, None])[:, 0], dtype=np.intp)

    def sample(self, n: int, random: np.random.RandomState) -> tuple[Floats, Integers]:
        """Rows, and the components that they come from."""
        codes = random.choice(self.n_components, size=n, p=self.weights)
        return np.asarray(self.components.sample(codes, random)), codes

    def _by_rows(self, X: Rows, of: Any) -> Floats:
        """A function of the logs of weight times density, some rows at a time."""
        runs = range(0, max(X.shape[0], 1), ROWS)
        try:
            return np.concatenate([of(self._log_joint(X[low : low + ROWS])) for low in runs])
        except InvalidDataError as error:
            raise placed(error, Block(X)) from None

    def _log_joint(self, X: Rows) -> Floats:
        return np.asarray(self.components.log_density(X) + log(self.weights))


def _log_sums(log_joint: Floats) -> Floats:
    """Log of the sum of exponentials of each row, of shape (n, 1)."""
    top = log_joint.max(axis=1, keepdims=True)
    finite = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(finite + log(np.exp(log_joint - finite).sum(axis=1, keepdims=True)))
