"""Real tables, read with the kinds of columns that their sources give them.

Statlog German credit: 13 categorical attributes and 7 numerical. Mushroom: 22 attributes, all categorical, of which
stalk-root has 2480 question marks. Both of the UCI Machine Learning Repository.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from likely import Encode, GaussianClassifier, Standardize, make_pipeline, read_data

NUMERIC = {
    "duration",
    "amount",
    "installment_rate",
    "residence_since",
    "age",
    "existing_credits",
    "people_liable",
}


DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="module")
def data_file():
    """A function that gives the path of a file of real data, or skips the test."""

    def find(name):
        if not (DATA / name).exists():
            pytest.skip(f"needs {name}, which is not in {DATA}; set LIKELY_DATA to a folder that has it")
        return DATA / name

    return find


@pytest.fixture(scope="module")
def credit(data_file):
    return read_data(data_file("german_credit.csv.gz"), "class")


@pytest.fixture(scope="module")
def mushrooms(data_file):
    return read_data(data_file("mushroom.csv.gz"), "class")


def test_the_columns_of_german_credit_are_of_their_kinds(credit):
    kinds = {column.name: column.kind for column in credit.columns}

    assert (credit.n, len(kinds)) == (1000, 20)
    assert {name for name, kind in kinds.items() if kind == "number"} == NUMERIC
    assert np.unique(credit.labels, return_counts=True)[1].tolist() == [700, 300]


def test_german_credit_is_encoded_by_indicators(credit):
    encode = Encode().fit(credit.X)
    n_categories = sum(column.n_distinct - 1 for column in credit.columns if column.kind == "category")

    assert encode.transform(credit.X).shape == (1000, 7 + n_categories)
    assert "purpose=A40" in encode.get_feature_names_out()
    assert encode.categories_[3][0] == "A43"


def test_a_chain_learns_from_german_credit_as_it_is_read(credit):
    chain = make_pipeline(Encode(), Standardize(), GaussianClassifier(tied=True)).fit(credit.X, credit.labels)

    assert 0.75 < chain.score(credit.X, credit.labels) < 0.85


def test_all_columns_of_mushrooms_are_categories(mushrooms):
    roots = next(column for column in mushrooms.columns if column.name == "stalk-root")

    assert (mushrooms.n, len(mushrooms.columns)) == (8124, 22)
    assert {column.kind for column in mushrooms.columns} == {"category"}
    assert (roots.n_missing, roots.n_distinct) == (0, 5)
    assert mushrooms.X["stalk-root"].to_pylist().count("?") == 2480


@pytest.mark.parametrize(("target", "n"), [("y_train", 60000), ("y_test", 10000)])
def test_both_parts_of_mnist_are_read_from_one_file(data_file, target, n):
    table = read_data(data_file("mnist.npz"), target)

    assert table.X.shape == (n, 784)
    assert table.X.dtype == np.uint8
    assert [table.columns[0].name, table.columns[-1].name] == ["x0", "x783"]
    assert set(table.labels.tolist()) == set(range(10))
