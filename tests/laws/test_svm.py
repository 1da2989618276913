"""Laws of support vector machines, for every kernel, bias, number of classes and weights."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from likely import (
    SVM,
    ArraySource,
    InvalidDataError,
    LinearKernel,
    NotSeparableError,
    PolynomialKernel,
    RBFKernel,
    Source,
    kfold_scores,
    load,
    save,
)


def near(A, B):
    """Laplace kernel."""
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2))


def bumps(A, B, gamma=0.3):
    return np.exp(-gamma * np.square(A[:, None] - B).sum(axis=2))


KERNELS = {
    "linear by the dual": (LinearKernel(), lambda A, B: A @ B.T),
    "linear by the primal": ("linear", lambda A, B: A @ B.T),
    "polynomial 2": ("polynomial", lambda A, B: (A @ B.T + 1) ** 2),
    "polynomial 3": (PolynomialKernel(3, 0.5), lambda A, B: (A @ B.T + 0.5) ** 3),
    "rbf": (RBFKernel(0.3), bumps),
    "sum": (2 * RBFKernel(0.3) + LinearKernel() + 0.2, lambda A, B: 2 * bumps(A, B) + A @ B.T + 0.2),
    "product": (LinearKernel() * RBFKernel(0.1), lambda A, B: A @ B.T * bumps(A, B, 0.1)),
    "function": (near, near),
    "precomputed": ("precomputed", bumps),
}
"""The kernel as a parameter, and its Gram matrix by NumPy."""

TOLERANCE, C = 1e-9, 0.7

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_kernel_of_rows = pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
every_bias = pytest.mark.parametrize("bias_scale", [None, 1.5, 0], ids=["free", "scaled", "none"])
every_scheme = pytest.mark.parametrize("scheme", ["two", "ovr", "ovo"])
weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


class Elsewhere(Source):
    """A source whose rows are not in memory."""

    def __init__(self, X, y, block_rows, weight=None):
        classes, codes = np.unique(y, return_inverse=True)
        source = ArraySource(X, codes, weight, classes, block_rows=block_rows)
        self.n_features, self.classes, self.n_blocks, self.block = X.shape[1], classes, source.n_blocks, source.block

    def block(self, index):
        raise NotImplementedError


def rows_of(scheme, n=60, seed=7):
    """Overlapping classes of unequal sizes."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, size=n, p=[0.5, 0.3, 0.2]) if scheme != "two" else rng.choice(2, size=n, p=[0.65, 0.35])
    X = np.round(rng.normal(size=(n, 3)) + np.array([[0.0, 1, 0], [1, 0, 1], [-1, 0, 1]])[codes], 2)
    return X, np.array(["a", "b", "c"])[codes]


def weights_of(n, weighted):
    return np.random.default_rng(3).integers(0, 4, n).astype(float) if weighted else None


def model_of(name, scheme="ovr", **options):
    solver = "primal" if name == "linear by the primal" else "dual"
    options = {"C": C, "tol": TOLERANCE, "solver": solver, **options}
    return SVM(kernel=KERNELS[name][0], multiclass="ovo" if scheme == "ovo" else "ovr", **options)


def given(name, A, B):
    """The X that a model with this kernel takes for rows A, with training rows B."""
    return bumps(A, B) if name == "precomputed" else A


def sides_of(y, scheme):
    """The side of every row in every problem: +1, −1, or 0 if it takes no part."""
    classes = np.unique(y)
    if scheme == "two":
        return [np.where(y == classes[1], 1.0, -1.0)]
    if scheme == "ovr":
        return [np.where(y == label, 1.0, -1.0) for label in classes]
    return [(y == second).astype(float) - (y == first) for first, second in combinations(classes, 2)]


def problems_of(model, X, y, scheme, weight=None, cost=C):
    """Side z, upper bound C, α and z α of the rows of each problem."""
    weight = np.ones(len(y)) if weight is None else weight
    for side, coef in zip(sides_of(y, scheme), model.dual_coef_, strict=True):
        signed = np.zeros(len(y))
        signed[model.support_] = coef
        yield side, cost * weight * np.abs(side), signed * side, signed


def fitted(name, bias_scale, scheme, weighted):
    X, y = rows_of(scheme)
    weight = weights_of(len(y), weighted)
    model = model_of(name, scheme, bias_scale=bias_scale).fit(given(name, X, X), y, sample_weight=weight)
    return model, X, y, weight, KERNELS[name][1](X, X)


