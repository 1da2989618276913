"""Run store: a folder of results that remains valid if the process is killed.

::

    run.json                identity of the run: data, folds, versions
    scores/KEY.parquet      out-of-fold scores of a batch of candidates, with warnings and seconds
    evaluation/KEY.parquet  scores of the evaluation rows
    leaderboard.json        facts of the comparison
    report.json, .html      facts and page of the report
    models/                 final models

A piece is written to a temporary file, flushed to the disk and renamed. A killed process leaves complete pieces and at
most one temporary file, which the next run deletes. A folder without run.json holds no run: pieces in it belong to a
run that was being deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
import sklearn

from likely._files import write_whole
from likely._formatting import shorten
from likely._typing import Floats, Labels
from likely._version import library_version
from likely.exceptions import RunError, TableError
from likely.tables.writing import read_arrays, write_arrays

if TYPE_CHECKING:
    from likely.selection.rows import RowSet, ScoringProtocol

SUBFOLDERS = ("scores", "evaluation", "models")

_TEMPORARY = r"\.[0-9a-f]{16}\.tmp"
_FACTS = r"(run|leaderboard|report)\.json|report\.html"
_OWN = rf"{_FACTS}|{_TEMPORARY}|({'|'.join(SUBFOLDERS)})/({_TEMPORARY}|[^/]+\.(parquet|likely))"
"""Files that a run writes and may delete. All other files belong to the user."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A stored result: named arrays, all with the same number of rows, and a description."""

    arrays: dict[str, Floats]
    about: dict[str, Any] = field(default_factory=dict)


