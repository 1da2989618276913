"""Laws of statistics: they add, have a zero, and do not depend on the division of the rows into blocks.

Each law is one test, run for all statistics and kinds of input.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from likely import ArraySource, IncompatiblePartsError
from likely.blocks import class_moments, moments
from likely.statistics import ByClass, Counts, DiagonalMoments, LinearMap, Moments

KINDS = [Moments, DiagonalMoments]
FIELDS = {Moments: ["weight", "mean", "scatter"], DiagonalMoments: ["weight", "column_weights", "mean", "scatter"]}

kinds = pytest.mark.parametrize("kind", KINDS)


def rows(n, d=3, seed=0, offset=0.0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1.0, 1e-6, 1e3][:d] + offset


def assert_same(a, b, rtol=1e-10):
    """Assert equal moments, with tolerances relative to the scale of each column."""
    assert type(a) is type(b)
    scale = np.sqrt(b.variances()) + np.finfo(float).eps * np.abs(b.mean)
    assert_allclose(a.weight, b.weight, rtol=rtol)
    assert_allclose((a.mean - b.mean) / scale, 0, atol=rtol * np.sqrt(b.weight + 1))
    unit = np.outer(scale, scale) if b.scatter.ndim == 2 else scale**2
    assert_allclose((a.scatter - b.scatter) / (unit * b.weight), 0, atol=rtol)


def defined_by(X, w):
    """Return weight, mean and scatter by their definitions, row by row."""
    n = w.sum()
    mean = sum(wi * x for wi, x in zip(w, X, strict=True)) / n
    return n, mean, sum(wi * np.outer(x - mean, x - mean) for wi, x in zip(w, X, strict=True))


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_follow_their_definition(kind, weighted):
    X = rows(40)
    w = np.random.default_rng(1).uniform(0.5, 3, 40) if weighted else None
    n, mean, scatter = defined_by(X, np.ones(40) if w is None else w)

    found = kind.of(X, w)

    assert_allclose(found.weight, n)
    assert_allclose(found.mean, mean)
    assert_allclose(found.scatter, scatter if kind is Moments else scatter.diagonal(), rtol=1e-12, atol=1e-15)


@kinds
@pytest.mark.parametrize("cut", [1, 2, 20, 39])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_merging_parts_equals_one_pass(kind, cut, offset):
    X = np.random.default_rng(0).normal(size=(40, 3)) + offset

    merged = kind.of(X[:cut]) + kind.of(X[cut:])

    assert_same(merged, kind.of(X), rtol=1e-7 if offset else 1e-12)


@kinds
def test_merging_many_ways_in_any_order_equals_one_pass(kind):
    X = rows(60)
    parts = [kind.of(X[i : i + 4]) for i in range(0, 60, 4)]
    forwards = sum(parts[1:], start=parts[0])
    backwards = sum(parts[-2::-1], start=parts[-1])

    assert_same(forwards, kind.of(X))
    assert_same(backwards, kind.of(X))


@kinds
def test_zero_is_the_identity_on_both_sides(kind):
    a = kind.of(rows(7))

    for total in (a + kind.zero(3), kind.zero(3) + a):
        for field in FIELDS[kind]:
            assert_array_equal(getattr(total, field), getattr(a, field))


@kinds
def test_two_zeros_are_zero(kind):
    total = kind.zero(2) + kind.zero(2)

    assert total.weight == 0
    assert_array_equal(total.scatter, kind.zero(2).scatter)
    assert_array_equal(total.variances(), [0, 0])


@kinds
@pytest.mark.parametrize("n", [1, 2])
def test_the_variance_of_one_or_two_rows_is_exact(kind, n):
    X = rows(n)

    assert_allclose(kind.of(X).variances(), X.var(axis=0), rtol=1e-12, atol=1e-300)


@kinds
def test_weights_equal_repetition(kind):
    X, repeats = rows(20), np.random.default_rng(2).integers(1, 5, 20)

    assert_same(kind.of(X, repeats.astype(float)), kind.of(np.repeat(X, repeats, axis=0)))


@kinds
def test_the_order_of_rows_does_not_matter(kind):
    X = rows(50)

    assert_same(kind.of(X[::-1]), kind.of(X))


@kinds
@pytest.mark.parametrize("convert", [csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
def test_every_form_of_input_gives_the_same_double_precision_sums(kind, convert):
    X = np.round(np.random.default_rng(3).normal(size=(30, 3)) * 4) * (np.random.default_rng(4).random((30, 3)) < 0.5)

    found = kind.of(convert(X))

    assert found.scatter.dtype == found.mean.dtype == np.float64
    assert_same(found, kind.of(X))


def test_sparse_columns_far_from_zero_keep_their_variance():
    X = np.random.default_rng(5).normal(size=(500, 2)) + np.array([1e8, 0])

    assert_allclose(DiagonalMoments.of(csr_array(X)).variances(), X.var(axis=0), rtol=1e-7)


@kinds
@pytest.mark.parametrize(("offset", "dtype"), [(1e8, np.float64), (1e5, np.float32)])
def test_unit_variance_far_from_zero_is_computed_accurately(kind, offset, dtype):
    X = (np.random.default_rng(6).normal(size=(50_000, 2)) + offset).astype(dtype)

    found = ArraySource(X, block_rows=1000).reduce(moments, kind)

    assert_allclose(found.variances(), X.astype(np.float64).var(axis=0), rtol=1e-8)
    assert_allclose(found.variances(), 1, rtol=0.02)


@kinds
@pytest.mark.parametrize("block_rows", [1, 7, 50, 99, 100])
@pytest.mark.parametrize("keyed", [False, True])
def test_any_division_into_blocks_gives_the_same_statistic(kind, block_rows, keyed):
    X, codes = rows(100), np.random.default_rng(7).integers(3, size=100)
    cut = ArraySource(X, codes, block_rows=block_rows).reduce(class_moments if keyed else moments, kind)

    if not keyed:
        assert_same(cut, kind.of(X))
    for k in range(3) if keyed else []:
        assert_same(cut.parts[k], kind.of(X[codes == k]))


@kinds
def test_the_same_blocks_give_the_same_bits_for_any_number_of_threads(kind, monkeypatch):
    X, codes = rows(5000), np.random.default_rng(8).integers(3, size=5000)
    source = ArraySource(X, codes, block_rows=100)
    threaded = source.reduce(class_moments, kind)
    monkeypatch.setattr("likely.blocks.threads.n_threads", lambda: 1)

    alone = source.reduce(class_moments, kind)

    for k in range(3):
        for field in FIELDS[kind]:
            assert_array_equal(getattr(alone.parts[k], field), getattr(threaded.parts[k], field))


@kinds
def test_wide_rows_divided_by_class_give_the_same_statistic(kind):
    X, codes = np.random.default_rng(9).normal(size=(400, 300)), np.random.default_rng(9).integers(3, size=400)
    source = ArraySource(X, codes)

    assert source.n_blocks == 3
    for k in range(3):
        assert_same(source.reduce(class_moments, kind).parts[k], kind.of(X[codes == k]))


@kinds
def test_a_diagonal_map_of_moments_equals_the_moments_of_mapped_rows(kind):
    X = rows(30)
    linear = LinearMap(np.array([0.3, 0.0, -5.0]), np.array([2.0, 1e6, -0.1]))

    assert_same(kind.of(X).mapped(linear), kind.of(linear(X)))


def test_a_projection_of_moments_equals_the_moments_of_projected_rows(rng):
    X = rng.normal(size=(30, 3))
    linear = LinearMap(rng.normal(size=3), rng.normal(size=(3, 2)))

    assert_same(Moments.of(X).mapped(linear), Moments.of(linear(X)))


def test_diagonal_moments_refuse_a_projection(rng):
    with pytest.raises(IncompatiblePartsError, match="mixes columns"):
        DiagonalMoments.of(rows(5)).mapped(LinearMap(np.zeros(3), np.ones((3, 1))))


def test_the_diagonal_of_moments_equals_diagonal_moments():
    X = rows(30)

    assert_same(Moments.of(X).diagonal(), DiagonalMoments.of(X))
    assert_same(Moments.of(X).leading(2), Moments.of(X[:, :2]))


def test_missing_values_are_skipped_column_by_column(rng):
    X = rng.normal(size=(50, 3))
    X[rng.random((50, 3)) < 0.3] = np.nan
    w = rng.uniform(0.5, 2, 50)

    found = DiagonalMoments.of(X, w)

    for j in range(3):
        present = ~np.isnan(X[:, j])
        alone = DiagonalMoments.of(X[present][:, [j]], w[present])
        assert_allclose(found.column_weights[j], alone.weight)
        assert_allclose(found.mean[j], alone.mean[0])
        assert_allclose(found.scatter[j], alone.scatter[0])


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_compiled_sums_by_class_equal_those_of_each_class(missing, offset, rng):
    n, d = 2**18 // 4, 4
    X, codes, w = rng.normal(size=(n, d)) + offset, rng.integers(3, size=n) * 2, rng.uniform(0.5, 2, n)
    X[rng.random((n, d)) < missing] = np.nan

    found = DiagonalMoments.grouped(X, codes, w)

    assert sorted(found) == [0, 2, 4]
    for k, part in found.items():
        assert_same(part, DiagonalMoments.of(X[codes == k], w[codes == k]), rtol=1e-7 if offset else 1e-10)


@kinds
def test_cells_add_up_to_classes_and_to_the_total(kind):
    X, codes, folds = rows(90), np.random.default_rng(1).integers(3, size=90), np.arange(90) % 4
    cells = ByClass.of(kind, X, codes, folds=folds)

    by_class = cells.regrouped(lambda cell: cell[0])
    without_fold = cells.regrouped(lambda cell: None if cell[1] == 2 else cell[0])

    for k in range(3):
        assert_same(by_class.parts[k], kind.of(X[codes == k]))
        assert_same(without_fold.parts[k], kind.of(X[(codes == k) & (folds != 2)]))
    assert_same(cells.total(), kind.of(X))


@kinds
def test_the_pooled_statistic_is_computed_about_the_class_means(kind):
    X, codes = rows(60), np.arange(60) % 3
    about = X - np.stack([X[codes == k].mean(axis=0) for k in range(3)])[codes]

    pooled = ByClass.of(kind, X, codes).within()

    assert_same(pooled, kind.of(about).centred())


def test_by_class_adds_key_by_key_and_has_a_zero():
    a, b = ByClass({0: 1, 1: 2}), ByClass({1: 10, 5: 7})

    assert dict((a + b).parts) == {0: 1, 1: 12, 5: 7}
    assert dict((a + ByClass.zero()).parts) == dict(a.parts)
    assert (a + b).total() == 20


@given(st.lists(st.lists(st.integers(0, 4)), max_size=6))
def test_counts_of_parts_add_up_to_counts_of_the_whole(parts):
    whole = Counts.of(np.array([c for part in parts for c in part], dtype=int), 5)

    total = sum((Counts.of(np.array(part, dtype=int), 5) for part in parts), start=Counts.zero(5))

    assert_array_equal(total.weights, whole.weights)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.integers(1, 29),
)
def test_merged_variances_are_not_negative_and_merged_means_lie_between_the_parts(values, cut):
    X = np.array(values)[:, None]
    cut = min(cut, len(X) - 1)
    a, b = DiagonalMoments.of(X[:cut]), DiagonalMoments.of(X[cut:])

    both = a + b

    slack = 1e-9 * (1 + np.abs(X).max())
    assert both.scatter[0] >= 0
    assert min(a.mean[0], b.mean[0]) - slack <= both.mean[0] <= max(a.mean[0], b.mean[0]) + slack


@kinds
def test_statistics_are_immutable(kind):
    found = kind.of(rows(5))

    with pytest.raises(ValueError, match="read-only"):
        found.mean[0] = 1
    with pytest.raises(AttributeError):
        found.weight = 2


@kinds
def test_statistics_survive_pickling(kind):
    found = ByClass.of(kind, rows(9), np.arange(9) % 2)

    restored = pickle.loads(pickle.dumps(found))

    assert_array_equal(restored.parts[1].scatter, found.parts[1].scatter)
