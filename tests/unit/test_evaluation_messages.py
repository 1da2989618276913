"""Error messages for invalid scores, labels, applications and calibrators."""

import re

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from likely import (
    AffineCalibrator,
    Application,
    CalibratedClassifier,
    DegenerateDataError,
    FusedClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    IsotonicCalibrator,
    LikelyError,
    LogisticFusion,
    ProductFusion,
    Trials,
    VotingFusion,
    actual_dcf,
    bayes_risk,
    bayes_risk_after_affine,
    cllr,
    confidence_interval,
    confidence_intervals,
    confusion,
    cross_entropy,
    cross_entropy_after_affine,
    eer,
    estimate_priors,
    kfold_calibrate,
    min_dcf,
    paired_difference,
    risk_coverage_curve,
    roc_auc,
    roc_curve,
)

Y = np.array([0, 0, 0, 1, 1, 1])
S = np.array([-3.0, -1.0, 1.0, -0.5, 2.0, 4.0])
Y3 = np.array(list("aabbcc"))
S3 = np.random.default_rng(0).normal(size=(6, 3))
EVEN = Application([0.5, 0.5])
THIRDS = Application([1 / 3] * 3)
X = np.random.default_rng(1).normal(size=(60, 2))
LABELS = np.repeat(["no", "yes"], 30)


def at(values, row, value):
    changed = np.array(values, dtype=float)
    changed[row] = value
    return changed


