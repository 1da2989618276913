"""Known classes, or none of these."""

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
from likely.models.generative import DensitiesByClass, check_density, fitted_to_class, taking_what, weights_by_class
from likely.models.mixture import least_bic


class OpenSetClassifier(MetaEstimatorMixin, DensitiesByClass):  # type: ignore[misc]
    """Classes of which examples are known, and one more hypothesis: none of these.

    Each known class has a density of its own, fitted to its rows; "none of these" has the background density, of
    whatever may come besides. It is one more class, with its prior and its costs in the application. The background
    learns from the rows labelled ``unknown``; where there are none, from all rows, so that it is broader than each
    class and wins where all classes find a row strange. It returns true log densities.

    The unknown class is the last one whatever its label: ``classes_`` and the columns of evidence are the known classes
    in sorted order, then it. Functions of :mod:`likely.evaluation` take columns in sorted order of the labels unless
    they are told otherwise, so give them ``labels=model.classes_``; scikit-learn's cannot be told. So choose a label
    that sorts last: then all of them are right, as long as rows of the unknown are among those judged. What encodes
    labels by itself, such as ``cross_val_predict`` of probabilities, does not know the unknown any more.

    Parameters
    ----------
    density : density, optional
        Of each known class: anything with ``fit_source``, ``log_density`` and ``sample``; it is copied. ``Gaussian()``
        if not given; a search over its parameters needs it given.
    background : density, optional
        Of what belongs to none of the known classes. By default a diagonal mixture: of as many components as BIC is
        least for where there are rows of the unknown, and of one where all rows train it. In that case it must be
        broader than each class, lest it fits classes better than their own densities do. Like ``density`` it is copied
        and fitted; rows for it are those of ``y == unknown``.
    unknown : label, default "unknown"
        The label of "none of these", of the type of the other labels; best one that sorts last.
    priors : sequence in the order of ``classes_`` or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given. Evidence does
        not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_known + 1,)
        The known classes, sorted, and ``unknown`` as the last.
    densities_ : list of densities
        In the same order.
    training_priors_ : array of shape (n_known + 1,)
        Shares of the rows, where some are of the unknown; otherwise 1 / (n_known + 1) for the unknown, of which the
        rows say nothing, and the rest for the known classes by their shares of the rows.

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
        """What decisions cost in an application, beside what they would cost among the known classes alone.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,)
            Rows of no known class carry the label ``unknown``; there must be some, if the application expects them.
        application : Application
            Of all hypotheses: priors in the order of ``classes_``, or by label.
        normalize : bool, default True
            Divide each cost by that of the best decision that does not look.
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        OpenSetCost
        """
        scores, codes = self.log_likelihood(X), self._codes_of(check_labels(self._name(), y))
        if len(codes) != len(scores):
            raise InvalidDataError(
                f"X and y must have one entry for each row, but have {len(scores)} and {len(codes)}."
            )
        given = check_weight(sample_weight, len(codes))
        weight = np.ones(len(codes)) if given is None else given
        app = as_application(application)
        return cost_of_open_set(app, self.classes_, self.unknown, codes, scores, weight, normalize)

    def _learn(self, source: Source) -> None:
        density, background = self._parts()
        check_density("density", density, self._name())
        check_density("background", background, self._name())
        known, classes = self._known(source.require_classes())
        weights = weights_by_class(source)
        densities = [fitted_to_class(density, source, code) for code in known.tolist()]
        at = np.setdiff1d(np.arange(len(source.require_classes())), known)
        with prefix_messages("The background"):
            densities.append(self._fitted_background(background, source, at))
        self._keep(classes, densities, _shares(weights[known], weights[at]))

    def _fitted_background(self, background: Any, source: Source, at: Integers) -> Any:
        """The background density of the rows of the unknown, or else of all."""
        if self.background is None and not len(at) and source.classes is not None and len(source.classes) == 1:
            raise DegenerateDataError(
                f"All rows are of one known class, {source.classes.tolist()[0]!r}, so a density of all rows would be "
                f"that class again. Give rows labelled {self.unknown!r}, or set background."
            )
        rows = source.of_class(int(at[0])) if len(at) else source.without_classes()
        mixture = clone(background)
        if self.background is None and len(at):
            mixture.set_params(n_components=least_bic(mixture, rows))
        return mixture.fit_source(rows)

    def _parts(self) -> tuple[Any, Any]:
        """The density of each known class, and that of the unknown."""
        density = Gaussian() if self.density is None else self.density
        background = GaussianMixture(1, covariance="diagonal") if self.background is None else self.background
        return density, background

    def _known(self, labels: Labels) -> tuple[Integers, Labels]:
        """Positions of the known classes among the labels, and all hypotheses, the unknown last."""
        known = np.array([i for i, label in enumerate(labels.tolist()) if label != self.unknown], dtype=np.intp)
        if not len(known):
            raise DegenerateDataError(
                f"OpenSetClassifier needs rows of at least one known class, but all rows are {self.unknown!r}."
            )
        last = np.asarray(self.unknown)
        if not _is_of_type(last, labels):
            text = {"U": "'unknown'", "S": "b'unknown'"}
            example = f"unknown={text.get(labels.dtype.kind) or _beyond(labels)}"
            remedy = (
                "Use y.astype(int), and unknown=2" if labels.dtype.kind == "b" else f"Give, for instance, {example}"
            )
            raise InvalidParameterError(
                f"unknown of OpenSetClassifier must be a label of the type of the others, such as "
                f"{labels.tolist()[known[0]]!r}, but is {self.unknown!r}. {remedy}."
            )
        return known, np.append(labels[known], last)

    def _check_state(self, scope: Scope) -> None:
        super()._check_state(scope)
        if scope.fitted and self.classes_.tolist()[-1] != self.unknown:
            raise ViolationError(f"classes_ must end with the unknown class, but end with {show(self.classes_[-1])}")

    def _codes_of(self, labels: Labels) -> Integers:
        position = {label: i for i, label in enumerate(self.classes_.tolist())}
        strangers = [label for label in np.unique(labels).tolist() if label not in position]
        if strangers:
            raise InvalidDataError(
                f"y holds the label {strangers[0]!r}, which is not among the classes {self.classes_.tolist()}. Rows of "
                f"no known class carry the label {self.unknown!r}."
            )
        return np.array([position[label] for label in labels.tolist()], dtype=np.intp)

    def __sklearn_tags__(self) -> Any:
        return taking_what(super().__sklearn_tags__(), *self._parts())


def _is_of_type(label: Labels, labels: Labels) -> bool:
    """Whether a label may stand among others without changing their type."""
    kind = labels.dtype.kind
    if label.ndim or label.dtype.kind not in {"i": "iu", "u": "iu", "f": "iuf"}.get(kind, kind):
        return False
    return not (kind == "u" and label < 0) and not (label.dtype.kind == "f" and not np.isfinite(label))


def _beyond(labels: Labels) -> Any:
    """A number that sorts after all others."""
    return int(np.ceil(labels.max())) + 1


def _shares(known: Floats, unknown: Floats) -> Floats:
    """Training priors, of the unknown last; 1 / (n_known + 1) for it where it has no rows."""
    if len(unknown):
        weights = np.append(known, unknown)
        return np.asarray(weights / weights.sum())
    each = 1 / (len(known) + 1)
    return np.append(known / known.sum() * (1 - each), each)
