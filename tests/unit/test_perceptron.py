"""The perceptron: updates derived by hand, and its messages."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from likely import (
    ArraySource,
    CalibratedClassifier,
    DegenerateDataError,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    MissingValuesError,
    NotConvergedWarning,
    Perceptron,
    SourceError,
    Standardize,
    make_pipeline,
)

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
LINE = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array(["a", "a", "b", "b"])


def test_steps_on_a_line_by_hand():
    """The first row, (x, 1) = (−2, 1), is a tie, so w becomes (2, −1), which misclassifies only x = 0.25."""
    X, y = [[-2.0], [1.0], [0.25]], ["a", "b", "b"]

    model = Perceptron(keep="last", max_iter=1)
    with pytest.warns(NotConvergedWarning):
        model.fit(X, y)

    assert_array_equal(model.coef_, [[2.25]])
    assert_array_equal(model.intercept_, [0.0])
    assert model.mistakes_.tolist() == [2.0]
    assert model.n_updates_ == 2


def test_the_average_is_over_the_weights_after_every_row():
    X, y = [[-2.0], [1.0], [0.25]], ["a", "b", "b"]

    model = Perceptron(keep="average", max_iter=1)
    with pytest.warns(NotConvergedWarning):
        model.fit(X, y)

    assert_allclose(model.coef_, [[(2 + 2 + 2.25) / 3]])
    assert_allclose(model.intercept_, [(-1 - 1 + 0) / 3])


def test_a_row_of_a_fractional_weight_makes_a_shorter_step():
    X, y = [[-3.0], [1.0]], ["a", "b"]

    model = Perceptron(keep="last").fit(X, y, sample_weight=[0.5, 1.0])

    assert_array_equal(model.coef_, [[1.5]])
    assert_array_equal(model.intercept_, [-0.5])
    assert model.mistakes_.tolist() == [0.5, 0.0]


def test_a_heavy_row_is_presented_until_it_is_classified_correctly():
    """Scores of the second row are −2.5, −1.25, 0 and then positive, so three of its ten presentations are mistakes."""
    X, y = [[-3.0], [-0.5]], ["a", "b"]

    model = Perceptron(keep="last", max_iter=1)
    with pytest.warns(NotConvergedWarning):
        model.fit(X, y, sample_weight=[1.0, 10.0])

    assert model.n_updates_ == 1 + 3
    assert_array_equal(model.coef_, [[3 - 3 * 0.5]])
    assert_array_equal(model.intercept_, [-1 + 3])


def test_of_tied_rivals_the_last_is_updated():
    model = Perceptron(keep="last").partial_fit([[2.0]], ["a"], classes=["a", "b", "c"])

    assert_array_equal(model.coef_, [[2.0], [0.0], [-2.0]])
    assert_array_equal(model.intercept_, [1.0, 0.0, -1.0])


def test_separable_rows_give_no_warning():
    model = Perceptron().fit(*LINE)

    assert model.converged_
    assert model.score(*LINE) == 1


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("last", "set keep='average' or keep='pocket'. Alternatively, use LogisticRegression"),
        ("average", "The average of the weights is kept"),
        ("pocket", "The weights with the fewest mistakes are kept"),
    ],
)
def test_a_perceptron_that_does_not_converge_warns_with_a_remedy(keep, expected):
    model = Perceptron(keep=keep, max_iter=7)

    with pytest.warns(NotConvergedWarning) as caught:
        model.fit(*XOR)

    message = str(caught[0].message)
    assert message.startswith("Perceptron did not converge in 7 epochs and 28 updates: the last epoch had 4 mistakes.")
    assert expected in message
    assert "raise max_iter" in message
    assert caught[0].filename == __file__
    assert issubclass(NotConvergedWarning, ConvergenceWarning)
    assert not model.converged_


def test_a_fit_from_a_source_that_does_not_converge_warns():
    source = ArraySource(*XOR, classes=np.array([0, 1]))

    with pytest.warns(NotConvergedWarning, match="100 epochs"):
        Perceptron().fit_source(source)


def test_the_model_is_fitted_even_if_the_warning_is_an_error():
    model = Perceptron()

    with pytest.raises(NotConvergedWarning):
        model.fit(*XOR)

    assert model.n_updates_ == 400


def test_partial_fit_does_not_warn():
    model = Perceptron().partial_fit(*XOR)

    assert not model.converged_
    assert model.n_iter_ == 1


def test_sparse_rows_of_a_million_columns_are_not_made_dense():
    X = random_array((50, 10**6), density=2e-5, format="csr", rng=np.random.default_rng(0))
    y = np.arange(50) % 2

    model = Perceptron(keep="last").fit(X, y)

    assert model.converged_
    assert model.score(X, y) == 1


def test_tiny_data_load_no_numba():
    code = (
        "import sys; from likely import Perceptron;"
        "Perceptron().fit([[-1.0], [1.0]], [0, 1]); print('numba' in sys.modules)"
    )

    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "False"


# Errors


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (np.nan, MissingValuesError, "X contains NaN in row 2, column 1"),
        (np.inf, InvalidDataError, r"X contains infinity \(inf\) in row 2, column 1"),
        (-np.inf, InvalidDataError, r"X contains infinity \(inf\) in row 2, column 1"),
        (1e200, InvalidDataError, "Values of column 1 reach 1e.200, too large"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_non_finite_values_are_named(convert, value, error, expected, n_classes):
    X = np.arange(24.0).reshape(12, 2)
    X[2, 1] = value

    with pytest.raises(error, match=expected):
        Perceptron().fit(convert(X), np.arange(12) % n_classes)


def test_an_infinity_that_agrees_with_its_class_is_reported():
    X = np.array([[-1.0], [1.0], [np.inf]])

    with pytest.raises(InvalidDataError, match="row 2, column 0"):
        Perceptron().fit(X, [0, 1, 1])


def test_row_numbers_in_messages_count_rows_of_weight_zero():
    X = np.array([[np.nan], [-1.0], [1.0], [np.nan]])

    with pytest.raises(MissingValuesError, match="row 3, column 0"):
        Perceptron().fit(X, [0, 0, 1, 1], sample_weight=[0, 1, 1, 1])


def test_shuffled_rows_keep_their_numbers_in_messages():
    X = np.arange(40.0).reshape(20, 2)
    X[13, 1] = np.nan

    with pytest.raises(MissingValuesError, match="row 13, column 1"):
        Perceptron(shuffle=True, random_state=0).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_scores_of_missing_values_are_refused(convert):
    model = Perceptron().fit(*LINE)

    with pytest.raises(MissingValuesError, match="row 1, column 0"):
        model.decision_function(convert([[0.0], [np.nan]]))


def test_one_class_is_refused():
    with pytest.raises(DegenerateDataError, match=r"at least two classes, but y has only one class: 'a'"):
        Perceptron().fit([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"keep": "best"}, "keep of Perceptron must be one of 'average', 'pocket', 'last', but is 'best'"),
        ({"max_iter": 0}, "max_iter of Perceptron must be a whole number from 1 to 1000000000, but is 0"),
        ({"max_iter": 2.5}, "max_iter of Perceptron must be a whole number"),
    ],
)
def test_options_out_of_range_are_refused(options, expected):
    for learn in (Perceptron(**options).fit, Perceptron(**options).partial_fit):
        with pytest.raises(InvalidParameterError, match=expected):
            learn(*LINE)


def test_the_pocket_has_no_partial_fit():
    assert not hasattr(Perceptron(keep="pocket"), "partial_fit")
    with pytest.raises(
        AttributeError, match="has no partial_fit, because the pocket algorithm evaluates weights on all"
    ):
        Perceptron(keep="pocket").partial_fit(*LINE)


def test_labels_that_were_not_announced_are_refused():
    model = Perceptron().partial_fit(*LINE)

    with pytest.raises(InvalidDataError, match=r"'c' is not among the announced classes \['a', 'b'\]"):
        model.partial_fit([[1.0]], ["c"])
    with pytest.raises(
        IncompatiblePartsError, match=r"has the classes \['a', 'b'\], but this partial_fit announces \['a', 'c'\]"
    ):
        model.partial_fit([[1.0]], ["a"], classes=["a", "c"])
    with pytest.raises(DegenerateDataError, match="Announce all classes"):
        Perceptron().partial_fit([[1.0]], ["c"])


def test_a_source_without_classes_is_refused():
    with pytest.raises(SourceError, match="the source has none"):
        Perceptron().fit_source(ArraySource(XOR[0]))


def test_an_error_leaves_the_model_as_it_was():
    model = Perceptron(keep="last").partial_fit(*LINE)
    before = model.coef_.copy(), model.n_updates_
    bad = np.array([[5.0], [-5.0], [np.nan]])

    for learn in (model.partial_fit, model.fit):
        with pytest.raises(MissingValuesError):
            learn(bad, ["a", "b", "a"])
    model.partial_fit(*LINE)

    assert_array_equal(model.coef_, before[0])
    assert model.n_updates_ == before[1]


def test_it_has_no_log_likelihood_until_it_is_calibrated(rng):
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    X[:, 0] += 4 * y
    model = Perceptron().fit(np.vstack([X[:, :1] - 2] * 2), np.r_[X[:, 0] > 2, X[:, 0] > 2])

    assert not hasattr(model, "log_likelihood")
    with pytest.raises(AttributeError, match="Use CalibratedClassifier"):
        model.llr([[0.0]])
    with pytest.warns(NotConvergedWarning):
        calibrated = CalibratedClassifier(make_pipeline(Standardize(), Perceptron()), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    assert np.isfinite(calibrated.llr(X)).all()


def test_an_unfitted_model_raises_an_error():
    with pytest.raises(NotFittedError):
        Perceptron().predict([[1.0]])


@pytest.mark.parametrize("keep", ["average", "pocket", "last"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_that_converged_classifies_its_training_rows_correctly(keep, n_classes):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(60) % n_classes
        X = rng.normal(size=(60, 2)) * 0.5 + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
        model = Perceptron(keep=keep, max_iter=10_000).fit(X, y)

        assert model.converged_
        assert model.score(X, y) == 1


def test_the_average_is_kept_without_convergence():
    with pytest.warns(NotConvergedWarning):
        model = Perceptron(max_iter=3).fit(*XOR)

    assert_allclose(np.append(model.coef_, model.intercept_), model._weights.average[0])
