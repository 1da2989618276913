"""The perceptron against scikit-learn's, in one process: same rows, same order, same number of epochs.

Run it on an idle machine: ``make bench``, or ``python benchmarks/perceptron.py NAME …`` for some of the rows.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_array, random_array
from sklearn import linear_model
from timing import clock, report, run

from likely import NotConvergedWarning, Perceptron

EPOCHS = 10


def overlapping(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + 0.5 * np.sqrt(d) * rng.normal(size=n) > 0).astype(int)


def words(n, d, density, seed=0):
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, d), density=density, format="csr", rng=rng))
    return X, (X @ rng.normal(size=d) > 0).astype(int)


def peer(X, y, **options):
    model = linear_model.Perceptron(shuffle=False, tol=None, max_iter=EPOCHS, **options)
    return clock(lambda: model.fit(X, y))


def ours(X, y, keep):
    Perceptron(keep=keep, max_iter=EPOCHS).fit(X[:20_000], y[:20_000])  # compiles once; the result is cached
    return clock(lambda: Perceptron(keep=keep, max_iter=EPOCHS).fit(X, y))


def dense():
    X, y = overlapping(200_000, 100)
    seconds, other = peer(X, y)
    for keep in ("last", "average", "pocket"):
        time, model = ours(X, y, keep)
        note = f"{(model.predict(X) != y).mean():.1%} errors, scikit-learn {(other.predict(X) != y).mean():.1%}"
        if keep == "last":
            note += f"; weights differ by {np.abs(model.coef_ - other.coef_).max():.0e}"
        report(f"{EPOCHS} epochs of 200000x100, {keep}", time, {"Perceptron": seconds}, note)


def sparse():
    X, y = words(100_000, 50_000, 1e-3)
    seconds, other = peer(X, y)
    time, model = ours(X, y, "last")
    note = f"{(model.predict(X) != y).mean():.1%} errors, scikit-learn {(other.predict(X) != y).mean():.1%}"
    report(f"{EPOCHS} epochs of sparse 100000x50000, last", time, {"Perceptron": seconds}, note)


def ten_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=200_000)
    X = rng.normal(size=(200_000, 100)) + 0.5 * rng.normal(size=(10, 100))[y]
    seconds, other = peer(X, y)
    time, model = ours(X, y, "average")
    note = f"{(model.predict(X) != y).mean():.1%} errors, scikit-learn, one against the rest, "
    note += f"{(other.predict(X) != y).mean():.1%}"
    report(f"{EPOCHS} epochs of 200000x100, 10 classes", time, {"Perceptron": seconds}, note)


if __name__ == "__main__":
    warnings.simplefilter("ignore", NotConvergedWarning)
    run([dense, sparse, ten_classes])
