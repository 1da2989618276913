"""Score files: written scores are read back, and errors name the file, the line and the column."""

import gzip
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from likely import _files
from likely.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    LikelyError,
    MissingDependencyError,
    MissingValuesError,
    TableError,
)
from likely.tables import ScoreTable, read_scores, write_scores, writing

TEXT = [".csv", ".csv.gz", ".tsv", ".tsv.gz"]
TYPED = [".parquet", ".arrow", ".feather"]

every_kind = pytest.mark.parametrize("suffix", TEXT + TYPED)
every_typed_kind = pytest.mark.parametrize("suffix", TYPED)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# NumPy drops trailing NUL characters of texts.
characters = st.characters(codec="utf-8", exclude_characters="\0")
words = st.one_of(st.text(characters, min_size=1), st.text(" \t\r\n,;\"'é+-0.1e", min_size=1))
numbers = st.floats(allow_nan=False)


@pytest.fixture
def file(tmp_path):
    """A CSV file of this text or these bytes."""

    def write(content, name="trials.csv"):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def typed(tmp_path, suffix, columns):
    """A Parquet, Arrow or Feather file of these columns, written without this library."""
    path, table = tmp_path / f"trials{suffix}", pa.table(columns)
    if suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def assert_refused(path, message, **options):
    """Reading ends in exactly this message, in which {path} stands for the file."""
    with pytest.raises(TableError, match="^" + re.escape(message.format(path=path)) + "$"):
        read_scores(path, **options)


def looks_whole(text):
    return re.fullmatch(r"[+-]?(0|[1-9][0-9]*)(\.0*)?", text.strip(" \t")) is not None


# Written scores are read back.


@every_kind
@pytest.mark.parametrize("labels", [[0, 1, -7], ["a", "Zoë", "x,y"], ['"', "a\nb", "a\r\nb\t"]])
def test_labels_and_scores_come_back_from_every_kind_of_file(tmp_path, suffix, labels):
    path = tmp_path / f"trials{suffix}"
    scores = np.array([[0.1, np.inf], [1 / 3, -np.inf], [5e-324, -0.0]])

    write_scores(path, labels, scores, ["système, 1", 'b"\n"'], label="the label")
    table = read_scores(path, label="the label")

    assert isinstance(table, ScoreTable)
    assert table.n == 3
    assert table.names == ("système, 1", 'b"\n"')
    assert table.scores.dtype == np.float64
    assert_array_equal(table.labels, labels)
    assert_array_equal(table.scores, scores)
    assert_array_equal(np.signbit(table.scores), np.signbit(scores))
    assert table.labels.dtype == np.asarray(labels).dtype


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@in_one_folder
@given(rows=st.lists(st.tuples(words, numbers, numbers), min_size=1, max_size=8))
def test_any_text_and_any_number_come_back(tmp_path, suffix, rows):
    labels, *columns = zip(*rows, strict=True)
    scores = np.column_stack(columns)
    path = tmp_path / f"any{suffix}"

    write_scores(path, labels, scores)
    table = read_scores(path)

    assert_array_equal(table.scores.view(np.int64), scores.view(np.int64))
    if suffix == ".parquet" or not all(map(looks_whole, labels)):
        assert table.labels.tolist() == list(labels)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@in_one_folder
@given(labels=arrays(np.int64, st.integers(1, 8)))
def test_any_whole_labels_come_back(tmp_path, suffix, labels):
    path = tmp_path / f"whole{suffix}"

    write_scores(path, labels, np.zeros(len(labels)))
    back = read_scores(path).labels

    assert back.dtype == np.int64
    assert_array_equal(back, labels)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@in_one_folder
@given(names=st.lists(words.filter(lambda name: name != "label"), min_size=1, max_size=5, unique=True))
def test_any_names_come_back(tmp_path, suffix, names):
    path = tmp_path / f"names{suffix}"

    write_scores(path, [1], np.zeros((1, len(names))), names)

    assert read_scores(path).names == tuple(names)


