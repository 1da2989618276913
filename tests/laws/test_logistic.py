"""Laws of logistic regression: order, labels, weights and division of the rows into blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax
from sklearn.base import clone

from likely import Application, ArraySource, ElasticNet, LogisticRegression

MODELS = [
    LogisticRegression(tol=1e-12),
    LogisticRegression(0.05, tol=1e-12),
    LogisticRegression(0.02, training_prior=[0.2, 0.2, 0.6], tol=1e-12),
    LogisticRegression(0.02, penalty="l1", tol=1e-12),
    LogisticRegression(0.02, penalty=ElasticNet(0.3), tol=1e-12),
    LogisticRegression(0.05, solver="l-bfgs", tol=1e-12),
    LogisticRegression(0.05, solver="newton-cg", tol=1e-12),
]
everyone = pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m).replace("\n", "").replace(" ", ""))


def draw(n_classes=3, n=300, d=4, seed=20260101):
    """Overlapping classes of unequal sizes, labelled by letters."""
    rng = np.random.default_rng([seed, n_classes])
    shares = np.arange(n_classes, 0, -1.0)
    codes = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=shares / shares.sum())])
    means = rng.normal(size=(n_classes, d))
    mixing = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mixing + means[codes], np.array(list("abcdefg"))[codes]


@pytest.fixture
def data():
    return draw()


def assert_same(a, b, X, to=1e-5):
    """Assert equal models: a relative gap of 1e-12 means weights precise to about 1e-6."""
    assert_allclose(a.log_likelihood(X), b.log_likelihood(X), rtol=to, atol=to)
    assert_allclose(a.objective_, b.objective_, rtol=1e-10)


@everyone
def test_weights_equal_repetition(model, data, rng):
    X, y = data
    repeats = rng.integers(1, 4, 300)

    weighted = clone(model).fit(X, y, sample_weight=repeats.astype(float))
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    assert_same(weighted, repeated, X)


@everyone
def test_only_the_proportions_of_weights_matter(model, data, rng):
    X, y = data
    weight = rng.uniform(0.5, 2, 300)

    for factor in (1e-6, 1e6):
        assert_same(clone(model).fit(X, y, factor * weight), clone(model).fit(X, y, weight), X)


@everyone
def test_rows_of_weight_zero_are_ignored(model, data, rng):
    X, y = data
    w = (rng.random(300) < 0.7).astype(float)
    dirty = X.copy()
    dirty[w == 0] = np.nan

    assert_same(clone(model).fit(dirty, y, sample_weight=w), clone(model).fit(X[w > 0], y[w > 0]), X)


@everyone
def test_the_order_of_rows_does_not_matter(model, data, rng):
    X, y = data
    order = rng.permutation(300)

    assert_same(clone(model).fit(X[order], y[order]), clone(model).fit(X, y), X)


@everyone
@pytest.mark.parametrize("block_rows", [7, 41, 299])
def test_any_division_of_a_source_gives_the_model_of_arrays(model, data, block_rows):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    source = ArraySource(X, codes, classes=classes, block_rows=block_rows)

    fitted = clone(model).fit_source(source)

    assert_array_equal(fitted.classes_, classes)
    assert fitted.n_features_in_ == 4
    assert_same(fitted, clone(model).fit(X, y), X)


@everyone
def test_one_thread_and_two_give_the_same_bits(model, data, monkeypatch):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    source = ArraySource(X, codes, classes=classes, block_rows=17)
    monkeypatch.setattr("likely.blocks.threads.n_threads", lambda: 2)
    threaded = clone(model).fit_source(source)
    monkeypatch.setattr("likely.blocks.threads.n_threads", lambda: 1)

    alone = clone(model).fit_source(source)

    assert_array_equal(alone.coef_, threaded.coef_)
    assert_array_equal(alone.intercept_, threaded.intercept_)


@everyone
def test_relabelling_only_renames(model, data):
    X, y = data
    names = {"a": "z", "b": "y", "c": "x"}
    renamed = np.array([names[label] for label in y])
    other = clone(model)
    if model.training_prior is not None:
        other.training_prior = model.training_prior[::-1]

    plain, other = clone(model).fit(X, y), other.fit(X, renamed)

    assert_allclose(other.log_likelihood(X)[:, ::-1], plain.log_likelihood(X), rtol=1e-5, atol=1e-5)
    assert_allclose(other.coef_[::-1], plain.coef_, atol=1e-5)
    assert_array_equal(other.predict(X), [names[label] for label in plain.predict(X)])


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_exchanging_two_classes_changes_the_sign(penalty):
    X, y = draw(2)
    plain = LogisticRegression(0.01, penalty=penalty, tol=1e-12).fit(X, y)

    other = LogisticRegression(0.01, penalty=penalty, tol=1e-12).fit(X, np.where(y == "a", "b", "a"))

    assert_allclose(other.coef_, -plain.coef_, atol=1e-6)
    assert_allclose(other.llr(X), -plain.llr(X), atol=1e-5)


@everyone
def test_sparse_rows_give_the_model_of_dense_rows(model, data, rng):
    X, y = data
    X = np.where(rng.random(X.shape) < 0.5, np.round(X, 2), 0)

    sparse, plain = clone(model).fit(csr_array(X), y), clone(model).fit(X, y)

    assert_same(sparse, plain, X)
    assert_allclose(sparse.log_likelihood(csr_array(X)), sparse.log_likelihood(X), rtol=1e-9, atol=1e-9)


@everyone
def test_a_shift_of_the_rows_changes_only_the_intercepts(model, data):
    """Biases are not penalised, so w'(x + c) + b − w'c has the same objective as w'x + b."""
    X, y = data
    shift = np.array([3.0, -7.0, 11.0, 0.5])

    plain, moved = clone(model).fit(X, y), clone(model).fit(X + shift, y)

    assert_allclose(moved.coef_, plain.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(moved.intercept_, plain.intercept_ - plain.coef_ @ shift, rtol=1e-4, atol=1e-4)
    assert_allclose(moved.log_likelihood(X + shift), plain.log_likelihood(X), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "l-bfgs", "newton-cg"])
