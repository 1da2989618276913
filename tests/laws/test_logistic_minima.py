"""Every solver of logistic regression reaches the minimum, also along paths and from subsamples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from likely import ArraySource, ElasticNet, GradientDescent, LogisticRegression
from likely.blocks import class_counts
from likely.objectives import LinearProblem, linear_rows

SOLVERS = ["auto", "newton", "l-bfgs", "newton-cg"]


def draw(n_classes, n=240, d=5, seed=1):
    """Overlapping classes drawn from a softmax of linear logits, with weights."""
    rng = np.random.default_rng([n_classes, seed])
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    P = softmax(X @ rng.normal(size=(d, n_classes)) + np.linspace(0.5, -0.5, n_classes), axis=1)
    y = (rng.random((n, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return X * rng.uniform(0.3, 3, d) + rng.normal(size=d), y, rng.uniform(0.5, 2, n)


def slopes(W, b, X, y, w):
    """Mean loss and its gradients by weights and biases, by definition; two classes have one row of weights."""
    w = w / w.sum()
    z = X @ W.T + b
    if two := len(W) == 1:
        z = np.column_stack([np.zeros(len(z)), z])
    residuals = w[:, None] * (softmax(z, axis=1) - np.eye(z.shape[1])[y])
    if two:
        residuals = residuals[:, 1:]
    return -w @ log_softmax(z, axis=1)[np.arange(len(y)), y], residuals.T @ X, residuals.sum(axis=0)


def penalised(model, X, y, w, l1, l2):
    value = slopes(model.coef_, model.intercept_, X, y, w)[0]
    return value + l1 * np.abs(model.coef_).sum() + l2 / 2 * np.sum(model.coef_**2)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gradient_is_zero_at_the_solution(solver, strength, n_classes):
    X, y, w = draw(n_classes)
    fitted = LogisticRegression(strength, solver=solver, tol=1e-13).fit(X, y, w)

    value, by_weights, by_biases = slopes(fitted.coef_, fitted.intercept_, X, y, w)

    assert fitted.converged_
    assert_allclose(by_weights + strength * fitted.coef_, 0, atol=2e-6)
    assert_allclose(by_biases, 0, atol=2e-6)
    assert_allclose(fitted.objective_, value + strength / 2 * np.sum(fitted.coef_**2), rtol=1e-10)
    assert_allclose(fitted.loss_history_[-1], fitted.objective_)
    assert len(fitted.loss_history_) == fitted.n_iter_ + 1


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("strength", [0.0, 1e-2])
def test_every_solver_finds_the_same_minimum(strength, n_classes):
    X, y, w = draw(n_classes)

    found = [LogisticRegression(strength, solver=solver, tol=1e-14).fit(X, y, w) for solver in SOLVERS]

    best = min(fitted.objective_ for fitted in found)
    for fitted in found:
        assert_allclose(fitted.objective_, best, rtol=1e-11)
        assert_allclose(fitted.coef_, found[1].coef_, rtol=1e-5, atol=1e-6)
        assert_allclose(fitted.intercept_, found[1].intercept_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_tolerance_bounds_the_distance_to_the_minimum(solver, tol, n_classes):
    X, y, w = draw(n_classes)
    best = LogisticRegression(1e-3, solver="newton", tol=1e-15).fit(X, y, w).objective_

    fitted = LogisticRegression(1e-3, solver=solver, tol=tol).fit(X, y, w)

    assert fitted.gap_ <= tol * fitted.objective_
    # The gap is an estimate: it may be too small if the curvature changes on the way to the minimum.
    assert best * (1 - 1e-12) <= penalised(fitted, X, y, w, 0, 1e-3) <= best * (1 + 8 * tol + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize(("solver", "penalty"), [*((solver, "l2") for solver in SOLVERS), ("auto", "l1")])
def test_the_reported_objective_is_that_of_the_weights(solver, penalty, tol, n_classes):
    X, y, w = draw(n_classes)
    l1, l2 = (0.0, 1e-3) if penalty == "l2" else (1e-3, 0.0)

    fitted = LogisticRegression(1e-3, penalty=penalty, solver=solver, tol=tol).fit(X, y, w)

    assert_allclose(fitted.objective_, penalised(fitted, X, y, w, l1, l2), rtol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("strength", [1e-3, 0.03, 0.2])
def test_the_subgradient_with_an_l1_penalty_contains_zero(n_classes, share, strength):
    """At a weight of 0 the absolute derivative is at most λ₁; at others it and the penalty's derivative cancel."""
    X, y, w = draw(n_classes)
    l1, l2 = strength * share, strength * (1 - share)
    penalty = "l1" if share == 1 else ElasticNet(share)

    fitted = LogisticRegression(strength, penalty=penalty, tol=1e-12).fit(X, y, w)

    value, by_weights, by_biases = slopes(fitted.coef_, fitted.intercept_, X, y, w)
    smooth, zero = by_weights + l2 * fitted.coef_, fitted.coef_ == 0
    assert (np.abs(smooth[zero]) <= l1 + 2e-6).all()
    assert_allclose(smooth[~zero], -l1 * np.sign(fitted.coef_[~zero]), atol=1e-5)
    assert_allclose(by_biases, 0, atol=1e-5)
    total = value + l1 * np.abs(fitted.coef_).sum() + l2 / 2 * np.sum(fitted.coef_**2)
    assert_allclose(fitted.objective_, total, rtol=1e-9)


