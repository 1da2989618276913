"""Kinds of classifiers that hold a density for each class."""

from __future__ import annotations

from typing import Any

from likely.models import GenerativeClassifier, MixtureClassifier, OpenSetClassifier
from likely.persistence.checks import (
    Check,
    Scope,
    classes,
    count,
    either,
    flag,
    label,
    listed,
    mapped,
    names,
    none_or,
    number,
    numbers,
    option,
    part,
    priors,
    seed,
    size,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.densities import shape
from likely.persistence.kinds.kind import Kind
from likely.persistence.kinds.mixtures import density, floor, start
from likely.persistence.values import said

__all__ = ["KINDS"]


def _fitted_density(value: Any, scope: Scope) -> None:
    density(value, scope)
    part(d="d")(value, scope)


def _check_number(model: Any, scope: Scope) -> None:
    if "densities_" in vars(model) and len(model.densities_) != scope.sizes["k"]:
        raise RefusedError(f"densities_ must be one for each class, but are {len(model.densities_)}")


def _check_unknown(model: OpenSetClassifier, scope: Scope) -> None:
    _check_number(model, scope)
    if "densities_" in vars(model) and model.classes_.tolist()[-1] != model.unknown:
        raise RefusedError(f"classes_ must end with the unknown class, but end with {said(model.classes_[-1])}")


def _learned(labels: Check, each: Check = _fitted_density) -> dict[str, Check]:
    return {
        "n_features_in_": size("d"),
        "feature_names_in_": names("d"),
        "classes_": labels,
        "densities_": listed(each, types=(list,)),
        "_shares": weights_of("k"),
    }


_components = either(mapped(label, count(1)), count(1), option("bic"), numbers(1))

KINDS = [
    Kind(
        MixtureClassifier,
        {
            "n_components": _components,
            "covariance": shape,
            "tied": flag,
            "init": start,
            "floor": floor,
            "relevance": none_or(number(0)),
            "random_state": seed,
            "priors": priors(),
        },
        {**_learned(classes(), part("GaussianMixture", d="d")), "background_": none_or(part("GaussianMixture", d="d"))},
        mark="densities_",
        rule=_check_number,
    ),
    Kind(
        GenerativeClassifier,
        {"density": density, "priors": priors()},
        _learned(classes()),
        mark="densities_",
        rule=_check_number,
    ),
    Kind(
        OpenSetClassifier,
        {"density": none_or(density), "background": none_or(density), "unknown": label, "priors": priors()},
        _learned(classes(sorted_but=1)),
        mark="densities_",
        rule=_check_unknown,
    ),
]
