"""What is said when a model cannot be saved or a file cannot be loaded, and what a file tells of itself."""

import doctest
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

import likely
from likely.persistence import read_about
from likely.persistence.container import pack, unpack


@pytest.fixture
def data(rng):
    return rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 2, np.array(["no", "yes"])[np.arange(40) % 2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.likely"


class Mine(likely.GaussianClassifier):
    """A subclass, which may hold anything."""


# What cannot be saved


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "int cannot be saved: model is 3, and no model of this library."),
        (Mine(), "Mine cannot be saved: model is a .*Mine, and model files hold only .* or keep the model by your own"),
        (
            likely.CalibratedClassifier(RandomForestClassifier()),
            "cannot be saved: model.estimator is a sklearn.*RandomForestClassifier, and .* Refit it",
        ),
        (
            likely.make_pipeline(StandardScaler(), likely.PCA()),
            "Pipeline cannot be saved: model.steps.0.1 is a sklearn.*StandardScaler",
        ),
        (
            likely.Perceptron(random_state=np.random.RandomState(0)),
            "random_state is a .*RandomState.* Give a whole number",
        ),
        (likely.CalibratedClassifier(likely.GaussianClassifier(), cv=ShuffleSplit()), "model.cv is a .*ShuffleSplit"),
        (likely.CalibratedClassifier(likely.PCA()), "estimator must be a classifier that gives scores"),
        (
            likely.GaussianClassifier("round"),
            "covariance must be one of 'full', 'diagonal', 'spherical' or a Covariance, but is 'round'",
        ),
        (likely.GaussianClassifier(tied=1), "tied must be True or False, but is 1"),
        (likely.PCA(10**30), "n_components is a whole number of more than 64 bits"),
        (likely.LogisticRegression(max_iter=np.datetime64("2020")), "max_iter is a numpy.datetime64"),
        (likely.GaussianClassifier(priors=np.array([1j, 2])), "priors is an array of complex128"),
        (likely.GaussianClassifier(priors=np.array([["a", "b"]])), "priors is a table of texts"),
        (likely.GaussianClassifier(priors=np.array(["a", None])), "must all be texts, but one is None"),
        (likely.Pipeline([("a", likely.PCA())], memory="cache"), "memory must be one of None, but is 'cache'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_saved_is_named(model, message, path):
    with pytest.raises(likely.ModelFileError, match=message):
        likely.save(model, path)
    assert not path.exists()


def test_an_attribute_that_would_be_lost_is_named(data, path):
    model = likely.GaussianClassifier().fit(*data)
    model.note = "mine"

    with pytest.raises(likely.ModelFileError, match=r"model \(GaussianClassifier\) has an attribute 'note'"):
        likely.save(model, path)


def test_a_list_that_holds_itself_is_too_deep(path):
    priors = []
    priors.append(priors)

    with pytest.raises(likely.ModelFileError, match="too large or too deeply nested"):
        likely.save(likely.GaussianClassifier(priors=priors), path)


def test_a_parameter_that_is_gone_is_missed(path):
    model = likely.PCA()
    del model.n_components

    with pytest.raises(likely.ModelFileError, match="model has no parameter 'n_components', as every PCA does"):
        likely.save(model, path)


@pytest.mark.parametrize("about", [[], {1: 2}, {"a": (1,)}, {"a": np.float64(1)}, {"a": float("nan")}, {"a": 10**20}])
def test_about_must_be_plain_json(about, path):
    with pytest.raises(likely.ModelFileError, match="about must be a dictionary of plain JSON values"):
        likely.save(likely.PCA(), path, about=about)


def test_more_words_than_a_header_holds_are_refused(path):
    with pytest.raises(likely.ModelFileError, match="what is described in words is more than 16777216 characters"):
        likely.save(likely.PCA(), path, about={"a": "x" * 2**24})


# Where a file cannot be written


def test_a_folder_that_is_not_there_is_named(path):
    with pytest.raises(likely.ModelFileError, match=r"there is no folder .* Create it"):
        likely.save(likely.PCA(), path / "deeper")


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(likely.ModelFileError, match="it is a folder"):
        likely.save(likely.PCA(), tmp_path)


@pytest.mark.parametrize("door", [lambda path: likely.save(likely.PCA(), path), likely.load, read_about])
def test_a_path_must_be_the_name_of_a_file(door):
    with pytest.raises(likely.ModelFileError, match="path must be the name of a file, but is 3"):
        door(3)


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(likely.ModelFileError, match="cannot be loaded: embedded null"):
        likely.load("a\0b")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    likely.save(likely.PCA(1), path)
    before = path.read_bytes()

    def fail(number):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(likely.ModelFileError, match="cannot be written: no space left"):
        likely.save(likely.PCA(2), path)

    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# What cannot be loaded


def test_a_missing_file_is_named_with_a_near_one(path):
    likely.save(likely.PCA(), path)

    with pytest.raises(
        likely.ModelFileError, match=r"There is no file '.*modell.likely'. Did you mean 'model.likely'\?"
    ):
        likely.load(path.with_name("modell.likely"))
    with pytest.raises(likely.ModelFileError, match="Check the path"):
        likely.load(path.with_name("qqqq"))


def test_a_folder_is_no_file_to_load(tmp_path):
    with pytest.raises(likely.ModelFileError, match="cannot be loaded: "):
        likely.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)

    with pytest.raises(likely.ModelFileError, match="it is no file"):
        likely.load(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(path):
    likely.save(likely.PCA(), path)
    path.chmod(0)

    with pytest.raises(likely.ModelFileError, match="Permission denied"):
        likely.load(path)


def test_every_truncation_is_refused(data, path):
    likely.save(likely.NearestMeanClassifier().fit(*data), path)
    whole = path.read_bytes()

    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(likely.ModelFileError):
            likely.load(path)


def test_a_damaged_file_is_told_by_its_checksum(data, path):
    likely.save(likely.NearestMeanClassifier().fit(*data), path)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)

    with pytest.raises(
        likely.ModelFileError, match=r"it is damaged: its checksum is not that of its contents\. Get a fresh"
    ):
        likely.load(path)


