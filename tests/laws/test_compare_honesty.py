"""Comparisons find no evidence in noise, and survive infinite costs, lack of memory and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from likely import (
    SVM,
    AffineCalibrator,
    Fill,
    GaussianClassifier,
    IsotonicCalibrator,
    LogisticRegression,
    compare,
    load,
)
from likely.exceptions import DegenerateDataError, InvalidDataError, InvalidParameterError

RNG = np.random.default_rng(5)


def two_blobs(n=60, d=3, distance=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n // 2, n - n // 2])
    X = rng.normal(size=(n, d)) + distance * y[:, None] * (np.arange(d) == 0)
    order = rng.permutation(n)
    return X[order], y[order]


def noise(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(80, 3)), rng.permutation(np.repeat([0, 1], [50, 30]))


@pytest.mark.parametrize("folds", ["leave-one-out", 20, 5])
@pytest.mark.parametrize("seed", [0, 2])
def test_random_labels_are_not_predicted(folds, seed):
    """Models without information score the left-out class slightly lower; no calibrator may turn that into evidence."""
    X, y = noise(seed)
    ignorant = [
        "logistic L1: standardised, λ 0.1",
        DummyClassifier(strategy="prior"),
        TheirLogistic(C=1e-3),
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=10, random_state=0),
    ]

    comparison = compare(X, y, ignorant, folds=folds, fuse=0)

    assert not comparison.failures
    assert all(system.standing.cllr > 0.95 for system in comparison)
    assert all(system.standing.actual[0] >= system.standing.minimum[0] - 1e-12 for system in comparison)


def test_an_increasing_calibrator_finds_no_evidence_in_reversed_scores():
    y, scores = np.repeat([0, 1], 50), np.r_[RNG.normal(1, 1, 50), RNG.normal(-1, 1, 50)]

    falling, rising = AffineCalibrator().fit(scores, y), AffineCalibrator(rising=True).fit(scores, y)

    assert falling.scale_ < 0
    assert rising.scale_ == rising.offset_ == 0
    assert rising.objective_ == pytest.approx(np.log(2))
    assert not rising.transform(scores).any()
    assert AffineCalibrator(rising=True).fit(-scores, y).scale_ == -falling.scale_


def test_an_increasing_calibrator_finds_no_evidence_in_reversed_scores_of_three_classes():
    y = np.repeat([0, 1, 2], 40)
    scores = RNG.normal(size=(120, 3)) - 2 * np.eye(3)[y]

    rising = AffineCalibrator(training_prior=[0.2, 0.3, 0.5], rising=True).fit(scores, y)

    assert rising.scale_ == 0
    assert not rising.transform(scores).any()


def test_a_logistic_model_without_weights_gives_no_evidence_at_all():
    X, y = noise(0)

    model = LogisticRegression(10.0, penalty="l1").fit(X, y)

    assert not model.coef_.any()
    assert not model.log_likelihood(X).any()


def test_leaving_one_out_leaves_out_its_group():
    groups, rng = np.repeat(np.arange(30), 4), np.random.default_rng(1)
    X = rng.normal(size=(30, 2))[groups] + 1e-3 * rng.normal(size=(120, 2))
    y = rng.permutation(np.repeat([0, 1], 15))[groups]

    grouped = compare(X, y, KNeighborsClassifier(1), folds="leave-one-out", groups=groups)
    alone = compare(X, y, KNeighborsClassifier(1), folds="leave-one-out")

    assert alone.best.standing.actual[0] < 0.1
    assert grouped.best.standing.actual[0] > 0.7


def test_folds_that_split_groups_are_rejected():
    X, y = two_blobs()

    with pytest.raises(InvalidDataError, match="folds must keep groups together, but group 0 has training rows and"):
        compare(X, y, ["fisher"], folds=list(KFold(3).split(X)), groups=np.arange(60) % 20)


def test_infinite_costs_are_allowed():
    X, y = two_blobs()

    comparison = compare(X, y, ["fisher", "nearest-mean"], calibrator=IsotonicCalibrator(), by="cllr", fuse=0)

    assert len(comparison) == 4
    assert comparison.to_dict()["leaderboard"][-1]["cllr"] is None or comparison.systems[-1].standing.cllr < np.inf


def test_evaluation_rows_that_cannot_be_resampled_are_an_error_before_any_work():
    X, y = two_blobs()

    with pytest.raises(DegenerateDataError, match="evaluation must have at least two rows of each class"):
        compare(X, y, ["fisher"], evaluation=(X[:4], [0, 0, 0, 1]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_weights_and_missing_values_go_together_in_frames(frame, tmp_path):
    X, y = two_blobs(80)
    X[::7, 1] = np.nan
    weight = RNG.integers(1, 4, size=80)
    rows = frame({f"x{at}": X[:, at] for at in range(3)})

    comparison = compare(rows, y, ["fisher", "gaussian"], sample_weight=weight, fuse=0, run=tmp_path)

    assert not comparison.failures
    model = comparison.model()
    again = load(tmp_path / "models" / "best.likely")
    assert np.array_equal(again.llr(rows), model.llr(rows))


def test_integer_weights_are_repeated_rows_for_the_fill():
    X, _ = two_blobs(20)
    X[::3, 0] = np.nan
    weight = np.arange(20) % 3

    weighted, repeated = Fill().fit(X, sample_weight=weight), Fill().fit(np.repeat(X, weight, axis=0))

    assert weighted.mean_ == pytest.approx(repeated.mean_, rel=1e-12)
    assert np.array_equal(np.isnan(X), weighted.transform(X) != X)


def test_partial_fits_of_fill_equal_one_fit():
    X, _ = two_blobs(20)
    X[::3, 0] = np.nan
    instalments = Fill()
    for part in np.array_split(X, 3):
        instalments.partial_fit(part)

    assert instalments.transform(X) == pytest.approx(Fill().fit(X).transform(X), rel=1e-12)


class Forgetful(ClassifierMixin, BaseEstimator):
    """Classifier that raises MemoryError at its first fit."""

    def __init__(self, seen="seen"):
        self.seen = seen

    def fit(self, X, y):
        with open(self.seen, "a") as stream:
            stream.write("x")
        with open(self.seen) as stream:
            if len(stream.read()) == 1:
                raise MemoryError("none left today")
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


def test_a_batch_that_ran_out_of_memory_is_computed_again(tmp_path):
    X, y = two_blobs()
    candidates = {"forgetful": Forgetful(str(tmp_path / "seen")), "tied": GaussianClassifier(tied=True)}

    first = compare(X, y, candidates, run=tmp_path / "run", fuse=0)
    second = compare(X, y, candidates, run=tmp_path / "run", fuse=0)

    assert "none left today" in first.failures["forgetful"]
    assert not second.failures


def test_deleted_functions_are_not_confused_with_new_ones(tmp_path):
    X, y = two_blobs(40, 2)
    found = []

    for gamma in np.geomspace(0.01, 10, 8):  # each in the memory of one before, now and then
        kernel = SVM(kernel=lambda A, B, g=gamma: np.exp(-g * np.square(A[:, None] - B).sum(axis=2)))
        found.append(compare(X, y, {"bumps": kernel}, folds=2, fuse=0, run=tmp_path / "run").best.scores)
        del kernel

    assert len({scores.tobytes() for scores in found}) == len(found)


def test_an_array_of_objects_is_a_table():
    X, y = two_blobs()
    cells = np.column_stack([X.astype(object), np.where(y == 1, "red", RNG.choice(["red", "blue"], size=60))])

    comparison = compare(cells, y, ["fisher"])

    assert comparison.best.standing.minimum[0] < 1
    assert comparison.model().llr(cells).shape == (60,)


def test_lengths_are_checked_before_rows_of_weight_zero_are_dropped():
    X, y = two_blobs()
    weight = np.r_[0, np.ones(59)]

    with pytest.raises(InvalidDataError, match="there are 120 rows but 60 labels"):
        compare(np.vstack([X, X]), y, ["fisher"], sample_weight=weight)
    with pytest.raises(InvalidDataError, match="there are 50 groups but 60 labels"):
        compare(X, y, ["fisher"], sample_weight=weight, groups=np.arange(50))
    with pytest.raises(TypeError, match="must have shape"):
        compare(X, y, ["fisher"], sample_weight=weight, scores={"vendor": X[:50, 0]})


def test_empty_intervals_are_explained():
    X, y = two_blobs(distance=50)

    comparison = compare(X, y, ["nearest-mean"], fuse=0)

    assert comparison.best.standing.actual == [0]
    assert any("no trial is decided wrongly" in note for note in comparison.notes)


def test_scores_of_held_out_rows_are_passed_by_scores():
    X, y = two_blobs()

    with pytest.raises(InvalidParameterError, match="held_out must be"):
        compare(X, y, ["fisher"], held_out=(X, y, {"vendor": X[:, 0]}))


def test_a_calibrator_without_sample_weight_is_allowed():
    class Plain(BaseEstimator):
        def fit(self, scores, y):
            return self

        def transform(self, scores):
            return scores

    X, y = two_blobs()

    assert not compare(X, y, ["fisher"], calibrator=Plain()).failures
