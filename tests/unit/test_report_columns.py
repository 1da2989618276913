"""Facts about columns: separation, histograms, and difficult data."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from likely.report.columns import column_facts
from likely.report.duplicates import count_copies


def named(X):
    return [f"c{j}" for j in range(X.shape[1])]


def facts_of(X, codes, n_classes=None, weight=None):
    labels = [f"class {k}" for k in range(n_classes or int(codes.max()) + 1)]
    facts = column_facts(X, named(X), codes, labels, weight)
    json.dumps(facts, allow_nan=False)
    return facts


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_columns_are_ordered_by_separation_of_the_classes(rng):
    codes = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 3)) + np.outer(codes, [0.5, 4.0, 1.5])

    found = facts_of(X, codes)["histograms"]

    assert [each["name"] for each in found] == ["c1", "c2", "c0"]
    assert found[0]["separation"] == pytest.approx(0.8, abs=0.05)  # variance 4 between, 1 within


def test_noise_in_few_rows_does_not_separate_the_classes(rng):
    shares = [facts_of(rng.normal(size=(20, 1)), np.arange(20) % 10)["histograms"][0]["separation"] for _ in range(100)]

    assert np.mean(shares) < 0.2  # η² itself is 0.47 on average


def test_weights_count_as_repetitions(rng):
    codes, X, weight = rng.integers(0, 3, 60), rng.normal(size=(60, 4)), rng.integers(1, 4, 60)
    weighted, repeated = (
        facts_of(X, codes, weight=weight.astype(float)),
        facts_of(np.repeat(X, weight, 0), np.repeat(codes, weight)),
    )

    assert weighted["correlation"] == repeated["correlation"]
    assert weighted["explained_variance"] == pytest.approx(repeated["explained_variance"], abs=1e-4)
    assert np.sum(weighted["histograms"][0]["counts"]) == weight.sum()


def test_one_outlier_does_not_compress_all_others_into_one_bin(rng):
    codes = rng.integers(0, 2, 1000)
    X = rng.normal(size=(1000, 1)) + 2 * codes[:, None]
    X[7] = 1e12

    found = facts_of(X, codes)["histograms"][0]

    counts = np.sum(found["counts"], axis=0)
    assert found["high"] < 100
    assert (counts > 0).sum() > 10
    assert counts.sum() == 1000
    assert found["separation"] > 0.3


def test_whole_numbers_have_bins_around_them():
    X, codes = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 0, 1, 1, 1])

    found = facts_of(X, codes)["histograms"][0]

    assert (found["low"], found["high"]) == (-0.5, 4.5)
    assert found["counts"] == [[2, 1, 0, 0, 0], [0, 0, 2, 0, 1]]


def test_missing_values_are_left_out_and_their_share_is_reported(rng):
    codes = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + codes[:, None]
    X[:100, 0] = np.nan

    found = {each["name"]: each for each in facts_of(X, codes)["histograms"]}

    assert (found["c0"]["missing"], found["c1"]["missing"]) == (0.25, 0)
    assert np.sum(found["c0"]["counts"]) == 300


def test_correlations_are_those_of_the_rows_where_both_are_known(rng):
    X = rng.normal(size=(500, 2))
    X[:, 1] += X[:, 0]
    X[:100, 0], X[-100:, 1] = np.nan, np.nan

    values = facts_of(X, np.arange(500) % 2)["correlation"]["values"]

    assert values[0][1] == pytest.approx(np.sqrt(0.5), abs=0.06)
    assert values[0][0] == values[1][1] == 1


def test_components_are_those_of_standardised_columns_that_vary(rng):
    x = rng.normal(size=(300, 1))
    X = np.hstack([x, 1e6 * x, rng.normal(size=(300, 1)), np.ones((300, 1))])

    explained = facts_of(X, np.arange(300) % 2)["explained_variance"]

    assert explained[0] == pytest.approx(2 / 3, abs=0.05)
    assert explained[1] == pytest.approx(1, abs=1e-3)


def test_two_classes_have_one_direction_with_a_histogram_and_three_have_two(rng):
    two, three = np.arange(300) % 2, np.arange(300) % 3
    X = rng.normal(size=(300, 4))
    X[:, 2] += 3 * two

    one = facts_of(X, two)["directions"]
    X[:, 1] += 3 * (three == 1)
    both = facts_of(X, three)["directions"]

    assert one["names"] == ["direction 1"]
    assert one["weights"][0][0][0] == "c2"
    assert np.sum(one["histogram"]["counts"]) == 300
    assert both["names"] == ["direction 1", "direction 2"]
    assert np.shape(both["means"]) == (3, 2)
    assert np.shape(both["covariances"]) == (3, 2, 2)
    assert {k for _, _, k in both["points"]} == {0, 1, 2}


@pytest.mark.parametrize(
    "X",
    [
        np.ones((10, 3)),
        np.full((10, 2), np.nan),
        np.repeat(np.arange(10.0)[:, None], 3, 1),
        np.arange(10.0)[:, None] * 1e307,
        np.where(np.arange(10) % 2, np.nan, np.arange(10))[:, None],
        csr_array((10, 4)),
        csr_array(np.eye(10)),
        np.arange(20).reshape(10, 2) % 3 == 0,
    ],
    ids=["constant", "missing", "copies", "huge", "half missing", "zero", "sparse", "truth values"],
)
def test_difficult_columns_have_finite_facts_without_a_warning(X):
    facts = facts_of(X, np.arange(10) % 3)

    assert facts["n_columns"] == X.shape[1]


def test_a_label_in_a_column_leaves_no_direction_or_a_finite_one():
    codes = np.arange(40) % 2
    facts = facts_of(np.column_stack([codes, codes[::-1]]).astype(float), codes)

    assert facts["histograms"][0]["separation"] == 1


def test_no_columns_have_no_facts():
    assert column_facts(np.empty((5, 0)), [], np.zeros(5, dtype=int), ["a"]) is None
    assert column_facts(np.empty((0, 3)), ["a", "b", "c"], np.zeros(0, dtype=int), ["a"]) is None


def test_sparse_columns_have_the_facts_of_dense_ones(rng):
    X, codes = rng.poisson(0.5, (200, 6)).astype(float), np.arange(200) % 2

    sparse, dense = facts_of(csr_array(X), codes), facts_of(X, codes)

    assert [each["name"] for each in sparse["histograms"]] == [each["name"] for each in dense["histograms"]]
    assert sparse["correlation"] == dense["correlation"]


def test_sampling_of_many_rows_is_deterministic_and_keeps_rare_classes(rng):
    codes = (np.arange(100_000) % 1000 == 0).astype(int)
    X = rng.normal(size=(100_000, 2))

    facts = facts_of(X, codes)

    assert facts == facts_of(X, codes)
    assert (facts["rows"], facts["of"]) == (20_000, 100_000)
    common, rare = (np.sum(counts) for counts in facts["histograms"][0]["counts"])
    assert rare == 100
    assert common == pytest.approx(99_900, rel=1e-4)


def test_components_of_wide_tables_use_the_most_separating_columns(rng):
    facts = facts_of(rng.normal(size=(120, 1200)), np.arange(120) % 3)

    assert facts["explained_of"] == 500
    assert len(facts["explained_variance"]) == 100


# Copies of rows across folds.


def test_counts_of_copies_equal_those_of_pairwise_comparison(rng):
    for _ in range(10):
        X = rng.choice([-0.0, 0.0, 1.0, 1e300, np.nan], (60, 3))
        codes, tests = rng.integers(0, 3, 60), np.array_split(rng.permutation(60)[:50], 4)

        expected = count_pairwise(X, codes, tests)

        assert count_copies(X, codes, tests) == expected
        assert count_copies(csr_array(X), codes, tests) == expected


def count_pairwise(X, codes, tests):
    folds = np.full(len(codes), -1)
    for fold, test in enumerate(tests):
        folds[test] = fold
    same = ((X[:, None] == X) | (np.isnan(X[:, None]) & np.isnan(X))).all(axis=2) & (folds[:, None] != folds)
    is_test = folds >= 0
    return int((same.any(axis=1) & is_test).sum()), int(
        ((same & (codes[:, None] != codes)).any(axis=1) & is_test).sum()
    )


def test_rows_of_equal_hash_are_distinguished_by_their_values(rng, monkeypatch):
    X, codes = rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 2, 60)
    tests = np.array_split(np.arange(60), 3)
    expected = count_pairwise(X, codes, tests)
    monkeypatch.setattr("likely.report.duplicates._hash_rows", lambda X: np.zeros(X.shape[0], dtype=np.int64))

    assert count_copies(X, codes, tests) == expected


def test_copies_within_a_fold_do_not_count():
    X = np.array([[1.0], [1.0], [2.0], [2.0]])

    assert count_copies(X, np.array([0, 1, 0, 1]), [np.array([0, 1]), np.array([2, 3])]) == (0, 0)


def test_large_integers_that_are_equal_as_doubles_are_not_copies():
    X = np.array([[2**53], [2**53 + 1]])

    assert count_copies(X, np.array([0, 0]), [np.array([0]), np.array([1])]) == (0, 0)


def test_no_columns_or_rows_have_no_copies():
    assert count_copies(np.empty((3, 0)), np.zeros(3, dtype=int), [np.arange(3)]) == (0, 0)
    assert count_copies(np.empty((0, 2)), np.zeros(0, dtype=int), []) == (0, 0)
