"""Rows in memory: a source of blocks, and functions applied block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from likely._numerics import dense
from likely._typing import Floats, Integers, Labels, Rows
from likely.blocks.source import Block, Source
from likely.blocks.threads import for_each

ROWS = 2**14
"""Number of rows of a block with few features. For 50 features the block takes 6.5 MB. With shorter blocks, the Python
overhead of each block dominates; longer blocks exceed the cache."""

ROW_VALUES = 2**20
"""Maximum number of values of a block whose rows follow the row order. A statistic makes a centred copy of the block;
with this limit, the copy fits in memory that is reused from block to block."""

WIDE, CELL_VALUES = 256, 2**22
"""With at least WIDE features, labelled rows are divided by class and fold into blocks of at most CELL_VALUES values.
A scatter matrix of WIDE or more features is large compared with a block. A block of one class and one fold has only one
such matrix to add to the total."""

MIN_ROWS = 32
"""Minimum number of rows of a block whose rows will be mapped to more columns. With fewer rows per block, adding up the
statistics of the blocks would take longer than computing them."""

SCORED_ROWS = 2**10
"""Number of rows that are scored at once. Their scores for all classes then stay in the second-level cache."""


class ArraySource(Source):
    """A source over validated arrays in memory.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_features)
    codes : array of int of shape (n,), optional
        Positions in ``classes``.
    weight : array of shape (n,), optional
        All positive.
    classes : array of labels, optional
    folds : array of int of shape (n,), optional
    block_rows : int, optional
        Maximum number of rows of a block. If it is given, blocks follow the row order. By default it depends on the
        shape of the data.
    positions : array of int of shape (n,), optional
        Positions of the rows before some were dropped, for error messages.
    targets : array of shape (n, n_targets), optional
        Targets of a regression.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.arange(10.0).reshape(5, 2), block_rows=2)
    >>> source.n_blocks, source.reduce(lambda block: block.X.sum(axis=0))
    (3, array([20., 25.]))
    """

    def __init__(
        self,
        X: Rows,
        codes: Integers | None = None,
        weight: Floats | None = None,
        classes: Labels | None = None,
        folds: Integers | None = None,
        block_rows: int | None = None,
        positions: Integers | None = None,
        targets: Floats | None = None,
    ) -> None:
        n, d = X.shape
        self.X, self.codes, self.weight, self.classes, self.folds = X, codes, weight, classes, folds
        self.n_features, self.positions, self.targets = d, positions, targets
        self._cuts = _runs(n, block_rows) if block_rows else self._cuts_for(d)
        self.n_blocks = len(self._cuts)

    def reblock(self, width: int) -> ArraySource:
        again = copy(self)
        again._cuts = self._cuts_for(width, MIN_ROWS)
        again.n_blocks = len(again._cuts)
        return again

    def _cuts_for(self, width: int, min_rows: int = 1) -> list[range] | list[Integers]:
        """Return, for each block, the positions of its rows; ``width`` is the number of values per row."""
        if width < WIDE or self.codes is None:
            return _runs(self.X.shape[0], max(min_rows, min(ROWS, ROW_VALUES // max(width, 1))))
        folds = self.folds
        cells = self.codes if folds is None else self.codes * (int(folds.max()) + 1) + folds
        return _cuts_by_cell(cells, max(min_rows, CELL_VALUES // width))

    @property
    def arrays(self) -> ArraySource:
        return self

    def all_rows(self) -> Block:
        """Return all rows as one block."""
        return Block(self.X, self.codes, self.weight, self.folds, self.positions, self.targets)

    def block(self, index: int) -> Block:
        positions = self._cuts[index]
        rows = slice(positions.start, positions.stop) if isinstance(positions, range) else positions
        codes = None if self.codes is None else self.codes[rows]
        weight = None if self.weight is None else self.weight[rows]
        folds = None if self.folds is None else self.folds[rows]
        places = positions if self.positions is None else self.positions[rows]
        targets = None if self.targets is None else self.targets[rows]
        return Block(_cut(self.X, rows), codes, weight, folds, places, targets, not isinstance(positions, range))

    def _shuffled(self, random: np.random.RandomState) -> Iterator[Block]:
        everything = self.all_rows()
        for rows in np.array_split(random.permutation(len(everything)), self.n_blocks):
            yield everything.take(rows)

    def of_class(self, code: int) -> ArraySource:
        rows = np.flatnonzero(self.codes == code)
        weight = None if self.weight is None else self.weight[rows]
        positions = rows if self.positions is None else self.positions[rows]
        return ArraySource(self.X[rows], weight=weight, positions=positions)

    def without_classes(self) -> ArraySource:
        return ArraySource(self.X, weight=self.weight, positions=self.positions)


def block_rows(X: Rows) -> int:
    """Return the number of rows of X that have about a million stored numbers together, and at least 1.

    It is the block size of models that keep sparse rows sparse.
    """
    width = X.nnz // max(1, X.shape[0]) if issparse(X) else X.shape[1]
    return max(1, ROW_VALUES // max(1, width))


def over_rows(function: Callable[[Floats], Floats], X: Rows, n_outputs: int) -> Floats:
    """Apply ``function`` to X block by block, and return the stacked results, of shape (n, n_outputs).

    The function gets each block as dense rows in double precision.

    Parameters
    ----------
    function : function of an array (n, n_features)
        Returns an array (n, n_outputs).
    """
    n = X.shape[0]
    out = np.empty((n, n_outputs))

    def fill(start: int) -> None:
        rows = X[start : start + SCORED_ROWS]
        out[start : start + SCORED_ROWS] = function(dense(rows))

    for_each(fill, list(range(0, n, SCORED_ROWS)))
    return out


def _cut(X: Rows, rows: slice | Integers) -> Rows:
    """Return the given rows of X. For a slice the result is a view of X, also if X is a CSR array.

    SciPy's own slicing would copy the rows of a CSR array.
    """
    if not issparse(X) or not isinstance(rows, slice):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    entries = slice(ends[0], ends[-1])
    run: Any = csr_array((len(ends) - 1, X.shape[1]), dtype=X.dtype)
    # Set the arrays one by one: the constructor would copy a view of less than half of a larger array.
    run.data, run.indices, run.indptr = X.data[entries], X.indices[entries], ends - ends[0]
    return run  # type: ignore[no-any-return]


def _runs(n: int, max_rows: int) -> list[range]:
    return [range(low, high) for low, high in _even_cuts(0, n, max_rows)]


def _even_cuts(low: int, high: int, max_rows: int) -> list[tuple[int, int]]:
    """Divide the rows ``low`` … ``high`` − 1 into runs of nearly equal length, each of at most ``max_rows`` rows.

    Return the start and the end of each run. Without rows, return one empty run.
    """
    n_runs = max(1, -(-(high - low) // max(max_rows, 1)))
    ends = [low + (high - low) * i // n_runs for i in range(n_runs + 1)]
    return list(pairwise(ends))


def _cuts_by_cell(cells: Integers, max_rows: int) -> list[Integers]:
    """Divide rows into blocks of one cell (a class, or a class and fold) and of at most ``max_rows`` rows.

    Return the positions of the rows of each block. ``cells`` holds the number of the cell of each row.
    """
    order = np.argsort(cells, kind="stable")
    ends = np.cumsum(np.bincount(cells))
    runs = [_even_cuts(low, high, max_rows) for low, high in pairwise([0, *ends.tolist()]) if high > low]
    return [order[low:high] for cell in runs for low, high in cell]
