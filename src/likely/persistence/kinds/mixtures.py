"""Constraints on densities and mixtures, under the names that the remaining tables of kinds use."""

from __future__ import annotations

from typing import Any

from likely.densities.mixtures.starting import FLOORS, STARTS
from likely.persistence.checks import Check, Scope, part
from likely.persistence.container import RefusedError
from likely.persistence.values import said

__all__ = ["density", "floor", "start"]

floor: Check = FLOORS
start: Check = STARTS


def density(value: Any, scope: Scope) -> None:
    """Anything with a log density that learns from a source."""
    part()(value, scope)
    if not hasattr(value, "log_density") or not hasattr(value, "fit_source"):
        raise RefusedError(f"must be a density, but is {said(value)}")
