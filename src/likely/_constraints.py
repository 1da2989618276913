"""Constraints: what a parameter or a fitted value may be, declared once on the class that holds it.

A class declares ``_constraints``, a mapping from each constructor parameter to a :class:`Constraint`. Dataclasses and
fitted states declare the same by their fields: ``coef_: Annotated[Floats, floats("r", "d")]``. ``fit`` checks the
parameters with :func:`check_parameters`, and :mod:`likely.persistence` checks parameters and states on loading.

Sizes of arrays are letters. The first value with a letter sets its size, and every later value must agree with it:
``d`` is the number of features, ``k`` of classes, and ``r`` of weight vectors (one for two classes, else one a class).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, get_args

import numpy as np

from likely.exceptions import InvalidParameterError


class Absent(Enum):
    """The value of a field of a fitted state that this model does not have."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class ViolationError(ValueError):
    """A value violates its constraint; the message begins with "must"."""


@dataclass
class Scope:
    """What is known while the values of one object are checked.

    Parameters
    ----------
    sizes : dict from letter to int
    kind : str
        Name of the object's class in a model file.
    fitted : bool
        Whether the object has a fitted state.
    parts : dict
        Scopes of the objects that were built before, by identity, each beside its object.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    kind: str = ""
    fitted: bool = False
    parts: dict[int, tuple[Any, Scope]] = field(default_factory=dict)

    def inner(self, value: Any) -> Scope | None:
        """The scope of an object that was built before, or None."""
        found = self.parts.get(id(value))
        return None if found is None else found[1]

    def settle(self, letter: str, n: int) -> None:
        """Set a size, or check it against the one that is set."""
        if self.sizes.setdefault(letter, n) != n:
            raise ViolationError(f"must be {self.sizes[letter]} in number, as elsewhere in the model, but are {n}")


@dataclass(frozen=True)
class Constraint:
    """A rule for one value, which can test a value and describe itself.

    Parameters
    ----------
    description : str
        What completes "must be", such as "a finite number >= 0".
    test : function of a value and a scope
        Returns False, or raises :class:`ViolationError` with a message of its own, for a value that is not allowed.
    remedy : function of a value, optional
        A sentence that is added to the message, or an empty text.
    """

    description: str
    test: Callable[[Any, Scope], bool | None]
    remedy: Callable[[Any], str] | None = None
    optional: bool = False
    saved: bool = True

    def __call__(self, value: Any, scope: Scope | None = None) -> None:
        """Raise :class:`ViolationError` unless the value is allowed."""
        if self.test(value, Scope() if scope is None else scope) is False:
            raise ViolationError(f"must be {self.description}, but is {show(value)}")

    def accepts(self, value: Any, scope: Scope | None = None) -> bool:
        """Whether the value is allowed."""
        try:
            self(value, scope)
        except ViolationError:
            return False
        return True


Constraints: TypeAlias = Mapping[str, Constraint]


def check_parameters(owner: Any) -> None:
    """Raise InvalidParameterError unless every parameter of an object obeys the constraint that its class declares."""
    cls: Any = type(owner)
    for name, constraint in constraints_of(cls).items():
        check_argument(name, getattr(owner, name), constraint, cls.__name__)


def check_argument(name: str, value: Any, constraint: Constraint, owner: str = "") -> None:
    """Raise InvalidParameterError unless an argument obeys a constraint; ``owner`` is the class it belongs to."""
    try:
        constraint(value)
    except ViolationError as error:
        whose = f"{name} of {owner}" if owner else name
        advice = f" {constraint.remedy(value)}".rstrip() if constraint.remedy else ""
        raise InvalidParameterError(f"{whose} {error}.{advice}", parameter=name) from None


@cache
def constraints_of(cls: Any) -> Constraints:
    """Constraints of the constructor's parameters: ``_constraints``, or the annotations of a dataclass's fields."""
    declared: Constraints | None = getattr(cls, "_constraints", None)
    if declared is not None:
        return declared
    if not (is_dataclass(cls) or hasattr(cls, "_fields")):
        return {}
    found = {}
    for base in reversed(cls.__mro__):
        for name, annotation in vars(base).get("__annotations__", {}).items():
            words = getattr(annotation, "__forward_arg__", annotation)
            # Only annotations that hold a constraint are evaluated: others may name what is imported for types alone.
            if isinstance(words, str) and words.startswith("Annotated["):
                found[name] = _constraint_in(words, vars(sys.modules[base.__module__]))
    order = [one.name for one in fields(cls)] if is_dataclass(cls) else list(cls._fields)
    return {name: found[name] for name in order if name in found}


def _constraint_in(annotation: str, names: dict[str, Any]) -> Constraint:
    extras = get_args(eval(annotation, names))[1:]
    return next(extra for extra in extras if isinstance(extra, Constraint))


# Plain values


def number(
    low: float = -np.inf,
    high: float = np.inf,
    *,
    above: float = -np.inf,
    below: float = np.inf,
    finite: bool = True,
) -> Constraint:
    """A real number with ``low <= value <= high`` and ``above < value < below``; NaN only if it need not be finite."""
    bounded = (low, above) != (-np.inf, -np.inf) or (high, below) != (np.inf, np.inf)

    def test(value: Any, scope: Scope) -> bool:
        if not is_number(value) or (finite and not np.isfinite(value)):
            return False
        # Strict bounds of infinity exclude nothing, so that a number that need not be finite may be infinite.
        inside = low <= value <= high and (value > above or above == -np.inf) and (value < below or below == np.inf)
        return bool(inside) or not bounded

    return Constraint(_describe_number(low, high, above, below, finite), test)


def _describe_number(low: float, high: float, above: float, below: float, finite: bool) -> str:
    if max(low, above) > -np.inf and min(high, below) < np.inf:
        left, right = ("[" if low > above else "("), ("]" if high < below else ")")
        if (left, right) == ("[", "]"):
            return f"a number from {low:g} to {high:g}"
        opened = "the open interval " if (left, right) == ("(", ")") else ""
        return f"a number in {opened}{left}{max(low, above):g}, {min(high, below):g}{right}"
    limits = [f">= {low:g}"] if low > -np.inf else [f"> {above:g}"] if above > -np.inf else []
    limits += [f"<= {high:g}"] if high < np.inf else [f"< {below:g}"] if below < np.inf else []
    return " ".join([f"a {'finite ' if finite else ''}number", *limits])


def count(low: int = 0, high: int = 2**53) -> Constraint:
    """A whole number in a range."""
    limit = f">= {low}" if high >= 2**31 else f"from {low} to {high}"
    return Constraint(f"a whole number {limit}", lambda value, scope: is_count(value, low, high))


def size(letter: str) -> Constraint:
    """A whole number >= 1 that is a size of the model."""

    def test(value: Any, scope: Scope) -> bool:
        if not is_count(value, 1, 2**53):
            return False
        if scope.sizes.setdefault(letter, int(value)) != value:
            raise ViolationError(f"must be {scope.sizes[letter]}, as elsewhere in the model, but is {show(value)}")
        return True

    return Constraint("a whole number >= 1", test)


def one_of(*options: Any) -> Constraint:
    """One of a few values."""

    def test(value: Any, scope: Scope) -> bool:
        return any(_is_same(value, option) for option in options)

    return Constraint(f"one of {', '.join(map(repr, options))}", test)


def _is_same(value: Any, option: Any) -> bool:
    if option is None or isinstance(option, bool) or isinstance(value, bool):
        return value is option
    return isinstance(value, type(option)) and bool(value == option)


flag = Constraint("True or False", lambda value, scope: isinstance(value, (bool, np.bool_)))
"""A truth value."""

text = Constraint("a text", lambda value, scope: isinstance(value, str))
"""A text."""

anything = Constraint("anything", lambda value, scope: True)
"""Any value."""

label = Constraint(
    "a label, such as a text or a number",
    lambda value, scope: value is None or isinstance(value, (str, bytes, bool, int, float, np.generic)),
)
"""A plain value that may name a class."""

random_state = Constraint(
    "None, a whole number from 0 to 4294967295 or a random generator",
    lambda value, scope: (
        value is None
        or is_count(value, 0, 2**32 - 1)
        or isinstance(value, (np.random.RandomState, np.random.Generator))
        or value is np.random
    ),
)
"""A seed, or a generator of scikit-learn's kind; only seeds can be saved."""


