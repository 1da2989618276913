"""What the values of a model must be: small checks that a kind is described by.

A check looks at one value, in the scope of the part that it belongs to. Sizes are letters: the first value that has a
size settles it, and all others must agree. ``d`` is the number of features, ``k`` of classes, and ``r`` of weight
vectors: one for two classes, else one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

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


@dataclass
class Scope:
    """What is known while a part is checked: its sizes, and those of parts that were built before it."""

    inner: Callable[[Any], Scope | None]
    kind: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    fitted: bool = False


Check: TypeAlias = Callable[[Any, Scope], None]


def anything(value: Any, scope: Scope) -> None:
    """Any plain value."""


def flag(value: Any, scope: Scope) -> None:
    """True or false."""
    if type(value) not in (bool, np.bool_):
        raise RefusedError(f"must be True or False, but is {said(value)}")


def number(
    least: float = -np.inf, most: float = np.inf, *, above: float = -np.inf, finite: bool = True
) -> Callable[[Any, Scope], None]:
    """A real number in a range; NaN and infinities only where they need not be finite."""

    def check(value: Any, scope: Scope) -> None:
        if not _is_real(value):
            raise RefusedError(f"must be a number, but is {said(value)}")
        if finite and not (np.isfinite(value) and least <= value <= most and value > above):
            raise RefusedError(f"must be a finite number in its range, but is {said(value)}")

    return check


def count(least: int = 0, most: int = 2**53) -> Check:
    """A whole number in a range."""

    def check(value: Any, scope: Scope) -> None:
        if not _is_whole(value) or not least <= value <= most:
            raise RefusedError(f"must be a whole number from {least} to {most}, but is {said(value)}")

    return check


def size(letter: str) -> Check:
    """A whole number from 1 on that is a size of the model."""

    def check(value: Any, scope: Scope) -> None:
        count(1)(value, scope)
        if scope.sizes.setdefault(letter, int(value)) != value:
            raise RefusedError(f"must be {scope.sizes[letter]}, as elsewhere in the model, but is {said(value)}")

    return check


def option(*options: Any) -> Check:
    """One of a few values."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) not in {type(known) for known in options} or value not in options:
            raise RefusedError(f"must be one of {', '.join(map(repr, options))}, but is {said(value)}")

    return check


def text(value: Any, scope: Scope) -> None:
    """A text."""
    if type(value) is not str:
        raise RefusedError(f"must be a text, but is {said(value)}")


def label(value: Any, scope: Scope) -> None:
    """A plain value that may name a class."""
    if value is not None and type(value) not in (str, bytes, bool, int, float) and not isinstance(value, np.generic):
        raise RefusedError(f"must be a label, but is {said(value)}")


def seed(value: Any, scope: Scope) -> None:
    """A whole number that random orders follow from, or None."""
    if value is not None:
        count(0, 2**32 - 1)(value, scope)


def either(*checks: Check) -> Check:
    """What passes one of several checks; the last says what is wrong."""

    def check(value: Any, scope: Scope) -> None:
        for one in checks[:-1]:
            sizes = dict(scope.sizes)
            try:
                return one(value, scope)
            except RefusedError:
                scope.sizes = sizes
        return checks[-1](value, scope)

    return check


def none_or(inner: Check) -> Check:
    """None, or what passes a check."""

    def check(value: Any, scope: Scope) -> None:
        if value is not None:
            inner(value, scope)

    return check


def listed(inner: Check, least: int = 0, types: tuple[type, ...] = (list, tuple)) -> Check:
    """A list or tuple of what passes a check."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) not in types or len(value) < least:
            raise RefusedError(f"must be a list of at least {least}, but is {said(value)}")
        for item in value:
            inner(item, scope)

    return check


def mapped(keys: Check, values: Check) -> Check:
    """A mapping."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is not dict:
            raise RefusedError(f"must be a mapping, but is {said(value)}")
        for key, inner in value.items():
            keys(key, scope)
            values(inner, scope)

    return check


