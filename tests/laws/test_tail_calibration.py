"""Laws of calibration with compressed tails, and of the warnings of affine calibration."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from scipy.stats import chi2
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from likely import (
    AffineCalibrator,
    CalibratedClassifier,
    DegenerateDataWarning,
    GaussianClassifier,
    TailCalibrator,
    cross_entropy,
    load,
    save,
)
from likely.calibration import logistic_map
from likely.calibration.logistic_map import ROUNDED_GRADIENT
from likely.calibration.tail import CRITICAL_VALUE, compress


def draw(seed, K=None, n=None, outliers=True):
    """Draw scores of K classes, some with outliers, as log-likelihood ratios for two classes."""
    rng = np.random.default_rng(seed)
    K, n = K or int(rng.integers(2, 5)), n or int(rng.integers(10, 60))
    y = np.concatenate([np.arange(K), rng.integers(0, K, n * K - K)])
    scores = rng.normal(size=(n * K, K)) + rng.choice([0.5, 1.5]) * np.eye(K)[y]
    if outliers:
        scores[rng.random(len(y)) < 0.1] *= 10.0 ** rng.integers(1, 8)
    return (scores[:, 1] - scores[:, 0] if K == 2 else scores), y


def fit_quietly(calibrator, scores, y, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator.fit(scores, y, **kwargs)
    return calibrator, [str(warning.message) for warning in caught]


def as_columns(scores):
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def centred(scores):
    columns = as_columns(scores)
    return columns - columns.mean(axis=1, keepdims=True)


def relative_gradient(calibrator, scores, y):
    """Return the gradient of the cross-entropy at equal priors by scale and offsets, relative to its absolute terms."""
    columns = centred(scores)
    posteriors = softmax(as_columns(calibrator.transform(scores)), axis=1)
    residual = (posteriors - np.eye(columns.shape[1])[y]) / np.bincount(y)[y][:, None]
    terms = np.column_stack([(residual * columns).sum(axis=1), residual])
    sizes = np.append(np.abs(residual * columns).sum(), np.abs(residual).sum(axis=0))
    return (np.abs(terms.sum(axis=0)) / sizes).max()


def test_the_solver_warns_only_where_the_gradient_is_large():
    for seed in range(1000):
        scores, y = draw(seed, n=8 + seed % 20)
        found, messages = fit_quietly(AffineCalibrator(), scores, y)

        assert relative_gradient(found, scores, y) > ROUNDED_GRADIENT or not any("stopped" in m for m in messages)


def test_a_solver_that_stops_anywhere_warns_exactly_where_the_gradient_is_large(monkeypatch):
    newton, warned = logistic_map.newton, []

    def stop(evaluate, start, goal):
        # Stop after some steps, and report that the goal is missed even where it is reached.
        return replace(newton(evaluate, start, replace(goal, max_iter=seed % 10)), converged=False)

    monkeypatch.setattr(logistic_map, "newton", stop)
    for seed in range(300):
        scores, y = draw(seed, n=20, outliers=False)
        found, messages = fit_quietly(AffineCalibrator(), scores, y)
        if not any("separate" in message for message in messages):
            gradient = relative_gradient(found, scores, y)
            warned.append(bool(messages))

            # The units of the solver differ from those of the test, hence a factor of 100.
            assert gradient > ROUNDED_GRADIENT / 100 if messages else gradient < 100 * ROUNDED_GRADIENT
    assert 50 < sum(warned) < len(warned) - 50


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_problems_of_three_classes_cause_no_warning(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 80)
    X = rng.normal(size=(240, 5)) + 1.5 * np.eye(5)[y]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CalibratedClassifier(GaussianClassifier(), calibrator=AffineCalibrator()).fit(X, y)
        CalibratedClassifier(GaussianClassifier(), calibrator=TailCalibrator()).fit(X, y)
    assert [str(each.message) for each in caught] == []


@pytest.mark.parametrize("seed", range(60))
def test_the_training_cross_entropy_is_at_most_that_of_raw_scores_and_of_the_priors(seed):
    scores, y = draw(seed)
    found, messages = fit_quietly(TailCalibrator(), scores, y)
    after, K = cross_entropy(y, found.transform(scores)), len(found.classes_)

    assert after <= np.log(K) * (1 + 1e-9)
    assert messages or after <= cross_entropy(y, scores) * (1 + 1e-9)
    assert messages or after == pytest.approx(found.objective_, rel=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e6])
@pytest.mark.parametrize("K", [2, 3])
def test_separable_scores_are_calibrated_by_laplaces_rule(K, size):
    rng = np.random.default_rng(K)
    y = np.repeat(np.arange(K), 20)
    scores = rng.random((len(y), K)) + 2 * np.eye(K)[y]
    scores[::7] *= size
    scores = scores[:, 1] - scores[:, 0] if K == 2 else scores
    with pytest.warns(DegenerateDataWarning, match="TailCalibrator: the scores separate some rows"):
        found = TailCalibrator().fit(scores, y)
    targets = (np.eye(K) + 1 / 20) / (1 + K / 20)

    def soft(scores):
        return -(targets[y] * log_softmax(as_columns(scores), axis=1)).sum(axis=1).mean()

    assert soft(found.transform(scores)) == pytest.approx(found.objective_, rel=1e-9)
    assert found.objective_ <= min(soft(scores), np.log(K))
    assert cross_entropy(y, found.transform(scores)) < 0.5 * np.log(K)
    assert np.isinf(found.tail_) == (size == 1.0)


@pytest.mark.parametrize("seed", range(30))
def test_factors_and_shifts_of_rows_do_not_matter(seed):
    scores, y = draw(seed)
    rng = np.random.default_rng(seed)
    found, _ = fit_quietly(TailCalibrator(), scores, y)
    moved = scores * 8.0 if scores.ndim == 1 else 3.7 * (scores + rng.normal(size=(len(y), 1)))
    other, _ = fit_quietly(TailCalibrator(), moved, y)

    assert np.isinf(other.tail_) == np.isinf(found.tail_)
    assert_allclose(centred(other.transform(moved)), centred(found.transform(scores)), rtol=1e-4, atol=1e-4)


def test_two_columns_equal_their_difference():
    scores, y = draw(3, K=2, n=100)
    pairs = np.column_stack([5 - scores / 2, 5 + scores / 2])

    expected = TailCalibrator().fit(scores, y).transform(scores)

    assert_allclose(TailCalibrator().fit(pairs, y).transform(pairs)[:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_weights_equal_repetition(seed):
    scores, y = draw(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(y))
    weighted, _ = fit_quietly(TailCalibrator(), scores, y, sample_weight=weight)
    repeated, _ = fit_quietly(TailCalibrator(), np.repeat(scores, weight, 0), np.repeat(y, weight))

    assert_allclose(weighted.tail_, repeated.tail_, rtol=1e-6)
    assert_allclose(weighted.transform(scores), repeated.transform(scores), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_relabelling_permutes_the_calibrated_scores(seed):
    scores, y = draw(seed)
    found, _ = fit_quietly(TailCalibrator(), scores, y)
    swapped = -scores if scores.ndim == 1 else scores[:, ::-1]
    other, _ = fit_quietly(TailCalibrator(), swapped, y.max() - y)
    expected = centred(found.transform(scores))[:, ::-1]

    assert_allclose(other.tail_, found.tail_, rtol=1e-6)
    assert_allclose(centred(other.transform(swapped)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("prior", [None, 0.1, 0.9])
@pytest.mark.parametrize("rising", [False, True])
def test_without_tails_the_map_equals_the_affine_one_exactly(prior, rising):
    for seed in range(10):
        scores, y = draw(seed, K=2, outliers=False)
        scores = -scores if seed % 2 else scores
        affine, _ = fit_quietly(AffineCalibrator(training_prior=prior, rising=rising), scores, y)
        tail, _ = fit_quietly(TailCalibrator(training_prior=prior, rising=rising), scores, y)

        assert np.isinf(tail.tail_)
        assert (tail.scale_, tail.offset_, tail.objective_) == (affine.scale_, affine.offset_, affine.objective_)
        assert_array_equal(tail.transform(scores), affine.transform(scores))


def test_compression_is_rarely_used_for_gaussian_scores():
    found = [fit_quietly(TailCalibrator(), *draw(seed, outliers=False))[0] for seed in range(200)]

    assert sum(np.isfinite(calibrator.tail_) for calibrator in found) <= 2


def test_the_critical_value_is_that_of_chi_squared():
    assert pytest.approx(chi2.isf(0.001, 1), abs=0.005) == CRITICAL_VALUE


@pytest.mark.parametrize("K", [2, 4])
def test_compression_decreases_the_objective_by_more_than_the_critical_value(K):
    scores, y = draw(11, K=K, n=200)
    affine, tail = AffineCalibrator().fit(scores, y), TailCalibrator().fit(scores, y)
    n = K**2 / (1 / np.bincount(y)).sum()

    assert np.isfinite(tail.tail_)
    assert 2 * n * (affine.objective_ - tail.objective_) > CRITICAL_VALUE


@pytest.mark.parametrize("K", [2, 3])
def test_the_compression_found_is_close_to_the_best_of_a_fine_grid(K):
    rng = np.random.default_rng(K)
    y = np.arange(900) % K
    scores = rng.standard_t(2, size=(900, K)) + 2 * np.eye(K)[y]
    scores = scores[:, 1] - scores[:, 0] if K == 2 else scores
    found = TailCalibrator().fit(scores, y)
    systems = scores[:, None] if K == 2 else scores[:, None, :]
    grid = [
        AffineCalibrator().fit(compress(systems, tail, found.center_)[:, 0], y).objective_
        for tail in np.geomspace(1e-3, 1e3, 40)
    ]

    assert found.objective_ <= min(grid) + 2e-4


def test_many_rows_with_rare_outliers_are_compressed():
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 2
    scores = rng.normal(size=len(y)) + 2 * y
    scores[[100, 2001, 30_003]] = [1e9, -1e9, -1e9]  # 3 of 40,000, each on the wrong side
    found = TailCalibrator().fit(scores, y)

    clean = AffineCalibrator().fit(np.delete(scores, [100, 2001, 30_003]), np.delete(y, [100, 2001, 30_003]))
    assert AffineCalibrator().fit(scores, y).objective_ > 0.69
    assert found.objective_ < clean.objective_ + 0.02


def test_the_order_of_scores_is_kept(rng):
    x = np.sort(rng.standard_cauchy(50))
    rows = rng.standard_cauchy((50, 1, 4))

    for tail in (1e-6, 0.3, 1e5):
        assert (np.diff(compress(x[:, None], tail, 0.5)[:, 0]) > 0).all()
        assert_array_equal(compress(rows, tail).argsort(axis=2), rows.argsort(axis=2))
    assert_allclose(compress(x[:, None], 1e12), x[:, None], rtol=1e-6)


def test_infinite_scores_do_not_become_nan():
    scores, y = draw(11, K=3, n=200)
    found = TailCalibrator().fit(scores, y)
    mapped = found.transform([[np.inf, 0.0, 1.0], [0.0, -np.inf, 1.0], [-np.inf] * 3])

    assert np.isfinite(found.tail_)
    assert not np.isnan(mapped).any()
    assert mapped[0].argmax() == 0
    assert mapped[1, 1] == -np.inf


def test_falling_scores_carry_no_evidence_if_the_map_must_rise():
    scores, y = draw(11, K=2, n=200)
    falling = TailCalibrator(rising=True).fit(-scores, y)

    assert falling.scale_ == 0
    assert TailCalibrator(rising=True).fit(scores, y).scale_ > 0
    assert_array_equal(falling.transform(scores), 0.0)


@pytest.mark.parametrize("K", [2, 3])
def test_saved_calibrators_load(K, tmp_path):
    for outliers in (False, True):
        scores, y = draw(11, K=K, n=200, outliers=outliers)
        found = TailCalibrator(training_prior=None if K > 2 else 0.3).fit(scores, y)
        save(found, tmp_path / "map.likely")
        loaded = load(tmp_path / "map.likely")

        assert np.isfinite(loaded.tail_) == outliers
        assert_array_equal(loaded.transform(scores), found.transform(scores))


def test_digits_keep_their_accuracy_and_gain_a_useful_cross_entropy():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # some pixels are constant within a class
        model = CalibratedClassifier(GaussianClassifier()).fit(X, y)
    affine = AffineCalibrator().fit(model.scores_, y).transform(model.model_.log_likelihood(X_test))

    assert model.score(X_test, y_test) >= 0.92
    assert cross_entropy(y_test, model.log_likelihood(X_test)) <= 0.45
    assert cross_entropy(y_test, affine) > 2
