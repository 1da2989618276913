"""A run killed at any moment, inside a write too, goes on with the same command and ends with the same leaderboard."""

import json
import os
import subprocess
import sys

import pytest

DRIVER = r'''
import builtins, io, json, os, random, signal, sys, time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import sklearn.impute, sklearn.model_selection, sklearn.preprocessing

import likely.calibration, likely.evaluation, likely.features, likely.models, likely.persistence, likely.selection
from likely.selection import store
from likely.tables import writing

HERE = Path(sys.argv[1])
LOGISTIC = [f"logistic: {features}, λ 0.01" for features in ("standardised", "Gaussianised")]
FAMILIES = ["nearest-mean", "least-squares", *LOGISTIC, "logistic L1: standardised, λ 0.01"]


def compared(folder):
    """What the command line does: compare, and keep the best system's model."""
    rng = np.random.default_rng(7)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 0.8 * rng.normal(size=(3, 4))[y]
    X[:, 3] = X[:, 0] - X[:, 1]  # singular, so that there is something to say
    comparison = likely.compare(X[:60], y[:60], FAMILIES, evaluation=(X[60:], y[60:]), run=folder, fuse=2)
    likely.save(comparison.model(), folder / "models" / "best.likely")


def kill_me():
    os.kill(os.getpid(), signal.SIGKILL)


def armed(module, name, nth, half=None, after=False):
    """Replace a function by one that kills its process at the n-th call: before it, after it, or half way through."""
    original, calls = getattr(module, name), []

    def deadly(*args, **options):
        calls.append(1)
        if len(calls) < nth:
            return original(*args, **options)
        if half is not None:
            half(original, *args, **options)
        if after:
            original(*args, **options)
        kill_me()

    setattr(module, name, deadly)


def half_of_bytes(original, table, stream, **options):
    whole = io.BytesIO()
    original(table, whole, **options)
    stream.write(whole.getvalue()[: len(whole.getvalue()) // 2])
    stream.flush()


def half_of_text(original, path, text):
    """What is left where a text is half written: a file that has no name yet."""
    with open(Path(path).with_name(".0123456789abcdef.tmp"), "x") as stream:
        stream.write(text[: len(text) // 2])


WAYS = {
    "mkdir": lambda nth: armed(os, "mkdir", nth),
    "fsync": lambda nth: armed(os, "fsync", nth),
    "flushed": lambda nth: armed(os, "fsync", nth, after=True),
    "replace": lambda nth: armed(os, "replace", nth),
    "replaced": lambda nth: armed(os, "replace", nth, after=True),
    "half a piece": lambda nth: armed(pyarrow.parquet, "write_table", nth, half=half_of_bytes),
    "half of facts": lambda nth: armed(store, "write_whole", nth, half=half_of_text),
}


def forked(work, *args):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*args)
        code = 0
    finally:
        os._exit(code)


def ended(pid):
    """How a child ended: the number of the signal that killed it, negative, or its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_write(folder, way, nth):
    WAYS[way](nth)
    compared(folder)


def checked(folder):
    """Every file of the folder is whole, but for those that have no name yet."""
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            writing.read_arrays(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".likely":
            likely.load(path)
        elif path.suffix == ".html":
            assert path.read_text().rstrip().endswith("</html>")
        else:
            assert path.is_dir() or path.name == "lock" or path.suffix == ".tmp", path


def killed(trial):
    """Say how a run was killed, and whether what it left can be read."""
    told.append(trial | {"readable": ended(forked(checked, trial["folder"])) == 0, "folder": trial["folder"].name})


def finished(folder):
    code = ended(forked(compared, folder))
    board = json.loads((folder / "leaderboard.json").read_text())
    left = [path.name for path in folder.rglob("*.tmp")]
    whole = ended(forked(checked, folder)) == 0
    ends.append({"folder": folder.name, "code": code, "board": board, "left": left, "readable": whole})


told, ends = [], []
ended(forked(compared, HERE / "warm"))  # what is compiled at first use is compiled
start = time.monotonic()
finished(HERE / "undisturbed")
length = time.monotonic() - start

random.seed(20)
moments = [(at + random.random()) / 6 * length for at in range(6)]
for at in range(3):  # an early moment and a late one
    folder = HERE / f"timed {at}"
    for moment in (moments[at], moments[at + 3]):
        while True:
            pid = forked(compared, folder)
            time.sleep(moment)
            os.kill(pid, signal.SIGKILL)
            if ended(pid) == -signal.SIGKILL:
                killed({"folder": folder, "moment": moment / length, "signal": signal.SIGKILL})
                break
            moment /= 2  # it had come to its end before
    finished(folder)

writes = [
    [("mkdir", 1), ("half of facts", 1), ("mkdir", 2), ("half a piece", 1), ("replace", 3)],
    [("replace", 1), ("replaced", 3), ("fsync", 4), ("half a piece", 2), ("half of facts", 2)],
    [("flushed", 2), ("replaced", 4), ("half a piece", 3), ("replace", 5), ("fsync", 3)],
]
for at, ways in enumerate(writes):
    folder = HERE / f"in writes {at}"
    for way, nth in ways:
        code = ended(forked(in_write, folder, way, nth))
        killed({"folder": folder, "way": way, "nth": nth, "signal": -code})
    finished(folder)
print(json.dumps({"killed": told, "ends": ends, "length": length}, default=int))
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_runs_killed_at_many_moments_end_with_the_leaderboard_of_a_run_left_in_peace(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")

    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert len(facts["killed"]) >= 20
    assert {trial["signal"] for trial in facts["killed"]} == {9}
    assert [trial for trial in facts["killed"] if not trial["readable"]] == []
    undisturbed, *others = facts["ends"]
    board = {name: value for name, value in undisturbed["board"].items() if name != "seconds"}
    assert len(board["leaderboard"]) == 10
    assert board["notes"]
    assert board["evaluation"]["systems"]
    assert len(others) == 6
    for end in facts["ends"]:
        assert end["code"] == 0, end["folder"]
        assert end["readable"]
        assert end["left"] == []
        assert {name: value for name, value in end["board"].items() if name != "seconds"} == board