def test_units_of_columns_only_scale_unpenalised_weights(n_classes, solver):
    X, y = draw(n_classes)
    units = np.array([1e-6, 1e6, 1e-3, 1.0])

    plain = LogisticRegression(tol=1e-12, solver=solver).fit(X, y)
    scaled = LogisticRegression(tol=1e-12, solver=solver).fit(X * units, y)

    assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(scaled.objective_, plain.objective_, rtol=1e-10)


@pytest.mark.parametrize("strength", [0.0, 0.03])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_prior_equals_weights_that_give_every_class_its_prior(strength, penalty, data):
    X, y = data
    priors = {"a": 0.1, "b": 0.3, "c": 0.6}
    numbers = {label: (y == label).sum() for label in priors}
    weight = np.array([priors[label] / numbers[label] for label in y])

    asked = LogisticRegression(strength, penalty=penalty, training_prior=priors, tol=1e-12).fit(X, y)
    weighted = LogisticRegression(strength, penalty=penalty, tol=1e-12).fit(X, y, 300 * weight)

    assert_allclose(asked.training_priors_, [0.1, 0.3, 0.6])
    assert_allclose(weighted.training_priors_, [0.1, 0.3, 0.6])
    assert_same(asked, weighted, X)


def test_with_a_prior_the_class_sizes_do_not_matter():
    X, y = draw(2)
    copies = np.where(y == "b", 7, 1)

    plain = LogisticRegression(0.01, training_prior=0.3, tol=1e-12).fit(X, y)
    many = LogisticRegression(0.01, training_prior=0.3, tol=1e-12).fit(
        np.repeat(X, copies, axis=0), np.repeat(y, copies)
    )

    assert_same(plain, many, X)


@everyone
def test_log_likelihoods_are_log_posteriors_minus_log_training_priors(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    posteriors = log_softmax(X @ fitted.coef_.T + fitted.intercept_, axis=1)
    counted = [(y == label).mean() for label in "abc"]

    assert_allclose(fitted.training_priors_, counted if model.training_prior is None else model.training_prior)
    assert_allclose(fitted.log_likelihood(X), posteriors - np.log(fitted.training_priors_), atol=1e-9)
    assert_allclose(fitted.predict_log_proba(X), posteriors, atol=1e-9)
    assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert_array_equal(fitted.decide(X, Application(fitted.training_priors_)), fitted.predict(X))


def test_the_llr_is_the_posterior_log_odds_minus_the_prior_log_odds():
    X, y = draw(2)
    fitted = LogisticRegression(0.01).fit(X, y)
    odds = X @ fitted.coef_[0] + fitted.intercept_[0]
    prior_odds = np.log((y == "b").sum() / (y == "a").sum())

    assert fitted.coef_.shape == (1, 4)
    assert_allclose(fitted.llr(X), odds - prior_odds, atol=1e-9)
    assert_allclose(fitted.decision_function(X), odds, atol=1e-9)
    assert_allclose(fitted.predict_proba(X)[:, 1], expit(odds), atol=1e-12)


@everyone
def test_priors_at_prediction_only_shift_scores(model, data):
    X, y = data
    plain = clone(model).fit(X, y)
    used = clone(model).set_params(priors=[0.2, 0.2, 0.6]).fit(X, y)

    assert_array_equal(used.log_likelihood(X), plain.log_likelihood(X))
    shifted = plain.log_likelihood(X) + np.log([0.2, 0.2, 0.6])
    assert_allclose(used.predict_log_proba(X), log_softmax(shifted, axis=1), atol=1e-9)


def test_llrs_hardly_depend_on_the_class_frequencies_in_training(rng):
    """For N(0, I) and N(m, I) the llr is linear, m'x − m'm/2, whatever the class frequencies."""
    mean = np.array([1.0, -0.5])
    found = []
    for share in (0.5, 0.05):
        y = (rng.random(100_000) < share).astype(int)
        X = rng.normal(size=(100_000, 2)) + y[:, None] * mean
        fitted = LogisticRegression().fit(X, y)
        assert_allclose(fitted.coef_[0], mean, atol=0.06)
        found.append(fitted.llr([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0]]))

    truth = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0]]) @ mean - mean @ mean / 2
    assert_allclose(found[0], truth, atol=0.1)
    assert_allclose(found[1], truth, atol=0.15)
