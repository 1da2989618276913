"""Reader of NumPy's .npz files. The features are the arrays that have as many rows as the target."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from likely._typing import Labels
from likely.exceptions import TableError
from likely.tables.cells import column_of
from likely.tables.columns import Roles
from likely.tables.files import check_distinct, check_present


def read_npz(path: Path, roles: Roles) -> tuple[dict[str, Any], Labels | None, Roles]:
    """Return the columns of a file by name, the matrix of features or None, and the roles of the columns.

    The features are the arrays with as many rows as the target or, without a target, the only array of two or more
    dimensions. If the features are one such array of numbers, the array is returned as the matrix, without conversion.
    Otherwise each of its columns is one of the columns that are returned.
    """
    arrays = _load(path, roles)
    roles = replace(roles, exclude=tuple(name for name in roles.exclude if name not in arrays))
    arrays = {name: array for name, array in arrays.items() if array is not None}
    for role, parameter, name in roles.named_columns():
        check_present(path, list(arrays), name, role, parameter)
        if arrays[name].ndim != 1:
            raise TableError(
                f"An array {role} must have one dimension, but {name!r} of {path} is of shape {arrays[name].shape}. "
                f"Name another array with {parameter}=.",
                parameter=parameter,
            )
    features = _choose_features(path, roles, arrays)
    others = {name: arrays[name] for name in roles.others()}
    _check_types(path, features | others)
    _check_rows(path, roles, others, len(next(iter(features.values()))))
    columns = {name: column_of(values) for name, values in others.items()}
    matrix = _as_matrix(features, roles)
    return (columns if matrix is not None else columns | _split(path, features)), matrix, roles


def _check_types(path: Path, arrays: dict[str, Labels]) -> None:
    """Raise if an array holds complex numbers, records or bytes, which a column of a table cannot hold."""
    for name, array in arrays.items():
        if array.dtype.kind in "cVS":
            raise TableError(
                f"Arrays must hold numbers or text, but {name!r} of {path} is of type {array.dtype}. Save the array as "
                f"numbers or text. Alternatively, leave it out with exclude={name!r}.",
                parameter="exclude",
            )


def _check_rows(path: Path, roles: Roles, others: dict[str, Labels], n: int) -> None:
    """Raise unless labels, groups, weights and scores have as many rows as the features."""
    if not n:
        raise TableError(f"{path} must have rows, but its arrays of features have none.")
    for role, parameter, name in roles.named_columns():
        if len(others[name]) != n:
            raise TableError(
                f"The array {role} must have as many rows as the features ({n}), but {name!r} of {path} has "
                f"{len(others[name])}. Name another array with {parameter}=.",
                parameter=parameter,
            )


def _load(path: Path, roles: Roles) -> dict[str, Any]:
    """Return the arrays of a file by name. Arrays that ``roles`` excludes are not loaded: their value is None."""
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise TableError(f"{path} must be a .npz file, but is a single array. Save it with numpy.savez.")
        with file:
            return {name: None if name in roles.exclude else _load_array(path, file, name) for name in file.files}
    except TableError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
        raise TableError(f"{path} must be a .npz file, but cannot be read as one: {error}") from error


def _load_array(path: Path, file: Any, name: str) -> Labels:
    try:
        array = file[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise TableError(
            f"Arrays must hold numbers or text, but {name!r} of {path} holds Python objects. They are not loaded, "
            "because loading them could run code. Save the array as numbers or text. Alternatively, leave it out with "
            f"exclude={name!r}.",
            parameter="exclude",
        ) from None
    if not isinstance(array, np.ndarray):
        raise TableError(
            f"{path} must be a .npz file, but {name!r} inside it is not an array. Rename or convert the file."
        )
    return array


def _choose_features(path: Path, roles: Roles, arrays: dict[str, Labels]) -> dict[str, Labels]:
    """Return the arrays of features by name.

    With a target, these are the arrays with as many rows as the target. Without a target, this is the only array of two
    or more dimensions. Arrays that have another role are no features.
    """
    left = {name: array for name, array in arrays.items() if name not in roles.others() and array.ndim}
    if roles.target is not None:
        n = len(arrays[roles.target])
        left = {name: array for name, array in left.items() if len(array) == n}
    else:
        left = {name: array for name, array in left.items() if array.ndim > 1}
    if left and (roles.target is not None or len(left) == 1):
        return left
    shown = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items()) or "none"
    if roles.target is not None:
        raise TableError(
            f"{path} must have an array of features with as many rows as {roles.target!r}, but its arrays are {shown}."
        )
    raise TableError(
        f"Without a target, {path} must have exactly one array of two or more dimensions, but its arrays are {shown}. "
        "Leave out the other arrays with exclude=, or name the array of labels with target=.",
        parameter="exclude",
    )


def _as_matrix(features: dict[str, Labels], roles: Roles) -> Labels | None:
    """Return the features as a matrix if they are one array of numbers with two or more dimensions, otherwise None.

    Return None also if columns are to be excluded or read as categories.
    """
    array = next(iter(features.values()))
    is_matrix = len(features) == 1 and array.ndim > 1 and array.dtype.kind in "iuf"
    return array.reshape(len(array), -1) if is_matrix and not (roles.exclude or roles.categories) else None


def _split(path: Path, features: dict[str, Labels]) -> dict[str, Any]:
    """Split arrays of features into columns, and return the columns by name.

    An array of one dimension is one column with the name of the array. The columns of an array with more dimensions are
    called x0, x1 and so on. If there are several such arrays, the name of the array takes the place of the x.
    """
    wide = sum(array.ndim > 1 for array in features.values())
    columns: list[tuple[str, Any]] = []
    for name, array in features.items():
        if array.ndim == 1:
            columns.append((name, column_of(array)))
        else:
            prefix, flat = "x" if wide == 1 else name, array.reshape(len(array), -1)
            columns += [(f"{prefix}{at}", column_of(values)) for at, values in enumerate(flat.T)]
    check_distinct(path, [name for name, _ in columns])
    return dict(columns)
