"""The linear SVM in the primal: the bounds hold at every pass, and the objectives equal those of other solvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import SVC, LinearSVC

from likely import SVM, InvalidDataError, MissingValuesError
from likely.blocks import ArraySource
from likely.objectives import linear_rows
from likely.objectives.svm import path_following, primal
from likely.objectives.svm.path_following import MarginSetting
from likely.objectives.svm.primal import solve_primal
from likely.objectives.svm.smoothed_hinge import dual_coefficients

SIGNS = np.array([-1.0, 1.0])
SHAPES = [(20, 2), (100, 5), (300, 30), (30, 60)]


def rows_of(n, d, apart, kind="plain", seed=0):
    """Rows of two classes whose means differ by 2 · apart in the first column."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 7 == 0).astype(int) if kind == "unbalanced" else np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * (2 * y - 1)
    if kind == "units":
        X *= 10.0 ** (3 * (np.arange(d) % 2))
    elif kind == "far":
        X += 1e6
    elif kind == "ties":
        X = np.round(X)
    return X, y


def source_of(X, y, weight=None, block_rows=None):
    return ArraySource(X, y, weight, np.unique(y), block_rows=block_rows)


def solved(X, y, C=1.0, bias_scale=None, tol=1e-8, max_passes=1000, weight=None, block_rows=None, **options):
    source = source_of(X, y, weight, block_rows)
    return solve_primal(source, SIGNS, np.full(2, float(C)), bias_scale, tol, max_passes, **options)


def objective(X, y, C, coef, intercept, bias_scale=None):
    losses = np.maximum(0, 1 - (2 * y - 1) * (X @ coef + intercept))
    bias = (intercept / bias_scale) ** 2 / 2 if bias_scale else 0.0
    return coef @ coef / 2 + bias + float(np.sum(C * losses))