def floats(
    *shape: int | str, least: float = -np.inf, above: float | None = None, finite: bool = True, nan: bool = False
) -> Check:
    """An array of doubles of a shape in letters; "_" is any size, and one that ends with a star may be 0."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is not np.ndarray or value.dtype != np.float64:
            raise RefusedError(f"must be an array of float64, but is {said(value)}")
        _check_shape(value.shape, shape, scope)
        low, high = (value.min(), value.max()) if value.size else (0.0, 0.0)  # NaN if any value is
        if not nan and np.isnan(low):
            raise RefusedError("must hold no NaN, but does")
        if finite and not (np.isfinite(low) and np.isfinite(high)):
            raise RefusedError("must be finite, but is not")
        if value.size and low < least:
            raise RefusedError(f"must be at least {least:g} everywhere, but the least is {low:g}")
        if value.size and above is not None and low <= above:
            raise RefusedError(f"must be above {above:g} everywhere, but the least is {low:g}")

    return check


def _check_shape(shape: tuple[int, ...], letters: Iterable[int | str], scope: Scope) -> None:
    wanted = list(letters)
    known = [letter if isinstance(letter, int) else scope.sizes.get(letter.rstrip("*")) for letter in wanted]
    fits = len(shape) == len(wanted) and all(k is None or k == n for k, n in zip(known, shape, strict=True))
    for letter, n in zip(wanted, shape, strict=False):
        if not fits:
            break
        if isinstance(letter, str) and letter != "_":
            fits = scope.sizes.setdefault(letter.rstrip("*"), n) == n and (n > 0 or letter.endswith("*"))
    if not fits:
        need = ", ".join(str(k if k is not None else letter) for k, letter in zip(known, wanted, strict=True))
        raise RefusedError(f"must have the shape ({need}), but has {shape}")


def rising(inner: Check) -> Check:
    """An array whose values never fall from row to row."""

    def check(value: Any, scope: Scope) -> None:
        inner(value, scope)
        if not (value[:-1] <= value[1:]).all():
            raise RefusedError("must rise, but falls somewhere")

    return check


def weights_of(letter: str) -> Check:
    """Probabilities that sum to one."""

    def check(value: Any, scope: Scope) -> None:
        floats(letter, least=0.0)(value, scope)
        if not abs(value.sum() - 1) < 1e-6:
            raise RefusedError(f"must sum to 1, but sums to {value.sum():g}")

    return check


def classes(least: int = 2, sorted_but: int = 0) -> Check:
    """Labels of one type, none twice, sorted but for some at the end; settles ``k`` and ``r``."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind not in "iubfUS":
            raise RefusedError(f"must be an array of labels, but is {said(value)}")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise RefusedError("must be finite labels, but are not")
        ordered = value[: len(value) - sorted_but]
        if not (ordered[:-1] < ordered[1:]).all() or len(np.unique(value)) < len(value):
            raise RefusedError("must be sorted labels, none of them twice, but are not")
        _check_shape(value.shape, ("k",), scope)
        if len(value) < least:
            raise RefusedError(f"must be at least {least} labels, but is {len(value)}")
        scope.sizes["r"] = 1 if len(value) == 2 else len(value)

    return check


def names(letter: str) -> Check:
    """Names of columns."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype != object:
            raise RefusedError(f"must be an array of names, but is {said(value)}")
        _check_shape(value.shape, (letter,), scope)

    return check


def numbers(axes: int) -> Check:
    """Numbers as a caller may give them: an array, or lists of lists, of so many axes."""

    def check(value: Any, scope: Scope) -> None:
        if type(value) is np.ndarray and value.dtype.kind in "iuf" and value.ndim == axes:
            return
        inner: Check = number(finite=False)
        for _ in range(axes):
            inner = listed(inner, least=1)
        inner(value, scope)

    return check


def priors(*, alone: bool = False) -> Check:
    """Priors as a caller may give them: in class order or by label, or, where it may stand alone, one number."""

    def check(value: Any, scope: Scope) -> None:
        if value is None:
            return
        if type(value) is dict:
            mapped(label, number(0))(value, scope)
        elif alone and _is_real(value):
            number(0, 1)(value, scope)
        else:
            numbers(1)(value, scope)

    return check


def part(*kinds: str, **links: str) -> Check:
    """A part of one of some kinds, whose sizes are those of this part; a size with a star is one or that."""

    def check(value: Any, scope: Scope) -> None:
        inner = scope.inner(value)
        if inner is None or (kinds and inner.kind not in kinds):
            raise RefusedError(f"must be {' or '.join(kinds) or 'a part of a model'}, but is {said(value)}")
        for theirs, ours in links.items():
            n = inner.sizes.get(theirs)
            if n is None:
                raise RefusedError(f"must be a {inner.kind} that was fitted, but is not")
            if ours.endswith("*") and n == 1:
                continue
            if scope.sizes.setdefault(ours.rstrip("*"), n) != n:
                raise RefusedError(f"must have {scope.sizes[ours.rstrip('*')]} for its {theirs}, but has {n}")

    return check


def _is_real(value: Any) -> bool:
    if type(value) in (int, float):
        return True
    return isinstance(value, (np.integer, np.floating))


def _is_whole(value: Any) -> bool:
    return type(value) is int or isinstance(value, np.integer)
