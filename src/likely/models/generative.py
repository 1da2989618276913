"""Generative classifiers: one density per class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from likely._constraints import Constraints, Scope, ViolationError, check_argument, list_of, priors, probabilities
from likely._typing import Floats, Labels, Rows
from likely._validation import check_labels, check_n_classes, encode_labels
from likely.blocks import Source, SourceLearner, count_classes
from likely.decisions import Application
from likely.densities.base import DENSITY, FITTED_DENSITY
from likely.densities.given import copy_fitted
from likely.exceptions import InvalidParameterError, prefix_messages
from likely.models.base import DensityClassifier


@dataclass(frozen=True, eq=False)
class DensitiesState:
    """Densities of the classes, and the share of each class among the rows."""

    densities_: Annotated[list[Any], list_of(FITTED_DENSITY, types=(list,))]
    _shares: Annotated[Floats, probabilities("k")]


class DensitiesByClass(DensityClassifier, SourceLearner):
    """Base class of classifiers that fit one density per class to a source; a subclass provides ``_learn``."""

    by_class = True
    _State: ClassVar[Any] = DensitiesState
    densities_: list[Any]
    _shares: Floats

    @property
    def training_priors_(self) -> Floats:
        """Share of each class among the training rows, of shape (n_classes,)."""
        check_is_fitted(self, "densities_")
        return self._shares

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Draw rows and their labels, with the priors of ``predict``."""
        check_is_fitted(self, "densities_")
        random = check_random_state(random_state)
        codes = random.choice(len(self.classes_), size=n_samples, p=self._application().priors)
        rows = np.empty((n_samples, self.n_features_in_))
        for k in np.unique(codes):
            chosen = codes == k
            rows[chosen] = self.densities_[k].sample(int(chosen.sum()), random)
        return rows, self.classes_[codes]

    def _evidence(self, X: Rows) -> Floats:
        return np.column_stack([density.log_density(X) for density in self.densities_])

    def _keep(self, classes: Labels, densities: list[Any], shares: Floats) -> None:
        self.classes_, self._state = classes, DensitiesState(densities, np.asarray(shares))
        if self.priors is not None:
            self._application()  # raises if the priors do not match the classes

    def _check_state(self, scope: Scope) -> None:
        if scope.fitted and len(self.densities_) != scope.sizes["k"]:
            raise ViolationError(
                f"densities_ must hold one density per class ({scope.sizes['k']}), but holds {len(self.densities_)}"
            )


_PRIORS = priors()


