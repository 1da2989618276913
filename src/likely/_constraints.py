"""Constraints on parameters and fitted values, declared once on the class that holds them.

A class declares ``_constraints``, a mapping from each constructor parameter to a :class:`Constraint`. Dataclasses and
fitted states declare constraints in the annotations of their fields: ``coef_: Annotated[Floats, floats("r", "d")]``.
``fit`` checks the parameters with :func:`check_parameters`, and :mod:`likely.persistence` checks parameters and states
on loading.

Shapes of arrays are written in letters, one letter for each axis. The first array whose shape has a letter sets the
size of this letter, and every later array must have the same size there. ``d`` is the number of features, ``k`` the
number of classes, and ``r`` the number of weight vectors (one for two classes, otherwise one per class).
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
    """Placeholder in a field of a fitted state, for an attribute that this model does not have."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class ViolationError(ValueError):
    """A value violates its constraint; the message begins with "must"."""


@dataclass
class Scope:
    """Context in which the values of one object are checked.

    Parameters
    ----------
    sizes : dict from letter to int
        The size of each letter that occurred in the shape of an array so far, such as ``{"d": 4}``.
    kind : str
        Name of the object's class in a model file.
    fitted : bool
        Whether the object has a fitted state.
    parts : dict from int to (object, Scope)
        The objects of the same model file that were built before this one, with their scopes. The key is the ``id`` of
        the object.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    kind: str = ""
    fitted: bool = False
    parts: dict[int, tuple[Any, Scope]] = field(default_factory=dict)

    def scope_of(self, value: Any) -> Scope | None:
        """Return the scope of ``value`` if it is an object that was built before, otherwise None."""
        found = self.parts.get(id(value))
        return None if found is None else found[1]


@dataclass(frozen=True)
class Constraint:
    """Rule for one value, with a test and a description.

    Parameters
    ----------
    description : str
        The text after "must be", such as "a finite number >= 0".
    test : function of a value and a scope
        For a value that is not allowed, the function returns False, or raises :class:`ViolationError` with a more
        specific message.
    remedy : function of a value, optional
        The function returns a sentence that is added to the message, or an empty text.
    optional : bool
        Whether the value may be absent from the object that holds it.
    saved : bool
        Whether model files hold the value.
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
        """Return whether the value is allowed."""
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
    """Raise InvalidParameterError unless an argument obeys a constraint.

    ``owner`` is the name of the class whose constructor takes the argument. The message names this class.
    """
    try:
        constraint(value)
    except ViolationError as error:
        whose = f"{name} of {owner}" if owner else name
        advice = f" {constraint.remedy(value)}".rstrip() if constraint.remedy else ""
        raise InvalidParameterError(f"{whose} {error}.{advice}", parameter=name) from None


@cache
def constraints_of(cls: Any) -> Constraints:
    """Return the constraint of each constructor parameter of a class.

    The constraints are those of the attribute ``_constraints``. A class without this attribute has the constraints in
    the annotations of its fields, if it is a dataclass or a named tuple.
    """
    declared: Constraints | None = getattr(cls, "_constraints", None)
    if declared is not None:
        return declared
    if not (is_dataclass(cls) or hasattr(cls, "_fields")):
        return {}
    found = {}
    for base in reversed(cls.__mro__):
        for name, annotation in vars(base).get("__annotations__", {}).items():
            words = getattr(annotation, "__forward_arg__", annotation)
            # Evaluate only annotations that hold a constraint. Other annotations may use names that are imported for
            # type checking only and do not exist at run time.
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
    """Constrain to a real number with ``low <= value <= high`` and ``above < value < below``.

    NaN is allowed only if ``finite`` is False and there are no bounds.
    """
    bounded = (low, above) != (-np.inf, -np.inf) or (high, below) != (np.inf, np.inf)

    def test(value: Any, scope: Scope) -> bool:
        if not is_number(value) or (finite and not np.isfinite(value)):
            return False
        # The default strict bounds are infinite and exclude nothing. If ``finite`` is False, infinity is allowed.
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
    """Constrain to a whole number with ``low <= value <= high``."""
    limit = f">= {low}" if high >= 2**31 else f"from {low} to {high}"
    return Constraint(f"a whole number {limit}", lambda value, scope: is_count(value, low, high))


