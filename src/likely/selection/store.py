"""The run store: a folder that holds what a run has computed, each piece whole or not at all.

::

    run.json                what was compared: data, folds, versions; a run that differs in them is another one
    scores/KEY.parquet      out-of-fold scores of some candidates, with what was said and how long it took
    evaluation/KEY.parquet  scores of the evaluation file, likewise
    leaderboard.json        what came out
    models/                 final models

A piece is written beside its place, flushed to the disk and moved there; so a process that is killed leaves pieces and,
at most, a file that nobody reads and the next run removes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likely._typing import Floats
from likely.exceptions import RunError, TableError
from likely.tables.arrays import read_arrays, write_arrays
from likely.tables.files import replacing

__all__ = ["MemoryStore", "Piece", "RunStore"]


@dataclass(frozen=True, eq=False)
class Piece:
    """Arrays by name, each of as many rows as the others, and what is to be known of them."""

    arrays: dict[str, Floats]
    about: dict[str, Any] = field(default_factory=dict)


class MemoryStore:
    """A store that is gone with the process."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], Piece] = {}

    def get(self, room: str, key: str) -> Piece | None:
        """A piece that is there, or None."""
        return self._pieces.get((room, key))

    def put(self, room: str, key: str, piece: Piece) -> None:
        """Keep a piece."""
        self._pieces[room, key] = piece

    def write_json(self, name: str, facts: Any) -> None:
        """Nothing: the facts are the caller's."""


class RunStore(MemoryStore):
    """A folder that holds what a run has computed, and goes on with it.

    Parameters
    ----------
    folder : path
        Made if it is not there. One run at a time may use it.
    identity : dict
        What the pieces depend on; a folder whose run differs in it is refused.
    restart : bool
        Whether to remove what an earlier run, of whatever identity, left there.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: dict[str, Any], restart: bool = False) -> None:
        super().__init__()
        self.folder = Path(folder)
        self._identity = json.loads(json.dumps(identity))
        with self._explained("made"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._refuse_strangers()
        self._lock = self._locked()
        if restart:
            self._remove(lambda path: True)
        self._check_identity()
        self._remove(lambda path: path.suffix == ".tmp")
        with self._explained("written"):
            for room in ("scores", "evaluation", "models"):
                (self.folder / room).mkdir(exist_ok=True)
        self.write_json("run.json", self._identity)

    def close(self) -> None:
        """Let others use the folder."""
        os.close(self._lock)

    def get(self, room: str, key: str) -> Piece | None:
        """A piece that is there and whole, or None: what cannot be read is computed again."""
        try:
            return Piece(*read_arrays(self._path(room, key)))
        except TableError:
            return None

    def put(self, room: str, key: str, piece: Piece) -> None:
        """Write a piece, whole or not at all."""
        with self._explained("written"):
            write_arrays(self._path(room, key), piece.arrays, piece.about)

    def write_json(self, name: str, facts: Any) -> None:
        """Write facts, whole or not at all."""
        with self._explained("written"), replacing(self.folder / name) as temporary, open(temporary, "x") as stream:
            json.dump(facts, stream, indent=1, allow_nan=False)
            stream.flush()
            os.fsync(stream.fileno())

    def _path(self, room: str, key: str) -> Path:
        return self.folder / room / f"{key}.parquet"

    def _refuse_strangers(self) -> None:
        """A folder that is not empty and holds no run is somebody's."""
        with self._explained("read"):
            held = {path.name for path in self.folder.iterdir()}
        if held - {"lock"} and "run.json" not in held and not any(name.endswith(".tmp") for name in held):
            raise RunError(
                f"The folder {str(self.folder)!r} holds other files and no run ({sorted(held)[0]!r}). Name a folder "
                "that is empty or not there yet."
            )

    def _locked(self) -> int:
        """A lock that ends with the process, however it ends."""
        with self._explained("locked"):
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            raise RunError(
                f"Another run is using the folder {str(self.folder)!r}. Wait for it, or name another folder."
            ) from error
        return handle

    def _check_identity(self) -> None:
        """The earlier run, if there is one, was of the same data, folds and versions."""
        path = self.folder / "run.json"
        if not path.exists():
            return
        try:
            earlier = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise RunError(
                f"{str(path)!r} cannot be read ({error}). Start afresh with restart, or in another folder."
            ) from error
        if earlier == self._identity:
            return
        changed = _changes(earlier if isinstance(earlier, dict) else {}, self._identity)
        raise RunError(
            f"The folder {str(self.folder)!r} holds a run of something else: {'; '.join(changed)}. Name another folder "
            "to keep both, or start afresh with restart, which removes the earlier run."
        )

    def _remove(self, which: Callable[[Path], bool]) -> None:
        with self._explained("emptied"):
            for path in [*self.folder.glob("*"), *self.folder.glob("*/*")]:
                if path.is_file() and path.name != "lock" and which(path):
                    path.unlink()

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """What the system refuses is said of the folder; what was written before is intact."""
        try:
            yield
        except (OSError, TableError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise RunError(
                f"The run folder {str(self.folder)!r} cannot be {what}: {reason}. What it holds of the run so far is "
                "intact: make room or mend the permissions, and give the same command again."
            ) from error


def _changes(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs, in words."""
    names = [name for name in {**earlier, **now} if earlier.get(name) != now.get(name)]
    return [f"{name} was {_short(earlier.get(name))} and is now {_short(now.get(name))}" for name in names]


def _short(value: Any) -> str:
    said = json.dumps(value)
    return said if len(said) <= 60 else said[:57] + "…"


def _lock(handle: int) -> None:
    """Take the lock, or raise OSError at once."""
    with suppress(ImportError):
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt  # the other system's way

    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
