"""What all displays share: systems by name, one long frame, and how drawing begins and ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from likely._typing import Booleans, Floats
from likely.displays import canvas
from likely.displays.frames import long_frame
from likely.displays.systems import named_estimators, named_scores, target_scores_of
from likely.displays.thinning import thinned
from likely.evaluation import Trials

__all__ = ["Display", "TrialsDisplay", "draw_line", "trials_of"]


class Display:
    """Computed data, ready to be drawn or tabulated.

    The class methods ``from_predictions`` and ``from_estimator`` compute and do not draw. ``plot`` draws, as often as
    asked, and keeps the axes and figure it drew on last.

    Attributes
    ----------
    curves : dict {system: Curve}
    ax_ : matplotlib Axes, or array of them where each system has a panel of its own
        After ``plot``.
    figure_ : matplotlib Figure
        After ``plot``.
    """

    curves: Mapping[str, Any]
    ax_: Any
    figure_: Any
    _size: ClassVar[tuple[float, float]] = (5.4, 4.2)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(self.curves)}>"

    def frame(self, backend: str | None = None) -> Any:
        """All points as one long data frame: the system's name, then the columns of its curve.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame; by default the first one installed.
        """
        return long_frame({name: self._columns(name) for name in self.curves}, backend)

    def _columns(self, name: str) -> dict[str, Any]:
        columns: dict[str, Any] = self.curves[name].columns()
        return columns

    def _begin(self, ax: Any, beside: bool = False) -> Any:
        """The axes to draw all systems on, in a new figure with room for a legend beside them."""
        self.ax_ = canvas.panels(ax, 1, self._figure_size(), beside=beside)[0]
        self.figure_ = self.ax_.figure
        return self.ax_

    def _begin_panels(self, ax: Any, by_row: bool = True, beside: bool = False) -> Iterator[tuple[Any, str]]:
        """Axes for each system, titled with its name where there are several."""
        axes = canvas.panels(ax, len(self.curves), self._figure_size(), by_row, beside)
        self.ax_, self.figure_ = axes if len(axes) > 1 else axes[0], axes[0].figure
        for panel, name in zip(axes, self.curves, strict=True):
            if len(axes) > 1:
                panel.set_title(name, fontsize=11)
            yield panel, name

    def _figure_size(self) -> tuple[float, float]:
        """Width and height of a new figure's panel in inches."""
        return self._size

    def _colored(self) -> Iterator[tuple[str, Any, str]]:
        """Name, curve and colour of each system."""
        for i, (name, curve) in enumerate(self.curves.items()):
            yield name, curve, canvas.color_of(i)


class TrialsDisplay(Display):
    """A display of two classes' scores."""

    @classmethod
    def from_predictions(
        cls, y_true: Any, scores: Any, *, name: str | None = None, pos_label: Any = None, sample_weight: Any = None
    ) -> Any:
        """Compute the display of scores; nothing is drawn."""
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any) -> Any:
        """Compute the display of fitted estimators on some rows; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : fitted classifier of two classes, or mapping {name: classifier}
            It is asked for ``log_likelihood``, or else for ``decision_function``, or else for log posteriors.
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        name : str, optional
            Of a single system; by default the estimator's class.
        **options
            As for ``from_predictions``.
        """
        pos_label = options.get("pos_label")
        systems = named_estimators(estimator, name)
        scores = {key: target_scores_of(system, X, y, pos_label) for key, system in systems.items()}
        return cls.from_predictions(y, scores, **options)


def trials_of(y_true: Any, scores: Any, name: str | None, pos_label: Any, sample_weight: Any) -> dict[str, Trials]:
    """Sorted trials of each system."""
    return {
        key: Trials(y_true, values, pos_label=pos_label, sample_weight=sample_weight)
        for key, values in named_scores(scores, name).items()
    }


def draw_line(ax: Any, x: Floats, y: Floats, always: Booleans | None = None, **line: Any) -> None:
    """A curve with as many points as can be seen, on axes whose limits have been set.

    What lies beyond the axes leaves them; an infinity is drawn far outside.
    """
    x_scale, y_scale = ax.xaxis.get_transform(), ax.yaxis.get_transform()
    x_limits, y_limits = x_scale.transform(ax.get_xlim()), y_scale.transform(ax.get_ylim())
    kept = thinned(x_scale.transform(x), y_scale.transform(y), tuple(x_limits), tuple(y_limits), always)
    ax.plot(np.asarray(x)[kept], np.asarray(y)[kept], **{"linewidth": 1.6, **line})
