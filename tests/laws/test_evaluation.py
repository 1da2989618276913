"""Laws of metrics for any scores, tested by brute force over all thresholds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score

from likely import (
    Application,
    Trials,
    actual_dcf,
    bayes_risk,
    calibration_loss,
    cllr,
    cross_entropy,
    eer,
    eer_threshold,
    min_cllr,
    min_dcf,
    min_dcf_threshold,
    roc_auc,
)

TIED = st.sampled_from([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0, np.inf])
ROW = st.tuples(TIED, st.integers(1, 3))
SETS = st.tuples(st.lists(ROW, min_size=1, max_size=8), st.lists(ROW, min_size=1, max_size=8)).map(
    lambda classes: tuple(
        np.array(column) for column in zip(*[(k, s, w) for k, rows in enumerate(classes) for s, w in rows], strict=True)
    )
)
"""Labels of both classes, scores with many ties and infinities, and whole weights."""
APPLICATIONS = st.builds(
    Application.binary,
    st.sampled_from([0.5, 0.1, 0.9, 0.013]),
    st.sampled_from([1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 7.0]),
)
METRICS = {
    "auc": roc_auc,
    "eer": eer,
    "eer by steps": lambda y, s, **kw: eer(y, s, "step", **kw),
    "eer interpolated": lambda y, s, **kw: eer(y, s, "interpolated", **kw),
    "min_cllr": min_cllr,
    "min_dcf": lambda y, s, **kw: min_dcf(y, s, [0.1, 0.5, 0.8], **kw),
    "cllr": cllr,
    "actual_dcf": lambda y, s, **kw: actual_dcf(y, s, [0.1, 0.5, 0.8], **kw),
    "calibration_loss": lambda y, s, **kw: calibration_loss(y, s, [0.1, 0.5, 0.8], **kw),
}
RANKS = ["auc", "eer", "eer by steps", "eer interpolated", "min_cllr", "min_dcf"]
laws = settings(deadline=None, max_examples=50)
laws_of_many = settings(deadline=None, max_examples=15)


def operating_points(y, scores, weight):
    """Return the rates of misses and false alarms at every threshold; the last one accepts nothing."""
    targets, nontargets = weight[y == 1].sum(), weight[y == 0].sum()
    points = []
    for threshold in [*sorted(set(scores)), None]:
        accepted = np.zeros(len(scores), bool) if threshold is None else scores >= threshold
        points.append((weight[(y == 1) & ~accepted].sum() / targets, weight[(y == 0) & accepted].sum() / nontargets))
    return np.array(points)


def bits(y, llr, weight):
    """Return Cllr by its definition."""
    with np.errstate(over="ignore"):
        of_targets = [w * math.log2(1 + np.exp(-x)) for k, x, w in zip(y, llr, weight, strict=True) if k == 1]
        of_others = [w * math.log2(1 + np.exp(x)) for k, x, w in zip(y, llr, weight, strict=True) if k == 0]
    return 0.5 * (sum(of_targets) / weight[y == 1].sum() + sum(of_others) / weight[y == 0].sum())


def pav_llr(y, scores, weight):
    """Return the llrs by scikit-learn's isotonic regression of the labels."""
    ranks = np.unique(scores, return_inverse=True)[1]
    posterior = IsotonicRegression().fit(ranks, y, sample_weight=weight).predict(ranks)
    odds = math.log(weight[y == 1].sum() / weight[y == 0].sum())
    return (
        np.array([np.inf if p > 1 - 1e-12 else -np.inf if p < 1e-12 else math.log(p / (1 - p)) for p in posterior])
        - odds
    )


@laws
@given(SETS, APPLICATIONS)
def test_the_minimum_cost_is_that_of_the_best_of_all_thresholds(trials, app):
    y, scores, weight = trials
    miss, alarm = operating_points(y, scores, weight).T
    costs = app.priors[1] * app.costs[1, 0] * miss + app.priors[0] * app.costs[0, 1] * alarm

    assert_allclose(min_dcf(y, scores, app, False, sample_weight=weight), costs.min(), atol=1e-12)
    normaliser = min(app.priors[1] * app.costs[1, 0], app.priors[0] * app.costs[0, 1])
    assert_allclose(min_dcf(y, scores, app, sample_weight=weight), costs.min() / normaliser, atol=1e-12)


