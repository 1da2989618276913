"""Generative classifiers: values, sources of one class, and errors."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import likely
from likely import ArraySource, Gaussian, GaussianClassifier, GenerativeClassifier, MappedSource, Source


class Elsewhere(Source):
    """Source that looks to the library as if its rows were not in memory."""

    def __init__(self, source):
        self.inner, self.n_features, self.classes, self.n_blocks = (
            source,
            source.n_features,
            source.classes,
            source.n_blocks,
        )

    def block(self, index):
        return self.inner.block(index)


@pytest.fixture
def data(rng):
    y = np.array(["a", "b", "c"])[rng.choice(3, 200)]
    return rng.normal(size=(200, 3)) + np.unique(y, return_inverse=True)[1][:, None] * [2.0, 1.0, 0.0], y


def source_of(X, y, **more):
    classes, codes = np.unique(y, return_inverse=True)
    return ArraySource(X, codes, classes=classes, **more)


def stacked(source):
    return np.vstack([source.block(i).X for i in range(source.n_blocks)])


def total(block):
    return block.X.sum(axis=0) if block.weight is None else block.weight @ block.X


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_gaussian_densities_equal_the_gaussian_classifier(shape, data):
    X, y = data
    model, usual = GenerativeClassifier(Gaussian(shape)).fit(X, y), GaussianClassifier(shape).fit(X, y)

    assert_allclose(model.log_likelihood(X), usual.log_likelihood(X), rtol=1e-12)
    assert_allclose(model.training_priors_, usual.training_priors_)
    assert_allclose(model.log_density(X), usual.log_density(X))


def test_missing_values_and_sparse_rows_are_accepted_if_the_density_accepts_them(data, rng):
    X, y = data
    blank = np.where(rng.random(X.shape) < 0.1, np.nan, X)

    model, usual = GenerativeClassifier(Gaussian()).fit(blank, y), GaussianClassifier().fit(blank, y)

    assert_allclose(model.log_likelihood(blank), usual.log_likelihood(blank), rtol=1e-5, atol=1e-5)
    sparse = GenerativeClassifier(Gaussian()).fit(csr_array(X), y)
    assert_allclose(sparse.log_likelihood(csr_array(X)), GaussianClassifier().fit(X, y).log_likelihood(X))


def test_samples_follow_the_densities_and_priors(data):
    model = GenerativeClassifier(Gaussian("diagonal"), priors=[0.2, 0.3, 0.5]).fit(*data)

    X, labels = model.sample(20_000, random_state=0)

    assert_allclose([(labels == label).mean() for label in "abc"], [0.2, 0.3, 0.5], atol=0.02)
    for label, density in zip("abc", model.densities_, strict=True):
        assert_allclose(X[labels == label].mean(axis=0), density.mean_, atol=0.06)


def test_the_density_parameter_does_not_change_and_its_parameters_can_be_set(data):
    density = Gaussian()
    model = GenerativeClassifier(density).set_params(density__covariance="diagonal").fit(*data)

    assert not hasattr(density, "statistics_")
    assert model.densities_[0].covariance == "diagonal"


@pytest.mark.parametrize("wrap", [lambda s: s, Elsewhere, lambda s: MappedSource(Elsewhere(s), np.negative)])
def test_the_rows_of_one_class_form_a_source(wrap, data):
    X, y = data
    sign = -1 if isinstance(wrap(source_of(X, y)), MappedSource) else 1
    weight = np.arange(1.0, 201)
    source = wrap(source_of(X, y, weight=weight, block_rows=7))

    part = source.of_class(1)

    assert part.classes is None
    assert_array_equal(stacked(part), sign * X[y == "b"])
    assert_allclose(part.reduce(total), sign * weight[y == "b"] @ X[y == "b"])
    blocks = [part.block(i) for i in range(part.n_blocks)]
    assert_array_equal(np.concatenate([block.positions for block in blocks]), np.flatnonzero(y == "b"))
    assert_array_equal(np.concatenate([block.weight for block in blocks]), weight[y == "b"])


def test_blocks_without_rows_of_the_class_are_skipped():
    source = Elsewhere(source_of(np.arange(8.0)[:, None], ["a"] * 5 + ["b"] * 3, block_rows=2))

    part = source.of_class(1)

    assert part.n_blocks == 2
    assert part.reduce(total) == 18
    with pytest.raises(likely.SourceError, match="no rows of the class at position 2"):
        source.of_class(2).reduce(total)


@pytest.mark.parametrize("wrap", [lambda s: s, Elsewhere, lambda s: MappedSource(Elsewhere(s), np.positive)])
def test_all_rows_without_classes_form_a_source(wrap, data):
    source = wrap(source_of(*data, block_rows=7))

    plain = source.without_classes()

    assert plain.classes is None
    assert plain.without_classes().classes is None
    assert plain.block(0).codes is None
    assert_array_equal(stacked(plain), data[0])
    assert_allclose(plain.reduce(total), data[0].sum(axis=0))


def test_rows_outside_memory_give_the_same_model_as_rows_in_memory(data):
    X, y = data
    model = GenerativeClassifier(Gaussian()).fit_source(Elsewhere(source_of(X, y, block_rows=7)))

    assert_allclose(model.log_likelihood(X), GenerativeClassifier(Gaussian()).fit(X, y).log_likelihood(X))


@pytest.mark.parametrize("density", [None, Gaussian, GaussianClassifier(), "full", likely.PCA()])
def test_a_parameter_that_is_not_a_density_raises(density, data):
    with pytest.raises(likely.InvalidParameterError, match=r"must be a density, such as Gaussian\(\)"):
        GenerativeClassifier(density).fit(*data)


def test_errors_and_warnings_name_the_class(data):
    X, y = data[0][:6], ["a", "a", "b", "b", "b", "b"]

    with pytest.raises(likely.DegenerateDataError, match=r"^Class 'a': X has 2 rows"):
        GenerativeClassifier(Gaussian(likely.Full(floor=0))).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GenerativeClassifier(Gaussian()).fit(X, y)
    assert [str(warning.message)[:10] for warning in caught] == ["Class 'a':"]
    assert caught[0].filename == __file__
    with pytest.warns(likely.DegenerateDataWarning, match="^X has 2 rows"):
        Gaussian().fit(X[:2])


def test_a_nan_error_of_a_density_gives_the_row_among_all_rows(data):
    X, y = data
    at = int(np.flatnonzero(y == "b")[3])
    X[at, 1] = np.inf

    with pytest.raises(likely.InvalidDataError, match=rf"Class 'b': X contains infinity .* row {at}, column 1"):
        GenerativeClassifier(Gaussian()).fit(X, y)


def test_one_class_a_class_without_rows_and_mismatched_priors_raise(data):
    X, y = data
    with pytest.raises(likely.DegenerateDataError, match=r"at least two classes.*fit the density itself"):
        GenerativeClassifier(Gaussian()).fit(X, ["a"] * 200)
    with pytest.raises(likely.DegenerateDataError, match="Class 'c' has no rows"):
        GenerativeClassifier(Gaussian()).fit_source(
            ArraySource(X, (y == "b").astype(int), classes=np.array(["a", "b", "c"]))
        )
    with pytest.raises(likely.InvalidDataError, match="priors for 2 classes"):
        GenerativeClassifier(Gaussian(), priors=[0.5, 0.5]).fit(X, y)
