"""Defects 1–17, 21, 22 and 26–29 of other tools of the field; this library must give the correct result."""

import itertools
import math
import resource

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

from likely import (
    SVM,
    AffineCalibrator,
    Application,
    DegenerateDataWarning,
    DualSolver,
    GaussianClassifier,
    GaussianMixture,
    InvalidDataError,
    LogisticRegression,
    NotConvergedWarning,
    Trials,
    actual_dcf,
    bayes_error_curve,
    bayes_risk,
    cllr,
    confusion,
    cost_curve,
    cross_entropy,
    cross_entropy_curve,
    det_curve,
    eer,
    min_cllr,
    min_dcf,
    reliability_curve,
    roc_auc,
    roc_curve,
    roc_hull,
    tippett_curve,
)
from likely.datasets import load_tumours

ORDERS = [np.array(order) for order in itertools.permutations([0, 0, 1, 1])]


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
def test_defect_1_tied_scores_have_a_normalised_minimum_of_1_in_every_order_of_rows(prior):
    assert {min_dcf(y, np.full(4, 2.5), prior) for y in ORDERS} == {1.0}


def test_defect_2_tied_scores_have_an_equal_error_rate_of_a_half():
    for method in ("rocch", "step", "interpolated"):
        assert {eer(y, np.zeros(4), method) for y in ORDERS} == {0.5}


def test_defect_3_anti_informative_scores_have_an_equal_error_rate_of_a_half_by_the_hull(rng):
    y = np.repeat([0, 1], 500)
    scores = rng.normal(size=1000) - 1.3 * y

    assert_allclose(eer(y, scores), 0.5)
    assert eer(y, scores, "step") > 0.7


def test_defect_4_llrs_separate_even_if_posteriors_saturate():
    y, llr = [0, 0, 1, 1], [45.0, 45.0, 60.0, 60.0]

    assert_array_equal(min_dcf(y, llr, [0.01, 0.5, 0.99]), 0)
    assert min_cllr(y, llr) == 0
    assert actual_dcf(y, llr, Application.binary(0.5, cost_fn=math.exp(-50))) == 0


@pytest.mark.parametrize("llr", [709.0, 710.0, 1e5, 1e300])
def test_defect_5_cllr_of_any_llr_is_finite(llr):
    assert_allclose(cllr([0, 1], [llr, -llr]), llr / math.log(2))
    assert_allclose(cross_entropy([0, 1], [llr, -llr]), llr)
    assert cllr([0, 1], [-llr, llr]) < 1e-300


NUMBERS = [
    roc_auc,
    cllr,
    cost_curve,
    det_curve,
    eer,
    cross_entropy_curve,
    min_cllr,
    reliability_curve,
    roc_curve,
    roc_hull,
    tippett_curve,
]
NUMBERS += [bayes_error_curve, lambda y, s: min_dcf(y, s, 0.1), lambda y, s: actual_dcf(y, s, 0.1)]
NUMBERS += [cross_entropy, lambda y, s: bayes_risk(y, s, Application([0.5, 0.5]))]


@pytest.mark.parametrize("number", NUMBERS)
def test_defect_6_infinite_scores_are_accepted_and_nan_is_refused(number):
    y, scores = [0, 0, 1, 1, 0, 1], np.array([-np.inf, -1.0, 0.5, np.inf, np.inf, -np.inf])

    found = number(y, scores)

    for column in found.columns().values() if hasattr(found, "columns") else [found]:
        assert not np.isnan(column).any()
    scores[3] = np.nan
    with pytest.raises(InvalidDataError, match="row 3 has NaN"):
        number(y, scores)


def test_defect_7_the_area_is_under_the_curve_and_curves_have_their_ends():
    y, scores = [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0]
    assert (roc_auc(y, scores), roc_curve(y, scores).auc(), roc_auc(y, np.negative(scores))) == (1, 1, 0)
    for tied in ([1, 1, 1, 1], [1, 2, 2, 3], [np.inf] * 4, scores):
        curve, errors = roc_curve(y, tied), det_curve(y, tied)
        assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
        assert (errors.fpr[0], errors.fnr[0], errors.fpr[-1], errors.fnr[-1]) == (0, 1, 1, 0)


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("copies", [1, 20])
def test_defect_8_calibration_has_the_right_offset_at_every_prior(prior, copies, rng):
    y = np.repeat([0, 1], 20_000)
    llr = 2 * rng.normal(size=40_000) + np.where(y == 1, 2, -2)
    weight = np.where(y == 1, 1, copies)  # the share of targets differs from the prior

    found = AffineCalibrator(training_prior=prior).fit(llr, y, sample_weight=weight)

    assert_allclose([found.scale_, found.offset_], [1, 0], atol=0.15)


@pytest.mark.parametrize("factor", [0.01, 1.0, 1e6])
def test_defect_9_calibration_does_not_depend_on_the_scores_scale(factor, rng):
    y = np.repeat([0, 1], 50)
    scores = rng.normal(size=100) + y
    shift = 1e6 if factor == 1 else 0

    found = AffineCalibrator().fit_transform(factor * scores + shift, y)

    assert_allclose(found, AffineCalibrator().fit_transform(scores, y), rtol=1e-6, atol=1e-7)


