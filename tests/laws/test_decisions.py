"""Laws of decisions that hold for every application."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from likely import Application

FINITE = st.floats(-800, 800)
PRIOR = st.floats(0.001, 0.999)
COST = st.floats(0.01, 100)


def random_application(rng, n_classes, reject_cost=None):
    costs = rng.uniform(0.1, 5, (n_classes, n_classes))
    np.fill_diagonal(costs, rng.uniform(0, 0.1, n_classes))
    return Application(rng.dirichlet(np.ones(n_classes)), costs, reject_cost=reject_cost)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("reject_cost", [None, 0.3])
def test_decisions_have_the_lowest_expected_cost(n_classes, reject_cost, rng):
    app = random_application(rng, n_classes, reject_cost)
    scores = rng.normal(size=(500, n_classes)) * 3
    expected = app.expected_costs(scores)

    chosen = app.decide_codes(scores)

    least = expected.min(axis=1)
    if reject_cost is not None:
        assert_array_equal(chosen == -1, reject_cost < least)
        assert (chosen == -1).any()
    kept = chosen >= 0
    assert_allclose(expected[kept, chosen[kept]], least[kept])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_decisions_beat_every_constant_decision(n_classes, rng):
    app = random_application(rng, n_classes)
    truth = rng.choice(n_classes, size=20_000, p=app.priors)
    means = rng.normal(size=n_classes)
    x = rng.normal(size=20_000) + means[truth]
    scores = -0.5 * (x[:, None] - means) ** 2

    paid = app.costs[truth, app.decide_codes(scores)].mean()

    assert paid <= app.costs[truth].mean(axis=0).min() + 0.02


@given(st.lists(FINITE, min_size=1, max_size=20), PRIOR, COST, COST)
def test_the_effective_prior_gives_the_same_decisions(llrs, prior, cost_fn, cost_fp):
    app = Application.binary(prior, cost_fn, cost_fp)
    plain = Application.binary(app.effective_prior)
    clear = np.array([llr for llr in llrs if abs(llr - app.threshold) > 1e-6])

    assert_array_equal(app.decide_codes(clear), plain.decide_codes(clear))
    assert_allclose(app.prior_log_odds, np.log(app.effective_prior) - np.log1p(-app.effective_prior), atol=1e-9)


@given(PRIOR, COST, COST)
def test_an_llr_equal_to_the_threshold_accepts(prior, cost_fn, cost_fp):
    app = Application.binary(prior, cost_fn, cost_fp)

    below = np.nextafter(app.threshold, -np.inf)
    assert_array_equal(app.decide_codes(np.array([app.threshold, below])), [1, 0])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_on_a_tie_the_last_class_wins(n_classes):
    app = Application(np.full(n_classes, 1 / n_classes))

    assert app.decide_codes(np.zeros((1, n_classes)))[0] == n_classes - 1


def test_rejecting_loses_ties():
    app = Application([0.5, 0.5], reject_cost=0.5)

    assert app.decide_codes(np.array([0.0]))[0] == 1


@settings(deadline=None)
@given(st.lists(st.tuples(FINITE, FINITE, FINITE), min_size=1, max_size=10), FINITE)
def test_a_constant_added_to_a_row_changes_nothing(rows, constant):
    app = Application([0.2, 0.5, 0.3], [[0, 1, 5], [2, 0, 1], [1, 3, 0]])
    scores = np.round(np.array(rows))

    assert_array_equal(app.decide_codes(scores), app.decide_codes(scores + np.round(constant)))
    assert_allclose(app.posteriors(scores).sum(axis=1), 1)


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_named_priors_and_costs_follow_the_class_order_of_the_model(order):
    named = Application({"a": 0.2, "b": 0.5, "c": 0.3}, [[0, 1, 5], [2, 0, 1], [1, 3, 0]])
    scores = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=50))
    columns = ["abc".index(label) for label in order]

    assert_array_equal(named.decide(scores[:, columns], order), named.decide(scores, ["a", "b", "c"]))


def test_a_named_positive_class_is_the_target_at_any_position():
    app = Application.binary(0.1, cost_fn=20, positive="a")
    llr_of_a = np.array([-2.0, -0.5, 0.0, 3.0])
    first = np.column_stack([llr_of_a, np.zeros(4)])

    assert_array_equal(app.decide(first, ["a", "b"]), app.decide(first[:, ::-1], ["b", "a"]))


@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1))
def test_infinite_scores_are_decided_without_nan(rows):
    scores = np.nan_to_num(np.array(rows), nan=0.0, posinf=np.inf, neginf=-np.inf)
    app = Application.binary(0.3)

    assert set(app.decide_codes(scores)) <= {0, 1}
    assert not np.isnan(app.log_posteriors(scores)).any()


def test_scores_of_any_size_are_decided():
    app = Application.binary(0.5, cost_fn=np.exp(-50))

    assert_array_equal(app.decide_codes(np.array([45.0, 60.0])), [0, 1])
