"""Conversion of values to JSON and tensors, and back: the encoding of the tree in a model file.

None, booleans, whole numbers, finite numbers, texts and lists are plain JSON. Every other value is an object with one
of these sets of keys:

    array, order         an array of numbers: the name of its tensor; order "F" if the tensor is its transpose
    strings, dtype       a one-dimensional array of texts; dtype "object", or "U" or "S" and its width
    scalar, dtype        a NumPy scalar
    float                "nan", "inf" or "-inf"
    bytes                one character for each byte
    tuple                its items
    map                  its [key, value] pairs
    kind, parameters, …  a part of a model (see registry)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from likely._constraints import Scope
from likely._typing import Labels
from likely.kernels import FunctionKernel
from likely.persistence.container import RefusedError
from likely.persistence.earlier import add_absent, translate_names
from likely.persistence.registry import BY_NAME, BY_TYPE, Registered

MAX_CHARACTERS = 2**22
"""Maximum number of characters of an array of texts; each text takes as many as the longest."""

_NUMBERS = {"bool", "uint8", "int8", "float16", "int16", "uint16", "float32", "int32", "uint32"}
_NUMBERS |= {"float64", "int64", "uint64"}
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PLAIN = (str, bool, int, float, type(None))


class Writer:
    """Converter of models to trees of plain values and tensors; it checks every part of a model as loading would."""

    def __init__(self) -> None:
        self.tensors: dict[str, Labels] = {}
        self._checked: dict[int, tuple[Any, Scope]] = {}

    def model(self, model: Any) -> Any:
        """Return a model as a tree of plain values, and store its arrays in ``tensors``."""
        registered = BY_TYPE.get(type(model))
        node = self.node(model, "model")
        if registered is None or not registered.standalone:
            raise RefusedError(f"model must be a model of this library, but is {show_value(model)}")
        return node

    def node(self, value: Any, where: str) -> Any:
        """Return a value as JSON; arrays of numbers become tensors, named by their place in the model."""
        if type(value) in BY_TYPE:
            return self._part(value, BY_TYPE[type(value)], where)
        if type(value) in _PLAIN:
            return self._plain(value, where)
        if type(value) in (list, tuple):
            items = [self.node(item, f"{where}.{i}") for i, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            pairs = [[self.node(key, where), self.node(v, f"{where}.{i}")] for i, (key, v) in enumerate(value.items())]
            return {"map": pairs}
        if type(value) is np.str_:
            return str(value)
        if type(value) in (bytes, np.bytes_):
            return {"bytes": value.decode("latin-1")}
        if isinstance(value, np.generic) and value.dtype.name in _NUMBERS:
            return {"scalar": self._plain(value.item(), where), "dtype": value.dtype.name}
        if type(value) in (np.ndarray, np.memmap):
            return self._array(np.asarray(value), where)
        raise _unknown_object_error(value, where)

    def _part(self, value: Any, registered: Registered, where: str) -> Any:
        parameters, fitted, output = registered.take_apart(value, where)
        node: dict[str, Any] = {"kind": registered.key}
        node["parameters"] = {name: self.node(inner, f"{where}.{name}") for name, inner in parameters.items()}
        if fitted:
            node["state"] = {name: self.node(inner, f"{where}.{name}") for name, inner in fitted.items()}
        if output is not None:
            node["output"] = output
        scope = Scope(kind=registered.key, parts=self._checked)
        with as_refused_error(where, registered.key):
            registered.check(parameters, fitted, scope)
            registered.check_rules(value, scope)
        self._checked[id(value)] = (value, scope)
        return node

    def _plain(self, value: Any, where: str) -> Any:
        if type(value) is float and not math.isfinite(value):
            return {"float": repr(value)}
        if type(value) is int and abs(value) >= 2**64:
            raise RefusedError(f"{where} is a whole number of more than 64 bits")
        return value

    def _array(self, array: Labels, where: str) -> Any:
        if array.dtype.kind in "USO":
            return self._strings(array, where)
        if array.dtype.name not in _NUMBERS:
            raise RefusedError(f"{where} is an array of {array.dtype}. Model files cannot store this type")
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        transposed = native.ndim > 1 and native.flags.f_contiguous and not native.flags.c_contiguous
        self.tensors[where] = np.ascontiguousarray(native.T if transposed else native).reshape(
            native.shape[::-1] if transposed else native.shape
        )
        return {"array": where, "order": "F" if transposed else "C"}

    def _strings(self, array: Labels, where: str) -> Any:
        values = array.tolist()
        if array.ndim != 1:
            raise RefusedError(f"{where} must be a one-dimensional array of texts, but has {array.ndim} dimensions")
        if array.dtype.kind == "S":
            values = [value.decode("latin-1") for value in values]
        other = next((value for value in values if type(value) is not str), None)
        if other is not None or any(value is None for value in values):
            raise RefusedError(
                f"{where} is an array of objects. All of them must be texts, but one of them is {show_value(other)}"
            )
        width = array.dtype.itemsize // (4 if array.dtype.kind == "U" else 1)
        return {"strings": values, "dtype": "object" if array.dtype.kind == "O" else f"{array.dtype.kind}{width}"}


class Reader:
    """Builder of models from trees; it checks every part of a model. Every tensor must be used exactly once."""

    def __init__(self, tensors: dict[str, Labels]) -> None:
        self.left = dict(tensors)
        # Parts are stored with their scopes: the id of an object is unique only while the object exists.
        self._built: dict[int, tuple[Any, Scope]] = {}

    def model(self, node: Any) -> Any:
        """Build the model that a tree describes."""
        registered = BY_NAME.get(node["kind"]) if type(node) is dict and type(node.get("kind")) is str else None
        if registered is None or not registered.standalone:
            raise RefusedError("model must be of a kind that this version of the library knows, but is not")
        made = self.value(node, "model")
        if self.left:
            raise RefusedError(f"it holds a tensor {next(iter(self.left))[:80]!r} that no part of the model uses")
        return made

    def part(self, node: Any, where: str) -> Any:
        """Build a part of a model."""
        registered = BY_NAME.get(node["kind"]) if type(node["kind"]) is str else None
        if registered is None:
            raise RefusedError(
                f"{where} is of kind {show_value(node['kind'])}, which this version of the library does not know"
            )
        parameters, state = node.get("parameters"), node.get("state", {})
        if not set(node) <= {"kind", "parameters", "state", "output"} or type(parameters) is not dict:
            raise RefusedError(f"{where} must consist of kind, parameters and state")
        if type(state) is not dict:
            raise RefusedError(f"{where} must have a state of named values")
        values = {name: self.value(inner, f"{where}.{name[:80]}") for name, inner in parameters.items()}
        fitted = {name: self.value(inner, f"{where}.{name[:80]}") for name, inner in state.items()}
        scope = Scope(kind=registered.key, parts=self._built)
        with as_refused_error(where, registered.key):
            values, fitted = (translate_names(registered.key, named) for named in (values, fitted))
            made = registered.build(add_absent(registered.key, values), fitted, node.get("output"), scope)
        self._built[id(made)] = (made, scope)
        return made

    def value(self, node: Any, where: str) -> Any:
        """Return the value that a node encodes."""
        if type(node) in _PLAIN:
            return node
        if type(node) is list:
            return [self.value(item, f"{where}.{i}") for i, item in enumerate(node)]
        keys = set(node)
        if "kind" in keys:
            return self.part(node, where)
        reads = {
            frozenset(["array", "order"]): self._array,
            frozenset(["strings", "dtype"]): self._strings,
            frozenset(["scalar", "dtype"]): self._scalar,
            frozenset(["float"]): self._special,
            frozenset(["bytes"]): self._bytes,
            frozenset(["tuple"]): self._tuple,
            frozenset(["map"]): self._map,
        }
        read = reads.get(frozenset(keys))
        if read is None:
            raise RefusedError(
                f"{where} is an object with the keys {sorted(keys)[:5]}. These keys do not encode a value"
            )
        return read(node, where)

    def _array(self, node: Any, where: str) -> Labels:
        name, order = node["array"], node["order"]
        if type(name) is not str or name not in self.left:
            raise RefusedError(
                f"{where} refers to a tensor that does not exist, or to one that another part of the model uses"
            )
        if order not in ("C", "F"):
            raise RefusedError(f"{where} must have the order 'C' or 'F', not {show_value(order)}")
        found = self.left.pop(name)
        return found.T if order == "F" else found

    def _strings(self, node: Any, where: str) -> Labels:
        values, dtype = node["strings"], node["dtype"]
        if type(values) is not list or any(type(value) is not str for value in values):
            raise RefusedError(f"{where} must hold only texts")
        if dtype == "object":
            found = np.empty(len(values), dtype=object)
            found[:] = values
            return found
        width = _width(dtype, where)
        longest = max(map(len, values), default=0)
        if not longest <= width <= MAX_CHARACTERS // max(len(values), 1):
            raise RefusedError(
                f"{where} has texts of up to {longest} characters, which do not match the width {width} of its dtype"
            )
        if dtype[0] == "U":
            return np.array(values, dtype=f"U{width}")
        if any(ord(max(value, default="a")) > 255 for value in values):
            raise RefusedError(f"{where} must hold only bytes")
        return np.array([value.encode("latin-1") for value in values], dtype=f"S{width}")

    def _scalar(self, node: Any, where: str) -> Any:
        value, name = self.value(node["scalar"], where), node["dtype"]
        if type(name) is not str or name not in _NUMBERS or type(value) not in (bool, int, float):
            raise RefusedError(f"{where} is not a NumPy number")
        try:
            found = np.dtype(name).type(value)
        except (OverflowError, ValueError, TypeError):
            raise RefusedError(f"{where} does not fit into {name}") from None
        if found.item() != value and value == value:
            raise RefusedError(f"{where} does not fit into {name}")
        return found

    def _special(self, node: Any, where: str) -> float:
        if type(node["float"]) is not str or node["float"] not in _SPECIAL:
            raise RefusedError(f"{where} must be 'nan', 'inf' or '-inf', not {show_value(node['float'])}")
        return _SPECIAL[node["float"]]

    def _bytes(self, node: Any, where: str) -> bytes:
        if type(node["bytes"]) is not str or any(ord(letter) > 255 for letter in node["bytes"]):
            raise RefusedError(f"{where} must hold only bytes")
        return node["bytes"].encode("latin-1")

    def _tuple(self, node: Any, where: str) -> tuple[Any, ...]:
        if type(node["tuple"]) is not list:
            raise RefusedError(f"{where} must be a list of the items of a tuple")
        return tuple(self.value(node["tuple"], where))

    def _map(self, node: Any, where: str) -> dict[Any, Any]:
        pairs = node["map"]
        if type(pairs) is not list or any(type(pair) is not list or len(pair) != 2 for pair in pairs):
            raise RefusedError(f"{where} must be a list of pairs, each of a key and a value")
        found: dict[Any, Any] = {}
        for i, (key_node, inner) in enumerate(pairs):
            key = self.value(key_node, where)
            if type(key) not in (*_PLAIN, bytes) and not isinstance(key, np.generic):
                raise RefusedError(f"{where} has a key that is not a plain value")
            if key in found:
                raise RefusedError(f"{where} has the key {show_value(key)} twice")
            found[key] = self.value(inner, f"{where}.{i}")
        return found


def show_value(value: Any) -> str:
    """Format any value for a message, in short form."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype} of shape {value.shape}"
    if type(value) in _PLAIN or isinstance(value, np.generic):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:60]}…"
    return f"of type {type(value).__name__}"


