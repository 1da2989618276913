"""Laws of linear models that are estimated from moments in closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import likely
from likely import (
    PCA,
    ArraySource,
    CalibratedClassifier,
    FisherClassifier,
    LeastSquaresClassifier,
    LinearRegression,
    Standardize,
    kfold_scores,
    make_pipeline,
)
from likely.blocks import joint_moments
from likely.statistics import JointMoments, Moments

CLASSIFIERS = [
    LeastSquaresClassifier(),
    LeastSquaresClassifier(regularization=0.3),
    FisherClassifier(),
    make_pipeline(Standardize(), PCA(3), LeastSquaresClassifier()),
    make_pipeline(PCA(3), FisherClassifier()),
]
REGRESSIONS = [LinearRegression(), LinearRegression(regularization=0.3)]
everyone = pytest.mark.parametrize(
    "model", CLASSIFIERS + REGRESSIONS, ids=lambda m: str(m).replace("\n", "").replace(" ", "")
)
classifiers = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: str(m).replace("\n", "").replace(" ", ""))


@pytest.fixture
def rows(rng):
    codes = rng.choice(3, size=300, p=[0.5, 0.3, 0.2])
    means = np.array([[0, 0, 0, 0], [2, 1, 0, 0], [0, 2, 3, 0]])
    return rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + means[codes], codes


def labels_for(model, X, codes):
    """Return labels for a classifier; for a regression two targets, one of them far from zero."""
    if not isinstance(model, LinearRegression):
        return np.array(["a", "b", "c"])[codes]
    return np.column_stack([X @ [1.0, -2.0, 0.5, 0.0] + codes, 1e4 + codes])


def outputs(model, X):
    for method in ("log_likelihood", "decision_function", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError("no outputs")


def assert_alike(a, b, X, tol=1e-9):
    assert_allclose(outputs(a, X), outputs(b, X), rtol=tol, atol=tol)


@everyone
def test_weights_equal_repetition(model, rows, rng):
    X, codes = rows
    y, repeats = labels_for(model, X, codes), rng.integers(1, 4, 300)

    weighted = clone(model).fit(X, y, sample_weight=repeats.astype(float))
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats, axis=0))

    assert_alike(weighted, repeated, X)


@everyone
def test_rows_of_weight_zero_are_ignored(model, rows, rng):
    X, codes = rows
    y, w = labels_for(model, X, codes), (rng.random(300) < 0.7).astype(float)
    dirty = X.copy()
    dirty[w == 0] = 1e6

    assert_alike(clone(model).fit(dirty, y, sample_weight=w), clone(model).fit(X[w > 0], y[w > 0]), X)


@everyone
def test_the_order_of_rows_does_not_matter(model, rows, rng):
    X, codes = rows
    y, order = labels_for(model, X, codes), rng.permutation(300)

    assert_alike(clone(model).fit(X[order], y[order]), clone(model).fit(X, y), X)


@everyone
@pytest.mark.parametrize("cuts", [[150], [5, 20, 290], [1, 2, 3]])
def test_batches_give_the_same_model_as_one_fit(model, rows, cuts):
    X, codes = rows
    y, parts = labels_for(model, X, codes), clone(model)

    for part in np.split(np.arange(300), cuts):
        parts.partial_fit(X[part], y[part])

    assert_alike(parts, clone(model).fit(X, y), X)


@everyone
@pytest.mark.parametrize("block_rows", [1, 17, 299, 1000])
def test_a_source_with_any_blocks_gives_the_same_model_as_arrays(model, rows, block_rows):
    X, codes = rows
    y = labels_for(model, X, codes)
    known = {"targets": y} if isinstance(model, LinearRegression) else {"codes": codes, "classes": np.unique(y)}
    source = ArraySource(X, block_rows=block_rows, **known)

    assert_alike(clone(model).fit_source(source), clone(model).fit(X, y), X)


@everyone
def test_one_thread_and_two_give_the_same_bits(model, rows, monkeypatch):
    X, codes = np.tile(rows[0], (200, 1)), np.tile(rows[1], 200)
    y = labels_for(model, X, codes)
    threaded = clone(model).fit(X, y)
    monkeypatch.setattr("likely.blocks.threads.n_threads", lambda: 1)

    alone = clone(model).fit(X, y)

    assert_array_equal(outputs(alone, X[:300]), outputs(threaded, X[:300]))


@everyone
@pytest.mark.parametrize(
    "convert", [csr_array, np.asfortranarray, lambda X: X.tolist(), lambda X: X.astype(np.float32).astype(object)]
)
def test_every_form_of_input_gives_the_same_output(model, rows, convert):
    X, codes = np.round(rows[0] * 4) / 4, rows[1]
    y = labels_for(model, X, codes)
    plain, other = clone(model).fit(X, y), clone(model).fit(convert(X), y)

    assert_allclose(outputs(other, convert(X)), outputs(plain, X), rtol=1e-9, atol=1e-9)


@everyone
def test_data_far_from_zero_give_accurate_outputs(model, rows):
    X, codes = rows
    y = labels_for(model, X, codes)
    far = X + 1e8

    assert_allclose(outputs(clone(model).fit(far, y), far), outputs(clone(model).fit(X, y), X), rtol=1e-5, atol=1e-5)


@everyone
def test_columns_of_very_different_units_give_accurate_outputs(model, rows):
    X, codes = rows
    y, units = labels_for(model, X, codes), np.array([1e-6, 1e6, 1.0, 1e3])
    if getattr(model, "regularization", 0) or isinstance(model, likely.Pipeline):
        model = make_pipeline(Standardize(), *([step for _, step in getattr(model, "steps", [("", model)])]))

    assert_allclose(
        outputs(clone(model).fit(X * units, y), X * units), outputs(clone(model).fit(X, y), X), rtol=1e-7, atol=1e-7
    )


@classifiers
def test_relabelling_only_renames(model, rows):
    X, codes = rows
    y, renamed = np.array(["a", "b", "c"])[codes], np.array(["z", "y", "x"])[codes]

    plain, other = clone(model).fit(X, y), clone(model).fit(X, renamed)

    assert_allclose(outputs(other, X)[:, ::-1], outputs(plain, X), rtol=1e-8, atol=1e-9)
    names = {"a": "z", "b": "y", "c": "x"}
    assert_array_equal(other.predict(X), [names[label] for label in plain.predict(X)])


@classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
def test_out_of_fold_scores_from_sums_equal_those_of_refitting(model, rows, n_classes, monkeypatch):
    X, codes = rows
    X, y = X[codes < n_classes], codes[codes < n_classes]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = None
    for train, test in folds.split(X, y):
        part = outputs(clone(model).fit(X[train], y[train]), X[test])
        expected = np.empty((len(y), *part.shape[1:])) if expected is None else expected
        expected[test] = part
    monkeypatch.setattr(LeastSquaresClassifier, "fit", None)
    monkeypatch.setattr(FisherClassifier, "fit", None)

    scores = kfold_scores(model, X, y, folds)

    assert_allclose(scores, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("model", [m for m in CLASSIFIERS if not hasattr(m, "log_likelihood")], ids=str)
def test_a_score_has_no_log_likelihood_until_it_is_calibrated(model, rows):
    X, codes = rows
    fitted = clone(model).fit(X, codes)

    assert not hasattr(fitted, "log_likelihood")
    assert not hasattr(fitted, "predict_proba")
    calibrated = CalibratedClassifier(clone(model), cv=3).fit(X, codes)
    assert calibrated.log_likelihood(X).shape == (300, 3)
    assert calibrated.score(X, codes) > fitted.score(X, codes) - 0.05


@pytest.mark.parametrize("regularization", [0, 0.3])
def test_outputs_of_least_squares_sum_to_one_and_its_predictions_are_the_largest(rows, regularization):
    X, codes = rows
    model = LeastSquaresClassifier(regularization).fit(X, codes)
    scores = model.decision_function(X)

    assert_allclose(scores.sum(axis=1), 1)
    assert_allclose(scores, X @ model.coef_.T + model.intercept_)
    assert_array_equal(model.predict(X), scores.argmax(axis=1))
    assert scores.min() < 0


def test_the_score_of_two_classes_is_the_difference_of_their_outputs(rows):
    X, codes = rows
    model = LeastSquaresClassifier().fit(X, codes > 0)
    scores = X @ model.coef_.T + model.intercept_

    assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0], atol=1e-12)
    assert_array_equal(model.predict(X), model.decision_function(X) >= 0)


def test_merged_joint_moments_equal_those_of_all_rows(rng):
    X, T, w = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)) + 5, rng.random(50)
    whole = JointMoments.of(X, T, w)

    merged = JointMoments.zero(3, 2) + JointMoments.of(X[:20], T[:20], w[:20]) + JointMoments.of(X[20:], T[20:], w[20:])

    assert_allclose(merged.moments.scatter, whole.moments.scatter, rtol=1e-12, atol=1e-12)
    assert_allclose(merged.target_mean, np.average(T, axis=0, weights=w))
    centred = (X - np.average(X, axis=0, weights=w)) * w[:, None]
    assert_allclose(merged.cross, centred.T @ T, atol=1e-12)
    assert_allclose(whole.weight, w.sum())


def test_joint_moments_of_wide_rows_are_accurate(rng):
    X, y = rng.normal(size=(4000, 300)), rng.normal(size=(4000, 1))

    joint = ArraySource(X, targets=y).reduce(joint_moments)

    assert_allclose(joint.inputs.scatter, np.cov(X, rowvar=False, ddof=0) * 4000, atol=1e-9)
    assert_allclose(joint.cross, (X - X.mean(axis=0)).T @ y, atol=1e-9)


@pytest.mark.parametrize("model", REGRESSIONS, ids=str)
def test_a_target_is_predicted_equally_alone_and_with_others(model, rows):
    X, codes = rows
    Y = labels_for(model, X, codes)
    together = clone(model).fit(X, Y)

    for k in range(2):
        alone = clone(model).fit(X, Y[:, k])
        assert_allclose(alone.predict(X), together.predict(X)[:, k])
        assert_allclose(alone.coef_, together.coef_[k])
        assert_allclose(alone.residual_variance_, together.residual_variance_[k])


@pytest.mark.parametrize("of", ["mean", "observation"])
def test_intervals_contain_the_truth_at_the_stated_rate(of):
    rng = np.random.default_rng(5)
    X, truth, at = rng.normal(size=(12, 3)), np.array([1.0, -2.0, 0.0]), np.array([[0.5, 1.0, -2.0]])
    held, held_coefs, n_trials = 0, np.zeros(3), 4000
    for _ in range(n_trials):
        model = LinearRegression().fit(X, X @ truth + 3 + rng.normal(size=12))
        low, high = model.predict_interval(at, confidence=0.9, of=of)[0]
        value = at[0] @ truth + 3 + (rng.normal() if of == "observation" else 0)
        held += low <= value <= high
        ends = model.coef_intervals(confidence=0.9)
        held_coefs += (ends[:, 0] <= truth) & (truth <= ends[:, 1])

    three_errors = 3 * np.sqrt(0.9 * 0.1 / n_trials)
    assert_allclose(held / n_trials, 0.9, atol=three_errors)
    assert_allclose(held_coefs / n_trials, 0.9, atol=three_errors)


@pytest.mark.parametrize("regularization", [0, 0.3])
def test_the_solution_minimises_the_objective(rows, rng, regularization):
    X, codes = rows
    y = X @ [1.0, -2.0, 0.5, 0.0] + codes + 7
    model = LinearRegression(regularization).fit(X, y)

    def cost(w, b):
        return np.mean((y - X @ w - b) ** 2) / 2 + regularization / 2 * w @ w

    best = cost(model.coef_, model.intercept_)
    for _ in range(50):
        assert cost(model.coef_ + 0.01 * rng.normal(size=4), model.intercept_ + 0.01 * rng.normal()) > best
    assert_allclose(model.residual_variance_, np.mean((y - model.predict(X)) ** 2))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centre", [0, 1, 1.9, 3, 5, 1e4, 1e8])
def test_moments_of_a_large_block_are_accurate_for_any_mean(centre, weighted, rng):
    """Sums about zero and sums about the mean both lose no more than a digit."""
    X, T = rng.normal(size=(5000, 9)) + centre, rng.normal(size=(5000, 2)) + centre
    w = rng.integers(1, 4, 5000).astype(float) if weighted else None
    both = np.column_stack([X, T]).astype(np.longdouble)
    both = (both - np.average(both, axis=0, weights=w)) * (1 if w is None else np.sqrt(w)[:, None])
    exact = (both.T @ both).astype(float)

    joint, plain = JointMoments.of(X, T, w), Moments.of(X, w)

    rounding = 5000 * 2e-13
    assert_allclose(joint.moments.scatter, exact, rtol=1e-12, atol=rounding)
    assert_allclose(plain.scatter, exact[:9, :9], rtol=1e-12, atol=rounding)
    assert_array_equal(joint.moments.scatter, joint.moments.scatter.T)
    mean = np.average(np.column_stack([X, T]).astype(np.longdouble), axis=0, weights=w).astype(float)
    assert_allclose(joint.moments.mean, mean, rtol=1e-15, atol=2e-14)
    assert_allclose(plain.mean, mean[:9], rtol=1e-15, atol=2e-14)


def test_moments_are_accurate_if_the_tested_rows_are_not_typical_of_the_block(rng):
    X = rng.normal(size=(6400, 8)) + 1e7
    X[:: 6400 // 32 + 1] = 1e6 * rng.normal(size=(32, 8))
    X[1] -= 1e7

    scatter = Moments.of(X).scatter

    centred = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    assert_allclose(scatter, (centred.T @ centred).astype(float), rtol=1e-12)