def slack_of(name):
    """Precision of dual coefficients: the primal solver drops negligible ones."""
    return 1e-5 if name == "linear by the primal" else 1e-9


# Optimality of both problems


@weighted_or_not
@every_scheme
@every_bias
@every_kernel
def test_dual_coefficients_are_feasible_and_complementary_slackness_holds(name, bias_scale, scheme, weighted):
    model, X, y, weight, K = fitted(name, bias_scale, scheme, weighted)
    slack = slack_of(name)

    for (z, most, alpha, signed), bias in zip(problems_of(model, X, y, scheme, weight), model.intercept_, strict=True):
        margins = z * (K @ signed + bias)
        size = most.sum()
        assert (alpha >= 0).all()
        assert (alpha <= most * (1 + 1e-12)).all()
        if bias_scale is None:
            assert abs(signed.sum()) <= slack * size
        else:
            assert_allclose(bias, bias_scale**2 * signed.sum(), atol=slack * size)
        # The gap is Σ (C − α) max(0, 1 − m) + Σ α max(0, m − 1): no row's part of it is larger.
        allowed = TOLERANCE * model.primal_objective_ + slack * size
        assert ((most - alpha) * np.maximum(1 - margins, 0) <= allowed).all()
        assert (alpha * np.maximum(margins - 1, 0) <= allowed).all()
        assert 0 < (alpha > 0).sum() < len(alpha)


@weighted_or_not
@every_scheme
@every_bias
@every_kernel
def test_both_objectives_are_those_of_the_dual_coefficients_and_meet(name, bias_scale, scheme, weighted):
    model, X, y, weight, K = fitted(name, bias_scale, scheme, weighted)

    primal, dual, squares = 0.0, 0.0, []
    for k, (z, most, alpha, signed) in enumerate(problems_of(model, X, y, scheme, weight)):
        scores, bias, extra = K @ signed, model.intercept_[k], 0.0 if bias_scale is None else bias_scale**2
        square, dear = signed @ scores, (model.intercept_[k] / bias_scale) ** 2 if bias_scale else 0.0
        dual += alpha.sum() - (square + extra * signed.sum() ** 2) / 2
        if hasattr(model, "coef_"):
            scores, square = X @ model.coef_[k], model.coef_[k] @ model.coef_[k]
        primal += (square + dear) / 2 + most @ np.maximum(1 - z * (scores + bias), 0)
        squares.append(square)

    assert_allclose(model.primal_objective_, primal, rtol=1e-9)
    assert_allclose(model.dual_objective_, dual, rtol=max(slack_of(name), 1e-9))
    assert_allclose(model.margins_, 1 / np.sqrt(squares), rtol=1e-7)
    assert model.gap_ == model.primal_objective_ - model.dual_objective_
    assert -1e-12 * primal <= model.gap_ <= TOLERANCE * model.primal_objective_
    assert model.converged_


@every_scheme
@every_bias
@every_kernel
def test_attributes_of_support_vectors_are_consistent(name, bias_scale, scheme):
    model, X, _, _, K = fitted(name, bias_scale, scheme, weighted=True)

    n_problems = 1 if scheme == "two" else 3
    scores = K[:, model.support_] @ model.dual_coef_.T + model.intercept_
    found = model.decision_function(given(name, X, X))
    assert model.dual_coef_.shape == model.multipliers_.shape == (n_problems, len(model.support_))
    assert model.intercept_.shape == model.margins_.shape == (n_problems,)
    assert_array_equal(model.multipliers_, np.abs(model.dual_coef_))
    assert (model.multipliers_ > 0).any(axis=0).all()
    assert (np.diff(model.support_) > 0).all()
    if name != "precomputed":
        assert_array_equal(model.support_vectors_, X[model.support_])
    if scheme != "ovo":
        assert_allclose(
            found, scores[:, 0] if scheme == "two" else scores, atol=1e-6 if slack_of(name) < 1e-6 else 1e-3
        )
    if name.startswith("linear"):
        assert_allclose(model.coef_, model.dual_coef_ @ X[model.support_], atol=1e-3 if "primal" in name else 1e-9)
        assert_allclose(1 / model.margins_, np.linalg.norm(model.coef_, axis=1), rtol=1e-6)


