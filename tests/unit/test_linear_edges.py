"""Edge cases of linear models: heavy tails, rare columns, integers, collinearity, divergence, empty blocks."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

import likely
from likely import (
    ArraySource,
    DegenerateDataWarning,
    FisherClassifier,
    GaussianClassifier,
    GradientDescent,
    InvalidDataError,
    InvalidParameterError,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    NotConvergedWarning,
    Perceptron,
    QuadraticFeatures,
    Standardize,
    make_pipeline,
)


def noisy(rng, X, w):
    return (rng.random(len(X)) < expit(X @ np.asarray(w))).astype(int)


@pytest.mark.parametrize("seed", [1, 7, 12])
def test_heavy_tails_are_not_mistaken_for_separable_classes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([500, 5000, 20000]))
    x = rng.normal(size=n)
    amounts = np.exp(4 * rng.normal(size=n)) * (rng.random(n) < 0.02)
    y = (rng.random(n) < expit(x + 0.7 * np.clip(amounts, -8, 8))).astype(int)
    X = np.column_stack([x, amounts])

    model = LogisticRegression(tol=1e-14).fit(X, y)

    residual = expit(X @ model.coef_[0] + model.intercept_) - y
    assert model.separator_ is None
    assert_allclose(residual @ np.column_stack([X / X.std(axis=0), np.ones(n)]) / n, 0, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.float32, bool])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_sparse_integers_are_squared_in_floating_point(dtype, penalty, rng):
    X = rng.integers(0, 2 if dtype is bool else 100, size=(300, 20)) * (rng.random((300, 20)) < 0.3)
    y = noisy(rng, X, rng.normal(size=20) / 20)

    model = LogisticRegression(1e-3, penalty=penalty, tol=1e-12).fit(csr_array(X.astype(dtype)), y)

    assert_allclose(model.coef_, LogisticRegression(1e-3, penalty=penalty, tol=1e-12).fit(X, y).coef_, atol=1e-6)


def test_nearly_collinear_columns_are_resolved_or_cause_a_warning(rng):
    z, x = rng.normal(size=(2, 2000))
    y = (z + 0.3 * rng.normal(size=2000) > 0).astype(int)
    apart = LogisticRegression().fit(np.column_stack([x, z]), y).objective_

    assert_allclose(LogisticRegression().fit(np.column_stack([x, x + 1e-6 * z]), y).objective_, apart, rtol=1e-6)
    with pytest.warns(NotConvergedWarning, match="columns may be nearly collinear"):
        LogisticRegression().fit(np.column_stack([x, x + 1e-8 * z]), y)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
def test_a_column_missing_from_the_subsample_is_learned(solver, rng):
    n = 200_000
    x, rare = rng.normal(size=n), np.zeros(n)
    y = noisy(rng, x[:, None], [1.0])
    places = [4567, 98765, 150_001]
    rare[places], y[places] = 1, [0, 1, 1]
    X = np.column_stack([x, rare])

    model = LogisticRegression(solver=solver, tol=1e-12).fit(X, y)

    residual = expit(X @ model.coef_[0] + model.intercept_) - y
    assert_allclose([residual @ x / n, residual[places].sum(), residual.sum() / n], 0, atol=2e-4)


@pytest.mark.parametrize("block_rows", [2000, 400, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_minimise_the_same_objective_for_any_division_into_blocks(block_rows, weighted, rng):
    X = rng.normal(size=(2000, 4))
    y = np.sort(noisy(rng, X, [1, 2, 0, -1]))  # sorted by class; shuffling in memory must undo this
    X = X[np.argsort(noisy(rng, X, [1, 2, 0, -1]), kind="stable")]
    w = np.where(rng.random(2000) < 0.5, 1e-3, 1.0) if weighted else None
    best = LogisticRegression(0.1).fit(X, y, w).objective_
    source = ArraySource(X, y, w, np.array([0, 1]), block_rows=block_rows)

    with pytest.warns(NotConvergedWarning):
        model = LogisticRegression(0.1, solver=GradientDescent(batch=20), max_iter=30).fit_source(source)

    assert_allclose(model.objective_, best, rtol=2e-2)


@pytest.mark.parametrize("rate", [20.0, 1e6, 1e200, 1e300])
@pytest.mark.parametrize("batch", [None, 8])
def test_diverging_steps_cause_a_warning_and_keep_the_last_good_weights(rate, batch, rng):
    X = rng.normal(size=(200, 3))
    y = noisy(rng, X, [1, -1, 0])

    with pytest.warns(NotConvergedWarning, match="steps then diverged. Lower learning_rate"):
        model = LogisticRegression(0.5, solver=GradientDescent(batch=batch, learning_rate=rate), max_iter=500).fit(X, y)

    assert not model.converged_
    assert np.isfinite(model.loss_history_).all()
    assert np.isfinite(model.coef_).all()


def test_partial_separation_is_detected_among_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 1005))
    y = noisy(rng, X[:, :1], [1.0])
    X[:, 1] = (rng.random(2600) < 0.02) & (y == 1)

    with pytest.warns(DegenerateDataWarning, match="separates some rows of the classes without error"):
        model = LogisticRegression().fit(X, y)

    margins = np.where(y == 1, 1, -1) * (X @ model.separator_.coef[0] + model.separator_.intercept[0])
    assert margins.min() >= -1e-6 * margins.max()


class WithEmptyBlocks(ArraySource):
    """Source in which every second block is empty."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.n_blocks *= 2

    def block(self, index):
        block = super().block(index // 2)
        return block if index % 2 else block.take(np.arange(0))


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LogisticRegression(1e-2), LogisticRegression(1e-2, penalty="l1")], ids=str
)
@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("apart", [0.0, 50.0])
def test_empty_blocks_change_nothing(model, apart, rng):
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 3)) + apart * y[:, None]

    model.fit_source(WithEmptyBlocks(X, y, None, np.array([0, 1]), block_rows=50))

    whole = likely.LogisticRegression(model.regularization, penalty=model.penalty).fit(X, y)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-3, atol=1e-6)


