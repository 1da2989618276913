"""Laws of curves, confusion matrices, the reject option and the risk of more than two classes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn import metrics
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from likely import (
    Application,
    Trials,
    bayes_risk,
    confusion,
    cross_entropy,
    det_curve,
    reliability_curve,
    risk_coverage_curve,
    roc_curve,
    roc_hull,
    tippett_curve,
)

TIED = st.sampled_from([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0, np.inf])
ROW = st.tuples(TIED, st.integers(1, 3))
SETS = st.tuples(st.lists(ROW, min_size=1, max_size=8), st.lists(ROW, min_size=1, max_size=8)).map(
    lambda classes: tuple(
        np.array(column) for column in zip(*[(k, s, w) for k, rows in enumerate(classes) for s, w in rows], strict=True)
    )
)
laws = settings(deadline=None, max_examples=40)


def rates(y, scores, weight):
    """Return misses and false alarms at every threshold, in descending order; the first one accepts nothing."""
    points = [(1.0, 0.0)]
    for threshold in sorted(set(scores), reverse=True):
        accepted = scores >= threshold
        miss = weight[(y == 1) & ~accepted].sum() / weight[y == 1].sum()
        points.append((miss, weight[(y == 0) & accepted].sum() / weight[y == 0].sum()))
    return np.array(points)


@laws
@given(SETS)
def test_roc_and_det_hold_the_point_of_every_threshold(trials):
    y, scores, weight = trials
    miss, alarm = rates(y, scores, weight).T
    thresholds = [np.inf, *sorted(set(scores), reverse=True)]

    hits = roc_curve(y, scores, sample_weight=weight)
    assert_allclose(hits.fpr, alarm, atol=1e-12)
    assert_allclose(hits.tpr, 1 - miss, atol=1e-12)
    assert_array_equal(hits.thresholds, thresholds)
    misses = det_curve(y, scores, sample_weight=weight)
    assert_allclose(misses.fpr, alarm, atol=1e-12)
    assert_allclose(misses.fnr, miss, atol=1e-12)
    assert_array_equal(misses.thresholds, thresholds)
    assert_allclose(norm.cdf(misses.probits()), [alarm, miss], atol=1e-12)


def test_the_roc_equals_that_of_scikit_learn(rng):
    y, scores = rng.integers(0, 2, 500), rng.normal(size=500).round(1)
    fpr, tpr, thresholds = metrics.roc_curve(y, scores, drop_intermediate=False)

    curve = roc_curve(y, scores)
    assert_allclose(np.array([curve.fpr, curve.tpr, curve.thresholds]), [fpr, tpr, thresholds])


@laws
@given(SETS)
def test_every_curve_of_rates_has_both_ends(trials):
    y, scores, weight = trials
    for curve in (roc_curve(y, scores, sample_weight=weight), roc_hull(y, scores, sample_weight=weight)):
        assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
        assert (np.diff(curve.fpr) >= 0).all()
        assert (np.diff(curve.tpr) >= 0).all()
    curve = det_curve(y, scores, sample_weight=weight)
    assert (curve.fpr[0], curve.fnr[0], curve.fpr[-1], curve.fnr[-1]) == (0, 1, 1, 0)
    shares = tippett_curve(y, scores, sample_weight=weight)
    assert (shares.llr[0], shares.targets[0], shares.nontargets[0]) == (-np.inf, 1, 1)


@laws
@given(SETS)
def test_the_hull_is_concave_and_lies_above_the_roc(trials):
    y, scores, weight = trials
    curve, hull = roc_curve(y, scores, sample_weight=weight), roc_hull(y, scores, sample_weight=weight)

    right, up = np.diff(hull.fpr), np.diff(hull.tpr)
    assert (up[1:] * right[:-1] <= up[:-1] * right[1:] + 1e-12).all()
    # The hull is above the ROC: no point of the ROC is outside an edge of the hull.
    outside = right * (curve.tpr[:, None] - hull.tpr[:-1]) - up * (curve.fpr[:, None] - hull.fpr[:-1])
    assert (outside <= 1e-12).all()
    corners = set(zip(curve.fpr.round(9), curve.tpr.round(9), strict=True))
    assert set(zip(hull.fpr.round(9), hull.tpr.round(9), strict=True)) <= corners
    assert hull.auc() >= curve.auc() - 1e-12
    assert_allclose(curve.auc(), Trials(y, scores, sample_weight=weight).roc_auc(), atol=1e-12)


@laws
@given(SETS)
def test_the_bayes_error_curve_holds_the_costs_at_its_priors(trials):
    y, llr, weight = trials
    found = Trials(y, llr, sample_weight=weight)
    odds = np.array([-4.1, -0.7, 0.0, 0.3, 2.2])
    priors = 1 / (1 + np.exp(-odds))

    curve = found.bayes_error_curve(odds)
    assert_allclose(curve.actual, found.actual_dcf(priors), rtol=1e-9)
    assert_allclose(curve.minimum, found.min_dcf(priors), rtol=1e-9, atol=1e-12)
    plain = found.cost_curve([0.0, *priors, 1.0])
    assert_allclose(plain.actual[1:-1], found.actual_dcf(priors, normalize=False), rtol=1e-9)
    assert_allclose(plain.minimum[1:-1], found.min_dcf(priors, normalize=False), rtol=1e-9, atol=1e-12)
    assert_array_equal(plain.actual[[0, -1]], 0)
    assert_allclose(plain.constant, np.minimum([0, *priors, 1], [1, *(1 - priors), 0]))


@laws
@given(SETS)
def test_the_empirical_cross_entropy_at_even_odds_is_cllr(trials):
    y, llr, weight = trials
    found = Trials(y, llr, sample_weight=weight)

    curve = found.cross_entropy_curve([-1.5, 0.0, 0.4])
    assert_allclose(curve.actual[1], found.cllr(), rtol=1e-12)
    assert_allclose(curve.minimum[1], found.min_cllr(), rtol=1e-12)
    assert_allclose(curve.neutral[1], 1)
    assert (curve.minimum <= np.minimum(curve.actual, curve.neutral) + 1e-12).all()
    for prior, value in zip(1 / (1 + np.exp(-curve.prior_log_odds)), curve.actual, strict=True):
        nats = cross_entropy(y, llr, [1 - prior, prior], sample_weight=weight)
        assert_allclose(value, nats / math.log(2), rtol=1e-9)


@laws
@given(SETS)
def test_tippett_shares_equal_counts(trials):
    y, llr, weight = trials
    curve = tippett_curve(y, llr, sample_weight=weight)

    for k, shares in ((1, curve.targets), (0, curve.nontargets)):
        of = y == k
        counted = [weight[of & (llr >= x)].sum() / weight[of].sum() for x in curve.llr]
        assert_allclose(shares, counted, atol=1e-12)


@laws
@given(SETS)
def test_reliability_blocks_contain_every_trial_once_and_increase(trials):
    y, llr, weight = trials
    curve = reliability_curve(y, llr, sample_weight=weight)

    inside = (llr[:, None] >= curve.low) & (llr[:, None] <= curve.high)
    assert_array_equal(inside.sum(axis=1), 1)
    assert_allclose(curve.targets, (weight * (y == 1)) @ inside)
    assert_allclose(curve.nontargets, (weight * (y == 0)) @ inside)
    assert (curve.llr[1:] > curve.llr[:-1]).all()
    odds = weight[y == 1].sum() / weight[y == 0].sum()
    with np.errstate(divide="ignore"):
        assert_allclose(curve.llr, np.log(curve.targets / np.abs(curve.nontargets) / odds), atol=1e-9)
    low, high, observed = curve.posteriors(0.5)
    assert ((low <= high) & (observed >= 0) & (observed <= 1)).all()


@laws
@given(SETS, st.sampled_from([0.5, 0.2, 0.93]), st.sampled_from([0.0, 0.05, 0.3, 2.0]))
def test_the_minimum_with_a_reject_cost_is_that_of_the_best_pair_of_thresholds(trials, prior, reject_cost):
    y, scores, weight = trials
    app = Application.binary(prior, cost_fn=2, cost_fp=1, reject_cost=reject_cost)
    points = rates(y, scores, weight)[::-1]
    risks = []
    for lower in range(len(points)):  # decide for the nontarget below it
        for upper in range(lower, len(points)):  # accept at or above it
            rejected = points[upper][0] - points[lower][0], points[lower][1] - points[upper][1]
            lost = prior * (2 * points[lower][0] + reject_cost * rejected[0])
            risks.append(lost + (1 - prior) * (points[upper][1] + reject_cost * rejected[1]))

    found = Trials(y, scores, sample_weight=weight)
    assert_allclose(found.min_dcf(app, normalize=False), min(risks), atol=1e-12)
    assert found.min_dcf(app, normalize=False) <= found.actual_dcf(app, normalize=False) + 1e-12
    plain = Application.binary(prior, cost_fn=2)
    assert found.min_dcf(app, normalize=False) <= found.min_dcf(plain, normalize=False) + 1e-12
    if reject_cost:
        assert found.min_dcf(app) <= 1 + 1e-12
        assert_allclose(found.min_dcf(app), min(risks) / min(2 * prior, 1 - prior, reject_cost), atol=1e-12)


@pytest.mark.parametrize("reject_cost", [0.01, 0.1, 0.2, 0.5])
def test_rejecting_by_the_true_llrs_never_costs_more_than_deciding(reject_cost):
    grid = np.linspace(-10, 10, 2001)
    y, x = np.repeat([0, 1], len(grid)), np.tile(grid, 2)
    weight = np.concatenate([norm.pdf(grid, -1), norm.pdf(grid, 1)])
    app = Application.binary(0.3, reject_cost=reject_cost)

    with_it = bayes_risk(y, 2 * x, app, normalize=False, sample_weight=weight)
    without = bayes_risk(y, 2 * x, Application.binary(0.3), normalize=False, sample_weight=weight)
    assert with_it <= without + 1e-12
    assert with_it <= reject_cost


def loop_over_rows(y, scores, app, weight):
    """Return the rates of decisions and the mean cost by a loop over rows; the last column counts rejections."""
    n_classes = len(app.priors)
    counts = np.zeros((n_classes, n_classes + 1))
    for truth, row, w in zip(y, scores, weight, strict=True):
        joint = [p * math.exp(x - max(row)) for p, x in zip(app.priors, row, strict=True)]
        expected = [sum(j * app.costs[t, d] for t, j in enumerate(joint)) / sum(joint) for d in range(n_classes)]
        decision = min(range(n_classes), key=lambda d: (round(expected[d], 12), -d))
        if app.reject_cost is not None and app.reject_cost < expected[decision] - 1e-12:
            decision = n_classes
        counts[truth, decision] += w
    shares = counts / counts.sum(axis=1, keepdims=True)
    costs = np.column_stack([app.costs, np.full(n_classes, app.reject_cost or 0.0)])
    return counts, float(app.priors @ (shares * costs).sum(axis=1))


@pytest.mark.parametrize("reject_cost", [None, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_risk_equals_that_of_a_loop_over_rows(n_classes, reject_cost, rng):
    costs = rng.uniform(0.2, 3, (n_classes, n_classes))
    np.fill_diagonal(costs, rng.uniform(0, 0.1, n_classes))
    app = Application(rng.dirichlet(np.ones(n_classes)), costs, reject_cost=reject_cost)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=100)])
    scores, weight = rng.normal(size=(len(y), n_classes)) * 2, rng.uniform(0, 2, len(y))
    counts, risk = loop_over_rows(y, scores, app, weight)
    constant = min([*(app.priors @ app.costs), np.inf if reject_cost is None else reject_cost])

    names = np.array(list("vwxyz"))[:n_classes]
    assert_allclose(bayes_risk(names[y], scores, app, False, sample_weight=weight), risk)
    assert_allclose(bayes_risk(names[y], scores, app, sample_weight=weight), risk / constant)
    table = confusion(names[y], app.decide(scores, names), sample_weight=weight)
    assert_allclose(table.counts, counts)
    assert_allclose(table.risk(app, normalize=False), risk)
    turned = np.arange(n_classes)[::-1]
    named = Application(dict(zip(names, app.priors, strict=True)), app.costs, reject_cost=reject_cost)
    mirrored = bayes_risk(names[y], scores[:, turned], named, labels=names[turned], sample_weight=weight)
    assert_allclose(mirrored, risk / constant)


LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=20)


@laws
@given(LABELS, st.data())
def test_parts_of_a_confusion_matrix_add_up(rows, data):
    truth, decided = zip(*rows, strict=True)
    weight = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows))))
    table = confusion(truth, np.array(decided, dtype=object), labels=["a", "b", "c"], sample_weight=weight)

    assert_allclose(table.accuracy + table.error_rate + table.rejection_rate, 1)
    assert table.total == weight.sum() == table.counts.sum()
    there = table.counts.sum(axis=1) > 0
    assert_allclose((table.tpr + table.fnr + table.rates()[:, -1])[there], 1)
    others = table.total - table.counts.sum(axis=1)
    rejected = table.counts[:, -1].sum() - table.counts[:, -1]
    assert_allclose((table.fpr + table.tnr) * others + rejected, others)
    assert_allclose(table.rates().sum(axis=1), there)
    if not rejected.any() and there.all() and not table.counts[:, -1].any():
        assert_allclose(table.weighted_error([0.2, 0.5, 0.3]), [0.2, 0.5, 0.3] @ table.fnr)


@laws
@given(LABELS)
def test_confusion_matrices_equal_those_of_scikit_learn(rows):
    rows = [*rows, ("a", "b")]
    truth, decided = (np.array(column) for column in zip(*[(t, d or t) for t, d in rows], strict=True))
    table = confusion(truth, decided)
    labels = sorted(set(truth) | set(decided))
    precision, recall, f1, _ = precision_recall_fscore_support(truth, decided, labels=labels, zero_division=0)

    assert_array_equal(table.labels, labels)
    assert_array_equal(table.counts[:, :-1], confusion_matrix(truth, decided, labels=labels))
    assert_allclose(table.precision, precision)
    assert_allclose(table.recall, recall)
    assert_allclose(table.f1, f1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_risk_coverage_curve_equals_counts_at_every_reject_cost(n_classes, rng):
    costs = rng.uniform(0.2, 3, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    app = Application(rng.dirichlet(np.ones(n_classes)), costs)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=40)])
    scores, weight = rng.normal(size=(len(y), n_classes)), rng.integers(1, 4, len(y))
    scores[::2] = scores[0]  # some rows are equal

    curve = risk_coverage_curve(y, scores, app, sample_weight=weight)

    assert (np.diff(curve.coverage) > 0).all()
    assert (np.diff(curve.reject_cost) > 0).all()
    for coverage, risk, price in zip(curve.coverage, curve.risk, curve.reject_cost, strict=True):
        counts, _ = loop_over_rows(y, scores, Application(app.priors, app.costs, reject_cost=price), weight)
        per_class = app.priors / counts.sum(axis=1)
        decided = float((per_class[:, None] * counts[:, :-1]).sum())
        assert_allclose(coverage, decided)
        assert_allclose(risk, float((per_class[:, None] * counts[:, :-1] * app.costs).sum()) / decided)
    assert_allclose(curve.coverage[-1], 1)
    assert_allclose(curve.risk[-1], bayes_risk(y, scores, app, normalize=False, sample_weight=weight))


@pytest.mark.parametrize("llr", [0.1, 1.0, 2.0, 5.3, 17.0])
def test_rows_of_equal_expected_cost_are_decided_or_rejected_together(llr):
    curve = risk_coverage_curve([0, 1, 0, 1], [-llr, llr, llr, -llr], Application.binary(0.5))

    assert_allclose(curve.coverage, [1])
    assert_allclose(curve.risk, [0.5])


def test_a_constant_added_to_all_scores_of_a_row_changes_nothing():
    app = Application.binary(0.3)
    points = [
        len(risk_coverage_curve([0, 1], [[0, llr], [constant, llr + constant]], app).coverage)
        for llr in range(-5, 6)
        for constant in range(-3, 8)
    ]

    assert set(points) == {1}