def test_columns_have_names_by_default(tmp_path):
    path = tmp_path / "trials.csv"

    write_scores(path, [0, 1], [0.5, 1.5])
    assert path.read_text() == "label,score\n0,0.5\n1,1.5\n"
    write_scores(path, ["a", "b"], [[0.5, 1], [1.5, 2]])
    assert path.read_text() == "label,score_0,score_1\na,0.5,1\nb,1.5,2\n"
    write_scores(path, ["a", "b"], [0.5, 1.5], "voice")
    assert read_scores(path).names == ("voice",)


def test_equal_tables_are_equal_files(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_scores(tmp_path / name, [0, 1], [0.5, 1.5])

    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("name", ["TRIALS.CSV", "trials.Csv.GZ", "x.Parquet"])
def test_the_case_of_a_suffix_does_not_matter(tmp_path, name):
    write_scores(tmp_path / name, [0, 1], [0.5, 1.5])

    assert_array_equal(read_scores(str(tmp_path / name)).scores, [[0.5], [1.5]])


def test_long_files_come_back_across_blocks(tmp_path, rng):
    n = 60_000
    labels = np.array(["a\nb", 'c"d', "e,f", "g"])[rng.integers(4, size=n)]
    scores = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-300, 300, size=(n, 3))
    path = tmp_path / "long.csv"

    write_scores(path, labels, scores)
    table = read_scores(path)

    assert path.stat().st_size > 2**21
    assert_array_equal(table.labels, labels)
    assert_array_equal(table.scores, scores)


def test_tables_cannot_be_changed(tmp_path):
    write_scores(tmp_path / "t.csv", ["a", "b"], [1, 2])
    table = read_scores(tmp_path / "t.csv")

    with pytest.raises(ValueError, match="read-only"):
        table.scores[0, 0] = 3
    with pytest.raises(ValueError, match="read-only"):
        table.labels[0] = "c"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_can_be_written(tmp_path, frame):
    data = frame({"label": ["a", "b"], "x": [1, 2], "y": [0.5, -0.5]})

    write_scores(tmp_path / "t.parquet", data["label"], data[["x", "y"]], ["x", "y"])

    assert_array_equal(read_scores(tmp_path / "t.parquet").scores, [[1, 0.5], [2, -0.5]])
    assert_array_equal(read_scores(tmp_path / "t.parquet").labels, ["a", "b"])


# Text files.


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["0", "1"], [0, 1]),
        (["-1", "+1"], [-1, 1]),
        (["1.0", "2."], [1, 2]),
        (["9223372036854775807", "1"], [2**63 - 1, 1]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["007", "8"], ["007", "8"]),
        (["0x1", "2"], ["0x1", "2"]),
        (["0.5", "1"], ["0.5", "1"]),
        (["true", "false"], ["true", "false"]),
        (["NA", "nan"], ["NA", "nan"]),
        (["1", "b"], ["1", "b"]),
        ([" 1", "2\t"], [1, 2]),
        ([" a", "b "], [" a", "b "]),
    ],
)
def test_labels_are_whole_numbers_if_all_are_and_else_text(file, texts, labels):
    table = read_scores(file("".join(["label,a\n", *(f"{text},1\n" for text in texts)])))

    assert table.labels.tolist() == labels
    assert table.labels.dtype.kind == ("i" if isinstance(labels[0], int) else "U")


@pytest.mark.parametrize(
    ("text", "score"),
    [
        *[(text, np.inf) for text in ("inf", "+inf", "INF", "Infinity", "+infinity", "iNf")],
        *[(text, -np.inf) for text in ("-inf", "-Infinity", "-INF")],
        *[("1", 1), ("-1.5e-3", -0.0015), ("+2.", 2), (".5", 0.5), (" 7\t", 7), ('"8"', 8), ("1E2", 100)],
    ],
)
def test_numbers_are_read_in_all_their_spellings(file, text, score):
    assert read_scores(file(f"label,a\nx,{text}\n")).scores.tolist() == [[score]]


