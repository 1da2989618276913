"""Kinds of classifiers and regressions that stand alone, and of what they are made of."""

from __future__ import annotations

from typing import Any

from likely.features import LDA
from likely.models import (
    FisherClassifier,
    GaussianClassifier,
    KernelLogisticRegression,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    NearestMeanClassifier,
    Perceptron,
    QuadraticForm,
)
from likely.models.fisher import _Line
from likely.models.linear_regression import _Regression
from likely.models.normal_equations import LinearFit
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
from likely.persistence.kinds.densities import OPTIONAL, additive, check_sums, fraction, shape
from likely.persistence.kinds.kernels import KernelledKind, check_landmarks, fitted_kernel, kernel, landmarks
from likely.persistence.kinds.kind import Kind

__all__ = ["KINDS"]

_SOLVERS = ("auto", "newton", "l-bfgs", "newton-cg", "gradient-descent", "mini-batch", "online")
_by_class = part("ByClass", d="d")


def _from_sums(kind: Any, parameters: dict[str, Check], learned: Check, **more: Any) -> Kind:
    """A classifier that learns from the moments of its classes."""
    return Kind(
        kind,
        parameters,
        additive(_by_class, learned),
        mark="statistics_",
        optional=OPTIONAL,
        rule=lambda model, scope: check_sums(model, scope, model.needs),
        **more,
    )


def _pair(first: Check, second: Check) -> Check:
    def check(value: Any, scope: Scope) -> None:
        if type(value) is not tuple or len(value) != 2:
            raise RefusedError("must be a pair, but is not")
        first(value[0], scope)
        second(value[1], scope)

    return check


def _line_apart(model: FisherClassifier, state: dict[str, Any]) -> dict[str, Any]:
    """The projection without the sums, which are the classifier's own."""
    line = state["_parameters"]
    return state if line is None else {**state, "_parameters": (line.lda._parameters, line.gaussians)}


def _line_together(model: FisherClassifier, state: dict[str, Any]) -> dict[str, Any]:
    if state["_parameters"] is None:
        return state
    discriminants, gaussians = state["_parameters"]
    lda = LDA(floor=model.floor).set_output(transform="default")
    shared = {name: state[name] for name in ("statistics_", "classes_", "n_features_in_")}
    vars(lda).update(shared, _announced=False, _adds_up=True, _parameters=discriminants)
    return {**state, "_parameters": _Line(lda, gaussians)}


def _check_fit(fit: LinearFit, scope: Scope) -> None:
    if fit.map.is_diagonal:
        raise RefusedError("map must have a matrix, but has only a diagonal")


def _check_weights(weights: PerceptronWeights, scope: Scope) -> None:
    scope.sizes["d"] = weights.last.shape[1] - 1


def _check_pairs(form: QuadraticForm, scope: Scope) -> None:
    if form.A is not None and form.A.shape != (len(form.b), len(form.b)):
        raise RefusedError("A must be as wide as b, but is not")


_gaussians = part("Gaussians", k="k", d="d")
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
        LinearFit,
        {
            "map": part("LinearMap", d="d", m="t"),
            "target_mean": floats("t"),
            "whitener": floats("d", "rank*"),
        },
        rule=_check_fit,
        alone=False,
    ),
    Kind(
        _Regression,
        {
            "fit": part("LinearFit", d="d", t="t"),
            "weight": number(above=0),
            "squares": floats("t", least=0),
            "penalised": flag,
        },
        name="Regression",
        alone=False,
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
        QuadraticForm,
        {"A": none_or(floats("d", "d")), "b": floats("d"), "c": number()},
        rule=_check_pairs,
    ),
    _from_sums(GaussianClassifier, {"covariance": shape, "tied": flag, "priors": priors()}, _gaussians),
    _from_sums(NearestMeanClassifier, {"priors": priors(), "floor": fraction}, _gaussians),
    _from_sums(
        FisherClassifier,
        {"priors": priors(), "floor": fraction},
        _pair(part("Discriminants", d="d", m="m"), part("Gaussians", k="k", d="m")),
        apart=_line_apart,
        together=_line_together,
    ),
    _from_sums(LeastSquaresClassifier, {"regularization": number(0)}, part("LinearFit", d="d", t="k")),
    Kind(
        LinearRegression,
        {"regularization": number(0)},
        {
            "n_features_in_": size("d"),
            "feature_names_in_": names("d"),
            "_had_columns": flag,
            "_announced": flag,
            "_adds_up": flag,
            "statistics_": part("JointMoments", d="d", t="t"),
            "_parameters": none_or(part("Regression", d="d", t="t")),
        },
        mark="statistics_",
        optional=(*OPTIONAL, "_had_columns"),
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
