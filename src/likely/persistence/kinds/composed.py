"""Kinds of models made of others: chains, and classifiers whose scores are mapped."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import sklearn.pipeline

from likely.blocks import AdditiveState
from likely.models import CalibratedClassifier, FusedClassifier, Pipeline
from likely.models.pipeline import ChainSums
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
    none_or,
    number,
    option,
    part,
    priors,
    text,
    weights_of,
)
from likely.persistence.container import RefusedError
from likely.persistence.kinds.calibration import CALIBRATORS, FUSERS
from likely.persistence.kinds.densities import OPTIONAL, additive
from likely.persistence.kinds.foreign import SPLITTERS
from likely.persistence.kinds.kind import Kind
from likely.persistence.values import said
from likely.resampling.chains import is_mappable, steps_of

__all__ = ["KINDS"]


def _steps(value: Any, scope: Scope) -> None:
    """Pairs of name and step, each step giving as many columns as the next one takes."""
    if type(value) is not list or not value:
        raise RefusedError(f"must be a list of steps, but is {said(value)}")
    for pair in value:
        if type(pair) is not tuple or len(pair) != 2:
            raise RefusedError("must be pairs of name and step, but are not")
        text(pair[0], scope)
        either(option(None, "passthrough"), part())(pair[1], scope)
    if len({name for name, _ in value}) < len(value):
        raise RefusedError("must have a name each, but two have the same")
    active = [step for _, step in value if step is not None and step != "passthrough"]
    if any(not hasattr(step, "transform") for step in active[:-1]):
        raise RefusedError("must all transform rows but for the last, but one does not")
    if active and not hasattr(active[-1], "fit"):
        raise RefusedError("must end with a model, but do not")
    _check_widths([scope.inner(step) for step in active], scope)


def _check_widths(steps: list[Any], scope: Scope) -> None:
    """What comes out of a step goes into the next, as far as either is known."""
    width = None
    scope.fitted = bool(steps) and steps[-1].fitted
    if scope.fitted and not all(step.fitted for step in steps):
        raise RefusedError("must all be fitted if the last is, but one is not")
    for i, step in enumerate(steps):
        d = step.sizes.get("d")
        if None not in (width, d) and width != d:
            raise RefusedError(f"must fit each other, but step {i} takes {d} columns and is given {width}")
        if i == 0 and d is not None:
            scope.sizes["d"] = d
        width = step.sizes.get("out")
    if steps and "k" in steps[-1].sizes:
        scope.sizes["k"] = steps[-1].sizes["k"]
    if width is not None:
        scope.sizes["out"] = width


def _sums_apart(sums: ChainSums, state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "_parameters": state["_parameters"] is not None}


def _sums(parameters: dict[str, Any], state: dict[str, Any]) -> ChainSums:
    """Sums without their chain, which is put in when it is there."""
    found = ChainSums(None)
    known = {one.name for one in fields(AdditiveState)}
    for name, value in state.items():
        if name not in known:
            setattr(found, name, value)
    found._state = AdditiveState(**{name: value for name, value in state.items() if name in known})
    return found


def _chain_together(pipeline: Pipeline, state: dict[str, Any]) -> dict[str, Any]:
    sums = state["_sums"]
    sums.pipeline = pipeline
    sums._parameters = steps_of(pipeline) if sums._parameters else None
    return state


def _check_chain(pipeline: Pipeline, scope: Scope) -> None:
    if "_sums" in vars(pipeline) and not is_mappable(steps_of(pipeline)):
        raise RefusedError("has sums to learn from, but steps that do not learn from such")


def _indices(value: Any, scope: Scope) -> None:
    is_array = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "iub"
    if not is_array:
        listed(count())(value, scope)
    elif value.size and value.min() < 0:
        raise RefusedError("must be positions of rows, but one is negative")


def _fold(value: Any, scope: Scope) -> None:
    if type(value) not in (list, tuple) or len(value) != 2:
        raise RefusedError("must be pairs of train and test, but are not")
    _indices(value[0], scope)
    _indices(value[1], scope)


def _scorer(value: Any, scope: Scope) -> None:
    part()(value, scope)
    if not (hasattr(value, "log_likelihood") or hasattr(value, "decision_function")):
        raise RefusedError(f"must be a classifier that gives scores, but is {said(value)}")


def _models_apart(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Models that came fitted are the parameters themselves, and are kept once."""
    given, fitted = model._models(), state["models_"]
    prefit = len(given) == len(fitted) > 0 and all(a is b for a, b in zip(given, fitted, strict=True))
    return {**state, "models_": None} if prefit else state


