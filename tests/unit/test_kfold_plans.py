"""Plans of a cross-validation: the strategy of each chain, and errors in a strategy."""

import numpy as np
import pytest
import sklearn.pipeline
from sklearn.model_selection import LeaveOneOut
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from likely import (
    PCA,
    GaussianClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    QuadraticFeatures,
    Standardize,
    make_pipeline,
)
from likely.resampling.folds import Split
from likely.resampling.kfold import kfold_held_out
from likely.resampling.plan import plan_folds
from likely.statistics import ByClass


@pytest.fixture
def data(rng):
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    return rng.normal(size=(60, 3)) + 2 * rng.normal(size=(3, 3))[np.arange(60) % 3], y


def test_a_plan_shows_the_strategy_of_each_chain(data):
    X, y = data
    models = dict(
        enumerate(
            [
                make_pipeline(PCA(2), GaussianClassifier()),
                make_pipeline(QuadraticFeatures(), Standardize(), LeastSquaresClassifier()),
                make_pipeline(QuadraticFeatures(), LogisticRegression(0.1)),
                make_pipeline(QuadraticFeatures(), LogisticRegression(1.0)),
                LogisticRegression(0.1),
                sklearn.pipeline.make_pipeline(PCA(2), SVC()),
            ]
        )
    )

    assert repr(plan_folds(models, Split.of(X, y, 3, None, None))).splitlines() == [
        "0  PCA, GaussianClassifier                                 cells",
        "1  QuadraticFeatures, Standardize, LeastSquaresClassifier  held-out moments after QuadraticFeatures",
        "2  QuadraticFeatures, LogisticRegression                   path after QuadraticFeatures",
        "3  QuadraticFeatures, LogisticRegression                   path after QuadraticFeatures",
        "4  LogisticRegression                                      refit",
        "5  PCA, SVC                                                refit",
    ]


def test_leaving_one_out_is_planned_by_downdating_unless_values_are_missing(data):
    X, y = data
    gaps = X.copy()
    gaps[0, 0] = np.nan
    models = {0: GaussianClassifier(), 1: make_pipeline(PCA(2), GaussianClassifier())}

    complete, missing = (plan_folds(models, Split.of(rows, y, LeaveOneOut(), None, None)) for rows in (X, gaps))

    assert [chain.strategy.value for chain in complete.chains.values()] == ["downdating", "held-out moments"]
    assert [chain.strategy.value for chain in missing.chains.values()] == ["held-out moments", "held-out moments"]


def _raise_defect(*args, **kwargs):
    raise TypeError("a defect")


@pytest.mark.parametrize(
    ("models", "folds", "owner", "name"),
    [
        ([GaussianClassifier()], 3, ByClass, "regrouped"),
        ([GaussianClassifier()], LeaveOneOut(), GaussianClassifier, "leave_one_out"),
        ([make_pipeline(QuadraticFeatures(), GaussianClassifier())], 3, GaussianClassifier, "estimate"),
        ([LogisticRegression(0.1), LogisticRegression(1.0)], 3, LogisticRegression, "path"),
    ],
)
def test_a_defect_of_a_fast_strategy_is_not_hidden_by_refitting(models, folds, owner, name, data, monkeypatch):
    X, y = data
    monkeypatch.setattr(owner, name, _raise_defect)

    with pytest.raises(TypeError, match="a defect"):
        kfold_held_out(dict(enumerate(models)), Split.of(X, y, folds, None, None))


def test_a_failure_of_a_model_is_recorded_and_others_continue(data):
    X, y = data

    class Failing(GaussianNB):
        def fit(self, *args, **kwargs):
            raise KeyError("anything")

    found = kfold_held_out({0: Failing(), 1: GaussianClassifier()}, Split.of(X, y, 3, None, None))

    assert isinstance(found.failures[0], KeyError)
    assert found.scores[1].shape == (len(y), len(np.unique(y)))
