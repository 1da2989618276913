"""Error messages of saving and loading models, and descriptions of model files."""

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
    """A subclass, which may have any attributes."""


# Models that cannot be saved


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "int cannot be saved: model must be a model of this library, but is 3."),
        (
            Mine(),
            "Mine cannot be saved: model is a .*Mine, but model files hold only .* or store the model in another way",
        ),
        (
            likely.CalibratedClassifier(RandomForestClassifier()),
            "cannot be saved: model.estimator is a sklearn.*RandomForestClassifier, but .* fit it again",
        ),
        (
            likely.make_pipeline(StandardScaler(), likely.PCA()),
            "Pipeline cannot be saved: model.steps.0.1 is a sklearn.*StandardScaler",
        ),
        (
            likely.Perceptron(random_state=np.random.RandomState(0)),
            "random_state is a .*RandomState.* Pass an integer as random_state",
        ),
        (likely.CalibratedClassifier(likely.GaussianClassifier(), cv=ShuffleSplit()), "model.cv is a .*ShuffleSplit"),
        (likely.CalibratedClassifier(likely.PCA()), "estimator must be a classifier that gives scores"),
        (
            likely.GaussianClassifier("round"),
            "covariance must be one of 'full', 'diagonal', 'spherical' or a Covariance, but is 'round'",
        ),
        (likely.GaussianClassifier(tied=1), "tied must be True or False, but is 1"),
        (
            likely.KernelPCA(2, kernel=likely.FunctionKernel(np.inner)),
            "model.kernel.function is a function. Model files hold no code, .* fit a model with kernel='precomputed'",
        ),
        (likely.PCA(10**30), "n_components is a whole number of more than 64 bits"),
        (likely.LogisticRegression(max_iter=np.datetime64("2020")), "max_iter is a numpy.datetime64"),
        (likely.GaussianClassifier(priors=np.array([1j, 2])), "priors is an array of complex128"),
        (
            likely.GaussianClassifier(priors=np.array([["a", "b"]])),
            "priors must be a one-dimensional array of texts, but has 2",
        ),
        (likely.GaussianClassifier(priors=np.array(["a", None])), "must be texts, but one of them is None"),
        (likely.Pipeline([("a", likely.PCA())], memory="cache"), "memory must be one of None, but is 'cache'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_error_names_an_object_that_cannot_be_saved(model, message, path):
    with pytest.raises(likely.ModelFileError, match=message):
        likely.save(model, path)
    assert not path.exists()


def test_the_error_names_an_attribute_that_would_be_lost(data, path):
    model = likely.GaussianClassifier().fit(*data)
    model.note = "mine"

    with pytest.raises(likely.ModelFileError, match=r"model \(GaussianClassifier\) has an attribute 'note'"):
        likely.save(model, path)


def test_a_list_that_contains_itself_is_too_deep(path):
    priors = []
    priors.append(priors)

    with pytest.raises(likely.ModelFileError, match="too large or too deeply nested"):
        likely.save(likely.GaussianClassifier(priors=priors), path)


def test_a_model_without_one_of_its_parameters_is_refused(path):
    model = likely.PCA()
    del model.n_components

    with pytest.raises(likely.ModelFileError, match="model must have the parameter 'n_components' of PCA"):
        likely.save(model, path)


@pytest.mark.parametrize("about", [[], {1: 2}, {"a": (1,)}, {"a": np.float64(1)}, {"a": float("nan")}, {"a": 10**20}])
def test_about_must_be_plain_json(about, path):
    with pytest.raises(likely.ModelFileError, match="about must be a dictionary of plain JSON values"):
        likely.save(likely.PCA(), path, about=about)


def test_more_text_than_a_header_holds_is_refused(path):
    with pytest.raises(
        likely.ModelFileError, match="header of a model file can hold at most 16777216 characters and 1048576 values"
    ):
        likely.save(likely.PCA(), path, about={"a": "x" * 2**24})


# Files that cannot be written


def test_the_error_names_a_folder_that_does_not_exist(path):
    with pytest.raises(likely.ModelFileError, match=r"there is no folder .* Create it"):
        likely.save(likely.PCA(), path / "deeper")


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(likely.ModelFileError, match="it is a folder"):
        likely.save(likely.PCA(), tmp_path)


@pytest.mark.parametrize("function", [lambda path: likely.save(likely.PCA(), path), likely.load, read_about])
def test_a_path_must_be_the_name_of_a_file(function):
    with pytest.raises(likely.ModelFileError, match="path must be the name of a file, but is 3"):
        function(3)


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


# Files that cannot be loaded


def test_the_error_for_a_missing_file_suggests_a_similar_name(path):
    likely.save(likely.PCA(), path)

    with pytest.raises(
        likely.ModelFileError, match=r"There is no file '.*modell.likely'. Did you mean 'model.likely'\?"
    ):
        likely.load(path.with_name("modell.likely"))
    with pytest.raises(likely.ModelFileError, match="Check the path"):
        likely.load(path.with_name("qqqq"))


def test_a_folder_is_not_loaded(tmp_path):
    with pytest.raises(likely.ModelFileError, match="cannot be loaded: "):
        likely.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)

    with pytest.raises(likely.ModelFileError, match="it is not a regular file"):
        likely.load(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_the_error_names_a_file_without_read_permission(path):
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


def test_a_damaged_file_is_detected_by_its_checksum(data, path):
    likely.save(likely.NearestMeanClassifier().fit(*data), path)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)

    with pytest.raises(
        likely.ModelFileError, match=r"it is damaged: its checksum does not match its contents\. Get a fresh"
    ):
        likely.load(path)


