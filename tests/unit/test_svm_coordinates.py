"""Linear support vector machines on sparse rows with many columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array

from likely import SVM, DualSolver, InvalidDataError, NotConvergedWarning, NotSeparableError
from likely.objectives.svm import coordinate_descent

both_biases = pytest.mark.parametrize("bias_scale", [None, 1.0, 0.1, 0])


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Use coordinate descent for few rows and columns too."""
    monkeypatch.setattr(coordinate_descent, "MANY_ROWS", 5)
    monkeypatch.setattr(coordinate_descent, "MANY_COLUMNS", 5)


def texts(n=300, d=40, n_classes=2, seed=0):
    """Word counts with rates that depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    rates = rng.gamma(0.3, size=(n_classes, d)) * 0.4 + 0.2
    return csr_array(rng.poisson(rates[y]).astype(float)), y


def objectives(model, X, y, C, bias_scale):
    """Primal and dual objective of two classes, from the attributes of the model."""
    z, w, b = np.where(y == 1, 1.0, -1.0), model.coef_[0], model.intercept_[0]
    penalty = (w @ w + ((b / bias_scale) ** 2 if bias_scale else 0)) / 2
    return penalty + (C * np.maximum(0, 1 - z * (X @ w + b))).sum(), np.abs(model.dual_coef_).sum() - penalty


@both_biases
@pytest.mark.parametrize("C", [1e-3, 0.03, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_coefficients_are_certified_and_equal_those_of_dense_rows(bias_scale, C, weighted):
    X, y = texts()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None

    model = SVM(C, bias_scale=bias_scale, solver=DualSolver(max_iter=50_000), tol=1e-6)
    model.fit(X, y, sample_weight=weight)
    dense = SVM(C, bias_scale=bias_scale, solver="dual", tol=1e-6).fit(X.toarray(), y, sample_weight=weight)

    costs = np.full(len(y), C) * (1 if weight is None else weight)
    assert model.converged_
    assert model.n_iter_ != dense.n_iter_
    assert_allclose([model.primal_objective_, model.dual_objective_], dense.primal_objective_, rtol=2e-6)
    assert_allclose(
        objectives(model, X, y, costs, bias_scale), [model.primal_objective_, model.dual_objective_], rtol=1e-9
    )
    assert (model.multipliers_[0] <= costs[model.support_] * (1 + 1e-12)).all()
    assert bias_scale is not None or abs(model.dual_coef_.sum()) <= 1e-9 * model.multipliers_.sum()
    assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, atol=1e-10)


@both_biases
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_several_problems_in_threads_give_the_solutions_of_dense_rows(bias_scale, scheme):
    X, y = texts(400, n_classes=4)

    model = SVM(0.1, bias_scale=bias_scale, multiclass=scheme, tol=1e-5).fit(X, y)
    again = SVM(0.1, bias_scale=bias_scale, multiclass=scheme, tol=1e-5).fit(X, y)
    dense = SVM(0.1, bias_scale=bias_scale, multiclass=scheme, solver="dual", tol=1e-5).fit(X.toarray(), y)

    assert_allclose(model.primal_objective_, dense.primal_objective_, rtol=2e-5)
    assert_array_equal(model.coef_, again.coef_)
    assert np.mean(model.predict(X) == dense.predict(X.toarray())) > 0.98


def test_a_path_starts_each_cost_from_the_one_before():
    X, y = texts()

    path = SVM(tol=1e-5).path(X, y, [1.0, 0.01, 0.1])

    for model in path:
        assert model.converged_
        assert_allclose(model.primal_objective_, SVM(model.C, tol=1e-5).fit(X, y).primal_objective_, rtol=2e-5)


def test_the_primal_continues_if_passes_do_not_suffice():
    X, y = texts(200, 150)

    with pytest.warns(NotConvergedWarning, match=r"SVM stopped after 5 steps .* raise max_iter"):
        cut = SVM(10.0, solver=DualSolver(max_iter=5), tol=1e-9).fit(X, y)
    auto = SVM(10.0, tol=1e-9).fit(X, y)

    assert auto.converged_
    assert cut.dual_objective_ <= auto.primal_objective_ <= cut.primal_objective_ * (1 + 1e-9)


@both_biases
def test_working_sets_continue_if_coordinate_descent_converges_slowly(bias_scale):
    X, y = texts(300, 40)
    X = csr_array(X.toarray() * 10.0 ** (np.arange(40) % 4))

    model = SVM(1.0, bias_scale=bias_scale, solver="dual").fit(X, y)
    with pytest.warns(NotConvergedWarning, match="SVM stopped after 1000 steps"):
        cut = SVM(1.0, bias_scale=bias_scale, solver=DualSolver(max_iter=1000)).fit(X, y)

    assert model.converged_
    assert model.dual_objective_ > cut.dual_objective_
    assert_allclose(
        objectives(model, X, y, 1.0, bias_scale), [model.primal_objective_, model.dual_objective_], rtol=1e-6
    )


@both_biases
def test_empty_rows_and_columns_do_no_harm(bias_scale):
    X, y = texts(100)
    X = csr_array(np.where(np.arange(100)[:, None] % 5, X.toarray(), 0.0) * (np.arange(40) % 7 > 0))

    model = SVM(0.1, bias_scale=bias_scale, solver="dual").fit(X, y)

    assert model.converged_
    assert_array_equal(model.coef_[0, ::7], 0)
    assert SVM(0.1, bias_scale=bias_scale).fit(csr_array((6, 9)), [0, 1, 1, 1, 0, 1]).converged_


def test_hard_margins_of_sparse_rows_are_solved_by_working_sets():
    X, y = texts(60, 200)

    hard = SVM(np.inf).fit(X, y)

    assert (np.where(y == 1, 1, -1) * hard.decision_function(X)).min() >= 1 - 1e-6
    with pytest.raises(NotSeparableError):
        SVM(np.inf).fit(*texts(300, 8))


def test_values_that_overflow_are_reported():
    X = random_array((50, 10), density=0.5, format="csr", rng=np.random.default_rng(0))
    X.data[7] = 1e200

    with pytest.raises(InvalidDataError, match="too large to be squared and summed"):
        SVM(solver="dual").fit(X, np.arange(50) % 2)


def test_rows_of_few_columns_are_not_solved_by_coordinate_descent(monkeypatch):
    X, y = texts()
    monkeypatch.setattr(coordinate_descent, "MANY_COLUMNS", 41)

    assert SVM(0.1, solver="dual").fit(X, y).n_iter_ < 5
    assert not coordinate_descent.is_wide(SVM(kernel="rbf").kernel, X)
