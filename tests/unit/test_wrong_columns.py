"""Texts and wrong numbers of columns: every estimator names itself and the columns."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import likely
from likely import InvalidDataError

MAPS = ("AffineCalibrator", "IsotonicCalibrator", "LogisticFusion", "ProductFusion", "TailCalibrator", "VotingFusion")
MADE = {
    "CalibratedClassifier": lambda: likely.CalibratedClassifier(likely.SVM()),
    "FusedClassifier": lambda: likely.FusedClassifier([likely.GaussianClassifier(), likely.LogisticRegression()]),
    "GenerativeClassifier": lambda: likely.GenerativeClassifier(likely.Gaussian()),
    "Independent": lambda: likely.Independent([(likely.Gaussian(), [0, 1]), (likely.Gaussian(), [2])]),
    "Mixture": lambda: likely.Mixture(likely.Laplace()),
    "OpenSetClassifier": lambda: likely.OpenSetClassifier(unknown="z"),
    "Pipeline": lambda: likely.make_pipeline(likely.Standardize(), likely.PCA(2), likely.GaussianClassifier()),
}
ESTIMATORS = [
    name
    for name in likely.__all__
    if inspect.isclass(getattr(likely, name)) and hasattr(getattr(likely, name), "fit") and name not in MAPS
]
COUNTS = ("Bernoulli", "Categorical", "Multinomial")


def fitted(name):
    """A fitted estimator, the method that takes new rows, its rows as a data frame, and its targets."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) + np.repeat([0, 1], 30)[:, None]
    if name in COUNTS:
        rows = rng.integers(0, 2, (60, 3)).astype(float)
    X = pd.DataFrame(rows, columns=["age", "city", "income"])
    y = rng.normal(size=60) if name == "LinearRegression" else np.repeat(["a", "b"], 30)
    model = MADE.get(name, getattr(likely, name))()
    method = next(m for m in ("predict", "log_density", "transform") if hasattr(model, m))
    return model, method, X, y


def with_texts(X):
    return X.astype(object).assign(city=["Rome", "Oslo"] * 30)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_wrong_number_of_columns_names_the_model_and_the_columns(name):
    model, method, X, y = fitted(name)
    model.fit(X, y)

    with pytest.raises(InvalidDataError) as error:
        getattr(model, method)(X[["age", "city"]])
    if name != "Encode":
        assert f"X has 2 features, but {name} is expecting 3 features" in str(error.value)
    assert "'income'" in str(error.value)
    model.fit(X.to_numpy(), y)
    with pytest.raises(InvalidDataError, match=f"X has 4 features, but {name} is expecting 3 features as input"):
        getattr(model, method)(np.zeros((2, 4)))


@pytest.mark.parametrize("X", [np.zeros((0, 3)), csr_array((0, 3)), np.zeros(3), np.zeros((2, 2, 2))])
def test_rows_of_a_wrong_shape_raise_an_error_of_the_library(X):
    with pytest.raises(InvalidDataError, match=r"array|sample"):
        likely.GaussianClassifier().fit(X, np.arange(len(X) if X.ndim != 2 else X.shape[0]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "Encode"])
def test_texts_name_the_model_the_column_and_the_row(name):
    model, method, X, y = fitted(name)
    expected = f"^{name} takes columns of numbers, but column 'city' holds the text 'Rome' in row 0"

    with pytest.raises(InvalidDataError, match=expected):
        model.fit(with_texts(X), y)
    model.fit(X, y)
    with pytest.raises(InvalidDataError, match=expected):
        getattr(model, method)(with_texts(X))
    with pytest.raises(InvalidDataError, match=f"^{name} takes columns of numbers, but column 1 holds the text 'Rome'"):
        getattr(model, method)(with_texts(X).to_numpy())
