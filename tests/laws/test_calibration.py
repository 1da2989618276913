"""Laws of calibrators and fusers, their objectives and their solver."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from likely import (
    AffineCalibrator,
    DegenerateDataWarning,
    IsotonicCalibrator,
    LogisticFusion,
    ProductFusion,
    VotingFusion,
    cllr,
    estimate_priors,
    min_cllr,
)

PRIORS = [0.5, 0.03, 0.9]


def two_classes(rng, n=400, share=0.3):
    y = (np.arange(n) < share * n).astype(int)
    return rng.normal(size=n) * (1 + y) + 1.5 * y, y


def three_classes(rng, n=300):
    y = np.concatenate([np.arange(3), rng.choice(3, size=n - 3, p=[0.6, 0.3, 0.1])])
    return rng.normal(size=(n, 3)) + 1.2 * np.eye(3)[y] + [0.5, 0, -2], y


def cross_entropy_at(prior, llr, y, weight=1.0):
    """Return the documented objective of two classes, in nats."""
    odds = math.log(prior / (1 - prior))
    rows = weight * np.ones(len(y))
    losses = np.where(y == 1, np.logaddexp(0, -(llr + odds)), np.logaddexp(0, llr + odds))
    return sum(p * (rows * losses)[y == k].sum() / rows[y == k].sum() for k, p in ((1, prior), (0, 1 - prior)))


@pytest.mark.parametrize("prior", PRIORS)
def test_the_affine_map_equals_prior_weighted_logistic_regression_of_scikit_learn(prior, rng):
    scores, y = two_classes(rng)
    weight = np.where(y == 1, prior / (y == 1).sum(), (1 - prior) / (y == 0).sum()) * len(y)
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(scores[:, None], y, sample_weight=weight)

    found = AffineCalibrator(training_prior=prior).fit(scores, y)

    assert_allclose(found.scale_, model.coef_[0, 0], rtol=1e-5)
    assert_allclose(found.offset_, model.intercept_[0] - math.log(prior / (1 - prior)), rtol=1e-5)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_affine_map_minimises_the_stated_objective(prior, rng):
    scores, y = two_classes(rng)
    best = minimize(lambda p: cross_entropy_at(prior, p[0] * scores + p[1], y), [0, 0], tol=1e-12)

    found = AffineCalibrator(training_prior=prior).fit(scores, y)

    assert_allclose([found.scale_, found.offset_], best.x, rtol=1e-4, atol=1e-5)
    assert_allclose(found.objective_, best.fun, rtol=1e-9)
    assert_allclose(cross_entropy_at(prior, found.transform(scores), y), found.objective_, rtol=1e-12)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3], {2: 0.8, 0: 0.1, 1: 0.1}])
def test_the_affine_map_of_three_classes_minimises_the_stated_objective(priors, rng):
    scores, y = three_classes(rng)
    at = np.full(3, 1 / 3) if priors is None else np.array([priors[k] for k in range(3)])

    def objective(parameters):
        logits = parameters[0] * scores + np.append(parameters[1:], -parameters[1:].sum()) + np.log(at)
        losses = -log_softmax(logits, axis=1)[np.arange(len(y)), y]
        return sum(at[k] * losses[y == k].mean() for k in range(3))

    best = minimize(objective, [1, 0, 0], tol=1e-12)
    found = AffineCalibrator(training_prior=priors).fit(scores, y)

    assert_allclose([found.scale_, *found.offset_[:2]], best.x, rtol=1e-4, atol=1e-5)
    assert_allclose(found.objective_, best.fun, rtol=1e-9)
    assert_allclose(found.offset_.sum(), 0, atol=1e-12)


@pytest.mark.parametrize(("factor", "shift"), [(0.01, 0), (1e6, 0), (1, 1e6), (-3, 2), (1e100, 0), (1e-100, 0)])
@pytest.mark.parametrize("prior", PRIORS)
def test_an_affine_map_of_the_scores_does_not_change_the_result(prior, factor, shift, rng):
    scores, y = two_classes(rng)
    expected = AffineCalibrator(training_prior=prior).fit_transform(scores, y)

    found = AffineCalibrator(training_prior=prior).fit_transform(factor * scores + shift, y)

    assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("factor", "shift"), [(0.01, 0), (1e6, 0), (1, 1e6)])
def test_an_affine_map_of_the_scores_of_three_classes_does_not_change_the_result(factor, shift, rng):
    scores, y = three_classes(rng)
    expected = AffineCalibrator().fit_transform(scores, y)
    rows = rng.normal(size=(len(y), 1)) * shift

    found = AffineCalibrator().fit_transform(factor * scores + rows, y)

    assert_allclose(log_softmax(found, axis=1), log_softmax(expected, axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("prior", PRIORS)
def test_calibrating_twice_equals_calibrating_once(prior, rng):
    scores, y = two_classes(rng)
    once = AffineCalibrator(training_prior=prior).fit_transform(scores, y)

    again = AffineCalibrator(training_prior=prior).fit(once, y)

    assert_allclose([again.scale_, again.offset_], [1, 0], atol=1e-6)
    pooled = IsotonicCalibrator().fit_transform(scores, y)
    assert_allclose(IsotonicCalibrator().fit_transform(pooled, y), pooled, atol=1e-12)
    log_likelihoods, labels = three_classes(rng)
    first = AffineCalibrator().fit_transform(log_likelihoods, labels)
    second = AffineCalibrator().fit(first, labels)
    assert_allclose([second.scale_, *second.offset_], [1, 0, 0, 0], atol=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_the_offset_is_correct_at_every_prior_and_share_of_targets(share, prior):
    # Quantiles of N(±s²/2, s²) instead of samples, so the llr is known.
    n_targets, n = 20_000, round(20_000 / share)
    y = np.repeat([1, 0], [n_targets, n - n_targets])
    ranks = np.concatenate([(np.arange(m) + 0.5) / m for m in (n_targets, n - n_targets)])
    llr = np.sqrt(2) * norm.ppf(ranks) + np.where(y == 1, 1, -1)

    found = AffineCalibrator(training_prior=prior).fit(5 * llr - 7, y)

    assert_allclose([5 * found.scale_, found.offset_ - 7 * found.scale_], [1, 0], atol=5e-3)


@pytest.mark.parametrize("make", [AffineCalibrator, IsotonicCalibrator])
def test_weights_equal_repetition_and_rows_of_weight_zero_have_no_effect(make, rng):
    scores, y = two_classes(rng, 100)
    scores = scores.round(1)
    weight = rng.integers(0, 4, 100)

    weighted = make().fit(scores, y, sample_weight=weight)
    repeated = make().fit(np.repeat(scores, weight), np.repeat(y, weight))

    assert_allclose(weighted.transform(scores), repeated.transform(scores), rtol=1e-7, atol=1e-9)
    log_likelihoods, labels = three_classes(rng, 100)
    weighted = AffineCalibrator().fit_transform(log_likelihoods, labels, sample_weight=weight + 1)
    repeated = AffineCalibrator().fit(np.repeat(log_likelihoods, weight + 1, 0), np.repeat(labels, weight + 1))
    assert_allclose(weighted, repeated.transform(log_likelihoods), rtol=1e-7, atol=1e-9)


TIED = st.lists(
    st.tuples(st.sampled_from([-np.inf, -2.0, 0.0, 0.5, 1.0, 3.0, np.inf]), st.integers(1, 3), st.booleans()),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(TIED)
def test_isotonic_calibration_equals_isotonic_regression_of_scikit_learn_without_the_prior(rows):
    scores, weight, y = map(np.array, zip(*rows, (0.0, 1, True), (0.5, 1, False), strict=True))
    ranks = np.unique(scores, return_inverse=True)[1]
    posterior = IsotonicRegression().fit(ranks, y, sample_weight=weight).predict(ranks)
    with np.errstate(divide="ignore"):
        expected = np.log(posterior) - np.log1p(-posterior) - math.log(weight[y].sum() / weight[~y].sum())

    found = IsotonicCalibrator().fit_transform(scores, y, sample_weight=weight)

    assert_allclose(found, expected, atol=1e-9)
    assert_allclose(cllr(y, found, sample_weight=weight), min_cllr(y, scores, sample_weight=weight), atol=1e-12)


@pytest.mark.parametrize("bounded", [False, True])
@settings(deadline=None, max_examples=40)
@given(rows=TIED)
def test_isotonic_calibration_is_increasing_and_finite_if_bounded(bounded, rows):
    scores, weight, y = map(np.array, zip(*rows, (0.0, 1, True), (0.5, 1, False), strict=True))
    found = IsotonicCalibrator(bounded=bounded).fit(scores, y, sample_weight=weight)
    new = np.sort([-np.inf, -1e308, -5, -2, -1, -1e-9, 0, 0.2, 0.5, 0.7, 1, 2, 3, 99, 1e308, np.inf])

    llr = found.transform(new)

    assert not np.isnan(llr).any()
    assert (llr[1:] >= llr[:-1] - 1e-12).all()
    assert np.isfinite(llr).all() or not bounded


def test_the_fusion_of_one_system_equals_the_affine_map(rng):
    scores, y = two_classes(rng)
    fused, affine = (
        LogisticFusion(training_prior=0.2).fit(scores[:, None], y),
        AffineCalibrator(training_prior=0.2).fit(scores, y),
    )

    assert_allclose([*fused.weights_, fused.offset_], [affine.scale_, affine.offset_])
    assert_allclose(fused.transform(scores[:, None]), affine.transform(scores))
    many, labels = three_classes(rng)
    fused, affine = LogisticFusion().fit(many[:, None], labels), AffineCalibrator().fit(many, labels)
    assert_allclose(fused.transform(many[:, None]), affine.transform(many))


@pytest.mark.parametrize("make", [LogisticFusion, ProductFusion, VotingFusion])
def test_fusion_of_pairs_of_log_likelihoods_equals_fusion_of_their_llrs(make, rng):
    y = np.repeat([0, 1], 100)
    pairs = rng.normal(size=(200, 3, 2)) + np.eye(2)[y][:, None]

    from_pairs = make().fit_transform(pairs, y)
    from_llrs = make().fit_transform(pairs[:, :, 1] - pairs[:, :, 0], y)

    assert_allclose(from_pairs[:, 1] - from_pairs[:, 0], from_llrs, atol=1e-12)


def test_logistic_fusion_equals_logistic_regression_of_scikit_learn(rng):
    y = np.repeat([0, 1], [150, 50])
    scores = rng.normal(size=(200, 3)) * [1, 10, 0.01] + y[:, None] * [1, 5, 0]
    model = LogisticRegression(C=np.inf, class_weight="balanced", tol=1e-12, max_iter=100_000, solver="newton-cholesky")
    model.fit(scores, y)

    found = LogisticFusion().fit(scores, y)

    assert_allclose(found.weights_, model.coef_[0], rtol=1e-5)
    assert_allclose(found.offset_, model.intercept_[0], rtol=1e-5)


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1, 0.0, -7.3])
def test_a_system_with_constant_scores_is_uninformative(constant, rng):
    scores, y = two_classes(rng)
    expected = AffineCalibrator().fit(scores, y)

    fused = LogisticFusion().fit(np.column_stack([scores, np.full(len(y), constant)]), y)

    new = np.column_stack([[-1.0, 0.0, 2.0], [constant, constant + 0.1, constant - 0.1]])
    assert_allclose(fused.transform(new), expected.transform(new[:, 0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("factor", [1, 1.7, -1e5])
def test_a_duplicate_system_does_not_change_the_fusion(factor, rng):
    scores, y = two_classes(rng)

    twice = np.column_stack([scores, factor * scores + 3])

    assert_allclose(LogisticFusion().fit_transform(twice, y), AffineCalibrator().fit_transform(scores, y), atol=1e-5)


def test_likelihoods_of_independent_systems_multiply(rng):
    # Worked example 14: P(C given A, B) ∝ P(C given A) P(C given B) / P(C).
    priors, a, b = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    posteriors = priors * a * b / (priors * a * b).sum(axis=1, keepdims=True)
    given_a, given_b = (priors * view / (priors * view).sum(axis=1, keepdims=True) for view in (a, b))
    product = given_a * given_b / priors

    fused = ProductFusion().fit_transform(np.log(np.stack([a, b], axis=1)))

    assert_allclose(fused, np.log(a) + np.log(b))
    assert_allclose(np.exp(log_softmax(fused + np.log(priors), axis=1)), posteriors)
    assert_allclose(product / product.sum(axis=1, keepdims=True), posteriors)


def test_contradictory_infinite_llrs_give_an_llr_of_zero():
    fused = ProductFusion().fit_transform([[np.inf, -np.inf], [np.inf, 3.0], [-np.inf, -np.inf]])

    assert_array_equal(fused, [0, np.inf, -np.inf])


def test_votes_equal_the_worked_example():
    scores = [[-5, -4, 3], [0.1, 0.1, -99]]

    assert_array_equal(VotingFusion().fit_transform(scores) > 0, [False, True])
    assert_array_equal(ProductFusion().fit_transform(scores) > 0, [False, False])
    assert_array_equal(VotingFusion().fit_transform([[[3, 1, 2], [0, 0, 0], [5, 1, 9]]]), [[1, 0, 2]])


SEPARABLE = {
    "separable": ([0.0, 1, 2, 3], [0, 0, 1, 1]),
    "separable downwards": ([3.0, 2, 1, 0], [0, 0, 1, 1]),
    "quasi-separable": ([0.0, 1, 1, 3], [0, 0, 1, 1]),
    "one of each": ([-0.3, 0.7], [0, 1]),
    "a hundred of each": ([*np.linspace(0, 1, 100), *np.linspace(1 + 1e-9, 2, 100)], [0] * 100 + [1] * 100),
}


@pytest.mark.parametrize("kind", SEPARABLE)
@pytest.mark.parametrize("make", [AffineCalibrator, LogisticFusion])
def test_separable_scores_cause_a_warning_and_finite_llrs(make, kind):
    scores, y = np.array(SEPARABLE[kind][0]), np.array(SEPARABLE[kind][1])
    scores = scores[:, None] if make is LogisticFusion else scores

    with pytest.warns(DegenerateDataWarning, match="without error"):
        found = make().fit(scores, y)

    llr = found.transform(scores)
    assert np.isfinite(llr).all()
    assert llr[y == 1].min() >= llr[y == 0].max() - 1e-9
    n = len(y) // 2  # Laplace's rule bounds the average posterior by (n + 1) / (n + 2)
    assert expit(llr[y == 1]).mean() <= (n + 1) / (n + 2) + 1e-6


def test_a_single_mistake_among_many_scores_is_not_separable(rng):
    scores = np.append(rng.normal(size=20_000), 5.0)
    y = np.append(scores[:-1] > 0, False)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = AffineCalibrator().fit(scores, y)

    best = minimize(lambda p: cross_entropy_at(0.5, p[0] * scores + p[1], y), [1, 0], tol=1e-12, method="Nelder-Mead")
    assert found.objective_ <= best.fun + 1e-9


@pytest.mark.parametrize("prior", [*PRIORS, None])
def test_constant_scores_are_uninformative(prior):
    y = np.repeat([0, 1], [30, 10])

    assert_allclose(AffineCalibrator(training_prior=prior).fit(np.full(40, 0.1), y).transform([0.1, 5]), 0, atol=1e-9)
    assert_allclose(IsotonicCalibrator().fit(np.full(40, 0.1), y).transform([0.1, 5]), 0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_constant_scores_of_three_classes_are_uninformative(seed):
    y = np.random.default_rng(seed).integers(0, 3, 300)

    found = AffineCalibrator().fit(np.tile([0.1, 0.2, 0.3], (300, 1)), y)

    assert_allclose(np.ptp(found.transform([[0.1, 0.2, 0.3], [3.0, 1.0, 2.0]]), axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.98, 0.02], [0.2, 0.5, 0.3]])
def test_priors_estimated_without_labels_equal_those_of_the_rows(priors, rng):
    y = rng.choice(len(priors), size=20_000, p=priors)
    means = 2.0 * np.arange(len(priors))
    log_likelihoods = -0.5 * (rng.normal(size=len(y)) + means[y] - means[:, None]).T ** 2

    found = estimate_priors(log_likelihoods)

    assert_allclose(found, priors, atol=0.02)
    assert_allclose(found.sum(), 1)
    # Karush–Kuhn–Tucker: the gradient is 1 where the prior is positive, and at most 1 elsewhere.
    mixed = logsumexp(log_likelihoods + np.log(found), axis=1)
    assert_allclose(np.exp(log_likelihoods - mixed[:, None]).mean(axis=0), 1, atol=1e-4)


def test_the_prior_of_a_class_that_never_occurs_vanishes(rng):
    llr = 2 * rng.normal(size=5000) - 2

    found = estimate_priors(llr)

    assert found[1] < 0.01
    gradient = np.mean(np.exp(llr) / (found[0] + found[1] * np.exp(llr)))
    assert gradient <= 1 + 1e-6
