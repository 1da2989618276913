"""Statistics for each class, or for each cell of class and fold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

from likely._constraints import Scope, ViolationError, count, instance_of, mapping_of
from likely._typing import Floats, Integers, Rows
from likely.exceptions import IncompatiblePartsError
from likely.statistics.moments import DiagonalMoments, Moments

S = TypeVar("S", bound=Any)


@dataclass(frozen=True, eq=False)
class ByClass(Generic[S]):
    """Statistics keyed by class code, or by (class code, fold). A key that is absent has the statistic of no rows.

    Statistics with equal keys are added. The time to add the statistics of a block depends only on the number of
    classes in this block.

    Parameters
    ----------
    parts : mapping from key to statistic

    Examples
    --------
    >>> import numpy as np
    >>> from likely.statistics import Moments
    >>> X, codes, folds = np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> cells = ByClass.of(Moments, X, codes, folds=folds)
    >>> sorted(cells.parts)
    [(0, 0), (1, 0), (1, 1)]
    >>> classes = cells.regrouped(lambda cell: cell[0])
    >>> classes.parts[1].mean, classes.total().weight
    (array([3.]), 3.0)
    """

    parts: Annotated[Mapping[Any, S], mapping_of(count(), instance_of(Moments, DiagonalMoments, d="d"))]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", dict(sorted(self.parts.items())))

    def _check_state(self, scope: Scope) -> None:
        if not self.parts or len({type(part) for part in self.parts.values()}) > 1:
            raise ViolationError("parts must be moments of one type, for at least one class")

    @classmethod
    def zero(cls) -> ByClass[S]:
        """Return the statistics of no rows."""
        return cls({})

    @classmethod
    def of(
        cls,
        statistic: type[S],
        X: Rows,
        codes: Integers,
        weight: Floats | None = None,
        folds: Integers | None = None,
        overwrite: bool = False,
    ) -> ByClass[S]:
        """Return the ``statistic`` of the rows of each class, or of each (class, fold) if ``folds`` are given.

        With ``overwrite``, the memory of ``X`` may be used as working space, which destroys its contents.
        """
        if folds is None:
            return cls(statistic.grouped(X, codes, weight, overwrite))
        n_folds = int(folds.max()) + 1
        cells = statistic.grouped(X, codes * n_folds + folds, weight, overwrite)
        return cls({divmod(cell, n_folds): part for cell, part in cells.items()})

    def __add__(self, other: ByClass[S]) -> ByClass[S]:
        if not isinstance(other, ByClass):
            raise IncompatiblePartsError(f"Statistics by class cannot be added to {type(other).__name__}.")
        merged = dict(self.parts)
        for key, part in other.parts.items():
            merged[key] = merged[key] + part if key in merged else part
        return ByClass(merged)

    def regrouped(self, key_of: Callable[[Any], Hashable | None]) -> ByClass[S]:
        """Return statistics with new keys: ``key_of`` returns the new key of a part for its old key.

        Parts with the same new key are added. Parts whose new key is None are dropped.
        """
        groups: dict[Hashable, S] = {}
        for key, part in self.parts.items():
            new = key_of(key)
            if new is not None:
                groups[new] = groups[new] + part if new in groups else part
        return ByClass(groups)

    def each(self, change: Callable[[S], S]) -> ByClass[S]:
        """Return the statistics that result from applying ``change`` to the statistic of every key."""
        return ByClass({key: change(part) for key, part in self.parts.items()})

    def total(self) -> S:
        """Return the statistic of all rows."""
        return self._total

    @cached_property
    def _total(self) -> S:
        return reduce(add, self.parts.values())

    def within(self) -> S:
        """Return the statistic of all rows after each row was centred by the mean of its class.

        Its scatter is the within-class scatter.
        """
        pooled: S = reduce(add, (part.centred() for part in self.parts.values()))
        return pooled

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(next(iter(self.parts.values())).n_features)

    def weights(self) -> Floats:
        """Return the total weight of the rows of each key, in the order of the keys."""
        return np.array([part.weight for part in self.parts.values()])

    def is_finite(self) -> bool:
        """Return whether the sums of all classes are finite."""
        return all(part.is_finite() for part in self.parts.values())
