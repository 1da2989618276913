"""The closed table of kinds: all that a model file can hold.

A new family adds its :class:`Kind` to one of the lists here. What is in no list can be neither saved nor loaded, and no
name in a file is ever looked up anywhere else.
"""

from __future__ import annotations

from typing import Any

from likely._constraints import Scope
from likely.persistence.container import RefusedError
from likely.persistence.kinds import (
    calibration,
    columns,
    composed,
    densities,
    features,
    foreign,
    kernels,
)
from likely.persistence.kinds.kind import Kind
from likely.persistence.registry import CLASSES
from likely.persistence.values import Reader, Writer, said

__all__ = ["KINDS", "Kind", "TreeReader", "tree_of"]

_UNDECLARED: list[Any] = [
    *densities.KINDS,
    *columns.KINDS,
    *kernels.KINDS,
    *features.KINDS,
    *calibration.KINDS,
    *foreign.KINDS,
    *composed.KINDS,
]
_DECLARED = {one.type for one in CLASSES}
KINDS: list[Any] = [*CLASSES, *(kind for kind in _UNDECLARED if kind.type not in _DECLARED)]
_BY_TYPE = {kind.type: kind for kind in KINDS}
_BY_NAME = {kind.key: kind for kind in KINDS}


def tree_of(model: Any) -> tuple[Any, dict[str, Any]]:
    """A model as a tree of plain values, and the tensors that it refers to."""
    kind = _BY_TYPE.get(type(model))
    writer = Writer(_node)
    node = writer.node(model, "model")
    if kind is None or not kind.alone:
        raise RefusedError(f"model is {said(model)}, and no model of this library")
    return node, writer.tensors


def _node(writer: Writer, value: Any, where: str) -> Any:
    kind = _BY_TYPE.get(type(value))
    if kind is None:
        return None
    parameters, state, output = kind.take_apart(value, where)
    node: dict[str, Any] = {"kind": kind.key}
    node["parameters"] = {name: writer.node(inner, f"{where}.{name}") for name, inner in parameters.items()}
    if state:
        node["state"] = {name: writer.node(inner, f"{where}.{name}") for name, inner in state.items()}
    if output is not None:
        node["output"] = output
    return node


class TreeReader:
    """Builds the model that a tree describes, and checks every part of it as it is built."""

    def __init__(self, tensors: dict[str, Any]) -> None:
        self._reader = Reader(tensors, self._part)
        # Parts are kept beside their scopes: the identity of an object is its own only as long as it lives.
        self._built: dict[int, tuple[Any, Scope]] = {}

    def model(self, node: Any) -> Any:
        """The model."""
        kind = _BY_NAME.get(node["kind"]) if type(node) is dict and type(node.get("kind")) is str else None
        if kind is None or not kind.alone:
            raise RefusedError("model must be of a kind that is known here, but is not")
        made = self._reader.value(node, "model")
        self._reader.finish()
        return made

    def _part(self, reader: Reader, node: Any, where: str) -> Any:
        kind = _BY_NAME.get(node["kind"]) if type(node["kind"]) is str else None
        if kind is None:
            raise RefusedError(f"{where} is of a kind {said(node['kind'])} that is not known here")
        parameters, state = node.get("parameters"), node.get("state", {})
        if not set(node) <= {"kind", "parameters", "state", "output"} or type(parameters) is not dict:
            raise RefusedError(f"{where} must consist of kind, parameters and state")
        if type(state) is not dict:
            raise RefusedError(f"{where} must have a state of named values")
        values = {name: reader.value(inner, f"{where}.{name[:80]}") for name, inner in parameters.items()}
        learned = {name: reader.value(inner, f"{where}.{name[:80]}") for name, inner in state.items()}
        scope = Scope(kind=kind.key, parts=self._built)
        try:
            made = kind.build(values, learned, node.get("output"), scope)
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            raise RefusedError(f"{where} ({kind.key}): {error}") from None
        self._built[id(made)] = (made, scope)
        return made