def assert_feasible_dual(found, X, y, C, bias_scale=None, weight=None):
    """Assert that the dual coefficients are feasible and give the reported dual objective."""
    block, z = source_of(X, y, weight).all_rows(), 2.0 * y - 1
    alpha = found.problem.dual_coefficients(block, found.point)
    most = C * (np.ones(len(y)) if weight is None else weight)
    assert (alpha >= 0).all()
    assert (alpha <= most * (1 + 1e-12)).all()
    w = (alpha * z) @ (X - X.mean(axis=0))
    dual = alpha.sum() - w @ w / 2
    if bias_scale is None:
        assert abs(alpha @ z) <= 1e-6 * alpha.sum()
    else:
        w = (alpha * z) @ X
        dual = alpha.sum() - w @ w / 2 - (bias_scale * (alpha @ z)) ** 2 / 2
    assert_allclose(dual, found.dual, rtol=1e-7)


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("apart", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bounds_meet_for_overlapping_and_separable_classes(shape, apart, C):
    X, y = rows_of(*shape, apart)
    for bias_scale in (None, 1.0):
        found = solved(X, y, C, bias_scale)
        assert found.converged
        assert -1e-12 * found.primal <= found.gap <= 1e-8 * found.primal
        assert_allclose(objective(X, y, C, found.coef, found.intercept, bias_scale), found.primal, rtol=1e-9)


@pytest.mark.parametrize("kind", ["units", "far", "unbalanced", "ties"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_units_origins_proportions_and_ties_do_not_matter(kind, C):
    for shape in SHAPES:
        X, y = rows_of(*shape, 1.0, kind)
        found = solved(X, y, C)
        assert found.converged
        assert_allclose(objective(X, y, C, found.coef, found.intercept), found.primal, rtol=1e-6)


@pytest.mark.parametrize("apart", [0.5, 2.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_a_free_bias_agrees_with_libsvm(apart, C):
    X, y = rows_of(150, 4, apart)
    found = solved(X, y, C)
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    theirs = np.abs(peer.dual_coef_).sum() - np.sum(peer.coef_**2) / 2
    assert_allclose([found.primal, found.dual], theirs, rtol=1e-6)
    assert found.dual <= objective(X, y, C, peer.coef_[0], peer.intercept_[0]) * (1 + 1e-9)
    assert_allclose(found.coef, peer.coef_[0], atol=1e-3 * np.abs(peer.coef_).max())


@pytest.mark.parametrize("bias_scale", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_regularised_bias_agrees_with_liblinear(bias_scale, C):
    X, y = rows_of(150, 4, 0.7)
    found = solved(X + 0.5, y, C, bias_scale)
    peer = LinearSVC(loss="hinge", C=C, intercept_scaling=bias_scale, tol=1e-8, max_iter=10**6).fit(X + 0.5, y)
    theirs = objective(X + 0.5, y, C, peer.coef_[0], peer.intercept_[0], bias_scale)
    assert_allclose(found.primal, theirs, rtol=1e-6)
    assert found.dual <= theirs * (1 + 1e-9)


def test_agrees_with_a_general_solver_of_the_dual():
    X, y = rows_of(12, 3, 0.5)
    z = 2.0 * y - 1
    K = (z[:, None] * X) @ (z[:, None] * X).T
    peer = minimize(
        lambda a: a @ K @ a / 2 - a.sum(),
        np.full(12, 0.1),
        jac=lambda a: K @ a - 1,
        bounds=[(0, 0.7)] * 12,
        constraints={"type": "eq", "fun": lambda a: a @ z, "jac": lambda a: z},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert_allclose(solved(X, y, 0.7).dual, -peer.fun, rtol=1e-7)


def test_two_rows_have_the_maximum_margin_between_them():
    found = solved(np.array([[1.0, 1.0], [3.0, 5.0]]), np.array([0, 1]), C=100.0)
    assert_allclose(found.coef, np.array([2.0, 4.0]) / 10, rtol=1e-6)  # 2 (b − a) / ‖b − a‖²
    assert_allclose(found.intercept, -1.6, rtol=1e-6)
    assert_allclose(found.primal, 0.1, rtol=1e-7)


@pytest.mark.parametrize("bias_scale", [None, 2.0, 0])
@pytest.mark.parametrize("max_passes", [1, 2, 3, 5, 8])
def test_bounds_hold_wherever_the_solver_is_stopped(max_passes, bias_scale):
    for shape in SHAPES:
        for kind in ("plain", "unbalanced"):
            X, y = rows_of(*shape, 0.6, kind)
            least = solved(X, y, 1.0, bias_scale)
            found = solved(X, y, 1.0, bias_scale, max_passes=max_passes)
            assert found.n_iter <= max_passes
            assert not found.converged
            assert found.dual <= least.primal
            assert found.primal >= least.dual
            assert_feasible_dual(found, X, y, 1.0, bias_scale)


@pytest.mark.parametrize("bias_scale", [None, 3.0])
def test_dual_coefficients_give_the_reported_dual_objective(bias_scale):
    for kind in ("plain", "far", "unbalanced"):
        if kind == "far" and bias_scale is not None:
            continue  # rounding errors of Σ α z x are large for such rows
        X, y = rows_of(100, 5, 0.6, kind)
        weight = np.random.default_rng(1).uniform(0.5, 2, size=100)
        found = solved(X, y, 2.0, bias_scale, weight=weight)
        assert found.converged
        assert_feasible_dual(found, X, y, 2.0, bias_scale, weight)


def test_dual_coefficients_do_not_depend_on_the_centre():
    X, y = rows_of(60, 3, 0.6)
    found, block = solved(X, y, tol=1e-4), source_of(X, y).all_rows()
    theta, setting = np.append(found.coef, found.intercept), MarginSetting(SIGNS, np.ones(2), np.zeros(3))
    plain = dual_coefficients(block, theta, found.point.mu, setting, found.point.repair)
    assert_allclose(plain, found.problem.dual_coefficients(block, found.point), atol=1e-8)
    sparse = source_of(csr_array(X), y).all_rows()
    assert_allclose(found.problem.dual_coefficients(sparse, found.point), plain, atol=1e-8)


def test_weights_are_repetitions():
    X, y = rows_of(40, 3, 0.5)
    times = np.random.default_rng(2).integers(1, 4, size=40)
    weighted = solved(X, y, weight=times.astype(float))
    repeated = solved(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.primal, repeated.primal, rtol=1e-7)
    assert_allclose(weighted.coef, repeated.coef, atol=1e-4)


def test_costs_per_class_agree_with_libsvm():
    X, y = rows_of(80, 3, 0.5)
    costs = np.array([0.3, 2.0])
    found = solve_primal(source_of(X, y), SIGNS, costs, None, 1e-8, 1000)
    peer = SVC(kernel="linear", C=1.0, class_weight={0: 0.3, 1: 2.0}, tol=1e-6).fit(X, y)
    assert_allclose(found.primal, objective(X, y, costs[y], peer.coef_[0], peer.intercept_[0]), rtol=1e-6)


@pytest.mark.parametrize("block_rows", [1, 7, 50, 1000])
def test_division_into_blocks_does_not_matter(block_rows):
    X, y = rows_of(120, 4, 0.5)
    whole, cut = solved(X, y), solved(X, y, block_rows=block_rows)
    assert_allclose(cut.primal, whole.primal, rtol=2e-8)
    assert_allclose(cut.coef, whole.coef, atol=1e-4)


@pytest.mark.parametrize("bias_scale", [None, 1.0, 0])
def test_sparse_rows_are_like_dense_ones(bias_scale):
    X, y = rows_of(120, 6, 0.5, "ties")
    dense, sparse = solved(X, y, 1.0, bias_scale), solved(csr_array(X), y, 1.0, bias_scale)
    assert sparse.converged
    assert_allclose(sparse.primal, dense.primal, rtol=2e-8)


@pytest.mark.parametrize("bias_scale", [None, 1.0, 0])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_hessian_products_and_formed_hessians_give_the_same_minimum(form, bias_scale, monkeypatch):
    X, y = rows_of(150, 20, 0.5)
    formed = solved(X, y, 0.1, bias_scale, tol=1e-5)
    monkeypatch.setattr(primal, "FEW_PARAMETERS", 10)
    multiplied = solved(form(X), y, 0.1, bias_scale, tol=1e-5)
    assert multiplied.converged
    assert_allclose(multiplied.primal, formed.primal, rtol=2e-5)


@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_few_wide_rows_are_solved_within_their_span(form, bias_scale):
    X, y = rows_of(40, 2500, 2.0)
    found = solved(form(X), y, 0.01, bias_scale)
    assert found.converged
    assert_allclose(objective(X, y, 0.01, found.coef, found.intercept, bias_scale), found.primal, rtol=1e-9)
    assert_feasible_dual(found, X, y, 0.01, bias_scale)


def test_rows_of_sign_zero_take_no_part():
    X, y = rows_of(120, 4, 0.5)
    three = np.where(np.arange(120) % 5 == 0, 2, y)
    signs, costs = np.array([-1.0, 1.0, 0.0]), np.ones(3)
    left_out = solve_primal(source_of(X, three), signs, costs, None, 1e-8, 1000)
    without = solved(X[three < 2], y[three < 2])
    assert_allclose(left_out.primal, without.primal, rtol=2e-8)
    alpha = left_out.problem.dual_coefficients(source_of(X, three).all_rows(), left_out.point)
    assert (alpha[three == 2] == 0).all()


@pytest.mark.parametrize(("signs", "intercept"), [([1.0, 1.0], 1.0), ([-1.0, 0.0], -1.0), ([0.0, 0.0], 0.0)])
def test_rows_of_one_sign_need_only_a_bias(signs, intercept):
    X, y = rows_of(20, 2, 1.0)
    found = solve_primal(source_of(X, y), np.array(signs), np.ones(2), None, 1e-8, 100)
    assert found.converged
    assert (found.primal, found.dual, found.intercept) == (0.0, 0.0, intercept)
    assert not found.coef.any()


def test_a_penalised_bias_and_a_constant_column_share_the_penalty():
    X, y = rows_of(60, 3, 0.5, "unbalanced")
    X[:, 2] = 5.0
    found = solved(X, y, 1.0, 1.0)
    peer = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y)
    assert_allclose(found.primal, objective(X, y, 1.0, peer.coef_[0], peer.intercept_[0], 1.0), rtol=1e-6)
    assert_allclose(found.coef[2], 5 * found.intercept, rtol=1e-3)


def test_many_rows_start_from_a_sample():
    X, y = rows_of(140_000, 5, 0.7)
    passes = []
    found = solved(X, y, tol=1e-4, block_rows=10_000, on_pass=lambda n, gap: passes.append((n, gap)))
    afresh = solved(X, y, tol=1e-4, block_rows=10_000, start=(np.zeros(5), 0.0))
    assert found.converged
    assert_allclose(found.primal, afresh.primal, rtol=2e-4)
    assert [n for n, _ in passes] == list(range(1, found.n_iter + 1))
    assert_allclose(min(gap for _, gap in passes), found.gap / found.primal)
    assert found.n_iter < afresh.n_iter


def test_a_warm_start_leads_to_the_same_minimum():
    X, y = rows_of(100, 5, 0.6, "far")
    first = solved(X, y, 1.0)
    assert_allclose(solved(X, y, 2.0, start=(first.coef, first.intercept)).primal, solved(X, y, 2.0).primal, rtol=2e-8)


def test_the_same_rows_give_the_same_bits():
    X, y = rows_of(200, 5, 0.6)
    one, other = solved(X, y, block_rows=30), solved(X, y, block_rows=30)
    assert (one.coef == other.coef).all()
    assert (one.intercept, one.primal, one.dual) == (other.intercept, other.primal, other.dual)


def test_an_unreachable_tolerance_is_not_claimed():
    X, y = rows_of(100, 5, 0.6)
    found = solved(X, y, tol=1e-16, max_passes=10_000)
    assert not found.converged
    assert found.n_iter < 300
    assert 0 < found.gap < 1e-9 * found.primal


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (np.nan, MissingValuesError, "NaN in row 33, column 1"),
        (np.inf, InvalidDataError, r"infinity \(inf\) in row 33, column 1"),
        (1e200, InvalidDataError, "column 1 reach 1e\\+200, too large to be squared"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_that_are_not_finite_are_refused(form, value, error, expected):
    X, y = rows_of(60, 3, 0.6)
    X[33, 1] = value
    with pytest.raises(error, match=expected):
        solved(form(X), y, block_rows=20)


def test_products_from_copied_rows_equal_those_by_passes(monkeypatch):
    X, y = rows_of(150, 20, 0.5)
    monkeypatch.setattr(primal, "FEW_PARAMETERS", 10)
    kept = solved(X, y, 0.1, tol=1e-5, block_rows=40)
    monkeypatch.setattr(path_following, "MAX_VALUES", 100)
    passed = solved(X, y, 0.1, tol=1e-5, block_rows=40)
    assert kept.converged
    assert passed.converged
    assert_allclose(kept.primal, passed.primal, rtol=2e-5)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_a_rare_class_does_not_prevent_convergence_from_a_subsample(C, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20_000, 10)), np.zeros(20_000, dtype=int)
    y[rng.choice(20_000, 10, replace=False)] = 1
    X[y == 1] += 1.5
    cold = solved(X, y, C, tol=1e-4)

    monkeypatch.setattr(linear_rows, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(linear_rows, "SAMPLE_VALUES", 400)
    sampled = solved(X, y, C, tol=1e-4)

    assert cold.converged
    assert sampled.converged
    assert_allclose(sampled.primal, cold.primal, rtol=1e-4)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_the_support_of_a_plane_from_the_primal_is_that_of_the_dual(C, bias_scale, kind):
    X, y = rows_of(2500, 6, 1.5)
    weight = np.random.default_rng(3).integers(1, 4, 2500).astype(float) if kind == "weighted" else None
    rows = csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if kind == "sparse" else X
    options = {"C": C, "bias_scale": bias_scale}

    model = SVM(**options, solver="primal").fit(rows, y, sample_weight=weight)
    dual = SVM(**options, solver="dual", tol=1e-6).fit(rows, y, sample_weight=weight)

    bound = C * (1.0 if weight is None else weight[model.support_])
    free = (model.multipliers_[0] > 0) & (model.multipliers_[0] < bound * (1 - 1e-9))
    assert abs(len(model.support_) - len(dual.support_)) <= 0.02 * len(dual.support_)
    assert free.sum() <= 3 * 7 + 5
    assert_allclose(
        (model.dual_coef_ @ model.support_vectors_)[0], model.coef_[0], atol=1e-6 * np.abs(model.coef_).max()
    )
    assert bias_scale is not None or abs(model.dual_coef_.sum()) <= 1e-9 * model.multipliers_.sum()
    penalty = (model.coef_[0] @ model.coef_[0] + (bias_scale is not None) * model.intercept_[0] ** 2) / 2
    assert_allclose(model.dual_objective_, model.multipliers_.sum() - penalty, rtol=1e-6)
