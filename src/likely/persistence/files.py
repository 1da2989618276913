"""Saving and loading: the doors of this room."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from likely._files import FilePath, atomic_write
from likely._version import library_version
from likely.exceptions import ModelFileError
from likely.persistence.container import FORMAT, RefusedError, pack, unpack
from likely.persistence.earlier import translate_names
from likely.persistence.values import Reader, Writer

MOST_SHOWN = 1000
"""Values of an array that are shown; of a larger one its shape is."""


def save(model: Any, path: FilePath, *, about: dict[str, Any] | None = None) -> None:
    """Write a model to a file that holds data only, whole or not at all.

    Everything of this library that learns can be saved, fitted or not, and the shapes, penalties and applications that
    are given to it; so can pipelines with scikit-learn's ``QuantileTransformer``. Anything else
    is refused, and named. The out-of-fold scores that calibrated and fused classifiers keep of their training rows are
    left out.

    Parameters
    ----------
    model : estimator, calibrator, fuser, pipeline, density, shape or application
    path : path of the file, of any name
    about : dictionary of plain JSON values, optional
        Whatever should be known of the model later; ``likely inspect`` prints it.

    Raises
    ------
    ModelFileError
        If the model holds something that no file can, or the file cannot be written.

    Examples
    --------
    >>> import os, tempfile, likely
    >>> model = likely.GaussianClassifier().fit([[0.0], [1.0], [4.0], [6.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.likely")
    ...     likely.save(model, path, about={"rows": 4})
    ...     likely.load(path).llr([[2.0]]).round(2) == model.llr([[2.0]]).round(2)
    array([ True])
    """
    name = _name(path)
    with _as_model_file_error(f"{type(model).__name__} cannot be saved"):
        writer = Writer()
        tree = writer.model(model)
        data = pack(
            {"format": FORMAT, "library": library_version(), "about": _plain(about), "model": tree}, writer.tensors
        )
    try:
        with atomic_write(name, ModelFileError) as stream:
            stream.write(data)
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{name!r} cannot be written: {error}.") from None


def load(path: FilePath) -> Any:
    """The model that a file holds, bit for bit as it was saved.

    A file from a stranger may be loaded: it holds data only, nothing in it is ever run or looked up, and all of it is
    checked: the checksum, the shapes, that numbers are finite and covariances positive definite. What a stranger's
    model decides is another matter.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    model

    Raises
    ------
    ModelFileError
        If there is no such file, or it is not as a model file must be.

    Examples
    --------
    >>> import os, tempfile, likely
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "costs.likely")
    ...     likely.save(likely.Application.binary(0.1, cost_fn=5), path)
    ...     round(likely.load(path).threshold, 4)
    0.5878
    """
    name = _name(path)
    data = _read(name)
    with _as_model_file_error(f"{name!r} cannot be loaded"):
        document, tensors = unpack(data)
        return Reader(tensors).model(_tree(document))


def read_about(path: FilePath) -> dict[str, Any]:
    """What a model file says of itself, without building the model.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    dict
        ``kind``, ``parameters``, ``classes``, ``n_features`` and ``feature_names`` (None where there are none),
        ``n_values`` and ``n_bytes`` of the tensors and the file, ``library`` and ``format`` that wrote it, and
        ``about``, the caller's own.

    Examples
    --------
    >>> import os, tempfile, likely
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.likely")
    ...     likely.save(likely.PCA(1).fit([[0.0, 1.0], [2.0, 3.0]]), path)
    ...     facts = read_about(path)
    >>> facts["kind"], facts["n_features"], facts["parameters"]
    ('PCA', 2, {'n_components': 1})
    """
    name = _name(path)
    data = _read(name)
    with _as_model_file_error(f"{name!r} cannot be read"):
        document, tensors = unpack(data)
        facts = _describe(_tree(document), tensors)
        return {
            **facts,
            "n_bytes": len(data),
            "library": document.get("library"),
            "format": document["format"],
            "about": document.get("about"),
        }


def _tree(document: dict[str, Any]) -> Any:
    if set(document) != {"sha256", "format", "library", "about", "model"} or type(document["library"]) is not str:
        raise RefusedError("it does not consist of format, library, about and model")
    return document["model"]


def _name(path: Any) -> str:
    try:
        name = os.fspath(path)
    except TypeError:
        name = None
    if not isinstance(name, str):
        raise ModelFileError(f"path must be the name of a file, but is {path!r}.")
    return name


def _read(name: str) -> bytearray:
    """All bytes of a regular file: what never ends, such as a device, is not begun."""
    try:
        with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ModelFileError(f"{name!r} cannot be loaded: it is no file.")
            data = bytearray(facts.st_size)
            return _filled(data, file)
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {name!r}.{_hint(Path(name))}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{name!r} cannot be loaded: {error}.") from None


def _filled(data: bytearray, file: Any) -> bytearray:
    """All of the data, or as much as the file has by now."""
    view, at = memoryview(data), 0
    while at < len(data) and (n := file.readinto(view[at:])):
        at += n
    return data if at == len(data) else data[:at]


def _hint(path: Path) -> str:
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, beside, n=1)
    return f" Did you mean {close[0]!r}?" if close else " Check the path."


def check_savable(model: Any) -> None:
    """Raise ModelFileError for a model that cannot be saved, before it has learned anything."""
    with _as_model_file_error(f"{type(model).__name__} cannot be saved"):
        Writer().model(model)


@contextmanager
def _as_model_file_error(what: str) -> Iterator[None]:
    """One kind of error, in one sentence that says of what."""
    try:
        yield
    except RefusedError as error:
        raise ModelFileError(f"{what}: {str(error).rstrip('.')}.") from None
    except (RecursionError, MemoryError) as error:
        raise ModelFileError(f"{what}: it is too large or too deeply nested ({type(error).__name__}).") from None


def _plain(about: Any) -> Any:
    """The caller's dictionary, if JSON gives it back as it is."""
    if about is None:
        return {}
    try:
        same = type(about) is dict and _is_json(about)
    except RecursionError:
        same = False
    if not same:
        raise RefusedError(
            "about must be a dictionary of plain JSON values: texts, finite numbers, True, False, None, and lists and "
            "dictionaries of them"
        )
    return json.loads(json.dumps(about))


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_json(inner) for key, inner in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is int:
        return abs(value) < 10**19
    return value is None or type(value) in (str, bool) or (type(value) is float and math.isfinite(value))


# What a file says of itself


def _describe(tree: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Kind, parameters, classes, number and names of features, and number of values, of the tree of a model."""
    if type(tree) is not dict or type(tree.get("kind")) is not str or type(tree.get("parameters")) is not dict:
        raise RefusedError("model must be of a kind and have parameters")
    reader = _Describer(tensors)
    taking, deciding = _first(tree, "n_features_in_"), _first(tree, "classes_")
    return {
        "kind": tree["kind"],
        "parameters": reader.parameters(tree),
        "classes": None if deciding is None else _as_json(reader.value(deciding["classes_"], "classes_")),
        "n_features": None if taking is None else _as_json(reader.value(taking["n_features_in_"], "n_features_in_")),
        "feature_names": _names(reader, taking),
        "n_values": sum(int(tensor.size) for tensor in tensors.values()),
    }


def _names(reader: Reader, taking: Any) -> Any:
    if taking is None or "feature_names_in_" not in taking:
        return None
    return _as_json(reader.value(taking["feature_names_in_"], "feature_names_in_"))


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


class _Describer(Reader):
    """Reads parts as their kind and their own parameters, without building them."""

    def part(self, node: Any, where: str) -> Any:
        if type(node["kind"]) is not str or type(node.get("parameters")) is not dict:
            raise RefusedError(f"{where} must be of a kind and have parameters")
        inner = self.parameters(node, f"{where}.")
        return {"kind": node["kind"], **({"parameters": inner} if inner else {})}

    def parameters(self, node: Any, where: str = "") -> dict[str, Any]:
        """The parameters of a part, under their present names."""
        named = translate_names(node["kind"], node["parameters"])
        return {name: _as_json(self.value(value, f"{where}{name}")) for name, value in named.items()}


def _as_json(value: Any) -> Any:
    """A value as JSON has it; floats may be infinite or NaN."""
    if type(value) is np.ndarray:
        return value.tolist() if value.size <= MOST_SHOWN or value.dtype.kind in "USO" else f"array {value.shape}"
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return [_as_json(item) for item in value]
    if type(value) is dict:
        return {key if type(key) is str else str(key): _as_json(inner) for key, inner in value.items()}
    return value
