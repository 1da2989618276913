"""Support vector machines: numbers derived by hand, edge cases and messages."""

import pickle
import tracemalloc
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from likely import (
    SVM,
    AffineCalibrator,
    ArraySource,
    CalibratedClassifier,
    DegenerateDataError,
    DegenerateDataWarning,
    DualSolver,
    InvalidDataError,
    InvalidParameterError,
    MissingValuesError,
    NotConvergedWarning,
    NotSeparableError,
    PolynomialKernel,
    PrimalSolver,
    RBFKernel,
    Source,
    SourceError,
)
from likely.kernels import GramRows
from likely.objectives.svm import task
from likely.objectives.svm.hard_margin import KernelFeatures, find_overlap

EXCLUSIVE_OR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array(["same", "same", "other", "other"])


class Elsewhere(Source):
    """A source whose rows are not in memory."""

    n_features, n_blocks, classes = 2, 2, np.array(["a", "b"])

    def block(self, index):
        return ArraySource(np.eye(2) + index, np.array([0, 1]), None, self.classes).block(0)


def two_classes(n=100, apart=1.0, seed=0, d=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * y
    return X, np.array(["a", "b"])[y]


def assert_proof(error, y, features, label, atol=1e-6):
    """Assert that the two convex combinations of a certificate are the same point in feature space."""
    proof = error.certificate
    side = y[proof.rows] == label
    assert (proof.weights >= 0).all()
    assert_allclose([proof.weights[side].sum(), proof.weights[~side].sum()], 1)
    size = np.linalg.norm(features, axis=1).max()
    first, second = (proof.weights[some] @ features[proof.rows[some]] for some in (side, ~side))
    assert_allclose(first, second, atol=atol * size)
    assert proof.distance <= atol
    assert (np.diff(proof.rows) > 0).all()


# Hard margins


def test_the_hard_margin_between_two_walls_is_half_their_distance(rng):
    X = np.column_stack([np.repeat([-1.5, 2.5], 30), rng.normal(size=60)])
    X[::4, 0] += np.repeat([-3.0, 3.0], [8, 7])  # some rows are further away
    y = np.repeat(["left", "right"], 30)

    for bias_scale in (None, 100.0):
        model = SVM(np.inf, bias_scale=bias_scale, tol=1e-8).fit(X, y)
        assert_allclose(model.margins_, 2.0, atol=1e-3)
        assert_allclose(model.coef_, [[0.5, 0.0]], atol=1e-3)
        assert_allclose(model.intercept_, -0.25, atol=1e-3)
        assert (model.decision_function(X) * np.repeat([-1, 1], 30)).min() >= 1 - 1e-4
        assert_allclose([model.primal_objective_, model.dual_objective_], 1 / 8, atol=1e-3)


def test_the_hard_margin_of_two_rows_of_an_rbf_kernel_is_half_their_distance_in_feature_space():
    model = SVM(np.inf, kernel=RBFKernel(0.5), tol=1e-10).fit([[0.0], [1.0]], [0, 1])

    k = np.exp(-0.5)
    assert_allclose(model.margins_, np.sqrt(2 - 2 * k) / 2)
    assert_allclose(model.dual_coef_, [[-1 / (1 - k), 1 / (1 - k)]])
    assert_allclose(model.intercept_, 0, atol=1e-12)
    assert_allclose(model.primal_objective_, 1 / (1 - k))


def test_a_large_cost_gives_the_hard_margin_of_separable_classes():
    X, y = two_classes(apart=8.0)

    hard, soft = SVM(np.inf, tol=1e-9).fit(X, y), SVM(1e4, tol=1e-9).fit(X, y)

    assert_allclose(hard.coef_, soft.coef_, atol=1e-3)
    assert_allclose(hard.primal_objective_, soft.primal_objective_, rtol=1e-8)


def test_weights_and_priors_do_not_change_a_hard_margin():
    X, y = two_classes(apart=8.0)
    plain = SVM(np.inf, tol=1e-9).fit(X, y)

    weighted = SVM(np.inf, tol=1e-9).fit(X, y, sample_weight=np.arange(100) % 3 + 0.5)
    balanced = SVM(np.inf, training_prior=0.9, tol=1e-9).fit(X, y)

    for model in (weighted, balanced):
        assert_allclose(model.primal_objective_, plain.primal_objective_, rtol=1e-8)


def test_a_path_may_end_in_a_hard_margin():
    X, y = two_classes(apart=8.0)

    hard, soft = SVM(tol=1e-9).path(X, y, [np.inf, 0.01])

    assert_allclose(hard.primal_objective_, SVM(np.inf, tol=1e-9).fit(X, y).primal_objective_, rtol=1e-8)
    assert soft.margins_[0] > hard.margins_[0]


def test_exclusive_or_is_separable_by_a_quadratic_kernel_but_not_by_a_line():
    X, y = EXCLUSIVE_OR

    with pytest.raises(
        NotSeparableError, match="no surface of this kernel separates them in the problem 'same' against 'other'"
    ) as raised:
        SVM(np.inf).fit(X, y)
    squares = SVM(np.inf, kernel="polynomial", tol=1e-10).fit(X, y)

    assert_proof(raised.value, y, X, "same")
    assert_allclose(raised.value.certificate.weights, 0.5)
    assert_array_equal(squares.predict(X), y)
    assert (np.abs(squares.decision_function(X)) >= 1 - 1e-4).all()


@pytest.mark.parametrize("n", [40, 300, 3000])
@pytest.mark.parametrize("bias_scale", [None, 1.0])
def test_overlapping_classes_are_refused_with_a_point_in_both_convex_hulls(bias_scale, n):
    X, y = two_classes(n, apart=2.0)

    with pytest.raises(NotSeparableError, match=r"equals a convex .* up to .* times the spread of the rows") as raised:
        SVM(np.inf, bias_scale=bias_scale).fit(X, y)

    assert_proof(raised.value, y, X, "b")
    assert "Set a finite C" in str(raised.value)


@pytest.mark.parametrize("bias_scale", [None, 1.0])
def test_the_proof_for_a_quadratic_kernel_holds_in_its_feature_space(bias_scale):
    X, y = two_classes(200, apart=0.5)
    features = np.column_stack([(X[:, :, None] * X[:, None]).reshape(200, 4), np.sqrt(2) * X, np.ones(200)])

    with pytest.raises(NotSeparableError) as raised:
        SVM(np.inf, kernel=PolynomialKernel(2), bias_scale=bias_scale).fit(X, y)

    assert_proof(raised.value, y, features, "b")


@pytest.mark.parametrize("kernel", ["linear", "rbf", RBFKernel(10.0), PolynomialKernel(9)], ids=str)
def test_a_row_in_both_classes_is_a_proof_for_any_kernel(kernel):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 5)), np.array([0, 0, 0, 1, 1, 1])
    X[5] = X[1]

    with pytest.raises(NotSeparableError, match=r"of row 5 equals a convex combination of row 1, ") as raised:
        SVM(np.inf, kernel=kernel).fit(X, y)

    assert_array_equal(raised.value.certificate.rows, [1, 5])
    assert_allclose(raised.value.certificate.weights, 1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("between", [1e-2, 1e-7, 1e-10])
def test_classes_with_a_narrow_gap_are_separable(between, scale):
    rng = np.random.default_rng(2)
    X, z = rng.uniform(size=(60, 2)), np.repeat([-1.0, 1.0], 30)
    X[:, 0] = (X[:, 0] + np.repeat([-1, between], 30)) * scale
    X[[0, 1, 30, 31]] = np.column_stack([np.array([0, 0, between, between]) * scale, [0.1, 0.9, 0.1, 0.9]])

    assert find_overlap(KernelFeatures.of_rows(X), z) is None
    assert find_overlap(KernelFeatures.of_rows(-X), -z) is None
    X[0, 0] += 2 * between * scale
    assert find_overlap(KernelFeatures.of_rows(X), z) is not None


def test_classes_with_a_small_overlap_are_refused():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [-1e-5, 0.5], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 1, 1, 1])

    with pytest.raises(NotSeparableError) as raised:
        SVM(np.inf).fit(X, y)

    assert_proof(raised.value, y, X, 1)


