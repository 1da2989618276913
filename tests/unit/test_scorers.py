"""Scorers by name, in scikit-learn's cross-validations and searches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

from likely import (
    SVM,
    Application,
    GaussianClassifier,
    InvalidDataError,
    InvalidParameterError,
    KernelLogisticRegression,
    KernelPCA,
    LinearKernel,
    NystromFeatures,
    PolynomialKernel,
    RBFKernel,
    Trials,
    bayes_risk,
    make_pipeline,
    scorers,
)

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture
def rows(rng):
    y = np.repeat(["no", "yes"], [60, 40])
    return rng.normal(size=(100, 3)) + (y == "yes")[:, None], y


def test_each_scorer_is_its_metric_with_the_sign_of_its_name(rows):
    X, y = rows
    trials = Trials(y, GaussianClassifier().fit(X, y).llr(X))
    expected = {
        "neg_actual_dcf": -trials.actual_dcf(0.1),
        "neg_min_dcf": -trials.min_dcf(0.1),
        "neg_calibration_loss": -trials.calibration_loss(0.1),
        "neg_cllr": -trials.cllr(),
        "neg_min_cllr": -trials.min_cllr(),
        "neg_eer": -trials.eer(),
        "roc_auc": trials.roc_auc(),
    }
    model = GaussianClassifier().fit(X, y)

    for name, value in expected.items():
        scorer = scorers[name].at(0.1) if scorers[name].takes_application else scorers[name]
        assert_allclose(scorer(model, X, y), value, rtol=1e-12)
    assert set(scorers) == {*expected, "neg_bayes_risk", "neg_cross_entropy"}


def test_costs_are_at_equal_priors_unless_an_application_is_given(rows):
    X, y = rows
    model = GaussianClassifier().fit(X, y)

    assert scorers.neg_min_dcf(model, X, y) == -Trials(y, model.llr(X)).min_dcf(0.5)
    rare = Application.binary(0.05, 3)
    assert scorers.neg_bayes_risk.at(rare)(model, X, y) == -bayes_risk(y, model.log_likelihood(X), rare)


def test_scorers_work_in_cross_validation_and_search(rows):
    X, y = rows
    costs = cross_val_score(GaussianClassifier(), X, y, cv=FOLDS, scoring=scorers["neg_min_dcf"].at(0.2))
    several = cross_validate(LogisticRegression(), X, y, cv=FOLDS, scoring=dict(scorers))
    search = GridSearchCV(GaussianClassifier(), {"tied": [False, True]}, cv=FOLDS, scoring=scorers.neg_cllr).fit(X, y)

    assert ((costs >= -1) & (costs <= 0)).all()
    assert all(np.isfinite(several[f"test_{name}"]).all() for name in scorers)
    by_hand = [
        np.mean([-Trials(y[b], model.fit(X[a], y[a]).llr(X[b])).cllr() for a, b in FOLDS.split(X)])
        for model in (GaussianClassifier(), GaussianClassifier(tied=True))
    ]
    assert_allclose(search.cv_results_["mean_test_score"], by_hand, rtol=1e-12)


def test_weights_are_frequencies(rows, rng):
    X, y = rows
    weight = rng.integers(0, 3, len(y))
    model = GaussianClassifier().fit(X, y)

    for name in ("neg_cllr", "neg_bayes_risk", "neg_min_dcf"):
        repeated = scorers[name](model, np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert_allclose(scorers[name](model, X, y, sample_weight=weight), repeated, rtol=1e-12)


def test_a_fold_without_a_class_keeps_the_columns_of_the_model(rng):
    X, y = rng.normal(size=(60, 2)) + np.repeat([0, 3, 6], 20)[:, None], np.repeat([0, 1, 2], 20)
    model = GaussianClassifier().fit(X, y)

    assert np.isfinite(scorers.neg_cross_entropy(model, X, y))
    with pytest.raises(InvalidDataError, match="neg_eer needs scores of two classes, but Gaussian"):
        scorers.neg_eer(model, X, y)


def test_mistakes_in_names_and_applications_are_named():
    with pytest.raises(InvalidParameterError, match=r"There is no scorer 'min_dcf'\. The scorers are neg_actual_dcf"):
        scorers["min_dcf"]
    with pytest.raises(AttributeError, match="There is no scorer 'cllr'"):
        _ = scorers.cllr
    with pytest.raises(InvalidParameterError, match="neg_cllr does not depend on an application"):
        scorers.neg_cllr.at(0.1)
    assert {"neg_cllr", "roc_auc"} <= set(dir(scorers))
    assert len(scorers) == 9
    assert repr(scorers.neg_min_dcf.at(0.1)) == "<scorer neg_min_dcf at 0.1>"


@pytest.mark.parametrize("kernel", ["rbf", RBFKernel(1.0)], ids=["by name", "as an object"])
def test_a_search_goes_over_the_parameters_of_a_kernel(rows, kernel):
    X, y = rows
    gammas = [0.01, 0.1, 1.0]
    search = GridSearchCV(SVM(C=1.0, kernel=kernel), {"kernel__gamma": gammas}, cv=FOLDS).fit(X, y)
    by_hand = [cross_val_score(SVM(C=1.0, kernel=RBFKernel(gamma)), X, y, cv=FOLDS).mean() for gamma in gammas]

    assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]
    assert kernel == "rbf" or kernel.gamma == 1.0


@pytest.mark.parametrize("cls", [SVM, KernelLogisticRegression, KernelPCA, NystromFeatures])
def test_kernels_given_by_name_take_parameters(cls):
    model = cls(kernel="polynomial").set_params(kernel__degree=4)

    assert model.kernel == PolynomialKernel(4)
    assert cls(kernel="polynomial").set_params(kernel__degree=3).kernel == PolynomialKernel(3)
    with pytest.raises(InvalidParameterError, match=r"RBFKernel has no parameter 'width'\. Its parameters are"):
        cls(kernel="rbf").set_params(kernel__width=1.0)
    with pytest.raises(InvalidParameterError, match="gamma of RBFKernel must be"):
        cls(kernel=RBFKernel(2.0)).set_params(kernel__gamma=-1.0)


def test_parts_of_combined_kernels_have_parameters_by_place():
    kernel = LinearKernel() + 2.0 * RBFKernel(0.5)
    before = kernel.parts

    name = next(name for name in kernel.get_params() if name.endswith("gamma"))
    assert name.startswith("part1__part")
    assert kernel.get_params()[name] == 0.5
    kernel.set_params(**{name: 3.0})
    assert kernel.get_params()[name] == 3.0
    assert before[1].get_params()[name.partition("__")[2]] == 0.5
    searched = make_pipeline(SVM(kernel=kernel)).set_params(**{f"svm__kernel__{name}": 0.25})
    assert searched[-1].kernel.get_params()[name] == 0.25
