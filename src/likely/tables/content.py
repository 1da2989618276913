"""Files that are not what their names say."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from likely.exceptions import TableError
from likely.tables.files import delimiter_of, suffix_of

__all__ = ["check_content"]

_LOOKED_AT = 512
_GZIP = "a gzip file"
_BEGINNINGS = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive, as spreadsheets and .npz files are",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": _GZIP,
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def check_content(path: Path) -> None:
    """A file that is called a text table does not begin like something else."""
    if suffix_of(path, ".npz") == ".npz" or delimiter_of(path) is None:
        return
    with open(path, "rb") as stream:
        start = stream.read(_LOOKED_AT)
    if path.suffix.lower() == ".gz" and start:
        if _said(start) != _GZIP:
            raise _refusal(path, "a gzip file", _said(start) or "something else")
        start = _unpacked(path)
    said = _said(start) or ("binary data" if b"\0" in start else None)
    if said is not None:
        raise _refusal(path, "text", said)


def _said(start: bytes) -> str | None:
    return next((what for beginning, what in _BEGINNINGS.items() if start.startswith(beginning)), None)


def _unpacked(path: Path) -> bytes:
    """How the text inside begins; nothing where it is damaged, which its reader will tell with the line."""
    try:
        with gzip.open(path, "rb") as stream:
            return stream.read(_LOOKED_AT)
    except (OSError, EOFError, zlib.error):
        return b""


def _refusal(path: Path, wanted: str, said: str) -> TableError:
    return TableError(f"{path} must be {wanted}, as its name says, but begins like {said}. Rename or convert it.")
