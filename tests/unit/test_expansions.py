"""Numbers, names and messages of expansions, and of pipelines with expansions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import likely
from likely import (
    LDA,
    PCA,
    ArraySource,
    DegenerateDataError,
    GaussianClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    MappedSource,
    MissingValuesError,
    NystromFeatures,
    QuadraticFeatures,
    RadialFeatures,
    SourceError,
    Standardize,
    make_pipeline,
)
from likely.models import streaming


@pytest.fixture
def data(rng):
    y = rng.integers(2, size=90)
    return rng.normal(size=(90, 3)) * (1 + y[:, None]), y


@pytest.fixture
def small(monkeypatch):
    """Make every expansion too large for memory, so that it is scored nine rows at a time."""
    monkeypatch.setattr(streaming, "MAX_EXPANSION_VALUES", 0)
    monkeypatch.setattr(streaming, "RUN_VALUES", 1)
    monkeypatch.setattr(streaming, "MIN_RUN_ROWS", 9)


def test_quadratic_features_equal_the_worked_example():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    phi = QuadraticFeatures(kernel=True).fit(x)

    root = np.sqrt(2)
    assert_allclose(phi.transform(x), [[1, 2 * root, 4, root, 2 * root, 1]])
    assert_allclose(phi.transform(x) @ phi.transform(y).T, [[4.0]])
    assert_allclose(QuadraticFeatures().fit(x).transform(x), [[1, 2 * root, 4, 1, 2]])


def test_a_single_column_becomes_its_square_and_itself():
    assert_allclose(QuadraticFeatures().fit_transform([[3.0], [-2.0]]), [[9, 3], [4, -2]])


def test_outputs_equal_scikit_learn_up_to_order_and_scale(rng):
    X = rng.normal(size=(30, 4))
    theirs = PolynomialFeatures(2).fit(X)
    columns = dict(zip(theirs.get_feature_names_out(), theirs.transform(X).T, strict=True))
    ours = QuadraticFeatures(kernel=True).fit(X)

    names = ours.get_feature_names_out().tolist()
    assert sorted(names) == sorted(columns)
    scale = [1 if name.endswith("^2") or name == "1" else np.sqrt(2) for name in names]
    assert_allclose(ours.transform(X), np.column_stack([columns[name] for name in names]) * scale)


def test_output_names_use_the_column_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "height": [3.0, 5.0]})
    phi = QuadraticFeatures().set_output(transform="pandas").fit(frame)

    assert list(phi.transform(frame)) == ["age^2", "age height", "height^2", "age", "height"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        phi.get_feature_names_out(["a", "b"])
    radial = RadialFeatures(centers=[[1.0, 3.0], [2.0, 5.0]]).fit(frame)
    assert radial.get_feature_names_out().tolist() == ["radialfeatures0", "radialfeatures1"]


def test_partial_fit_of_quadratic_features_only_validates_the_rows(rng):
    phi = QuadraticFeatures().partial_fit(rng.normal(size=(5, 3))).partial_fit(rng.normal(size=(1, 3)))

    assert phi.transform(np.ones((1, 3))).shape == (1, 9)
    with pytest.raises(ValueError, match="has 2 features, but QuadraticFeatures is expecting 3"):
        phi.partial_fit(np.ones((2, 2)))
    with pytest.raises(MissingValuesError, match="NaN in row 1, column 0"):
        phi.partial_fit([[0.0, 1, 2], [np.nan, 1, 2]])


@pytest.mark.parametrize(
    "expansion", [QuadraticFeatures(), RadialFeatures(2, random_state=0), NystromFeatures(2, random_state=0)], ids=str
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_refused_with_their_position(expansion, value, rng):
    X = rng.normal(size=(5000, 3))
    fitted = clone(expansion).fit(X)
    X[4321, 2] = value

    what = "NaN" if np.isnan(value) else "infinity"
    error = MissingValuesError if np.isnan(value) else InvalidDataError
    for refusing in (
        lambda: fitted.transform(X),
        lambda: clone(expansion).fit(X),
        lambda: clone(expansion).fit(X, sample_weight=np.arange(5000) % 2),
    ):
        with pytest.raises(error, match=f"{what}.* in row 4321, column 2"):
            refusing()
    if not isinstance(expansion, QuadraticFeatures):
        with pytest.raises(error, match="in row 4321, column 2"):
            clone(expansion).fit_source(ArraySource(X, block_rows=100))


def test_rows_of_weight_0_may_have_missing_values(rng):
    X = rng.normal(size=(50, 2))
    X[7] = np.nan

    fitted = RadialFeatures(3, random_state=0).fit(X, sample_weight=(np.arange(50) != 7).astype(float))

    assert np.isfinite(fitted.centers_).all()


def test_values_too_large_to_be_squared_are_refused_by_quadratic_but_not_by_radial_features():
    X = np.array([[0.0, 1.0], [1e160, 0.0]])

    with pytest.raises(InvalidDataError, match=r"Values of column 0 reach 1e\+160, too large to be squared"):
        QuadraticFeatures().fit(X).transform(X)
    largest = QuadraticFeatures().fit_transform([[9e153, -9e153]])
    assert np.isfinite(largest).all()
    radial = RadialFeatures(centers=[[0.0, 1.0], [1.0, 1.0]]).fit(X)
    assert_allclose(radial.transform([[1e160, 0.0], [1e308, -1e308]]), 0)


def test_the_width_is_the_mean_distance_of_nearest_centres():
    centres = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])

    assert RadialFeatures(centers=centres).fit(centres).width_ == pytest.approx((5 + 1 + 1) / 3)
    scaled = RadialFeatures(centers=1e-6 * centres).fit(centres)
    assert scaled.width_ == pytest.approx(1e-6 * 7 / 3)
    assert RadialFeatures(centers=centres, width=2).fit(centres).width_ == 2.0


def test_centres_are_cluster_means_and_reproducible(rng):
    means = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    labels = np.repeat(np.arange(3), 40)
    X = means[labels] + rng.normal(size=(120, 2)) + 1e8

    fitted, again = (RadialFeatures(3, random_state=5).fit(X) for _ in range(2))

    assert_array_equal(fitted.centers_, again.centers_)
    expected = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    order = np.lexsort(fitted.centers_.T[::-1])
    assert_allclose(fitted.centers_[order], expected[np.lexsort(expected.T[::-1])], rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_centers", [0, -1, 2.5, True, "many", None])
def test_invalid_numbers_of_centres_are_refused(n_centers, data):
    X, y = data
    message = "n_centers of RadialFeatures must be a whole number from 1"

    with pytest.raises(InvalidParameterError, match=message):
        RadialFeatures(n_centers).fit(X)
    with pytest.raises(InvalidParameterError, match=message):
        make_pipeline(RadialFeatures(n_centers), GaussianClassifier()).fit(X, y)


@pytest.mark.parametrize("width", [0, -1.0, np.inf, np.nan, "wide", True])
def test_invalid_widths_are_refused(width, data):
    with pytest.raises(InvalidParameterError, match="width of RadialFeatures must be a finite number > 0"):
        RadialFeatures(3, width=width).fit(data[0])


def test_invalid_centres_are_refused(data):
    X, _ = data
    with pytest.raises(InvalidDataError, match="one column for each of the 3 features of X, but have 2"):
        RadialFeatures(centers=[[0.0, 0.0]], width=1.0).fit(X)
    with pytest.raises(ValueError, match="centers contains NaN"):
        RadialFeatures(centers=[[0.0, np.nan, 0.0]], width=1.0).fit(X)
    with pytest.raises(InvalidParameterError, match="there is only one"):
        RadialFeatures(1).fit(X)
    with pytest.raises(DegenerateDataError, match=r"their mean is 0\.0. Set width"):
        RadialFeatures(centers=np.zeros((2, 3))).fit(X)
    with pytest.raises(
        DegenerateDataError, match=r"10 different rows for 10 centres, but X has only 4 different rows \(n_samples=12\)"
    ):
        RadialFeatures(10).fit(np.arange(12.0)[:, None] % 4)


def test_a_single_centre_needs_a_width(data):
    X, _ = data
    fitted = RadialFeatures(1, width=1.5).fit(X)

    assert_allclose(fitted.centers_[0], X.mean(axis=0))
    assert_allclose(fitted.transform(fitted.centers_), [[1.0]])


def test_a_failed_fit_leaves_the_step_unchanged(data):
    X, _ = data
    fitted = RadialFeatures(3, random_state=0).fit(X)
    before = fitted.transform(X)

    with pytest.raises(MissingValuesError):
        fitted.fit(np.full((9, 5), np.nan))

    assert_array_equal(fitted.transform(X), before)


def test_a_source_is_mapped_by_any_function_and_an_empty_block_stays_empty():
    source = ArraySource(np.zeros((0, 2)), np.zeros(0, dtype=int), classes=np.array([0]))
    mapped = MappedSource(source, lambda X: np.hstack([X, X]), n_features=4)

    assert mapped.block(0).X.shape == (0, 4)
    assert mapped.reduce(lambda block: len(block)) == 0


def test_a_map_that_returns_the_rows_themselves_does_not_mark_them_as_copies(rng):
    X, codes = rng.normal(size=(30, 2)), np.arange(30) % 2
    source = ArraySource(X, codes, classes=np.array([0, 1]))

    assert not MappedSource(source, lambda rows: rows).block(0).is_copy
    assert MappedSource(source, lambda rows: rows + 1).block(0).is_copy


def test_errors_of_a_streamed_pipeline_give_the_position_in_the_source(data, small):
    X, y = data
    pipeline = make_pipeline(Standardize(), QuadraticFeatures(), GaussianClassifier())
    fitted = clone(pipeline).fit(X, y)
    X = X.copy()
    X[71, 1] = np.nan

    with pytest.raises(MissingValuesError, match="NaN in row 71, column 1"):
        clone(pipeline).fit(X, y)
    with pytest.raises(MissingValuesError, match="NaN in row 71, column 1"):
        fitted.log_likelihood(X)
    with pytest.raises(InvalidDataError, match=r"column 0 reach 1e\+200, too large to be squared"):
        make_pipeline(QuadraticFeatures(), GaussianClassifier()).fit(X * 0 + 1e200, y)


def test_a_failed_fit_from_a_source_leaves_the_pipeline_unchanged(data):
    X, y = data
    pipeline = make_pipeline(QuadraticFeatures(), LDA(), GaussianClassifier()).fit(X, y)
    before = pipeline.log_likelihood(X)

    with pytest.raises(SourceError, match="LDA learns from classes, but the source has none"):
        pipeline.fit_source(ArraySource(X + 1))

    assert_array_equal(pipeline.log_likelihood(X), before)


def test_steps_without_fit_source_are_named_and_fitted_from_arrays(data, small):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), QuadraticFeatures(), GaussianClassifier("diagonal"))

    with pytest.raises(IncompatiblePartsError, match="StandardScaler has no fit_source"):
        pipeline.fit_source(ArraySource(X, y, classes=np.arange(2)))
    assert pipeline.fit(X, y).log_likelihood(X).shape == (90, 2)
    with pytest.raises(
        IncompatiblePartsError, match="GaussianClassifier has no transform, so it must be the last step"
    ):
        make_pipeline(QuadraticFeatures(), GaussianClassifier(), GaussianClassifier()).fit(X, y)


def test_partial_fit_needs_steps_that_learn_from_moments(data):
    pipeline = make_pipeline(QuadraticFeatures(), GaussianClassifier())

    with pytest.raises(IncompatiblePartsError, match="QuadraticFeatures does not learn from moments, so this"):
        pipeline.partial_fit(*data)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_streamed_pipeline_has_the_names_of_its_columns(data, small, output):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(90) / 7)
    pipeline = make_pipeline(QuadraticFeatures(), Standardize(), GaussianClassifier("diagonal"))

    fitted = clone(pipeline).set_output(transform=output).fit(frame, y)

    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted[:-1].get_feature_names_out()[1] == "a b"
    assert_allclose(fitted.log_likelihood(frame), clone(pipeline).fit(X, y).log_likelihood(X), rtol=1e-9)
    features = fitted[:-1].transform(frame)
    assert isinstance(features, pandas.DataFrame) == (output == "pandas")
    assert features.shape == (90, 9)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_a_pipeline_with_memory_or_weights_of_single_steps_is_fitted_from_arrays(data, small, tmp_path):
    X, y = data
    pipeline = make_pipeline(QuadraticFeatures(), GaussianClassifier("diagonal"))
    expected = clone(pipeline).fit(X, y).log_likelihood(X)

    cached = clone(pipeline).set_params(memory=str(tmp_path)).fit(X, y)
    by_name = clone(pipeline).fit(X, y, gaussianclassifier__sample_weight=np.ones(90))

    assert_allclose(cached.log_likelihood(X), expected, rtol=1e-9)
    assert_allclose(by_name.log_likelihood(X), expected, rtol=1e-9)


def test_the_size_of_an_expansion_after_a_projection_follows_from_the_width_of_the_projection(data, monkeypatch):
    X, y = data
    pipeline = make_pipeline(PCA(2), QuadraticFeatures(), GaussianClassifier("diagonal"))
    calls = []
    monkeypatch.setattr(streaming, "fit_from_source", lambda steps, source: calls.append(source))

    monkeypatch.setattr(streaming, "MAX_EXPANSION_VALUES", 90 * 5)
    clone(pipeline).fit(X, y)
    assert not calls
    monkeypatch.setattr(streaming, "MAX_EXPANSION_VALUES", 90 * 5 - 1)
    clone(pipeline).fit(X, y)
    assert len(calls) == 1


def test_a_pipeline_whose_moments_by_class_are_too_large_is_fitted_step_by_step(data, monkeypatch):
    X, y = data
    pipeline = make_pipeline(Standardize(), PCA(2), GaussianClassifier())
    source = ArraySource(X, y, classes=np.arange(2))
    expected = clone(pipeline).fit_source(source).log_likelihood(X)

    monkeypatch.setattr(likely.resampling.chains, "MAX_BYTES", 100)
    apart = clone(pipeline).fit_source(source)

    assert "_sums" not in vars(apart)
    assert_allclose(apart.log_likelihood(X), expected, rtol=1e-9)


def test_a_pipeline_fitted_from_a_source_with_missing_values_uses_em(data, rng):
    X, y = data
    X = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    pipeline = make_pipeline(Standardize(), GaussianClassifier())

    from_source = clone(pipeline).fit_source(ArraySource(X, y, classes=np.arange(2)))

    assert_allclose(from_source.log_likelihood(X), clone(pipeline).fit(X, y).log_likelihood(X), rtol=1e-9)


def test_fitted_expansions_can_be_pickled(data):
    X, y = data
    pipeline = make_pipeline(QuadraticFeatures(), RadialFeatures(4, random_state=0), GaussianClassifier()).fit(X, y)

    assert_array_equal(pickle.loads(pickle.dumps(pipeline)).log_likelihood(X), pipeline.log_likelihood(X))
