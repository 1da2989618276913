"""Laws of linear features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from likely import LDA, PCA, Center, Standardize, Whiten
from likely.statistics import ByClass, Moments

FEATURES = [
    Center(),
    Standardize(),
    Whiten(),
    Whiten(form="pca"),
    Whiten(by="within"),
    Whiten(form="pca", by="within"),
    PCA(),
    PCA(2),
    PCA(0.8),
    LDA(),
    LDA(1),
]
everyone = pytest.mark.parametrize("feature", FEATURES, ids=str)


@pytest.fixture
def data(rng):
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=(3, 4))[y] * 2 + 5
    return X, y


@everyone
def test_mapped_moments_are_the_moments_of_mapped_rows(feature, data):
    X, y = data
    fitted = clone(feature).fit(X, y)

    mapped = fitted.map_statistics(ByClass.of(Moments, X, y))
    direct = ByClass.of(Moments, fitted.transform(X), y)

    for k in range(3):
        assert_allclose(mapped.parts[k].mean, direct.parts[k].mean, atol=1e-9)
        assert_allclose(mapped.parts[k].scatter, direct.parts[k].scatter, atol=1e-7)


@everyone
def test_batches_weights_and_sparse_rows_give_the_same_map_as_one_fit(feature, data, rng):
    X, y = np.round(data[0], 1), data[1]
    repeats = rng.integers(1, 4, 200)
    whole = clone(feature).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    parts = clone(feature)
    for rows in np.split(np.arange(200), [3, 50]):
        parts.partial_fit(csr_array(X[rows]), y[rows], sample_weight=repeats[rows])

    assert_allclose(parts.transform(csr_array(X)), whole.transform(X), rtol=1e-7, atol=1e-8)


@everyone
def test_the_mapped_training_rows_have_mean_zero(feature, data):
    X, y = data

    assert_allclose(clone(feature).fit(X, y).transform(X).mean(axis=0), 0, atol=1e-10)


@everyone
def test_transform_undoes_inverse_transform(feature, data):
    X, y = data
    fitted = clone(feature).fit(X, y)
    Z = fitted.transform(X)

    back = fitted.inverse_transform(Z)

    assert_allclose(fitted.transform(back), Z, atol=1e-9)
    if Z.shape == X.shape:
        assert_allclose(back, X, atol=1e-9)


@everyone
def test_every_output_has_a_name(feature, data):
    X, y = data
    fitted = clone(feature).fit(X, y)

    assert len(fitted.get_feature_names_out()) == fitted.transform(X).shape[1]


@pytest.mark.parametrize("feature", [Center(), Standardize()], ids=str)
def test_scaling_keeps_missing_values_and_learns_from_the_rest(feature, data):
    X = data[0].copy()
    X[3, 1] = np.nan
    fitted = clone(feature).fit(X)

    assert_allclose(fitted.mean_, np.nanmean(X, axis=0))
    assert_array_equal(np.isnan(fitted.transform(X)), np.isnan(X))


@pytest.mark.parametrize("form", ["zca", "pca"])
def test_total_whitening_makes_the_covariance_the_identity(form, data):
    X, _y = data
    Z = Whiten(form=form).fit_transform(X)

    assert_allclose(np.cov(Z, rowvar=False, bias=True), np.eye(4), atol=1e-10)


@pytest.mark.parametrize("feature", [Whiten(form="zca", by="within"), Whiten(form="pca", by="within"), LDA()], ids=str)
def test_within_class_whitening_makes_the_average_within_class_covariance_the_identity(feature, data):
    X, y = data
    Z = clone(feature).fit(X, y).transform(X)

    within = ByClass.of(Moments, Z, y).within().covariance()
    assert_allclose(within, np.eye(Z.shape[1]), atol=1e-10)


def test_symmetric_whitening_is_symmetric_and_the_pca_form_is_ordered(data):
    X, _ = data
    zca, pca = Whiten().fit(X), Whiten(form="pca").fit(X)

    assert_allclose(zca.components_, zca.components_.T, atol=1e-10)
    rotation = pca.components_ @ np.linalg.inv(zca.components_)
    assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-9)
    variances = (pca.components_**2).sum(axis=1) ** -1
    assert (np.diff(variances) <= 0).all()


def test_pca_keeps_the_requested_share_of_variance(data):
    X, _ = data
    shares = PCA().fit(X).explained_variance_ratio_

    for share in (0.3, 0.5, 0.9, 0.999):
        kept = PCA(share).fit(X).n_components_
        assert shares[:kept].sum() >= share
        assert kept == 1 or shares[: kept - 1].sum() < share


def test_the_reconstruction_error_of_pca_is_the_variance_left_out(data):
    X, _ = data
    pca = PCA(2).fit(X)

    residual = X - pca.inverse_transform(pca.transform(X))

    assert_allclose((residual**2).sum() / len(X), PCA().fit(X).explained_variance_[2:].sum())
