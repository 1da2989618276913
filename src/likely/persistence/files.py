"""Functions to save, load and inspect model files."""

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
from likely.persistence.earlier import add_absent, translate_names
from likely.persistence.values import Reader, Writer

MAX_SHOWN_VALUES = 1000
"""Size of the largest array whose values :func:`read_about` shows. For a larger array it shows the shape."""


def save(model: Any, path: FilePath, *, about: dict[str, Any] | None = None) -> None:
    """Save a model to a file that holds data only; the file is written atomically.

    All estimators of this library can be saved, fitted or not, and so can the covariance shapes, penalties and
    applications that are their parameters. Pipelines may contain scikit-learn's ``QuantileTransformer``. Other objects
    raise an error that names them. The out-of-fold scores that calibrated and fused classifiers keep of their training
    rows are not saved.

    Parameters
    ----------
    model : estimator, calibrator, fuser, pipeline, density, covariance shape or application
    path : path of the file, with any name
    about : dictionary of plain JSON values, optional
        Notes about the model; ``likely inspect`` prints them.

    Raises
    ------
    ModelFileError
        If the model contains an object that cannot be saved, or the file cannot be written.

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
    name = _check_path(path)
    with _as_model_file_error(f"{type(model).__name__} cannot be saved"):
        writer = Writer()
        tree = writer.model(model)
        data = pack(
            {"format": FORMAT, "library": library_version(), "about": _check_about(about), "model": tree},
            writer.tensors,
        )
    try:
        with atomic_write(name, ModelFileError) as stream:
            stream.write(data)
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{name!r} cannot be written: {error}.") from None


def load(path: FilePath) -> Any:
    """Load the model of a file; it equals the saved model bit for bit.

    Loading a file from an untrusted source is safe: the file holds data only, and nothing in it is executed or
    imported. The checksum, the shapes, the finiteness of numbers and the positive definiteness of covariances are
    checked. The checks do not cover the quality of the model's decisions.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    model

    Raises
    ------
    ModelFileError
        If the file does not exist or is not a valid model file.

    Examples
    --------
    >>> import os, tempfile, likely
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "costs.likely")
    ...     likely.save(likely.Application.binary(0.1, cost_fn=5), path)
    ...     round(likely.load(path).threshold, 4)
    0.5878
    """
    name = _check_path(path)
    data = _read_bytes(name)
    with _as_model_file_error(f"{name!r} cannot be loaded"):
        document, tensors = unpack(data)
        return Reader(tensors).model(_tree(document))


def read_about(path: FilePath) -> dict[str, Any]:
    """Return a description of a model file without building the model.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    dict
        ``kind``, ``parameters``, ``classes``, ``n_features`` and ``feature_names`` (None if there are none),
        ``n_values``, the number of values in tensors, ``n_bytes``, the size of the file, ``library`` and ``format``,
        the versions that wrote it, and ``about``, the notes given to :func:`save`.

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
    name = _check_path(path)
    data = _read_bytes(name)
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
        raise RefusedError("its document must consist of format, library, about and model")
    return document["model"]


def _check_path(path: Any) -> str:
    try:
        name = os.fspath(path)
    except TypeError:
        name = None
    if not isinstance(name, str):
        raise ModelFileError(f"path must be the name of a file, but is {path!r}.")
    return name


def _read_bytes(name: str) -> bytearray:
    """Return all bytes of a regular file; a device is not read, because it may have no end."""
    try:
        with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ModelFileError(f"{name!r} cannot be loaded: it is not a regular file.")
            data = bytearray(facts.st_size)
            return _read_into(data, file)
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {name!r}.{_suggest_file(Path(name))}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{name!r} cannot be loaded: {error}.") from None


def _read_into(data: bytearray, file: Any) -> bytearray:
    """Fill a buffer from a file; return a shorter one if the file has become shorter."""
    view, at = memoryview(data), 0
    while at < len(data) and (n := file.readinto(view[at:])):
        at += n
    return data if at == len(data) else data[:at]


