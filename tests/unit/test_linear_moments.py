"""Linear models in closed form: errors and warnings for degenerate data and for intervals that do not exist."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import NotFittedError

import likely
from likely import (
    ArraySource,
    DegenerateDataError,
    DegenerateDataWarning,
    FisherClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    LeastSquaresClassifier,
    LinearRegression,
    MissingValuesError,
    NotEnoughDataError,
    SourceError,
)

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [4.0, 1.0], [5.0, 5.0]])
Y = np.array([0, 0, 0, 1, 1])
CLASSIFIERS = [LeastSquaresClassifier, FisherClassifier]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_one_class_raises(kind):
    with pytest.raises(DegenerateDataError, match=f"{kind.__name__} needs at least two classes, but .* one class: 7"):
        kind().fit(X, [7] * 5)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_an_announced_class_without_rows_raises_when_the_model_is_used(kind):
    model = kind().partial_fit(X, Y, classes=[0, 1, 2])

    with pytest.raises(NotEnoughDataError, match="Class 2 has no rows yet"):
        model.predict(X)
    model.partial_fit([[0.0, 9.0], [1.0, 9.5]], [2, 2])
    assert_array_equal(model.predict([[0.5, 9.0]]), [2])


@pytest.mark.parametrize("kind", [*CLASSIFIERS, LinearRegression])
@pytest.mark.parametrize(("value", "error"), [(np.nan, MissingValuesError), (np.inf, InvalidDataError)])
def test_rows_that_are_not_finite_raise_with_their_position(kind, value, error):
    bad = X.copy()
    bad[3, 1] = value
    fitted = kind().fit(X, Y)

    with pytest.raises(error, match="in row 3, column 1"):
        kind().fit(bad, Y)
    with pytest.raises(error, match="in row 3, column 1"):
        fitted.predict(bad)


@pytest.mark.parametrize("kind", [LeastSquaresClassifier, LinearRegression])
@pytest.mark.parametrize("value", [-1, np.inf, np.nan, "0.1", None, True])
def test_a_penalty_must_be_finite_and_nonnegative(kind, value):
    with pytest.raises(InvalidParameterError, match=f"regularization of {kind.__name__} must be a finite number >= 0"):
        kind(regularization=value).fit(X, Y)


def test_a_score_classifier_recommends_calibration():
    model = LeastSquaresClassifier().fit(X, Y)

    with pytest.raises(
        AttributeError, match=r"CalibratedClassifier\(LeastSquaresClassifier\(\)\), which converts the score"
    ):
        model.log_likelihood(X)


@pytest.mark.parametrize("attribute", ["coef_", "intercept_"])
def test_attributes_of_an_unfitted_model_raise_not_fitted(attribute):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(LeastSquaresClassifier(), attribute)


def test_an_unknown_attribute_raises_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'weights_'"):
        _ = LeastSquaresClassifier().weights_


def test_the_warning_of_a_duplicate_column_gives_the_rank_and_the_weight_is_shared():
    twice = np.column_stack([X, X[:, 0]])

    with pytest.warns(DegenerateDataWarning, match=r"5 rows for 3 features\. The covariance .* has rank 2\..*Drop"):
        model = LeastSquaresClassifier().fit(twice, Y)

    plain = LeastSquaresClassifier().fit(X, Y)
    assert_allclose(model.decision_function(twice), plain.decision_function(X))
    assert_allclose(model.coef_[:, 0], model.coef_[:, 2])


@pytest.mark.parametrize("value", [0.0, 1 / 3, 1e8 + 0.1])
def test_a_constant_column_is_named_and_gets_a_coefficient_of_zero(value):
    with pytest.warns(DegenerateDataWarning, match=r"rank 2 \(constant columns: 1\)"):
        model = LinearRegression().fit(np.insert(X, 1, value, axis=1), Y)

    assert model.coef_[1] == 0
    assert_allclose(model.coef_[[0, 2]], LinearRegression().fit(X, Y).coef_)


def test_only_constant_columns_give_the_mean():
    with pytest.warns(DegenerateDataWarning, match=r"has rank 0\."):
        model = LinearRegression().fit(np.ones((4, 2)), [1.0, 2.0, 3.0, 6.0])

    assert_array_equal(model.coef_, [0, 0])
    assert_allclose(model.predict([[7.0, 8.0]]), [3])


def test_a_penalty_determines_weights_that_the_rows_do_not():
    twice = np.column_stack([X, X[:, 0], np.ones(5)])

    model = LinearRegression(regularization=0.1).fit(twice, Y)

    assert_allclose(model.coef_[0], model.coef_[2])
    assert model.coef_[3] == 0


def test_nearly_dependent_columns_are_resolved(rng):
    x = rng.normal(size=500)
    near = np.column_stack([x, x + 1e-4 * rng.normal(size=500)])
    y = near @ [1.0, -3.0]

    assert_allclose(LinearRegression().fit(near, y).coef_, [1, -3], rtol=1e-5)


def test_fisher_with_floor_zero_raises_for_singular_classes():
    twice = np.column_stack([X, X[:, 0]])

    with pytest.raises(DegenerateDataError, match="rank 2"):
        FisherClassifier(floor=0).fit(twice, Y)
    with pytest.warns(DegenerateDataWarning, match="rank 2") as warned:
        model = FisherClassifier().fit(twice, Y)
    assert len(warned) == 1
    assert_allclose(model.llr(twice), FisherClassifier().fit(X, Y).llr(X), rtol=1e-6)


def test_fisher_has_no_log_density():
    model = FisherClassifier().fit(X, Y)
    beside = np.array([-model.directions_[0, 1], model.directions_[0, 0]])

    assert_allclose(model.log_likelihood(X), model.log_likelihood(X + 100 * beside), atol=1e-8)
    assert not hasattr(model, "log_density")


def test_fisher_has_as_many_directions_as_features_at_most(rng):
    codes = np.arange(60) % 5
    model = FisherClassifier().fit(rng.normal(size=(60, 2)) + 4 * rng.normal(size=(5, 2))[codes], codes)

    assert model.directions_.shape == (2, 2)
    assert model.means_.shape == (5, 2)


def test_fisher_works_with_data_frame_output():
    pytest.importorskip("pandas")
    model = FisherClassifier().fit(X, Y)

    with config_context(transform_output="pandas"):
        assert_array_equal(FisherClassifier().fit(X, Y).llr(X), model.llr(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1, 2, 3, 4, np.nan], "Input y contains NaN in row 4. Drop rows"),
        ([1, 2, np.inf, 4, 5], r"Input y contains infinity \(inf\) in row 2"),
        ([[1, 2], [3, 4], [5, np.nan], [1, 1], [2, 2]], "contains NaN in row 2, column 1"),
        (["1", "2", "3", "4", "5"], "y of .* must hold numbers, but has type <U1"),
        (np.array([1, 2, "3", 4, 5], dtype=object), r"y of .* must hold numbers, but holds '3' \(str\)"),
        (np.array([1, 2, None, 4, 5], dtype=object), "contains NaN in row 2"),
        (np.array([1, 2, object, 4, 5], dtype=object), "y of .* must hold numbers, but holds <class 'object'>"),
        ([1j, 2, 3, 4, 5], "y of .* must hold numbers, but has type complex128"),
        ([1, 2, 3, 4], "inconsistent numbers of samples"),
        (np.ones((5, 1, 1)), r"y of .* must have shape \(n,\), or .* but has shape \(5, 1, 1\)"),
        (np.ones((5, 0)), r"but has shape \(5, 0\)"),
        ([1, 2, 3, 4, 1e200], r"Values of y reach 1e\+200, too large to be squared"),
    ],
)
def test_targets_that_are_not_numbers_raise(y, message):
    with pytest.raises(ValueError, match=message):
        LinearRegression().fit(X, y)


def test_the_position_of_an_invalid_target_counts_rows_of_weight_zero():
    with pytest.raises(InvalidDataError, match="in row 4"):
        LinearRegression().fit(X, [1, 2, 3, 4, np.nan], sample_weight=[1, 0, 1, 1, 1])


def test_a_target_of_one_column_keeps_its_column():
    model = LinearRegression().fit(X, Y[:, None])
    plain = LinearRegression().fit(X, Y)

    assert (model.coef_.shape, model.intercept_.shape, model.predict(X).shape) == ((1, 2), (1,), (5, 1))
    assert model.coef_covariance().shape == (1, 2, 2)
    assert model.predict_interval(X).shape == (5, 1, 2)
    assert (plain.coef_.shape, plain.predict(X).shape, plain.predict_interval(X).shape) == ((2,), (5,), (5, 2))
    assert isinstance(plain.intercept_, float)
    assert plain.coef_covariance().shape == (2, 2)


def test_a_source_without_targets_raises():
    with pytest.raises(SourceError, match="the source has none"):
        LinearRegression().fit_source(ArraySource(X))


def test_a_source_with_one_target_equals_a_y_without_columns():
    model = LinearRegression().fit(X, Y[:, None]).fit_source(ArraySource(X, targets=Y[:, None].astype(float)))

    assert model.coef_.shape == (2,)
    assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_)


def test_batches_must_have_the_same_targets():
    model = LinearRegression().fit(X, Y)
    before = model.coef_

    with pytest.raises(IncompatiblePartsError, match="Moments with 1 targets cannot be added to 2 targets"):
        model.partial_fit(X, np.column_stack([Y, Y]))
    assert_array_equal(model.coef_, before)
    with pytest.raises(IncompatiblePartsError, match="cannot be added to float"):
        _ = model.statistics_ + 1.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.coef_covariance(),
        lambda model: model.coef_standard_errors(),
        lambda model: model.coef_intervals(),
        lambda model: model.predict_interval(X),
        lambda model: model.intercept_interval(),
    ],
)
def test_a_penalised_regression_has_no_intervals(ask):
    with pytest.raises(InvalidParameterError, match=r"A penalty biases the coefficients .* Fit with regularization=0"):
        ask(LinearRegression(regularization=0.1).fit(X, Y))


def test_undetermined_coefficients_have_no_intervals_but_residuals_have_a_variance():
    with pytest.warns(DegenerateDataWarning, match="rank 2"):
        model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), Y)

    with pytest.raises(DegenerateDataError, match="The rows determine only 2 of 3 coefficients"):
        model.coef_intervals()
    plain = LinearRegression().fit(X, Y)
    assert_allclose(model.unbiased_residual_variance_, plain.unbiased_residual_variance_)
    assert model.degrees_of_freedom_ == 2


def test_as_many_coefficients_as_rows_leave_no_degrees_of_freedom():
    model = LinearRegression().fit(X[:3], [1.0, 2.0, 4.0])

    assert_allclose(model.predict(X[:3]), [1, 2, 4])
    with pytest.raises(DegenerateDataError, match="A total weight of 3 leaves no degrees of freedom after 2 coeff"):
        model.predict_interval(X)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, "0.9"])
def test_a_confidence_must_be_between_zero_and_one(confidence):
    with pytest.raises(InvalidParameterError, match=r"confidence must be a number in the open interval \(0, 1\)"):
        LinearRegression().fit(X, Y).coef_intervals(confidence)


def test_of_must_be_mean_or_observation():
    with pytest.raises(InvalidParameterError, match="of must be one of 'mean', 'observation', but is 'rows'"):
        LinearRegression().fit(X, Y).predict_interval(X, of="rows")


def test_a_perfect_fit_has_negligible_residuals():
    model = LinearRegression().fit(X, X @ [3.0, -2.0] + 1)

    assert 0 <= model.residual_variance_ < 1e-13
    assert_allclose(model.coef_, [3, -2])
    assert_allclose(model.coef_intervals(), [[3, 3], [-2, -2]], atol=1e-5)


def test_a_regression_can_end_a_pipeline():
    chain = likely.make_pipeline(likely.Standardize(), LinearRegression()).fit(X, Y)

    assert_allclose(chain.predict(X), LinearRegression().fit(X, Y).predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_targets_may_be_columns_of_a_data_frame(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})

    model = LinearRegression().fit(frame[["a", "b"]], frame["y"])

    assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_)
    assert_array_equal(model.feature_names_in_, ["a", "b"])


def test_a_penalised_regression_has_no_unbiased_variance():
    assert not hasattr(LinearRegression(regularization=0.1).fit(X, Y), "unbiased_residual_variance_")


def test_the_interval_of_the_intercept_equals_that_of_the_prediction_at_the_origin():
    model = LinearRegression().fit(X, Y)

    at_origin = model.predict_interval(np.zeros((1, X.shape[1])), confidence=0.9)

    assert_allclose(model.intercept_interval(confidence=0.9), at_origin[0])
