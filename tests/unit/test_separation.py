"""Separable classes are found exactly if linear programming finds a separating direction."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.special import expit

from likely import DegenerateDataWarning, LogisticRegression
from likely.objectives import linear_rows

SOLVERS = ["auto", "newton", "l-bfgs", "newton-cg"]


def differences(X, y, n_classes):
    """The matrix whose product with the parameters is the margin of each row over each other class."""
    rows = np.column_stack([X, np.ones(len(X))])
    if n_classes == 2:
        return np.where(y == 1, 1, -1)[:, None] * rows
    lines = []
    for x, truth in zip(rows, y, strict=True):
        for rival in set(range(n_classes)) - {truth}:
            line = np.zeros((n_classes, rows.shape[1]))
            line[truth], line[rival] = x, -x
            lines.append(line.reshape(-1))
    return np.array(lines)


def is_separable(X, y, n_classes):
    """Whether some bounded direction increases some margins and decreases none (Albert and Anderson 1984)."""
    A = differences(X, y, n_classes)
    best = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -best.fun > 1e-7


def small(seed):
    """A few points of a grid, so that several points often lie on one line."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 2
    n = int(rng.integers(5, 16))
    X = rng.integers(-2, 3, size=(n, 2)).astype(float)
    y = np.argsort(np.argsort(X @ rng.normal(size=2) + rng.normal(size=n) * rng.choice([0, 0.4, 1]))) * n_classes // n
    y[:n_classes] = np.arange(n_classes) if seed % 3 == 0 else y[:n_classes]
    return X, y, n_classes


def fitted(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, caught


def assert_certificate(separator, X, y, n_classes):
    theta = np.column_stack([separator.coef, separator.intercept])
    favours = (differences(X, y, n_classes) @ theta.reshape(-1)).reshape(len(y), -1).min(axis=1)
    scale = favours.max()
    assert scale > 0
    assert favours.min() >= -1e-6 * scale
    assert_allclose([separator.least_margin, separator.most_margin], [favours.min(), scale], atol=1e-6 * scale)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(100))
def test_small_data_are_separable_if_linear_programming_finds_a_direction(seed, solver):
    X, y, n_classes = small(seed)
    truth = is_separable(X, y, n_classes)

    model, caught = fitted(LogisticRegression(solver=solver), X, y)

    assert (model.separator_ is not None) == truth
    assert [warning.category for warning in caught] == truth * [DegenerateDataWarning]
    if truth:
        assert_certificate(model.separator_, X, y, n_classes)
    assert model.converged_
    assert np.isfinite(model.log_likelihood(X)).all()


def test_the_small_data_are_of_every_kind():
    kinds = []
    for seed in range(100):
        X, y, n_classes = small(seed)
        A = differences(X, y, n_classes)
        strictly = linprog(np.zeros(A.shape[1]), A_ub=-A, b_ub=-np.ones(len(A)), bounds=(None, None)).status == 0
        kinds.append((n_classes, is_separable(X, y, n_classes) + strictly))

    for n_classes in (2, 3):
        for kind in (0, 1, 2):
            assert kinds.count((n_classes, kind)) >= 5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_separable_rows_give_a_certificate_and_a_warning_with_a_remedy(solver, convert):
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])

    with pytest.warns(DegenerateDataWarning, match=r"all rows.*no maximum.*regularization > 0"):
        model = LogisticRegression(solver=solver).fit(convert(X), y)

    assert_certificate(model.separator_, X, y, 2)
    assert model.separator_.least_margin > 0


def test_quasi_complete_separation_is_reported():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]

    with pytest.warns(DegenerateDataWarning, match=r"separates some rows.*no maximum"):
        model = LogisticRegression().fit(X, y)

    assert_certificate(model.separator_, np.array(X), np.array(y), 2)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_rows_are_fitted_with_targets_by_laplaces_rule(solver, n_classes):
    """The same objective, written as K copies of every row, weighted by the targets."""
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(n_classes), [6, 9, 4][:n_classes])
    X = rng.normal(size=(len(y), 2)) + 9 * np.eye(3, 2)[y]

    with pytest.warns(DegenerateDataWarning, match="no maximum"):
        model = LogisticRegression(solver=solver, tol=1e-11).fit(X, y)

    counts = np.bincount(y)[:, None]
    targets = (np.eye(n_classes) + 1 / counts) / (1 + n_classes / counts)
    shown = np.tile(np.arange(n_classes), len(y))
    by_hand = LogisticRegression(tol=1e-11).fit(np.repeat(X, n_classes, axis=0), shown, targets[y].reshape(-1))
    odds, wanted = (np.diff(np.log(m.predict_proba(X)), axis=1) for m in (model, by_hand))
    assert_allclose(odds, wanted, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("overlap", [1e-1, 1e-3, 1e-5])
def test_a_slight_overlap_is_an_overlap(overlap, solver):
    """Classes with rows in [0, 5 + overlap] and [5, 10] have a finite optimal weight for any overlap > 0."""
    X = np.concatenate([np.linspace(0, 4, 20), [5 + overlap], [5], np.linspace(6, 10, 20)])[:, None]
    y = np.repeat([0, 1], 21)

    model, caught = fitted(LogisticRegression(solver=solver, tol=1e-12), X, y)

    assert caught == []
    z = X[:, 0] * model.coef_[0, 0] + model.intercept_[0]
    residual = expit(z) - y
    assert_allclose([residual.mean(), residual @ (X[:, 0] - 5) / 42], 0, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_and_origin_do_not_hide_separation(unit, shift):
    X, y = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 1.5], [4.0, 1.0]]) * unit + shift * unit, [0, 0, 1, 1]

    with pytest.warns(DegenerateDataWarning, match="all rows"):
        LogisticRegression().fit(X, y)


def test_weights_and_priors_do_not_hide_separation():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]

    with pytest.warns(DegenerateDataWarning, match="no maximum"):
        LogisticRegression(training_prior=0.01).fit(X, y, sample_weight=[1e-3, 1, 1, 1e3])


def test_more_columns_than_rows_are_always_separable(rng):
    X, y = rng.normal(size=(20, 40)), np.arange(20) % 2

    with pytest.warns(DegenerateDataWarning, match="no maximum"):
        model = LogisticRegression().fit(X, y)

    assert_certificate(model.separator_, X, y, 2)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_with_a_penalty_separation_is_not_reported(penalty):
    model = LogisticRegression(1e-6, penalty=penalty).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])

    assert model.separator_ is None
    assert model.converged_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [0, 3, 5, 6, 10])
@pytest.mark.parametrize("n_classes", [2, 4, 6])
def test_separation_is_found_if_a_solver_starts_from_a_subsample(n_classes, seed, solver, monkeypatch):
    rng = np.random.default_rng([n_classes, seed])
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=600 - n_classes)])
    X = rng.normal(size=(600, 4)) + (2.5 if seed % 2 else 1.0) * rng.normal(size=(n_classes, 4))[y]
    truth = is_separable(X, y, n_classes)
    monkeypatch.setattr(linear_rows, "SAMPLE_ROWS", 16)
    monkeypatch.setattr(linear_rows, "SAMPLE_VALUES", 64)

    model, caught = fitted(LogisticRegression(solver=solver), X, y)

    assert (model.separator_ is not None) == truth
    assert [warning.category for warning in caught] == truth * [DegenerateDataWarning]