def test_empty_blocks_do_not_change_a_regression(rng):
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)

    model = LinearRegression().fit_source(WithEmptyBlocks(X, targets=y[:, None], block_rows=40))

    assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_)


def test_a_negligible_penalty_still_gives_the_weights_of_minimum_norm(rng):
    x = rng.normal(size=50)

    assert_allclose(LinearRegression(1e-14).fit(np.column_stack([x, 2 * x]), x).coef_, [0.2, 0.4])


def test_targets_far_from_zero_lose_no_digits(rng):
    X, y = rng.normal(size=(1000, 3)), rng.normal(size=1000) + 1e12
    near = LinearRegression().fit(X, y - 1e12)
    far = LinearRegression().fit(X, y)

    assert_allclose(far.coef_, near.coef_, rtol=1e-12)
    assert_allclose(far.residual_variance_, near.residual_variance_, rtol=1e-12)


def test_paths_of_pipelines_and_sources_equal_separate_fits(rng):
    X = rng.normal(size=(300, 4)) * [1, 10, 0.1, 3]
    y = noisy(rng, X / [1, 10, 0.1, 3], [1, -1, 0.5, 0])
    chain = make_pipeline(Standardize(), LogisticRegression(training_prior=0.5, tol=1e-13))

    path = chain.path(X, y, [1e-3, 1.0])
    source = ArraySource(Standardize().fit_transform(X), y, None, np.array([0, 1]), block_rows=70)
    from_source = LogisticRegression(training_prior=0.5, tol=1e-13).path_source(source, [1e-3, 1.0])

    for strength, fitted, streamed in zip([1e-3, 1.0], path, from_source, strict=True):
        alone = make_pipeline(Standardize(), LogisticRegression(strength, training_prior=0.5, tol=1e-13)).fit(X, y)
        assert_allclose(fitted.llr(X), alone.llr(X), atol=1e-5)
        assert_allclose(streamed.coef_, alone[-1].coef_, atol=1e-6)
    assert not hasattr(chain[-1], "coef_")


def test_a_path_needs_several_values(rng):
    with pytest.raises(InvalidParameterError, match=r"path takes several values .* but got 0.1"):
        LogisticRegression().path([[0.0], [1.0]], [0, 1], 0.1)