@pytest.mark.parametrize(
    "content",
    [
        "\ufefflabel,a\nx,1\ny,2\n",
        '\ufeff"label","a"\nx,1\ny,2\n',
        "label,a\r\nx,1\r\ny,2\r\n",
        "label,a\rx,1\ry,2",
        "\n\nlabel,a\n\nx,1\n\n\ny,2\n\n",
        "a,label\n1,x\n2,y",
    ],
)
def test_byte_order_marks_line_ends_and_blank_lines_are_tolerated(file, content):
    table = read_scores(file(content))

    assert_array_equal(table.labels, ["x", "y"])
    assert_array_equal(table.scores, [[1], [2]])


def test_columns_are_picked_in_the_order_asked_for(file):
    path = file("a,label,text,b\n1,x,hello,2\n3,y,,4\n")

    assert_array_equal(read_scores(path, columns=["b", "a"]).scores, [[2, 1], [4, 3]])
    assert read_scores(path, columns=["b", "a"]).names == ("b", "a")
    assert read_scores(path, columns="b").names == ("b",)


@pytest.mark.parametrize("name", ["trials.csv", "trials.csv.gz"])
def test_text_in_the_place_of_a_number_is_reported_by_line_and_column(file, name):
    path = file("label,a,b\nx,1,2\ny,3,four\n", name)

    assert_refused(
        path,
        "Scores must be numbers and none may be missing, but line 3 of {path} has 'four' in column 'b'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize("text", ["1_0", "0x10", "1d3", "١", "1e", "--1", "infinit", "1\xa0", "true"])
def test_texts_that_only_look_like_numbers_are_texts(file, text):
    assert_refused(
        file(f"label,a\nx,{text}\n"),
        f"Scores must be numbers and none may be missing, but line 2 of {{path}} has {text!r} in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("label,a\nx,1\n\n\ny,?\n", 5),
        ('label,a\n"x\ny",1\nz,?\n', 4),
        ('label,a\n"x\r\ny\rz",1\r\nz,?\r\n', 5),
        ('label,a\n"x\n\ny",?\n', 4),
        ('"label",a,"b\nc"\nx,1,2\ny,?,3\n', 4),
        ("\ufefflabel,a\rx,1\ry,?\r", 3),
        ("\n\nlabel,a\nx,?\n", 4),
    ],
)
def test_lines_are_counted_as_an_editor_counts_them(file, content, line):
    assert_refused(
        file(content),
        f"Scores must be numbers and none may be missing, but line {line} of {{path}} has '?' in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


def test_the_line_is_right_far_down_a_long_file(file):
    rows = [f"x,{i}" for i in range(200_000)]
    rows[150_000] = "x,oops"

    assert_refused(
        file("\n".join(["label,a", *rows])),
        "Scores must be numbers and none may be missing, but line 150002 of {path} has 'oops' in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize(
    ("cell", "what"),
    [("", "an empty cell"), ("  ", "an empty cell"), ('""', "an empty cell")]
    + [(text, repr(text)) for text in ("nan", "NaN", "-nan", "nan(1)", "NA", "null", "None")],
)
def test_a_missing_score_is_reported_by_line_and_column(file, cell, what):
    assert_refused(
        file(f"label,a,b\nx,1,2\ny,{cell},3\n"),
        f"Scores must be numbers and none may be missing, but line 3 of {{path}} has {what} in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize("cell", ["", '""'])
@pytest.mark.parametrize("other", ["1", "x"])
def test_a_missing_label_is_reported_by_line(file, cell, other):
    assert_refused(
        file(f"label,a\n{other},1\n{cell},2\n"),
        "Every row must have a label, but line 3 of {path} has an empty cell in column 'label'. "
        "Fill in the cell or drop the row.",
    )


@pytest.mark.parametrize(("row", "cells"), [("y,3", 2), ("y,3,4,5", 4), ("y", 1), ("   ", 1), ('"y,3,4', 1)])
def test_a_row_with_cells_too_few_or_too_many_is_reported_by_line(file, row, cells):
    assert_refused(
        file(f"label,a,b\nx,1,2\n{row}\n"),
        f"Every row of {{path}} must have 3 cells, one per column, but the row on line 3 has {cells}. "
        "Check this line for a missing delimiter, an extra delimiter or an unclosed quotation mark.",
    )


def test_a_quotation_mark_left_open_over_a_long_file_is_reported_by_its_line(file):
    path = file('label,a\nx,1\n"y,2\n' + "z,3\n" * 50_000)

    with pytest.raises(
        TableError, match=r"trials\.csv cannot be read from line 3 onwards \(field larger than .*unclosed quot"
    ):
        read_scores(path)


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        (b"label,a\nx,1\nZo\xeb,2\n", 3, "b'Zo\\xeb'"),
        (b"label,a\nx,\xff\n", 2, "b'\\xff'"),
        (b"label,\xe9\nx,1\n", 1, "b'\\xe9'"),
        (b"label,a\n" + b"\xff" * 40 + b",1\n", 2, "b'" + "\\xff" * 9 + "\\…"),
    ],
)
def test_bytes_that_are_not_utf_8_are_reported_by_line(file, content, line, what):
    assert_refused(file(content), f"{{path}} must be UTF-8, but line {line} holds {what}. Save the file in UTF-8.")


