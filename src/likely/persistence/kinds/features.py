"""Kinds of features."""

from __future__ import annotations

from typing import Any

from likely.blocks import SAMPLE_ROWS
from likely.features import (
    LDA,
    Center,
    Encode,
    Fill,
    KernelPCA,
    NystromFeatures,
    QuadraticFeatures,
    RadialFeatures,
    Standardize,
    Whiten,
)
from likely.persistence.checks import (
    Check,
    Scope,
    classes,
    count,
    either,
    flag,
    floats,
    label,
    listed,
    names,
    none_or,
    number,
    numbers,
    option,
    part,
    seed,
    size,
    text,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.densities import OPTIONAL, additive, check_sums, fraction
from likely.persistence.kinds.kernels import KernelledKind, check_landmarks, fitted_kernel, kernel, landmarks
from likely.persistence.kinds.kind import Kind

__all__ = ["KINDS"]

MOST_OUTPUTS = 2**27
"""Values that an expansion may make of one row, or a column of categories be looked up in: a gibibyte of them."""

SUM = 1e-6
"""How far shares may be from 1 in sum."""


def _linear(axes: int) -> Check:
    """A linear map, diagonal (one axis) or not; it is the number of its outputs that is passed on."""

    def check(value: Any, scope: Scope) -> None:
        part("LinearMap", "Discriminants", d="d", m="out")(value, scope)
        inner = scope.inner(value)
        assert inner is not None
        if inner.sizes.get("axes", 2) != axes:
            raise RefusedError("must have a matrix, or only a diagonal, but has the other")
        if scope.sizes["out"] > scope.sizes["d"]:
            raise RefusedError(f"must have at most {scope.sizes['d']} directions, but has {scope.sizes['out']}")

    return check


def _feature(kind: Any, parameters: dict[str, Check], statistics: Check, axes: int, by_class: bool = False) -> Kind:
    labels = classes() if by_class else None
    return Kind(
        kind,
        parameters,
        additive(statistics, _linear(axes), labels),
        mark="statistics_",
        optional=OPTIONAL if by_class else (*OPTIONAL, "classes_"),
        rule=lambda model, scope: check_sums(model, scope, model.needs),
    )


def _check_fill(model: Fill, scope: Scope) -> None:
    if "d" in scope.sizes:
        scope.sizes["out"] = scope.sizes["d"]


def _check_quadratic(model: QuadraticFeatures, scope: Scope) -> None:
    if "d" in scope.sizes:
        scope.sizes["out"] = model.expands_to(scope.sizes["d"])
        if scope.sizes["out"] > MOST_OUTPUTS:
            raise RefusedError(
                f"would make {scope.sizes['out']} values of each row of {scope.sizes['d']}. At most {MOST_OUTPUTS} are "
                "allowed: use fewer columns"
            )


def _texts(value: Any, scope: Scope) -> None:
    """For each column None, or its distinct texts."""
    listed(none_or(listed(text, types=(list,))), types=(list,))(value, scope)
    if any(column is not None and len(set(column)) < len(column) for column in value):
        raise RefusedError("must be distinct texts, but one stands twice")


def _check_encode(model: Encode, scope: Scope) -> None:
    """Every list has an entry for each column, and the tables that categories are looked up in stay small."""
    if "d" not in scope.sizes:
        return
    lists = (model.columns_, model.categories_, model.shares_, model.n_kept_)
    if any(len(entries) != scope.sizes["d"] for entries in lists) or len(set(model.columns_)) < scope.sizes["d"]:
        raise RefusedError(f"must know the name and the categories of each of {scope.sizes['d']} columns")
    columns = list(zip(model.categories_, model.shares_, model.n_kept_, strict=True))
    for texts, shares, kept in columns:
        n = -1 if texts is None else len(texts)
        if (shares is None) != (texts is None) or (shares is not None and shares.shape != (n + 1,)):
            raise RefusedError("shares_ must be one for each category and one for the missing")
        if shares is not None and not abs(shares.sum() - 1) < SUM:
            raise RefusedError(f"shares_ must sum to 1, but sum to {shares.sum():g}")
        if not min(max(n, 0), 1) <= kept <= max(n, 0) or (n + 2) * (kept + 2) > MOST_OUTPUTS:
            raise RefusedError(f"n_kept_ must be a number of categories that can be told apart, but is {kept} of {n}")
    scope.sizes["out"] = sum(1 if coding is None else len(coding.indicators()) for coding in model._codings())


_moments = part("Moments", "DiagonalMoments", d="d")
_full = part("Moments", d="d")
_by_class = part("ByClass", d="d")

KINDS = [
    _feature(Center, {}, _moments, axes=1),
    _feature(Standardize, {}, _moments, axes=1),
    Kind(
        Fill,
        {},
        additive(part("DiagonalMoments", d="d"), floats("d")),
        mark="statistics_",
        optional=(*OPTIONAL, "classes_"),
        rule=_check_fill,
    ),
    _feature(
        Whiten,
        {"form": option("zca", "pca"), "by": option("total", "within"), "floor": fraction},
        either(_full, _by_class),
        axes=2,
    ),
    _feature(LDA, {"n_components": none_or(count(1)), "floor": fraction}, _by_class, axes=2, by_class=True),
    Kind(
        QuadraticFeatures,
        {"kernel": flag},
        {"n_features_in_": size("d"), "feature_names_in_": names("d")},
        mark="n_features_in_",
        rule=_check_quadratic,
    ),
    Kind(
        Encode,
        {"most_categories": count(1)},
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "columns_": listed(label, types=(list,)),
            "categories_": _texts,
            "shares_": listed(none_or(floats("_", least=0)), types=(list,)),
            "n_kept_": listed(count(), types=(list,)),
        },
        mark="n_kept_",
        rule=_check_encode,
    ),
    Kind(
        RadialFeatures,
        {
            "n_centers": count(1, SAMPLE_ROWS),
            "centers": none_or(numbers(2)),
            "width": none_or(number(above=0)),
            "random_state": seed,
        },
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "centers_": floats("out", "d"),
            "width_": number(above=0),
        },
        mark="centers_",
    ),
    KernelledKind(
        KernelPCA,
        {"n_components": none_or(count(1)), "kernel": kernel},
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "kernel_": fitted_kernel,
            "landmarks_": landmarks("n"),
            "eigenvalues_": floats("out", above=0),
            "dual_coef_": floats("n", "out"),
            "offset_": floats("out"),
        },
        mark="dual_coef_",
        rule=check_landmarks,
    ),
    KernelledKind(
        NystromFeatures,
        {
            "n_landmarks": count(1, SAMPLE_ROWS),
            "kernel": kernel,
            "landmarks": none_or(numbers(2)),
            "random_state": seed,
        },
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "kernel_": fitted_kernel,
            "landmarks_": floats("n", "d"),
            "projection_": floats("n", "out"),
        },
        mark="projection_",
        rule=check_landmarks,
    ),
]
