"""Penalties on weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from likely._validation import check_fraction, check_penalty
from likely.exceptions import InvalidParameterError

__all__ = ["ElasticNet", "penalty_of"]


@dataclass(frozen=True)
class ElasticNet:
    """A penalty between the sum of squares and the sum of absolute values.

    Parameters
    ----------
    l1_share : float between 0 and 1, default 0.5
        Share of the regularisation that goes to the absolute values: 0 is the ridge ("l2"), 1 the lasso ("l1").

    Notes
    -----
    At regularisation λ and share ρ the penalty of weights w is λ [ρ ‖w‖₁ + (1 − ρ) / 2 ‖w‖²].

    Examples
    --------
    >>> ElasticNet(0.25).strengths(2.0)
    (0.5, 1.5)
    """

    l1_share: float = 0.5

    def __post_init__(self) -> None:
        check_fraction("l1_share", self.l1_share, "ElasticNet")

    def strengths(self, regularization: float) -> tuple[float, float]:
        """What multiplies the absolute values, and half the squares."""
        return regularization * self.l1_share, regularization * (1 - self.l1_share)


_BY_NAME = {"l2": ElasticNet(0.0), "l1": ElasticNet(1.0), "none": ElasticNet(0.0), None: ElasticNet(0.0)}


def penalty_of(value: Any, regularization: Any, whom: str = "LogisticRegression") -> tuple[float, float]:
    """Strengths of the L1 and L2 penalties that a name, or an ElasticNet, stands for."""
    check_penalty("regularization", regularization, whom)
    penalty = _BY_NAME.get(value) if value is None or isinstance(value, str) else value
    if not isinstance(penalty, ElasticNet):
        raise InvalidParameterError(f"penalty must be 'l2', 'l1', 'none' or an ElasticNet, but is {value!r}.")
    if value in (None, "none") and regularization > 0:
        raise InvalidParameterError(
            f"penalty={value!r} leaves no use for regularization={regularization!r}. Set it to 0, or penalty='l2'."
        )
    return penalty.strengths(float(regularization))
