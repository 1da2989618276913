"""Edge cases of mixtures: collapsed components, invalid parameters, and choices without candidates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.base import clone

from likely import (
    LBG,
    AbsoluteFloor,
    ArraySource,
    Categorical,
    DegenerateDataError,
    DegenerateDataWarning,
    Gaussian,
    GaussianMixture,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    KMeans,
    Laplace,
    Mixture,
    Source,
    choose_mixture,
)


@pytest.fixture
def half_discrete():
    rng = np.random.default_rng(0)
    return np.c_[rng.normal(size=40), rng.integers(0, 2, 40)]


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("density", [Gaussian("diagonal"), Laplace()], ids=["gaussian", "laplace"])
def test_the_likelihood_never_falls_where_floors_follow_components(density, half_discrete):
    falls = [
        np.diff(Mixture(density, n_components=3, n_init=1, random_state=s).fit(half_discrete).history_).min()
        for s in range(6)
    ]

    assert min(falls) > -1e-9


def test_collapsed_components_warn(half_discrete):
    with pytest.warns(DegenerateDataWarning, match="A component"):
        Mixture(Gaussian("diagonal"), n_components=3, random_state=0).fit(half_discrete)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("mixture", "X"),
    [
        (GaussianMixture(2, assignments="hard"), np.zeros((6, 2))),
        (GaussianMixture(3, init="kmeans", random_state=0), np.full((30, 3), 5.0)),
        (
            GaussianMixture(4, covariance="diagonal", assignments="hard"),
            np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0),
        ),
    ],
    ids=["hard, all equal", "k-means, all equal", "hard, two places"],
)
def test_components_without_rows_give_no_floating_point_errors(mixture, X):
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(mixture.fit(X).log_density(X)).all()


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_weights_are_repetition_where_a_component_collapses():
    rng = np.random.default_rng(0)
    X = np.array([[0.0, 0.0], [4.0, 0.8], [1.2, 4.0]])[np.arange(90) % 3]
    X += rng.normal(size=(90, 2)) @ [[1.0, 0.3], [0.0, 0.7]]
    copies = np.arange(90) % 4
    mixture = GaussianMixture(3, covariance="spherical", init=X[[1, 5, 20]], assignments="hard")

    weighted = clone(mixture).fit(X, sample_weight=copies)
    repeated = clone(mixture).fit(np.repeat(X, copies, axis=0))

    assert_allclose(weighted.history_[-1], repeated.history_[-1])
    assert weighted.restarts_ == repeated.restarts_


def test_one_spherical_component_with_missing_values_is_the_gaussian(rng):
    X = rng.normal(size=(90, 2)) * [2, 1]
    X[::4, 0] = np.nan

    assert_allclose(
        GaussianMixture(1, covariance="spherical").fit(X).score(X), Gaussian("spherical").fit(X).score(X), rtol=1e-9
    )


@pytest.mark.parametrize("density", ["categorical", Gaussian, None], ids=str)
def test_an_invalid_density_is_named(density, half_discrete):
    with pytest.raises(IncompatiblePartsError, match="density of Mixture"):
        Mixture(density).fit(half_discrete)


@pytest.mark.parametrize(
    "covariances",
    [-np.ones((2, 2)), np.array([[[1.0, 0.9], [-0.9, 1.0]]] * 2), np.array([[[1.0, 3.0], [3.0, 1.0]]] * 2)],
    ids=["negative", "asymmetric", "indefinite"],
)
def test_invalid_given_covariances_raise(covariances, half_discrete):
    with pytest.raises(InvalidParameterError, match="Covariances given to a mixture must be symmetric"):
        GaussianMixture(2, init=([0.5, 0.5], half_discrete[:2], covariances)).fit(half_discrete)


@pytest.mark.parametrize("cv", [0, 1, 500])
def test_an_invalid_number_of_folds_raises(cv, rng):
    with pytest.raises(InvalidParameterError, match="cv of choose_mixture"):
        choose_mixture(rng.normal(size=(20, 2)), (1, 2), criterion="log_likelihood", cv=cv)


def test_a_size_that_is_not_a_whole_number_raises(rng):
    with pytest.raises(InvalidParameterError, match=r"whole numbers >= 1, but contains 1\.5"):
        choose_mixture(rng.normal(size=(20, 2)), (1.5,))


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_sizes_beyond_the_rows_of_positive_weight_are_left_out(rng):
    choice = choose_mixture(rng.normal(size=(9, 1)), (1, 4), sample_weight=[1, 1, 1, 0, 0, 0, 0, 0, 0])

    assert {line["n_components"] for line in choice.table} == {1}


def test_refitting_a_grown_mixture_gives_the_same_history(rng):
    X = rng.normal(size=(60, 2)) ** 3
    mixture = GaussianMixture(init="random", random_state=0).path(X, [3])[0]

    assert_allclose(clone(mixture).fit(X).history_, mixture.history_)


@pytest.mark.parametrize(("sizes", "n_warnings"), [((1, 2), 0), ((2,), 1)], ids=["a sound one", "none but floored"])
def test_mixtures_at_the_floor_come_last_and_only_the_chosen_one_warns(sizes, n_warnings, rng, recwarn):
    X = np.concatenate([rng.normal(size=(30, 1)), np.full((30, 1), 8.0)])

    choice = choose_mixture(X, sizes, ("full",), tied=(False,))

    assert choice.best.n_components == sizes[0]
    assert [line["at_floor"] for line in choice.table] == [size == 2 for size in sizes]
    assert len(recwarn) == n_warnings


def test_a_batch_that_overflows_raises_and_changes_nothing(rng):
    X = rng.normal(size=(200, 3))
    for shape in ("full", "diagonal", "spherical"):
        mixture = GaussianMixture(2, covariance=shape).fit(X)
        before = mixture.means_.copy()
        with pytest.raises(InvalidDataError, match="the sums of their squares overflow"):
            mixture.partial_fit([[1e155, 0.0, 0.0]])
        assert_allclose(mixture.means_, before, rtol=0)


def test_a_light_batch_changes_a_mixture_by_little(rng):
    X = rng.normal(size=(500, 2))
    mixture = GaussianMixture(1).fit(X)

    mixture.partial_fit([[8.0, 8.0]])

    assert np.abs(mixture.means_).max() < 0.2


def test_the_history_is_empty_after_partial_fit_and_adapt(rng):
    X = rng.normal(size=(200, 2))
    mixture = GaussianMixture(2).fit(X)

    for other in (mixture.adapt(X[:20]), mixture.partial_fit(X[:50])):
        assert other.history_.size == other.n_iter_ == 0
        assert not other.converged_
        assert np.isfinite(other.bic(X))


def test_changed_options_do_not_change_the_fitted_mixture(rng):
    X = rng.normal(size=(200, 3))
    mixture = GaussianMixture(2).fit(X)
    bic = mixture.bic(X)

    mixture.set_params(covariance="diagonal")

    assert mixture.bic(X) == bic
    with pytest.raises(IncompatiblePartsError, match="changed after it was fitted"):
        mixture.partial_fit(X)


@pytest.mark.parametrize(("n_components", "tied"), [(1, False), (2, False), (2, True), (3, True)])
def test_a_repeated_column_raises_without_a_floor(n_components, tied):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(200, 3))
        with pytest.raises(DegenerateDataError, match="no variance in some direction"):
            GaussianMixture(n_components, tied=tied, floor=0).fit(np.c_[X, X[:, 0]])


def test_rows_of_weight_zero_do_not_change_a_criterion(rng):
    X, weight = rng.normal(size=(100, 3)), np.ones(100)
    mixture = GaussianMixture(2).fit(X)
    far = np.r_[X, [[1e200, 0.0, 0.0]]]

    assert_allclose(mixture.bic(far, np.r_[weight, 0.0]), mixture.bic(X, weight))
    assert_allclose(mixture.aic(far, np.r_[weight, 0.0]), mixture.aic(X, weight))


def test_far_apart_components_keep_the_digits_of_their_rows(rng):
    X = np.r_[rng.normal(size=(300, 2)), [[1e12, 1e12]]]
    mixture = GaussianMixture(2, init="kmeans", floor=AbsoluteFloor(1e-3), random_state=0).fit(X)
    parts = zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
    densities = sum(w * multivariate_normal(m, C).pdf(X[:300]) for w, m, C in parts)

    assert_allclose(mixture.log_density(X[:300]), np.log(densities), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("density", [Gaussian("diagonal"), Laplace()], ids=["gaussian", "laplace"])
def test_components_without_values_in_a_column_keep_their_parameters(density):
    rng = np.random.default_rng(0)
    X = np.c_[np.where(rng.random(200) < 0.95, np.nan, rng.normal(size=200)), rng.normal(size=200)]

    for seed in range(5):
        assert np.isfinite(Mixture(density, n_components=4, n_init=1, random_state=seed).fit(X).log_density(X)).all()


def test_all_components_have_all_categories(rng):
    X = rng.integers(0, 4, size=(60, 3))

    counts = {
        Mixture(Categorical(), n_components=3, n_init=1, assignments="hard", random_state=s).fit(X).n_parameters_
        for s in range(5)
    }

    assert counts == {2 + 3 * 3 * 3}


def test_an_empty_cluster_moves_to_the_farthest_row():
    X = np.repeat([[0.0], [1.0], [10.0], [20.0]], 20, axis=0)

    clusters = KMeans(4, init=[[0.0], [0.0], [1.0], [15.0]]).fit(X)

    assert clusters.inertia_ == 0
    assert np.bincount(clusters.labels_).tolist() == [20] * 4


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_many_rows_equal_those_of_any_source(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 2)) + 4 * rng.integers(0, 3, size=(70_000, 1))
    weight = rng.integers(1, 4, size=70_000).astype(float) if weighted else None
    model = KMeans(3, init=X[:3], tol=1e-8)

    in_memory = clone(model).fit(X, sample_weight=weight)
    by_passes = clone(model).fit_source(_Elsewhere(ArraySource(X, weight=weight)))

    assert_allclose(by_passes.cluster_centers_, in_memory.cluster_centers_, rtol=1e-6)
    assert_allclose(by_passes.inertia_, in_memory.inertia_, rtol=1e-6)
    assert by_passes.n_iter_ == in_memory.n_iter_


class _Elsewhere(Source):
    """Source whose rows are not known to be in memory."""

    def __init__(self, source):
        self.source, self.n_features, self.n_blocks, self.classes = source, source.n_features, source.n_blocks, None

    def block(self, index):
        return self.source.block(index)


def test_an_invalid_start_is_named(rng):
    X = rng.normal(size=(30, 2))
    for init in ({"a": 1}, LBG, [[1.0], [1.0, 2.0]], (1.0, 2.0), None, KMeans(2)):
        with pytest.raises(InvalidParameterError, match=r"init of GaussianMixture must be|Means given to a mixture"):
            GaussianMixture(2, init=init).fit(X)


def test_paths_keep_the_names_of_columns_and_leave_the_template_alone(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    template = GaussianMixture()

    models = template.path(X, [1, 2])

    assert all(model.feature_names_in_.tolist() == ["a", "b"] for model in models)
    assert not hasattr(template, "n_features_in_")


def test_a_narrow_split_is_not_taken_for_convergence():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-5, 1, (300, 1)), rng.normal(5, 1, (300, 1))]

    means = np.sort(GaussianMixture(2, init=LBG(0.05)).fit(X).means_.ravel())

    assert_allclose(means, [-5, 5], atol=0.2)


def test_k_means_accepts_any_values_in_rows_of_weight_zero(rng):
    X, weight = rng.normal(size=(60, 2)), np.ones(60)
    X[0], weight[:2] = np.nan, 0.0

    clusters = KMeans(3, random_state=0).fit(X, sample_weight=weight)

    assert clusters.labels_[0] == -1
    assert clusters.labels_[1] == clusters.predict(X[1:2])[0]
    doubled = KMeans(3, random_state=0).fit(X[1:], sample_weight=2.0)
    assert_allclose(-2 * doubled.score(X[1:]), doubled.inertia_)


def test_choices_keep_column_names_and_accept_single_options(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])

    choice = choose_mixture(frame, 2, "diagonal", False)

    assert choice.best.feature_names_in_.tolist() == ["a", "b"]
    assert len(choice.table) == 1


def test_given_folds_are_positions_among_all_rows(rng):
    X, weight = rng.normal(size=(150, 2)), np.r_[np.zeros(50), np.ones(100)]
    folds = [(np.arange(100), np.arange(100, 150))]

    choice = choose_mixture(X, 1, "full", False, criterion="log_likelihood", cv=folds, sample_weight=weight)

    held_out = Gaussian().fit(X[50:100]).score(X[100:])
    assert_allclose(choice.table[0]["log_likelihood"], held_out, rtol=1e-9)