def test_wide_rows_of_low_rank_are_refused_with_a_proof():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 4000)), np.arange(120) % 2

    with pytest.raises(NotSeparableError) as raised:
        SVM(np.inf).fit(X, y)

    assert_proof(raised.value, y, X, 1)


def test_row_numbers_of_a_proof_count_rows_of_weight_0():
    X, y = EXCLUSIVE_OR
    X, y = np.insert(X, 1, 7.0, axis=0), np.insert(y, 1, "same")

    with pytest.raises(NotSeparableError) as raised:
        SVM(np.inf).fit(X, y, sample_weight=[1, 0, 1, 1, 1])

    assert_array_equal(raised.value.certificate.rows, [0, 2, 3, 4])


def test_classes_along_a_line_are_separable_by_pairs_but_not_each_from_the_rest():
    X = np.array([[0.0], [0.5], [2.0], [2.5], [4.0], [4.5]])
    y = np.repeat(["a", "b", "c"], 2)

    with pytest.raises(NotSeparableError, match="in the problem 'b' against the rest") as raised:
        SVM(np.inf).fit(X, y)
    pairs = SVM(np.inf, multiclass="ovo", tol=1e-9).fit(X, y)

    assert_proof(raised.value, y, X, "b")
    assert_allclose(pairs.margins_, [0.75, 1.75, 0.75], rtol=1e-6)
    assert_array_equal(pairs.predict(X), y)


