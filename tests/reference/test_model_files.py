"""Model files of format 1 written by an earlier version: they load, and score as when they were written.

``model_files`` holds files of every family as the library wrote them before fitted states became dataclasses, with the
first rows of their training data and the outputs for these rows (``outputs.npz``, keys "model/method").
"""

import json
from pathlib import Path

import numpy as np
import pytest

import likely

FOLDER = Path(__file__).parent / "model_files"
NAMES = sorted(path.stem for path in FOLDER.glob("*.likely"))
OUTPUTS = dict(np.load(FOLDER / "outputs.npz"))
WITHOUT_ROWS = {"application", "quadratic_form", "unfitted"}


def rows_of(name):
    if name == "nearest_mean":
        return pytest.importorskip("pandas").DataFrame(OUTPUTS[f"{name}/rows"], columns=["p", "q", "r"])
    if f"{name}/rows" in OUTPUTS:
        return OUTPUTS[f"{name}/rows"]
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(json.loads((FOLDER / f"{name}.json").read_text()))


def outputs_of(name):
    return {key.split("/")[1]: value for key, value in OUTPUTS.items() if key.startswith(f"{name}/")} | {"rows": None}


def assert_scores_as_written(model, name):
    for method, expected in outputs_of(name).items():
        if method == "rows":
            continue
        found = getattr(model, method)(rows_of(name))
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=method)
        else:
            assert found.tolist() == expected.tolist(), method


def test_the_folder_has_files_of_every_family():
    assert len(NAMES) >= 50
    assert all(len(outputs_of(name)) > 1 for name in NAMES if name not in WITHOUT_ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_file_scores_as_when_it_was_written(name):
    assert_scores_as_written(likely.load(FOLDER / f"{name}.likely"), name)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_file_saved_again_holds_the_same(name, tmp_path):
    path = tmp_path / "model"
    likely.save(likely.load(FOLDER / f"{name}.likely"), path)

    again = likely.load(path)

    before = path.read_bytes()
    likely.save(again, path)
    assert path.read_bytes() == before
    assert_scores_as_written(again, name)


def test_shrinkage_of_an_old_file_is_towards_the_diagonal():
    shape = likely.load(FOLDER / "gaussian_density.likely").covariance

    assert (shape.shrinkage, shape.towards) == (0.0, "diagonal")


def test_values_without_rows_are_what_they_were():
    application = likely.load(FOLDER / "application.likely")
    form = likely.load(FOLDER / "quadratic_form.likely")
    unfitted = likely.load(FOLDER / "unfitted.likely")

    assert application.labels == ("a", "b", None)
    assert application.priors.tolist() == [0.1, 0.2, 0.7]
    assert application.reject_cost == 0.3
    assert form([[1.0, 2.0]]).tolist() == [7.5]
    assert unfitted.fuser.training_prior == 0.3
    assert unfitted.estimators[1].n_components == "bic"
