"""The kind of support vector machines, and of how they are solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely.models import SVM
from likely.objectives import DualSolver, Overlap, PrimalSolver
from likely.persistence.checks import (
    Scope,
    classes,
    count,
    either,
    flag,
    floats,
    names,
    none_or,
    number,
    option,
    part,
    priors,
    size,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.kernels import KernelledKind, fitted_kernel, kernel, landmarks
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said

__all__ = ["KINDS"]


def _positions(value: Any, scope: Scope) -> None:
    """Places of rows, as many as there are support vectors."""
    if type(value) is not np.ndarray or value.dtype != np.intp or value.ndim != 1 or (value < 0).any():
        raise RefusedError(f"must be positions of rows, but is {said(value)}")
    if scope.sizes.setdefault("n", len(value)) != len(value):
        raise RefusedError(f"must be {scope.sizes['n']} in number, but are {len(value)}")


def _check_parts(model: SVM, scope: Scope) -> None:
    """Either weights of columns, or multipliers and the rows they belong to."""
    if not scope.fitted or hasattr(model, "coef_"):
        return
    needed = ["support_", "dual_coef_"] if model.kernel_.is_precomputed else ["support_vectors_", "dual_coef_"]
    missing = next((name for name in needed if not hasattr(model, name)), None)
    if missing is not None:
        raise RefusedError(f"must have {missing}, which its kernel needs, but has not")
    if model.kernel_.is_precomputed and (model.support_ >= model.n_features_in_).any():
        raise RefusedError("support_ must be positions of training rows, but goes beyond them")


KINDS = [
    Kind(DualSolver, {"cache_mb": none_or(number(above=0)), "max_iter": none_or(count(1)), "verbose": flag}),
    Kind(PrimalSolver, {"max_iter": count(1), "verbose": flag}),
    Kind(Overlap, {"rows": _positions, "weights": floats("n"), "distance": number(0)}),
    KernelledKind(
        SVM,
        {
            "C": none_or(number(above=0, finite=False)),
            "kernel": kernel,
            "bias_scale": none_or(number(above=0)),
            "prior": priors(alone=True),
            "multiclass": option("ovr", "ovo", "joint"),
            "regularization": none_or(number(above=0)),
            "solver": either(part("DualSolver", "PrimalSolver"), option("auto", "dual", "primal")),
            "tolerance": number(above=0),
        },
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "classes_": classes(),
            "kernel_": fitted_kernel,
            "_sides": floats("problems", "k"),
            "_centre": none_or(floats("d")),
            "_centred": floats("problems"),
            "intercept_": floats("problems"),
            "coef_": floats("problems", "d"),
            "support_": _positions,
            "support_vectors_": landmarks("n"),
            "dual_coef_": floats("problems", "n"),
            "margins_": floats("problems", finite=False),
            "primal_objective_": number(),
            "dual_objective_": number(),
            "n_iter_": count(),
            "converged_": flag,
        },
        mark="intercept_",
        optional=("feature_names_in_", "coef_", "support_", "support_vectors_", "dual_coef_"),
        rule=_check_parts,
    ),
]
