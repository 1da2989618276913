"""Mixtures of densities: their parameters, the methods of fitted mixtures, and mixtures of any density."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likely._constraints import (
    Constraints,
    Scope,
    ViolationError,
    anything,
    count,
    flag,
    floats,
    instance_of,
    list_of,
    number,
    one_of,
    probabilities,
    random_state,
)
from likely._formatting import format_count
from likely._numerics import dense, log
from likely._typing import Assignments, Floats, Integers, Rows, StoppingRule
from likely._validation import check_rows, check_weight
from likely.blocks import Block, Source, SourceLearner, hash_positions, with_positions
from likely.densities.base import DensityMethods, align_categories
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import MAX_ITER, EMOptions, EStep, Family, Sums, run_em
from likely.exceptions import (
    DegenerateDataError,
    DegenerateDataWarning,
    IncompatiblePartsError,
    InvalidDataError,
    prefix_messages,
    suppress_warnings,
    warn_of_no_convergence,
)
from likely.statistics import ByClass

LOG_ZERO = -1e300
"""Finite substitute for log 0."""

MAX_ROWS = 2**16
"""Maximum number of rows whose densities under all components are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Several:
    """Several fitted densities on the same columns."""

    densities: Annotated[list[Any], list_of(instance_of(DensityMethods, d="d"), 1, types=(list,))]

    def _check_state(self, scope: Scope) -> None:
        scope.sizes["k"] = len(self.densities)

    def log_density(self, X: Rows) -> Floats:
        """Log densities, of shape (n, n_densities)."""
        return np.column_stack([density.log_density(X) for density in self.densities])

    def sample(self, codes: Integers, random: np.random.RandomState) -> Floats:
        """Draw one row for each code, from the density with that index."""
        rows: Floats | None = None
        for k in np.unique(codes):
            drawn = dense(self.densities[k].sample(int((codes == k).sum()), random))
            rows = np.empty((len(codes), drawn.shape[1])) if rows is None else rows
            rows[codes == k] = drawn
        return np.empty((0, self.densities[0].n_features_in_)) if rows is None else rows


@dataclass(frozen=True, eq=False)
class Mixed:
    """Mixture density: a weighted sum of densities.

    Parameters
    ----------
    weights : array of shape (n_components,)
        Not negative, with sum 1.
    components : Gaussians or Several
        The densities, with a method ``log_density`` that returns shape (n, n_components), and ``sample``.

    Notes
    -----
    log p(x) = log Σ_k w_k p(x | k); the responsibility of component k for x is w_k p(x | k) / p(x).
    """

    weights: Annotated[Floats, probabilities("k")]
    components: Annotated[Any, instance_of(Gaussians, Several, k="k", d="d")]

    @property
    def n_components(self) -> int:
        return len(self.weights)

    @property
    def log_weights(self) -> Floats:
        """Logs of the weights; log 0 is replaced by a very low number, so that matrix products stay finite."""
        return np.maximum(log(self.weights), LOG_ZERO)

    def log_density(self, X: Rows) -> Floats:
        """Return the log density of each row, of shape (n,)."""
        return self._map_rows(X, _log_sums)[:, 0]

    def responsibilities(self, X: Rows) -> Floats:
        """Return the posterior probability of each component, of shape (n, n_components).

        For a row of density 0 under all components these are the weights.
        """

        def normalize(log_joint: Floats) -> Floats:
            sums = _log_sums(log_joint)
            impossible = np.isneginf(sums)
            return np.where(impossible, self.weights, np.exp(log_joint - np.where(impossible, 0.0, sums)))

        return self._map_rows(X, normalize)

    def predict(self, X: Rows) -> Integers:
        """Return the most likely component of each row; ties go to the first."""
        return np.asarray(self._map_rows(X, lambda logs: logs.argmax(axis=1)[:, None])[:, 0], dtype=np.intp)

    def sample(self, n: int, random: np.random.RandomState) -> tuple[Floats, Integers]:
        """Draw rows, and return them with the components they come from."""
        codes = random.choice(self.n_components, size=n, p=self.weights)
        return np.asarray(self.components.sample(codes, random)), codes

    def _map_rows(self, X: Rows, of: Callable[[Floats], Floats]) -> Floats:
        """Apply a function to log(weight · density), at most ``MAX_ROWS`` rows at a time."""
        log_weights, starts = log(self.weights), range(0, max(X.shape[0], 1), MAX_ROWS)
        try:
            return np.concatenate(
                [of(self.components.log_density(X[low : low + MAX_ROWS]) + log_weights) for low in starts]
            )
        except InvalidDataError as error:
            raise with_positions(error, Block(X)) from None