def size(letter: str) -> Constraint:
    """Constrain to a whole number >= 1 that is the size of a letter, such as the number of features for ``d``.

    If another value of the model has set the size of this letter before, the number must equal that size.
    """

    def test(value: Any, scope: Scope) -> bool:
        if not is_count(value, 1, 2**53):
            return False
        if scope.sizes.setdefault(letter, int(value)) != value:
            raise ViolationError(
                f"must be {scope.sizes[letter]} to match other values of the model, but is {show(value)}"
            )
        return True

    return Constraint("a whole number >= 1", test)


def one_of(*options: Any) -> Constraint:
    """Constrain to one of a few values."""

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
"""A seed, or a random generator that scikit-learn accepts. Only seeds can be saved."""


# Combinations


def none_or(inner: Constraint) -> Constraint:
    """Constrain to None or a value that obeys another constraint."""

    def test(value: Any, scope: Scope) -> None:
        if value is not None:
            inner(value, scope)

    return Constraint(f"{inner.description} or None", _redescribe(test, f"{inner.description} or None"))


def either(*choices: Constraint, remedy: Callable[[Any], str] | None = None) -> Constraint:
    """Constrain to a value that obeys at least one of several constraints."""
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


def _redescribe(test: Callable[[Any, Scope], None], description: str) -> Callable[[Any, Scope], None]:
    """Return ``test`` with other messages: in "must be X, but is Y", X is replaced by ``description``.

    Messages of another form are more specific and are not changed.
    """

    def redescribed(value: Any, scope: Scope) -> None:
        try:
            test(value, scope)
        except ViolationError as error:
            if str(error).startswith("must be ") and str(error).endswith(f", but is {show(value)}"):
                raise ViolationError(f"must be {description}, but is {show(value)}") from None
            raise

    return redescribed


def optional(inner: Constraint) -> Constraint:
    """Mark a field of a fitted state, or an attribute, as one that may be absent from a model."""
    return replace(inner, optional=True)


NOT_SAVED = Constraint("a value that model files omit", lambda value, scope: True, saved=False)
"""Constraint of a field of a fitted state that describes the training rows. Model files omit such a field, and it is
None in a loaded model."""


def list_of(inner: Constraint, min_length: int = 0, types: tuple[type, ...] = (list, tuple)) -> Constraint:
    """Constrain to a list or tuple in which every value obeys the constraint ``inner``."""
    kind = " or ".join(one.__name__ for one in types)
    description = f"a {kind} of{f' at least {min_length}' if min_length else ''} values, each {inner.description}"

    def test(value: Any, scope: Scope) -> bool:
        if type(value) not in types or len(value) < min_length:
            return False
        for item in value:
            inner(item, scope)
        return True

    return Constraint(description, test)


def tuple_of(*inner: Constraint) -> Constraint:
    """Constrain to a tuple with one value for each constraint."""
    description = f"a tuple of {len(inner)} values: {', '.join(one.description for one in inner)}"

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not tuple or len(value) != len(inner):
            return False
        for constraint, item in zip(inner, value, strict=True):
            constraint(item, scope)
        return True

    return Constraint(description, test)