@laws
@given(SETS, APPLICATIONS)
def test_the_threshold_of_the_minimum_has_the_minimum_cost(trials, app):
    y, scores, weight = trials
    threshold = min_dcf_threshold(y, scores, app, sample_weight=weight)
    # An infinite threshold accepts nothing except infinite scores.
    paid = []
    for accepted in (scores >= threshold, np.zeros(len(y), bool)) if np.isposinf(threshold) else (scores >= threshold,):
        miss = weight[(y == 1) & ~accepted].sum() / weight[y == 1].sum()
        alarm = weight[(y == 0) & accepted].sum() / weight[y == 0].sum()
        paid.append(app.priors[1] * app.costs[1, 0] * miss + app.priors[0] * app.costs[0, 1] * alarm)

    assert_allclose(min(paid), min_dcf(y, scores, app, False, sample_weight=weight), atol=1e-12)


@laws
@given(SETS)
def test_the_equal_error_rate_by_steps_is_the_mean_of_the_rates_that_differ_least(trials):
    y, scores, weight = trials
    points = operating_points(y, scores, weight)
    gaps = np.abs(points[:, 0] - points[:, 1])
    best = points[gaps <= gaps.min() + 1e-12].mean(axis=1)

    assert np.abs(best - eer(y, scores, "step", sample_weight=weight)).min() < 1e-12
    threshold = eer_threshold(y, scores, sample_weight=weight)
    at = np.append(np.sort(np.unique(scores)), np.inf) == threshold
    assert gaps[at].min() <= gaps.min() + 1e-12


@laws
@given(SETS)
def test_the_interpolated_equal_error_rate_is_where_the_roc_meets_the_line(trials):
    y, scores, weight = trials
    miss, alarm = operating_points(y, scores, weight).T

    assert_allclose(eer(y, scores, "interpolated", sample_weight=weight), np.interp(0, miss - alarm, miss), atol=1e-12)


@laws
@given(SETS)
def test_the_equal_error_rate_of_the_hull_is_the_highest_minimum_error_over_all_priors(trials):
    y, scores, weight = trials
    points = operating_points(y, scores, weight)
    priors = [0.5]
    for (miss, alarm), (other_miss, other_alarm) in itertools.combinations(points, 2):
        slope = (miss - alarm) - (other_miss - other_alarm)
        priors += [] if slope == 0 else [(other_alarm - alarm) / slope]
    worst = max((p * points[:, 0] + (1 - p) * points[:, 1]).min() for p in priors if 0 <= p <= 1)

    assert_allclose(eer(y, scores, sample_weight=weight), worst, atol=1e-12)
    assert eer(y, scores, sample_weight=weight) <= 0.5 + 1e-12


@laws
@given(SETS)
def test_the_auc_counts_pairs_with_ties_half(trials):
    y, scores, weight = trials
    wins = pairs = 0.0
    for i, j in itertools.product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        pairs += weight[i] * weight[j]
        wins += weight[i] * weight[j] * (1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0)

    ranks = np.unique(scores, return_inverse=True)[1]
    assert_allclose(roc_auc(y, scores, sample_weight=weight), wins / pairs, atol=1e-12)
    assert_allclose(roc_auc(y, scores, sample_weight=weight), roc_auc_score(y, ranks, sample_weight=weight), atol=1e-12)


@laws
@given(SETS)
def test_the_minimum_cllr_is_that_of_isotonic_regression(trials):
    y, scores, weight = trials
    expected = bits(y, pav_llr(y, scores, weight), weight)

    assert_allclose(min_cllr(y, scores, sample_weight=weight), expected, atol=1e-9)


@laws
@given(SETS)
def test_cllr_is_its_definition_and_the_cross_entropy_at_equal_priors(trials):
    y, scores, weight = trials

    assert_allclose(cllr(y, scores, sample_weight=weight), bits(y, scores, weight), rtol=1e-12)
    nats = cross_entropy(y, scores, sample_weight=weight)
    assert_allclose(nats / math.log(2), bits(y, scores, weight), rtol=1e-12)


@laws
@given(SETS, st.lists(APPLICATIONS, min_size=1, max_size=4))
def test_no_minimum_exceeds_the_actual_cost_nor_one(trials, apps):
    y, scores, weight = trials
    found = Trials(y, scores, sample_weight=weight)

    assert (found.min_dcf(apps) <= found.actual_dcf(apps) + 1e-12).all()
    assert (found.min_dcf(apps) <= 1 + 1e-12).all()
    assert (found.calibration_loss(apps) >= -1e-12).all()
    assert found.min_cllr() <= min(found.cllr(), 1) + 1e-12


