"""Cross-entropy of Gaussian classifiers on images with pixels that are constant in a class.

The figures are those of docs/decisions/0020-floors-of-constant-columns.md, with the former floor of 1e-9 in brackets.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from likely import Full, GaussianClassifier, cross_entropy

pytestmark = pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")


@pytest.mark.parametrize(
    ("covariance", "expected", "error"),
    [
        ("diagonal", 16.203, 0.129),  # (4.1e9, 0.193)
        (Full(shrinkage=0.1, towards="pooled"), 44.87, 0.022),
        (Full(shrinkage=0.1, towards="identity"), 0.1614, 0.011),
        (Full(shrinkage="oas", towards="identity"), 0.1967, 0.011),
    ],
    ids=str,
)
def test_cross_entropy_on_digits(covariance, expected, error):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, truth = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    model = GaussianClassifier(covariance).fit(X, y)

    assert_allclose(cross_entropy(truth, model.log_likelihood(X_test)), expected, rtol=1e-3)
    assert_allclose(1 - model.score(X_test, truth), error, atol=1e-3)


def test_full_covariances_of_digits_remain_singular_in_other_directions():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, truth = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    model = GaussianClassifier().fit(X, y)

    assert 1e8 < cross_entropy(truth, model.log_likelihood(X_test)) < 2e8  # (4.2e9)


def test_cross_entropy_on_mnist(mnist):
    X, y = mnist["x_train"].astype(np.float64), mnist["y_train"]
    model = GaussianClassifier("diagonal").fit(X, y)
    X_test, truth = mnist["x_test"].astype(np.float64), mnist["y_test"]

    assert_allclose(cross_entropy(truth, model.log_likelihood(X_test)), 1585.9, rtol=1e-3)  # (1.1e10)
    assert_allclose(1 - model.score(X_test, truth), 0.294, atol=1e-3)  # (0.476)
