"""Costs over a range of applications: the actual ones as solid lines, the least possible as dashed ones."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from likely._typing import Floats
from likely.displays import canvas
from likely.displays.base import TrialsDisplay, draw_line

__all__ = ["CostsDisplay"]


class CostsDisplay(TrialsDisplay):
    """A display of curves that have the columns ``actual`` and ``minimum``."""

    _labels: ClassVar[tuple[str, str]]
    _worth_seeing: ClassVar[float]
    """How far up the axis reaches at most; a bad system's line leaves it, so that the others remain to be seen."""

    def plot(self, ax: Any = None, *, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        legend : bool, default True
        **line
            Options of matplotlib's lines, for all curves.
        """
        own = ax is None
        ax = self._begin(ax, beside=legend)
        self._set_limits(ax)
        for name, _, color in self._colored():
            self._draw_system(ax, name, {"color": color, **line})
        reference = self._draw_reference(ax)
        canvas.tidy(ax, *self._labels)
        if legend:
            styles = [canvas.proxy("actual"), canvas.proxy("minimum", linestyle="--"), *reference]
            canvas.legend(ax, styles, beside=own)
        return self

    def _draw_system(self, ax: Any, name: str, line: dict[str, Any]) -> None:
        x, curve = self._x(name), self.curves[name]
        draw_line(ax, x, curve.actual, **{"label": self._legend_of(name), **line})
        draw_line(ax, x, curve.minimum, **{**line, "linestyle": "--"})

    def _draw_reference(self, ax: Any) -> list[Any]:
        """What to compare the systems with; gives its entry in the legend."""
        raise NotImplementedError

    def _x(self, name: str) -> Floats:
        """The first column."""
        return np.asarray(next(iter(self.curves[name].columns().values())))

    def _legend_of(self, name: str) -> str:
        return name

    def _set_limits(self, ax: Any) -> None:
        x = np.concatenate([self._x(name) for name in self.curves])
        costs = np.concatenate([curve.actual for curve in self.curves.values()])
        highest = float(np.max(costs[np.isfinite(costs)], initial=0.0))
        low, high = (float(x.min()), float(x.max())) if x.min() < x.max() else (x[0] - 1, x[0] + 1)
        ax.set(xlim=(low, high), ylim=(0, self._worth_seeing * 1.05 if highest == 0 else self._top(highest)))

    def _top(self, highest: float) -> float:
        return min(1.05 * highest, self._worth_seeing)