def _log_sums(log_joint: Floats) -> Floats:
    """Return the log of the sum of exponentials of each row, of shape (n, 1)."""
    # Subtract the maximum of each row before exponentiating; a maximum of −inf stays as log 0.
    top = log_joint.max(axis=1, keepdims=True)
    finite = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(finite + log(np.exp(log_joint - finite).sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class MixtureState:
    """Mixture, and the record of the EM iterations."""

    mixed_: Annotated[Mixed, instance_of(Mixed, k="k", d="d")]
    history_: Annotated[Floats, floats("iterations*")]
    restarts_: Annotated[list[int], list_of(count(), types=(list,))]
    converged_: Annotated[bool, flag]
    n_parameters_: Annotated[int, count()]


class MixtureBase(DensityMethods, SourceLearner):
    """Base class of mixtures: densities, responsibilities and information criteria of a fitted mixture."""

    _State: ClassVar[Any] = MixtureState
    _state: Any
    n_components: int
    max_iter: int
    _remedy: ClassVar[str] = ""
    n_parameters_: int
    mixed_: Mixed
    history_: Floats
    restarts_: list[int]
    converged_: bool

    @property
    def weights_(self) -> Floats:
        return self._mixed().weights

    @property
    def n_iter_(self) -> int:
        self._mixed()
        return max(len(self.history_) - 1, 0)

    def log_density(self, X: Any) -> Floats:
        """Return the natural log of the density of each row, of shape (n,)."""
        mixed = self._mixed()
        return mixed.log_density(check_rows(self, X))

    def responsibilities(self, X: Any) -> Floats:
        """Return the posterior probability of each component for each row, of shape (n, n_components)."""
        mixed = self._mixed()
        return mixed.responsibilities(check_rows(self, X))

    def predict(self, X: Any) -> Integers:
        """Return the most likely component of each row; ties go to the first."""
        mixed = self._mixed()
        return mixed.predict(check_rows(self, X))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Bayesian information criterion, −2 log-likelihood + n_parameters · log n_rows; lower is better."""
        log_likelihood, n = self._log_likelihood(X, sample_weight)
        return -2 * log_likelihood + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return Akaike's information criterion, −2 log-likelihood + 2 n_parameters; lower is better."""
        return -2 * self._log_likelihood(X, sample_weight)[0] + 2 * self.n_parameters_

    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        mixed, rows = self._mixed(), check_rows(self, X)
        weight = check_weight(sample_weight, rows.shape[0])
        if weight is None:
            return float(mixed.log_density(rows).sum()), rows.shape[0]
        kept = np.flatnonzero(weight)
        return float(weight[kept] @ mixed.log_density(rows[kept])), float(weight.sum())

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        return self._mixed().sample(n_samples, random)[0]

    def _mixed(self) -> Mixed:
        check_is_fitted(self, "mixed_")
        return self.mixed_

    def _check_components(self, scope: Scope, *kinds: type) -> None:
        """Check on loading that a fitted mixture has the components that its parameters require."""
        if not scope.fitted:
            return
        if self.mixed_.n_components != self.n_components:
            raise ViolationError(
                f"must have n_components = {self.n_components} components, but has {self.mixed_.n_components}"
            )
        if not isinstance(self.mixed_.components, kinds):
            raise ViolationError(f"must have components of type {kinds[0].__name__}, but has others")

    def _warn(self) -> None:
        """Warn if EM did not converge."""
        if not self.converged_:
            passes = format_count(self.n_iter_, "pass", "passes")
            warn_of_no_convergence(
                f"{self._name()} stopped after {passes} before the likelihood converged. Use a larger tol or max_iter "
                f"(now {self.max_iter}).{self._remedy}"
            )


class Mixture(MixtureBase):
    """Mixture of densities of one kind, fitted by EM.

    Any density of the library can be mixed: :class:`likely.Categorical` gives latent class analysis,
    :class:`likely.Multinomial` a mixture of unigrams, :class:`likely.Independent` a mixture for columns of several
    kinds. For Gaussians use :class:`likely.GaussianMixture`, which is many times faster, has floors, and has better
    starts. EM finds a local maximum of the likelihood. It starts several times, each time with rows assigned to
    components at random.

    Parameters
    ----------
    density : density
        The density of each component; it is copied and not changed.
    n_components : int, default 2
    n_init : int, default 3
        Number of starts; the mixture of highest likelihood is kept.
    assignments : {"soft", "hard"}, default "soft"
        Whether a row is divided among the components by its responsibilities, or belongs only to the most likely
        component.
    tol : float, default 1e-5
        Tolerance of ``stopping``, for the mean log-likelihood.
    max_iter : int, default 1000
        Maximum number of passes after each start. A pass is one E step and one M step.
    stopping : {"projected", "rise"}, default "projected"
        "projected" stops when the mean log-likelihood is not expected to rise by more than ``tol`` in all further
        passes, "rise" when a pass raises it by less than ``tol``; see :class:`likely.GaussianMixture`.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    components_ : list of densities
    history_, restarts_, converged_, n_iter_, n_parameters_
        As for :class:`likely.GaussianMixture`; there are no restarts.

    Notes
    -----
    The E step sums the statistic of the density for each component, with the responsibilities as weights. The M step
    estimates each density from its sum. If that estimate is of maximum likelihood, the likelihood of the mixture never
    falls. With pseudo-counts, or a floor that follows the component's scale, it can fall; EM then stops and keeps the
    previous iteration.

    References
    ----------
    A. Dempster, N. Laird and D. Rubin, "Maximum likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977.

    Examples
    --------
    >>> from likely import Bernoulli
    >>> X = [[1, 1, 0, 0]] * 5 + [[0, 0, 1, 1]] * 4
    >>> mixture = Mixture(Bernoulli(), n_components=2, random_state=0).fit(X)
    >>> np.sort(mixture.weights_).round(3)
    array([0.444, 0.556])
    >>> mixture.log_density([[1, 1, 0, 0]]).round(3)
    array([-0.588])
    """

    _constraints: ClassVar[Constraints] = {
        "density": anything,  # _check_density raises IncompatiblePartsError instead
        "n_components": count(1),
        "n_init": count(1),
        "assignments": one_of("soft", "hard"),
        "tol": number(0),
        "max_iter": count(1),
        "stopping": one_of("projected", "rise"),
        "random_state": random_state,
    }

    def __init__(
        self,
        density: Any,
        *,
        n_components: int = 2,
        n_init: int = 3,
        assignments: Assignments = "soft",
        tol: float = 1e-5,
        max_iter: int = MAX_ITER,
        stopping: StoppingRule = "projected",
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.n_components = n_components
        self.n_init = n_init
        self.assignments = assignments
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.random_state = random_state

    @property
    def components_(self) -> list[Any]:
        densities: list[Any] = self._mixed().components.densities
        return densities

    def _learn(self, source: Source) -> None:
        self._check_density()
        rows = source.reduce(len)
        if rows < self.n_components:
            raise InvalidDataError(
                f"Mixture needs at least as many rows as components, but got n_samples={rows} for "
                f"n_components={self.n_components}. Use fewer components."
            )
        family, random = AnyFamily(self.density), check_random_state(self.random_state)
        options = EMOptions(self.assignments == "hard", self.tol, self.max_iter, self.stopping)
        with suppress_warnings(DegenerateDataWarning):  # warnings about densities of earlier iterations
            seeds = [int(random.randint(2**31)) for _ in range(self.n_init)]
            starts = (family.draw_start(source, self.n_components, seed) for seed in seeds)
            results = [run_em(source, family, start, options) for start in starts]
        best = max(results, key=lambda found: found.history[-1])
        with prefix_messages("A component"):
            family.estimate(best.sums, best.mixture)  # warns about degenerate components of the result
        densities = best.mixture.components.densities
        n_parameters = self.n_components - 1 + sum(each.n_parameters_ for each in densities)
        self._state = MixtureState(best.mixture, np.array(best.history), best.restarts, best.converged, n_parameters)
        self._warn()

    def _check_density(self) -> None:
        known = all(hasattr(self.density, name) for name in ("_statistic", "estimate", "log_density"))
        if not known or isinstance(self.density, type):
            raise IncompatiblePartsError(
                "density of Mixture must be a density that is estimated from sums, such as Categorical(), but is "
                f"{self.density!r}."
            )

    def _check_state(self, scope: Scope) -> None:
        if not (hasattr(self.density, "log_density") and hasattr(self.density, "fit_source")):
            raise ViolationError("must have a density as its parameter 'density', but has another object")
        self._check_components(scope, Several)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.density, "__sklearn_tags__") and not isinstance(self.density, type):
            tags.input_tags = self.density.__sklearn_tags__().input_tags
        return tags


@dataclass(frozen=True, eq=False)
class AnyFamily(Family):
    """Components that are copies of one density, each estimated from its own sum."""

    density: Any

    @property
    def min_weight(self) -> float:
        """It is 0, because a component without rows keeps its parameters."""
        return 0.0

    def prepare(self, mixture: Mixed) -> AnyEStep:
        return AnyEStep(mixture, self.density)

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        # M step: each density from its own sum. A component without rows keeps its parameters.
        parts, whole = sums.parts.parts, sums.parts.total()
        densities = [
            self._estimate_one(parts.get(k), whole, density) for k, density in enumerate(before.components.densities)
        ]
        return Mixed(sums.weights / sums.weights.sum(), Several(densities))

    def _estimate_one(self, part: Any, whole: Any, fallback: Any) -> Any:
        """Return the density of a sum. If the sum does not suffice (a column has no values), return the fallback."""
        if part is None:
            return fallback
        try:
            return clone(self.density).estimate(align_categories(part, whole))
        except (DegenerateDataError, InvalidDataError):
            return fallback

    def draw_start(self, source: Source, n_components: int, seed: int) -> Mixed:
        """Return a start: densities of rows assigned to components at random."""
        assigned: ByClass[Any] = source.reduce(_sum_at_random, self.density, n_components, seed)
        whole = assigned.total()
        fallback: Any = clone(self.density).estimate(whole)
        densities = [self._estimate_one(assigned.parts.get(k), whole, fallback) for k in range(n_components)]
        return Mixed(np.full(n_components, 1 / n_components), Several(densities))


@dataclass(frozen=True, eq=False)
class AnyEStep(EStep):
    """E step of densities of any kind, without an expansion of the rows."""

    mixture: Mixed
    density: Any

    def pieces(self, block: Block) -> Iterator[Block]:
        yield block

    def expand(self, piece: Block) -> Block:
        return piece

    def log_joint(self, rows: Block) -> Floats:
        logs = self.mixture.components.log_density(rows.X) + log(self.mixture.weights)
        return np.ascontiguousarray(logs.T)

    def gather(self, rows: Block, shares: Floats, factors: Floats) -> tuple[Floats, ByClass[Any]]:
        return shares @ factors, _sum_weighted(rows, shares * factors, self.density)


def _sum_weighted(block: Block, gamma: Floats, density: Any) -> ByClass[Any]:
    """Return the density's statistic for each component that has responsibility for some row."""
    of, args = density._statistic()
    parts = {}
    # The responsibilities of a component are the weights of its rows; rows of responsibility 0 are dropped.
    for k, weight in enumerate(gamma):
        if (weight > 0).all():
            parts[k] = of(Block(block.X, weight=weight.copy(), positions=block.positions), *args)
        elif (weight > 0).any():
            some = block.take(np.flatnonzero(weight > 0))
            parts[k] = of(Block(some.X, weight=weight[weight > 0], positions=some.positions), *args)
    return ByClass(parts)


def _sum_at_random(block: Block, density: Any, n_components: int, seed: int) -> ByClass[Any]:
    codes = hash_positions(block, seed) % np.uint64(n_components)
    gamma = (codes == np.arange(n_components, dtype=np.uint64)[:, None]).astype(np.float64)
    return _sum_weighted(block, gamma if block.weight is None else gamma * block.weight, density)
