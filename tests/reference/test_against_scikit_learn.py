"""Equal to scikit-learn where it computes the same thing; right where it does not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn import decomposition, discriminant_analysis
from sklearn.covariance import EmpiricalCovariance, ShrunkCovariance, oas
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler

from likely import (
    LDA,
    PCA,
    Diagonal,
    Full,
    Gaussian,
    GaussianClassifier,
    NearestMeanClassifier,
    Standardize,
    make_pipeline,
)


@pytest.fixture
def data(rng):
    y = rng.choice(4, size=500, p=[0.4, 0.3, 0.2, 0.1])
    mixing = rng.normal(size=(4, 6, 6))
    X = np.einsum("nd,nde->ne", rng.normal(size=(500, 6)), mixing[y]) + rng.normal(size=(4, 6))[y] * 2
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_density_is_scipy_s(weighted, data, rng):
    X, _ = data
    w = rng.integers(1, 4, 500) if weighted else None
    mean, C = np.average(X, axis=0, weights=w), np.cov(X, rowvar=False, bias=True, fweights=w)

    assert_allclose(Gaussian().fit(X, sample_weight=w).log_density(X), multivariate_normal(mean, C).logpdf(X))


def test_the_unbiased_covariance_divides_by_n_minus_1(data):
    X, _ = data

    assert_allclose(Gaussian(Full(unbiased=True)).fit(X).covariance_, np.cov(X, rowvar=False))
    assert_allclose(Gaussian().fit(X).covariance_, EmpiricalCovariance().fit(X).covariance_)


def test_the_full_classifier_is_qda(data):
    X, y = data
    qda = discriminant_analysis.QuadraticDiscriminantAnalysis().fit(X, y)

    assert_allclose(GaussianClassifier().fit(X, y).predict_log_proba(X), qda.predict_log_proba(X))


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_the_tied_classifier_is_lda(solver, data):
    X, y = data
    lda = discriminant_analysis.LinearDiscriminantAnalysis(solver=solver).fit(X, y)

    found = GaussianClassifier(tied=True).fit(X, y).predict_log_proba(X)

    assert_allclose(found, lda.predict_log_proba(X), atol=1e-7)


def test_shrinkage_of_the_tied_classifier_is_that_of_scikit_learn_within_standardised_classes(data):
    X, y = data
    Z = Standardize().fit_transform(X - np.stack([X[y == k].mean(axis=0) for k in range(4)])[y])
    R = np.cov(Z, rowvar=False, bias=True)
    scale = np.sqrt(GaussianClassifier(tied=True).fit(X, y).covariances_[0].diagonal())

    found = GaussianClassifier(Full(shrinkage=0.3), tied=True).fit(X, y).covariances_[0]

    assert_allclose(found, (0.7 * R + 0.3 * np.eye(6)) * np.outer(scale, scale))


@pytest.mark.parametrize("s", [0.0, 0.2, 1.0])
def test_shrinkage_towards_the_identity_is_that_of_lda_and_shrunk_covariance(s, data):
    """A number as shrinkage of LDA is applied to the columns as given; only "auto" standardises them first."""
    X, y = data
    shape = Full(shrinkage=s, towards="identity")
    lda = discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s).fit(X, y)

    tied, separate = (GaussianClassifier(shape, tied=tied).fit(X, y) for tied in (True, False))

    assert_allclose(tied.covariances_[0], lda.covariance_, atol=1e-12)
    assert_allclose(tied.predict_log_proba(X), lda.predict_log_proba(X), atol=1e-7)
    for k in range(4):
        expected = ShrunkCovariance(shrinkage=s).fit(X[y == k]).covariance_
        assert_allclose(separate.covariances_[k], expected, rtol=1e-12, atol=1e-12)


def test_shrinkage_towards_the_identity_is_qda_s_if_the_average_variance_is_1(data):
    X, y = data
    for k in range(4):
        X[y == k] /= np.sqrt(X[y == k].var(axis=0).mean())
    qda = discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.3).fit(X, y)

    found = GaussianClassifier(Full(shrinkage=0.3, towards="identity")).fit(X, y)

    assert_allclose(found.predict_log_proba(X), qda.predict_log_proba(X), atol=1e-9)


@pytest.mark.parametrize("n", [3, 10, 500])
def test_the_oracle_approximating_shrinkage_is_scikit_learn_s(n, data):
    X = data[0][:n]
    expected, _ = oas(X)

    found = Gaussian(Full(shrinkage="oas", towards="identity")).fit(X)

    assert_allclose(found.covariance_, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_diagonal_classifier_is_gaussian_naive_bayes(weighted, data, rng):
    X, y = data
    w = rng.uniform(0.5, 2, 500) if weighted else None
    peer = GaussianNB(var_smoothing=0).fit(X, y, w)

    found = GaussianClassifier("diagonal").fit(X, y, w)

    assert_allclose(found.predict_log_proba(X), peer.predict_log_proba(X), atol=1e-9)
    assert_allclose(found.covariances_, peer.var_)


@pytest.mark.parametrize(("ours", "theirs"), [("full", "full"), ("diagonal", "diag"), ("spherical", "spherical")])
def test_each_shape_is_a_mixture_of_one_component(ours, theirs, data):
    X, _ = data
    peer = GaussianMixture(1, covariance_type=theirs, reg_covar=0).fit(X)

    assert_allclose(Gaussian(ours).fit(X).log_density(X), peer.score_samples(X))


def test_the_nearest_mean_is_scikit_learn_s_with_equal_priors(data):
    X, y = data

    found = NearestMeanClassifier(priors=[0.25] * 4).fit(X, y)

    assert_array_equal(found.predict(X), NearestCentroid().fit(X, y).predict(X))


def test_principal_components_are_scikit_learn_s(data):
    X, _ = data
    peer = decomposition.PCA(4).fit(X)
    found = PCA(4).fit(X)

    signs = np.sign((found.components_ * peer.components_).sum(axis=1))
    assert_allclose(found.components_, peer.components_ * signs[:, None], atol=1e-9)
    assert_allclose(found.explained_variance_, peer.explained_variance_ * 499 / 500)
    assert_allclose(found.explained_variance_ratio_, peer.explained_variance_ratio_)
    assert_allclose(found.inverse_transform(found.transform(X)), peer.inverse_transform(peer.transform(X)))


def test_discriminants_span_the_directions_of_scikit_learn(data):
    X, y = data
    peer = discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    found = LDA().fit(X, y)

    cosines = np.sum(_unit(found.components_) * _unit(peer.scalings_[:, :3].T), axis=1)
    assert_allclose(np.abs(cosines), 1)
    assert_allclose(found.explained_variance_ratio_, peer.explained_variance_ratio_[:3])


def _unit(directions):
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def test_standardising_is_scikit_learn_s(data):
    X, _ = data

    assert_allclose(Standardize().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12)


def test_instalments_equal_one_fit_where_gaussian_naive_bayes_s_do_not(rng):
    """Its floor is taken from the last batch; ours enters when parameters are estimated."""
    X, y = rng.normal(size=(100, 2)) * [1.0, 1e-5], np.arange(100) % 2
    X[50:, 0] *= 1000
    ours = GaussianClassifier(Diagonal()).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    peer, whole = GaussianNB(), GaussianNB().fit(X, y)
    for half in (slice(0, 50), slice(50, 100)):
        peer.partial_fit(X[half], y[half], classes=[0, 1])

    assert_allclose(ours.llr(X), GaussianClassifier("diagonal").fit(X, y).llr(X))
    assert not np.allclose(peer.var_, whole.var_, rtol=1e-6, atol=0)


@pytest.mark.parametrize(("offset", "dtype", "rtol"), [(1e8, np.float64, 1e-6), (1e5, np.float32, 1e-6)])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("tied", [False, True])
def test_evidence_far_from_zero_is_that_of_the_same_data_near_zero(offset, dtype, rtol, covariance, tied, rng):
    y = np.arange(2000) % 2
    far = (rng.normal(size=(2000, 3)) + y[:, None] + offset).astype(dtype)
    near = far.astype(np.float64) - offset

    found = GaussianClassifier(covariance, tied=tied).fit(far, y).log_likelihood(far)

    assert_allclose(
        found, GaussianClassifier(covariance, tied=tied).fit(near, y).log_likelihood(near), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("tied", [False, True])
def test_classes_far_apart_keep_the_digits_of_their_own_densities(covariance, tied, rng):
    """Squares may not be expanded about a common origin when the class means are 1e8 standard deviations apart."""
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 3)) + 1e8 * y[:, None]
    model = GaussianClassifier(covariance, tied=tied).fit(X, y)
    C = model.covariances_[0] if covariance == "full" else np.diag(model.covariances_[0])

    own = multivariate_normal(model.means_[0], C).logpdf(X[y == 0])

    assert_allclose(model.log_likelihood(X)[y == 0, 0], own, rtol=1e-6)


def test_missing_values_by_em_reach_the_maximum_of_the_likelihood(rng):
    """At the maximum of the observed-data likelihood no small step in mean or covariance goes up."""
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3)) + 1
    X[rng.random(X.shape) < 0.25] = np.nan
    fitted = Gaussian().fit(X)
    mean, C = fitted.mean_, fitted.covariance_

    best = _observed_log_likelihood(X, mean, C)

    assert_allclose(fitted.log_density(X).sum(), best)
    for _ in range(20):
        step, A = 1e-3 * rng.normal(size=3), np.eye(3) + 1e-3 * rng.normal(size=(3, 3))
        assert _observed_log_likelihood(X, mean + step, A @ C @ A.T) < best


def _observed_log_likelihood(X, mean, C):
    total = 0.0
    for x in X:
        seen = ~np.isnan(x)
        if seen.any():
            total += multivariate_normal(mean[seen], C[np.ix_(seen, seen)]).logpdf(x[seen])
    return total


def test_a_chain_equals_its_steps_one_by_one(data):
    X, y = data
    chain = make_pipeline(Standardize(), PCA(4), LDA(2), GaussianClassifier()).fit(X, y)

    Z = Standardize().fit_transform(X)
    Z = PCA(4).fit_transform(Z)
    Z = LDA(2).fit(Z, y).transform(Z)
    assert_allclose(chain.log_likelihood(X), GaussianClassifier().fit(Z, y).log_likelihood(Z))
