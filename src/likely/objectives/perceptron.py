"""What a perceptron learns from a pass over rows, block by block in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers, Rows
from likely.blocks import Block
from likely.objectives import presentation
from likely.objectives.presentation import MISTAKES, PRESENTED, UPDATES

__all__ = ["PerceptronWeights", "mistakes_of"]

FEW = 2**18
"""Products that Python forms in the time, some tenths of a second, that importing Numba takes at least."""


@dataclass(eq=False)
class PerceptronWeights:
    """Weights that go from mistake to mistake, starting at zero.

    Attributes
    ----------
    last : array of shape (n_classes, n_features + 1), or (1, n_features + 1) for two classes
        As the last mistake left them; the bias is the last column.
    late : array of the same shape
        The sum of all steps, each times the rows presented before it.
    tally : array
        Counts; see :mod:`likely.objectives.presentation`.
    n_passes : int
    steady : array of shape (n_candidates, *last.shape)
        The weights of the last pass that were right the longest before their first mistake, if such are wanted.
    """

    last: Floats
    late: Floats
    tally: Floats
    n_passes: int
    steady: Floats

    @classmethod
    def zero(cls, n_classes: int, n_features: int, n_candidates: int = 0) -> Self:
        """The start."""
        shape = (1 if n_classes == 2 else n_classes, n_features + 1)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(4), 0, np.zeros((n_candidates, *shape)))

    def copy(self) -> Self:
        """The same, to be changed apart."""
        return type(self)(self.last.copy(), self.late.copy(), self.tally.copy(), self.n_passes, self.steady.copy())

    @property
    def candidates(self) -> Floats:
        """What a pocket chooses from after a pass."""
        return np.concatenate([self.steady, self.last[None]])

    @property
    def n_updates(self) -> int:
        """Number of steps made."""
        return int(self.tally[UPDATES])

    @property
    def average(self) -> Floats:
        """The mean of the weights over all presentations of rows, each taken after the row was learned from."""
        return np.asarray(self.last - self.late / self.tally[PRESENTED])

    def learn(self, blocks: Iterable[Block]) -> float:
        """Make one pass, changing the weights in place; gives the weight of the rows that were mistaken."""
        self.tally[MISTAKES] = 0.0
        self.steady[:], runs = self.last, np.full(len(self.steady), -1.0)
        self.n_passes += 1
        for block in blocks:
            rows, loops = _access(block.X), _loops(block.X, len(self.last), self.n_passes)
            with np.errstate(all="ignore"):
                at = loops.present(*rows, *_answers(block), self.last, self.late, self.tally, self.steady, runs)
            if at >= 0:
                place = at if block.positions is None else block.positions[at]
                raise Block(block.X[at : at + 1], positions=[int(place)]).non_finite()
        return float(self.tally[MISTAKES])


def mistakes_of(block: Block, candidates: Floats, n_passes: int) -> Floats:
    """Weight of a block's rows that each of some weights gets wrong, by the same arithmetic as learning."""
    n_candidates, n_vectors, _ = candidates.shape
    loops = _loops(block.X, n_candidates * n_vectors, n_passes)
    with np.errstate(all="ignore"):
        return np.asarray(loops.mistakes(*_access(block.X), *_answers(block), candidates))


def _access(X: Rows) -> tuple[Any, Floats, Any, Integers]:
    """Rows as the loops take them: always arrays of the same types, so that one compiled loop serves all."""
    if not issparse(X):
        return np.ascontiguousarray(dense(X)), np.empty(0), np.empty(0, np.int32), np.empty(0, np.intp)
    columns, starts = np.ascontiguousarray(X.indices, np.int32), np.ascontiguousarray(X.indptr, np.intp)
    return np.empty((0, 0)), np.ascontiguousarray(X.data, np.float64), columns, starts


def _answers(block: Block) -> tuple[Integers, Floats]:
    """Codes and weights of a block's rows."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return np.ascontiguousarray(block.codes, dtype=np.intp), np.ascontiguousarray(weight, dtype=np.float64)


def _loops(X: Rows, n_vectors: int, n_passes: int) -> Any:
    """Python's loops for the first passes over few rows, else the compiled ones: they give the same bits."""
    values = X.nnz if issparse(X) else X.size
    if values * n_vectors * n_passes <= FEW:
        return presentation
    from likely.objectives import _kernels

    return _kernels
