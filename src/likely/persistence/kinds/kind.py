"""How a part of a model is taken apart, and how it is put together again and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from likely._constraints import ABSENT, ViolationError
from likely.persistence.checks import Check, Scope, option
from likely.persistence.container import RefusedError

__all__ = ["Kind"]

_OUTPUT = "_sklearn_output_config"
_check_output = option("default", "pandas", "polars")


@dataclass(frozen=True)
class Kind:
    """The description of one class.

    Parameters
    ----------
    type : type
        The class itself; a subclass is another kind.
    parameters : mapping from name to check
        What the constructor takes, and keeps under the same names.
    state : mapping from name to check
        What was learned. A part that lacks the ``mark`` has learned nothing.
    mark : str
        The attribute that is there if and only if something was learned.
    optional : names of the state that may be absent
    derived : names of attributes that follow from the others, and are computed anew
    left_out : mapping from name to value
        What is not kept, and what stands in its place after loading.
    rule : function of the part and its scope
        What must hold besides; it may note sizes for the parts around it.
    apart, together : functions of the part and a state, of which they give another
        Where the state in the file is not what the attributes hold.
    make : function of the parameters, and of the state if there is one
        In place of the constructor; it then sets the state too.
    name : str
        In the file; by default the name of the class.
    alone : bool
        Whether a file may hold it by itself, and not only as a part of something.
    """

    type: type
    parameters: Mapping[str, Check] = field(default_factory=dict)
    state: Mapping[str, Check] = field(default_factory=dict)
    mark: str = ""
    optional: Iterable[str] = ("feature_names_in_",)
    derived: Iterable[str] = ()
    left_out: Mapping[str, Any] = field(default_factory=dict)
    rule: Callable[[Any, Scope], None] | None = None
    apart: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None
    together: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None
    make: Callable[..., Any] | None = None
    name: str = ""
    alone: bool = True

    @property
    def key(self) -> str:
        """Its name in a file."""
        return self.name or self.type.__name__

    def take_apart(self, value: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        """Parameters, state, and the container that transformed rows are put in, if that was set."""
        held = dict(value._asdict() if hasattr(value, "_asdict") else vars(value))
        held_state = held.pop("_state", None)
        if held_state is not None:
            inner = {one.name: getattr(held_state, one.name) for one in fields(held_state)}
            held |= {name: value for name, value in inner.items() if value is not ABSENT}
        missing = next((name for name in self.parameters if name not in held), None)
        if missing is not None:
            raise RefusedError(f"{where} has no parameter {missing!r}, as every {self.key} does")
        parameters = {name: held.pop(name) for name in self.parameters}
        output = held.pop(_OUTPUT, {}).get("transform")
        known = {*self.state, *self.derived, *self.left_out}
        strange = next((name for name in held if name not in known), None)
        if strange is not None:
            raise RefusedError(
                f"{where} ({self.key}) has an attribute {strange!r} that this library did not put there and that would "
                "be lost. Delete it, or keep the model by your own means"
            )
        state = {name: held[name] for name in self.state if name in held} if self.mark in held else {}
        return parameters, self.apart(value, state) if self.apart and state else state, output

    def build(self, parameters: dict[str, Any], state: dict[str, Any], output: Any, scope: Scope) -> Any:
        """The part, all of which was checked."""
        _check_names("parameters", parameters, self.parameters, ())
        for name, check in self.parameters.items():
            _checked(name, check, parameters[name], scope)
        if state:
            scope.fitted = True
            _check_names("what was learned", state, self.state, self.optional)
            for name, check in self.state.items():
                if name in state:
                    _checked(name, check, state[name], scope)
        part = self._built(parameters, state)
        if output is not None:
            _checked("the output", _check_output, output, scope)
            if not hasattr(part, "set_output"):
                raise RefusedError("transforms nothing, so it has no kind of output")
            part.set_output(transform=output)
        if self.rule is not None:
            self.rule(part, scope)
        return part

    def _built(self, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
        if self.make is not None:
            return self.make(parameters, state) if self.state else self.make(parameters)
        part = self.type(**parameters)
        if state:
            learned = self.together(part, state) if self.together else state
            every = {**learned, **self.left_out}
            kind = getattr(self.type, "_State", None)
            known = [] if kind is None else [one.name for one in fields(kind)]
            for name, value in every.items():
                if name not in known:
                    setattr(part, name, value)
            if kind is not None:
                part._state = kind(**{name: every[name] for name in known if name in every})
        return part


def _check_names(what: str, given: Mapping[str, Any], known: Mapping[str, Check], optional: Iterable[str]) -> None:
    strange = next((name for name in given if name not in known), None)
    if strange is not None:
        raise RefusedError(f"has {strange[:80]!r} among {what}, where there is no such thing")
    missing = next((name for name in known if name not in given and name not in optional), None)
    if missing is not None:
        raise RefusedError(f"lacks {missing!r} among {what}")


def _checked(name: str, check: Check, value: Any, scope: Scope) -> None:
    try:
        check(value, scope)
    except (RefusedError, ViolationError) as error:
        raise RefusedError(f"{name} {error}") from None