@laws
@given(SETS, APPLICATIONS)
def test_the_actual_cost_is_that_of_deciding_and_counting(trials, app):
    y, llr, weight = trials
    threshold = math.log(app.priors[0] * app.costs[0, 1]) - math.log(app.priors[1] * app.costs[1, 0])
    paid = 0.0
    for truth, x, w in zip(y, llr, weight, strict=True):
        decision = int(x >= threshold)
        paid += w / weight[y == truth].sum() * app.priors[truth] * app.costs[truth, decision]
    constant = min(app.priors @ app.costs)

    assert_allclose(actual_dcf(y, llr, app, False, sample_weight=weight), paid, atol=1e-12)
    assert_allclose(actual_dcf(y, llr, app, sample_weight=weight), paid / constant, atol=1e-12)
    assert_allclose(bayes_risk(y, llr, app, False, sample_weight=weight), paid, atol=1e-12)
    columns = np.column_stack([np.zeros(len(llr)), llr])
    assert_allclose(bayes_risk(y, columns, app, sample_weight=weight), paid / constant, atol=1e-12)


@laws
@given(SETS, APPLICATIONS)
def test_the_effective_prior_has_the_same_normalised_costs(trials, app):
    y, llr, weight = trials
    stakes = app.priors[1] * app.costs[1, 0], app.priors[0] * app.costs[0, 1]
    plain = stakes[0] / sum(stakes)

    found = Trials(y, llr, sample_weight=weight)
    assert_allclose(found.actual_dcf(app), found.actual_dcf(plain), rtol=1e-9)
    assert_allclose(found.min_dcf(app), found.min_dcf(plain), rtol=1e-9, atol=1e-12)


@given(st.integers(1, 500), st.integers(1, 500))
@settings(deadline=None, max_examples=30)
def test_llrs_of_zero_cost_one_bit_for_any_class_sizes(n_nontargets, n_targets):
    y = np.repeat([0, 1], [n_nontargets, n_targets])

    assert_allclose(cllr(y, np.zeros(len(y))), 1, rtol=1e-14)
    assert_allclose(min_cllr(y, np.zeros(len(y))), 1, rtol=1e-14)


@pytest.mark.parametrize("name", RANKS)
@laws_of_many
@given(trials=SETS)
def test_rank_metrics_do_not_change_under_increasing_maps(name, trials):
    y, scores, weight = trials
    ranks = np.unique(scores, return_inverse=True)[1]

    for mapped in (ranks, np.exp(ranks) - 1e3, np.where(ranks > 2, ranks, ranks - 1e9)):
        expected = METRICS[name](y, scores, sample_weight=weight)
        assert_allclose(METRICS[name](y, mapped, sample_weight=weight), expected, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
@laws_of_many
@given(trials=SETS)
def test_weights_are_repetitions(name, trials):
    y, scores, weight = trials
    repeated = np.repeat(y, weight), np.repeat(scores, weight)

    assert_allclose(METRICS[name](y, scores, sample_weight=weight), METRICS[name](*repeated), atol=1e-12)
    halves = METRICS[name](y, scores, sample_weight=weight / 2)
    assert_allclose(halves, METRICS[name](*repeated), atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
@laws_of_many
@given(trials=SETS, dropped=st.lists(st.booleans(), min_size=16, max_size=16))
def test_rows_of_weight_zero_have_no_effect(name, trials, dropped):
    y, scores, weight = trials
    kept = ~np.array(dropped[: len(y)])
    assume(len(set(y[kept])) == 2)

    expected = METRICS[name](y[kept], scores[kept], sample_weight=weight[kept])
    assert_allclose(METRICS[name](y, scores, sample_weight=weight * kept), expected, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
@laws_of_many
@given(trials=SETS, data=st.data())
def test_the_order_of_rows_does_not_matter(name, trials, data):
    y, scores, weight = trials
    order = np.array(data.draw(st.permutations(range(len(y)))))

    plain, shuffled = METRICS[name](y, scores), METRICS[name](y[order], scores[order])
    assert_array_equal(plain, shuffled)
    weighted = METRICS[name](y, scores, sample_weight=weight)
    assert_allclose(METRICS[name](y[order], scores[order], sample_weight=weight[order]), weighted, atol=1e-12)


@laws
@given(SETS)
def test_swapping_the_classes_mirrors_all_metrics(trials):
    y, llr, weight = trials
    before = Trials(y, llr, sample_weight=weight)
    after = Trials(y, -llr, pos_label=0, sample_weight=weight)

    numbers = [lambda t: t.roc_auc(), lambda t: t.eer(), lambda t: t.eer("interpolated"), Trials.cllr, Trials.min_cllr]
    for number in numbers:
        assert_allclose(number(after), number(before), atol=1e-12)
    assert_allclose(after.min_dcf(0.2), before.min_dcf(0.8), atol=1e-12)
    assert_allclose(after.actual_dcf(0.2), before.actual_dcf(0.8), atol=1e-12)  # no score equals a threshold
    assert_allclose(after.roc_curve().fpr, 1 - before.roc_curve().tpr[::-1], atol=1e-12)


@laws
@given(SETS, st.lists(APPLICATIONS, min_size=1, max_size=5))
def test_many_applications_at_once_equal_one_at_a_time(trials, apps):
    y, llr, _ = trials
    found = Trials(y, llr)

    for number in (found.actual_dcf, found.min_dcf, found.min_dcf_threshold, found.calibration_loss):
        several = number(apps)
        assert several.shape == (len(apps),)
        assert_array_equal(several, [number(app) for app in apps])
        assert_allclose(number([0.1, 0.7]), number(np.array([0.1, 0.7])), rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.floats(1e-6, 1 - 1e-6))
def test_an_array_of_priors_decides_at_the_threshold_as_each_prior_does(prior):
    found = Trials([0, 1], np.full(2, Application.binary(prior).threshold))

    assert_allclose(found.actual_dcf(np.array([prior, prior])), found.actual_dcf(prior), rtol=1e-12)
    assert_allclose(found.actual_dcf(prior, normalize=False), 1 - prior)  # accepted: the nontarget is a false alarm


@laws
@given(SETS, st.data())
def test_reweighted_trials_are_those_of_the_weights(trials, data):
    y, llr, weight = trials
    again = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.7, 2.0]), min_size=len(y), max_size=len(y))))
    assume(again[y == 0].any() and again[y == 1].any())
    kept = again > 0
    product = (weight * again)[kept]

    for found, other in [
        (Trials(y, llr, sample_weight=weight).reweighted(again), product),
        (Trials(y, llr).reweighted(again), again[kept]),
        (Trials(y, llr).reweighted(again).reweighted(weight), product),
    ]:
        expected = Trials(y[kept], llr[kept], sample_weight=other)
        for number in (Trials.roc_auc, Trials.eer, Trials.cllr, Trials.min_cllr, lambda t: t.min_dcf([0.1, 0.6])):
            assert_allclose(number(found), number(expected), atol=1e-12)
        assert_allclose(found.roc_curve().tpr, expected.roc_curve().tpr, atol=1e-12)