def mapping_of(keys: Constraint, values: Constraint) -> Constraint:
    """Constrain to a mapping whose keys obey one constraint and whose values obey another."""

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
    """Constrain to an array of float64 whose shape is given in letters, one for each axis.

    An axis "_" may have any size. The size of a letter with a star, such as "n*", may be 0; other letters have a size
    of at least 1.
    """

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.float64:
            raise ViolationError(f"must be an array of float64, but is {show(value)}")
        check_shape(value.shape, shape, scope)
        minimum, maximum = (value.min(), value.max()) if value.size else (0.0, 0.0)  # NaN if any value is NaN
        if not nan and np.isnan(minimum):
            raise ViolationError("must not contain NaN, but does")
        if finite and not (np.isfinite(minimum) and np.isfinite(maximum)):
            raise ViolationError("must be finite, but is not")
        if value.size and minimum < low:
            raise ViolationError(f"must be at least {low:g} everywhere, but the minimum is {minimum:g}")
        if value.size and above is not None and minimum <= above:
            raise ViolationError(f"must be above {above:g} everywhere, but the minimum is {minimum:g}")
        return True

    return Constraint(f"an array of float64 of shape ({', '.join(map(str, shape))})", test)


def check_shape(shape: tuple[int, ...], letters: Iterable[int | str], scope: Scope) -> None:
    """Raise ViolationError unless ``shape`` matches ``letters``, one number or letter per axis, such as ("n", "d").

    A letter that has no size in ``scope`` yet takes the size of its axis.
    """
    wanted = list(letters)
    known = [letter if isinstance(letter, int) else scope.sizes.get(letter.rstrip("*")) for letter in wanted]
    fits = len(shape) == len(wanted) and all(k is None or k == n for k, n in zip(known, shape, strict=True))
    for letter, n in zip(wanted, shape, strict=False):
        if not fits:
            break
        if isinstance(letter, str) and letter != "_":
            fits = scope.sizes.setdefault(letter.rstrip("*"), n) == n and (n > 0 or letter.endswith("*"))
    if not fits:
        expected = ", ".join(str(k if k is not None else letter) for k, letter in zip(known, wanted, strict=True))
        raise ViolationError(f"must have the shape ({expected}), but has {shape}")


def integers(*shape: int | str, low: int = 0) -> Constraint:
    """Constrain to an array of integers >= ``low`` of NumPy's index type, ``intp``.

    The shape is given in letters, as in :func:`floats`.
    """

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.intp or (value < low).any():
            return False
        check_shape(value.shape, shape, scope)
        return True

    return Constraint(f"an array of whole numbers >= {low}", test)


def array_of(kinds: str, axes: int = 1) -> Constraint:
    """Constrain to an array with ``axes`` axes whose ``dtype.kind`` is one of ``kinds``.

    Its values must be finite or NaN.
    """

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.dtype.kind not in kinds or value.ndim != axes:
            return False
        return value.dtype.kind != "f" or not np.isinf(value).any()

    return Constraint(f"an array of numbers with {axes} {'axis' if axes == 1 else 'axes'}", test)


def nondecreasing(inner: Constraint) -> Constraint:
    """Constrain to an array whose values never decrease along the first axis."""

    def test(value: Any, scope: Scope) -> bool:
        inner(value, scope)
        if not (value[:-1] <= value[1:]).all():
            raise ViolationError("must never decrease, but does")
        return True

    return Constraint(f"{inner.description} that never decreases", test)


def probabilities(letter: str) -> Constraint:
    """Constrain to a vector of probabilities that sum to 1. The size of ``letter`` is the length of the vector."""
    shares = floats(letter, low=0.0)

    def test(value: Any, scope: Scope) -> bool:
        shares(value, scope)
        if not abs(value.sum() - 1) < 1e-6:
            raise ViolationError(f"must sum to 1, but sums to {value.sum():g}")
        return True

    return Constraint(f"probabilities of shape ({letter},)", test)


def class_labels(min_classes: int = 2, unsorted: int = 0) -> Constraint:
    """Constrain to an array of distinct labels of one type.

    The labels must be sorted, except for the last ``unsorted`` labels. The number of labels becomes the size of ``k``,
    the number of classes, and sets the size of ``r``, the number of weight vectors.
    """

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind not in "iubfUS":
            raise ViolationError(f"must be an array of labels, but is {show(value)}")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ViolationError("must be finite labels, but are not")
        ordered = value[: len(value) - unsorted]
        if not (ordered[:-1] < ordered[1:]).all() or len(np.unique(value)) < len(value):
            raise ViolationError("must be sorted labels without duplicates, but are not")
        check_shape(value.shape, ("k",), scope)
        if len(value) < min_classes:
            raise ViolationError(f"must have at least {min_classes} labels, but has {len(value)}")
        scope.sizes["r"] = 1 if len(value) == 2 else len(value)
        return True

    return Constraint("sorted labels", test)


