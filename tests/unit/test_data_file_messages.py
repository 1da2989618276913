"""Error messages for data files: they name the file, the line, the column and the remedy."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likely.exceptions import InvalidParameterError, TableError
from likely.tables import read_data

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
MANY = "".join(f"{at},user{at},{at % 2}\n" for at in range(20))
MOSTLY = "".join(f"{at},{'abc' if at == 15 else at},{at % 2}\n" for at in range(25))

FAULTS = {
    "an unknown target": (
        "a,class\n1,0\n",
        {"target": "clas"},
        ("{path} must have a column of labels 'clas', but its columns are 'a', 'class'. Did you mean 'class'?"),
    ),
    "an unknown group": (
        "a,y\n1,0\n",
        {"groups": "who"},
        ("{path} must have a column of groups 'who', but its columns are 'a', 'y'. Name it with groups=."),
    ),
    "an unknown weight": (
        "a,y\n1,0\n",
        {"weight": "w"},
        "{path} must have a column of weights 'w', but its columns are 'a', 'y'. Name it with weight=.",
    ),
    "an unknown score": (
        "a,y\n1,0\n",
        {"scores": ["s"]},
        "{path} must have a column of scores 's', but its columns are 'a', 'y'. Name it with scores=.",
    ),
    "an unknown category": (
        "a,y\n1,0\n",
        {"categories": ["zip"]},
        ("{path} must have a column of categories 'zip', but its columns are 'a', 'y'. Name it with categories=."),
    ),
    "an unknown column to leave out": (
        "a,y\n1,0\n",
        {"exclude": ["id"]},
        ("{path} must have a column to leave out 'id', but its columns are 'a', 'y'. Name it with exclude=."),
    ),
    "nothing": ("", {}, "{path} must begin with a line of column names, but is empty."),
    "names only": ("a,y\n", {}, "{path} must have rows, but has none after its column names."),
    "a short row": (
        "a,b,y\n1,2,0\n3,1\n",
        {},
        (
            "Every row of {path} must have 3 cells, one per column, but the row on line 3 has 2. Check this "
            "line for a missing delimiter, an extra delimiter or an unclosed quotation mark."
        ),
    ),
    "a short row far down": (
        "a,b,y\n" + "1,2,0\n" * 500 + "3,1\n",
        {},
        (
            "Every row of {path} must have 3 cells, one per column, but the row on line 502 has 2. Check this "
            "line for a missing delimiter, an extra delimiter or an unclosed quotation mark."
        ),
    ),
    "one name twice": (
        "a,a,y\n1,2,0\n",
        {},
        "Columns must have distinct names, but {path} has 'a' twice. Rename one of them.",
    ),
    "row numbers": (
        ",a,y\n0,1,0\n",
        {},
        (
            "Every column of features must have a name, but {path} has one with the name ''. pandas gives this name to "
            "row numbers. Write the file with index=False. Alternatively, leave the column out with exclude=."
        ),
    ),
    "no features": (
        "y\n1\n",
        {},
        "{path} must have a column of features, but all of its columns have other roles.",
    ),
    "bytes that are not UTF-8": (
        "a,y\n1,0\ncafé,1\n".encode("latin-1"),
        {},
        r"{path} must be UTF-8, but line 3 holds b'caf\xe9'. Save the file in UTF-8.",
    ),
    "numbers with a text": (
        "n,age,y\n" + MOSTLY,
        {},
        (
            "A column must hold either numbers or categories, but line 17 of {path} has 'abc' in column 'age', "
            "although 96 % of the cells of this column are numbers. Correct the cell, or declare the column as "
            "categories with categories='age'."
        ),
    ),
    "decimal commas": (
        "a;y\n1;0\n2,5;1\n-3,5;1\n",
        {},
        (
            "Numbers must be written with a decimal point and without separators of thousands, but line 3 of {path} "
            "has '2,5' in column 'a'. Rewrite the numbers of this column, or declare the column as "
            "categories with categories='a'."
        ),
    ),
    "half numbers": (
        "a,y\n1,0\nu,1\n",
        {},
        (
            "A column must hold either numbers or categories, but line 3 of {path} has 'u' in column 'a', although "
            "50 % of the cells of this column are numbers. Correct the cell, or declare the column as categories with "
            "categories='a'."
        ),
    ),
    "an infinite number": (
        "a,y\n1,0\n\n-inf,1\n",
        {},
        (
            "Features must be finite or missing, but line 4 of {path} has -inf in column 'a'. Correct the value, "
            "or leave the cell empty."
        ),
    ),
    "a column without values": (
        "a,b,y\n1,?,0\n2,,1\n",
        {},
        (
            "A feature must have values, but column 'b' of {path} has no value in any row. Leave the column out "
            "with exclude='b'."
        ),
    ),
    "an identifier": (
        "a,id,y\n" + MANY,
        {},
        (
            "Categories must occur in several rows so that a model can learn from them, but column 'id' of {path} "
            "has 20 different texts in 20 rows. It seems to be an identifier. Leave the column out with exclude='id'."
        ),
    ),
    "no label": (
        "a,y\n1,0\n2,\n",
        {},
        (
            "Every row must have a label, but line 3 of {path} has an empty cell in column 'y'. Fill in the cell "
            "or drop the row."
        ),
    ),
    "a label that says it is missing": (
        "a,y\n1,u\n2,NA\n",
        {},
        ("Every row must have a label, but line 3 of {path} has 'NA' in column 'y'. Fill in the cell or drop the row."),
    ),
    "no group": (
        "a,g,y\n1,u,0\n2,,1\n",
        {"groups": "g"},
        (
            "Every row must have a group, but line 3 of {path} has an empty cell in column 'g'. Fill in the cell "
            "or drop the row."
        ),
    ),
    "a weight that is text": (
        "a,w,y\n1,2,0\n2,two,1\n",
        {"weight": "w"},
        (
            "Weights must be finite numbers >= 0, but line 3 of {path} has 'two' in column 'w'. Correct the cell. "
            "Alternatively, set weight= to the name of the column of weights."
        ),
    ),
    "a negative weight": (
        "a,w,y\n1,2,0\n2,-1,1\n",
        {"weight": "w"},
        (
            "Weights must be finite numbers >= 0, but line 3 of {path} has '-1' in column 'w'. Correct the cell. "
            "Alternatively, set weight= to the name of the column of weights."
        ),
    ),
    "no weight": (
        "a,w,y\n1,,0\n2,1,1\n",
        {"weight": "w"},
        (
            "Weights must be finite numbers >= 0, but line 2 of {path} has an empty cell in column 'w'. "
            "Correct the cell. Alternatively, set weight= to the name of the column of weights."
        ),
    ),
    "a score that is text": (
        "a,s,y\n1,high,0\n",
        {"scores": "s"},
        (
            "Scores must be numbers and none may be missing, but line 2 of {path} has 'high' in column 's'. "
            "Correct the cell or drop the row. Alternatively, set scores= to the names of the columns of scores."
        ),
    ),
    "no score": (
        "a,s,y\n1,nan,0\n",
        {"scores": "s"},
        (
            "Scores must be numbers and none may be missing, but line 2 of {path} has 'nan' in column 's'. "
            "Correct the cell or drop the row. Alternatively, set scores= to the names of the columns of scores."
        ),
    ),
    "a picture": (
        PNG,
        {},
        "{path} must be text according to its suffix, but begins like a PNG picture. Rename or convert the file.",
    ),
    "binary data": (
        b"a,y\n\0\1\2",
        {},
        "{path} must be text according to its suffix, but begins like binary data. Rename or convert the file.",
    ),
    "a spreadsheet": (
        b"PK\x03\x04rest",
        {},
        (
            "{path} must be text according to its suffix, but begins like a zip archive, for example a spreadsheet "
            "or a .npz file. Rename or convert the file."
        ),
    ),
}


def assert_refused(path, message, **options):
    """Reading ends in exactly this message, in which {path} stands for the file."""
    with pytest.raises(TableError, match="^" + re.escape(message.replace("{path}", str(path))) + "$"):
        read_data(path, **({"target": "y"} | options))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_text_table_with_a_fault_is_refused(tmp_path, fault):
    content, options, message = FAULTS[fault]
    path = tmp_path / "data.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)

    assert_refused(path, message, **options)


TYPED_FAULTS = {
    "a date": (
        {"when": pa.array([0, 1], pa.date32()), "y": [0, 1]},
        (
            "Features must be numbers or categories, but column 'when' of {path} is of type date32[day]. "
            "Leave the column out with exclude='when', or convert it to numbers."
        ),
    ),
    "a list": (
        {"l": [[1], [2]], "y": [0, 1]},
        (
            "Features must be numbers or categories, but column 'l' of {path} is of type list<element: "
            "int64>. Leave the column out with exclude='l', or convert it to numbers."
        ),
    ),
    "an infinite number": (
        {"a": [1.0, np.inf], "y": [0, 1]},
        (
            "Features must be finite or missing, but row 2 of {path} has inf in column 'a'. Correct the value, or "
            "leave the cell empty."
        ),
    ),
    "nulls only": (
        {"a": pa.nulls(2), "y": [0, 1]},
        (
            "A feature must have values, but column 'a' of {path} has no value in any row. Leave the column out "
            "with exclude='a'."
        ),
    ),
    "no label": (
        {"a": [1, 2], "y": ["u", None]},
        (
            "Every row must have a label, but row 2 of {path} has no value in column 'y'. Fill in the cell or "
            "drop the row."
        ),
    ),
    "labels that are not whole": (
        {"a": [1, 2], "y": [0.5, 1.0]},
        (
            "Labels that are numbers must be whole numbers, but column 'y' of {path} has 0.5 in row 1. Name the "
            "column of labels with target=."
        ),
    ),
    "names only": (
        {"a": pa.array([], pa.int8()), "y": pa.array([], pa.int8())},
        "{path} must have rows, but has none after its column names.",
    ),
}


@pytest.mark.parametrize("fault", TYPED_FAULTS)
def test_a_typed_table_with_a_fault_is_refused(tmp_path, fault):
    columns, message = TYPED_FAULTS[fault]
    pa.parquet.write_table(pa.table(columns), tmp_path / "data.parquet")

    assert_refused(tmp_path / "data.parquet", message)


def test_typed_weights_that_are_text_are_refused(tmp_path):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"a": [1], "w": ["two"], "y": [0]}), path)

    message = (
        "Weights must be finite numbers >= 0, but row 1 of {path} has 'two' in column 'w'. Correct the cell. "
        "Alternatively, set weight= to the name of the column of weights."
    )
    assert_refused(path, message, weight="w")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.parquet", b"a,y\n1,0\n", "^{path} must be a Parquet file, but cannot be read as one: .+"),
        ("data.feather", b"a,y\n1,0\n", "^{path} must be an Arrow file, but cannot be read as one: .+"),
        ("data.npz", b"a,y\n1,0\n", "^{path} must be a .npz file, but cannot be read as one: .+"),
        ("data.npz", b"", "^{path} must be a .npz file, but cannot be read as one: .+"),
        (
            "data.csv.gz",
            b"a,y\n1,0\n",
            "^{path} must be a gzip file according to its suffix, but begins like something else.",
        ),
        (
            "data.csv.gz",
            gzip.compress(b"a,y\n1,0\n" * 999, mtime=0)[:40],
            "^{path} cannot be read from line .+ damaged file",
        ),
        (
            "data.csv.gz",
            gzip.compress(PNG, mtime=0),
            "^{path} must be text according to its suffix, but begins like a PNG picture.",
        ),
        (
            "data.xlsx",
            b"",
            "^The file name of a table must end with one of .+, .npz, but is '{path}'. Rename or convert the file",
        ),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(TableError, match=message.format(path=re.escape(str(path)))):
        read_data(path, "y")


def test_the_error_for_a_missing_file_suggests_a_similar_name(tmp_path):
    (tmp_path / "train.npz").touch()

    with pytest.raises(TableError, match=r"There is no file '.*trian.npz'. Did you mean 'train.npz'\?"):
        read_data(tmp_path / "trian.npz", "y")


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"weight": "y"}, "weight="),
        ({"groups": "y"}, "groups="),
        ({"exclude": "y"}, "exclude="),
        ({"scores": "y"}, "scores="),
    ],
)
def test_a_column_has_one_role(tmp_path, options, parameter):
    (tmp_path / "data.csv").write_text("a,y\n1,0\n")

    with pytest.raises(
        InvalidParameterError, match=f"A column must have only one role, but 'y' is named by target= and by {parameter}"
    ):
        read_data(tmp_path / "data.csv", "y", **options)


@pytest.mark.parametrize(
    ("fault", "parameter"),
    [
        ("an unknown target", "target"),
        ("an unknown column to leave out", "exclude"),
        ("row numbers", "exclude"),
        ("an identifier", "exclude"),
        ("half numbers", "categories"),
        ("no group", "groups"),
        ("a negative weight", "weight"),
        ("no score", "scores"),
        ("a short row", None),
    ],
)
def test_an_error_carries_the_parameter_that_repairs_it(tmp_path, fault, parameter):
    content, options, _ = FAULTS[fault]
    (tmp_path / "data.csv").write_text(content)

    with pytest.raises(TableError) as caught:
        read_data(tmp_path / "data.csv", **({"target": "y"} | options))

    assert caught.value.parameter == parameter
