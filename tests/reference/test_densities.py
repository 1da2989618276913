"""Densities compared with SciPy, scikit-learn, and worked examples from courses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

from likely import Bernoulli, Categorical, Gaussian, Independent, Laplace, Multinomial

C_SCRIPTS = [
    [6, 8, 14, 1, 10, 1, 7],
    [8, 10, 14, 0, 11, 1, 7],
    [12, 22, 34, 1, 21, 2, 13],
    [4, 6, 10, 1, 6, 1, 4],
]
PYTHON_SCRIPTS = [[6, 14, 30, 6, 2, 16, 16], [2, 8, 14, 3, 1, 9, 8], [4, 14, 26, 7, 2, 15, 14]]


def test_laplace_is_that_of_scipy(rng):
    X = rng.laplace(3, 2, size=(101, 2))
    density = Laplace().fit(X)

    assert_allclose(np.transpose([stats.laplace.fit(column) for column in X.T]), [density.location_, density.scale_])
    expected = stats.laplace.logpdf(X, density.location_, density.scale_).sum(axis=1)
    assert_allclose(density.log_density(X), expected)


def test_bernoulli_and_multinomial_are_those_of_scipy(rng):
    counts = rng.multinomial(9, [0.2, 0.5, 0.3], size=40)
    density = Multinomial().fit(counts)
    bits = (counts > 2).astype(float)

    assert_allclose(density.log_density(counts), stats.multinomial.logpmf(counts, 9, density.probabilities_))
    p = Bernoulli().fit(bits).probabilities_
    assert_allclose(Bernoulli().fit(bits).log_density(bits), stats.bernoulli.logpmf(bits, p).sum(axis=1))


def test_a_product_is_that_of_scipy(rng):
    X = np.column_stack(
        [rng.normal(size=(60, 2)) @ rng.normal(size=(2, 2)), rng.laplace(size=60), rng.random(60) > 0.3]
    )
    density = Independent([(Gaussian(), [0, 1]), (Laplace(), [2]), (Bernoulli(), [3])]).fit(X)
    gaussian, laplace, bits = density.densities_

    expected = stats.multivariate_normal.logpdf(X[:, :2], gaussian.mean_, gaussian.covariance_)
    expected += stats.laplace.logpdf(X[:, 2], laplace.location_[0], laplace.scale_[0])
    expected += stats.bernoulli.logpmf(X[:, 3], bits.probabilities_[0])
    assert_allclose(density.log_density(X), expected)


@pytest.mark.parametrize("pseudo_count", [0.5, 1, 3])
def test_smoothed_probabilities_are_those_of_naive_bayes(pseudo_count, rng):
    codes, y, weight = rng.integers(0, [2, 3, 5], size=(90, 3)), np.arange(90) % 2, rng.uniform(0.1, 3, 90)
    codes[:2] = [1, 2, 4]  # the largest category of each column occurs in both classes
    categories = CategoricalNB(alpha=pseudo_count).fit(codes, y, sample_weight=weight)
    counts = MultinomialNB(alpha=pseudo_count).fit(codes, y, sample_weight=weight)
    bits = BernoulliNB(alpha=pseudo_count, binarize=1).fit(codes, y, sample_weight=weight)

    for k in (0, 1):
        rows = (codes[y == k], None, weight[y == k])
        found = Categorical(pseudo_count).fit(*rows).probabilities_
        for logs, p in zip(categories.feature_log_prob_, found, strict=True):
            assert_allclose(np.log(p), logs[k])
        assert_allclose(np.log(Multinomial(pseudo_count).fit(*rows).probabilities_), counts.feature_log_prob_[k])
        assert_allclose(
            np.log(Bernoulli(pseudo_count, threshold=1).fit(*rows).probabilities_), bits.feature_log_prob_[k]
        )


def test_coats_of_cats():
    coats, sexes = ["black", "orange", "white", "calico"], "mmfmmfmfff"
    seen = ["black", "orange", "black", "orange", "white", "white", "white", "white", "black", "calico"]
    codes = np.array([[coats.index(coat)] for coat in seen])
    is_female = np.array(list(sexes)) == "f"

    assert_allclose(Categorical(n_categories=4).fit(codes[is_female]).probabilities_[0], [0.4, 0, 0.4, 0.2])
    assert_allclose(Categorical(n_categories=4).fit(codes[~is_female]).probabilities_[0], [0.2, 0.4, 0.4, 0])


def test_symbols_in_c_and_python():
    """The course prints other ratios, .916 .245 …: it uses logs of raw counts without the totals 235 and 217."""
    c, python = Multinomial().fit(C_SCRIPTS), Multinomial().fit(PYTHON_SCRIPTS)

    assert_allclose(c.probabilities_, [0.128, 0.196, 0.306, 0.013, 0.204, 0.021, 0.132], atol=5e-4)
    assert_allclose(python.probabilities_, [0.055, 0.166, 0.323, 0.074, 0.023, 0.184, 0.175], atol=5e-4)
    ratios = np.log(c.probabilities_) - np.log(python.probabilities_)
    assert_allclose(ratios, [0.837, 0.165, -0.052, -1.754, 2.182, -2.159, -0.283], atol=5e-4)
    scripts = [[2, 10, 12, 0, 1, 1, 0], [2, 18, 16, 3, 0, 1, 1]]
    assert_allclose(c.log_density(scripts) - python.log_density(scripts), [2.732, -3.877], atol=5e-4)


def test_multinomial_counts_equal_categorical_sequences(rng):
    rows = {"a": rng.multinomial(30, [0.5, 0.3, 0.2], size=5), "b": rng.multinomial(20, [0.2, 0.2, 0.6], size=4)}
    counts = {label: Multinomial().fit(X) for label, X in rows.items()}
    tokens = {label: Categorical().fit(np.repeat([0, 1, 2], X.sum(axis=0))[:, None]) for label, X in rows.items()}
    text = np.array([2, 0, 0, 1, 2, 2])

    for label in rows:
        assert_allclose(tokens[label].probabilities_[0], counts[label].probabilities_)
    by_counts = [counts[label].log_density([np.bincount(text)])[0] for label in rows]
    by_tokens = [tokens[label].log_density(text[:, None]).sum() for label in rows]
    assert_allclose(by_counts[1] - by_counts[0], by_tokens[1] - by_tokens[0])


@pytest.mark.parametrize(("theta", "probability"), [(0.5, 0.205), (0.7, 0.200)])
def test_six_heads_of_ten(theta, probability):
    coin = Multinomial().fit([[theta, 1 - theta]])

    assert_allclose(np.exp(coin.log_density([[6, 4]])), probability, atol=5e-4)
    assert_allclose(Multinomial().fit([[6, 4]]).probabilities_, [0.6, 0.4])
    assert_allclose(Bernoulli().fit([[1]] * 6 + [[0]] * 4).probabilities_, [0.6])
