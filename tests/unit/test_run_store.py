"""The run store: complete pieces, no mixing of runs, and clear errors."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline as their_pipeline
from sklearn.preprocessing import FunctionTransformer

from likely import GaussianClassifier, NearestMeanClassifier, compare
from likely.exceptions import RunError
from likely.selection.store import Piece, RunStore


class Diary(ClassifierMixin, BaseEstimator):
    """Classifier that writes a line to a file at each fit."""

    def __init__(self, book, shift=0.0):
        self.book = book
        self.shift = shift

    def fit(self, X, y):
        with open(self.book, "a") as stream:
            stream.write(f"{self.shift}\n")
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def decision_function(self, X):
        return -((X[:, None] - self.means_ - self.shift) ** 2).sum(axis=-1)


@pytest.fixture
def data(rng):
    y = np.arange(45) % 3
    return rng.normal(size=(45, 2)) + np.array([[0, 0], [1, 0], [0, 1]])[y], y


@pytest.fixture
def diary(tmp_path):
    """File that records fits, and a function that counts the fits since its last call."""
    path = tmp_path / "fits.txt"

    class Fits:
        candidate = Diary(str(path))

        def with_shift(self, shift):
            return Diary(str(path), shift)

        def count(self):
            lines = path.read_text().splitlines() if path.exists() else []
            path.unlink(missing_ok=True)
            return len(lines)

    return Fits()


def run_of(data, folder, candidates=None, **options):
    X, y = data
    return compare(X, y, candidates or {"tied": GaussianClassifier(tied=True)}, run=folder, **{"fuse": 0, **options})


def kept(folder):
    """Return the results of a run without its times."""
    facts = json.loads((folder / "leaderboard.json").read_text())
    del facts["seconds"]
    return facts


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def files_of_at_most(n_bytes):
    """Simulate a full disk: limit the size of files."""
    resource = pytest.importorskip("resource", reason="the system has no limits of resources")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# Resumed runs


def test_a_stored_run_equals_a_run_in_memory_and_its_repetition(data, tmp_path, diary):
    candidates = {"diary": diary.candidate, "tied": GaussianClassifier(tied=True), "mean": NearestMeanClassifier()}
    evaluation = data

    in_memory = run_of(data, None, candidates, evaluation=evaluation, fuse=2)
    assert diary.count() == 6
    first = run_of(data, tmp_path / "run", candidates, evaluation=evaluation, fuse=2)
    board = kept(tmp_path / "run")
    assert diary.count() == 6
    again = run_of(data, tmp_path / "run", candidates, evaluation=evaluation, fuse=2)

    assert diary.count() == 0
    assert kept(tmp_path / "run") == board
    for one, other, third in zip(in_memory, first, again, strict=True):
        assert one.name == other.name == third.name
        assert_array_equal(one.scores, other.scores)
        assert_array_equal(one.scores, third.scores)
    assert first.leaderboard_facts() == in_memory.leaderboard_facts() == again.leaderboard_facts()
    assert again.record["seconds"] == first.record["seconds"]


def test_added_candidates_do_not_change_the_others(data, tmp_path, diary):
    run_of(data, tmp_path / "run", {"diary": diary.candidate})
    assert diary.count() == 5

    more = run_of(data, tmp_path / "run", {"diary": diary.candidate, "other": diary.with_shift(1.0)})

    assert diary.count() == 5
    assert len(more) == 2


def test_a_candidate_with_another_setting_is_fitted_again(data, tmp_path, diary):
    run_of(data, tmp_path / "run", {"diary": diary.candidate})
    other = run_of(data, tmp_path / "run", {"diary": diary.with_shift(0.5)})

    assert diary.count() == 10
    assert_array_equal(other.best.scores, run_of(data, None, {"diary": diary.with_shift(0.5)}).best.scores)


def test_a_candidate_with_another_name_is_not_fitted_again(data, tmp_path, diary):
    run_of(data, tmp_path / "run", {"diary": diary.candidate})
    renamed = run_of(data, tmp_path / "run", {"journal": diary.candidate})

    assert diary.count() == 5
    assert renamed.best.name == "journal"


def test_other_applications_measures_and_fusions_need_no_new_scores(data, tmp_path, diary):
    run_of(data, tmp_path / "run", {"diary": diary.candidate, "tied": GaussianClassifier()})
    assert diary.count() == 5

    run_of(data, tmp_path / "run", {"diary": diary.candidate, "tied": GaussianClassifier()}, by="cllr", fuse=2)

    assert diary.count() == 0
    assert kept(tmp_path / "run")["by"] == "cllr"


def test_other_evaluation_rows_need_only_their_own_scores(data, tmp_path, diary):
    X, y = data
    run_of(data, tmp_path / "run", {"diary": diary.candidate}, evaluation=(X, y))
    assert diary.count() == 6

    other = run_of(data, tmp_path / "run", {"diary": diary.candidate}, evaluation=(X[::-1] + 1, y[::-1]))

    assert diary.count() == 1
    fresh = run_of(data, None, {"diary": diary.candidate}, evaluation=(X[::-1] + 1, y[::-1]))
    assert other.verdict.to_dict() == fresh.verdict.to_dict()


def test_failures_are_kept_too(data, tmp_path):
    bad = {"tied": GaussianClassifier(), "bad": Diary("/there/is/no/such/folder")}

    first, again = (run_of(data, tmp_path / "run", bad) for _ in range(2))

    assert list(first.failures) == ["bad"]
    assert "no/such/folder" in first.failures["bad"]
    assert again.failures == first.failures


def test_lambdas_are_never_confused(data, tmp_path):
    def of(factor):
        return {"chain": their_pipeline(FunctionTransformer(lambda X: factor * X), NearestMeanClassifier())}

    for factor in (1.0, 2.0):
        stored, fresh = run_of(data, tmp_path / "run", of(factor)), run_of(data, None, of(factor))
        assert_array_equal(stored.best.scores, fresh.best.scores)


def test_settings_with_equal_text_are_distinguished(data, tmp_path):
    class Holder(NearestMeanClassifier):
        def __init__(self, held=None):
            super().__init__()
            self.held = held

    long = [np.zeros(5000), np.r_[np.zeros(2500), 1.0, np.zeros(2499)]]
    texts = [np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)]
    days = [np.array(["2020-01-01"], dtype="M8[D]"), np.array(["2020-01-02"], dtype="M8[D]")]
    held = [*long, *texts, *days, *(tuple(map(float, each)) for each in long)]

    run_of(data, tmp_path / "run", {str(at): Holder(each) for at, each in enumerate(held)})

    assert len(list((tmp_path / "run" / "scores").iterdir())) >= 1
    keys = {c.key for s in run_of(data, None, {str(i): Holder(h) for i, h in enumerate(held)}) for c in s.parts}
    assert len(keys) == len(held)


# A different run in the folder is an error that names the differences


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("label", "the data have changed since that run"),
        ("value", "the data have changed since that run"),
        ("row", "rows changed from 45 to 44"),
        ("column", "features changed from 2 to 3"),
        ("class", "classes changed from"),
        ("weight", "the data have changed since that run"),
        ("groups", "the data have changed since that run"),
        ("folds", 'folds changed from "5 folds .* to "3 folds'),
        ("seed", 'folds changed from "5 folds .* to "5 folds'),
        ("leave-one-out", ' to "leave-one-out'),
        ("held out", ' to "held out'),
    ],
)
def test_a_different_run_is_rejected_with_the_changes(change, named, data, tmp_path):
    X, y = data
    run_of(data, tmp_path / "run")
    before = files_of(tmp_path / "run")
    nudged, swapped = X.copy(), y.copy()
    nudged[7, 1] = np.nextafter(nudged[7, 1], 9)
    swapped[:2] = swapped[1::-1]
    changed = {
        "label": {"y": swapped},
        "value": {"X": nudged},
        "row": {"X": X[:-1], "y": y[:-1]},
        "column": {"X": np.column_stack([X, X[:, 0] ** 2])},
        "class": {"y": np.where(y == 2, 5, y)},
        "weight": {"sample_weight": np.full(45, 2.0)},
        "groups": {"groups": np.arange(45)},
        "folds": {"folds": 3},
        "seed": {"seed": 1},
        "leave-one-out": {"folds": "leave-one-out"},
        "held out": {"held_out": (X, y)},
    }[change]

    with pytest.raises(RunError, match=named) as caught:
        compare(
            **{"X": X, "y": y, "candidates": {"tied": GaussianClassifier(tied=True)}, **changed}, run=tmp_path / "run"
        )

    assert "Choose another folder to keep both, or start again with restart=True" in str(caught.value)
    assert files_of(tmp_path / "run") == before
    run_of(data, tmp_path / "run")


def test_other_versions_are_rejected_by_name(data, tmp_path):
    run_of(data, tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"versions": facts["versions"] | {"numpy": "1.0"}}))

    with pytest.raises(RunError, match=r"versions changed from \{.* to \{"):
        run_of(data, tmp_path / "run")


def test_restart_deletes_the_earlier_run_and_nothing_else(data, tmp_path, diary):
    folder = tmp_path / "run"
    run_of(data, folder, {"diary": diary.candidate})
    stale = set(files_of(folder)) - {"lock", "run.json", "leaderboard.json"}
    assert diary.count() == 5
    (folder / "notes.txt").write_text("mine")
    (folder / "scores" / "mine.csv").write_text("mine")
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.parquet").write_text("mine")

    X, y = data
    fresh = compare(X + 1, y, {"diary": diary.candidate}, run=folder, restart=True, fuse=0)

    assert diary.count() == 5
    assert fresh.leaderboard_facts() == compare(X + 1, y, {"diary": diary.candidate}, fuse=0).leaderboard_facts()
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "scores" / "mine.csv").read_text() == "mine"
    assert (folder / "mine" / "thesis.parquet").read_text() == "mine"
    assert stale


def test_pieces_of_a_partly_deleted_run_are_not_used(data, tmp_path):
    X, y = data
    folder = tmp_path / "run"
    run_of(data, folder)
    (folder / "run.json").unlink()

    other = compare(X + np.arange(45)[:, None] % 2, y, {"tied": GaussianClassifier(tied=True)}, run=folder, fuse=0)

    fresh = compare(X + np.arange(45)[:, None] % 2, y, {"tied": GaussianClassifier(tied=True)}, fuse=0)
    assert other.leaderboard_facts() == fresh.leaderboard_facts()


# Damaged files


@pytest.mark.parametrize("how", ["truncated", "emptied", "flipped", "swapped", "text", "gone"])
def test_an_incomplete_piece_is_computed_again(how, data, tmp_path, diary):
    folder = tmp_path / "run"
    first = run_of(data, folder, {"diary": diary.candidate})
    board = kept(folder)
    (path,) = (folder / "scores").glob("*.parquet")
    whole = path.read_bytes()
    other = tmp_path / "other"
    run_of((data[0] * 2, data[1]), other, {"diary": diary.candidate})
    diary.count()
    middle = bytearray(whole)
    middle[len(whole) // 4] ^= 64
    damaged = {
        "truncated": whole[: len(whole) // 2],
        "emptied": b"",
        "flipped": bytes(middle),
        "swapped": whole[::-1],
        "text": b"nothing of the kind\n",
    }
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(damaged[how])

    again = run_of(data, folder, {"diary": diary.candidate})

    assert diary.count() == 5
    assert_array_equal(again.best.scores, first.best.scores)
    assert kept(folder) == board
    run_of(data, folder, {"diary": diary.candidate})
    assert diary.count() == 0


def test_a_changed_byte_is_detected_or_harmless(tmp_path, rng):
    store = RunStore(tmp_path / "run", {"data": "x"})
    about = {"failures": {"c": "It has failed."}, "notes": ["A note."], "seconds": 1.5}
    piece = Piece({"a": rng.normal(size=12), "b": rng.normal(size=(12, 3))}, about)
    store.put("scores", "key", piece)
    path = tmp_path / "run" / "scores" / "key.parquet"
    whole, lost = path.read_bytes(), 0

    for at in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        found = store.get("scores", "key")
        lost += found is None
        if found is not None:
            assert found.about == about
            assert all(np.array_equal(found.arrays[name], values) for name, values in piece.arrays.items())
    store.close()

    assert lost > len(whole) / 10


def test_a_damaged_run_json_is_an_error_and_restart_repairs_it(data, tmp_path):
    folder = tmp_path / "run"
    run_of(data, folder)
    board = kept(folder)
    path = folder / "run.json"
    path.write_bytes(path.read_bytes()[:40])

    with pytest.raises(
        RunError, match=r"run\.json' cannot be read \(.*Start again with restart=True, or choose another folder"
    ):
        run_of(data, folder)

    run_of(data, folder, restart=True)
    assert kept(folder) == board


def test_a_damaged_leaderboard_is_written_again(data, tmp_path):
    folder = tmp_path / "run"
    run_of(data, folder)
    board = kept(folder)
    (folder / "leaderboard.json").write_text("{")

    run_of(data, folder)

    assert kept(folder) == board


def test_temporary_files_of_a_killed_run_are_deleted(data, tmp_path):
    folder = tmp_path / "run"
    run_of(data, folder)
    left = [folder / f".{'0' * 16}.tmp", folder / "scores" / f".{'a' * 16}.tmp", folder / "models" / f".{'f' * 16}.tmp"]
    for path in left:
        path.write_bytes(b"half of some")

    run_of(data, folder)

    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("left", [[], ["lock"], ["lock", "scores"], ["lock", ".0123456789abcdef.tmp"]])
def test_a_run_killed_at_its_start_can_start_again(left, data, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in left:
        (folder / name).mkdir() if name == "scores" else (folder / name).write_bytes(b"")

    run_of(data, folder)

    assert {path.name for path in folder.iterdir()} == {
        "lock", "run.json", "leaderboard.json", "report.json", "report.html", "scores", "evaluation", "models"
    }  # fmt: skip


# Folders that cannot be used


def test_a_folder_with_other_files_is_rejected_and_unchanged(data, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("words")
    (folder / "chapter.tmp").write_text("more words")

    for restart in (False, True):
        with pytest.raises(
            RunError,
            match=r"holds no run, but other files, such as 'chapter\.(txt|tmp)'\. Choose an empty or a new folder",
        ):
            run_of(data, folder, restart=restart)

    assert files_of(folder) == {"chapter.txt": b"words", "chapter.tmp": b"more words"}


def test_a_file_in_place_of_the_folder_is_rejected(data, tmp_path):
    (tmp_path / "run").write_text("words")

    with pytest.raises(RunError, match=re.escape(f"{str(tmp_path / 'run')!r} cannot be created")):
        run_of(data, tmp_path / "run")

    assert (tmp_path / "run").read_text() == "words"


def test_two_runs_cannot_use_one_folder_at_once(data, tmp_path):
    folder = tmp_path / "run"
    run_of(data, folder)
    before = files_of(folder)
    hold = (
        "import fcntl, sys; stream = open(sys.argv[1], 'r+'); fcntl.flock(stream, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    pytest.importorskip("fcntl", reason="the system has no such locks")
    with subprocess.Popen(
        [sys.executable, "-c", hold, folder / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        for restart in (False, True):
            with pytest.raises(
                RunError, match=r"Another run is using the folder .* Wait until it ends, or choose another folder"
            ):
                run_of(data, folder, restart=restart)
        assert files_of(folder) == before
        other.kill()

    run_of(data, folder)


def test_the_folder_is_unlocked_after_an_error(data, tmp_path):
    folder = tmp_path / "run"
    run_of(data, folder)

    with pytest.raises(RunError, match="holds a different run"):
        run_of(data, folder, folds=3)
    with pytest.raises(KeyboardInterrupt):
        run_of(data, folder, progress=interrupt)

    assert run_of(data, folder).best.name == "tied"


def interrupt(how_far):
    raise KeyboardInterrupt


@pytest.mark.parametrize("most", [10, 2000])
def test_a_full_disk_is_an_error_and_earlier_results_stay(most, data, tmp_path, diary):
    folder = tmp_path / "run"
    run_of(data, folder, {"diary": diary.candidate})
    before = files_of(folder)
    more = {"diary": diary.candidate, "other": diary.with_shift(1.0)}
    diary.count()

    with (
        files_of_at_most(most),
        pytest.raises(RunError, match=r"cannot be written: File too large\. The results in it are intact"),
    ):
        run_of(data, folder, more)

    assert files_of(folder) == before
    diary.count()
    stored = run_of(data, folder, more)
    assert diary.count() == 5
    assert stored.leaderboard_facts() == run_of(data, None, more).leaderboard_facts()


def test_a_disk_that_is_full_from_the_start_is_an_error(data, tmp_path):
    with (
        files_of_at_most(10),
        pytest.raises(RunError, match=r"cannot be written: File too large.*run the same command again"),
    ):
        run_of(data, tmp_path / "run")

    assert run_of(data, tmp_path / "run").best.name == "tied"


READ_ONLY = """
import os, sys
import numpy as np
from likely import GaussianClassifier, compare
y = np.arange(30) % 3
X = np.random.default_rng(0).normal(size=(30, 2))
compare(X, y, [GaussianClassifier()], run=sys.argv[2])  # so that nothing is left to be imported
os.chdir(sys.argv[1])
if os.geteuid() == 0:  # whom permissions do not stop
    os.seteuid(65534)
for name in ("run", "new"):
    try:
        compare(X, y, [GaussianClassifier()], run=name)
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs permissions as POSIX has them")
def test_a_folder_without_write_permission_is_an_error(data, tmp_path, tmp_path_factory):
    run_of(data, tmp_path / "run")
    before = files_of(tmp_path / "run")
    for path in [tmp_path / "run", tmp_path / "run" / "scores", tmp_path]:
        path.chmod(0o555)

    other = tmp_path_factory.mktemp("other") / "run"
    command = [sys.executable, "-c", READ_ONLY, str(tmp_path), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for path in [tmp_path, tmp_path / "run", tmp_path / "run" / "scores"]:
        path.chmod(0o755)

    of_run, of_new = done.stdout.splitlines()
    assert re.match(
        "RunError The run folder 'run' cannot be (locked|written): Permission denied.*change the perm", of_run
    )
    assert re.match("RunError The run folder 'new' cannot be created: Permission denied", of_new)
    assert files_of(tmp_path / "run") == before
    run_of(data, tmp_path / "run")