@contextmanager
def as_refused_error(where: str, key: str) -> Iterator[None]:
    """Convert errors about a part to RefusedError with its place and kind."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise RefusedError(f"{where} ({key}): {error}") from None


def _width(dtype: Any, where: str) -> int:
    is_one = type(dtype) is str and dtype[:1] in ("U", "S") and dtype[1:].isascii() and dtype[1:].isdigit()
    if not is_one or len(dtype) > 10:
        raise RefusedError(
            f"{where} must have the dtype 'object', or a dtype such as 'U8' or 'S8', but has {show_value(dtype)}"
        )
    return int(dtype[1:])


def _unknown_object_error(value: Any, where: str) -> RefusedError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, FunctionKernel) or (callable(value) and not hasattr(value, "get_params")):
        place = f"{where}.function" if isinstance(value, FunctionKernel) else where
        return RefusedError(
            f"{place} is a function. Model files hold no code, so that loading a file runs nothing. Use a kernel of "
            "the library, such as RBFKernel, or a sum or product of such kernels. Alternatively, compute the kernel "
            "matrix with the function, fit a model with kernel='precomputed', and save that model"
        )
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return RefusedError(f"{where} is a {kind}. Model files cannot store its state. Pass an integer as random_state")
    return RefusedError(
        f"{where} is a {kind}, but model files hold only objects that this library can check. Replace it by a "
        "part of this library. Alternatively, save only its settings and fit it again where it is used, or store the "
        "model in another way"
    )
