"""Laws of all densities that are estimated from sums."""

import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from likely import (
    ArraySource,
    Bernoulli,
    Categorical,
    DegenerateDataError,
    Gaussian,
    IncompatiblePartsError,
    Independent,
    Laplace,
    Multinomial,
    NotEnoughDataError,
)
from likely.blocks import Block

N = 60
MIXED = [(Laplace(), [3]), (Categorical(), [2, 0]), (Gaussian(), "rest")]
MEMBERS = {
    "full": Gaussian(),
    "diagonal": Gaussian("diagonal"),
    "spherical": Gaussian("spherical"),
    "laplace": Laplace(),
    "categorical": Categorical(),
    "smoothed categories": Categorical(pseudo_count=0.5, n_categories=4),
    "bernoulli": Bernoulli(),
    "smoothed bits": Bernoulli(pseudo_count=1),
    "thresholded": Bernoulli(threshold=1.5),
    "multinomial": Multinomial(),
    "smoothed counts": Multinomial(pseudo_count=2.5),
    "independent": Independent(MIXED),
}
CONTINUOUS = ["full", "diagonal", "spherical", "laplace"]
DISCRETE = ["categorical", "smoothed categories", "bernoulli", "smoothed bits", "multinomial", "smoothed counts"]
COPES_WITH_MISSING = [name for name in MEMBERS if name not in ("full", "multinomial", "smoothed counts", "independent")]

every = pytest.mark.parametrize("name", MEMBERS)


def rows_for(name, n=N, seed=0):
    """Return rows of four columns that a density can be fitted to."""
    rng = np.random.default_rng(seed)
    if "multinomial" in name or "counts" in name:
        return rng.poisson([1, 4, 2, 0.5], size=(n, 4)).astype(float)
    codes = rng.integers(0, [2, 3, 4, 2], size=(n, 4)).astype(float)
    if "categor" in name:
        return codes
    if "bit" in name or name == "bernoulli":
        return (codes > 0).astype(float)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + [5.0, -100, 0, 1e4]
    if name == "independent":
        X[:, [0, 2]] = codes[:, [0, 2]]
    return X


def fitted(name, *args, **kwargs):
    return clone(MEMBERS[name]).fit(*args, **kwargs)


def assert_same(a, b, X, rtol=1e-9):
    """Assert that two densities agree at rows."""
    assert_allclose(a.log_density(X), b.log_density(X), rtol=rtol, atol=1e-9)
    assert a.n_parameters_ == b.n_parameters_


@every
@pytest.mark.parametrize("cut", [1, 7, 59])
def test_partial_fits_equal_one_fit(name, cut):
    X, weight = rows_for(name), np.random.default_rng(1).uniform(0.1, 3, N)

    parts = clone(MEMBERS[name]).partial_fit(X[:cut], sample_weight=weight[:cut])
    parts.partial_fit(X[cut:], sample_weight=weight[cut:])

    assert_same(parts, fitted(name, X, sample_weight=weight), X)


@every
def test_sums_of_parts_equal_one_sum(name):
    X, density = rows_for(name), clone(MEMBERS[name])
    of, args = density._statistic()
    parts = [of(ArraySource(X[i : i + 7]).all_rows(), *args) for i in range(0, N, 7)]

    forwards = clone(density).estimate(sum(parts[1:], start=parts[0]))
    backwards = clone(density).estimate(sum(parts[-2::-1], start=parts[-1]))

    assert_same(forwards, density.fit(X), X)
    assert_same(backwards, density, X)


@every
def test_the_division_into_blocks_does_not_matter(name):
    X, weight = rows_for(name), np.random.default_rng(2).uniform(0.1, 3, N)

    blocks = clone(MEMBERS[name]).fit_source(ArraySource(X, weight=weight, block_rows=5))

    assert_same(blocks, fitted(name, X, sample_weight=weight), X)


@every
def test_weights_equal_repetition(name):
    X, repeats = rows_for(name), np.random.default_rng(3).integers(0, 5, N)

    weighted = fitted(name, X, sample_weight=repeats.astype(float))

    assert_same(weighted, fitted(name, np.repeat(X, repeats, axis=0)), np.repeat(X, repeats, axis=0))


@every
def test_the_scale_of_weights_does_not_matter_without_pseudo_counts(name):
    if "smoothed" in name:
        pytest.skip("the effect of a pseudo-count depends on the weight of the rows")
    X, weight = rows_for(name), np.random.default_rng(4).uniform(0.1, 3, N)

    assert_same(fitted(name, X, sample_weight=weight / 1000), fitted(name, X, sample_weight=weight), X)


