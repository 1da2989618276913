"""Laws of kernels."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array

from likely import ConstantKernel, FunctionKernel, LinearKernel, PolynomialKernel, RBFKernel
from likely.kernels import GramRows, check_semi_definite, compute_matrix, weighted_sums
from likely.kernels import base as pieces


def overlap(A, B):
    """Return the overlap of rows as intervals from 0."""
    return np.minimum(np.abs(A)[:, None], np.abs(B)).sum(axis=2)


KERNELS = [
    LinearKernel(),
    PolynomialKernel(2),
    PolynomialKernel(3, offset=0),
    PolynomialKernel(7, offset=0.3),
    RBFKernel(0.1),
    RBFKernel(30.0),
    RBFKernel(),
    ConstantKernel(2.5),
    FunctionKernel(overlap),
    LinearKernel() + RBFKernel(0.5),
    LinearKernel() * RBFKernel(0.5),
    2.0 * PolynomialKernel(2) + 1.0,
    (RBFKernel(0.2) + 0.5) * (LinearKernel() + FunctionKernel(overlap)),
]
everyone = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel).split(" at 0x")[0])


@pytest.fixture
def X(rng):
    return rng.normal(size=(70, 4)) * (rng.random((70, 4)) < 0.6)


@pytest.fixture
def short(monkeypatch):
    """Compute matrices in several pieces."""
    monkeypatch.setattr(pieces, "ROWS", 11)
    monkeypatch.setattr(pieces, "COLUMNS", 17)


@everyone
def test_a_kernel_is_symmetric_and_positive_semi_definite(kernel, X):
    K = kernel(X)

    assert_allclose(K, K.T, rtol=1e-12, atol=1e-12 * np.abs(K).max())
    values = eigvalsh(K)
    assert values[0] >= -1e-12 * values[-1]
    check_semi_definite(kernel, X)


@everyone
def test_a_kernel_value_depends_only_on_its_two_rows(kernel, X):
    kernel = kernel.fitted(X)
    K = kernel(X)

    assert_allclose(kernel(X[5:6], X[9:10]), K[5:6, 9:10], rtol=1e-10, atol=1e-13)
    assert_allclose(kernel(X[::-1], X[20:]), K[::-1, 20:], rtol=1e-10, atol=1e-13)
    assert_allclose(kernel(X[:3]), K[:3, :3], rtol=1e-10, atol=1e-13)


@everyone
def test_sparse_and_dense_rows_have_the_same_kernel(kernel, X):
    kernel = kernel.fitted(X)
    expected = kernel(X, X[:30])

    assert_allclose(kernel(csr_array(X), csr_array(X[:30])), expected, rtol=1e-10, atol=1e-13)
    assert_allclose(kernel(X, csr_array(X[:30])), expected, rtol=1e-10, atol=1e-13)
    assert_allclose(kernel(csr_array(X), X[:30]), expected, rtol=1e-10, atol=1e-13)


@everyone
def test_numbers_of_any_type_are_converted_to_doubles(kernel, X):
    whole = np.rint(3 * X)

    for dtype in (np.float32, np.int8, np.int64):
        assert_allclose(kernel(whole.astype(dtype)), kernel(whole), rtol=1e-12)
        assert_allclose(kernel(csr_array(whole.astype(dtype))), kernel(csr_array(whole)), rtol=1e-12)


@everyone
@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_weighted_sums_equal_those_of_the_matrix_for_any_pieces(kernel, X, rng, wrap, request):
    kernel, weights = kernel.fitted(X), rng.normal(size=(40, 3))
    columns = kernel.columns(wrap(X[:40]))
    K = compute_matrix(columns, wrap(X))

    request.getfixturevalue("short")

    assert_allclose(compute_matrix(columns, wrap(X)), K, rtol=1e-10, atol=1e-13)
    assert_allclose(weighted_sums(columns, wrap(X), weights), K @ weights, rtol=1e-10, atol=1e-11 * np.abs(K).max())


@everyone
def test_fitting_a_fitted_kernel_or_pickling_it_changes_nothing(kernel, X):
    fitted = kernel.fitted(X)

    assert fitted.fitted(X * 3 + 1) == fitted
    assert pickle.loads(pickle.dumps(fitted)) == fitted
    assert_array_equal(fitted(X), kernel(X))


@everyone
@pytest.mark.parametrize("n_kept", [5, 33, 70, 1000])
def test_cached_rows_equal_the_matrix_for_any_capacity_and_order(kernel, X, rng, n_kept, short):
    kernel = kernel.fitted(X)
    K, limit = kernel(X), 8 * 70 * n_kept
    gram = GramRows(kernel, X, limit)

    assert 2 <= gram.max_set <= gram.capacity <= min(70, n_kept)
    for _ in range(25):
        asked = rng.permutation(70)[: rng.integers(1, gram.capacity + 1)]
        slots = gram.slots(asked)
        assert len(np.unique(slots)) == len(asked)
        assert_allclose(gram.kept[slots], K[asked], rtol=1e-10, atol=1e-13)
        assert gram.kept.nbytes + 8 * gram.max_set**2 <= limit


def test_rows_are_computed_once_while_they_fit_and_the_oldest_are_replaced():
    X = np.arange(6.0)[:, None]
    gram = GramRows(LinearKernel(), X, 200)

    for asked, n_computed in (([0, 1, 2], 3), ([2, 0], 3), ([3], 4), ([0, 2], 4), ([1], 5), ([3], 6)):
        gram.slots(np.array(asked))
        assert gram.n_computed == n_computed
    everything = GramRows(LinearKernel(), X, 2**20)
    for _ in range(3):
        everything.slots(np.arange(6))
    assert everything.n_computed == 6


@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_cached_kernels_of_sparse_rows_equal_the_matrix(X, wrap):
    gram = GramRows(RBFKernel(0.3), wrap(X), 8 * 70 * 9)
    asked = np.array([69, 3, 14])

    assert_allclose(gram.kept[gram.slots(asked)], RBFKernel(0.3)(X)[asked], rtol=1e-12)
