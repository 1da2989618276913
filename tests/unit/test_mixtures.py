"""Mixtures: every error and warning, collapse, and hand-derived numbers."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from likely import (
    LBG,
    AbsoluteFloor,
    Bernoulli,
    Categorical,
    DegenerateDataError,
    DegenerateDataWarning,
    Gaussian,
    GaussianMixture,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    KMeans,
    KMeansStart,
    Mixture,
    NotConvergedWarning,
    RandomStart,
    choose_mixture,
)
from likely.densities import Full

SHAPES = ["full", "diagonal", "spherical"]
X = np.array([[0.0, 1.0], [0.5, 0.2], [1.0, 0.7], [6.0, 5.0], [6.4, 5.8], [7.0, 5.1], [6.6, 5.2], [0.2, 0.1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, r"n_components of GaussianMixture must be a whole number >= 1, but is 0\."),
        ({"n_components": 2.5}, r"whole number >= 1, but is 2\.5"),
        ({"n_components": True}, "whole number >= 1, but is True"),
        ({"n_components": "2"}, "whole number >= 1, but is '2'"),
        ({"covariance": "round"}, "'round'"),
        (
            {"covariance": Full(shrinkage=0.1)},
            r"must be a shape with default options.*Give the name of the shape, 'full'",
        ),
        ({"assignments": "firm"}, r"assignments.*'firm'"),
        ({"tol": -1e-3}, "tol of GaussianMixture"),
        ({"tol": np.nan}, "tol of GaussianMixture"),
        (
            {"floor": -1e-3},
            r"floor of GaussianMixture must be a number in \[0, 1\) or an AbsoluteFloor, but is -0\.001",
        ),
        ({"floor": 1}, r"in \[0, 1\)"),
        ({"floor": True}, "but is True"),
        ({"floor": np.nan}, "but is nan"),
        ({"floor": "low"}, "but is 'low'"),
        ({"floor": AbsoluteFloor(0)}, r"value of AbsoluteFloor must be a finite number > 0, but is 0\."),
        ({"floor": AbsoluteFloor(-1)}, "value of AbsoluteFloor"),
        ({"floor": AbsoluteFloor(np.inf)}, "value of AbsoluteFloor"),
        ({"init": "far"}, r"init of GaussianMixture must be one of 'lbg', 'kmeans', 'random'.*but is 'far'"),
        ({"init": LBG(-0.1)}, "displacement of LBG"),
        ({"init": KMeansStart(0)}, r"n_init of KMeansStart must be a whole number >= 1, but is 0\."),
        ({"init": RandomStart(1.5)}, r"n_init of RandomStart must be a whole number >= 1, but is 1\.5"),
        ({"init": [[0.0, 1.0]]}, r"finite and have the shape .* = \(2, 2\), but have the shape \(1, 2\)"),
        ({"init": [[0.0], [1.0]]}, r"have the shape \(2, 1\)"),
        ({"init": [[0.0, np.nan], [1.0, 1.0]]}, "must be finite"),
        ({"init": ([0.5, 0.6], X[:2], np.ones((2, 2)))}, r"must be 2 numbers >= 0 with sum 1, but are \[0.5, 0.6\]"),
        ({"init": ([1.5, -0.5], X[:2], np.ones((2, 2)))}, "must be 2 numbers >= 0 with sum 1"),
        ({"init": ([1.0], X[:2], np.ones((2, 2)))}, "must be 2 numbers >= 0 with sum 1"),
        (
            {"init": ([0.5, 0.5], X[:2], np.ones((2, 3)))},
            r"the shape \(2, 2, 2\) \(matrices\) or \(2, 2\) \(variances\), but",
        ),
        ({"init": ([0.5, 0.5], X[:2], np.full((2, 2), np.inf))}, "must be finite"),
        ({"init": GaussianMixture(2)}, r"must be a fitted mixture.*Give \(weights_, means_, covariances_\)"),
        ({"init": GaussianMixture(1).fit(X)}, r"have the shape \(1, 2\)"),
    ],
    ids=str,
)
def test_invalid_parameters_raise(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        GaussianMixture(**{"n_components": 2, **options}).fit(X)


@pytest.mark.parametrize("init", ["lbg", "kmeans", "random"])
def test_more_components_than_rows_raise(init):
    with pytest.raises(InvalidDataError, match=r"got 8 rows.*for n_components=9\. Use fewer components"):
        GaussianMixture(9, init=init).fit(X)
    with pytest.raises(InvalidDataError, match="n_components=9"):
        GaussianMixture().path(X, [1, 9])
    with pytest.raises(InvalidDataError, match="got 2 rows"):
        GaussianMixture(3).fit(X, sample_weight=[1, 0, 0, 2, 0, 0, 0, 0])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_raise_and_leave_the_mixture_unchanged(shape, bad):
    rows = X.copy()
    rows[3, 1] = bad
    model = GaussianMixture(2, covariance=shape).fit(X)
    before = model.means_.copy()

    for use in (model.fit, model.partial_fit, model.adapt, model.log_density, model.responsibilities):
        with pytest.raises(ValueError, match="inf"):
            use(rows)

    assert_array_equal(model.means_, before)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_without_values_is_named(shape):
    rows = X.copy()
    rows[:, 1] = np.nan

    with pytest.raises(InvalidDataError, match=r"no value in column 1: all its values are NaN\. Drop that column"):
        GaussianMixture(2, covariance=shape).fit(rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weight", [np.zeros(8), np.full(8, np.nan), -np.ones(8), np.ones(7)], ids=str)
def test_invalid_weights_raise(shape, weight):
    with pytest.raises(ValueError, match=r"(?i)weight"):
        GaussianMixture(2, covariance=shape).fit(X, sample_weight=weight)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("init", ["lbg", "kmeans", "random"])
def test_rows_of_weight_zero_have_no_effect(shape, init):
    rows = np.concatenate([X, [[1e9, -1e9], [np.nan, 3.0]]])
    model = GaussianMixture(2, covariance=shape, init=init, random_state=0)

    weighted = clone(model).fit(rows, sample_weight=[1.0] * 8 + [0.0, 0.0])

    assert_allclose(weighted.means_, clone(model).fit(X).means_, rtol=1e-9)


def test_unfitted_mixtures_raise():
    for use in (GaussianMixture(2).log_density, Mixture(Categorical()).responsibilities, KMeans(2).predict):
        with pytest.raises(NotFittedError):
            use(X)
    with pytest.raises(NotFittedError):
        GaussianMixture(2).adapt(X)
    with pytest.raises(NotFittedError):
        GaussianMixture(2).sample(3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize(
    ("rows", "K"),
    [
        (X[:1], 1),
        (np.full((6, 2), 3.0), 1),
        (np.full((6, 2), 3.0), 3),
        (np.zeros((6, 2)), 2),
        (np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0), 4),
        (np.column_stack([X, np.full(8, 7.0)]), 2),
        (X[:3], 3),
    ],
    ids=["one row", "equal rows", "equal rows in three", "zeros", "two places", "constant column", "a row each"],
)
def test_rows_without_variance_are_floored_with_a_warning(shape, tied, rows, K):
    # A spherical variance is above 0 if one column varies.
    model = GaussianMixture(K, covariance=shape, tied=tied)
    if shape == "spherical" and rows.shape[1] == 3:
        model.fit(rows)
    elif len(rows) == 3 and shape != "full":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            model.fit(rows)
    else:
        with pytest.warns(DegenerateDataWarning, match=r"no variance in some direction.*is at the floor, 1e-06"):
            model.fit(rows)

    for found in (model.weights_, model.means_, model.covariances_, model.history_, model.log_density(rows)):
        assert np.isfinite(found).all()
    assert_allclose(model.responsibilities(rows).sum(axis=1), 1)
    assert np.isfinite(model.sample(4, 0)).all()


def test_the_warning_names_the_covariance_at_the_floor():
    rows = np.concatenate([np.zeros((5, 2)), X + 10])
    with pytest.warns(
        DegenerateDataWarning,
        match=r"1 of 2 components \(the first is number \d\) has no variance .*\(13 rows for 2 columns\)",
    ):
        GaussianMixture(2, init=[[0.0, 0.0], [13.0, 13.0]]).fit(rows)
    with pytest.warns(DegenerateDataWarning, match="The shared covariance has no variance"):
        GaussianMixture(2, tied=True).fit(np.column_stack([X, np.ones(8)]))
    with pytest.warns(DegenerateDataWarning, match="The only component has no variance"):
        GaussianMixture(1).fit(np.column_stack([X, np.ones(8)]))


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_without_a_floor_a_singular_covariance_raises(shape):
    with pytest.raises(DegenerateDataError, match=r"has no variance in some direction.*Use fewer components"):
        GaussianMixture(1, covariance=shape, floor=0).fit(np.column_stack([X, np.ones(8)]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("outlier", [[1e12, 0.0], [1e12, -1e12]], ids=["one column", "both"])
def test_an_outlier_does_not_break_the_fit(shape, tied, outlier):
    rows = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), [outlier]])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        grown, clustered = (
            GaussianMixture(2, covariance=shape, tied=tied, init=init, random_state=0).fit(rows)
            for init in ("lbg", "kmeans")
        )

    assert np.isfinite(grown.log_density(rows)).all()
    assert_allclose(np.sort(clustered.weights_), [1 / 51, 50 / 51], rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_values_too_large_to_be_squared_are_named(shape):
    with pytest.raises(InvalidDataError, match=r"column 0 reach 1e\+200, too large to be squared"):
        GaussianMixture(2, covariance=shape).fit(np.concatenate([X, [[1e200, 0.0]]]))


@pytest.mark.parametrize("scale", [1e-100, 1e-5, 1e100])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_scale_of_all_rows_does_not_matter(shape, scale):
    plain, scaled = (GaussianMixture(2, covariance=shape).fit(X * factor) for factor in (1.0, scale))

    assert_allclose(scaled.log_density(X * scale) + 2 * np.log(scale), plain.log_density(X), atol=1e-6)


def test_a_component_without_responsibility_is_moved():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 8])
    start = [0.5, 0.5], [[4.0, 4.0], [1e4, 1e4]], np.ones((2, 2))

    model = GaussianMixture(2, init=start).fit(rows)

    assert model.restarts_ == [1]
    assert_allclose(np.sort(model.weights_), [0.5, 0.5], atol=1e-6)
    assert (np.diff(model.history_)[1:] >= -1e-12).all()
    assert model.score(rows) > GaussianMixture(1).fit(rows).score(rows) + 0.5


def test_restarts_end_if_there_are_too_few_rows_for_all_components():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 30, axis=0)

    with pytest.warns(DegenerateDataWarning, match="no variance in some direction"):
        model = GaussianMixture(6, covariance="diagonal", init="random", random_state=0).fit(rows)

    assert len(model.restarts_) <= 12
    assert model.n_iter_ < 1000


@pytest.mark.parametrize(
    ("shape", "tied", "expected"),
    [
        ("full", False, 2 + 12 + 3 * 10),
        ("full", True, 2 + 12 + 10),
        ("diagonal", False, 2 + 12 + 12),
        ("diagonal", True, 2 + 12 + 4),
        ("spherical", False, 2 + 12 + 3),
        ("spherical", True, 2 + 12 + 1),
    ],
)
def test_free_parameters_are_counted(shape, tied, expected):
    rows = np.random.default_rng(0).normal(size=(60, 4))

    assert GaussianMixture(3, covariance=shape, tied=tied, init=rows[:3]).fit(rows).n_parameters_ == expected


def test_free_parameters_of_any_mixture_are_those_of_its_parts_and_weights():
    bits = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float)

    assert Mixture(Bernoulli(), n_components=3, random_state=0).fit(bits).n_parameters_ == 2 + 3 * 4


@pytest.mark.parametrize("shape", SHAPES)
def test_an_absolute_floor_is_a_least_eigenvalue(shape):
    model = GaussianMixture(2, covariance=shape, floor=AbsoluteFloor(2.0)).fit(X)

    values = np.linalg.eigvalsh(model.covariances_) if shape == "full" else model.covariances_
    assert_allclose(values, 2.0)


def test_a_relative_floor_is_a_share_of_each_columns_variance():
    rows = np.repeat([[0.0, 0.0], [2.0, 200.0]], 10, axis=0)

    model = GaussianMixture(2, covariance="diagonal", floor=0.01).fit(rows)

    assert_allclose(model.covariances_, [[0.01, 100.0]] * 2)


def test_a_fit_can_continue_from_another():
    first = GaussianMixture(2, tol=1e-2).fit(X[:, :1])

    further = GaussianMixture(2, init=first).fit(X[:, :1])

    assert_allclose(further.history_[0], first.history_[-1])
    assert further.history_[-1] >= first.history_[-1]


@pytest.mark.parametrize("start", [KMeansStart, RandomStart])
def test_the_most_likely_of_several_starts_is_kept(start):
    rows = np.random.default_rng(3).normal(size=(60, 2)) ** 3

    one, many = (GaussianMixture(3, covariance="diagonal", init=start(n), random_state=0).fit(rows) for n in (1, 6))

    assert many.history_[-1] >= one.history_[-1]


def test_no_convergence_warns():
    rng = np.random.default_rng(0)
    with pytest.warns(
        NotConvergedWarning, match=r"stopped after 1000 passes.*larger tol or max_iter \(now 1000\)\. Alternatively"
    ):
        model = GaussianMixture(3, tol=0, init=[[0.0], [0.1], [0.2]]).fit(rng.normal(size=(200, 1)))

    assert not model.converged_
    assert model.n_iter_ == 1000


def test_adapt_returns_a_new_mixture_without_partial_fit():
    background = GaussianMixture(2).fit(X)
    before = background.means_.copy()

    adapted = background.adapt(X + 1)

    assert_array_equal(background.means_, before)
    assert adapted.score(X + 1) > background.score(X + 1)
    with pytest.raises(IncompatiblePartsError, match="cannot update a GaussianMixture returned by adapt"):
        adapted.partial_fit(X)
    with pytest.raises(InvalidParameterError, match="relevance"):
        background.adapt(X, relevance=-1)
    with pytest.raises(InvalidDataError, match="NaN"):
        background.adapt([[np.nan, 1.0]])


def test_adaptation_moves_only_the_component_near_the_rows():
    background = GaussianMixture(2, init=[[0.0, 0.0], [6.0, 5.0]]).fit(X)

    adapted = background.adapt(np.full((1000, 2), [6.5, 5.2]))

    assert_allclose(adapted.means_[0], background.means_[0], atol=1e-6)
    assert_allclose(adapted.means_[1], [6.5, 5.2], atol=0.02)


def test_other_columns_than_those_fitted_are_refused():
    model = GaussianMixture(2).fit(X)
    for use in (model.log_density, model.partial_fit, model.adapt, model.predict):
        with pytest.raises(ValueError, match="feature"):
            use(np.ones((4, 3)))


def test_drawing_nothing_gives_no_rows():
    assert GaussianMixture(2).fit(X).sample(0).shape == (0, 2)
    assert Mixture(Gaussian("diagonal"), n_components=1).fit(X).sample(0).shape == (0, 2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"n_clusters": 0},
            InvalidParameterError,
            "n_clusters of KMeans must be a whole number from 1 to 16384, but is 0",
        ),
        ({"n_init": 0}, InvalidParameterError, "n_init of KMeans"),
        ({"tol": -1}, InvalidParameterError, "tol of KMeans"),
        (
            {"init": "far"},
            InvalidParameterError,
            r"must be one of 'k-means\+\+' or an array of numbers with 2 axes, but is 'far'",
        ),
        ({"init": np.ones((3, 2))}, InvalidParameterError, r"finite centres .* = \(2, 2\), but has the shape \(3, 2\)"),
        ({"init": np.full((2, 2), np.nan)}, InvalidParameterError, "finite centres"),
        ({"n_clusters": 9}, DegenerateDataError, "got n_clusters=9 and only 8 rows"),
    ],
    ids=str,
)
def test_k_means_with_invalid_parameters_raises(options, error, message):
    with pytest.raises(error, match=message):
        KMeans(**{"n_clusters": 2, **options}).fit(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_k_means_raises_for_values_that_are_not_finite(bad):
    rows = X.copy()
    rows[2, 0] = bad
    model = KMeans(2, random_state=0).fit(X)

    for use in (model.fit, model.predict, model.transform):
        with pytest.raises(InvalidDataError, match=r"row 2"):
            use(rows)


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)], ids=["one", "two"])
def test_k_means_of_fewer_distinct_rows_than_clusters_has_zero_inertia(rows):
    model = KMeans(3, random_state=0).fit(rows)

    assert_allclose(model.inertia_, 0, atol=1e-15)
    assert np.isfinite(model.cluster_centers_).all()
    assert_allclose(model.cluster_centers_[model.labels_], rows)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"density": KMeans()}, IncompatiblePartsError, "must be a density that is estimated from sums"),
        ({"n_components": 0}, InvalidParameterError, "n_components of Mixture must be a whole number >= 1, but is 0"),
        ({"n_init": 0}, InvalidParameterError, "n_init of Mixture"),
        ({"assignments": "firm"}, InvalidParameterError, "assignments"),
        ({"tol": -1}, InvalidParameterError, "tol of Mixture"),
        ({"n_components": 9}, InvalidDataError, "n_samples=8 for n_components=9"),
    ],
    ids=str,
)
def test_a_mixture_of_any_density_with_invalid_parameters_raises(options, error, message):
    with pytest.raises(error, match=message):
        Mixture(**{"density": Gaussian("spherical"), "n_components": 2, **options}).fit(X)


def test_choosing_with_invalid_arguments_raises():
    with pytest.raises(InvalidParameterError, match="criterion"):
        choose_mixture(X, criterion="dic")
    with pytest.raises(InvalidParameterError, match=r"one size that is at most 8 .* but got n_components=\(9, 16\)"):
        choose_mixture(X, (9, 16))
    with pytest.raises(InvalidParameterError, match=r"one shape, .* covariances=\(\)"):
        choose_mixture(X, (1,), covariances=())
