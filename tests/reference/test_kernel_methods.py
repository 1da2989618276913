"""Kernel PCA, Nyström features and kernel logistic regression against scikit-learn and SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import linear_model
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.kernel_approximation import Nystroem

from likely import KernelLogisticRegression, KernelPCA, LinearKernel, NystromFeatures, PolynomialKernel, RBFKernel

KERNELS = [
    (LinearKernel(), {"kernel": "linear"}),
    (PolynomialKernel(3, 0.5), {"kernel": "poly", "degree": 3, "coef0": 0.5, "gamma": 1}),
    (RBFKernel(0.2), {"kernel": "rbf", "gamma": 0.2}),
]
everyone = pytest.mark.parametrize(("kernel", "theirs"), KERNELS, ids=lambda value: str(value))


@pytest.fixture
def data(rng):
    y = rng.integers(3, size=150)
    return rng.normal(size=(150, 5)) + rng.normal(size=(3, 5))[y], y


@everyone
@pytest.mark.parametrize("n_components", [1, 4])
def test_components_are_scikit_learn_s_up_to_sign(kernel, theirs, n_components, data):
    X, new = data[0][:100], data[0][100:]
    reference = TheirKernelPCA(n_components, **theirs).fit(X)

    ours = KernelPCA(n_components, kernel=kernel).fit(X)

    assert_allclose(ours.eigenvalues_, reference.eigenvalues_)
    for rows in (X, new):
        expected = reference.transform(rows)
        assert_allclose(np.abs(ours.transform(rows)), np.abs(expected), atol=1e-8 * np.abs(expected).max())


@everyone
def test_a_matrix_in_place_of_rows_gives_scikit_learn_s_components_up_to_sign(kernel, theirs, data):
    X, new = data[0][:100], data[0][100:]
    K, K_new = kernel(X), kernel(new, X)
    reference = TheirKernelPCA(3, kernel="precomputed").fit(K)

    ours = KernelPCA(3, kernel="precomputed").fit(K)

    expected = reference.transform(K_new)
    assert_allclose(np.abs(ours.transform(K_new)), np.abs(expected), atol=1e-8 * np.abs(expected).max())


@everyone
@pytest.mark.parametrize("n_landmarks", [4, 30])
def test_the_approximate_matrix_is_scikit_learn_s_for_the_same_landmarks(kernel, theirs, n_landmarks, data):
    X = data[0]
    reference = Nystroem(n_components=n_landmarks, random_state=0, **_renamed(theirs)).fit(X)
    Z, expected = reference.components_, reference.transform(X)

    phi = NystromFeatures(kernel=kernel, landmarks=Z).fit(X).transform(X)

    matrix = expected @ expected.T
    assert phi.shape == (150, n_landmarks)
    assert_allclose(phi @ phi.T, matrix, atol=1e-6 * np.abs(matrix).max())


def _renamed(options):
    return options if options["kernel"] != "linear" else {"kernel": "linear"}


@everyone
@pytest.mark.parametrize("strength", [1.0, 1e-2])
def test_log_odds_are_scikit_learn_s_in_the_space_of_all_rows(kernel, theirs, strength, data):
    X, y = data
    phi = NystromFeatures(150, kernel=kernel).fit_transform(X)
    reference = linear_model.LogisticRegression(C=1 / (strength * 150), tol=1e-10, max_iter=10_000).fit(phi, y)

    ours = KernelLogisticRegression(strength, kernel=kernel, tol=1e-13).fit(X, y)

    assert_allclose(ours.predict_log_proba(X), reference.predict_log_proba(phi), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_minimum_is_the_one_that_scipy_finds_in_the_multipliers(n_classes, data):
    X, y = data[0][:40], data[1][:40] % n_classes
    K, T, lam = RBFKernel(0.2)(X), np.eye(n_classes)[y], 0.03

    def objective(parameters):
        beta, b = parameters[:-n_classes].reshape(n_classes, 40), parameters[-n_classes:]
        logits = K @ beta.T + b
        P = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        loss = -(T * np.log(P)).sum() / 40
        residuals = (P - T) / 40
        gradient = np.append((residuals.T @ K + lam * beta @ K).ravel(), residuals.sum(axis=0))
        return loss + lam / 2 * np.einsum("kn,nm,km->", beta, K, beta), gradient

    found = minimize(objective, np.zeros(n_classes * 41), jac=True, options={"gtol": 1e-9, "maxiter": 20_000})

    # Two classes with a weight vector each share the difference that one vector makes alone, at half the penalty.
    strength = lam / 2 if n_classes == 2 else lam
    ours = KernelLogisticRegression(strength, kernel=RBFKernel(0.2), tol=1e-13).fit(X, y)
    assert ours.objective_ == pytest.approx(found.fun, rel=1e-7)
