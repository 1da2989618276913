"""Logistic regression against scikit-learn, a hand-written IRLS, published estimates and worked examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Peer

from likely import (
    GaussianClassifier,
    LogisticRegression,
    QuadraticFeatures,
    make_pipeline,
)
from likely.datasets import load_tumours

SPECTOR = """2.66 20 0 0;2.89 22 0 0;3.28 24 0 0;2.92 12 0 0;4.00 21 0 1;2.86 17 0 0;2.76 17 0 0;2.87 21 0 0;
3.03 25 0 0;3.92 29 0 1;2.63 20 0 0;3.32 23 0 0;3.57 23 0 0;3.26 25 0 1;3.53 26 0 0;2.74 19 0 0;
2.75 25 0 0;2.83 19 0 0;3.12 23 1 0;3.16 25 1 1;2.06 22 1 0;3.62 28 1 1;2.89 14 1 0;3.51 26 1 0;
3.54 24 1 1;2.83 27 1 1;3.39 17 1 1;2.67 24 1 0;3.65 21 1 1;4.00 23 1 1;3.10 21 1 0;2.39 19 1 1"""


def test_the_published_estimates_of_spector_and_mazzeo_come_out():
    """Effect of a teaching method on grades: 32 students, grade point average, test score, and whether taught by it.

    Data of Spector and Mazzeo, Journal of Economic Education 11 (1980); logit −13.021, 2.826, 0.095, 2.379 with log
    likelihood −12.8896 as printed in Greene, Econometric Analysis; more digits by statsmodels 0.15.
    """
    table = np.array([row.split() for row in SPECTOR.split(";")], dtype=float)

    fitted = LogisticRegression(tol=1e-13).fit(table[:, :3], table[:, 3])

    assert_allclose(fitted.coef_[0].round(3), [2.826, 0.095, 2.379])
    assert_allclose(fitted.intercept_[0], -13.021347, atol=1e-5)
    assert_allclose(fitted.coef_[0], [2.826113, 0.095158, 2.378688], atol=1e-6)
    assert_allclose(-32 * fitted.objective_, -12.889634222131415, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
def test_maximum_likelihood_is_that_of_iteratively_reweighted_least_squares(solver, rng):
    """Every Newton step is a least squares fit of z = Xθ + (y − P) / R with weights R = P (1 − P)."""
    X = rng.normal(size=(300, 3))
    y = (rng.random(300) < expit(X @ [1.0, -2, 0.5] + 0.3)).astype(int)
    rows, theta = np.column_stack([X, np.ones(300)]), np.zeros(4)
    for _ in range(30):
        P = expit(rows @ theta)
        root = np.sqrt(P * (1 - P))
        target = rows @ theta + (y - P) / (P * (1 - P))
        theta = np.linalg.lstsq(rows * root[:, None], target * root, rcond=None)[0]

    fitted = LogisticRegression(solver=solver, tol=1e-13).fit(X, y)

    assert_allclose([*fitted.coef_[0], *fitted.intercept_], theta, rtol=1e-6)


def test_one_newton_step_from_even_odds_is_the_first_of_reweighted_least_squares(rng):
    """At P = ½ the weights are all ¼: the step is an ordinary least squares fit of 4 (y − ½)."""
    X = rng.normal(size=(200, 3))
    y = np.arange(200) % 2
    X[:, 0] += 0.3 * y
    rows = np.column_stack([X, np.ones(200)])

    with pytest.warns(UserWarning, match="stopped after 1 step"):
        fitted = LogisticRegression(solver="newton", max_iter=1, tol=1e-15).fit(X, y)

    step = np.linalg.lstsq(rows, 4 * (y - 0.5), rcond=None)[0]
    assert_allclose([*fitted.coef_[0], *fitted.intercept_], step, rtol=1e-8)


DATA = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "digits": load_digits(return_X_y=True),
    "tumours": (load_tumours().X, np.unique(load_tumours().y, return_inverse=True)[1]),
}


def mean_loss(W, b, X, y):
    z = X @ W.T + b
    z = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
    return -log_softmax(z, axis=1)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("strength", [1.0, 1e-2])
@pytest.mark.parametrize("solver", ["auto", "l-bfgs"])
def test_the_square_penalty_agrees_with_scikit_learn(name, strength, solver):
    """C = 1 / (n λ), since its losses are summed and ours averaged; columns standardised for its sake."""
    X, y = DATA[name]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 0.1)

    # newton-cg is the one of its solvers that takes many classes and ends as near its minimum as asked.
    peer = Peer(C=1 / (len(y) * strength), solver="newton-cg", tol=1e-10, max_iter=1000).fit(X, y)
    fitted = LogisticRegression(strength, solver=solver, tol=1e-13).fit(X, y)

    theirs = mean_loss(peer.coef_, peer.intercept_, X, y) + strength / 2 * np.sum(peer.coef_**2)
    assert_allclose(fitted.objective_, theirs, rtol=1e-8)
    assert_allclose(fitted.coef_, peer.coef_, atol=1e-5)
    assert_allclose(fitted.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "strength"),
    [("iris", 0.1), ("iris", 0.01), ("wine", 0.1), ("wine", 0.01), ("digits", 0.1), ("tumours", 0.1)],
)
def test_the_absolute_penalty_agrees_with_scikit_learn(name, strength):
    X, y = DATA[name]
    X, y = X[:300], y[:300]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 0.1)

    peer = Peer(C=1 / (len(y) * strength), l1_ratio=1, solver="saga", tol=1e-9, max_iter=20_000).fit(X, y)
    fitted = LogisticRegression(strength, penalty="l1", tol=1e-10).fit(X, y)

    theirs = mean_loss(peer.coef_, peer.intercept_, X, y) + strength * np.abs(peer.coef_).sum()
    assert fitted.objective_ <= theirs * (1 + 1e-8)
    assert_allclose(fitted.objective_, theirs, rtol=1e-6)
    assert_allclose(fitted.predict_proba(X), peer.predict_proba(X), atol=2e-3)


def test_the_absolute_penalty_agrees_with_liblinear():
    """liblinear penalises the intercept, as a weight of a column so large here that its penalty vanishes."""
    X, y = DATA["tumours"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    peer = Peer(C=1 / (569 * 0.01), l1_ratio=1, solver="liblinear", tol=1e-8, max_iter=10_000, intercept_scaling=100)
    peer.fit(X, y)
    fitted = LogisticRegression(0.01, penalty="l1", tol=1e-11).fit(X, y)

    theirs = mean_loss(peer.coef_, peer.intercept_, X, y) + 0.01 * np.abs(peer.coef_).sum()
    assert fitted.objective_ <= theirs * (1 + 1e-9)
    assert_allclose(fitted.objective_, theirs, rtol=1e-6)
    assert ((fitted.coef_ == 0) == (np.abs(peer.coef_) < 1e-8)).all()


def test_points_of_a_ring_are_told_apart_best_by_quadratic_boundaries(rng):
    """Radius ¾ to 1 ¼, angle 0 to π / 2, label whether outside the circle of radius 1: boundaries, not densities."""
    radius, angle = rng.uniform(0.75, 1.25, 20_000), rng.uniform(0, np.pi / 2, 20_000)
    X, y = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), radius > 1

    linear = LogisticRegression().fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:])
    naive = GaussianClassifier("diagonal").fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:])
    chain = make_pipeline(QuadraticFeatures(), LogisticRegression(1e-8))
    quadratic = chain.fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:])

    assert_allclose([linear, naive], [0.82, 0.90], atol=0.02)
    assert quadratic > 0.995