def assert_raises(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as found:
        call()
    assert isinstance(found.value, LikelyError)


TWO_CLASSES = [
    (lambda f: f(Y, S[:5]), "y_true and scores must have one entry for each row, but have 6 and 5"),
    (lambda f: f(Y, at(S, 4, np.nan)), "may be infinite but not NaN: row 4 has NaN"),
    (
        lambda f: f(np.ones(6, int), S),
        "Trials must have two classes, but y_true has 1 (1). Add trials of the other class",
    ),
    (lambda f: f([], []), "Trials must have two classes, but y_true has 0"),
    (lambda f: f(Y3, S), "y_true has 3 ('a', 'b', 'c'). To evaluate one class against the others"),
    (lambda f: f(Y, S3), "must be one llr or two log-likelihoods per row, but have shape (6, 3)"),
    (lambda f: f(Y, S3[None]), "Scores must have shape (n,) or (n, n_classes), but have shape (1, 6, 3)"),
    (lambda f: f(Y, list("abcdef")), "Scores given to Evaluation must be numbers"),
    (lambda f: f([0, 0, None, 1, 1, 1], S), "the label of row 2 is missing"),
    (lambda f: f(np.array([0, 0, "x", 1, 1, 1], object), S), "must be of one type"),
    (lambda f: f(None, S), "requires y to be passed"),
    (lambda f: f(Y, S, pos_label="z"), "pos_label='z' is not among the labels 2 (0, 1)"),
    (lambda f: f(Y, S, sample_weight=[1, 2]), "sample_weight must have one value for each of the 6 rows, but has 2"),
    (lambda f: f(Y, S, sample_weight=[1, 1, -1, 1, 1, 1]), "but row 2 has the weight -1.0"),
    (lambda f: f(Y, S, sample_weight=at(S, 1, np.nan) ** 2), "but row 1 has the weight nan"),
    (lambda f: f(Y, S, sample_weight=np.zeros(6)), "all rows have weight 0"),
    (lambda f: f(Y, S, sample_weight=Y), "All trials of one class have weight 0"),
]


@pytest.mark.parametrize(("call", "message"), TWO_CLASSES)
@pytest.mark.parametrize("f", [roc_auc, roc_curve, lambda y, s, **kw: min_dcf(y, s, 0.5, **kw)])
def test_invalid_trials_raise_an_error_with_the_reason(f, call, message):
    assert_raises(lambda: call(f), InvalidDataError, message)


@pytest.mark.parametrize("f", [bayes_risk, cross_entropy, risk_coverage_curve, bayes_risk_after_affine])
@pytest.mark.parametrize(
    ("y", "scores", "options", "message"),
    [
        (Y3, S3[:5], {}, "y_true and scores must have one entry for each row, but have 6 and 5"),
        (Y3, at(S3, (2, 1), np.nan), {}, "not NaN: row 2 has NaN"),
        (Y3, S3[:, :2], {}, "there are 2 columns for 3 classes: 'a', 'b', 'c'. Pass all classes"),
        (Y3, S, {}, "there are 2 columns for 3 classes"),
        (Y3, S3, {"labels": list("abz")}, "y_true holds the label 'c', which is not among labels=['a', 'b', 'z']"),
        (Y3, S3, {"labels": list("abb")}, "labels must name each class exactly once"),
        (Y3, S3, {"sample_weight": np.ones(5)}, "one value for each of the 6 rows, but has 5"),
        (np.repeat("a", 6), S3, {}, "there are 3 columns for 1 class: 'a'"),
        (np.array(list("aabbbb")), S3, {"labels": list("abc")}, "'c'"),
    ],
)
def test_invalid_evidence_raises_an_error_with_the_reason(f, y, scores, options, message):
    priors = THIRDS.priors if f is cross_entropy else THIRDS
    assert_raises(lambda: f(y, scores, priors, **options), InvalidDataError, message)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: actual_dcf(Y, S, THIRDS), InvalidDataError, "priors for 3 classes, but the model has 2: 0, 1"),
        (
            lambda: min_dcf(Y, S, Application({0: 0.5, 7: 0.5})),
            InvalidDataError,
            "The application names the class 7",
        ),
        (
            lambda: min_dcf(Y, S, [0.5, 1.5]),
            InvalidParameterError,
            "Effective priors must be in the open interval (0, 1), but are [0.5, 1.5]",
        ),
        (lambda: actual_dcf(Y, S, 0.0), InvalidParameterError, "prior must be in the open interval (0, 1), but is 0.0"),
        (lambda: bayes_risk(Y, S, THIRDS), InvalidDataError, "The application has priors for 3 classes"),
        (lambda: bayes_risk(Y, S, Application({0: 0.5, "z": 0.5})), InvalidDataError, "names the class 'z'"),
        (lambda: cross_entropy(Y, S, [0.5, 0.6]), InvalidParameterError, "priors must be >= 0 and sum to 1"),
        (lambda: cross_entropy(Y, S, [0.2, 0.3, 0.5]), InvalidDataError, "priors for 3 classes"),
        (
            lambda: Application([0.7, 0.7]),
            InvalidParameterError,
            "priors must be >= 0 and sum to 1, but are [0.7, 0.7]",
        ),
        (lambda: Application([0.5, 0.5], np.eye(3)), InvalidParameterError, "must have shape (2, 2)"),
        (
            lambda: Application([0.5, 0.5], np.eye(2)),
            InvalidParameterError,
            "correct decision must not cost more than a wrong one",
        ),
        (lambda: Application.binary(0.5, cost_fn=-1), InvalidParameterError, "must not cost more than a wrong one"),
        (
            lambda: actual_dcf(Y, S, Application([1.0, 0.0])),
            InvalidParameterError,
            "costs cannot be normalised by it. Use normalize=False",
        ),
        (lambda: bayes_risk(Y, S, Application([1.0, 0.0])), InvalidParameterError, "Use normalize=False"),
        (
            lambda: min_dcf(Y, S, Application([0.5, 0.5], reject_cost=0)),
            InvalidParameterError,
            "costs 0 in Application",
        ),
        (lambda: eer(Y, S, "mean"), InvalidParameterError, "method must be one of 'rocch', 'step', 'interpolated'"),
        (lambda: confusion(Y, Y[:5]), InvalidDataError, "y_true and y_decided must have one entry for each row"),
        (lambda: confusion(Y, [0, None] * 3).risk(EVEN), InvalidDataError, "but the application has no reject_cost"),
        (lambda: confusion(Y, Y3), InvalidDataError, "Labels must be of one type"),
        (lambda: confusion(Y, Y).risk(THIRDS), InvalidDataError, "priors for 3 classes"),
        (lambda: confusion(Y * 0, Y).risk(EVEN), InvalidDataError, "but class 1 of the application has none"),
    ],
)
def test_applications_that_do_not_match_raise_an_error_with_the_reason(call, error, message):
    assert_raises(call, error, message)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: confidence_interval(cllr, Y, S, n_resamples=9),
            InvalidParameterError,
            "n_resamples must be a whole number >= 10",
        ),
        (lambda: confidence_interval(cllr, Y, S, n_resamples=20.5), InvalidParameterError, "but is 20.5"),
        (
            lambda: confidence_interval(cllr, Y, S, level=1.0),
            InvalidParameterError,
            "level must be in the open interval (0, 1), but is 1.0",
        ),
        (lambda: confidence_interval(cllr, Y, S, level=95), InvalidParameterError, "but is 95"),
        (
            lambda: paired_difference(cllr, Y, S, S, level=0),
            InvalidParameterError,
            "level must be in the open interval (0, 1), but is 0",
        ),
        (
            lambda: confidence_interval(cllr, Y, S, groups=[1, 2]),
            InvalidDataError,
            "y_true and groups must have one entry",
        ),
        (lambda: confidence_interval(cllr, Y, S[:4]), InvalidDataError, "y_true and scores must have one entry"),
        (lambda: paired_difference(cllr, Y, S, S[:4]), InvalidDataError, "y_true and scores must have one entry"),
        (
            lambda: confidence_interval(cllr, Y[2:4], S[2:4]),
            DegenerateDataError,
            "needs at least two independent rows or groups",
        ),
        (
            lambda: confidence_interval(cllr, Y, S, groups=Y),
            DegenerateDataError,
            "needs at least two independent rows or groups",
        ),
        (
            lambda: confidence_intervals({"c": __import__("functools").partial(cllr, Y)}, Y, S),
            InvalidParameterError,
            "by name",
        ),
    ],
)
def test_impossible_intervals_raise_an_error_with_the_reason(call, error, message):
    assert_raises(call, error, message)