def _suggest_file(path: Path) -> str:
    siblings = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, siblings, n=1)
    return f" Did you mean {close[0]!r}?" if close else " Check the path."


def check_savable(model: Any) -> None:
    """Raise ModelFileError if a model cannot be saved; the model need not be fitted."""
    with _as_model_file_error(f"{type(model).__name__} cannot be saved"):
        Writer().model(model)


@contextmanager
def _as_model_file_error(what: str) -> Iterator[None]:
    """Convert errors to ModelFileError, with a prefix that names the model or file."""
    try:
        yield
    except RefusedError as error:
        raise ModelFileError(f"{what}: {str(error).rstrip('.')}.") from None
    except (RecursionError, MemoryError) as error:
        raise ModelFileError(f"{what}: it is too large or too deeply nested ({type(error).__name__}).") from None


def _check_about(about: Any) -> Any:
    """Return a copy of the caller's dictionary; raise unless JSON preserves it exactly."""
    if about is None:
        return {}
    try:
        same = type(about) is dict and _is_json(about)
    except RecursionError:
        same = False
    if not same:
        raise RefusedError(
            "about must be a dictionary of plain JSON values: texts, finite numbers, True, False, None, and lists and "
            "dictionaries of such values"
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


# Descriptions of model files


def _describe(tree: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the kind, parameters, classes, features and number of values of the tree of a model."""
    if type(tree) is not dict or type(tree.get("kind")) is not str or type(tree.get("parameters")) is not dict:
        raise RefusedError("model must have a kind and parameters")
    reader = _Describer(tensors)
    with_features, with_classes = _find_state(tree, "n_features_in_"), _find_state(tree, "classes_")
    n_features = None if with_features is None else reader.value(with_features["n_features_in_"], "n_features_in_")
    return {
        "kind": tree["kind"],
        "parameters": reader.parameters(tree),
        "classes": None if with_classes is None else _as_json(reader.value(with_classes["classes_"], "classes_")),
        "n_features": _as_json(n_features),
        "feature_names": _feature_names(reader, with_features),
        "n_values": sum(int(tensor.size) for tensor in tensors.values()),
    }


def _feature_names(reader: Reader, state: Any) -> Any:
    if state is None or "feature_names_in_" not in state:
        return None
    return _as_json(reader.value(state["feature_names_in_"], "feature_names_in_"))


def _find_state(node: Any, name: str) -> Any:
    """Return the first state that has a value of this name; outer parts and first steps come first."""
    if type(node) is list:
        found = (_find_state(inner, name) for inner in node)
        return next((state for state in found if state is not None), None)
    if type(node) is not dict:
        return None
    state = node.get("state")
    if type(state) is dict and name in state:
        return state
    return _find_state(list(node.values()), name)


class _Describer(Reader):
    """Reader that returns the kind and the parameters of parts without building them."""

    def part(self, node: Any, where: str) -> Any:
        if type(node["kind"]) is not str or type(node.get("parameters")) is not dict:
            raise RefusedError(f"{where} must have a kind and parameters")
        inner = self.parameters(node, f"{where}.")
        return {"kind": node["kind"], **({"parameters": inner} if inner else {})}

    def parameters(self, node: Any, where: str = "") -> dict[str, Any]:
        """Return the parameters of a part under their present names."""
        named = add_absent(node["kind"], translate_names(node["kind"], node["parameters"]))
        return {name: _as_json(self.value(value, f"{where}{name}")) for name, value in named.items()}


def _as_json(value: Any) -> Any:
    """Convert a value to JSON types; floats may be infinite or NaN."""
    if type(value) is np.ndarray:
        is_shown = value.size <= MAX_SHOWN_VALUES or value.dtype.kind in "USO"
        return value.tolist() if is_shown else f"array {value.shape}"
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return [_as_json(item) for item in value]
    if type(value) is dict:
        return {key if type(key) is str else str(key): _as_json(inner) for key, inner in value.items()}
    return value