def test_a_file_in_utf_16_is_refused_at_its_first_line(file):
    with pytest.raises(TableError, match="must be text according to its suffix, but begins like UTF-16 text"):
        read_scores(file("label,a\nx,1\n".encode("utf-16")))


@pytest.mark.parametrize("keep", [5, 60, -30, -1])
def test_a_damaged_gz_file_is_refused(tmp_path, rng, keep):
    path = tmp_path / "t.csv.gz"
    write_scores(path, np.arange(5000), rng.normal(size=5000))
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(TableError, match=r"t\.csv\.gz cannot be read"):
        read_scores(path)


def test_an_uncompressed_file_with_a_gz_suffix_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_text("label,a\nx,1\n")

    with pytest.raises(TableError, match="must be a gzip file according to its suffix, but begins like something else"):
        read_scores(path)


def test_a_failure_of_the_fast_reader_alone_is_reported_with_its_message(file, monkeypatch):
    def refuse(*_):
        raise pa.ArrowInvalid("a reason of its own")

    monkeypatch.setattr("likely.tables.columns.read_text_table", refuse)

    assert_refused(file("label,a\nx,1\n"), "{path} cannot be read: a reason of its own")


# Missing columns and files.


def test_the_error_for_a_missing_file_suggests_the_nearest_name(tmp_path, file):
    path = file("label,a\nx,1\n", "trials.csv")

    assert_refused(tmp_path / "trial.csv", "There is no file '{path}'. Did you mean 'trials.csv'?")
    assert_refused(tmp_path / "other" / "x.csv", "There is no file '{path}'. Check the path.")
    path.unlink()
    path.mkdir()
    assert_refused(tmp_path / "zzz.parquet", "There is no file '{path}'. Check the path.")


@pytest.mark.parametrize("name", ["scores.txt", "scores", "scores.gz", "csv"])
def test_a_suffix_that_is_not_known_is_refused(tmp_path, name):
    message = (
        "The file name of a table must end with one of .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow, .feather, but "
        "is '{path}'. Rename or convert the file."
    )

    assert_refused(tmp_path / name, message)
    with pytest.raises(TableError, match="The file name of a table must end with one of"):
        write_scores(tmp_path / name, [0, 1], [1, 2])