@pytest.mark.parametrize("make", [AffineCalibrator, IsotonicCalibrator])
@pytest.mark.parametrize(
    ("scores", "y", "options", "message"),
    [
        (S[:5], Y, {}, "Scores and y must have one entry for each row, but have 5 and 6"),
        (at(S, 3, np.nan), Y, {}, "may be infinite but not NaN: row 3 has NaN"),
        (S, Y3, {}, "classes"),
        (S, np.ones(6, int), {}, "y has [1]"),
        (S, [0, 0, 0, 1, None, 1], {}, "the label of row 4 is missing"),
        (np.zeros((6, 2, 2)), Y, {}, "but they have shape (6, 2, 2)"),
        (list("abcdef"), Y, {}, "Calibrator must be numbers"),
        (3.0, Y, {}, "takes one score per row, but scores is a single number"),
        (S, Y, {"sample_weight": [1, 2]}, "one value for each of the 6 rows, but has 2"),
        (S, Y, {"sample_weight": Y}, "two classes"),
        (S, None, {}, "requires y to be passed"),
    ],
)
def test_invalid_training_scores_of_calibrators_raise_an_error_with_the_reason(make, scores, y, options, message):
    assert_raises(lambda: make().fit(scores, y, **options), ValueError, message)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_training_scores_raise_an_error_with_the_row(value):
    for make, scores in [(AffineCalibrator, at(S, 4, value)), (LogisticFusion, at(S[:, None], 4, value))]:
        assert_raises(
            lambda make=make, scores=scores: make().fit(scores, Y),
            InvalidDataError,
            f"{make.__name__} cannot be fitted to infinite scores, but row 4 has one",
        )
    assert np.isfinite(IsotonicCalibrator(bounded=True).fit(at(S, 4, value), Y).transform(S)).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: AffineCalibrator(training_prior=1.0).fit(S, Y),
            InvalidParameterError,
            "must be in the open interval (0, 1), but is 1.0",
        ),
        (
            lambda: AffineCalibrator(training_prior=[0.5, 0.6]).fit(S, Y),
            InvalidParameterError,
            "sum to 1, but are [0.5, 0.6]",
        ),
        (
            lambda: AffineCalibrator(training_prior=[0.0, 1.0]).fit(S, Y),
            InvalidParameterError,
            "needs a prior > 0 for every class",
        ),
        (
            lambda: AffineCalibrator(training_prior=0.5).fit(S3, Y3),
            InvalidParameterError,
            "A single prior needs two classes",
        ),
        (
            lambda: AffineCalibrator(training_prior={0: 0.5, 9: 0.5}).fit(S, Y),
            InvalidParameterError,
            "names the class 9",
        ),
        (lambda: AffineCalibrator().fit(S3, Y), InvalidDataError, "y has 2 classes, but the scores are for 3"),
        (
            lambda: AffineCalibrator().fit(S, Y).transform(S3),
            InvalidDataError,
            "fitted to scores of 2 classes, but got scores of 3",
        ),
        (lambda: IsotonicCalibrator().fit(S3, Y), InvalidDataError, "Use AffineCalibrator for more classes"),
        (lambda: LogisticFusion().fit(S, Y), InvalidDataError, "needs scores of shape (n, systems)"),
        (lambda: LogisticFusion().fit(S3[:, :, None], Y), InvalidDataError, "at least two classes"),
        (lambda: ProductFusion().fit(np.zeros((6, 0))), InvalidDataError, "have shape (6, 0)"),
        (
            lambda: VotingFusion().fit(S3).transform(S3[:, :2]),
            InvalidDataError,
            "fitted to 3 systems, but got scores of 2",
        ),
        (
            lambda: LogisticFusion().fit(np.column_stack([S, S]), Y).transform(S3),
            InvalidDataError,
            "fitted to 2 systems",
        ),
        (lambda: estimate_priors([[1.0]]), InvalidDataError, "but got the shape (1, 1)"),
        (lambda: estimate_priors([]), InvalidDataError, "estimate_priors needs"),
        (lambda: estimate_priors([0.0, np.nan]), InvalidDataError, "row 1"),
        (lambda: cross_entropy_after_affine(Y, at(S, 0, np.inf)), InvalidDataError, "row 0"),
        (lambda: kfold_calibrate(AffineCalibrator(), S, Y[:5]), InvalidDataError, "have 6 and 5"),
    ],
)
def test_invalid_calibrators_raise_an_error_with_the_reason(call, error, message):
    assert_raises(call, error, message)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_a_fusion_fitted_to_other_classes_raises():
    many = np.random.default_rng(0).normal(size=(30, 2, 3))
    fusion = LogisticFusion().fit(many, np.arange(30) % 3)

    assert_raises(
        lambda: fusion.transform(many[:, :, :2]), InvalidDataError, "LogisticFusion was fitted to scores of 3 classes"
    )
    assert_raises(
        lambda: fusion.transform(np.zeros((5, 2))), InvalidDataError, "LogisticFusion was fitted to scores of 3 classes"
    )


