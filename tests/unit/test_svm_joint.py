"""Joint margins: the bounds hold at every step, and the objectives equal those of other solvers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from likely import (
    SVM,
    DegenerateDataError,
    InvalidDataError,
    InvalidParameterError,
    NotConvergedWarning,
    PolynomialKernel,
    PrimalSolver,
    RBFKernel,
    SourceError,
)
from likely.blocks import ArraySource, MappedSource
from likely.models import svm_training
from likely.objectives.svm import joint, path_following
from likely.objectives.svm.joint import _stationary_shares, smoothed_max, solve_joint
from likely.objectives.svm.primal import solve_primal

SHAPES = [(30, 2, 3), (120, 5, 4), (40, 60, 3), (200, 3, 7)]


def rows_of(n, d, K, apart=1.5, seed=0):
    """Rows of K classes around random means."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, d)) + (2 * apart / np.sqrt(d) * rng.normal(size=(K, d)))[y], y


def source_of(X, y, weight=None, block_rows=None):
    return ArraySource(X, y, weight, np.unique(y), block_rows=block_rows)


def solved(X, y, C=1.0, bias_scale=None, tol=1e-8, max_passes=1000, weight=None, block_rows=None, **options):
    costs = np.broadcast_to(np.asarray(C, dtype=float), (len(np.unique(y)),))
    return solve_joint(source_of(X, y, weight, block_rows), costs, bias_scale, tol, max_passes, **options)


def losses(scores, y):
    own = np.arange(len(y)), y
    t = 1 + scores - scores[own][:, None]
    t[own] = 0.0
    return t.max(axis=1)


def objective(X, y, C, coef, intercept, bias_scale=None):
    bias = 0.0 if bias_scale is None else np.square(intercept / bias_scale).sum() / 2
    return np.square(coef).sum() / 2 + bias + float(np.sum(C * losses(X @ coef.T + intercept, y)))


def assert_feasible_dual(found, X, y, C, bias_scale=None, weight=None):
    """Assert that the dual coefficients are feasible and give the reported dual objective."""
    beta, own = found.problem.dual_coefficients(source_of(X, y, weight).all_rows(), found.point), (np.arange(len(y)), y)
    most = C * (np.ones(len(y)) if weight is None else weight)
    others = beta.copy()
    others[own] = 0.0
    assert (others <= 0).all()
    assert (beta[own] <= most * (1 + 1e-12)).all()
    assert_allclose(beta.sum(axis=1), 0, atol=1e-12 * np.max(most))
    w = beta.T @ (X - X.mean(axis=0))
    dual = beta[own].sum() - np.square(w).sum() / 2
    if bias_scale is None:
        # Scores are computed again here. Their rounding error, divided by μ, changes the coefficients by this much.
        assert_allclose(beta.sum(axis=0), 0, atol=1e-6 * np.abs(beta).sum())
    else:
        sums = np.square(beta.T @ X).sum() + np.square(bias_scale * beta.sum(axis=0)).sum()
        dual = beta[own].sum() - sums / 2
    assert_allclose(dual, found.dual, rtol=1e-6)


@pytest.mark.parametrize("bias_scale", [None, 0.5, 10.0])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bounds_meet_at_a_feasible_dual_point(shape, C, bias_scale):
    X, y = rows_of(*shape)
    found = solved(X, y, C, bias_scale)
    assert found.converged
    assert -1e-12 * found.primal <= found.gap <= 1e-8 * found.primal
    assert_allclose(objective(X, y, C, found.coef, found.intercept, bias_scale), found.primal, rtol=1e-9)
    assert_allclose(found.coef.sum(axis=0), 0, atol=1e-4 * np.abs(found.coef).max())
    assert_feasible_dual(found, X, y, C, bias_scale)


