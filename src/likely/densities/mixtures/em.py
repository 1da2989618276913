"""Expectation-maximisation (EM) for mixtures of any densities.

Every iteration is one pass over the rows. The E step computes the responsibilities of the components for each row and
sums the statistics, weighted by them. The M step estimates the components from these sums.

References
----------
A. Dempster, N. Laird and D. Rubin, "Maximum likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977.
G. Celeux and G. Govaert, "A classification EM algorithm for clustering and two stochastic versions", Computational
Statistics & Data Analysis 14, 1992 (hard assignments).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from likely._constraints import count, floats, instance_of, number
from likely._typing import Floats, StoppingRule
from likely.blocks import Block, Source, one_blas_thread
from likely.densities.natural_form import GaussianSums

if TYPE_CHECKING:
    from likely.densities.mixtures.mixture import Mixed

MAX_ITER = 1000
"""Default maximum number of passes; EM stops there without convergence."""

PATIENCE = 200
"""Number of iterations after which EM stops if all of them together raised the likelihood by almost nothing."""

MIN_FALL, MAX_ROUNDING = 1e-9, 1e-13
"""Relative fall of the likelihood above which it is more than rounding, and rise up to which it may be rounding."""

MAX_TRIAL = 30
"""Number of passes in which a mixture with separated twins must exceed the likelihood of the mixture before."""


@dataclass(frozen=True)
class EMOptions:
    """Options of EM.

    Parameters
    ----------
    hard : bool
        Whether each row belongs only to its most likely component (classification EM).
    tol : float
    max_iter : int
        Maximum number of passes, each one E step and one M step.
    stopping : {"projected", "rise"}
        "projected": stop when the expected further rise of the mean log-likelihood is at most ``tol``. "rise": stop
        when a pass raises it by less than ``tol``.
    restart_collapsed : bool
        Whether a collapsed component is moved, once.
    """

    hard: bool = False
    tol: float = 1e-5
    max_iter: int = MAX_ITER
    stopping: StoppingRule = "projected"
    restart_collapsed: bool = True


@dataclass(frozen=True, eq=False)
class EMResult:
    """Result of EM.

    Parameters
    ----------
    mixture : Mixed
    history : list of float
        Mean log-likelihood of the start and after each pass; the last is that of ``mixture``.
    restarts : list of int
        Positions in the history of the first value after components were moved; elsewhere the history never falls.
    converged : bool
    sums : Sums
        Sums of the last E step.
    """

    mixture: Mixed
    history: list[float]
    restarts: list[int]
    converged: bool
    sums: Sums = field(repr=False)


def run_em(source: Source, family: Family, start: Mixed, options: EMOptions, *, after_split: bool = False) -> EMResult:
    """Alternate E and M steps until the mean log-likelihood converges.

    Parameters
    ----------
    source : Source
    family : Family
        The kind of the components.
    start : Mixed
    options : EMOptions
    after_split : bool
        Whether the start was made by splitting components. Components that are still nearly equal at convergence are
        then separated, unless the stopping rule is "rise" or assignments are hard.
    """
    with one_blas_thread():  # M steps factor many small matrices
        found = _iterate(source, family, start, options, options.max_iter)
        if after_split and options.stopping == "projected" and not options.hard:
            found = _separate_twins(source, family, found, options)
    return found


def _iterate(
    source: Source, family: Family, start: Mixed, options: EMOptions, max_iter: int, least: float | None = None
) -> EMResult:
    """Make passes until convergence; give up if the likelihood is not above ``least`` after ``MAX_TRIAL`` passes."""
    mixture, previous = start, None
    history: list[float] = []
    restarts: list[int] = []
    revived: set[int] = set()
    while True:
        # E step: responsibilities under the current parameters, and the statistics summed over all rows.
        prepared = family.prepare(mixture)
        sums = e_step(source, prepared, options.hard)
        history.append(sums.mean_log_likelihood)

        # Stopping rule, applied to the passes since the last restart. A fall ends the loop with the previous
        # parameters; it occurs only for densities that do not maximise the likelihood, such as those with a floor
        # that follows their scale.
        since = history[restarts[-1] if restarts else 0 :]
        if previous is not None and _has_fallen(since):
            return EMResult(previous[0], history[:-1], restarts, True, previous[1])
        converged = _has_converged(since, options)
        has_failed = least is not None and len(history) > MAX_TRIAL and history[-1] <= least
        if converged or has_failed or len(history) > max_iter:
            return EMResult(mixture, history, restarts, converged, sums)

        # M step: the parameters that maximise the expected complete-data log-likelihood.
        previous = mixture, sums
        mixture = m_step(source, family, prepared, sums, options.hard)

        # Restart: move the lightest collapsed component. Each component is moved only once; a second move would
        # make it oscillate.
        if options.restart_collapsed:
            collapsed = _find_collapsed(sums, family.min_weight) - revived
            if collapsed:
                lightest = min(collapsed, key=lambda k: float(sums.weights[k]))
                mixture = family.revive(mixture, lightest)
                revived.add(lightest)
                restarts.append(len(history))


def _separate_twins(source: Source, family: Family, found: EMResult, options: EMOptions) -> EMResult:
    """Move nearly equal components apart, run EM again, and keep the result if its likelihood is higher.

    Two equal components are a stationary point of EM. Near it the likelihood rises by the fourth power of their
    distance, so that EM seems to converge there although the likelihood has no maximum.
    """
    for move in (family.widen_twins, family.split_twins):
        moved = move(source, found)
        left = options.max_iter - len(found.history)
        if moved is None or left < 1:
            return found
        level = found.history[-1]
        trial = _iterate(source, family, moved, options, left, level)
        if trial.history[-1] > level + options.tol:
            n = len(found.history)
            restarts = [*found.restarts, n, *(n + position for position in trial.restarts)]
            found = replace(trial, history=found.history + trial.history, restarts=restarts)
    return found


def e_step(source: Source, prepared: EStep, hard: bool) -> Sums:
    """Compute the responsibilities and sum the weighted statistics over all rows."""
    return source.reduce(_sum_block, prepared, hard)


def m_step(source: Source, family: Family, prepared: EStep, sums: Sums, hard: bool) -> Mixed:
    """Estimate the components from the sums.

    Sums are taken about a reference point. If a component moves or shrinks so much that this point is now far from its
    mean, relative to its variance, the sums have lost digits. The E step is then repeated, under the same parameters,
    with sums about the new means.
    """
    mixture = family.estimate(sums, prepared.mixture)
    recentred = family.recentre(prepared, mixture)
    if recentred is None:
        return mixture
    return family.estimate(e_step(source, recentred, hard), prepared.mixture)


class Family(ABC):
    """Kind of the component densities: prepares the E step and does the M step."""

    @property
    @abstractmethod
    def min_weight(self) -> float:
        """Minimum total responsibility of a component; below it the component has collapsed."""

    @abstractmethod
    def prepare(self, mixture: Mixed) -> Any:
        """Return the :class:`EStep` for the parameters of a mixture."""

    @abstractmethod
    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        """Return the maximum-likelihood mixture given the sums; ``before`` is the mixture of the E step."""

    def recentre(self, prepared: Any, after: Mixed) -> Any | None:
        """Return the same E step with better reference points if sums about the old ones lost digits, else None."""
        return None

    def revive(self, mixture: Mixed, which: int) -> Mixed:
        """Return the mixture with a collapsed component moved; by default it is not changed."""
        return mixture

    def widen_twins(self, source: Source, found: EMResult) -> Mixed | None:
        """Return the mixture with nearly equal components moved apart, or None if no components are nearly equal."""
        return None

    def split_twins(self, source: Source, found: EMResult) -> Mixed | None:
        """Return the mixture with nearly equal components split anew, or None if no components are nearly equal."""
        return None


class EStep(ABC):
    """Parameters of one E step, prepared once and then applied to every block of rows."""

    mixture: Mixed

    @abstractmethod
    def pieces(self, block: Block) -> Iterator[Block]:
        """Split a block into pieces that fit the cache."""

    @abstractmethod
    def expand(self, piece: Block) -> Any:
        """Return the statistics of a piece's rows, from which log densities and sums are computed."""

    @abstractmethod
    def log_joint(self, rows: Any) -> Floats:
        """Return log(weight · density), of shape (n_components, n)."""

    @abstractmethod
    def gather(self, rows: Any, shares: Floats, factors: Floats) -> tuple[Floats, Any]:
        """Return the total responsibility of each component, and the sums for the M step.

        The weighted responsibilities are ``shares``, of shape (n_components, n), times ``factors``, of shape (n,). Both
        arrays may be overwritten.
        """


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of an E step over rows.

    Parameters
    ----------
    weights : array of shape (n_components,)
        Total responsibility of each component.
    parts : object with ``+``
        Sums from which the family estimates its densities; model files hold those of Gaussians.
    log_likelihood : float
        Log-likelihood of all rows under the parameters of the E step; with hard assignments, the classification
        log-likelihood, that of rows and assignments together.
    weight : float
        Total weight of the rows.
    rows : int
        Number of rows.
    """

    weights: Annotated[Floats, floats("k", low=0)]
    parts: Annotated[Any, instance_of(GaussianSums, k="k", d="d")]
    log_likelihood: Annotated[float, number()]
    weight: Annotated[float, number(above=0)]
    rows: Annotated[int, count(1)]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.weights + other.weights,
            self.parts + other.parts,
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            self.rows + other.rows,
        )

    @property
    def mean_log_likelihood(self) -> float:
        return self.log_likelihood / self.weight


def _sum_block(block: Block, prepared: EStep, hard: bool) -> Sums:
    return reduce(add, (_sum_piece(piece, prepared, hard) for piece in prepared.pieces(block)))


def _sum_piece(piece: Block, prepared: EStep, hard: bool) -> Sums:
    # Log joint densities, then responsibilities in place, as unnormalised shares and a factor for each row.
    rows = prepared.expand(piece)
    shares = prepared.log_joint(rows)
    logs, factors = assign_hard(shares) if hard else assign_soft(shares)
    # A sample weight multiplies both the responsibilities and the log density of its row.
    n, weight = len(logs), piece.weight
    if weight is not None:
        factors *= weight
        logs *= weight
    total = float(n) if weight is None else float(weight.sum())
    weights, parts = prepared.gather(rows, shares, factors)
    return Sums(weights, parts, float(logs.sum()), total, n)


def assign_soft(log_joint: Floats) -> tuple[Floats, Floats]:
    """Replace log joint densities by unnormalised responsibilities, in place.

    Returns the log density of each row, and the factors that normalise the shares: responsibilities are shares times
    factors, with factors one over the sums of the shares. Multiplying by the factors later takes fewer operations than
    dividing the shares now. A row of density 0 under all components is divided equally.
    """
    # Subtract the maximum of each row before exponentiating (log-sum-exp).
    top = log_joint.max(axis=0)
    impossible = np.isneginf(top)
    if impossible.any():
        log_joint[:, impossible] = 0.0
        top = np.where(impossible, 0.0, top)
    log_joint -= top
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=0)
    logs = np.log(total) + top
    logs[impossible] = -np.inf
    return logs, 1 / total


def assign_hard(log_joint: Floats) -> tuple[Floats, Floats]:
    """Replace log joint densities by 1 for the most likely component and 0 for the others, in place.

    Ties go to the first component. Returns the same pair as :func:`assign_soft`, with factors 1.
    """
    top = log_joint.max(axis=0)
    np.equal(log_joint, top, out=log_joint, casting="unsafe")
    # Resolve ties: more than one component has the maximum.
    tied = np.flatnonzero(log_joint.sum(axis=0) != 1)
    if len(tied):
        first = log_joint[:, tied].argmax(axis=0)
        log_joint[:, tied] = 0.0
        log_joint[first, tied] = 1.0
    return np.asarray(top), np.ones(len(top))


def _has_fallen(history: list[float]) -> bool:
    return len(history) > 1 and history[-2] - history[-1] > MIN_FALL * (1 + abs(history[-2]))


def _has_converged(history: list[float], options: EMOptions) -> bool:
    if options.stopping == "projected":
        return _has_projected_convergence(history, options.tol)
    # Textbook rule: the last pass raised the likelihood by less than the tolerance, or not beyond rounding.
    rise = history[-1] - history[-2] if len(history) > 1 else np.inf
    return bool(rise < options.tol or rise <= MAX_ROUNDING * (1 + abs(history[-1])))


def _has_projected_convergence(history: list[float], tol: float) -> bool:
    """Return whether the last rise of the likelihood and the projected further rise are within the tolerance.

    Rises that shrink by a constant factor r sum up to r / (1 − r) times the last rise (Aitken's extrapolation). Right
    after a split the two halves of a component are almost equal: the likelihood rises slowly for many iterations, and
    faster once the halves move apart. The ratio of successive rises is then not constant, or not below 1, so the
    iterations continue. If the ratio is close to 1 at the maximum too, EM stops when one iteration raises the
    likelihood by at most a tenth of the tolerance, or when the last 200 together do.
    """
    rises = np.diff(history[-5:])
    if not len(rises) or rises[-1] > tol:
        return False
    # No rise beyond rounding, or almost none in the last PATIENCE iterations.
    last = float(rises[-1])
    if last <= MAX_ROUNDING * (1 + abs(history[-1])):
        return True
    if len(history) > PATIENCE and history[-1] - history[-1 - PATIENCE] <= 0.1 * tol:
        return True
    if len(rises) < 4:
        return False
    # Ratios of the last four rises: project only if they are below 1 and nearly constant.
    factors = rises[1:] / rises[:-1]
    slowest = float(factors.max())
    if slowest >= 1 or np.ptp(factors) > 0.1:
        return False
    # Projected further rise, last · r / (1 − r), within the tolerance.
    return last <= 0.1 * tol or last * slowest <= tol * (1 - slowest)


def _find_collapsed(sums: Sums, min_weight: float) -> set[int]:
    """Return the components with too little total responsibility; none if there are too few rows for all components."""
    n_components = len(sums.weights)
    if n_components == 1 or sums.weight < 2 * n_components * min_weight:
        return set()
    return set(np.flatnonzero(sums.weights < min_weight).tolist())
