"""The Gaussian family against scikit-learn on the same task, in one process, at equal results.

Run it on an idle machine: ``make bench``, or ``python benchmarks/gaussian.py NAME …`` for some of the rows. MNIST is
read from the folder that LIKELY_DATA names (``../shared/data`` if unset). Rows that do not depend on real images use
synthetic data of the same shape.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from sklearn import decomposition
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline as peer_pipeline
from timing import clock, report, run

from likely import PCA, ArraySource, GaussianClassifier, kfold_scores, make_pipeline
from likely.blocks import class_moments
from likely.statistics import Moments

DATA = Path(os.environ.get("LIKELY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def blobs(n, d, n_classes=10, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    mixing = 0.3 * rng.normal(size=(n_classes, d, d)) / np.sqrt(d) + np.eye(d)
    X = np.empty((n, d))
    for k in range(n_classes):
        X[y == k] = rng.normal(size=((y == k).sum(), d)) @ mixing[k] + rng.normal(size=d)
    return X, y


def gap(a, b):
    """Return the largest difference of two sets of log posteriors, relative to their size."""
    return f"largest relative difference {np.max(np.abs(a - b) / (1 + np.abs(b))):.0e}"


def full(n, d, peers, repeats):
    X, y = blobs(n, d)
    fits, scores, answers = {}, {}, {}
    for name, peer in peers.items():
        fits[name], fitted = clock(lambda peer=peer: peer.fit(X, y), repeats)
        scores[name], answers[name] = clock(lambda fitted=fitted: fitted.predict_log_proba(X), 1)
    fit, ours = clock(lambda: GaussianClassifier().fit(X, y), repeats)
    score, answer = clock(lambda: ours.predict_log_proba(X), repeats)
    best = min(scores, key=scores.get)
    report(f"full Gaussian {n}x{d}: fit", fit, fits, "")
    report(f"full Gaussian {n}x{d}: score", score, scores, gap(answer, answers[best]))


def full_tall():
    full(10**6, 50, {"QDA svd": QuadraticDiscriminantAnalysis(), "QDA eigen": _eigen()}, 3)


def full_wide():
    full(60_000, 784, {"QDA svd": QuadraticDiscriminantAnalysis(), "QDA eigen": _eigen()}, 2)


def _eigen():
    return QuadraticDiscriminantAnalysis(solver="eigen")


def diagonal():
    X, y = blobs(10**6, 50)
    peer_fit, peer = clock(lambda: GaussianNB(var_smoothing=0).fit(X, y))
    peer_score, answer = clock(lambda: peer.predict_joint_log_proba(X), 1)
    GaussianClassifier("diagonal").fit(X[:20_000], y[:20_000])  # compiles once; the result is cached
    fit, ours = clock(lambda: GaussianClassifier("diagonal").fit(X, y))
    score, scores = clock(lambda: ours.log_likelihood(X))
    report("diagonal Gaussian 1000000x50: fit", fit, {"GaussianNB": peer_fit}, "")
    joint = scores + np.log(ours.training_priors_)
    report("diagonal Gaussian 1000000x50: score", score, {"GaussianNB": peer_score}, gap(joint, answer))


def tied():
    X, y = blobs(10**6, 50)
    peers = {}
    for solver in ("lsqr", "eigen", "svd"):
        peers[f"LDA {solver}"], peer = clock(lambda s=solver: LinearDiscriminantAnalysis(solver=s).fit(X, y), 2)
        if solver == "lsqr":
            answer = peer.predict_log_proba(X[:1000])
    fit, ours = clock(lambda: GaussianClassifier(tied=True).fit(X, y))
    report("tied Gaussian 1000000x50: fit", fit, peers, gap(ours.predict_log_proba(X[:1000]), answer))


def moments():
    X, y = blobs(60_000, 784)
    syrk, _ = clock(lambda: X.T @ X)
    ours, _ = clock(lambda: ArraySource(X, y).reduce(class_moments, Moments))
    report("moments by class 60000x784", ours, {"one BLAS syrk": syrk}, f"{ours / syrk:.2f} of a syrk")


def principal():
    X, _ = mnist()
    peers = {"PCA covariance_eigh": clock(lambda: decomposition.PCA(100, svd_solver="covariance_eigh").fit(X), 2)[0]}
    try:
        import sklearnex.decomposition as intelex

        peers["PCA intelex"] = clock(lambda: intelex.PCA(100, svd_solver="covariance_eigh").fit(X), 2)[0]
    except ImportError:
        print("scikit-learn-intelex is not installed, so it is skipped")
    ours, fitted = clock(lambda: PCA(100).fit(X), 2)
    peer = decomposition.PCA(100, svd_solver="covariance_eigh").fit(X)
    same = np.abs(np.abs(np.sum(fitted.components_ * peer.components_, axis=1)) - 1).max()
    report("PCA 100 of 60000x784: fit", ours, peers, f"directions differ by {same:.0e}")


def leave_one_out():
    X, y = blobs(50_000, 50)
    for tied in (False, True):
        model = GaussianClassifier(tied=tied)
        once, _ = clock(lambda model=model: model.fit(X, y).log_likelihood(X))
        ours, _ = clock(lambda model=model: kfold_scores(model, X, y, LeaveOneOut()))
        name = f"leave one out of 50000x50, {'tied' if tied else 'full'}"
        report(name, ours, {"one fit and one score": once}, f"{ours / once:.1f} times a fit and a score")


SIZES = (9, 50, 100)
SHAPES = [(shape, tied) for shape in ("full", "diagonal") for tied in (False, True)]


def cross_validation():
    X, y = mnist()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    chains = [make_pipeline(PCA(k), GaussianClassifier(shape, tied=tied)) for k in SIZES for shape, tied in SHAPES]
    ours, scores = clock(lambda: kfold_scores(chains, X, y, folds), 3)
    shared, by_hand = clock(lambda: _hand_shared(X, y, folds), 1)
    searched, by_search = clock(lambda: _grid_search(X, y, folds), 1)
    accuracies = np.reshape([(s.argmax(axis=1) == y).mean() for s in scores], (len(SIZES), len(SHAPES)))
    # Tied models are timed, but their accuracies are not compared. scikit-learn's LDA weights the pooled covariance by
    # the given priors. It has no tied diagonal Gaussian, so the untied one is timed instead.
    for name, seconds, found in (("hand-shared PCA", shared, by_hand), ("grid search", searched, by_search)):
        differ = np.abs(accuracies - found)[:, [0, 2]].max()
        report("5 folds x 12 chains, MNIST", ours, {name: seconds}, f"accuracies differ by at most {differ:.0e}")


def _peer(shape, tied):
    """Return the most similar model of scikit-learn, with uniform priors."""
    priors = np.full(10, 0.1)
    if shape == "diagonal":
        return GaussianNB(priors=priors, var_smoothing=0)
    if tied:
        return LinearDiscriminantAnalysis("lsqr", priors=priors)
    return QuadraticDiscriminantAnalysis(solver="eigen", priors=priors)


def _grid_search(X, y, folds):
    chain = peer_pipeline(decomposition.PCA(svd_solver="covariance_eigh"), GaussianNB())
    grid = {"pca__n_components": SIZES, "gaussiannb": [_peer(*shape) for shape in SHAPES]}
    found = GridSearchCV(chain, grid, cv=folds, refit=False).fit(X, y).cv_results_
    return found["mean_test_score"].reshape(len(SHAPES), len(SIZES)).T


def _hand_shared(X, y, folds):
    right = np.zeros((len(SIZES), len(SHAPES)))
    for train, test in folds.split(X, y):
        pca = decomposition.PCA(max(SIZES), svd_solver="covariance_eigh").fit(X[train])
        Z, Z_test = pca.transform(X[train]), pca.transform(X[test])
        for i, k in enumerate(SIZES):
            for j, shape in enumerate(SHAPES):
                model = _peer(*shape).fit(Z[:, :k], y[train])
                right[i, j] += (model.predict(Z_test[:, :k]) == y[test]).sum()
    return right / len(y)


def mnist(part="train"):
    path = DATA / "mnist.npz"
    if not path.exists():
        sys.exit(f"mnist.npz is not in {DATA}. Set LIKELY_DATA to the folder that contains it, or name other rows.")
    with np.load(path) as arrays:
        return arrays[f"x_{part}"].astype(np.float64), arrays[f"y_{part}"].astype(int)


ROWS = [full_tall, full_wide, diagonal, tied, moments, principal, leave_one_out, cross_validation]


if __name__ == "__main__":
    run(ROWS)