def test_the_error_for_a_missing_column_of_labels_lists_the_columns(file):
    assert_refused(
        file("LABEL,a\nx,1\n"),
        "{path} must have a column of labels 'label', but its columns are 'LABEL', 'a'. Did you mean 'LABEL'?",
    )
    assert_refused(
        file("truth,a\nx,1\n"),
        "{path} must have a column of labels 'label', but its columns are 'truth', 'a'. Name it with label=.",
    )
    with pytest.raises(TableError, match=r"its columns are 'c0', .*, 'c19' and 10 more\."):
        read_scores(file(",".join(f"c{i}" for i in range(30)) + "\n"))


@every_typed_kind
def test_the_error_for_a_missing_column_of_scores_lists_the_columns(tmp_path, suffix):
    path = typed(tmp_path, suffix, {"label": [0], "voice": [1.0], "face": [1.0]})

    assert_refused(
        path,
        "{path} must have a column of scores 'voices', but its columns are 'label', 'voice', 'face'. "
        "Did you mean 'voice'?",
        columns=["face", "voices"],
    )
    assert_refused(
        path,
        "{path} must have a column of scores 'gait', but its columns are 'label', 'voice', 'face'. "
        "Name it with columns=.",
        columns=["gait"],
    )


def test_two_columns_of_one_name_are_refused(tmp_path, file):
    message = "Columns must have distinct names, but {path} has 'a' twice. Rename one of them."
    table = pa.table([[1], [1.0], [2.0]], names=["label", "a", "a"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")

    assert_refused(file("label,a,a\nx,1,2\n"), message)
    assert_refused(tmp_path / "t.parquet", message)


def test_a_table_without_scores_is_refused(file):
    message = (
        "{path} must have a column of scores besides the column of labels 'label'. The file has no other column, or "
        "columns= is empty."
    )

    assert_refused(file("label\nx\n"), message)
    assert_refused(file("label,a\nx,1\n"), message, columns=[])


def test_a_table_without_rows_is_refused(tmp_path, file):
    message = "{path} must have rows, but has none after its column names."
    none = {"label": pa.array([], pa.int64()), "a": pa.array([], pa.float64())}

    assert_refused(file("label,a\n"), message)
    assert_refused(file("label,a"), message)
    assert_refused(typed(tmp_path, ".parquet", none), message)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_refused(file, content):
    assert_refused(file(content), "{path} must begin with a line of column names, but is empty.")


def test_row_numbers_written_by_pandas_are_not_scores(tmp_path):
    frame = pd.DataFrame({"label": [0, 1], "a": [0.5, 1.5]}, index=[7, 9])
    message = (
        "Every column of scores must have a name, but {{path}} has one with the name {!r}. pandas gives this name "
        "to row numbers. Write the file with index=False. Alternatively, name the columns of scores with columns=."
    )
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")

    assert_refused(tmp_path / "t.csv", message.format(""))
    assert_refused(tmp_path / "t.parquet", message.format("__index_level_0__"))
    assert read_scores(tmp_path / "t.csv", columns=["a"]).names == ("a",)


def test_a_column_is_named_once_and_not_also_as_label(file):
    path = file("label,a\n0,1\n")

    with pytest.raises(InvalidParameterError, match="Each column of scores must be named once, but 'a' is named twice"):
        read_scores(path, columns=["a", "a"])
    with pytest.raises(
        InvalidParameterError, match="The column of labels must not be a column of scores, but 'label' is both"
    ):
        read_scores(path, columns=["label"])


# Files that store types.


@every_typed_kind
@pytest.mark.parametrize(
    ("column", "labels", "kind"),
    [
        (pa.array([1, 2], pa.uint8()), [1, 2], "i"),
        (pa.array([1, 2], pa.int32()), [1, 2], "i"),
        (pa.array([2**64 - 1, 2], pa.uint64()), [2**64 - 1, 2], "u"),
        (pa.array([1.0, -2.0], pa.float32()), [1, -2], "i"),
        (pa.array([True, False]), [True, False], "b"),
        (pa.array(["0", "1"]), ["0", "1"], "U"),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"], "U"),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"], "U"),
        (pa.array([5, 6]).dictionary_encode(), [5, 6], "i"),
    ],
)
def test_labels_that_have_a_type_keep_it(tmp_path, suffix, column, labels, kind):
    table = read_scores(typed(tmp_path, suffix, {"label": column, "a": [1.0, 2.0]}))

    assert table.labels.tolist() == labels
    assert table.labels.dtype.kind == kind


