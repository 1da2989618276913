# ruff: noqa: D103
"""The constraints under the names that the tables of kinds use, for classes that do not declare themselves yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from likely import _constraints as c
from likely._constraints import Constraint, Scope, anything, flag, label, names, rising, size, text
from likely.persistence.container import RefusedError
from likely.persistence.values import said

__all__ = [
    "Check",
    "Scope",
    "anything",
    "classes",
    "count",
    "either",
    "flag",
    "floats",
    "label",
    "listed",
    "mapped",
    "names",
    "none_or",
    "number",
    "numbers",
    "option",
    "part",
    "priors",
    "rising",
    "seed",
    "size",
    "text",
    "weights_of",
]

Check: TypeAlias = Callable[[Any, Scope], Any]

count, option, numbers, priors, seed = c.count, c.one_of, c.numbers, c.priors, c.random_state
weights_of = c.probabilities


def _constraint(check: Check) -> Constraint:
    return check if isinstance(check, Constraint) else Constraint(check.__doc__ or "another value", check)


def number(least: float = -np.inf, most: float = np.inf, *, above: float = -np.inf, finite: bool = True) -> Constraint:
    return c.number(least, most, above=above, finite=finite)


def either(*checks: Check) -> Any:
    return c.either(*map(_constraint, checks))


def none_or(inner: Check) -> Any:
    return c.none_or(_constraint(inner))


def listed(inner: Check, least: int = 0, types: tuple[type, ...] = (list, tuple)) -> Any:
    return c.list_of(_constraint(inner), least, types)


def mapped(keys: Check, values: Check) -> Any:
    return c.mapping_of(_constraint(keys), _constraint(values))


def floats(
    *shape: int | str,
    least: float = -np.inf,
    above: float | None = None,
    finite: bool = True,
    nan: bool = False,
) -> Any:
    return c.floats(*shape, low=least, above=above, finite=finite, nan=nan)


def classes(least: int = 2, sorted_but: int = 0) -> Any:
    return c.class_labels(least, sorted_but)


def part(*kinds: str, **links: str) -> Any:
    """A part of one of some kinds, by name."""

    def check(value: Any, scope: Scope) -> None:
        inner = scope.inner(value)
        if inner is None or (kinds and inner.kind not in kinds):
            raise RefusedError(f"must be {' or '.join(kinds) or 'a part of a model'}, but is {said(value)}")
        c._link(inner, links, scope)

    return Constraint(" or ".join(kinds) or "a part of a model", check)
