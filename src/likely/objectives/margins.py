"""By how much linear logits favour the truth: what tells whether classes can be told apart without mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likely._typing import Floats, Integers

__all__ = ["LONG", "Margins", "softened_targets"]

LONG = 0.3
"""Margin of a step of Newton's method that is not short: where the loss of a row is all that is left to gain, and could
be gained for ever, the step adds 1 to its logit."""


@dataclass(frozen=True)
class Margins:
    """By how much the truth of each row is favoured over its best rival: the least, and the most.

    Examples
    --------
    >>> import numpy as np
    >>> Margins.of(np.array([2.0, -1.0]), np.array([1, 1])) + Margins.of(np.array([-4.0]), np.array([0]))
    Margins(least=-1.0, most=4.0)
    """

    least: float
    most: float

    @classmethod
    def of(cls, logits: Floats, codes: Integers) -> Margins:
        """The margins of rows whose logits have shape (n,), for two classes, or (n, n_classes); overwrites these."""
        if not len(codes):
            return cls(np.inf, -np.inf)
        if logits.ndim == 1:
            favours = (2 * codes - 1) * logits
        else:
            rows = np.arange(len(codes))
            truth = logits[rows, codes]
            logits[rows, codes] = -np.inf
            favours = truth - logits.max(axis=1)
        return cls(float(favours.min()), float(favours.max()))

    def __add__(self, other: Margins) -> Margins:
        return Margins(min(self.least, other.least), max(self.most, other.most))

    @property
    def harm_none(self) -> bool:
        """Whether some row is favoured and none is harmed, but for rounding."""
        return bool(self.least >= -1e-9 * self.most and self.most > 0)

    @property
    def largest(self) -> float:
        """The largest of all margins, for or against the truth."""
        return max(abs(self.least), abs(self.most))


def softened_targets(weights: Floats) -> Floats:
    """Posteriors wanted of the rows of each class, as if it had one more row shown as each class (Laplace's rule).

    They keep logits finite where classes can be told apart without mistakes.
    """
    K = len(weights)
    return np.asarray((np.eye(K) + 1 / weights[:, None]) / (1 + K / weights[:, None]))
