"""Laws of sums of losses of linear logits over rows, against finite differences and full Hessians."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

from likely import ArraySource
from likely.blocks import Block, class_counts
from likely.objectives import LinearProblem, cross_entropy
from likely.objectives.cross_entropy import LogisticSetting
from likely.objectives.separation import compute_margins
from likely.objectives.whitening import hessian_blocks, hessian_diagonal

D = 4
CASES = [(n_classes, kind) for n_classes in (2, 3, 5) for kind in ("plain", "sparse", "far", "soft")]
every_kind = pytest.mark.parametrize(("n_classes", "kind"), CASES)


def make(n_classes, kind, n=60, seed=0):
    """Return a block, its setting and some parameters."""
    rng = np.random.default_rng([n_classes, seed])
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = np.round(rng.normal(size=(n, D)) + codes[:, None] * 0.3, 3) * (rng.random((n, D)) < 0.7)
    centre = rng.normal(size=D) if kind != "far" else np.full(D, 5e3)
    X = X + centre if kind == "far" else X
    targets = np.eye(n_classes) * 0.8 + 0.2 / n_classes if kind == "soft" else np.eye(n_classes)
    setting = LogisticSetting(rng.uniform(0.5, 2, n_classes), targets, centre, kind == "far")
    weight = None if kind == "plain" else rng.uniform(0.1, 3, n)
    theta = rng.normal(size=(1 if n_classes == 2 else n_classes, D + 1))
    return Block(csr_array(X) if kind == "sparse" else X, codes, weight), setting, theta


def loss(block, theta, setting):
    """Return the sum of losses by its definition; two classes are a softmax whose first logit is 0."""
    X = block.X.toarray() if not isinstance(block.X, np.ndarray) else block.X
    weight = setting.class_weight[block.codes] * (1 if block.weight is None else block.weight)
    z = all_logits(X, theta, setting)
    return float(-(weight[:, None] * setting.targets[block.codes] * log_softmax(z, axis=1)).sum())


def all_logits(X, theta, setting):
    z = (X - setting.centre) @ theta[:, :-1].T + theta[:, -1]
    return np.column_stack([np.zeros(len(z)), z]) if len(theta) == 1 else z


def whole_hessian(block, theta, setting):
    """Return Σ w (diag P − P P') ⊗ x x', row by row; for two classes the block of the second."""
    X = block.X.toarray() if not isinstance(block.X, np.ndarray) else block.X
    weight = setting.class_weight[block.codes] * (1 if block.weight is None else block.weight)
    P = softmax(all_logits(X, theta, setting), axis=1)
    total = 0
    for w, p, x in zip(weight, P, np.column_stack([X - setting.centre, np.ones(len(X))]), strict=True):
        among = np.diag(p) - np.outer(p, p)
        total = total + w * np.kron(among[1:, 1:] if len(theta) == 1 else among, np.outer(x, x))
    return total


@every_kind
def test_values_and_gradients_follow_the_definition(n_classes, kind):
    block, setting, theta = make(n_classes, kind)

    for of in (cross_entropy.value_and_gradient, cross_entropy.value_gradient_hessian):
        found = of(block, theta, setting)

        assert_allclose(found.value, loss(block, theta, setting), rtol=1e-10)
        steps = 1e-5 * np.eye(theta.size).reshape(-1, *theta.shape)
        slopes = [(loss(block, theta + s, setting) - loss(block, theta - s, setting)) / 2e-5 for s in steps]
        assert_allclose(found.gradient, slopes, rtol=1e-5, atol=1e-5)


@every_kind
def test_hessians_equal_the_definition_and_differences_of_gradients(n_classes, kind):
    block, setting, theta = make(n_classes, kind)

    found = cross_entropy.value_gradient_hessian(block, theta, setting).hessian

    assert_allclose(found, whole_hessian(block, theta, setting), rtol=1e-9, atol=1e-9)
    steps = 1e-5 * np.eye(theta.size).reshape(-1, *theta.shape)
    ahead, behind = (
        np.array([cross_entropy.value_and_gradient(block, theta + sign * s, setting).gradient for s in steps])
        for sign in (1, -1)
    )
    assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-5)


@every_kind
def test_hessian_products_equal_products_with_the_hessian(n_classes, kind, rng):
    block, setting, theta = make(n_classes, kind)
    H = whole_hessian(block, theta, setting)

    for direction in rng.normal(size=(3, *theta.shape)):
        found = cross_entropy.hessian_product(block, theta, direction, setting)

        assert found.shape == theta.shape
        assert_allclose(found.reshape(-1), H @ direction.reshape(-1), rtol=1e-8, atol=1e-8)


@every_kind
def test_hessian_blocks_and_diagonal_equal_those_of_the_hessian(n_classes, kind):
    block, setting, theta = make(n_classes, kind)
    H = whole_hessian(block, theta, setting)
    R, q = theta.shape

    blocks = cross_entropy.sample_hessian(block, theta, setting, np.zeros(R)).blocks()
    columns = cross_entropy.hessian_diagonal(block, theta, setting)

    for k in range(R):
        assert_allclose(blocks[k], H[k * q : (k + 1) * q, k * q : (k + 1) * q], rtol=1e-9, atol=1e-9)
    assert_allclose(columns.reshape(-1), H.diagonal(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("n_classes", "kind"), [(2, "plain"), (2, "far"), (3, "sparse"), (3, "soft")])
def test_sampled_hessian_blocks_are_unbiased_over_orders_of_the_rows(n_classes, kind, rng):
    block, setting, theta = make(n_classes, kind, n=200)
    exact = cross_entropy.sample_hessian(block, theta, setting, np.zeros(len(theta))).blocks()
    spacing = exact[:, -1, -1] / 60  # about 60 rows each

    found = []
    for _ in range(600):
        order = rng.permutation(200)
        weight = None if block.weight is None else block.weight[order]
        shuffled = Block(block.X[order], block.codes[order], weight)
        found.append(cross_entropy.sample_hessian(shuffled, theta, setting, spacing).blocks())

    scale = np.abs(exact).max()
    noise = 6 * np.std(found, axis=0) / np.sqrt(600)
    assert (np.abs(np.mean(found, axis=0) - exact) <= noise + 0.01 * scale).all()
    assert np.std(found, axis=0).max() > 1e-3 * scale  # rows were sampled


@pytest.mark.parametrize(("n_classes", "kind"), [(2, "plain"), (3, "sparse"), (3, "far")])
def test_margins_are_the_logit_of_the_truth_minus_the_best_other_logit(n_classes, kind):
    block, setting, theta = make(n_classes, kind)
    X = block.X if kind != "sparse" else block.X.toarray()
    z = all_logits(X, theta, setting)
    margins = [row[code] - np.delete(row, code).max() for row, code in zip(z, block.codes, strict=True)]

    found = compute_margins(block, theta, setting)

    assert_allclose([found.lowest, found.highest], [min(margins), max(margins)], rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_problem_is_the_penalised_objective_in_scaled_coordinates(n_classes, sparse, rng):
    """Gradient, Hessian, products, blocks and diagonal of a problem belong to one function of its parameters."""
    X = rng.normal(size=(90, D)) * [1, 20, 0.1, 1] + [0, 60, 0, 1]
    X[rng.random(X.shape) < 0.4] = 0
    codes = np.arange(90) % n_classes
    weight = rng.uniform(0.5, 2, 90)
    source = ArraySource(csr_array(X) if sparse else X, codes, weight, np.arange(n_classes), block_rows=32)
    priors = np.arange(1.0, n_classes + 1) / np.arange(1.0, n_classes + 1).sum()
    problem = LinearProblem.of(source, source.reduce(class_counts, n_classes), priors, 0.0, 0.3)
    row_weight = weight * (priors / np.bincount(codes, weight))[codes]

    def value(v):
        theta = problem.unscale(v)
        z = all_logits(X, theta, problem.setting)
        return -row_weight @ log_softmax(z, axis=1)[np.arange(90), codes] + 0.15 * np.sum(theta[:, :-1] ** 2)

    v, direction = rng.normal(size=(2, problem.n_parameters))
    found = problem.value_gradient_hessian(v)

    assert_allclose(problem.value_and_gradient(v).value, value(v), rtol=1e-10)
    assert_allclose(found.value, value(v), rtol=1e-10)
    assert_allclose(found.gradient, approx_fprime(v, value, 1e-7), rtol=1e-4, atol=1e-5)
    assert_allclose(problem.value_and_gradient(v).gradient, found.gradient, rtol=1e-8, atol=1e-10)
    numeric = [
        (problem.value_and_gradient(v + s).gradient - problem.value_and_gradient(v - s).gradient) / 2e-5
        for s in 1e-5 * np.eye(len(v))
    ]
    assert_allclose(found.hessian, numeric, rtol=1e-5, atol=1e-6)
    assert_allclose(problem.hessian_product(v, direction), found.hessian @ direction, rtol=1e-8, atol=1e-9)
    assert_allclose(hessian_diagonal(problem, v), found.hessian.diagonal(), rtol=1e-8)
    q = D + 1
    for k, block in enumerate(hessian_blocks(problem, v, 10**6)):
        assert_allclose(block, found.hessian[k * q : (k + 1) * q, k * q : (k + 1) * q], rtol=1e-8, atol=1e-9)


def test_the_l1_penalty_follows_its_definition(rng):
    X, codes = rng.normal(size=(60, D)) * [1, 10, 0.1, 3], np.arange(60) % 3
    source = ArraySource(X, codes, None, np.arange(3), block_rows=32)
    problem = LinearProblem.of(source, source.reduce(class_counts, 3), np.full(3, 1 / 3), 0.7, 0.0)
    v = rng.normal(size=problem.n_parameters)

    assert_allclose(problem.l1_penalty(v), 0.7 * np.abs(problem.unscale(v)[:, :-1]).sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_division_into_blocks_gives_the_same_sums(n_classes):
    block, setting, theta = make(n_classes, "sparse", n=97)
    setting = replace(setting, targets=np.eye(n_classes) * 0.9 + 0.1 / n_classes)
    whole = ArraySource(block.X, block.codes, block.weight, np.arange(n_classes), block_rows=97)
    cut = ArraySource(block.X, block.codes, block.weight, np.arange(n_classes), block_rows=10)

    for of in (cross_entropy.value_and_gradient, cross_entropy.value_gradient_hessian):
        a, b = whole.reduce(of, theta, setting), cut.reduce(of, theta, setting)
        assert_allclose(a.value, b.value, rtol=1e-12)
        assert_allclose(a.gradient, b.gradient, rtol=1e-10, atol=1e-12)
        assert_allclose(a.hessian, b.hessian, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_value_at_the_start_is_computed_without_rows(n_classes, rng):
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=50)])
    source = ArraySource(rng.normal(size=(len(codes), 3)), codes, None, np.arange(n_classes))
    priors = rng.dirichlet(np.ones(n_classes))
    targets = 0.9 * np.eye(n_classes) + 0.1 / n_classes
    problem = LinearProblem.of(source, source.reduce(class_counts, n_classes), priors, 0.0, 0.1).with_targets(targets)

    assert_allclose(problem.value_at_start, problem.value(problem.start()))
