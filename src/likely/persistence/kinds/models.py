"""Kinds of classifiers and regressions that stand alone, and of what they are made of."""

from __future__ import annotations

from typing import Any

from likely.models import KernelLogisticRegression, LogisticRegression, Perceptron
from likely.objectives import ElasticNet, GradientDescent, Separator
from likely.objectives.perceptron import PerceptronWeights
from likely.persistence.checks import (
    Check,
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
    seed,
    size,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.densities import fraction
from likely.persistence.kinds.kernels import KernelledKind, check_landmarks, fitted_kernel, kernel, landmarks
from likely.persistence.kinds.kind import Kind

__all__ = ["KINDS"]

_SOLVERS = ("auto", "newton", "l-bfgs", "newton-cg", "gradient-descent", "mini-batch", "online")


def _pair(first: Check, second: Check) -> Check:
    def check(value: Any, scope: Scope) -> None:
        if type(value) is not tuple or len(value) != 2:
            raise RefusedError("must be a pair, but is not")
        first(value[0], scope)
        second(value[1], scope)

    return check


def _check_weights(weights: PerceptronWeights, scope: Scope) -> None:
    scope.sizes["d"] = weights.last.shape[1] - 1


_linear = {"coef_": floats("r", "d"), "intercept_": floats("r")}
_rows: dict[str, Check] = {"n_features_in_": size("d"), "feature_names_in_": names("d"), "classes_": classes()}

KINDS = [
    Kind(ElasticNet, {"l1_share": fraction}),
    Kind(
        GradientDescent,
        {"batch": none_or(count(1)), "learning_rate": none_or(number(above=0)), "random_state": seed},
    ),
    Kind(
        Separator,
        {
            "coef": floats("r", "d"),
            "intercept": floats("r"),
            "least_margin": number(finite=False),
            "most_margin": number(finite=False),
        },
    ),
    Kind(
        PerceptronWeights,
        {
            "last": floats("r", "columns"),
            "late": floats("r", "columns"),
            "tally": floats(4, least=0),
            "n_passes": count(1),
            "steady": floats("candidates*", "r", "columns"),
        },
        rule=_check_weights,
        alone=False,
    ),
    Kind(
        LogisticRegression,
        {
            "regularization": number(0),
            "penalty": either(part("ElasticNet"), option("l2", "l1", "none", None)),
            "prior": priors(alone=True),
            "solver": either(part("GradientDescent"), option(*_SOLVERS)),
            "tolerance": number(above=0),
            "max_iter": count(1),
            "priors": priors(),
        },
        {
            **_rows,
            **_linear,
            "_priors": weights_of("k"),
            "_far": none_or(_pair(floats("d"), floats("r"))),
            "separator_": none_or(part("Separator", d="d", r="r")),
            "objective_": number(finite=False),
            "loss_history_": floats("steps", finite=False, nan=True),
            "n_iter_": count(),
            "converged_": flag,
            "gap_": number(finite=False),
        },
        mark="coef_",
    ),
    KernelledKind(
        KernelLogisticRegression,
        {
            "regularization": number(above=0),
            "kernel": kernel,
            "prior": priors(alone=True),
            "n_landmarks": none_or(count(1)),
            "tolerance": number(above=0),
            "priors": priors(),
            "random_state": seed,
        },
        {
            **_rows,
            "kernel_": fitted_kernel,
            "landmarks_": landmarks("n"),
            "dual_coef_": floats("r", "n"),
            "intercept_": floats("r"),
            "_priors": weights_of("k"),
            "objective_": number(finite=False),
            "n_iter_": count(),
            "converged_": flag,
            "gap_": number(finite=False),
        },
        mark="dual_coef_",
        rule=check_landmarks,
    ),
    Kind(
        Perceptron,
        {
            "keep": option("average", "pocket", "last"),
            "max_epochs": count(1),
            "shuffle": flag,
            "random_state": seed,
        },
        {
            **_rows,
            **_linear,
            "_weights": part("PerceptronWeights", r="r", d="d"),
            "n_updates_": count(),
            "n_epochs_": count(1),
            "mistakes_": floats("epochs", least=0),
            "converged_": flag,
        },
        mark="_weights",
    ),
]
