"""Scores that are hard to calibrate, and regression tests of calibration and evaluation."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_softmax
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from likely import (
    AffineCalibrator,
    Application,
    CalibratedClassifier,
    DegenerateDataWarning,
    FusedClassifier,
    GaussianClassifier,
    InvalidDataError,
    InvalidParameterError,
    LogisticFusion,
    Trials,
    bayes_risk,
    calibration_loss,
    cllr,
    confidence_interval,
    cross_entropy,
    cross_entropy_after_affine,
    eer,
    estimate_priors,
    kfold_scores,
    min_dcf,
    min_dcf_threshold,
    paired_difference,
)


def best_affine(scores, y):
    """Return the minimum cross-entropy at equal priors over a scale and one offset per class, by another optimiser."""
    K, n = scores.shape[1], np.bincount(y)

    def objective(theta):
        logits = theta[0] * scores + np.append(0.0, theta[1:])
        return -np.sum(log_softmax(logits, axis=1)[np.arange(len(y)), y] / n[y]) / K

    starts = [np.append(scale, np.zeros(K - 1)) for scale in (0.05, 0.3, 1.0)]
    return min(minimize(objective, start, method="Nelder-Mead", options={"maxiter": 4000}).fun for start in starts)


@pytest.mark.parametrize("model", [GaussianClassifier(), GaussianClassifier(tied=True), GaussianNB()])
def test_an_easy_class_does_not_impair_the_calibration_of_the_others(model):
    X, y = load_iris(return_X_y=True)
    scores = kfold_scores(model, X, y)
    found = cross_entropy_after_affine(y, scores)

    assert found <= cross_entropy(y, scores)
    assert found <= best_affine(scores - scores.max(axis=1, keepdims=True), y) * (1 + 1e-6)


@pytest.mark.parametrize(("label", "value", "rows"), [(0, -1e9, 50), (1, 1e10, 1), (1, -1e3, 1), (0, 1e4, 3)])
def test_outliers_on_either_side_keep_a_stationary_solution(rng, label, value, rows):
    y = rng.integers(0, 2, 2000)
    x = rng.normal(size=2000) + 2 * y
    x[np.flatnonzero(y == label)[:rows]] = value
    fitted = AffineCalibrator().fit(x, y)
    residual = (expit(fitted.transform(x)) - y) / np.bincount(y)[y]

    assert_allclose([residual.sum(), residual @ x / np.abs(x).max()], 0, atol=1e-9)


@pytest.mark.parametrize("prior", [1e-12, 1e-8, 1e-4, 0.9, 1 - 1e-9])
def test_extreme_priors_give_a_stationary_solution(rng, prior):
    y = rng.integers(0, 2, 2000)
    x = rng.normal(size=2000) + 2 * y
    fitted = AffineCalibrator(training_prior=prior).fit(x, y)
    odds = np.log(prior) - np.log1p(-prior)
    residual = (expit(fitted.transform(x) + odds) - y) * np.where(y == 1, prior, 1 - prior) / np.bincount(y)[y]

    assert_allclose([residual.sum(), residual @ x], 0, atol=1e-6 * min(prior, 1 - prior))


def has_no_maximum(favours):
    """Return whether a direction favours the true class of some rows and harms none, by linear programming.

    Each row of ``favours`` holds the gain of the true class over another class per unit of each parameter.
    """
    most, bounds = len(favours), np.concatenate([np.zeros(len(favours)), np.ones(len(favours))])
    found = linprog(-favours.sum(axis=0), np.concatenate([-favours, favours]), bounds, bounds=(None, None))
    return -found.fun > 1e-7 * most


@pytest.mark.parametrize("seed", range(40))
def test_separation_warnings_agree_with_linear_programming(seed):
    rng = np.random.default_rng(seed)
    n, systems, prior = int(rng.integers(6, 60)), int(rng.integers(1, 4)), rng.choice([0.001, 0.1, 0.5, 0.9])
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    x = (rng.standard_cauchy if rng.random() < 0.4 else rng.standard_normal)(size=(n, systems))
    x = np.round(x + rng.choice([0.5, 1.5, 4]) * y[:, None], int(rng.choice([0, 9])))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticFusion(training_prior=prior).fit(x * 10.0 ** rng.integers(-5, 6), y)
    favours = (2 * y - 1)[:, None] * np.column_stack([x, np.ones(n)])

    assert [("without error" in str(warning.message)) for warning in caught] == [True] * has_no_maximum(favours)


@pytest.mark.parametrize("seed", range(20))
def test_separation_warnings_agree_with_linear_programming_for_three_classes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 60))
    y = np.append([0, 1, 2], rng.integers(0, 3, n - 3))
    x = rng.normal(size=(n, 3)) + rng.choice([1, 4, 12]) * np.eye(3)[y]
    x[y == 0, 0] += rng.choice([0, 30])  # one class is easy
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AffineCalibrator().fit(x, y)
    pairs = [(i, k) for i in range(n) for k in range(3) if k != y[i]]
    favours = np.array([np.append(x[i, y[i]] - x[i, k], np.eye(3)[y[i]] - np.eye(3)[k]) for i, k in pairs])

    assert [("without error" in str(warning.message)) for warning in caught] == [True] * has_no_maximum(favours)


def test_a_rare_indicator_of_targets_causes_a_separation_warning(rng):
    y = rng.integers(0, 2, 2000)
    x = rng.normal(size=2000) + 2 * y
    sign = (y == 1) & (rng.random(2000) < 0.2)

    with pytest.warns(DegenerateDataWarning, match="separate some rows of the classes without error"):
        fusion = LogisticFusion().fit(np.column_stack([x, sign]), y)
    assert 1.8 < fusion.weights_[0] < 2.2
    assert 3 < fusion.weights_[1] < 20


def test_fusion_does_not_depend_on_the_units_of_the_systems(rng):
    y = rng.integers(0, 2, 500)
    x = rng.normal(size=(500, 2)) + y[:, None]
    plain, units = LogisticFusion().fit(x, y), LogisticFusion().fit(x * [1e-20, 1e12] + [0, 1e13], y)

    assert_allclose(units.transform(x * [1e-20, 1e12] + [0, 1e13]), plain.transform(x), atol=1e-4)


def test_warnings_point_at_the_line_that_called():
    with pytest.warns(DegenerateDataWarning) as caught:
        LogisticFusion().fit([[1.0, 2.0], [2.0, 3.0], [3.0, 5.0]], [0, 0, 1])

    assert caught[0].filename == __file__


def test_priors_are_estimated_for_classes_that_overlap_almost_completely(rng):
    shift = 0.05
    is_target = rng.random(100_000) < 0.1
    llr = shift * rng.normal(size=100_000) + np.where(is_target, 1, -1) * shift**2 / 2
    found = estimate_priors(llr)[1]
    ratio = np.expm1(llr)
    gradient = np.mean(ratio / (1 + found * ratio))

    assert abs(gradient) < 1e-4 or found in (0.0, 1.0)


def test_posteriors_of_zero_are_floored_even_if_none_trained_the_calibrator(rng):
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 1)) + 0.6 * y[:, None]
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    inner = forest.predict_proba(X).min(axis=1) > 0
    calibrated = CalibratedClassifier(forest, cv="prefit").fit(X[inner], y[inner])

    assert np.isfinite(calibrated.llr(X)).all()


def test_rows_of_weight_zero_are_not_drawn(rng):
    y = np.repeat([0, 1], 30)
    x = rng.normal(size=60) + 1.5 * y
    weight = np.where((y == 0) | (np.arange(60) < 40), 1.0, 0.0)
    kept = weight > 0

    for metric, args in ((cllr, ()), (min_dcf, (0.5,)), (bayes_risk, (Application.binary(0.5),))):
        with_weights = confidence_interval(metric, y, x, *args, sample_weight=weight, n_resamples=50)
        assert_allclose(with_weights.high, confidence_interval(metric, y[kept], x[kept], *args, n_resamples=50).high)


def test_the_interval_of_a_constant_is_that_constant_with_a_warning(rng):
    with pytest.warns(DegenerateDataWarning, match="rarer mistakes"):
        found = confidence_interval(cross_entropy, rng.integers(0, 3, 60), np.zeros((60, 3)), n_resamples=20)

    assert_allclose([found.low, found.high], np.log(3))


def test_calibrated_llrs_rarely_show_a_calibration_loss(rng):
    y = np.repeat([0, 1], [400, 100])
    held = 0
    for seed in range(60):
        llr = 2 * rng.normal(size=500) + np.where(y == 1, 2, -2)
        held += confidence_interval(calibration_loss, y, llr, 0.5, n_resamples=100, seed=seed).low == 0

    assert held >= 52


def test_minimum_costs_stay_within_their_bounds(rng):
    y = np.repeat([0, 1], 40)
    llr = rng.normal(size=80)

    assert confidence_interval(min_dcf, y, llr, 0.5, n_resamples=100).high <= 1
    assert confidence_interval(eer, y, llr, n_resamples=100).high <= 0.5


@pytest.mark.parametrize("groups", [5, 300])
def test_a_difference_is_significant_exactly_if_its_interval_excludes_zero(rng, groups):
    y = np.repeat([0, 1], 150)
    for _ in range(8):
        llr = 2 * rng.normal(size=300) + np.where(y == 1, 2, -2)
        other = llr + rng.normal(size=300) * rng.choice([0.3, 1.0])
        found = paired_difference(cllr, y, llr, other, groups=np.arange(300) % groups, n_resamples=100)
        outside = not found.difference.low <= 0 <= found.difference.high
        assert (found.p_value < 0.05) == outside


def test_group_names_may_be_of_any_type_but_not_missing(rng):
    y, llr = np.repeat([0, 1], 30), rng.normal(size=60)

    for names in ([f"s{i}" for i in range(60)], np.arange(60) + 0.5):
        assert confidence_interval(cllr, y, llr, groups=names, n_resamples=20).low > 0
    with pytest.raises(InvalidDataError, match="groups must be a 1D array with one group for each row"):
        confidence_interval(cllr, y, llr, groups=[None] * 60, n_resamples=20)


def test_exhausted_fold_iterators_raise(rng):
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    model = CalibratedClassifier(GaussianNB(), cv=StratifiedKFold(3).split(X, y)).fit(X, y)

    with pytest.raises(InvalidDataError, match="There are no folds"):
        model.fit(X, y)


def test_sparse_rows_of_any_format_accept_weights(rng):
    X, y = rng.normal(size=(60, 2)) + np.repeat([0, 1], 30)[:, None], np.repeat([0, 1], 30)
    weight = np.ones(60)
    weight[:5] = 0

    assert CalibratedClassifier(LinearSVC()).fit(sp.coo_matrix(X), y, sample_weight=weight).score(X, y) > 0.6


def test_parameters_of_fused_classifiers_can_be_set_by_name(rng):
    X, y = rng.normal(size=(60, 2)) + np.repeat([0, 1], 30)[:, None], np.repeat([0, 1], 30)
    fused = FusedClassifier({"bayes": GaussianNB(), "linear": LogisticRegression()})
    fused.set_params(linear__C=0.5, bayes=GaussianClassifier())

    assert fused.get_params()["linear__C"] == 0.5
    assert isinstance(fused.fit(X, y).models_[0], GaussianClassifier)
    with pytest.raises(InvalidParameterError, match="must be a list of classifiers"):
        FusedClassifier(GaussianNB()).fit(X, y)
    with pytest.raises(InvalidParameterError, match="need unique names"):
        FusedClassifier([("a", GaussianNB()), ("a", LogisticRegression())]).fit(X, y)


def test_a_calibration_set_may_have_weights_and_excludes_prefit_models(rng):
    X, y = rng.normal(size=(90, 2)) + np.repeat([0, 1], 45)[:, None], np.repeat([0, 1], 45)
    train, held = np.arange(90) % 2 == 0, np.arange(90) % 2 == 1
    twice = np.flatnonzero(held).repeat(2)
    weighted = CalibratedClassifier(GaussianNB()).fit(
        X[train], y[train], calibration_set=(X[held], y[held], np.full(held.sum(), 2.0))
    )
    repeated = CalibratedClassifier(GaussianNB()).fit(X[train], y[train], calibration_set=(X[twice], y[twice]))

    assert_allclose(weighted.llr(X), repeated.llr(X))
    for wrong, cv in (((X, y, None, 3), 5), ((X, y), "prefit")):
        with pytest.raises(InvalidParameterError, match="calibration_set"):
            CalibratedClassifier(GaussianNB().fit(X, y), cv=cv).fit(X, y, calibration_set=wrong)


def test_with_a_reject_cost_there_is_no_single_threshold():
    with pytest.raises(InvalidParameterError, match="no single threshold"):
        min_dcf_threshold([0, 1], [0.0, 1.0], Application.binary(0.5, reject_cost=0.1))


def test_calibrated_models_have_no_density(rng):
    assert not hasattr(CalibratedClassifier(GaussianNB()), "log_density")


def test_log_likelihoods_are_log_posteriors_minus_log_priors(rng):
    app = Application([0.7, 0.2, 0.1])
    scores = rng.normal(size=(5, 3))
    evidence = app.log_likelihoods(app.posteriors(scores))

    assert_allclose(evidence - evidence[:, :1], scores - scores[:, :1])
    with pytest.raises(InvalidDataError, match="between 0 and 1"):
        app.log_likelihoods(scores)


def test_a_confusion_table_of_trials_counts_their_decisions():
    trials = Trials(["a", "a", "b", "b"], [-2.0, 0.1, 0.2, 5.0])

    assert trials.confusion(0.5).counts.tolist() == [[1, 1, 0], [0, 2, 0]]
    assert trials.confusion(Application.binary(0.5, reject_cost=0.3)).counts.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert repr(trials) == "<Trials: 2 targets ('b'), 2 nontargets ('a')>"
