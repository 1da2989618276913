"""SVM without a bias (bias_scale=0): objectives against independent solvers, and all strategies and solvers."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array, random_array, vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import likely
from likely import SVM, ArraySource, InvalidParameterError, LinearKernel, NotSeparableError, PolynomialKernel, RBFKernel
from likely.objectives.svm.coordinate_descent import is_wide

SOLVERS = ["dual", "primal"]


def data(n=80, d=3, k=2, seed=0, shift=1.0):
    """Overlapping classes whose mean is not the origin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, d)) + shift * rng.normal(size=(k, d))[y] + 0.5, y


def objective(X, y, C, w, weight=None):
    z = np.where(y == y.max(), 1.0, -1.0)
    losses = np.maximum(0, 1 - z * (X @ w))
    return w @ w / 2 + C * (losses.sum() if weight is None else weight @ losses)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_is_that_of_liblinear_without_intercept(solver, C):
    X, y = data()
    model = SVM(C, bias_scale=0, solver=solver, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)

    assert_allclose(model.primal_objective_, objective(X, y, C, peer.coef_[0]), rtol=1e-6)
    assert_allclose(model.primal_objective_, objective(X, y, C, model.coef_[0]), rtol=1e-9)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-2, atol=1e-3)
    assert_array_equal(model.intercept_, [0.0])
    assert_array_equal(model.decision_function(np.zeros((1, 3))), [0.0])


@pytest.mark.parametrize("kernel", ["linear", RBFKernel(0.3), PolynomialKernel(2)], ids=["linear", "rbf", "quadratic"])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_the_dual_is_that_of_a_general_solver_without_the_equality_constraint(kernel, C):
    X, y = data(24)
    model = SVM(C, kernel=kernel, bias_scale=0, solver="dual", tol=1e-9).fit(X, y)
    z = 2.0 * y - 1
    Q = model.kernel_(X) * np.outer(z, z)
    found = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.full(24, C / 2),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * 24,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 100_000},
    )
    scores = (found.x * z) @ model.kernel_(X)

    assert_allclose(model.dual_objective_, -found.fun, rtol=1e-6)
    assert_allclose(model.primal_objective_, -found.fun, rtol=1e-6)
    assert_allclose(model.decision_function(X), scores, atol=1e-3 * np.abs(scores).max())
    assert_array_equal(model.intercept_, [0.0])


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("weighted", [False, True])
def test_primal_and_dual_agree_for_several_classes_and_weights(scheme, weighted, rng):
    X, y = data(150, 4, 3)
    weight = rng.uniform(0.2, 2.0, len(y)) if weighted else None
    dual, primal = (
        SVM(0.7, bias_scale=0, multiclass=scheme, solver=solver, tol=1e-8).fit(X, y, sample_weight=weight)
        for solver in SOLVERS
    )

    assert_allclose(primal.primal_objective_, dual.primal_objective_, rtol=1e-7)
    assert_allclose(primal.coef_, dual.coef_, rtol=1e-3, atol=1e-4)
    for model in (dual, primal):
        assert model.converged_
        assert_array_equal(model.intercept_, np.zeros(len(model.coef_)))
        assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=1e-3, atol=1e-4)


