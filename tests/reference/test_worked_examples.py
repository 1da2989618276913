"""Small examples with their numbers, worked by hand in courses of pattern recognition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likely import (
    LDA,
    PCA,
    Application,
    Diagonal,
    FisherClassifier,
    Full,
    Gaussian,
    GaussianClassifier,
    LeastSquaresClassifier,
    LinearRegression,
    NotConvergedWarning,
    Perceptron,
    make_pipeline,
)
from likely.statistics import Moments


def test_heights_of_men_and_women():
    men = Gaussian.from_moments(Moments(1.0, np.array([175.33]), np.array([[52.89]])))
    women = Gaussian.from_moments(Moments(1.0, np.array([161.82]), np.array([[46.89]])))
    at = [[174.0]]

    densities = np.exp(men.log_density(at)[0]), np.exp(women.log_density(at)[0])

    assert_allclose(densities, (0.05395, 0.01198), atol=5e-6)
    assert round(densities[0] / densities[1], 1) == 4.5
    assert_allclose(densities[0] * 0.1 / (densities[1] * 0.9), 1 / 2, atol=0.01)


@pytest.mark.parametrize(("prior", "cost_fn", "cost_fp"), [(0.1, 1, 1), (0.5, 10, 1), (0.9, 1, 3)])
def test_an_application_costs_what_its_effective_prior_costs_once_normalised(prior, cost_fn, cost_fp, rng):
    app = Application.binary(prior, cost_fn, cost_fp)
    plain = Application.binary(app.effective_prior)
    truth = rng.integers(2, size=2000)
    llr = rng.normal(size=2000) + truth

    costs = []
    for one in (app, plain):
        decided = one.decide_codes(llr)
        miss, alarm = (decided[truth == 1] == 0).mean(), (decided[truth == 0] == 1).mean()
        cost = one.priors[1] * one.costs[1, 0] * miss + one.priors[0] * one.costs[0, 1] * alarm
        costs.append(cost / min(one.priors[1] * one.costs[1, 0], one.priors[0] * one.costs[0, 1]))

    assert_allclose(costs[0], costs[1])


def test_the_tied_gaussian_and_the_discriminant_have_the_same_direction(rng):
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    model = GaussianClassifier(tied=True).fit(X, y)
    direction = np.linalg.solve(model.covariances_[0], model.means_[1] - model.means_[0])

    discriminant = LDA().fit(X, y).components_[0]

    assert_allclose(model.llr_surface().b, direction)
    assert_allclose(discriminant / np.linalg.norm(discriminant), direction / np.linalg.norm(direction))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_after_the_discriminant_the_tied_gaussian_decides_as_before_it(n_classes, rng):
    y = rng.integers(n_classes, size=600)
    X = rng.normal(size=(600, 8)) @ rng.normal(size=(8, 8)) + rng.normal(size=(n_classes, 8))[y] * 2
    Z = PCA(6).fit_transform(X)

    before = GaussianClassifier(tied=True).fit(Z, y)
    after = make_pipeline(LDA(), GaussianClassifier(tied=True)).fit(Z, y)
    diagonal = make_pipeline(LDA(), GaussianClassifier("diagonal", tied=True)).fit(Z, y)

    assert_allclose(after.predict_log_proba(Z), before.predict_log_proba(Z), atol=1e-8)
    assert_allclose(diagonal.predict_log_proba(Z), before.predict_log_proba(Z), atol=1e-8)


@pytest.mark.parametrize("reject_cost", [0.05, 0.2, 0.4])
def test_a_row_is_rejected_when_its_largest_posterior_is_below_one_less_the_reject_cost(reject_cost, rng):
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 1)) + y[:, None]
    model = GaussianClassifier(priors=[0.5, 0.5]).fit(X, y)

    decided = model.decide(X, Application([0.5, 0.5], reject_cost=reject_cost))

    sure = model.predict_proba(X).max(axis=1) >= 1 - reject_cost
    assert_array_equal([d is not None for d in decided], sure)


def test_maximum_likelihood_divides_by_n_and_the_unbiased_variances_by_what_is_left(rng):
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], [5, 10, 15])
    S = sum(((X[y == k] - X[y == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(3))

    assert_allclose(Gaussian().fit(X).covariance_, np.cov(X, rowvar=False, ddof=0))
    assert_allclose(Gaussian(Full(unbiased=True)).fit(X).covariance_, np.cov(X, rowvar=False, ddof=1))
    assert_allclose(GaussianClassifier("diagonal", tied=True).fit(X, y).covariances_[0], S / 30)
    assert_allclose(GaussianClassifier(Diagonal(unbiased=True), tied=True).fit(X, y).covariances_[0], S / 27)


def test_fisher_on_its_line_decides_and_gives_evidence_as_the_tied_gaussian_does(rng):
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5)) + y[:, None]

    fisher, tied = FisherClassifier().fit(X, y), GaussianClassifier(tied=True).fit(X, y)

    assert_allclose(fisher.llr(X), tied.llr(X), atol=1e-9)
    direction, b = fisher.directions_[0], tied.llr_surface().b
    assert_allclose(direction / np.linalg.norm(direction), b / np.linalg.norm(b))


def test_outputs_of_least_squares_sum_to_one_and_may_be_negative(rng):
    y = rng.integers(4, size=400)
    X = rng.normal(size=(400, 3)) + 2 * rng.normal(size=(4, 3))[y]

    outputs = LeastSquaresClassifier().fit(X, y).decision_function(X)

    assert_allclose(outputs.sum(axis=1), 1)
    assert outputs.min() < 0
    assert outputs.max() > 1


def test_least_squares_with_targets_of_inverse_frequency_has_fishers_direction(rng):
    y = np.repeat([0, 1], [70, 230])
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    targets = np.where(y == 0, 300 / 70, -300 / 230)

    w = LinearRegression().fit(X, targets).coef_

    for direction in (-FisherClassifier().fit(X, y).directions_[0], LeastSquaresClassifier().fit(X, y).coef_[0]):
        assert_allclose(w / np.linalg.norm(w), direction / np.linalg.norm(direction))


def test_a_line_through_three_points():
    model = LinearRegression().fit([[1], [2], [6]], [2, 3, 4])

    assert_allclose(model.intercept_, 27 / 14)
    assert_allclose(model.coef_, [5 / 14])


def test_the_perceptron_separates_what_can_be_separated_within_the_bound():
    """Logical and: w* = (2, 2, −3) has margins of at least 1, ‖w*‖² = 17 and max‖x‖² = 3, so at most 51 updates."""
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 0, 1])
    rows, star = np.column_stack([X, np.ones(4)]), np.array([2, 2, -3])
    margins = np.where(y == 1, 1, -1) * (rows @ star)

    model = Perceptron(keep="last").fit(X, y)

    assert model.converged_
    assert_array_equal(model.predict(X), y)
    assert (rows**2).sum(axis=1).max() * (star @ star) / margins.min() ** 2 == 51
    assert model.n_updates_ == 18
    assert_array_equal([*model.coef_[0], *model.intercept_], [3, 2, -4])


def test_the_perceptron_says_that_exclusive_or_did_not_converge():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    model = Perceptron(keep="last", max_iter=50)

    with pytest.warns(NotConvergedWarning, match="did not converge in 50 epochs and 200 updates"):
        model.fit(X, y)

    assert not model.converged_
    assert (model.mistakes_ > 0).all()
