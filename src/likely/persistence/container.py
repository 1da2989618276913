"""The bytes of a model file: a safetensors file with one JSON document in its metadata.

Nothing here knows models. What comes out is a document of bounded size and depth, and the tensors that it may refer to,
both as the checksum was made of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np

from likely._typing import Labels
from likely.exceptions import ModelFileError

FORMAT = 1
"""Version of the format, raised when older libraries could no longer read what is written."""

MOST_HEADER, MOST_VALUES, MOST_DEPTH = 2**24, 2**20, 100
"""Bytes of a header, values in it, and how deeply these are nested: parsed, they take a hundred megabytes or so."""

_KEY, _PREFIX = "likely", '{"sha256": "'
_TYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "F16": "<f2", "I16": "<i2", "U16": "<u2", "F32": "<f4", "I32": "<i4"}
_TYPES |= {"U32": "<u4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


class RefusedError(ModelFileError):
    """Something that a model file may not hold; who knows where it stands puts that before it."""


def pack(document: Mapping[str, Any], tensors: Mapping[str, Labels]) -> bytes:
    """The bytes of a model file; equal documents and tensors give equal bytes.

    The layout is that of safetensors: wide types first, so that every tensor is aligned, then by name.
    """
    check_depth(document)
    rest = json.dumps(document, allow_nan=False, separators=(",", ":"))[1:]
    _check_size(len(rest), rest)
    table, offset = {}, 0
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, tensor in ordered:
        span = [offset, offset := offset + tensor.nbytes]
        table[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": span}
    buffers = [tensor.reshape(-1).view(np.uint8).data for _, tensor in ordered if tensor.size]
    digest = _digest(rest, table, buffers)
    header = json.dumps({"__metadata__": {_KEY: _text(digest, rest)}, **table}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, *buffers])


def unpack(data: bytearray) -> tuple[dict[str, Any], dict[str, Labels]]:
    """Document and tensors of a model file, refused unless they are what the checksum says.

    Tensors are views of the data, laid out as :func:`_check_layout` has seen to: copies would double the memory.
    """
    header, start = _header(data)
    text = _described(header)
    document = _parsed(text)
    _check_format(document)
    end = len(_PREFIX) + 64
    rest = text[end + 3 :]
    if not text.startswith(_PREFIX) or text[end : end + 3] != '", ':
        raise RefusedError("it does not begin with a checksum")
    if text[len(_PREFIX) : end] != _digest(rest, header, [memoryview(data)[start:]]):
        raise RefusedError("it is damaged: its checksum is not that of its contents. Get a fresh copy")
    return document, {name: _tensor(data, start, entry) for name, entry in _entries(header)}


def _tensor(data: bytearray, start: int, entry: Mapping[str, Any]) -> Labels:
    shape, offset = entry["shape"], start + entry["data_offsets"][0]
    if not math.prod(shape):
        return np.empty(shape, dtype=_TYPES[entry["dtype"]])
    values = np.frombuffer(data, _TYPES[entry["dtype"]], math.prod(shape), offset)
    if entry["dtype"] == "BOOL" and values.view(np.uint8).max() > 1:
        raise RefusedError("it holds truth values that are neither true nor false")
    return values.reshape(shape)


def _text(digest: str, rest: str) -> str:
    return f'{_PREFIX}{digest}", {rest}'


def _digest(rest: str, header: Mapping[str, Any], buffers: Iterable[Any]) -> str:
    """SHA-256 of the document after its checksum, of the table of tensors, and of their bytes."""
    table = [[name, entry["dtype"], entry["shape"], entry["data_offsets"]] for name, entry in _entries(header)]
    digest = sha256(rest.encode())
    digest.update(json.dumps(table).encode())
    for buffer in buffers:
        digest.update(buffer)
    return digest.hexdigest()


def _entries(header: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, entry) for name, entry in header.items() if name != "__metadata__")


def _header(data: bytes | bytearray) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, with every tensor in its place, and where the tensors begin."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= len(data) - 8 or data[8:9] != b"{":
        raise RefusedError("it is no model file of likely, or only the beginning of one")
    if length % 8:
        raise RefusedError("it is damaged: its tensors do not begin at a multiple of eight bytes")
    if length > MOST_HEADER:
        raise RefusedError(f"its header of {length} bytes is longer than the {MOST_HEADER} that are read")
    try:
        text = data[8 : 8 + length].decode()
    except UnicodeDecodeError:
        raise RefusedError("it is no model file of likely: its header is no text") from None
    header = _parsed(text)
    _check_layout(header, len(data) - 8 - length)
    return header, 8 + length


def _check_layout(header: Mapping[str, Any], n_bytes: int) -> None:
    """Tensors follow each other without gaps or overlaps, and fill the file."""
    spans = []
    for name, entry in _entries(header):
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise RefusedError(f"its tensor {name[:80]!r} is not described by dtype, shape and data_offsets")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not (_are_sizes(shape) and len(shape) <= 8 and _are_sizes(offsets) and len(offsets) == 2):
            raise RefusedError(f"its tensor {name[:80]!r} has a shape or place that is none")
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in _TYPES:
            raise RefusedError(f"its tensor {name[:80]!r} is of no type that is read")
        width = np.dtype(_TYPES[entry["dtype"]]).itemsize
        if math.prod(shape) * width != offsets[1] - offsets[0] or offsets[0] % width:
            raise RefusedError(f"its tensor {name[:80]!r} does not lie where its shape and type need it")
        spans.append(tuple(offsets))
    ends = [0, *(stop for _, stop in sorted(spans))]
    if [start for start, _ in sorted(spans)] != ends[:-1] or ends[-1] != n_bytes:
        raise RefusedError("it is damaged: its tensors do not fill the file")


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**48 for value in values)


def _described(header: Mapping[str, Any]) -> str:
    """The document's text."""
    metadata = header.get("__metadata__")
    text = metadata.get(_KEY) if isinstance(metadata, dict) and len(metadata) == 1 else None
    if not isinstance(text, str):
        raise RefusedError("it is a safetensors file, but no model file of likely")
    return text


