"""Support vector machines against LIBSVM, LIBLINEAR, a general solver, and numbers derived by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.svm import SVC, LinearSVC

from likely import PCA, SVM, LinearKernel, PolynomialKernel, RBFKernel


def three_classes(n=150, seed=11):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return rng.normal(size=(n, 4)) + np.array([[0.0, 1, 0, 0], [1, 0, 1, 0], [-1, 0, 1, 1]])[y], y


def near(A, B):
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2))


def objective(K, z, C, signed, bias):
    """Primal objective at w = Σ α z φ(x) and a bias, with K the Gram matrix."""
    return signed @ K @ signed / 2 + np.sum(C * np.maximum(0, 1 - z * (K @ signed + bias)))


def dual_objective(K, signed):
    return np.abs(signed).sum() - signed @ K @ signed / 2


def signed_of(model, n, row=0):
    signed = np.zeros(n)
    signed[model.support_] = model.dual_coef_[row]
    return signed


KERNELS = {
    "linear": ("linear", {"kernel": "linear"}),
    "polynomial 2": (PolynomialKernel(2), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
    "polynomial 3": (PolynomialKernel(3, 0.5), {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 0.5}),
    "rbf": (RBFKernel(0.3), {"kernel": "rbf", "gamma": 0.3}),
    "sum": (
        RBFKernel(0.3) + 0.5 * LinearKernel(),
        {"kernel": lambda A, B: RBFKernel(0.3)(A, B) + A @ B.T / 2},
    ),
    "product": (RBFKernel(0.1) * LinearKernel(), {"kernel": lambda A, B: RBFKernel(0.1)(A, B) * (A @ B.T)}),
    "function": (near, {"kernel": near}),
    "precomputed": ("precomputed", {"kernel": "precomputed"}),
}


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_objectives_are_those_of_libsvm(name, weighted, C, rng):
    X, y = three_classes()
    y = (y > 0).astype(int)
    X = near(X, X) if name == "precomputed" else X
    weight = rng.uniform(0.2, 3, len(y)) if weighted else None
    kernel, options = KERNELS[name]

    ours = SVM(C, kernel=kernel, tol=1e-8).fit(X, y, sample_weight=weight)
    theirs = SVC(C=C, tol=1e-8, **options).fit(X, y, sample_weight=weight)

    K = X if name == "precomputed" else near(X, X) if name == "function" else ours.kernel_(X)
    z, costs = 2.0 * y - 1, C * (np.ones(len(y)) if weight is None else weight)
    signed = signed_of(theirs, len(y))
    assert_allclose([ours.primal_objective_, ours.dual_objective_], dual_objective(K, signed), rtol=1e-6)
    reached = objective(K, z, costs, signed, theirs.intercept_[0])  # LIBSVM caches kernels in single precision
    assert ours.dual_objective_ <= reached
    assert_allclose(ours.primal_objective_, reached, rtol=1e-3)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=5e-3)


@pytest.mark.parametrize("name", ["linear", "polynomial 2", "polynomial 3", "rbf", "sum", "product"])
def test_pairs_of_classes_are_solved_as_by_libsvm(name):
    X, y = three_classes()
    kernel, options = KERNELS[name]

    ours = SVM(1.0, kernel=kernel, multiclass="ovo", tol=1e-9).fit(X, y)
    theirs = SVC(tol=1e-8, decision_function_shape="ovo", **options).fit(X, y)

    K = ours.kernel_(X, X[ours.support_])
    assert_allclose(K @ ours.dual_coef_.T + ours.intercept_, -theirs.decision_function(X), rtol=1e-3, atol=5e-3)
    assert np.mean(ours.predict(X) != theirs.predict(X)) < 0.02  # ties of votes are broken differently


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_scaled_bias_is_that_of_liblinear(C, scale, solver):
    X, y = three_classes()

    ours = SVM(C, bias_scale=scale, solver=solver, tol=1e-8).fit(X, y)
    theirs = LinearSVC(C=C, loss="hinge", intercept_scaling=scale, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)

    total = 0.0
    for label, coef, bias in zip(range(3), theirs.coef_, theirs.intercept_, strict=True):
        z = np.where(y == label, 1.0, -1.0)
        losses = np.maximum(0, 1 - z * (X @ coef + bias))
        total += (coef @ coef + (bias / scale) ** 2) / 2 + C * losses.sum()
    assert_allclose([ours.primal_objective_, ours.dual_objective_], total, rtol=1e-6)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)


# By hand


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("C", [0.01, 0.05, 0.1, 10.0])
def test_two_points(C, solver):
    """For points a and b at distance D, both α are min(C, 2 / D²), and w = α (b − a)."""
    a, b = np.array([1.0, 1.0]), np.array([3.0, 5.0])
    alpha = min(C, 2 / 20)

    model = SVM(C, solver=solver, tol=1e-10).fit([a, b], ["a", "b"])

    assert_allclose(model.coef_, [alpha * (b - a)], rtol=1e-4)
    assert_allclose(model.dual_objective_, 2 * alpha - alpha**2 * 20 / 2, rtol=1e-8)
    assert_allclose(model.margins_, 1 / (alpha * np.sqrt(20)), rtol=1e-4)
    if C >= 0.1:
        assert_allclose(model.decision_function([a, b]), [-1, 1], atol=1e-4)
        assert_allclose(model.intercept_, -1.6, atol=1e-3)


@pytest.mark.parametrize("C", [np.inf, 10.0])
def test_three_points(C):
    """(0, 0) against (2, 0) and (0, 2): the line x + y = 1 is √½ from all three; w = (1, 1), α = 1, ½ and ½."""
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), [0, 1, 1]

    model = SVM(C, tol=1e-12).fit(X, y)

    assert_allclose(model.coef_, [[1.0, 1.0]], atol=1e-5)
    assert_allclose(model.intercept_, -1, atol=1e-5)
    assert_allclose(model.margins_, np.sqrt(0.5), atol=1e-5)
    assert_allclose(model.multipliers_, [[1.0, 0.5, 0.5]], atol=1e-5)
    assert_allclose([model.primal_objective_, model.dual_objective_], 1.0, rtol=1e-9)
    assert_array_equal(model.support_, [0, 1, 2])


def test_three_points_on_a_line_with_unequal_costs():
    """The rows −1 and 2 are positive, 0 is negative. For α ≤ C the maximum of the dual Σ α − ½ w² is 2 C_0, at w = 0.

    With C_0 = ½ for the row at 0 and 1 for the others, α_0 = ½ = α_1 + α_2 and w = 2 α_2 − α_1 = 0 where α_1 = 1/3 and
    α_2 = 1/6. The objective is 1, as at w = 0 and b = 1, where only the row at 0 has a loss, of twice its cost.
    """
    model = SVM(1.0, tol=1e-10).fit([[-1.0], [0.0], [2.0]], [1, 0, 1], sample_weight=[1.0, 0.5, 1.0])

    assert_allclose([model.primal_objective_, model.dual_objective_], 1.0, rtol=1e-8)
    assert_allclose(model.coef_, 0, atol=1e-4)
    assert_allclose(model.multipliers_, [[1 / 3, 1 / 2, 1 / 6]], atol=1e-4)


@pytest.mark.parametrize("bias_scale", [None, 0.8])
@pytest.mark.parametrize("name", ["linear", "polynomial 2", "rbf"])
def test_the_objective_equals_that_of_a_general_quadratic_solver(name, bias_scale, rng):
    X, y = three_classes(16)
    z, costs = np.where(y > 0, 1.0, -1.0), rng.uniform(0.1, 2, 16)
    model = SVM(1.0, kernel=KERNELS[name][0], bias_scale=bias_scale, tol=1e-10).fit(X, z, sample_weight=costs)
    K = model.kernel_(X) + (0.0 if bias_scale is None else bias_scale**2)
    Q = z[:, None] * K * z

    balance = {"type": "eq", "fun": lambda a: a @ z, "jac": lambda a: z}
    found = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(16),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, cost) for cost in costs],
        constraints=[balance] if bias_scale is None else [],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )

    assert_allclose(model.dual_objective_, -found.fun, rtol=1e-7)
    assert_allclose(np.abs(signed_of(model, 16)), found.x, atol=1e-3)


def test_the_quadratic_kernel_equals_a_linear_machine_on_all_products():
    """Worked example 8: (x'y + 1)² is the dot product of (vec(xx'), √2 x, 1)."""
    X, y = three_classes()
    expanded = np.column_stack(
        [(X[:, :, None] * X[:, None]).reshape(len(X), -1), np.sqrt(2) * X, np.ones(len(X))],
    )

    for options in ({}, {"bias_scale": 0.7}, {"multiclass": "ovo"}):
        by_kernel = SVM(0.5, kernel="polynomial", tol=1e-9, **options).fit(X, y)
        by_features = SVM(0.5, tol=1e-9, **options).fit(expanded, y)
        assert_allclose(by_kernel.primal_objective_, by_features.primal_objective_, rtol=1e-8)
        assert_allclose(by_kernel.decision_function(X), by_features.decision_function(expanded), atol=5e-3)
        assert_allclose(by_kernel.margins_, by_features.margins_, rtol=1e-3)


# MNIST


@pytest.fixture(scope="module")
def threes_and_eights(mnist):
    def some(part, n):
        X, y = mnist[f"x_{part}"], mnist[f"y_{part}"]
        chosen = np.flatnonzero((y == 3) | (y == 8))[:n]
        return X[chosen] / 255.0, y[chosen]

    return *some("train", 2000), *some("test", 1000)


@pytest.mark.parametrize("kernel", [RBFKernel(0.02), "linear", PolynomialKernel(2)], ids=str)
def test_threes_and_eights_are_classified_as_by_libsvm(kernel, threes_and_eights):
    X, y, X_test, y_test = threes_and_eights
    peers = {"linear": {"kernel": "linear"}, RBFKernel(0.02): {"gamma": 0.02}}
    peer = SVC(C=1.0, **peers.get(kernel, {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0})).fit(X, y)

    model = SVM(1.0, kernel=kernel).fit(X, y)

    assert (model.predict(X_test) != peer.predict(X_test)).sum() <= 3
    assert abs((model.predict(X_test) != y_test).sum() - (peer.predict(X_test) != y_test).sum()) <= 3
    assert np.corrcoef(model.decision_function(X_test), peer.decision_function(X_test))[0, 1] > 0.9999


def test_ten_digits_in_fifty_components_have_the_known_error_rates(mnist):
    """1.67 % at C = 1 and 1.32 % at C = 10, of all 60,000 rows with γ = 0.023."""
    X, X_test = mnist["x_train"] / 255.0, mnist["x_test"] / 255.0
    pca = PCA(50).fit(X)
    rows, rows_test = pca.transform(X), pca.transform(X_test)

    path = SVM(kernel=RBFKernel(0.023), multiclass="ovo").path(rows, mnist["y_train"], [1.0, 10.0])

    errors = [100 * np.mean(model.predict(rows_test) != mnist["y_test"]) for model in path]
    assert all(model.converged_ for model in path)
    assert_allclose(errors, [1.67, 1.32], atol=0.1)
