"""Mixtures compared with scikit-learn, SciPy, and textbook formulas in plain NumPy."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as PeerMixture
from threadpoolctl import threadpool_limits

from likely import LBG, AbsoluteFloor, Gaussian, GaussianMixture, KMeans, NotConvergedWarning

SHAPES = {
    "full": ("full", False, "full"),
    "diagonal": ("diagonal", False, "diag"),
    "spherical": ("spherical", False, "spherical"),
    "tied": ("full", True, "tied"),
}


def _overlapping(rng):
    return np.concatenate([rng.normal(size=(150, 3)), rng.normal(size=(150, 3)) * 1.5 + 1])


def _separated(rng):
    return np.concatenate([rng.normal(size=(100, 3)) + 20 * k for k in range(3)])


def _correlated(rng):
    return np.concatenate([rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + 3 * k for k in range(2)])


def _scales(rng):
    return _overlapping(rng) * [1e-6, 1.0, 1e6]


DATA = {
    "overlapping": (_overlapping, 2),
    "separated": (_separated, 3),
    "correlated": (_correlated, 3),
    "scales": (_scales, 2),
    "one column": (lambda rng: np.concatenate([rng.normal(size=(100, 1)), rng.gamma(2.0, size=(150, 1)) + 2]), 3),
    "many columns": (lambda rng: np.concatenate([rng.normal(size=(300, 30)) + k for k in range(2)]), 2),
}


def start_for(X, K, covariance, rng):
    """Return weights, means and covariances that are not a fixed point of EM."""
    d = X.shape[1]
    weights = rng.dirichlet(np.full(K, 5.0))
    means = X[rng.choice(len(X), K, replace=False)]
    spread = np.cov(X.T, bias=True).reshape(d, d)
    if covariance == "spherical":
        return weights, means, np.full((K, d), np.trace(spread) / d)
    if covariance == "diagonal":
        return weights, means, np.tile(spread.diagonal(), (K, 1)) * rng.uniform(0.5, 2, size=(K, d))
    return weights, means, np.stack([spread * rng.uniform(0.5, 2) for _ in range(K)])


def peer_from(start, kind, n_iterations, X):
    """Return scikit-learn's mixture after ``n_iterations`` iterations."""
    weights, means, covariances = start
    if kind == "full":
        precisions = np.linalg.inv(covariances)
    elif kind == "tied":
        precisions = np.linalg.inv(np.tensordot(weights, covariances, axes=1))
    elif kind == "diag":
        precisions = 1 / covariances
    else:
        precisions = 1 / covariances[:, 0]
    peer = PeerMixture(
        len(weights),
        covariance_type=kind,
        tol=0.0,
        reg_covar=0.0,
        max_iter=n_iterations,
        weights_init=weights,
        means_init=means,
        precisions_init=precisions,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with threadpool_limits(1):  # for such small products, synchronising threads costs more than it gains
            return peer.fit(X)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_iteration_has_the_log_likelihood_of_scikit_learn(shape, data, rng):
    covariance, tied, kind = SHAPES[shape]
    make, K = DATA[data]
    X = make(rng)
    start = start_for(X, K, covariance, rng)

    model = GaussianMixture(K, covariance=covariance, tied=tied, init=start, floor=0, tol=1e-4).fit(X)

    peer = peer_from(start, kind, model.n_iter_ + 1, X)
    assert model.restarts_ == []
    assert_allclose(model.history_, peer.lower_bounds_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("offset", "atol"), [(1e6, 1e-9), (-1e8, 1e-8)])
def test_an_offset_does_not_change_the_log_likelihood_of_any_iteration(shape, offset, atol, rng):
    covariance, tied, kind = SHAPES[shape]
    X = _overlapping(rng) + offset
    rows = X - offset  # exact: the digits that remain beside the offset
    weights, means, covariances = start_for(rows, 3, covariance, rng)

    model = GaussianMixture(
        3, covariance=covariance, tied=tied, init=(weights, means + offset, covariances), floor=0, tol=1e-5
    )
    model.fit(X)

    peer = peer_from((weights, means, covariances), kind, model.n_iter_ + 1, rows)
    assert_allclose(model.history_, peer.lower_bounds_, rtol=0, atol=atol)  # means at 1e8 have 8 digits after the point


@pytest.mark.parametrize("data", ["correlated", "scales", "one column"])
@pytest.mark.parametrize("shape", SHAPES)
def test_densities_responsibilities_and_criteria_are_those_of_scikit_learn(shape, data, rng):
    covariance, tied, kind = SHAPES[shape]
    make, K = DATA[data]
    X = make(rng)
    start = start_for(X, K, covariance, rng)
    model = GaussianMixture(K, covariance=covariance, tied=tied, init=start, floor=0, tol=1e-4).fit(X)

    peer = peer_from(start, kind, model.n_iter_, X)

    assert_allclose(model.weights_, peer.weights_, atol=1e-9)
    assert_allclose(model.means_, peer.means_, rtol=1e-8, atol=1e-10)
    assert_allclose(model.log_density(X), peer.score_samples(X), atol=1e-8)
    assert_allclose(model.responsibilities(X), peer.predict_proba(X), atol=1e-9)
    assert_array_equal(model.predict(X), peer.predict(X))
    assert_allclose(model.score(X), peer.score(X), atol=1e-9)
    assert_allclose([model.bic(X), model.aic(X)], [peer.bic(X), peer.aic(X)], rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_samples_have_the_moments_of_the_mixture(shape, rng):
    covariance, tied, _ = SHAPES[shape]
    model = GaussianMixture(3, covariance=covariance, tied=tied, init="kmeans", random_state=0).fit(
        _separated(rng) * [1, 3, 0.2]
    )
    spread = model.covariances_
    spread = spread if spread.ndim == 3 else np.stack([np.diag(each) for each in spread])

    rows = model.sample(100_000, random_state=1)

    mean = model.weights_ @ model.means_
    second = np.tensordot(model.weights_, spread + model.means_[:, :, None] * model.means_[:, None, :], axes=1)
    deviations = np.sqrt(np.diagonal(second) - mean**2)
    assert rows.shape == (100_000, 3)
    assert_allclose((rows.mean(axis=0) - mean) / deviations, 0, atol=0.015)
    shares = np.bincount(model.predict(rows), minlength=3) / len(rows)
    assert_allclose(shares, model.weights_, atol=0.01)
    for k in range(3):
        own = rows[model.predict(rows) == k]
        scale = np.sqrt(np.outer(spread[k].diagonal(), spread[k].diagonal()))
        assert_allclose((np.cov(own.T) - spread[k]) / scale, 0, atol=0.04)


@pytest.mark.parametrize("data", ["overlapping", "separated", "correlated", "one column", "many columns"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_clusters_are_those_of_scikit_learn_from_the_same_centres(data, weighted, rng):
    X = DATA[data][0](rng)
    centres = X[rng.choice(len(X), 5, replace=False)]
    weight = rng.uniform(0.1, 3, len(X)) if weighted else None

    model = KMeans(5, init=centres, tol=0).fit(X, sample_weight=weight)
    peer = PeerKMeans(5, init=centres, n_init=1, tol=0, max_iter=1000, algorithm="lloyd").fit(X, sample_weight=weight)

    assert_allclose(model.cluster_centers_, peer.cluster_centers_, rtol=1e-9, atol=1e-10)
    assert_allclose(model.inertia_, peer.inertia_, rtol=1e-10)
    assert_array_equal(model.labels_, peer.labels_)
    assert_array_equal(model.predict(X), peer.predict(X))
    assert_allclose(model.transform(X), peer.transform(X), rtol=1e-7, atol=1e-7)
    assert_allclose(model.score(X), -model.inertia_ if not weighted else peer.score(X), rtol=1e-9)


def patterns(X):
    """Yield the observed columns, the missing columns and the rows of each pattern of missing values."""
    seen = ~np.isnan(X)
    for pattern in np.unique(seen, axis=0):
        yield np.flatnonzero(pattern), np.flatnonzero(~pattern), np.flatnonzero((seen == pattern).all(axis=1))


def log_joint_of(X, weights, means, covariances):
    """Return log(weight · density) of the observed values, for each row and component."""
    logs = np.tile(np.log(weights), (len(X), 1))
    for seen, _, rows in patterns(X):
        for k in range(len(weights) if len(seen) else 0):
            density = multivariate_normal(means[k][seen], covariances[k][np.ix_(seen, seen)])
            logs[rows, k] += density.logpdf(X[np.ix_(rows, seen)])
    return logs


def plain_estimate(X, gamma, means, covariances, shape, tied=False):
    """Return the textbook M step.

    For full shapes missing values are replaced by their conditional means; for other shapes the sums are over the
    observed values.
    """
    if shape != "full":
        return observed_estimate(X, gamma, shape, tied)
    d, K = X.shape[1], gamma.shape[1]
    new_means, scatters = np.empty((K, d)), np.empty((K, d, d))
    for k in range(K):
        filled, extra, C = X.copy(), np.zeros((d, d)), covariances[k]
        for o, m, rows in patterns(X):
            slopes = np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, m)])
            filled[np.ix_(rows, m)] = means[k][m] + (X[np.ix_(rows, o)] - means[k][o]) @ slopes
            extra[np.ix_(m, m)] += gamma[rows, k].sum() * (C[np.ix_(m, m)] - C[np.ix_(m, o)] @ slopes)
        new_means[k] = gamma[:, k] @ filled / gamma[:, k].sum()
        centred = filled - new_means[k]
        scatters[k] = (gamma[:, k] * centred.T) @ centred + extra
    totals = gamma.sum(axis=0)
    spread = (
        np.repeat(scatters.sum(axis=0)[None], K, axis=0) / totals.sum() if tied else scatters / totals[:, None, None]
    )
    return totals / totals.sum(), new_means, spread


def observed_estimate(X, gamma, shape, tied):
    """Return means and variances of the observed values of each column."""
    seen, values = ~np.isnan(X), np.nan_to_num(X)
    counts = gamma.T @ seen
    means = gamma.T @ values / counts
    squares = np.stack([gamma[:, k] @ (seen * (values - means[k]) ** 2) for k in range(gamma.shape[1])])
    if tied:
        squares, counts = (np.tile(each.sum(axis=0), (len(means), 1)) for each in (squares, counts))
    if shape == "spherical":
        squares, counts = (np.tile(each.sum(axis=1)[:, None], (1, X.shape[1])) for each in (squares, counts))
    return gamma.sum(axis=0) / gamma.sum(), means, as_matrices(squares / counts)


def as_matrices(covariances):
    return covariances if covariances.ndim == 3 else np.stack([np.diag(each) for each in covariances])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_hard_assignments_are_classification_em(shape, weighted, rng):
    X = np.concatenate([rng.normal(size=(90, 3)) + 1.5 * k for k in range(3)]) @ rng.normal(size=(3, 3))
    w = rng.uniform(0.2, 2, len(X)) if weighted else np.ones(len(X))
    weights, means, covariances = plain_estimate(
        X, np.eye(3)[np.arange(270) // 90], np.zeros((3, 3)), [np.eye(3)] * 3, shape
    )
    start = weights, means, covariances if shape == "full" else np.diagonal(covariances, axis1=1, axis2=2)

    model = GaussianMixture(3, covariance=shape, init=start, assignments="hard", floor=0).fit(X, sample_weight=w)

    assert model.restarts_ == []
    for at in range(model.n_iter_ + 1):
        logs = log_joint_of(X, weights, means, covariances)
        assert_allclose(model.history_[at], w @ logs.max(axis=1) / w.sum(), atol=1e-9)
        if at < model.n_iter_:
            gamma = np.eye(3)[logs.argmax(axis=1)] * w[:, None]
            weights, means, covariances = plain_estimate(X, gamma, means, covariances, shape)
    assert_allclose(model.means_, means, rtol=1e-9, atol=1e-9)
    assert_allclose(as_matrices(model.covariances_), covariances, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_missing_values_are_integrated_out_in_every_iteration(shape, tied, weighted, rng):
    X = np.concatenate([rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 2]) @ rng.normal(size=(3, 3)) + 10
    X[rng.random(X.shape) < 0.25] = np.nan
    X[7] = np.nan
    w = rng.uniform(0.2, 2, len(X)) if weighted else np.ones(len(X))
    spread = np.nanvar(X, axis=0)
    spread = np.full(3, spread.mean()) if shape == "spherical" else spread
    start = np.array([0.3, 0.7]), np.nanmean(X, axis=0) + np.array([[1.0], [-1.0]]), np.tile(spread, (2, 1))

    model = GaussianMixture(2, covariance=shape, tied=tied, init=start, tol=1e-3).fit(X, sample_weight=w)

    weights, means, covariances = start[0], start[1], as_matrices(start[2])
    for at in range(model.n_iter_ + 1):
        logs = log_joint_of(X, weights, means, covariances)
        assert_allclose(model.history_[at], w @ logsumexp(logs, axis=1) / w.sum(), atol=1e-9)
        if at < model.n_iter_:
            gamma = np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) * w[:, None]
            weights, means, covariances = plain_estimate(X, gamma, means, covariances, shape, tied)
    logs = log_joint_of(X, model.weights_, model.means_, as_matrices(model.covariances_))
    assert_allclose(model.log_density(X), logsumexp(logs, axis=1), atol=1e-9)
    assert_allclose(model.responsibilities(X), np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), atol=1e-9)
    assert_allclose(model.log_density(X)[7], 0, atol=1e-12)
    assert_allclose(model.history_[-1], w @ logsumexp(logs, axis=1) / w.sum(), atol=1e-9)


def plain_em(X, start, shape, n_iterations):
    """Run textbook EM; return the parameters of the last iteration, and all mean log-likelihoods."""
    history = []
    weights, means, covariances = start
    for at in range(n_iterations):
        logs = log_joint_of(X, weights, means, covariances)
        history.append(logsumexp(logs, axis=1).mean())
        if at < n_iterations - 1:
            gamma = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            weights, means, covariances = plain_estimate(X, gamma, means, covariances, shape)
    return (weights, means, covariances), history


@pytest.mark.parametrize("displacement", [0.1, 0.7])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_splitting_is_along_the_leading_eigenvector_of_each_component(shape, displacement, rng):
    X = np.concatenate([rng.normal(size=(30, 2)) + c for c in ([0, 0], [4, 0], [0, 6], [5, 5])])
    X = X @ [[1.0, 0.4], [0.0, 1.0]]
    init = "lbg" if displacement == 0.1 else LBG(displacement)

    grown = [GaussianMixture(size, covariance=shape, init=init, tol=1e-4).fit(X) for size in (2, 4)]

    state = plain_estimate(X, np.ones((len(X), 1)), np.zeros((1, 2)), [np.eye(2)], shape)
    for model in grown:
        weights, means, covariances = state
        values, vectors = np.linalg.eigh(covariances)
        steps = displacement * np.sqrt(values[:, -1])[:, None] * vectors[:, :, -1]
        halves = np.concatenate([means + steps, means - steps])
        start = np.tile(weights, 2) / 2, halves, np.tile(covariances, (2, 1, 1))
        state, history = plain_em(X, start, shape, model.n_iter_ + 1)
        assert model.restarts_ == []
        assert_allclose(model.history_, history, atol=1e-9)
        order, expected = np.lexsort(model.means_.T.round(6)), np.lexsort(state[1].T.round(6))
        assert_allclose(model.means_[order], state[1][expected], atol=1e-7)
        assert_allclose(model.weights_[order], state[0][expected], atol=1e-8)


def textbook_lbg(X, n_components, shape, tied, tol, displacement, least):
    """Return the passes, likelihoods and parameters of textbook EM after the last split of LBG, by plain NumPy."""
    state = plain_estimate(X, np.ones((len(X), 1)), np.zeros((1, X.shape[1])), [np.eye(X.shape[1])], shape, tied)
    while len(state[0]) < n_components:
        weights, means, covariances = state
        values, vectors = np.linalg.eigh(covariances)
        steps = displacement * np.sqrt(values[:, -1])[:, None] * vectors[:, :, -1]
        if shape == "spherical":  # no leading direction: the column of largest variance
            column = np.eye(X.shape[1])[X.var(axis=0).argmax()]
            steps = displacement * np.sqrt(values[:, -1])[:, None] * column
        weights, means = np.tile(weights, 2) / 2, np.concatenate([means + steps, means - steps])
        covariances, history, gamma = np.tile(covariances, (2, 1, 1)), [], None
        while len(history) < 2 or history[-1] - history[-2] >= tol:
            if history:
                weights, means, covariances = plain_estimate(X, gamma, means, covariances, shape, tied)
                values, vectors = np.linalg.eigh(covariances)
                covariances = (vectors * np.maximum(values, least)[:, None, :]) @ vectors.transpose(0, 2, 1)
            logs = log_joint_of(X, weights, means, covariances)
            sums = logsumexp(logs, axis=1)
            history.append(sums.mean())
            gamma = np.exp(logs - sums[:, None])
        state = weights, means, covariances
    return state, np.array(history)


@pytest.mark.parametrize(("tol", "displacement", "least"), [(1e-6, 0.1, 0.01), (1e-3, 0.1, 1e-3), (1e-5, 0.5, 0.5)])
@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_with_the_rise_rule_every_pass_is_that_of_textbook_em(shape, tied, tol, displacement, least, rng):
    X = np.concatenate([rng.normal(size=(40, 3)) * [1, 1.5, 2.0] + c for c in ([0, 0, 0], [4, 0, 1], [0, 6, 2])])
    options = {"covariance": shape, "tied": tied, "stopping": "rise", "restart_collapsed": False, "tol": tol}

    model = GaussianMixture(4, init=LBG(displacement), floor=AbsoluteFloor(least), **options).fit(X)

    (weights, means, covariances), history = textbook_lbg(X, 4, shape, tied, tol, displacement, least)
    assert model.n_iter_ == len(history) - 1
    assert model.restarts_ == []
    assert_allclose(model.history_, history, rtol=0, atol=1e-9)
    order, expected = np.lexsort(model.means_.T.round(5)), np.lexsort(means.T.round(5))
    assert_allclose(model.means_[order], means[expected], atol=1e-7)
    assert_allclose(model.weights_[order], weights[expected], atol=1e-8)
    assert_allclose(as_matrices(model.covariances_)[order], covariances[expected], atol=1e-7)
    path = GaussianMixture(init=LBG(displacement), floor=AbsoluteFloor(least), **options).path(X, [2, 4])
    assert_array_equal(path[1].history_, model.history_)


@pytest.mark.parametrize("max_iter", [1, 2, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_max_iter_is_the_number_of_passes_of_scikit_learn(shape, max_iter, rng):
    covariance, tied, kind = SHAPES[shape]
    X = _overlapping(rng)
    start = start_for(X, 2, covariance, rng)
    options = {"covariance": covariance, "tied": tied, "init": start, "floor": 0, "tol": 0, "max_iter": max_iter}

    with pytest.warns(NotConvergedWarning, match=rf"after {max_iter} pass"):
        model = GaussianMixture(2, stopping="rise", restart_collapsed=False, **options).fit(X)

    peer = peer_from(start, kind, max_iter, X)
    assert model.n_iter_ == max_iter
    assert_allclose(model.history_[0], peer.lower_bounds_[0], atol=1e-9)  # of the start
    assert_allclose(model.means_, peer.means_, rtol=1e-9, atol=1e-9)
    assert_allclose(model.history_[-1], peer.score(X), atol=1e-9)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
def test_the_rise_rule_stops_where_scikit_learn_does(tol, rng):
    X = _overlapping(rng)
    start = start_for(X, 2, "full", rng)
    model = GaussianMixture(2, init=start, floor=0, tol=tol, stopping="rise").fit(X)

    weights, means, covariances = start
    options = {"weights_init": weights, "means_init": means, "precisions_init": np.linalg.inv(covariances)}
    peer = PeerMixture(2, tol=tol, reg_covar=0.0, max_iter=1000, **options).fit(X)

    # scikit-learn computes the likelihood before the M step, so it makes one M step more.
    assert peer.n_iter_ == model.n_iter_ + 1
    assert_allclose(model.history_, peer.lower_bounds_, atol=1e-9)


def test_a_split_gets_past_the_plateau_of_equal_halves():
    X = load_breast_cancer().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    model = GaussianMixture(2, tied=True).fit(X)

    # Halves that stay equal have −7.2447; −6.9845 is reached by plain EM with tol=1e-7 in 283 passes.
    assert model.converged_
    assert model.history_[-1] > -6.9846
    assert model.n_iter_ < 283
    assert_allclose(model.history_[-1], model.score(X), rtol=1e-12)
    assert len(model.restarts_) == 1


@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_split_finds_clusters_along_the_narrow_axis(shape, tied):
    # Quantiles of normal distributions: along the wide axis both clusters are the same.
    wide, narrow = np.meshgrid(norm.ppf((np.arange(200) + 0.5) / 200), norm.ppf((np.arange(5) + 0.5) / 5))
    rows = np.column_stack([4 * wide.ravel(), narrow.ravel()])
    X = np.concatenate([rows + np.array([0, 3]), rows - np.array([0, 3])])

    model = GaussianMixture(2, covariance=shape, tied=tied).fit(X)

    plateau = GaussianMixture(1, covariance=shape).fit(X).history_[-1]
    start = [0.5, 0.5], [[0.0, 3.0], [0.0, -3.0]], np.tile(X.var(axis=0) - [0, 9], (2, 1))
    best = GaussianMixture(2, covariance=shape, tied=tied, init=start).fit(X).history_[-1]
    assert best > plateau + 0.4
    assert_allclose(model.history_[-1], best, atol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("tied", [False, True], ids=["each", "tied"])
def test_drawn_clusters_along_the_narrow_axis_are_found_by_diagonal_shapes(tied, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([4 * rng.normal(size=2000), rng.normal(size=2000) + np.where(np.arange(2000) % 2, 3, -3)])

    model = GaussianMixture(2, covariance="diagonal", tied=tied).fit(X)

    assert -4.95 < model.history_[-1] < -4.87  # equal halves have −5.37


@pytest.mark.parametrize("least", [0.01, 0.5, 3.0])
def test_an_absolute_floor_clips_eigenvalues(least, rng):
    X = _overlapping(rng) @ rng.normal(size=(3, 3))
    start = start_for(X, 2, "full", rng)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(2, init=start, floor=AbsoluteFloor(least), tol=1e-4).fit(X)

    weights, means, covariances = start
    for at in range(model.n_iter_ + 1):
        values, vectors = np.linalg.eigh(covariances)
        covariances = (vectors * np.maximum(values, least)[:, None, :]) @ vectors.transpose(0, 2, 1)
        logs = log_joint_of(X, weights, means, covariances)
        assert_allclose(model.history_[at], logsumexp(logs, axis=1).mean(), atol=1e-8)
        final = covariances
        gamma = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        weights, means, covariances = plain_estimate(X, gamma, means, covariances, "full")
    assert_allclose(model.covariances_, final, rtol=1e-8, atol=1e-8)
    assert np.linalg.eigvalsh(model.covariances_).min() >= least * (1 - 1e-9)


@pytest.mark.parametrize("relevance", [0.0, 16.0, 1e6])
@pytest.mark.parametrize("shape", SHAPES)
def test_adaptation_moves_means_by_the_formula(shape, relevance, rng):
    covariance, tied, _ = SHAPES[shape]
    background = GaussianMixture(2, covariance=covariance, tied=tied).fit(_overlapping(rng) + 1e3)
    rows, w = rng.normal(size=(25, 3)) + 1e3 + 2, rng.uniform(0.1, 3, 25)

    adapted = background.adapt(rows, relevance, sample_weight=w)

    gamma = background.responsibilities(rows) * w[:, None]
    n = gamma.sum(axis=0)
    towards = (gamma.T @ (rows - 1e3)) / n[:, None] + 1e3
    expected = background.means_ + (n / (n + relevance))[:, None] * (towards - background.means_)
    assert_allclose(adapted.means_, expected, atol=1e-9)
    assert_array_equal(adapted.weights_, background.weights_)
    assert_array_equal(adapted.covariances_, background.covariances_)
    plain = background.adapt(rows, relevance)
    assert_allclose(background.adapt(rows, relevance, np.ones(25)).means_, plain.means_, rtol=1e-12)


def test_one_component_has_the_criteria_of_a_gaussian_by_hand(rng):
    X = rng.normal(size=(50, 2)) @ [[2.0, 1.0], [0.0, 0.5]]

    model = GaussianMixture().fit(X)

    log_likelihood = multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True)).logpdf(X).sum()
    assert model.n_parameters_ == 5
    assert_allclose(model.bic(X), -2 * log_likelihood + 5 * np.log(50))
    assert_allclose(model.aic(X), -2 * log_likelihood + 10)
    assert_allclose(Gaussian().fit(X).log_density(X).sum(), log_likelihood)