def test_a_stronger_l1_penalty_leaves_fewer_weights_until_there_are_none():
    X, y, w = draw(2)
    bias_only = slopes(
        np.zeros((1, 5)), np.log([np.average(y == 1, weights=w) / np.average(y == 0, weights=w)]), X, y, w
    )
    largest = np.abs(bias_only[1]).max()

    numbers = [
        int((LogisticRegression(share * largest, penalty="l1").fit(X, y, w).coef_ != 0).sum())
        for share in (0.01, 0.5, 0.99, 1.01)
    ]

    assert numbers[0] == 5
    assert numbers[2:] == [1, 0]
    assert numbers == sorted(numbers, reverse=True)


def test_two_classes_are_a_softmax_with_opposite_weights():
    """½ ‖w‖² of one vector is twice ½ (‖w/2‖² + ‖w/2‖²) of two."""
    X, y, w = draw(2)

    def softmax_objective(theta):
        W, b = theta[:10].reshape(2, 5), theta[10:]
        value, by_weights, by_biases = slopes(np.vstack([W, np.zeros(5)]), np.append(b, -1e300), X, y, w)
        gradient = np.concatenate([(by_weights[:2] + 0.02 * W).ravel(), by_biases[:2]])
        return value + 0.01 * np.sum(W**2), gradient

    best = minimize(softmax_objective, np.zeros(12), jac=True, method="BFGS", options={"gtol": 1e-9})
    W, b = best.x[:10].reshape(2, 5), best.x[10:]
    fitted = LogisticRegression(0.01, tol=1e-13).fit(X, y, w)

    assert_allclose(fitted.coef_[0], W[1] - W[0], atol=1e-6)
    assert_allclose(fitted.intercept_[0], b[1] - b[0], atol=1e-6)
    assert_allclose(fitted.objective_, best.fun, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["gradient-descent", GradientDescent()])
def test_steepest_descent_decreases_at_every_step_and_reaches_the_minimum(solver, n_classes):
    X, y, w = draw(n_classes)
    best = LogisticRegression(1e-2).fit(X, y, w)

    fitted = LogisticRegression(1e-2, solver=solver, tol=1e-8, max_iter=20_000).fit(X, y, w)

    assert (np.diff(fitted.loss_history_) <= 1e-12).all()
    assert_allclose(fitted.objective_, best.objective_, rtol=1e-6)
    assert_allclose(fitted.coef_, best.coef_, atol=1e-2)


