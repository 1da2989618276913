"""Classifiers whose classes are mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    check_parameters,
    count,
    either,
    flag,
    instance_of,
    is_count,
    label,
    mapping_of,
    none_or,
    number,
    numbers,
    one_of,
    priors,
    random_state,
)
from likely._typing import Floats, Integers, Labels
from likely._validation import check_n_classes
from likely.blocks import Block, Source
from likely.densities import LBG, GaussianMixture
from likely.densities.covariance import SHAPE
from likely.densities.mixtures.starting import FLOOR, FLOORS, STARTS, mixture_shape, start_of
from likely.exceptions import (
    DegenerateDataWarning,
    InvalidParameterError,
    NotConvergedWarning,
    prefix_messages,
    suppress_warnings,
    warn_of_degenerate_data,
)
from likely.models.generative import DensitiesByClass, DensitiesState, weights_by_class

SIZES = (1, 2, 4, 8, 16, 32)
"""Numbers of components that BIC chooses from, as far as a class has rows for them."""

LEAST_ROWS = 10
"""Rows for each component that a class must have for that many to be tried."""

_SHARED = ("n_features_in_", "feature_names_in_")
"""What the models of a path know of the columns."""


@dataclass(frozen=True, eq=False)
class MixtureClassifierState(DensitiesState):
    """The mixtures of the classes, the classes' shares of the rows, and the mixture that was adapted, if any."""

    background_: Annotated[GaussianMixture | None, none_or(instance_of(GaussianMixture, d="d"))]