@pytest.mark.parametrize(
    "kind", [pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.uint64(), pa.decimal128(5, 2)]
)
def test_scores_of_any_type_of_number_are_read(tmp_path, kind):
    scores = pa.array([1, 2], pa.int64()).cast(pa.float64()).cast(kind)

    table = read_scores(typed(tmp_path, ".parquet", {"label": [0, 1], "a": scores}))

    assert_array_equal(table.scores, [[1], [2]])
    assert table.scores.dtype == np.float64


@every_typed_kind
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None], "Every row must have a label, but row 2 of {path} has no value in column 'label'."),
        (["a", ""], "Every row must have a label, but row 2 of {path} has '' in column 'label'."),
        ([None, 1], "Every row must have a label, but row 1 of {path} has no value in column 'label'."),
    ],
)
def test_a_missing_label_is_reported_by_row(tmp_path, suffix, column, message):
    path = typed(tmp_path, suffix, {"label": column, "a": [1.0, 2.0]})

    assert_refused(path, message + " Fill in the cell or drop the row.")


@every_typed_kind
@pytest.mark.parametrize(
    ("column", "what"),
    [([1.0, None], "row 2 of {path} has no value"), ([1.0, float("nan")], "row 2 of {path} has nan")],
)
def test_a_missing_score_is_reported_by_row(tmp_path, suffix, column, what):
    path = typed(tmp_path, suffix, {"label": [0, 1], "a": column})

    assert_refused(
        path,
        f"Scores must be numbers and none may be missing, but {what} in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize(
    ("column", "first"),
    [
        (pa.array(["x", "y"]), "'x'"),
        (pa.array(["x", None]), "'x'"),
        (pa.array([True, False]), "True"),
        (pa.array([[1.0], [2.0]]), "[1.0]"),
    ],
)
def test_scores_of_another_type_are_refused(tmp_path, column, first):
    path = typed(tmp_path, ".arrow", {"label": [0, 1], "a": column})

    assert_refused(
        path,
        f"Scores must be numbers and none may be missing, but row 1 of {{path}} has {first} in column 'a'. "
        "Correct the cell or drop the row. Alternatively, set columns= to the names of the columns of scores.",
    )


@pytest.mark.parametrize("bad", [0.5, float("inf"), float("nan"), 1e300])
def test_labels_that_are_not_whole_numbers_are_refused(tmp_path, bad):
    path = typed(tmp_path, ".parquet", {"label": [1.0, bad], "a": [1.0, 2.0]})

    assert_refused(
        path,
        f"Labels that are numbers must be whole numbers, but column 'label' of {{path}} has {bad} in row 2. "
        "Name the column of labels with label=.",
    )


def test_labels_of_another_type_are_refused(tmp_path):
    path = typed(tmp_path, ".parquet", {"label": pa.array([b"x"]), "a": [1.0]})

    assert_refused(
        path, "Labels must be whole numbers, text or booleans, but column 'label' of {path} is of type binary."
    )


@every_typed_kind
def test_a_file_of_another_kind_than_its_suffix_says_is_refused(file, suffix):
    kind = "a Parquet" if suffix == ".parquet" else "an Arrow"
    path = file("label,a\nx,1\n" * 10, f"trials{suffix}")

    with pytest.raises(TableError, match=rf"trials{suffix} must be {kind} file, but cannot be read as one: "):
        read_scores(path)


