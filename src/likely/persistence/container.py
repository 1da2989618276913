"""Container of a model file: a safetensors file with one JSON document in its metadata.

This module does not depend on models. It reads and writes a document, whose size and depth of nesting are limited, and
the tensors to which the document may refer. A checksum verifies both.
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
"""Version of the file format. It increases when older versions of the library cannot read new files."""

MAX_HEADER_BYTES, MAX_HEADER_VALUES, MAX_DEPTH = 2**24, 2**20, 100
"""Maximum size of a header in bytes, maximum number of values in it, and maximum depth of nesting. With these limits, a
parsed header takes about 100 MB of memory at most."""

_KEY, _PREFIX = "likely", '{"sha256": "'
_TYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "F16": "<f2", "I16": "<i2", "U16": "<u2", "F32": "<f4", "I32": "<i4"}
_TYPES |= {"U32": "<u4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


class RefusedError(ModelFileError):
    """A model file is invalid, or a model has a value that a model file cannot hold.

    The message is a part of a sentence. Callers put the name of the file before it.
    """


def pack(document: Mapping[str, Any], tensors: Mapping[str, Labels]) -> bytes:
    """Return the bytes of a model file; equal documents and tensors give equal bytes.

    The layout is that of safetensors. Tensors are ordered by descending item size, so that every tensor begins at a
    multiple of its item size. Tensors of equal item size are ordered by name.
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
    """Return the document and the tensors of a model file; raise unless they match the checksum.

    The tensors are views of ``data``, because copies would double the memory. :func:`_check_layout` verifies that they
    do not overlap and lie within the data.
    """
    header, start = _read_header(data)
    text = _document_text(header)
    document = _parse_json(text)
    _check_format(document)
    end = len(_PREFIX) + 64
    rest = text[end + 3 :]
    if not text.startswith(_PREFIX) or text[end : end + 3] != '", ':
        raise RefusedError("it does not begin with a checksum")
    if text[len(_PREFIX) : end] != _digest(rest, header, [memoryview(data)[start:]]):
        raise RefusedError("it is damaged: its checksum does not match its contents. Get a fresh copy")
    return document, {name: _tensor(data, start, entry) for name, entry in _entries(header)}


def _tensor(data: bytearray, start: int, entry: Mapping[str, Any]) -> Labels:
    shape, offset = entry["shape"], start + entry["data_offsets"][0]
    if not math.prod(shape):
        return np.empty(shape, dtype=_TYPES[entry["dtype"]])
    values = np.frombuffer(data, _TYPES[entry["dtype"]], math.prod(shape), offset)
    if entry["dtype"] == "BOOL" and values.view(np.uint8).max() > 1:
        raise RefusedError(
            "its tensors of booleans must hold only the bytes 0 and 1, but one of them holds another byte"
        )
    return values.reshape(shape)


def _text(digest: str, rest: str) -> str:
    return f'{_PREFIX}{digest}", {rest}'


def _digest(rest: str, header: Mapping[str, Any], buffers: Iterable[Any]) -> str:
    """Return the SHA-256 checksum of ``rest``, the table of tensors in the header, and the bytes of the tensors.

    ``rest`` is the text of the document without its first entry, which is this checksum.
    """
    table = [[name, entry["dtype"], entry["shape"], entry["data_offsets"]] for name, entry in _entries(header)]
    digest = sha256(rest.encode())
    digest.update(json.dumps(table).encode())
    for buffer in buffers:
        digest.update(buffer)
    return digest.hexdigest()


def _entries(header: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, entry) for name, entry in header.items() if name != "__metadata__")


