"""Expectation-maximisation (EM), written once for mixtures of any densities.

Every iteration is one pass over the rows. The E step divides each row among the components by its responsibilities and
adds up what the components are estimated from; the M step estimates them (Dempster, Laird and Rubin, "Maximum
likelihood from incomplete data via the EM algorithm", JRSS B 39, 1977).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from likely._constraints import count, floats, instance_of, number
from likely._typing import Floats
from likely.blocks import Block, Source, one_blas_thread
from likely.densities.natural_form import GaussianSums

if TYPE_CHECKING:
    from likely.densities.mixtures.mixture import Mixed

MAX_ITER = 1000
"""Passes over the rows after which learning stops without convergence."""

PATIENCE = 200
"""Iterations that may pass with next to nothing gained."""

FALL, ROUNDING = 1e-9, 1e-13
"""Relative fall of the likelihood that is not rounding, and relative rise that may be."""


@dataclass(frozen=True, eq=False)
class EMResult:
    """Where EM stopped.

    Parameters
    ----------
    mixture : Mixed
    history : list of float
        Mean log-likelihood of each iteration; the last is that of ``mixture``.
    restarts : list of int
        Iterations after which a collapsed component was moved; between them the history never falls.
    converged : bool
    sums : Sums
        Of the last E step.
    """

    mixture: Mixed
    history: list[float]
    restarts: list[int]
    converged: bool
    sums: Sums = field(repr=False)


def run_em(source: Source, family: Family, start: Mixed, hard: bool, tol: float, max_iter: int = MAX_ITER) -> EMResult:
    """Alternate E and M steps until the mean log-likelihood changes by no more than the tolerance.

    Parameters
    ----------
    source : Source
    family : Family
        What the components are.
    start : Mixed
    hard : bool
        Whether a row belongs to its likeliest component alone (classification EM).
    tol : float
        Expected further rise of the mean log-likelihood at which to stop.
    max_iter : int
    """
    mixture, previous = start, None
    history: list[float] = []
    restarts: list[int] = []
    revived: set[int] = set()
    with one_blas_thread():  # M steps factor many small matrices
        while True:
            # E step: responsibilities under the current parameters, summed over all rows.
            prepared = family.prepare(mixture)
            sums = e_step(source, prepared, hard)
            history.append(sums.mean_log_likelihood)
            since = history[restarts[-1] if restarts else 0 :]
            if previous is not None and _has_fallen(since):
                # Only densities whose own floor moved can fall: keep the iteration before.
                return EMResult(previous[0], history[:-1], restarts, True, previous[1])
            converged = _has_converged(since, tol)
            if converged or len(history) >= max_iter:
                return EMResult(mixture, history, restarts, converged, sums)

            # M step: the parameters that maximise the expected log-likelihood.
            previous = mixture, sums
            mixture = m_step(source, family, prepared, sums, hard)

            # Move the lightest collapsed component. Each is moved once: a second time it would only oscillate.
            collapsed = _find_collapsed(sums, family.min_weight) - revived
            if collapsed:
                lightest = min(collapsed, key=lambda k: float(sums.weights[k]))
                mixture = family.revive(mixture, lightest)
                revived.add(lightest)
                restarts.append(len(history))


def e_step(source: Source, prepared: EStep, hard: bool) -> Sums:
    """Sum over all rows what the components are estimated from."""
    return source.reduce(_sum_block, prepared, hard)


def m_step(source: Source, family: Family, prepared: EStep, sums: Sums, hard: bool) -> Mixed:
    """Estimate the components from the sums.

    A component can move or shrink so far that its sums, taken about a point that is now distant, have lost digits. Then
    the E step is repeated with sums about the new means.
    """
    mixture = family.estimate(sums, prepared.mixture)
    recentred = family.recentre(prepared, mixture)
    if recentred is None:
        return mixture
    return family.estimate(e_step(source, recentred, hard), prepared.mixture)


class Family(ABC):
    """The kind of densities that are mixed: how they enter the E step, and how the M step estimates them."""

    @property
    @abstractmethod
    def min_weight(self) -> float:
        """Minimum total responsibility of a component; below it the component has collapsed."""

    @abstractmethod
    def prepare(self, mixture: Mixed) -> Any:
        """The parameters as an E step needs them: an :class:`EStep`."""

    @abstractmethod
    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        """The parameters of largest likelihood given the sums."""

    def recentre(self, prepared: Any, after: Mixed) -> Any | None:
        """The same E step with sums about better points, where those about the old ones lost digits; else None."""
        return None

    def revive(self, mixture: Mixed, which: int) -> Mixed:
        """Move a collapsed component."""
        return mixture


class EStep(ABC):
    """The parameters of one E step, prepared once and sent to where the rows are."""

    mixture: Mixed

    @abstractmethod
    def pieces(self, block: Block) -> Iterator[Block]:
        """The block in pieces small enough for the cache."""

    @abstractmethod
    def expand(self, piece: Block) -> Any:
        """The statistics of a piece's rows that the log densities and the sums need."""

    @abstractmethod
    def log_joint(self, rows: Any) -> Floats:
        """Log of weight times density, of shape (n_components, n)."""

    @abstractmethod
    def gather(self, rows: Any, shares: Floats, factors: Floats) -> tuple[Floats, Any]:
        """Total responsibility of each component, and the sums from which the family estimates.

        ``shares``, of shape (n_components, n), times ``factors``, of shape (n,), are the weighted responsibilities.
        Both may be overwritten.
        """