def _models_together(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "models_": model._models()} if state["models_"] is None else state


def _check_mapped(model: Any, scope: Scope) -> None:
    """Models and map know the same classes, and there is a floor for each model."""
    if "map_" not in vars(model):
        return
    known = [part.classes_ for part in [*model.models_, model.map_] if hasattr(part, "classes_")]
    if any(len(theirs) != scope.sizes["k"] or not (np.sort(theirs) == model.classes_).all() for theirs in known):
        raise RefusedError(f"classes_ must be those of its models and of its map, but are {said(model.classes_)}")
    if len(model.floors_) != len(model.models_):
        raise RefusedError(f"floors_ must be one for each model, but are {len(model.floors_)} for {len(model.models_)}")
    inner = scope.inner(model.map_)
    assert inner is not None
    if model.models_ and inner.sizes.get("s", len(model.models_)) != len(model.models_):
        raise RefusedError(f"map_ must fuse {len(model.models_)} systems, but fuses {inner.sizes['s']}")
    if len(model.models_) != 1 and isinstance(model, CalibratedClassifier):
        raise RefusedError(f"models_ must be one, but are {len(model.models_)}")
    known = [sizes.sizes["d"] for sizes in map(scope.inner, model.models_) if sizes and "d" in sizes.sizes]
    if len(set(known)) > 1:
        raise RefusedError(f"models_ must take the same columns, but take {known}")
    scope.sizes |= {"d": known[0]} if known else {}


def _mapped_kind(kind: Any, parameters: dict[str, Check], maps: tuple[str, ...], name: str) -> Kind:
    return Kind(
        kind,
        {**parameters, name: none_or(part(*maps)), "cv": _folds, "priors": priors()},
        {
            "classes_": classes(),
            "models_": none_or(listed(_scorer, types=(list,))),
            "map_": part(*maps),
            "floors_": listed(number(finite=False), types=(list,)),
            "_shares": weights_of("k"),
        },
        mark="map_",
        left_out={"scores_": None, "calibrated_scores_": None},
        apart=_models_apart,
        together=_models_together,
        rule=_check_mapped,
    )


_folds = either(part(*SPLITTERS), option("prefit", None), count(2), listed(_fold, least=1))
_named = listed(either(_scorer, lambda value, scope: _entry(value, scope)), least=1)
_memory = option(None)


def _entry(value: Any, scope: Scope) -> None:
    if type(value) is not tuple or len(value) != 2:
        raise RefusedError(f"must be classifiers, or pairs of name and classifier, but one is {said(value)}")
    text(value[0], scope)
    _scorer(value[1], scope)


_CHAIN: dict[str, Check] = {
    "steps": _steps,
    "transform_input": none_or(listed(text)),
    "memory": _memory,
    "verbose": flag,
}

KINDS = [
    Kind(
        ChainSums,
        {},
        {**additive(part("ByClass", "Moments", "DiagonalMoments", d="d"), flag), "_parameters": flag},
        mark="statistics_",
        optional=(*OPTIONAL, "classes_"),
        derived=("pipeline",),
        apart=_sums_apart,
        make=_sums,
        alone=False,
    ),
    Kind(
        Pipeline,
        _CHAIN,
        {"_sums": part("ChainSums", d="d")},
        mark="_sums",
        together=_chain_together,
        rule=_check_chain,
    ),
    Kind(sklearn.pipeline.Pipeline, _CHAIN, name="sklearn.Pipeline"),
    _mapped_kind(CalibratedClassifier, {"estimator": _scorer}, CALIBRATORS, "calibrator"),
    _mapped_kind(FusedClassifier, {"estimators": none_or(either(mapped(label, _scorer), _named))}, FUSERS, "fuser"),
]