def test_the_error_and_its_proof_can_be_pickled():
    with pytest.raises(NotSeparableError) as raised:
        SVM(np.inf).fit(*EXCLUSIVE_OR)

    again = pickle.loads(pickle.dumps(raised.value))

    assert str(again) == str(raised.value)
    assert_array_equal(again.certificate.rows, raised.value.certificate.rows)
    assert isinstance(again, DegenerateDataError)


def test_an_undecided_hard_margin_raises_an_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2500, 2)), rng.integers(0, 2, 2500)

    with pytest.raises(
        DegenerateDataError,
        match=r"stopped after 1 working set. For the problem 1 against 0, it found no separating surface, and no proof",
    ):
        SVM(np.inf, kernel=RBFKernel(10.0), solver=DualSolver(max_iter=1)).fit(X, y)


def test_the_primal_refuses_a_hard_margin():
    X, y = two_classes()

    for solver in ("primal", PrimalSolver()):
        with pytest.raises(InvalidParameterError, match="primal solver needs a linear kernel and a finite C"):
            SVM(np.inf, solver=solver).fit(X, y)
    soft = SVM(regularization=0.01, solver="primal").fit(X, y)
    assert soft.converged_


# Messages


@pytest.mark.parametrize("value", [0, -1.0, np.nan, "1", True, [1.0]], ids=repr)
def test_invalid_costs_are_refused(value):
    with pytest.raises(InvalidParameterError, match=r"C of SVM must be a number > 0 or None, but is"):
        SVM(value).fit(*two_classes())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "1", True, [1.0]], ids=repr)
@pytest.mark.parametrize(
    ("name", "rule"),
    [("bias_scale", r"0, a number from 1e-50 to 1e\+50 or None"), ("regularization", "a finite number > 0 or None")],
)
def test_invalid_scales_and_penalties_are_refused(name, rule, value):
    with pytest.raises(InvalidParameterError, match=f"{name} of SVM must be {rule}, but is"):
        SVM(**{name: value}).fit(*two_classes())


@pytest.mark.parametrize("value", [0, 1, -1e-3, np.nan, np.inf, "1", None, True], ids=repr)
def test_tolerances_outside_0_and_1_are_refused(value):
    with pytest.raises(InvalidParameterError, match=r"tol of SVM must be a number in the open interval \(0, 1\)"):
        SVM(tol=value).fit(*two_classes())


