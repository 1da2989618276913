"""Gaussian mixtures, fitted by EM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    check_argument,
    check_parameters,
    count,
    flag,
    instance_of,
    none_or,
    number,
    one_of,
    random_state,
)
from likely._fitted import all_or_nothing
from likely._formatting import format_count
from likely._typing import Assignments, CovarianceName, Floats, Integers, StartName, StoppingRule
from likely.blocks import Source
from likely.densities.covariance import SHAPE, Covariance, shape_of
from likely.densities.gaussian import Gaussians
from likely.densities.given import check_array, check_covariances, check_probabilities
from likely.densities.mixtures.em import MAX_ITER, EMOptions, EMResult
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixture import Mixed, MixtureBase, MixtureState
from likely.densities.mixtures.starting import (
    FLOOR,
    FLOORS,
    LBG,
    STARTS,
    AbsoluteFloor,
    Setup,
    mixture_shape,
    start_of,
)
from likely.densities.mixtures.updating import Stepwise, adapt_means
from likely.exceptions import (
    DegenerateDataError,
    IncompatiblePartsError,
    InvalidParameterError,
    warn_of_degenerate_data,
)


@dataclass(frozen=True, eq=False)
class GaussianMixtureState(MixtureState):
    """Mixture, record of the EM iterations, and the sums that ``partial_fit`` updates.

    ``adapt`` and ``given`` return mixtures without these sums.
    """

    _instalments: Annotated[Stepwise | None, none_or(instance_of(Stepwise, k="k", d="d"))]


class GaussianMixture(MixtureBase):
    """Gaussian mixture: a density that is a weighted sum of Gaussians, fitted by EM.

    With enough components it approximates any density; with too many it overfits the sample. ``log_density`` returns
    normalised log densities. EM finds a local maximum of the likelihood. Without a floor the likelihood is unbounded: a
    component on a single row makes it infinite. Therefore no covariance falls below ``floor``, and a component with
    responsibility for too few rows is moved. A warning names the components that end at the default floor. Missing
    values are integrated out, in fitting and in scoring.

    Parameters
    ----------
    n_components : int, default 1
    covariance : {"full", "diagonal", "spherical"} or Covariance, default "full"
        The shape of the covariances, as for :class:`likely.Gaussian`.
    tied : bool, default False
        Whether all components share one covariance.
    init : {"lbg", "kmeans", "random"}, start, array or tuple, default "lbg"
        The start of EM. :class:`likely.LBG` grows the mixture from one component by splitting, without a random state.
        :class:`likely.KMeansStart` and :class:`likely.RandomStart` can start several times. Other values are means of
        shape (n_components, n_features), each with the covariance of all rows; a tuple (weights, means, covariances);
        or a fitted mixture to continue from.
    assignments : {"soft", "hard"}, default "soft"
        Whether a row is divided among the components by its responsibilities, or belongs only to the most likely
        component.
    floor : float or AbsoluteFloor, default 1e-6
        Minimum variance in any direction, relative to the variances of the columns over all rows, or in the units of
        the data. It is fixed before the first iteration. With 0 a singular covariance raises an error.
    tol : float, default 1e-5
        Tolerance of ``stopping``, for the mean log-likelihood.
    max_iter : int, default 1000
        Maximum number of passes after each start and each split. A pass is one E step and one M step.
    stopping : {"projected", "rise"}, default "projected"
        "projected" stops when the mean log-likelihood is not expected to rise by more than ``tol`` in all further
        passes; if it rises very slowly, when a pass raises it by at most a tenth of ``tol``. If halves of a split are
        then still nearly equal, they are moved further apart, and EM continues if this raises the likelihood. "rise" is
        the rule of textbooks and of scikit-learn: stop when a pass raises the mean log-likelihood by less than ``tol``.
    restart_collapsed : bool, default True
        Whether a component with responsibility for too few rows is moved next to the heaviest component, once. With
        False and ``stopping="rise"`` every pass is that of textbook EM.
    random_state : int, RandomState or None
        Used by random starts.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    means_ : array of shape (n_components, n_features)
    covariances_ : array of shape (n_components, n_features, n_features), or (n_components, n_features) variances
        Equal for all components if tied.
    gaussians_ : Gaussians
        The components themselves.
    history_ : array of shape (n_iter_ + 1,)
        Mean log-likelihood of the start with ``n_components`` and after each pass; with hard assignments, the mean
        log-likelihood of rows and assignments together. The last value is that of the fitted mixture. The history never
        falls, except at ``restarts_``. Empty after ``partial_fit``, ``adapt`` and ``given``.
    restarts_ : list of int
        Positions in the history of the first value after a component was moved, because it had collapsed or was
        nearly equal to another one.
    converged_ : bool
    n_iter_ : int
        Number of passes with ``n_components``.
    n_parameters_ : int
        Number of free parameters, as counted by BIC.

    Notes
    -----
    p(x) = Σ_k w_k N(x; m_k, C_k). The E step computes the responsibilities γ_k(x) = w_k N(x; m_k, C_k) / p(x). The M
    step sets w_k = n_k / n, m_k = Σ γ_k x / n_k and C_k = Σ γ_k (x − m_k)(x − m_k)' / n_k with n_k = Σ γ_k. For full
    shapes with missing values the sums are their expectations given the observed values.

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

    _State = GaussianMixtureState
    _remedy: ClassVar[str] = " Alternatively, pass the result as init to continue from it."
    _constraints: ClassVar[Constraints] = {
        "n_components": count(1),
        "covariance": SHAPE,
        "tied": flag,
        "init": STARTS,
        "assignments": one_of("soft", "hard"),
        "floor": FLOORS,
        "tol": number(0),
        "max_iter": count(1),
        "stopping": one_of("projected", "rise"),
        "restart_collapsed": flag,
        "random_state": random_state,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance: CovarianceName | Covariance = "full",
        tied: bool = False,
        init: StartName | Any = "lbg",
        assignments: Assignments = "soft",
        floor: Any = FLOOR,
        tol: float = 1e-5,
        max_iter: int = MAX_ITER,
        stopping: StoppingRule = "projected",
        restart_collapsed: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.tied = tied
        self.init = init
        self.assignments = assignments
        self.floor = floor
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.restart_collapsed = restart_collapsed
        self.random_state = random_state

    _instalments: Stepwise | None

    @classmethod
    def given(cls, weights: Any, means: Any, covariances: Any, *, tied: bool = False) -> GaussianMixture:
        """Return the mixture with given weights, means and covariances.

        Parameters
        ----------
        weights : array of shape (n_components,)
            Probabilities of the components, which sum to 1.
        means : array of shape (n_components, n_features)
        covariances : array of shape (n_components, d, d), (n_components, d) or (n_components,)
            With d = n_features: symmetric positive-definite matrices for the full shape, variances for the diagonal
            shape, or one variance of each component for the spherical shape.
        tied : bool, default False
            Whether all components share one covariance, which then has no first axis.

        Examples
        --------
        >>> mixture = GaussianMixture.given([0.5, 0.5], [[-2.0], [2.0]], [[1.0], [1.0]])
        >>> mixture.log_density([[0.0]]), mixture.responsibilities([[0.0]])
        (array([-2.91893853]), array([[0.5, 0.5]]))
        """
        check_argument("tied", tied, flag, cls.__name__)
        w = check_probabilities("weights", weights, cls.__name__)
        mu = check_array("means", means, 2, cls.__name__)
        (K, d) = mu.shape
        if len(w) != K:
            raise InvalidParameterError(
                f"means of {cls.__name__}.given must have one row for each of the {len(w)} weights, but have {K} rows.",
                parameter="means",
            )
        name, found = check_covariances("covariances", covariances, d, None if tied else K, cls.__name__)
        model = cls(K, covariance=name, tied=bool(tied))
        model.n_features_in_ = d
        mixed, n_parameters = Mixed(w, Gaussians(mu, found)), model._count_parameters(K, d)
        model._state = GaussianMixtureState(mixed, np.empty(0), [], False, n_parameters, None)
        return model

    @property
    def means_(self) -> Floats:
        return self._mixed().components.means  # type: ignore[no-any-return]

    @property
    def covariances_(self) -> Floats:
        return self._mixed().components.broadcast_covariances()  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the mixture with a batch of rows by one step of stepwise EM; an error leaves it unchanged.

        The first batch is fitted as by ``fit``, and fixes the floor. Each later batch changes the parameters by less.
        Unlike with models estimated from sums, the result depends on the order of the batches, so each batch should be
        a random sample of all rows.

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
                f"partial_fit cannot update a {self._name()} returned by adapt or given, because it has no sums. Fit "
                "a new mixture. To continue from this one, set init of the new mixture to (weights_, means_, "
                "covariances_)."
            )
        self._check_unchanged(self._instalments.family)
        with all_or_nothing(self):
            source = self._source(X, None, sample_weight, first=False)
            hard = self.assignments == "hard"
            self._instalments, self.mixed_ = self._instalments.step(source, self.mixed_, hard)
            self._forget_history()
        return self

    def _check_unchanged(self, family: GaussianFamily) -> None:
        """Raise if the present options need other sums than those computed so far."""
        shape = mixture_shape(self.covariance)
        options = type(family.form), family.tied, self.mixed_.n_components
        if options != (shape.natural_form, self.tied, self.n_components):
            raise IncompatiblePartsError(
                f"Options of {self._name()} were changed after it was fitted. Call fit again before partial_fit."
            )

    def _forget_history(self) -> None:
        """Clear the record of the iterations, which describes an earlier state."""
        self.history_, self.restarts_, self.converged_ = np.empty(0), [], False

    def path(self, X: Any, sizes: Iterable[int], sample_weight: Any = None) -> list[Self]:
        """Fit mixtures of several sizes, each grown from a smaller one by splitting (:class:`likely.LBG`).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        sizes : iterable of int
            Numbers of components.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        list of GaussianMixture
            One for each size, equal to a fit of that size with ``init="lbg"``.
        """
        base: Self = clone(self)
        models = base.path_source(base._source(X, None, sample_weight), sizes)
        names = {name: value for name, value in vars(base).items() if name == "feature_names_in_"}
        for model in models:
            model.__dict__.update(names)
        return models

    def path_source(self, source: Source, sizes: Iterable[int]) -> list[Self]:
        """Fit mixtures of several sizes to the rows of a source; see :meth:`path`."""
        start = start_of(self.init)
        init, displacement = (self.init, start.displacement) if isinstance(start, LBG) else ("lbg", LBG().displacement)
        models = [clone(self).set_params(n_components=size, init=init) for size in sizes]
        if not models:
            return []
        for model in models:
            check_parameters(model)
        sizes = [model.n_components for model in models]
        setup = self._set_up(source, max(sizes))
        found = setup.grow(sizes, displacement)
        for model in models:
            model.n_features_in_ = source.n_features
            model._keep(found[model.n_components], setup.family)
        return models

    def adapt(self, X: Any, relevance: float = 16.0, sample_weight: Any = None) -> Self:
        """Return a new mixture whose means are adapted to rows (maximum a posteriori adaptation).

        A mean moves the more, the more responsibility its component has for the rows. Use it for a class of few rows,
        starting from the mixture of all rows. Weights and covariances do not change. Means far from all rows do not
        change either.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            Without missing values.
        relevance : float, default 16
            Relevance factor: the number of rows that has the same weight as the mean before adaptation.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        GaussianMixture

        Notes
        -----
        The new means are m_k + (n_k / (n_k + relevance)) (x̄_k − m_k), with n_k = Σ γ_k and x̄_k = Σ γ_k x / n_k.

        References
        ----------
        D. Reynolds, T. Quatieri and R. Dunn, "Speaker verification using adapted Gaussian mixture models", Digital
        Signal Processing 10, 2000.
        """
        self._mixed()
        with all_or_nothing(self):
            source = self._source(X, None, sample_weight, first=False)
        return self.adapt_source(source, relevance)

    def adapt_source(self, source: Source, relevance: float = 16.0) -> Self:
        """Return a new mixture whose means are adapted to the rows of a source; see :meth:`adapt`."""
        check_argument("relevance", relevance, number(0), self._name())
        moved = adapt_means(source, self._mixed(), relevance)
        model: Self = clone(self)
        model.__dict__.update(vars(self))
        model._instalments, model.mixed_ = None, moved
        model._forget_history()
        return model

    def _learn(self, source: Source) -> None:
        setup = self._set_up(source, self.n_components)
        start = start_of(self.init)
        found: EMResult = start._fit(setup, self.n_components, check_random_state(self.random_state))
        self._keep(found, setup.family)

    def _set_up(self, source: Source, n_components: int) -> Setup:
        shape = mixture_shape(self.covariance)
        return Setup.of(source, shape, self.tied, self.floor, n_components, self._em_options())

    def _em_options(self) -> EMOptions:
        hard = self.assignments == "hard"
        return EMOptions(hard, self.tol, self.max_iter, self.stopping, self.restart_collapsed)

    def _keep(self, found: EMResult, family: GaussianFamily) -> None:
        K, d = found.mixture.components.means.shape
        history, n_parameters = np.array(found.history), self._count_parameters(K, d)
        self._state = GaussianMixtureState(
            found.mixture, history, found.restarts, found.converged, n_parameters, Stepwise.from_fit(found, family)
        )
        self._warn()

    def _count_parameters(self, K: int, d: int) -> int:
        """Return the number of free parameters: weights, means and covariances."""
        return K - 1 + K * d + (1 if self.tied else K) * mixture_shape(self.covariance).n_parameters(d)

    def _warn(self) -> None:
        super()._warn()
        floored = self._find_degenerate()
        if not len(floored) or self._instalments is None:
            return
        K, d, rows = self.mixed_.n_components, self._instalments.family.n_features, self._instalments.average.rows
        subject = "The shared covariance has" if self.tied and K > 1 else "The only component has"
        if not self.tied and K > 1:
            verb = "has" if len(floored) == 1 else "have"
            subject = f"{len(floored)} of {K} components (the first is number {floored[0]}) {verb}"
        size = f"{format_count(rows, 'row')} for {format_count(d, 'column')}"
        message = f"{self._name()}: {subject} no variance in some direction ({size})."
        remedy = (
            "Use fewer components, a simpler shape or tied=True. Alternatively, drop constant columns, drop "
            "outliers, or raise floor."
        )
        if self.floor == 0:
            raise DegenerateDataError(f"{message} {remedy}")
        warn_of_degenerate_data(f"{message} The variance in such a direction is at the floor, {self.floor}. {remedy}")

    def _find_degenerate(self) -> Integers:
        """Return the covariances at the floor; none if the caller set a higher floor than the default."""
        is_raised = isinstance(self.floor, AbsoluteFloor) or self.floor > FLOOR
        if is_raised or self._instalments is None:
            return np.empty(0, dtype=np.intp)
        return self._instalments.family.form.find_at_floor(self.mixed_.components.covariances)

    def _check_state(self, scope: Scope) -> None:
        self._check_components(scope, Gaussians)
        if scope.fitted and not isinstance(self.mixed_.components.covariances, shape_of(self.covariance).fitted):
            raise ViolationError("must have covariances of the shape given by covariance, but their shape differs")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
