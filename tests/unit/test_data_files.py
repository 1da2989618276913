"""Data files: every format gives the same table, and the kinds of columns are detected."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import likely
from likely.exceptions import InvalidDataError, InvalidParameterError
from likely.tables import ColumnSummary, read_data, write_columns

TEXT = [".csv", ".csv.gz", ".tsv", ".tsv.gz"]
TYPED = [".parquet", ".arrow", ".feather"]
ROWS = "age,purpose,amount,repaid\n35,car,1.5,yes\n?,radio,-2,no\n41,,NA,yes\n"


@pytest.fixture
def file(tmp_path):
    """A file of this text or these bytes."""

    def write(content, name="data.csv"):
        content = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def typed(tmp_path):
    """A Parquet, Arrow or Feather file of these columns, written without this library."""

    def write(columns, suffix=".parquet"):
        path, table = tmp_path / f"data{suffix}", pa.table(columns)
        if suffix == ".parquet":
            pa.parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        return path

    return write


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


def kinds(table):
    return {column.name: column.kind for column in table.columns}


def cells(column):
    """The cells of a column, None for a missing one."""
    return [None if cell != cell else cell for cell in column.to_pylist()]


def assert_is_the_example(table):
    assert table.n == 3
    assert table.labels.tolist() == ["yes", "no", "yes"]
    assert table.X.column_names == ["age", "purpose", "amount"]
    assert table.X.schema.types == [pa.float64(), pa.string(), pa.float64()]
    assert [cells(column) for column in table.X.columns] == [
        [35.0, None, 41.0],
        ["car", "radio", None],
        [1.5, -2.0, None],
    ]
    assert all(column.null_count == 0 for column in (table.X["age"], table.X["amount"]))


@pytest.mark.parametrize("suffix", TEXT)
def test_text_tables_of_every_kind_give_the_same_table(file, suffix):
    text = ROWS.replace(",", "\t") if "tsv" in suffix else ROWS

    assert_is_the_example(read_data(file(text, f"data{suffix}"), "repaid"))


@pytest.mark.parametrize("suffix", TYPED)
def test_typed_tables_of_every_kind_give_the_same_table(typed, suffix):
    columns = {
        "age": pa.array([35, None, 41], pa.int16()),
        "purpose": pa.array(["car", "radio", ""]).dictionary_encode(),
        "amount": [1.5, -2.0, float("nan")],
        "repaid": ["yes", "no", "yes"],
    }

    assert_is_the_example(read_data(typed(columns, suffix), "repaid"))


def test_semicolons_quotes_and_line_breaks_in_cells_are_read(file):
    path = file('a;"b ""x""";y\r\n1;"p;\nq";0\r\n2;r;1\r\n')

    table = read_data(path, "y")

    assert table.X['b "x"'].to_pylist() == ["p;\nq", "r"]
    assert table.labels.tolist() == [0, 1]


def test_columns_are_summarised(file):
    columns = read_data(file(ROWS), "repaid").columns

    assert columns == (
        ColumnSummary("age", "number", 1, 2, "35 to 41"),
        ColumnSummary("purpose", "category", 1, 2, "car, radio"),
        ColumnSummary("amount", "number", 1, 2, "-2 to 1.5"),
    )


def test_the_summary_of_a_constant_column_is_its_value(file):
    number, text = read_data(file("a,b,y\n7,u,0\n7,u,1\n"), "y").columns

    assert (number.n_distinct, number.example) == (1, "7")
    assert (text.n_distinct, text.example) == (1, "u")


def test_long_lists_of_categories_are_shortened(file):
    rows = "".join(f"{text},0\n" for text in ["a", "b", "a text that is rather long", "d", "e"])

    assert read_data(file("c,y\n" + rows), "y").columns[0].example == "a, b, a text that is …, …"


@pytest.mark.parametrize(
    "marker", ["", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "nUlL", "None", "none", "?", " ? "]
)
def test_missing_value_markers_in_a_column_of_numbers(file, marker):
    table = read_data(file(f"a,b,y\n1,1,0\n{marker},2,1\n3,3,1\n"), "y")

    assert cells(table.X["a"]) == [1.0, None, 3.0]


@pytest.mark.parametrize("marker", ["", "NA", "n/a", "NaN", "null", " NA"])
def test_missing_value_markers_in_a_column_of_categories(file, marker):
    assert read_data(file(f"a,b,y\nu,1,0\n{marker},2,1\n"), "y").X["a"].to_pylist() == ["u", None]


@pytest.mark.parametrize("text", ["?", "None", "none", "true", "-"])
def test_texts_that_are_categories_and_not_missing_values(file, text):
    assert read_data(file(f"a,b,y\nu,1,0\n{text},2,1\n"), "y").X["a"].to_pylist() == ["u", text]


def test_fewer_than_half_numbers_make_categories(file):
    table = read_data(file("a,y\n1,0\nu,1\nv,1\nNA,0\n"), "y")

    assert table.X["a"].to_pylist() == ["1", "u", "v", None]


