"""What expansions share: every row becomes a longer one, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely._numerics import dense
from likely._typing import Floats
from likely._validation import check_rows
from likely.blocks import ArraySource, Block, Source, SourceLearner, block_rows, for_each
from likely.blocks.sample import Sample, sampled

__all__ = ["Expansion", "expanded", "finite", "finite_sample"]

ROWS, LEAST_ROWS, VALUES = 2**10, 2**5, 2**19
"""Rows mapped at once: so many, or fewer where their outputs are more values than these. Quadratic blocks of 1 MB took
half as long again as those of 4 MB, since threads then wait for each other; longer ones gain nothing."""


class Expansion(TransformerMixin, SourceLearner):  # type: ignore[misc]
    """A map of rows to longer rows, such that a linear model of the outputs is a curved one of the inputs.

    A subclass says how many outputs it will have (``expands_to``), learns what it must from a source (``_learn``), and
    fills a block of outputs (``_fill``). A pipeline reads ``expands_to`` to know that rows must not be expanded all at
    once.
    """

    def expands_to(self, n_features: int) -> int:
        """Number of outputs for so many features; known before anything is learned."""
        raise NotImplementedError

    def _learn(self, source: Source) -> None:
        """Learn from the source; there is nothing to learn unless a subclass says so."""

    def _fill(self, rows: Floats, out: Floats) -> bool:
        """Write the outputs of dense rows, and say whether rows and outputs are finite."""
        raise NotImplementedError

    def _source(self, X: Any, y: Any, sample_weight: Any, first: bool = True, encode: Any = None) -> ArraySource:
        """Rows to learn from as a source, all of them finite."""
        source = super()._source(X, None, sample_weight, first)
        source.reduce(finite)
        return source

    def transform(self, X: Any) -> Floats:
        """Expand rows; the result is dense, of shape (n, n_outputs). Sparse rows are made dense a block at a time."""
        check_is_fitted(self)
        rows = check_rows(self, X)
        out = np.empty((rows.shape[0], self._n_features_out))
        step = max(LEAST_ROWS, min(ROWS, VALUES // out.shape[1]))

        def fill(start: int) -> None:
            part = dense(rows[start : start + step])
            if not self._fill(part, out[start : start + step]):
                raise Block(part, positions=range(start, start + len(part))).non_finite()

        for_each(fill, list(range(0, len(out), step)))
        return out

    @property
    def _n_features_out(self) -> int:
        return self.expands_to(self.n_features_in_)


def expanded(source: ArraySource, X: Floats) -> ArraySource:
    """Features of a source's rows in place of these, with the labels, weights and positions of the rows."""
    return ArraySource(
        X, source.codes, source.weight, source.classes, block_rows=block_rows(X), positions=source.positions
    )


def finite(block: Block) -> int:
    """The number of a block's rows, all of which must be finite."""
    if not np.isfinite(block.X.data if issparse(block.X) else block.X).all():
        raise block.non_finite()
    return len(block)


def finite_sample(block: Block) -> Sample:
    """Some of a block's rows, all of which must be finite."""
    finite(block)
    return sampled(block)
