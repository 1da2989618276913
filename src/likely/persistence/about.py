"""What the tree of a model says, in plain values, without building anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from likely.persistence.container import RefusedError
from likely.persistence.values import Reader

__all__ = ["described"]

MOST_SHOWN = 1000
"""Values of an array that are shown; of a larger one its shape is."""


def described(tree: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Kind, parameters, classes, number and names of features, and number of values, of the tree of a model."""
    if type(tree) is not dict or type(tree.get("kind")) is not str or type(tree.get("parameters")) is not dict:
        raise RefusedError("model must be of a kind and have parameters")
    reader = Reader(tensors, _shown_part)
    taking, deciding = _first(tree, "n_features_in_"), _first(tree, "classes_")
    return {
        "kind": tree["kind"],
        "parameters": {name: _shown(reader.value(node, name)) for name, node in tree["parameters"].items()},
        "classes": None if deciding is None else _shown(reader.value(deciding["classes_"], "classes_")),
        "n_features": None if taking is None else _shown(reader.value(taking["n_features_in_"], "n_features_in_")),
        "feature_names": _names(reader, taking),
        "n_values": sum(int(tensor.size) for tensor in tensors.values()),
    }


def _names(reader: Reader, taking: Any) -> Any:
    if taking is None or "feature_names_in_" not in taking:
        return None
    return _shown(reader.value(taking["feature_names_in_"], "feature_names_in_"))


def _first(node: Any, name: str) -> Any:
    """The first state, from the outside in and from the first step on, that has something of this name."""
    if type(node) is list:
        found = (_first(inner, name) for inner in node)
        return next((state for state in found if state is not None), None)
    if type(node) is not dict:
        return None
    state = node.get("state")
    if type(state) is dict and name in state:
        return state
    return _first(list(node.values()), name)


def _shown_part(reader: Reader, node: Any, where: str) -> Any:
    """A part that is a parameter: its kind and its own parameters."""
    if type(node["kind"]) is not str or type(node.get("parameters")) is not dict:
        raise RefusedError(f"{where} must be of a kind and have parameters")
    inner = {name: _shown(reader.value(value, f"{where}.{name}")) for name, value in node["parameters"].items()}
    return {"kind": node["kind"], **({"parameters": inner} if inner else {})}


def _shown(value: Any) -> Any:
    """A value as JSON has it; floats may be infinite or NaN."""
    if type(value) is np.ndarray:
        return value.tolist() if value.size <= MOST_SHOWN or value.dtype.kind in "USO" else f"array {value.shape}"
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return [_shown(item) for item in value]
    if type(value) is dict:
        return {key if type(key) is str else str(key): _shown(inner) for key, inner in value.items()}
    return value
