"""Weights of linear models as images."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isqrt, prod, sqrt
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely._constraints import is_count
from likely._numerics import dense
from likely._typing import Floats
from likely.displays.base import Display, name_estimators
from likely.displays.canvas import arrange_panels
from likely.exceptions import IncompatiblePartsError, InvalidParameterError
from likely.resampling.chains import steps_of

_STEP, _AT_ONCE = 2.0**10, 512
"""The effect of a feature on the transformed features is measured by changing the feature by _STEP. The step is so
large that almost no digits are lost when an offset, such as a mean, is subtracted. The effects of _AT_ONCE features are
measured in one call, with one row for each feature."""


@dataclass(frozen=True, eq=False)
class WeightImages:
    """Weights of one model over the pixels of its input.

    Attributes
    ----------
    images : array of shape (n_classes, rows, columns), or (1, rows, columns) for two classes
    titles : list of str
        The class or the output that each image belongs to.
    """

    images: Floats
    titles: list[str]

    def columns(self) -> dict[str, Any]:
        """Return every pixel of every image with its weight."""
        n, rows, columns = self.images.shape
        return {
            "class": [title for title in self.titles for _ in range(rows * columns)],
            "row": np.tile(np.repeat(np.arange(rows), columns), n),
            "column": np.tile(np.arange(columns), n * rows),
            "weight": self.images.ravel(),
        }


@dataclass(eq=False, repr=False)
class WeightsDisplay(Display):
    """Weights of linear models, drawn as images. Each class has a panel, and each model has one colour scale.

    If the weight of a pixel is positive, large values of the pixel favour the class; if it is negative, they favour the
    other classes. A white pixel has no effect. A model of two classes with one weight vector has one panel, for the
    second class against the first.

    Attributes
    ----------
    curves : dict {system: WeightImages}

    Examples
    --------
    >>> from likely import Perceptron
    >>> X, y = [[1, 1, 0, 0], [0, 0, 1, 1]], ["top", "bottom"]
    >>> display = WeightsDisplay.from_estimator(Perceptron(keep="last").fit(X, y))
    >>> display.curves["Perceptron"].titles, display.curves["Perceptron"].images
    (['top against bottom'], array([[[ 1.,  1.],
            [-1., -1.]]]))
    >>> display.frame("pyarrow").column_names
    ['system', 'class', 'row', 'column', 'weight']
    """

    curves: Mapping[str, WeightImages]

    @classmethod
    def from_estimator(cls, estimator: Any, shape: tuple[int, int] | None = None, *, name: str | None = None) -> Self:
        """Compute the weights of fitted models in terms of their input; nothing is drawn until ``plot``.

        Parameters
        ----------
        estimator : fitted model with ``coef_``, or pipeline that ends in one, or mapping {name: model}
            The steps before the model must be linear, such as PCA and Standardize. The weight of an input pixel is the
            change of the score per unit of the pixel.
        shape : (rows, columns), optional
            Shape of the image whose pixels, row by row, are the features; by default a square.
        name : str, optional
            Name of a single system; by default, the name of the estimator's class.
        """
        images = {key: _make_images(system, shape) for key, system in name_estimators(estimator, name).items()}
        titles = [of.titles for of in images.values()]
        if any(others != titles[0] for others in titles):
            raise IncompatiblePartsError(
                "Weights side by side need the same classes, but one model has "
                f"{titles[0][:10]} and another has {next(others for others in titles if others != titles[0])[:10]}."
            )
        return cls(images)

    def plot(self, ax: Any = None, *, limit: float | None = None, colorbar: bool = True, **image: Any) -> Self:
        """Draw a panel for each class of each system.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of one for each panel, optional
            Axes to draw on; by default those of a new figure.
        limit : float, optional
            The absolute weight at which colours saturate; by default, the largest absolute weight of each system.
        colorbar : bool, default True
            Whether to draw the colour scale beside the panels of a system.
        **image
            Options of matplotlib's imshow.
        """
        if limit is not None and not limit > 0:
            raise InvalidParameterError(f"limit must be a positive weight, but is {limit!r}.")
        n_panels = sum(len(of.titles) for of in self.curves.values())
        axes = arrange_panels(ax, n_panels, self._n_columns(n_panels), self._panel_size(n_panels), margin=0.9)
        self._keep_axes(axes)
        for row, (name, of) in zip(np.split(axes, len(self.curves)), self.curves.items(), strict=True):
            drawn = _draw(row, of, limit or float(np.abs(of.images).max()) or 1.0, image)
            if len(self.curves) > 1:
                row[0].set_ylabel(name)
            if colorbar:
                scale = self.figure_.colorbar(drawn, ax=list(row), label="weight", aspect=30, pad=0.02)
                scale.outline.set_visible(False)
        return self

    def _n_columns(self, n_panels: int) -> int:
        """Return the number of panels in a row.

        If there are several systems, each has one row of panels. A single system has rows of at least five panels.
        """
        if len(self.curves) > 1:
            return n_panels // len(self.curves)
        return min(n_panels, max(5, ceil(sqrt(2 * n_panels))))

    def _panel_size(self, n_panels: int) -> tuple[float, float]:
        """Return the width and height of a panel in inches: in proportion to the image, plus space for a title."""
        _, rows, columns = next(iter(self.curves.values())).images.shape
        side = 3.2 if n_panels == 1 else 1.6
        tall = float(np.clip(rows / columns, 0.2, 5)) ** 0.5
        return side / tall, side * tall + 0.3


def _draw(axes: Any, of: WeightImages, limit: float, options: dict[str, Any]) -> Any:
    """Draw the images of one system, and return the last matplotlib image, from which a colour bar can be made."""
    options = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, "interpolation": "nearest", **options}
    for panel, title, pixels in zip(axes, of.titles, of.images, strict=True):
        drawn = panel.imshow(pixels, **options)
        panel.set_title(title, fontsize=10)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color("#cccccc")
    return drawn


def _make_images(model: Any, shape: tuple[int, int] | None) -> WeightImages:
    check_is_fitted(model)
    *features, last = steps_of(model)
    if not hasattr(last, "coef_"):
        raise IncompatiblePartsError(
            f"{type(last).__name__} has no coef_, so there are no weights to draw. Use a linear model, or a pipeline "
            "that ends in one."
        )
    weights = np.atleast_2d(dense(last.coef_))
    titles = _make_titles(last, len(weights))
    if features:
        weights = weights @ _find_matrix(features).T
    return WeightImages(weights.reshape(len(weights), *_check_shape(shape, weights.shape[1])), titles)


def _make_titles(model: Any, n_vectors: int) -> list[str]:
    """Return a title for each weight vector: the name of its class, or of its output if the model has no classes."""
    if not hasattr(model, "classes_"):
        return ["weights"] if n_vectors == 1 else [f"output {k}" for k in range(n_vectors)]
    labels = [str(label) for label in np.asarray(model.classes_).tolist()]
    if n_vectors == 1 and len(labels) == 2:
        return [f"{labels[1]} against {labels[0]}"]
    if n_vectors != len(labels):
        raise IncompatiblePartsError(
            f"{type(model).__name__} must have one weight vector for each class (two classes may share a single one), "
            f"but has {n_vectors} weight vectors for {len(labels)} classes."
        )
    return labels


def _check_shape(shape: Any, n_features: int) -> tuple[int, int]:
    if shape is None:
        side = isqrt(n_features)
        if side * side != n_features:
            raise InvalidParameterError(
                f"{n_features} features do not form a square image. Give shape=(rows, columns) whose product is "
                f"{n_features}."
            )
        return side, side
    sides = tuple(shape)
    if len(sides) != 2 or not all(is_count(side, 1, n_features) for side in sides) or prod(sides) != n_features:
        raise InvalidParameterError(
            "shape must be (rows, columns), two integers whose product is the number of features of the input, "
            f"{n_features}, but is {shape!r}."
        )
    return int(sides[0]), int(sides[1])


def _find_matrix(features: list[Any]) -> Floats:
    """Return the matrix by which a sequence of linear (or affine) steps multiplies rows."""
    matrix = _measure_matrix(features[0], features[0].n_features_in_)
    for step in features[1:]:
        matrix = matrix @ _measure_matrix(step, matrix.shape[1])
    return matrix


def _measure_matrix(step: Any, n_features: int) -> Floats:
    """Return the matrix P of a step x ↦ xP + c, measured by changing one feature at a time.

    The matrix is then checked on random rows. This method needs no attributes of the step, so it works for steps of any
    library.
    """
    origin = _transform(step, np.zeros((1, n_features)))
    parts = []
    for low in range(0, n_features, _AT_ONCE):
        moved = _STEP * np.eye(min(_AT_ONCE, n_features - low), n_features, low)
        parts.append((_transform(step, moved) - origin) / _STEP)
    P = np.vstack(parts)
    trials = np.random.default_rng(0).normal(size=(8, n_features)) * 10.0 ** np.arange(-2, 6)[:, None]
    expected, found = trials @ P + origin, _transform(step, trials)
    if not (np.abs(found - expected) <= 1e-6 * np.abs(expected).max(axis=1, keepdims=True)).all():
        raise _make_linear_error(step)
    return P


def _transform(step: Any, X: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about feature names, or by nonlinear steps
        try:
            return dense(step.transform(X))
        except ValueError as error:
            raise _make_linear_error(step) from error


def _make_linear_error(step: Any) -> IncompatiblePartsError:
    return IncompatiblePartsError(
        f"The step {type(step).__name__} is not linear, so the model after it has no weights of the input "
        "features. Draw a pipeline of linear steps, such as Standardize and PCA. Alternatively, draw only the last "
        "step."
    )