@pytest.mark.parametrize("value", ["all", None, 1], ids=repr)
def test_unknown_schemes_are_refused(value):
    with pytest.raises(
        InvalidParameterError, match=f"multiclass of SVM must be one of 'ovr', 'ovo'.*, but is {value!r}"
    ):
        SVM(multiclass=value).fit(*two_classes())


@pytest.mark.parametrize("value", ["smo", None, 1, DualSolver, {}], ids=str)
def test_unknown_solvers_are_refused(value):
    with pytest.raises(
        InvalidParameterError,
        match=r"solver of SVM must be .*'auto', 'dual', 'primal'.*PrimalSolver, but is",
    ):
        SVM(solver=value).fit(*two_classes())


@pytest.mark.parametrize("value", ["gaussian", None, 3, np.eye(2)], ids=str)
def test_invalid_kernels_are_refused(value):
    with pytest.raises(InvalidParameterError, match="kernel of SVM must be one of 'linear', 'polynomial', 'rbf', 'pre"):
        SVM(kernel=value).fit(*two_classes())


@pytest.mark.parametrize("cache_mb", [0, -1, np.nan, np.inf, "1", True], ids=repr)
def test_invalid_cache_sizes_are_refused(cache_mb):
    with pytest.raises(InvalidParameterError, match="cache_mb of DualSolver must be a finite number > 0 or None"):
        DualSolver(cache_mb=cache_mb)


@pytest.mark.parametrize("solver", [DualSolver, PrimalSolver])
@pytest.mark.parametrize("max_iter", [0, -1, 1.5, "1"], ids=repr)
def test_invalid_numbers_of_iterations_are_refused(solver, max_iter):
    with pytest.raises(InvalidParameterError, match=f"max_iter of {solver.__name__} must be"):
        solver(max_iter=max_iter)


def test_a_cache_larger_than_the_memory_is_refused():
    with pytest.raises(InvalidParameterError, match=r"cache_mb of DualSolver is 1e\+12, but the machine has \d+ MB of"):
        SVM(kernel="rbf", solver=DualSolver(cache_mb=1e12)).fit(*two_classes())


def test_the_primal_is_not_solved_for_kernels():
    for kernel in ("rbf", "precomputed", np.minimum.outer):
        with pytest.raises(InvalidParameterError, match="primal solver needs a linear kernel and a finite C"):
            SVM(kernel=kernel, solver="primal").fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(
    "model", [SVM(kernel="rbf"), SVM(np.inf), SVM(solver="dual"), SVM(kernel="polynomial")], ids=str
)
def test_the_dual_refuses_sources_that_are_not_in_memory(model):
    with pytest.raises(SourceError, match=r"dual solver of SVM. This solver needs all rows at once.*NystromFeatures"):
        model.fit_source(Elsewhere())
    assert not hasattr(model, "n_features_in_")


def test_one_class_is_refused_by_name():
    X, _ = two_classes()

    with pytest.raises(DegenerateDataError, match="SVM needs at least two classes, but y has only one class: 'a'"):
        SVM().fit(X, np.full(100, "a"))
    with pytest.raises(DegenerateDataError, match="only one class: 'a'"):
        SVM().fit(X, np.repeat(["a", "b"], 50), sample_weight=np.repeat([1.0, 0.0], 50))


def test_invalid_priors_are_refused():
    X, y = two_classes()

    for prior in (0, 1, 1.5, np.nan):
        with pytest.raises(InvalidParameterError, match="prior of SVM must be in the open interval"):
            SVM(training_prior=prior).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"prior of SVM does not match its classes \['a', 'b'\]"):
        SVM(training_prior={"a": 0.5, "c": 0.5}).fit(X, y)
    with pytest.raises(InvalidParameterError, match="prior > 0 for every class"):
        SVM(training_prior=[0.0, 1.0]).fit(X, y)
    with pytest.raises(InvalidParameterError, match="A single prior needs two classes, but there are 3"):
        SVM(training_prior=0.5).fit(X, np.arange(100) % 3)


def short(A, B):
    return np.ones(len(A))


def undefined(A, B):
    return np.where(A[:, :1] > B[:, 0], np.nan, 1.0)


