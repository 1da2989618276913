"""Linear models in closed form, beside the matrix product X'X that they need and beside scikit-learn.

Run it on an idle machine: ``make bench``, or ``python benchmarks/least_squares.py NAME …`` for some of the rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas
from sklearn import linear_model as peers
from timing import clock, report, run

from likely import FisherClassifier, LeastSquaresClassifier, LinearRegression

N, D = 10**6, 50


def rows(n_classes, centre=0.0):
    rng = np.random.default_rng(0)
    codes = rng.integers(n_classes, size=N)
    return rng.normal(size=(N, D)) + centre + rng.normal(size=(n_classes, D))[codes], codes


def products(X):
    """Return the seconds of X'X by NumPy and by SciPy, each with its default number of threads."""
    return {"NumPy X.T @ X": clock(lambda: X.T @ X, 5)[0], "SciPy dsyrk": clock(lambda: blas.dsyrk(1.0, X.T), 5)[0]}


def against(name, ours, X, peers_seconds, gap):
    syrk = products(X)
    best = min(syrk.values())
    note = ", ".join(f"{seconds:.3f} s {method}" for method, seconds in syrk.items())
    report(name, ours, peers_seconds, f"{ours / best:.2f} of a syrk ({note}); {gap}")


def regression():
    X, codes = rows(3)
    y = X @ np.linspace(-1, 1, D) + codes
    ours, model = clock(lambda: LinearRegression().fit(X, y), 5)
    seconds, peer = clock(lambda: peers.LinearRegression().fit(X, y), 1)
    ridge, _ = clock(lambda: peers.Ridge(alpha=0, solver="cholesky").fit(X, y), 2)
    gap = f"coefficients differ by {np.abs(model.coef_ - peer.coef_).max():.0e}"
    against(f"linear regression {N}x{D}: fit", ours, X, {"LinearRegression": seconds, "Ridge cholesky": ridge}, gap)


def classification(n_classes):
    X, codes = rows(n_classes)
    ours, model = clock(lambda: LeastSquaresClassifier().fit(X, codes), 5)
    seconds, peer = clock(lambda: peers.RidgeClassifier(alpha=0, solver="cholesky").fit(X, codes), 2)
    scores, expected = model.decision_function(X[:1000]), peer.decision_function(X[:1000])
    gap = np.abs((scores if n_classes == 2 else 2 * scores - 1) - expected).max()
    name = f"least squares {N}x{D}, {n_classes} classes: fit"
    against(name, ours, X, {"RidgeClassifier cholesky": seconds}, f"scores differ by {gap:.0e}")


def two_classes():
    classification(2)


def ten_classes():
    classification(10)


def far_from_zero():
    X, codes = rows(2, centre=1e4)
    y = X @ np.linspace(-1, 1, D) + codes
    ours, model = clock(lambda: LinearRegression().fit(X, y), 5)
    seconds, peer = clock(lambda: peers.LinearRegression().fit(X, y), 1)
    gap = f"coefficients differ by {np.abs(model.coef_ - peer.coef_).max():.0e}"
    against("linear regression about 1e4: fit", ours, X, {"LinearRegression": seconds}, gap)


def fisher():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, codes = rows(2)
    ours, model = clock(lambda: FisherClassifier().fit(X, codes), 5)
    seconds, peer = clock(lambda: LinearDiscriminantAnalysis(solver="lsqr").fit(X, codes), 2)
    gap = np.abs(model.decision_function(X[:1000]) - peer.decision_function(X[:1000])).max()
    against(f"Fisher {N}x{D}: fit", ours, X, {"LDA lsqr": seconds}, f"log odds differ by {gap:.0e}")


ROWS = [regression, far_from_zero, two_classes, ten_classes, fisher]


if __name__ == "__main__":
    run(ROWS)
