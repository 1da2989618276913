"""Gaussian mixture classifier."""

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
from likely._typing import CovarianceName, Floats, Integers, Labels, StartName, StoppingRule
from likely._validation import check_n_classes
from likely.blocks import Block, Source
from likely.densities import LBG, GaussianMixture
from likely.densities.covariance import SHAPE, Covariance
from likely.densities.mixtures.em import MAX_ITER
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
"""Numbers of components that BIC chooses from, if the class has enough rows."""

MIN_ROWS_PER_COMPONENT = 10
"""Minimum number of rows per component for a size to be tried."""

_SHARED = ("n_features_in_", "feature_names_in_")
"""Attributes of the input columns that the models of a path share."""


@dataclass(frozen=True, eq=False)
class MixtureClassifierState(DensitiesState):
    """Mixtures of the classes, share of each class among the rows, and the background mixture, if any."""

    background_: Annotated[GaussianMixture | None, none_or(instance_of(GaussianMixture, d="d"))]


class MixtureClassifier(DensitiesByClass):
    """Gaussian mixture classifier: one Gaussian mixture density per class.

    Use it for classes with several clusters, or with a shape that is not Gaussian. With one component per class it is
    a :class:`GaussianClassifier`. ``log_likelihood`` returns log-densities, log p(x given class). More components
    approximate more complex classes, and too many overfit. Choose their number by BIC, or by cost with
    :func:`likely.compare`. Fitting and scoring marginalise missing values.

    Parameters
    ----------
    n_components : int, mapping {label: int}, sequence of int in class order, or "bic", default 2
        Number of components of each class. A class with fewer rows has one component per row. "bic" chooses, for each
        class, the number among 1, 2, 4, …, 32 with the lowest Bayesian information criterion. A number is tried if the
        class has ten rows per component; untied full covariances also need more rows per component than features. Sizes
        whose components reach the default floor rank after all others.
    covariance : {"full", "diagonal", "spherical"}, default "full"
        Shape of the covariances of the components.
    tied : bool, default False
        Whether the components of a class share one covariance.
    init : {"lbg", "kmeans", "random"} or start, default "lbg"
        Initialisation of EM, as for :class:`likely.GaussianMixture`. BIC compares mixtures grown by "lbg".
    floor : float or AbsoluteFloor, default 1e-6
        Minimum variance in any direction, relative to the variances of the columns of the class, or in the units of the
        data. Components at the default floor cause a warning; components at a floor that you set do not.
    tol, max_iter, stopping, restart_collapsed
        Options of EM, as for :class:`likely.GaussianMixture`.
    relevance : float, optional
        Relevance factor of MAP adaptation, for classes with few rows. A background mixture is fitted to all rows. Each
        class is the background with means moved towards the rows of the class; ``relevance`` is the number of rows
        that has the same weight as the background (:meth:`likely.GaussianMixture.adapt`). All classes then have the
        same number of components and the same component weights. Use it for classes that occupy the same regions; it
        discriminates other classes poorly.
    random_state : int, RandomState or None
        Random state of random initialisations.
    priors : sequence in class order or mapping {label: prior}, optional
        Priors for ``predict``, ``predict_proba`` and ``decision_function``, by default the training priors.
        ``log_likelihood`` and ``llr`` do not depend on them.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    mixtures_ : list of GaussianMixture
        Fitted mixtures, in class order.
    n_components_ : array of int of shape (n_classes,)
    n_iter_ : array of int of shape (n_classes,)
        Number of EM passes of the mixture of each class; with ``relevance``, that of the background.
    background_ : GaussianMixture or None
        Mixture of all rows, if ``relevance`` is set.
    training_priors_ : array of shape (n_classes,)
        Share of each class among the training rows.

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
    """Name of the parameter that ``path`` varies."""

    _State = MixtureClassifierState
    _constraints: ClassVar[Constraints] = {
        "n_components": replace(
            either(mapping_of(label, count(1)), count(1), one_of("bic"), numbers(1)),
            description="'bic', a whole number >= 1, or one such number for each class",
        ),
        "covariance": SHAPE,
        "tied": flag,
        "init": STARTS,
        "floor": FLOORS,
        "tol": number(0),
        "max_iter": count(1),
        "stopping": one_of("projected", "rise"),
        "restart_collapsed": flag,
        "relevance": none_or(number(0)),
        "random_state": random_state,
        "priors": priors(),
    }

    background_: GaussianMixture | None

    def __init__(
        self,
        n_components: Any = 2,
        *,
        covariance: CovarianceName | Covariance = "full",
        tied: bool = False,
        init: StartName | Any = "lbg",
        floor: Any = FLOOR,
        tol: float = 1e-5,
        max_iter: int = MAX_ITER,
        stopping: StoppingRule = "projected",
        restart_collapsed: bool = True,
        relevance: float | None = None,
        random_state: Any = None,
        priors: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.tied = tied
        self.init = init
        self.floor = floor
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.restart_collapsed = restart_collapsed
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

    @property
    def n_iter_(self) -> Integers:
        fitted = [mixture if self.background_ is None else self.background_ for mixture in self.mixtures_]
        return np.array([mixture.n_iter_ for mixture in fitted], dtype=np.intp)

    def path(self, X: Any, y: Any, sizes: Iterable[int], sample_weight: Any = None) -> list[Self]:
        """Return fitted copies of the model for several numbers of components, in the given order.

        Each copy equals a fit with that number. With ``init="lbg"`` larger mixtures grow from smaller ones, so the
        path takes little longer than its largest mixture. The model itself does not change.

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
        """Return fitted copies as ``path`` does, from the rows of a source."""
        base: Self = clone(self)
        return base._path(base._open_source(source), sizes)

    def _path(self, source: Source, sizes: Iterable[int]) -> list[Self]:
        models = [clone(self).set_params(n_components=_check_size(size)) for size in sizes]
        check_parameters(self)
        weights = self._check_and_weigh(source)
        columns = {name: value for name, value in vars(self).items() if name in _SHARED}
        if self.relevance is None:
            grown = self._apply_to_classes(source, lambda rows, _: self._fit_sizes(rows, models))
            found: list[Any] = [(list(mixtures), None) for mixtures in zip(*grown, strict=True)]
        else:
            with prefix_messages("The background"):
                backgrounds = self._fit_sizes(source.without_classes(), models)
            found = [(self._adapt_to_classes(background, source), background) for background in backgrounds]
        for model, (mixtures, background) in zip(models, found, strict=True):
            model.__dict__.update(columns)
            model._keep_mixtures(self._classes(source), mixtures, weights, background)
        return models

    def _learn(self, source: Source) -> None:
        weights = self._check_and_weigh(source)
        if self.relevance is not None:
            self._common_size()
        sizes = self._sizes_by_class(self._classes(source))
        background = None
        if self.relevance is None:
            mixtures = self._apply_to_classes(source, lambda rows, code: self._fit_mixture(rows, sizes[code]))
        else:
            with prefix_messages("The background"):
                background = self._fit_mixture(source.without_classes(), self._common_size())
            mixtures = self._adapt_to_classes(background, source)
        self._keep_mixtures(self._classes(source), mixtures, weights, background)

    def _keep_mixtures(self, classes: Labels, mixtures: list[Any], weights: Floats, background: Any) -> None:
        self.classes_ = classes
        self._state = MixtureClassifierState(mixtures, np.asarray(weights / weights.sum()), background)
        if self.priors is not None:
            self._application()  # raises if the priors do not match the classes

    def _check_and_weigh(self, source: Source) -> Floats:
        """Check the classes, and return the total weight of each."""
        check_n_classes(self._name(), self._classes(source), "To model a single population, use GaussianMixture.")
        return weights_by_class(source)

    def _classes(self, source: Source) -> Labels:
        return source.require_classes(self._name())

    def _apply_to_classes(self, source: Source, function: Any) -> list[Any]:
        """Apply a function to the rows and code of each class. Errors and warnings name the class."""
        found = []
        for code, name in enumerate(self._classes(source).tolist()):
            with prefix_messages(f"Class {name!r}"):
                found.append(function(source.of_class(code), code))
        return found

    def _adapt_to_classes(self, background: GaussianMixture, source: Source) -> list[GaussianMixture]:
        return self._apply_to_classes(source, lambda rows, _: background.adapt_source(rows, self.relevance or 0.0))

    def _fit_sizes(self, rows: Source, models: list[Self]) -> list[GaussianMixture]:
        """Fit mixtures of several sizes. If a single fit would grow by splitting, each grows from a smaller one."""
        if not models or not isinstance(start_of(self.init), LBG):
            return [self._fit_mixture(rows, model.n_components) for model in models]
        sizes = [_limit_size(model.n_components, rows) for model in models]
        return self._make_mixture(max(sizes)).path_source(rows, sizes)

    def _fit_mixture(self, rows: Source, size: Any) -> GaussianMixture:
        """Fit a mixture with a given number of components, or with the number of lowest BIC."""
        chosen = self._choose_by_bic(rows) if size == "bic" else _limit_size(size, rows)
        fitted: GaussianMixture = self._make_mixture(chosen).fit_source(rows)
        return fitted

    def _choose_by_bic(self, rows: Source) -> int:
        init = self.init if isinstance(self.init, LBG) else "lbg"
        return choose_by_bic(self._make_mixture(1).set_params(init=init), rows)

    def _make_mixture(self, size: int) -> GaussianMixture:
        return GaussianMixture(
            size,
            covariance=self.covariance,
            tied=self.tied,
            init=self.init,
            floor=self.floor,
            tol=self.tol,
            max_iter=self.max_iter,
            stopping=self.stopping,
            restart_collapsed=self.restart_collapsed,
            random_state=self.random_state,
        )

    def _sizes_by_class(self, classes: Labels) -> list[Any]:
        """Return the number of components of each class, or "bic"."""
        given, labels = self.n_components, classes.tolist()
        if isinstance(given, str) or not np.iterable(given):
            return [given if isinstance(given, str) and given == "bic" else _check_size(given)] * len(labels)
        if isinstance(given, Mapping) and set(given) != set(labels):
            raise InvalidParameterError(
                f"n_components of MixtureClassifier must have the classes {labels} as keys, but has the keys "
                f"{list(given)}."
            )
        each: list[Any] = [given[label] for label in labels] if isinstance(given, Mapping) else list(given)
        if len(each) != len(labels) or isinstance(given, (set, frozenset)):
            raise InvalidParameterError(
                f"n_components of MixtureClassifier must be one number for each of {len(labels)} classes, but has "
                f"{len(each)}."
            )
        return [_check_size(size) for size in each]

    def _common_size(self) -> Any:
        if not (isinstance(self.n_components, str) or is_count(self.n_components, 1, 2**20)):
            raise InvalidParameterError(
                "If relevance is set, all classes are adapted from one background mixture, so n_components must be "
                f"one number or 'bic', but is {self.n_components!r}."
            )
        return self.n_components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.relevance is None
        return tags


