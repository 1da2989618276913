"""The commands compare, fit, report and demo, end to end on small files and on bad input."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likely import Application, Trials, compare, load, read_scores
from likely.cli.leaderboards import brief_notes, show_comparison
from likely.datasets import load_tumours
from likely.tables import read_data, write_columns

QUICK = "--family fisher --fuse 0"


@pytest.fixture
def refused(run):
    """Run a command that must fail, and return its error message."""

    def said(command):
        result = run(command, code=2)
        assert "Traceback" not in result.output
        assert result.stdout == ""
        error = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(error) == 1, result.stderr
        return error[0].removeprefix("Error: ")

    return said


def rows_of(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = np.random.default_rng(1).normal(size=(n_classes, 3))
    return rng.normal(size=(n, 3)) + 0.8 * centres[y], np.array(["no", "yes", "maybe"])[y]


@pytest.fixture
def two(tmp_path):
    """Files of two classes, to train and to evaluate on, in several formats."""
    for name, n, seed in (("train", 80, 2), ("new", 60, 3)):
        X, y = rows_of(n, 2, seed)
        speaker = np.array([f"s{at // 2 % 20}" for at in range(n)])
        vendor = np.where(y == "yes", 1.0, 0.0) + np.random.default_rng(seed).normal(size=n)
        columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "speaker": speaker, "vendor": vendor}
        columns |= {"times": np.arange(n) % 3, "label": y}
        write_columns(tmp_path / f"{name}.csv", columns)
        write_columns(tmp_path / f"{name}-numbers.csv", {**dict(zip("abc", X.T.copy(), strict=True)), "label": y})
        pa.parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    return tmp_path


@pytest.fixture
def three(tmp_path):
    for name, n, seed in (("train", 75, 2), ("new", 60, 3)):
        X, y = rows_of(n, 3, seed)
        write_columns(tmp_path / f"{name}.csv", {**dict(zip("abc", X.T.copy(), strict=True)), "label": y})
    return tmp_path


def without_time(facts):
    return {name: value for name, value in facts.items() if name != "seconds"}


# Comparisons


def test_the_command_prints_the_numbers_of_the_library(run_json, two):
    facts = run_json(
        "compare train-numbers.csv --target label --prior 0.2 --cost-fn 3 --family fisher --family nearest-mean"
    )

    table = read_data(two / "train-numbers.csv", "label")
    application = {"prior 0.2, miss 3": Application.binary(0.2, cost_fn=3, positive="yes")}
    expected = compare(table.X, table.labels, ["fisher", "nearest-mean"], application)
    assert facts["leaderboard"] == json.loads(json.dumps(expected.leaderboard_facts()))
    assert list(facts["applications"]) == list(application)
    assert facts["classes"] == ["no", "yes"]
    assert facts["run"] == "train-numbers-run"
    assert facts["failures"] == {}


def test_the_best_system_is_trained_on_all_rows_and_saved(run_json, run, two):
    facts = run_json(f"compare train-numbers.csv --target label {QUICK}")
    table = read_data(two / "train-numbers.csv", "label")

    model = load(two / facts["model"])
    run(f"score {facts['model']} new-numbers.csv -o scores.csv")
    run(f"decide new-numbers.csv --model {facts['model']} --prior 0.1 -o decisions.csv")

    expected = compare(table.X, table.labels, ["fisher"], fuse=0).model()
    new = read_data(two / "new-numbers.csv", "label").X
    assert np.allclose(model.llr(new), expected.llr(new))
    header, *lines = (two / "scores.csv").read_text().splitlines()
    assert np.allclose(
        np.array([line.split(",")[header.split(",").index("llr")] for line in lines], float), model.llr(new)
    )
    assert (two / "decisions.csv").read_text().count("\n") == 61


def test_several_applications_each_have_their_costs(run_json, run, two):
    options = "--application prior=0.1,cost_fn=10 --application prior=0.5 --positive no"
    facts = run_json(f"compare train-numbers.csv --target label {options} {QUICK}")

    names = ["prior 0.1, miss 10", "prior 0.5"]
    assert list(facts["applications"]) == names
    assert facts["applications"]["prior 0.5"]["priors"] == [0.5, 0.5]
    assert facts["applications"][names[0]]["priors"][0] == pytest.approx(0.1)
    assert list(facts["leaderboard"][0]["costs"]) == names
    assert "prior 0.1" in run(f"compare train-numbers.csv --target label {options} {QUICK}").stdout


def test_three_classes_are_compared_at_priors_and_costs(run_json, three):
    (three / "costs.csv").write_text(",no,yes,maybe\nno,0,1,1\nyes,5,0,1\nmaybe,1,1,0\n")

    where = "--priors no=0.5,yes=0.3,maybe=0.2 --costs costs.csv"
    facts = run_json(f"compare train.csv --target label {where} --evaluation new.csv {QUICK}")

    assert facts["classes"] == ["maybe", "no", "yes"]
    assert next(iter(facts["applications"].values()))["priors"] == [0.2, 0.5, 0.3]
    assert facts["evaluation"]["place"] == 1


def test_evaluation_rows_check_the_choice(run, run_json, two):
    command = "compare train-numbers.csv --target label --evaluation new-numbers.csv --family nearest-mean --fuse 0"
    facts = run_json(command)

    assert facts["evaluation"]["chosen"] == facts["leaderboard"][0]["name"]
    assert {each["name"] for each in facts["evaluation"]["systems"]} == {row["name"] for row in facts["leaderboard"]}
    shown = run(command).stdout
    assert "Was the choice right?" in shown
    assert " ".join(facts["evaluation"]["verdict"].split())[:40] in " ".join(shown.split())


def test_held_out_rows_replace_folds(run_json, two):
    facts = run_json(f"compare train-numbers.csv --target label --held-out new-numbers.csv {QUICK}")

    assert facts["rows"] == 60
    assert facts["protocol"] == "held-out rows"


def test_groups_and_outside_scores_are_taken_from_their_columns(run_json, two):
    facts = run_json(
        "compare train.csv --target label --group speaker --scores vendor --exclude times --exclude c "
        "--family fisher --fuse 2 --evaluation new.csv"
    )

    table = read_data(two / "train.csv", "label", exclude=["times", "c"], groups="speaker", scores=["vendor"])
    assert facts["protocol"] == "5 folds of groups"
    assert facts["rows"] == 80
    assert {row["name"] for row in facts["leaderboard"]} >= {"vendor", "Fisher: raw"}
    assert len(facts["leaderboard"]) == 3
    expected = compare(
        table.X, table.labels, ["fisher"], {"prior 0.5": 0.5}, groups=table.groups,
        scores=table.scores, fuse=2,
    )  # fmt: skip
    assert facts["leaderboard"] == json.loads(json.dumps(expected.leaderboard_facts()))
    assert len(facts["evaluation"]["systems"]) == 3


def test_leave_one_out_is_an_option(run_json, two):
    facts = run_json(f"compare train-numbers.csv --target label --folds leave-one-out {QUICK}")

    assert facts["protocol"] == "leave-one-out"


def test_files_of_every_kind_give_the_same_board(run_json, two):
    columns = "--exclude speaker --exclude vendor --exclude times"
    boards = [
        run_json(f"compare train-numbers.csv --target label --run r1 {QUICK}"),
        run_json(f"compare train.parquet --target label --run r2 {columns} {QUICK}"),
        run_json(f"compare train.npz --target y --run r3 {QUICK}"),
    ]

    assert boards[0]["leaderboard"] == boards[1]["leaderboard"] == boards[2]["leaderboard"]


def test_the_same_command_again_prints_the_same(run, run_json, three):
    command = "compare train.csv --target label --family nearest-mean --evaluation new.csv"
    first = run(command)
    facts = run_json(command)
    again = run(command)

    assert again.stdout == first.stdout
    assert facts == run_json(command)


def test_a_changed_file_is_an_error_and_restart_starts_again(run_json, refused, two):
    run_json(f"compare train-numbers.csv --target label {QUICK}")
    lines = (two / "train-numbers.csv").read_text().splitlines()
    (two / "train-numbers.csv").write_text("\n".join(lines[:-1]) + "\n")

    said = refused(f"compare train-numbers.csv --target label {QUICK}")

    assert "'train-numbers-run' holds a different run: rows changed from 80 to 79" in said
    assert "the data have changed since that run" in said
    assert "restart" in said
    assert run_json(f"compare train-numbers.csv --target label {QUICK} --restart")["rows"] == 79


@pytest.mark.parametrize("by", ["actual", "cllr"])
def test_systems_are_ranked_by_the_requested_measure(by, run_json, three):
    facts = run_json(f"compare train.csv --target label --family nearest-mean --fuse 2 --by {by}")

    costs = [row["cllr"] if by == "cllr" else row["costs"]["equal priors"]["actual"] for row in facts["leaderboard"]]
    assert costs == sorted(costs)


def test_every_family_is_compared_by_default(run_json, three):
    facts = run_json("compare train.csv --target label")

    families = {row["family"] for row in facts["leaderboard"]}
    assert families == {
        "Gaussian", "nearest mean", "logistic", "logistic L1", "quadratic logistic", "radial logistic", "Fisher",
        "least squares", "perceptron", "mixture", "SVM", "polynomial SVM", "RBF SVM", "fusion",
    }  # fmt: skip
    assert facts["failures"] == {}


# One system


def test_a_system_is_fitted_by_its_name_or_the_best_of_a_family(run_json, two):
    named = run_json("fit train-numbers.csv --target label --model 'gaussian: raw, tied' -o named.likely")
    best = run_json("fit train-numbers.csv --target label --model nearest-mean -o best.likely --folds 3")

    assert [row["name"] for row in named["leaderboard"]] == ["Gaussian: raw, tied"]
    assert best["leaderboard"][0]["family"] == "nearest mean"
    assert best["protocol"] == "3 folds"
    new = read_data(two / "new-numbers.csv", "label").X
    assert np.isfinite(load(two / "named.likely").llr(new)).all()
    assert set(load(two / "best.likely").decide(new, 0.3).tolist()) <= {"no", "yes"}


def test_fit_leaves_no_folder_behind(run, two):
    before = {path.name for path in two.iterdir()}

    run("fit train-numbers.csv --target label --model fisher -o model.likely")

    assert {path.name for path in two.iterdir()} - before == {"model.likely"}


# Reports


def test_a_report_repeats_the_comparison(run, run_json, two):
    command = "compare train-numbers.csv --target label --family nearest-mean --evaluation new-numbers.csv --run kept"
    facts, shown = run_json(command), run(command).stdout

    assert run("report kept").stdout == shown
    again = run_json("report kept")
    shared = ("leaderboard", "evaluation", "failures", "notes", "run", "page", "model")
    assert {name: again[name] for name in shared} == {name: facts[name] for name in shared}
    run("report kept -o board.md")
    page = (two / "board.md").read_text(encoding="utf-8")
    assert page.startswith("# 3 systems on train-numbers.csv\n")
    assert all(row["name"] in page for row in facts["leaderboard"])
    assert facts["evaluation"]["systems"][0]["name"] in page.split("## On the evaluation rows")[1]


def test_a_run_keeps_a_page_and_its_facts(run, run_json, two):
    facts = run_json("compare train-numbers.csv --target label --family nearest-mean --run kept")
    page, kept = two / "kept" / "report.html", json.loads((two / "kept" / "report.json").read_text())

    assert facts["page"] == "kept/report.html"
    assert kept["leaderboard"] == facts["leaderboard"]
    assert page.read_text().startswith("<!doctype html>")
    assert "The page, with curves and a decision explorer, is kept/report.html." in run("report kept").stdout
    run("report kept -o again.html")
    assert (two / "again.html").read_text() == page.read_text()
    run("report kept -o again.json")
    assert json.loads((two / "again.json").read_text()) == kept


def test_a_report_of_no_run_is_an_error(refused, two):
    (two / "empty").mkdir()
    (two / "begun").mkdir()
    (two / "begun" / "run.json").write_text("{}")
    (two / "torn").mkdir()
    (two / "torn" / "leaderboard.json").write_text("{")

    assert "'empty' holds no comparison" in refused("report empty")
    assert "There is no file or folder 'nowhere'. Name the folder of a comparison, or" in refused("report nowhere")
    assert "The comparison in 'begun' is not finished. Run its command again." in refused("report begun")
    assert "leaderboard.json' cannot be read" in refused("report torn")


def test_the_demo_compares_all_families_and_can_be_run_again(run, tmp_path):
    first = run("demo --folder show")
    again = run("demo --folder show")

    assert "Was the choice right?" in first.stdout
    assert again.stdout == first.stdout
    assert "likely compare" in first.stderr
    board = json.loads((tmp_path / "show" / "run" / "leaderboard.json").read_text())
    assert board["failures"] == {}
    assert board["leaderboard"][0]["costs"]["prior 0.1, miss 10"]["minimum"] < 0.2
    new = read_data(tmp_path / "show" / "tumours-new.csv", "diagnosis")
    decided = load(tmp_path / "show" / "run" / "models" / "best.likely").decide(new.X, 0.5)
    assert (decided == np.asarray(new.labels)).mean() > 0.9
    assert len(load_tumours()[1]) == 569


# Bad input


GOOD = "a,b,label\n" + "".join(f"{at * 7 % 11},{at * 5 % 13},{'yn'[at % 2]}\n" for at in range(40))


def lines_of(change):
    """The good file with one line changed; line 1 is the header."""
    lines = GOOD.splitlines()
    for number, text in change.items():
        lines[number - 1] = text
    return "\n".join(lines) + "\n"


BAD = {
    "no such file": (None, "", r"There is no file 'data\.csv'"),
    "no such target": (GOOD, "--target labl", r"data\.csv.*'labl'.*Did you mean 'label'\?"),
    "empty": ("", "", r"data\.csv .*empty"),
    "only a header": ("a,b,label\n", "", r"data\.csv must have rows, but has none"),
    "ragged": (lines_of({7: "1,2,y,9"}), "", r"data\.csv.*line 7.*4"),
    "short row": (lines_of({9: "1,y"}), "", r"data\.csv.*line 9.*2"),
    "text among numbers": (lines_of({12: "one,2,y"}), "", r"line 12 of data\.csv has 'one' in column 'a'"),
    "one class": (GOOD.replace(",n\n", ",y\n"), "", r"'label' of data\.csv must hold at least two.*all rows hold 'y'"),
    "rare class": (lines_of({5: "1,2,z", 6: "3,4,z"}), "", r"'z' has only 2 rows, but there are 5 folds"),
    "missing label": (lines_of({8: "1,2,"}), "", r"line 8 of data\.csv .*'label'"),
    "all missing": (re.sub(r"(?m)^\d+,", ",", GOOD), "", r"column 'a' of data\.csv has no value in any row"),
    "unknown class": (GOOD, "--positive maybe", r"--positive names the class 'maybe'.*'n', 'y'"),
    "unknown class of priors": (GOOD, "--priors y=0.5,m=0.5", r"--priors names the class 'm'.*'n', 'y'"),
    "prior": (GOOD, "--prior 1.5", r"1\.5"),
    "no such family": (GOOD, "--family gausian", r"no family or system 'gausian'\. Did you mean 'gaussian'\?"),
    "folds": (GOOD, "--folds some", r"--folds must be an integer >= 2 or leave-one-out, but is 'some'"),
    "one fold": (GOOD, "--folds 1", r"--folds must be an integer >= 2"),
    "measure": (GOOD, "--by luck", r"--by must be.*'luck'"),
    "no such column": (GOOD, "--exclude c", r"data\.csv.*'c'"),
    "no such group": (GOOD, "--group who", r"data\.csv.*'who'"),
    "scores of text": (GOOD.replace("a,b,", "a,b,s,").replace(",y\n", ",x,y\n").replace(",n\n", ",x,n\n"),
                       "--scores s", r"line 2 of data\.csv has 'x' in column 's'"),
    "negative weight": (lines_of({6: "1,-2,y"}), "--weight b", r"line 6 of data\.csv has '-2' in column 'b'"),
    "no such held-out file": (GOOD, "--held-out gone.csv", r"There is no file 'gone\.csv'"),
    "evaluation without a column": (GOOD, "--evaluation narrow.csv", r"(evaluation|narrow\.csv).*'b'"),
    "evaluation of one class": (GOOD, "--evaluation half.csv", r"'label' of half\.csv must hold every.*'n' has no row"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_error_message_with_its_position(what, refused, tmp_path):
    content, options, message = BAD[what]
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    (tmp_path / "narrow.csv").write_text("a,label\n1,y\n2,n\n")
    (tmp_path / "half.csv").write_text("a,b,label\n1,2,y\n2,3,y\n")
    target = "" if "--target" in options else "--target label"

    said = refused(f"compare data.csv {target} {QUICK} {options}")

    assert re.search(message, said), said
    assert not (tmp_path / "data-run" / "leaderboard.json").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.parquet", GOOD.encode()),
        ("data.npz", GOOD.encode()),
        ("data.csv.gz", GOOD.encode()),
        ("data.arrow", b"\x00\x01"),
        ("data.csv", b"PAR1\x00\x01\x02\xff\xfePAR1"),
        ("data.csv", b"PK\x03\x04\x00\x00\xff\xff\x00"),
        ("data.xlsx", b"PK\x03\x04"),
    ],
)
def test_content_that_contradicts_the_suffix_is_an_error(name, content, refused, tmp_path):
    (tmp_path / name).write_bytes(content)

    said = refused(f"compare {name} --target label {QUICK}")

    assert name in said


def test_missing_values_are_reported_and_filled(run, run_json, tmp_path):
    (tmp_path / "data.csv").write_text(lines_of({4: ",2,y", 9: "3,,n", 10: "?,5,y"}).replace("?", "NA"))

    facts = run_json("compare data.csv --target label --family nearest-mean --fuse 0")
    shown = run("compare data.csv --target label --family nearest-mean --fuse 0")

    assert facts["rows"] == 40
    assert facts["failures"] == {}
    assert "missing values in a (2), b (1)" in shown.stderr


def test_a_run_folder_with_other_files_is_an_error_before_any_work(refused, tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")

    assert "holds no run, but other files, such as 'thesis.txt'" in refused(
        f"compare data.csv --target label {QUICK} --run mine --restart"
    )
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "words"


def test_a_model_that_cannot_be_written_is_an_error_before_any_work(refused, run_json, two):
    before = sorted(os.listdir(two))
    for command, sentence in {
        f"compare train-numbers.csv --target label {QUICK} --save nowhere/m.likely": "there is no folder",
        f"compare train-numbers.csv --target label {QUICK} --save m.pkl": "must end with .likely, but is 'm.pkl'",
        "fit train-numbers.csv --target label -m fisher -o nowhere/m.likely": "there is no folder",
        "fit train-numbers.csv --target label -m fisher -o m.pkl": "must end with .likely",
        "report nowhere -o board.pdf": "must end with .html or .md or .json, but is 'board.pdf'",
    }.items():
        assert sentence in refused(command)
    assert sorted(os.listdir(two)) == before
    assert run_json(f"compare train-numbers.csv --target label {QUICK} --save model.likely")["model"] == "model.likely"
    assert (two / "model.likely").read_bytes() == (two / "train-numbers-run/models/best.likely").read_bytes()


def test_a_folder_without_write_permission_is_an_error_before_any_work(refused, two, monkeypatch):
    def closed(**where):
        raise PermissionError(13, "Permission denied", str(where))

    monkeypatch.setattr("likely.cli.app.TemporaryFile", closed)

    said = refused("fit train-numbers.csv --target label -m fisher -o m.likely")

    assert said == "'m.likely' cannot be used: Permission denied."


def test_the_board_is_shown_even_if_the_model_cannot_be_written_in_the_end(run, two, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("likely.cli.compare.shutil.copyfileobj", full)

    result = run(f"compare train-numbers.csv --target label {QUICK} --save model.likely", code=2)

    assert "Fisher: raw" in result.stdout
    assert "Error: 'model.likely' cannot be used: No space left on device." in result.stderr


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("compare train.csv --target label --reject-cost 0.1", "This command accepts no reject cost"),
        (
            "compare train.csv --target label --application prior=0.1,reject_cost=0.1",
            "This command accepts no reject cost",
        ),
        ("fit train.csv --target label -o m.likely --reject-cost 0.1", "This command accepts no reject cost"),
        ("fit train.csv --target label -o m.likely --scores vendor", "--scores is only for 'likely compare'"),
    ],
)
def test_options_of_other_commands_are_rejected(refused, two, command, sentence):
    assert sentence in refused(command)


def test_the_target_must_be_named(run, two):
    assert "Missing option '--target'" in run("compare train.csv", code=2).stderr


# Held-out and evaluation files


def test_other_columns_of_evaluation_files_are_ignored(run, run_json, two):
    plain = run_json(f"compare train-numbers.csv --target label --evaluation new-numbers.csv {QUICK}")
    lines = (two / "new-numbers.csv").read_text().splitlines()
    ids = ["id,when,times", *(f"p{at},2026-01-{at % 28 + 1:02},{at % 4}" for at in range(len(lines) - 1))]
    (two / "more.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(lines, ids, strict=True)))

    more = run_json(f"compare train-numbers.csv --target label --evaluation more.csv {QUICK}")

    assert more["evaluation"] == plain["evaluation"]


def test_errors_in_another_file_name_the_file_and_the_column(refused, two):
    files = {
        "narrow.csv": ("a,c,label\n1,2,yes\n2,3,no\n", "narrow.csv must have a column of features 'b'"),
        "strange.csv": ("a,b,c,label\n1,2,3,yes\n2,3,4,no\n2,3,4,perhaps\n", "but also holds 'perhaps'"),
        "half.csv": ("a,b,c,label\n1,2,3,yes\n2,3,4,yes\n", "Column 'label' of half.csv must hold every class"),
        "text.csv": (
            "a,b,c,label\n1,x,3,yes\n2,y,4,no\n",
            "Column 'b' of text.csv must hold numbers, because it does so",
        ),
    }
    for name, (content, sentence) in files.items():
        (two / name).write_text(content)
        for option in ("--held-out", "--evaluation"):
            said = refused(f"compare train-numbers.csv --target label {option} {name} {QUICK}")
            assert sentence in said
            assert name in said


def test_a_note_says_that_weights_and_groups_of_other_files_are_not_used(run, two):
    command = "compare train.csv --target label --weight times --group speaker --exclude vendor --evaluation new.csv"

    said = " ".join(run(f"{command} {QUICK}").stderr.split())

    assert "The weights in column 'times' are used in train.csv only, not in new.csv." in said
    assert "The groups in column 'speaker' are used in train.csv only, not in new.csv." in said


def test_outside_scores_are_for_the_named_target(run_json, run, two):
    for name in ("train", "new"):
        table = read_data(two / f"{name}.csv", "label", exclude=["speaker"])
        against = np.where(table.labels == "no", 3.0, -3.0) + table.X["vendor"].to_numpy()
        write_columns(two / f"{name}-no.csv", {"a": table.X["a"].to_numpy(), "vendor": against, "label": table.labels})
    command = f"compare train-no.csv --target label --scores vendor --positive no {QUICK}"

    facts = run_json(f"{command} --evaluation new-no.csv")
    held_out = run_json(f"{command} --held-out new-no.csv --run other")
    run("calibrate new-no.csv --using train-no-run/models/best.likely -c vendor -o llr.csv")

    for each in (facts, held_out):
        assert each["leaderboard"][0]["name"] == "vendor"
        assert each["leaderboard"][0]["costs"]["prior 0.5"]["minimum"] < 0.1
    assert facts["evaluation"]["chosen"] == "vendor"
    assert facts["evaluation"]["systems"][0]["minimum"][0] < 0.1
    table = read_scores(two / "llr.csv")
    assert Trials(table.labels, table.scores[:, 0], pos_label="no").cllr() < 0.2
    assert "likely calibrate NEW.csv -c vendor --using" in run("report train-no-run").stdout


# Output


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_boards_of_several_applications_keep_names_and_headings(n, run, run_json, two, monkeypatch, capsys):
    facts = run_json(f"compare train-numbers.csv --target label {QUICK}")
    (row,), cost = facts["leaderboard"], facts["leaderboard"][0]["costs"]["prior 0.5"]
    names = [f"prior 0.{at}, miss {at}0, false alarm 3" for at in range(1, n + 1)]
    row |= {"name": "Gaussian: standardised, PCA 3, tied diagonal", "costs": dict.fromkeys(names, cost)}
    board = [{**row, "place": at, "leads_family": at == 1} for at in range(1, 12)]
    facts |= {"applications": dict.fromkeys(names), "leaderboard": board}
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()

    show_comparison(facts)

    shown = capsys.readouterr().out
    board = shown[: shown.index("Costs at")]
    assert max(map(len, board.splitlines())) <= 80
    assert "…" not in board
    assert board.count("standardised, ") == 10 * -(-n // 2)
    headings = (
        ["minimum", "actual"] if n == 1 else [f"{which} {'ABCDE'[at]}" for at in range(n) for which in ("min", "act")]
    )
    assert all(heading in board for heading in headings)
    said = " ".join(shown.split())
    assert ("with its 95 % interval" in said) == (n == 1)
    assert all(name in said for name in names)


def test_notes_of_the_same_kind_are_one_line():
    wide = "Class 'a' has 40 rows for 9 features, so its full covariance has rank 7 (constant columns: 1, 2). Use PCA."
    alike = wide.replace("'a'", "'b'").replace("40", "1e-09").replace("1, 2", "3").replace("rank 7", "rank +2.5")
    lists = ["Columns 1, 2, 3 and 4 are equal.", "Columns 5, 6 are equal."]

    assert brief_notes([wide, alike, *lists]) == (
        [f"{wide.removesuffix(' Use PCA.')} (and 1 like it)", f"{lists[0]} (and 1 like it)"],
        True,
    )
    assert brief_notes(["Even the letter e is kept."]) == (["Even the letter e is kept."], False)
    lines, left_out = brief_notes([f"{word} {'was ' * 100} too long." for word in "abcdefg"])
    assert left_out
    assert len(lines) == 5
    assert max(map(len, lines)) <= 150


def test_the_report_names_no_model_of_another_run(run, run_json, two):
    run_json(f"compare train-numbers.csv --target label {QUICK} --run kept")
    run("fit train-numbers.csv --target label -m 'nearest mean: raw' -o other.likely")
    (two / "other.likely").rename(two / "kept/models/best.likely")

    assert run_json("report kept")["model"] is None
    assert "belongs to another comparison. Run the command of this one again." in " ".join(
        run("report kept").stdout.split()
    )
    (two / "kept/models/best.likely").unlink()
    assert "cannot be read. Run the command of the comparison again." in " ".join(run("report kept").stdout.split())


def test_a_report_of_scores_has_the_costs_of_evaluate(run, run_json, refused, two):
    options = "-c vendor --prior 0.1"
    judged = run_json(f"evaluate train.csv {options} --no-intervals --page page.md")["systems"][0]
    facts = run_json(f"report train.csv {options}")

    (costs,) = facts["leaderboard"][0]["costs"].values()
    assert costs["uncalibrated"] == judged["costs"][0]["actual"]["estimate"]
    assert costs["minimum"] == judged["costs"][0]["minimum"]["estimate"]
    assert facts["series"][0]["eer"] == judged["eer"]["estimate"]
    assert (two / "page.md").read_text().startswith("# vendor on train.csv\n")
    said = run(f"report train.csv {options}").stdout
    assert facts["verdict"][0] in said
    assert "The report is in train-report.html." in said
    assert (two / "train-report.html").is_file()
    (two / "run").mkdir()
    assert "is a comparison with its own priors and costs" in refused("report run --prior 0.1")


def test_a_report_of_scores_of_three_classes_is_a_page(run, three):
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes", "maybe"])[np.arange(60) % 3]
    write_columns(three / "scores.csv", {"label": y, **{k: rng.normal(size=60) + (y == k) for k in set(y)}})

    run("report scores.csv -o page.html")

    page = (three / "page.html").read_text()
    assert "Each class against the rest" in page
    assert "equal priors" in page


# Real data


DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[3] / "shared" / "data"))


def shared(name):
    """Return the path of a file of real data, or skip the test."""
    if not (DATA / name).exists():
        pytest.skip(f"needs {name}, which is not in {DATA}; set LIKELY_DATA to a folder that has it")
    return DATA / name


def test_german_credit_is_compared_at_its_costs(run_json):
    credit = shared("german_credit.csv.gz")

    facts = run_json(
        f"compare {credit} --target class --positive 2 --cost-fn 5 --cost-fp 1 --prior 0.3 --family nearest-mean "
        "--family fisher --family 'logistic: standardised, lambda 0.01' --family 'Gaussian: raw, diagonal' --run bank"
    )

    assert facts["rows"] == 1000
    assert facts["failures"] == {}
    best = facts["leaderboard"][0]["costs"]["prior 0.3, miss 5"]
    assert 0.5 < best["minimum"] < 0.85
    assert best["minimum"] <= best["actual"] < 1
