"""Arrays of numbers by name in a Parquet file, with what is to be known of them: for the library's own use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likely._typing import Floats
from likely.exceptions import TableError
from likely.tables.files import arrow, write_table

__all__ = ["read_arrays", "write_arrays"]

_KEY = b"likely"


def write_arrays(path: Path, arrays: Mapping[str, Floats], about: Mapping[str, Any]) -> None:
    """Arrays of shape (n,) or (n, k), all of the same n, as a Parquet file, whole or not at all."""
    pa = arrow()
    columns, widths = {}, {}
    for name, values in arrays.items():
        widths[name] = None if values.ndim == 1 else values.shape[1]
        for at, column in enumerate(np.reshape(values, (len(values), -1)).T):
            columns[f"{name}/{at}"] = np.ascontiguousarray(column, dtype=np.float64)
    facts = json.dumps({"about": dict(about), "widths": widths})
    write_table(path, pa.table(columns).replace_schema_metadata({_KEY: facts.encode()}))


def read_arrays(path: Path) -> tuple[dict[str, Floats], dict[str, Any]]:
    """What :func:`write_arrays` wrote; a file that is not there, not whole or not of this kind is a ``TableError``."""
    pa = arrow()
    try:
        with open(path, "rb") as stream:
            table = pa.parquet.ParquetFile(stream, page_checksum_verification=True).read()
        facts = json.loads(table.schema.metadata[_KEY])
        arrays = {name: _read(table, name, width) for name, width in facts["widths"].items()}
        return arrays, facts["about"]
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise TableError(f"{path} cannot be read as arrays: {error}") from error


def _read(table: Any, name: str, width: int | None) -> Floats:
    if width is None:
        return np.array(table[f"{name}/0"], dtype=np.float64)
    return np.column_stack([np.asarray(table[f"{name}/{at}"], dtype=np.float64) for at in range(width)])
