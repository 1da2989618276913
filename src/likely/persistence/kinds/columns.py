"""Kinds of densities whose columns are independent, discrete or not, and of products of densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from likely.densities import Bernoulli, Categorical, Independent, Laplace, Multinomial
from likely.densities.bernoulli import BinaryColumns, BinaryCounts
from likely.densities.categorical import CategoryCounts, CategoryTable
from likely.densities.independent import ProductStatistics
from likely.densities.laplace import HeldRows, LaplaceColumns
from likely.densities.multinomial import CountSums
from likely.persistence.checks import (
    Check,
    Scope,
    count,
    either,
    flag,
    floats,
    listed,
    none_or,
    number,
    option,
    part,
    size,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.densities import OPTIONAL, additive, fraction
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said

__all__ = ["KINDS"]

DENSITIES = ("Gaussian", "Laplace", "Categorical", "Bernoulli", "Multinomial", "Independent")
SLACK = 1e-6


class _SparseKind(Kind):
    """Sparse rows, whose attributes are not those that they are made of."""

    def take_apart(self, value: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        parameters = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        return {"n_columns": value.shape[1], **parameters}, {}, None


def _sparse(parameters: dict[str, Any]) -> Any:
    data, indices, indptr = (parameters[name] for name in ("data", "indices", "indptr"))
    rows: Any = csr_array((data, indices, indptr), shape=(len(indptr) - 1, int(parameters["n_columns"])))
    # SciPy looks at indices only when it is asked to, and reads memory by them.
    rows.check_format(full_check=True)
    return rows


def _array(kinds: str, axes: int = 1) -> Check:
    """An array of numbers of some kinds and so many axes."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is not np.ndarray or value.dtype.kind not in kinds or value.ndim != axes:
            raise RefusedError(f"must be an array of numbers of {axes} axes, but is {said(value)}")
        if value.dtype.kind == "f" and np.isinf(value).any():
            raise RefusedError("must be finite, or NaN where a value is missing, but is not")

    return check


_dense_rows = _array("iufb", axes=2)


def _held(value: Any, scope: Scope) -> None:
    """Rows, their weights, and whether they are copies."""
    if type(value) is not tuple or len(value) != 3:
        raise RefusedError(f"must be triples of rows, weight and a flag, but one is {said(value)}")
    X, weight, is_own = value
    either(part("SparseRows"), _dense_rows)(X, scope)
    if X.shape[1] != scope.sizes["d"]:
        raise RefusedError(f"must be rows of {scope.sizes['d']} columns, but have {X.shape[1]}")
    none_or(floats(X.shape[0], least=0))(weight, scope)
    flag(is_own, scope)


def _widths(value: Any, scope: Scope) -> None:
    _array("i")(value, scope)
    if value.dtype != np.intp or not (value >= 0).all() or scope.sizes.setdefault("d", len(value)) != len(value):
        raise RefusedError("must be one whole number from 0 on for each column, but are not")


def _check_counts(counts: CategoryCounts, scope: Scope) -> None:
    if len(counts.counts) != int(counts.widths.sum()):
        raise RefusedError(f"counts must be {counts.widths.sum()}, one for each category, but are {len(counts.counts)}")


def _check_table(table: CategoryTable, scope: Scope) -> None:
    if not (table.widths > 0).all() or len(table.probabilities) != int((table.widths + 1).sum()):
        raise RefusedError("probabilities must be those of each category and one for the rest, but are not")
    if any(abs(column.sum() - 1) > SLACK for column in table.columns()):
        raise RefusedError("probabilities must sum to 1 in each column, but do not")


def _check_binary(columns: BinaryColumns, scope: Scope) -> None:
    if (np.abs(columns.zeros + columns.ones - 1) > SLACK).any():
        raise RefusedError("zeros and ones must sum to 1 in each column, but do not")


def _pair(value: Any, scope: Scope) -> None:
    """A density and its columns."""
    if type(value) is not tuple or len(value) != 2:
        raise RefusedError(f"must be pairs of density and columns, but one is {said(value)}")
    part(*DENSITIES)(value[0], scope)
    either(option("rest"), count(), _array("iu"), listed(count()))(value[1], scope)