def test_a_newer_format_asks_for_a_newer_library(path):
    path.write_bytes(pack({"format": 7, "library": "9.9", "about": {}, "model": None}, {}))

    with pytest.raises(likely.ModelFileError, match=r"format 7, written by likely 9.9, .* up to 1. Update likely\.$"):
        likely.load(path)


def test_another_safetensors_file_is_no_model(path):
    safetensors.numpy.save_file({"x": np.zeros(3)}, path)

    with pytest.raises(likely.ModelFileError, match="it is a safetensors file, but no model file of likely"):
        likely.load(path)


def forge(path, change):
    document, tensors = unpack(bytearray(path.read_bytes()))
    del document["sha256"]
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    change(document["model"], tensors)
    path.write_bytes(pack(document, tensors))


def test_what_is_wrong_with_a_part_is_said_with_its_place(data, path):
    chain = likely.make_pipeline(likely.PCA(2), likely.GaussianClassifier()).fit(*data)
    likely.save(chain, path)

    def change(model, tensors):
        tensors["model.steps.1.1._parameters.means"] = np.zeros((2, 3))

    forge(path, change)
    with pytest.raises(
        likely.ModelFileError,
        match=r"model\.likely' cannot be loaded: model.steps.1.1._parameters \(Gaussians\): covariances must have 3",
    ):
        likely.load(path)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"what": 1}, "is an object with the keys .'what'., which stands for nothing"),
        ({"array": "nowhere", "order": "C"}, "refers to a tensor that is not there"),
        ({"float": "huge"}, "must be 'nan', 'inf' or '-inf', not 'huge'"),
        ({"bytes": "€"}, "must hold bytes alone"),
        ({"tuple": 3}, "must list the items of a tuple"),
        ({"map": [[1]]}, "must list pairs of key and value"),
        ({"map": [["a", 1], ["a", 2]]}, "has the key 'a' twice"),
        ({"map": [[[], 1]]}, "has a key that is no plain value"),
        ({"scalar": 3, "dtype": "object"}, "is no number of NumPy's"),
        ({"scalar": 300, "dtype": "uint8"}, "does not fit into uint8"),
        ({"scalar": 0.5, "dtype": "int64"}, "does not fit into int64"),
        ({"strings": [1], "dtype": "object"}, "must hold texts alone"),
        ({"strings": ["ab"], "dtype": "U1"}, "has texts of up to 2 characters in places for 1"),
        ({"strings": ["ab"], "dtype": "V3"}, "must be of dtype 'object', or 'U' or 'S' with a width, not 'V3'"),
        ({"strings": ["€"], "dtype": "S3"}, "must hold bytes alone"),
        ({"kind": "Nothing", "parameters": {}}, "is of a kind 'Nothing' that is not known here"),
        ({"kind": "PCA", "parameters": 3}, "must consist of kind, parameters and state"),
        ({"kind": "PCA", "parameters": {}, "state": 3}, "must have a state of named values"),
        ({"kind": "PCA", "parameters": {}}, r"\(PCA\): lacks the parameter 'n_components'"),
        (
            {"kind": "ElasticNet", "parameters": {"l1_share": 2}},
            "l1_share must be a number from 0 to 1, but is 2",
        ),
        (
            {"kind": "sklearn.KFold", "parameters": {"n_splits": 3, "shuffle": False, "random_state": 1}},
            r"\(sklearn.KFold\): ",
        ),
        (
            {
                "kind": "GaussianClassifier",
                "parameters": {"covariance": "full", "tied": True, "priors": None},
                "output": 1,
            },
            "the output must be one of 'default', 'pandas', 'polars'",
        ),
        (
            {"kind": "sklearn.LeaveOneOut", "parameters": {}, "output": "pandas"},
            "transforms nothing, so it has no kind of output",
        ),
    ],
    ids=str,
)
def test_every_way_to_write_a_value_is_checked(node, message, path):
    likely.save(likely.GaussianClassifier(), path)

    def change(model, tensors):
        model["parameters"]["priors"] = node

    forge(path, change)
    with pytest.raises(likely.ModelFileError, match=message):
        likely.load(path)


