"""Files that are not what their names say."""

from __future__ import annotations

from pathlib import Path

from likely.exceptions import TableError
from likely.tables.files import delimiter_of, suffix_of

__all__ = ["check_content"]

_BEGINNINGS = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive, as spreadsheets and .npz files are",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": "a gzip file",
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
        start = stream.read(512)
    found = [what for beginning, what in _BEGINNINGS.items() if start.startswith(beginning)]
    packed = path.suffix.lower() == ".gz"
    if packed and found != ["a gzip file"] and start:
        said = found[0] if found else "something else"
        raise TableError(f"{path} must be a gzip file, as its name says, but begins like {said}. Rename or convert it.")
    if not packed and (found or b"\0" in start):
        said = found[0] if found else "binary data"
        raise TableError(f"{path} must be text, as its name says, but begins like {said}. Rename or convert it.")