def names(letter: str) -> Constraint:
    """Constrain to an array of column names. The size of ``letter`` is the number of names."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype != object:
            return False
        check_shape(value.shape, (letter,), scope)
        return True

    return Constraint("an array of names", test)


def numbers(axes: int) -> Constraint:
    """Constrain to an array of numbers with ``axes`` axes, or to nested lists that NumPy converts to such an array."""

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, (str, bytes, Mapping)) or is_number(value) or value is None:
            return False
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            return False
        return array.ndim == axes and array.dtype.kind in "iuf" and array.size > 0

    return Constraint(f"an array of numbers with {axes} {'axis' if axes == 1 else 'axes'}", test)


def priors(*, scalar: bool = False) -> Constraint:
    """Constrain to None, a sequence of priors in class order, or a mapping from labels to priors.

    With ``scalar``, a single number is allowed too. Whether the priors are probabilities is checked later, where the
    classes are known.
    """
    choices = [mapping_of(label, number()), numbers(1), one_of(None)]
    found = either(*([number(finite=False)] if scalar else []), *choices)
    single = "a number, " if scalar else ""
    return replace(found, description=f"{single}numbers in class order, a mapping from labels to numbers or None")


# Objects


def instance_of(*classes: type, **links: str) -> Constraint:
    """Constrain to an object of one of the given classes.

    ``links`` compares sizes of this object with sizes of its owner, the object that holds it. In
    ``instance_of(Gaussians, k="k", d="d")``, the sizes k and d of the Gaussians (left) must equal the sizes k and d of
    the owner (right). If the letter on the right has a star, such as ``k="k*"``, the size of the object may also be 1.
    Sizes are compared when a model is loaded.
    """

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, classes) and links:
            _link(scope.scope_of(value) or Scope(kind=type(value).__name__), links, scope)
        return isinstance(value, classes)

    return Constraint(" or ".join(_with_article(one.__name__.lstrip("_")) for one in classes), test)


def object_with(description: str, *methods: str, **links: str) -> Constraint:
    """Constrain to an object that has the given methods. ``links`` compares sizes as in :func:`instance_of`."""

    def test(value: Any, scope: Scope) -> bool:
        if isinstance(value, type) or not all(hasattr(value, method) for method in methods):
            return False
        if links:
            _link(scope.scope_of(value) or Scope(kind=type(value).__name__), links, scope)
        return True

    return Constraint(description, test)


def _link(inner: Scope, links: Mapping[str, str], scope: Scope) -> None:
    for theirs, ours in links.items():
        n = inner.sizes.get(theirs)
        if n is None:
            raise ViolationError(f"must be a fitted {inner.kind}, but is not fitted")
        if ours.endswith("*") and n == 1:
            continue
        if scope.sizes.setdefault(ours.rstrip("*"), n) != n:
            raise ViolationError(f"must have size {theirs} = {scope.sizes[ours.rstrip('*')]}, but has {theirs} = {n}")


def _with_article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


# Values in messages, and tests for numbers


def show(value: Any) -> str:
    """Format a value for a message: an array by its dtype and shape, any other value by its shortened ``repr``."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype} of shape {value.shape}"
    words = repr(value)
    return words if len(words) <= 100 else f"{words[:100]}…"


def is_number(value: Any) -> bool:
    """Return whether a value is a real number and not a boolean. NaN and infinities count as numbers."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_count(value: Any, low: int, high: int) -> bool:
    """Return whether a value is a whole number from ``low`` to ``high`` and not a boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)
