"""Mixtures of densities of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from likely._numerics import dense, log
from likely._typing import Floats, Integers, Rows
from likely._validation import check_count, check_option, check_penalty
from likely.blocks import Block, Source
from likely.blocks.sample import scattered
from likely.densities.base import beside
from likely.densities.mixtures.base import MixtureBase
from likely.densities.mixtures.em import Expectation, Family, Sums, climb
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import (
    DegenerateDataError,
    DegenerateDataWarning,
    IncompatiblePartsError,
    InvalidDataError,
    quietly,
    speaking_of,
)
from likely.statistics import ByClass

__all__ = ["Mixture", "Several"]


class Mixture(MixtureBase):
    """A weighted sum of densities of one kind, whichever it is, learned by EM.

    The kind is any density of the library: :class:`likely.Categorical` gives latent class analysis,
    :class:`likely.Multinomial` a mixture of unigrams, :class:`likely.Independent` a mixture of mixed columns. For
    Gaussians use :class:`likely.GaussianMixture`, which is many times as fast, has floors, and begins better. EM finds
    a local maximum; it begins with rows shared out by lot, several times.

    Parameters
    ----------
    density : density
        What each component is; it is copied, and itself stays as it is.
    n_components : int, default 2
    n_starts : int, default 3
        How often to begin; the mixture of highest likelihood is kept.
    assignments : {"soft", "hard"}, default "soft"
        Whether a row is shared out by its responsibilities, or belongs to the likeliest component alone.
    tolerance : float, default 1e-5
        As for :class:`likely.GaussianMixture`.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    components_ : list of densities
    history_, restarts_, converged_, n_iter_, n_parameters_
        As for :class:`likely.GaussianMixture`; there are no restarts.

    Notes
    -----
    A pass gives every row to every component with its responsibility as the weight, adds up the densities' own
    statistics, and lets each density estimate itself from its sum. If that is by maximum likelihood, the mixture's
    never falls; with pseudo-counts, or a floor that follows the component's own scale, it may: then the pass before is
    kept.

    Examples
    --------
    >>> from likely import Bernoulli
    >>> X = [[1, 1, 0, 0]] * 5 + [[0, 0, 1, 1]] * 4
    >>> mixture = Mixture(Bernoulli(), 2, random_state=0).fit(X)
    >>> np.sort(mixture.weights_).round(3)
    array([0.444, 0.556])
    >>> mixture.log_density([[1, 1, 0, 0]]).round(3)
    array([-0.588])
    """

    def __init__(
        self,
        density: Any,
        n_components: int = 2,
        n_starts: int = 3,
        assignments: str = "soft",
        tolerance: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.n_components = n_components
        self.n_starts = n_starts
        self.assignments = assignments
        self.tolerance = tolerance
        self.random_state = random_state

    @property
    def components_(self) -> list[Any]:
        densities: list[Any] = self._mixed().components.densities
        return densities

    def _learn(self, source: Source) -> None:
        self._check_parameters()
        rows = source.reduce(len)
        if rows < self.n_components:
            raise InvalidDataError(
                f"A mixture needs as many rows as components at least, but Mixture was given n_samples={rows} for "
                f"n_components={self.n_components}. Use fewer components."
            )
        family, random = AnyFamily(self.density), check_random_state(self.random_state)
        climbs = []
        with quietly(DegenerateDataWarning):  # of densities on the way
            for _ in range(self.n_starts):
                start = family.drawn(source, self.n_components, int(random.randint(2**31)))
                climbs.append(climb(source, family, start, self.assignments == "hard", self.tolerance))
        best = max(climbs, key=lambda found: found.history[-1])
        with speaking_of("A component"):
            family.estimate(best.sums, best.mixed)  # which says what is degenerate, as it is kept
        self._hold(best)
        self.n_parameters_ = self.n_components - 1 + sum(each.n_parameters_ for each in self.components_)
        self._tell()

    def _check_parameters(self) -> None:
        known = all(hasattr(self.density, name) for name in ("_statistic", "estimate", "log_density"))
        if not known or isinstance(self.density, type):
            raise IncompatiblePartsError(
                f"density of Mixture must be a density that learns by adding up, such as Categorical(), but is "
                f"{self.density!r}."
            )
        for name in ("n_components", "n_starts"):
            check_count(name, getattr(self, name), "Mixture")
        check_option("assignments", self.assignments, ("soft", "hard"))
        check_penalty("tolerance", self.tolerance, "Mixture")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.density, "__sklearn_tags__") and not isinstance(self.density, type):
            tags.input_tags = self.density.__sklearn_tags__().input_tags
        return tags


@dataclass(frozen=True, eq=False)
class Several:
    """Fitted densities side by side."""

    densities: list[Any]

    def log_density(self, X: Rows) -> Floats:
        """Log densities, of shape (n, n_densities)."""
        return np.column_stack([density.log_density(X) for density in self.densities])

    def sample(self, codes: Integers, random: np.random.RandomState) -> Floats:
        """One row from the density of each code."""
        rows: Floats | None = None
        for k in np.unique(codes):
            drawn = dense(self.densities[k].sample(int((codes == k).sum()), random))
            rows = np.empty((len(codes), drawn.shape[1])) if rows is None else rows
            rows[codes == k] = drawn
        return np.empty((0, self.densities[0].n_features_in_)) if rows is None else rows


@dataclass(frozen=True, eq=False)
class AnyFamily(Family):
    """Copies of one density, each estimated from its own sum."""

    density: Any

    @property
    def least_rows(self) -> float:
        """None: a component that answers for no row stays as it was."""
        return 0.0

    def expectation(self, mixed: Mixed) -> AnyExpectation:
        return AnyExpectation(mixed, self.density)

    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        parts, whole = sums.parts.parts, sums.parts.total()
        densities = [
            self._estimated(parts.get(k), whole, density) for k, density in enumerate(before.components.densities)
        ]
        return Mixed(sums.weights / sums.weights.sum(), Several(densities))

    def _estimated(self, part: Any, whole: Any, otherwise: Any) -> Any:
        """The density of a sum; or another, where the sum says too little, such as nothing of a column."""
        if part is None:
            return otherwise
        try:
            return clone(self.density).estimate(beside(part, whole))
        except (DegenerateDataError, InvalidDataError):
            return otherwise

    def drawn(self, source: Source, n_components: int, seed: int) -> Mixed:
        """Densities of rows that are dealt out by lot."""
        dealt: ByClass[Any] = source.reduce(_dealt, self.density, n_components, seed)
        whole = dealt.total()
        same: Any = clone(self.density).estimate(whole)
        densities = [self._estimated(dealt.parts.get(k), whole, same) for k in range(n_components)]
        return Mixed(np.full(n_components, 1 / n_components), Several(densities))


@dataclass(frozen=True, eq=False)
class AnyExpectation(Expectation):
    """The densities of a pass."""

    mixed: Mixed
    density: Any

    def pieces(self, block: Block) -> Iterator[Block]:
        yield block

    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, ByClass[Any]]]]:
        logs = self.mixed.components.log_density(piece.X) + log(self.mixed.weights)

        def gather(shares: Floats, factors: Floats) -> tuple[Floats, ByClass[Any]]:
            return shares @ factors, _gathered(piece, shares * factors, self.density)

        return np.ascontiguousarray(logs.T), gather


def _gathered(block: Block, gamma: Floats, density: Any) -> ByClass[Any]:
    """The density's own statistic for each component that answers for some row."""
    of, args = density._statistic()
    parts = {}
    for k, weight in enumerate(gamma):
        if (weight > 0).all():
            parts[k] = of(Block(block.X, weight=weight.copy(), positions=block.positions), *args)
        elif (weight > 0).any():
            some = block.take(np.flatnonzero(weight > 0))
            parts[k] = of(Block(some.X, weight=weight[weight > 0], positions=some.positions), *args)
    return ByClass(parts)


def _dealt(block: Block, density: Any, n_components: int, seed: int) -> ByClass[Any]:
    codes = scattered(block, seed) % np.uint64(n_components)
    gamma = (codes == np.arange(n_components, dtype=np.uint64)[:, None]).astype(np.float64)
    return _gathered(block, gamma if block.weight is None else gamma * block.weight, density)