def one_sided(A, B):
    return A[:, :1] - B[:, 0]


def sigmoid(A, B):
    return np.tanh(A @ B.T - 1)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (short, r"must have the shape \(100, 100\), but the function short returned an array of shape \(100,\)"),
        (undefined, "Kernel values must be finite, but the function undefined returned NaN or infinity"),
        (one_sided, r"must be symmetric, but k\(x_\d+, x_\d+\) is"),
        (sigmoid, "must be positive semi-definite, but its matrix of 100 training rows has the eigenvalue"),
    ],
)
def test_functions_that_are_not_kernels_are_refused(function, expected):
    with pytest.raises(InvalidDataError, match=expected):
        SVM(kernel=function).fit(*two_classes())


def test_matrices_that_are_not_kernels_are_refused():
    X, y = two_classes()

    with pytest.raises(
        InvalidDataError, match=r"must be the square kernel matrix of all training rows.*shape \(100, 2\)"
    ):
        SVM(kernel="precomputed").fit(X, y)
    with pytest.raises(InvalidDataError, match="must be symmetric"):
        SVM(kernel="precomputed").fit(np.triu(X @ X.T), y)
    with pytest.raises(InvalidDataError, match="must be positive semi-definite"):
        SVM(kernel="precomputed").fit(-X @ X.T, y)


def test_rows_of_a_matrix_have_as_many_columns_as_there_were_rows():
    X, y = two_classes()
    model = SVM(kernel="precomputed").fit(X @ X.T, y)

    with pytest.raises(ValueError, match="X has 2 features, but SVM is expecting 100 features"):
        model.decision_function(X)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_rows_that_are_not_finite_or_too_large_are_refused_with_their_position(kernel, solver):
    if solver == "primal" and kernel != "linear":
        solver = "auto"
    X, y = two_classes()
    model = SVM(kernel=kernel, solver=solver).fit(X, y)

    for value, error, expected in [
        (np.nan, MissingValuesError, "NaN in row 7, column 1"),
        (np.inf, InvalidDataError, r"infinity \(inf\) in row 7, column 1"),
    ]:
        bad = X.copy()
        bad[7, 1] = value
        with pytest.raises(error, match=expected):
            SVM(kernel=kernel, solver=solver).fit(bad, y)
        with pytest.raises(error, match=expected):
            model.decision_function(bad)
    with pytest.raises(InvalidDataError, match=r"Values of column \d reach .*e\+160, too large to be squared"):
        SVM(kernel=kernel, solver=solver).fit(X * 1e160, y)


def test_a_path_has_a_model_for_each_cost():
    X, y = two_classes()

    for values in (3.0, "ab"):
        with pytest.raises(InvalidParameterError, match=r"path takes several values of C, such as .*, but got"):
            SVM().path(X, y, values)
    with pytest.raises(InvalidParameterError, match="path varies C, but regularization is set"):
        SVM(regularization=0.1).path(X, y, [1.0])
    with pytest.raises(InvalidParameterError, match="C of SVM must be a number > 0 or None, but is -1"):
        SVM().path(X, y, [1.0, -1])
    assert SVM().path(X, y, []) == []


# Limits of time and memory


def unscaled(n=200):
    """Columns on scales from 1e-3 to 1e6, all equally informative about the class."""
    rng = np.random.default_rng(5)
    y = np.arange(n) % 2
    return (rng.normal(size=(n, 6)) + 0.4 * y[:, None]) * 10.0 ** np.linspace(-3, 6, 6), y


@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_linear_machine_converges_on_columns_of_very_different_scale(solver, bias_scale):
    X, y = unscaled()
    warned = pytest.warns(DegenerateDataWarning, match="objectives exceed the gap. Put Standardize")

    with warned if solver == "dual" else nullcontext():
        model = SVM(solver=solver, bias_scale=bias_scale).fit(X, y)

    assert model.converged_
    assert model.n_iter_ <= 1000
    assert 0 <= model.gap_ <= 1e-4 * model.primal_objective_


