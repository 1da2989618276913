"""Laws of expansions, and of pipelines with expansions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

import likely
from likely import (
    LDA,
    PCA,
    Application,
    ArraySource,
    GaussianClassifier,
    LinearRegression,
    MappedSource,
    NearestMeanClassifier,
    NystromFeatures,
    QuadraticFeatures,
    RadialFeatures,
    Standardize,
    kfold_scores,
    make_pipeline,
)
from likely.blocks import arrays, gathering
from likely.features import expansions
from likely.models import streaming

EXPANSIONS = [
    QuadraticFeatures(),
    QuadraticFeatures(kernel=True),
    RadialFeatures(n_centers=4, random_state=0),
    RadialFeatures(n_centers=5, width=2.0, random_state=1),
    NystromFeatures(4, random_state=0),
    NystromFeatures(3, kernel="linear", random_state=1),
]
everyone = pytest.mark.parametrize("expansion_", EXPANSIONS, ids=str)

CHAINS = [
    make_pipeline(QuadraticFeatures(), Standardize(), GaussianClassifier("diagonal")),
    make_pipeline(Standardize(), QuadraticFeatures(), LDA(), GaussianClassifier(tied=True)),
    make_pipeline(Standardize(), PCA(2), QuadraticFeatures(kernel=True), NearestMeanClassifier()),
    make_pipeline(RadialFeatures(5, random_state=0), Standardize(), GaussianClassifier()),
    make_pipeline(Standardize(), NystromFeatures(5, random_state=0), GaussianClassifier()),
    make_pipeline(
        Standardize(), RadialFeatures(4, random_state=0), QuadraticFeatures(), GaussianClassifier("diagonal")
    ),
]
every_chain = pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "+".join(chain.named_steps))


@pytest.fixture
def data(rng):
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 4)) * (1 + y[:, None]) + rng.normal(size=(3, 4))[y] * 2 + 3
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture
def streamed(monkeypatch):
    """Make expansions of any size too large for memory, and all blocks and runs short."""
    monkeypatch.setattr(streaming, "MAX_EXPANSION_VALUES", 0)
    monkeypatch.setattr(streaming, "RUN_VALUES", 2**8)
    monkeypatch.setattr(streaming, "MIN_RUN_ROWS", 7)
    monkeypatch.setattr(arrays, "MIN_ROWS", 3)
    monkeypatch.setattr(arrays, "ROW_VALUES", 2**6)
    _forbid_fit(monkeypatch)


def _forbid_fit(monkeypatch):
    """Fail if a step is fitted to arrays, which means that the expansion was materialised."""

    def forbidden(*args, **kwargs):
        raise AssertionError("a step was fitted to arrays")

    for kind in (likely.blocks.AdditiveLearner, expansions.Expansion):
        monkeypatch.setattr(kind, "fit", forbidden)


def test_dot_products_of_quadratic_features_equal_those_of_all_products_and_the_row(rng):
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(30, 5))
    phi = QuadraticFeatures().fit(X)
    both = lambda Z: np.hstack([np.einsum("ni,nj->nij", Z, Z).reshape(len(Z), -1), Z])  # noqa: E731

    assert_allclose(phi.transform(X) @ phi.transform(Y).T, both(X) @ both(Y).T)
    assert_allclose(phi.transform(X) @ phi.transform(Y).T, (X @ Y.T) ** 2 + X @ Y.T)


def test_dot_products_with_kernel_scaling_equal_the_quadratic_kernel(rng):
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(30, 5))
    phi = QuadraticFeatures(kernel=True).fit(X)

    assert_allclose(phi.transform(X) @ phi.transform(Y).T, (X @ Y.T + 1) ** 2, atol=1e-12)


def test_a_penalised_linear_model_is_the_same_for_quadratic_features_and_all_products(rng):
    from sklearn.linear_model import Ridge

    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    everything = np.hstack([np.einsum("ni,nj->nij", X, X).reshape(60, -1), X])
    phi = QuadraticFeatures().fit_transform(X)

    assert phi.shape == (60, 9)
    assert_allclose(Ridge(2.0).fit(phi, y).predict(phi), Ridge(2.0).fit(everything, y).predict(everything))


@pytest.mark.parametrize("far", [0.0, 1e8])
@pytest.mark.parametrize("width", [None, 0.01, 50.0])
def test_radial_features_are_gaussian_in_the_distance_from_their_centre(rng, far, width):
    X = np.round(rng.normal(size=(500, 3)), 3) + far
    fitted = RadialFeatures(6, width=width, random_state=0).fit(X)

    distances = cdist(X - far, fitted.centers_ - far, "sqeuclidean")
    # Values near 1e8 are multiples of 1.5e-8, and so are their differences.
    rounding = 2e-7 / fitted.width_ if far else 1e-12
    assert_allclose(fitted.transform(X), np.exp(-distances / (2 * fitted.width_**2)), rtol=0, atol=rounding)


def test_radial_features_are_accurate_for_centres_far_apart(rng):
    centres = np.array([[-1e9, 0.0], [1e9, 0.0], [0.0, 5e8]])
    X = np.repeat(centres, 50, axis=0) + np.round(rng.normal(size=(150, 2)), 2)
    features = RadialFeatures(centers=centres, width=1.0).fit_transform(X)

    assert_allclose(features, np.exp(-cdist(X, centres, "sqeuclidean") / 2), rtol=1e-12)
    assert (features.max(axis=1) > 1e-6).all()


@everyone
def test_sparse_and_dense_rows_expand_equally_for_any_block_size(expansion_, rng, monkeypatch):
    X = rng.normal(size=(100, 4)) * (rng.random((100, 4)) < 0.5)
    fitted = clone(expansion_).fit(X)
    whole = fitted.transform(X)

    assert whole.dtype == np.float64
    assert whole.shape == (100, fitted.expands_to(4))
    assert len(fitted.get_feature_names_out()) == whole.shape[1]
    for rows in (1, 7, 64):
        monkeypatch.setattr(expansions, "MIN_ROWS", 1)
        monkeypatch.setattr(expansions, "ROWS", rows)
        assert_allclose(fitted.transform(X), whole, rtol=1e-12)
        assert_allclose(clone(expansion_).fit(csr_array(X)).transform(csr_array(X)), whole, rtol=1e-12)
    assert_allclose(fitted.transform(X.astype(np.float32)), whole, rtol=1e-5, atol=1e-5)


@everyone
def test_weights_equal_repetition_and_order_does_not_matter(expansion_, rng):
    X = np.round(rng.normal(size=(80, 3)), 1)
    repeats = rng.integers(0, 4, 80)
    order = rng.permutation(80)

    weighted = clone(expansion_).fit(X[order], sample_weight=repeats[order])
    repeated = clone(expansion_).fit(np.repeat(X, repeats, axis=0))

    assert_array_equal(weighted.transform(X), repeated.transform(X))


@everyone
@pytest.mark.parametrize("block_rows", [1, 13, 1000])
def test_an_expansion_fitted_from_a_source_equals_one_fitted_from_arrays(expansion_, rng, block_rows):
    X, weight = rng.normal(size=(200, 3)), rng.integers(1, 4, 200).astype(float)
    source = ArraySource(X, weight=weight, block_rows=block_rows)

    fitted = clone(expansion_).fit_source(source)

    assert fitted.n_features_in_ == 3
    assert_allclose(fitted.transform(X), clone(expansion_).fit(X, sample_weight=weight).transform(X), rtol=1e-12)


def test_samples_are_even_for_any_division_into_blocks_and_periodic_rows(monkeypatch):
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", 200)
    X = np.arange(5000.0)[:, None] % 50

    samples = [ArraySource(X, block_rows=rows).reduce(gathering.sample_rows) for rows in (5000, 170, 33)]

    counts = np.bincount(samples[0].rows.ravel().astype(int), minlength=50)
    assert len(samples[0].rows) == 200
    assert counts.min() >= 2
    assert counts.max() <= 6
    for other in samples[1:]:
        assert_array_equal(np.sort(other.order), np.sort(samples[0].order))


def test_a_mapped_source_keeps_codes_weights_folds_positions_and_targets(rng):
    X, codes, weight = rng.normal(size=(40, 3)), rng.integers(2, size=40), rng.random(40)
    folds, targets = rng.integers(5, size=40), rng.normal(size=(40, 2))
    source = ArraySource(X, codes, weight, np.array(["a", "b"]), folds, 9, np.arange(40) * 2, targets)

    mapped = MappedSource(source, QuadraticFeatures().fit(X).transform)

    assert mapped.n_blocks == source.n_blocks
    assert mapped.n_features == 9
    assert mapped.classes is source.classes
    before, after = source.block(2), mapped.block(2)
    assert_allclose(after.X, QuadraticFeatures().fit_transform(before.X))
    for name in ("codes", "weight", "folds", "positions", "targets"):
        assert_array_equal(getattr(after, name), getattr(before, name))


def test_a_mapped_source_that_widens_rows_reduces_shorter_blocks(rng, monkeypatch):
    monkeypatch.setattr(arrays, "MIN_ROWS", 5)
    monkeypatch.setattr(arrays, "ROW_VALUES", 5 * 9)
    X = rng.normal(size=(64, 3))
    mapped = MappedSource(ArraySource(X, block_rows=32), QuadraticFeatures().fit(X).transform)

    lengths = mapped.reduce(lambda block: [len(block)])

    assert sum(lengths) == 64
    assert max(lengths) <= 5
    assert mapped.block(0).X.shape == (32, 9)


@every_chain
def test_a_pipeline_fitted_block_by_block_equals_one_fitted_from_arrays(chain, data, rng, request):
    X, y = data
    weight = rng.integers(0, 3, 300).astype(float)
    whole = clone(chain).fit(X, y, sample_weight=weight)
    direct = whole.steps[-1][1].log_likelihood(_through(whole, X))

    request.getfixturevalue("streamed")
    apart = clone(chain).fit(X, y, sample_weight=weight)

    assert_array_equal(apart.classes_, whole.classes_)
    assert apart.n_features_in_ == 4
    assert_allclose(whole.log_likelihood(X), direct, rtol=1e-12)
    assert_allclose(apart.log_likelihood(X), direct, rtol=1e-6, atol=1e-8)
    assert_allclose(clone(chain).fit(csr_array(X), y, sample_weight=weight).log_likelihood(X), direct, rtol=1e-6)


def _through(chain, X):
    for _, step in chain.steps[:-1]:
        X = step.transform(X)
    return X


@every_chain
@pytest.mark.parametrize("block_rows", [None, 1, 50])
def test_a_pipeline_fitted_from_a_source_equals_one_fitted_from_arrays(chain, data, block_rows):
    X, y = data
    classes, codes = np.unique(y, return_inverse=True)
    source = ArraySource(X, codes, classes=classes, block_rows=block_rows)

    scores = clone(chain).fit_source(source).log_likelihood(X)

    assert_allclose(scores, clone(chain).fit(X, y).log_likelihood(X), rtol=1e-6, atol=1e-8)


@every_chain
def test_scores_computed_in_runs_of_rows_equal_scores_computed_at_once(chain, data, monkeypatch):
    X, y = data
    application = Application([0.2, 0.5, 0.3], reject_cost=0.2)
    fitted = clone(chain).fit(X, y)
    methods = ("log_likelihood", "predict", "predict_proba", "predict_log_proba", "decision_function")
    at_once = [getattr(fitted, name)(X) for name in methods]
    decided, right, weighted = fitted.decide(X, application), fitted.score(X, y), fitted.score(X, y, np.arange(300))

    monkeypatch.setattr(streaming, "RUN_VALUES", 2**8)
    monkeypatch.setattr(streaming, "MIN_RUN_ROWS", 7)

    for rows in (X, csr_array(X), coo_array(X), X.tolist()):
        for name, scores in zip(methods, at_once, strict=True):
            _assert_same(getattr(fitted, name)(rows), scores)
    assert_array_equal(fitted.decide(X, application), decided)
    assert fitted.score(X, y) == right
    assert fitted.score(X, y, sample_weight=np.arange(300)) == pytest.approx(weighted)


def _assert_same(a, b):
    assert a.dtype == b.dtype
    if a.dtype.kind == "f":
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    else:
        assert_array_equal(a, b)


@every_chain
def test_out_of_fold_scores_with_an_expansion_equal_those_of_refitting(chain, data):
    X, y = data
    folds = np.arange(300) % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]

    scores = kfold_scores(chain, X, y, splits)

    for train, test in splits:
        fitted = clone(chain).fit(X[train], y[train])
        assert_allclose(scores[test], fitted.log_likelihood(X[test]), rtol=1e-9)


@pytest.mark.parametrize("columns", [None, 1, 2])
def test_a_regression_with_an_expansion_is_the_same_block_by_block(rng, columns, request):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] - X[:, 2] ** 2 + 0.1 * rng.normal(size=200)
    y = y if columns is None else np.column_stack([y] * columns)
    chain = make_pipeline(QuadraticFeatures(), Standardize(), LinearRegression())
    whole = clone(chain).fit(X, y)

    if columns != 1:
        request.getfixturevalue("streamed")
    apart = clone(chain).fit(X, y)

    assert apart.predict(X).shape == y.shape
    assert_allclose(apart.predict(X), whole.predict(X), atol=1e-9)
    assert apart.score(X, y) > 0.95


def test_features_of_a_pipeline_are_the_same_block_by_block(data, request):
    X, y = data
    chain = make_pipeline(QuadraticFeatures(), Standardize(), PCA(2))
    whole = clone(chain).fit(X).transform(X)

    request.getfixturevalue("streamed")

    assert_allclose(clone(chain).fit(X, y).transform(X), whole, atol=1e-9)
