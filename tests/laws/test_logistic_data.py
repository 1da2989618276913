"""Logistic regression on data of every form and shape, and in pipelines."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.special import expit
from sklearn.base import clone

from likely import (
    CalibratedClassifier,
    ElasticNet,
    GradientDescent,
    LogisticRegression,
    QuadraticFeatures,
    Standardize,
    kfold_scores,
    make_pipeline,
)


def draw(rng, n=400, d=3):
    X = rng.normal(size=(n, d))
    y = (rng.random(n) < expit(X @ np.linspace(-1, 2, d) - 0.5)).astype(int)
    return X, y


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("strength", [0.0, 1e-2])
def test_columns_of_unit_variance_around_1e8_are_fitted_precisely(penalty, strength, rng):
    X, y = draw(rng)
    X = np.round(X * 2**10) / 2**10  # so that the shift causes no rounding

    near = LogisticRegression(strength, penalty=penalty).fit(X, y)
    far = LogisticRegression(strength, penalty=penalty).fit(X + 1e8, y)

    assert_allclose(far.coef_, near.coef_, rtol=1e-3, atol=1e-4)
    assert_allclose(far.llr(X + 1e8), near.llr(X), atol=1e-3)
    assert_allclose(far.objective_, near.objective_, rtol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_one_column_far_from_zero_does_not_affect_the_others(solver, order, rng):
    X, y = draw(rng)
    X = np.round(X * 2**10) / 2**10
    shift = np.array([1e8, 0.0, -1e4])[order]

    near = LogisticRegression(1e-3, solver=solver, tol=1e-11).fit(X, y)
    far = LogisticRegression(1e-3, solver=solver, tol=1e-11).fit(X + shift, y)

    assert_allclose(far.llr(X + shift), near.llr(X), atol=1e-4)


def test_columns_of_very_different_units_give_the_same_llrs(rng):
    X, y = draw(rng, d=7)
    units = 10.0 ** np.arange(-6, 7, 2)

    plain, wild = LogisticRegression().fit(X, y), LogisticRegression().fit(X * units, y)

    assert wild.converged_
    assert wild.n_iter_ <= plain.n_iter_ + 1
    assert_allclose(wild.llr(X * units), plain.llr(X), atol=1e-4)


@pytest.mark.parametrize("strength", [0.0, 1e-2])
@pytest.mark.parametrize("solver", ["auto", "l-bfgs", "newton-cg"])
@pytest.mark.parametrize("constant", [0.0, 1.0, 1e9])
def test_a_constant_column_has_no_weight_and_changes_nothing(constant, solver, strength, rng):
    X, y = draw(rng)
    model = LogisticRegression(strength, solver=solver, tol=1e-11)

    plain = clone(model).fit(X, y)
    other = clone(model).fit(np.column_stack([X, np.full(len(y), constant)]), y)

    assert other.coef_[0, 3] == 0
    assert_allclose(other.coef_[0, :3], plain.coef_[0], atol=1e-5)
    assert_allclose(other.intercept_, plain.intercept_, atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
def test_a_duplicate_column_gives_the_same_llrs_and_shares_the_l2_penalty(solver, rng):
    X, y = draw(rng)
    twice = np.column_stack([X, X[:, 2]])

    free = LogisticRegression(solver=solver, tol=1e-11).fit(twice, y)
    assert_allclose(free.llr(twice), LogisticRegression(tol=1e-11).fit(X, y).llr(X), atol=1e-4)

    held = LogisticRegression(0.1, solver=solver, tol=1e-12).fit(twice, y)
    assert_allclose(held.coef_[0, 2], held.coef_[0, 3], atol=1e-5)
    # Two half weights have half the L2 penalty, like a single column multiplied by √2.
    single = LogisticRegression(0.1, tol=1e-12).fit(X * [1, 1, np.sqrt(2)], y)
    assert_allclose(held.llr(twice), single.llr(X * [1, 1, np.sqrt(2)]), atol=1e-5)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
def test_the_minimum_is_found_for_more_columns_than_rows_with_a_penalty(solver, convert, rng):
    """The weights are Σ α x, so SciPy finds the minimum over 30 coefficients α and the bias."""
    X, y = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < 0.3), np.arange(30) % 2
    G = X @ X.T

    def value(a):
        z = G @ a[:-1] + a[-1]
        residual = (expit(z) - y) / 30
        return np.mean(np.logaddexp(0, z) - y * z) + 0.05 * a[:-1] @ G @ a[:-1], np.append(
            G @ residual + 0.1 * G @ a[:-1], residual.sum()
        )

    best = minimize(value, np.zeros(31), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    fitted = LogisticRegression(0.1, solver=solver, tol=1e-12).fit(convert(X), y)

    assert_allclose(fitted.objective_, best.fun, rtol=1e-9)
    assert_allclose(fitted.coef_[0], X.T @ best.x[:-1], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int16", "bool"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_numeric_types_are_accepted(dtype, n_classes, rng):
    X = rng.integers(0, 2, size=(300, 4)) if dtype == "bool" else rng.integers(0, 200, size=(300, 4))
    X = X.astype(dtype)
    y = (np.argsort(np.argsort(X[:, 0] + X[:, 1] * rng.random(300))) * n_classes) // 300
    y[:20] = rng.integers(n_classes, size=20)

    narrow = LogisticRegression(1e-2, tol=1e-11).fit(X, y)
    wide = LogisticRegression(1e-2, tol=1e-11).fit(X.astype(float), y)

    assert narrow.coef_.dtype == np.float64
    assert_allclose(narrow.log_likelihood(X), wide.log_likelihood(X.astype(float)), atol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_accepted_and_their_column_names_are_kept(library, rng):
    frames = pytest.importorskip(library)
    X, y = draw(rng)
    frame = frames.DataFrame({f"x{j}": X[:, j] for j in range(3)})
    labels = frames.Series("label", np.array(["no", "yes"])[y]) if library == "polars" else frames.Series(y)

    fitted = LogisticRegression().fit(frame, labels)

    assert_array_equal(fitted.feature_names_in_, ["x0", "x1", "x2"])
    assert_allclose(fitted.llr(frame), LogisticRegression().fit(X, y).llr(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frames.DataFrame({f"z{j}": X[:, j] for j in range(3)}))


@pytest.mark.parametrize("form", [csr_array, csc_array, coo_array, np.asfortranarray, lambda X: X.tolist()])
def test_every_form_of_rows_gives_the_same_model(form, rng):
    X, y = draw(rng)
    X = np.where(X < 0, 0, np.round(X, 1))

    found = LogisticRegression(1e-3).fit(form(X), y)

    assert_allclose(found.llr(X), LogisticRegression(1e-3).fit(X, y).llr(X), atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(0.1, penalty="l1"),
        LogisticRegression(0.1, penalty=ElasticNet(0.2), training_prior=0.3),
        LogisticRegression(0.1, solver=GradientDescent(learning_rate=0.5), tol=1e-4, priors=[0.3, 0.7]),
    ],
    ids=["l1", "net", "descent"],
)
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_pickles_and_clones_are_the_same_model(model, shift, rng):
    X, y = draw(rng)
    fitted = clone(model).fit(X + shift, y)
    again = pickle.loads(pickle.dumps(fitted))

    assert_array_equal(again.predict_proba(X + shift), fitted.predict_proba(X + shift))
    assert again.get_params() == fitted.get_params()
    assert clone(fitted).get_params() == model.get_params()
    assert_array_equal(clone(fitted).fit(X + shift, y).coef_, fitted.coef_)


@pytest.mark.parametrize("before", [None, "fitted"])
def test_an_error_leaves_the_model_as_it_was(before, rng):
    X, y = draw(rng)
    model = LogisticRegression()
    if before:
        model.fit(X, y)
    state = pickle.dumps(model)
    bad = X.copy()
    bad[100, 1] = np.nan

    for rows, labels in ((bad, y), (X, np.zeros(400)), (X[:, :0], y), (X, y[:-1]), (X[:, :2] * 1e200, y)):
        with pytest.raises(ValueError, match=r"[a-z]"):
            model.fit(rows, labels)
        assert pickle.dumps(model) == state


def test_quadratic_features_equal_explicit_products(rng):
    """With an L2 penalty a product multiplied by √2 equals one that occurs twice, as in φ(x) = (vec(x x'), x)."""
    X = rng.normal(size=(500, 3))
    y = (rng.random(500) < expit(2 - (X**2).sum(axis=1) + X[:, 0] * X[:, 1])).astype(int)
    explicit = np.column_stack([np.einsum("ni,nj->nij", X, X).reshape(500, 9), X])
    model = LogisticRegression(1e-2, tol=1e-12)

    by_hand = clone(model).fit(explicit, y)
    chain = make_pipeline(QuadraticFeatures(), clone(model)).fit(X, y)

    assert_allclose(chain.llr(X), by_hand.llr(explicit), atol=1e-5)
    free = make_pipeline(QuadraticFeatures(), Standardize(), LogisticRegression(tol=1e-12)).fit(X, y)
    assert_allclose(free.llr(X), LogisticRegression(tol=1e-12).fit(explicit, y).llr(explicit), atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(1e-2),
        make_pipeline(Standardize(), LogisticRegression(1e-2)),
        make_pipeline(QuadraticFeatures(), Standardize(), LogisticRegression(1e-2, penalty="l1")),
    ],
    ids=["alone", "scaled", "quadratic"],
)
def test_cross_validation_and_calibration_accept_it(model, rng):
    X, y = draw(rng)
    folds = np.arange(400) % 4

    scores = kfold_scores(model, X, y, [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)])

    for k in range(4):
        alone = clone(model).fit(X[folds != k], y[folds != k])
        assert_allclose(scores[folds == k], alone.log_likelihood(X[folds == k]), atol=1e-4)
    calibrated = CalibratedClassifier(clone(model), cv=4).fit(X, y)
    assert calibrated.score(X, y) > 0.7