def test_a_stream_of_arrow_is_read_too(tmp_path):
    table = pa.table({"label": ["a", "b"], "s": [1.0, 2.0]})
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1)

    assert_array_equal(read_scores(tmp_path / "t.arrow").labels, ["a", "b"])


def test_names_of_folders_are_not_columns(tmp_path):
    """A reader that knows partitioned data sets would take a column from such a path."""
    folder = tmp_path / "label=7"
    folder.mkdir()
    write_scores(folder / "t.parquet", [0, 1], [1, 2])

    assert_array_equal(read_scores(folder / "t.parquet").labels, [0, 1])


# Values that cannot be written.


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([0, 1], [1.0], r"Every row must have a label and scores, but labels has length 2 and scores has length 1\."),
        (
            [0, 1],
            1.0,
            r"Scores must have shape \(n,\) or \(n, n_columns\) and must not be empty, but have shape \(\)\.",
        ),
        ([], [], r"Scores must have shape \(n,\) or \(n, n_columns\) and must not be empty, but have shape \(0,\)\."),
        ([0, 1], np.zeros((2, 0)), r"not be empty, but have shape \(2, 0\)\."),
        ([0, 1], np.zeros((2, 1, 1)), r"not be empty, but have shape \(2, 1, 1\)\."),
        ([0, 1], ["a", "b"], r"Scores must be numbers in an array of one or two dimensions: could not convert"),
        ([0, 1], [[1], [1, 2]], r"Scores must be numbers in an array of one or two dimensions: setting an array"),
        (["a", None], [1, 2], r"the label of row 1 is missing"),
        ([0.0, np.nan], [1, 2], r"the label of row 1 is missing"),
        (["a", ""], [1, 2], r"Labels must not be empty texts, but the label of row 1 is empty\."),
        (np.array([b"a", b"b"]), [1, 2], r"Labels must be whole numbers, text or booleans, but are of type \|S1\."),
    ],
)
def test_labels_and_scores_that_cannot_be_written_are_refused(tmp_path, labels, scores, message):
    with pytest.raises(InvalidDataError, match=message):
        write_scores(tmp_path / "t.csv", labels, scores)

    assert list(tmp_path.iterdir()) == []


def test_nan_is_not_written(tmp_path):
    with pytest.raises(
        MissingValuesError, match=r"Scores must not be NaN, but row 1 has NaN in column 0\. Drop such rows"
    ):
        write_scores(tmp_path / "t.csv", [0, 1], [[1, 2], [np.nan, 3]])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "names must have one name for each of the 2 columns of scores, but has 1"),
        (["a", "a"], "Each column of scores must be named once, but 'a' is named twice"),
        (["a", "label"], "The column of labels must not be a column of scores, but 'label' is both"),
        (["a", ""], "Column names must be texts that are not empty, but one is ''"),
        (["a", 3], "Column names must be texts that are not empty, but one is 3"),
    ],
)
def test_names_that_cannot_be_written_are_refused(tmp_path, names, message):
    with pytest.raises(InvalidParameterError, match=message):
        write_scores(tmp_path / "t.csv", [0, 1], np.zeros((2, 2)), names)


def test_booleans_are_booleans_in_parquet_and_words_in_text(tmp_path):
    for name in ("t.csv", "t.parquet"):
        write_scores(tmp_path / name, [True, False], [1, 2])

    assert read_scores(tmp_path / "t.parquet").labels.tolist() == [True, False]
    assert read_scores(tmp_path / "t.csv").labels.tolist() == ["true", "false"]


@every_kind
def test_whole_floats_are_written_as_whole_numbers(tmp_path, suffix):
    write_scores(tmp_path / f"t{suffix}", [1.0, 2.0], [1, 2])

    assert read_scores(tmp_path / f"t{suffix}").labels.tolist() == [1, 2]


