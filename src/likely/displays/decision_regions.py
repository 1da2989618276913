"""What a classifier of two features decides, wherever a row may lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np

from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, is_count
from likely.decisions import Application
from likely.displays import canvas
from likely.displays.base import Display
from likely.displays.systems import decisions_of, named_estimators
from likely.evaluation.truth import check_lengths, codes_of
from likely.exceptions import IncompatiblePartsError, InvalidDataError, InvalidParameterError

__all__ = ["DecisionRegions", "DecisionRegionsDisplay"]

_POINTS = 3000
"""At most so many rows are drawn, taken evenly."""


@dataclass(frozen=True, eq=False)
class DecisionRegions:
    """Decisions on a grid.

    Attributes
    ----------
    first, second : arrays of shape (resolution,)
        The grid's values of either feature.
    decisions : array of int of shape (resolution, resolution)
        ``decisions[i, j]`` is the position among the classes of what is decided at ``(first[j], second[i])``; −1 where
        it rejects.
    classes : array of shape (n_classes,)
    """

    first: Floats
    second: Floats
    decisions: Integers
    classes: Labels

    def columns(self) -> dict[str, Any]:
        """The grid's points, with the label decided at each, None where it rejects."""
        first, second = np.meshgrid(self.first, self.second)
        labels = [*self.classes.tolist(), None]
        return {
            "first": first.ravel(),
            "second": second.ravel(),
            "decision": [labels[code] for code in self.decisions.ravel().tolist()],
        }