def test_a_pipeline_without_log_likelihoods_explains_why():
    with pytest.raises(AttributeError, match="CalibratedClassifier"):
        _ = make_pipeline(Standardize(), LeastSquaresClassifier()).decide


@pytest.mark.parametrize("n_classes", [2, 4])
def test_coef_and_intercept_of_fisher_give_its_log_likelihoods(n_classes, rng):
    y = rng.integers(n_classes, size=200)
    X = rng.normal(size=(200, 5)) + rng.normal(size=(n_classes, 5))[y] + 3
    model = FisherClassifier().fit(X, y)

    scores = X @ model.coef_.T + model.intercept_
    evidence = model.log_likelihood(X)

    assert_allclose(model.llr(X), scores[:, 0]) if n_classes == 2 else assert_allclose(
        scores - scores.mean(axis=1, keepdims=True), evidence - evidence.mean(axis=1, keepdims=True), atol=1e-9
    )


@pytest.mark.parametrize("model", [LeastSquaresClassifier(), FisherClassifier(), GaussianClassifier(), likely.PCA()])
def test_a_covariance_larger_than_memory_raises(model):
    X = csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [0, 5, 299_999])), shape=(4, 300_000))

    with pytest.raises(InvalidDataError, match=r"The covariance of 300000 columns would take 671 GiB"):
        model.fit(X, [0, 1, 0, 1])


def test_weights_whose_sum_overflows_raise():
    with pytest.raises(InvalidDataError, match="too large to be summed"):
        LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 0], [1e308, 1e308, 1.0])


def test_the_number_of_presentations_of_a_row_is_limited():
    with pytest.raises(InvalidDataError, match=r"weights must be at most 1e\+09, but a row has the weight"):
        Perceptron().fit([[1e6], [1.0], [-1.0]], [0, 1, 0], [1.0, 1e12, 1.0])


def test_the_kernel_option_of_quadratic_features_is_a_boolean():
    with pytest.raises(InvalidParameterError, match="kernel of QuadraticFeatures must be True or False, but is 'poly'"):
        QuadraticFeatures(kernel="poly").fit([[1.0]])


def test_mismatched_priors_raise_in_fit():
    with pytest.raises(InvalidParameterError, match="priors must be >= 0 and sum to 1"):
        LogisticRegression(priors=[0.5, 0.6]).fit([[0.0], [1.0], [2.0]], [0, 1, 0])


BITS = """
import numpy as np
from likely import LogisticRegression as L
rng = np.random.default_rng(0)
X = rng.normal(size=(140_000, 8))
z = X @ rng.normal(size=8)
y, y3 = (rng.random(140_000) < 1 / (1 + np.exp(-z))).astype(int), np.digitize(z + rng.normal(size=140_000), [-2, 2])
models = (L(), y), (L(1e-3), y3), (L(1e-3, penalty="l1"), y), (L(1e-3, solver="newton-cg"), y), (L(), y3[:500])
for model, labels in models:
    print(model.fit(X[: len(labels)], labels).coef_.tobytes().hex())
"""


def test_one_thread_and_two_give_the_same_bits():
    answers = [
        subprocess.run(
            [sys.executable, "-c", BITS],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=None if threads == "2" else lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        ).stdout
        for threads in ("1", "2")
    ]

    assert answers[0] == answers[1]
    assert len(answers[0].split()) == 5


def test_wide_and_tall_problems_agree_with_scipy(rng):
    X = rng.normal(size=(400, 6))
    y = noisy(rng, X, [1, 0, -1, 0.5, 0, 2])

    def objective(theta):
        z = X @ theta[:-1] + theta[-1]
        return np.mean(np.logaddexp(0, z) - y * z) + 0.01 * theta[:-1] @ theta[:-1] / 2

    best = minimize(objective, np.zeros(7), tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [LogisticRegression(0.01, solver=s).fit(X, y).objective_ for s in ("newton", "l-bfgs", "newton-cg")]

    assert_allclose(found, best.fun, rtol=1e-8)
    assert_array_equal(np.argmax(np.abs(best.x[:-1])), 5)