def test_a_newer_format_asks_for_a_newer_library(path):
    path.write_bytes(pack({"format": 7, "library": "9.9", "about": {}, "model": None}, {}))

    with pytest.raises(
        likely.ModelFileError, match=r"format 7 and was written by likely 9.9, .* up to 1. Update likely\.$"
    ):
        likely.load(path)


def test_another_safetensors_file_is_not_a_model(path):
    safetensors.numpy.save_file({"x": np.zeros(3)}, path)

    with pytest.raises(likely.ModelFileError, match="it is a safetensors file, but not a model file of likely"):
        likely.load(path)


def forge(path, change):
    document, tensors = unpack(bytearray(path.read_bytes()))
    del document["sha256"]
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    change(document["model"], tensors)
    path.write_bytes(pack(document, tensors))


def test_errors_about_a_part_name_its_place(data, path):
    chain = likely.make_pipeline(likely.PCA(2), likely.GaussianClassifier()).fit(*data)
    likely.save(chain, path)

    def change(model, tensors):
        tensors["model.steps.1.1._parameters.means"] = np.zeros((2, 3))

    forge(path, change)
    with pytest.raises(
        likely.ModelFileError,
        match=r"likely' cannot be loaded: model.steps.1.1._parameters \(Gaussians\): covariances must have size d = 3",
    ):
        likely.load(path)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"what": 1}, "is an object with the keys .'what'.. These keys do not encode a value"),
        ({"array": "nowhere", "order": "C"}, "refers to a tensor that does not exist"),
        ({"float": "huge"}, "must be 'nan', 'inf' or '-inf', not 'huge'"),
        ({"bytes": "€"}, "must hold only bytes"),
        ({"tuple": 3}, "must be a list of the items of a tuple"),
        ({"map": [[1]]}, "must be a list of pairs, each of a key and a value"),
        ({"map": [["a", 1], ["a", 2]]}, "has the key 'a' twice"),
        ({"map": [[[], 1]]}, "has a key that is not a plain value"),
        ({"scalar": 3, "dtype": "object"}, "is not a NumPy number"),
        ({"scalar": 300, "dtype": "uint8"}, "does not fit into uint8"),
        ({"scalar": 0.5, "dtype": "int64"}, "does not fit into int64"),
        ({"strings": [1], "dtype": "object"}, "must hold only texts"),
        ({"strings": ["ab"], "dtype": "U1"}, "has texts of up to 2 characters, which do not match the width 1"),
        (
            {"strings": ["ab"], "dtype": "V3"},
            "must have the dtype 'object', or a dtype such as 'U8' or 'S8', but has 'V3'",
        ),
        ({"strings": ["€"], "dtype": "S3"}, "must hold only bytes"),
        (
            {"kind": "Nothing", "parameters": {}},
            "is of kind 'Nothing', which this version of the library does not know",
        ),
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
            "has no set_output method, so its file must not contain the setting 'output'",
        ),
    ],
    ids=str,
)
def test_every_encoding_of_a_value_is_checked(node, message, path):
    likely.save(likely.GaussianClassifier(), path)

    def change(model, tensors):
        model["parameters"]["priors"] = node

    forge(path, change)
    with pytest.raises(likely.ModelFileError, match=message):
        likely.load(path)


# Descriptions of files


def test_read_about_describes_a_file(data, path):
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


def test_the_description_of_an_unfitted_model_has_no_features(path):
    likely.save(likely.CalibratedClassifier(likely.GaussianClassifier()), path)

    facts = read_about(path)

    assert facts["n_features"] is facts["classes"] is facts["feature_names"] is None
    assert facts["parameters"]["estimator"]["kind"] == "GaussianClassifier"


def test_a_damaged_file_has_no_description(data, path):
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


def test_loading_gives_no_warnings_and_returns_writeable_arrays(data, path):
    likely.save(likely.LogisticRegression(0.1).fit(*data), path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = likely.load(path)

    loaded.coef_ *= 2
    assert loaded.coef_.flags.aligned


def test_the_examples_of_the_page_about_model_files_run():
    page = Path(__file__).parents[2] / "docs" / "model-files.md"

    failed, tried = doctest.testfile(str(page), module_relative=False)

    assert tried > 10
    assert failed == 0