# What a file tells of itself


def test_a_file_tells_what_it_holds(data, path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(data[0], columns=["a", "b", "c"])
    model = likely.make_pipeline(
        likely.PCA(2), likely.GaussianClassifier(likely.Full(0.1), priors={"no": 0.3, "yes": 0.7})
    )
    about = {"trained": "today", "rows": 40, "scores": [0.5, None, {"deep": True}]}
    likely.save(model.fit(X, data[1]), path, about=about)

    facts = read_about(path)

    assert (facts["kind"], facts["n_features"], facts["feature_names"]) == ("Pipeline", 3, ["a", "b", "c"])
    assert (facts["classes"], facts["about"], facts["format"]) == (["no", "yes"], about, 1)
    assert facts["n_bytes"] == path.stat().st_size > 8 * facts["n_values"] > 0
    last = facts["parameters"]["steps"][1]
    assert last[0] == "gaussianclassifier"
    assert last[1]["parameters"]["priors"] == {"no": 0.3, "yes": 0.7}
    assert last[1]["parameters"]["covariance"]["kind"] == "Full"
    assert json.loads(json.dumps(facts)) == facts


def test_a_file_of_something_unfitted_knows_no_features(path):
    likely.save(likely.CalibratedClassifier(likely.GaussianClassifier()), path)

    facts = read_about(path)

    assert facts["n_features"] is facts["classes"] is facts["feature_names"] is None
    assert facts["parameters"]["estimator"]["kind"] == "GaussianClassifier"


def test_a_damaged_file_tells_nothing(data, path):
    likely.save(likely.PCA().fit(data[0]), path)
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(likely.ModelFileError, match="cannot be read: it is damaged"):
        read_about(path)


def test_any_reader_of_safetensors_reads_the_tensors(data, path):
    model = likely.GaussianClassifier().fit(*data)
    likely.save(model, path)

    with safetensors.safe_open(path, framework="np") as file:
        document = json.loads(file.metadata()["likely"])
        means = file.get_tensor("model._parameters.means")

    assert document["model"]["kind"] == "GaussianClassifier"
    assert (means == model.means_).all()


def test_loading_warns_of_nothing_and_gives_arrays_that_can_be_changed(data, path):
    likely.save(likely.LogisticRegression(0.1).fit(*data), path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = likely.load(path)

    loaded.coef_ *= 2
    assert loaded.coef_.flags.aligned


def test_the_page_about_model_files_shows_what_happens():
    page = Path(__file__).parents[2] / "docs" / "model-files.md"

    failed, tried = doctest.testfile(str(page), module_relative=False)

    assert tried > 10
    assert failed == 0
