"""Blocks of rows, and the sources that compute a statistic of each block and add the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from likely._numerics import dense
from likely._typing import Floats, Integers, Labels, Rows
from likely.blocks.threads import tree_reduce
from likely.exceptions import InvalidDataError, MissingValuesError, SourceError

if TYPE_CHECKING:
    from likely.blocks.arrays import ArraySource

S = TypeVar("S", bound=Any)


class Source(ABC):
    """Base class of sources: rows in blocks, from which models learn by adding up statistics.

    The division into blocks depends only on the shape of the data, never on the machine, and results are added in a
    fixed tree order. The same rows therefore give the same bits for any number of threads.

    A subclass sets the attributes and defines ``block``. The other methods have defaults that work for rows anywhere;
    a subclass overrides those for which it has a better implementation.

    Attributes
    ----------
    n_features : int
    classes : array of labels, or None
        The classes in sorted order; the codes of blocks are positions in this array.
    n_blocks : int
    """

    n_features: int
    classes: Labels | None
    n_blocks: int

    @abstractmethod
    def block(self, index: int) -> Block:
        """Return the block at this position."""

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        """Add up ``of(block, *args)`` over all blocks.

        Parameters
        ----------
        of : function
            A pure function at module level, so that it can be sent to the process that holds the rows.
        *args
            Further arguments of ``of``, such as the parameters of the last pass.
        """
        return tree_reduce(lambda index: of(self.block(index), *args), self.n_blocks)

    def iter_blocks(self, random: np.random.RandomState | None = None) -> Iterator[Block]:
        """Iterate over the blocks in order, or in random order if a random state is given.

        In random order, the blocks are shuffled, and so are the rows within each block. If all rows are in memory,
        they are shuffled as a whole, and then divided into blocks.
        """
        if random is None:
            yield from (self.block(index) for index in range(self.n_blocks))
        else:
            yield from self._shuffled(random)

    def _shuffled(self, random: np.random.RandomState) -> Iterator[Block]:
        for index in random.permutation(self.n_blocks):
            block = self.block(int(index))
            yield block.take(random.permutation(len(block)))

    @property
    def is_sparse(self) -> bool:
        """Whether the first block has sparse rows."""
        return bool(issparse(self.block(0).X))

    @property
    def arrays(self) -> ArraySource | None:
        """The source itself, if all rows are arrays in memory; otherwise None."""
        return None

    def in_memory(self, who: str, remedy: str = "") -> ArraySource:
        """Return this source as an :class:`ArraySource`; raise if its rows are not arrays in memory.

        Parameters
        ----------
        who : str
            Name of the estimator that needs all rows at once, for the error message.
        remedy : str
            Sentence at the end of the error message that names a remedy.
        """
        rows = self.arrays
        if rows is None:
            raise SourceError(
                f"{who} needs all rows in memory at once, but got a {type(self).__name__}. {remedy}".rstrip()
            )
        return rows

    def require_classes(self, who: str = "A classifier") -> Labels:
        """Return the classes; raise if the source has none."""
        if self.classes is None:
            raise SourceError(
                f"{who} learns from classes, but the source has none. Pass codes and classes to the source."
            )
        return self.classes

    def of_class(self, code: int) -> Source:
        """Return the rows of the class at position ``code``, as a source without classes.

        Examples
        --------
        >>> import likely, numpy as np
        >>> X, codes = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
        >>> likely.ArraySource(X, codes, classes=np.array(["a", "b"])).of_class(0).block(0).X
        array([[0., 1.],
               [4., 5.]])
        """
        return _OfClass(self, code)

    def without_classes(self) -> Source:
        """Return the same rows as a source without classes."""
        return self if self.classes is None else _Unlabelled(self)

    def reblock(self, width: int) -> Source:
        """Return a source of the same rows, divided into blocks that suit rows of ``width`` columns.

        Callers use it before they map the rows to more columns. Only rows in memory can be divided again; other sources
        return themselves.
        """
        return self


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_features)
        Numbers of any type; statistics sum them in double precision.
    codes : array of int of shape (n,), or None
        Class of each row, as a position in the ``classes`` of the source.
    weight : array of shape (n,), or None
        Frequencies, all positive; None means ones.
    folds : array of int of shape (n,), or None
        The fold in which each row is held out.
    positions : sequence of int, optional
        Positions of the rows in the source, for error messages; 0, 1, … by default.
    targets : array of shape (n, n_targets), or None
        Targets of a regression.
    is_copy : bool
        Whether the rows were copied for this block. A statistic may then use their memory as working space.
    """

    X: Rows
    codes: Integers | None = None
    weight: Floats | None = None
    folds: Integers | None = None
    positions: Sequence[int] | Integers | None = None
    targets: Floats | None = None
    is_copy: bool = False

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def require_codes(self) -> Integers:
        """Return the class codes of the rows; raise if the source has no classes."""
        if self.codes is None:
            raise SourceError("The source has no classes to learn from. Pass codes and classes to the source.")
        return self.codes

    def take(self, which: Integers) -> Block:
        """Return a block with copies of the rows at the positions ``which`` of this block, in the order of ``which``.

        Their codes, weights, folds and targets are copied as well.
        """
        places = range(len(self)) if self.positions is None else self.positions
        positions = places.start + which if isinstance(places, range) else np.asarray(places)[which]
        return Block(
            self.X[which],
            None if self.codes is None else self.codes[which],
            None if self.weight is None else self.weight[which],
            None if self.folds is None else self.folds[which],
            positions,
            None if self.targets is None else self.targets[which],
            is_copy=True,
        )

    def non_finite(self) -> InvalidDataError:
        """Return an error that names the row and column of the first infinity, or else of the first NaN.

        If all values are finite, the error names the column with the largest value, whose sum of squares overflows.
        """
        X = dense(self.X)
        bad = np.argwhere(~np.isfinite(X))
        if not len(bad):
            column = np.abs(X).max(axis=0).argmax()
            return InvalidDataError(
                f"Values of column {column} reach {np.abs(X[:, column]).max():.3g}, too large to be squared and "
                "summed. Rescale that column."
            )
        infinite = np.argwhere(np.isinf(X))
        row, column = infinite[0] if len(infinite) else bad[0]
        position = row if self.positions is None else self.positions[row]
        where = f"in row {position}, column {column}"
        if np.isnan(X[row, column]):
            return MissingValuesError(
                f"X contains NaN {where}. Fill in missing values, or use a model that accepts them. Gaussian "
                "classifiers and mixtures accept them in fit and in scoring. In partial_fit, Gaussian classifiers "
                "accept them if covariances are diagonal or spherical."
            )
        return InvalidDataError(
            f"X contains infinity (inf) {where}. Replace it by a finite number, or by NaN if the value is missing."
        )

    def non_finite_targets(self) -> InvalidDataError | None:
        """Return an error that locates the first NaN or infinity among the targets, or None if they can be summed.

        If all targets are finite but the sum of their squares overflows, the error names the largest target.
        """
        with np.errstate(all="ignore"):
            if self.targets is None or np.isfinite(np.square(self.targets).sum()):
                return None
        bad = np.argwhere(~np.isfinite(self.targets))
        if not len(bad):
            reached = np.abs(self.targets).max()
            return InvalidDataError(f"Values of y reach {reached:.3g}, too large to be squared and summed. Rescale y.")
        row, column = bad[0]
        position = row if self.positions is None else self.positions[row]
        what = "NaN" if np.isnan(self.targets[row, column]) else "infinity (inf)"
        where = f"row {position}" + (f", column {column}" if self.targets.shape[1] > 1 else "")
        return InvalidDataError(f"Input y contains {what} in {where}. Drop rows without a target.")