# Combinations


def none_or(inner: Constraint) -> Constraint:
    """None, or a value that obeys another constraint."""

    def test(value: Any, scope: Scope) -> None:
        if value is not None:
            inner(value, scope)

    return Constraint(f"{inner.description} or None", _described(test, f"{inner.description} or None"))


def either(*choices: Constraint, remedy: Callable[[Any], str] | None = None) -> Constraint:
    """A value that obeys one of several constraints."""
    *first, last = [choice.description for choice in choices]
    description = f"{', '.join(first)} or {last}" if first else last

    def test(value: Any, scope: Scope) -> bool:
        for choice in choices:
            sizes = dict(scope.sizes)
            if choice.accepts(value, scope):
                return True
            scope.sizes.clear()
            scope.sizes.update(sizes)
        return False

    return Constraint(description, test, remedy)


def _described(test: Callable[[Any, Scope], None], description: str) -> Callable[[Any, Scope], None]:
    """Replace the plain message of an inner constraint by one with another description."""

    def described(value: Any, scope: Scope) -> None:
        try:
            test(value, scope)
        except ViolationError as error:
            if str(error).startswith("must be ") and str(error).endswith(f", but is {show(value)}"):
                raise ViolationError(f"must be {description}, but is {show(value)}") from None
            raise

    return described