GRID = np.linspace(-14, 14, 4001)
BENT = {
    "halved": lambda x: x / 2,
    "doubled": lambda x: 2 * x,
    "raised": lambda x: x + 0.7,
    "lowered": lambda x: x - 0.7,
    "turned": lambda x: -x,
    "silenced": lambda x: 0 * x,
}


@pytest.mark.parametrize("bent", BENT)
def test_the_true_llr_minimises_every_proper_score(bent):
    # Two Gaussian densities as weights on a grid: these are expectations, not samples.
    y = np.repeat([0, 1], len(GRID))
    x = np.tile(GRID, 2)
    weight = np.concatenate([norm.pdf(GRID, -1), norm.pdf(GRID, 1)])
    truth, wrong = 2 * x, BENT[bent](2 * x)
    priors = np.array([0.02, 0.3, 0.5, 0.8, 0.97])

    assert cllr(y, truth, sample_weight=weight) < cllr(y, wrong, sample_weight=weight) - 1e-3
    for prior in priors:
        at = [1 - prior, prior]
        right = cross_entropy(y, truth, at, sample_weight=weight)
        assert right < cross_entropy(y, wrong, at, sample_weight=weight) - 1e-4
    best = actual_dcf(y, truth, priors, sample_weight=weight)
    assert (best <= actual_dcf(y, wrong, priors, sample_weight=weight) + 1e-9).all()
    assert_allclose(best, min_dcf(y, truth, priors, sample_weight=weight), rtol=1e-6)
    # A threshold at t on N(±1, 1): misses Φ(t − 1), false alarms Φ(−t − 1).
    t = -np.log(priors / (1 - priors)) / 2
    theory = (priors * norm.cdf(t - 1) + (1 - priors) * norm.cdf(-t - 1)) / np.minimum(priors, 1 - priors)
    assert_allclose(best, theory, rtol=1e-2)


@pytest.mark.parametrize("bent", [name for name in BENT if name not in ("raised", "lowered")])
def test_the_true_log_likelihoods_of_three_classes_minimise_every_proper_score(bent):
    means = np.array([-2.0, 0.0, 1.0])
    y, x = np.repeat([0, 1, 2], len(GRID)), np.tile(GRID, 3)
    weight = np.concatenate([norm.pdf(GRID, mean) for mean in means])
    truth = norm.logpdf(x[:, None], means)
    wrong = BENT[bent](truth)
    app = Application([0.2, 0.5, 0.3], [[0, 1, 5], [2, 0, 1], [1, 3, 0]])

    right = cross_entropy(y, truth, app.priors, sample_weight=weight)
    assert right < cross_entropy(y, wrong, app.priors, sample_weight=weight) - 1e-4
    risk = bayes_risk(y, truth, app, sample_weight=weight)
    assert risk <= bayes_risk(y, wrong, app, sample_weight=weight) + 1e-9
    assert risk < 1
