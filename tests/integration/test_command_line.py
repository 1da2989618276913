"""The command line: it prints the numbers of the library, and errors as one sentence."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likely import (
    PCA,
    Application,
    GaussianClassifier,
    LogisticFusion,
    TailCalibrator,
    Trials,
    bayes_risk,
    compare,
    confidence_interval,
    cross_entropy,
    kfold_calibrate,
    make_pipeline,
    min_dcf,
    read_scores,
    write_scores,
)
from likely.cli import app as frame
from likely.cli.app import COMMANDS, as_options
from likely.cli.options import ApplicationOptions, CommandError, applications_from
from likely.datasets import load_tumours
from likely.exceptions import InvalidParameterError, LikelyError, TableError
from likely.features import Encode
from likely.persistence import load, save
from likely.tables import read_data, write_columns

ROOT = Path(__file__).parents[2]


@pytest.fixture
def two(tmp_path, rng):
    """Scores of two systems about two classes; the second system is overconfident."""
    y = np.where(rng.random(400) < 0.3, "yes", "no")
    llr = 2 * rng.normal(size=(400, 2)) + np.where(y == "yes", 2, -2)[:, None]
    write_scores(tmp_path / "two.csv", y, llr * [1, 3], names=["plain", "sure"])
    write_scores(tmp_path / "one.csv", y, llr[:, 0], names=["llr"])
    write_columns(tmp_path / "new.csv", {"plain": llr[:50, 0], "sure": 3 * llr[:50, 1]})
    return read_scores(tmp_path / "two.csv")


@pytest.fixture
def three(tmp_path, rng):
    """Log-likelihoods of three classes, with columns that are not in class order."""
    y = np.array(["a", "b", "c"])[rng.integers(3, size=300)]
    scores = rng.normal(size=(300, 3)) + 2 * (y[:, None] == np.array(["b", "c", "a"]))
    write_scores(tmp_path / "three.csv", y, scores, names=["b", "c", "a"])
    (tmp_path / "costs.csv").write_text(",c,a,b\na,1,0,2\nb,1,5,0\nc,0,1,1\n")
    return y, scores[:, [2, 0, 1]]


@pytest.fixture
def tumours(tmp_path):
    """Training rows, rows to score, and a model."""
    X, y, names = load_tumours()
    columns = {str(name): X[:, at] for at, name in enumerate(names[:4])}
    for name, rows in (("train", slice(0, 400)), ("rest", slice(400, None))):
        ids = np.array([f"p{at}" for at in range(len(y))])
        table = {"id": ids, **columns, "diagnosis": y}
        write_columns(tmp_path / f"{name}.csv", {key: values[rows] for key, values in table.items()})
    table = read_data(tmp_path / "train.csv", "diagnosis", exclude=["id"])
    model = make_pipeline(Encode(), GaussianClassifier()).fit(table.X, table.labels)
    save(model, tmp_path / "model.likely", about={"target": "diagnosis", "positive": "malignant"})
    return model, read_data(tmp_path / "rest.csv", "diagnosis", exclude=["id"])


# Evaluation


def test_numbers_of_two_classes_are_those_of_the_library(run_json, two):
    facts = run_json("evaluate two.csv --application prior=0.1,cost_fn=5 --application prior=0.5 --resamples 50")

    rare = Application.binary(0.1, cost_fn=5, positive="yes")
    assert [system["name"] for system in facts["systems"]] == ["plain", "sure"]
    for system, column in zip(facts["systems"], two.scores.T, strict=True):
        trials = Trials(two.labels, column, pos_label="yes")
        assert system["cllr"]["estimate"] == trials.cllr()
        assert system["eer"]["estimate"] == trials.eer()
        assert [cost["actual"]["estimate"] for cost in system["costs"]] == trials.actual_dcf([rare, 0.5]).tolist()
        expected = confidence_interval(min_dcf, two.labels, column, rare, pos_label="yes", n_resamples=50)
        assert system["costs"][0]["minimum"]["low"] == pytest.approx(expected.low)
    assert "calibrate" in facts["systems"][1]["verdict"]


def test_systems_are_compared_with_the_best_on_the_same_rows(run_json, two):
    facts = run_json("evaluate two.csv --prior 0.01 --resamples 50")["differences"]

    assert facts["best"] == "plain"
    assert facts["others"][0]["actual"]["estimate"] > 0
    assert facts["others"][0]["actual"]["p_value"] < 0.05


def test_the_other_class_can_be_the_target(run_json, two):
    facts = run_json("evaluate two.csv -c plain --positive no --no-intervals")

    assert facts["target"] == "no"
    assert facts["systems"][0]["auc"]["estimate"] == 1 - Trials(two.labels, two.scores[:, 0]).roc_auc()
    assert "--positive" in facts["systems"][0]["verdict"]
    assert facts["systems"][0]["cllr"]["low"] is None


def test_numbers_of_more_classes_are_those_of_the_library(run_json, three):
    facts = run_json("evaluate three.csv --priors a=0.2,b=0.5,c=0.3 --costs costs.csv --resamples 20")

    y, scores = three
    application = Application({"a": 0.2, "b": 0.5, "c": 0.3}, [[0, 2, 1], [5, 0, 1], [1, 1, 0]])
    assert facts["costs"][0]["actual"]["estimate"] == pytest.approx(bayes_risk(y, scores, application))
    assert facts["cross_entropy"]["estimate"] == pytest.approx(cross_entropy(y, scores))
    assert np.sum(facts["confusion"]) == 300


def test_two_columns_named_like_the_classes_are_one_system(run, run_json, two, tmp_path):
    write_scores(tmp_path / "pair.csv", two.labels, np.column_stack([two.scores[:, 0], np.zeros(400)]), ["yes", "no"])

    assert (
        run_json("evaluate pair.csv --no-intervals")["systems"]
        == run_json("evaluate one.csv --no-intervals")["systems"]
    )


def test_tables_fit_into_eighty_columns(run, two, three):
    shown = run("evaluate two.csv --application prior=0.01,cost_fn=10,cost_fp=2 --application prior=0.5 --resamples 20")
    more = run("evaluate three.csv --resamples 20")

    assert max(map(len, (shown.stdout + more.stdout).splitlines())) <= 80
    assert "\x1b" not in shown.stdout


def test_infinite_numbers_are_texts_in_json(run_json, tmp_path, run):
    write_scores(tmp_path / "certain.csv", ["a", "a", "b", "b"], [-np.inf, np.inf, 1.0, 2.0])

    assert run_json("evaluate certain.csv --no-intervals")["systems"][0]["cllr"]["estimate"] == "inf"


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        (lambda y, noise: noise, "No threshold does clearly better than deciding without looking."),
        (lambda y, noise: noise / 4 + 0.5, "No threshold does clearly better"),
        (lambda y, noise: 2 * noise + np.where(y, 2, -2), "Well calibrated"),
        (
            lambda y, noise: 6 * noise + np.where(y, 6, -6),
            "but Cllr shows that they cost more at other priors: calibrate them.",
        ),
        (lambda y, noise: 2 * noise + np.where(y, 3, -1), "% more than they could: calibrate them."),
        (lambda y, noise: 2 * noise + np.where(y, 5, 1), "2.4 times what they could: calibrate them."),
        (lambda y, noise: -2 * noise + np.where(y, -2, 2), "Targets score lower than the other class"),
    ],
)
def test_verdicts_are_what_the_scores_deserve(run_json, tmp_path, rng, scores, verdict):
    y = rng.random(2000) < 0.5
    write_scores(tmp_path / "scores.csv", y.astype(int), scores(y, rng.normal(size=2000)))

    assert verdict in run_json("evaluate scores.csv --resamples 100")["systems"][0]["verdict"]


def test_too_few_rows_for_intervals_are_noted(run, tmp_path):
    write_scores(tmp_path / "few.csv", ["a", "b", "b"], [0.0, 1.0, 2.0])

    result = run("evaluate few.csv --json")

    assert result.stderr.startswith("Note: There are no intervals.")
    assert json.loads(result.stdout)["systems"][0]["cllr"]["high"] is None


# Maps on scores


def test_calibrated_scores_are_those_of_folds(run_json, two, tmp_path):
    facts = run_json("calibrate two.csv -o out.parquet --prior 0.1")

    written = read_scores(tmp_path / "out.parquet")
    expected = kfold_calibrate(TailCalibrator(training_prior=0.1), two.scores[:, 1], two.labels)
    np.testing.assert_array_equal(written.scores[:, 1], expected)
    assert facts["systems"][1]["cllr_after"] == Trials(two.labels, expected).cllr()
    assert facts["systems"][1]["cllr_after"] < facts["systems"][1]["cllr_before"]


@pytest.mark.parametrize("method", ["tail", "affine", "isotonic"])
def test_a_saved_calibrator_is_applied_to_scores_without_labels(run, two, tmp_path, method):
    run(f"calibrate two.csv -o out.csv --column sure --method {method} --save kept.likely")
    run("calibrate new.csv -o mapped.csv --using kept.likely --column sure")

    mapped = np.loadtxt(tmp_path / "mapped.csv", skiprows=1)
    np.testing.assert_array_equal(mapped, load(tmp_path / "kept.likely").transform(two.scores[:50, 1]))


def test_calibrating_for_the_first_class_gives_llrs_that_rise_with_the_scores(run, two, tmp_path):
    write_scores(tmp_path / "turned.csv", two.labels, -two.scores[:, 1], names=["against"])

    run("calibrate turned.csv -o out.csv --positive no --method isotonic")

    out = read_scores(tmp_path / "out.csv").scores[:, 0]
    assert Trials(two.labels, out, pos_label="no").cllr() < 0.8


def test_more_classes_are_calibrated_together(run_json, three, tmp_path):
    facts = run_json("calibrate three.csv -o out.csv --save kept.likely")
    run_json("calibrate out.csv -o again.csv --using kept.likely")

    y, scores = three
    expected = kfold_calibrate(TailCalibrator(), scores, y)
    np.testing.assert_array_equal(read_scores(tmp_path / "out.csv").scores, expected)
    assert facts["cross_entropy"]["after"] == cross_entropy(y, expected)


def test_fused_scores_are_those_of_folds_and_a_saved_fuser_finds_its_columns(run_json, two, tmp_path):
    facts = run_json("fuse two.csv -o fused.csv --save fuser.likely -c sure -c plain")
    run_json("fuse new.csv -o applied.csv --using fuser.likely")

    expected = kfold_calibrate(LogisticFusion(), two.scores[:, ::-1], two.labels)
    np.testing.assert_array_equal(read_scores(tmp_path / "fused.csv").scores[:, 0], expected)
    assert facts["fused"]["cllr"] < min(system["cllr"] for system in facts["systems"])
    applied = load(tmp_path / "fuser.likely").transform(two.scores[:50, ::-1])
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "applied.csv", skiprows=1), applied)


# Models


def test_scores_of_a_model_are_its_llrs_next_to_the_labels(run, tumours, tmp_path):
    model, rest = tumours

    said = run("score model.likely rest.csv -o scores.csv").stdout

    table = read_scores(tmp_path / "scores.csv")
    np.testing.assert_array_equal(table.scores[:, 0], model.llr(rest.X))
    np.testing.assert_array_equal(table.labels, rest.labels)
    assert "malignant against benign" in said


def test_without_a_file_to_write_scores_are_csv_on_stdout(run, tumours, tmp_path):
    result = run("score model.likely rest.csv --positive benign")

    (tmp_path / "out.csv").write_text(result.stdout)
    model, rest = tumours
    np.testing.assert_array_equal(read_scores(tmp_path / "out.csv").scores[:, 0], -model.llr(rest.X))
    assert "benign against malignant" in result.stderr


def test_rows_without_labels_are_scored(run, tumours, tmp_path):
    lines = (tmp_path / "rest.csv").read_text().splitlines()
    (tmp_path / "bare.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    (tmp_path / "gaps.csv").write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ","]))

    bare, gaps = run("score model.likely bare.csv").stdout, run("score model.likely gaps.csv")

    assert bare.splitlines()[0] == "llr"
    assert gaps.stdout == bare
    assert "Note: Some rows have no label" in gaps.stderr


def test_decisions_are_those_of_the_application(run, run_json, tumours, tmp_path):
    model, rest = tumours
    clinic = Application.binary(0.37, cost_fn=10, positive="malignant", reject_cost=0.2)
    where = "--prior 0.37 --cost-fn 10 --reject-cost 0.2"

    facts = run_json(f"decide rest.csv --model model.likely {where} -o decided.csv")
    run("score model.likely rest.csv -o scores.csv")
    run(f"decide scores.csv {where} -o again.csv")

    expected = model.decide(rest.X, clinic)
    rows = [line.split(",")[-1] for line in (tmp_path / "decided.csv").read_text().splitlines()[1:]]
    assert rows == ["" if label is None else label for label in expected]
    assert facts["decisions"]["rejected"] == sum(label is None for label in expected)
    assert facts["cost"]["normalized"] == pytest.approx(bayes_risk(rest.labels, model.log_likelihood(rest.X), clinic))
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "decided.csv").read_text()


def test_without_labels_or_an_output_file_decisions_are_in_the_json(run_json, two, tmp_path):
    facts = run_json("decide new.csv --column plain --prior 0.5 --positive yes")

    assert set(facts["columns"]["decision"]) == {"yes", "not yes"}
    assert facts["application"]["threshold"] == 0
    assert "confusion" not in facts


def test_the_names_of_columns_are_the_classes_where_there_are_no_labels(run_json, tmp_path):
    write_columns(tmp_path / "pair.csv", {"b": np.array([0.0, 3.0]), "a": np.array([1.0, 0.0])})

    assert run_json("decide pair.csv --positive b")["columns"] == {"llr": [-1.0, 3.0], "decision": ["a", "b"]}


def test_decisions_among_three_classes_follow_priors_and_costs(run, three, tmp_path):
    run("decide three.csv --priors a=0.2,b=0.5,c=0.3 --costs costs.csv -o out.csv")

    application = Application({"a": 0.2, "b": 0.5, "c": 0.3}, [[0, 2, 1], [5, 0, 1], [1, 1, 0]])
    decided = [line.split(",")[-1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert decided == application.decide(three[1], ["a", "b", "c"]).tolist()


def test_a_data_file_is_described_with_what_a_comparison_would_do(run, run_json, tumours):
    facts = run_json("inspect train.csv --target diagnosis")
    shown = run("inspect train.csv --target diagnosis").stdout

    assert facts["rows"] == sum(facts["classes"].values()) == 400
    assert [column["kind"] for column in facts["columns"]] == ["category", "number", "number", "number", "number"]
    assert any("--exclude" in line and "'id'" in line for line in facts["plan"])
    assert max(map(len, shown.splitlines())) <= 80


def test_a_model_file_is_described_with_its_parts(run, run_json, tumours):
    facts = run_json("inspect model.likely")

    assert facts["steps"] == ["Encode()", "GaussianClassifier()"]
    assert facts["classes"] == ["benign", "malignant"]
    assert facts["about"]["target"] == "diagnosis"
    assert "diagnosis" in run("inspect model.likely").stdout
    Path("model.likely").rename("model.v2")
    assert run_json("inspect model.v2")["steps"] == facts["steps"]


@pytest.fixture
def first(tumours, tmp_path):
    """A model whose target is the first class in sorted order."""
    save(tumours[0], tmp_path / "first.likely", about={"target": "diagnosis", "positive": "benign"})
    return tumours


def test_scores_are_of_the_second_class_whatever_the_model_was_trained_for(run, run_json, first, tmp_path):
    said = run("score first.likely rest.csv -o scores.csv").stdout
    turned = run("score first.likely rest.csv --positive benign -o turned.csv").stdout

    assert "llr of malignant against benign. Written" in said
    assert "llr of benign against malignant; commands that read it need --positive benign" in " ".join(turned.split())
    plain = run_json("evaluate scores.csv --no-intervals")["systems"][0]
    assert plain["auc"]["estimate"] > 0.9
    assert run_json("evaluate turned.csv --no-intervals --positive benign")["systems"][0]["auc"] == plain["auc"]


def test_decisions_by_a_model_are_for_the_target_it_was_trained_for(run, run_json, first):
    model, rest = first
    decided = run_json("decide rest.csv --model first.likely --prior 0.9")

    assert decided["target"] == "benign"
    expected = model.decide(rest.X, Application.binary(0.9, positive="benign"))
    assert decided["columns"]["decision"] == expected.tolist()
    shown = " ".join(run("decide rest.csv --model first.likely --prior 0.9 -o d.csv").stdout.split())
    assert "the llr threshold for benign is -2.197." in shown
    assert "llr is the llr of benign against malignant; commands that read it need --positive benign" in shown
    said = run("decide rest.csv --model first.likely --prior 0.1 --positive malignant -o d.csv").stdout
    assert "the llr threshold for malignant is 2.197." in said


def test_decisions_by_a_file_name_the_target(run, two):
    assert "At prior 0.1: the llr threshold for yes is 2.197." in run("decide one.csv --prior 0.1 -o d.csv").stdout
    assert "a high llr favours no" in run("decide one.csv --positive no --reject-cost 0.1 -o d.csv").stdout


def test_scores_that_are_lower_for_the_target_are_noted_when_they_are_mapped(run, two):
    single = run("calibrate two.csv -o out.csv -c plain --positive no").stderr
    fused = run("fuse two.csv -o out.csv --positive no").stderr

    assert "Note: The scores of 'plain' are lower for the target" in single
    assert "Note: The scores of 'plain', 'sure' are lower for the target" in fused
    assert run("calibrate two.csv -o out.csv").stderr == run("fuse two.csv -o out.csv").stderr == ""


def test_categories_that_did_not_occur_in_training_are_noted(run, tmp_path):
    for name, texts in (("train", ["a", "b"] * 10), ("new", ["a", "c", "c", "d"])):
        numbers = np.arange(len(texts)) * 7.0 % 5
        write_columns(tmp_path / f"{name}.csv", {"size": numbers, "shop": np.array(texts)})
    table = read_data(tmp_path / "train.csv")
    save(make_pipeline(Encode(), GaussianClassifier("diagonal")).fit(table.X, [0, 0, 1, 1] * 5), tmp_path / "m.likely")

    said = run("score m.likely new.csv").stderr

    assert "Note: Column 'shop' has categories in 3 rows that did not occur in training: 'c', 'd'." in said
    assert "Note" not in run("score m.likely train.csv").stderr


def test_long_labels_and_control_characters_are_shown_on_one_line(run, tmp_path):
    long = "long " * 1000
    labels = np.array([long, "two\nlines"] * 10)
    write_scores(tmp_path / "odd.csv", labels, np.arange(20.0))

    shown = run("evaluate odd.csv --no-intervals").stdout + run("decide odd.csv -o d.csv").stdout
    shown += run("inspect odd.csv --target label").stdout
    save(GaussianClassifier().fit([[0.0], [1.0], [3.0], [5.0]], labels[[0, 0, 1, 1]]), tmp_path / "m.likely",
         about={"positive": long})  # fmt: skip
    shown += run("inspect m.likely").stdout
    refused = run("evaluate odd.csv --positive x", code=2).stderr

    assert max(map(len, shown.splitlines())) <= 80
    assert "two\\nlines" in shown
    assert len(shown) < 5000
    assert len(refused) < 500


# Applications from options


def test_labels_are_matched_by_text():
    (name, application), *_ = applications_from(
        ApplicationOptions(prior=0.2, cost_fp=3, positive="0"), np.array([0, 1])
    )

    assert name == "prior 0.2, false alarm 3"
    np.testing.assert_allclose(application.aligned([0, 1]).priors, [0.2, 0.8])
    assert applications_from(ApplicationOptions(positive="true"), [False, True])[0][1].labels == (None, True)


def test_without_options_classes_are_equally_frequent():
    assert [name for name, _ in applications_from(ApplicationOptions(), ["a", "b"])] == ["prior 0.5"]
    name, application = applications_from(ApplicationOptions(reject_cost=0.1), [1, 2, 3])[0]
    assert name == "equal priors, reject 0.1"
    np.testing.assert_allclose(application.priors, 1 / 3)


@pytest.mark.parametrize(
    ("options", "classes", "sentence"),
    [
        ({"positive": "d"}, "ab", "--positive names the class 'd', but the classes are 'a', 'b'."),
        ({"prior": 0.1}, "abc", "--prior is for two classes, but there are 3: 'a', 'b', 'c'."),
        ({"application": ["prior=0.1"], "prior": 0.5}, "ab", "--prior and --application both set the application"),
        ({"application": ["prior=0.1,cost=3"]}, "ab", "sets 'cost', but only prior, cost_fn"),
        ({"application": ["cost_fn=3"]}, "ab", "must set the prior"),
        ({"application": ["prior"]}, "ab", "must be name=number pairs"),
        ({"application": ["prior=much"]}, "ab", "must set prior to a number, but 'much' is not a number"),
        ({"application": ["prior=1.5"]}, "ab", "prior must be in the open interval (0, 1), but is 1.5"),
        ({"priors": "a=0.2,b=0.3,d=0.5"}, "abc", "--priors names the class 'd'"),
        ({"priors": "a=0.2,b=0.8"}, "abc", "--priors must name every class, but 'c' is not in"),
        ({"priors": "a=0.2,b=0.3,c=0.4"}, "abc", "--priors must be >= 0 and sum to 1, but"),
        ({"reject_cost": -1.0}, "ab", "reject_cost must be a number >= 0"),
    ],
)
def test_invalid_applications_are_rejected_with_a_message(options, classes, sentence):
    with pytest.raises((CommandError, InvalidParameterError), match=re.escape(sentence)):
        applications_from(ApplicationOptions(**options), list(classes))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (",a,b\na,0,1\nc,1,0\n", "The first column of"),
        (",a,x\na,0,1\nb,1,0\n", "The header of"),
        (",a,b\na,0\nb,1,0\n", "the row on line 2 has 2"),
        (",a,b\na,0,much\nb,1,0\n", r"line 2 of .*costs\.csv has 'much' in column 'b'"),
        (",a,b\na,0,inf\nb,1,0\n", r"line 2 of .*costs\.csv has 'inf' in column 'b'"),
        (",a,b\na,0,1\nb," + "1" * 200_000 + ",0\n", r"costs\.csv cannot be read from line 3 on"),
        (",a,b\n\na,0,1\nb,\udcff,0\n", r"costs\.csv must be UTF-8, but line 4"),
        ("PAR1\0\0", r"costs\.csv must be text according to its suffix"),
        ("", "The header of"),
    ],
)
def test_invalid_tables_of_costs_are_rejected_with_a_message(tmp_path, text, sentence):
    path = tmp_path / "costs.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")

    with pytest.raises((CommandError, TableError), match=sentence):
        applications_from(ApplicationOptions(costs=path), ["a", "b"])


# Errors


def test_messages_of_the_library_name_options(tmp_path):
    (tmp_path / "data.csv").write_text("a,b,when,label\n1,1,2020-01-01,x\n2,z,2020-01-02,y\n3,4,2021-01-01,y\n")
    path = tmp_path / "data.csv"
    y = [0, 0, 1, 1, 1]
    X = [[at] for at in range(5)]

    def said(call, *args, **kwargs):
        with pytest.raises(LikelyError) as caught:
            call(*args, **kwargs)
        return as_options(str(caught.value), caught.value.parameter)

    assert said(read_data, path, "truth").endswith("Name it with --target.")
    assert said(read_data, path, "label", groups="who").endswith("Name it with --group.")
    assert said(read_data, path, "label", exclude=["zz"]).endswith("Name it with --exclude.")
    assert said(read_data, path, "label", scores=["label"]).endswith(
        "by --target and by --scores. Name another column in one of them."
    )
    assert said(read_data, path, "label", exclude=["b"], weight="when").endswith(
        "set --weight to the name of the column of weights."
    )
    assert said(read_data, path, "label").endswith("declare the column as categories with --category 'b'.")
    assert said(read_scores, path, "truth").endswith("Name it with --label.")
    assert said(read_scores, path, "label", ["c"]).endswith(("Name it with --column.", "Did you mean 'a'?"))
    assert "Set --folds 2. Alternatively, collect more" in said(compare, X, y, ["fisher"])
    assert said(compare, X, y, folds=1).startswith("--folds must be an integer >= 2")
    assert said(compare, X, y, by="luck").startswith("--by must be")
    assert said(compare, X, y, fuse=-1).startswith("--fuse must be an integer from 0 to 100, but is -1.")
    assert said(compare, X, y, folds=2, evaluation=(X, [0] * 5)).startswith("--evaluation must have rows of")
    assert as_options("column 'label=' of 'exclude=.csv'", "label") == "column 'label=' of 'exclude=.csv'"
    compare(X, y, ["fisher"], folds=2, fuse=0, run=tmp_path / "run")
    other = said(compare, X, y[::-1], ["fisher"], folds=2, fuse=0, run=tmp_path / "run")
    assert "or start again with --restart, which deletes" in other


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("evaluate absent.csv", "There is no file 'absent.csv'."),
        ("evaluate two.csv --label truth", "Name it with --label."),
        ("evaluate two.csv -c plan", "Did you mean 'plain'?"),
        ("evaluate two.csv --positive maybe", "--positive names the class 'maybe'"),
        ("evaluate three.csv -c a -c b", "Each class needs a column of log-likelihoods with the name of the class"),
        ("evaluate alike.csv", "but all labels are 'yes'."),
        ("evaluate costs.csv", "must have a column of labels 'label'"),
        ("calibrate two.csv -o nowhere/out.csv", "there is no folder"),
        ("calibrate two.csv -o out.xyz", "must end with one of"),
        ("calibrate two.csv -o out.csv --column plain --save nowhere/kept.likely", "there is no folder"),
        ("calibrate two.csv -o out.csv --column plain --save kept.pkl", "must end with .likely, but is 'kept.pkl'"),
        ("calibrate two.csv -o out.csv --save kept.likely", "--save can save the map of only one system"),
        ("calibrate new.csv -o out.csv", "new.csv has no column 'label'. A map is learned from labels."),
        ("calibrate two.csv -o out.csv --method isotonic --prior 0.1", "--prior is only for --method tail or affine"),
        ("calibrate two.csv -o out.csv --using a.likely --save b.likely", "so there is nothing to save"),
        ("calibrate two.csv -o out.csv --using features.likely", "is of kind PCA, which cannot calibrate scores"),
        ("calibrate two.csv -o out.csv --using two.csv", "'two.csv' cannot be"),
        ("calibrate two.csv -o out.csv --folds 300", "--folds 300 cannot be"),
        ("fuse one.csv -o out.csv", "Fusion needs the scores of at least two systems"),
        ("fuse three.csv -o out.csv", "Fusion needs the scores of at least two systems"),
        ("decide two.csv", "Choose one with --column."),
        ("decide one.csv --application prior=0.1 --application prior=0.5", "Decisions are made for one application"),
        ("decide three.csv --prior 0.1", "--prior is for two classes"),
        ("decide gap.csv", "line 3 of gap.csv has an empty cell in column 'llr'"),
        ("decide one.csv --costs absent.csv", "There is no file 'absent.csv'."),
        ("score absent.likely two.csv", "There is no file 'absent.likely'."),
        ("score features.likely two.csv", "is of kind PCA"),
        ("score model.likely rest.csv --label truth", "must have a column of labels 'truth'"),
        ("inspect absent.csv", "There is no file 'absent.csv'."),
        ("inspect two.csv --target truth", "a column of labels 'truth', but its columns are 'label', 'plain', 'sure'."),
        ("inspect two.likely", "There is no file 'two.likely'."),
    ],
)
def test_errors_that_a_user_can_fix_are_one_sentence(run, two, three, tumours, tmp_path, command, sentence):
    write_scores(tmp_path / "alike.csv", ["yes", "yes"], [1.0, 2.0])
    (tmp_path / "gap.csv").write_text("llr,id\n1.5,a\n,b\n")
    save(PCA(1).fit([[0.0, 1.0], [2.0, 3.5], [1.0, 1.0]]), tmp_path / "features.likely")
    before = sorted(os.listdir(tmp_path))

    result = run(command, code=2)

    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(os.listdir(tmp_path)) == before


def test_usage_errors_exit_with_two_and_suggest_the_command(run):
    assert "Did you mean 'evaluate'?" in run("evaluat", code=2).stderr
    run("evaluate", code=2)


def test_the_error_of_a_full_disk_names_the_file(run, two, monkeypatch):
    def full(path, columns):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("likely.tables.write_columns", full)

    result = run("calibrate two.csv -o out.csv", code=2)

    assert result.stderr == "Error: 'out.csv' cannot be used: No space left on device.\n"


def test_an_interruption_prints_one_word(run, two, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("likely.cli.scores.read_labelled", interrupt)

    assert run("evaluate two.csv", code=130).stderr == "Interrupted.\n"


def test_a_bug_keeps_its_traceback(run, two, monkeypatch):
    monkeypatch.setattr("likely.cli.scores.read_labelled", lambda *args: [].pop())

    assert isinstance(run("evaluate two.csv", code=1).exception, IndexError)


@pytest.mark.parametrize("command", ["--debug evaluate absent.csv", "evaluate absent.csv --debug"])
def test_debugging_shows_the_traceback_of_any_error(run, command):
    assert isinstance(run(command, code=1).exception, TableError)


def test_each_warning_is_printed_once_as_a_note(run, tmp_path):
    write_scores(tmp_path / "apart.csv", [0, 0, 0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    result = run("calibrate apart.csv -o out.csv --folds 3 --json")

    assert result.stderr.startswith("Note: ")
    assert len(set(result.stderr.splitlines())) == len(result.stderr.splitlines())
    assert json.loads(result.stdout)["folds"] == 3


# The command group


def _process(*arguments):
    return subprocess.run([sys.executable, "-m", "likely.cli", *arguments], capture_output=True, text=True)


def test_an_error_exits_with_two_and_no_traceback(tmp_path):
    result = _process("evaluate", str(tmp_path / "absent.csv"))

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"Error: There is no file '{tmp_path / 'absent.csv'}'. Check the path.\n"


def test_a_closed_pipe_is_not_an_error(tmp_path, two):
    decide = shlex.join([sys.executable, "-m", "likely.cli", "decide", str(tmp_path / "one.csv")])

    result = subprocess.run(["bash", "-c", f"{decide} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)

    assert result.returncode == 141
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in COMMANDS)], ids=" ".join)
def test_help_imports_no_slow_modules(arguments):
    code = (
        "import sys; from likely.cli.app import app; app(sys.argv[1:], standalone_mode=False); "
        "slow = {'sklearn', 'numpy', 'scipy', 'pyarrow', 'likely.exceptions'} & set(sys.modules); print('slow:', slow)"
    )

    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)

    assert "slow: set()" in result.stdout


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_every_command_has_valid_examples(run, verb):
    shown = run(f"{verb} --help").stdout

    commands = re.findall(rf"^ +(likely {verb}\b.*)$", shown, flags=re.MULTILINE)
    taught = re.findall(rf"^ +(likely {verb}\b.*)$", frame.load_command(verb).help, flags=re.MULTILINE)
    assert [" ".join(command.split()) for command in commands] == taught, "an example is broken into lines"
    assert "MISSING" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for option in re.findall(r" (-[-a-z]+)", " ".join(commands)):
        assert re.search(rf"{option}\b", shown.partition("Arguments")[2])


def test_every_listed_command_exists():
    for name in COMMANDS:
        assert frame.load_command(name).name == name


def test_the_version_is_printed(run):
    assert run("--version").stdout.startswith("likely")


def test_the_session_in_the_documentation_runs(run, tmp_path):
    """Run the Python blocks and the commands of the sh blocks; all must succeed."""
    page = (ROOT / "docs" / "command-line.md").read_text()

    for kind, block in re.findall(r"```(python|sh)\n(.*?)```", page, flags=re.DOTALL):
        if kind == "python":
            exec(block, {})
        else:
            for line in block.replace("\\\n", " ").splitlines():
                command = line.partition("  #")[0]
                assert command.startswith("likely ")
                assert run(command.removeprefix("likely ")).stdout

    assert (tmp_path / "decisions.csv").exists()
