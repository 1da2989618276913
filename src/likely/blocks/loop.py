"""The one loop of learning by passes: reduce, estimate, stop when the objective no longer moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from likely.blocks.source import Source

__all__ = ["repeat_until_stable"]

P = TypeVar("P")


def repeat_until_stable(
    source: Source,
    of: Callable[..., Any],
    estimate: Callable[[Any], tuple[P, float]],
    start: P,
    tolerance: float,
    most_passes: int,
) -> tuple[P, list[float]]:
    """Alternate a pass over the rows and an estimate from its statistic.

    Parameters
    ----------
    of : function of a block and the parameters
        The statistic of a pass.
    estimate : function of the statistic
        Gives the next parameters and the objective of the parameters that the pass was made with.
    tolerance : float
        Stop when the objective moved by no more than this.

    Returns
    -------
    parameters, history of the objective
    """
    parameters, history = start, []
    for _ in range(most_passes):
        parameters, objective = estimate(source.reduce(of, parameters))
        history.append(objective)
        if len(history) > 1 and abs(history[-1] - history[-2]) <= tolerance:
            break
    return parameters, history
