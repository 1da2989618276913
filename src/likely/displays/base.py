"""Base classes of displays: named systems, data frames of the points, and drawing on axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from likely._typing import Floats, FrameBackend, Labels
from likely._validation import check_labels
from likely.displays.canvas import MatplotlibCanvas, make_panels
from likely.evaluation import Trials
from likely.evaluation.truth import codes_of
from likely.exceptions import IncompatiblePartsError, InvalidDataError, InvalidParameterError
from likely.resampling.chains import check_scorer, scores_of
from likely.tables.frames import make_frame


class Display:
    """Base class of displays: computed data that can be drawn or tabulated.

    The class methods ``from_predictions`` and ``from_estimator`` compute and do not draw. ``plot`` draws. It can be
    called several times, and stores the axes and the figure of the last call.

    Attributes
    ----------
    curves : dict {system: Curve}
    ax_ : matplotlib Axes, or array of them if each system has a panel
        The axes of the last call of ``plot``.
    figure_ : matplotlib Figure
        The figure of the last call of ``plot``.
    """

    curves: Mapping[str, Any]
    ax_: Any
    figure_: Any
    _size: ClassVar[tuple[float, float]] = (5.4, 4.2)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(self.curves)}>"

    def frame(self, backend: FrameBackend | None = None) -> Any:
        """Return the points of all systems as one long data frame: a column of names, then the columns of the curves.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame; by default the first one installed.
        """
        systems = {name: self._columns(name) for name in self.curves}
        data: dict[str, Any] = {"system": []}
        for name, columns in systems.items():
            data["system"] += [name] * len(next(iter(columns.values())))
        for column in next(iter(systems.values())):
            data[column] = _concatenate([columns[column] for columns in systems.values()])
        return make_frame(data, backend)

    def _columns(self, name: str) -> dict[str, Any]:
        columns: dict[str, Any] = self.curves[name].columns()
        return columns

    def _begin_panels(self, ax: Any, *, by_row: bool = True, beside: bool = False) -> Iterator[tuple[Any, str]]:
        """Yield the axes and the name of each system. If there are several systems, the name is the title."""
        axes = make_panels(ax, len(self.curves), self._figure_size(), by_row=by_row, beside=beside)
        self._keep_axes(axes)
        for panel, name in zip(axes, self.curves, strict=True):
            if len(axes) > 1:
                panel.set_title(name, fontsize=11)
            yield panel, name

    def _keep_axes(self, axes: Any) -> None:
        self.ax_, self.figure_ = axes if len(axes) > 1 else axes[0], axes[0].figure

    def _figure_size(self) -> tuple[float, float]:
        """Width and height, in inches, of each panel of a new figure."""
        return self._size


class CurveDisplay(Display):
    """A display that draws all systems on one pair of axes."""

    _legend_beside: ClassVar[bool] = True
    """Whether a new figure has its legend beside the axes."""

    _legend_loc: ClassVar[str] = "best"
    """Position of the legend within the axes."""

    def plot(self, ax: Any = None, *, legend: bool = True, **line: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        legend : bool, default True
            Whether to draw a legend.
        **line
            Options of matplotlib's lines, for all curves.
        """
        beside = legend and ax is None and self._legend_beside
        axes = make_panels(ax, 1, self._figure_size(), beside=beside)
        self._keep_axes(axes)
        canvas = MatplotlibCanvas(axes[0], line)
        self._draw(canvas)
        if legend:
            canvas.legend(beside=beside, loc=self._legend_loc)
        return self

    def _draw(self, canvas: MatplotlibCanvas) -> None:
        raise NotImplementedError


class TrialsDisplay(Display):
    """A display of scores of two classes."""

    @classmethod
    def from_predictions(
        cls, y_true: Any, scores: Any, *, name: str | None = None, pos_label: Any = None, sample_weight: Any = None
    ) -> Any:
        """Compute the display of scores. Nothing is drawn."""
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any) -> Any:
        """Compute the display of fitted estimators on some rows; call ``plot`` to draw it.

        Parameters
        ----------
        estimator : fitted classifier of two classes, or mapping {name: classifier}
            The classifier's scores are its ``log_likelihood``, or else its ``decision_function``, or else its log
            posteriors.
        X : array or frame of shape (n, n_features)
        y : array of labels of shape (n,)
        name : str, optional
            Name of a single system; by default, the name of the estimator's class.
        **options
            As for ``from_predictions``.
        """
        scores = {}
        for key, system in name_estimators(estimator, name).items():
            classes, values = score_classes(system, X, y)
            pos_label = options.get("pos_label")
            is_reversed = values.ndim == 1 and pos_label is not None and pos_label == classes.tolist()[0]
            scores[key] = -values if is_reversed else values
        return cls.from_predictions(y, scores, **options)


def make_trials(y_true: Any, scores: Any, name: str | None, pos_label: Any, sample_weight: Any) -> dict[str, Trials]:
    """Return the trials of each system by the system's name."""
    return {
        key: Trials(y_true, values, pos_label=pos_label, sample_weight=sample_weight)
        for key, values in name_scores(scores, name).items()
    }


def name_scores(scores: Any, name: str | None) -> dict[str, Any]:
    """Return a mapping {name: scores}.

    If ``scores`` is a mapping already, return its entries. Otherwise ``scores`` belong to one system, which gets the
    given name or a default name.
    """
    return _name_systems(scores, "scores" if name is None else name, name)


def name_estimators(estimator: Any, name: str | None) -> dict[str, Any]:
    """Return a mapping {name: estimator}.

    If ``estimator`` is a mapping already, return its entries. A single estimator gets the given name, or else the name
    of its class.
    """
    return _name_systems(estimator, type(estimator).__name__ if name is None else name, name)


def _name_systems(systems: Any, default: str, name: str | None) -> dict[str, Any]:
    if not isinstance(systems, Mapping):
        return {default: systems}
    if not systems:
        raise InvalidParameterError("A display needs at least one system, but the mapping is empty.")
    if name is not None:
        raise InvalidParameterError(
            f"name={name!r} names a single system, but a mapping of {len(systems)} named systems was given.",
            parameter="name",
        )
    return {str(key): system for key, system in systems.items()}


def score_classes(estimator: Any, X: Any, y: Any) -> tuple[Labels, Floats]:
    """Return the estimator's classes in column order, and its scores of the rows of X.

    Raise an error if a label in ``y`` is not among the classes.
    """
    check_scorer(estimator, weighted=False)
    classes = np.sort(np.asarray(estimator.classes_))
    labels = check_labels("Evaluation", y)
    unknown = [label for label in codes_of(labels)[0].tolist() if label not in classes.tolist()]
    if unknown:
        raise InvalidDataError(
            f"y has the label {unknown[0]!r}, which is not a class of {type(estimator).__name__}. Its classes are "
            f"{classes.tolist()[:10]}."
        )
    return classes, scores_of(estimator, X)


def decide(estimator: Any, X: Any, application: Any) -> Labels:
    """Return an estimator's decisions in an application, or its predictions if there is no application."""
    if application is None:
        return np.asarray(estimator.predict(X))
    if not hasattr(estimator, "decide"):
        raise IncompatiblePartsError(
            f"{type(estimator).__name__} has no method decide, so it cannot use an application. Calibrate it first. "
            "Alternatively, do not pass application, and its predictions are shown."
        )
    return np.asarray(estimator.decide(X, application))


def _concatenate(parts: list[Any]) -> Any:
    """Concatenate columns of the systems: arrays of numbers to one array, lists of labels or None to one list."""
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    return np.concatenate(parts)