@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("passes", [1, 2, 3, 5, 8, 12, 20])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_bounds_hold_wherever_a_solver_is_stopped(C, passes, bias_scale):
    X, y = rows_of(90, 4, 5, apart=0.8)
    best = solved(X, y, C, bias_scale)
    early = solved(X, y, C, bias_scale, max_passes=passes)
    assert early.n_iter <= passes
    assert early.dual <= best.primal * (1 + 1e-12)
    assert early.primal >= best.dual * (1 - 1e-12)
    assert_allclose(objective(X, y, C, early.coef, early.intercept, bias_scale), early.primal, rtol=1e-9)
    assert_feasible_dual(early, X, y, C, bias_scale)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_at_any_point(seed):
    """Also if biases are far from balance, so that shares make the dual coefficients feasible."""
    X, y = rows_of(60, 3, 4, seed=seed)
    rng = np.random.default_rng(seed)
    for bias_scale in (None, 1.0):
        found = solved(X, y, 1.0, bias_scale)
        for scale in (0.1, 1.0, 10.0):
            theta = found.point.theta + scale * rng.normal(size=found.point.theta.shape)
            for mu in (1.0, 1e-2, 1e-4):
                point = found.problem.evaluate(theta, mu)
                assert point.dual <= found.primal
                assert point.primal >= found.dual