@pytest.mark.parametrize("kernel", ["polynomial", PolynomialKernel(3)], ids=str)
def test_a_polynomial_machine_on_columns_of_very_different_scale_ends_with_a_warning(kernel):
    X, y = unscaled(60)

    with pytest.warns(NotConvergedWarning, match=r"The relative gap is .*different scales, put Standardize before SVM"):
        model = SVM(kernel=kernel, solver=DualSolver(max_iter=20)).fit(X, y)

    assert not model.converged_
    assert model.n_iter_ <= 20
    assert model.gap_ > 1e-4 * model.primal_objective_
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("bias_scale", [None, 1.0])
def test_a_stopped_solver_warns_and_its_bounds_hold(bias_scale):
    X, y = two_classes(3000, d=8)
    best = SVM(kernel="rbf", bias_scale=bias_scale).fit(X, y)

    with pytest.warns(NotConvergedWarning, match=r"SVM stopped after 1 step .*'b' against 'a'.*raise max_iter"):
        model = SVM(kernel="rbf", bias_scale=bias_scale, solver=DualSolver(max_iter=1)).fit(X, y)

    z, K = np.where(y == "b", 1.0, -1.0), model.kernel_(X, X[model.support_])
    signed = model.dual_coef_[0]
    square = signed @ K[model.support_] @ signed
    penalty = square if bias_scale is None else square + signed.sum() ** 2
    losses = np.maximum(0, 1 - z * (K @ signed + model.intercept_[0]))
    assert model.n_iter_ == 1
    assert not model.converged_
    assert (model.multipliers_ <= 1).all()
    assert bias_scale is not None or abs(signed.sum()) < 1e-9
    assert_allclose(model.dual_objective_, np.abs(signed).sum() - penalty / 2, rtol=1e-9)
    assert_allclose(model.primal_objective_, penalty / 2 + losses.sum(), rtol=1e-9)
    assert model.dual_objective_ <= best.primal_objective_
    assert model.primal_objective_ >= best.dual_objective_


@pytest.mark.parametrize("seed", [5, 97, 2097])
@pytest.mark.parametrize(
    "options", [{"solver": DualSolver(max_iter=1)}, {"tol": 0.1}, {"tol": 0.1, "kernel": "rbf"}], ids=str
)
@pytest.mark.filterwarnings("ignore::likely.NotConvergedWarning")
def test_coefficients_bias_and_objectives_of_a_stopped_solver_are_consistent(options, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    z = 2 * y - 1

    model = SVM(10.0, **options).fit(X, y)

    signed = model.dual_coef_[0]
    square = signed @ model.kernel_(X[model.support_]) @ signed
    assert_allclose(signed.sum(), 0, atol=1e-12)
    assert (model.multipliers_ <= 10).all()
    assert_allclose(model.dual_objective_, np.abs(signed).sum() - square / 2)
    assert_allclose(model.primal_objective_, square / 2 + 10 * np.maximum(0, 1 - z * model.decision_function(X)).sum())


def test_there_is_no_precision_warning_if_costs_do_not_matter(recwarn):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, size=(300, 20)).astype(float)  # for example grey values
    y = (X[:, 0] > 8).astype(int)

    for kernel, C in ((PolynomialKernel(3), 1.0), (PolynomialKernel(2), 1e4), ("rbf", 1e10)):
        assert SVM(C, kernel=kernel).fit(X, y).converged_

    assert not recwarn.list


@pytest.mark.parametrize("where", [7, 2900])
def test_kernels_that_overflow_among_many_rows_are_reported(where):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    X[where] = 1e110

    with pytest.raises(InvalidDataError, match=r"Values of column 0 reach 1e\+110, too large"):
        SVM(1e-3, kernel=PolynomialKernel(3)).fit(X, np.arange(3000) % 2)


