"""Closed-form linear models against scikit-learn, NumPy and SciPy."""

import numpy as np
import pytest
import sklearn.linear_model as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import linregress, t
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from likely import FisherClassifier, LeastSquaresClassifier, LinearRegression


@pytest.fixture
def diabetes():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y, np.random.default_rng(0).integers(1, 4, len(y)).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_ordinary_regression_is_scikit_learns(diabetes, weighted):
    X, y, w = diabetes
    w = w if weighted else None

    ours, peer = LinearRegression().fit(X, y, w), peers.LinearRegression().fit(X, y, w)

    assert_allclose(ours.coef_, peer.coef_, rtol=1e-8)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-8)
    assert_allclose(ours.score(X, y, w), peer.score(X, y, w))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("regularization", [1e-6, 0.1, 100])
def test_ridge_is_scikit_learns_with_a_penalty_times_the_rows(diabetes, weighted, regularization):
    X, y, w = diabetes
    total = w.sum() if weighted else len(y)
    w, Y = (w if weighted else None), np.column_stack([y, X[:, 0] ** 2])

    ours = LinearRegression(regularization).fit(X, Y, w)
    peer = peers.Ridge(alpha=regularization * total, solver="cholesky").fit(X, Y, w)

    assert_allclose(ours.coef_, peer.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-7)


def test_numpy_solves_the_same_least_squares(diabetes):
    X, y, _ = diabetes
    solution, squares, _, _ = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y)

    ours = LinearRegression().fit(X, y)

    assert_allclose([*ours.coef_, ours.intercept_], solution, rtol=1e-7)
    assert_allclose(ours.residual_variance_, squares[0] / len(y))
    assert_allclose(ours.unbiased_residual_variance_, squares[0] / (len(y) - 11))
    assert ours.degrees_of_freedom_ == len(y) - 11


@pytest.mark.parametrize("case", ["duplicate", "constant", "few rows"])
def test_the_smallest_of_equally_good_coefficients_are_taken_in_units_of_spread(case, rng):
    X = rng.normal(size=(4 if case == "few rows" else 60, 6)) * [1, 10, 1, 1, 0.1, 1] + 5
    if case == "duplicate":
        X[:, 3] = -2 * X[:, 1]
    if case == "constant":
        X[:, 3] = 5.0
    y = rng.normal(size=len(X))
    spread = np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1)
    Z = (X - X.mean(axis=0)) / spread

    with pytest.warns(match="rank"):
        ours = LinearRegression().fit(X, y)

    smallest = np.linalg.pinv(Z, rcond=1e-10) @ (y - y.mean())
    assert_allclose(ours.coef_ * spread, smallest, atol=1e-8)
    assert_allclose(ours.predict(X), Z @ smallest + y.mean(), atol=1e-8)


def test_a_line_has_scipys_standard_errors_and_intervals(rng):
    x = rng.normal(size=30) * 3 + 10
    y = 2 * x - 1 + rng.normal(size=30)
    line = linregress(x, y)

    ours = LinearRegression().fit(x[:, None], y)

    assert_allclose([ours.coef_[0], ours.intercept_], [line.slope, line.intercept])
    assert_allclose(ours.coef_standard_errors(), [line.stderr])
    quantile = t.ppf(0.995, 28)
    assert_allclose(ours.coef_intervals(0.99)[0], line.slope + quantile * line.stderr * np.array([-1, 1]))
    at_origin = ours.predict_interval([[0.0]], 0.99)[0]
    assert_allclose(at_origin, line.intercept + quantile * line.intercept_stderr * np.array([-1, 1]))


def test_covariances_and_intervals_are_the_textbooks(rng):
    X, w = rng.normal(size=(40, 3)) + 2, rng.integers(1, 4, 40).astype(float)
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(40, 2))
    A = np.column_stack([np.ones(40), X])
    inverse = np.linalg.inv((A * w[:, None]).T @ A)
    solution = inverse @ (A * w[:, None]).T @ Y
    variance = w @ (Y - A @ solution) ** 2 / (w.sum() - 4)

    ours = LinearRegression().fit(X, Y, sample_weight=w)

    assert_allclose(ours.unbiased_residual_variance_, variance)
    assert_allclose(ours.coef_covariance(), variance[:, None, None] * inverse[1:, 1:])
    assert_allclose(ours.coef_standard_errors(), np.sqrt(variance[:, None] * np.diag(inverse)[1:]))
    leverage = np.einsum("ni,ij,nj->n", A, inverse, A)
    for of, extra in (("mean", 0), ("observation", 1)):
        half = t.ppf(0.975, w.sum() - 4) * np.sqrt(np.outer(leverage + extra, variance))
        ends = ours.predict_interval(X, of=of)
        assert_allclose(ends, np.stack([A @ solution - half, A @ solution + half], axis=-1))


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("regularization", [0, 0.05])
def test_least_squares_classifies_as_scikit_learns_ridge(load, regularization):
    X, y = load(return_X_y=True)

    ours = LeastSquaresClassifier(regularization).fit(X, y)
    peer = peers.RidgeClassifier(alpha=regularization * len(y), solver="cholesky").fit(X, y)

    assert_allclose(2 * ours.decision_function(X) - 1, peer.decision_function(X), atol=1e-8)
    assert_array_equal(ours.predict(X), peer.predict(X))


def test_least_squares_of_two_classes_scores_as_scikit_learns_ridge():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]

    ours, peer = LeastSquaresClassifier().fit(X, y), peers.RidgeClassifier(alpha=0).fit(X, y)

    assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_fisher_has_scikit_learns_directions_and_posteriors(load):
    X, y = load(return_X_y=True)

    ours = FisherClassifier().fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)

    cosine = np.sum(ours.directions_ * peer.scalings_.T[:2], axis=1)
    cosine /= np.linalg.norm(ours.directions_, axis=1) * np.linalg.norm(peer.scalings_.T[:2], axis=1)
    assert_allclose(np.abs(cosine), 1)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert_allclose(ours.means_, peer.means_)
    assert_allclose(ours.training_priors_, peer.priors_)