class _Unlabelled(Source):
    """Source with the rows of another source, but without classes: its blocks have no codes."""

    def __init__(self, source: Source) -> None:
        self.source, self.n_features, self.n_blocks = source, source.n_features, source.n_blocks
        self.classes: Labels | None = None

    def block(self, index: int) -> Block:
        return replace(self.source.block(index), codes=None)

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        total: S = self.source.reduce(_of_unlabelled, of, args)
        return total


class _OfClass(Source):
    """Source with the rows of one class of another source. Blocks without rows of this class are skipped."""

    def __init__(self, source: Source, code: int) -> None:
        self.source, self.code, self.n_features = source, code, source.n_features
        self.classes: Labels | None = None

    @property
    def n_blocks(self) -> int:  # type: ignore[override]
        return len(self._holders)

    @cached_property
    def _holders(self) -> Integers:
        """Positions of the blocks of the other source that contain rows of the class.

        Finding them needs a pass over all blocks. Only ``block`` and ``n_blocks`` need this pass; ``reduce`` does not.
        """
        held = [np.any(self.source.block(index).codes == self.code) for index in range(self.source.n_blocks)]
        return np.flatnonzero(held)

    def block(self, index: int) -> Block:
        return _rows_of(self.source.block(int(self._holders[index])), self.code)

    def reduce(self, of: Callable[..., S], *args: Any) -> S:
        total = self.source.reduce(_of_class, self.code, of, args)
        if total.empty:
            raise SourceError(f"The source has no rows of the class at position {self.code}.")
        statistic: S = total.statistic
        return statistic


@dataclass(frozen=True)
class _Sum:
    """A statistic, or the sum over no rows (``empty``).

    With it, sums may include blocks without rows, although the statistics themselves have no zero.
    """

    statistic: Any = None
    empty: bool = False

    def __add__(self, other: _Sum) -> _Sum:
        if self.empty or other.empty:
            return other if self.empty else self
        return _Sum(self.statistic + other.statistic)


def _of_class(block: Block, code: int, of: Callable[..., Any], args: tuple[Any, ...]) -> _Sum:
    rows = _rows_of(block, code)
    return _Sum(of(rows, *args)) if len(rows) else _Sum(empty=True)


def _of_unlabelled(block: Block, of: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return of(replace(block, codes=None), *args)


def _rows_of(block: Block, code: int) -> Block:
    return replace(block.take(np.flatnonzero(block.codes == code)), codes=None)
