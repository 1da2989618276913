"""Products of independent densities over groups of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from likely._constraints import (
    Constraint,
    Constraints,
    Scope,
    ViolationError,
    instance_of,
    is_count,
    list_of,
    none_or,
    object_with,
    optional,
    size,
)
from likely._typing import Floats, Integers, Rows
from likely.blocks import AdditiveLearner, AdditiveState, Block
from likely.densities.base import Density, align_categories, check_addable, detach
from likely.densities.given import copy_fitted
from likely.exceptions import IncompatiblePartsError, InvalidParameterError, prefix_messages

REST = "rest"


@dataclass(frozen=True, eq=False)
class ProductStatistics:
    """One statistic for each group of columns.

    Parameters
    ----------
    n_features : int
        Number of columns of all groups together.
    groups : tuple of statistics
    """

    n_features: Annotated[int, size("d")]
    groups: Annotated[tuple[Any, ...], list_of(object_with("a statistic", "n_features"), 1, (tuple,))]

    def __add__(self, other: ProductStatistics) -> ProductStatistics:
        check_addable(self, other)
        return ProductStatistics(self.n_features, tuple(a + b for a, b in zip(self.groups, other.groups, strict=True)))

    def detach(self) -> ProductStatistics:
        """Return the same statistics, with copies in place of views of other arrays."""
        return ProductStatistics(self.n_features, tuple(detach(group) for group in self.groups))

    def align_categories(self, whole: ProductStatistics) -> ProductStatistics:
        """Return the same statistics with the categories of all rows."""
        pairs = zip(self.groups, whole.groups, strict=True)
        return ProductStatistics(self.n_features, tuple(align_categories(part, group) for part, group in pairs))


@dataclass(frozen=True, eq=False)
class IndependentState(AdditiveState):
    """Statistics of the groups, and the densities fitted to them.

    A model file holds these statistics only once, in the fitted densities.
    """

    statistics_: Annotated[Any, optional(none_or(instance_of(ProductStatistics, d="d")))]
    _parameters: Annotated[list[Any] | None, none_or(list_of(instance_of(Density), 1, (list,)))] = None


class Independent(Density):
    """Product of independent densities over groups of columns, for columns of several kinds.

    It assumes that columns of different groups are independent; the density of a group models the columns within it.
    Each density handles missing values in its columns. The densities must be estimated from sums, as
    :class:`likely.Gaussian`, :class:`likely.Laplace`, :class:`likely.Categorical`, :class:`likely.Bernoulli` and
    :class:`likely.Multinomial` are.

    Parameters
    ----------
    parts : list of (density, columns)
        Columns are a list of positions, or "rest" for all columns that no other part names. Every column belongs to one
        part. The parameters of the densities are set as ``part0__covariance``, a density itself as ``part0``.

    Attributes
    ----------
    densities_ : list of densities
        The fitted density of each part.
    columns_ : list of arrays of int
        The columns of each part.
    n_parameters_ : int
        Number of free parameters of all parts together.
    statistics_ : ProductStatistics
        Statistics of the parts. They do not exist if the densities were given.

    Notes
    -----
    log p(x) = Σ_g log p_g(x_g) over the groups g.

    Examples
    --------
    >>> from likely import Categorical, Gaussian
    >>> density = Independent([(Gaussian("diagonal"), [0, 1]), (Categorical(), [2])])
    >>> density.fit([[1.0, 5.0, 0], [3.0, 6.0, 1], [2.0, 7.0, 0]]).log_density([[2.0, 6.0, 0]])
    array([-1.83787707])
    >>> density.densities_[1].probabilities_
    [array([0.66666667, 0.33333333])]
    """

    _State = IndependentState
    _constraints: ClassVar[Constraints] = {
        "parts": Constraint(
            "a list of pairs of density and columns, such as [(Gaussian(), [0, 1]), (Categorical(), [2])]",
            lambda value, scope: (
                isinstance(value, Iterable)
                and not isinstance(value, str)
                and len(entries := list(value)) > 0
                and all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries)
            ),
        )
    }

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @classmethod
    def given(cls, parts: Any) -> Independent:
        """Return the product of densities that are fitted already.

        Parameters
        ----------
        parts : list of (fitted density, columns)
            The same as for the constructor. The densities are copied; ``parts`` of the result holds unfitted clones.

        Examples
        --------
        >>> from likely import Bernoulli, Gaussian
        >>> both = Independent.given([(Gaussian.given([0.0], [1.0]), [1]), (Bernoulli.given([0.5]), [0])])
        >>> both.log_density([[1, 0.0]])
        array([-1.61208571])
        """
        pairs = cls(parts)._pairs()
        densities = [copy_fitted(density, f"Part {i}", cls.__name__) for i, (density, _) in enumerate(pairs)]
        model = cls([(clone(density), columns) for density, columns in pairs])
        n_features = sum(density.n_features_in_ for density in densities)
        for i, columns in enumerate(model._columns(n_features)):
            if len(columns) != densities[i].n_features_in_:
                raise InvalidParameterError(
                    f"Part {i} of {cls.__name__}.given has {len(columns)} columns, but its density has "
                    f"{densities[i].n_features_in_}. Name as many columns as the density has.",
                    parameter="parts",
                )
        return model._set_given(densities, n_features)

    @property
    def densities_(self) -> list[Any]:
        densities: list[Any] = self._get_parameters()
        return densities

    @property
    def columns_(self) -> list[Integers]:
        self._get_parameters()
        return self._columns(self.n_features_in_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the densities named by position, as in ``part0__parameter``."""
        params: dict[str, Any] = {"parts": self.parts}
        for name, density in (self._densities_by_name() if deep else {}).items():
            params[name] = density
            params |= {f"{name}__{key}": value for key, value in density.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set all parts, the density of one part as ``part0``, or a parameter of it as ``part0__parameter``."""
        if "parts" in params:
            self.parts = params.pop("parts")
        named = self._densities_by_name()
        replaced = [params.pop(name, density) for name, density in named.items()]
        if any(new is not old for new, old in zip(replaced, named.values(), strict=True)):
            self.parts = [(new, columns) for new, (_, columns) in zip(replaced, self._pairs(), strict=True)]
        super().set_params(**params)
        return self

    def _pairs(self) -> list[tuple[Any, Any]]:
        """Return the pairs of density and columns; raise unless each density is estimated from sums."""
        entries = list(self.parts) if isinstance(self.parts, Iterable) and not isinstance(self.parts, str) else []
        if not entries or not all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
            raise InvalidParameterError(
                "parts of Independent must be a list of pairs of density and columns, such as "
                f"[(Gaussian(), [0, 1]), (Categorical(), [2])], but is {self.parts!r}."
            )
        for i, (density, _) in enumerate(entries):
            if not isinstance(density, AdditiveLearner) or density.by_class or not hasattr(density, "log_density"):
                raise IncompatiblePartsError(
                    f"Part {i} of Independent must be a density that is estimated from sums, such as Gaussian(), but "
                    f"is {density!r}."
                )
        return entries

    def _densities_by_name(self) -> dict[str, Any]:
        """Return the densities by name. If parts are invalid, return no densities, because ``fit`` raises the error."""
        try:
            return {f"part{i}": density for i, (density, _) in enumerate(self._pairs())}
        except (InvalidParameterError, IncompatiblePartsError):
            return {}

    def _columns(self, n_features: int) -> list[Integers]:
        return _resolve_columns([columns for _, columns in self._pairs()], n_features)

    def _statistic(self) -> Any:
        pairs = self._pairs()
        gatherers = [density._statistic() for density, _ in pairs]
        return sum_groups, (gatherers, [columns for _, columns in pairs])

    def _estimate(self, statistics: ProductStatistics) -> list[Any]:
        return self._map_densities(
            lambda i, density: clone(density).estimate(statistics.groups[i]), self._densities_by_name().values()
        )

    def _log_density(self, parameters: list[Any], X: Rows) -> Floats:
        columns = self.columns_
        return np.asarray(
            sum(self._map_densities(lambda i, density: density.log_density(_take_columns(X, columns[i])), parameters))
        )

    def _sample(self, parameters: list[Any], n_samples: int, random: np.random.RandomState) -> Floats:
        rows = np.empty((n_samples, self.n_features_in_))
        for density, columns in zip(parameters, self.columns_, strict=True):
            rows[:, columns] = density.sample(n_samples, random)
        return rows

    def _n_parameters(self, parameters: list[Any]) -> int:
        return sum(density.n_parameters_ for density in parameters)

    def _map_densities(self, task: Callable[[int, Any], Any], densities: Iterable[Any]) -> list[Any]:
        """Apply a task to each density; errors and warnings name the part."""
        results = []
        for i, density in enumerate(densities):
            with prefix_messages(_describe_part(i, self._pairs()[i][1])):
                results.append(task(i, density))
        return results

    def _pack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        is_whole = state["_parameters"] is None or "statistics_" not in state
        return state if is_whole else {**state, "statistics_": None}

    def _unpack_state(self, state: dict[str, Any]) -> dict[str, Any]:
        if state["_parameters"] is None or "statistics_" not in state:
            return state
        groups = tuple(density.statistics_ for density in state["_parameters"])
        return {**state, "statistics_": ProductStatistics(int(state["n_features_in_"]), groups)}

    def _check_state(self, scope: Scope) -> None:
        self._pairs()
        if not scope.fitted:
            return
        if self._is_given():
            super()._check_state(scope)
            found = [density.n_features_in_ for density in self._parameters]
        elif self.statistics_ is None:
            raise ViolationError("must have statistics, or densities with statistics, but has neither")
        else:
            found = [group.n_features for group in self.statistics_.groups]
        widths = [len(columns) for columns in self._columns(scope.sizes["d"])]
        if found != widths:
            raise ViolationError(f"must have statistics of {widths} columns, as its parts require, but has others")
        kinds = [type(density) for density, _ in self.parts]
        if self._parameters is not None and [type(density) for density in self._parameters] != kinds:
            raise ViolationError("must have densities of the types given by parts, but has other densities")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(
            d.__sklearn_tags__().input_tags.allow_nan for d in self._densities_by_name().values()
        )
        return tags


def sum_groups(block: Block, gatherers: list[Any], columns: list[Any]) -> ProductStatistics:
    """Compute the statistic of each group of a block's columns."""
    groups = []
    for i, ((of, args), chosen) in enumerate(zip(gatherers, _resolve_columns(columns, block.X.shape[1]), strict=True)):
        with prefix_messages(_describe_part(i, columns[i])):
            groups.append(of(replace(block, X=_take_columns(block.X, chosen)), *args))
    return ProductStatistics(block.X.shape[1], tuple(groups))


def _take_columns(X: Rows, columns: Integers) -> Rows:
    """Return some columns; contiguous columns are a view, so that statistics that hold rows make no copies."""
    first, last = int(columns[0]), int(columns[-1])
    if last - first == len(columns) - 1 and (np.diff(columns) == 1).all():
        return X[:, first : last + 1]
    return X[:, columns]


def _describe_part(i: int, columns: Any) -> str:
    """Return the name of a part for messages. Column numbers in these messages are relative to the part."""
    return f"Part {i} of Independent, in which column 0 is the first of {columns!r}"


def _resolve_columns(columns: list[Any], n_features: int) -> list[Integers]:
    """Return the column positions of each part; raise unless every column belongs to exactly one part."""
    is_rest = [isinstance(some, str) and some == REST for some in columns]
    named = [_check_positions(some, n_features) for some, rest in zip(columns, is_rest, strict=True) if not rest]
    times = np.bincount(np.concatenate([np.empty(0, dtype=np.intp), *named]), minlength=n_features)
    left = np.flatnonzero(times == 0)
    _check_division(times, left, sum(is_rest))
    in_order = iter(named)
    return [left if rest else next(in_order) for rest in is_rest]


def _check_division(times: Integers, left: Integers, n_rests: int) -> None:
    """Raise unless every column belongs to exactly one part, and every part has columns."""
    if times.max() > 1 or n_rests > 1:
        repeated = f"column {times.argmax()}" if times.max() > 1 else repr(REST)
        raise InvalidParameterError(
            f"Every column must belong to one part of Independent, but {repeated} is in two parts. Remove it from one."
        )
    if len(left) and not n_rests:
        raise InvalidParameterError(
            f"Every column must belong to a part of Independent, but column {left[0]} of n_features = {len(times)} "
            "belongs to no part. Drop it, or give one part the columns 'rest'."
        )
    if n_rests and not len(left):
        raise InvalidParameterError(
            "The part of Independent with the columns 'rest' must have at least one column, but the other parts "
            f"name all n_features = {len(times)} columns. Remove that part."
        )


def _check_positions(columns: Any, n_features: int) -> Integers:
    listed = list(columns) if isinstance(columns, (list, tuple, np.ndarray, range)) else [columns]
    if not listed or not all(is_count(column, 0, n_features - 1) for column in listed):
        raise InvalidParameterError(
            f"Columns of a part of Independent must be a list of positions below n_features = {n_features}, or 'rest', "
            f"but are {columns!r}."
        )
    return np.array(listed, dtype=np.intp)
