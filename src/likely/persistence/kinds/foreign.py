"""Kinds of scikit-learn's own that chains of this library use: folds and a transformer."""

from __future__ import annotations

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

__all__ = ["KINDS", "SPLITTERS"]


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