def test_numbers_may_be_categories_if_asked(file, typed, npz):
    text = read_data(file("zip,y\n01,0\n2,1\n"), "y", categories=["zip"])
    floats = read_data(typed({"zip": [1.0, 2.5, None], "y": [0, 1, 1]}), "y", categories="zip")
    array = read_data(npz(x=np.array([[1, 2], [3, 4]]), y=np.array([0, 1])), "y", categories=["x1"])

    assert text.X["zip"].to_pylist() == ["01", "2"]
    assert floats.X["zip"].to_pylist() == ["1", "2.5", None]
    assert kinds(array) == {"x0": "number", "x1": "category"}


def test_a_text_after_many_rows_of_numbers_is_found(file):
    rows = [f"{at},{at},{'u' if at > 300 else at},{at % 2}" for at in range(1000)]

    table = read_data(file("a,b,c,y\n" + "\n".join(rows)), "y")

    assert kinds(table) == {"a": "number", "b": "number", "c": "category"}
    assert table.X["c"][300].as_py() == "300"


def test_many_columns_that_turn_out_to_be_text_are_found(file):
    header = ",".join(f"c{at}" for at in range(8))
    rows = [",".join([str(at) if at < 300 else "u"] * 8) for at in range(1000)]

    table = read_data(file(f"{header},y\n" + "\n".join(f"{row},0" for row in rows)), "y")

    assert set(kinds(table).values()) == {"category"}


def test_a_cell_longer_than_the_blocks_of_the_reader_is_read(file):
    table = read_data(file(f"a,note,y\n1,{'x' * 3_000_000},0\n2,z,1\n"), "y", exclude="note")

    assert table.X["a"].to_pylist() == [1.0, 2.0]


def test_lists_of_codes_are_not_numbers_with_commas(file):
    table = read_data(file('a,y\n"1,2",0\nu,1\nv,1\n"2,3",0\nw,0\n'), "y")

    assert table.X["a"].to_pylist() == ["1,2", "u", "v", "2,3", "w"]


def test_booleans_and_decimals_are_numbers(typed):
    columns = {"b": [True, False, None], "d": pa.array([1, 2, 3], pa.decimal128(5, 2)), "y": [0, 1, 1]}

    table = read_data(typed(columns), "y")

    assert cells(table.X["b"]) == [1.0, 0.0, None]
    assert cells(table.X["d"]) == [1.0, 2.0, 3.0]


def test_groups_weights_and_scores_are_not_features(file):
    text = "a,who,w,s,t,id,y\n1,ann,2,-inf,0.5,x,0\n2,bob,0.5,3,1,y,1\n"

    table = read_data(file(text), "y", groups="who", weight="w", scores=["t", "s"], exclude=["id"])

    assert table.X.column_names == ["a"]
    assert table.groups.tolist() == ["ann", "bob"]
    assert table.weight.tolist() == [2.0, 0.5]
    assert list(table.scores) == ["t", "s"]
    assert table.scores["s"].tolist() == [-np.inf, 3.0]


def test_without_a_target_every_column_is_a_feature_and_may_be_missing_throughout(file):
    rows = "".join(f"{at},name{at},\n" for at in range(30))

    table = read_data(file("a,id,gap\n" + rows))

    assert table.labels is None
    assert kinds(table) == {"a": "number", "id": "category", "gap": "number"}
    assert table.columns[2].n_missing == 30


# Writing columns.


@pytest.mark.parametrize("suffix", TEXT + TYPED)
def test_columns_written_are_read_back(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    decisions = np.array(["yes", None, "n,o"], dtype=object)

    write_columns(path, {"llr": np.array([0.1, np.inf, -3]), "decision": decisions, "k": [1, 2, 3]})
    table = read_data(path, scores=["llr"])

    assert table.scores["llr"].tolist() == [0.1, np.inf, -3.0]
    assert table.X["decision"].to_pylist() == ["yes", None, "n,o"]
    assert table.X["k"].to_pylist() == [1.0, 2.0, 3.0]


def test_booleans_whole_labels_and_rejections_have_their_cells(tmp_path):
    write_columns(tmp_path / "a.csv", {"b": np.array([True, False]), "label": np.array([np.int64(3), None], object)})

    assert (tmp_path / "a.csv").read_text() == "b,label\ntrue,3\nfalse,\n"


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({}, InvalidDataError, "A table must have at least one column, but columns is empty."),
        (
            {"a": [1], "b": [1, 2]},
            InvalidDataError,
            "the same number of rows, but there are 1 in 'a', 2 in 'b'",
        ),
        ({"": [1]}, InvalidParameterError, "must be texts that are not empty, but one is ''"),
        ({"a": np.zeros((2, 2))}, InvalidDataError, "'a' is of type float64 and shape"),
        ({"a": np.array(["u", 1], object)}, InvalidDataError, "must be of one type, but the cells of 'a' are not"),
    ],
)
def test_columns_that_do_not_form_a_table_are_refused_and_nothing_is_written(tmp_path, columns, error, message):
    with pytest.raises(error, match=message):
        write_columns(tmp_path / "a.csv", columns)

    assert not list(tmp_path.iterdir())


def test_other_libraries_accept_the_table(file):
    table = read_data(file(ROWS), "repaid")

    assert isinstance(table, likely.tables.DataTable)
    assert pd.isna(table.X.to_pandas()["age"]).tolist() == [False, True, False]
    assert pl.from_arrow(table.X).shape == (3, 3)
