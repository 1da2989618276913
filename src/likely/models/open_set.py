"""Open-set classifier, which decides between known classes and one unknown class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone

from likely._constraints import Constraints, Scope, ViolationError, class_labels, label, none_or, priors, show
from likely._fitted import INPUTS
from likely._typing import Floats, Integers, Labels
from likely._validation import check_labels, check_weight
from likely.blocks import Source
from likely.decisions import Application, OpenSetCost, as_application, cost_of_open_set
from likely.densities import Gaussian, GaussianMixture
from likely.densities.base import DENSITY
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError, prefix_messages
from likely.models.generative import (
    DensitiesByClass,
    check_density,
    fit_to_class,
    restrict_input_tags,
    weights_by_class,
)
from likely.models.mixture import choose_by_bic


class OpenSetClassifier(MetaEstimatorMixin, DensitiesByClass):  # type: ignore[misc]
    """Open-set classifier: one density per known class, and a background density for the unknown class.

    The unknown class is one more class, with a prior and costs in the application. Its background density is fitted to
    the rows labelled ``unknown``. If there are no such rows, it is fitted to all rows. It is then broader than each
    class, and it has the highest density for rows that are atypical of all known classes. ``log_likelihood`` returns
    log-densities.

    The unknown class is always the last class: ``classes_`` and the columns of ``log_likelihood`` have the known
    classes in sorted order, then the unknown class. Functions of :mod:`likely.evaluation` assume columns in sorted
    order of the labels, so pass them ``labels=model.classes_``. Functions of scikit-learn have no such parameter. If
    the unknown label sorts last and the evaluated rows include unknown ones, all these functions are correct. Functions
    that encode the labels themselves, such as ``cross_val_predict`` of probabilities, lose the unknown label.

    Parameters
    ----------
    density : density, optional
        Density of each known class: an object with ``fit_source``, ``log_density`` and ``sample``. It is cloned. The
        default is ``Gaussian()``; pass it explicitly for a search over its parameters.
    background : density, optional
        Density of the unknown class. It is cloned and fitted to the rows with ``y == unknown``. The default is a
        diagonal mixture. If there are unknown rows, BIC chooses its number of components. Otherwise it has one
        component and is fitted to all rows: it must be broader than each class, so that it does not fit a class better
        than the density of that class.
    unknown : label, default "unknown"
        Label of the unknown class, of the same type as the other labels. Preferably it sorts last.
    priors : sequence in the order of ``classes_`` or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
        ``log_likelihood`` does not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_known + 1,)
        Known classes in sorted order, then ``unknown``.
    densities_ : list of densities
        Fitted densities, in the same order.
    training_priors_ : array of shape (n_known + 1,)
        Share of each class among the rows, if there are unknown rows. Otherwise 1 / (n_known + 1) for the unknown
        class, and the rest divided among the known classes by their shares of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import Application
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OpenSetClassifier(unknown=2).fit(X[:100], y[:100])  # has not seen class 2
    >>> model.classes_, model.training_priors_.round(3)
    (array([0, 1, 2]), array([0.333, 0.333, 0.333]))
    >>> model.predict(X[[0, 60, 118]])
    array([0, 1, 2])
    >>> garden = Application({0: 0.3, 1: 0.3, 2: 0.4})
    >>> cost = model.costs(X, y, garden)
    >>> round(cost.open, 3), cost.closed, cost.unknown_accepted, cost.known_rejected
    (0.287, 0.0, 0.4, 0.02)
    """

    _inputs: ClassVar[Constraints] = {**INPUTS, "classes_": class_labels(unsorted=1)}
    _constraints: ClassVar[Constraints] = {
        "density": none_or(DENSITY),
        "background": none_or(DENSITY),
        "unknown": label,
        "priors": priors(),
    }

    def __init__(
        self, density: Any = None, *, background: Any = None, unknown: Any = "unknown", priors: Any = None
    ) -> None:
        self.density = density
        self.background = background
        self.unknown = unknown
        self.priors = priors

    def costs(
        self, X: Any, y: Any, application: Application, normalize: bool = True, sample_weight: Any = None
    ) -> OpenSetCost:
        """Return the cost of the model's decisions in an application, for all rows and for rows of known classes alone.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,)
            Rows of no known class have the label ``unknown``. There must be such rows, if the application gives the
            unknown class a prior above 0.
        application : Application
            Application with a prior for each class, in the order of ``classes_`` or by label.
        normalize : bool, default True
            Whether to divide each cost by the cost of the best decision that ignores the rows.
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        OpenSetCost
        """
        scores, codes = self.log_likelihood(X), self._encode(check_labels(self._name(), y))
        if len(codes) != len(scores):
            raise InvalidDataError(
                f"X and y must have the same number of rows, but X has {len(scores)} and y has {len(codes)}."
            )
        given = check_weight(sample_weight, len(codes))
        weight = np.ones(len(codes)) if given is None else given
        app = as_application(application)
        return cost_of_open_set(app, self.classes_, self.unknown, codes, scores, weight, normalize)

    def _learn(self, source: Source) -> None:
        density, background = self._parts()
        check_density("density", density, self._name())
        check_density("background", background, self._name())
        known, classes = self._split_known(source.require_classes())
        weights = weights_by_class(source)
        densities = [fit_to_class(density, source, code) for code in known.tolist()]
        at = np.setdiff1d(np.arange(len(source.require_classes())), known)
        with prefix_messages("The background"):
            densities.append(self._fit_background(background, source, at))
        self._keep(classes, densities, _training_shares(weights[known], weights[at]))

    def _fit_background(self, background: Any, source: Source, at: Integers) -> Any:
        """Return the background density, fitted to the unknown rows, or to all rows if there are no unknown rows.

        ``at`` holds the code of the unknown class in the source; it is empty if there are no unknown rows.
        """
        if self.background is None and not len(at) and source.classes is not None and len(source.classes) == 1:
            raise DegenerateDataError(
                f"All rows belong to the known class {source.classes.tolist()[0]!r}, so a background density of all "
                f"rows would not differ from the density of that class. Add rows labelled {self.unknown!r}, or set "
                "background."
            )
        rows = source.of_class(int(at[0])) if len(at) else source.without_classes()
        mixture = clone(background)
        if self.background is None and len(at):
            mixture.set_params(n_components=choose_by_bic(mixture, rows))
        return mixture.fit_source(rows)

    def _parts(self) -> tuple[Any, Any]:
        """Return the unfitted density of the known classes and the unfitted background density, with their defaults."""
        density = Gaussian() if self.density is None else self.density
        background = GaussianMixture(1, covariance="diagonal") if self.background is None else self.background
        return density, background

    def _split_known(self, labels: Labels) -> tuple[Integers, Labels]:
        """Return the positions of the known classes in ``labels``, and an array of all classes, the unknown class last.

        Raise if there is no known class, or if the unknown label is of another type than the other labels.
        """
        known = np.array([i for i, label in enumerate(labels.tolist()) if label != self.unknown], dtype=np.intp)
        if not len(known):
            raise DegenerateDataError(
                f"OpenSetClassifier needs rows of at least one known class, but all rows are labelled {self.unknown!r}."
            )
        last = np.asarray(self.unknown)
        if not _is_of_type(last, labels):
            text = {"U": "'unknown'", "S": "b'unknown'"}
            example = f"unknown={text.get(labels.dtype.kind) or _next_integer(labels)}"
            remedy = "Use y.astype(int) and unknown=2" if labels.dtype.kind == "b" else f"Use, for example, {example}"
            raise InvalidParameterError(
                f"unknown of OpenSetClassifier must have the type of the other labels, such as "
                f"{labels.tolist()[known[0]]!r}, but is {self.unknown!r}. {remedy}."
            )
        return known, np.append(labels[known], last)

    def _check_state(self, scope: Scope) -> None:
        super()._check_state(scope)
        if scope.fitted and self.classes_.tolist()[-1] != self.unknown:
            raise ViolationError(f"classes_ must end with the unknown class, but end with {show(self.classes_[-1])}")

    def _encode(self, labels: Labels) -> Integers:
        position = {label: i for i, label in enumerate(self.classes_.tolist())}
        missing = [label for label in np.unique(labels).tolist() if label not in position]
        if missing:
            raise InvalidDataError(
                f"y contains the label {missing[0]!r}, which is not among the classes {self.classes_.tolist()}. Rows "
                f"that belong to none of the known classes must have the label {self.unknown!r}."
            )
        return np.array([position[label] for label in labels.tolist()], dtype=np.intp)

    def __sklearn_tags__(self) -> Any:
        return restrict_input_tags(super().__sklearn_tags__(), *self._parts())


def _is_of_type(label: Labels, labels: Labels) -> bool:
    """Return whether ``label`` can be appended to ``labels`` without changing the type of the array."""
    kind = labels.dtype.kind
    if label.ndim or label.dtype.kind not in {"i": "iu", "u": "iu", "f": "iuf"}.get(kind, kind):
        return False
    return not (kind == "u" and label < 0) and not (label.dtype.kind == "f" and not np.isfinite(label))


def _next_integer(labels: Labels) -> Any:
    """Return an integer that sorts after all labels."""
    return int(np.ceil(labels.max())) + 1


def _training_shares(known: Floats, unknown: Floats) -> Floats:
    """Return the training priors of the known classes and, as the last one, of the unknown class.

    ``known`` and ``unknown`` are total weights of rows. ``unknown`` is empty if the unknown class has no rows; its
    prior is then 1 / (n_known + 1).
    """
    if len(unknown):
        weights = np.append(known, unknown)
        return np.asarray(weights / weights.sum())
    each = 1 / (len(known) + 1)
    return np.append(known / known.sum() * (1 - each), each)