@pytest.mark.filterwarnings("ignore::likely.NotConvergedWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["mini-batch", "online", GradientDescent(batch=10, random_state=3)], ids=str)
def test_stochastic_descents_come_near_the_minimum(solver, n_classes):
    X, y, w = draw(n_classes)
    best = LogisticRegression(1e-2).fit(X, y, w).objective_

    fitted = LogisticRegression(1e-2, solver=solver, max_iter=40).fit(X, y, w)

    start, end = fitted.loss_history_[0], fitted.objective_
    assert best * (1 - 1e-9) <= end < best + 0.1 * (start - best)
    assert len(fitted.loss_history_) <= 41


def test_a_seed_fixes_the_order_of_batches():
    X, y, _ = draw(3)
    with pytest.warns(UserWarning, match="stopped"):
        a, b, c = (
            LogisticRegression(solver=GradientDescent(batch=5, random_state=seed), max_iter=2).fit(X, y)
            for seed in (1, 1, 2)
        )

    assert (a.coef_ == b.coef_).all()
    assert (a.coef_ != c.coef_).any()


@pytest.mark.parametrize("penalty", ["l2", "l1", ElasticNet(0.4)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strengths", [[0.3, 0.01, 0.1], [0.01, 0.1, 0.3], [1e-3]])
def test_models_of_a_path_equal_separate_fits_in_the_given_order(strengths, n_classes, penalty):
    X, y, w = draw(n_classes)
    model = LogisticRegression(penalty=penalty, tol=1e-12)

    models = model.path(X, y, strengths, sample_weight=w)

    assert [fitted.regularization for fitted in models] == strengths
    assert not hasattr(model, "coef_")
    for fitted, strength in zip(models, strengths, strict=True):
        alone = clone(model).set_params(regularization=strength).fit(X, y, w)
        assert_allclose(fitted.coef_, alone.coef_, atol=2e-5)
        assert_allclose(fitted.objective_, alone.objective_, rtol=1e-9)
        assert_allclose(fitted.log_likelihood(X), alone.log_likelihood(X), atol=1e-4)


@pytest.fixture
def small_samples(monkeypatch):
    """Compute warm starts on a few dozen rows."""
    monkeypatch.setattr(linear_rows, "SAMPLE_ROWS", 16)
    monkeypatch.setattr(linear_rows, "SAMPLE_VALUES", 64)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(tol=1e-12),
        LogisticRegression(1e-2, tol=1e-12),
        LogisticRegression(1e-2, penalty="l1", tol=1e-12),
        LogisticRegression(1e-2, solver="newton", tol=1e-12),
        LogisticRegression(1e-2, solver="newton-cg", tol=1e-12),
    ],
    ids=lambda m: str(m).replace("\n", "").replace(" ", ""),
)
def test_a_start_from_a_sample_leads_to_the_same_minimum(model, convert, n_classes, request):
    X, y, w = draw(n_classes, n=2000)
    X = np.where(np.abs(X) < 0.5, 0, X)
    plain = clone(model).fit(X, y, w)
    request.getfixturevalue("small_samples")
    source = ArraySource(convert(X), y, w, np.arange(n_classes), block_rows=300)
    counts = source.reduce(class_counts, n_classes)
    assert LinearProblem.of(source, counts, np.full(n_classes, 1 / n_classes), 0.0, 0.0).subsample is not None

    sampled = clone(model).fit_source(source)

    assert_allclose(sampled.objective_, plain.objective_, rtol=1e-10)
    assert_allclose(sampled.log_likelihood(X), plain.log_likelihood(X), atol=1e-4)


def clusters(n_classes, n, seed, d=5):
    """Mostly separable Gaussian classes, with many zeros in the rows."""
    rng = np.random.default_rng([n_classes, seed])
    shares = np.arange(n_classes, 0, -1.0)
    y = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=shares / shares.sum())])
    mixing = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    X = rng.normal(size=(n, d)) @ mixing * rng.uniform(0.3, 3, d) + 0.8 * rng.normal(size=(n_classes, d))[y]
    return np.where(np.abs(X) < 0.5, 0, X), y, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n_classes", "seed"), [(2, 1), (2, 2), (4, 1), (4, 2), (6, 1)])