def _independent_apart(model: Independent, state: dict[str, Any]) -> dict[str, Any]:
    """What the fitted densities have learned from is kept once, with them."""
    return state if state["_parameters"] is None else {**state, "statistics_": None}


def _independent_together(model: Independent, state: dict[str, Any]) -> dict[str, Any]:
    if state["_parameters"] is None:
        return state
    groups = tuple(density.statistics_ for density in state["_parameters"])
    return {**state, "statistics_": ProductStatistics(int(state["n_features_in_"]), groups)}


def _check_parts(model: Independent, scope: Scope) -> None:
    """As many groups as parts, each of as many columns, and each density of the class that its part is."""
    if "statistics_" not in vars(model):
        return
    if model.statistics_ is None:
        raise RefusedError("must have sums, or densities that have them, but has neither")
    widths = [len(columns) for columns in model._columns(scope.sizes["d"])]
    if [group.n_features for group in model.statistics_.groups] != widths:
        raise RefusedError(f"must have sums of the columns of its parts, {widths} in number, but has others")
    kinds = [type(density) for density, _ in model.parts]
    if model._parameters is not None and [type(density) for density in model._parameters] != kinds:
        raise RefusedError("must have densities of the kinds that its parts are, but has others")


def _density(kind: Any, parameters: dict[str, Check], statistics: str, learned: Check) -> Kind:
    """A density that has learned from one kind of statistic."""
    return Kind(
        kind,
        parameters,
        additive(part(statistics, d="d"), learned),
        mark="statistics_",
        optional=(*OPTIONAL, "classes_"),
    )


_pseudo_count = number(0)
_probabilities = floats("d", least=0)
_STATISTICS = ("HeldRows", "CategoryCounts", "BinaryCounts", "CountSums", "ProductStatistics")
_group = part("Moments", "DiagonalMoments", *_STATISTICS)

KINDS = [
    _SparseKind(
        csr_array,
        {"n_columns": size("d"), "data": _array("iufb"), "indices": _array("i"), "indptr": _array("i")},
        make=_sparse,
        name="SparseRows",
        alone=False,
    ),
    Kind(HeldRows, {"n_features": size("d"), "held": listed(_held, types=(tuple,))}, alone=False),
    Kind(CategoryCounts, {"widths": _widths, "counts": floats("c*", least=0)}, rule=_check_counts, alone=False),
    Kind(BinaryCounts, {"zeros": floats("d", least=0), "ones": floats("d", least=0)}, alone=False),
    Kind(CountSums, {"weight": number(0), "counts": floats("d", least=0)}, alone=False),
    Kind(ProductStatistics, {"n_features": size("d"), "groups": listed(_group, 1, (tuple,))}, alone=False),
    Kind(LaplaceColumns, {"location": floats("d"), "scale": floats("d", above=0)}, alone=False),
    Kind(
        CategoryTable,
        {"widths": _widths, "probabilities": floats("c", least=0)},
        derived=("_logs",),
        rule=_check_table,
        alone=False,
    ),
    Kind(BinaryColumns, {"zeros": _probabilities, "ones": _probabilities}, rule=_check_binary, alone=False),
    _density(Laplace, {"floor": fraction}, "HeldRows", part("LaplaceColumns", d="d")),
    _density(
        Categorical,
        {
            "pseudo_count": _pseudo_count,
            "n_categories": none_or(either(count(1), _array("iu"), listed(count(1), 1))),
        },
        "CategoryCounts",
        part("CategoryTable", d="d"),
    ),
    _density(
        Bernoulli,
        {"pseudo_count": _pseudo_count, "threshold": none_or(number())},
        "BinaryCounts",
        part("BinaryColumns", d="d"),
    ),
    _density(Multinomial, {"pseudo_count": _pseudo_count}, "CountSums", weights_of("d")),
    Kind(
        Independent,
        {"parts": listed(_pair, least=1)},
        additive(none_or(part("ProductStatistics", d="d")), listed(part(*DENSITIES), 1, (list,))),
        mark="statistics_",
        optional=(*OPTIONAL, "classes_"),
        apart=_independent_apart,
        together=_independent_together,
        rule=_check_parts,
    ),
]