def optional(inner: Constraint) -> Constraint:
    """A field of a fitted state, or an attribute, that a model need not have."""
    return replace(inner, optional=True)


NOT_SAVED = Constraint("a value that model files leave out", lambda value, scope: True, saved=False)
"""A field of a fitted state that describes the training rows; it is None after loading."""


def list_of(inner: Constraint, least: int = 0, types: tuple[type, ...] = (list, tuple)) -> Constraint:
    """A list or tuple of values that obey a constraint."""
    kind = " or ".join(one.__name__ for one in types)
    description = f"a {kind} of{f' at least {least}, each' if least else ''} {inner.description}"

    def test(value: Any, scope: Scope) -> bool:
        if type(value) not in types or len(value) < least:
            return False
        for item in value:
            inner(item, scope)
        return True

    return Constraint(description, test)


def tuple_of(*inner: Constraint) -> Constraint:
    """A tuple with one value for each constraint."""
    description = f"a tuple of {len(inner)}: {', '.join(one.description for one in inner)}"

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not tuple or len(value) != len(inner):
            return False
        for constraint, item in zip(inner, value, strict=True):
            constraint(item, scope)
        return True

    return Constraint(description, test)


def mapping_of(keys: Constraint, values: Constraint) -> Constraint:
    """A mapping from keys to values that obey a constraint each."""

    def test(value: Any, scope: Scope) -> bool:
        if not isinstance(value, Mapping):
            return False
        for key, inner in value.items():
            keys(key, scope)
            values(inner, scope)
        return True

    return Constraint(f"a mapping from {keys.description} to {values.description}", test)


# Arrays


def floats(
    *shape: int | str, low: float = -np.inf, above: float | None = None, finite: bool = True, nan: bool = False
) -> Constraint:
    """An array of float64 with a shape in letters; "_" is any size, and a letter with a star may be 0."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.float64:
            raise ViolationError(f"must be an array of float64, but is {show(value)}")
        check_shape(value.shape, shape, scope)
        least, most = (value.min(), value.max()) if value.size else (0.0, 0.0)  # NaN if any value is
        if not nan and np.isnan(least):
            raise ViolationError("must hold no NaN, but does")
        if finite and not (np.isfinite(least) and np.isfinite(most)):
            raise ViolationError("must be finite, but is not")
        if value.size and least < low:
            raise ViolationError(f"must be at least {low:g} everywhere, but the least is {least:g}")
        if value.size and above is not None and least <= above:
            raise ViolationError(f"must be above {above:g} everywhere, but the least is {least:g}")
        return True

    return Constraint(f"an array of float64 of shape ({', '.join(map(str, shape))})", test)


def check_shape(shape: tuple[int, ...], letters: Iterable[int | str], scope: Scope) -> None:
    """Raise ViolationError unless a shape agrees with letters, whose sizes are set where they are not yet."""
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
        raise ViolationError(f"must have the shape ({need}), but has {shape}")


def integers(*shape: int | str, low: int = 0) -> Constraint:
    """An array of integers of NumPy's index type with a shape in letters."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.intp or (value < low).any():
            return False
        check_shape(value.shape, shape, scope)
        return True

    return Constraint(f"an array of whole numbers >= {low}", test)