@dataclass(eq=False, repr=False)
class DecisionRegionsDisplay(Display):
    """Decisions of classifiers of two features under an application, with the rows; a panel for each system.

    Attributes
    ----------
    curves : dict {system: DecisionRegions}
    X : array of shape (n, 2)
    codes : array of int of shape (n,)
        Each row's class, by its position among the classes.
    features : (str, str)
        Names of the two features.

    Examples
    --------
    >>> import numpy as np
    >>> from likely import Application, GaussianClassifier
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [6.0, 3.0], [7.0, 4.0], [7.0, 3.0]])
    >>> y = ["a", "a", "a", "b", "b", "b"]
    >>> model = GaussianClassifier("spherical").fit(X, y)
    >>> display = DecisionRegionsDisplay.from_estimator(model, X, y, application=Application([0.5, 0.5]), resolution=3)
    >>> display.curves["GaussianClassifier"].decisions
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 1, 1]])
    """

    curves: Mapping[str, DecisionRegions]
    X: Floats
    codes: Integers
    features: tuple[str, str] = ("first feature", "second feature")
    _size: ClassVar[tuple[float, float]] = (5.0, 4.4)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        application: Application | None = None,
        resolution: int = 300,
    ) -> Self:
        """Decide on a grid; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : classifier fitted on two features, or mapping {name: classifier}
            All of the same classes.
        X : array or frame of shape (n, 2)
        y : array of labels of shape (n,)
        name : str, optional
            Of a single system; by default the estimator's class.
        application : Application, optional
            In which the estimators decide; by default they predict.
        resolution : int, default 300
            Number of grid points along each feature.
        """
        if not is_count(resolution, 2, 10**4):
            raise InvalidParameterError(f"resolution must be a whole number from 2 on, but is {resolution!r}.")
        rows = _Rows(X)
        systems = named_estimators(estimator, name)
        classes = _common_classes(list(systems.values()))
        labels = check_labels("Decision regions", y)
        check_lengths("X", rows.values, len(labels))
        first, second = (_grid(values, resolution) for values in rows.values.T)
        grid = rows.alike(np.column_stack([axis.ravel() for axis in np.meshgrid(first, second)]))
        regions = {
            key: DecisionRegions(first, second, _codes(system, grid, application, classes, resolution), classes)
            for key, system in systems.items()
        }
        return cls(regions, rows.values, codes_of(labels, classes)[1], rows.names)

    def plot(self, ax: Any = None, *, legend: bool = True, **points: Any) -> Self:
        """Draw a panel for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            By default those of a new figure, side by side.
        legend : bool, default True
        **points
            Options of matplotlib's scatter.
        """
        own = ax is None
        for panel, name in self._begin_panels(ax, beside=legend):
            regions = self.curves[name]
            _draw_regions(panel, regions)
            self._draw_points(panel, regions.classes.tolist(), points)
            panel.set(xlabel=self.features[0], ylabel=self.features[1])
            if legend and name == list(self.curves)[-1]:
                rejects = any((each.decisions < 0).any() for each in self.curves.values())
                canvas.legend(panel, _rejected_entry() if rejects else [], beside=own)
        return self

    def _draw_points(self, ax: Any, labels: list[Any], points: dict[str, Any]) -> None:
        stride = -(-len(self.X) // _POINTS)
        shown, codes = self.X[::stride], self.codes[::stride]
        options = {"s": 16, "edgecolor": "white", "linewidth": 0.5, **points}
        for k, label in enumerate(labels):
            ax.scatter(*shown[codes == k].T, **{"color": canvas.color_of(k), "label": str(label), **options})


class _Rows:
    """Rows of two features, and how to make others of the same kind."""

    def __init__(self, X: Any) -> None:
        native = nw.from_native(X, eager_only=True, pass_through=True)
        self._frame = native if isinstance(native, nw.DataFrame) else None
        self.values = np.asarray(X if self._frame is None else self._frame.to_numpy(), dtype=np.float64)
        if self.values.ndim != 2 or self.values.shape[1] != 2 or not np.isfinite(self.values).all():
            raise InvalidDataError(
                f"Decision regions are drawn over two features, all finite, but X has shape {self.values.shape}."
            )
        names = ("first feature", "second feature") if self._frame is None else self._frame.columns
        self.names = (str(names[0]), str(names[1]))

    def alike(self, values: Floats) -> Any:
        """The values as an array, or as a frame of the same kind and columns as the rows came in."""
        if self._frame is None:
            return values
        columns = dict(zip(self._frame.columns, values.T.copy(), strict=True))
        return nw.from_dict(columns, backend=self._frame.implementation).to_native()


def _common_classes(estimators: list[Any]) -> Labels:
    classes = [np.asarray(estimator.classes_) for estimator in estimators]
    for others in classes[1:]:
        if others.tolist() != classes[0].tolist():
            raise IncompatiblePartsError(
                f"Decision regions beside each other need the same classes, but one estimator knows "
                f"{classes[0].tolist()[:10]} and another {others.tolist()[:10]}."
            )
    return classes[0]


def _grid(values: Floats, resolution: int) -> Floats:
    """From a little below the least value to a little above the greatest."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) if high > low else 1.0
    return np.linspace(low - margin, high + margin, resolution)


def _codes(estimator: Any, grid: Any, application: Application | None, classes: Labels, resolution: int) -> Integers:
    decided = decisions_of(estimator, grid, application)
    codes = np.full(len(decided), -1, dtype=np.intp)
    for k, label in enumerate(classes.tolist()):
        codes[decided == label] = k
    return codes.reshape(resolution, resolution)


def _draw_regions(ax: Any, regions: DecisionRegions) -> None:
    palette = [canvas.light(canvas.color_of(k)) for k in range(len(regions.classes))]
    image = np.array([*palette, (0.93, 0.93, 0.93)])[regions.decisions]
    ax.imshow(image, extent=(*_span(regions.first), *_span(regions.second)), origin="lower", aspect="auto")


def _span(axis: Floats) -> tuple[float, float]:
    """Ends of the picture, half a cell beyond the outer grid points."""
    half = (axis[1] - axis[0]) / 2
    return float(axis[0] - half), float(axis[-1] + half)


def _rejected_entry() -> list[Any]:
    return [
        canvas.proxy("rejected", linestyle="none", marker="s", markersize=8, color="#ededed", markeredgecolor="#999")
    ]