@pytest.mark.parametrize(("intercept_scaling", "C"), [(1.0, 0.1), (1.0, 1.0), (3.0, 10.0)])
def test_the_objective_is_that_of_liblinear(intercept_scaling, C):
    X, y = rows_of(150, 4, 4)
    other = LinearSVC(
        C=C,
        multi_class="crammer_singer",
        intercept_scaling=intercept_scaling,
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(X, y)
    theirs = objective(X, y, C, other.coef_, other.intercept_, intercept_scaling)
    found = solved(X, y, C, intercept_scaling, tol=1e-9)
    assert found.dual <= theirs
    assert_allclose(found.primal, theirs, rtol=1e-6)
    assert_allclose(found.coef, other.coef_, atol=1e-3 * np.abs(other.coef_).max())


def test_the_minimum_is_that_of_a_general_optimiser():
    """The same problem as a quadratic program with slack variables and free biases."""
    X, y = rows_of(12, 2, 3, apart=0.8)
    n, K, d = len(y), 3, 2
    found = solved(X, y, 2.0, tol=1e-10)

    def split(v):
        return v[: K * d].reshape(K, d), v[K * d : K * d + K], v[K * d + K :]

    def room(v):
        W, b, slack = split(v)
        f = X @ W.T + b
        t = 1 + f - f[np.arange(n), y][:, None]
        t[np.arange(n), y] = 0
        return (slack[:, None] - t).reshape(-1)

    def cost(v):
        W, _, slack = split(v)
        return np.square(W).sum() / 2 + 2.0 * slack.sum()

    start = np.concatenate([np.zeros(K * d + K), np.full(n, 2.0)])
    constraint = {"type": "ineq", "fun": room}
    best = minimize(cost, start, method="SLSQP", constraints=constraint, options={"maxiter": 1000, "ftol": 1e-13})
    assert_allclose(found.primal, best.fun, rtol=1e-7)


@pytest.mark.parametrize("bias_scale", [None, 2.0])
def test_two_classes_are_the_binary_problem_with_twice_the_costs(bias_scale):
    """With w_1 = −w_0 = w / 2 the penalty is ¼ ‖w‖², so that the objective is half that of the binary problem."""
    X, y = rows_of(80, 3, 2, apart=0.7)
    found = solved(X, y, [0.5, 1.5], bias_scale, tol=1e-10)
    costs, signs = np.array([1.0, 3.0]), np.array([-1.0, 1.0])
    binary = solve_primal(source_of(X, y), signs, costs, bias_scale, 1e-10, 1000)
    assert_allclose(found.primal, binary.primal / 2, rtol=1e-8)
    assert_allclose(found.coef[1] - found.coef[0], binary.coef, atol=1e-4)
    assert_allclose(found.intercept[1] - found.intercept[0], binary.intercept, atol=1e-4)
    assert_allclose(found.coef[0], -found.coef[1], atol=1e-8)


def test_weights_are_repetitions():
    X, y = rows_of(60, 3, 3)
    weight = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    whole = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted, repeated = solved(X, y, 0.3, weight=weight), solved(X[whole], y[whole], 0.3)
    assert_allclose(weighted.primal, repeated.primal, rtol=2e-8)
    assert_allclose(weighted.coef, repeated.coef, atol=1e-3)
    assert_feasible_dual(weighted, X, y, 0.3, weight=weight)


def test_relabelling_relabels_the_scores():
    X, y = rows_of(80, 3, 4)
    order = np.array([2, 0, 3, 1])
    first, second = solved(X, y, tol=1e-10), solved(X, order[y], tol=1e-10)
    assert_allclose(first.primal, second.primal, rtol=1e-9)
    assert_allclose(second.coef[order], first.coef, atol=1e-4)
    assert_allclose(second.intercept[order], first.intercept, atol=1e-4)


@pytest.mark.parametrize("bias_scale", [None, 1.0])
def test_blocks_sparse_rows_and_products_find_the_same(bias_scale, monkeypatch):
    X, y = rows_of(150, 6, 3)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    plain = solved(X, y, 1.0, bias_scale, 1e-7)
    assert_allclose(solved(X, y, 1.0, bias_scale, 1e-7, block_rows=37).primal, plain.primal, rtol=1e-7)
    assert_allclose(solved(csr_array(X), y, 1.0, bias_scale, 1e-7).primal, plain.primal, rtol=1e-7)
    monkeypatch.setattr(joint, "FEW_PARAMETERS", 5)
    monkeypatch.setattr(joint, "MORE_PARAMETERS", 5)
    for rows in (X, csr_array(X)):
        assert_allclose(solved(rows, y, 1.0, bias_scale, 1e-7).primal, plain.primal, rtol=1e-7)
    monkeypatch.setattr(path_following, "MAX_VALUES", 10)
    assert_allclose(solved(X, y, 1.0, bias_scale, 1e-6).primal, plain.primal, rtol=1e-6)


def test_rows_far_from_zero_do_not_matter_to_free_biases():
    X, y = rows_of(90, 3, 3)
    near, far = solved(X, y), solved(X + 1e6, y)
    assert far.converged
    assert_allclose(far.primal, near.primal, rtol=1e-7)


def test_many_rows_start_from_a_subsample(monkeypatch):
    X, y = rows_of(2400, 3, 3, apart=0.7)
    seen = []
    cold = solved(X, y, tol=1e-4)
    monkeypatch.setattr("likely.objectives.linear_rows.SAMPLE_ROWS", 600)
    monkeypatch.setattr("likely.objectives.linear_rows.SAMPLE_VALUES", 600)
    sampled = solved(X, y, tol=1e-4, on_pass=lambda passes, gap: seen.append(gap))
    assert sampled.converged
    assert len(seen) == sampled.n_iter < cold.n_iter
    assert_allclose(sampled.primal, cold.primal, rtol=2e-4)


def test_a_warm_start_at_the_solution_needs_fewer_passes():
    X, y = rows_of(120, 4, 3)
    cold = solved(X, y, tol=1e-6)
    warm = solved(X, y, tol=1e-6, start=(cold.coef, cold.intercept))
    assert warm.n_iter < cold.n_iter
    assert_allclose(warm.primal, cold.primal, rtol=2e-6)


def test_a_class_without_cost_is_refused():
    X, y = rows_of(30, 2, 3)
    with pytest.raises(DegenerateDataError, match="needs rows of every class"):
        solved(X, y, [1.0, 0.0, 1.0])


def test_derivatives_of_the_smoothed_maximum_equal_finite_differences():
    u = 10 * np.random.default_rng(0).normal(size=(50, 4))
    at, change = smoothed_max(u), np.random.default_rng(1).normal(size=(50, 4))
    assert_allclose(at.p.sum(axis=1), 1, rtol=1e-13)
    above, below = smoothed_max(u + 1e-5 * change), smoothed_max(u - 1e-5 * change)
    value = (above.excess + (u + 1e-5 * change).max(axis=1)) - (below.excess + (u - 1e-5 * change).max(axis=1))
    assert_allclose(value / 2e-5, (at.p * change).sum(axis=1), atol=1e-7)
    assert_allclose((above.p - below.p) / 2e-5, at.derivative(change), atol=1e-7)
    assert (at.excess >= 0).all()
    assert (at.excess <= 2 * (np.sqrt(4) - 1)).all()


def test_dual_coefficients_are_balanced_if_hardly_any_row_is_near_a_class():
    X, y = rows_of(30, 2, 3)
    found = solved(X, y)
    few = 3 * np.eye(3) - np.ones((3, 3))
    spread = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]) + 1e-16 * few
    eta_sums = np.array([[-1.1, 1.1, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]) - 1e-12 * few
    sums = replace(found.point.sums, bias_hessian=spread, eta_sums=eta_sums)

    repair = found.problem.repair(sums, found.point.theta)

    assert_allclose(repair.shares @ eta_sums + spread @ repair.shift, 0, atol=1e-15)
    assert repair.shares.max() == 1


def test_stationary_shares_balance_eta_sums():
    rates = np.random.default_rng(0).gamma(0.3, size=(6, 6))
    np.fill_diagonal(rates, 0)
    eta_sums = rates - np.diag(rates.sum(axis=1))
    shares = _stationary_shares(eta_sums)
    assert_allclose(shares @ eta_sums, 0, atol=1e-14 * np.abs(eta_sums).max())
    assert shares.max() == 1
    assert (shares >= 0).all()


def machine(C=1.0, kernel="linear", **options):
    return SVM(C, kernel=kernel, multiclass="joint", **{"tol": 1e-6, **options})


def elsewhere(X, y):
    """A source whose rows are not in memory."""
    return MappedSource(source_of(X, y, block_rows=64), np.asarray, X.shape[1])


def scores_objective(model, X, y, C):
    """The primal objective from scores and margins."""
    bias = 0.0 if model.bias_scale is None else np.square(model.intercept_ / model.bias_scale).sum() / 2
    return (1 / np.square(model.margins_)).sum() / 2 + bias + C * losses(model.decision_function(X), y).sum()


def test_attributes_of_a_linear_machine_are_consistent():
    X, y = rows_of(120, 4, 3)
    names = np.array(["a", "b", "c"])
    model = machine(0.5).fit(X, names[y])
    assert model.converged_
    assert 0 <= model.gap_ <= 1e-6 * model.primal_objective_
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == model.margins_.shape == (3,)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert_allclose(model.support_vectors_, X[model.support_])
    assert_allclose(model.margins_, 1 / np.linalg.norm(model.coef_, axis=1))
    assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    assert_allclose(scores_objective(model, X, y, 0.5), model.primal_objective_, rtol=1e-9)
    assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, atol=0.02)
    assert (model.predict(X) == names[model.decision_function(X).argmax(axis=1)]).all()
    assert len(model.support_) < len(X)


