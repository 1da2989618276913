"""Options of EM that stop or restart it, and components that are separated after a split."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likely import (
    LBG,
    ArraySource,
    Bernoulli,
    GaussianMixture,
    InvalidParameterError,
    Mixture,
    MixtureClassifier,
    NotConvergedWarning,
    load,
    save,
)
from likely.densities.covariance import shape_of
from likely.densities.gaussian import Gaussians
from likely.densities.mixtures.em import EMOptions
from likely.densities.mixtures.starting import Setup
from likely.densities.mixtures.twins import find_twins, merge, widen


def components(means, covariance):
    """Return Gaussians of equal covariance at these means."""
    setup = Setup.of(
        ArraySource(np.random.default_rng(0).normal(size=(50, 2))), shape_of(covariance), False, 1e-6, 2, EMOptions()
    )
    return setup.family.make_equal(np.array(means), np.eye(2) if covariance == "full" else np.ones(2)).components


def clusters(seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) * 1.5 + 3])


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_twins_are_components_less_than_a_standard_deviation_apart(covariance):
    means = [[0.0, 0.0], [5.0, 0.0], [0.9, 0.0], [5.0, 0.5], [0.0, -0.8], [-5.0, 0.0], [-5.0, 1.1]]

    # For equal covariances of unit size the Jeffreys divergence is the squared distance.
    assert find_twins(components(means, covariance)) == [(1, 3), (0, 4)]


def test_widened_twins_keep_their_mean():
    means, weights = np.array([[0.0, 0.0], [1.0, 1.0], [0.3, 0.0]]), np.array([0.2, 0.5, 0.3])

    moved = widen(means, weights, [(0, 2)])

    assert_allclose(moved, [[-0.18, 0.0], [1.0, 1.0], [0.42, 0.0]])
    assert_allclose(weights @ moved, weights @ means)


def test_merged_components_have_the_moments_of_their_rows():
    a, b = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 5.0], [3.0, 6.0], [8.0, 7.0]])
    means = np.stack([a.mean(axis=0), b.mean(axis=0)])
    covariances = np.stack([np.cov(a.T, bias=True), np.cov(b.T, bias=True)])
    rows = np.concatenate([a, b])

    mean, covariance = merge(np.array([2.0, 3.0]), means, covariances)
    _, variances = merge(np.array([2.0, 3.0]), means, np.diagonal(covariances, axis1=1, axis2=2))

    assert_allclose(mean, rows.mean(axis=0))
    assert_allclose(covariance, np.cov(rows.T, bias=True))
    assert_allclose(variances, rows.var(axis=0))


@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_twins_of_gaussian_rows_never_lower_the_likelihood(covariance, tied):
    X = np.random.default_rng(2).normal(size=(300, 3))
    X[::7, 1] = np.nan
    weight = np.random.default_rng(3).uniform(0.5, 2, 300)

    model = GaussianMixture(2, covariance=covariance, tied=tied).fit(X, sample_weight=weight)

    plain = GaussianMixture(2, covariance=covariance, tied=tied, stopping="rise", tol=1e-3).fit(X, sample_weight=weight)
    assert model.converged_
    assert model.history_[-1] >= plain.history_[-1]
    assert_allclose(model.history_[-1], np.average(model.log_density(X), weights=weight), rtol=1e-10)


def test_halves_that_are_exactly_equal_are_separated():
    model = GaussianMixture(2, init=LBG(0.0)).fit(clusters())

    assert model.history_[-1] > GaussianMixture(1).fit(clusters()).history_[-1] + 0.1
    assert len(model.restarts_) == 1


def test_the_rise_rule_leaves_equal_halves():
    model = GaussianMixture(2, init=LBG(0.0), stopping="rise").fit(clusters())

    assert model.restarts_ == []
    assert_array_equal(model.means_[0], model.means_[1])


@pytest.mark.parametrize("stopping", ["projected", "rise"])
@pytest.mark.parametrize(
    "model",
    [GaussianMixture(2), GaussianMixture(4), Mixture(Bernoulli(), random_state=0), GaussianMixture(2, init="kmeans")],
    ids=["two", "four", "bernoulli", "kmeans"],
)
def test_one_pass_adds_one_value_to_the_history(model, stopping):
    X = (clusters() > 1).astype(float) if isinstance(model, Mixture) else clusters()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        fitted = model.set_params(max_iter=1, stopping=stopping, random_state=0).fit(X)

    assert fitted.n_iter_ == 1
    assert fitted.history_.shape == (2,)
    assert_allclose(fitted.history_[-1], fitted.score(X))


def test_a_collapsed_component_stays_if_restarts_are_off():
    start = [0.5, 0.5], [[4.0, 4.0], [1e4, 1e4]], np.ones((2, 2))

    model = GaussianMixture(2, init=start, restart_collapsed=False).fit(clusters())

    assert model.restarts_ == []
    assert model.weights_[1] == 0


def test_a_classifier_passes_the_options_to_its_mixtures():
    X, y = clusters(), np.repeat(["a", "b"], 60)
    options = {"tol": 1e-3, "max_iter": 7, "stopping": "rise", "restart_collapsed": False}

    model = MixtureClassifier(2, **options).fit(X, y)

    single = GaussianMixture(2, **options).fit(X[y == "a"])
    assert_array_equal(model.mixtures_[0].history_, single.history_)
    assert_array_equal(model.path(X, y, [2])[0].mixtures_[0].history_, single.history_)
    assert model.n_iter_.tolist() == [mixture.n_iter_ for mixture in model.mixtures_]
    assert all(mixture.get_params()["max_iter"] == 7 for mixture in model.mixtures_)


def test_an_adapted_classifier_counts_the_passes_of_the_background():
    model = MixtureClassifier(2, relevance=4.0).fit(clusters(), np.repeat(["a", "b"], 60))

    assert model.n_iter_.tolist() == [model.background_.n_iter_] * 2
    assert model.background_.n_iter_ >= 1


def test_options_are_saved(tmp_path):
    model = GaussianMixture(2, max_iter=50, stopping="rise", restart_collapsed=False, tol=1e-2).fit(clusters())

    save(model, tmp_path / "model")

    assert load(tmp_path / "model").get_params() == model.get_params()


@pytest.mark.parametrize("option", [{"max_iter": 0}, {"stopping": "never"}, {"restart_collapsed": 2}])
def test_wrong_options_are_refused(option):
    with pytest.raises(InvalidParameterError, match=next(iter(option))):
        GaussianMixture(2, **option).fit(clusters())


def test_the_message_of_a_mixture_of_any_density_does_not_mention_init():
    X = (np.random.default_rng(0).random((40, 5)) > 0.5).astype(float)

    with pytest.warns(NotConvergedWarning, match=r"stopped after 1 pass .*max_iter \(now 1\)\.$"):
        Mixture(Bernoulli(), max_iter=1, random_state=0).fit(X)


def test_gaussians_of_one_covariance_have_twins_too():
    tied = GaussianMixture(2, tied=True).fit(clusters())
    gaussians = tied.mixed_.components
    moved = np.stack([gaussians.means[0], gaussians.means[0]])

    assert find_twins(Gaussians(moved, gaussians.covariances)) == [(0, 1)]
