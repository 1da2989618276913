"""Mixtures where components collapse, parameters are no good, and choices have nothing to choose from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from likely import (
    DegenerateDataWarning,
    Gaussian,
    GaussianMixture,
    IncompatiblePartsError,
    InvalidParameterError,
    Laplace,
    Mixture,
    choose_mixture,
)


@pytest.fixture
def half_discrete():
    rng = np.random.default_rng(0)
    return np.c_[rng.normal(size=40), rng.integers(0, 2, 40)]


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("density", [Gaussian("diagonal"), Laplace()], ids=["gaussian", "laplace"])
def test_the_likelihood_never_falls_where_floors_follow_components(density, half_discrete):
    falls = [np.diff(Mixture(density, 3, 1, random_state=s).fit(half_discrete).history_).min() for s in range(6)]

    assert min(falls) > -1e-9


def test_components_that_collapsed_are_told_of(half_discrete):
    with pytest.warns(DegenerateDataWarning, match="A component"):
        Mixture(Gaussian("diagonal"), 3, random_state=0).fit(half_discrete)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("mixture", "X"),
    [
        (GaussianMixture(2, assignments="hard"), np.zeros((6, 2))),
        (GaussianMixture(3, init="kmeans", random_state=0), np.full((30, 3), 5.0)),
        (GaussianMixture(4, "diagonal", assignments="hard"), np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)),
    ],
    ids=["hard, all equal", "k-means, all equal", "hard, two places"],
)
def test_components_without_rows_are_survived_in_silence(mixture, X):
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(mixture.fit(X).log_density(X)).all()


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_weights_are_repetition_where_a_component_collapses():
    rng = np.random.default_rng(0)
    X = np.array([[0.0, 0.0], [4.0, 0.8], [1.2, 4.0]])[np.arange(90) % 3]
    X += rng.normal(size=(90, 2)) @ [[1.0, 0.3], [0.0, 0.7]]
    copies = np.arange(90) % 4
    mixture = GaussianMixture(3, "spherical", init=X[[1, 5, 20]], assignments="hard")

    weighted = clone(mixture).fit(X, sample_weight=copies)
    repeated = clone(mixture).fit(np.repeat(X, copies, axis=0))

    assert_allclose(weighted.history_[-1], repeated.history_[-1])
    assert weighted.restarts_ == repeated.restarts_


def test_one_spherical_component_with_missing_values_is_the_gaussian(rng):
    X = rng.normal(size=(90, 2)) * [2, 1]
    X[::4, 0] = np.nan

    assert_allclose(GaussianMixture(1, "spherical").fit(X).score(X), Gaussian("spherical").fit(X).score(X), rtol=1e-9)


@pytest.mark.parametrize("density", ["categorical", Gaussian, None], ids=str)
def test_what_is_no_density_is_named(density, half_discrete):
    with pytest.raises(IncompatiblePartsError, match="density of Mixture"):
        Mixture(density).fit(half_discrete)


@pytest.mark.parametrize(
    "covariances",
    [-np.ones((2, 2)), np.array([[[1.0, 0.9], [-0.9, 1.0]]] * 2), np.array([[[1.0, 3.0], [3.0, 1.0]]] * 2)],
    ids=["negative", "asymmetric", "indefinite"],
)
def test_given_covariances_that_are_none_are_refused(covariances, half_discrete):
    with pytest.raises(InvalidParameterError, match="Covariances given to a mixture must be symmetric"):
        GaussianMixture(2, init=([0.5, 0.5], half_discrete[:2], covariances)).fit(half_discrete)


@pytest.mark.parametrize("cv", [0, 1, 500])
def test_folds_that_cannot_be_made_are_named(cv, rng):
    with pytest.raises(InvalidParameterError, match="cv of choose_mixture"):
        choose_mixture(rng.normal(size=(20, 2)), (1, 2), criterion="log_likelihood", cv=cv)


def test_a_size_that_is_no_whole_number_is_named(rng):
    with pytest.raises(InvalidParameterError, match=r"whole numbers >= 1, but 1\.5"):
        choose_mixture(rng.normal(size=(20, 2)), (1.5,))


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_sizes_beyond_the_rows_that_weigh_anything_are_left_out(rng):
    choice = choose_mixture(rng.normal(size=(9, 1)), (1, 4), sample_weight=[1, 1, 1, 0, 0, 0, 0, 0, 0])

    assert {line["n_components"] for line in choice.table} == {1}


def test_a_grown_mixture_is_what_its_own_parameters_fit(rng):
    X = rng.normal(size=(60, 2)) ** 3
    mixture = GaussianMixture(init="random", random_state=0).path(X, [3])[0]

    assert_allclose(clone(mixture).fit(X).history_, mixture.history_)


@pytest.mark.parametrize(("sizes", "n_warnings"), [((1, 2), 0), ((2,), 1)], ids=["a sound one", "none but floored"])
def test_mixtures_at_the_floor_come_last_and_only_of_the_chosen_one_something_is_said(sizes, n_warnings, rng, recwarn):
    X = np.concatenate([rng.normal(size=(30, 1)), np.full((30, 1), 8.0)])

    choice = choose_mixture(X, sizes, ("full",), tied=(False,))

    assert choice.best.n_components == sizes[0]
    assert [line["at_floor"] for line in choice.table] == [size == 2 for size in sizes]
    assert len(recwarn) == n_warnings
