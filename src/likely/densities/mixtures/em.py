"""Expectation and maximisation, written once for densities of any kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.blocks import Block, Source, one_blas_thread
from likely.densities.mixtures.mixed import Mixed

__all__ = ["MOST_PASSES", "Climb", "Expectation", "Family", "Sums", "climb", "one_pass"]

MOST_PASSES = 1000
"""Passes over the rows after which learning stops wherever it is."""

PATIENCE = 200
"""Passes that may go by with next to nothing gained."""

FALL, ROUNDING = 1e-9, 1e-13
"""A fall of the likelihood, relative to it, that is not rounding; and a rise that may be."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What a pass adds up.

    Parameters
    ----------
    weights : array of shape (n_components,)
        Weight of the rows that each component answers for.
    parts : anything with +
        What a family estimates its densities from.
    log_likelihood : float
        Of all rows, under the parameters of the pass; with hard assignments that of rows and assignments together.
    weight : float
    rows : int
    """

    weights: Floats
    parts: Any
    log_likelihood: float
    weight: float
    rows: int

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


class Expectation(ABC):
    """The parameters of a pass, prepared once and sent to where the rows are."""

    @abstractmethod
    def pieces(self, block: Block) -> Iterator[Block]:
        """The block in pieces as small as the arithmetic likes them."""

    @abstractmethod
    def open(self, piece: Block) -> tuple[Floats, Callable[[Floats, Floats], tuple[Floats, Any]]]:
        """Log of weight times density, (n_components, n), and what makes sums of rows shared out.

        That is a function of an array of the same shape, which it may overwrite, and of a factor for each row: the
        product is each component's share of the row, times the row's weight. It gives the weight of each component's
        rows, and what the family estimates from.
        """

    def sums(self, block: Block, hard: bool) -> Sums:
        """The sums of a block's rows, each shared out among the components by its responsibilities."""
        return reduce(add, (self._of_piece(piece, hard) for piece in self.pieces(block)))

    def _of_piece(self, piece: Block, hard: bool) -> Sums:
        shares, gather = self.open(piece)
        logs, factors = assign_hard(shares) if hard else assign_soft(shares)
        n, weight = len(logs), piece.weight
        if weight is not None:
            factors *= weight
            logs *= weight
        total = float(n) if weight is None else float(weight.sum())
        weights, parts = gather(shares, factors)
        return Sums(weights, parts, float(logs.sum()), total, n)


class Family(ABC):
    """Densities of one kind, learned side by side: all that EM needs to know of them."""

    @property
    @abstractmethod
    def least_rows(self) -> float:
        """Weight of rows that a component must answer for lest it has collapsed."""

    @abstractmethod
    def expectation(self, mixed: Mixed) -> Any:
        """The parameters as a pass needs them: an :class:`Expectation`."""

    @abstractmethod
    def estimate(self, sums: Sums, before: Mixed) -> Mixed:
        """The parameters that make the likelihood of the rows, shared out as they are, largest."""

    def sharper(self, expectation: Any, after: Mixed) -> Any | None:
        """A better prepared repetition of the pass where its sums lost digits, or None."""
        return None

    def revived(self, mixed: Mixed, which: int, source: Source) -> Mixed:
        """The mixture with a component that has collapsed set elsewhere."""
        return mixed


@dataclass(frozen=True, eq=False)
class Climb:
    """Where EM came to, and how.

    Parameters
    ----------
    mixed : Mixed
    history : list of float
        Mean log-likelihood of each pass; the last is that of ``mixed``.
    restarts : list of int
        Passes after which a collapsed component was set elsewhere; between them the history never falls.
    converged : bool
    sums : Sums
        Of the last pass.
    """

    mixed: Mixed
    history: list[float]
    restarts: list[int]
    converged: bool
    sums: Sums = field(repr=False)


def climb(
    source: Source,
    family: Family,
    start: Mixed,
    hard: bool,
    tolerance: float,
    most_passes: int = MOST_PASSES,
) -> Climb:
    """Repeat passes until the mean log-likelihood has come to rest within the tolerance."""
    with one_blas_thread():  # estimates are of many small matrices
        return _climb(source, family, start, hard, tolerance, most_passes)


