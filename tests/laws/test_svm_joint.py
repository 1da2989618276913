"""Laws of support vector machines with a joint margin, for every kernel and bias."""

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
    "linear": ("linear", lambda A, B: A @ B.T),
    "polynomial": (PolynomialKernel(2), lambda A, B: (A @ B.T + 1) ** 2),
    "rbf": (RBFKernel(0.3), bumps),
    "sum": (2 * RBFKernel(0.3) + LinearKernel() + 0.2, lambda A, B: 2 * bumps(A, B) + A @ B.T + 0.2),
    "function": (near, near),
    "precomputed": ("precomputed", bumps),
}
"""The kernel as a parameter, and its Gram matrix by NumPy."""

TOLERANCE, C = 1e-8, 0.7

CLOSE = 5e-3
"""Tolerance for scores of two fits: ½‖w − w*‖² is at most the gap, so scores differ by its square root."""

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_bias = pytest.mark.parametrize("bias_scale", [None, 1.5], ids=["free", "scaled"])


class Elsewhere(Source):
    """A source whose rows are not in memory."""

    def __init__(self, X, y, block_rows, weight=None):
        classes, codes = np.unique(y, return_inverse=True)
        source = ArraySource(X, codes, weight, classes, block_rows=block_rows)
        self.n_features, self.classes, self.n_blocks, self.block = X.shape[1], classes, source.n_blocks, source.block

    def block(self, index):
        raise NotImplementedError


