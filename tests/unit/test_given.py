"""Densities and classifiers of given parameters: closed forms, moments of samples, files, and messages."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likely
from likely import (
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianMixture,
    GenerativeClassifier,
    IncompatiblePartsError,
    Independent,
    InvalidParameterError,
    Laplace,
    Multinomial,
)

MEAN, C = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
SECOND = np.diag([0.5, 2.0, 1.0])
W, MEANS, TWO = np.array([0.3, 0.7]), np.array([MEAN, -MEAN]), np.stack([C, SECOND])
ONE, THREE = np.array([0.2, 0.8]), np.array([0.5, 0.2, 0.3])


def mixed():
    parts = [(Laplace.given([1.0], 2.0), [2]), (Gaussian.given(MEAN[:2], C[:2, :2]), "rest")]
    return Independent.given(parts)


GIVEN = {
    "full": lambda: Gaussian.given(MEAN, C),
    "diagonal": lambda: Gaussian.given(MEAN, C.diagonal()),
    "spherical": lambda: Gaussian.given(MEAN, 1.5),
    "categorical": lambda: Categorical.given([ONE, THREE]),
    "bernoulli": lambda: Bernoulli.given([0.25, 0.5, 1.0]),
    "multinomial": lambda: Multinomial.given(THREE),
    "laplace": lambda: Laplace.given(MEAN, [1.0, 2.0, 0.5]),
    "independent": mixed,
    "mixture": lambda: GaussianMixture.given(W, MEANS, TWO),
    "diagonal mixture": lambda: GaussianMixture.given(W, MEANS, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "spherical mixture": lambda: GaussianMixture.given(W, MEANS, [1.0, 4.0]),
    "tied mixture": lambda: GaussianMixture.given(W, MEANS, C, tied=True),
}
every_density = pytest.mark.parametrize("name", GIVEN)


def rows_of(name, density, n=5):
    return density.sample(n, 0, **({"total": 20} if name == "multinomial" else {}))


def with_mean(rows):
    return rows.mean(axis=0), np.cov(rows.T, bias=True)


# Closed forms


@pytest.mark.parametrize(
    ("covariance", "shape", "matrix", "n_parameters"),
    [(C, "full", C, 9), (C.diagonal(), "diagonal", np.diag(C.diagonal()), 6), (1.5, "spherical", 1.5 * np.eye(3), 4)],
    ids=["full", "diagonal", "spherical"],
)
def test_a_gaussian_has_the_density_of_scipy_and_its_shape_follows_from_the_covariance(
    covariance, shape, matrix, n_parameters, rng
):
    density, X = Gaussian.given(MEAN, covariance), rng.normal(size=(20, 3))

    assert density.covariance == shape
    assert density.n_parameters_ == n_parameters
    assert_array_equal(density.mean_, MEAN)
    assert_allclose(density.covariance_, matrix, rtol=1e-15)
    assert_allclose(density.log_density(X), stats.multivariate_normal(MEAN, matrix).logpdf(X), rtol=1e-12)


def test_missing_values_are_integrated_out():
    found = Gaussian.given(MEAN, C).log_density([[0.0, np.nan, 1.0]])

    assert_allclose(found, stats.multivariate_normal(MEAN[[0, 2]], C[np.ix_([0, 2], [0, 2])]).logpdf([[0.0, 1.0]]))


def test_a_laplace_density_is_that_of_scipy(rng):
    X, scale = rng.normal(size=(20, 3)), np.array([1.0, 2.0, 0.5])
    density = Laplace.given(MEAN, scale)

    assert_allclose(density.log_density(X), stats.laplace(MEAN, scale).logpdf(X).sum(axis=1), rtol=1e-12)
    assert_allclose(Laplace.given(MEAN, 2.0).scale_, [2.0, 2.0, 2.0])
    assert density.n_parameters_ == 6


def test_discrete_densities_are_those_of_scipy():
    counts = np.array([[3, 2, 1], [0, 0, 4]])

    assert_allclose(
        Multinomial.given(THREE).log_density(counts), stats.multinomial(counts.sum(axis=1), THREE).logpmf(counts)
    )
    assert_allclose(
        Bernoulli.given([0.25, 0.5]).log_density([[1, 0]]), stats.bernoulli([0.25, 0.5]).logpmf([1, 0]).sum()
    )
    assert_allclose(Categorical.given([ONE, THREE]).log_density([[1, 2], [0, 0]]), np.log([0.8 * 0.3, 0.2 * 0.5]))
    assert_array_equal(Categorical.given([ONE]).log_density([[2]]), [-np.inf])
    assert Categorical.given([ONE, THREE]).n_parameters_ == 3


@pytest.mark.parametrize(
    ("covariances", "tied", "matrices", "n_parameters"),
    [
        (TWO, False, TWO, 1 + 6 + 12),
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], False, [np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 5.0, 6.0])], 1 + 6 + 6),
        ([1.0, 4.0], False, [np.eye(3), 4 * np.eye(3)], 1 + 6 + 2),
        (C, True, [C, C], 1 + 6 + 6),
        (C.diagonal(), True, [np.diag(C.diagonal())] * 2, 1 + 6 + 3),
        (2.0, True, [2 * np.eye(3)] * 2, 1 + 6 + 1),
    ],
    ids=["full", "diagonal", "spherical", "tied full", "tied diagonal", "tied spherical"],
)
def test_a_mixture_is_the_weighted_sum_of_the_densities_of_scipy(covariances, tied, matrices, n_parameters, rng):
    mixture, X = GaussianMixture.given(W, MEANS, covariances, tied=tied), rng.normal(size=(20, 3))
    parts = [w * stats.multivariate_normal(m, S).pdf(X) for w, m, S in zip(W, MEANS, matrices, strict=True)]

    assert_allclose(mixture.log_density(X), np.log(sum(parts)), rtol=1e-12)
    assert_allclose(mixture.responsibilities(X), np.transpose(parts / sum(parts)), rtol=1e-9, atol=1e-300)
    assert mixture.n_parameters_ == n_parameters
    assert (mixture.n_components, mixture.tied, mixture.n_iter_) == (2, tied, 0)


def test_a_mixture_with_the_parameters_of_a_fitted_one_is_the_same_density(rng):
    X = np.r_[rng.normal(size=(50, 2)), rng.normal(5, 2, size=(50, 2))]
    fitted = GaussianMixture(2).fit(X)
    model = GaussianMixture.given(fitted.weights_, fitted.means_, fitted.covariances_)

    assert_allclose(model.log_density(X), fitted.log_density(X), rtol=1e-12)
    assert model.n_parameters_ == fitted.n_parameters_
    assert GaussianMixture(2, init=model).fit(X).converged_


def test_independent_densities_are_multiplied():
    density, x = mixed(), np.array([[0.5, 1.0, -1.0]])
    expected = stats.laplace(1.0, 2.0).logpdf(-1.0) + stats.multivariate_normal(MEAN[:2], C[:2, :2]).logpdf(x[0, :2])

    assert_allclose(density.log_density(x), [expected])
    assert density.n_parameters_ == 2 + 5
    assert [columns.tolist() for columns in density.columns_] == [[2], [0, 1]]


# What every fitted density does


@every_density
def test_a_given_density_is_fitted_and_its_clone_is_not(name):
    density = GIVEN[name]()
    X = rows_of(name, density)

    assert density.n_features_in_ == X.shape[1]
    assert np.isfinite(density.log_density(X)).all()
    assert not hasattr(density, "statistics_")
    fresh = clone(density)
    assert fresh.get_params().keys() == density.get_params().keys()
    with pytest.raises(NotFittedError):
        fresh.log_density(X)


@every_density
def test_files_and_copies_hold_the_same_density(name, tmp_path):
    density = GIVEN[name]()
    X = rows_of(name, density)
    likely.save(density, tmp_path / "density.likely")
    loaded = likely.load(tmp_path / "density.likely")

    for other in (loaded, pickle.loads(pickle.dumps(density)), copy.copy(density)):
        assert_array_equal(other.log_density(X), density.log_density(X))
        assert_array_equal(rows_of(name, other), X)
        assert other.n_parameters_ == density.n_parameters_
        assert not hasattr(other, "statistics_")
    likely.save(loaded, tmp_path / "again.likely")
    assert (tmp_path / "again.likely").read_bytes() == (tmp_path / "density.likely").read_bytes()


@every_density
def test_rows_cannot_be_added_but_a_fit_replaces_the_parameters(name):
    density = GIVEN[name]()
    X = rows_of(name, density, 200)

    with pytest.raises(IncompatiblePartsError, match="partial_fit cannot"):
        density.partial_fit(X)
    assert_allclose(density.fit(X).log_density(X), clone(density).fit(X).log_density(X))


@pytest.mark.parametrize("name", ["full", "diagonal", "laplace", "mixture", "tied mixture"])
def test_samples_have_the_moments_of_the_density(name):
    rows = GIVEN[name]().sample(200_000, 0)
    between = np.cov(MEANS.T, aweights=W, ddof=0)
    expected = {
        "full": (MEAN, C),
        "diagonal": (MEAN, np.diag(C.diagonal())),
        "laplace": (MEAN, np.diag([2.0, 8.0, 0.5])),  # the variance is 2 b²
        "mixture": (W @ MEANS, np.tensordot(W, TWO, 1) + between),
        "tied mixture": (W @ MEANS, C + between),
    }[name]

    for found, value in zip(with_mean(rows), expected, strict=True):
        assert_allclose(found, value, rtol=0.02, atol=0.03)


def test_samples_of_discrete_densities_have_the_given_frequencies():
    codes = Categorical.given([ONE, THREE]).sample(50_000, 0)
    assert_allclose(np.bincount(codes[:, 1].astype(int)) / 50_000, THREE, atol=0.01)
    assert_allclose(Bernoulli.given([0.25, 1.0]).sample(50_000, 0).mean(axis=0), [0.25, 1.0], atol=0.01)
    counts = Multinomial.given(THREE).sample(5_000, 0, total=10)
    assert_array_equal(counts.sum(axis=1), 10)
    assert_allclose(counts.mean(axis=0), 10 * THREE, atol=0.1)


def test_probabilities_that_miss_1_by_rounding_are_divided_by_their_sum():
    third = 0.33333333
    density = Multinomial.given([third, third, third])

    assert density.probabilities_.sum() == pytest.approx(1.0, abs=1e-15)
    assert density.sample(3, 0, total=5).sum() == 15


def test_given_arrays_are_copied():
    mean, covariance = np.zeros(2), np.eye(2)
    density = Gaussian.given(mean, covariance)
    mean[:], covariance[:] = 9.0, 9.0

    assert_allclose(density.log_density([[0.0, 0.0]]), [-np.log(2 * np.pi)])


# The classifier of known densities


def test_the_error_of_two_known_gaussians_is_the_bayes_error():
    # Unit variances, means 0 and 2: the threshold is 1, and both errors are Φ(−1).
    model = GenerativeClassifier.given({0: Gaussian.given([0.0], 1.0), 1: Gaussian.given([2.0], 1.0)})
    X, y = model.sample(200_000, 0)

    assert_allclose(model.llr([[1.0], [1.5]]), [0.0, 1.0], atol=1e-15)
    assert_array_equal(model.predict([[0.999], [1.001]]), [0, 1])
    assert np.mean(model.predict(X) != y) == pytest.approx(stats.norm.cdf(-1), abs=0.003)
    assert_allclose(model.training_priors_, [0.5, 0.5])


def test_priors_move_the_threshold_by_the_prior_log_odds():
    densities = {0: Gaussian.given([0.0], 1.0), 1: Gaussian.given([2.0], 1.0)}
    model = GenerativeClassifier.given(densities, priors=[0.8, 0.2])
    at = 1 + np.log(4) / 2  # 2 x − 2 = log 4

    assert_allclose(model.training_priors_, [0.8, 0.2])
    assert_array_equal(model.predict([[at - 1e-9], [at + 1e-9]]), [0, 1])
    assert_allclose(model.predict_proba([[at]]), [[0.5, 0.5]])
    by_label = GenerativeClassifier.given(densities, priors={1: 0.2, 0: 0.8})
    assert_allclose(by_label.training_priors_, [0.8, 0.2])


def test_a_classifier_of_known_densities_is_saved_cloned_and_sorted_by_label(tmp_path):
    densities = {"b": Laplace.given([0.0, 1.0], 1.0), "a": mixed_pair(), "c": Gaussian.given([1.0, 1.0], np.eye(2))}
    model = GenerativeClassifier.given(densities, priors={"a": 0.5, "b": 0.3, "c": 0.2})
    X, _ = model.sample(20, 0)
    likely.save(model, tmp_path / "model.likely")
    loaded = likely.load(tmp_path / "model.likely")

    assert model.classes_.tolist() == ["a", "b", "c"]
    assert_allclose(model.log_likelihood(X), np.column_stack([densities[label].log_density(X) for label in "abc"]))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_allclose(loaded.training_priors_, [0.5, 0.3, 0.2])
    assert model.n_features_in_ == 2
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def mixed_pair():
    return GaussianMixture.given([0.5, 0.5], [[0.0, 0.0], [3.0, 3.0]], [1.0, 1.0])


def test_later_changes_of_a_density_do_not_change_the_classifier(rng):
    first, second = Gaussian().fit(rng.normal(size=(50, 2))), Gaussian.given([3.0, 3.0], 1.0)
    model = GenerativeClassifier.given({0: first, 1: second})
    X = rng.normal(size=(5, 2))
    before = model.llr(X)
    first.partial_fit(rng.normal(9, 1, size=(50, 2)))

    assert_array_equal(model.llr(X), before)


def test_names_of_columns_are_kept_if_all_densities_have_them(rng):
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["p", "q"])
    densities = {0: Gaussian().fit(frame), 1: Gaussian().fit(frame + 2)}
    model = GenerativeClassifier.given(densities)

    assert model.feature_names_in_.tolist() == ["p", "q"]
    assert_allclose(model.log_likelihood(frame)[:, 0], densities[0].log_density(frame))


# Messages

STANDARD = Gaussian.given([0.0, 0.0], 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian.given(0.0, 1.0), "mean of Gaussian.given must be a vector of numbers, but has the shape ()"),
        (lambda: Gaussian.given("ab", 1.0), "mean of Gaussian.given must be a vector of numbers, but is 'ab'"),
        (lambda: Gaussian.given([0.0, np.nan], 1.0), "mean of Gaussian.given must be finite"),
        (
            lambda: Gaussian.given([0.0, 0.0], np.eye(3)),
            "covariance of Gaussian.given must have the shape () (a variance) or (2,) (variances of the columns) or "
            "(2, 2) (a matrix), as the means have 2 columns, but has the shape (3, 3)",
        ),
        (
            lambda: Gaussian.given([0.0, 0.0], [[1.0, 0.5], [0.2, 1.0]]),
            "must be symmetric, but element (0, 1) is 0.5 and element (1, 0) is 0.2",
        ),
        (
            lambda: Gaussian.given([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),
            "must be positive definite, but the smallest eigenvalue of the correlations is -1.",
        ),
        (lambda: Gaussian.given([0.0, 0.0], np.ones((2, 2))), "must be positive definite"),
        (lambda: Gaussian.given([0.0, 0.0], np.diag([1.0, 0.0])), "must have variances above 0, but the smallest is 0"),
        (lambda: Gaussian.given([0.0, 0.0], [1.0, -1.0]), "must be variances above 0, but the smallest is -1"),
        (lambda: Gaussian.given([0.0, 0.0], 0.0), "must be variances above 0, but the smallest is 0"),
        (lambda: Gaussian.given([0.0], [np.inf]), "covariance of Gaussian.given must be finite"),
        (lambda: Bernoulli.given([0.5, 1.5]), "must be from 0 to 1, but the probability of column 1 is 1.5"),
        (lambda: Multinomial.given([0.5, 0.4]), "must sum to 1, but sum to 0.9. Divide them by their sum"),
        (lambda: Multinomial.given([1.5, -0.5]), "must be >= 0, but number 1 is -0.5"),
        (lambda: Multinomial.given(THREE).sample(2), "Set total, as in sample(10, total=50)"),
        (lambda: Categorical.given([0.5, 0.5]), "such as [[0.5, 0.5]] for one column"),
        (lambda: Categorical.given(None), "must be a list, but is None"),
        (lambda: Categorical.given([ONE, [0.5, 0.4]]), "probabilities (column 1) of Categorical.given must sum to 1"),
        (lambda: Laplace.given([0.0, 1.0], [1.0]), "2 such numbers, one for each column, but it has 1 numbers"),
        (
            lambda: Laplace.given([0.0, 1.0], [1.0, 0.0]),
            "one number above 0, or 2 such numbers, one for each column, but the",
        ),
        (lambda: GaussianMixture.given([0.5, 0.6], MEANS, TWO), "weights of GaussianMixture.given must sum to 1"),
        (lambda: GaussianMixture.given([1.0], MEANS, TWO), "one row for each of the 1 weights, but have 2 rows"),
        (lambda: GaussianMixture.given(W, MEANS, C), "covariances of GaussianMixture.given must have the shape (2,)"),
        (lambda: GaussianMixture.given(W, MEANS, [C, -SECOND]), "the smallest is -2 (number 1)"),
        (lambda: GaussianMixture.given(W, MEANS[0], TWO), "means of GaussianMixture.given must be a matrix of numbers"),
        (lambda: GaussianMixture.given(W, MEANS, C, tied=2), "tied of GaussianMixture must be True or False"),
        (
            lambda: Independent.given([(STANDARD, [0]), (Laplace.given([0.0], 1.0), [1, 2])]),
            "Part 0 of Independent.given has 1 columns, but its density has 2",
        ),
        (lambda: Independent.given([(Gaussian(), [0])]), "Part 0 of Independent.given must be a fitted density"),
        (lambda: GenerativeClassifier.given([STANDARD]), "must be a mapping from labels to fitted densities"),
        (lambda: GenerativeClassifier.given({0: STANDARD}), "needs at least two classes, but got [0]"),
        (
            lambda: GenerativeClassifier.given({0: STANDARD, 1: Gaussian.given([0.0], 1.0)}),
            "must have the same number of columns, but the density of class 0 has 2 columns and the density of class 1",
        ),
        (
            lambda: GenerativeClassifier.given({0: STANDARD, 1: Gaussian()}),
            "The density of class 1 of GenerativeClassifier.given must be a fitted density, but Gaussian is not fitted",
        ),
        (lambda: GenerativeClassifier.given({0: STANDARD, 1: 7}), "must be a density, such as"),
        (lambda: GenerativeClassifier.given({0: STANDARD, 1: STANDARD}, [0.5, 0.6]), "priors must be >= 0 and sum"),
        (lambda: GenerativeClassifier.given({0: STANDARD, 1: STANDARD}, "ab"), "priors of GenerativeClassifier.given"),
    ],
)
def test_wrong_parameters_are_refused_with_the_rule_and_the_value(make, message):
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        make()


def test_a_file_without_sums_and_parameters_is_refused(tmp_path):
    density = Gaussian.given([0.0], 1.0)
    density._parameters = None

    with pytest.raises(
        likely.ModelFileError, match="must have parameters, or sums from which parameters can be estimated"
    ):
        likely.save(density, tmp_path / "density.likely")