def _check_format(document: Mapping[str, Any]) -> None:
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise RefusedError("it does not say which format it has")
    if version > FORMAT:
        made = str(document.get("library"))[:40]
        raise RefusedError(
            f"it has format {version}, written by likely {made}, and this version reads formats up to {FORMAT}. "
            "Update likely"
        )


def _parsed(text: str) -> dict[str, Any]:
    """A JSON object in which no key stands twice and every number is finite."""
    _check_size(len(text), text)
    try:
        found = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_int=_whole, parse_float=_finite
        )
    except (RecursionError, json.JSONDecodeError):
        raise RefusedError("its header is no JSON document, or one nested too deeply") from None
    if not isinstance(found, dict):
        raise RefusedError("its header is no JSON object")
    check_depth(found)
    return found


def _check_size(length: int, text: str) -> None:
    if length > MOST_HEADER or text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise RefusedError(
            f"what is described in words is more than {MOST_HEADER} characters or {MOST_VALUES} values, the most that "
            "a header holds"
        )


def check_depth(value: Any, left: int = MOST_DEPTH) -> None:
    """Refuse values nested more deeply than models are."""
    if isinstance(value, (dict, list)):
        if not left:
            raise RefusedError(f"it is nested more than {MOST_DEPTH} deep")
        for inner in value.values() if isinstance(value, dict) else value:
            check_depth(inner, left - 1)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RefusedError("its header names something twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise RefusedError(f"its header holds {name}, which is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > 20:
        raise RefusedError("its header holds a whole number of more than 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not np.isfinite(value):
        raise RefusedError("its header holds a number too large for double precision")
    return value
