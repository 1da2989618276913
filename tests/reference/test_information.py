"""Small examples of entropy and information with their numbers, worked by hand in courses of pattern recognition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likely.statistics import (
    Counts,
    conditional_entropy,
    conditional_gini,
    distribution_cross_entropy,
    entropy,
    information_gain,
    kl_divergence,
)

A = [[21, 5], [8, 30]]
B = [[18, 33], [11, 2]]


def test_the_entropy_of_29_rows_against_35_is_that_of_the_course():
    assert round(float(entropy([29, 35], base=2)), 3) == 0.994


@pytest.mark.parametrize(("table", "gain", "impurity"), [(A, 0.266, 0.324), (B, 0.121, 0.417)])
def test_the_two_splits_of_the_course_gain_what_they_must(table, gain, impurity):
    assert round(float(information_gain(table, base=2)), 3) == gain
    assert round(float(conditional_gini(table)), 3) == impurity


def test_the_better_split_of_the_course_leaves_the_entropy_it_must():
    assert round(float(conditional_entropy(A, base=2)), 3) == 0.728


def test_both_splits_are_judged_at_once_in_a_stack():
    assert_allclose(information_gain([A, B], base=2), [0.266, 0.121], atol=5e-4)


def test_cross_entropy_is_entropy_and_divergence_by_hand():
    """Bits of P = (1/2, 1/4, 1/4) and Q = (1/4, 1/4, 1/2): H(P) = 3/2, KL = 1/2 · 1 − 1/4 · 1 = 1/4."""
    P, Q = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]

    assert_allclose(entropy(P, base=2), 1.5)
    assert_allclose(kl_divergence(P, Q, base=2), 0.25)
    assert_allclose(distribution_cross_entropy(P, Q, base=2), 1.75)


def test_the_mean_negative_log_likelihood_of_labels_is_their_cross_entropy(rng):
    labels = rng.integers(3, size=200)
    believed = np.array([0.2, 0.5, 0.3])

    assert_allclose(distribution_cross_entropy(Counts.of(labels, 3), believed), -np.log(believed[labels]).mean())


@pytest.mark.parametrize(("model", "bits"), [([0.6, 0.6, 0.6, 0.4], 3.53), ([0.8, 0.8, 0.7, 0.25], 3.57)])
def test_the_negative_log_likelihood_of_four_labels_is_the_sum_of_their_cross_entropies(model, bits):
    labels = np.array([1, 0, 1, 0])
    believed = np.column_stack([1 - np.array(model), model])

    assert round(float(distribution_cross_entropy(np.eye(2)[labels], believed, base=2).sum()), 2) == bits
