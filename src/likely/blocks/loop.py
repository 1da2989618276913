"""The one loop of learning by passes: reduce, estimate, stop when the parameters have come to rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from likely.blocks.source import Source

__all__ = ["repeat_until_stable"]

P = TypeVar("P")


def repeat_until_stable(
    source: Source,
    of: Callable[..., Any],
    estimate: Callable[[Any], P],
    movement: Callable[[P, P], float],
    start: P,
    tolerance: float,
    most_passes: int,
) -> tuple[P, int]:
    """Alternate a pass over the rows and an estimate from its statistic.

    Parameters
    ----------
    of : function of a block and the parameters
        The statistic of a pass.
    estimate : function of the statistic
        The next parameters.
    movement : function of the parameters before and after a pass
        How far they moved; the loop ends when that is no more than ``tolerance``.

    Returns
    -------
    parameters, number of passes
    """
    parameters = start
    for passes in range(1, most_passes + 1):
        before, parameters = parameters, estimate(source.reduce(of, parameters))
        if movement(before, parameters) <= tolerance:
            return parameters, passes
    return parameters, most_passes
