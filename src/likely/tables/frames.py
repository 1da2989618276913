"""Data frames of computed columns, made with pandas, Polars or pyarrow, whichever is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw

from likely._typing import FrameBackend
from likely._validation import check_option
from likely.exceptions import MissingDependencyError

BACKENDS = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Any], backend: FrameBackend | None = None) -> Any:
    """Make a data frame of named columns.

    Parameters
    ----------
    columns : mapping {name: array or list}
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that makes the frame; by default the first of these that is installed.
    """
    return nw.from_dict(dict(columns), backend=_choose_backend(backend)).to_native()


def _choose_backend(backend: str | None) -> Any:
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
    except ValueError:  # ``sys.modules`` holds a module of this name without an import specification
        return False