class MixtureClassifier(DensitiesByClass):
    """Classes that are mixtures of Gaussians: of several clusters each, or of a shape that no Gaussian has.

    One component for each class makes it :class:`GaussianClassifier`. It returns true log densities, log p(x given
    class). With more components it can follow any class, and with too many the sample: choose their number by BIC, or
    by cost (:func:`likely.compare`). Missing values are integrated out, in fitting and in scoring.

    Parameters
    ----------
    n_components : int, mapping {label: int}, sequence of int in class order, or "bic", default 2
        Components of each class; a class of fewer rows has as many as it has rows. With "bic" each class has as many of
        1, 2, 4, …, 32 as its Bayes' information criterion is least for, of those that it has ten rows for each
        component for, or, where each has a full covariance of its own, more rows than features. Sizes at the default
        floor come after all others.
    covariance : {"full", "diagonal", "spherical"}, default "full"
        The shape of the components' covariances.
    tied : bool, default False
        Whether the components of a class share one covariance.
    init : {"lbg", "kmeans", "random"} or start, default "lbg"
        Where EM begins, as for :class:`likely.GaussianMixture`; BIC chooses among mixtures grown by "lbg".
    floor : float or AbsoluteFloor, default 1e-6
        Least variance in any direction, relative to the variances of the class's columns, or in the units of the data.
        That components are at the default floor is told by a warning; a floor of your own is expected to be felt.
    relevance : float, optional
        For classes of few rows: a background mixture is fitted to all rows, and each class is the background with its
        means moved towards the class's rows, where so many rows weigh as much as the background
        (:meth:`likely.GaussianMixture.adapt`). All classes then have the same number of components, with the same
        weights, so it is for classes that share the places where their rows are, and tells little of others.
    random_state : int, RandomState or None
        For starts that draw lots.
    priors : sequence in class order or mapping {label: prior}, optional
        For ``predict``, ``predict_proba`` and ``decision_function``; the training priors if not given. Evidence does
        not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    mixtures_ : list of GaussianMixture
        In class order.
    n_components_ : array of int of shape (n_classes,)
    background_ : GaussianMixture or None
        The mixture of all rows, with ``relevance``.
    training_priors_ : array of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-3.0], [-2.9], [-3.2], [3.0], [2.9], [3.2], [0.0], [0.1], [-0.1]])
    >>> y = ["outer"] * 6 + ["inner"] * 3
    >>> model = MixtureClassifier({"inner": 1, "outer": 2}).fit(X, y)
    >>> model.predict([[-2.8], [0.2], [2.5]])
    array(['outer', 'inner', 'outer'], dtype='<U5')
    >>> model.n_components_
    array([1, 2])
    """

    path_parameter: ClassVar[str] = "n_components"
    """What ``path`` goes along."""

    _State = MixtureClassifierState
    _constraints: ClassVar[Constraints] = {
        "n_components": replace(
            either(mapping_of(label, count(1)), count(1), one_of("bic"), numbers(1)),
            description="a whole number >= 1, one for each class, or 'bic'",
        ),
        "covariance": SHAPE,
        "tied": flag,
        "init": STARTS,
        "floor": FLOORS,
        "relevance": none_or(number(0)),
        "random_state": random_state,
        "priors": priors(),
    }

    background_: GaussianMixture | None

    def __init__(
        self,
        n_components: Any = 2,
        *,
        covariance: Any = "full",
        tied: bool = False,
        init: Any = "lbg",
        floor: Any = FLOOR,
        relevance: float | None = None,
        random_state: Any = None,
        priors: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.tied = tied
        self.init = init
        self.floor = floor
        self.relevance = relevance
        self.random_state = random_state
        self.priors = priors

    @property
    def mixtures_(self) -> list[GaussianMixture]:
        check_is_fitted(self, "densities_")
        return self.densities_

    @property
    def n_components_(self) -> Integers:
        return np.array([mixture.n_components for mixture in self.mixtures_], dtype=np.intp)

    def path(self, X: Any, y: Any, sizes: Iterable[int], sample_weight: Any = None) -> list[Self]:
        """Fitted copies of the model for several numbers of components, in the order given.

        Each is what a fit with that number gives. With ``init="lbg"`` they are grown from each other, so that all take
        little longer than the largest. The model itself is not changed.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,)
        sizes : iterable of int
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        list of MixtureClassifier
        """
        base: Self = clone(self)
        return base._path(base._source(X, y, sample_weight), sizes)

    def path_source(self, source: Source, sizes: Iterable[int]) -> list[Self]:
        """The same from the rows of a source."""
        base: Self = clone(self)
        return base._path(base._opened(source), sizes)

    def _path(self, source: Source, sizes: Iterable[int]) -> list[Self]:
        models = [clone(self).set_params(n_components=_checked_size(size)) for size in sizes]
        check_parameters(self)
        weights = self._weighed(source)
        columns = {name: value for name, value in vars(self).items() if name in _SHARED}
        if self.relevance is None:
            grown = self._by_class(source, lambda rows, _: self._grown(rows, models))
            found: list[Any] = [(list(mixtures), None) for mixtures in zip(*grown, strict=True)]
        else:
            with prefix_messages("The background"):
                backgrounds = self._grown(source.without_classes(), models)
            found = [(self._adapted(background, source), background) for background in backgrounds]
        for model, (mixtures, background) in zip(models, found, strict=True):
            model.__dict__.update(columns)
            model._keep_mixtures(self._classes(source), mixtures, weights, background)
        return models

    def _learn(self, source: Source) -> None:
        weights = self._weighed(source)
        if self.relevance is not None:
            self._common_size()
        sizes = self._sizes(self._classes(source))
        background = None
        if self.relevance is None:
            mixtures = self._by_class(source, lambda rows, code: self._mixture(rows, sizes[code]))
        else:
            with prefix_messages("The background"):
                background = self._mixture(source.without_classes(), self._common_size())
            mixtures = self._adapted(background, source)
        self._keep_mixtures(self._classes(source), mixtures, weights, background)

    def _keep_mixtures(self, classes: Labels, mixtures: list[Any], weights: Floats, background: Any) -> None:
        self.classes_ = classes
        self._state = MixtureClassifierState(mixtures, np.asarray(weights / weights.sum()), background)
        if self.priors is not None:
            self._application()  # raises if the priors do not fit the classes

    def _weighed(self, source: Source) -> Floats:
        """What the classes weigh, once classes and options are such as to go on."""
        check_n_classes(self._name(), self._classes(source), "To model a single population use GaussianMixture.")
        return weights_by_class(source)

    def _classes(self, source: Source) -> Labels:
        return source.require_classes(self._name())

    def _by_class(self, source: Source, of: Any) -> list[Any]:
        """A function of each class's rows and position; what it says names the class."""
        found = []
        for code, name in enumerate(self._classes(source).tolist()):
            with prefix_messages(f"Class {name!r}"):
                found.append(of(source.of_class(code), code))
        return found

    def _adapted(self, background: GaussianMixture, source: Source) -> list[GaussianMixture]:
        return self._by_class(source, lambda rows, _: background.adapt_source(rows, self.relevance or 0.0))

    def _grown(self, rows: Source, models: list[Self]) -> list[GaussianMixture]:
        """Mixtures as large as those of some models; grown from each other where a fit would grow them too."""
        if not models or not isinstance(start_of(self.init), LBG):
            return [self._mixture(rows, model.n_components) for model in models]
        sizes = [_possible(model.n_components, rows) for model in models]
        return self._empty(max(sizes)).path_source(rows, sizes)

    def _mixture(self, rows: Source, size: Any) -> GaussianMixture:
        """A mixture of so many components, or of as many as BIC is least for."""
        chosen = self._least_bic(rows) if size == "bic" else _possible(size, rows)
        fitted: GaussianMixture = self._empty(chosen).fit_source(rows)
        return fitted

    def _least_bic(self, rows: Source) -> int:
        init = self.init if isinstance(self.init, LBG) else "lbg"
        return least_bic(self._empty(1).set_params(init=init), rows)

    def _empty(self, size: int) -> GaussianMixture:
        return GaussianMixture(
            size,
            covariance=self.covariance,
            tied=self.tied,
            init=self.init,
            floor=self.floor,
            random_state=self.random_state,
        )

    def _sizes(self, classes: Labels) -> list[Any]:
        """Components of each class, or "bic" in their place."""
        given, labels = self.n_components, classes.tolist()
        if isinstance(given, str) or not np.iterable(given):
            return [given if isinstance(given, str) and given == "bic" else _checked_size(given)] * len(labels)
        if isinstance(given, Mapping) and set(given) != set(labels):
            raise InvalidParameterError(
                f"n_components of MixtureClassifier must name all of the classes {labels}, but names {list(given)}."
            )
        each: list[Any] = [given[label] for label in labels] if isinstance(given, Mapping) else list(given)
        if len(each) != len(labels) or isinstance(given, (set, frozenset)):
            raise InvalidParameterError(
                f"n_components of MixtureClassifier must be one number for each of {len(labels)} classes, but are "
                f"{len(each)}."
            )
        return [_checked_size(size) for size in each]

    def _common_size(self) -> Any:
        if not (isinstance(self.n_components, str) or is_count(self.n_components, 1, 2**20)):
            raise InvalidParameterError(
                "With relevance all classes have the components of one background: n_components must be one number or "
                f"'bic', but is {self.n_components!r}."
            )
        return self.n_components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.relevance is None
        return tags


def least_bic(mixture: GaussianMixture, rows: Source) -> int:
    """The size, of those that there are rows for, at which the mixture grown by splitting has the least BIC.

    Mixtures that owe their likelihood to the floor come after all others.
    """
    count, weight = rows.reduce(_rows_and_weight)
    needed = 0.0 if mixture.tied else mixture_shape(mixture.covariance).natural_form.min_rows(rows.n_features)
    least = max(LEAST_ROWS, needed)
    sizes = [size for size in SIZES if size == 1 or size * least <= count]
    with suppress_warnings(DegenerateDataWarning, NotConvergedWarning):  # of those that are not chosen
        mixtures = mixture.path_source(rows, sizes)
    # The last entry of the history is the mean log-likelihood of the mixture as it is.
    bics = np.array([each.n_parameters_ * np.log(weight) - 2 * weight * each.history_[-1] for each in mixtures])
    floored = np.array([len(each._find_degenerate()) > 0 for each in mixtures])
    return sizes[int(np.lexsort((bics, floored))[0])]


def _rows_and_weight(block: Block) -> Floats:
    n = len(block)
    return np.array([n, n if block.weight is None else block.weight.sum()], dtype=np.float64)


def _possible(size: int, rows: Source) -> int:
    """As many components as asked for, or else as there are rows."""
    count = int(rows.reduce(_rows_and_weight)[0])
    if size > count:
        warn_of_degenerate_data(
            f"A mixture of {size} components needs as many rows at least, but there are {count}. It has {count} "
            "component" + "s" * (count > 1) + " instead."
        )
    return min(size, count)


def _checked_size(size: Any) -> int:
    if not is_count(size, 1, 2**20):
        raise InvalidParameterError(
            "n_components of MixtureClassifier must be a whole number >= 1, one for each class, or 'bic', but is "
            f"{size!r}."
        )
    return int(size)
