"""Kinds of statistics, densities, and the shapes and applications that are given as parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from likely._typing import Floats
from likely.blocks import for_each
from likely.decisions import Application
from likely.densities import Diagonal, Full, Gaussian, Gaussians, Spherical
from likely.densities.covariance import shape_of
from likely.densities.factors import DiagonalCovariances, FullCovariances
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
    mapped,
    names,
    none_or,
    number,
    option,
    part,
    size,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.kind import Kind
from likely.statistics import ByClass, DiagonalMoments, JointMoments, LinearMap, Moments

__all__ = ["KINDS", "OPTIONAL", "additive", "check_sums", "fraction", "shape"]

SLACK = 1e-6
"""Share of its size by which rounding may make a scatter asymmetric, or a variance in it negative."""

fraction = number(0, 1)
shape: Check = either(part("Full", "Diagonal", "Spherical"), option("full", "diagonal", "spherical"))
OPTIONAL = ("feature_names_in_", "_announced", "_adds_up")


def additive(statistics: Check, parameters: Check, labels: Check | None = None) -> dict[str, Check]:
    """The state of what learns by adding up statistics; ``_parameters`` is None where they are yet to be estimated."""
    return {
        "n_features_in_": size("d"),
        "feature_names_in_": names("d"),
        "classes_": classes(1) if labels is None else labels,
        "_announced": flag,
        "_adds_up": flag,
        "statistics_": statistics,
        "_parameters": none_or(parameters),
    }


def check_sums(model: Any, scope: Scope, needs: Any) -> None:
    """Sums of the classes that are known, of all of them once parameters were estimated, and of the kind needed."""
    sums = vars(model).get("statistics_")
    if sums is None:
        return
    by_class = isinstance(sums, ByClass)
    if by_class and max(sums.parts) >= scope.sizes.get("k", 0):
        raise RefusedError(f"has sums of a class {max(sums.parts)}, but knows {scope.sizes.get('k', 0)}")
    if by_class and vars(model)["_parameters"] is not None and len(sums.parts) < scope.sizes["k"]:
        raise RefusedError("has parameters of classes that it has no sums of")
    first = next(iter(sums.parts.values())) if by_class else sums
    pending = vars(model)["_parameters"] is None
    if pending and needs is Moments and isinstance(first, DiagonalMoments):
        raise RefusedError("needs sums of products of columns, but has sums of squares alone")
    if by_class != model.by_class and pending:
        raise RefusedError("needs sums by class, or sums of all rows, but has the others")


def _check_scatter(moments: Moments, scope: Scope) -> None:
    S = moments.scatter
    with np.errstate(over="ignore"):
        # Of mapped rows that lie in one point the scatter is all rounding, of the size of their squares.
        scale = np.abs(S).max() + moments.weight * np.square(moments.mean).max()
    slack = SLACK * scale + np.finfo(np.float64).tiny
    if (S.diagonal() < -slack).any():
        raise RefusedError("scatter must have no negative variances, but has")
    if not np.abs(S - S.T).max() <= slack:
        raise RefusedError("scatter must be symmetric, but is not")


def _check_parts(sums: ByClass[Any], scope: Scope) -> None:
    if not sums.parts or len({type(moments) for moments in sums.parts.values()}) > 1:
        raise RefusedError("parts must be moments of one kind, at least of one class")


def _check_targets(joint: JointMoments, scope: Scope) -> None:
    if joint.n_features < 1:
        raise RefusedError(
            f"n_targets must leave some features of {scope.sizes['w']} columns, but is {joint.n_targets}"
        )
    scope.sizes |= {"d": joint.n_features, "t": int(joint.n_targets)}


def _check_map(linear: LinearMap, scope: Scope) -> None:
    if linear.is_diagonal:
        scope.sizes["m"] = scope.sizes["d"]
        if not linear.matrix.all():
            raise RefusedError("matrix must not be 0 on its diagonal, but is")
    scope.sizes["axes"] = linear.matrix.ndim


def _check_factors(full: FullCovariances, scope: Scope) -> None:
    """Positive definite, by the factorisation that scoring rows with missing values will make of them."""
    apply: Any = for_each if scope.sizes["d"] >= 128 else map
    list(apply(_check_factor, list(zip(full.matrices, full.whiteners, strict=True))))


def _check_factor(pair: tuple[Floats, Floats]) -> None:
    C, U = pair
    variances = C.diagonal()
    if not (variances > 0).all():
        raise RefusedError(f"matrices must have variances above 0, but the least is {variances.min():g}")
    scales = np.sqrt(variances)
    R = C / scales
    R /= scales[:, None]
    if not np.abs(R - R.T).max() <= SLACK:
        raise RefusedError("matrices must be symmetric, but are not")
    factor, failed = lapack.dpotrf(R.T, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(factor.diagonal()).all():
        raise RefusedError("matrices must be positive definite in double precision, but are not")
    if np.tril(U, -1).any() or not U.diagonal().all():
        raise RefusedError("whiteners must be upper triangular, without 0 on the diagonal, but are not")


def _application(parameters: dict[str, Any]) -> Application:
    """With priors as they are: they sum to 1 already, and dividing once more might change their last bits."""
    made = Application(parameters["priors"], parameters["costs"], parameters["reject_cost"])
    parameters["priors"].flags.writeable = False
    for name in ("priors", "labels"):
        object.__setattr__(made, name, parameters[name])
    return made


def _check_labels(application: Application, scope: Scope) -> None:
    labels = application.labels
    if labels is not None and (len(labels) != application.n_classes or len(set(labels)) < len(labels)):
        raise RefusedError("labels must name each class, and each but once")


_OPTIONS: dict[str, Check] = {"shrinkage": fraction, "floor": fraction, "unbiased": flag}
_moments = part("Moments", "DiagonalMoments", d="d")

KINDS = [
    Kind(
        Moments,
        {"weight": number(above=0), "mean": floats("d"), "scatter": floats("d", "d")},
        derived=("principal_axes",),
        rule=_check_scatter,
        alone=False,
    ),
    Kind(
        DiagonalMoments,
        {
            "weight": number(above=0),
            "column_weights": floats("d", least=0),
            "mean": floats("d"),
            "scatter": floats("d", least=0),
        },
        alone=False,
    ),
    Kind(ByClass, {"parts": mapped(count(), _moments)}, derived=("_total",), rule=_check_parts, alone=False),
    Kind(JointMoments, {"moments": part("Moments", d="w"), "n_targets": count(1)}, rule=_check_targets, alone=False),
    Kind(
        LinearMap,
        {"centre": floats("d"), "matrix": either(floats("d", "m"), floats("d"))},
        rule=_check_map,
        alone=False,
    ),
    Kind(
        FullCovariances,
        {"matrices": floats("n", "d", "d"), "whiteners": floats("n", "d", "d")},
        rule=_check_factors,
        alone=False,
    ),
    Kind(DiagonalCovariances, {"variances": floats("n", "d", above=0)}, alone=False),
    Kind(
        Gaussians,
        {
            "means": floats("k", "d"),
            "covariances": part("FullCovariances", "DiagonalCovariances", n="k*", d="d"),
        },
        derived=("_distances", "_constants"),
        alone=False,
    ),
    Kind(Full, _OPTIONS),
    Kind(Diagonal, _OPTIONS),
    Kind(Spherical, {"floor": fraction, "unbiased": flag}),
    Kind(
        Gaussian,
        {"covariance": shape},
        additive(_moments, part("Gaussians", d="d", k="one")),
        mark="statistics_",
        optional=(*OPTIONAL, "classes_"),
        rule=lambda model, scope: check_sums(model, scope, shape_of(model.covariance).moments),
    ),
    Kind(
        Application,
        {
            "priors": weights_of("k"),
            "costs": floats("k", "k"),
            "reject_cost": none_or(number(0)),
            "labels": none_or(listed(label, types=(tuple,))),
        },
        derived=("threshold", "constant_cost"),
        make=_application,
        rule=_check_labels,
    ),
]
