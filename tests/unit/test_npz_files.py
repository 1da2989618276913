"""Data in NumPy's files: which arrays are features, and the error messages for invalid arrays."""

import re
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likely.exceptions import TableError
from likely.tables import read_data


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


def kinds(table):
    return {column.name: column.kind for column in table.columns}


def assert_refused(path, message, **options):
    """Reading ends in exactly this message, in which {path} stands for the file."""
    with pytest.raises(TableError, match="^" + re.escape(message.replace("{path}", str(path))) + "$"):
        read_data(path, **({"target": "y"} | options))


def test_the_array_with_the_rows_of_the_target_is_given_as_stored(npz):
    train, test = np.arange(12, dtype=np.uint8).reshape(4, 3), np.ones((2, 3), dtype=np.uint8)
    path = npz(x_train=train, y_train=[0, 1, 1, 0], x_test=test, y_test=["a", "b"])

    first, second = read_data(path, "y_train"), read_data(path, "y_test")

    assert_array_equal(first.X, train)
    assert first.X.dtype == np.uint8
    assert_array_equal(second.X, test)
    assert first.labels.tolist() == [0, 1, 1, 0]
    assert second.labels.tolist() == ["a", "b"]
    assert [column.name for column in first.columns] == [column.name for column in second.columns] == ["x0", "x1", "x2"]
    assert first.columns[1].example == "1 to 10"


def test_pictures_are_rows_of_pixels(npz):
    assert read_data(npz(pictures=np.zeros((5, 4, 3)), y=np.arange(5)), "y").X.shape == (5, 12)


def test_several_arrays_are_columns_by_name(npz):
    path = npz(a=np.zeros((2, 2)), b=np.ones((2, 1), dtype=bool), c=np.array([5, 6]), d=np.array(["u", "v"]), y=[0, 1])

    table = read_data(path, "y")

    assert kinds(table) == {"a0": "number", "a1": "number", "b0": "number", "c": "number", "d": "category"}
    assert table.X["b0"].to_pylist() == [1.0, 1.0]


def test_columns_of_the_only_wide_array_are_called_x(npz):
    path = npz(pixels=np.zeros((2, 2), dtype=">f8"), age=np.array([5, np.nan]), y=[0, 1], w=[1.0, 2.0])

    table = read_data(path, "y", weight="w", exclude=["x0"])

    assert table.X.column_names == ["x1", "age"]
    assert table.weight.tolist() == [1.0, 2.0]


def test_without_a_target_the_only_wide_array_is_read_and_others_can_be_left_out(npz):
    path = npz(x_train=np.zeros((4, 3)), x_test=np.ones((2, 3)), y_test=[0, 1])

    assert read_data(path, exclude="x_train").X.tolist() == np.ones((2, 3)).tolist()


ARRAY_FAULTS = {
    "an unknown target": (
        {"x": np.ones((2, 1))},
        {},
        "{path} must have a column of labels 'y', but its columns are 'x'. Name it with target=.",
    ),
    "a wide target": (
        {"x": np.ones((2, 1)), "y": np.ones((2, 1))},
        {},
        (
            "An array of labels must have one dimension, but 'y' of {path} is of shape (2, 1). Name another "
            "array with target=."
        ),
    ),
    "no array with as many rows": (
        {"x": np.ones((2, 1)), "y": [1, 2, 3]},
        {},
        "{path} must have an array of features with as many rows as 'y', but its arrays are 'x' (2, 1), 'y' (3,).",
    ),
    "weights of other rows": (
        {"x": np.ones((2, 1)), "y": [1, 2], "w": [1.0]},
        {"weight": "w"},
        (
            "The array of weights must have as many rows as the features (2), but 'w' of {path} has 1. Name "
            "another array with weight=."
        ),
    ),
    "two wide arrays and no target": (
        {"a": np.ones((2, 1)), "b": np.ones((3, 1))},
        {"target": None},
        (
            "Without a target, {path} must have exactly one array of two or more dimensions, but its arrays are "
            "'a' (2, 1), 'b' (3, 1). Leave out the other arrays with exclude=, or name the array of labels "
            "with target=."
        ),
    ),
    "Python objects": (
        {"x": np.array([{}, 1]), "y": [0, 1]},
        {},
        (
            "Arrays must hold numbers or text, but 'x' of {path} holds Python objects. They are not loaded, because "
            "loading them could run code. Save the array as numbers or text. Alternatively, leave it out with "
            "exclude='x'."
        ),
    ),
    "no rows": (
        {"x": np.ones((0, 2)), "y": np.ones(0)},
        {},
        "{path} must have rows, but its arrays of features have none.",
    ),
    "an infinite number": (
        {"x": np.array([[1, 2], [3, np.inf]]), "y": [0, 1]},
        {},
        (
            "Features must be finite or missing, but row 2 of {path} has inf in column 'x1'. Correct the value, or "
            "leave the cell empty."
        ),
    ),
    "a column without values": (
        {"x": np.array([[1, np.nan], [3, np.nan]]), "y": [0, 1]},
        {},
        (
            "A feature must have values, but column 'x1' of {path} has no value in any row. Leave the column out "
            "with exclude='x1'."
        ),
    ),
    "dates": (
        {"x": np.zeros((2, 1), "M8[s]"), "y": [0, 1]},
        {},
        (
            "Features must be numbers or categories, but column 'x0' of {path} is of type timestamp[s]. "
            "Leave the column out with exclude='x0', or convert it to numbers."
        ),
    ),
    "complex numbers": (
        {"x": np.zeros((2, 1), complex), "y": [0, 1]},
        {},
        (
            "Arrays must hold numbers or text, but 'x' of {path} is of type complex128. Save the array as numbers "
            "or text. Alternatively, leave it out with exclude='x'."
        ),
    ),
}


@pytest.mark.parametrize("fault", ARRAY_FAULTS)
def test_arrays_with_a_fault_are_refused(tmp_path, fault):
    arrays, options, message = ARRAY_FAULTS[fault]
    np.savez(tmp_path / "data.npz", **arrays)

    assert_refused(tmp_path / "data.npz", message, **options)


def test_a_zip_archive_of_something_else_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")

    assert_refused(
        tmp_path / "data.npz",
        "{path} must be a .npz file, but 'readme.txt' inside it is not an array. Rename or convert the file.",
    )


def test_a_single_array_called_npz_is_refused(tmp_path):
    with open(tmp_path / "data.npz", "wb") as stream:
        np.save(stream, np.ones(3))

    assert_refused(
        tmp_path / "data.npz", "{path} must be a .npz file, but is a single array. Save it with numpy.savez."
    )
