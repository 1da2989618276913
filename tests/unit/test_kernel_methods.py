"""Values, names and messages of kernel PCA, Nyström features and kernel logistic regression."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import likely
from likely import (
    ArraySource,
    DegenerateDataError,
    InvalidDataError,
    InvalidParameterError,
    KernelLogisticRegression,
    KernelPCA,
    LinearKernel,
    MappedSource,
    MissingValuesError,
    ModelFileError,
    NystromFeatures,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SourceError,
    Standardize,
    kfold_scores,
    make_pipeline,
)
from likely.features import kernel_features
from likely.models import kernel_logistic

METHODS = [KernelPCA(2), NystromFeatures(3, random_state=0), KernelLogisticRegression(0.1)]
everyone = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


@pytest.fixture
def data(rng):
    y = rng.integers(2, size=60)
    return rng.normal(size=(60, 3)) + y[:, None], y


def used(method, X):
    return method.transform(X) if hasattr(method, "transform") else method.log_likelihood(X)


# All kernel methods


@everyone
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_raise_with_their_position(method, value, data):
    X, y = data
    fitted = clone(method).fit(X, y)
    X[41, 2] = value

    error = MissingValuesError if np.isnan(value) else InvalidDataError
    with pytest.raises(error, match="in row 41, column 2"):
        used(fitted, X)
    with pytest.raises(error, match="in row 41, column 2"):
        clone(method).fit(X, y)
    with pytest.raises(error, match="in row 41, column 2"):
        clone(method).fit(X, y, sample_weight=(np.arange(60) > 30).astype(float))
    weight = (np.arange(60) != 41).astype(float)
    assert np.isfinite(used(clone(method).fit(X, y, sample_weight=weight), X[:41])).all()


@everyone
def test_values_whose_kernel_overflows_raise_with_their_column(method, data):
    X, y = data
    method = clone(method).set_params(kernel=PolynomialKernel(3))
    fitted = clone(method).fit(X, y)
    X[3, 1] = 1e150

    if isinstance(method, NystromFeatures):
        method.set_params(landmarks=X[:5])
    with pytest.raises(InvalidDataError, match=r"Values of column 1 reach 1e\+150, too large"):
        clone(method).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"Values of column 1 reach 1e\+150, too large"):
        used(fitted, X)


@everyone
def test_invalid_kernels_raise(method, data):
    for kernel in ("gaussian", None, 3):
        name = type(method).__name__
        with pytest.raises(
            InvalidParameterError, match=f"kernel of {name} must be one of 'linear', 'polynomial', 'rbf"
        ):
            clone(method).set_params(kernel=kernel).fit(*data)
    with pytest.raises(InvalidDataError, match="A kernel must be symmetric"):
        clone(method).set_params(kernel=lambda A, B: A[:, :1] - B[:, :1].T).fit(*data)
    with pytest.raises(InvalidDataError, match="A kernel must be positive semi-definite"):
        clone(method).set_params(kernel=lambda A, B: -A @ B.T).fit(*data)
    with pytest.raises(InvalidDataError, match="must have the shape"):
        clone(method).set_params(kernel=lambda A, B: np.ones(3)).fit(*data)


@everyone
def test_a_failed_fit_leaves_the_model_unchanged(method, data):
    X, y = data
    fitted = clone(method).fit(X, y)
    before = used(fitted, X)

    with pytest.raises(MissingValuesError):
        fitted.fit(np.full((9, 5), np.nan), np.arange(9) % 2)

    assert_array_equal(used(fitted, X), before)


@everyone
def test_fitted_models_do_not_share_memory_with_the_rows(method, data):
    X, y = data
    rows = X.copy()
    fitted = clone(method).fit(rows, y)
    before = used(fitted, X)

    rows[:] = 0.0

    assert_array_equal(used(fitted, X), before)


@everyone
def test_fitted_models_can_be_pickled_and_unfitted_ones_raise(method, data):
    X, y = data
    fitted = clone(method).fit(X, y)

    assert_array_equal(used(pickle.loads(pickle.dumps(fitted)), X), used(fitted, X))
    with pytest.raises(NotFittedError):
        used(clone(method), X)


@everyone
def test_function_kernels_cannot_be_saved_and_the_error_gives_a_remedy(method, data, tmp_path):
    X, y = data

    def product(A, B):
        return A @ B.T

    for kernel in (product, likely.FunctionKernel(product), 1.0 + likely.FunctionKernel(product), np.inner):
        fitted = clone(method).set_params(kernel=kernel).fit(X, y)
        with pytest.raises(ModelFileError, match=r"is a function\. Model files hold no code"):
            likely.save(fitted, tmp_path / "model")
        with pytest.raises(ModelFileError, match="fit a model with kernel='precomputed', and save"):
            likely.save(clone(method).set_params(kernel=kernel), tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"is a function\. Model files hold no code"):
        likely.save(likely.FunctionKernel(product), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("method", [METHODS[0], METHODS[2]], ids=["KernelPCA", "KernelLogisticRegression"])
def test_sparse_landmarks_and_indices_of_a_precomputed_kernel_are_saved(method, data, tmp_path):
    X, y = data
    K = RBFKernel(0.3)(X)
    sparse = clone(method).fit(csr_array(X), y)
    given = clone(method).set_params(kernel="precomputed").fit(K, y, sample_weight=np.arange(60) % 3)

    for fitted, rows in ((sparse, X), (given, K)):
        likely.save(fitted, tmp_path / "model")
        assert_array_equal(used(likely.load(tmp_path / "model"), rows), used(fitted, rows))


@everyone
def test_rows_far_from_the_origin_of_a_kernel_cause_a_warning_and_standardizing_helps(method, data):
    X, y = data
    method = clone(method).set_params(kernel="linear")

    with pytest.warns(likely.DegenerateDataWarning, match="that digits are lost. Use Standardize first"):
        clone(method).fit(X + 2e5, y)
    near, far = (make_pipeline(Standardize(), clone(method)).fit(X + origin, y) for origin in (0.0, 2e5))
    assert_allclose(used(far, X + 2e5), used(near, X), atol=1e-4)


# Kernel PCA


def test_components_of_squares_equal_hand_derived_values():
    fitted = KernelPCA(kernel=PolynomialKernel(2, offset=0)).fit([[-2.0], [-1.0], [0.0], [2.0]])

    assert fitted.n_components_ == 1
    assert_allclose(fitted.eigenvalues_, [np.square([1.75, 1.25, 2.25, 1.75]).sum()])
    assert_allclose(fitted.transform([[3.0], [-2.0]]), [[-6.75], [-1.75]])
    assert fitted.get_feature_names_out().tolist() == ["kernelpca0"]


def test_components_that_are_rounding_errors_are_dropped_even_if_requested(data):
    X, _ = data

    assert KernelPCA(10, kernel="linear").fit(X).n_components_ == 3
    assert KernelPCA(10, kernel="polynomial").fit(X).n_components_ == 9
    assert KernelPCA(1000, kernel="rbf").fit(X).n_components_ <= 59
    with pytest.raises(
        DegenerateDataError, match=r"needs rows that vary, but in the space of RBFKernel\(gamma=1.0\) t"
    ):
        KernelPCA().fit(np.ones((5, 2)))
    with pytest.raises(DegenerateDataError, match="n_samples=1"):
        KernelPCA(1).fit([[1.0, 2.0]])


@pytest.mark.parametrize("n_components", [0, -1, 2.5, True, "all"])
def test_invalid_numbers_of_components_raise(n_components, data):
    with pytest.raises(InvalidParameterError, match="n_components of KernelPCA must be a whole number >= 1"):
        KernelPCA(n_components).fit(data[0])


def test_components_need_all_rows_at_once_and_the_error_gives_a_remedy(data, monkeypatch):
    X, _ = data
    mapped = MappedSource(ArraySource(X), np.square)

    with pytest.raises(
        SourceError, match=r"needs all rows in memory at once, but got a MappedSource.* NystromFeatures"
    ):
        KernelPCA().fit_source(mapped)
    assert_allclose(KernelPCA(1).fit_source(ArraySource(X)).transform(X), KernelPCA(1).fit(X).transform(X))
    monkeypatch.setattr(kernel_features, "MAX_PCA_ROWS", 59)
    with pytest.raises(InvalidDataError, match=r"at most 59 rows, but X has 60 rows. .* 0\.0 GB\. Put NystromFeatures"):
        KernelPCA().fit(X)


def test_a_matrix_that_is_not_square_raises_and_new_rows_must_have_its_width(data):
    X, _ = data
    with pytest.raises(InvalidDataError, match=r"with each other, but has shape \(60, 3\)"):
        KernelPCA(kernel="precomputed").fit(X)
    fitted = KernelPCA(1, kernel=PrecomputedKernel() * 2.0).fit(RBFKernel(1.0)(X))
    with pytest.raises(ValueError, match="X has 3 features, but KernelPCA is expecting 60 features"):
        fitted.transform(X)


# Nyström features


@pytest.mark.parametrize("n_landmarks", [0, -1, 2.5, True, "many", None, 2**15])
def test_invalid_numbers_of_landmarks_raise(n_landmarks, data):
    X, y = data

    with pytest.raises(
        InvalidParameterError, match="n_landmarks of NystromFeatures must be a whole number from 1 to 16"
    ):
        NystromFeatures(n_landmarks).fit(X)
    if n_landmarks is not None:
        with pytest.raises(
            InvalidParameterError, match="n_landmarks of KernelLogisticRegression must be a whole number"
        ):
            KernelLogisticRegression(n_landmarks=n_landmarks).fit(X, y)


def test_invalid_landmarks_raise(data):
    X, _ = data
    with pytest.raises(
        InvalidDataError, match="landmarks of NystromFeatures must have one column for each of the 3 fea"
    ):
        NystromFeatures(landmarks=[[0.0, 0.0]]).fit(X)
    with pytest.raises(ValueError, match="landmarks contains NaN"):
        NystromFeatures(landmarks=[[0.0, np.nan, 0.0]]).fit(X)
    with pytest.raises(DegenerateDataError, match=r"all values of LinearKernel\(\) are 0 \(n_samples=1\)"):
        NystromFeatures(kernel="linear").fit(np.zeros((4, 2)))
    with pytest.raises(InvalidParameterError, match=r"must be a function of rows, but is precomputed.* Use KernelPCA"):
        NystromFeatures(kernel="precomputed").fit(X @ X.T)


def test_directions_that_are_rounding_errors_become_columns_of_zeros(data):
    X, _ = data
    phi = NystromFeatures(10, kernel="linear", random_state=0).fit_transform(X)

    assert phi.shape == (60, 10)
    assert_array_equal(phi[:, 3:], 0)
    assert (np.abs(phi[:, :3]).max(axis=0) > 0).all()
    assert_allclose(phi @ phi.T, X @ X.T, atol=1e-10)


def test_explicit_landmarks_are_used_and_gamma_follows_from_the_rows(data):
    X, _ = data
    fitted = NystromFeatures(landmarks=X[:4].tolist()).fit(X)

    assert_array_equal(fitted.landmarks_, X[:4])
    assert fitted.kernel_.gamma == pytest.approx(1 / X.var(axis=0).sum())
    assert fitted.expands_to(3) == 4
    assert fitted.get_feature_names_out().tolist() == [f"nystromfeatures{i}" for i in range(4)]


def test_equal_seeds_draw_equal_landmarks_and_other_seeds_others(data):
    X, _ = data
    first, again, other = (NystromFeatures(5, random_state=seed).fit(X).landmarks_ for seed in (1, 1, 2))

    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# Kernel logistic regression


@pytest.mark.parametrize("strength", [0, -1.0, np.inf, np.nan, True, "l2", None, np.complex128(1)])
def test_an_invalid_penalty_raises(strength, data):
    message = (
        "regularization of KernelLogisticRegression must be a finite number > 0, but .* log odds grow without bound"
    )

    with pytest.raises(InvalidParameterError, match=message):
        KernelLogisticRegression(strength).fit(*data)
    with pytest.raises(InvalidParameterError, match=message):
        KernelLogisticRegression().path(*data, [0.1, strength])


def test_invalid_options_raise(data):
    X, y = data
    for tol in (0, 1, -1.0, "tight", np.nan):
        with pytest.raises(
            InvalidParameterError, match="tol of KernelLogisticRegression must be a number in the open interval"
        ):
            KernelLogisticRegression(tol=tol).fit(X, y)
    with pytest.raises(InvalidParameterError, match="prior of KernelLogisticRegression must be in the open interval"):
        KernelLogisticRegression(training_prior=2.0).fit(X, y)
    with pytest.raises(
        InvalidParameterError, match=r"n_landmarks .* must not be set with kernel='precomputed', because all"
    ):
        KernelLogisticRegression(kernel="precomputed", n_landmarks=3).fit(X @ X.T, y)
    with pytest.raises(
        DegenerateDataError, match="KernelLogisticRegression needs at least two classes, but y has only"
    ):
        KernelLogisticRegression().fit(X, np.zeros(60))
    with pytest.raises(InvalidParameterError, match=r"path takes several values of regularization.* but got 0\.1"):
        KernelLogisticRegression().path(X, y, 0.1)
    with pytest.raises(likely.LikelyError, match="priors"):
        KernelLogisticRegression(priors=[0.2, 0.3, 0.5]).fit(X, y)
    assert KernelLogisticRegression().path(X, y, []) == []


def test_many_rows_and_rows_outside_memory_need_landmarks(data, monkeypatch):
    X, y = data
    source = MappedSource(ArraySource(X, y, classes=np.arange(2)), np.square)

    with pytest.raises(SourceError, match=r"needs all rows in memory at once, but got a MappedSource. Set n_landmarks"):
        KernelLogisticRegression().fit_source(source)
    by_landmarks = KernelLogisticRegression(n_landmarks=9, random_state=0)
    expected = clone(by_landmarks).fit(np.square(X), y)
    assert_allclose(clone(by_landmarks).fit_source(source).llr(X), expected.llr(X), atol=1e-4)
    monkeypatch.setattr(kernel_logistic, "MAX_ROWS", 59)
    with pytest.raises(InvalidDataError, match=r"at most 59 rows, but X has 60 rows. .* Set n_landmarks"):
        KernelLogisticRegression().fit(X, y)
    assert clone(by_landmarks).fit(X, y).landmarks_.shape == (9, 3)


def test_shapes_and_types_of_fitted_attributes(data):
    X, y = data
    two = KernelLogisticRegression(training_prior=0.3).fit(X, np.array(["no", "yes"])[y])
    three = KernelLogisticRegression(n_landmarks=7).fit(X, np.arange(60) % 3)

    assert two.dual_coef_.shape == (1, 60)
    assert two.intercept_.shape == (1,)
    assert two.classes_.tolist() == ["no", "yes"]
    assert_allclose(two.training_priors_, [0.7, 0.3])
    assert two.kernel_ == RBFKernel().fitted(X)
    assert two.converged_
    assert 0 <= two.gap_ < 1e-7
    assert three.dual_coef_.shape == (3, 7)
    assert three.intercept_.shape == (3,)
    assert_allclose(three.dual_coef_.sum(axis=0), 0, atol=1e-9)


def test_a_strong_penalty_gives_llrs_of_zero_and_a_weak_one_classifies_every_row(data):
    X, _ = data
    y = np.arange(60) % 2
    strong = KernelLogisticRegression(1e9).fit(X, y)
    weak = KernelLogisticRegression(1e-7, kernel=RBFKernel(50.0)).fit(X, y)

    assert_allclose(strong.llr(X), 0, atol=1e-6)
    assert_array_equal(weak.predict(X), y)
    assert_allclose(weak.llr([[100.0, 100.0, 100.0]]), weak.intercept_, atol=1e-6)


def test_a_minimum_that_is_not_reached_causes_a_warning(data, monkeypatch):
    monkeypatch.setattr(kernel_logistic, "MAX_STEPS", 1)

    with pytest.warns(
        likely.NotConvergedWarning, match=r"KernelLogisticRegression stopped after 1 step .* Raise tol or"
    ):
        model = KernelLogisticRegression(1e-6).fit(*data)

    assert not model.converged_
    assert model.gap_ > 0


def test_pipelines_and_cross_validation_accept_kernels_and_kernel_matrices(data):
    X, y = data
    chain = make_pipeline(Standardize(), KernelPCA(3), KernelLogisticRegression(0.1, kernel="linear"))
    K = (LinearKernel() + 1.0)(X)

    assert chain.fit(X, y).score(X, y) > 0.7
    by_rows = cross_val_score(KernelLogisticRegression(0.1, kernel=LinearKernel() + 1.0), X, y, cv=3)
    assert_allclose(cross_val_score(KernelLogisticRegression(0.1, kernel="precomputed"), K, y, cv=3), by_rows)
    functions = [KernelLogisticRegression(lam, kernel=lambda A, B: A @ B.T) for lam in (0.1, 1.0)]
    for scores, model in zip(kfold_scores(functions, X, y, 3), functions, strict=True):
        assert_allclose(scores, kfold_scores(model.set_params(kernel="linear"), X, y, 3), atol=1e-3)