def _climb(source: Source, family: Family, start: Mixed, hard: bool, tolerance: float, most_passes: int) -> Climb:
    mixed, last = start, None
    history: list[float] = []
    restarts: list[int] = []
    revived: set[int] = set()
    while True:
        sums, after = one_pass(source, family, mixed, hard)
        history.append(sums.mean_log_likelihood)
        since = history[restarts[-1] if restarts else 0 :]
        if last is not None and len(since) > 1 and since[-2] - since[-1] > FALL * (1 + abs(since[-2])):
            # Of densities whose own floors moved, never of Gaussian families: what was before is better.
            return Climb(last[0], history[:-1], restarts, True, last[1])
        settled = _is_settled(since, tolerance)
        if settled or len(history) >= most_passes:
            return Climb(mixed, history, restarts, settled, sums)
        last = mixed, sums
        mixed = after()
        collapsed = _collapsed(sums, family) - revived
        if collapsed:
            worst = min(collapsed, key=lambda k: float(sums.weights[k]))
            mixed = family.revived(mixed, worst, source)
            revived.add(worst)
            restarts.append(len(history))


def _is_settled(history: list[float], tolerance: float) -> bool:
    """Whether the likelihood has come to rest: its rise, and what is still to come of it, are within the tolerance.

    Rises that shrink by a steady factor r sum up to r / (1 − r) times the last (Aitken). Right after a split the halves
    are almost alike: the likelihood rises by little, for long, and by ever more once they move apart. There the factor
    is not steady, or not below 1. Where it is close to 1 at the maximum too, a tenth of the tolerance ends it; and so
    does a rise by no more than that in all of 200 passes.
    """
    rises = np.diff(history[-5:])
    if not len(rises) or rises[-1] > tolerance:
        return False
    last = float(rises[-1])
    if last <= ROUNDING * (1 + abs(history[-1])):
        return True
    if len(history) > PATIENCE and history[-1] - history[-1 - PATIENCE] <= 0.1 * tolerance:
        return True
    if len(rises) < 4:
        return False
    factors = rises[1:] / rises[:-1]
    slowest = float(factors.max())
    if slowest >= 1 or np.ptp(factors) > 0.1:
        return False
    return last <= 0.1 * tolerance or last * slowest <= tolerance * (1 - slowest)


def one_pass(source: Source, family: Family, mixed: Mixed, hard: bool = False) -> tuple[Sums, Callable[[], Mixed]]:
    """The sums of a pass, and a function that estimates from them, repeating the pass where digits were lost."""
    expectation = family.expectation(mixed)
    sums = source.reduce(expect, expectation, hard)

    def estimate() -> Mixed:
        after = family.estimate(sums, mixed)
        again = family.sharper(expectation, after)
        if again is None:
            return after
        return family.estimate(source.reduce(expect, again, hard), mixed)

    return sums, estimate


def _collapsed(sums: Sums, family: Family) -> set[int]:
    """Components that answer for too few rows to be estimated from; none if there are too few rows for all.

    One that collapses once more after it was set elsewhere is left alone: it would go round in circles.
    """
    n_components = len(sums.weights)
    if n_components == 1 or sums.weight < 2 * n_components * family.least_rows:
        return set()
    return set(np.flatnonzero(sums.weights < family.least_rows).tolist())


def expect(block: Block, expectation: Expectation, hard: bool) -> Sums:
    """The sums of a block, wherever it is."""
    return expectation.sums(block, hard)


def assign_soft(log_joint: Floats) -> tuple[Floats, Floats]:
    """Shares in place of the logs of weight times density; returns the rows' log densities and the shares' factors.

    Factors are one over the sums of the shares, which take fewer steps to multiply with later on than the shares to
    divide by their sums now. A row that is impossible under all components is shared out equally.
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
    """One for the likeliest component, the first of equals, zero for the others, in place; returns logs and ones."""
    top = log_joint.max(axis=0)
    np.equal(log_joint, top, out=log_joint, casting="unsafe")
    tied = np.flatnonzero(log_joint.sum(axis=0) != 1)
    if len(tied):
        first = log_joint[:, tied].argmax(axis=0)
        log_joint[:, tied] = 0.0
        log_joint[first, tied] = 1.0
    return np.asarray(top), np.ones(len(top))