@pytest.mark.parametrize("bias_scale", [None, 2.0])
def test_a_linear_kernel_by_its_matrix_is_the_linear_machine(bias_scale):
    X, y = rows_of(90, 4, 3)
    linear = machine(bias_scale=bias_scale).fit(X, y)
    for kernel in (PolynomialKernel(1, 0), lambda A, B: A @ B.T):
        model = machine(kernel=kernel, bias_scale=bias_scale).fit(X, y)
        assert_allclose(model.primal_objective_, linear.primal_objective_, rtol=2e-6)
        assert_allclose(model.decision_function(X), linear.decision_function(X), atol=0.02)
    given = machine(kernel="precomputed", bias_scale=bias_scale).fit(X @ X.T, y)
    assert_allclose(given.decision_function(X @ X.T), model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", [RBFKernel(0.2), PolynomialKernel(2)], ids=["rbf", "polynomial"])
def test_kernels_have_a_small_gap_that_their_scores_confirm(kernel, C, bias_scale):
    X, y = rows_of(150, 4, 3)
    model = machine(C, kernel, bias_scale=bias_scale, tol=1e-4).fit(X, y)
    assert model.converged_
    assert 0 <= model.gap_ <= 1e-4 * model.primal_objective_
    assert_allclose(scores_objective(model, X, y, C), model.primal_objective_, rtol=1e-6)
    assert len(model.support_) < len(X)
    assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-5 * C)


