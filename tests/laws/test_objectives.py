"""Laws of the losses, their gradients and Hessians, and Newton's method."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize
from scipy.special import expit, log_softmax

from likely.blocks import Block
from likely.calibration.logistic_map import _binary, _multiclass
from likely.objectives import logistic_loss, newton, softmax_loss
from likely.statistics.objective import Objective


@pytest.mark.parametrize(("of", "n_parameters"), [(_binary, 4), (_multiclass, 5)])
def test_gradients_and_hessians_of_the_objectives_equal_finite_differences(of, n_parameters, rng):
    # _binary has three systems and an offset, _multiclass two systems and three offsets.
    n_classes = 2 if of is _binary else 3
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=40)])
    block = Block(rng.normal(size=(len(codes), 3 if of is _binary else 6)), codes, rng.uniform(0.5, 2, len(codes)))
    priors = rng.dirichlet(np.ones(n_classes))
    targets = np.eye(n_classes) * 0.9 + 0.1 / n_classes
    arguments = priors / np.bincount(codes), priors, targets
    theta = rng.normal(size=n_parameters)

    found = of(block, theta, *arguments)

    assert (
        check_grad(lambda t: of(block, t, *arguments).value, lambda t: of(block, t, *arguments).gradient, theta) < 1e-5
    )
    steps = 1e-5 * np.eye(n_parameters)
    slopes = [
        (of(block, theta + s, *arguments).gradient - of(block, theta - s, *arguments).gradient) / 2e-5 for s in steps
    ]
    curvature = found.hessian.copy()
    if of is _multiclass:  # the Hessian may have added curvature along the common shift of the offsets
        shift = np.concatenate([np.zeros(2), np.ones(3)])
        added = curvature - np.array(slopes)
        curvature -= np.outer(shift, shift) * (shift @ added @ shift) / 9
    assert_allclose(curvature, slopes, atol=1e-6)
    assert_allclose(found.hessian, found.hessian.T)


@pytest.mark.parametrize("target", [0.0, 1.0, 0.3])
def test_binary_losses_are_cross_entropies_with_their_derivatives(target, rng):
    logit = np.array([-800, -30, -2, 0, 0.5, 40, 800.0])
    loss, slope, curvature = logistic_loss(logit, np.full(7, target))

    assert_allclose(loss, np.logaddexp(0, logit) - target * logit, atol=1e-12)
    assert_allclose(slope, (1 - target) * expit(logit) - target * expit(-logit), rtol=1e-12)
    assert_allclose(curvature, expit(logit) * expit(-logit), rtol=1e-12)


@pytest.mark.parametrize("hardness", [0.0, 0.5, 1.0])
def test_multiclass_losses_are_cross_entropies_with_their_derivatives(hardness, rng):
    logits, codes = rng.normal(size=(50, 4)) * 100, rng.integers(4, size=50)
    targets = hardness * np.eye(4) + (1 - hardness) * rng.dirichlet(np.ones(4), 4)
    wanted, logs = targets[codes], log_softmax(logits, axis=1)

    losses, residuals, posteriors = softmax_loss(logits.copy(), targets, codes)

    assert_allclose(losses, -(wanted * logs).sum(axis=1), rtol=1e-12, atol=1e-12)
    assert_allclose(posteriors, np.exp(logs), rtol=1e-9)
    assert_allclose(residuals, np.exp(logs) - wanted, atol=1e-12)


def test_the_residual_of_a_row_with_posterior_near_1_is_precise():
    logits = np.array([[50.0, 0.0, -3.0]])

    _, residuals, _ = softmax_loss(logits, np.eye(3), np.array([0]))

    others = np.exp([-50.0, -53.0])
    assert_allclose(residuals[0], [-others.sum(), *others], rtol=1e-12)


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (1, 1), (3, 2), (3, 3), (8, 4), (8, 5)])
def test_newton_finds_the_minimum_of_any_quadratic_at_once(n, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) + 2 * np.eye(n)
    A, b = root @ root.T, rng.normal(size=n)

    found = newton(lambda x: Objective(0.5 * x @ A @ x - b @ x, A @ x - b, A), np.zeros(n))

    assert found.converged
    assert found.n_iter <= 2
    assert_allclose(found.parameters, np.linalg.solve(A, b), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("value", "slope", "curvature"),
    [
        (lambda x: math.exp(-x), lambda x: -math.exp(-x), lambda x: math.exp(-x)),
        (lambda x: np.logaddexp(0, -x), lambda x: -expit(-x), lambda x: expit(x) * expit(-x)),
        (lambda x: -x, lambda x: -1.0, lambda x: 1e-3),
    ],
)
def test_newton_does_not_converge_if_there_is_no_minimum(value, slope, curvature):
    def evaluate(x):
        return Objective(float(value(x[0])), np.array([slope(x[0])]), np.array([[curvature(x[0])]]))

    assert not newton(evaluate, np.zeros(1)).converged


@pytest.mark.parametrize("seed", range(5))
def test_newton_finds_the_minimum_of_any_logistic_regression(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(60, 3)) * [1, 5, 0.2], np.ones(60)])
    y = (rng.random(60) < expit(X @ rng.normal(size=4))).astype(float)

    def evaluate(theta):
        loss, residual, slope = logistic_loss(X @ theta, y)
        curvature = (X.T * slope) @ X / 60 + 1e-3 * np.eye(4)
        return Objective(loss.mean() + 5e-4 * theta @ theta, X.T @ residual / 60 + 1e-3 * theta, curvature)

    found = newton(evaluate, np.full(4, 3.0))
    best = minimize(lambda t: evaluate(t).value, np.zeros(4), jac=lambda t: evaluate(t).gradient, tol=1e-12)

    assert found.converged
    assert_allclose(found.parameters, best.x, atol=1e-5)
    assert np.abs(found.objective.gradient).max() < 1e-7