@pytest.mark.parametrize("cost", [1e-3, 0.1, 10.0, 1e3])
@every_kernel
def test_the_gap_is_within_the_tolerance_for_small_and_large_costs(name, cost):
    X, y = rows_of("two")
    tol = 1e-6

    for bias_scale in (None, 0.1, 10.0):
        model = model_of(name, C=cost, bias_scale=bias_scale, tol=tol).fit(given(name, X, X), y)
        assert model.converged_
        assert -1e-12 <= model.gap_ / model.primal_objective_ <= tol


# Solvers, weights, order, labels


@weighted_or_not
@every_scheme
@every_bias
def test_the_primal_solver_finds_what_the_dual_solver_finds(bias_scale, scheme, weighted):
    X, y = rows_of(scheme, 150)
    weight = weights_of(len(y), weighted)

    primal, dual = (
        SVM(C, bias_scale=bias_scale, multiclass="ovo" if scheme == "ovo" else "ovr", solver=solver, tol=1e-10)
        for solver in ("primal", "dual")
    )
    primal.fit(X, y, sample_weight=weight)
    dual.fit(X, y, sample_weight=weight)

    assert_allclose(primal.primal_objective_, dual.primal_objective_, rtol=1e-9)
    assert_allclose(primal.dual_objective_, dual.dual_objective_, rtol=1e-9)
    assert_allclose(primal.coef_, dual.coef_, atol=1e-4)
    assert_allclose(primal.intercept_, dual.intercept_, atol=1e-4)
    assert_allclose(primal.margins_, dual.margins_, rtol=1e-4)
    assert_allclose(primal.decision_function(X), dual.decision_function(X), atol=1e-3)


@every_scheme
@every_bias
@every_kernel
def test_weights_equal_repetition_and_rows_of_weight_0_are_ignored(name, bias_scale, scheme):
    X, y = rows_of(scheme)
    weight = weights_of(len(y), True)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    model = model_of(name, scheme, bias_scale=bias_scale)

    weighted = clone(model).fit(given(name, X, X), y, sample_weight=weight)
    repeated = clone(model).fit(given(name, X[rows], X[rows]), y[rows])

    assert_allclose(weighted.primal_objective_, repeated.primal_objective_, rtol=3 * TOLERANCE)
    assert (weight[weighted.support_] > 0).all()
    assert_allclose(
        weighted.decision_function(given(name, X, X)), repeated.decision_function(given(name, X, X[rows])), atol=2e-3
    )


