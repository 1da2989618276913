"""Atomic writing of files: if writing fails, the old file is unchanged and no temporary file remains."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

from likely.exceptions import LikelyError, TableError

FilePath: TypeAlias = "str | os.PathLike[str]"


@contextmanager
def atomic_write(path: FilePath, error: type[LikelyError] = TableError) -> Iterator[IO[bytes]]:
    """Open a new binary file that replaces ``path`` when the block ends without an exception.

    The file is written under a temporary name in the same folder, synchronised to disk and renamed. If ``path`` is a
    symbolic link, the file that the link points to is replaced. A file that replaces another one takes over its
    permissions.

    Parameters
    ----------
    path : str or path
        The file to write.
    error : type
        Class of the error raised if the folder does not exist or ``path`` is a folder.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise error(f"{os.fspath(path)!r} cannot be written: there is no folder {str(target.parent)!r}. Create it.")
    if target.is_dir():
        raise error(f"{os.fspath(path)!r} cannot be written: it is a folder. Give the name of a file.")
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: FilePath, text: str) -> None:
    """Write a text file atomically, in UTF-8. Lone surrogates, which UTF-8 cannot encode, are written as escapes."""
    with atomic_write(path) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))