# Atomic writing.


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("before", [None, "what was there"])
@every_kind
def test_a_failure_leaves_everything_as_it_was(tmp_path, monkeypatch, suffix, before, failure):
    path = tmp_path / f"t{suffix}"
    if before:
        path.write_text(before)

    def half(stream, *_):
        stream.write(b"half of it")
        raise failure

    monkeypatch.setattr(writing, "_write", half)
    with pytest.raises(type(failure)):
        write_scores(path, [0, 1], [1, 2])

    assert [p.name for p in tmp_path.iterdir()] == ([path.name] if before else [])
    assert not before or path.read_text() == before


def test_a_failure_to_move_leaves_everything_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("what was there")

    def refuse(*_):
        raise PermissionError("not here")

    monkeypatch.setattr(_files.os, "replace", refuse)
    with pytest.raises(PermissionError, match="not here"):
        write_scores(path, [0, 1], [1, 2])

    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_replaces_an_old_file_and_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "t.csv"
    for score in (1.5, 2.5):
        write_scores(path, [0], [score])

    assert list(tmp_path.iterdir()) == [path]
    assert read_scores(path).scores == 2.5


@pytest.mark.skipif(os.name == "nt", reason="modes and links are those of POSIX")
def test_modes_and_links_are_kept(tmp_path):
    path, link, fresh = tmp_path / "t.csv", tmp_path / "link.csv", tmp_path / "fresh.csv"
    path.touch()
    path.chmod(0o640)
    link.symlink_to(path)
    (tmp_path / "plain").touch()

    write_scores(link, [0], [1.5])
    write_scores(fresh, [0], [1.5])

    assert link.is_symlink()
    assert read_scores(path).scores == 1.5
    assert path.stat().st_mode & 0o777 == 0o640
    assert fresh.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_missing_folder_and_a_folder_in_place_of_a_file_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(TableError, match=r"cannot be written: there is no folder '.*nowhere'\. Create it\."):
        write_scores(tmp_path / "nowhere" / "t.csv", [0], [1])
    with pytest.raises(TableError, match=r"cannot be written: it is a folder\. Give the name of a file\."):
        write_scores(tmp_path / "folder.csv", [0], [1])


# Errors and imports.


def test_the_errors_derive_from_likely_error_and_a_builtin_error():
    assert issubclass(TableError, LikelyError)
    assert issubclass(TableError, ValueError)
    assert issubclass(MissingDependencyError, LikelyError)
    assert issubclass(MissingDependencyError, ImportError)


def test_without_pyarrow_the_message_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingDependencyError, match=r"needs pyarrow, which is not installed\. Run: pip install"):
        write_scores(tmp_path / "t.csv", [0], [1])


def test_the_package_does_not_load_pyarrow_until_it_is_needed():
    """What scikit-learn loads by itself, such as a pandas that brings pyarrow, is not this room's."""
    code = "import sys; import sklearn.utils.validation; before = 'pyarrow' in sys.modules; import likely.tables; "
    code += "print('pyarrow' in sys.modules and not before)"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "False"


def test_semicolons_between_cells_are_detected(tmp_path):
    path = tmp_path / "spreadsheet.csv"
    path.write_text("label;llr;other\ntarget;1.5;-2\nnontarget;-inf;3\n")
    table = read_scores(path)

    assert table.names == ("llr", "other")
    assert table.scores.tolist() == [[1.5, -2.0], [-np.inf, 3.0]]


def test_decimal_commas_are_refused_by_line_and_column(tmp_path):
    path = tmp_path / "spreadsheet.csv"
    path.write_text("label;llr\ntarget;1.5\nnontarget;2,5\n")

    with pytest.raises(TableError, match=r"line 3.*'llr'|'llr'.*line 3"):
        read_scores(path)