@every
def test_the_order_of_rows_does_not_matter(name):
    X, order = rows_for(name), np.random.default_rng(5).permutation(N)

    assert_same(fitted(name, X[order]), fitted(name, X), X)


@every
def test_sparse_rows_equal_dense_rows(name):
    X = rows_for(name) * (np.random.default_rng(6).random((N, 4)) < 0.6)
    density = fitted(name, X)

    sparse = fitted(name, csr_array(X))

    assert_same(sparse, density, X)
    assert_allclose(sparse.log_density(csr_array(X)), density.log_density(X), atol=1e-9)


@every
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_narrow_numbers_are_summed_in_double_precision(name, dtype):
    X = rows_for(name).astype(dtype)

    assert_same(fitted(name, X), fitted(name, X.astype(float)), X.astype(float), rtol=1e-12)


@every
def test_the_score_is_the_mean_log_density(name):
    X = rows_for(name)
    density = fitted(name, X)

    assert density.score(X) == density.log_density(X).mean()
    assert density.log_density(X).shape == (N,)


@every
def test_a_fitted_density_does_not_change_with_the_callers_rows(name):
    X, weight = rows_for(name), np.random.default_rng(7).uniform(0.1, 3, N)
    given, weights = X.copy(), weight.copy()
    density = clone(MEMBERS[name]).partial_fit(given, sample_weight=weights)

    given[:], weights[:] = 0, 1

    assert_same(density, fitted(name, X, sample_weight=weight), X)
    again = fitted(name, given := X.copy(), sample_weight=weights)
    given[:] = 0
    again.partial_fit(X)
    assert_same(again, fitted(name, np.vstack([X, X])), X)


@every
def test_a_density_survives_pickling(name):
    X = rows_for(name)
    density = fitted(name, X)

    assert_array_equal(pickle.loads(pickle.dumps(density)).log_density(X), density.log_density(X))


@every
def test_draws_repeat_with_the_seed_and_have_the_right_shape(name):
    density = fitted(name, rows_for(name))

    assert_array_equal(density.sample(5, random_state=3), density.sample(5, random_state=3))
    assert density.sample(0).shape == (0, 4)
    assert density.sample().shape == (1, 4)


@every
def test_draws_have_the_moments_of_the_rows_and_can_be_fitted(name):
    if name == "thresholded":
        pytest.skip("draws are zeros and ones, not the values before the threshold")
    X = rows_for(name, 400)
    if "multinomial" in name or "counts" in name:
        X = X[X.sum(axis=1) == 7]  # the density does not model the total
    density = clone(MEMBERS[name]).set_params(**({"pseudo_count": 0} if "smoothed" in name else {})).fit(X)

    drawn = density.sample(20_000, random_state=0)

    spread = X.std(axis=0) if "laplace" not in name else density.scale_
    mean = density.location_ if name == "laplace" else X.mean(axis=0)
    exact = [1, 3] if name != "independent" else [1]  # the mean of a Laplace density is the median of its rows
    assert_allclose(((drawn.mean(axis=0) - mean) / spread)[exact], 0, atol=0.05)
    again = clone(density).fit(drawn)
    assert_allclose(again.score(X), density.score(X), atol=0.05)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_of_one_column_integrate_to_one(name):
    density = fitted(name, rows_for(name)[:, :1])
    centre, spread = density.sample(2000, random_state=0).mean(), density.sample(2000, random_state=0).std()
    grid = np.linspace(centre - 20 * spread, centre + 20 * spread, 200_001)

    total = np.trapezoid(np.exp(density.log_density(grid[:, None])), grid)

    assert_allclose(total, 1, atol=1e-5)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_of_all_possible_rows_sum_to_one(name):
    density, widths = fitted(name, rows_for(name)), [2, 3, 4, 2]
    if "categor" in name:
        widths = [4] * 4 if "smoothed" in name else widths
    elif "multinomial" not in name and "counts" not in name:
        widths = [2] * 4
    rows = np.array(list(product(*map(range, [6] * 4 if "counts" in name or "multinomial" in name else widths))))
    if "counts" in name or "multinomial" in name:
        rows = rows[rows.sum(axis=1) == 5]

    assert_allclose(np.exp(density.log_density(rows)).sum(), 1, atol=1e-12)