class GenerativeClassifier(MetaEstimatorMixin, DensitiesByClass):  # type: ignore[misc]
    """Generative classifier: one density of a given type per class.

    The classifier fits a copy of the density to the rows of each class. ``log_likelihood`` returns log-densities,
    log p(x given class). If the density fits a class badly, the scores still rank rows, but the llrs need calibration.
    The classifier accepts what the density accepts, such as missing values or sparse rows. For Gaussian densities
    :class:`GaussianClassifier` offers more: tied covariances and ``partial_fit``.

    Parameters
    ----------
    density : density
        Object with ``fit_source``, ``log_density`` and ``sample``, such as :class:`likely.Gaussian`. It is cloned for
        each class and does not change.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
        ``log_likelihood`` and ``llr`` do not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    densities_ : list of densities
        Fitted densities, in class order.
    training_priors_ : array of shape (n_classes,)
        Share of each class among the training rows, or the priors of ``given``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likely import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenerativeClassifier(Gaussian("diagonal")).fit(X, y)
    >>> model.score(X, y)
    0.96
    >>> model.log_likelihood(X[:1]).round(2)
    array([[  2.16, -38.98, -55.74]])
    >>> model.densities_[0].mean_
    array([5.006, 3.428, 1.462, 0.246])
    """

    _constraints: ClassVar[Constraints] = {"density": DENSITY, "priors": _PRIORS}

    def __init__(self, density: Any, *, priors: Any = None) -> None:
        self.density = density
        self.priors = priors

    @classmethod
    def given(cls, densities: Mapping[Any, Any], priors: Any = None) -> GenerativeClassifier:
        """Return the classifier of classes whose densities are known.

        No classifier has a lower error rate than this one, if the densities and the priors are those of the rows
        (Bayes classifier).

        Parameters
        ----------
        densities : mapping {label: fitted density}
            Densities with the same number of columns, such as ``Gaussian.given(mean, covariance)``. They are copied.
            ``density`` of the result is an unfitted clone of that of the first class.
        priors : sequence in class order or mapping {label: prior}, optional
            The ``training_priors_``, by default equal.

        Examples
        --------
        >>> from likely import Gaussian
        >>> model = GenerativeClassifier.given({"low": Gaussian.given([0.0], 1.0), "high": Gaussian.given([2.0], 1.0)})
        >>> model.classes_, model.llr([[1.0], [2.0]])
        (array(['high', 'low'], dtype='<U4'), array([ 0., -2.]))
        """
        classes, parts = _sort_densities(densities, cls.__name__)
        check_argument("priors", priors, _PRIORS, f"{cls.__name__}.given")
        equal = np.full(len(classes), 1 / len(classes))
        shares = equal if priors is None else Application(priors).aligned(classes).priors
        names = [getattr(density, "feature_names_in_", None) for density in parts]
        copies = [
            copy_fitted(density, f"The density of class {label!r}", cls.__name__)
            for label, density in zip(classes.tolist(), parts, strict=True)
        ]
        widths = [density.n_features_in_ for density in copies]
        different = next((k for k, width in enumerate(widths) if width != widths[0]), None)
        if different is not None:
            raise InvalidParameterError(
                f"Densities of {cls.__name__}.given must have the same number of columns, but the density of class "
                f"{classes.tolist()[0]!r} has {widths[0]} columns and the density of class "
                f"{classes.tolist()[different]!r} has {widths[different]}.",
                parameter="densities",
            )
        model = cls(clone(parts[0]))
        model.n_features_in_ = widths[0]
        if names[0] is not None and all(other is not None and list(other) == list(names[0]) for other in names):
            model.feature_names_in_ = names[0]
        model._keep(classes, copies, np.asarray(shares))
        return model

    def _learn(self, source: Source) -> None:
        check_density("density", self.density, self._name())
        classes = source.require_classes(self._name())
        check_n_classes(self._name(), classes, "To model a single population, fit the density itself.")
        weights = weights_by_class(source)
        densities = [fit_to_class(self.density, source, code) for code in range(len(classes))]
        self._keep(classes, densities, weights / weights.sum())

    def __sklearn_tags__(self) -> Any:
        return restrict_input_tags(super().__sklearn_tags__(), self.density)


def _sort_densities(densities: Any, owner: str) -> tuple[Labels, list[Any]]:
    """Return the sorted labels of a mapping {label: density}, and the densities in their order."""
    if not isinstance(densities, Mapping):
        raise InvalidParameterError(
            f"densities of {owner}.given must be a mapping from labels to fitted densities, but is {densities!r}.",
            parameter="densities",
        )
    if len(densities) < 2:
        raise InvalidParameterError(
            f"{owner}.given needs at least two classes, but got {list(densities)}. To score a single population, "
            "use the density itself.",
            parameter="densities",
        )
    classes, codes = encode_labels(check_labels(f"{owner}.given", list(densities)))
    if len(classes) < len(densities):
        raise InvalidParameterError(
            f"Labels of {owner}.given must differ, but are {list(densities)}.", parameter="densities"
        )
    in_order: list[Any] = [None] * len(classes)
    for code, density in zip(codes, densities.values(), strict=True):
        in_order[code] = density
    return classes, in_order


def restrict_input_tags(tags: Any, *densities: Any) -> Any:
    """Return the tags of a classifier that accepts the rows which all its densities accept."""
    inner = [get_tags(each).input_tags for each in densities if hasattr(each, "fit") and not isinstance(each, type)]
    tags.input_tags.sparse = all(each.sparse for each in inner)
    tags.input_tags.allow_nan = all(each.allow_nan for each in inner)
    return tags


def check_density(name: str, value: Any, whom: str) -> None:
    """Raise unless a value is a density: it fits a source without classes and has ``log_density``."""
    has_all = all(hasattr(value, method) for method in ("fit_source", "log_density"))
    if isinstance(value, type) or not has_all or value.by_class:
        raise InvalidParameterError(f"{name} of {whom} must be a density, such as Gaussian(), but is {value!r}.")


def weights_by_class(source: Source) -> Floats:
    """Return the total weight of each class; raise if a class has no rows."""
    return count_classes(source).weights


def fit_to_class(density: Any, source: Source, code: int) -> Any:
    """Fit a copy of a density to the rows of one class. Errors and warnings name the class."""
    with prefix_messages(f"Class {source.require_classes().tolist()[code]!r}"):
        return clone(density).fit_source(source.of_class(code))
