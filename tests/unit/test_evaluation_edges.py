"""Evaluation of tiny, huge, read-only and differently typed inputs, compared with calculations by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import expit

from likely import (
    AffineCalibrator,
    Application,
    InvalidDataError,
    InvalidParameterError,
    IsotonicCalibrator,
    LogisticFusion,
    Trials,
    actual_dcf,
    bayes_error_curve,
    bayes_risk,
    cllr,
    confidence_interval,
    confusion,
    cost_curve,
    cross_entropy,
    cross_entropy_curve,
    det_curve,
    eer,
    estimate_priors,
    min_cllr,
    min_dcf_threshold,
    paired_difference,
    reliability_curve,
    roc_auc,
    roc_curve,
    roc_hull,
    tippett_curve,
)

LLR = [-3.0, -1.0, 1.0, -0.5, 2.0, 4.0]
TRUTHS = {
    "integers": [0, 0, 0, 1, 1, 1],
    "negative integers": np.array([-1, -1, -1, 1, 1, 1]),
    "small integers": np.array([-128, -128, -128, 127, 127, 127], np.int8),
    "unsigned integers": np.array([3, 3, 3, 250, 250, 250], np.uint8),
    "wide integers": np.array([-(2**62)] * 3 + [2**62] * 3),
    "booleans": [False, False, False, True, True, True],
    "floats": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    "text": list("aaabbb"),
    "objects": np.array(list("aaabbb"), object),
    "bytes": np.array([b"a"] * 3 + [b"b"] * 3),
    "series": pd.Series(list("aaabbb"), index=range(6, 0, -1)),
    "categories": pd.Series(list("aaabbb"), dtype="category"),
    "nullable integers": pd.Series([0, 0, 0, 1, 1, 1], dtype="Int64"),
    "text of pandas": pd.Series(list("aaabbb"), dtype="string"),
}


@pytest.mark.parametrize("kind", TRUTHS)
def test_results_do_not_depend_on_the_type_of_labels(kind):
    y = TRUTHS[kind]
    found = Trials(y, LLR)

    assert_allclose(
        [found.roc_auc(), found.eer(), found.cllr(), found.min_cllr()], [8 / 9, 1 / 6, 0.671879, 1 / 3], atol=1e-6
    )
    assert_array_equal(found.classes, np.unique(np.asarray(y)))
    assert_allclose(bayes_risk(y, LLR, Application([0.5, 0.5])), 2 / 3)
    assert_allclose(AffineCalibrator().fit(LLR, y).scale_, AffineCalibrator().fit(LLR, [0, 0, 0, 1, 1, 1]).scale_)
    first = np.asarray(y)[0]
    assert_allclose(roc_auc(y, LLR, pos_label=first.item() if hasattr(first, "item") else first), 1 / 9)


@pytest.mark.parametrize(
    "scores",
    [
        LLR,
        tuple(LLR),
        np.array(LLR, np.float32),
        np.array(LLR, np.float16),
        np.array(LLR, object),
        pd.Series(LLR, index=range(6, 0, -1)),
        pd.Series(LLR, dtype="Float64"),
        pd.DataFrame({"llr": LLR}),
        np.array(LLR)[:, None],
        np.column_stack([np.ones(6), np.array(LLR) + 1]),
        np.repeat(LLR, 2)[::2],
        np.asfortranarray(np.column_stack([LLR, LLR]))[:, 1],
        np.array(LLR, ">f8"),
    ],
)
def test_results_do_not_depend_on_the_type_of_scores(scores):
    y = [0, 0, 0, 1, 1, 1]

    assert_allclose([roc_auc(y, scores), cllr(y, scores), eer(y, scores)], [8 / 9, 0.671879, 1 / 6], atol=1e-6)
    assert_allclose(bayes_risk(y, scores, Application([0.5, 0.5])), 2 / 3)
    assert_allclose(IsotonicCalibrator(bounded=True).fit_transform(scores, y).shape, np.shape(scores))


def test_inputs_are_not_changed_and_may_be_read_only():
    y, llr, weight = np.array([0, 0, 0, 1, 1, 1]), np.array(LLR), np.arange(1.0, 7)
    pairs = np.column_stack([np.zeros(6), llr])
    arrays = [y, llr, weight, pairs]
    copies = [array.copy() for array in arrays]
    for writeable in (True, False):
        for array in arrays:
            array.flags.writeable = writeable
        for number in (
            roc_auc,
            eer,
            cllr,
            min_cllr,
            roc_curve,
            roc_hull,
            det_curve,
            tippett_curve,
            reliability_curve,
            bayes_error_curve,
            cost_curve,
        ):
            number(y, llr, sample_weight=weight)
            number(y, llr)
            number(y, pairs, pos_label=0)
        cross_entropy_curve(y, llr, [0.0])
        confidence_interval(cllr, y, llr, n_resamples=10)
        paired_difference(cllr, y, llr, llr, n_resamples=10)
        for calibrator in (AffineCalibrator(), IsotonicCalibrator(bounded=True)):
            calibrator.fit(llr, y, weight).transform(llr)
            calibrator.fit(pairs, y).transform(pairs)
        LogisticFusion().fit(np.stack([pairs, pairs], 1), y)
        estimate_priors(llr)
        cross_entropy(y, pairs, sample_weight=weight)
        confusion(y, y, sample_weight=weight)
        for array, copy in zip(arrays, copies, strict=True):
            assert_array_equal(array, copy)
            assert array.flags.writeable == writeable


@pytest.mark.parametrize(
    ("llr", "expected"),
    [([-2.0, 3.0], (1, 0, 0)), ([3.0, -2.0], (0, 0.5, 1)), ([1.0, 1.0], (0.5, 0.5, 1)), ([-np.inf, np.inf], (1, 0, 0))],
)
def test_one_target_and_one_nontarget_are_enough(llr, expected):
    found = Trials(["n", "t"], llr)

    assert_allclose([found.roc_auc(), found.eer(), found.min_cllr()], expected, atol=1e-15)
    assert_allclose(found.min_dcf([0.1, 0.5, 0.9]), expected[2])
    assert_allclose(found.eer("interpolated"), 1 - expected[0])
    assert np.isfinite(IsotonicCalibrator(bounded=True).fit_transform(llr, [0, 1])).all()


def test_cllr_of_two_trials_equals_a_calculation_by_hand():
    expected = 0.5 * (math.log2(1 + math.exp(-3)) + math.log2(1 + math.exp(-2)))

    assert_allclose(cllr(["n", "t"], [-2.0, 3.0]), expected)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_largest_finite_llrs_have_a_finite_mean_cost(copies):
    y, llr = np.repeat([0, 1], copies), np.repeat([1e308, -1e308], copies)

    assert_allclose(cllr(y, llr), 1e308 / math.log(2))
    assert_allclose(cross_entropy(y, llr), 1e308)
    assert_array_equal(actual_dcf(y, llr, [0.1, 0.5]), [10, 2])
    assert_allclose([roc_auc(y, llr), eer(y, llr), min_cllr(y, llr)], [0, 0.5, 1])


def test_denormal_scores_rank_and_cost_one_bit():
    y, llr = [0, 1, 0, 1], np.array([0.0, 5e-324, 1e-323, 1.5e-323])

    assert_allclose([roc_auc(y, llr), cllr(y, llr)], [0.75, 1])
    assert min_dcf_threshold(y, llr, 0.5) in (5e-324, 1.5e-323)
    assert_allclose(
        IsotonicCalibrator(bounded=True).fit(llr, y).transform(llr), [-math.log(2), 0, 0, math.log(2)], atol=1e-12
    )


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e200, 1e307])
def test_calibration_takes_scores_of_any_size(factor):
    scores, y = np.array([1.0, 2.0, 3.0, 4.0]), [0, 1, 0, 1]
    # Symmetric about 2.5, so llr = scale (score − 2.5), and at the best scale Σ (posterior − y)(score − 2.5) = 0.
    centred = scores - 2.5
    scale = brentq(lambda a: (expit(a * centred) - y) @ centred, 0, 10, xtol=1e-14)
    expected = scale * centred

    assert_allclose(AffineCalibrator().fit_transform(scores, y), expected, rtol=1e-6)
    assert_allclose(AffineCalibrator().fit_transform(factor * scores, y), expected, rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
def test_scaling_all_weights_changes_nothing(factor):
    y, weight = [0, 0, 0, 1, 1, 1], np.array([1.0, 2, 3, 1, 2, 1])
    plain, scaled = Trials(y, LLR, sample_weight=weight), Trials(y, LLR, sample_weight=factor * weight)

    for number in (Trials.cllr, Trials.roc_auc, Trials.min_cllr, Trials.eer, lambda t: t.min_dcf(0.3)):
        assert_allclose(number(scaled), number(plain), rtol=1e-9)


@pytest.mark.parametrize("odds", [-800.0, 800.0])
def test_curves_over_priors_hold_no_nan_at_extreme_odds(odds):
    # At log-odds beyond all llrs everything or nothing is accepted, and the normalised cost is 1. The best threshold
    # for frequent targets still rejects the nontarget below all targets.
    y, llr = [0, 1, 0, 1], [-1.0, 1.0, 2.0, 0.5]

    curve = bayes_error_curve(y, llr, [odds])
    assert_allclose([curve.actual[0], curve.minimum[0]], [1, 0.5 if odds > 0 else 1])
    bits = cross_entropy_curve(y, llr, [odds])
    assert_allclose([bits.actual[0], bits.minimum[0], bits.neutral[0]], 0, atol=1e-300)


def test_priors_outside_their_range_are_refused_by_curves():
    y, llr = [0, 1], [-1.0, 1.0]

    with pytest.raises((InvalidDataError, InvalidParameterError)):
        cost_curve(y, llr, [-0.1, 1.2])
    for odds in (np.nan, np.inf, -np.inf):
        for curve in (bayes_error_curve, cross_entropy_curve):
            with pytest.raises(InvalidParameterError, match="prior_log_odds must be a 1D array of numbers, finite"):
                curve(y, llr, [odds])


def test_a_single_prior_makes_a_curve_of_one_point():
    y, llr = [0, 1], [-1.0, 1.0]

    for curve in (bayes_error_curve(y, llr, 0.3), cross_entropy_curve(y, llr, 0.3), cost_curve(y, llr, 0.3)):
        assert [column.shape for column in curve.columns().values()] == [(1,)] * len(curve.columns())


def test_an_invalid_application_is_refused():
    for strange in (None, "a", np.array([[0.1, 0.5]])):
        with pytest.raises((InvalidDataError, InvalidParameterError)):
            actual_dcf([0, 1], [-1.0, 1.0], strange)


def test_the_error_names_the_array_with_an_unknown_label():
    with pytest.raises(InvalidDataError, match="y_decided holds the label 2"):
        confusion([0, 1], [0, 2], labels=[0, 1])


def test_empty_decisions_are_refused():
    with pytest.raises(InvalidDataError):
        confusion([], [])


def test_rejections_of_a_data_frame_are_counted():
    table = confusion(pd.Series(["a", "b", "b"]), pd.Series(["a", None, "b"], dtype=object))

    assert_array_equal(table.counts, [[1, 0, 0], [0, 1, 1]])


def test_classes_of_prior_zero_need_not_occur():
    app = Application([0.5, 0.5, 0.0])
    scores = np.array([[2.0, 1, 9], [0, 1, 9], [1, 2, 9]])

    assert_allclose(bayes_risk(["a", "a", "b"], scores, app, normalize=False, labels=["a", "b", "c"]), 0.25)
    nats = cross_entropy(["a", "a", "b"], scores, app.priors, labels=["a", "b", "c"])
    softplus = [math.log1p(math.exp(-1)), math.log1p(math.exp(1)), math.log1p(math.exp(-1))]
    assert_allclose(nats, 0.5 * (softplus[0] + softplus[1]) / 2 + 0.5 * softplus[2])


def test_intervals_contain_their_estimate_and_depend_only_on_the_seed():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    llr = 2 * rng.normal(size=200) + np.where(y == 1, 2, -2)

    first, again, other = (confidence_interval(cllr, y, llr, n_resamples=50, seed=seed) for seed in (1, 1, 2))

    assert (first.low, first.high) == (again.low, again.high) != (other.low, other.high)
    assert first.low < first.estimate < first.high
    assert_allclose(first.estimate, cllr(y, llr))
    same = paired_difference(cllr, y, llr, llr, n_resamples=20)
    assert (same.difference.estimate, same.difference.low, same.difference.high, same.p_value) == (0, 0, 0, 1)


def test_the_interval_of_an_infinite_cost_has_no_nan():
    y, llr = [0, 0, 0, 1, 1, 1], [-1.0, -2.0, np.inf, 1.0, 2.0, 3.0]

    found = confidence_interval(cllr, y, llr, n_resamples=20)

    assert found.estimate == np.inf
    assert found.high == np.inf
    assert not np.isnan(found.low)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("y", [[1, 1, 1, 1, 0, 1, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0, 0, 0, 1]])
def test_scores_outside_the_training_range_have_the_llr_of_the_nearest_score(bounded, y):
    scores = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0]
    found = IsotonicCalibrator(bounded=bounded).fit(scores, y)

    low, lowest, beyond = found.transform([1.0, 1 - 1e-9, -50.0])
    assert_allclose([lowest, beyond], low)
    high, highest, above = found.transform([4.0, 4 + 1e-9, 50.0])
    assert_allclose([highest, above], high)
