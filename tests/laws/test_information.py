"""Laws of entropy, divergence and impurity of counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import entropy as scipy_entropy

from likely import InvalidDataError, InvalidParameterError
from likely.statistics import (
    Counts,
    conditional_entropy,
    conditional_gini,
    distribution_cross_entropy,
    entropy,
    gini,
    information_gain,
    kl_divergence,
)

weights = st.one_of(st.just(0.0), st.integers(1, 1000).map(float), st.floats(1e-9, 1e9))
stacks = arrays(float, array_shapes(min_dims=1, max_dims=3, max_side=4), elements=weights)
tables = arrays(float, array_shapes(min_dims=2, max_dims=4, max_side=4), elements=weights)
pairs = st.integers(1, 5).flatmap(lambda k: st.tuples(*[arrays(float, (3, k), elements=weights)] * 2))
positive = arrays(float, st.integers(1, 6), elements=st.floats(1e-3, 1e3))

of_one = pytest.mark.parametrize("measure", [entropy, gini])
of_two = pytest.mark.parametrize("measure", [distribution_cross_entropy, kl_divergence])
of_tables = pytest.mark.parametrize("measure", [conditional_entropy, conditional_gini, information_gain])


def with_weight(counts):
    """Return the counts, with weight 1 in the first class of rows without weight."""
    counts = counts.copy()
    counts[counts.sum(axis=-1) == 0, 0] = 1
    return counts


@given(pairs)
def test_cross_entropy_is_entropy_plus_divergence(pair):
    p, q = pair

    assert_allclose(distribution_cross_entropy(p, q), entropy(p) + kl_divergence(p, q), atol=1e-12)


@given(pairs)
def test_entropy_and_divergence_equal_scipy(pair):
    p, q = map(with_weight, pair)

    assert_allclose(entropy(p), scipy_entropy(p, axis=-1), atol=1e-12)
    assert_allclose(kl_divergence(p, q, base=2), scipy_entropy(p, q, base=2, axis=-1), atol=1e-12)


@given(pairs)
def test_divergence_is_not_negative_and_0_from_itself(pair):
    p, q = pair

    assert (kl_divergence(p, q) >= 0).all()
    assert_array_equal(kl_divergence(p, p), 0)


@given(tables)
def test_information_gain_is_entropy_minus_conditional_entropy(table):
    whole = entropy(table.sum(axis=-2))

    assert_allclose(information_gain(table), whole - conditional_entropy(table), atol=1e-12)
    assert (information_gain(table) >= 0).all()
    assert (conditional_gini(table) <= gini(table.sum(axis=-2)) + 1e-12).all()


@given(tables)
def test_information_gain_is_symmetric_in_branch_and_class(table):
    assert_allclose(information_gain(table), information_gain(np.swapaxes(table, -1, -2)), atol=1e-12)


@given(tables)
def test_conditional_measures_are_weighted_means_over_branches(table):
    share = table.sum(axis=-1) / np.maximum(table.sum(axis=(-2, -1)), 1e-300)[..., None]

    assert_allclose(conditional_entropy(table), (share * entropy(table)).sum(axis=-1), atol=1e-12)
    assert_allclose(conditional_gini(table), (share * gini(table)).sum(axis=-1), atol=1e-12)


@of_one
@given(stacks)
def test_equally_frequent_classes_have_the_largest_impurity(measure, counts):
    largest = measure(np.ones(counts.shape[-1]))

    assert (measure(counts) <= largest + 1e-12).all()
    assert (measure(counts) >= 0).all()


@given(positive, positive)
def test_entropies_of_independent_draws_add_and_their_information_gain_is_0(p, q):
    joint = np.outer(p, q)

    assert_allclose(entropy(joint.ravel()), entropy(p) + entropy(q), atol=1e-12)
    assert_allclose(information_gain(joint), 0, atol=1e-12)
    assert_allclose(conditional_entropy(joint), entropy(q), atol=1e-12)


@of_one
@pytest.mark.parametrize("scale", [1e-290, 1e-3, 7.0, 1e299])
@given(stacks)
def test_the_scale_of_the_weights_does_not_matter(measure, scale, counts):
    assert_allclose(measure(counts * scale), measure(counts), atol=1e-10)


@of_tables
@pytest.mark.parametrize("scale", [1e-290, 1e-3, 7.0, 1e299])
@given(tables)
def test_the_scale_of_a_table_does_not_matter(measure, scale, table):
    assert_allclose(measure(table * scale), measure(table), atol=1e-10)


@of_tables
@given(tables)
def test_a_stack_of_tables_is_measured_table_by_table(measure, table):
    one_by_one = [measure(one) for one in table.reshape(-1, *table.shape[-2:])]

    assert_allclose(measure(table), np.reshape(one_by_one, table.shape[:-2]), atol=1e-14)


@of_one
@given(stacks)
def test_any_axis_may_hold_the_classes(measure, counts):
    assert_allclose(measure(np.moveaxis(counts, -1, 0), axis=0), measure(counts), atol=1e-14)


@of_one
def test_counts_and_lists_give_the_same_result(measure):
    assert measure(Counts(np.array([3.0, 1.0]))) == measure([3, 1])


@of_one
@pytest.mark.parametrize("pure", [[0, 0, 0], [0, 5, 0], [1e-300, 0, 0], [1e308, 0, 0]])
def test_one_class_or_no_weight_has_impurity_0(measure, pure):
    assert_array_equal(measure(pure), 0)
    assert not np.signbit(measure(pure))


@of_tables
@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[0, 3], [0, 0]], [[4, 0], [2, 0]]])
def test_tables_of_one_class_have_impurity_and_gain_0(measure, table):
    assert_array_equal(measure(table), 0)
    assert not np.signbit(measure(table))


def test_rare_cells_do_not_underflow():
    assert_allclose(information_gain([[1e-300, 0], [0, 1]]), 0, atol=1e-290)


def test_divergence_is_infinite_if_the_model_excludes_an_observed_class():
    assert kl_divergence([1, 1], [1, 0]) == np.inf
    assert distribution_cross_entropy([1, 1], [1, 0]) == np.inf
    assert kl_divergence([1, 0], [1, 0]) == 0
    assert distribution_cross_entropy([1, 0], [1, 0]) == 0


@pytest.mark.parametrize("base", [2, 10, np.e])
def test_the_base_divides_by_its_logarithm(base):
    table = [[3, 1], [1, 4]]

    assert_allclose(entropy([3, 1], base=base), entropy([3, 1]) / np.log(base))
    assert_allclose(conditional_entropy(table, base=base), conditional_entropy(table) / np.log(base))
    assert_allclose(information_gain(table, base=base), information_gain(table) / np.log(base))
    assert_allclose(
        distribution_cross_entropy([3, 1], [1, 2], base=base), distribution_cross_entropy([3, 1], [1, 2]) / np.log(base)
    )
    assert_allclose(kl_divergence([3, 1], [1, 2], base=base), kl_divergence([3, 1], [1, 2]) / np.log(base))


@pytest.mark.parametrize("base", [1, 0, -2, 0.5, np.nan, np.inf])
def test_the_base_must_be_greater_than_1(base):
    with pytest.raises(InvalidParameterError, match="base must be a finite number > 1, such as 2 for bits, but is"):
        entropy([1, 1], base=base)


@of_one
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
def test_counts_must_be_finite_and_not_negative(measure, bad):
    with pytest.raises(InvalidDataError, match=f"Counts must be finite and >= 0, but one is {bad}"):
        measure([[1, 2], [bad, 1]])


@of_tables
@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_tables_must_be_finite_and_not_negative(measure, bad):
    with pytest.raises(InvalidDataError, match=f"Counts must be finite and >= 0, but one is {bad}"):
        measure([[1, 2], [bad, 1]])


@of_two
def test_model_and_counts_must_have_the_same_number_of_classes(measure):
    with pytest.raises(InvalidDataError, match="must have the same number of classes, but have 3 and 1"):
        measure([1, 2, 3], [1])
    with pytest.raises(InvalidDataError, match="Counts must be finite and >= 0, but one is -1"):
        measure([1, 2], [1, -1])


@of_one
def test_a_number_is_refused_as_histogram(measure):
    with pytest.raises(InvalidDataError, match=r"Counts must have shape \(..., n_classes\), but have shape \(\)"):
        measure(3.0)


@of_tables
def test_a_histogram_is_refused_as_table(measure):
    with pytest.raises(InvalidDataError, match=r"shape \(..., n_branches, n_classes\), but have shape \(2,\)"):
        measure([1, 2])