def test_each_class_against_the_rest_is_the_binary_problem():
    X, y = data(90, 3, 3)
    model = SVM(bias_scale=0, tol=1e-8).fit(X, y)

    total = sum(SVM(bias_scale=0, tol=1e-8).fit(X, y == k).primal_objective_ for k in range(3))
    assert_allclose(model.primal_objective_, total, rtol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_far_from_the_origin_and_mirrored_rows(solver):
    X, y = data(60)
    # A row x of one side is the same as −x of the other side, because there is no bias.
    z = np.where(y == 1, 1.0, -1.0)
    flip = np.arange(60) % 2 == 0
    mirrored, sides = np.where(flip[:, None], -X, X), np.where(flip, -z, z)
    plain = SVM(bias_scale=0, solver=solver, tol=1e-8).fit(X, z)

    assert_allclose(SVM(bias_scale=0, solver=solver, tol=1e-8).fit(mirrored, sides).coef_, plain.coef_, atol=1e-4)
    far = SVM(bias_scale=0, solver=solver, tol=1e-6).fit(X + 100.0, z)
    assert_allclose(objective(X + 100.0, z, 1.0, far.coef_[0]), far.primal_objective_, rtol=1e-6)


def test_no_bias_is_the_limit_of_a_small_scale():
    X, y = data()
    none, small = (SVM(kernel="rbf", bias_scale=scale, tol=1e-9).fit(X, y) for scale in (0, 1e-6))

    assert_allclose(none.decision_function(X), small.decision_function(X), atol=1e-4)


def test_coordinate_descent_over_sparse_rows_equals_the_primal():
    rng = np.random.default_rng(0)
    full = random_array((2499, 2100), density=0.004, rng=rng, format="csr")
    X = csr_array(vstack([csr_array((1, 2100)), full]))  # with an empty row
    assert is_wide(LinearKernel(), X)
    y = rng.integers(0, 2, 2500)
    model = SVM(0.5, bias_scale=0, solver="dual", tol=1e-6).fit(X, y)

    assert model.converged_
    assert_array_equal(model.intercept_, [0.0])
    assert_allclose(model.primal_objective_, objective(X, y, 0.5, model.coef_[0]), rtol=1e-6)
    primal = SVM(0.5, bias_scale=0, solver="primal", tol=1e-6).fit(X, y)
    assert_allclose(primal.primal_objective_, model.primal_objective_, rtol=3e-6)


def test_few_wide_rows_and_hessian_products_find_the_same_plane():
    X, y = data(30, 700)
    dual, primal = (SVM(0.01, bias_scale=0, solver=solver, tol=1e-8).fit(X, y) for solver in SOLVERS)

    assert_allclose(primal.primal_objective_, dual.primal_objective_, rtol=1e-7)
    assert_allclose(primal.coef_, dual.coef_, atol=1e-6)


def test_a_source_a_path_and_a_file_give_the_same_plane(tmp_path):
    X, y = data(300)
    model = SVM(bias_scale=0.0, solver="primal", tol=1e-8).fit(X, y)
    source = ArraySource(X, y, classes=np.array([0, 1]), block_rows=41)
    likely.save(model, tmp_path / "svm.likely")

    assert_allclose(SVM(bias_scale=0, tol=1e-8).fit_source(source).coef_, model.coef_, atol=1e-5)
    path = SVM(bias_scale=0, tol=1e-8).path(X, y, [0.1, 1.0])
    assert_allclose(path[1].primal_objective_, model.primal_objective_, rtol=1e-7)
    assert_array_equal(likely.load(tmp_path / "svm.likely").decision_function(X), model.decision_function(X))


def test_a_hard_margin_through_the_origin():
    # Both sides are at distance 1 from the line x0 = 0.
    model = SVM(np.inf, bias_scale=0, tol=1e-9).fit([[1.0, 3.0], [2.0, 0.0], [-1.0, 3.0], [-4.0, 0.0]], [1, 1, 0, 0])

    assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-6)
    assert_array_equal(model.intercept_, [0.0])


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 5.0]], [1, 1, 0]),
        ([[1.0, 1.0], [2.0, 2.0]], [0, 1]),  # separable, but not by a line through the origin
        ([[0.0, 0.0], [2.0, 2.0]], [0, 1]),
        ([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [9.0, 3.0]], [1, 1, 1, 0]),
    ],
)
def test_classes_that_no_plane_through_the_origin_separates_are_refused_with_a_proof(X, y, kernel):
    X = np.array(X)
    with pytest.raises(NotSeparableError, match="the origin is a convex combination of row") as caught:
        SVM(np.inf, bias_scale=0, kernel=kernel).fit(X if kernel == "linear" else X @ X.T, y)
    proof = caught.value.certificate

    assert_allclose((proof.weights * np.where(np.array(y) == 1, 1, -1)[proof.rows]) @ X[proof.rows], 0, atol=1e-8)
    assert proof.weights.sum() == pytest.approx(1)
    assert (proof.weights > 0).all()


def test_a_joint_margin_needs_biases():
    X, y = data(60, 3, 3)

    with pytest.raises(InvalidParameterError, match="multiclass='joint' needs biases, but bias_scale is 0"):
        SVM(bias_scale=0, multiclass="joint").fit(X, y)
    two = SVM(bias_scale=0, multiclass="joint").fit(X, y > 0)  # two classes are an ordinary problem
    assert_array_equal(two.intercept_, [0.0])
