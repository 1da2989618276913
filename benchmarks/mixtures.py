"""Mixtures and k-means against scikit-learn: same start, same iterations, same log-likelihood.

Run it on an idle machine: ``make bench``, or ``python benchmarks/mixtures.py NAME …`` for some of the rows. The time
of an iteration is the difference between a run of many and a run of few, so it excludes setup and finish.
"""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
from sklearn import cluster, mixture
from timing import clock, report, run

from likely import ArraySource, GaussianMixture, KMeans
from likely.densities.mixtures.em import EMOptions, run_em
from likely.densities.mixtures.kmeans import run_lloyd
from likely.densities.mixtures.starting import start_from_parameters

NEVER = -np.inf
"""A tolerance that is never reached, so that EM makes the given number of iterations."""


def blobs(n, d, k, seed=0):
    """Return rows around k centres, and a start: k of the rows as means, with the covariance of all rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[rng.integers(k, size=n)]
    means = X[rng.choice(n, k, replace=False)]
    covariance = np.cov(X.T, bias=True)
    return X, (np.full(k, 1 / k), means, np.repeat(covariance[None], k, axis=0))


def gaussian(n, d, k, shape, peer_shape, passes):
    X, start = blobs(n, d, k)
    model = GaussianMixture(k, covariance=shape, init=start)
    setup = model._set_up(ArraySource(X), k)
    begin = start_from_parameters(start, k, setup)
    precisions = np.linalg.inv(start[2])
    if peer_shape == "diag":
        precisions = 1 / np.diagonal(start[2], axis1=1, axis2=2)
    elif peer_shape == "tied":
        precisions = precisions[0]

    def peer(n_passes):
        options = {"weights_init": start[0], "means_init": start[1], "precisions_init": precisions}
        fitted = mixture.GaussianMixture(
            k, covariance_type=peer_shape, reg_covar=0, tol=0, max_iter=n_passes, **options
        )
        return fitted.fit(X)

    few, _ = clock(lambda: peer(1), 1)
    many, fitted = clock(lambda: peer(1 + passes), 1)
    our_few, _ = clock(lambda: run_em(setup.source, setup.family, begin, EMOptions(tol=NEVER, max_iter=1)))
    ours, found = clock(lambda: run_em(setup.source, setup.family, begin, EMOptions(tol=NEVER, max_iter=1 + passes)))
    differ = np.abs(np.subtract(fitted.lower_bounds_, found.history[:-1])).max()
    name = f"{shape} {n}x{d}, {k} components: a pass"
    report(
        name,
        (ours - our_few) / passes,
        {"GaussianMixture": (many - few) / passes},
        f"log-likelihoods differ by {differ:.0e}",
    )


def full():
    gaussian(200_000, 20, 32, "full", "full", 3)


def diagonal():
    gaussian(10**6, 20, 64, "diagonal", "diag", 2)


def wide():
    gaussian(60_000, 50, 16, "full", "full", 3)


def small():
    gaussian(2_000, 10, 8, "full", "full", 20)


def k_means():
    """Time whole fits, because in memory the iterations are those of scikit-learn."""
    X, (_, centres, _) = blobs(10**6, 20, 64)
    peer = cluster.KMeans(64, init=centres, n_init=1, tol=1e-4, max_iter=1000, algorithm="lloyd")
    theirs, fitted = clock(lambda: peer.fit(X))
    ours, found = clock(lambda: KMeans(64, init=centres, tol=1e-4).fit(X))
    differ = np.abs(fitted.cluster_centers_ - found.cluster_centers_).max()
    note = f"{fitted.n_iter_} and {found.n_iter_} passes, centres differ by {differ:.0e}"
    report("k-means 1000000x20, 64 clusters: a fit", ours, {"KMeans": theirs}, note)


def k_means_passes():
    """Time our iterations, which are used for sources that are not in memory."""
    X, (_, centres, _) = blobs(10**6, 20, 64)
    source, origin = ArraySource(X), np.median(X[:10_000], axis=0)

    def peer(n_passes):
        return cluster.KMeans(64, init=centres, n_init=1, max_iter=n_passes, tol=0, algorithm="lloyd").fit(X)

    few, _ = clock(lambda: peer(2))
    many, fitted = clock(lambda: peer(12))
    our_few, _ = clock(lambda: run_lloyd(source, centres, origin, NEVER, 2))
    ours, found = clock(lambda: run_lloyd(source, centres, origin, NEVER, 12))
    differ = np.abs(fitted.cluster_centers_ - found[0]).max()
    note = f"centres differ by {differ:.0e}"
    report("k-means by reduce 1000000x20, 64: a pass", (ours - our_few) / 10, {"KMeans": (many - few) / 10}, note)


def memory():
    """Measure the memory of an iteration; rows x components would take 51 MB, with features 1 GB."""
    X, start = blobs(200_000, 20, 32)
    for shape in ("full", "diagonal"):
        model = GaussianMixture(32, covariance=shape, init=start)
        setup = model._set_up(ArraySource(X), 32)
        begin = start_from_parameters(start, 32, setup)
        tracemalloc.start()
        run_em(setup.source, setup.family, begin, EMOptions(tol=NEVER, max_iter=1))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"{shape} 200000x20, 32 components: a pass needs {peak / 2**20:.0f} MB besides the rows", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run([full, diagonal, wide, small, k_means, k_means_passes, memory])
