"""Numbers computed by hand, and error messages of invalid applications."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likely import Application, InvalidDataError, InvalidParameterError

POSTERIORS = np.log([[0.40, 0.25, 0.35]])
UNIFORM = [1 / 3] * 3


@pytest.mark.parametrize(
    ("costs", "expected", "decision"),
    [
        ([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0.95, 0.75, 1.05], "2"),
        ([[0, 1, 5], [2, 0, 1], [1, 3, 0]], [0.85, 1.45, 2.25], "1"),
    ],
)
def test_three_class_decisions_of_the_worked_example(costs, expected, decision):
    app = Application(UNIFORM, costs)

    assert_allclose(app.expected_costs(POSTERIORS)[0], expected)
    assert_array_equal(app.decide(POSTERIORS, ["1", "2", "3"]), [decision])


@pytest.mark.parametrize(("prior", "cost_fn", "cost_fp"), [(0.5, 1, 1), (0.1, 1, 1), (0.01, 10, 1), (0.3, 1, 9)])
def test_the_effective_prior_equals_the_worked_example(prior, cost_fn, cost_fp):
    app = Application.binary(prior, cost_fn, cost_fp)
    effective = prior * cost_fn / (prior * cost_fn + (1 - prior) * cost_fp)

    assert_allclose(app.effective_prior, effective)
    assert_allclose(app.threshold, -np.log(effective / (1 - effective)))


def test_always_deciding_class_0_costs_the_prior_of_class_1():
    app = Application([0.9, 0.1])

    assert_allclose(app.priors @ app.costs[:, 0], 0.1)


@pytest.mark.parametrize("reject_cost", [0.1, 0.3, 0.5])
def test_with_unit_costs_a_row_is_rejected_if_its_largest_posterior_is_below_one_minus_reject_cost(reject_cost):
    app = Application(UNIFORM, reject_cost=reject_cost)
    posteriors = np.random.default_rng(0).dirichlet(np.ones(3), size=500)

    decisions = app.decide(np.log(posteriors), ["a", "b", "c"])

    rejected = np.array([d is None for d in decisions])
    assert decisions.dtype == object
    assert_array_equal(rejected, posteriors.max(axis=1) < 1 - reject_cost)


def test_costs_are_copied_and_cannot_be_changed():
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    app = Application([0.5, 0.5], costs)
    costs[0, 1] = 99

    assert app.costs[0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        app.costs[0, 1] = 5
    with pytest.raises(AttributeError):
        app.reject_cost = 1


def test_a_class_of_prior_zero_is_never_decided():
    app = Application([0.5, 0.5, 0.0])

    assert_array_equal(app.decide_codes(np.array([[0.0, -1.0, 1e300], [0.0, -1.0, np.inf]])), [0, 0])


def test_repr_shows_priors_and_costs():
    assert repr(Application([0.25, 0.75], reject_cost=0.1)) == (
        "Application(priors=[0.25, 0.75], costs=[[0.0, 1.0], [1.0, 0.0]], reject_cost=0.1)"
    )
    assert repr(Application({"a": 0.25, "b": 0.75})).startswith("Application(priors={'a': 0.25, 'b': 0.75}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Application([0.5, 0.6]), "priors must be >= 0 and sum to 1, but are [0.5, 0.6]"),
        (lambda: Application([1.2, -0.2]), "priors must be >= 0 and sum to 1"),
        (lambda: Application([np.nan, 1]), "priors must be >= 0 and sum to 1"),
        (lambda: Application([1.0]), "a sequence of at least two numbers, but have shape (1,)"),
        (lambda: Application.binary(1.0), "prior must be in the open interval (0, 1), but is 1.0"),
        (lambda: Application([0.5, 0.5], [[0, 1]]), "must have shape (2, 2), one row and column for each prior"),
        (lambda: Application([0.5, 0.5], [[0, np.inf], [1, 0]]), "costs must be finite numbers"),
        (lambda: Application([0.5, 0.5], [[3, 1], [1, 0]]), "A correct decision must not cost more than a wrong one"),
        (lambda: Application([0.5, 0.5], reject_cost=-1), "reject_cost must be a number >= 0 or None, but is -1"),
        (lambda: Application(UNIFORM).threshold, "exist for two classes, but the application has 3"),
        (lambda: Application([0.5, 0.5], np.zeros((2, 2))).threshold, "All mistakes cost 0 in this application"),
    ],
)
def test_an_invalid_application_raises_a_clear_error(make, message):
    with pytest.raises(InvalidParameterError) as error:
        make()

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("app", "scores", "classes", "message"),
    [
        (Application(UNIFORM), np.zeros((1, 2)), ["a", "b"], "priors for 3 classes, but the model has 2: 'a', 'b'"),
        (Application({"a": 0.5, "z": 0.5}), np.zeros((1, 2)), ["a", "b"], "names the class 'z', which is not"),
        (Application.binary(0.5, positive="z"), np.zeros((1, 2)), ["a", "b"], "names the class 'z'"),
        (Application(UNIFORM), np.zeros((1, 2)), ["a", "b", "c"], "shape (n, 3), but got shape (1, 2)"),
        (Application([0.5, 0.5]), [[0.0, np.nan]], ["a", "b"], "A log-likelihood is NaN, first in row 0"),
    ],
)
def test_scores_that_do_not_match_the_application_raise_a_clear_error(app, scores, classes, message):
    with pytest.raises(InvalidDataError) as error:
        app.decide(scores, classes)

    assert message in str(error.value)
