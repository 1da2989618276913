"""Kinds of scikit-learn's own that chains of this library use: folds, an imputer and a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import QuantileTransformer

from likely.persistence.checks import (
    Check,
    Scope,
    count,
    flag,
    floats,
    names,
    none_or,
    option,
    rising,
    seed,
    size,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said

__all__ = ["KINDS", "SPLITTERS"]


def _imputer(parameters: dict[str, Any], state: dict[str, Any]) -> SimpleImputer:
    """An imputer that has learned from one row, which its means then are: no private attribute is set."""
    made = SimpleImputer(**parameters)
    if state:
        made.fit(state["statistics_"][None])
        if "feature_names_in_" in state:
            made.feature_names_in_ = state["feature_names_in_"]
    return made


def _means(value: Any, scope: Scope) -> None:
    """Finite, or NaN for a column that had no values, in single or double precision."""
    if type(value) is not np.ndarray or value.dtype.name not in ("float32", "float64"):
        raise RefusedError(f"must be an array of numbers, but is {said(value)}")
    floats("d", finite=False, nan=True)(value.astype(np.float64), scope)
    if np.isinf(value).any():
        raise RefusedError("must not be infinite, but is")


def _missing(value: Any, scope: Scope) -> None:
    if type(value) is not float or value == value:
        raise RefusedError(f"must be NaN, but is {said(value)}")


def _imputes(model: SimpleImputer, scope: Scope) -> None:
    if "d" in scope.sizes:
        kept = scope.sizes["d"] if model.keep_empty_features else int((~np.isnan(model.statistics_)).sum())
        scope.sizes["out"] = kept


def _widths(model: QuantileTransformer, scope: Scope) -> None:
    if "d" in scope.sizes:
        scope.sizes["out"] = scope.sizes["d"]
        if not (model.references_[[0, -1]] == [0.0, 1.0]).all():
            raise RefusedError("references_ must go from 0 to 1, but do not")


_SHUFFLED: dict[str, Check] = {"n_splits": count(2), "shuffle": flag, "random_state": seed}

_FOLDS = [
    Kind(KFold, _SHUFFLED, name="sklearn.KFold"),
    Kind(StratifiedKFold, _SHUFFLED, name="sklearn.StratifiedKFold"),
    Kind(GroupKFold, _SHUFFLED, name="sklearn.GroupKFold"),
    Kind(StratifiedGroupKFold, _SHUFFLED, name="sklearn.StratifiedGroupKFold"),
    Kind(LeaveOneOut, name="sklearn.LeaveOneOut"),
]
SPLITTERS = tuple(kind.key for kind in _FOLDS)

KINDS = [
    *_FOLDS,
    Kind(
        SimpleImputer,
        {
            "missing_values": _missing,
            "strategy": option("mean", "median"),
            "fill_value": option(None),
            "copy": flag,
            "add_indicator": option(False),
            "keep_empty_features": flag,
        },
        {"n_features_in_": size("d"), "feature_names_in_": names("d"), "statistics_": _means},
        mark="statistics_",
        derived=("_fit_dtype", "_fill_dtype", "indicator_"),
        build=_imputer,
        rule=_imputes,
        name="sklearn.SimpleImputer",
    ),
    Kind(
        QuantileTransformer,
        {
            "n_quantiles": count(1),
            "output_distribution": option("uniform", "normal"),
            "ignore_implicit_zeros": flag,
            "subsample": none_or(count(1)),
            "random_state": seed,
            "copy": flag,
        },
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "n_quantiles_": size("q"),
            "quantiles_": rising(floats("q", "d")),
            "references_": rising(floats("q")),
        },
        mark="quantiles_",
        rule=_widths,
        name="sklearn.QuantileTransformer",
    ),
]