@pytest.mark.parametrize(
    ("C", "regularization", "weight"),
    [(1e90, None, 1e300), (1.0, None, 1e200), (None, 1e-320, 1e-10), (1e-101, None, 1)],
)
def test_extreme_costs_are_refused(C, regularization, weight):
    X, y = two_classes()

    with pytest.raises(
        InvalidParameterError, match=r"The cost of a row of SVM must be between 1e-100 and 1e\+100, but"
    ):
        SVM(C, regularization=regularization).fit(X, y, sample_weight=np.full(len(y), float(weight)))


@pytest.mark.parametrize("bias_scale", [1e60, 1e-200])
def test_extreme_bias_scales_are_refused(bias_scale):
    rule = r"bias_scale of SVM must be 0, a number from 1e-50 to 1e\+50 or None"
    advice = "with 0 there is none. Without bias_scale the bias is free"
    with pytest.raises(InvalidParameterError, match=rule) as caught:
        SVM(bias_scale=bias_scale).fit(*two_classes())
    assert (advice in str(caught.value)) == (bias_scale < 1)


def test_a_regularization_of_0_is_refused():
    with pytest.raises(InvalidParameterError, match="regularization of SVM must be a finite number > 0 or None"):
        SVM(regularization=0).fit(*two_classes())


def test_a_stopped_primal_solver_warns():
    X, y = two_classes(500, d=5)

    with pytest.warns(NotConvergedWarning, match="SVM stopped after 2 steps"):
        model = SVM(solver=PrimalSolver(max_iter=2), tol=1e-8).fit(X, y)

    assert model.n_iter_ == 2
    assert model.gap_ > 1e-8 * model.primal_objective_


@pytest.mark.parametrize("bias_scale", [None, 1.0])
@pytest.mark.parametrize("cache_mb", [0.02, 0.1, 0.3])
def test_a_small_cache_finds_the_same_machine(cache_mb, bias_scale):
    X, y = two_classes(400, apart=2.0)
    model = SVM(kernel=RBFKernel(0.5), bias_scale=bias_scale, tol=1e-6).fit(X, y)

    small = SVM(kernel=RBFKernel(0.5), bias_scale=bias_scale, tol=1e-6)
    small.set_params(solver=DualSolver(cache_mb=cache_mb, max_iter=100_000)).fit(X, y)

    assert small.converged_
    assert_allclose(small.primal_objective_, model.primal_objective_, rtol=3e-6)
    assert_allclose(small.decision_function(X), model.decision_function(X), atol=0.02)


@pytest.mark.parametrize("bytes_kept", [100_000, 1_000_000, 10**9])
def test_cached_rows_stay_within_the_limit(bytes_kept):
    X, _ = two_classes(500)
    rows = GramRows(RBFKernel(0.5), X, bytes_kept)
    K = RBFKernel(0.5)(X)

    for start in range(0, 500, 10):
        some = np.arange(start, start + 10)
        assert_allclose(rows.kept[rows.slots(some)], K[some], atol=1e-12)

    assert rows.kept.nbytes <= bytes_kept
    assert rows.n_computed == 500


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_memory_stays_within_the_cache_limit(multiclass):
    X, y = two_classes(3000)[0], np.arange(3000) % 3
    model = SVM(kernel=RBFKernel(0.5), multiclass=multiclass, solver=DualSolver(cache_mb=6), tol=0.5)
    model.fit(X[:50], y[:50])  # compile and import before memory is measured

    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    whole = 8 * (3000 if multiclass == "ovr" else 2000) ** 2
    assert peak < 16e6 < whole


