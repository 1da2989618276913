"""Kinds of calibrators and fusers."""

from __future__ import annotations

from typing import Any

from likely.calibration import AffineCalibrator, IsotonicCalibrator, LogisticFusion, ProductFusion, VotingFusion
from likely.persistence.checks import Check, Scope, classes, count, flag, floats, number, priors, rising, size
from likely.persistence.container import RefusedError
from likely.persistence.kinds.kind import Kind

__all__ = ["CALIBRATORS", "FUSERS", "KINDS"]

CALIBRATORS = ("AffineCalibrator", "IsotonicCalibrator")
FUSERS = ("LogisticFusion", "ProductFusion", "VotingFusion")


def _offset(value: Any, scope: Scope) -> None:
    """One for two classes, else one for each."""
    if scope.sizes["k"] == 2:
        number()(value, scope)
    else:
        floats("k")(value, scope)


def _check_two(model: IsotonicCalibrator, scope: Scope) -> None:
    if scope.sizes.get("k", 2) != 2:
        raise RefusedError(f"classes_ must be two, but are {scope.sizes['k']}")


_fit: dict[str, Check] = {"objective_": number(finite=False), "n_iter_": count()}
_points = rising(floats("points", finite=False))

KINDS = [
    Kind(
        AffineCalibrator,
        {"prior": priors(alone=True), "rising": flag},
        {"classes_": classes(), "scale_": number(), "offset_": _offset, **_fit},
        mark="scale_",
    ),
    Kind(
        IsotonicCalibrator,
        {"bounded": flag},
        {"classes_": classes(), "scores_": _points, "llr_": _points},
        mark="llr_",
        rule=_check_two,
    ),
    Kind(
        LogisticFusion,
        {"prior": priors(alone=True)},
        {"n_systems_": size("s"), "classes_": classes(), "weights_": floats("s"), "offset_": _offset, **_fit},
        mark="n_systems_",
    ),
    Kind(ProductFusion, {}, {"n_systems_": size("s")}, mark="n_systems_"),
    Kind(VotingFusion, {"threshold": number(finite=False)}, {"n_systems_": size("s")}, mark="n_systems_"),
]