@dataclass(frozen=True, eq=False)
class Sums:
    """What an E step adds up.

    Parameters
    ----------
    weights : array of shape (n_components,)
        Total responsibility of each component.
    parts : anything with +
        What a family estimates its densities from; model files hold those of Gaussians.
    log_likelihood : float
        Of all rows, under the parameters of the E step; with hard assignments that of rows and assignments together.
    weight : float
    rows : int
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
    rows = prepared.expand(piece)
    shares = prepared.log_joint(rows)
    logs, factors = assign_hard(shares) if hard else assign_soft(shares)
    n, weight = len(logs), piece.weight
    if weight is not None:
        factors *= weight
        logs *= weight
    total = float(n) if weight is None else float(weight.sum())
    weights, parts = prepared.gather(rows, shares, factors)
    return Sums(weights, parts, float(logs.sum()), total, n)


def assign_soft(log_joint: Floats) -> tuple[Floats, Floats]:
    """Replace the logs of weight times density by shares; return the rows' log densities and the shares' factors.

    Shares times factors are the responsibilities. The factors, one over the sums of the shares, take fewer steps to
    multiply with later than the shares take to divide now. A row that is impossible under all components is divided
    equally.
    """
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
    """The same with share 1 for the likeliest component, the first of equals, and 0 for the others."""
    top = log_joint.max(axis=0)
    np.equal(log_joint, top, out=log_joint, casting="unsafe")
    tied = np.flatnonzero(log_joint.sum(axis=0) != 1)
    if len(tied):
        first = log_joint[:, tied].argmax(axis=0)
        log_joint[:, tied] = 0.0
        log_joint[first, tied] = 1.0
    return np.asarray(top), np.ones(len(top))


def _has_fallen(history: list[float]) -> bool:
    return len(history) > 1 and history[-2] - history[-1] > FALL * (1 + abs(history[-2]))


def _has_converged(history: list[float], tol: float) -> bool:
    """Whether the last rise of the likelihood, and all rises still expected, are within the tolerance.

    Rises that shrink by a steady factor r add up to r / (1 − r) times the last (Aitken's extrapolation). Right after a
    split the halves are almost equal: the likelihood rises by little, for long, and by more once they move apart. The
    factor is then not steady, or not below 1. Where it is close to 1 at the maximum too, a rise of a tenth of the
    tolerance ends the iterations, and so does a rise of no more than that in all of 200.
    """
    rises = np.diff(history[-5:])
    if not len(rises) or rises[-1] > tol:
        return False
    last = float(rises[-1])
    if last <= ROUNDING * (1 + abs(history[-1])):
        return True
    if len(history) > PATIENCE and history[-1] - history[-1 - PATIENCE] <= 0.1 * tol:
        return True
    if len(rises) < 4:
        return False
    factors = rises[1:] / rises[:-1]
    slowest = float(factors.max())
    if slowest >= 1 or np.ptp(factors) > 0.1:
        return False
    return last <= 0.1 * tol or last * slowest <= tol * (1 - slowest)


def _find_collapsed(sums: Sums, min_weight: float) -> set[int]:
    """Components with too little responsibility to estimate from; none if the rows are too few for all."""
    n_components = len(sums.weights)
    if n_components == 1 or sums.weight < 2 * n_components * min_weight:
        return set()
    return set(np.flatnonzero(sums.weights < min_weight).tolist())
