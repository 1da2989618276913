"""Kinds of mixtures and of what they are told to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely.densities import LBG, AbsoluteFloor, GaussianMixture, KMeans, KMeansStart, Mixture, RandomStart
from likely.densities.covariance import shape_of
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import Sums
from likely.densities.mixtures.gaussian_family import GaussianFamily
from likely.densities.mixtures.mixture import Mixed, Several
from likely.densities.mixtures.updating import Stepwise
from likely.densities.natural_form import DiagonalForm, FullForm, GaussianSums, SphericalForm
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


def _check_instalments(learned: Stepwise, scope: Scope) -> None:
    d, width = scope.sizes["d"], learned.average.parts.array.shape[1]
    if width != learned.family.form.width(d):
        raise RefusedError(f"average must hold the sums of {d} columns in the family's form, but has {width}")


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
    if not isinstance(found.covariances, shape_of(model.covariance).fitted):
        raise RefusedError("must have covariances of the shape that covariance names, but has others")


def _check_several_of(model: Mixture, scope: Scope) -> None:
    _check_size(model, scope)
    if "mixed_" in vars(model) and not isinstance(model.mixed_.components, Several):
        raise RefusedError("must have densities for components, but has others")


def _check_whitener(form: FullForm, scope: Scope) -> None:
    if np.tril(form.L, -1).any() or not form.L.diagonal().all():
        raise RefusedError("L must be upper triangular, without 0 on the diagonal, but is not")


class _FullFamily:
    """The name under which earlier files hold a GaussianFamily of full form."""


class _DiagonalFamily:
    """The same of diagonal or spherical form."""


class _FullSums:
    """The name under which earlier files hold GaussianSums of full form."""


class _DiagonalSums:
    """The same of diagonal form."""


def _full_family(found: dict[str, Any]) -> GaussianFamily:
    return GaussianFamily(FullForm(found["origin"], found["least"], found["L"]), found["tied"])


def _diagonal_family(found: dict[str, Any]) -> GaussianFamily:
    common = found["origin"], found["least"], found["scale"]
    form = SphericalForm(*common, found["variances"]) if found["spherical"] else DiagonalForm(*common)
    return GaussianFamily(form, found["tied"])


def _check_family(family: GaussianFamily, scope: Scope) -> None:
    if isinstance(family.form, FullForm):
        _check_whitener(family.form, scope)


_FORM: dict[str, Check] = {"origin": floats("d"), "least": floats("d", above=0)}
_DIAGONAL: dict[str, Check] = {**_FORM, "scale": floats("d", above=0)}
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
    Kind(FullForm, {**_FORM, "L": floats("d", "d")}, derived=("inverse", "_floor"), rule=_check_whitener, alone=False),
    Kind(DiagonalForm, _DIAGONAL, alone=False),
    Kind(SphericalForm, {**_DIAGONAL, "variances": floats("d", least=0)}, alone=False),
    Kind(
        GaussianFamily,
        {"form": part("FullForm", "DiagonalForm", "SphericalForm", d="d"), "tied": flag},
        alone=False,
    ),
    Kind(
        _FullFamily,
        {**_FORM, "tied": flag, "L": floats("d", "d")},
        make=_full_family,
        rule=_check_family,
        name="FullFamily",
        alone=False,
    ),
    Kind(
        _DiagonalFamily,
        {**_DIAGONAL, "tied": flag, "variances": floats("d", least=0), "spherical": flag},
        make=_diagonal_family,
        name="DiagonalFamily",
        alone=False,
    ),
    Kind(GaussianSums, _SUMS, alone=False),
    Kind(_FullSums, _SUMS, make=lambda found: GaussianSums(**found), name="FullSums", alone=False),
    Kind(_DiagonalSums, _SUMS, make=lambda found: GaussianSums(**found), name="DiagonalSums", alone=False),
    Kind(
        Sums,
        {
            "weights": floats("k", least=0),
            "parts": part("GaussianSums", "FullSums", "DiagonalSums", k="k", d="d"),
            "log_likelihood": number(),
            "weight": number(above=0),
            "rows": count(1),
        },
        alone=False,
    ),
    Kind(
        Stepwise,
        {
            "family": part("GaussianFamily", "FullFamily", "DiagonalFamily", d="d"),
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
