"""Displays of decisions: confusion matrices, and decision regions over two features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np

from likely._constraints import is_count
from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels
from likely.decisions import Application
from likely.displays.base import Display, decide, name_estimators, name_scores
from likely.displays.canvas import COLORS, INK, MatplotlibCanvas, get_color, lighten
from likely.evaluation import Confusion, confusion
from likely.evaluation.truth import check_lengths, codes_of
from likely.exceptions import IncompatiblePartsError, InvalidDataError, InvalidParameterError

_MAX_LEGIBLE = 20
"""Maximum number of classes for which the cells of a confusion matrix are large enough for numbers."""

_MAX_POINTS = 3000
"""Maximum number of rows that are drawn as points. If there are more rows, every k-th row is drawn."""


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Confusion matrices, with a panel for each system. A cell's shade shows its share of the rows of the class.

    If rows were rejected, the last column counts them.

    Attributes
    ----------
    curves : dict {system: Confusion}

    Examples
    --------
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", None], name="A")
    >>> display.curves["A"].counts
    array([[1., 1., 0.],
           [0., 1., 1.]])
    >>> display.frame("pyarrow").column_names
    ['system', 'truth', 'decision', 'count', 'rate']
    """

    curves: Mapping[str, Confusion]

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_decided: Any, *, name: str | None = None, labels: Any = None, sample_weight: Any = None
    ) -> Self:
        """Count decisions; nothing is drawn until ``plot``.

        Parameters
        ----------
        y_true : array of labels of shape (n,)
        y_decided : array of labels of shape (n,), or mapping {name: decisions}
            Decisions, such as those of ``Application.decide``; None for a rejected row.
        name : str, optional
            Name of a single system.
        labels : sequence of labels, optional
            All classes, in the order of rows and columns; by default, the sorted labels of both arrays.
        sample_weight : array of shape (n,), optional
            Frequency weights.
        """
        options = {"labels": labels, "sample_weight": sample_weight}
        return cls({key: confusion(y_true, made, **options) for key, made in name_scores(y_decided, name).items()})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        application: Application | None = None,
        labels: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Count the decisions of fitted estimators; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : fitted classifier, or mapping {name: classifier}
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        application : Application, optional
            Application in which the estimators decide; by default their predictions are used.
        name, labels, sample_weight
            As for ``from_predictions``. By default, a single system has the name of the estimator's class.
        """
        systems = name_estimators(estimator, name)
        made = {key: decide(system, X, application) for key, system in systems.items()}
        return cls.from_predictions(y, made, labels=labels, sample_weight=sample_weight)

    def plot(self, ax: Any = None, *, color: str = COLORS[0]) -> Self:
        """Draw a matrix for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            Axes to draw on; by default those of a new figure, side by side.
        color : str, default blue
            Colour, as ``"#rrggbb"``, of a cell that contains all rows of its class.
        """
        for panel, name in self._begin_panels(ax):
            table = self.curves[name]
            n_shown = len(table.labels) + bool(table.counts[:, -1].any())
            rates, counts = table.rates()[:, :n_shown], table.counts[:, :n_shown]
            panel.imshow(_shade_cells(rates, color), aspect="auto" if n_shown > _MAX_LEGIBLE else "equal")
            _label_axes(panel, table, n_shown)
            if n_shown <= _MAX_LEGIBLE:
                _write_cells(panel, counts, rates)
        return self

    def _figure_size(self) -> tuple[float, float]:
        side = float(np.clip(1.4 + 0.58 * max(len(table.labels) for table in self.curves.values()), 3.4, 12))
        return side + 0.9, side

    def _columns(self, name: str) -> dict[str, Any]:
        table = self.curves[name]
        labels = table.labels.tolist()
        decisions = [*labels, None] if table.counts[:, -1].any() else labels
        return {
            "truth": [truth for truth in labels for _ in decisions],
            "decision": decisions * len(labels),
            "count": table.counts[:, : len(decisions)].ravel(),
            "rate": table.rates()[:, : len(decisions)].ravel(),
        }


def _shade_cells(rates: Floats, color: str) -> Floats:
    """Return the colours of the cells: white for a rate of 0, ``color`` for a rate of 1, and mixtures in between."""
    return np.array([[lighten(color, 0.9 * rate) for rate in row] for row in rates])


def _label_axes(ax: Any, table: Confusion, n_shown: int) -> None:
    labels = [str(label) for label in table.labels.tolist()]
    ax.set(xlabel="Decision", ylabel="Truth")
    shown = [*labels, "rejected"][:n_shown]
    is_crowded = n_shown > _MAX_LEGIBLE or max(map(len, shown)) > max(8, 42 / n_shown)
    ax.set_xticks(range(n_shown), shown, rotation=90 if is_crowded else 0)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(length=0, labelsize=9 if n_shown <= _MAX_LEGIBLE else 6)
    ax.spines[:].set_visible(False)
    if n_shown > len(labels):
        ax.axvline(len(labels) - 0.5, color="white", linewidth=4)


def _write_cells(ax: Any, counts: Floats, rates: Floats) -> None:
    """Write in each cell its count and, below the count, its share of the rows of the true class."""
    size = float(np.clip(60 / counts.shape[1], 7, 11))
    for (i, j), count in np.ndenumerate(counts):
        ink = "white" if rates[i, j] > 0.8 else INK
        text = _format_count(count) + ("" if counts.shape[1] > 12 or count == 0 else f"\n{100 * rates[i, j]:.1f} %")
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)


def _format_count(count: float) -> str:
    return f"{count:.0f}" if count == round(count) else f"{count:.4g}"


@dataclass(frozen=True, eq=False)
class DecisionRegions:
    """Decisions of a classifier on a grid of two features.

    Attributes
    ----------
    first, second : arrays of shape (resolution,)
        Grid values of each feature.
    decisions : array of int of shape (resolution, resolution)
        ``decisions[i, j]`` is the index of the class decided at ``(first[j], second[i])``, or −1 if the point is
        rejected.
    classes : array of shape (n_classes,)
    """

    first: Floats
    second: Floats
    decisions: Integers
    classes: Labels

    def columns(self) -> dict[str, Any]:
        """Return the grid points, and the label decided at each. The label is None if the point is rejected."""
        first, second = np.meshgrid(self.first, self.second)
        labels = [*self.classes.tolist(), None]
        return {
            "first": first.ravel(),
            "second": second.ravel(),
            "decision": [labels[code] for code in self.decisions.ravel().tolist()],
        }


@dataclass(eq=False, repr=False)
class DecisionRegionsDisplay(Display):
    """Decision regions of classifiers of two features, together with the rows. Each system has a panel.

    Attributes
    ----------
    curves : dict {system: DecisionRegions}
    X : array of shape (n, 2)
    codes : array of int of shape (n,)
        Index of the class of each row.
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
            All classifiers must have the same classes.
        X : array or frame of shape (n, 2)
        y : array of labels of shape (n,)
        name : str, optional
            Name of a single system; by default, the name of the estimator's class.
        application : Application, optional
            Application in which the estimators decide; by default their predictions are used.
        resolution : int, default 300
            Number of grid points along each feature.
        """
        if not is_count(resolution, 2, 10**4):
            raise InvalidParameterError(f"resolution must be an integer of at least 2, but is {resolution!r}.")
        rows = _Rows(X)
        systems = name_estimators(estimator, name)
        classes = _check_same_classes(list(systems.values()))
        labels = check_labels("Decision regions", y)
        check_lengths("X", rows.values, len(labels))
        first, second = (_make_grid(values, resolution) for values in rows.values.T)
        grid = rows.make_alike(np.column_stack([axis.ravel() for axis in np.meshgrid(first, second)]))
        regions = {
            key: DecisionRegions(first, second, _decide_grid(system, grid, application, classes, resolution), classes)
            for key, system in systems.items()
        }
        return cls(regions, rows.values, codes_of(labels, classes)[1], rows.names)

    def plot(self, ax: Any = None, *, legend: bool = True, **points: Any) -> Self:
        """Draw a panel for each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each system, optional
            Axes to draw on; by default those of a new figure, side by side.
        legend : bool, default True
            Whether to draw a legend.
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
                self._draw_legend(panel, beside=own)
        return self

    def _draw_legend(self, ax: Any, beside: bool) -> None:
        canvas = MatplotlibCanvas(ax, {})
        if any((each.decisions < 0).any() for each in self.curves.values()):
            square = {"linestyle": "none", "marker": "s", "markersize": 8, "markeredgecolor": "#999"}
            canvas.add_entry("rejected", color="#ededed", **square)
        canvas.legend(beside=beside)

    def _draw_points(self, ax: Any, labels: list[Any], points: dict[str, Any]) -> None:
        stride = -(-len(self.X) // _MAX_POINTS)
        shown, codes = self.X[::stride], self.codes[::stride]
        options = {"s": 16, "edgecolor": "white", "linewidth": 0.5, **points}
        for k, label in enumerate(labels):
            ax.scatter(*shown[codes == k].T, **{"color": get_color(k), "label": str(label), **options})


class _Rows:
    """Rows of two features, as an array and in their original type.

    Points of a grid can be converted to that type, because an estimator fitted on a frame expects a frame.
    """

    def __init__(self, X: Any) -> None:
        native = nw.from_native(X, eager_only=True, pass_through=True)
        self._frame = native if isinstance(native, nw.DataFrame) else None
        self.values = np.asarray(X if self._frame is None else self._frame.to_numpy(), dtype=np.float64)
        if self.values.ndim != 2 or self.values.shape[1] != 2 or not np.isfinite(self.values).all():
            raise InvalidDataError(
                f"Decision regions need two features with finite values, but X has shape {self.values.shape}."
            )
        names = ("first feature", "second feature") if self._frame is None else self._frame.columns
        self.names = (str(names[0]), str(names[1]))

    def make_alike(self, values: Floats) -> Any:
        """Return ``values`` in the type of the rows: as an array, or as a frame with the same columns."""
        if self._frame is None:
            return values
        columns = dict(zip(self._frame.columns, values.T.copy(), strict=True))
        return nw.from_dict(columns, backend=self._frame.implementation).to_native()


def _check_same_classes(estimators: list[Any]) -> Labels:
    classes = [np.asarray(estimator.classes_) for estimator in estimators]
    for others in classes[1:]:
        if others.tolist() != classes[0].tolist():
            raise IncompatiblePartsError(
                f"Decision regions side by side need the same classes, but one estimator has "
                f"{classes[0].tolist()[:10]} and another has {others.tolist()[:10]}."
            )
    return classes[0]


def _make_grid(values: Floats, resolution: int) -> Floats:
    """Return ``resolution`` equally spaced values that extend a little beyond the range of ``values`` on both sides."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) if high > low else 1.0
    return np.linspace(low - margin, high + margin, resolution)


def _decide_grid(
    estimator: Any, grid: Any, application: Application | None, classes: Labels, resolution: int
) -> Integers:
    decided = decide(estimator, grid, application)
    codes = np.full(len(decided), -1, dtype=np.intp)
    for k, label in enumerate(classes.tolist()):
        codes[decided == label] = k
    return codes.reshape(resolution, resolution)


def _draw_regions(ax: Any, regions: DecisionRegions) -> None:
    palette = [lighten(get_color(k)) for k in range(len(regions.classes))]
    image = np.array([*palette, (0.93, 0.93, 0.93)])[regions.decisions]
    ax.imshow(image, extent=(*_find_span(regions.first), *_find_span(regions.second)), origin="lower", aspect="auto")


def _find_span(axis: Floats) -> tuple[float, float]:
    """Return the two ends of the image along one axis, which lie half a cell beyond the outer grid points."""
    half = (axis[1] - axis[0]) / 2
    return float(axis[0] - half), float(axis[-1] + half)
