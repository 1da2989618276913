"""Laws of calibrated and fused classifiers, for any estimator and map."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from likely import (
    SVM,
    AffineCalibrator,
    Application,
    CalibratedClassifier,
    FusedClassifier,
    GaussianClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    IsotonicCalibrator,
    KernelLogisticRegression,
    LogisticFusion,
    ProductFusion,
    RBFKernel,
    TailCalibrator,
    VotingFusion,
    cllr,
    cross_entropy,
    kfold_calibrate,
    kfold_scores,
)

MODELS = {
    "svm": SVC(),
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
    "network": MLPClassifier((20,), max_iter=40, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "naive Bayes": GaussianNB(),
    "logistic": LogisticRegression(),
    "Gaussian": GaussianClassifier(tied=True),
}


def rows(n_classes, n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes).repeat(10), rng.integers(n_classes, size=n - 10 * n_classes)])
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], np.array(["ash", "birch", "cedar"])[y]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_any_classifier_gets_finite_log_likelihoods(name, n_classes):
    X, y = rows(n_classes)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CalibratedClassifier(MODELS[name], cv=3).fit(X, y)

    evidence = model.log_likelihood(X)
    assert evidence.shape == (len(X), n_classes)
    assert np.isfinite(evidence).all()
    assert_array_equal(model.classes_, np.unique(y))
    assert cross_entropy(y, model.calibrated_scores_) < 0.9 * np.log(n_classes)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, y) > 1.2 / n_classes
    # Priors affect only decisions and posteriors.
    shares = np.array([(y == label).mean() for label in model.classes_])
    assert_allclose(model.training_priors_, shares)
    joint = np.exp(evidence - evidence.max(axis=1, keepdims=True)) * shares
    assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    always = Application({label: float(label == "birch") for label in model.classes_})
    assert set(model.decide(X, always)) == {"birch"}


@pytest.mark.parametrize("calibrator", [None, AffineCalibrator(training_prior=0.1), IsotonicCalibrator(bounded=True)])
def test_the_k_fold_protocol_equals_its_manual_steps(calibrator):
    X, y = rows(2)
    scores = np.empty(len(y))
    for train, test in StratifiedKFold(5).split(X, y):
        scores[test] = SVC().fit(X[train], y[train]).decision_function(X[test])
    by_hand = clone(calibrator or TailCalibrator()).fit(scores, y)

    model = CalibratedClassifier(SVC(), calibrator=calibrator).fit(X, y)

    assert_allclose(model.scores_, scores)
    assert_allclose(kfold_scores(SVC(), X, y), scores)
    assert_allclose(model.llr(X), by_hand.transform(SVC().fit(X, y).decision_function(X)))
    judged = np.empty(len(y))
    for train, test in StratifiedKFold(5).split(X, y):
        judged[test] = clone(calibrator or TailCalibrator()).fit(scores[train], y[train]).transform(scores[test])
    assert_allclose(model.calibrated_scores_, judged, atol=1e-7)
    assert cllr(y, model.calibrated_scores_) < 1


@pytest.mark.parametrize("cv", [KFold(4, shuffle=True, random_state=1), "pairs", "generator"])
def test_any_folds_are_accepted(cv):
    X, y = rows(3)
    folds = KFold(4, shuffle=True, random_state=1)
    given = {"pairs": list(folds.split(X)), "generator": folds.split(X)}.get(cv, cv) if isinstance(cv, str) else cv
    expected = CalibratedClassifier(GaussianNB(), cv=list(folds.split(X))).fit(X, y)

    model = CalibratedClassifier(GaussianNB(), cv=given).fit(X, y)

    assert_allclose(model.scores_, kfold_scores(GaussianNB(), X, y, folds))
    assert_allclose(model.log_likelihood(X), expected.log_likelihood(X))


def test_leave_one_out_and_grouped_folds():
    X, y = rows(2, 60)
    alone = CalibratedClassifier(GaussianNB(), cv=LeaveOneOut()).fit(X, y)
    held_out = GaussianNB().fit(X[1:], y[1:]).predict_log_proba(X[:1])
    assert_allclose(alone.scores_[0], held_out[0, 1] - held_out[0, 0])

    groups = np.arange(60) % 6
    together = CalibratedClassifier(GaussianNB(), cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert_allclose(
        together.scores_, np.diff(kfold_scores(GaussianNB(), X, y, GroupKFold(3), groups), axis=1)[:, 0], rtol=1e-9
    )


def test_a_prefit_model_and_a_held_out_set_train_only_the_map():
    X, y = rows(2)
    new, truth = rows(2, seed=1)
    svm = SVC().fit(X, y)
    by_hand = TailCalibrator().fit(svm.decision_function(new), truth).transform(svm.decision_function(X))

    prefit = CalibratedClassifier(svm, cv="prefit").fit(new, truth)
    held_out = CalibratedClassifier(SVC()).fit(X, y, calibration_set=(new, truth))

    for model in (prefit, held_out):
        assert_allclose(model.llr(X), by_hand)
        assert model.scores_ is None
    assert prefit.model_ is svm


@pytest.mark.parametrize("how", ["calibration set", "prefit"])
def test_a_map_of_other_classes_raises(how):
    X, y = rows(2)
    other = np.where(y == "ash", "zebra", y)  # also sorts differently
    prefit = CalibratedClassifier(SVC().fit(X, y), cv="prefit")
    fit = {
        "calibration set": lambda: CalibratedClassifier(SVC()).fit(X, y, calibration_set=(X, other)),
        "prefit": lambda: prefit.fit(X, other),
    }[how]

    with pytest.raises((InvalidDataError, IncompatiblePartsError)):
        fit()


def test_scores_of_class_pairs_are_not_mistaken_for_scores_of_classes():
    X, y = rows(3)
    plain = CalibratedClassifier(SVC()).fit(X, y).score(X, y)
    try:
        pairs = CalibratedClassifier(SVC(decision_function_shape="ovo")).fit(X, y).score(X, y)
    except IncompatiblePartsError:
        pairs = plain

    assert pairs > plain - 0.1


@pytest.mark.parametrize("kind", ["frame", "list", "float32", "read-only"])
def test_rows_of_any_container_give_the_same_scores(kind):
    X, y = rows(2)
    X = X.astype(np.float32).astype(float)
    frozen = X.copy()
    frozen.flags.writeable = False
    given = {
        "frame": pd.DataFrame(X, columns=list("pqrs")),
        "list": X.tolist(),
        "float32": X.astype(np.float32),
        "read-only": frozen,
    }[kind]
    labels = {"frame": pd.Series(y), "list": y.tolist()}.get(kind, y)
    expected = CalibratedClassifier(GaussianNB()).fit(X, y).llr(X)

    model = CalibratedClassifier(GaussianNB()).fit(given, labels)

    assert_allclose(model.llr(given), expected, rtol=1e-4, atol=1e-4)
    assert model.n_features_in_ == 4
    if kind == "frame":
        assert_array_equal(model.feature_names_in_, list("pqrs"))


@pytest.mark.parametrize("make", [csr_array, csr_matrix])
def test_sparse_rows_give_the_same_scores_as_dense_rows(make):
    X, y = rows(3)
    X = np.maximum(X.round(), 0)
    expected = CalibratedClassifier(MultinomialNB()).fit(X, y).log_likelihood(X)

    found = CalibratedClassifier(MultinomialNB()).fit(make(X), y).log_likelihood(make(X))

    assert_allclose(found, expected)


def test_rows_of_weight_zero_and_repeated_rows_in_a_calibrated_classifier():
    X, y = rows(2)
    weight = np.ones(len(y))
    weight[::7] = 0
    kept = weight > 0

    weighted = CalibratedClassifier(GaussianNB()).fit(X, y, sample_weight=weight)

    assert_allclose(weighted.llr(X), CalibratedClassifier(GaussianNB()).fit(X[kept], y[kept]).llr(X))
    new, truth = rows(2, seed=1)
    twice = CalibratedClassifier(GaussianNB()).fit(np.repeat(X, 2, 0), y.repeat(2), calibration_set=(new, truth))
    doubled = CalibratedClassifier(GaussianNB()).fit(X, y, np.full(len(y), 2), calibration_set=(new, truth))
    assert_allclose(doubled.llr(X), twice.llr(X))


BUMPS = RBFKernel(0.2)
OF_KERNELS = {
    "svm": lambda kernel: CalibratedClassifier(SVM(kernel=kernel, tol=1e-9)),
    "theirs": lambda kernel: CalibratedClassifier(SVC(kernel=kernel, tol=1e-9), cv=KFold(4)),
    "fused": lambda kernel: FusedClassifier([SVM(kernel=kernel, tol=1e-9), KernelLogisticRegression(kernel=kernel)]),
    "inside": lambda kernel: CalibratedClassifier(CalibratedClassifier(SVM(kernel=kernel, tol=1e-9))),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", OF_KERNELS)
def test_a_precomputed_kernel_is_calibrated_like_its_rows(name, n_classes):
    X, y = rows(n_classes, 120)
    new, _ = rows(n_classes, 60, seed=1)

    of_kernel = OF_KERNELS[name]("precomputed").fit(BUMPS(X), y)

    of_rows = OF_KERNELS[name](BUMPS).fit(X, y)
    assert_allclose(of_kernel.scores_, of_rows.scores_, atol=1e-4)
    assert_allclose(of_kernel.log_likelihood(BUMPS(new, X)), of_rows.log_likelihood(new), atol=1e-4)


def test_scikit_learn_slices_the_columns_of_a_calibrated_kernel():
    X, y = rows(2, 120)
    of_kernel, of_rows = OF_KERNELS["svm"]("precomputed"), OF_KERNELS["svm"](BUMPS)

    found = cross_val_predict(of_kernel, BUMPS(X), y, method="predict_proba")

    assert_allclose(found, cross_val_predict(of_rows, X, y, method="predict_proba"), atol=1e-4)


def test_a_precomputed_kernel_of_other_rows_trains_only_the_map():
    X, y = rows(2, 120)
    new, truth = rows(2, 60, seed=1)
    weight = np.arange(60) % 3
    svm = SVM(kernel="precomputed")
    expected = CalibratedClassifier(SVM(kernel=BUMPS).fit(X, y), cv="prefit").fit(new, truth, weight).llr(X)

    prefit = CalibratedClassifier(clone(svm).fit(BUMPS(X), y), cv="prefit").fit(BUMPS(new, X), truth, weight)
    held_out = CalibratedClassifier(svm).fit(BUMPS(X), y, calibration_set=(BUMPS(new, X), truth, weight))

    for model in (prefit, held_out):
        assert_allclose(model.llr(BUMPS(X)), expected, atol=1e-3)


@pytest.mark.parametrize("cv", [5, KFold(4), "pairs"])
def test_rows_of_weight_zero_in_a_precomputed_kernel_have_no_effect(cv):
    X, y = rows(2, 120)
    weight, spoiled = (np.arange(120) % 5).astype(float), X.copy()
    spoiled[weight == 0] = 50.0
    model = CalibratedClassifier(
        SVM(kernel="precomputed", tol=1e-9), cv=list(KFold(4).split(X)) if cv == "pairs" else cv
    )

    evidence = [clone(model).fit(BUMPS(Z), y, weight).llr(BUMPS(X, Z)) for Z in (X, spoiled)]

    assert_allclose(*evidence, atol=1e-4)
    final = SVM(kernel=BUMPS, tol=1e-9).fit(X, y, weight).decision_function(X)
    assert_allclose(np.corrcoef(evidence[0], final)[0, 1], 1)


def test_a_kernel_and_its_columns_as_features_are_fused():
    X, y = rows(2, 120)
    K = BUMPS(X)
    systems = [SVM(kernel="precomputed"), GaussianClassifier("diagonal")]

    fused = FusedClassifier(systems).fit(K, y, np.arange(120) % 5)

    assert_allclose(
        fused.scores_[:, 1], np.diff(kfold_scores(systems[1], K, y, sample_weight=np.arange(120) % 5))[:, 0]
    )
    assert np.isfinite(fused.llr(K)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fused_classifiers_equal_their_manual_steps(n_classes):
    X, y = rows(n_classes)
    systems = [SVC(), GaussianClassifier("diagonal"), LogisticRegression()]
    parts = kfold_scores(systems, X, y)
    parts = [np.diff(p, axis=1)[:, 0] if n_classes == 2 and p.ndim == 2 else p for p in parts]
    fusion = LogisticFusion().fit(np.stack(parts, axis=1), y)
    final = [
        SVC().fit(X, y).decision_function(X),
        GaussianClassifier("diagonal").fit(X, y).log_likelihood(X),
        LogisticRegression().fit(X, y).decision_function(X),
    ]
    final = [np.diff(p, axis=1)[:, 0] if n_classes == 2 and p.ndim == 2 else p for p in final]
    by_hand = fusion.transform(np.stack(final, axis=1))

    fused = FusedClassifier([("svm", systems[0]), *systems[1:]]).fit(X, y)

    assert_allclose(fused.llr(X) if n_classes == 2 else fused.log_likelihood(X), by_hand, rtol=1e-7, atol=1e-9)
    assert_allclose(fused.calibrated_scores_, kfold_calibrate(LogisticFusion(), np.stack(parts, axis=1), y))


@pytest.mark.parametrize("fuser", [LogisticFusion(), ProductFusion(), VotingFusion()])
def test_columns_of_scores_are_fused_without_models(fuser, rng):
    y = np.repeat(["no", "yes"], 60)
    scores = rng.normal(size=(120, 3)) + (y == "yes")[:, None]

    fused = FusedClassifier(fuser=fuser).fit(scores, y)

    assert_allclose(fused.llr(scores), clone(fuser).fit(scores, y).transform(scores))
    assert_allclose(fused.calibrated_scores_, kfold_calibrate(fuser, scores, y))
    truth = rng.integers(3, size=150)
    many = rng.normal(size=(150, 2, 3)) + np.eye(3)[truth][:, None]
    assert_allclose(
        FusedClassifier(fuser=fuser).fit(many, truth).log_likelihood(many), clone(fuser).fit_transform(many, truth)
    )


def test_every_fold_is_held_out_when_a_calibrator_is_evaluated(rng):
    y = np.repeat([0, 1], 50)
    scores = rng.normal(size=100) + 2 * y
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(scores, y))
    expected = kfold_calibrate(AffineCalibrator(), scores, y, folds)

    for train, test in folds:
        by_hand = AffineCalibrator().fit(scores[train], y[train]).transform(scores[test])
        assert_allclose(expected[test], by_hand)
        spoiled = scores.copy()
        spoiled[test] += 100 * (1 - y[test])  # held-out rows do not affect their own map
        moved = kfold_calibrate(AffineCalibrator(), spoiled, y, folds)[test]
        assert_allclose(moved[y[test] == 1], expected[test][y[test] == 1])


def test_an_error_leaves_a_fitted_classifier_unchanged():
    X, y = rows(2)
    model = CalibratedClassifier(GaussianNB()).fit(X, y)
    before = model.llr(X)

    with pytest.raises(InvalidDataError):
        model.fit(X, y[:-1])

    assert_array_equal(model.llr(X), before)