@pytest.mark.parametrize("name", COPES_WITH_MISSING)
def test_missing_values_are_integrated_out(name):
    X = rows_for(name)
    density = fitted(name, X)
    gone = X.copy()
    gone[:, 1:] = np.nan
    first = clone(MEMBERS[name]).fit(X[:, :1])
    if name == "spherical":
        pytest.skip("the variance of a column depends on the others")

    assert_allclose(density.log_density(gone), first.log_density(X[:, :1]))
    gone[:] = np.nan
    assert_array_equal(density.log_density(gone), np.zeros(N))


@pytest.mark.parametrize("name", ["diagonal", "laplace", "categorical", "smoothed categories", "bernoulli"])
def test_missing_values_are_omitted_column_by_column(name, rng):
    X = rows_for(name)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:2] = rows_for(name)[:2]
    whole = fitted(name, X)

    for j in range(4):
        present = X[~np.isnan(X[:, j])][:, [j]]
        only = np.full((len(present), 4), np.nan)
        only[:, [j]] = present
        assert_allclose(whole.log_density(only), fitted(name, present).log_density(present))


def test_each_density_of_a_product_handles_its_missing_values(rng):
    X = rows_for("independent")
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 1] = rows_for("independent")[:, 1]
    density = fitted("independent", X)

    parts = [
        part.log_density(X[:, columns]) for part, columns in zip(density.densities_, [[3], [2, 0], [1]], strict=True)
    ]

    assert_allclose(density.log_density(X), sum(parts))


@every
def test_an_error_leaves_the_density_unchanged(name):
    X = rows_for(name)
    density = fitted(name, X)
    before = density.log_density(X)
    broken = X.copy()
    broken[5, 2] = np.inf

    for method in (density.fit, density.partial_fit, density.log_density):
        with pytest.raises(ValueError, match=r"row 5, column|inf"):
            method(broken)

    assert_array_equal(density.log_density(X), before)


@every
def test_unfitted_densities_raise(name):
    for ask in (lambda d: d.log_density(rows_for(name)), lambda d: d.sample(), lambda d: d.n_parameters_):
        with pytest.raises(NotFittedError):
            ask(clone(MEMBERS[name]))


@pytest.mark.parametrize("name", ["laplace", "categorical", "bernoulli"])
def test_a_later_batch_can_supply_a_missing_column(name):
    X = rows_for(name)
    first = X.copy()
    first[:, 2] = np.nan
    density = clone(MEMBERS[name]).partial_fit(first)

    with pytest.raises(NotEnoughDataError, match="has no value in column 2"):
        density.log_density(X)
    assert np.isfinite(density.partial_fit(X).log_density(X)).all()


@pytest.mark.parametrize("name", [n for n in MEMBERS if n not in CONTINUOUS])
def test_statistics_of_other_kinds_or_widths_do_not_add(name):
    density = fitted(name, rows_for(name))
    narrow = fitted("diagonal", rows_for("diagonal")).statistics_

    with pytest.raises(IncompatiblePartsError, match="cannot be added to"):
        density.statistics_ + narrow


@pytest.mark.parametrize("name", ["laplace", "categorical", "bernoulli", "multinomial"])
def test_zero_is_the_identity_on_both_sides(name):
    X = rows_for(name)
    density = fitted(name, X)
    zero = type(density.statistics_).zero(4)

    for total in (zero + density.statistics_, density.statistics_ + zero):
        assert_array_equal(clone(density).estimate(total).log_density(X), density.log_density(X))


@every
def test_rows_of_weight_zero_in_a_block_have_no_effect(name):
    """Such weights occur as responsibilities of a mixture's component."""
    X, density = rows_for(name), clone(MEMBERS[name])
    weight = np.tile([0.0, 1.0], N // 2)
    of, args = density._statistic()

    total = of(Block(X[:20], weight=weight[:20]), *args) + of(Block(X[20:], weight=weight[20:]), *args)

    kept = X[1::2]
    found = clone(density).estimate(total)
    assert_allclose(found.log_density(kept), fitted(name, kept).log_density(kept), atol=1e-8)


@pytest.mark.parametrize("name", ["laplace", *DISCRETE])
def test_one_block_may_have_weight_zero_but_not_all_rows(name):
    X, density = rows_for(name), clone(MEMBERS[name])
    of, args = density._statistic()
    nothing = of(Block(X, weight=np.zeros(N)), *args)

    assert_same(clone(density).estimate(nothing + of(Block(X), *args)), fitted(name, X), X)
    if "smoothed" not in name:
        with pytest.raises(DegenerateDataError, match="have weight 0"):
            density.estimate(nothing)
