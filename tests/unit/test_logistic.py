"""Logistic regression: errors, warnings and options."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit

from likely import (
    ArraySource,
    DegenerateDataError,
    ElasticNet,
    GradientDescent,
    InvalidDataError,
    InvalidParameterError,
    LogisticRegression,
    MissingValuesError,
    NotConvergedWarning,
    SourceError,
    kfold_scores,
)

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.5], [1.0, 3.0], [2.0, 2.0]])
Y = np.array([0, 1, 0, 1, 0, 1])
THREE = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture
def many(rng):
    rows = rng.normal(size=(200_000, 6))
    return rows, (rng.random(200_000) < expit(rows[:, 0])).astype(int)


@pytest.mark.parametrize("value", [-1.0, -1e-300, np.nan, np.inf, "strong", None, [1.0]])
def test_regularization_must_be_a_number_that_is_not_negative(value):
    with pytest.raises(
        InvalidParameterError, match=r"regularization of LogisticRegression must be a finite number >= 0, but is"
    ):
        LogisticRegression(value).fit(X, Y)
    with pytest.raises(
        InvalidParameterError, match=r"regularization of LogisticRegression must be a finite number >= 0, but is"
    ):
        LogisticRegression().path(X, Y, [0.1, value])


@pytest.mark.parametrize("value", ["L2", "ridge", 1.0, ElasticNet])
def test_the_error_for_an_unknown_penalty_lists_the_penalties(value):
    with pytest.raises(
        InvalidParameterError,
        match="must be one of 'l2', 'l1', 'none', None or an ElasticNet, but is",
    ):
        LogisticRegression(penalty=value).fit(X, Y)


def test_no_penalty_cannot_be_combined_with_a_strength():
    with pytest.raises(InvalidParameterError, match=r"penalty='none' cannot be combined with regularization=0.1"):
        LogisticRegression(0.1, penalty="none").fit(X, Y)
    free, zero = LogisticRegression(0.0, penalty="none").fit(X, Y), LogisticRegression(0.0).fit(X, Y)
    assert_allclose(free.coef_, zero.coef_)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan, "half"])
def test_the_share_of_an_elastic_net_lies_between_0_and_1(share):
    with pytest.raises(InvalidParameterError, match=r"l1_share of ElasticNet must be a number from 0 to 1"):
        ElasticNet(share)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_of_an_elastic_net_are_the_two_penalties(share):
    net = LogisticRegression(0.05, penalty=ElasticNet(share)).fit(X, Y)

    assert_allclose(net.coef_, LogisticRegression(0.05, penalty="l1" if share else "l2").fit(X, Y).coef_)


@pytest.mark.parametrize("value", ["sgd", "lbfgs", None, 3, GradientDescent, ["newton"]])
def test_the_error_for_an_unknown_solver_lists_the_solvers(value):
    with pytest.raises(
        InvalidParameterError,
        match="must be one of 'auto', 'newton', 'l-bfgs', 'newton-cg'",
    ):
        LogisticRegression(solver=value).fit(X, Y)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "gradient-descent", "mini-batch", "online"])
@pytest.mark.parametrize("penalty", ["l1", ElasticNet(0.01)], ids=str)
def test_solvers_of_smooth_objectives_refuse_the_l1_penalty(solver, penalty):
    with pytest.raises(InvalidParameterError, match=r"L1 penalty is not differentiable at 0.*Use solver='auto'"):
        LogisticRegression(0.1, penalty=penalty, solver=solver).fit(X, Y)
    with pytest.raises(InvalidParameterError, match=r"L1 penalty is not differentiable at 0"):
        LogisticRegression(penalty=penalty, solver=solver).path(X, Y, [0.1])


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": 1.5}, {"batch": "all"}, {"batch": True}])
def test_a_batch_is_a_number_of_rows(options):
    with pytest.raises(InvalidParameterError, match=r"batch of GradientDescent must be a whole number >= 1 or None"):
        GradientDescent(**options)


@pytest.mark.parametrize("rate", [0, -1.0, np.nan, np.inf, "fast"])
def test_a_learning_rate_is_a_number_above_0(rate):
    with pytest.raises(InvalidParameterError, match="learning_rate of GradientDescent must be a finite number > 0"):
        GradientDescent(learning_rate=rate)


@pytest.mark.parametrize("value", [0, 1, -1e-3, np.nan, "tight", None])
def test_a_tolerance_lies_between_0_and_1(value):
    with pytest.raises(InvalidParameterError, match="tol of LogisticRegression must be a number in the open"):
        LogisticRegression(tol=value).fit(X, Y)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "all", None])
def test_max_iter_is_a_whole_number_from_1_on(value):
    with pytest.raises(InvalidParameterError, match=r"max_iter of LogisticRegression must be a whole number from 1"):
        LogisticRegression(max_iter=value).fit(X, Y)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.1, 1.1, np.nan])
def test_a_prior_lies_between_0_and_1(value):
    with pytest.raises(InvalidParameterError, match=r"prior of LogisticRegression must be in the open interval"):
        LogisticRegression(training_prior=value).fit(X, Y)


def test_a_single_prior_is_for_two_classes():
    with pytest.raises(InvalidParameterError, match=r"A single prior needs two classes, but there are 3"):
        LogisticRegression(0.1, training_prior=0.5).fit(X, THREE)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ([0.5, 0.5], "3"),
        ([0.5, 0.5, 0.0], "needs a prior > 0 for every class"),
        ([0.5, 0.6, -0.1], "prior"),
        ([0.5, 0.4, 0.4], "sum|1"),
        ({0: 0.5, 1: 0.25, 7: 0.25}, "7"),
        ({0: 0.5, 1: 0.5}, "2"),
        ("even", "must be a number, numbers in class order, a mapping"),
    ],
)
def test_priors_are_one_for_each_class(prior, expected):
    with pytest.raises(ValueError, match=expected):
        LogisticRegression(0.1, training_prior=prior).fit(X, THREE)


def test_one_class_is_not_enough():
    with pytest.raises(DegenerateDataError, match=r"needs at least two classes, but y has only one class: 'a'"):
        LogisticRegression().fit(X, ["a"] * 6)
    with pytest.raises(DegenerateDataError, match=r"only one class: 1"):
        LogisticRegression().fit(X, Y, sample_weight=Y.astype(float))


def test_a_class_without_rows_in_a_source_is_named():
    source = ArraySource(X, Y, classes=np.array(["a", "b", "c"]))

    with pytest.raises(DegenerateDataError, match=r"Class 'c' has no rows to learn from"):
        LogisticRegression(0.1).fit_source(source)


def test_a_source_must_have_classes():
    with pytest.raises(SourceError, match=r"learns from classes, but the source has none"):
        LogisticRegression().fit_source(ArraySource(X))


def test_a_class_without_rows_in_the_training_part_of_a_fold_is_named():
    folds = [(np.arange(4), np.array([4, 5])), (np.array([2, 3, 4, 5]), np.arange(2)), (np.r_[0, 1, 4, 5], [2, 3])]
    labels = np.array([0, 1, 0, 1, 2, 2])

    with pytest.raises(DegenerateDataError, match=r"[Cc]lass 2"):
        kfold_scores(LogisticRegression(0.1), X, labels, folds)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ([0, 0, 0, 0, 0, 0], "at least one non-zero"),
        ([1, 1, -1, 1, 1, 1], r"row 2 has the weight -1\.0"),
        ([1, 1, 1, np.nan, 1, 1], "row 3 has the weight nan"),
        ([1, np.inf, 1, 1, 1, 1], "row 1 has the weight inf"),
        ([1, 1], "one value for each of the 6 rows, but has 2"),
    ],
)
def test_weights_are_frequencies(weight, expected):
    with pytest.raises(InvalidDataError, match=expected):
        LogisticRegression().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg", "gradient-descent", "online"])
@pytest.mark.parametrize(("value", "expected"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_non_finite_values_are_named_by_row_and_column(value, expected, solver, convert):
    bad = X.copy()
    bad[3, 1] = value

    with pytest.raises(InvalidDataError, match=rf"X contains {expected}.* in row 3, column 1"):
        LogisticRegression(0.1, solver=solver).fit(convert(bad), Y)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 1, 123_457, 199_999])
def test_non_finite_values_are_named_among_many_rows(row, value, convert, many):
    rows, y = many
    rows[row, 4] = value

    with pytest.raises(InvalidDataError, match=rf"in row {row}, column 4"):
        LogisticRegression(0.1).fit(convert(rows), y)


def test_non_finite_values_are_named_by_rows_counted_with_those_of_weight_0():
    bad, weight = X.copy(), np.array([1.0, 0, 1, 1, 1, 1])
    bad[1], bad[4, 0] = np.nan, np.nan

    with pytest.raises(MissingValuesError, match=r"row 4, column 0"):
        LogisticRegression(0.1).fit(bad, Y, sample_weight=weight)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_values_are_refused_when_scoring(bad):
    fitted = LogisticRegression(0.1).fit(X, Y)
    rows = X.copy()
    rows[2, 0] = bad

    with pytest.raises(InvalidDataError, match=r"row 2, column 0"):
        fitted.llr(rows)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factor", [1e200, 1e307])
def test_columns_too_large_to_square_are_named(factor, n_classes):
    with pytest.raises(InvalidDataError, match=r"column 1 reach .*too large.*Rescale that column"):
        LogisticRegression(0.1).fit(X * [1, factor], Y if n_classes == 2 else THREE)


@pytest.mark.parametrize("factor", [1e100, 1e-100, 1e-200])
def test_columns_of_extreme_units_that_can_be_squared_or_not_never_give_nan(factor):
    try:
        fitted = LogisticRegression().fit(X * [1, factor], Y)
    except InvalidDataError:
        assert factor < 1e-150
        return
    assert np.isfinite(fitted.llr(X * [1, factor])).all()
    assert np.isfinite(fitted.coef_).all()
    if factor > 1e-150:
        assert_allclose(fitted.llr(X * [1, factor]), LogisticRegression().fit(X, Y).llr(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg", "gradient-descent", "mini-batch"])
def test_a_solver_stopped_by_max_iter_warns_with_its_gap(solver):
    with pytest.warns(NotConvergedWarning, match=r"stopped after 1 step with the objective at 0\.\d+.*Raise max_iter"):
        fitted = LogisticRegression(1e-3, solver=solver, max_iter=1, tol=1e-12).fit(X, Y)

    assert (fitted.n_iter_, fitted.converged_, len(fitted.loss_history_)) == (1, False, 2)
    assert fitted.gap_ > 0
    assert fitted.loss_history_[1] < fitted.loss_history_[0]


def test_the_reported_gap_is_about_the_distance_to_the_minimum(rng):
    rows = rng.normal(size=(500, 4))
    y = (rng.random(500) < expit(rows @ [1.0, -1, 0.5, 0])).astype(int)
    best = LogisticRegression(1e-2).fit(rows, y).objective_

    with pytest.warns(NotConvergedWarning, match=r"above its minimum by a relative gap of about"):
        stopped = LogisticRegression(1e-2, solver="newton", max_iter=2, tol=1e-14).fit(rows, y)

    assert_allclose(stopped.gap_, stopped.objective_ - best, rtol=0.5, atol=1e-12)


def test_a_warning_points_at_the_line_that_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression(1e-3, max_iter=1, tol=1e-12).fit(X, Y)

    assert [warning.filename for warning in caught] == [__file__]


def test_a_rate_that_is_too_high_does_not_end_in_nan():
    with pytest.warns(NotConvergedWarning, match="stopped"):
        fitted = LogisticRegression(solver=GradientDescent(learning_rate=1e6), max_iter=20).fit(X, Y)

    assert np.isfinite(fitted.coef_).all()


def test_an_unfitted_model_raises_an_error():
    for method in ("llr", "predict", "predict_proba", "log_likelihood", "decision_function"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(LogisticRegression(), method)(X)


def test_an_llr_is_for_two_classes():
    with pytest.raises(InvalidDataError, match=r"compares two classes, but the model has 3"):
        LogisticRegression(0.1).fit(X, THREE).llr(X)


def test_the_path_of_no_strengths_is_empty_and_checks_are_made_before_fitting():
    assert LogisticRegression().path(X, Y, []) == []
    with pytest.raises(InvalidParameterError, match="max_iter"):
        LogisticRegression(max_iter=0).path(X, Y, [0.1])