def test_defect_10_priors_are_of_classes_and_not_of_decisions():
    app = Application([0.9, 0.1])
    always_0 = np.array([-9.0, -9.0, -9.0])

    assert_allclose(bayes_risk([0, 0, 1], always_0, app, normalize=False), 0.1)
    assert_allclose(confusion([0, 0, 1], [0, 0, 0], labels=[0, 1]).risk(app, normalize=False), 0.1)
    assert_allclose(actual_dcf([0, 0, 1], always_0, app), 1)


def test_defect_11_costs_are_laid_out_by_truth_and_never_changed():
    costs = np.array([[0.0, 5.0], [1.0, 0.0]])
    app = Application([0.5, 0.5], costs)

    assert_allclose(bayes_risk([0, 0, 1], [3.0, 3.0, 3.0], app, normalize=False), 2.5)
    assert_allclose(bayes_risk([0, 0, 1], [-3.0, -3.0, -3.0], app, normalize=False), 0.5)
    assert_array_equal(costs, [[0, 5], [1, 0]])
    assert_array_equal(app.costs, [[0, 5], [1, 0]])


def test_defect_12_every_equal_error_rate_has_a_named_method():
    # Points (miss, false alarm): (0, 1), (1/4, 1/2), (3/4, 1/4), (1, 0); the first, second and last are on the hull.
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    scores = [1, 1, 2, 3, 1, 2, 2, 3]

    assert_allclose(eer(y, scores, "step"), (1 / 4 + 1 / 2) / 2)
    assert_allclose(eer(y, scores, "interpolated"), 1 / 4 + 1 / 2 * 1 / 3)
    assert_allclose(eer(y, scores, "rocch"), 0.4)
    assert eer(y, scores) == eer(y, scores, "rocch")


def test_defect_13_an_llr_equal_to_the_threshold_accepts():
    y = [0, 0, 1, 1]
    for app in (Application.binary(0.5), Application.binary(0.1), Application.binary(0.3, cost_fp=4)):
        at, below = app.threshold, np.nextafter(app.threshold, -np.inf)
        miss, alarm = app.priors[1] * app.costs[1, 0], app.priors[0] * app.costs[0, 1]
        assert_allclose(actual_dcf(y, [at] * 4, app, normalize=False), alarm)
        assert_allclose(actual_dcf(y, [below] * 4, app, normalize=False), miss)
        assert_allclose(bayes_risk(y, [at] * 4, app, normalize=False), alarm)
    assert Trials(y, [1.0, 2.0, 2.0, 3.0]).min_dcf_threshold(0.9) == 2.0  # 2 itself is accepted


def test_defect_14_millions_of_trials_take_one_sort(rng):
    n_targets, n_nontargets = 200_000, 3_500_000
    y = np.repeat(np.array([1, 0], np.int8), [n_targets, n_nontargets])
    llr = rng.normal(size=len(y))
    llr *= 2
    llr += np.where(y == 1, 2.0, -2.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    trials = Trials(y, llr)
    found = trials.eer(), trials.roc_auc(), trials.min_dcf(0.01), trials.cllr()

    # N(±2, 4): the error rates at 0 are Φ(−1); a target scores above a nontarget with probability Φ(√2).
    assert_allclose(found[:2], [0.158655, 0.921350], atol=2e-3)
    assert found[2] < 1
    bits = quad(lambda x: norm.pdf(x, 2, 2) * np.logaddexp(0, -x) / math.log(2), -20, 25)[0]
    assert_allclose(found[3], bits, atol=5e-3)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 20 * llr.nbytes


def test_defect_15_llrs_are_natural_logarithms_without_priors():
    # N(0, 1) against N(2, 1): the natural llr at x is 2 x − 2, for any class frequencies.
    ranks = (np.arange(2000) + 0.5) / 2000
    x = np.concatenate([norm.ppf(ranks), norm.ppf((np.arange(200) + 0.5) / 200) + 2])
    y = np.repeat([0, 1], [2000, 200])
    model = GaussianClassifier(tied=True).fit(x[:, None], y)

    assert_allclose(model.llr([[0.0], [1.0], [2.0]]), [-2, 0, 2], atol=0.05)
    assert_allclose(AffineCalibrator().fit(x, y).transform([0.0, 1.0, 2.0]), [-2, 0, 2], atol=0.1)
    assert_allclose(cllr([0, 1], [math.log(3), math.log(3)]), (2 + math.log2(4 / 3)) / 2)


@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize(("offset", "kind"), [(1e5, np.float32), (1e8, np.float64)], ids=["single", "double"])
def test_defects_16_and_29_mixtures_of_unit_variance_far_from_zero_are_fitted(shape, tied, offset, kind, rng):
    X = np.concatenate([rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + 10])
    far = (X + offset).astype(kind)
    near = far.astype(np.float64) - offset  # after rounding to the precision of far

    found, expected = (GaussianMixture(2, covariance=shape, tied=tied).fit(rows) for rows in (far, near))

    assert_allclose(found.covariances_, expected.covariances_, rtol=1e-5, atol=1e-6)
    assert_allclose(found.means_ - offset, expected.means_, atol=1e-6)
    assert_allclose(found.log_density(far), expected.log_density(near), atol=1e-5)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_defect_17_a_standard_deviation_of_1e_5_has_a_variance_of_1e_10(shape, n_components, rng):
    X = 1e-5 * np.concatenate([rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)) + 20])[: 2000 * n_components]

    model = GaussianMixture(n_components, covariance=shape).fit(X)

    variances = np.diagonal(model.covariances_, axis1=1, axis2=2) if shape == "full" else model.covariances_
    assert_allclose(variances, 1e-10, rtol=0.1)


