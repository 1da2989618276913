"""Plotted points as one long data frame, of whatever library is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from likely._validation import check_option
from likely.exceptions import MissingDependencyError

__all__ = ["BACKENDS", "long_frame"]

BACKENDS = ("pandas", "polars", "pyarrow")


def long_frame(systems: Mapping[str, Mapping[str, Any]], backend: str | None = None) -> Any:
    """The columns of all systems below each other, with the system's name in the first column.

    Parameters
    ----------
    systems : mapping {name: {column: values}}
        The same columns for each system.
    backend : {"pandas", "polars", "pyarrow"}, optional
        By default the first one installed.
    """
    data: dict[str, Any] = {"system": []}
    for name, columns in systems.items():
        data["system"] += [name] * len(next(iter(columns.values())))
    for column in next(iter(systems.values())):
        data[column] = _joined([columns[column] for columns in systems.values()])
    return nw.from_dict(data, backend=_installed(backend)).to_native()


def _joined(parts: list[Any]) -> Any:
    """Arrays of numbers as one array; lists, which may hold labels and None, as one list."""
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    return np.concatenate(parts)


def _installed(backend: str | None) -> Any:
    if backend is not None:
        check_option("backend", backend, BACKENDS)
    wanted = BACKENDS if backend is None else (backend,)
    found = [name for name in wanted if _is_installed(name)]
    if not found:
        raise MissingDependencyError(
            f"A data frame needs {' or '.join(wanted)}, which is not installed. Run: pip install {wanted[0]}"
        )
    return found[0]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module that says nothing of where it comes from
        return False
