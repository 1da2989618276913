"""Laws of Gaussian mixture classifiers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import likely
from likely import (
    Application,
    ArraySource,
    GaussianClassifier,
    GaussianMixture,
    GenerativeClassifier,
    MixtureClassifier,
    Standardize,
    kfold_scores,
    make_pipeline,
)

OPTIONS = {
    "full": {},
    "tied": {"tied": True},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
    "kmeans": {"init": "kmeans", "random_state": 0},
    "adapted": {"covariance": "diagonal", "relevance": 16.0},
}
every_kind = pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))


@pytest.fixture
def data(rng):
    """Three classes of two clusters each; the last class is rare."""
    y = np.array(["a", "b", "c"])[rng.choice(3, size=600, p=[0.5, 0.3, 0.2])]
    centres = {"a": [[0, 0], [4, 4]], "b": [[4, 0], [0, 4]], "c": [[8, 0], [8, 6]]}
    means = np.array([centres[label][which] for label, which in zip(y, rng.choice(2, 600), strict=True)])
    return rng.normal(size=(600, 2)) * [1.0, 0.7] + means, y


@every_kind
def test_the_mixture_of_a_class_equals_a_mixture_of_its_rows(options, data):
    X, y = data
    model = MixtureClassifier(2, **options).fit(X, y)

    for k, label in enumerate("abc"):
        if "relevance" in options:
            part = GaussianMixture(2, covariance="diagonal").fit(X).adapt(X[y == label], 16.0)
        else:
            part = GaussianMixture(2, **options).fit(X[y == label])
        assert_allclose(model.log_likelihood(X)[:, k], part.log_density(X), rtol=1e-9)


@every_kind
def test_a_path_gives_the_bits_of_separate_fits(options, data):
    X, y = data
    w = np.arange(1.0, 601)

    path = MixtureClassifier(**options).path(X, y, [4, 1, 3], sample_weight=w)

    for size, model in zip([4, 1, 3], path, strict=True):
        alone = MixtureClassifier(size, **options).fit(X, y, sample_weight=w)
        assert model.n_components == size
        assert_array_equal(model.n_components_, [size] * 3)
        assert_array_equal(model.log_likelihood(X), alone.log_likelihood(X))
        assert_array_equal(model.training_priors_, alone.training_priors_)
        assert (model.background_ is None) == ("relevance" not in options)


def test_paths_from_a_source_and_through_features_are_equal(data):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    path = MixtureClassifier().path(X, y, [1, 2])

    from_source = MixtureClassifier().path_source(ArraySource(X, codes, classes=classes), [1, 2])
    chained = make_pipeline(Standardize(), MixtureClassifier()).path(X, y, [1, 2])

    for one, other, chain in zip(path, from_source, chained, strict=True):
        assert_array_equal(one.log_likelihood(X), other.log_likelihood(X))
        assert_allclose(chain.llr(X) if len(classes) == 2 else chain.predict(X) == one.predict(X), True)


def test_folds_along_paths_equal_separate_fits_of_each_size(data):
    X, y = data
    models = [MixtureClassifier(k, covariance=covariance) for covariance in ("full", "diagonal") for k in (1, 2, 4)]

    together = kfold_scores(models, X, y, 3)

    for model, scores in zip(models, together, strict=True):
        assert_array_equal(scores, kfold_scores(model, X, y, 3))


def test_sizes_that_are_not_numbers_are_fitted_outside_the_path(data):
    X, y = data
    models = [MixtureClassifier(k, covariance="diagonal") for k in (1, "bic", {"a": 2, "b": 2, "c": 1}, 2)]

    together = kfold_scores(models, X, y, 3)

    for model, scores in zip(models, together, strict=True):
        assert_array_equal(scores, kfold_scores(model, X, y, 3))


def test_one_component_equals_the_gaussian_classifier(data):
    X, y = data

    for shape in ("full", "diagonal", "spherical"):
        usual = GaussianClassifier(shape).fit(X, y)
        assert_allclose(
            MixtureClassifier(1, covariance=shape).fit(X, y).log_likelihood(X), usual.log_likelihood(X), rtol=1e-8
        )


def test_a_generative_classifier_of_mixtures_is_equal(data):
    X, y = data
    model = GenerativeClassifier(GaussianMixture(3, covariance="diagonal")).fit(X, y)

    assert_array_equal(model.log_likelihood(X), MixtureClassifier(3, covariance="diagonal").fit(X, y).log_likelihood(X))


@every_kind
def test_weights_equal_repetition(options, data, rng):
    X, y = data
    repeats = rng.integers(1, 4, 600)
    if options.get("init") == "kmeans":
        pytest.skip("draws other rows by lot")

    weighted = MixtureClassifier(2, **options).fit(X, y, sample_weight=repeats.astype(float))
    repeated = MixtureClassifier(2, **options).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    assert_allclose(weighted.log_likelihood(X), repeated.log_likelihood(X), rtol=1e-4, atol=1e-3)


@every_kind
def test_relabelling_only_renames_classes_and_priors_only_shift_log_posteriors(options, data):
    X, y = data
    model = MixtureClassifier(2, **options).fit(X, y)
    renamed = clone(model).fit(X, np.array([{"a": "z", "b": "y", "c": "x"}[label] for label in y]))

    assert_allclose(renamed.log_likelihood(X)[:, ::-1], model.log_likelihood(X), rtol=1e-9)
    evidence = model.log_likelihood(X)
    model.priors = [0.2, 0.2, 0.6]
    assert_array_equal(model.log_likelihood(X), evidence)
    assert_array_equal(model.predict(X), model.decide(X, Application([0.2, 0.2, 0.6])))


def test_a_source_in_other_blocks_gives_the_same_model_as_arrays(data):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    source = ArraySource(X, codes, classes=classes, block_rows=17)

    model = MixtureClassifier(2).fit_source(source)

    assert_allclose(model.log_likelihood(X), MixtureClassifier(2).fit(X, y).log_likelihood(X), rtol=1e-6)


def test_samples_follow_the_model_that_draws_them(data):
    X, y = data
    model = MixtureClassifier(2).fit(X, y)

    rows, labels = model.sample(30_000, random_state=0)
    again = MixtureClassifier(2).fit(rows, labels)

    assert_allclose(again.training_priors_, model.training_priors_, atol=0.01)
    moved = again.log_likelihood(X) - model.log_likelihood(X)
    assert np.abs(moved[np.arange(600), np.searchsorted(model.classes_, y)]).mean() < 0.05


def test_missing_values_are_marginalised(data, rng):
    X, y = data
    blank = np.where(rng.random(X.shape) < 0.1, np.nan, X)

    for shape in ("full", "diagonal"):
        whole = MixtureClassifier(2, covariance=shape).fit(X, y)
        model = MixtureClassifier(2, covariance=shape).fit(blank, y)
        assert model.score(X, y) > whole.score(X, y) - 0.05
    assert_allclose(model.log_likelihood([[np.nan, np.nan]]), [[0.0, 0.0, 0.0]], atol=1e-12)


def test_more_components_separate_clusters_that_one_component_cannot(data):
    X, y = data

    one, two = (MixtureClassifier(k, covariance="spherical").fit(X, y).score(X, y) for k in (1, 2))

    assert two > one + 0.2


def test_bic_finds_the_number_of_clusters_of_each_class(data, rng):
    X, y = data
    one = y == "a"
    X[one] = rng.normal(size=(one.sum(), 2))

    model = MixtureClassifier("bic").fit(X, y)

    assert_array_equal(model.n_components_, [1, 2, 2])
    same = MixtureClassifier({"a": 1, "b": 2, "c": 2}).fit(X, y)
    assert_array_equal(model.log_likelihood(X), same.log_likelihood(X))
    assert_array_equal(MixtureClassifier([1, 2, 2]).fit(X, y).log_likelihood(X), same.log_likelihood(X))


def test_bic_chooses_the_size_of_the_background(data):
    X, y = data[0][::3], data[1][::3]

    background = MixtureClassifier("bic", covariance="diagonal", relevance=16).fit(X, y).background_

    bics = [GaussianMixture(k, covariance="diagonal").fit(X).bic(X) for k in (1, 2, 4, 8)]
    assert background.n_components == 2 ** int(np.argmin(bics))


def test_adaptation_helps_a_class_of_few_rows(rng):
    """The classes share their clusters; a class with few rows is slightly shifted."""
    centres = rng.normal(size=(8, 5)) * 4

    def draw(n, shift):
        return centres[rng.choice(8, n)] + rng.normal(size=(n, 5)) + shift

    X = np.vstack([draw(2000, 0.0), draw(40, 1.5)])
    y = np.repeat([0, 1], [2000, 40])
    X_new, y_new = np.vstack([draw(500, 0.0), draw(500, 1.5)]), np.repeat([0, 1], 500)

    plain = MixtureClassifier(8, covariance="diagonal", floor=0.01).fit(X, y)
    adapted = MixtureClassifier(8, covariance="diagonal", floor=0.01, relevance=4).fit(X, y)

    assert likely.min_dcf(y_new, adapted.llr(X_new), 0.5) < likely.min_dcf(y_new, plain.llr(X_new), 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "must be 'bic', a whole number >= 1, or one such number for each class, but is 0"),
        ({"n_components": "aic"}, "or one such number for each class, but is 'aic'"),
        ({"n_components": {"a": 1, "b": 2}}, "must have the classes \\['a', 'b', 'c'\\] as keys, but has the keys"),
        ({"n_components": [1, 2]}, "one number for each of 3 classes, but has 2"),
        ({"n_components": [1, 2, 1], "relevance": 16}, "one background mixture, so n_components must be one"),
        ({"relevance": -1}, "relevance of MixtureClassifier must be a finite number >= 0"),
        ({"covariance": "round"}, "round"),
        ({"init": "magic"}, "init of MixtureClassifier must be one of"),
        ({"floor": -1}, "floor"),
    ],
)
def test_options_out_of_range_raise(options, message, data):
    with pytest.raises(likely.InvalidParameterError, match=message):
        MixtureClassifier(**options).fit(*data)


def test_errors_name_the_class_and_leave_the_model_unchanged(data):
    X, y = data
    model = MixtureClassifier(4).fit(X, y)
    before = model.log_likelihood(X)

    with pytest.raises(likely.DegenerateDataError, match=r"^Class 'b': GaussianMixture"):
        model.set_params(floor=0).fit(np.vstack([X, np.ones((9, 2))]), np.repeat(["a", "b"], [600, 9]))
    model.set_params(floor=1e-6)
    assert_array_equal(model.log_likelihood(X), before)
    with pytest.raises(likely.DegenerateDataError, match="use GaussianMixture"):
        model.fit(X, ["a"] * 600)
    with pytest.raises(likely.InvalidParameterError, match="whole number"):
        model.path(X, y, [1, "bic"])
    assert model.path(X, y, []) == []


def test_a_class_with_fewer_rows_than_components_has_one_component_per_row(data):
    X, y = data
    few = np.flatnonzero(y == "c")[:3]
    rows = np.concatenate([np.flatnonzero(y != "c"), few])

    with pytest.warns(likely.DegenerateDataWarning, match="^Class 'c': A mixture of 4 components .* there are 3"):
        model = MixtureClassifier(4, floor=0.1).fit(X[rows], y[rows])
    with pytest.warns(likely.DegenerateDataWarning, match="^Class 'c': A mixture of 4"):
        path = MixtureClassifier(floor=0.1).path(X[rows], y[rows], [1, 4])

    assert_array_equal(model.n_components_, [4, 4, 3])
    assert_array_equal(path[1].log_likelihood(X), model.log_likelihood(X))


def test_only_the_default_floor_causes_a_warning(data):
    X, y = data
    X = np.column_stack([X, np.zeros(600)])

    assert MixtureClassifier(2, floor=0.01).fit(X, y).score(X, y) > 0.7
    with pytest.warns(likely.DegenerateDataWarning) as caught:
        MixtureClassifier(2).fit(X, y)
    assert [str(warning.message)[:10] for warning in caught] == ["Class 'a':", "Class 'b':", "Class 'c':"]
