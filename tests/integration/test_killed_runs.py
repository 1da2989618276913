"""A run that is killed at any moment, even during a write, is resumed and gives the same leaderboard."""

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


def run_comparison(folder):
    """Compare systems and save the best model, as the command line does."""
    rng = np.random.default_rng(7)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 0.8 * rng.normal(size=(3, 4))[y]
    X[:, 3] = X[:, 0] - X[:, 1]  # singular, so that there are notes
    comparison = likely.compare(X[:60], y[:60], FAMILIES, evaluation=(X[60:], y[60:]), run=folder, fuse=2)
    likely.save(comparison.model(), folder / "models" / "best.likely")


def kill_me():
    os.kill(os.getpid(), signal.SIGKILL)


def arm(module, name, nth, half=None, after=False):
    """Replace a function by one that kills its process before, after or during its n-th call."""
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
    """Leave a temporary file with half of the text."""
    with open(Path(path).with_name(".0123456789abcdef.tmp"), "x") as stream:
        stream.write(text[: len(text) // 2])


WAYS = {
    "mkdir": lambda nth: arm(os, "mkdir", nth),
    "fsync": lambda nth: arm(os, "fsync", nth),
    "flushed": lambda nth: arm(os, "fsync", nth, after=True),
    "replace": lambda nth: arm(os, "replace", nth),
    "replaced": lambda nth: arm(os, "replace", nth, after=True),
    "half a piece": lambda nth: arm(pyarrow.parquet, "write_table", nth, half=half_of_bytes),
    "half of facts": lambda nth: arm(store, "write_whole", nth, half=half_of_text),
}


def fork(work, *args):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*args)
        code = 0
    finally:
        os._exit(code)


def wait_for(pid):
    """Return the exit code of a child, or minus the number of the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_with_kill(folder, way, nth):
    WAYS[way](nth)
    run_comparison(folder)


def check_files(folder):
    """Raise unless every file of the folder is complete, except temporary files."""
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


def record_kill(trial):
    """Record how a run was killed, and whether its files can be read."""
    readable = wait_for(fork(check_files, trial["folder"])) == 0
    kills.append(trial | {"readable": readable, "folder": trial["folder"].name})


def finish(folder):
    code = wait_for(fork(run_comparison, folder))
    board = json.loads((folder / "leaderboard.json").read_text())
    left = [path.name for path in folder.rglob("*.tmp")]
    whole = wait_for(fork(check_files, folder)) == 0
    ends.append({"folder": folder.name, "code": code, "board": board, "left": left, "readable": whole})


kills, ends = [], []
wait_for(fork(run_comparison, HERE / "warm"))  # compile at first use
start = time.monotonic()
finish(HERE / "undisturbed")
length = time.monotonic() - start

random.seed(20)
moments = [(at + random.random()) / 6 * length for at in range(6)]
for at in range(3):  # an early moment and a late one
    folder = HERE / f"timed {at}"
    for moment in (moments[at], moments[at + 3]):
        while True:
            pid = fork(run_comparison, folder)
            time.sleep(moment)
            os.kill(pid, signal.SIGKILL)
            if wait_for(pid) == -signal.SIGKILL:
                record_kill({"folder": folder, "moment": moment / length, "signal": signal.SIGKILL})
                break
            moment /= 2  # it had finished before
    finish(folder)

writes = [
    [("mkdir", 1), ("half of facts", 1), ("mkdir", 2), ("half a piece", 1), ("replace", 3)],
    [("replace", 1), ("replaced", 3), ("fsync", 4), ("half a piece", 2), ("half of facts", 2)],
    [("flushed", 2), ("replaced", 4), ("half a piece", 3), ("replace", 5), ("fsync", 3)],
]
for at, ways in enumerate(writes):
    folder = HERE / f"in writes {at}"
    for way, nth in ways:
        code = wait_for(fork(run_with_kill, folder, way, nth))
        record_kill({"folder": folder, "way": way, "nth": nth, "signal": -code})
    finish(folder)
print(json.dumps({"killed": kills, "ends": ends, "length": length}, default=int))
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_runs_killed_at_many_moments_end_with_the_leaderboard_of_an_undisturbed_run(tmp_path):
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
