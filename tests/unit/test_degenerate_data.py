"""Data that do not determine a model: floored with a warning, or refused with a remedy."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import likely
from likely import (
    LDA,
    PCA,
    DegenerateDataError,
    DegenerateDataWarning,
    Diagonal,
    Full,
    Gaussian,
    GaussianClassifier,
    InvalidDataError,
    InvalidParameterError,
    LikelyError,
    NearestMeanClassifier,
    Spherical,
    Standardize,
    Whiten,
    make_pipeline,
)


@pytest.fixture
def data(rng):
    y = np.array(["a", "b"])[np.arange(40) % 2]
    return rng.normal(size=(40, 3)) + (y == "b")[:, None], y


def test_a_class_with_fewer_rows_than_features_is_floored_and_named(rng):
    X, y = rng.normal(size=(54, 10)), np.array(["a"] * 50 + ["b"] * 4)

    with pytest.warns(DegenerateDataWarning) as record:
        model = GaussianClassifier().fit(X, y)

    assert str(record[0].message) == (
        "Class 'b' has 4 rows for 10 features, so its full covariance has rank 3. The remaining directions were "
        "floored at 1e-09 of their scale. Set tied=True, covariance='diagonal' or shrinkage."
    )
    assert np.isfinite(model.log_likelihood(X)).all()
    assert model.score(X, y) == 1


@pytest.mark.parametrize("shape", [Full, Diagonal, Spherical])
def test_floor_zero_raises_instead(shape):
    X, y = [[0.0, 1.0], [1.0, 1.5], [5.0, 7.0]], ["a", "a", "b"]

    with pytest.raises(
        DegenerateDataError, match=r"Class 'b' has 1 row for 2 features, so its .* covariance has rank 0"
    ):
        GaussianClassifier(shape(floor=0)).fit(X, y)


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_a_class_of_one_row_follows_the_one_rule(shape):
    X, y = [[0.0, 1.0], [1.0, 1.5], [0.5, 3.0], [0.3, 2.0], [5.0, 7.0]], ["a", "a", "a", "a", "b"]

    with pytest.warns(DegenerateDataWarning, match="Class 'b' has 1 row"):
        model = GaussianClassifier(shape).fit(X, y)

    assert_array_equal(model.predict(X), y)
    within = 4 * np.var(X[:4], axis=0) / 5
    expected = 0.3 * (np.full(2, within.mean()) if shape == "spherical" else within)
    found = model.covariances_[1].diagonal() if shape == "full" else model.covariances_[1]
    assert_allclose(found, expected)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_the_warning_names_a_constant_column_and_it_is_no_evidence(shape, data):
    X, y = data
    wide = np.column_stack([X, np.full(40, 0.1)])

    with pytest.warns(DegenerateDataWarning, match=r"rank 3 \(constant columns: 3\)"):
        model = GaussianClassifier(shape).fit(wide, y)

    assert_allclose(model.llr(wide), GaussianClassifier(shape).fit(X, y).llr(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_column_constant_in_one_class_gets_a_share_of_its_variance_within_classes(shape, data):
    X, y = data
    X = X.copy()
    X[y == "b", 2] = 0.1

    with pytest.warns(DegenerateDataWarning) as record:
        model = GaussianClassifier(shape).fit(X, y)

    remedy = "Set tied=True, covariance='diagonal' or shrinkage."
    assert str(record[0].message) == (
        f"Class 'b' has 20 rows for 3 features, so its {shape} covariance has rank 2 (constant columns: 2). Constant "
        "columns that vary in another class were given 0.3 of their variance within all classes. "
        + (remedy if shape == "full" else "Drop constant columns, or use tied=True.")
    )
    C = model.covariances_[1] if shape == "full" else np.diag(model.covariances_[1])
    expected = np.cov(X[y == "b"], rowvar=False, bias=True)
    expected = expected if shape == "full" else np.diag(expected.diagonal())
    expected[2, 2] = 0.3 * X[y == "a", 2].var() / 2
    assert_allclose(C, expected, atol=1e-15)


def test_a_column_constant_in_each_class_still_separates(data):
    X, y = data
    X = np.column_stack([X, (y == "b") * 1.0])

    with pytest.warns(DegenerateDataWarning, match="The remaining directions were floored at 1e-09"):
        model = GaussianClassifier().fit(X, y)

    assert_allclose(model.covariances_[:, 3, 3], 1e-9 * 0.25)
    assert model.score(X, y) == 1


def test_a_floor_above_the_share_of_constant_columns_is_kept(data):
    X, y = data
    X = X.copy()
    X[y == "b", 2] = 0.1

    with pytest.warns(DegenerateDataWarning, match="were given 0.5 of their variance within all classes"):
        model = GaussianClassifier(Diagonal(floor=0.5)).fit(X, y)

    assert_allclose(model.covariances_[1, 2], 0.5 * X[y == "a", 2].var() / 2)


def test_shrinkage_towards_other_variances_leaves_no_column_constant(data):
    X, y = data
    X = X.copy()
    X[y == "b", 2] = 0.1

    for towards in ("pooled", "identity"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = GaussianClassifier(Full(shrinkage=0.1, towards=towards)).fit(X, y)
        assert np.isfinite(model.log_likelihood(X + 1)).all()


def test_a_duplicate_column_is_floored_and_changes_no_decision(data):
    X, y = data
    wide = np.column_stack([X, X[:, 0]])

    with pytest.warns(DegenerateDataWarning, match=r"Class 'a' has 20 rows for 4 features.*Class 'b'"):
        model = GaussianClassifier().fit(wide, y)

    assert_array_equal(model.predict(wide), GaussianClassifier().fit(X, y).predict(X))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_floor_is_relative_so_units_do_not_matter(scale, rng):
    X, y = rng.normal(size=(54, 10)), np.array(["a"] * 50 + ["b"] * 4)

    with pytest.warns(DegenerateDataWarning):
        plain, scaled = GaussianClassifier().fit(X, y), GaussianClassifier().fit(X * scale, y)

    assert_allclose(scaled.llr(X * scale), plain.llr(X), rtol=1e-5)


def test_well_determined_data_are_not_floored_and_give_no_warnings(rng):
    X = rng.normal(size=(1000, 2)) * [1e-6, 1e3]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Gaussian().fit(X).covariance_

    assert_allclose(found, np.cov(X, rowvar=False, bias=True), rtol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_tiny_feature_beside_a_large_one_still_separates(covariance, rng):
    """With a floor relative to the largest feature, accuracy would drop to chance."""
    y = np.arange(400) % 2
    X = np.column_stack([rng.normal(size=400) * 1e3, (rng.normal(size=400) + 6 * y) * 1e-6])

    assert GaussianClassifier(covariance).fit(X, y).score(X, y) > 0.99


def test_a_spread_of_1e_minus_5_has_the_variance_1e_minus_10(rng):
    X = rng.normal(size=(1000, 2)) * 1e-5

    assert_allclose(Gaussian("diagonal").fit(X).covariance_.diagonal(), X.var(axis=0), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize(
    "feature", [LDA(), Whiten(), Whiten(form="pca"), Whiten(form="pca", by="within"), PCA()], ids=str
)
def test_features_of_singular_data_stay_finite(feature, rng):
    X, y = rng.normal(size=(6, 10)), np.arange(6) % 2

    assert np.isfinite(feature.fit(X, y).transform(X)).all()


def test_the_error_of_lda_on_singular_data_names_a_remedy(rng):
    with pytest.warns(DegenerateDataWarning, match=r"The pooled data has 6 rows for 10 features.*Use PCA first"):
        LDA().fit(rng.normal(size=(6, 10)), np.arange(6) % 2)


ONE_CLASS = np.array(["a"] * 40)
BAD = {
    "one class": (lambda X, y: (X, ONE_CLASS), {}, "needs at least two classes, but y has only one class: 'a'"),
    "no labels": (lambda X, y: (X, None), {}, "requires y to be passed"),
    "a NaN label": (lambda X, y: (X, np.where(np.arange(40) == 7, np.nan, 1.0)), {}, "label of row 7 is missing"),
    "a None label": (lambda X, y: (X, np.array([*y[:-1], None], dtype=object)), {}, "label of row 39 is missing"),
    "an infinity": (lambda X, y: (_put(X, np.inf), y), {}, "X contains infinity (inf) in row 5, column 2"),
    "values past squaring": (lambda X, y: (_put(X, 1e200), y), {}, "column 2 reach 1e+200, too large"),
    "weights all zero": (lambda X, y: (X, y), {"sample_weight": np.zeros(40)}, "all rows have weight 0"),
    "a negative weight": (lambda X, y: (X, y), {"sample_weight": [-1.0] * 40}, "row 0 has the weight -1.0"),
    "weights too few": (lambda X, y: (X, y), {"sample_weight": [1.0]}, "each of the 40 rows, but has 1"),
    "a column all missing": (
        lambda X, y: (_blank(X, y), y),
        {},
        "Class 'b' has no value in column 1: all its values are NaN",
    ),
}


def _put(X, value):
    X = X.copy()
    X[5, 2] = value
    return X


def _blank(X, y):
    X = X.copy()
    X[y == "b", 1] = np.nan
    return X


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize(
    "model", [GaussianClassifier(), GaussianClassifier("diagonal"), NearestMeanClassifier()], ids=str
)
def test_the_error_names_the_invalid_data(what, model, data):
    change, kwargs, message = BAD[what]
    X, y = change(*data)

    with pytest.raises(LikelyError) as error:
        model.fit(X, y, **kwargs)

    assert message in str(error.value)


def test_an_empty_block_adds_nothing_and_empty_data_are_refused(data):
    X, y = data

    with pytest.raises(ValueError, match="minimum of 1 is required"):
        GaussianClassifier().fit(X[:0], y[:0])


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_an_infinity_is_refused_when_scoring_with_its_place(bad, data):
    X, y = data
    model = GaussianClassifier().fit(X, y)

    with pytest.raises(InvalidDataError, match=r"infinity \(inf\) in row 5, column 2"):
        model.llr(_put(X, bad))


@pytest.mark.parametrize("feature", [PCA(), LDA(), Whiten()], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_projections_refuse_missing_values_with_their_place(feature, convert, data):
    X, y = data
    feature.fit(X, y)

    for method in (lambda Z: feature.fit(Z, y), feature.transform):
        with pytest.raises(likely.MissingValuesError, match="NaN in row 5, column 2"):
            method(convert(_put(X, np.nan)))


def test_partial_fit_of_a_full_covariance_refuses_missing_values(data):
    X, y = data

    with pytest.raises(likely.MissingValuesError, match="NaN in row 5"):
        GaussianClassifier().partial_fit(_put(X, np.nan), y)


def test_huge_finite_values_are_impossible_under_every_class_and_no_evidence(data):
    X, y = data
    model = GaussianClassifier().fit(X, y)

    assert_array_equal(model.llr(_put(X, 1e200))[5], 0)


def test_a_batch_too_small_for_an_estimate_raises_when_the_model_is_used(data):
    X, y = data
    model = GaussianClassifier().partial_fit(X[:1], y[:1])

    with pytest.raises(DegenerateDataError, match="only one class"):
        model.predict(X)
    model.partial_fit(X[1:], y[1:])

    assert_allclose(model.llr(X), GaussianClassifier().fit(X, y).llr(X))


def test_a_pipeline_without_enough_rows_raises_when_it_is_used(data):
    X, y = data
    chain = make_pipeline(PCA(2), GaussianClassifier()).partial_fit(X[:1], y[:1])

    with pytest.raises(DegenerateDataError, match="only one class"):
        chain.predict(X)

    assert chain.partial_fit(X[1:], y[1:]).score(X, y) > 0.5


def test_labels_outside_the_announced_classes_are_refused(data):
    X, y = data
    model = GaussianClassifier().partial_fit(X, y, classes=["b", "a"])

    with pytest.raises(InvalidDataError, match="label 'c' is not among the announced classes"):
        model.partial_fit(X[:2], ["a", "c"])
    with pytest.raises(DegenerateDataError, match="Class 'c' has no rows yet"):
        GaussianClassifier().partial_fit(X, y, classes=["a", "b", "c"]).predict(X)


def test_partial_fit_needs_steps_that_learn_from_moments(data):
    from sklearn.preprocessing import StandardScaler

    chain = make_pipeline(StandardScaler(), GaussianClassifier())

    with pytest.raises(
        likely.IncompatiblePartsError, match="StandardScaler does not learn from moments, so this pipeline"
    ):
        chain.partial_fit(*data)


def test_the_error_names_the_step_of_a_pipeline_that_takes_no_weights(data):
    from sklearn.preprocessing import QuantileTransformer

    chain = make_pipeline(QuantileTransformer(n_quantiles=5), GaussianClassifier())

    with pytest.raises(InvalidParameterError, match=r"step 'quantiletransformer' .* takes no sample_weight"):
        chain.fit(*data, sample_weight=np.ones(40))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GaussianClassifier("round"),
            "covariance of GaussianClassifier must be one of 'full', 'diagonal', 'spherical' or a Covariance",
        ),
        (
            lambda: GaussianClassifier(Full(shrinkage=2)),
            "shrinkage of Full must be a number from 0 to 1 or 'oas', but is 2",
        ),
        (
            lambda: GaussianClassifier(Full(shrinkage="ledoit-wolf")),
            "or 'oas', but is 'ledoit-wolf'. The strength of Ledoit and Wolf needs fourth moments",
        ),
        (
            lambda: GaussianClassifier(Full(towards="mean")),
            "towards of Full must be one of 'diagonal', 'pooled', 'identity', but is 'mean'",
        ),
        (
            lambda: GaussianClassifier(Full(shrinkage="oas")),
            "shrinkage='oas' of Full needs towards='identity', but towards is 'diagonal'. Set towards='identity'",
        ),
        (
            lambda: GaussianClassifier(Full(shrinkage=0.5, towards="pooled"), tied=True),
            "towards='pooled' of Full needs classes with separate covariances, but there is one covariance",
        ),
        (lambda: GaussianClassifier(Full(floor=-1)), "floor of Full must be a number from 0 to 1, but is -1"),
        (
            lambda: PCA(9),
            "3 (the number of features), or a share of the variance in the open interval (0, 1), but is 9",
        ),
        (lambda: PCA(1.5), "but is 1.5"),
        (
            lambda: LDA(2),
            "n_components of LDA must be an integer from 1 to 1, but is 2. LDA of 2 classes and 3 features",
        ),
        (lambda: Whiten(form="round"), "form of Whiten must be one of 'zca', 'pca', but is 'round'"),
        (lambda: Whiten(by="none"), "by of Whiten must be one of 'total', 'within', but is 'none'"),
    ],
)
def test_the_error_names_a_parameter_out_of_range_and_its_range(make, message, data):
    with pytest.raises(InvalidParameterError) as error:
        make().fit(*data)

    assert message in str(error.value)


def test_an_llr_of_three_classes_is_refused(data):
    X, _ = data
    model = GaussianClassifier().fit(X, np.arange(40) % 3)

    with pytest.raises(InvalidDataError, match="compares two classes, but the model has 3"):
        model.llr(X)
    with pytest.raises(InvalidDataError, match="llr_surface needs two classes, but the model has 3"):
        model.llr_surface()


def test_standardize_leaves_a_constant_column_unscaled():
    Z = Standardize().fit([[0.1, 1.0], [0.1, 3.0], [0.1, 5.0]])

    assert_allclose(Z.scale_, [1, np.sqrt(8 / 3)])