@pytest.mark.parametrize("kernel", ["rbf", 2 * RBFKernel() + LinearKernel()], ids=["rbf", "sum"])
def test_weights_equal_repetition_for_kernel_parameters_learned_from_data(kernel):
    X, y = rows_of("two")
    weight = weights_of(len(y), True)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))

    weighted = SVM(C, kernel=kernel, tol=TOLERANCE).fit(X, y, sample_weight=weight)
    repeated = SVM(C, kernel=kernel, tol=TOLERANCE).fit(X[rows], y[rows])

    assert_allclose(weighted.primal_objective_, repeated.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(weighted.kernel_(X), repeated.kernel_(X), rtol=1e-9)


@every_scheme
@every_bias
@every_kernel
def test_the_order_of_the_rows_does_not_matter(name, bias_scale, scheme):
    X, y = rows_of(scheme)
    order = np.random.default_rng(1).permutation(len(y))
    model = model_of(name, scheme, bias_scale=bias_scale)

    first = clone(model).fit(given(name, X, X), y)
    other = clone(model).fit(given(name, X[order], X[order]), y[order])

    assert_allclose(first.primal_objective_, other.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(
        first.decision_function(given(name, X, X)), other.decision_function(given(name, X, X[order])), atol=2e-3
    )


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@every_bias
@every_kernel
def test_relabelling_only_renames_the_classes(name, bias_scale, scheme):
    X, y = rows_of(scheme)
    renamed = np.array([3, 1, 2])[np.searchsorted(["a", "b", "c"], y)]
    model, rows = model_of(name, scheme, bias_scale=bias_scale), given(name, X, X)

    first, other = clone(model).fit(rows, y), clone(model).fit(rows, renamed)

    assert_array_equal(other.classes_, [1, 2, 3])
    assert_allclose(first.primal_objective_, other.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(first.decision_function(rows), other.decision_function(rows)[:, [2, 0, 1]], atol=2e-3)


@every_bias
@every_kernel
def test_exchanging_two_classes_changes_the_sign(name, bias_scale):
    X, y = rows_of("two")
    model, rows = model_of(name, bias_scale=bias_scale), given(name, X, X)

    first, other = clone(model).fit(rows, y), clone(model).fit(rows, y == "a")

    assert_array_equal(other.classes_, [False, True])
    assert_allclose(first.primal_objective_, other.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(first.decision_function(rows), -other.decision_function(rows), atol=2e-3)
    assert_array_equal(first.predict(rows) == "a", other.predict(rows))


# Costs


@weighted_or_not
@every_scheme
@every_kernel
def test_a_regularization_equals_its_cost(name, scheme, weighted):
    X, y = rows_of(scheme)
    weight, rows = weights_of(len(y), weighted), given(name, X, X)
    n = len(y) if weight is None else weight.sum()

    by_cost = model_of(name, scheme).fit(rows, y, sample_weight=weight)
    by_penalty = model_of(name, scheme, C=None, regularization=1 / (C * n)).fit(rows, y, sample_weight=weight)

    assert_allclose(by_penalty.primal_objective_, by_cost.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(by_penalty.decision_function(rows), by_cost.decision_function(rows), atol=1e-3)


@weighted_or_not
@every_scheme
@every_bias
@every_kernel
def test_a_prior_weighs_the_rows_of_a_class_by_prior_over_share(name, bias_scale, scheme, weighted):
    X, y = rows_of(scheme)
    weight, rows = weights_of(len(y), weighted), given(name, X, X)
    prior = {"a": 0.2, "b": 0.8} if scheme == "two" else {"a": 0.2, "b": 0.5, "c": 0.3}
    times = np.ones(len(y)) if weight is None else weight
    share = {label: times[y == label].sum() / times.sum() for label in prior}
    equivalent = times * np.array([prior[label] / share[label] for label in y])

    by_prior = model_of(name, scheme, bias_scale=bias_scale, training_prior=prior).fit(rows, y, sample_weight=weight)
    by_weight = model_of(name, scheme, bias_scale=bias_scale).fit(rows, y, sample_weight=equivalent)

    assert_allclose(by_prior.primal_objective_, by_weight.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(by_prior.decision_function(rows), by_weight.decision_function(rows), atol=1e-3)


@every_kernel
def test_a_single_prior_is_that_of_the_second_class_and_the_share_changes_nothing(name):
    X, y = rows_of("two")
    rows, share = given(name, X, X), float(np.mean(y == "b"))

    plain = model_of(name).fit(rows, y)

    for prior in (share, [1 - share, share], {"b": share, "a": 1 - share}):
        same = model_of(name, training_prior=prior).fit(rows, y)
        assert_allclose(same.primal_objective_, plain.primal_objective_, rtol=3 * TOLERANCE)
    more = model_of(name, training_prior=0.95).fit(rows, y)
    assert (more.predict(rows) == "b").sum() > (plain.predict(rows) == "b").sum()


@every_scheme
@every_bias
@every_kernel
def test_models_of_a_path_equal_separate_fits(name, bias_scale, scheme):
    X, y = rows_of(scheme)
    weight, rows, values = weights_of(len(y), True), given(name, X, X), [1.0, 0.02, 5.0]
    model = model_of(name, scheme, bias_scale=bias_scale)

    path = model.path(rows, y, values, sample_weight=weight)

    assert not hasattr(model, "classes_")
    assert model.C == C
    assert [each.C for each in path] == values
    for each in path:
        alone = clone(model).set_params(C=each.C).fit(rows, y, sample_weight=weight)
        assert each.converged_
        assert each.n_features_in_ == alone.n_features_in_
        assert_allclose(each.primal_objective_, alone.primal_objective_, rtol=3 * TOLERANCE)
        assert_allclose(each.decision_function(rows), alone.decision_function(rows), atol=5e-3)


@every_kernel
def test_models_of_a_path_with_priors_equal_separate_fits(name):
    X, y = rows_of("ovr")
    model, rows = model_of(name, training_prior=[0.6, 0.3, 0.1]), given(name, X, X)

    for each in model.path(rows, y, (0.1, 10.0)):
        alone = clone(model).set_params(C=each.C).fit(rows, y)
        assert_allclose(each.primal_objective_, alone.primal_objective_, rtol=3 * TOLERANCE)


# The bias


@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0])
@every_scheme
@pytest.mark.parametrize("name", ["linear by the dual", "linear by the primal"])
def test_a_scaled_bias_is_the_weight_of_a_constant_column(name, scheme, scale):
    X, y = rows_of(scheme)
    extended = np.column_stack([X, np.full(len(X), scale)])

    with_bias = model_of(name, scheme, bias_scale=scale).fit(X, y)
    without = model_of(name, scheme, bias_scale=0).fit(extended, y)

    assert_allclose(with_bias.primal_objective_, without.primal_objective_, rtol=1e-7)
    assert_array_equal(without.intercept_, 0)
    assert_allclose(with_bias.coef_, without.coef_[:, :-1], atol=1e-3)
    assert_allclose(with_bias.intercept_, scale * without.coef_[:, -1], atol=1e-3)
    assert_allclose(with_bias.decision_function(X), without.decision_function(extended), atol=2e-3)


@every_scheme
@every_kernel
def test_a_scaled_bias_is_a_constant_added_to_the_kernel(name, scheme):
    X, y = rows_of(scheme)
    K = KERNELS[name][1](X, X)

    with_bias = model_of(name, scheme, bias_scale=2.0).fit(given(name, X, X), y)
    without = SVM(
        C, kernel="precomputed", bias_scale=0, multiclass="ovo" if scheme == "ovo" else "ovr", tol=TOLERANCE
    ).fit(K + 4, y)

    assert_allclose(with_bias.primal_objective_, without.primal_objective_, rtol=1e-7)
    assert_allclose(with_bias.decision_function(given(name, X, X)), without.decision_function(K + 4), atol=2e-3)


@pytest.mark.parametrize("name", ["linear by the dual", "linear by the primal", "rbf"])
def test_a_free_bias_and_its_kernel_do_not_depend_on_the_origin(name):
    X, y = rows_of("ovr")

    here, there = model_of(name).fit(X, y), model_of(name).fit(X + 1e6, y)

    assert_allclose(there.primal_objective_, here.primal_objective_, rtol=1e-6)
    assert_allclose(there.decision_function(X + 1e6), here.decision_function(X), atol=1e-3)


# Sparse rows, sources and files


@every_scheme
@every_bias
@every_kernel_of_rows
def test_sparse_rows_are_like_dense_ones(name, bias_scale, scheme):
    X, y = rows_of(scheme)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = model_of(name, scheme, bias_scale=bias_scale)

    dense, sparse = clone(model).fit(X, y), clone(model).fit(csr_array(X), y)

    assert_allclose(sparse.primal_objective_, dense.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=2e-3)
    assert_allclose(sparse.decision_function(X), sparse.decision_function(csr_array(X)), atol=1e-9)


@pytest.mark.parametrize(("block_rows", "solver"), [(13, "auto"), (50, "primal"), (200, "auto")])
@every_scheme
@every_bias
def test_a_source_gives_the_model_of_rows_in_memory(bias_scale, scheme, block_rows, solver):
    X, y = rows_of(scheme, 150)
    weight = weights_of(len(y), True) + 0.5
    model = SVM(C, bias_scale=bias_scale, multiclass="ovo" if scheme == "ovo" else "ovr", tol=TOLERANCE)

    found = clone(model).set_params(solver=solver).fit_source(Elsewhere(X, y, block_rows, weight))
    expected = clone(model).set_params(solver="primal").fit(X, y, sample_weight=weight)

    assert_array_equal(found.classes_, expected.classes_)
    assert found.n_features_in_ == 3
    assert_allclose(found.primal_objective_, expected.primal_objective_, rtol=3 * TOLERANCE)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=2e-3)
    assert not any(hasattr(found, name) for name in ("support_", "support_vectors_", "dual_coef_", "multipliers_"))


@every_scheme
@every_bias
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "function"])
def test_a_model_from_a_file_gives_the_same_scores(name, bias_scale, scheme, tmp_path):
    model, X, _, _, _ = fitted(name, bias_scale, scheme, weighted=True)
    rows = given(name, X[::3] + 0.1, X)

    save(model, tmp_path / "model")
    again = load(tmp_path / "model")

    assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert_array_equal(again.predict(rows), model.predict(rows))
    assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert (again.primal_objective_, again.dual_objective_) == (model.primal_objective_, model.dual_objective_)


@every_kernel
def test_scores_of_a_row_do_not_depend_on_other_rows(name):
    model, X, _, _, _ = fitted(name, None, "ovr", weighted=False)
    rows = given(name, X, X)

    together = model.decision_function(rows)

    assert_allclose(np.concatenate([model.decision_function(row[None]) for row in rows]), together, atol=1e-12)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@every_kernel
def test_the_class_of_the_highest_score_is_predicted_and_pairs_vote(name, scheme):
    model, X, y, _, K = fitted(name, None, scheme, weighted=False)

    scores = model.decision_function(given(name, X, X))

    assert scores.shape == (len(y), 3)
    assert_array_equal(model.predict(given(name, X, X)), model.classes_[scores.argmax(axis=1)])
    assert np.mean(model.predict(given(name, X, X)) == y) > 0.6
    if scheme == "ovo":
        pairs = K[:, model.support_] @ model.dual_coef_.T + model.intercept_
        votes, sums = np.zeros((len(y), 3)), np.zeros((len(y), 3))
        for pair, (first, second) in zip(pairs.T, combinations(range(3), 2), strict=True):
            votes[np.arange(len(y)), np.where(pair >= 0, second, first)] += 1
            sums[:, second] += pair
            sums[:, first] -= pair
        clear = np.abs(pairs).min(axis=1) > 1e-2
        assert (np.abs(scores - votes) < 1 / 3)[clear].all()
        assert ((scores - votes) * sums >= -1e-6)[clear].all()


def test_two_classes_are_one_problem_whatever_the_scheme():
    X, y = rows_of("two")

    rest, pairs = (SVM(C, multiclass=scheme, tol=TOLERANCE).fit(X, y) for scheme in ("ovr", "ovo"))

    assert_array_equal(rest.decision_function(X), pairs.decision_function(X))
    assert_array_equal(rest.predict(X), np.where(rest.decision_function(X) >= 0, "b", "a"))


# What does not change


@every_kernel
def test_an_error_leaves_a_fitted_model_as_it_was(name):
    model, X, y, _, _ = fitted(name, None, "ovr", weighted=False)
    rows = given(name, X, X)
    before, expected = {**vars(model)}, model.decision_function(rows)
    bad = rows.copy()
    bad[4, 1] = np.nan

    with pytest.raises(InvalidDataError):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(rows, np.full(len(y), "a"))

    assert vars(model) == before
    assert_array_equal(model.decision_function(rows), expected)


@pytest.mark.parametrize("name", ["linear by the dual", "polynomial 2"])
def test_inseparable_classes_leave_a_fitted_model_as_it_was(name):
    model, X, y, _, _ = fitted(name, None, "two", weighted=False)
    expected = model.decision_function(X)

    with pytest.raises(NotSeparableError):
        model.set_params(C=np.inf).fit(X, y)

    assert_array_equal(model.decision_function(X), expected)


@every_kernel
def test_fitting_changes_neither_rows_nor_labels_nor_parameters(name):
    X, y = rows_of("ovr")
    rows, weight = given(name, X, X), weights_of(len(y), True)
    copies = [each.copy() for each in (rows, y, weight)]
    model = model_of(name, training_prior=[0.2, 0.5, 0.3])
    parameters = model.get_params()

    model.fit(rows, y, sample_weight=weight)
    model.decision_function(rows)

    for each, copy in zip((rows, y, weight), copies, strict=True):
        assert_array_equal(each, copy)
    assert model.get_params() == parameters


@every_kernel
def test_a_second_fit_replaces_the_first(name):
    model, X, y, _, _ = fitted(name, None, "ovr", weighted=False)

    model.set_params(kernel="rbf" if name != "rbf" else "linear", solver="dual").fit(X[:, :2], y == "a")

    fresh = SVM(C, kernel=model.kernel, solver="dual", tol=TOLERANCE).fit(X[:, :2], y == "a")
    assert_array_equal(model.decision_function(X[:, :2]), fresh.decision_function(X[:, :2]))
    assert vars(model).keys() == vars(fresh).keys()


@every_kernel_of_rows
def test_out_of_fold_scores_equal_those_of_separate_fits(name):
    X, y = rows_of("ovr", 90)
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.flatnonzero(np.arange(90) % 3 == k)) for k in range(3)]
    models = [model_of(name, C=cost) for cost in (1.0, 0.1)]

    for model, found in zip(models, kfold_scores(models, X, y, folds), strict=True):
        for train, test in folds:
            expected = clone(model).fit(X[train], y[train]).decision_function(X[test])
            assert_allclose(found[test], expected, atol=5e-3)