def test_a_separable_subsample_does_not_mislead_a_solver(solver, n_classes, seed, request):
    """A few dozen rows are separable, while all 2000 are not."""
    X, y, w = clusters(n_classes, 2000, seed)
    plain = LogisticRegression(solver="newton", tol=1e-12).fit(X, y, w)
    request.getfixturevalue("small_samples")

    sampled = LogisticRegression(solver=solver).fit(X, y, w)

    assert plain.separator_ is None
    assert sampled.separator_ is None
    assert_allclose(sampled.objective_, plain.objective_, rtol=1e-6)


def test_l1_weights_do_not_depend_on_the_start_for_an_even_number_of_classes(request):
    """A common shift of all classes changes no posterior, and, between the two middle weights, no penalty."""
    X, y, w = draw(4, n=2000)
    plain = LogisticRegression(1e-2, penalty="l1", tol=1e-11).fit(X, y, w)
    request.getfixturevalue("small_samples")

    sampled = LogisticRegression(1e-2, penalty="l1", tol=1e-11).fit(X, y, w)

    assert_allclose(sampled.log_likelihood(X), plain.log_likelihood(X), atol=1e-3)
    assert_allclose(sampled.coef_, plain.coef_, atol=1e-4)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_tolerance_below_rounding_counts_as_converged(seed, share):
    X, y, w = draw(2 + seed % 2, seed=seed)

    fitted = LogisticRegression(0.2, penalty=ElasticNet(share), tol=1e-14).fit(X, y, w)

    assert fitted.converged_


def test_a_rare_class_is_fitted_from_a_subsample(small_samples, rng):
    """A class of 10 among 100 000 rows, all of which are sampled, and a column that is 0 in nearly all rows."""
    y = np.zeros(100_000, dtype=int)
    y[::10_000] = 1
    X = rng.normal(size=(100_000, 3)) + 0.5 * y[:, None]
    seldom = np.zeros(100_000)
    seldom[5_000:5_020] = rng.normal(size=20)
    seldom[[10_000, 20_000]] = 1.0
    X = np.column_stack([X, seldom])

    for solver in SOLVERS:
        fitted = LogisticRegression(1e-6, solver=solver, tol=1e-12).fit(X, y)
        _, by_weights, by_biases = slopes(fitted.coef_, fitted.intercept_, X, y, np.ones(100_000))
        assert_allclose(by_weights + 1e-6 * fitted.coef_, 0, atol=1e-8)
        assert_allclose(by_biases, 0, atol=1e-8)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_columns_that_a_subsample_misrepresents_cost_few_steps(n_classes, penalty, request):
    """Columns like pixels at the edge of images: non-zero in a few rows only, of which a sample has one or none."""
    X, y, _ = draw(n_classes, n=4000, d=12)
    seldom = np.zeros((4000, 12))
    for j in range(12):
        seldom[100 * j : 100 * j + 4 * j + 2, j] = np.abs(X[100 * j : 100 * j + 4 * j + 2, j])
    rows = np.column_stack([X, seldom])
    rows /= rows.std(axis=0)
    model = LogisticRegression(1e-3, penalty=penalty, tol=1e-6)
    plain = clone(model).fit(rows, y)
    request.getfixturevalue("small_samples")

    sampled = clone(model).fit(rows, y)

    assert sampled.n_iter_ <= 2 * plain.n_iter_ + 100
    assert_allclose(sampled.objective_, plain.objective_, rtol=2e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_started_from_a_subsample_reach_the_minimum(n_classes, rng):
    """200 000 rows that repeat 2000, whose minimum is known."""
    X, y, _ = draw(n_classes, n=2000)
    many = rng.permutation(np.tile(np.arange(2000), 100))

    few, tall = LogisticRegression(1e-3).fit(X, y), LogisticRegression(1e-3).fit(X[many], y[many])

    assert_allclose(tall.objective_, few.objective_, rtol=1e-7)
    assert_allclose(tall.coef_, few.coef_, atol=2e-3)
    assert penalised(tall, X, y, np.ones(2000), 0, 1e-3) <= few.objective_ * (1 + 5e-8)
