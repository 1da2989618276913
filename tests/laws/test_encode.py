"""Laws of Encode: results do not depend on the library of the frame or the order of columns and rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline as sklearn_chain

from likely import Encode, GaussianClassifier, Standardize, kfold_scores, make_pipeline
from likely.exceptions import InvalidDataError, InvalidParameterError

COLUMNS = {
    "age": [35.0, None, 41.0, 28.0, 35.0],
    "purpose": ["car", "radio", "car", None, "boat"],
    "owner": [True, False, True, True, None],
    "count": [1, 2, 3, 4, 5],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)

cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "ä", ""]))
tables = st.lists(st.tuples(cells, st.integers(-3, 3), cells), min_size=1, max_size=12)
in_time = settings(deadline=None, max_examples=50)


def frame_of(rows):
    first, numbers, second = zip(*rows, strict=True)
    texts = pa.string()
    return pa.table({"u": pa.array(first, texts), "n": pa.array(numbers), "v": pa.array(second, texts)})


@every_library
def test_frames_of_every_library_give_the_same_numbers(frame):
    encode = Encode().fit(frame(COLUMNS))

    assert encode.get_feature_names_out().tolist() == [
        "age",
        "purpose=boat",
        "purpose=radio",
        "purpose=(missing)",
        "owner",
        "count",
    ]
    assert_array_equal(
        encode.transform(frame(COLUMNS)),
        [
            [35, 0, 0, 0, 1, 1],
            [np.nan, 0, 1, 0, 0, 2],
            [41, 0, 0, 0, 1, 3],
            [28, 0, 0, 1, 1, 4],
            [35, 1, 0, 0, np.nan, 5],
        ],
    )


@every_library
def test_an_encoder_fitted_on_one_library_transforms_frames_of_others(frame):
    encode = Encode().fit(pa.table(COLUMNS))

    assert_array_equal(encode.transform(frame(COLUMNS)), encode.transform(pa.table(COLUMNS)))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string"),
        pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["unused", "a", "b"])),
        pd.Series(["b", "a", "b"], dtype="string[pyarrow]"),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["unused", "a", "b"])),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array(["b", "a", "b"], pa.large_string()),
        pa.array(["b", "a", "b"], pa.string_view()),
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", None))),
)
def test_texts_of_every_type_are_categories(column):
    library = (
        pa.table if isinstance(column, pa.Array) else pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    )
    encode = Encode().fit(library({"c": column}))

    assert encode.categories_ == [["b", "a"]]
    assert encode.transform(library({"c": column})).tolist() == [[0.0], [1.0], [0.0]]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "int8", "float32", "int64[pyarrow]"])
def test_numbers_of_every_type_are_numbers(dtype):
    frame = pd.DataFrame({"n": pd.Series([1, 0, 1], dtype=dtype)})

    assert Encode().fit(frame).categories_ == [None]
    assert Encode().fit_transform(frame).tolist() == [[1.0], [0.0], [1.0]]


def test_missing_numbers_stay_missing_in_every_library():
    for frame in (pd.DataFrame({"n": pd.array([1, None], dtype="Int64")}), pl.DataFrame({"n": [1, None]})):
        assert_array_equal(Encode().fit_transform(frame), [[1.0], [np.nan]])


@given(rows=tables)
@in_time
def test_the_order_of_columns_and_additional_columns_do_not_matter(rows):
    table = frame_of(rows)
    encode = Encode().fit(table)
    other = table.select(["v", "u", "n"]).append_column("further", pa.array(["x"] * len(rows)))

    assert_array_equal(encode.transform(other), encode.transform(table))


@given(rows=tables, data=st.data())
@in_time
def test_the_order_of_rows_does_not_matter(rows, data):
    order = data.draw(st.permutations(range(len(rows))))
    table = frame_of(rows)
    weight = np.linspace(0.1, 0.7, len(rows))

    one = Encode(max_categories=2).fit(table, sample_weight=weight)
    other = Encode(max_categories=2).fit(table.take(order), sample_weight=weight[order])

    assert one.categories_ == other.categories_
    assert_allclose(one.transform(table), other.transform(table), atol=1e-12)


@given(rows=tables, data=st.data())
@in_time
def test_integer_weights_equal_repeated_rows(rows, data):
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any))
    table = frame_of(rows)
    weighted = Encode(max_categories=2).fit(table, sample_weight=counts)
    repeated = Encode(max_categories=2).fit(table.take(np.repeat(np.arange(len(rows)), counts)))

    # A column that is missing in all rows of positive weight is still a text column.
    assert weighted.categories_ == repeated.categories_
    assert_allclose(weighted.transform(table), repeated.transform(table), atol=1e-12)


@given(rows=tables)
@in_time
def test_a_new_category_is_encoded_as_the_average_training_row(rows):
    table = frame_of(rows)
    encode = Encode(max_categories=2).fit(table)
    new = pa.table({"u": ["new"], "n": [0], "v": ["new"]})
    average = encode.transform(table).mean(axis=0)

    for name, given_, expected in zip(encode.get_feature_names_out(), encode.transform(new)[0], average, strict=True):
        assert name == "n" or given_ == pytest.approx(expected)


def test_a_missing_category_is_encoded_as_the_average_if_none_was_missing_in_training():
    encode = Encode().fit(pa.table({"c": ["a", "a", "a", "b"]}))

    assert encode.transform(pa.table({"c": pa.array([None], pa.string())})).tolist() == [[0.25]]


@pytest.mark.parametrize(
    ("most", "names"),
    [(1, ["(other)", "(missing)"]), (2, ["b", "(other)", "(missing)"]), (3, ["b", "c", "(missing)"])],
)
def test_rare_categories_share_an_indicator(most, names):
    table = pa.table({"c": ["a", "a", "a", "b", "b", "c", None]})
    encode = Encode(max_categories=most).fit(table)
    indicators = encode.transform(table)

    assert encode.get_feature_names_out().tolist() == [f"c={name}" for name in names]
    assert_array_equal(indicators.sum(axis=1), [0, 0, 0, 1, 1, 1, 1])
    assert encode.shares_[0].tolist() == pytest.approx([3 / 7, 2 / 7, 1 / 7, 1 / 7])


def test_a_column_that_is_always_missing_has_no_indicator():
    table = pa.table({"c": pa.array([None, None], pa.string()), "n": [1, 2]})

    assert Encode().fit_transform(table).tolist() == [[1.0], [2.0]]


def test_columns_of_an_object_array_may_have_different_kinds():
    X = np.array([[1, "a", "u", True], [2.5, None, 3, False], [np.nan, "b", "u", True]], dtype=object)
    encode = Encode().fit(X)

    assert encode.categories_ == [None, ["a", "b"], ["u", "3"], None]
    assert encode.get_feature_names_out().tolist() == ["x0", "x1=b", "x1=(missing)", "x2=3", "x3"]
    assert_array_equal(encode.transform(X), [[1, 0, 0, 0, 1], [2.5, 0, 1, 1, 0], [np.nan, 1, 0, 0, 1]])
    assert_array_equal(Encode().fit_transform(X.tolist()), encode.transform(X))


def test_numbers_given_for_categories_are_read_as_texts():
    encode = Encode().fit(pa.table({"c": ["1", "1", "2"]}))

    assert encode.transform(pa.table({"c": [1.0, 2.0, np.nan]})).tolist() == [[0.0], [1.0], [pytest.approx(1 / 3)]]


def test_an_array_is_taken_by_position_and_a_frame_by_name():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    encode = Encode().fit(X)

    assert encode.columns_ == ["x0", "x1"]
    assert_array_equal(encode.transform(pd.DataFrame(X[:, ::-1], columns=["x1", "x0"])), X)
    assert_array_equal(encode.transform(X.astype(np.uint8)), X)


def test_columns_with_numbers_as_names_are_found():
    frame = pd.DataFrame({3: [1.0, 2.0], 7: ["a", "b"]})
    encode = Encode().fit(frame)

    assert not hasattr(encode, "feature_names_in_")
    assert_array_equal(encode.transform(frame[[7, 3]]), [[1, 0], [2, 1]])


@every_library
def test_outputs_may_be_frames(frame):
    encode = Encode().set_output(transform="pandas").fit(frame(COLUMNS))

    assert encode.transform(frame(COLUMNS)).columns.tolist() == encode.get_feature_names_out().tolist()


@every_library
def test_a_pipeline_takes_the_frame(frame):
    y = np.array([0, 1, 0, 1, 1])
    table = frame({name: COLUMNS[name] for name in ("purpose", "count")})
    ours = make_pipeline(Encode(), Standardize(), GaussianClassifier("diagonal", tied=True)).fit(
        table, y, sample_weight=[1, 2, 1, 1, 1]
    )
    plain = sklearn_chain(clone(ours[0]), clone(ours[1]), clone(ours[2])).fit(table, y)

    assert ours.llr(table).shape == plain.predict(table).shape == (5,)


def test_rows_may_be_encoded_before_cross_validation(rng):
    table = pa.table({"c": rng.choice(["a", "b"], 40), "n": rng.standard_normal(40)})
    X, y = Encode().fit_transform(table), np.tile([0, 1], 20)

    assert kfold_scores(GaussianClassifier(tied=True), X, y, 4).shape == (40, 2)


WRONG = {
    "a missing column": (
        pa.table({"age": [1], "purpos": ["car"]}),
        "Encode needs all columns of the rows it was fitted to, but X has no column 'purpose'. Did you mean 'purpos'?",
    ),
    "text for numbers": (
        pa.table({"age": [None, "old"], "purpose": ["car", "car"]}),
        "Column 'age' held numbers when Encode was fitted, but now holds text: row 1 has 'old'. Correct the value, "
        "or fit again with the column as text.",
    ),
    "an infinite number": (
        pa.table({"age": [1.0, -np.inf], "purpose": ["car", "car"]}),
        "Numbers must be finite or missing, but row 1 of column 'age' is -inf. Correct the value, or replace it by "
        "NaN.",
    ),
    "a date": (
        pa.table({"age": pa.array([0], pa.date32()), "purpose": ["car"]}),
        "Encode takes numeric and categorical columns, but column 'age' has the type date32[day]. Drop the column, or "
        "convert it to numbers.",
    ),
    "a lazy frame": (
        pl.LazyFrame({"age": [1.0]}),
        "Encode takes rows in memory, but X is a lazy frame. Collect it first.",
    ),
    "a sparse array": (
        csr_array(np.eye(2)),
        "Encode takes dense rows, but X is sparse, so its columns are already numbers. Omit Encode.",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_rows_that_cannot_be_encoded_raise_a_clear_error(fault):
    rows, message = WRONG[fault]
    encode = Encode().fit(pa.table({"age": [1.0, 2.0], "purpose": ["car", "radio"]}))

    with pytest.raises(InvalidDataError) as caught:
        encode.transform(rows)

    assert str(caught.value) == message


def test_a_numeric_column_without_values_may_have_a_text_type():
    encode = Encode().fit(pa.table({"n": [1.0, 2.0]}))

    assert_array_equal(encode.transform(pa.table({"n": pa.array([None], pa.string())})), [[np.nan]])
    assert_array_equal(encode.transform(pa.table({"n": pa.nulls(1)})), [[np.nan]])


def test_infinite_numbers_of_an_array_raise():
    with pytest.raises(InvalidDataError, match="row 1 of column 'x0' is inf"):
        Encode().fit_transform(np.array([[1.0, np.nan], [np.inf, 2.0]]))


def test_an_error_leaves_the_encoder_unchanged():
    encode = Encode().fit(pa.table({"n": [1.0, 2.0]}))
    before = dict(encode.__dict__)

    with pytest.raises(InvalidDataError, match="has the type"):
        encode.fit(pa.table({"n": pa.array([0], pa.date32()), "m": [1]}))

    assert encode.__dict__ == before


@pytest.mark.parametrize("most", [0, -1, 2.5, "all", True, None])
def test_max_categories_is_a_count(most):
    with pytest.raises(InvalidParameterError, match="max_categories of Encode must be a whole number >= 1, but is"):
        Encode(max_categories=most).fit(pa.table({"n": [1.0]}))


def test_column_names_must_be_unique():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])

    with pytest.raises(InvalidDataError, match="Column names must be unique, but X has 'a' twice"):
        Encode().fit(frame)
