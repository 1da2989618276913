"""Kernels are those of scikit-learn."""

import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.metrics import pairwise

from likely import FunctionKernel, LinearKernel, PolynomialKernel, RBFKernel

PAIRS = [
    (LinearKernel(), pairwise.linear_kernel, {}),
    (PolynomialKernel(2), pairwise.polynomial_kernel, {"degree": 2, "gamma": 1}),
    (PolynomialKernel(5, offset=0.25), pairwise.polynomial_kernel, {"degree": 5, "gamma": 1, "coef0": 0.25}),
    (RBFKernel(0.3), pairwise.rbf_kernel, {"gamma": 0.3}),
    (RBFKernel(1e-5), pairwise.rbf_kernel, {"gamma": 1e-5}),
    (
        RBFKernel(0.3) * PolynomialKernel(3) + LinearKernel(),
        lambda A, B: (
            pairwise.rbf_kernel(A, B, 0.3) * pairwise.polynomial_kernel(A, B, 3, 1) + pairwise.linear_kernel(A, B)
        ),
        {},
    ),
    (FunctionKernel(pairwise.laplacian_kernel), pairwise.laplacian_kernel, {}),
]


@pytest.mark.parametrize(("kernel", "theirs", "options"), PAIRS, ids=lambda value: str(value).split(" at 0x")[0])
def test_the_matrix_is_scikit_learn_s(kernel, theirs, options, rng):
    A, B = rng.normal(size=(300, 6)), rng.normal(size=(600, 6)) + 1

    assert_allclose(kernel(A, B), theirs(A, B, **options), rtol=1e-9, atol=1e-12)
    assert_allclose(kernel(A), theirs(A, A, **options), rtol=1e-9, atol=1e-12)
    assert_allclose(kernel(csr_array(A), csr_array(B)), theirs(A, B, **options), rtol=1e-9, atol=1e-12)


def test_gamma_of_the_data_is_that_of_scikit_learn_for_columns_of_one_mean_and_variance(rng):
    X = rng.normal(size=(400, 5))
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    scale = 1 / (X.shape[1] * X.var())  # gamma="scale" of sklearn.svm.SVC

    assert RBFKernel().fitted(X).gamma == pytest.approx(scale)