def _read_header(data: bytes | bytearray) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, and the offset of the first tensor. Raise if the layout is invalid."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= len(data) - 8 or data[8:9] != b"{":
        raise RefusedError("it is not a model file of likely, or it is truncated")
    if length % 8:
        raise RefusedError("it is damaged: its tensors do not begin at a multiple of eight bytes")
    if length > MAX_HEADER_BYTES:
        raise RefusedError(f"its header must have at most {MAX_HEADER_BYTES} bytes, but has {length}")
    try:
        text = data[8 : 8 + length].decode()
    except UnicodeDecodeError:
        raise RefusedError("it is not a model file of likely: its header is not UTF-8 text") from None
    header = _parse_json(text)
    _check_layout(header, len(data) - 8 - length)
    return header, 8 + length


def _check_layout(header: Mapping[str, Any], n_bytes: int) -> None:
    """Raise unless the header describes valid tensors that follow each other without gaps or overlaps.

    Together, the tensors must fill the ``n_bytes`` bytes of the file after the header.
    """
    spans = []
    for name, entry in _entries(header):
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise RefusedError(f"its tensor {name[:80]!r} is not described by dtype, shape and data_offsets")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not (_are_sizes(shape) and len(shape) <= 8 and _are_sizes(offsets) and len(offsets) == 2):
            raise RefusedError(f"its tensor {name[:80]!r} has an invalid shape or offset")
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in _TYPES:
            raise RefusedError(f"its tensor {name[:80]!r} has an unsupported dtype")
        width = np.dtype(_TYPES[entry["dtype"]]).itemsize
        if math.prod(shape) * width != offsets[1] - offsets[0] or offsets[0] % width:
            raise RefusedError(f"the offsets of its tensor {name[:80]!r} do not match its shape and dtype")
        spans.append(tuple(offsets))
    ends = [0, *(stop for _, stop in sorted(spans))]
    if [start for start, _ in sorted(spans)] != ends[:-1] or ends[-1] != n_bytes:
        raise RefusedError("it is damaged: its tensors do not fill the file")


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**48 for value in values)


def _document_text(header: Mapping[str, Any]) -> str:
    """Return the text of the JSON document that the metadata of the header holds."""
    metadata = header.get("__metadata__")
    text = metadata.get(_KEY) if isinstance(metadata, dict) and len(metadata) == 1 else None
    if not isinstance(text, str):
        raise RefusedError("it is a safetensors file, but not a model file of likely")
    return text


def _check_format(document: Mapping[str, Any]) -> None:
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise RefusedError("it does not state its format")
    if version > FORMAT:
        library = str(document.get("library"))[:40]
        raise RefusedError(
            f"it has format {version} and was written by likely {library}, but this version reads only formats up to "
            f"{FORMAT}. Update likely"
        )


def _parse_json(text: str) -> dict[str, Any]:
    """Parse a JSON object; raise if a key occurs twice or a number is not finite."""
    _check_size(len(text), text)
    try:
        found = json.loads(
            text,
            object_pairs_hook=_make_dict,
            parse_constant=_refuse_constant,
            parse_int=_parse_int,
            parse_float=_parse_float,
        )
    except (RecursionError, json.JSONDecodeError):
        raise RefusedError("its header is not a JSON document, or is nested too deeply") from None
    if not isinstance(found, dict):
        raise RefusedError("its header is not a JSON object")
    check_depth(found)
    return found


def _check_size(length: int, text: str) -> None:
    if length > MAX_HEADER_BYTES or text.count(",") + text.count("[") + text.count("{") > MAX_HEADER_VALUES:
        raise RefusedError(
            f"the header of a model file can hold at most {MAX_HEADER_BYTES} characters and {MAX_HEADER_VALUES} "
            "values, but the values that are not in tensors exceed this limit"
        )


def check_depth(value: Any, left: int = MAX_DEPTH) -> None:
    """Raise if lists and mappings are nested more than ``MAX_DEPTH`` deep. ``left`` levels are left for ``value``."""
    if isinstance(value, (dict, list)):
        if not left:
            raise RefusedError(f"it is nested more than {MAX_DEPTH} levels deep")
        for inner in value.values() if isinstance(value, dict) else value:
            check_depth(inner, left - 1)


def _make_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RefusedError("its header contains the same key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError(f"its header holds {name}, which is not a JSON number")


def _parse_int(digits: str) -> int:
    if len(digits) > 20:
        raise RefusedError("its header holds a whole number of more than 64 bits")
    return int(digits)


def _parse_float(digits: str) -> float:
    value = float(digits)
    if not np.isfinite(value):
        raise RefusedError("its header holds a number that is too large for double precision")
    return value
