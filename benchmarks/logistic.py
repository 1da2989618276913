"""Logistic regression against scikit-learn at an equal or smaller gap to the optimum, in one process.

Run it on an idle machine: ``make bench``, or ``python benchmarks/logistic.py NAME …`` for some of the rows. The optimum
comes from a run of ours with a tolerance of 1e-14. One function computes the gap of the returned weights for all
libraries.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression as Peer
from timing import clock, report, run

from likely import LogisticRegression

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def objective(model, X, y, lam, l1=False):
    """Return mean loss plus penalty of the weights of a model, computed independently of both libraries."""
    W, b = model.coef_, np.ravel(model.intercept_)
    z = np.asarray(X @ W.T + b)
    two = z.shape[1] == 1
    loss = np.logaddexp(0, z[:, 0]) - y * z[:, 0] if two else logsumexp(z, axis=1) - z[np.arange(len(y)), y]
    return loss.mean() + lam * (np.abs(W).sum() if l1 else (W**2).sum() / 2)


def compare(name, X, y, lam, tol, peers, l1=False, repeats=3):
    penalty = "l1" if l1 else "l2"
    best = objective(LogisticRegression(lam, penalty=penalty, tol=1e-14, max_iter=5000).fit(X, y), X, y, lam, l1)
    ours, model = clock(lambda: LogisticRegression(lam, penalty=penalty, tol=tol).fit(X, y), repeats)
    gaps = {"likely": objective(model, X, y, lam, l1) / best - 1}
    times = {}
    for peer, (settings, times_run) in peers.items():
        estimator = Peer(C=1 / (len(y) * lam), max_iter=10_000, **settings)
        times[peer], fitted = clock(lambda estimator=estimator: estimator.fit(X, y), times_run)
        gaps[peer] = objective(fitted, X, y, lam, l1) / best - 1
    note = ", ".join(f"{who} {gap:.0e}" for who, gap in gaps.items())
    report(name, ours, times, f"relative gaps: {note}; {model.n_iter_} steps")


def tall():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10**6, 50)) @ (np.eye(50) + 0.3 * rng.normal(size=(50, 50)) / np.sqrt(50)) + rng.normal(
        size=50
    )
    z = X @ rng.normal(size=50) / 4
    y = (rng.random(10**6) < 1 / (1 + np.exp(-(z - z.mean())))).astype(int)
    peers = {"lbfgs": ({"solver": "lbfgs", "tol": 1e-4}, 2), "newton-cholesky": ({"solver": "newton-cholesky"}, 2)}
    compare("binary 10^6 x 50", X, y, 1e-6, 1e-8, peers)


def mnist():
    with np.load(DATA / "mnist.npz") as data:
        X, y = data["x_train"].reshape(-1, 784) / 255.0, data["y_train"].astype(int)
    compare(
        "10 classes, MNIST 60 000 x 784", X, y, 1e-4, 5e-7, {"lbfgs": ({"solver": "lbfgs", "tol": 3e-6}, 1)}, repeats=2
    )


def sparse():
    rng = np.random.default_rng(0)
    n, d, stored = 200_000, 50_000, 60
    p = 1 / np.arange(1, d + 1) ** 0.9
    columns = rng.choice(d, size=(n, stored), p=p / p.sum()).astype(np.int32)
    ends = np.arange(0, n * stored + 1, stored, dtype=np.int32)
    X = csr_array((rng.exponential(size=n * stored), columns.ravel(), ends), shape=(n, d))
    X.sum_duplicates()
    z = X @ (rng.normal(size=d) * (rng.random(d) < 0.1))
    y = (rng.random(n) < 1 / (1 + np.exp(-(z - np.median(z))))).astype(int)
    compare("sparse 200 000 x 50 000", X, y, 1 / n, 1e-5, {"newton-cg": ({"solver": "newton-cg", "tol": 1e-4}, 1)})


def lasso():
    rng = np.random.default_rng(0)
    n, d = 200_000, 100
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)) * rng.uniform(0.5, 2, d)
    z = 0.7 * X @ (rng.normal(size=d) * (rng.random(d) < 0.3)) - 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    # liblinear penalises the intercept. With this scaling the penalty on it is negligible.
    liblinear = {"solver": "liblinear", "l1_ratio": 1, "tol": 1e-4, "intercept_scaling": 1e4}
    compare("L1, 200 000 x 100", X, y, 1e-3, 1e-8, {"liblinear": (liblinear, 2)}, l1=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run([tall, mnist, sparse, lasso])