def array_of(kinds: str, axes: int = 1) -> Constraint:
    """An array of numbers of some kinds of NumPy's, finite or NaN."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype.kind not in kinds or value.ndim != axes:
            return False
        return value.dtype.kind != "f" or not np.isinf(value).any()

    return Constraint(f"an array of numbers with {axes} {'axis' if axes == 1 else 'axes'}", test)


def rising(inner: Constraint) -> Constraint:
    """An array whose values never fall from row to row."""

    def test(value: Any, scope: Scope) -> bool:
        inner(value, scope)
        if not (value[:-1] <= value[1:]).all():
            raise ViolationError("must rise, but falls somewhere")
        return True

    return Constraint(f"{inner.description} that never falls", test)


def probabilities(letter: str) -> Constraint:
    """An array of probabilities that sum to 1."""
    shares = floats(letter, low=0.0)

    def test(value: Any, scope: Scope) -> bool:
        shares(value, scope)
        if not abs(value.sum() - 1) < 1e-6:
            raise ViolationError(f"must sum to 1, but sums to {value.sum():g}")
        return True

    return Constraint(f"probabilities of shape ({letter},)", test)


def class_labels(least: int = 2, unsorted: int = 0) -> Constraint:
    """Distinct labels of one type, sorted except for the last ``unsorted``; sets ``k`` and ``r``."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind not in "iubfUS":
            raise ViolationError(f"must be an array of labels, but is {show(value)}")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ViolationError("must be finite labels, but are not")
        ordered = value[: len(value) - unsorted]
        if not (ordered[:-1] < ordered[1:]).all() or len(np.unique(value)) < len(value):
            raise ViolationError("must be sorted labels, none of them twice, but are not")
        check_shape(value.shape, ("k",), scope)
        if len(value) < least:
            raise ViolationError(f"must be at least {least} labels, but is {len(value)}")
        scope.sizes["r"] = 1 if len(value) == 2 else len(value)
        return True

    return Constraint("sorted labels", test)


def names(letter: str) -> Constraint:
    """An array of names of columns."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype != object:
            return False
        check_shape(value.shape, (letter,), scope)
        return True

    return Constraint("an array of names", test)


def numbers(axes: int) -> Constraint:
    """Numbers as a caller may give them: an array, or lists of lists."""

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, (str, bytes, Mapping)) or is_number(value) or value is None:
            return False
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            return False
        return array.ndim == axes and array.dtype.kind in "iuf" and array.size > 0

    return Constraint(f"an array of numbers with {axes} {'axis' if axes == 1 else 'axes'}", test)


def priors(*, alone: bool = False) -> Constraint:
    """Priors as a caller may give them: in class order or by label, or one number where that may stand alone.

    That they are probabilities is checked where the classes are known.
    """
    choices = [mapping_of(label, number()), numbers(1), one_of(None)]
    found = either(*([number(finite=False)] if alone else []), *choices)
    single = "a number, " if alone else ""
    return replace(found, description=f"{single}numbers in class order, a mapping from labels to numbers or None")


# Objects


def instance_of(*classes: type, **links: str) -> Constraint:
    """An object of one of some classes, whose sizes may be linked to those of its owner.

    ``instance_of(Gaussians, k="k", d="d")`` links the sizes of the object (left) to those of its owner (right); a size
    with a star may also be 1. Sizes are compared when a model is loaded.
    """

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, classes) and links:
            _link(scope.inner(value) or Scope(kind=type(value).__name__), links, scope)
        return isinstance(value, classes)

    return Constraint(" or ".join(_with_article(one.__name__.lstrip("_")) for one in classes), test)


def object_with(description: str, *methods: str, **links: str) -> Constraint:
    """An object with some methods, whose sizes may be linked to those of its owner (see :func:`instance_of`)."""

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, type) or not all(hasattr(value, method) for method in methods):
            return False
        if links:
            _link(scope.inner(value) or Scope(kind=type(value).__name__), links, scope)
        return True

    return Constraint(description, test)


def _link(inner: Scope, links: Mapping[str, str], scope: Scope) -> None:
    for theirs, ours in links.items():
        n = inner.sizes.get(theirs)
        if n is None:
            raise ViolationError(f"must be a {inner.kind} that was fitted, but is not")
        if ours.endswith("*") and n == 1:
            continue
        if scope.sizes.setdefault(ours.rstrip("*"), n) != n:
            raise ViolationError(f"must have {scope.sizes[ours.rstrip('*')]} for its {theirs}, but has {n}")


def _with_article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


# Values in words, and what counts as a number


def show(value: Any) -> str:
    """A value in a message: its repr, shortened, or a description of an array."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype} of shape {value.shape}"
    words = repr(value)
    return words if len(words) <= 100 else f"{words[:100]}…"


def is_number(value: Any) -> bool:
    """Whether a value is a real number and no truth value; NaN and infinities are numbers."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_count(value: Any, low: int, high: int) -> bool:
    """Whether a value is a whole number in a range."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)
