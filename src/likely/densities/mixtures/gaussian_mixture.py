"""Mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from likely._typing import Floats, Integers
from likely._validation import check_count, check_option, check_penalty
from likely._words import counted
from likely.blocks import Source, all_or_nothing
from likely.densities.mixtures.adaptation import adapted
from likely.densities.mixtures.base import MixtureBase
from likely.densities.mixtures.em import Climb, climb
from likely.densities.mixtures.floors import FLOOR, AbsoluteFloor
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.growth import grown
from likely.densities.mixtures.mixed import Mixed
from likely.densities.mixtures.starts import LBG, given_start, start_of
from likely.densities.mixtures.stepwise import Stepwise
from likely.densities.mixtures.survey import cut_short, mixture_shape, surveyed_family
from likely.exceptions import (
    DegenerateDataError,
    IncompatiblePartsError,
    warn_of_degenerate_data,
)

__all__ = ["GaussianMixture"]


class GaussianMixture(MixtureBase):
    """A density that is a weighted sum of Gaussians, learned by EM.

    With enough components it comes near any density; with too many it follows the sample. It returns true log
    densities. EM finds a local maximum of the likelihood, which without a floor has no bound: a component on a single
    row makes it infinite. So no covariance falls below ``floor``, a component that answers for too few rows is set
    elsewhere, and of what is still at the default floor at the end a warning tells. Missing values are integrated out,
    in fitting and in scoring.

    Parameters
    ----------
    n_components : int, default 1
    covariance : {"full", "diagonal", "spherical"} or Covariance, default "full"
        The shape of the covariances, as for :class:`likely.Gaussian`.
    tied : bool, default False
        Whether all components share one covariance.
    init : {"lbg", "kmeans", "random"}, start, array or tuple, default "lbg"
        Where EM begins: :class:`likely.LBG` grows from one component by splitting, and nothing is random;
        :class:`likely.KMeansStart` and :class:`likely.RandomStart` can begin several times. Or means of shape
        (n_components, n_features), each with the covariance of all rows; or (weights, means, covariances); or a fitted
        mixture, to go on from.
    assignments : {"soft", "hard"}, default "soft"
        Whether a row is shared out by its responsibilities, or belongs to the likeliest component alone.
    floor : float or AbsoluteFloor, default 1e-6
        Least variance in any direction, relative to the variances of the columns over all rows, or in the units of the
        data; fixed before the first pass. 0 raises where a covariance is singular.
    tolerance : float, default 1e-5
        Passes end when the mean log-likelihood is not expected to rise by more in all; or, where it creeps, when a pass
        raises it by no more than a tenth of that.
    random_state : int, RandomState or None
        For starts that draw lots.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    means_ : array of shape (n_components, n_features)
    covariances_ : array of shape (n_components, n_features, n_features), or (n_components, n_features) variances
        The same for every component where tied.
    gaussians_ : Gaussians
        The components themselves.
    history_ : array of shape (n_iter_,)
        Mean log-likelihood in each pass at ``n_components``, with hard assignments of rows and assignments together.
        The last is that of the mixture as it is; it never falls but after ``restarts_``. Empty after ``partial_fit``
        and ``adapt``.
    restarts_ : list of int
        Passes after which a collapsed component was set elsewhere.
    converged_ : bool
    n_iter_ : int
    n_parameters_ : int
        Free parameters, as BIC counts them.

    Notes
    -----
    p(x) = Σ_k w_k N(x; m_k, C_k). A pass takes the responsibilities γ_k(x) = w_k N(x; m_k, C_k) / p(x), and then
    w_k = n_k / n, m_k = Σ γ_k x / n_k and C_k = Σ γ_k (x − m_k)(x − m_k)' / n_k with n_k = Σ γ_k. Of full shapes with
    missing values the sums are those expected given what was observed.

    References
    ----------
    A. Dempster, N. Laird and D. Rubin, "Maximum likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977.
    Y. Linde, A. Buzo and R. Gray, "An algorithm for vector quantizer design", IEEE Trans. Comm. 28, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.1], [5.5]]
    >>> mixture = GaussianMixture(2).fit(X)
    >>> mixture.means_.round(2).ravel(), mixture.weights_.round(2)
    (array([5.2, 0.2]), array([0.5, 0.5]))
    >>> mixture.responsibilities([[0.3], [5.2]]).round(2)
    array([[0., 1.],
           [1., 0.]])
    >>> bool((np.diff(mixture.history_) > -1e-12).all())
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        covariance: Any = "full",
        tied: bool = False,
        init: Any = "lbg",
        assignments: str = "soft",
        floor: Any = FLOOR,
        tolerance: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.tied = tied
        self.init = init
        self.assignments = assignments
        self.floor = floor
        self.tolerance = tolerance
        self.random_state = random_state

    n_parameters_: int
    _instalments: Stepwise | None

    @property
    def means_(self) -> Floats:
        return self._mixed().components.means  # type: ignore[no-any-return]

    @property
    def covariances_(self) -> Floats:
        return self._mixed().components.broadcast_covariances()  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more instalment of rows by a step of EM; an error leaves the mixture as it was.

        The first instalment is fitted like all rows would be, and fixes the floor; each later one moves the parameters
        by less. Unlike sums of other models, the result depends on the order of the instalments, which should each be
        a fair sample.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "mixed_"):
            return self.fit(X, sample_weight=sample_weight)
        if self._instalments is None:
            raise IncompatiblePartsError(
                f"{self._name()} was adapted to rows, and has no sums to add to. Fit it anew, with init set to its "
                "(weights_, means_, covariances_) to go on from there."
            )
        self._check_goes_on(self._instalments)
        with all_or_nothing(self):
            source = self._source(X, None, sample_weight, first=False)
            hard = self.assignments == "hard"
            self._instalments, self.mixed_ = self._instalments.step(source, self.mixed_, hard)
            self._forget_passes()
        return self

    def _check_goes_on(self, learned: Stepwise) -> None:
        """Refuse to add to sums that are not of the kind that is now needed."""
        name = mixture_shape(self.covariance).name
        if (
            learned.family.shape != name
            or learned.family.tied != self.tied
            or self.mixed_.n_components != self.n_components
        ):
            raise IncompatiblePartsError(
                f"Options of {self._name()} were changed after it learned; it must be fitted anew."
            )

    def _forget_passes(self) -> None:
        """What was said of the passes of a fit is not true of what came after."""
        self.history_, self.restarts_, self.converged_ = np.empty(0), [], False

    def path(self, X: Any, sizes: Iterable[int], sample_weight: Any = None) -> list[Self]:
        """Mixtures of several sizes, each grown from the last by splitting (:class:`likely.LBG`).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        sizes : iterable of int
            Numbers of components.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        list of GaussianMixture
            One for each size, the same as a fit of that size with ``init="lbg"``.
        """
        base: Self = clone(self)
        models = base.path_source(base._source(X, None, sample_weight), sizes)
        names = {name: value for name, value in vars(base).items() if name == "feature_names_in_"}
        for model in models:
            model.__dict__.update(names)
        return models

    def path_source(self, source: Source, sizes: Iterable[int]) -> list[Self]:
        """The same from the rows of a source."""
        start = start_of(self.init)
        init, displacement = (self.init, start.displacement) if isinstance(start, LBG) else ("lbg", LBG().displacement)
        models = [clone(self).set_params(n_components=size, init=init) for size in sizes]
        if not models:
            return []
        for model in models:
            model._check_parameters()
        sizes = [model.n_components for model in models]
        source, family, alone = self._surveyed(source, max(sizes))
        found = grown(source, family, alone, sizes, displacement, self.assignments == "hard", self.tolerance)
        for model in models:
            model.n_features_in_ = source.n_features
            model._keep(found[model.n_components], family)
        return models

    def adapt(self, X: Any, relevance: float = 16.0, sample_weight: Any = None) -> Self:
        """A new mixture whose means are moved towards rows, the farther the more rows a component answers for.

        For a class of few rows, begin with the mixture of all: weights and covariances stay as they are, and of the
        means those that the rows say nothing of.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            Without missing values.
        relevance : float, default 16
            Rows that weigh as much as what was known.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        GaussianMixture

        Notes
        -----
        m_k + (n_k / (n_k + relevance)) (x̄_k − m_k), with n_k = Σ γ_k and x̄_k = Σ γ_k x / n_k (Reynolds, Quatieri and
        Dunn, "Speaker verification using adapted Gaussian mixture models", Digital Signal Processing 10, 2000).
        """
        self._mixed()
        with all_or_nothing(self):
            source = self._source(X, None, sample_weight, first=False)
        return self.adapt_source(source, relevance)

    def adapt_source(self, source: Source, relevance: float = 16.0) -> Self:
        """The same with the rows of a source."""
        check_penalty("relevance", relevance, self._name())
        moved = adapted(source, self._mixed(), relevance)
        model: Self = clone(self)
        model.__dict__.update(vars(self))
        model._instalments, model.mixed_ = None, moved
        model._forget_passes()
        return model

    def _learn(self, source: Source) -> None:
        self._check_parameters()
        source, family, alone = self._surveyed(source, self.n_components)
        self._keep(self._climbed(source, family, alone), family)

    def _surveyed(self, source: Source, n_components: int) -> tuple[Source, GaussianFamily, Mixed]:
        """The rows in blocks that suit them, how components are learned from them, and all of them as one."""
        shape = mixture_shape(self.covariance)
        source = cut_short(source, shape)
        return source, *surveyed_family(source, shape, self.tied, self.floor, n_components, self._name())

    def _climbed(self, source: Source, family: GaussianFamily, alone: Mixed) -> Climb:
        hard, start = self.assignments == "hard", start_of(self.init)
        if isinstance(start, LBG):
            sizes = [self.n_components]
            return grown(source, family, alone, sizes, start.displacement, hard, self.tolerance)[self.n_components]
        if start is None:
            return climb(source, family, given_start(self.init, self.n_components, family, alone), hard, self.tolerance)
        random = check_random_state(self.random_state)
        begun = (start.begin(source, family, alone, self.n_components, random) for _ in range(start.n_starts))
        climbs = [climb(source, family, first, hard, self.tolerance) for first in begun]
        return max(climbs, key=lambda found: found.history[-1])

    def _keep(self, found: Climb, family: GaussianFamily) -> None:
        self._hold(found)
        self._instalments = Stepwise.after(found, family)
        K, d = found.mixed.components.means.shape
        each = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}[mixture_shape(self.covariance).name]
        self.n_parameters_ = K - 1 + K * d + (1 if self.tied else K) * each
        self._tell()

    def _tell(self) -> None:
        """Say what is at the floor."""
        super()._tell()
        floored = self._degenerate()
        if not len(floored) or self._instalments is None:
            return
        family, rows = self._instalments.family, self._instalments.average.rows
        K, d = self.mixed_.n_components, len(family.origin)
        whose = "The covariance that all share" if self.tied and K > 1 else "The only component"
        if not self.tied and K > 1:
            whose = f"{len(floored)} of {K} components, number {floored[0]} among them"
        of = f"{counted(rows, 'row')} for {counted(d, 'column')}"
        said = f"{self._name()}: {whose}, found no variance in some direction ({of})"
        remedy = (
            "Use fewer components, a simpler shape or tied=True, drop constant columns or outliers, or raise floor."
        )
        if self.floor == 0:
            raise DegenerateDataError(f"{said}. {remedy}")
        warn_of_degenerate_data(f"{said}; what was missing is at the floor, {self.floor}. {remedy}")

    def _degenerate(self) -> Integers:
        """The covariances that owe their likelihood to the floor; one that the caller raised is meant to be felt."""
        raised = isinstance(self.floor, AbsoluteFloor) or self.floor > FLOOR
        if raised or self._instalments is None:
            return np.empty(0, dtype=np.intp)
        return self._instalments.family.at_floor(self.mixed_)

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components, self._name())
        check_option("assignments", self.assignments, ("soft", "hard"))
        check_penalty("tolerance", self.tolerance, self._name())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
