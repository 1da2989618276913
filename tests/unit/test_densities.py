"""Densities: hand-derived numbers, and the messages about invalid rows and options."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import likely
from likely import (
    Bernoulli,
    Categorical,
    DegenerateDataError,
    DegenerateDataWarning,
    Gaussian,
    GaussianClassifier,
    IncompatiblePartsError,
    Independent,
    InvalidDataError,
    InvalidParameterError,
    Laplace,
    MissingValuesError,
    Multinomial,
)
from likely.blocks import Block


def column(*values):
    return np.array(values, dtype=float)[:, None]


# Laplace


@pytest.mark.parametrize(
    ("values", "weights", "median", "scale"),
    [
        ([1, 2, 9], None, 2, 8 / 3),
        ([1, 2, 4, 9], None, 3, 2.5),
        ([1, 2, 9], [1, 1, 2], 5.5, 3.75),
        ([1, 2, 9], [0.1, 0.1, 0.2], 5.5, 3.75),
        ([1, 2, 9], [1, 1, 2.5], 9, 15 / 4.5),
        ([1, 2, 3, 4, 9], [0.1, 0.2, 0.3, 0.4, 1.0], 6.5, 3.0),
        ([-1, 0, 5], [2, 0, 2], 2, 3),
    ],
)
def test_location_and_scale_are_weighted_median_and_mean_absolute_deviation(values, weights, median, scale):
    density = Laplace().fit(column(*values), sample_weight=weights)

    assert_allclose(density.location_, [median])
    assert_allclose(density.scale_, [scale])


def test_location_and_scale_maximise_the_likelihood(rng):
    X, w = rng.normal(size=(31, 1)), rng.uniform(0.1, 2, 31)
    density = Laplace().fit(X, sample_weight=w)
    best = w @ density.log_density(X)

    for m in density.location_ + np.linspace(-0.5, 0.5, 41):
        for b in density.scale_ * np.linspace(0.7, 1.4, 15):
            assert w @ (-np.abs(X[:, 0] - m) / b - np.log(2 * b)) <= best + 1e-9


def test_a_small_scale_around_1e8_keeps_its_digits():
    density = Laplace().fit(column(1e8 - 1, 1e8, 1e8, 1e8 + 1, 1e8 - 3, 1e8 + 3) + 0.0)

    assert_allclose(density.scale_, [8 / 6], rtol=1e-7)


def test_a_constant_column_is_floored_relative_to_its_size_with_a_warning():
    X = np.array([[7.0, 1.0, 0.0], [7.0, 2.0, 0.0]])

    with pytest.warns(DegenerateDataWarning, match="Column 0 of X and 1 more column are constant. The scale was floor"):
        density = Laplace(floor=0.01).fit(X)

    assert_allclose(density.scale_, [0.07, 0.5, 0.01])


def test_a_constant_column_is_an_error_without_a_floor():
    with pytest.raises(
        DegenerateDataError, match=r"Column 0 of X is constant. The scale of a Laplace density must be above"
    ):
        Laplace(floor=0).fit(column(3, 3))


def test_values_too_large_to_be_summed_are_named():
    with pytest.raises(InvalidDataError, match="Values of column 0 are too large to be summed"):
        Laplace().fit(column(1.7e308, -1.7e308, 1.7e308, -1.7e308))


def test_the_density_of_a_very_distant_row_is_zero():
    density = Laplace().fit(column(-1e-300, 0, 1e-300))

    assert_array_equal(density.log_density(column(1e100)), [-np.inf])


def test_infinite_values_are_named_wherever_they_are_stored():
    X = np.array([[1.0, 2.0], [3.0, -np.inf]])

    for rows in (X, csr_array(X)):
        with pytest.raises(InvalidDataError, match=r"values that are finite or NaN .* but row 1, column 1 has -inf"):
            Laplace().fit(rows)


def test_the_median_of_sparse_rows_counts_their_zeros():
    X = csr_array(column(0, 0, 0, 4, 5))

    assert_array_equal(Laplace().fit(X).location_, [0])
    assert_array_equal(Laplace().fit(X, sample_weight=[1, 1, 1, 2, 2]).location_, [4])


def test_adding_held_rows_makes_no_copies():
    X = np.arange(6.0)[:, None]
    of, args = Laplace()._statistic()

    total = of(Block(X[:3]), *args) + of(Block(X[3:]), *args)

    assert all(np.shares_memory(rows, X) for rows, _, _ in total.held)


def test_a_laplace_density_of_sparse_rows_can_be_saved(tmp_path):
    X = csr_array(np.array([[0, 1.5], [2.0, 0], [3.0, np.nan], [0, 4.0]]))
    density = Laplace().fit(X, sample_weight=[1, 2, 3, 4])

    likely.save(density, tmp_path / "model")
    loaded = likely.load(tmp_path / "model")

    assert_array_equal(loaded.log_density(X), density.log_density(X))
    assert_array_equal(loaded.partial_fit(X).log_density(X), density.partial_fit(X).log_density(X))


# Categorical


def test_categories_are_counted_up_to_the_largest_that_was_seen():
    density = Categorical().fit([[0, 5], [2, 5], [2, 5]])

    assert [p.tolist() for p in density.probabilities_] == [[1 / 3, 0, 2 / 3], [0, 0, 0, 0, 0, 1]]
    assert density.n_parameters_ == 2 + 5
    assert_allclose(density.log_density([[2, 5]]), np.log(2 / 3))


def test_a_pseudo_count_is_added_to_every_category():
    density = Categorical(pseudo_count=2).fit(column(0, 2, 2))

    assert_allclose(density.probabilities_[0], [3 / 9, 2 / 9, 4 / 9])


def test_an_unseen_category_is_scored_with_count_zero():
    rows = column(3, 1e15)

    assert_allclose(Categorical(pseudo_count=2).fit(column(0, 2, 2)).log_density(rows), np.log([2 / 9, 2 / 9]))
    assert_array_equal(Categorical().fit(column(0, 2, 2)).log_density(rows), [-np.inf, -np.inf])


def test_a_category_beyond_n_categories_has_density_zero():
    density = Categorical(pseudo_count=1, n_categories=4).fit(column(0, 2, 2))

    assert_allclose(density.probabilities_[0], [2 / 7, 1 / 7, 3 / 7, 1 / 7])
    assert_allclose(density.log_density(column(3, 4)), [np.log(1 / 7), -np.inf])


def test_each_column_may_have_its_own_number_of_categories():
    density = Categorical(pseudo_count=1, n_categories=(2, 3)).fit([[0, 0]])

    assert [p.tolist() for p in density.probabilities_] == [[2 / 3, 1 / 3], [0.5, 0.25, 0.25]]


@pytest.mark.parametrize("n_categories", [0, -1, 2.5, "3", [[2]], [2, 0], True])
def test_invalid_n_categories_raise(n_categories):
    with pytest.raises(InvalidParameterError, match="n_categories of Categorical must be a whole number from 1"):
        Categorical(n_categories=n_categories).fit([[0, 1]])


def test_n_categories_must_match_the_columns():
    with pytest.raises(InvalidParameterError, match="one number for each of the 2 columns, but has 3"):
        Categorical(n_categories=[2, 2, 2]).fit([[0, 1]])


def test_fitting_a_category_beyond_n_categories_raises():
    with pytest.raises(InvalidDataError, match=r"Column 1 must have codes from 0 to 3 .* but has the code 7"):
        Categorical(n_categories=4).fit([[0, 7]])


@pytest.mark.parametrize("method", ["fit", "log_density"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            -1,
            "Negative values in data passed to Categorical, which needs whole numbers >= 0, but row 1, column 0 has",
        ),
        (
            0.5,
            "Categorical needs whole numbers >= 0, one for each category, but row 1, column 0 has 0.5. Number",
        ),
        (np.inf, "Categorical needs whole numbers >= 0, one for each category, but row 1, column 0 has inf."),
    ],
)
def test_invalid_codes_raise(value, message, method):
    density = Categorical().fit(column(0, 1))

    with pytest.raises(InvalidDataError) as caught:
        getattr(density, method)(column(1, value))

    assert message in str(caught.value)


def test_very_large_codes_raise():
    with pytest.raises(
        InvalidDataError, match=r"codes below 1048576, but row 1, column 0 has 1e\+12. Number the categ"
    ):
        Categorical().fit(column(0, 1e12))


def test_text_columns_raise():
    with pytest.raises(ValueError, match="column 0 holds the text 'black' in row 0"):
        Categorical().fit([["black"], ["white"]])


# Bernoulli


def test_an_unseen_value_has_density_zero():
    density = Bernoulli().fit([[1, 0], [1, 1]])

    assert_array_equal(density.probabilities_, [1, 0.5])
    assert_allclose(density.log_density([[1, 0], [0, 0]]), [np.log(0.5), -np.inf])


def test_probabilities_of_constant_columns_are_exact_for_any_weights(rng):
    w = rng.uniform(0.1, 3, 1000)

    density = Bernoulli().fit(np.tile([1.0, 0.0], (1000, 1)), sample_weight=w)

    assert_array_equal(density.probabilities_, [1, 0])


def test_a_pseudo_count_is_added_to_zeros_and_to_ones():
    assert_allclose(Bernoulli(pseudo_count=1).fit(column(1, 1, 0)).probabilities_, [3 / 5])


def test_values_above_the_threshold_are_ones():
    X = np.array([[0.5], [0.6], [np.nan], [-3.0]])
    density = Bernoulli(threshold=0.5).fit(X)

    assert_allclose(density.probabilities_, [1 / 3])
    assert_allclose(density.log_density(X), np.log([2 / 3, 1 / 3, 1, 2 / 3]))


@pytest.mark.parametrize("method", ["fit", "log_density"])
def test_values_other_than_zero_and_one_raise(method):
    with pytest.raises(InvalidDataError, match=r"needs zeros and ones, but row 1, column 0 has 2. Set threshold"):
        getattr(Bernoulli().fit(column(0, 1)), method)(column(1, 2))
    with pytest.raises(InvalidDataError, match="needs finite values, but row 1, column 0 has inf"):
        getattr(Bernoulli(threshold=0).fit(column(0, 1)), method)(column(1, np.inf))


@pytest.mark.parametrize("threshold", ["half", np.nan, np.inf])
def test_a_threshold_must_be_a_finite_number(threshold):
    with pytest.raises(InvalidParameterError, match="threshold of Bernoulli must be a finite number or None"):
        Bernoulli(threshold=threshold).fit(column(0, 1))


# Multinomial


def test_the_log_density_includes_the_multinomial_coefficient():
    density = Multinomial().fit([[1, 2, 1]])

    assert_allclose(np.exp(density.log_density([[1, 1, 0], [0, 0, 0], [0, 2, 0]])), [2 * 0.25 * 0.5, 1, 0.25])
    assert density.n_parameters_ == 2


def test_a_positive_count_in_an_unseen_column_has_density_zero():
    density = Multinomial().fit([[1, 1, 0]])
    rows = np.array([[1, 1, 0], [1, 1, 1]])

    assert_allclose(density.log_density(rows), [np.log(0.5), -np.inf])
    assert_allclose(density.log_density(csr_array(rows)), [np.log(0.5), -np.inf])


def test_a_pseudo_count_is_added_to_every_column():
    assert_allclose(Multinomial(pseudo_count=1).fit([[3, 0], [1, 0]]).probabilities_, [5 / 6, 1 / 6])


def test_counts_may_be_fractions():
    density = Multinomial().fit([[0.5, 1.5]])

    assert_allclose(density.probabilities_, [0.25, 0.75])
    assert_allclose(density.log_density([[0.5, 0.5]]), np.log(0.1875**0.5 / (np.pi / 4)))


def test_wide_sparse_rows_stay_sparse():
    words, texts = 10**6, 10**4  # dense rows would take 80 GB
    X = csr_array((np.ones(texts), np.full(texts, 3), np.arange(texts + 1)), shape=(texts, words))

    assert_array_equal(Multinomial().fit(X).log_density(X), np.zeros(texts))


def test_draws_have_the_given_total():
    density = Multinomial().fit([[1, 2], [3, 2]])

    assert_array_equal(density.sample(9, 0).sum(axis=1), np.full(9, 4))
    assert_array_equal(density.sample(9, 0, total=100).sum(axis=1), np.full(9, 100))
    with pytest.raises(InvalidParameterError, match=r"total must be a whole number .*, but is 1.5"):
        density.sample(9, 0, total=1.5)
    with pytest.raises(InvalidParameterError, match="total must be a whole number from 0 to 2147483647"):
        Multinomial().fit([[1e100, 1]]).sample()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["fit", "log_density"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            -1,
            InvalidDataError,
            "Negative values in data passed to Multinomial: counts must be finite and >= 0, but row 1",
        ),
        (
            np.nan,
            MissingValuesError,
            "Multinomial does not accept NaN: counts must be finite and >= 0, but row 1, column 0 has n",
        ),
        (
            np.inf,
            InvalidDataError,
            "Multinomial can sum only counts up to 1e+200, but row 1, column 0 has i",
        ),
        (
            1e300,
            InvalidDataError,
            "Multinomial can sum only counts up to 1e+200, but row 1, column 0 has 1",
        ),
    ],
)
def test_invalid_counts_raise(value, error, message, method, sparse):
    X = np.array([[1, 2.0], [value, 1]])

    with pytest.raises(error) as caught:
        getattr(Multinomial().fit([[1, 1]]), method)(csr_array(X) if sparse else X)

    assert message in str(caught.value)


def test_zero_counts_raise_without_a_pseudo_count():
    with pytest.raises(DegenerateDataError, match="Multinomial has no counts: all counts are 0 or have weight 0"):
        Multinomial().fit([[0, 0]])
    assert_array_equal(Multinomial(pseudo_count=1).fit([[0, 0]]).probabilities_, [0.5, 0.5])


# Independent


def test_a_product_is_the_sum_of_its_log_densities(rng):
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(3, size=50)])
    density = Independent([(Gaussian(), [1, 0]), (Categorical(), [2])]).fit(X)

    apart = Gaussian().fit(X[:, [1, 0]]).log_density(X[:, [1, 0]]) + Categorical().fit(X[:, 2:]).log_density(X[:, 2:])

    assert_allclose(density.log_density(X), apart)
    assert density.n_parameters_ == 5 + 2
    assert [columns.tolist() for columns in density.columns_] == [[1, 0], [2]]


def test_parameters_of_parts_are_read_and_set_by_position():
    density = Independent([(Gaussian("diagonal"), [0, 1]), (Categorical(), "rest")])

    assert density.get_params()["part0__covariance"] == "diagonal"
    density.set_params(part0__covariance="full", part1=Laplace(), part1__floor=0.5)

    assert (density.parts[0][0].covariance, density.parts[1][0].floor) == ("full", 0.5)
    assert density.parts[1][1] == "rest"
    with pytest.raises(ValueError, match="Invalid parameter 'part2'"):
        density.set_params(part2=Laplace())


def test_a_clone_shares_no_density_and_fitting_changes_no_parameter(rng):
    density = Independent([(Gaussian(), [0, 1]), (Laplace(), [2])])

    copied = clone(density)
    copied.fit(rng.normal(size=(9, 3)))

    assert copied.parts[0][0] is not density.parts[0][0]
    assert not hasattr(copied.parts[0][0], "statistics_")
    assert copied.densities_[0].mean_.shape == (2,)


@pytest.mark.parametrize("parts", [None, [], "xy", 3, [Gaussian()], [(Gaussian(),)], [("g", Gaussian(), [0])]])
def test_invalid_parts_raise(parts):
    with pytest.raises(
        InvalidParameterError, match="parts of Independent must be a list of pairs of density and columns"
    ):
        Independent(parts).fit([[1.0]])


@pytest.mark.parametrize("density", [GaussianClassifier(), "gaussian", Gaussian])
def test_what_is_no_density_is_refused(density):
    with pytest.raises(
        IncompatiblePartsError, match="Part 1 of Independent must be a density that is estimated from sums"
    ):
        Independent([(Laplace(), [0]), (density, [1])]).fit([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], [1], "Every column must belong to one part of Independent, but column 1 is in two"),
        ("rest", "rest", "Every column must belong to one part of Independent, but 'rest' is in two"),
        ([0], [2], "column 1 of n_features = 3 belongs to no part. Drop it, or give one part the columns 'rest'"),
        ([0, 1, 2], "rest", "must have at least one column, but the other parts name all n_features = 3 columns"),
        ([0, 1], [3], "must be a list of positions below n_features = 3, or 'rest', but are [3]"),
        ([0, 1], [], "must be a list of positions below n_features = 3, or 'rest', but are []"),
        ([0, 1], "two", "must be a list of positions below n_features = 3, or 'rest', but are 'two'"),
        ([0, 1], [-1], "must be a list of positions below n_features = 3, or 'rest', but are [-1]"),
    ],
)
def test_every_column_belongs_to_one_part(first, second, message):
    with pytest.raises(InvalidParameterError) as caught:
        Independent([(Laplace(), first), (Laplace(), second)]).fit(np.eye(3))

    assert message in str(caught.value)


def test_errors_and_warnings_name_the_part():
    density = Independent([(Laplace(), [0]), (Categorical(), [2, 1])])
    about = r"Part 1 of Independent, in which column 0 is the first of \[2, 1\]: Categorical needs"

    with pytest.raises(InvalidDataError, match=rf"{about} .* row 1, column 0 has 0.5"):
        density.fit([[1.0, 1, 1], [2.0, 1, 0.5]])
    with pytest.raises(InvalidDataError, match=rf"{about} .* row 0, column 1 has 0.5"):
        density.fit([[1.0, 1, 1], [2.0, 1, 0]]).log_density([[1.0, 0.5, 1]])
    with pytest.warns(DegenerateDataWarning, match="Part 0 of Independent, .*: Column 0 of X is constant"):
        density.fit([[1.0, 1, 1], [1.0, 1, 1]])


def test_a_product_of_products_is_a_density(rng):
    X = rng.normal(size=(20, 3))
    inner = Independent([(Laplace(), [0]), (Gaussian(), [1])])

    density = Independent([(inner, [2, 0]), (Laplace(), "rest")]).fit(X)

    apart = Laplace().fit(X[:, [2, 1]]).log_density(X[:, [2, 1]]) + Gaussian().fit(X[:, :1]).log_density(X[:, :1])
    assert_allclose(density.log_density(X), apart)


# All densities


@pytest.mark.parametrize("kind", [Categorical, Bernoulli, Multinomial])
@pytest.mark.parametrize("pseudo_count", [-1, np.inf, np.nan, "1", None, True])
def test_a_pseudo_count_is_a_finite_number(kind, pseudo_count):
    with pytest.raises(InvalidParameterError, match=f"pseudo_count of {kind.__name__} must be a finite number >= 0"):
        kind(pseudo_count=pseudo_count).fit([[0, 1], [1, 0]])


@pytest.mark.parametrize("density", [Laplace(), Categorical(), Bernoulli(), Multinomial()], ids=lambda d: str(d)[:-2])
def test_weights_that_overflow_over_instalments_are_refused(density):
    rows, heavy = [[0, 1], [1, 0]], [1e308, 1e307]
    density = clone(density).partial_fit(rows, sample_weight=heavy).partial_fit(rows, sample_weight=heavy)

    with pytest.raises(InvalidDataError, match=r"too large to be summed\. Scale the"):
        density.log_density(rows)


@pytest.mark.parametrize("floor", [-0.1, 2, "x"])
def test_a_floor_is_a_fraction(floor):
    with pytest.raises(InvalidParameterError, match="floor of Laplace must be a number from 0 to 1"):
        Laplace(floor=floor).fit(column(1, 2))


@pytest.mark.parametrize("n_samples", [-1, 2.5, "3"])
@pytest.mark.parametrize("density", [Gaussian(), Multinomial()], ids=["gaussian", "multinomial"])
def test_n_samples_must_be_a_whole_number(density, n_samples):
    with pytest.raises(InvalidParameterError, match="n_samples must be a whole number"):
        clone(density).fit([[1.0, 2], [2, 1], [5, 1]]).sample(n_samples)


@pytest.mark.parametrize(
    ("density", "expected"),
    [
        (Gaussian(), 3 + 6),
        (Gaussian("diagonal"), 6),
        (Gaussian("spherical"), 4),
        (Laplace(), 6),
        (Bernoulli(), 3),
        (Multinomial(), 2),
        (Categorical(n_categories=[2, 3, 4]), 1 + 2 + 3),
    ],
    ids=lambda value: str(value)[:30],
)
def test_free_parameters_are_counted(density, expected, rng):
    X = rng.integers(2, size=(20, 3)).astype(float)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(density).fit(X).n_parameters_ == expected
