"""Numbers and messages of kernels, and of their sums and products."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from likely import (
    SVM,
    ConstantKernel,
    FunctionKernel,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    KernelProduct,
    KernelSum,
    LinearKernel,
    MissingValuesError,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
)
from likely.kernels import check_semi_definite, compute_matrix, resolve_kernel
from likely.kernels.gram import copy_landmarks, eigendecompose, fit_kernel, prepare_landmarks

A, B = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[3.0, 4.0], [1.0, 1.0], [0.0, 2.0]])
PRODUCTS = np.array([[11.0, 3.0, 4.0], [-4.0, -1.0, -2.0]])


def test_linear_and_polynomial_kernels_equal_hand_computed_values():
    assert_allclose(LinearKernel()(A, B), PRODUCTS)
    assert_allclose(PolynomialKernel(2)(A, B), [[144, 16, 25], [9, 0, 1]])
    assert_allclose(PolynomialKernel(3, offset=0)(A, B), PRODUCTS**3)
    for degree in range(1, 14):
        assert_allclose(PolynomialKernel(degree, 0.5)(A, B), (PRODUCTS + 0.5) ** degree)


def test_the_quadratic_kernel_is_the_dot_product_of_its_explicit_features():
    def phi(x):
        return np.concatenate([np.outer(x, x).ravel(), np.sqrt(2) * x, [1.0]])

    found = PolynomialKernel(2)(A, B)

    assert_allclose(found, [[phi(a) @ phi(b) for b in B] for a in A], atol=1e-12)


def test_the_rbf_kernel_equals_hand_computed_values():
    squares = np.array([[8.0, 1.0, 1.0], [34.0, 5.0, 9.0]])

    assert_allclose(RBFKernel(0.25)(A, B), np.exp(-squares / 4))
    assert_allclose(RBFKernel(0.25)(A).diagonal(), 1)


def test_functions_cannot_write_to_the_rows_they_are_given():
    X = np.arange(6.0).reshape(3, 2)

    def careless(A, B):
        A /= 10
        return A @ B.T

    with pytest.raises(ValueError, match="read-only"):
        FunctionKernel(careless)(X)
    assert_array_equal(X, np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("kind", [complex, str])
def test_functions_must_return_real_numbers(kind):
    with pytest.raises(InvalidDataError, match="Kernel values must be real numbers, but the function"):
        FunctionKernel(lambda A, B: (A @ B.T).astype(kind))(np.eye(2))


@pytest.mark.parametrize("n", [50, 700])
def test_functions_that_call_kernels_work_at_any_position_in_sums_and_products(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    near = FunctionKernel(lambda A, B: RBFKernel(1.0)(A[:, :2], B[:, :2]))
    K, linear = RBFKernel(1.0)(X[:, :2]), X @ X.T

    assert_allclose((LinearKernel() + near)(X), linear + K, atol=1e-12)
    assert_allclose((near + LinearKernel())(X), linear + K, atol=1e-12)
    assert_allclose((LinearKernel() * near + near * near)(X), linear * K + K * K, atol=1e-12)
    assert_allclose((2.0 * (LinearKernel() + (near + 1.0) * near))(X), 2 * (linear + (K + 1) * K), atol=1e-12)


def test_sums_and_products_of_kernels_are_sums_and_products_of_matrices():
    linear, squared, rbf = LinearKernel(), PolynomialKernel(2), RBFKernel(0.25)
    K, Q, R = (kernel(A, B) for kernel in (linear, squared, rbf))

    assert_allclose((linear + squared)(A, B), K + Q)
    assert_allclose((linear * squared)(A, B), K * Q)
    assert_allclose((2 * linear + 3)(A, B), 2 * K + 3)
    assert_allclose((3.0 + linear * 2)(A, B), 2 * K + 3)
    assert_allclose(((linear + rbf) * (squared + 0.5) * np.float64(2))(A, B), 2 * (K + R) * (Q + 0.5))
    assert_allclose(KernelSum((linear,))(A, B), K)
    assert isinstance(np.float64(2) * linear, KernelProduct)
    assert isinstance(np.int64(2) + linear, KernelSum)


def test_kernels_compare_by_value():
    kernel = 2.0 * RBFKernel(0.5) + LinearKernel()

    assert kernel == 2.0 * RBFKernel(0.5) + LinearKernel()
    assert kernel != 2.0 * RBFKernel(0.4) + LinearKernel()
    assert hash(kernel) == hash(pickle.loads(pickle.dumps(kernel)))
    assert repr(RBFKernel(0.5)) == "RBFKernel(gamma=0.5)"


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, "one", True, None, np.complex128(1)])
def test_invalid_constants_are_refused(value):
    with pytest.raises(InvalidParameterError, match="value of ConstantKernel must be a finite number > 0, but is"):
        ConstantKernel(value)


@pytest.mark.parametrize("gamma", [0, -1.0, np.inf, np.nan, "scale", True, np.complex128(1)])
def test_invalid_gammas_are_refused(gamma):
    with pytest.raises(InvalidParameterError, match="gamma of RBFKernel must be a finite number > 0 or None, but is"):
        RBFKernel(gamma)


def test_invalid_degrees_and_offsets_are_refused():
    for degree in (0, -1, 2.5, 101, True, "two"):
        with pytest.raises(
            InvalidParameterError, match="degree of PolynomialKernel must be a whole number from 1 to 10"
        ):
            PolynomialKernel(degree)
    for offset in (-1, np.inf, np.nan, True, "one", np.complex128(1)):
        with pytest.raises(
            InvalidParameterError, match="offset of PolynomialKernel must be a finite number >= 0, but is"
        ):
            PolynomialKernel(2, offset)


def test_kernels_combine_only_with_kernels_and_positive_numbers():
    for other in ("rbf", None, True, np.minimum, [1.0], np.complex128(1)):
        with pytest.raises(
            InvalidParameterError, match=r"A kernel can be combined with a kernel or a number > 0, but got"
        ):
            LinearKernel() + other
        with pytest.raises(InvalidParameterError, match=r"Wrap a function as FunctionKernel\(function\)"):
            other * LinearKernel()
    with pytest.raises(InvalidParameterError, match="value of ConstantKernel must be a finite number > 0"):
        LinearKernel() + -1
    for parts in ((), [LinearKernel()], (LinearKernel(), "rbf"), None):
        with pytest.raises(InvalidParameterError, match="parts of KernelSum must be a tuple of kernels, but is"):
            KernelSum(parts)
    with pytest.raises(InvalidParameterError, match="parts of KernelProduct must be a tuple of kernels"):
        KernelProduct(())


def test_names_and_functions_resolve_to_kernels():
    assert resolve_kernel("linear", "SVM") == LinearKernel()
    assert resolve_kernel("polynomial", "SVM") == PolynomialKernel(2)
    assert resolve_kernel("rbf", "SVM") == RBFKernel()
    assert resolve_kernel("precomputed", "SVM") == PrecomputedKernel()
    assert resolve_kernel(RBFKernel(2), "SVM") == RBFKernel(2)
    assert resolve_kernel(np.dot, "SVM") == FunctionKernel(np.dot)
    for value in ("gaussian", None, 3, ["rbf"], int):
        with pytest.raises(InvalidParameterError, match="kernel of SVM must be one of 'linear', 'polynomial', 'rbf', "):
            resolve_kernel(value, "SVM")


@pytest.mark.parametrize("kernel", [LinearKernel, PolynomialKernel, RBFKernel, FunctionKernel, PrecomputedKernel])
def test_a_kernel_class_is_refused(kernel):
    name = kernel.__name__

    with pytest.raises(InvalidParameterError, match=rf"^kernel of SVM must be one of .* {name} is a class. Pass "):
        resolve_kernel(kernel, "SVM")
    with pytest.raises(InvalidParameterError, match=rf"Pass an instance, such as {name}\(\)\.$"):
        SVM(kernel=kernel).fit(A, [0, 1])


def test_a_function_kernel_returns_the_values_of_all_pairs():
    kernel = FunctionKernel(lambda A, B: np.minimum(A[:, None], B).sum(axis=2))

    assert_allclose(kernel(A, B), [[3, 2, 2], [-1, -1, -1]])
    assert_allclose(kernel(csr_array(A), csr_array(B)), kernel(A, B))
    assert not kernel.is_known_semi_definite
    assert not (kernel + 1.0).is_known_semi_definite
    assert not (2 * kernel).is_precomputed
    with pytest.raises(
        IncompatiblePartsError, match="FunctionKernel takes a function of two arrays of rows, but got 'rbf'"
    ):
        FunctionKernel("rbf")


def test_a_function_that_returns_a_wrong_shape_or_non_finite_values_is_named():
    def pairwise(A, B):
        return A @ A.T

    def divided(A, B):
        return A @ B.T / 0.0

    with pytest.raises(InvalidDataError, match=r"of 2 and 3 rows must have the shape \(2, 3\), but the function p"):
        FunctionKernel(pairwise)(A, B)
    with pytest.raises(
        InvalidDataError,
        match=r"function pairwise returned an array of shape \(2, 2\). The function must take two arrays",
    ):
        FunctionKernel(pairwise)(A, B)
    with pytest.raises(InvalidDataError, match="but the function divided returned NaN or infinity"), \
            np.errstate(all="ignore"):  # fmt: skip
        FunctionKernel(divided)(A, B)


def test_kernels_that_are_not_symmetric_or_not_semi_definite_are_refused():
    X = np.arange(6.0)[:, None]

    with pytest.raises(
        InvalidDataError, match=r"must be symmetric, but k\(x_\d, x_\d\) is \S+ and k\(x_\d, x_\d\) is \S+ for"
    ):
        check_semi_definite(FunctionKernel(lambda A, B: A - B.T), X)
    with pytest.raises(
        InvalidDataError, match=r"must be positive semi-definite, but its matrix of 6 training rows has"
    ):
        check_semi_definite(FunctionKernel(lambda A, B: -A @ B.T), X)
    with pytest.raises(InvalidDataError, match=r"has the eigenvalue -1. Its largest eigenvalue is 1"):
        check_semi_definite(PrecomputedKernel(), np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(
        InvalidDataError, match=r"must be symmetric, but k\(x_0, x_1\) is 1 and k\(x_1, x_0\) is 0 for rows 0 and 1"
    ):
        check_semi_definite(PrecomputedKernel() * 1.0, np.array([[1.0, 1.0], [0.0, 1.0]]))
    check_semi_definite(FunctionKernel(lambda A, B: A @ B.T), X)
    check_semi_definite(PrecomputedKernel(), np.zeros((3, 3)))
    check_semi_definite(LinearKernel(), X)


def test_a_precomputed_matrix_must_be_square_and_finite():
    with pytest.raises(InvalidDataError, match=r"square kernel matrix of all training rows with each other, but has"):
        PrecomputedKernel().fitted(np.ones((3, 2)))
    with pytest.raises(InvalidDataError, match=r"has shape \(3, 2\)"):
        (PrecomputedKernel() + 1.0).fitted(np.ones((3, 2)))
    with pytest.raises(InvalidDataError, match="Kernel values must be finite, but row 1 contains NaN or infinity"):
        PrecomputedKernel()([[1.0, 0.0], [np.nan, 1.0]])


def test_a_precomputed_kernel_returns_the_matrix():
    K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    places = np.array([2, 0])

    assert_array_equal(PrecomputedKernel()(K), K)
    assert_array_equal((PrecomputedKernel() * 2.0 + 1.0)(K), 2 * K + 1)
    assert_array_equal(compute_matrix(PrecomputedKernel().columns(K[places], places), K), K[:, places])
    assert (PrecomputedKernel() + 1.0).is_precomputed


def test_a_precomputed_kernel_cannot_be_combined_with_a_kernel_of_rows():
    with pytest.raises(InvalidDataError, match="takes a matrix instead of rows, so it cannot be combined"):
        (PrecomputedKernel() + RBFKernel(1.0))(np.eye(2))


def test_a_precomputed_matrix_keeps_the_columns_of_rows_of_weight_0():
    K = np.array([[2.0, 1.0, 7.0], [1.0, 2.0, 7.0], [7.0, 7.0, -7.0]])
    kept = np.array([0, 1])

    kernel = fit_kernel(PrecomputedKernel(), K[kept], None, kept)
    landmarks = copy_landmarks(kernel, K[kept], kept)

    assert_array_equal(compute_matrix(prepare_landmarks(kernel, landmarks), K[kept]), K[:2, :2])


def test_gamma_is_one_over_the_sum_of_the_variances(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 2.0, 3.0]
    gamma = 1 / X.var(axis=0).sum()

    assert RBFKernel().fitted(X).gamma == pytest.approx(gamma)
    assert_allclose(RBFKernel()(X), RBFKernel(gamma)(X))
    nested = (2.0 * RBFKernel() + LinearKernel()).fitted(X)
    assert nested.parts[0].parts[0].gamma == pytest.approx(gamma)
    squares = -np.log(RBFKernel()(X))
    assert squares.mean() == pytest.approx(2)


def test_default_gamma_does_not_depend_on_the_origin_and_weights_equal_repetition(rng):
    X, repeats = np.round(rng.normal(size=(60, 3)), 2), rng.integers(1, 4, 60)
    weighted = RBFKernel().fitted(X, repeats.astype(float)).gamma

    assert weighted == pytest.approx(RBFKernel().fitted(np.repeat(X, repeats, axis=0)).gamma)
    assert RBFKernel().fitted(X + 1e8).gamma == pytest.approx(RBFKernel().fitted(X).gamma, rel=1e-6)
    assert RBFKernel().fitted(csr_array(X)).gamma == pytest.approx(RBFKernel().fitted(X).gamma)


def test_default_gamma_of_equal_rows_is_one_and_a_given_gamma_stays():
    assert RBFKernel().fitted(np.full((5, 2), 3.0)).gamma == 1.0
    assert RBFKernel(0.3).fitted(np.eye(4)) == RBFKernel(0.3)
    assert LinearKernel().fitted(np.eye(4)) == LinearKernel()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_rbf_kernel_is_accurate_for_rows_far_from_the_origin_or_from_each_other(sparse, rng):
    near = np.round(rng.normal(size=(40, 2)), 3)
    expected = RBFKernel(0.5)(near)
    far, apart = near + 2.0**30, np.vstack([near - 2.0**30, near + 2.0**30])
    wrap = csr_array if sparse else np.asarray

    assert_allclose(RBFKernel(0.5)(wrap(far)), expected, atol=1e-6)
    found = RBFKernel(0.5)(wrap(apart), wrap(near))
    assert_array_equal(found, 0)
    assert_allclose(RBFKernel(0.5)(wrap(apart))[:40, :40], expected, atol=1e-6)


def test_non_finite_or_too_large_values_are_refused_with_their_position():
    with pytest.raises(MissingValuesError, match="NaN in row 1, column 0"):
        LinearKernel()([[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(MissingValuesError, match="NaN in row 0, column 1"):
        RBFKernel(1.0)(A, [[0.0, np.nan]])
    with pytest.raises(InvalidDataError, match=r"Values of column 1 reach 1e\+200, too large to be squared"):
        PolynomialKernel(2)([[0.0, 1e200]])
    with pytest.raises(ValueError, match="2 features"):
        LinearKernel()(A, np.ones((2, 3)))
    assert_array_equal(RBFKernel(1.0)([[0.0], [1e200]]), np.eye(2))


def test_eigendecompose_drops_eigenvalues_that_are_rounding_error(rng):
    F = rng.normal(size=(30, 4))
    K = F @ F.T

    values, vectors = eigendecompose(K.copy())
    few, _ = eigendecompose(K.copy(), max_pairs=2)
    none, _ = eigendecompose(K.copy(), scale=1e15)

    assert len(values) == 4
    assert (np.diff(values) <= 0).all()
    assert_allclose((vectors * values) @ vectors.T, K, atol=1e-12)
    assert_allclose(few, values[:2])
    assert len(none) == 0
    assert len(eigendecompose(np.zeros((3, 3)))[0]) == 0
