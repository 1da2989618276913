"""Arrow columns as numbers and as texts: which kind a column is of, and how either comes out of it.

Files and frames share this: a column is of numbers or of categories, whatever brought it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from likely._typing import Floats, Integers, Labels
from likely.tables.files import arrow

__all__ = ["Kind", "column_of", "distinct", "is_text", "kind_of", "numbers_of", "texts_of"]

Kind: TypeAlias = Literal["number", "category"]


def kind_of(column: Any) -> Kind | None:
    """What an Arrow column holds by its type: numbers, or categories, or neither; one without values counts as numbers.

    Whole numbers, floats, decimals and booleans are numbers; texts and dictionaries are categories.
    """
    types, kind = arrow().types, column.type
    if types.is_dictionary(kind) or is_text(kind):
        return "category"
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return "number" if any(test(kind) for test in tests) else None


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of the types of text."""
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def numbers_of(column: Any) -> Floats:
    """An Arrow column of numbers in double precision, NaN where there is none."""
    numbers = column.cast(arrow().float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False) if hasattr(numbers, "buffers") else numbers.to_numpy())


def texts_of(column: Any) -> Any:
    """An Arrow column as texts, null where there is none; numbers are written in the fewest digits, 1.0 as ``1``."""
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pa.compute.if_else(pa.compute.is_nan(column), None, column.cast(pa.float64()))
    return column.cast(pa.large_string())


def distinct(column: Any) -> tuple[list[str], Integers]:
    """The distinct texts of an Arrow column in order of occurrence, and each row's place among them: -1 for null."""
    texts = texts_of(column)
    # One chunk first: joining the dictionaries of a thousand chunks of distinct texts takes minutes.
    encoded = (texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy().astype(np.intp)
    return encoded.dictionary.to_pylist(), codes


def column_of(values: Labels) -> Any:
    """An array's cells as an Arrow column, null for None and NaN; texts among numbers make texts of all."""
    pa = arrow()
    if values.dtype.kind not in "OT":
        return pa.array(values.astype(values.dtype.newbyteorder("=")), from_pandas=True)
    cells = values.astype(object)
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([_written(cell) for cell in cells], pa.large_string())


def _written(cell: Any) -> str | None:
    """A single cell as the text that a file would hold."""
    if isinstance(cell, str):
        return cell
    pa = arrow()
    try:
        text: str | None = texts_of(pa.array([cell], from_pandas=True))[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return str(cell)
    return text
