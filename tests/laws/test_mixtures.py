"""Laws of all mixtures, for every shape, start and kind of assignment."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.sparse import csr_array
from sklearn.base import clone

from likely import (
    AbsoluteFloor,
    ArraySource,
    Bernoulli,
    Categorical,
    DegenerateDataWarning,
    Gaussian,
    GaussianMixture,
    Independent,
    KMeans,
    Laplace,
    Mixture,
    Multinomial,
    choose_mixture,
)

SHAPES = list(product(["full", "diagonal", "spherical"], [False, True]))
MEMBERS = {
    f"{covariance}{' tied' * tied} {init} {assignments}": {
        "covariance": covariance,
        "tied": tied,
        "init": init,
        "assignments": assignments,
        "random_state": 3,
    }
    for (covariance, tied), init, assignments in product(SHAPES, ["lbg", "kmeans", "random"], ["soft", "hard"])
}
every = pytest.mark.parametrize("name", MEMBERS)
# Every shape: separate covariances with LBG and random starts, tied ones with k-means; all with both assignments.
some = pytest.mark.parametrize("name", list(MEMBERS)[::2][::2] + list(MEMBERS)[1::4])
shapes = pytest.mark.parametrize(("covariance", "tied"), SHAPES)


def mixture(name, n_components=3, **options):
    return GaussianMixture(n_components, **{"tol": 1e-4, **MEMBERS[name], **options})


def clusters(n=90, seed=0, apart=4.0):
    """Return rows of three slightly overlapping clusters in two columns."""
    rng = np.random.default_rng(seed)
    centres = apart * np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.0]])
    return centres[np.arange(n) % 3] + rng.normal(size=(n, 2)) @ [[1.0, 0.3], [0.0, 0.7]]


def assert_same(a, b, X, rtol=1e-6, atol=1e-6):
    """Assert that two mixtures agree at rows."""
    assert_allclose(a.log_density(X), b.log_density(X), rtol=rtol, atol=atol)
    assert_allclose(a.weights_, b.weights_, rtol=rtol, atol=atol)


def assert_never_falls(model):
    rises = np.diff(model.history_)
    between = np.ones(len(rises), dtype=bool)
    between[[after - 1 for after in model.restarts_ if after <= len(rises)]] = False
    assert (rises[between] >= -1e-11 * max(1.0, np.abs(model.history_).max())).all()


FLOORED = [
    *product([1e-6], ["plain", "weighted", "missing", "offset", "discrete", "heavy tails"]),
    (0.3, "missing"),
    (AbsoluteFloor(0.8), "plain"),
]


@every
@pytest.mark.parametrize(("floor", "data"), FLOORED, ids=[f"{floor} {data}" for floor, data in FLOORED])
def test_likelihood_never_falls_between_restarts(name, data, floor):
    rng = np.random.default_rng(5)
    X, weight = clusters(), None
    if data == "weighted":
        weight = rng.uniform(0, 3, len(X))
    if data == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    if data == "offset":
        X += [1e6, -1e4]
    if data == "discrete":
        X = np.column_stack([X, rng.integers(0, 2, len(X))])
    if data == "heavy tails":
        X = X**5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        model = mixture(name, 4, floor=floor).fit(X, sample_weight=weight)

    assert_never_falls(model)
    for found in (model.weights_, model.means_, model.covariances_, model.history_, model.log_density(X)):
        assert np.isfinite(found).all()
    assert_allclose(model.responsibilities(X).sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.weights_.sum(), 1, rtol=1e-12)


@some
def test_the_last_of_the_history_is_that_of_the_fitted_mixture(name):
    X = clusters()

    model = mixture(name).fit(X)

    expected = model.score(X)
    if model.assignments == "hard":
        expected = (model.log_density(X) + np.log(model.responsibilities(X).max(axis=1))).mean()
    assert_allclose(model.history_[-1], expected, rtol=1e-10)
    assert model.n_iter_ == len(model.history_) - 1
    assert model.converged_


@some
def test_responsibilities_are_shares_and_the_largest_is_predicted(name):
    X = clusters()
    model = mixture(name).fit(X)

    shares = model.responsibilities(X)

    assert shares.shape == (len(X), 3)
    assert (shares >= 0).all()
    assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert_array_equal(model.outlier_score(X), -model.log_density(X))
    assert_array_equal(model.score_samples(X), model.log_density(X))


@every
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_one_component_is_the_gaussian(name, weighted):
    X = clusters()
    weight = np.linspace(0, 2, len(X)) if weighted else None

    model = mixture(name, 1).fit(X, sample_weight=weight)

    gaussian = Gaussian(model.covariance).fit(X, sample_weight=weight)
    assert_allclose(model.log_density(X), gaussian.log_density(X), rtol=1e-9)
    assert_allclose(model.history_[-1], np.average(gaussian.log_density(X), weights=weight), rtol=1e-10)
    assert model.n_parameters_ == gaussian.n_parameters_


def test_one_component_with_missing_values_is_the_gaussian():
    X = clusters()
    X[::4, 0], X[1::5, 1] = np.nan, np.nan

    model = GaussianMixture(1, covariance="diagonal").fit(X)

    assert_allclose(model.log_density(X), Gaussian("diagonal").fit(X).log_density(X), rtol=1e-8)


@every
def test_tied_components_share_one_covariance(name):
    model = mixture(name).fit(clusters() * [1, 3])

    spread = model.covariances_
    assert spread.shape == ((3, 2, 2) if model.covariance == "full" else (3, 2))
    if model.tied:
        assert_array_equal(spread, np.repeat(spread[:1], 3, axis=0))
    else:
        assert not np.allclose(spread[0], spread[1])
    if model.covariance == "spherical":
        assert_allclose(spread, spread[:, :1] * np.ones(2), rtol=1e-12)


@every
def test_weights_are_repetition(name):
    X, copies = clusters(), np.arange(90) % 4
    given = {"init": clusters()[[0, 1, 2]]} if "random" in name or "kmeans" in name else {}

    weighted = mixture(name, **given).fit(X, sample_weight=copies)
    repeated = mixture(name, **given).fit(np.repeat(X, copies, axis=0))

    assert_same(weighted, repeated, X)
    assert_allclose(weighted.history_, repeated.history_, rtol=1e-9)
    assert_allclose(
        [weighted.bic(X, copies), weighted.aic(X, copies)],
        [repeated.bic(np.repeat(X, copies, axis=0)), repeated.aic(np.repeat(X, copies, axis=0))],
    )


@some
def test_order_of_rows_and_division_into_blocks_do_not_matter(name):
    X, order = clusters(), np.random.default_rng(2).permutation(90)
    given = {"init": clusters()[[1, 5, 20]]} if "random" in name or "kmeans" in name else {}
    model = mixture(name, **given).fit(X)

    assert_same(mixture(name, **given).fit(X[order]), model, X)
    for block_rows in (1, 7, 64):
        cut = mixture(name).fit_source(ArraySource(X, block_rows=block_rows))
        assert_same(cut, mixture(name).fit(X), X)


@some
def test_a_source_equals_rows_in_memory(name):
    X, weight = clusters(), np.linspace(0.1, 2, 90)

    model = mixture(name).fit_source(ArraySource(X, weight=weight))

    assert_array_equal(model.log_density(X), mixture(name).fit(X, sample_weight=weight).log_density(X))


@some
@pytest.mark.parametrize("floor", [1e-6, 0.2], ids=["low", "active"])
def test_units_of_the_columns_only_shift_log_densities(name, floor):
    X = clusters()
    # The leading eigenvector, along which components are split, depends on the units, and so does a spherical variance.
    one_unit = "lbg" in name or "random" in name or "spherical" in name
    units, origin = np.array([256.0, 256.0] if one_unit else [1e-3, 512.0]), np.array([1024.0, -16.0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        plain, moved = mixture(name, floor=floor).fit(X), mixture(name, floor=floor).fit(X * units + origin)

    assert_allclose(moved.log_density(X * units + origin) + np.log(units).sum(), plain.log_density(X), atol=1e-6)
    assert_allclose(moved.means_, plain.means_ * units + origin, rtol=1e-5, atol=1e-6)
    assert_allclose(moved.responsibilities(X * units + origin), plain.responsibilities(X), atol=1e-6)


@some
def test_sparse_and_single_precision_rows_equal_dense_rows(name):
    X = np.where(np.random.default_rng(4).random((90, 2)) < 0.4, 0, clusters()).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        model = mixture(name, 2).fit(X.astype(float))
        sparse, single = mixture(name, 2).fit(csr_array(X.astype(float))), mixture(name, 2).fit(X)

    assert_same(sparse, model, X)
    assert_same(single, model, X)
    assert_allclose(model.log_density(csr_array(X)), model.log_density(X), rtol=1e-6)


@shapes
@pytest.mark.parametrize("assignments", ["soft", "hard"])
@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
def test_a_path_has_the_bits_of_separate_fits(covariance, tied, assignments, missing):
    X, weight = clusters(), np.linspace(0.5, 2, 90)
    if missing:
        X[::7, 0] = np.nan
    model = GaussianMixture(1, covariance=covariance, tied=tied, assignments=assignments, tol=1e-3)
    sizes = [5, 1, 2, 3, 4, 2]

    found = model.path(X, sizes, sample_weight=weight)

    assert [each.n_components for each in found] == sizes
    for each in found:
        alone = clone(model).set_params(n_components=each.n_components).fit(X, sample_weight=weight)
        assert_array_equal(each.means_, alone.means_)
        assert_array_equal(each.covariances_, alone.covariances_)
        assert_array_equal(each.history_, alone.history_)
        assert_array_equal(each.log_density(X), alone.log_density(X))
    by_source = model.path_source(ArraySource(X, weight=weight), sizes)
    assert_array_equal(by_source[0].log_density(X), found[0].log_density(X))


@some
def test_the_same_random_state_gives_the_same_bits(name):
    X = clusters()
    model = mixture(name).fit(X)

    copy, again = pickle.loads(pickle.dumps(model)), clone(model).fit(X)

    for other in (copy, again):
        assert_array_equal(other.log_density(X), model.log_density(X))
        assert_array_equal(other.sample(5, 1), model.sample(5, 1))
    assert not hasattr(clone(model), "mixed_")
    assert_array_equal(copy.partial_fit(X).means_, again.partial_fit(X).means_)


@shapes
@pytest.mark.parametrize("assignments", ["soft", "hard"])
def test_random_batches_come_close_to_one_fit(covariance, tied, assignments):
    X = clusters(1800, apart=6.0)
    model = GaussianMixture(3, covariance=covariance, tied=tied, init="kmeans", assignments=assignments, random_state=0)
    whole = clone(model).fit(X)

    for part in np.split(X, 12):
        model.partial_fit(part)

    assert whole.score(X) - 0.02 < model.score(X) < whole.score(X) + 1e-3
    assert_allclose(np.sort(model.weights_), np.sort(whole.weights_), atol=0.03)


@shapes
def test_a_batch_of_weighted_rows_equals_one_of_repeated_rows(covariance, tied):
    X, copies = clusters(), np.arange(90) % 3
    first = GaussianMixture(2, covariance=covariance, tied=tied).fit(X)
    a, b = (pickle.loads(pickle.dumps(first)) for _ in range(2))

    a.partial_fit(X + 1, sample_weight=copies)
    b.partial_fit(np.repeat(X + 1, copies, axis=0))

    assert_same(a, b, X, rtol=1e-9, atol=1e-9)
    assert not np.allclose(a.means_, first.means_)


@pytest.mark.parametrize("name", [name for name in MEMBERS if "soft" in name])
def test_densities_of_one_column_integrate_to_1(name):
    model = mixture(name).fit(clusters()[:, :1])

    total = quad(lambda x: np.exp(model.log_density([[x]])[0]), -20, 25, points=[-2, 0, 2, 4, 6], limit=300)[0]

    assert_allclose(total, 1, atol=1e-7)


@shapes
def test_densities_of_two_columns_integrate_to_1(covariance, tied):
    model = GaussianMixture(3, covariance=covariance, tied=tied).fit(clusters())
    x, y = np.linspace(-9, 14, 400), np.linspace(-8, 13, 400)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)

    total = np.exp(model.log_density(grid)).sum() * (x[1] - x[0]) * (y[1] - y[0])

    assert_allclose(total, 1, atol=1e-6)


def test_hard_components_of_one_spherical_covariance_and_equal_weights_are_k_means():
    centres = np.array([[0.0, 0], [9, 0], [0, 9]])
    X = centres[np.arange(120) % 3] + np.random.default_rng(1).normal(size=(120, 2))
    start = X[[0, 1, 2]] + 1.5

    k_means = KMeans(3, init=start, tol=0).fit(X)
    model = GaussianMixture(3, covariance="spherical", tied=True, init=start, assignments="hard", tol=0).fit(X)

    assert_allclose(model.means_, k_means.cluster_centers_, rtol=1e-12)
    assert_array_equal(model.predict(X), k_means.labels_)
    assert_allclose(model.covariances_[0, 0], k_means.inertia_ / X.size)
    assert_allclose(model.weights_, 1 / 3)


@pytest.mark.parametrize("n_clusters", [1, 3, 7])
def test_clusters_do_not_depend_on_blocks_weights_or_sparsity(n_clusters):
    X, copies = clusters(), np.arange(90) % 3
    model = KMeans(n_clusters, init=X[:n_clusters], tol=0)
    whole = clone(model).fit(X, sample_weight=copies)

    repeated = clone(model).fit(np.repeat(X, copies, axis=0))
    cut = clone(model).fit_source(ArraySource(X, weight=copies.astype(float), block_rows=7))
    sparse = clone(model).fit(csr_array(X), sample_weight=copies)

    for other in (repeated, cut, sparse):
        assert_allclose(other.cluster_centers_, whole.cluster_centers_, rtol=1e-9, atol=1e-9)
        assert_allclose(other.inertia_, whole.inertia_, rtol=1e-9)
    assert_array_equal(whole.labels_, whole.predict(X))
    nearest = np.square(whole.transform(X)).min(axis=1)
    assert_allclose(whole.inertia_, nearest @ copies, rtol=1e-9)


def test_far_off_clusters_have_the_inertia_of_near_ones():
    X = clusters()

    near, far = (KMeans(3, init=(X + at)[:3], tol=0).fit(X + at) for at in (0, 2.0**20))

    assert_allclose(far.inertia_, near.inertia_, rtol=1e-7)
    assert_allclose(far.cluster_centers_ - 2.0**20, near.cluster_centers_, atol=1e-7)


def coded(n=300, seed=0):
    """Return codes, counts and numbers of two latent classes with weights 2/3 and 1/3."""
    rng = np.random.default_rng(seed)
    which = np.arange(n) % 3 == 0
    shares = np.where(which[:, None, None], [[0.8, 0.1, 0.1]] * 5, [[0.1, 0.2, 0.7]] * 5)
    codes = (rng.random((n, 5, 1)) > shares.cumsum(axis=2)).sum(axis=2).clip(0, 2).astype(float)
    counts = np.array([rng.multinomial(20, [0.6, 0.3, 0.1] if one else [0.1, 0.3, 0.6]) for one in which], float)
    numbers = np.where(which[:, None], 6.0, 0.0) + rng.laplace(size=(n, 2))
    return codes, counts, numbers


def any_mixture(name):
    """Return a density and rows for it."""
    codes, counts, numbers = coded()
    return {
        "categorical": (Categorical(), codes),
        "bernoulli": (Bernoulli(), (codes > 0).astype(float)),
        "multinomial": (Multinomial(), counts),
        "laplace": (Laplace(), numbers),
        "gaussian": (Gaussian(), numbers),
        "independent": (
            Independent([(Categorical(), [0, 1]), (Laplace(), [2])]),
            np.column_stack([codes[:, :2], numbers[:, 0]]),
        ),
    }[name]


densities = pytest.mark.parametrize(
    "name", ["categorical", "bernoulli", "multinomial", "laplace", "gaussian", "independent"]
)


@densities
@pytest.mark.parametrize("assignments", ["soft", "hard"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_likelihood_of_a_mixture_of_any_density_never_falls(name, assignments, weighted):
    density, X = any_mixture(name)
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None

    model = Mixture(density, n_components=2, n_init=2, assignments=assignments, tol=1e-5, random_state=0).fit(
        X, sample_weight=weight
    )

    assert_never_falls(model)
    assert_allclose(model.responsibilities(X).sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.weights_.sum(), 1, rtol=1e-12)
    if assignments == "soft":
        assert_allclose(model.history_[-1], np.average(model.log_density(X), weights=weight), rtol=1e-9)


@densities
def test_a_mixture_of_any_density_finds_the_latent_classes(name):
    density, X = any_mixture(name)

    model = Mixture(density, n_components=2, random_state=0).fit(X)

    assert_allclose(np.sort(model.weights_), [1 / 3, 2 / 3], atol=0.05)
    found = model.predict(X) == np.argmin(model.weights_)
    assert (found == (np.arange(300) % 3 == 0)).mean() > 0.9
    assert len(model.components_) == 2
    assert model.sample(7, 0).shape == (7, X.shape[1])


@densities
def test_one_component_of_any_density_is_that_density(name):
    density, X = any_mixture(name)

    model, alone = Mixture(density, n_components=1).fit(X), clone(density).fit(X)

    assert_allclose(model.log_density(X), alone.log_density(X), rtol=1e-9, atol=1e-12)
    assert model.n_parameters_ == alone.n_parameters_
    assert_allclose(model.bic(X), -2 * alone.log_density(X).sum() + alone.n_parameters_ * np.log(300))
    assert not hasattr(density, "n_features_in_")


@densities
def test_weights_are_repetition_and_blocks_do_not_matter_to_any_mixture(name):
    density, X = any_mixture(name)
    model = Mixture(density, n_components=2, n_init=1, tol=1e-4, random_state=0)

    whole = clone(model).fit(X)
    doubled = clone(model).fit(X, sample_weight=np.full(len(X), 2))
    cut = clone(model).fit_source(ArraySource(X, block_rows=37))

    assert_same(doubled, whole, X, atol=1e-5)
    assert_same(cut, whole, X, atol=1e-5)
    assert_array_equal(pickle.loads(pickle.dumps(whole)).log_density(X), whole.log_density(X))


def test_a_mixture_of_gaussian_densities_has_the_maximum_of_a_gaussian_mixture():
    _, _, X = coded()

    found = Mixture(Gaussian(), n_components=2, random_state=0, tol=1e-9).fit(X)

    spread = np.stack([np.cov(X.T, aweights=shares, bias=True) for shares in found.responsibilities(X).T])
    means = np.stack([np.average(X, axis=0, weights=shares) for shares in found.responsibilities(X).T])
    model = GaussianMixture(2, init=(found.weights_, means, spread), tol=1e-9).fit(X)
    assert_allclose(model.history_[-1], found.history_[-1], atol=1e-6)
    assert_allclose(model.log_density(X), found.log_density(X), atol=1e-3)
    assert found.n_parameters_ == model.n_parameters_


@pytest.mark.parametrize("criterion", ["bic", "aic", "log_likelihood"])
def test_the_chosen_mixture_is_the_best_of_the_table(criterion):
    X = clusters(apart=8.0)

    choice = choose_mixture(X, (1, 2, 3), ("full", "spherical"), criterion=criterion, cv=3)

    found = [line[criterion] for line in choice.table]
    assert found == sorted(found, reverse=criterion == "log_likelihood")
    assert len(choice.table) == 12
    assert choice.table[0]["n_components"] == choice.best.n_components == 3
    assert (choice.best.covariance, choice.best.tied) == (choice.table[0]["covariance"], choice.table[0]["tied"])
    if criterion != "log_likelihood":
        assert_allclose(getattr(choice.best, criterion)(X), found[0])
    for line in choice.table:
        assert line["parameters"] > 0