@pytest.mark.parametrize("solver", ["auto", "newton", "l-bfgs", "newton-cg"])
def test_defect_21_separable_classes_give_a_warning_and_all_solvers_agree(solver):
    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0], [2.5, 2.0]], [0, 0, 1, 1, 1]

    with pytest.warns(DegenerateDataWarning, match=r"so the likelihood has no maximum.*regularization > 0"):
        model = LogisticRegression(solver=solver).fit(X, y)
    with pytest.warns(DegenerateDataWarning, match="no maximum"):
        usual = LogisticRegression().fit(X, y)

    margins = np.where(np.equal(y, 1), 1, -1) * (X @ model.separator_.coef[0] + model.separator_.intercept[0])
    assert margins.min() > 0
    assert_allclose(model.llr(X), usual.llr(X), atol=1e-3)


@pytest.mark.parametrize("strength", [0.0, 1e-3])
def test_defect_22_unscaled_columns_converge(strength, rng):
    scaled = rng.normal(size=(400, 6))
    y = (rng.random(400) < norm.cdf(scaled @ np.linspace(-1, 1, 6))).astype(int)
    units = 10.0 ** np.arange(-4, 8, 2)

    model = LogisticRegression(strength).fit(scaled * units + 50 * units, y)

    assert model.converged_
    assert model.n_iter_ < 20
    if strength == 0:  # a penalty applies to weights in the user's units
        plain = LogisticRegression().fit(scaled, y)
        assert_allclose(model.coef_[0] * units, plain.coef_[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_defect_26_mixtures_take_weights_and_have_partial_fit(shape, tied, rng):
    X = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 8])
    copies = rng.integers(0, 4, 400)
    weighted = GaussianMixture(2, covariance=shape, tied=tied).fit(X, sample_weight=copies)
    repeated = GaussianMixture(2, covariance=shape, tied=tied).fit(np.repeat(X, copies, axis=0))
    whole, model = (
        GaussianMixture(2, covariance=shape, tied=tied).fit(X),
        GaussianMixture(2, covariance=shape, tied=tied),
    )

    for part in np.split(rng.permutation(X), 4):
        model.partial_fit(part)

    assert_allclose(weighted.means_, repeated.means_, rtol=1e-8)
    assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-7, atol=1e-9)
    assert whole.score(X) - 0.02 < model.score(X)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_defect_27_support_vector_machines_converge_on_unscaled_columns(kernel, C):
    X, y, _ = load_tumours()  # columns from thousandths to thousands
    z = np.where(y == "malignant", 1.0, -1.0)

    model = SVM(C, kernel=kernel).fit(X, y)

    signed = np.zeros(len(z))
    signed[model.support_] = model.dual_coef_[0]
    dual = (z * signed).sum() - signed @ model.kernel_(X - X.mean(axis=0)) @ signed / 2
    assert model.converged_
    assert model.gap_ <= 1e-4 * model.primal_objective_
    assert_allclose(model.dual_objective_, dual, rtol=1e-4)


def test_defect_27_the_warning_of_an_unconverged_machine_has_the_gap_and_the_remedy():
    X, y, _ = load_tumours()

    with pytest.warns(NotConvergedWarning, match=r"after 1 step .* relative gap is \d.* put Standardize before SVM"):
        model = SVM(1000.0, solver=DualSolver(max_iter=1)).fit(X, y)

    assert not model.converged_
    assert model.dual_objective_ < SVM(1000.0).fit(X, y).primal_objective_ < model.primal_objective_


@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_defect_28_samples_of_every_shape_have_the_correct_covariance(shape, tied, rng):
    X = np.concatenate([rng.normal(size=(300, 2)) * 5, rng.normal(size=(300, 2)) * 0.2 + 60])
    model = GaussianMixture(2, covariance=shape, tied=tied).fit(X)

    rows = model.sample(40_000, random_state=0)

    which = model.predict(rows)
    variances = np.diagonal(model.covariances_, axis1=1, axis2=2) if shape == "full" else model.covariances_
    found = np.stack([rows[which == k].var(axis=0) for k in range(2)])
    assert_allclose(found, variances, rtol=0.05)
    assert_allclose(np.bincount(which) / len(rows), model.weights_, atol=0.01)