@pytest.mark.parametrize("make", [AffineCalibrator, IsotonicCalibrator, LogisticFusion, ProductFusion, VotingFusion])
def test_maps_that_are_not_fitted_raise(make):
    with pytest.raises(NotFittedError, match=make.__name__):
        make().transform(S)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: CalibratedClassifier(GaussianNB(), cv="loo").fit(X, LABELS),
            InvalidParameterError,
            "pairs of train and test, 'prefit' or None, but is 'loo'",
        ),
        (
            lambda: CalibratedClassifier(LinearRegression()).fit(X, LABELS),
            InvalidParameterError,
            "estimator of CalibratedClassifier must be a classifier that gives scores, but is LinearRegression()",
        ),
        (
            lambda: CalibratedClassifier(LinearDiscriminantAnalysis()).fit(X, LABELS, np.arange(60)),
            IncompatiblePartsError,
            "takes no sample_weight",
        ),
        (lambda: CalibratedClassifier(GaussianNB()).fit(X, LABELS[:-1]), InvalidDataError, "have 60 and 59"),
        (
            lambda: CalibratedClassifier(GaussianNB()).fit(X[:30], LABELS[:30]),
            DegenerateDataError,
            "only one class: 'no'",
        ),
        (
            lambda: FusedClassifier([]).fit(X, LABELS),
            InvalidParameterError,
            "must be a list of classifiers or of (name, classifier), a mapping {name: classifier} or None, but is []",
        ),
        (
            lambda: CalibratedClassifier(GaussianNB()).fit(X, LABELS, calibration_set=(X, LABELS[:9])),
            InvalidDataError,
            "but X has 60 and y has 9",
        ),
        (
            lambda: CalibratedClassifier(GaussianNB().fit(X, np.arange(60) % 3), cv="prefit").fit(X, LABELS),
            IncompatiblePartsError,
            "GaussianNB has the classes [0, 1, 2], but y has",
        ),
    ],
)
def test_classifiers_that_cannot_be_calibrated_raise_an_error_with_the_reason(call, error, message):
    assert_raises(call, error, message)


def test_a_failed_construction_of_trials_has_no_lasting_effect():
    with pytest.raises(InvalidDataError):
        Trials(Y, S[:3])
    assert Trials(Y, S).n_targets == 3