def rows_of(n=60, seed=7):
    """Three overlapping classes of unequal sizes."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    X = np.round(rng.normal(size=(n, 3)) + np.array([[0.0, 1, 0], [1, 0, 1], [-1, 0, 1]])[codes], 2)
    return X, np.array(["a", "b", "c"])[codes]


def weights_of(n):
    return np.random.default_rng(3).integers(0, 4, n).astype(float)


def model_of(name, bias_scale=None, **options):
    options = {"C": C, "tol": TOLERANCE, **options}
    return SVM(kernel=KERNELS[name][0], bias_scale=bias_scale, multiclass="joint", **options)


def given(name, A, B):
    """The X that a model with this kernel takes for rows A, with training rows B."""
    return bumps(A, B) if name == "precomputed" else A


def assert_same_minimum(first, other):
    assert first.converged_
    assert other.converged_
    assert_allclose(first.primal_objective_, other.primal_objective_, rtol=2 * TOLERANCE)


# Optimality of both problems


@every_bias
@every_kernel
def test_the_objective_is_that_of_the_scores_and_bounded_by_the_dual(name, bias_scale):
    X, y = rows_of()
    rows, weight = given(name, X, X), weights_of(len(y))
    model = model_of(name, bias_scale).fit(rows, y, sample_weight=weight)

    scores, own = model.decision_function(rows), (np.arange(len(y)), np.searchsorted(model.classes_, y))
    excess = 1 + scores - scores[own][:, None]
    excess[own] = 0.0
    bias = 0.0 if bias_scale is None else np.square(model.intercept_ / bias_scale).sum() / 2
    primal = (1 / np.square(model.margins_)).sum() / 2 + bias + C * weight @ excess.max(axis=1)

    assert_allclose(model.primal_objective_, primal, rtol=1e-7)
    assert -1e-12 * primal <= model.gap_ <= TOLERANCE * primal
    assert model.converged_


@every_bias
@every_kernel
def test_scores_are_sums_over_the_support_vectors(name, bias_scale):
    X, y = rows_of()
    model = model_of(name, bias_scale).fit(given(name, X, X), y)

    K = KERNELS[name][1](X, X[model.support_])

    assert model.dual_coef_.shape == (3, len(model.support_))
    assert (np.diff(model.support_) > 0).all()
    assert_allclose(model.decision_function(given(name, X, X)), K @ model.dual_coef_.T + model.intercept_, atol=CLOSE)
    assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-3 * C)


# Weights, order, labels


@every_bias
@every_kernel
def test_weights_equal_repetition_and_rows_of_weight_0_are_ignored(name, bias_scale):
    X, y = rows_of()
    weight = weights_of(len(y))
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    model = model_of(name, bias_scale)

    weighted = clone(model).fit(given(name, X, X), y, sample_weight=weight)
    repeated = clone(model).fit(given(name, X[rows], X[rows]), y[rows])

    assert_same_minimum(weighted, repeated)
    assert (weight[weighted.support_] > 0).all()
    assert_allclose(
        weighted.decision_function(given(name, X, X)), repeated.decision_function(given(name, X, X[rows])), atol=CLOSE
    )


@every_bias
@every_kernel
def test_the_order_of_the_rows_does_not_matter(name, bias_scale):
    X, y = rows_of()
    order = np.random.default_rng(1).permutation(len(y))
    model = model_of(name, bias_scale)

    first = clone(model).fit(given(name, X, X), y)
    other = clone(model).fit(given(name, X[order], X[order]), y[order])

    assert_same_minimum(first, other)
    assert_allclose(
        first.decision_function(given(name, X, X)), other.decision_function(given(name, X, X[order])), atol=CLOSE
    )


@every_bias
@every_kernel
def test_relabelling_only_renames_the_classes(name, bias_scale):
    X, y = rows_of()
    renamed = np.array([3, 1, 2])[np.searchsorted(["a", "b", "c"], y)]
    model, rows = model_of(name, bias_scale), given(name, X, X)

    first, other = clone(model).fit(rows, y), clone(model).fit(rows, renamed)

    assert_array_equal(other.classes_, [1, 2, 3])
    assert_same_minimum(first, other)
    assert_allclose(first.decision_function(rows), other.decision_function(rows)[:, [2, 0, 1]], atol=CLOSE)


@every_kernel
def test_a_prior_weighs_the_rows_of_a_class_by_prior_over_share(name):
    X, y = rows_of()
    rows, prior = given(name, X, X), {"a": 0.2, "b": 0.5, "c": 0.3}
    weight = np.array([prior[label] / np.mean(y == label) for label in y])

    by_prior = model_of(name, training_prior=prior).fit(rows, y)
    by_weight = model_of(name).fit(rows, y, sample_weight=weight)

    assert_same_minimum(by_prior, by_weight)
    assert_allclose(by_prior.decision_function(rows), by_weight.decision_function(rows), atol=CLOSE)


@every_bias
@every_kernel
def test_models_of_a_path_equal_separate_fits(name, bias_scale):
    X, y = rows_of()
    weight, rows, values = weights_of(len(y)), given(name, X, X), [1.0, 0.02, 5.0]
    model = model_of(name, bias_scale)

    path = model.path(rows, y, values, sample_weight=weight)

    assert not hasattr(model, "classes_")
    assert [each.C for each in path] == values
    for each in path:
        alone = clone(model).set_params(C=each.C).fit(rows, y, sample_weight=weight)
        assert_same_minimum(each, alone)
        assert_allclose(each.decision_function(rows), alone.decision_function(rows), atol=2 * CLOSE)


# Sparse rows, sources and files


@every_bias
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
def test_sparse_rows_are_like_dense_ones(name, bias_scale):
    X, y = rows_of()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = model_of(name, bias_scale)

    dense, sparse = clone(model).fit(X, y), clone(model).fit(csr_array(X), y)

    assert_same_minimum(dense, sparse)
    assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=CLOSE)
    assert_allclose(sparse.decision_function(X), sparse.decision_function(csr_array(X)), atol=1e-9)


@pytest.mark.parametrize("block_rows", [13, 50, 200])
@every_bias
def test_a_source_gives_the_model_of_rows_in_memory(bias_scale, block_rows):
    X, y = rows_of(150)
    weight = weights_of(len(y)) + 0.5
    model = model_of("linear", bias_scale)

    found = clone(model).fit_source(Elsewhere(X, y, block_rows, weight))
    expected = clone(model).fit(X, y, sample_weight=weight)

    assert_array_equal(found.classes_, expected.classes_)
    assert_same_minimum(found, expected)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=CLOSE)
    assert not any(hasattr(found, name) for name in ("support_", "support_vectors_", "dual_coef_", "multipliers_"))


@every_bias
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "function"])
def test_a_model_from_a_file_gives_the_same_scores(name, bias_scale, tmp_path):
    X, y = rows_of()
    model = model_of(name, bias_scale).fit(given(name, X, X), y, sample_weight=weights_of(len(y)))
    rows = given(name, X[::3] + 0.1, X)

    save(model, tmp_path / "model")
    again = load(tmp_path / "model")

    assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert_array_equal(again.predict(rows), model.predict(rows))
    assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert (again.primal_objective_, again.dual_objective_) == (model.primal_objective_, model.dual_objective_)


@every_kernel
def test_scores_of_a_row_do_not_depend_on_other_rows_and_the_highest_decides(name):
    X, y = rows_of()
    rows = given(name, X, X)
    model = model_of(name).fit(rows, y)

    together = model.decision_function(rows)

    assert_allclose(np.concatenate([model.decision_function(row[None]) for row in rows]), together, atol=1e-12)
    assert_array_equal(model.predict(rows), model.classes_[together.argmax(axis=1)])


# What does not change


@every_kernel
def test_an_error_leaves_a_fitted_model_as_it_was(name):
    X, y = rows_of()
    rows = given(name, X, X)
    model = model_of(name).fit(rows, y)
    before, expected = {**vars(model)}, model.decision_function(rows)
    bad = rows.copy()
    bad[4, 1] = np.nan

    with pytest.raises(InvalidDataError):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(rows, np.full(len(y), "a"))

    assert vars(model) == before
    assert_array_equal(model.decision_function(rows), expected)


@every_kernel
def test_an_infinite_cost_leaves_a_fitted_model_as_it_was(name):
    X, y = rows_of()
    rows = given(name, X, X)
    model = model_of(name).fit(rows, y)
    expected = model.decision_function(rows)

    with pytest.raises(ValueError, match="needs a finite C"):
        model.set_params(C=np.inf).fit(rows, y)

    assert_array_equal(model.decision_function(rows), expected)


@every_kernel
def test_fitting_changes_neither_rows_nor_labels_nor_parameters(name):
    X, y = rows_of()
    rows, weight = given(name, X, X), weights_of(len(y))
    copies = [each.copy() for each in (rows, y, weight)]
    model = model_of(name, training_prior=[0.2, 0.5, 0.3])
    parameters = model.get_params()

    model.fit(rows, y, sample_weight=weight)
    model.decision_function(rows)

    for each, copy in zip((rows, y, weight), copies, strict=True):
        assert_array_equal(each, copy)
    assert model.get_params() == parameters


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
def test_out_of_fold_scores_equal_those_of_separate_fits(name):
    X, y = rows_of(90)
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.flatnonzero(np.arange(90) % 3 == k)) for k in range(3)]
    models = [model_of(name, C=cost) for cost in (1.0, 0.1)]

    for model, found in zip(models, kfold_scores(models, X, y, folds), strict=True):
        for train, test in folds:
            expected = clone(model).fit(X[train], y[train]).decision_function(X[test])
            assert_allclose(found[test], expected, atol=CLOSE)