def test_progress_is_printed_to_the_standard_error_stream_only(capsys, monkeypatch):
    X, y = two_classes(2000)
    ticks = iter(range(10**6))
    monkeypatch.setattr(task, "time", SimpleNamespace(monotonic=lambda: next(ticks)))

    for model, expected in [
        (SVM(kernel="rbf", solver=DualSolver(verbose=True)), "SVM, 'b' against 'a': 1 step, relative gap "),
        (SVM(solver=PrimalSolver(verbose=True)), "SVM, 'b' against 'a': 1 step, relative gap "),
    ]:
        model.fit(X, y)
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(expected)
    SVM(kernel="rbf").fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_progress_is_printed_at_most_once_a_second(capsys, monkeypatch):
    ticks = iter(np.arange(0, 1000, 0.3))
    monkeypatch.setattr(task, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    report = task.report_progress(True, "SVM")

    for step in range(10):
        report(step, 0.5)

    assert 0 < len(capsys.readouterr().err.splitlines()) <= 4
    assert task.report_progress(False, "SVM") is None


# Behaviour


@pytest.mark.parametrize("bias_scale", [None, 1e-6])
def test_a_very_narrow_rbf_kernel_decides_as_the_nearest_neighbour(bias_scale):
    rng = np.random.default_rng(2)
    X, y = rng.uniform(size=(300, 2)), np.arange(300) % 2
    new = X[rng.integers(0, 300, 1000)] + rng.normal(scale=0.01, size=(1000, 2))
    gamma = 2e5  # rows are about 0.03 apart

    model = SVM(10.0, kernel=RBFKernel(gamma), bias_scale=bias_scale).fit(X, y)

    distances, nearest = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(new)
    clear = (gamma * (distances[:, 1] ** 2 - distances[:, 0] ** 2) > 10) & (gamma * distances[:, 0] ** 2 < 20)
    assert clear.sum() > 300
    decided = model.decision_function(new)
    if bias_scale is None:
        decided = decided - model.intercept_  # about 0 for balanced classes, but it decides far from all rows
    assert_array_equal((decided > 0)[clear], y[nearest[:, 0]][clear])
    assert abs(model.intercept_[0]) < 1e-2
    assert_array_equal(model.predict(X), y)


def test_a_row_on_the_surface_belongs_to_the_last_class():
    model = SVM(np.inf).fit([[-1.0], [1.0]], ["a", "b"])

    assert model.decision_function([[0.0]]) == 0
    assert_array_equal(model.predict([[0.0]]), ["b"])


def test_equal_rows_are_assigned_to_the_larger_class():
    y = np.repeat(["a", "b"], [7, 3])

    for solver in ("dual", "primal"):
        model = SVM(solver=solver).fit(np.ones((10, 2)), y)
        assert_allclose(
            [model.primal_objective_, model.dual_objective_], 6.0, rtol=1e-4
        )  # 2 C for each row of the smaller class
        assert_allclose(model.decision_function([[1.0, 1.0]]), -1, atol=1e-3)
        assert_array_equal(model.margins_, np.inf)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_solver_is_chosen_by_kernel_and_size(kernel):
    X, y = two_classes(3000)

    model = SVM(kernel=kernel).fit(X, y)

    few = SVM(kernel=kernel).fit(X[:1000], y[:1000])
    by_dual = SVM(kernel=kernel, solver="dual").fit(X[:1000], y[:1000])
    assert_array_equal(few.decision_function(X), by_dual.decision_function(X))
    expected = SVM(kernel=kernel, solver="primal" if kernel == "linear" else "dual").fit(X, y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_it_has_no_log_likelihood_until_it_is_calibrated():
    X, y = two_classes(200, apart=2.0)
    model = SVM().fit(X, y)

    for name in ("log_likelihood", "llr", "decide", "predict_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"SVM has no {name}.*CalibratedClassifier\(SVM\(\)\)"):
            getattr(model, name)
    calibrated = CalibratedClassifier(SVM(), calibrator=AffineCalibrator()).fit(X, y)
    llr = calibrated.llr(X)
    assert llr.shape == (200,)
    assert llr[y == "b"].mean() > 1 > -1 > llr[y == "a"].mean()
    assert calibrated.log_likelihood(X).shape == (200, 2)


def test_an_unfitted_svm_raises_an_error():
    with pytest.raises(ValueError, match="not fitted"):
        SVM().predict([[1.0]])


def test_c_and_regularization_are_not_given_together():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    with pytest.raises(InvalidParameterError, match=r"C=10 and regularization=0\.1 of SVM.*Set only one") as caught:
        SVM(10, regularization=0.1).fit(X, y)
    assert caught.value.parameter == "regularization"
    assert_allclose(SVM().fit(X, y).coef_, SVM(1.0).fit(X, y).coef_)