class RunStore:
    """A folder of the results of one run, which can be resumed.

    Parameters
    ----------
    folder : path
        Created if missing. Only one run at a time may use it.
    identity : dict
        Everything on which the pieces depend. If a run in the folder has another identity, an error is raised.
    restart : bool
        Whether to delete the results of an earlier run, whatever its identity.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: dict[str, Any], restart: bool = False) -> None:
        self.folder = Path(folder)
        self._identity = json.loads(json.dumps(identity))
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(
                f"The run folder {str(self.folder)!r} cannot be created: it is a file. Choose another folder."
            )
        with self._as_run_error("created"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._check_content()
        self._lock = self._acquire_lock()
        try:
            self._open(restart)
        except BaseException:
            self.close()
            raise

    def _open(self, restart: bool) -> None:
        """Resume the run, or start one. The file run.json is written first and deleted last."""
        if restart or not (self.folder / "run.json").exists():
            self._remove(_OWN)
        self._check_identity()
        self._remove(rf"(.+/)?{_TEMPORARY}")
        self.write_json("run.json", self._identity)
        with self._as_run_error("written"):
            for subfolder in SUBFOLDERS:
                (self.folder / subfolder).mkdir(exist_ok=True)

    def close(self) -> None:
        """Release the folder."""
        os.close(self._lock)

    def get(self, subfolder: str, key: str) -> Piece | None:
        """Return a piece, or None if it is missing or damaged and must be computed again."""
        try:
            piece = Piece(*read_arrays(self._path(subfolder, key)))
            return piece if piece.about.pop("digest") == _digest(piece) else None
        except (TableError, KeyError, TypeError, AttributeError):  # the last three come from a damaged footer
            return None

    def put(self, subfolder: str, key: str, piece: Piece) -> None:
        """Write a piece, completely or not at all."""
        with self._as_run_error("written"):
            write_arrays(self._path(subfolder, key), piece.arrays, {**piece.about, "digest": _digest(piece)})

    def write_json(self, name: str, facts: Any) -> None:
        """Write facts as JSON."""
        self.write_text(name, json.dumps(facts, indent=1, allow_nan=False))

    def write_text(self, name: str, text: str) -> None:
        """Write a file, completely or not at all."""
        with self._as_run_error("written"):
            write_whole(self.folder / name, text)

    def _path(self, subfolder: str, key: str) -> Path:
        return self.folder / subfolder / f"{key}.parquet"

    def _check_content(self) -> None:
        """Raise an error if the folder contains files but no run, because these files belong to the user."""
        with self._as_run_error("read"):
            held = {path.name for path in self.folder.iterdir()}
        others = sorted(name for name in held - {"lock", *SUBFOLDERS} if not re.fullmatch(_OWN, name))
        if others and "run.json" not in held:
            raise RunError(
                f"The folder {str(self.folder)!r} holds no run, but other files, such as {others[0]!r}. Choose an "
                "empty or a new folder."
            )

    def _acquire_lock(self) -> int:
        """Lock the folder. The operating system releases the lock when the process ends, for whatever reason."""
        with self._as_run_error("locked"):
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            raise RunError(
                f"Another run is using the folder {str(self.folder)!r}. Wait until it ends, or choose another folder."
            ) from error
        return handle

    def _check_identity(self) -> None:
        """Raise an error if an earlier run in the folder had other data, folds or versions of libraries."""
        path = self.folder / "run.json"
        if not path.exists():
            return
        try:
            earlier = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise RunError(
                f"{str(path)!r} cannot be read ({error}). Start again with restart=True, or choose another folder.",
                parameter="restart",
            ) from error
        if earlier == self._identity:
            return
        before = earlier if isinstance(earlier, dict) else {}
        values = {name: (before.get(name), self._identity.get(name)) for name in {**before, **self._identity}}
        changed = "; ".join(_describe_change(name, was, now) for name, (was, now) in values.items() if was != now)
        raise RunError(
            f"The folder {str(self.folder)!r} holds a different run: {changed}. Choose another folder to keep both, or "
            "start again with restart=True, which deletes the earlier run.",
            parameter="restart",
        )

    def _remove(self, pattern: str) -> None:
        """Delete the files whose path in the folder matches a pattern. run.json is deleted last."""
        with self._as_run_error("emptied"):
            found = [path for path in [*self.folder.glob("*/*"), *self.folder.glob("*")] if path.is_file()]
            for path in sorted(found, key=lambda path: path.name == "run.json"):
                if re.fullmatch(pattern, path.relative_to(self.folder).as_posix()):
                    path.unlink()

    @contextmanager
    def _as_run_error(self, what: str) -> Iterator[None]:
        """Raise an error of the file system again as an error about the run folder. ``what`` is the failed action."""
        try:
            yield
        except (OSError, TableError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise RunError(
                f"The run folder {str(self.folder)!r} cannot be {what}: {reason}. The results in it are intact. "
                "Free some space or change the permissions, and run the same command again."
            ) from error


def _describe_change(name: str, before: Any, now: Any) -> str:
    """Describe a difference between the identities of two runs. Digests are not shown."""
    if name == "data":
        return "the data have changed since that run"
    return f"{name} changed from {shorten(json.dumps(before), 60)} to {shorten(json.dumps(now), 60)}"


def run_identity(rows: RowSet, protocol: ScoringProtocol, classes: Labels) -> dict[str, Any]:
    """Return everything on which the stored pieces depend, except the candidates.

    Candidates are not included, because each piece contains the keys of its own candidates.
    """
    return {
        "format": 1,
        "rows": len(rows.y),
        "features": int(rows.numbers.shape[1]),
        "classes": [str(label) for label in classes.tolist()],
        "data": rows.fingerprint,
        "folds": protocol.identity,
        "versions": library_versions(),
    }


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries on which scores depend."""
    return {
        "likely": library_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _digest(piece: Piece) -> str:
    """Return a checksum of a piece.

    It is needed because the checksums of Parquet do not cover the footer of a file, where descriptions are stored.
    """
    sha = hashlib.sha256(json.dumps(piece.about, sort_keys=True).encode())
    for name, values in sorted(piece.arrays.items()):
        sha.update(f"|{name}{values.shape}".encode())
        sha.update(values.astype(np.float64, order="C", copy=False).data)
    return sha.hexdigest()


def _lock(handle: int) -> None:
    """Take the lock, or raise OSError without waiting."""
    with suppress(ImportError):
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt  # Windows

    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
