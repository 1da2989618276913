"""Laws of kernel methods, for any kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from likely import (
    PCA,
    ArraySource,
    FunctionKernel,
    KernelLogisticRegression,
    KernelPCA,
    LinearKernel,
    LogisticRegression,
    NystromFeatures,
    PolynomialKernel,
    RBFKernel,
    Source,
    kfold_scores,
)
from likely.blocks import arrays
from likely.kernels import base as pieces


def overlap(A, B):
    """Return the overlap of rows, taken as intervals that start at 0."""
    return np.minimum(np.abs(A)[:, None], np.abs(B)).sum(axis=2)


class Elsewhere(Source):
    """Source that provides its rows only in blocks."""

    def __init__(self, source):
        self.n_features, self.classes, self.n_blocks, self.block = 4, source.classes, source.n_blocks, source.block

    def block(self, index):
        raise NotImplementedError


KERNELS = [
    LinearKernel(),
    PolynomialKernel(3),
    RBFKernel(),
    RBFKernel(2.0),
    FunctionKernel(overlap),
    0.5 * RBFKernel() + LinearKernel() * PolynomialKernel(2),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel).split(" at 0x")[0])

PRECISE = 1e-13
MODELS = [KernelLogisticRegression(0.05, kernel=kernel, tol=PRECISE) for kernel in KERNELS] + [
    KernelLogisticRegression(0.01, kernel="rbf", training_prior={"a": 0.5, "b": 0.3, "c": 0.2}, tol=PRECISE),
    KernelLogisticRegression(0.01, kernel="rbf", n_landmarks=15, random_state=0, tol=PRECISE),
    KernelLogisticRegression(0.01, kernel="linear", n_landmarks=9, random_state=3, tol=PRECISE),
]
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: str(model).split(" at 0x")[0].replace("\n", "")
)


@pytest.fixture
def data(rng):
    y = np.array(["a", "b", "c"])[rng.choice(3, size=90, p=[0.5, 0.3, 0.2])]
    X = np.round(
        rng.normal(size=(90, 4))
        + np.array([[0.0, 2, 0, 1], [1, 0, 2, 0], [0, 0, 1, 2]])[np.unique(y, return_inverse=True)[1]],
        2,
    )
    return X, y


def rounded(rng, n):
    return np.round(rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + 1, 2)


# Kernel PCA


@every_kernel
def test_scores_of_the_training_rows_have_mean_0_and_the_variances_of_the_eigenvalues(kernel, rng):
    X, weight = rounded(rng, 60), rng.integers(1, 4, 60).astype(float)
    fitted = KernelPCA(3, kernel=kernel).fit(X, sample_weight=weight)

    scores = fitted.transform(X)

    covariance = scores.T @ (weight[:, None] * scores)
    size = np.sqrt(fitted.eigenvalues_[0])
    assert scores.shape == (60, fitted.n_components_)
    assert_allclose(weight @ scores, 0, atol=1e-7 * size)
    assert_allclose(covariance, np.diag(fitted.eigenvalues_), atol=1e-8 * fitted.eigenvalues_[0])
    assert (np.diff(fitted.eigenvalues_) <= 0).all()
    assert (scores[np.abs(scores).argmax(axis=0), range(3)] > 0).all()


@every_kernel
def test_all_components_preserve_distances_in_the_space_of_the_kernel(kernel, rng):
    X = rounded(rng, 40)
    fitted = KernelPCA(kernel=kernel).fit(X)
    K = fitted.kernel_(X)

    scores = fitted.transform(X)

    distances = K.diagonal()[:, None] + K.diagonal() - 2 * K
    found = np.square(scores[:, None] - scores).sum(axis=2)
    assert_allclose(found, distances, atol=1e-8 * distances.max())


@every_kernel
def test_weights_equal_repetition_for_components_and_order_does_not_matter(kernel, rng):
    X, repeats = rounded(rng, 50), rng.integers(0, 4, 50)
    order = rng.permutation(50)

    weighted = KernelPCA(2, kernel=kernel).fit(X[order], sample_weight=repeats[order])
    repeated = KernelPCA(2, kernel=kernel).fit(np.repeat(X, repeats, axis=0))

    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    scale = np.sqrt(repeated.eigenvalues_[0])
    assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-8 * scale)


@every_kernel
def test_components_of_sparse_rows_and_kernel_matrices_equal_those_of_dense_rows(kernel, rng):
    X = rounded(rng, 50) * (rng.random((50, 3)) < 0.7)
    new = rounded(rng, 20)
    dense = KernelPCA(3, kernel=kernel).fit(X)
    expected = dense.transform(new)
    tol = 1e-8 * np.abs(expected).max()

    sparse = KernelPCA(3, kernel=kernel).fit(csr_array(X))
    given = KernelPCA(3, kernel="precomputed").fit(dense.kernel_(X))

    assert_allclose(sparse.transform(csr_array(new)), expected, atol=tol)
    assert_allclose(sparse.transform(new), expected, atol=tol)
    assert_allclose(given.transform(dense.kernel_(new, X)), expected, atol=tol)
    assert_allclose(given.eigenvalues_, dense.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("n_components", [None, 1, 2])
def test_components_of_the_linear_kernel_equal_pca_up_to_sign(n_components, rng):
    X, weight = rounded(rng, 80) @ rng.normal(size=(3, 3)), rng.integers(1, 4, 80)
    ours, plain = KernelPCA(n_components, kernel="linear"), PCA(n_components)

    scores, expected = (each.fit(X, sample_weight=weight).transform(X) for each in (ours, plain))

    assert_allclose(np.abs(scores), np.abs(expected), atol=1e-10)
    assert_allclose(ours.eigenvalues_, plain.explained_variance_ * weight.sum())


def test_few_components_are_the_first_of_all_components(rng):
    X = rounded(rng, 60)
    every = KernelPCA().fit(X)

    few = KernelPCA(4).fit(X)

    assert_allclose(few.eigenvalues_, every.eigenvalues_[:4])
    assert_allclose(few.transform(X), every.transform(X)[:, :4], atol=1e-9)


# Nyström features


@every_kernel
def test_dot_products_of_features_equal_the_kernel_if_all_rows_are_landmarks(kernel, rng):
    X = rounded(rng, 40)
    fitted = NystromFeatures(60, kernel=kernel, random_state=0).fit(X)

    phi = fitted.transform(X)

    K = fitted.kernel_(X)
    assert phi.shape == (40, 60)
    assert_allclose(phi @ phi.T, K, atol=1e-9 * np.abs(K).max())


@every_kernel
def test_dot_products_of_features_equal_the_projection_onto_the_landmarks(kernel, rng):
    X = rounded(rng, 80)
    fitted = NystromFeatures(6, kernel=kernel, random_state=0).fit(X)
    Z, k = fitted.landmarks_, fitted.kernel_

    phi, at_landmarks = fitted.transform(X), fitted.transform(Z)

    assert Z.shape == (6, 3)
    assert (X[:, None] == Z).all(axis=2).any(axis=0).all()
    size = np.abs(k(X)).max()
    assert_allclose(phi @ phi.T, k(X, Z) @ np.linalg.pinv(k(Z), 1e-12, hermitian=True) @ k(Z, X), atol=1e-8 * size)
    assert_allclose(at_landmarks @ at_landmarks.T, k(Z), atol=1e-8 * size)
    assert (np.square(phi).sum(axis=1) <= k(X).diagonal() + 1e-9 * size).all()


def test_equal_rows_are_one_landmark_and_rows_of_large_weight_are_drawn_more_often(rng):
    X = np.repeat(np.arange(20.0), 5)[:, None]
    heavy = np.where(X.ravel() < 2, 200.0, 1.0)

    drawn = [NystromFeatures(4, random_state=seed).fit(X, sample_weight=heavy).landmarks_ for seed in range(200)]

    assert all(len(np.unique(rows)) == 4 for rows in drawn)
    assert np.mean([0.0 in rows and 1.0 in rows for rows in drawn]) > 0.9


# Kernel logistic regression


@every_model
def test_weights_equal_repetition_and_rows_of_weight_zero_have_no_effect(model, data, rng):
    X, y = data
    repeats = rng.integers(0, 4, len(y))

    weighted = clone(model).fit(X, y, sample_weight=repeats.astype(float))
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    assert_allclose(weighted.log_likelihood(X), repeated.log_likelihood(X), atol=1e-5)
    assert_allclose(weighted.training_priors_, repeated.training_priors_)


@every_model
def test_the_order_of_rows_and_the_division_into_blocks_do_not_matter(model, data, rng, monkeypatch):
    X, y = data
    order = rng.permutation(len(y))
    whole = clone(model).fit(X, y)

    monkeypatch.setattr(arrays, "ROW_VALUES", 2**8)
    monkeypatch.setattr(pieces, "ROWS", 7)
    monkeypatch.setattr(pieces, "COLUMNS", 13)
    other = clone(model).fit(X[order], y[order])

    assert_allclose(other.log_likelihood(X), whole.log_likelihood(X), atol=1e-5)


@every_model
def test_rows_may_be_sparse(model, data):
    X, y = data

    sparse = clone(model).fit(csr_array(X), y)

    assert_allclose(sparse.log_likelihood(csr_array(X)), clone(model).fit(X, y).log_likelihood(X), atol=1e-5)


@every_model
def test_the_objective_follows_from_the_attributes_and_is_stationary(model, data):
    """β of the representer theorem, λβ_i = a_i (y_i − P_i), gives the same logits as the fitted coefficients."""
    X, y = data
    fitted = clone(model).fit(X, y)
    K = fitted.kernel_(fitted.landmarks_)
    at_rows = fitted.kernel_(X, fitted.landmarks_)
    P, T = np.exp(fitted.log_likelihood(X)) * fitted.training_priors_, y[:, None] == fitted.classes_
    a = (T / T.sum(axis=0)) @ fitted.training_priors_
    beta, lam = fitted.dual_coef_, fitted.regularization

    objective = -(a @ np.log(P[T])) + lam / 2 * np.einsum("kn,nm,km->", beta, K, beta)

    assert_allclose(P.sum(axis=1), 1)
    assert fitted.objective_ == pytest.approx(objective, rel=1e-9)
    gradient = at_rows.T @ (a[:, None] * (P - T)) + lam * K @ beta.T
    assert_allclose(gradient, 0, atol=1e-5 * np.abs(at_rows).max())
    assert_allclose(a @ (P - T), 0, atol=1e-6)


@every_model
def test_a_path_equals_separate_fits_and_shares_what_does_not_depend_on_the_penalty(model, data, rng):
    X, y = data
    weight, strengths = rng.integers(1, 4, len(y)).astype(float), [0.01, 1.0, 0.1]

    path = clone(model).path(X, y, strengths, sample_weight=weight)

    assert [each.regularization for each in path] == strengths
    assert path[0].landmarks_ is path[1].landmarks_
    for each in path:
        alone = clone(model).set_params(regularization=each.regularization).fit(X, y, sample_weight=weight)
        assert each.objective_ == pytest.approx(alone.objective_, rel=1e-9)
        assert_allclose(each.log_likelihood(X), alone.log_likelihood(X), rtol=1e-5, atol=1e-5)
        assert_array_equal(each.classes_, alone.classes_)
        assert each.n_features_in_ == 4


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [None, (0.2, 0.5, 0.3)])
@pytest.mark.parametrize("n_landmarks", [None, 50])
def test_the_linear_kernel_equals_logistic_regression(n_classes, prior, n_landmarks, data, rng):
    X, y = data[0], np.arange(90) % n_classes
    weight = rng.integers(1, 4, 90).astype(float)
    prior = None if prior is None else np.array(prior[:n_classes]) / sum(prior[:n_classes])
    options = {"training_prior": prior, "tol": PRECISE}

    for strength in (1.0, 1e-2, 1e-4):
        ours = KernelLogisticRegression(strength, kernel="linear", n_landmarks=n_landmarks, **options)
        plain = LogisticRegression(strength, **options).fit(X, y, sample_weight=weight)
        ours.fit(X, y, sample_weight=weight)
        assert_allclose(ours.log_likelihood(X), plain.log_likelihood(X), atol=1e-6)
        assert_allclose(ours.dual_coef_ @ ours.landmarks_, plain.coef_, atol=1e-6)
        assert ours.objective_ == pytest.approx(plain.objective_, rel=1e-10)
        assert len(ours.dual_coef_) == (1 if n_classes == 2 else 3)


@every_kernel
def test_as_many_landmarks_as_rows_equal_the_default(kernel, data):
    X, y = data

    every = KernelLogisticRegression(0.05, kernel=kernel, tol=PRECISE).fit(X, y)
    drawn = KernelLogisticRegression(0.05, kernel=kernel, tol=PRECISE, n_landmarks=90).fit(X, y)

    assert drawn.objective_ == pytest.approx(every.objective_, rel=1e-9)
    assert_allclose(drawn.log_likelihood(X), every.log_likelihood(X), atol=1e-5)


@every_kernel
def test_more_landmarks_never_raise_the_objective(kernel, data):
    X, y = data
    landmarks = [5, 20, 60, None]

    models = [KernelLogisticRegression(0.05, kernel=kernel, n_landmarks=n, random_state=0).fit(X, y) for n in landmarks]

    values = np.array([model.objective_ for model in models])
    assert (np.diff(values) <= 1e-7).all()


@every_kernel
def test_a_kernel_matrix_gives_the_same_log_likelihoods_as_rows(kernel, data):
    X, y = data
    kernel = kernel.fitted(X[:60])
    weight = (np.arange(60) % 5 > 0).astype(float)

    by_rows = KernelLogisticRegression(0.05, kernel=kernel, tol=PRECISE).fit(X[:60], y[:60], sample_weight=weight)
    given = KernelLogisticRegression(0.05, kernel="precomputed", tol=PRECISE)
    given.fit(kernel(X[:60]), y[:60], sample_weight=weight)

    assert_array_equal(given.landmarks_, np.flatnonzero(weight))
    assert_allclose(given.log_likelihood(kernel(X[60:], X[:60])), by_rows.log_likelihood(X[60:]), atol=1e-5)


@pytest.mark.parametrize("block_rows", [1, 40, 1000])
def test_a_source_gives_the_same_landmarks_as_arrays(block_rows, data):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    model = KernelLogisticRegression(0.01, n_landmarks=20, random_state=0, tol=PRECISE)

    source = Elsewhere(ArraySource(X, codes, classes=classes, block_rows=block_rows))
    found = clone(model).fit_source(source)

    assert_allclose(found.log_likelihood(X), clone(model).fit(X, y).log_likelihood(X), atol=1e-5)


def test_features_too_large_for_memory_are_computed_in_every_pass(data, monkeypatch):
    from likely.models import kernel_logistic

    X, y = data
    model = KernelLogisticRegression(0.01, n_landmarks=20, random_state=0, tol=PRECISE)
    expected = clone(model).fit(X, y).log_likelihood(X)

    monkeypatch.setattr(kernel_logistic, "MAX_FEATURE_VALUES", 0)

    assert_allclose(clone(model).fit(X, y).log_likelihood(X), expected, atol=1e-5)


def test_out_of_fold_scores_along_a_path_equal_separate_fits(data):
    X, y = data
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.flatnonzero(np.arange(90) % 3 == k)) for k in range(3)]
    models = [KernelLogisticRegression(lam, tol=PRECISE) for lam in (0.1, 0.01)]

    scores = kfold_scores(models, X, y, folds)

    for model, found in zip(models, scores, strict=True):
        for train, test in folds:
            expected = clone(model).fit(X[train], y[train]).log_likelihood(X[test])
            assert_allclose(found[test], expected, atol=1e-5)
