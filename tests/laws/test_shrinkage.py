"""Shrinkage of class covariances towards the diagonal, the pooled covariance and the identity."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group

import likely
from likely import Full, Gaussian, GaussianClassifier, kfold_scores
from likely.statistics import Moments

TARGETS = ["diagonal", "pooled", "identity"]


@pytest.fixture
def data(rng):
    y = np.repeat(["a", "b", "c"], [60, 30, 10])
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    mixing = rng.normal(size=(3, 4, 4))
    return np.einsum("nd,nde->ne", rng.normal(size=(100, 4)), mixing[codes]) + rng.normal(size=(3, 4))[codes], y


def fit(data, shrinkage, towards, weight=None, **options):
    shape = Full(shrinkage=shrinkage, towards=towards, **options)
    return GaussianClassifier(shape).fit(*data, sample_weight=weight)


def plain_covariances(data, s, towards, w, unbiased):
    """Shrunk covariances of the classes, computed from the rows by NumPy."""
    X, y = data
    groups = [(X[y == k], w[y == k]) for k in np.unique(y)]
    scatters = [np.cov(rows, rowvar=False, fweights=f, bias=True) * f.sum() for rows, f in groups]
    weights = np.array([f.sum() for _, f in groups])
    lost = int(unbiased)
    pooled = sum(scatters) / (weights.sum() - 3 * lost)
    shrunk = []
    for S, n in zip(scatters, weights, strict=True):
        C = S / (n - lost)
        target = {"diagonal": np.diag(np.diag(C)), "pooled": pooled, "identity": np.trace(C) / 4 * np.eye(4)}[towards]
        shrunk.append((1 - s) * C + s * target)
    return np.stack(shrunk)


@pytest.mark.parametrize("towards", TARGETS)
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("s", [0.0, 0.01, 0.5, 1.0])
def test_estimates_are_weighted_means_of_covariance_and_target(towards, unbiased, s, data, rng):
    w = rng.integers(1, 4, 100)

    model = fit(data, s, towards, w, unbiased=unbiased)

    assert_allclose(model.covariances_, plain_covariances(data, s, towards, w, unbiased), rtol=1e-12, atol=1e-12)
    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()


@pytest.mark.parametrize("towards", TARGETS)
def test_shrinkage_of_0_is_no_shrinkage_to_the_bit(towards, data):
    shrunk, plain = fit(data, 0.0, towards), GaussianClassifier().fit(*data)

    assert_array_equal(shrunk.covariances_, plain.covariances_)
    assert_array_equal(shrunk.log_likelihood(data[0]), plain.log_likelihood(data[0]))


def test_shrinkage_of_1_towards_pooled_is_the_tied_classifier(data):
    tied = GaussianClassifier(tied=True).fit(*data)

    assert_allclose(fit(data, 1.0, "pooled").log_likelihood(data[0]), tied.log_likelihood(data[0]), rtol=1e-10)


@pytest.mark.parametrize("towards", TARGETS)
def test_a_class_with_fewer_rows_than_columns_is_positive_definite_and_causes_no_warning(towards, data):
    X, y = data
    keep = np.r_[0:60, 60:90, 90:93]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit((X[keep], y[keep]), 0.1, towards)

    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()


@pytest.mark.parametrize("s", [0.1, 0.7, "oas"])
def test_rotations_do_not_change_scores_of_shrinkage_towards_the_identity(s, data, rng):
    X, y = data
    Q = ortho_group.rvs(4, random_state=0)

    plain, rotated = fit(data, s, "identity"), fit((X @ Q, y), s, "identity")

    assert_allclose(rotated.log_likelihood(X @ Q), plain.log_likelihood(X), rtol=1e-9)


@pytest.mark.parametrize("s", [0.1, 0.7])
def test_invertible_maps_shift_scores_of_shrinkage_towards_pooled_by_a_constant(s, data, rng):
    X, y = data
    A, b = rng.normal(size=(4, 4)), rng.normal(size=4)

    plain, mapped = fit(data, s, "pooled"), fit((X @ A + b, y), s, "pooled")

    shift = np.log(abs(np.linalg.det(A)))
    assert_allclose(mapped.log_likelihood(X @ A + b) + shift, plain.log_likelihood(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("s", [0.1, 0.7])
def test_units_do_not_change_scores_of_shrinkage_towards_the_diagonal(s, data):
    X, y = data
    units = np.array([1e-3, 1.0, 10.0, 1e4])

    plain, scaled = fit(data, s, "diagonal"), fit((X * units, y), s, "diagonal")

    assert_allclose(scaled.log_likelihood(X * units) + np.log(units).sum(), plain.log_likelihood(X), rtol=1e-9)


def test_one_pass_of_moments_serves_all_strengths_and_targets(data, monkeypatch):
    X, y = data
    models = [GaussianClassifier(Full(s, towards=t)) for t in TARGETS for s in (0.1, 0.5)]
    calls = []
    original = Moments.grouped.__func__

    def counting(cls, *args, **kwargs):
        calls.append(1)
        return original(cls, *args, **kwargs)

    monkeypatch.setattr(Moments, "grouped", classmethod(counting))
    kfold_scores(models[:1], X, y, 3)
    once = len(calls)
    kfold_scores(models, X, y, 3)

    assert len(calls) == 2 * once > 0


@pytest.mark.parametrize("towards", ["pooled", "identity"])
@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_missing_values_of_shrunk_covariances_are_fitted_by_em(towards, data, rng):
    """A column that is constant in one class has a variance from the target, which EM must not remove."""
    X, y = data
    X = X.copy()
    X[y == "b", 1] = 2.0
    X[rng.random(X.shape) < 0.1] = np.nan

    model = fit((X, y), 0.3, towards)

    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()
    assert all((np.linalg.eigvalsh(part.scatter) > -1e-9).all() for part in model.statistics_.parts.values())
    assert np.isfinite(model.log_likelihood(X)).all()


def test_a_single_covariance_has_no_pooled_target(data):
    with pytest.raises(likely.InvalidParameterError, match="Use GaussianClassifier with tied=False") as error:
        Gaussian(Full(0.5, towards="pooled")).fit(data[0])

    assert error.value.parameter == "towards"
    assert_array_equal(Gaussian(Full(towards="pooled")).fit(data[0]).covariance_, Gaussian().fit(data[0]).covariance_)


def test_numbers_by_hand():
    """Covariances of a and b are [[1, 1], [1, 1]] and [[4, 0], [0, 0]]; pooled they are [[2.5, 0.5], [0.5, 0.5]]."""
    X = [[0.0, 0.0], [2.0, 2.0], [0.0, 5.0], [4.0, 5.0]]
    y = ["a", "a", "b", "b"]

    pooled = fit((X, y), 0.5, "pooled").covariances_
    identity = fit((X, y), 0.5, "identity").covariances_

    assert_allclose(pooled, [[[1.75, 0.75], [0.75, 0.75]], [[3.25, 0.25], [0.25, 0.25]]])
    assert_allclose(identity, [[[1.0, 0.5], [0.5, 1.0]], [[3.0, 0.0], [0.0, 1.0]]])


def test_the_oracle_approximating_strength_by_hand():
    """S = diag(4, 0) of n = 9 rows: mean square 4, average variance 2, so s = (4 + 4) / (10 (4 − 2)) = 0.4."""
    X = np.column_stack([[2.0, -2.0] * 4 + [0.0], np.zeros(9)]) * [np.sqrt(9 / 8), 1.0]

    found = Gaussian(Full("oas", towards="identity")).fit(X).covariance_

    assert_allclose(found, [[0.6 * 4 + 0.4 * 2, 0], [0, 0.4 * 2]], atol=1e-12)


def test_equal_rows_and_single_columns_have_a_strength():
    with pytest.warns(likely.DegenerateDataWarning):
        flat = Gaussian(Full("oas", towards="identity")).fit(np.ones((5, 3)))

    assert_allclose(flat.covariance_, 1e-9 * np.eye(3))
    assert_allclose(Gaussian(Full("oas", towards="identity")).fit([[0.0], [2.0]]).covariance_, [[1.0]])