def test_rows_of_weight_zero_are_left_out_of_a_precomputed_kernel():
    X, y = rows_of(60, 3, 3)
    weight = (np.arange(60) % 5 > 0).astype(float)
    kept = weight > 0
    K = RBFKernel(0.3).fitted(X)
    whole = machine(kernel=K, tol=1e-8).fit(X[kept], y[kept])
    G = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
    given = machine(kernel="precomputed", tol=1e-8).fit(G, y, sample_weight=weight)
    assert kept[given.support_].all()
    assert_allclose(given.decision_function(G), whole.decision_function(X), atol=1e-3)


def test_weights_and_priors_are_costs():
    X, y = rows_of(91, 3, 3)
    share = np.bincount(y) / len(y)
    weighted = machine(0.5, training_prior=[0.5, 0.25, 0.25]).fit(X, y)
    costs = 0.5 * np.array([0.5, 0.25, 0.25]) / share
    assert_allclose(weighted.primal_objective_, solved(X, y, costs).primal, rtol=2e-6)


def test_two_classes_are_one_binary_problem():
    X, y = rows_of(60, 3, 2)
    joint_, rest = machine().fit(X, y), SVM(tol=1e-6).fit(X, y)
    assert_allclose(joint_.coef_, rest.coef_)
    assert joint_.decision_function(X).shape == (60,)
    assert machine(np.inf).fit([[0.0], [2.0]], [0, 1]).coef_.round(6) == 1


@pytest.mark.parametrize("kernel", ["linear", RBFKernel(0.2)], ids=["linear", "rbf"])
def test_models_of_a_path_equal_single_fits(kernel):
    X, y = rows_of(90, 4, 3)
    for model in machine(kernel=kernel).path(X, y, [1.0, 0.01, 10.0]):
        alone = machine(model.C, kernel).fit(X, y)
        assert model.converged_
        assert_allclose(model.primal_objective_, alone.primal_objective_, rtol=2e-6)


def test_a_linear_machine_learns_from_a_source():
    X, y = rows_of(300, 4, 3)
    model = machine().fit(X, y)
    streamed = machine().fit_source(elsewhere(X, y))
    assert not hasattr(streamed, "support_")
    assert_allclose(streamed.primal_objective_, model.primal_objective_, rtol=2e-6)


def test_problems_that_cannot_be_solved_are_refused(monkeypatch):
    X, y = rows_of(30, 2, 3)
    with pytest.raises(InvalidParameterError, match="multiclass='joint' needs a finite C"):
        machine(np.inf).fit(X, y)
    with pytest.raises(InvalidParameterError, match="multiclass='joint' needs a finite C"):
        machine().path(X, y, [1.0, np.inf])
    with pytest.raises(InvalidParameterError, match="has only a primal solver"):
        machine(solver="dual").fit(X, y)
    monkeypatch.setattr(svm_training, "MAX_ROWS", 20)
    with pytest.raises(InvalidDataError, match=r"at most 20 rows, but X has 30.*NystromFeatures"):
        machine(kernel="rbf").fit(X, y)
    with pytest.raises(SourceError, match="NystromFeatures"):
        machine(kernel=RBFKernel(1.0)).fit_source(elsewhere(X, y))


def test_a_stopped_solver_warns_and_keeps_its_bounds():
    X, y = rows_of(120, 4, 3)
    best = machine().fit(X, y)
    for kernel in ("linear", PolynomialKernel(1, 0)):
        with pytest.warns(NotConvergedWarning, match="all classes at once"):
            early = machine(kernel=kernel, solver=PrimalSolver(max_iter=5)).fit(X, y)
        assert not early.converged_
        assert early.dual_objective_ <= best.primal_objective_
        assert_allclose(scores_objective(early, X, y, 1.0), early.primal_objective_, rtol=1e-8)
