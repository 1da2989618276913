"""Names of columns: each of its own, and those asked for among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from likely.exceptions import TableError
from likely.tables.files import hint

__all__ = ["check_distinct", "check_named", "check_there"]


def check_distinct(path: Path, header: Sequence[str]) -> None:
    """No two columns have one name."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise TableError(f"Columns must have names of their own, but {path} has {twice[0]!r} twice. Rename one.")


def check_there(path: Path, header: Sequence[str], name: str, what: str, option: str) -> None:
    """A column that is asked for is there."""
    if name not in header:
        shown = ", ".join(map(repr, header[:20])) + (f" and {len(header) - 20} more" if len(header) > 20 else "")
        remedy = hint(name, header) or f" Name it with {option}."
        raise TableError(f"{path} must have a column {what} {name!r}, but its columns are {shown}.{remedy}")


def check_named(path: Path, names: Sequence[str], what: str, remedy: str) -> None:
    """The row numbers that pandas writes as a column are no data."""
    for name in names:
        if not name or re.fullmatch(r"__index_level_\d+__", name):
            raise TableError(
                f"Every column {what} must have a name, but {path} has one called {name!r}, as pandas calls its "
                f"row numbers. Write the file with index=False, or {remedy}."
            )
