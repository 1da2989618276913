"""Kinds of mixtures and of what they are told to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely.densities import LBG, AbsoluteFloor, GaussianMixture, KMeans, KMeansStart, Mixture, RandomStart
from likely.densities.covariance import shape_of
from likely.densities.factors import FullCovariances
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.any_density import Several
from likely.densities.mixtures.diagonal import DiagonalFamily, DiagonalSums
from likely.densities.mixtures.em import Sums
from likely.densities.mixtures.full import FullFamily, FullSums
from likely.densities.mixtures.mixed import Mixed
from likely.densities.mixtures.stepwise import Stepwise
from likely.persistence.checks import (
    Check,
    Scope,
    count,
    either,
    flag,
    floats,
    listed,
    names,
    none_or,
    number,
    numbers,
    option,
    part,
    seed,
    size,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.densities import shape
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said

__all__ = ["KINDS", "density", "floor", "start"]

floor: Check = either(part("AbsoluteFloor"), number(0, 1))
start: Check = either(
    part("LBG", "KMeansStart", "RandomStart", "GaussianMixture"),
    option("lbg", "kmeans", "random"),
    numbers(2),
    listed(either(numbers(1), numbers(2), numbers(3)), types=(tuple,)),
)
_assignments = option("soft", "hard")


def density(value: Any, scope: Scope) -> None:
    """Anything with a log density that learns from a source."""
    part()(value, scope)
    if not hasattr(value, "log_density") or not hasattr(value, "fit_source"):
        raise RefusedError(f"must be a density, but is {said(value)}")


def _fitted_density(value: Any, scope: Scope) -> None:
    density(value, scope)
    part(d="d")(value, scope)


def _check_several(several: Several, scope: Scope) -> None:
    scope.sizes["k"] = len(several.densities)


def _check_sums(sums: Any, scope: Scope) -> None:
    d, width = scope.sizes["d"], sums.array.shape[1]
    if width != (3 * d if isinstance(sums, DiagonalSums) else d + d * (d + 1) // 2):
        raise RefusedError(f"array must hold the sums of {d} columns and their products, but has {width}")


def _check_instalments(learned: Stepwise, scope: Scope) -> None:
    if isinstance(learned.family, FullFamily) != isinstance(learned.average.parts, FullSums):
        raise RefusedError("average must be of the family's own kind, but is not")


def _history(value: Any, scope: Scope) -> None:
    """Numbers, of which there may be none."""
    if type(value) is not np.ndarray or value.dtype != np.float64 or value.ndim != 1 or not np.isfinite(value).all():
        raise RefusedError(f"must be finite numbers, but is {said(value)}")


def _state() -> dict[str, Check]:
    return {
        "n_features_in_": size("d"),
        "feature_names_in_": names("d"),
        "mixed_": part("Mixed", k="k", d="d"),
        "history_": _history,
        "restarts_": listed(count(), types=(list,)),
        "converged_": flag,
        "n_parameters_": count(),
    }


def _check_size(model: Any, scope: Scope) -> None:
    found = vars(model).get("mixed_")
    if found is not None and found.n_components != model.n_components:
        raise RefusedError(f"has {found.n_components} components where n_components says {model.n_components}")


def _check_gaussians(model: GaussianMixture, scope: Scope) -> None:
    _check_size(model, scope)
    if "mixed_" not in vars(model):
        return
    found = model.mixed_.components
    if not isinstance(found, Gaussians):
        raise RefusedError(f"must have Gaussians for components, but has {said(found)}")
    if isinstance(found.covariances, FullCovariances) != (shape_of(model.covariance).name == "full"):
        raise RefusedError("must have covariances of the shape that covariance names, but has others")


def _check_several_of(model: Mixture, scope: Scope) -> None:
    _check_size(model, scope)
    if "mixed_" in vars(model) and not isinstance(model.mixed_.components, Several):
        raise RefusedError("must have densities for components, but has others")


def _check_whitener(family: FullFamily, scope: Scope) -> None:
    if np.tril(family.L, -1).any() or not family.L.diagonal().all():
        raise RefusedError("L must be upper triangular, without 0 on the diagonal, but is not")


_FAMILY: dict[str, Check] = {"origin": floats("d"), "least": floats("d", above=0), "tied": flag}
_SUMS: dict[str, Check] = {"array": floats("k", "w"), "references": floats("k", "d")}

KINDS = [
    Kind(LBG, {"displacement": number(0)}),
    Kind(KMeansStart, {"n_starts": count(1)}),
    Kind(RandomStart, {"n_starts": count(1)}),
    Kind(AbsoluteFloor, {"value": number(above=0)}),
    Kind(Several, {"densities": listed(_fitted_density, 1, types=(list,))}, rule=_check_several, alone=False),
    Kind(
        Mixed,
        {"weights": weights_of("k"), "components": part("Gaussians", "Several", k="k", d="d")},
        alone=False,
    ),
    Kind(
        FullFamily,
        {**_FAMILY, "L": floats("d", "d")},
        derived=("inverse", "_least"),
        rule=_check_whitener,
        alone=False,
    ),
    Kind(
        DiagonalFamily,
        {**_FAMILY, "scale": floats("d", above=0), "variances": floats("d", least=0), "spherical": flag},
        alone=False,
    ),
    Kind(FullSums, _SUMS, rule=_check_sums, alone=False),
    Kind(DiagonalSums, _SUMS, rule=_check_sums, alone=False),
    Kind(
        Sums,
        {
            "weights": floats("k", least=0),
            "parts": part("FullSums", "DiagonalSums", k="k", d="d"),
            "log_likelihood": number(),
            "weight": number(above=0),
            "rows": count(1),
        },
        alone=False,
    ),
    Kind(
        Stepwise,
        {
            "family": part("FullFamily", "DiagonalFamily", d="d"),
            "average": part("Sums", k="k", d="d"),
            "steps": count(),
            "typical": number(above=0),
        },
        rule=_check_instalments,
        alone=False,
    ),
    Kind(
        GaussianMixture,
        {
            "n_components": count(1),
            "covariance": shape,
            "tied": flag,
            "init": start,
            "assignments": _assignments,
            "floor": floor,
            "tolerance": number(0),
            "random_state": seed,
        },
        {**_state(), "_instalments": none_or(part("Stepwise", k="k", d="d"))},
        mark="mixed_",
        rule=_check_gaussians,
    ),
    Kind(
        Mixture,
        {
            "density": density,
            "n_components": count(1),
            "n_starts": count(1),
            "assignments": _assignments,
            "tolerance": number(0),
            "random_state": seed,
        },
        _state(),
        mark="mixed_",
        rule=_check_several_of,
    ),
    Kind(
        KMeans,
        {
            "n_clusters": count(1),
            "init": either(option("k-means++"), numbers(2)),
            "n_starts": count(1),
            "tolerance": number(0),
            "random_state": seed,
        },
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "cluster_centers_": floats("clusters", "d"),
            "inertia_": number(0),
            "n_iter_": count(1),
        },
        mark="cluster_centers_",
        left_out={"labels_": None},
    ),
]