def choose_by_bic(mixture: GaussianMixture, rows: Source) -> int:
    """Return the size at which the mixture grown by splitting has the lowest BIC.

    Only sizes with enough rows are tried. Mixtures with components at the floor rank after all others, because the
    floor determines their likelihood.
    """
    count, weight = rows.reduce(_rows_and_weight)
    needed = 0.0 if mixture.tied else mixture_shape(mixture.covariance).natural_form.min_rows(rows.n_features)
    min_rows = max(MIN_ROWS_PER_COMPONENT, needed)
    sizes = [size for size in SIZES if size == 1 or size * min_rows <= count]
    with suppress_warnings(DegenerateDataWarning, NotConvergedWarning):  # those of the sizes that are not chosen
        mixtures = mixture.path_source(rows, sizes)
    # BIC = n_parameters log n − 2 log L (Schwarz, 1978); the last entry of the history is the mean log-likelihood.
    bics = np.array([each.n_parameters_ * np.log(weight) - 2 * weight * each.history_[-1] for each in mixtures])
    floored = np.array([len(each._find_degenerate()) > 0 for each in mixtures])
    return sizes[int(np.lexsort((bics, floored))[0])]


def _rows_and_weight(block: Block) -> Floats:
    n = len(block)
    return np.array([n, n if block.weight is None else block.weight.sum()], dtype=np.float64)


def _limit_size(size: int, rows: Source) -> int:
    """Return the requested number of components, at most the number of rows; warn if it is reduced."""
    count = int(rows.reduce(_rows_and_weight)[0])
    if size > count:
        warn_of_degenerate_data(
            f"A mixture of {size} components needs at least {size} rows, but there are {count}. The fitted mixture has "
            f"{count} component" + "s" * (count > 1) + " instead."
        )
    return min(size, count)


def _check_size(size: Any) -> int:
    if not is_count(size, 1, 2**20):
        raise InvalidParameterError(
            "n_components of MixtureClassifier must be 'bic', a whole number >= 1, or one such number for each class, "
            f"but is {size!r}."
        )
    return int(size)
