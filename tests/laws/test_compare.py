"""A comparison gives each candidate the numbers it would get alone, whatever else is compared."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import likely
from likely import (
    SVM,
    Application,
    DegenerateDataError,
    GaussianClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    IsotonicCalibrator,
    LogisticFusion,
    LogisticRegression,
    NearestMeanClassifier,
    Perceptron,
    Standardize,
    TailCalibrator,
    bayes_risk,
    bayes_risk_after_affine,
    cross_entropy,
    kfold_calibrate,
    kfold_scores,
    make_pipeline,
)
from likely import compare as compare_all

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
OWN = {
    "tied": GaussianClassifier(tied=True),
    "mean": NearestMeanClassifier(),
    "logistic": make_pipeline(Standardize(), LogisticRegression(0.01)),
    "theirs": TheirLogisticRegression(),
}


def compare(X, y, candidates=None, applications=None, **options):
    """Compare without fusions by default, since their intervals take time."""
    return compare_all(X, y, candidates, applications, **{"fuse": 0, **options})


def rows_of(n, n_classes, rng, d=3):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(n_classes, d))[y], y


@pytest.fixture
def two(rng):
    return rows_of(60, 2, rng)


@pytest.fixture
def three(rng):
    return rows_of(75, 3, rng)


def llr_of(scores):
    return scores[:, 1] - scores[:, 0] if scores.ndim == 2 else scores


def board(comparison):
    """Return the facts of a comparison without its times."""
    facts = comparison.to_dict()
    del facts["seconds"], facts["settings"]
    return facts


def assert_same_systems(first, second, tol=1e-9):
    """Assert equal systems in the same order with equal scores and costs, up to rounding."""
    assert [system.name for system in first] == [system.name for system in second]
    for one, other in zip(first, second, strict=True):
        assert_allclose(one.scores, other.scores, rtol=tol, atol=tol)
        assert_allclose(one.standing.actual, other.standing.actual, rtol=tol)
        assert_allclose(one.standing.minimum, other.standing.minimum, rtol=tol)


# Scores are those of each candidate alone


def test_scores_of_a_system_are_its_pooled_out_of_fold_scores(two):
    X, y = two

    comparison = compare(X, y, OWN)

    assert len(comparison) == len(OWN)
    for name, estimator in OWN.items():
        assert_allclose(comparison[name].scores, llr_of(kfold_scores(estimator, X, y, FOLDS)), atol=1e-6)


def test_scores_of_three_classes_are_one_for_each_class(three):
    X, y = three

    comparison = compare(X, y, OWN)

    for name, estimator in OWN.items():
        assert_allclose(comparison[name].scores, kfold_scores(estimator, X, y, FOLDS), atol=1e-6)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_paths_and_shared_features_equal_separate_fits(penalty, three):
    X, y = three
    chains = {
        f"{strength}": make_pipeline(Standardize(), LogisticRegression(strength, penalty=penalty, tol=1e-14))
        for strength in (1.0, 0.001, 0.1, 0.01)
    }

    together = compare(X, y, chains)

    for name, chain in chains.items():
        alone = np.empty((len(y), 3))
        for train, test in FOLDS.split(X, y):
            alone[test] = clone(chain).fit(X[train], y[train]).log_likelihood(X[test])
        assert_allclose(together[name].scores, alone, atol=1e-6 if penalty == "l2" else 1e-5)


def test_a_precomputed_kernel_is_compared_with_models_of_its_columns(three):
    X, y = three
    kernel = likely.RBFKernel(0.3)
    own = {"pairs": SVM(kernel="precomputed"), "theirs": SVC(kernel="precomputed"), "columns": NearestMeanClassifier()}

    comparison = compare(kernel(X), y, own, fuse=2, evaluation=(kernel(X[::-1], X), y[::-1]))

    assert comparison.failures == {}
    assert_allclose(comparison["pairs"].scores, kfold_scores(SVM(kernel=kernel), X, y, FOLDS), atol=1e-2)
    assert_allclose(comparison["theirs"].scores, kfold_scores(SVC(gamma=0.3), X, y, FOLDS), atol=1e-2)
    assert_allclose(comparison["columns"].scores, kfold_scores(NearestMeanClassifier(), kernel(X), y, FOLDS))
    for system in comparison:
        assert comparison.model(system.name).log_likelihood(kernel(X[:2], X)).shape == (2, 3)


def test_a_precomputed_kernel_that_is_not_square_fails_alone(three):
    X, y = three
    own = {"pairs": SVM(kernel="precomputed"), "columns": NearestMeanClassifier()}

    comparison = compare(likely.RBFKernel(0.3)(X), y, own, sample_weight=np.arange(75) % 5)

    assert list(comparison.failures) == ["pairs"]
    assert "If rows are removed, their columns must be removed too" in comparison.failures["pairs"]


def test_default_candidates_of_a_family_are_the_estimators_they_are_shown_with(three):
    X, y = three

    comparison = compare(X, y, ["gaussian", "nearest-mean", "least-squares", "fisher"])

    assert comparison.failures == {}
    assert len({system.name for system in comparison}) == len(comparison)
    for system in comparison:
        (part,) = system.parts
        assert_allclose(system.scores, kfold_scores(part.estimator, X, y, FOLDS), rtol=1e-6, atol=1e-6)


def test_gaussians_are_compared_with_shrinkage_towards_pooled_and_identity(three):
    names = [f"raw, full {s} pooled" for s in (0.1, 0.5)] + [f"standardised, full {s} identity" for s in (0.1, 0.5)]

    comparison = compare(*three, [f"gaussian: {name}" for name in names])

    assert {system.name for system in comparison if len(system.parts) == 1} == {f"Gaussian: {name}" for name in names}


@pytest.mark.parametrize(
    ("name", "family", "count"),
    [("svm", "SVM", 4), ("polynomial-svm", "polynomial SVM", 8), ("rbf-svm", "RBF SVM", 12)],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_families_of_support_vector_machines_are_compared_and_calibrated_by_name(name, family, count, n_classes, rng):
    y = np.arange(120) % n_classes
    X = rng.normal(size=(120, 3)) + 2 * np.eye(3)[y]

    comparison = compare(X, y, [name])

    assert comparison.failures == {}
    assert comparison.notes == []
    assert [system.family for system in comparison] == [family] * count
    for system in comparison:
        scores = kfold_scores(system.parts[0].estimator, X, y, FOLDS)
        assert_allclose(system.scores, scores, atol=0.05 * np.abs(scores).max())
        assert np.isfinite(system.calibrated).all()
        assert system.standing.min_cllr <= system.standing.cllr < 0.9
    llr = comparison.model().log_likelihood(X)
    assert cross_entropy(y, llr) / np.log(n_classes) < 0.7


# Numbers are those of the library


def test_costs_of_two_classes_are_the_librarys(two):
    X, y = two
    applications = {"rare": Application.binary(0.1, cost_fn=5), "even": 0.5}

    comparison = compare(X, y, {"tied": OWN["tied"], "theirs": OWN["theirs"]}, applications)

    for system in comparison:
        calibrated = kfold_calibrate(TailCalibrator(), system.scores, y, FOLDS)
        asked = [Application.binary(0.1, cost_fn=5), Application.binary(0.5)]
        assert_allclose(system.calibrated, calibrated)
        assert_allclose(system.standing.minimum, likely.min_dcf(y, system.scores, asked))
        assert_allclose(system.standing.actual, likely.actual_dcf(y, calibrated, asked))
        assert_allclose(system.standing.uncalibrated, likely.actual_dcf(y, system.scores, asked))
        assert_allclose(system.standing.cllr, likely.cllr(y, calibrated))
        assert_allclose(system.standing.min_cllr, likely.min_cllr(y, system.scores))


def test_costs_of_three_classes_are_the_librarys(three):
    X, y = three
    application = Application({0: 0.2, 1: 0.5, 2: 0.3}, [[0, 2, 1], [5, 0, 1], [1, 1, 0]])

    comparison = compare(X, y, OWN, application)

    for system in comparison:
        calibrated = kfold_calibrate(TailCalibrator(), system.scores, y, FOLDS)
        assert_allclose(system.calibrated, calibrated)
        assert_allclose(system.standing.actual, bayes_risk(y, calibrated, application))
        assert_allclose(system.standing.uncalibrated, bayes_risk(y, system.scores, application))
        assert_allclose(system.standing.minimum, bayes_risk_after_affine(y, system.scores, application))
        assert_allclose(system.standing.cllr, cross_entropy(y, calibrated) / np.log(3))


def test_calibrated_costs_of_two_classes_are_at_least_the_minimum(two):
    X, y = two

    comparison = compare(X, y, OWN, [0.05, 0.5, 0.9], folds=3)

    for system in comparison:
        assert all(a >= m for a, m in zip(system.standing.actual, system.standing.minimum, strict=True))
        assert system.standing.cllr >= system.standing.min_cllr


@pytest.mark.parametrize("by", ["minimum", "actual", "cllr"])
def test_the_leaderboard_is_sorted_by_its_measure(by, three):
    X, y = three
    candidates = {**OWN, "full": GaussianClassifier(), "diagonal": GaussianClassifier("diagonal")}

    comparison = compare(X, y, candidates, [Application.equal(3), Application([0.8, 0.1, 0.1])], by=by, fuse=3)

    costs = [s.standing.cllr if by == "cllr" else np.mean(getattr(s.standing, by)) for s in comparison]
    assert costs == sorted(costs)
    assert comparison.best is comparison.systems[0]
    assert [row["place"] for row in comparison.leaderboard_facts()] == list(range(1, len(comparison) + 1))
    assert comparison.by == by


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_the_leaderboard_is_a_frame_of_the_same_numbers(backend, two):
    X, y = two
    comparison = compare(X, y, OWN, [0.1, 0.5], folds=3, fuse=0)

    frame = comparison.leaderboard(backend)
    facts = comparison.leaderboard_facts()

    assert type(frame).__module__.split(".")[0] == (backend or "pandas")
    names = list(getattr(frame, "column_names", None) or frame.columns)
    assert names[:3] == ["place", "system", "family"]
    for i, row in enumerate(facts):
        for name, costs in row["costs"].items():
            assert float(str(frame[f"minimum at {name}"][i])) == costs["minimum"]
        assert float(str(frame["cllr"][i])) == row["cllr"]


def test_intervals_contain_the_costs_and_systems_are_tested_against_the_best(two):
    X, y = two

    best, other = compare(X, y, {"good": OWN["tied"], "bad": make_pipeline(Standardize(), Perceptron())}, [0.2, 0.5])

    for system in (best, other):
        for which in ("minimum", "actual"):
            around = system.standing.intervals[which]
            assert (around.low <= getattr(system.standing, which)).all()
            assert (around.high >= getattr(system.standing, which)).all()
        assert system.standing.intervals["cllr"].low <= system.standing.cllr <= system.standing.intervals["cllr"].high
    assert best.p_value is None
    assert 0 <= other.p_value <= 1


def test_a_far_worse_system_differs_significantly_and_a_twin_does_not(rng):
    X, y = rows_of(90, 3, rng)
    noise = rng.normal(size=(90, 3))

    comparison = compare(X, y, {"one": OWN["tied"], "two": OWN["tied"]}, scores={"noise": noise})

    assert comparison["noise"].p_value < 0.01
    assert comparison["two"].p_value > 0.5


# Invariance to the order of candidates and the type of rows


def test_the_order_of_candidates_changes_nothing(three):
    X, y = three
    backwards = dict(reversed(OWN.items()))

    assert_same_systems(compare(X, y, OWN, fuse=2), compare(X, y, backwards, fuse=2))


def test_the_order_of_families_changes_nothing(three):
    X, y = three
    names = ["nearest-mean", "logistic", "least-squares"]

    one, other = compare(X, y, names), compare(X, y, names[::-1])

    assert {s.name for s in one} == {s.name for s in other}
    for system in one:
        assert_allclose(system.scores, other[system.name].scores, rtol=1e-9, atol=1e-9)


def test_a_candidate_scores_the_same_alone_and_among_others(three):
    X, y = three
    everyone = compare(X, y, ["gaussian", "logistic", "nearest-mean"])

    for name in ("Gaussian: LDA, tied", "logistic: standardised, λ 0.01", "nearest mean: raw"):
        alone = compare(X, y, [name])
        # Fits end within a relative 1e-8 of the least objective, wherever they start.
        assert_allclose(alone[name].scores, everyone[name].scores, atol=1e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_and_the_array_of_its_numbers_give_the_same_board(frame, three):
    X, y = three
    columns = {f"x{at}": X[:, at] for at in range(X.shape[1])}
    names = ["nearest-mean", "fisher", "Gaussian: raw, tied"]

    of_frame, of_array = compare(frame(columns), y, names), compare(X, y, names)

    assert board(of_frame) == board(of_array)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_users_candidates_get_the_frame_unchanged(frame, three):
    X, y = three
    seen = []

    class Curious(TheirLogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(type(X))
            return super().fit(np.asarray(X), y, sample_weight)

        def decision_function(self, X):
            return super().decision_function(np.asarray(X))

    comparison = compare(frame({"a": X[:, 0], "b": X[:, 1]}), y, {"curious": Curious()})

    assert seen == [frame] * 5
    assert comparison.best.name == "curious"


def test_sparse_rows_are_compared_by_candidates_that_take_them(rng):
    y = np.arange(80) % 2
    X = rng.poisson(np.where(y[:, None], [2.0, 0.3, 1.0, 0.2], [0.3, 2.0, 1.0, 0.2]))
    candidates = {
        "theirs": TheirLogisticRegression(),
        "bernoulli": BernoulliNB(),
        "tied": GaussianClassifier(tied=True),
    }

    of_sparse, of_dense = (compare(form(X.astype(float)), y, candidates) for form in (csr_array, np.asarray))

    assert of_sparse.failures == {}
    assert_same_systems(of_sparse, of_dense, 1e-6)


def test_default_candidates_run_on_sparse_rows_or_give_a_reason(rng):
    y = np.arange(60) % 3
    X = csr_array(np.maximum(0, rng.normal(size=(60, 3)) + 2 * np.eye(3)[y]))

    comparison = compare(X, y)

    assert len(comparison) > 10
    assert all(reason for reason in comparison.failures.values())


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes"]), np.array([False, True]), np.array([-7, 3]), np.array([1.0, 2.0])]
)
def test_labels_of_any_type_give_the_same_comparison(labels, rng):
    X, y = rows_of(40, 2, rng)
    named = compare(X, labels[y], {"tied": OWN["tied"]}, Application.binary(0.2, positive=labels.tolist()[1]))

    numbered = compare(X, y, {"tied": OWN["tied"]}, 0.2)

    assert named.classes.tolist() == labels.tolist()
    assert_array_equal(named.best.scores, numbered.best.scores)
    assert named.best.standing.minimum == numbered.best.standing.minimum
    assert set(named.model().decide(X, 0.2).tolist()) <= set(labels.tolist())


def test_the_other_class_as_target_swaps_the_application(rng):
    X, y = rows_of(40, 2, rng)
    asked = [Application.binary(0.2, cost_fn=3, positive=0), Application.binary(0.8, cost_fp=3, positive=1)]

    comparison = compare(X, y, {"tied": OWN["tied"]}, asked)

    assert_allclose(*comparison.best.standing.actual)
    assert_allclose(*comparison.best.standing.minimum)
    assert len(comparison.applications) == 2


def test_applications_with_equal_names_are_all_kept(three):
    X, y = three
    costs = [[0, 1, 5], [1, 0, 1], [1, 1, 0]]

    comparison = compare(X, y, {"tied": OWN["tied"]}, [Application.equal(3), Application([1 / 3] * 3, costs)])

    assert len(comparison.applications) == len(comparison.best.standing.actual) == 2


def test_without_an_application_priors_and_costs_are_equal(three):
    X, y = three

    comparison = compare(X, y, {"tied": OWN["tied"]})

    assert list(comparison.applications) == ["equal priors"]
    assert_allclose(comparison.best.standing.actual, bayes_risk(y, comparison.best.calibrated, Application.equal(3)))


def test_equal_candidates_get_numbered_names(three):
    X, y = three

    comparison = compare(X, y, [GaussianClassifier(), GaussianClassifier()])

    assert [system.name for system in comparison] == ["GaussianClassifier() (1)", "GaussianClassifier() (2)"]
    assert_array_equal(*(system.scores for system in comparison))


# Folds, groups and weights


def test_groups_never_straddle_folds(rng):
    X, y = rows_of(60, 3, rng)
    groups = np.arange(60) // 3 % 12
    seen = []

    class Watcher(TheirLogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.learned_ = set(X[:, 0].tolist())
            return super().fit(X[:, 1:], y, sample_weight)

        def decision_function(self, X):
            seen.append((self.learned_, set(X[:, 0].tolist())))
            return super().decision_function(X[:, 1:])

    comparison = compare(np.column_stack([groups, X]), y, {"watcher": Watcher()}, groups=groups)

    assert len(seen) == 5
    assert all(not learned & scored for learned, scored in seen)
    splitter = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    alone = kfold_scores(TheirLogisticRegression(), X, y, splitter, groups)
    assert_allclose(comparison.best.scores, alone)
    assert_allclose(comparison.best.calibrated, kfold_calibrate(TailCalibrator(), alone, y, splitter, groups))


@pytest.mark.parametrize(
    "splitter", [GroupKFold(4), [(np.arange(30, 75), np.arange(30)), (np.arange(30), np.arange(30, 75))]]
)
def test_the_users_folds_are_used(splitter, three):
    X, y = three
    groups = np.arange(75) // 3 if isinstance(splitter, GroupKFold) else None

    comparison = compare(X, y, {"tied": OWN["tied"]}, folds=splitter, groups=groups)

    assert_allclose(comparison.best.scores, kfold_scores(OWN["tied"], X, y, splitter, groups), rtol=1e-8)


def test_leave_one_out_scores_are_those_of_refitting(rng):
    X, y = rows_of(30, 2, rng)
    candidates = {"tied": OWN["tied"], "logistic": OWN["logistic"]}

    comparison = compare(X, y, candidates, folds="leave-one-out")

    assert comparison.workings.protocol.description == "leave-one-out"
    for name, estimator in candidates.items():
        alone = np.empty(30)
        for train, test in LeaveOneOut().split(X):
            alone[test] = clone(estimator).fit(X[train], y[train]).llr(X[test])
        assert_allclose(comparison[name].scores, alone, atol=1e-6)
    assert_allclose(comparison.model("tied").models_[0].llr(X), OWN["tied"].fit(X, y).llr(X))


def test_leave_one_out_takes_classes_of_few_rows(rng):
    X, y = rng.normal(size=(20, 2)), np.repeat([0, 1], [16, 4])

    comparison = compare(X, y, {"diagonal": GaussianClassifier("diagonal")}, folds="leave-one-out")

    assert comparison.best.scores.shape == (20,)


def test_held_out_rows_are_scored_by_models_trained_on_all_others(rng):
    X, y = rows_of(90, 3, rng)
    train, test = slice(0, 60), slice(60, None)

    comparison = compare(X[train], y[train], OWN, held_out=(X[test], y[test]))

    for name in ("tied", "mean", "logistic"):
        by_hand = clone(OWN[name]).fit(X[train], y[train]).log_likelihood(X[test])
        assert_allclose(comparison[name].scores, by_hand, atol=1e-8)
        assert_allclose(comparison[name].standing.uncalibrated, bayes_risk(y[test], by_hand, Application.equal(3)))


def test_held_out_rows_may_be_few(rng):
    X, y = rows_of(40, 2, rng)

    comparison = compare(X, y, {"tied": OWN["tied"]}, held_out=(X[:7], np.array([0, 0, 0, 0, 1, 1, 1])))

    assert comparison.to_dict()["rows"] == 7


def test_weights_of_zero_drop_rows_and_others_count_as_often(rng):
    X, y = rows_of(75, 3, rng)
    weight = np.where(np.arange(75) < 60, 1.0, 0.0)
    outside = rng.normal(size=(75, 3))
    own = {"tied": OWN["tied"], "logistic": OWN["logistic"]}

    with_zeros = compare(X, y, own, sample_weight=weight, scores={"outside": outside})
    without = compare(X[:60], y[:60], own, sample_weight=np.ones(60), scores={"outside": outside[:60]})

    assert board(with_zeros) == board(without)


def test_integer_weights_count_in_training_and_evaluation(rng):
    X, y = rows_of(60, 3, rng)
    weight = rng.integers(1, 5, 60)

    comparison = compare(X, y, {"tied": OWN["tied"], "theirs": OWN["theirs"]}, sample_weight=weight)

    for name in ("tied", "theirs"):
        scores = kfold_scores(OWN[name], X, y, FOLDS, sample_weight=weight)
        assert_allclose(comparison[name].scores, scores)
        calibrated = kfold_calibrate(TailCalibrator(), scores, y, FOLDS, sample_weight=weight)
        expected = bayes_risk(y, calibrated, Application.equal(3), sample_weight=weight)
        assert_allclose(comparison[name].standing.actual, expected)
    final = GaussianClassifier(tied=True).fit(X, y, sample_weight=weight)
    assert_allclose(comparison.model("tied").models_[0].log_likelihood(X), final.log_likelihood(X))


# External systems and fusion


def test_outside_scores_are_ranked_and_fused_like_others(rng):
    X, y = rows_of(60, 2, rng, d=2)
    outside = y + rng.normal(size=60)

    comparison = compare(X, y, {"mean": OWN["mean"]}, scores={"vendor": outside}, fuse=2)

    assert {part.name for system in comparison for part in system.parts} == {"mean", "vendor"}
    assert len(comparison) == 3
    vendor, fusion = comparison["vendor"], next(s for s in comparison if s.is_fusion)
    assert_array_equal(vendor.scores, outside)
    assert_allclose(vendor.standing.minimum, likely.min_dcf(y, outside, 0.5))
    inputs = np.column_stack([comparison[part.name].scores for part in fusion.parts])
    assert_allclose(fusion.calibrated, kfold_calibrate(LogisticFusion(), inputs, y, FOLDS))
    assert_allclose(fusion.standing.actual, likely.actual_dcf(y, fusion.calibrated, 0.5))


def test_fusions_are_of_the_best_systems_of_the_best_families(three):
    X, y = three
    candidates = [GaussianClassifier(), GaussianClassifier("diagonal"), OWN["mean"], OWN["theirs"], OWN["logistic"]]

    comparison = compare(X, y, candidates, fuse=3)

    singles = [system for system in comparison if not system.is_fusion]
    leaders = list({system.family: system for system in reversed(singles)}.values())
    leaders.sort(key=singles.index)
    fusions = sorted((system for system in comparison if system.is_fusion), key=lambda system: len(system.parts))
    assert [len(fusion.parts) for fusion in fusions] == [2, 3]
    for fusion in fusions:
        assert [part.name for part in fusion.parts] == [leader.name for leader in leaders[: len(fusion.parts)]]


def test_outside_scores_alone_are_compared(rng):
    X, y = rows_of(40, 2, rng)

    comparison = compare(X, y, [], scores={"good": y + rng.normal(size=40), "none": rng.normal(size=40)})

    assert [system.name for system in comparison] == ["good", "none"]


# Failures


class Bad(ClassifierMixin, BaseEstimator):
    """Classifier that fails in one of several ways."""

    def __init__(self, how):
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.how == "raises":
            raise RuntimeError("It does not work on Mondays.")
        return self

    def decision_function(self, X):
        n, k = len(X), len(self.classes_)
        shape = (n, k) if k > 2 else (n,)
        wrong = {
            "NaN": np.full(shape, np.nan),
            "infinite": np.full(shape, np.inf),
            "wide": np.zeros((n, 7)),
            "short": np.zeros((n - 1, *shape[1:])),
        }
        return wrong[self.how]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raises", "It does not work on Mondays."),
        ("NaN", "Its score of row 0 is NaN."),
        ("wide", "must have shape (75, 3), but have (75, 7)"),
        ("short", "shape"),
        ("infinite", "infinite"),
    ],
)
def test_a_failing_candidate_is_reported_and_does_not_change_the_others(how, reason, three):
    X, y = three

    comparison = compare(X, y, {"bad": Bad(how), **OWN})

    assert list(comparison.failures) == ["bad"]
    assert reason in comparison.failures["bad"]
    assert comparison.to_dict()["failures"] == comparison.failures
    assert board(comparison) | {"failures": {}} == board(compare(X, y, OWN))
    with pytest.raises(InvalidParameterError, match="It failed: "):
        comparison["bad"]


def test_a_candidate_that_fails_only_on_the_evaluation_rows_is_a_failure(three):
    X, y = three
    gaps = X.copy()
    gaps[0, 0] = np.nan

    comparison = compare(X, y, {"theirs": OWN["theirs"], "tied": OWN["tied"]}, evaluation=(gaps, y))

    assert list(comparison.failures) == ["theirs"]
    assert "NaN" in comparison.failures["theirs"]
    assert [judged.name for judged in comparison.verdict.systems] == ["tied"]


def test_a_candidate_without_sample_weight_fails_if_there_are_weights(three):
    X, y = three

    comparison = compare(
        X, y, {"knn": KNeighborsClassifier(), "tied": OWN["tied"]}, sample_weight=1 + np.arange(75) % 2
    )

    assert "sample_weight" in comparison.failures["knn"]
    assert [system.name for system in comparison] == ["tied"]


def test_if_all_candidates_fail_the_error_has_the_first_reason(three):
    X, y = three

    with pytest.raises(DegenerateDataError, match="The first, 'bad', failed: It does not work"):
        compare(X, y, {"bad": Bad("raises")})


def test_warnings_are_notes_in_sorted_order(rng):
    X, y = rows_of(60, 3, rng)
    X = np.column_stack([X, X[:, 0], np.ones(60)])

    notes = [compare(X, y, ["Gaussian: raw, full", "nearest-mean", "perceptron"]).notes for _ in range(2)]

    assert len(notes[0]) > 0
    assert notes[0] == notes[1]


# Final models


@pytest.mark.parametrize("n_classes", [2, 3])
def test_final_models_are_trained_on_all_rows_and_can_be_saved_and_loaded(n_classes, rng, tmp_path):
    X, y = rows_of(24 * n_classes, n_classes, rng)
    new = rng.normal(size=(9, 3))
    own = {"tied": OWN["tied"], "logistic": OWN["logistic"]}

    comparison = compare(X, y, own, fuse=2)

    assert len(comparison) == 3
    for system in comparison:
        model = comparison.model(system.name)
        likely.save(model, tmp_path / "model.likely")
        loaded = likely.load(tmp_path / "model.likely")
        assert_array_equal(loaded.log_likelihood(new), model.log_likelihood(new))
        assert_array_equal(
            loaded.decide(new, Application.equal(n_classes)), model.decide(new, Application.equal(n_classes))
        )
        assert set(model.decide(new, Application.equal(n_classes)).tolist()) <= set(y.tolist())
    raw = clone(OWN["tied"]).fit(X, y).log_likelihood(new)
    tied = comparison["tied"]
    by_hand = TailCalibrator().fit(tied.scores, y).transform(llr_of(raw) if n_classes == 2 else raw)
    evidence = comparison.model("tied").llr(new) if n_classes == 2 else comparison.model("tied").log_likelihood(new)
    assert_allclose(evidence, by_hand, atol=1e-8)


def test_the_model_of_a_fusion_fuses_its_parts_trained_on_all_rows(rng):
    X, y = rows_of(48, 2, rng)
    new = rng.normal(size=(9, 3))

    comparison = compare(X, y, {"tied": OWN["tied"], "logistic": OWN["logistic"]}, fuse=2)
    fusion = next(system for system in comparison if system.is_fusion)

    parts = [clone(part.estimator).fit(X, y).llr(new) for part in fusion.parts]
    fuser = LogisticFusion().fit(np.column_stack([comparison[part.name].scores for part in fusion.parts]), y)
    assert_allclose(comparison.model(fusion.name).llr(new), fuser.transform(np.column_stack(parts)), atol=1e-6)


def test_third_party_models_decide_too(rng):
    X, y = rows_of(60, 2, rng)
    forest = RandomForestClassifier(10, random_state=0)

    model = compare(X, y, {"forest": forest}).model()

    assert np.isfinite(model.llr(X)).all()
    assert set(model.decide(X, 0.1).tolist()) <= {0, 1}


def test_the_model_of_an_outside_system_takes_its_scores(rng, tmp_path):
    X, y = rows_of(60, 2, rng)
    outside = y + rng.normal(size=60)

    comparison = compare(X, y, {"tied": OWN["tied"]}, scores={"vendor": outside}, fuse=2)
    calibrator = comparison.model("vendor")
    fusion = next(system for system in comparison if system.is_fusion)
    fuser = comparison.model(fusion.name)

    assert_allclose(calibrator.transform(outside), TailCalibrator().fit(outside, y).transform(outside))
    likely.save(calibrator, tmp_path / "vendor.likely")
    assert_array_equal(likely.load(tmp_path / "vendor.likely").transform(outside), calibrator.transform(outside))
    inputs = np.column_stack([comparison[part.name].scores for part in fusion.parts])
    assert_allclose(fuser.transform(inputs), LogisticFusion().fit(inputs, y).transform(inputs))


def test_the_requested_calibrator_is_used(rng):
    X, y = rows_of(60, 2, rng)

    comparison = compare(X, y, {"tied": OWN["tied"]}, calibrator=IsotonicCalibrator())

    scores = comparison.best.scores
    assert_array_equal(comparison.best.calibrated, kfold_calibrate(IsotonicCalibrator(), scores, y, FOLDS))


def test_candidates_are_not_changed(three):
    X, y = three
    estimators = {name: clone(each) for name, each in OWN.items()}

    compare(X, y, estimators).model("tied")

    assert all(not hasattr(each, "classes_") for each in [estimators["tied"], estimators["mean"], estimators["theirs"]])


# Evaluation rows


def test_evaluation_rows_are_scored_by_models_trained_on_all_rows(rng):
    X, y = rows_of(135, 3, rng)
    first, rest = slice(0, 75), slice(75, None)
    own = {"tied": OWN["tied"], "logistic": OWN["logistic"]}
    outside = np.eye(3)[y] + rng.normal(size=(135, 3))

    comparison = compare(
        X[first], y[first], own, scores={"vendor": outside[first]},
        evaluation=(X[rest], y[rest], {"vendor": outside[rest]}), fuse=3,
    )  # fmt: skip

    verdict = comparison.verdict
    assert {judged.name for judged in verdict.systems} == {system.name for system in comparison}
    assert verdict.chosen.name == comparison.best.name
    assert [judged.name for judged in verdict.systems][verdict.place - 1] == verdict.chosen.name
    for judged in verdict.systems:
        if judged.family == "fusion":
            continue
        scores = outside[rest] if judged.name == "vendor" else clone(own[judged.name]).fit(X[first], y[first])
        scores = scores if judged.name == "vendor" else scores.log_likelihood(X[rest])
        calibrator = TailCalibrator().fit(comparison[judged.name].scores, y[first])
        expected = bayes_risk(y[rest], calibrator.transform(scores), Application.equal(3))
        assert_allclose(judged.standing.actual, expected)
        assert_allclose(judged.standing.uncalibrated, bayes_risk(y[rest], scores, Application.equal(3)))
    costs = [np.mean(judged.standing.minimum) for judged in verdict.systems]
    assert costs == sorted(costs)


def test_final_models_have_the_costs_of_the_verdict_on_the_evaluation_rows(rng):
    X, y = rows_of(120, 2, rng)
    first, rest = slice(0, 60), slice(60, None)

    comparison = compare(
        X[first], y[first], {"tied": OWN["tied"], "mean": OWN["mean"]}, 0.3, evaluation=(X[rest], y[rest]), fuse=2
    )

    for judged in comparison.verdict.systems:
        llr = comparison.model(judged.name).llr(X[rest])
        assert_allclose(judged.standing.actual, likely.actual_dcf(y[rest], llr, 0.3))
        assert_allclose(judged.standing.cllr, likely.cllr(y[rest], llr))


def test_the_verdict_says_whether_the_choice_was_right(rng):
    X, y = rows_of(150, 3, rng)
    good, noise = 1.5 * np.eye(3)[y] + rng.normal(size=(150, 3)), rng.normal(size=(150, 3))
    first, rest = slice(0, 75), slice(75, None)

    right = compare(
        X[first], y[first], [], scores={"good": good[first], "noise": noise[first]},
        evaluation=(X[rest], y[rest], {"good": good[rest], "noise": noise[rest]}),
    )  # fmt: skip
    wrong = compare(
        X[first], y[first], [], scores={"good": good[first], "noise": noise[first]},
        evaluation=(X[rest], y[rest], {"good": noise[rest], "noise": good[rest]}),
    )  # fmt: skip

    assert right.verdict.place == 1
    assert right.verdict.stands
    assert "The choice was right" in str(right.verdict)
    assert wrong.verdict.place == 2
    assert not wrong.verdict.stands
    assert "Another choice would have been better" in str(wrong.verdict)


def test_an_outside_system_must_be_scored_on_the_evaluation_rows_too(three):
    X, y = three

    with pytest.raises(InvalidParameterError, match="must include scores of the external system 'vendor'"):
        compare(X, y, {"tied": OWN["tied"]}, scores={"vendor": X}, evaluation=(X, y))


# Categories and missing values


@pytest.fixture
def mixed(rng):
    """Rows with numbers, categories and missing values."""
    n = 90
    y = np.where(np.arange(n) % 3 == 0, "bad", "good")
    bad = y == "bad"
    purpose = np.where(rng.random(n) < np.where(bad, 0.7, 0.2), "car", np.where(rng.random(n) < 0.5, "radio", "trip"))
    columns = {
        "amount": np.exp(rng.normal(size=n)) + bad,
        "age": 40 + 10 * rng.normal(size=n) - 8 * bad,
        "purpose": purpose.astype(object),
        "phone": np.where(rng.random(n) < 0.4, "yes", "no").astype(object),
    }
    columns["age"][rng.random(n) < 0.1] = np.nan
    columns["purpose"][rng.random(n) < 0.1] = None
    return columns, y


@pytest.mark.parametrize(("frame", "names"), [(pd.DataFrame, None), (pl.DataFrame, ["fisher", "nearest-mean"])])
def test_default_candidates_cope_with_categories_and_missing_values(frame, names, mixed):
    columns, y = mixed
    columns = {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    bank = Application.binary(0.3, cost_fn=5, positive="bad")

    comparison = compare(frame(columns), y, names, bank)

    assert comparison.failures == {}
    families = {system.family for system in comparison}
    every = {"Gaussian", "logistic", "logistic L1", "quadratic logistic", "radial logistic", "nearest mean"}
    every |= {"least squares", "Fisher", "perceptron", "mixture", "SVM", "polynomial SVM", "RBF SVM"}
    assert families == (every if names is None else {"Fisher", "nearest mean"})
    assert comparison.best.standing.minimum[0] < 1
    assert set(comparison.model().decide(frame(columns), bank).tolist()) <= {"bad", "good"}


def test_a_category_that_only_the_evaluation_rows_have_is_scored(mixed):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    new = frame.assign(purpose=np.where(np.arange(90) == 3, "boat", frame["purpose"]))
    names = ["nearest-mean", "fisher"]

    comparison = compare(frame, y, names, evaluation=(new, y))

    assert comparison.failures == {}
    assert len(comparison.verdict.systems) == len(comparison)


def test_missing_values_that_only_the_evaluation_rows_have_are_filled(three):
    X, y = three
    gaps = X.copy()
    gaps[3, 1] = np.nan

    comparison = compare(X, y, ["nearest-mean", "least-squares", "Gaussian: raw, full"], evaluation=(gaps, y))

    assert comparison.failures == {}
    assert len(comparison.verdict.systems) == 7


def test_missing_values_are_filled_with_means_of_the_training_rows(rng):
    X, y = rows_of(60, 3, rng)
    X[::7, 1] = np.nan

    comparison = compare(X, y, ["nearest-mean"])

    alone = np.empty((60, 3))
    for train, test in FOLDS.split(X, y):
        filled = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
        alone[test] = NearestMeanClassifier().fit(filled[train], y[train]).log_likelihood(filled[test])
    assert_allclose(comparison["nearest mean: raw"].scores, alone, rtol=1e-8)


# Errors


def refuse_what(X, y):
    gone = X.copy()
    gone[:, 1] = np.nan
    endless = X.copy()
    endless[4, 2] = np.inf
    asked = {
        "one class": ({"y": np.zeros(75)}, DegenerateDataError, "at least two classes, but all 75 are of class 0"),
        "rare class": (
            {"y": np.repeat(["a", "b"], [72, 3])},
            DegenerateDataError,
            "Class 'b' has only 3 rows, but there are 5 folds.*Set folds=3",
        ),
        "rare groups": (
            {"groups": np.repeat(np.arange(3), 25)},
            DegenerateDataError,
            "has only 3 groups, but there are 5 folds",
        ),
        "lengths": ({"y": y[:-1]}, InvalidDataError, "there are 75 rows but 74 labels"),
        "all missing": ({"X": gone}, InvalidDataError, "column 1 has no value in any row"),
        "infinite": ({"X": endless}, InvalidDataError, "one is infinite in column 2"),
        "all missing by name": (
            {"X": pd.DataFrame(gone, columns=["a", "b", "c"])},
            InvalidDataError,
            "'b'.*no value|no value.*'b'",
        ),
        "groups": ({"groups": y[:-1]}, InvalidDataError, "there are 74 groups but 75 labels"),
        "evaluation classes": ({"evaluation": (X, y % 2)}, DegenerateDataError, "evaluation must have rows"),
        "evaluation features": ({"evaluation": (X[:, :2], y)}, InvalidDataError, "the 3 features of X.*has 2"),
        "held-out features": ({"held_out": (X[:, :2], y)}, InvalidDataError, "held_out.*3 features.*has 2"),
        "held-out pair": ({"held_out": X}, InvalidParameterError, r"held_out must be \(X, y\)"),
        "held-out row": (
            {"held_out": (X[:5], np.array([0, 0, 1, 1, 2]))},
            DegenerateDataError,
            "Class 2 has only one row to compare systems on",
        ),
        "class": ({"applications": Application({0: 0.5, 1: 0.3, 7: 0.2})}, InvalidDataError, "7"),
        "priors": ({"applications": 0.5}, InvalidDataError, "priors for 2 classes, but the model has 3"),
        "no application": ({"applications": []}, InvalidParameterError, "at least one application"),
        "family": ({"candidates": ["gausian"]}, InvalidParameterError, "Did you mean 'gaussian'"),
        "nothing": ({"candidates": []}, InvalidParameterError, "candidates must hold at least one system"),
        "a class": ({"candidates": [GaussianClassifier]}, IncompatiblePartsError, "must be a classifier"),
        "number": ({"candidates": 7}, InvalidParameterError, "candidates must contain classifiers or names"),
        "by": ({"by": "luck"}, InvalidParameterError, "by"),
        "folds": ({"folds": 1}, InvalidParameterError, "folds must be an integer >= 2"),
        "folds by name": ({"folds": "some"}, InvalidParameterError, "leave-one-out"),
        "scores": ({"scores": {"o": X[:9]}}, IncompatiblePartsError, r"'o' must have shape \(75, 3\)"),
        "same name": ({"scores": {"tied": X}}, InvalidParameterError, "two have the name 'tied'"),
        "negative weight": ({"sample_weight": y - 1.0}, InvalidDataError, "Weights must be finite frequencies"),
        "seed": ({"seed": -1}, InvalidParameterError, "seed"),
    }
    return {what: ({"X": X, "y": y, **options}, *rest) for what, (options, *rest) in asked.items()}


@pytest.mark.parametrize("asked", ["polynomial-svm", ["nearest-mean", "polynomial-svm"]])
def test_a_family_with_too_many_rows_is_an_error_before_any_work(asked):
    y = np.arange(25_004) % 2

    with pytest.raises(InvalidParameterError, match=r"'polynomial-svm' takes at most 20,000 rows.*20,003 rows of 1 f"):
        compare(y[:, None] + 0.5, y, asked)


def test_kernels_are_used_up_to_their_limit_of_rows_and_landmarks_beyond(two, monkeypatch):
    X, y = two  # folds leave 48 to learn from
    monkeypatch.setattr("likely.selection.candidates.N_LANDMARKS", 20)
    monkeypatch.setattr("likely.selection.candidates.MAX_KERNEL_ROWS", 48)
    within = compare(X, y, ["polynomial-svm", "rbf-svm"])
    monkeypatch.setattr("likely.selection.candidates.MAX_KERNEL_ROWS", 47)
    beyond = compare(X, y, ["rbf-svm"])

    assert within.failures == beyond.failures == {}
    assert {system.family for system in within} == {"polynomial SVM", "RBF SVM"}
    assert not any("landmarks" in system.name for system in within)
    assert all("landmarks 20" in system.name for system in beyond)


def test_a_family_with_too_few_rows_is_an_error(rng):
    X, y = rows_of(10, 2, rng)

    with pytest.raises(
        InvalidParameterError, match="'radial-logistic' has no candidates here, because models learn from 8 rows"
    ):
        compare(X, y, ["radial-logistic"])


REFUSED = list(refuse_what(np.zeros((75, 3)), np.arange(75) % 3))


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_arguments_are_rejected_by_name(what, three):
    options, kind, message = refuse_what(*three)[what]

    with pytest.raises(kind, match=message):
        compare(**{"candidates": {"tied": OWN["tied"]}, **options})
