"""Time of a comparison, beside scikit-learn's grid search over the same candidates, and time to start.

Run all rows, or name some: python benchmarks/compare.py gaussians defaults start
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from gaussian import SHAPES, _peer, mnist
from sklearn import decomposition
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from timing import clock, report, run

from likely import LDA, PCA, Application, GaussianClassifier, compare, make_pipeline
from likely.datasets import load_tumours

SIZES = (9, 50, 100)
FEATURES = {"raw": [], "LDA": [LDA()], **{f"PCA {k}": [PCA(k)] for k in SIZES}}


def gaussians():
    """Compare Gaussian models. Ours also calibrates by K-fold, fuses and computes intervals; the peer does not."""
    X, y = mnist()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    candidates = {
        f"{name} {shape} {tied}": make_pipeline(*steps, GaussianClassifier(shape, tied=tied))
        for name, steps in FEATURES.items()
        for shape, tied in SHAPES
    }
    ours, comparison = clock(lambda: compare(X, y, candidates, Application.equal(10), folds=folds), 1)
    accuracies = {name: (comparison[name].scores.argmax(axis=1) == y).mean() for name in candidates}
    searched, found = clock(lambda: _grid_search(X, y, folds), 1)
    # Accuracies are compared for full and diagonal models on principal components only. Raw pixels are singular, so
    # our models are floored and the peers regularised. scikit-learn has no tied diagonal model (see gaussian.py).
    same = [f"PCA {k} {shape} False" for k in SIZES for shape in ("full", "diagonal")]
    differ = max(abs(accuracies[name] - found[name]) for name in same)
    note = f"{len(candidates)} candidates, 5 folds; accuracies differ by at most {differ:.0e}"
    report("compare, Gaussian family, MNIST", ours, {"grid search": searched}, note)


def _grid_search(X, y, folds):
    chain = Pipeline([("features", "passthrough"), ("model", GaussianNB())])
    features = {"raw": "passthrough", "LDA": LinearDiscriminantAnalysis(n_components=9)}
    features |= {f"PCA {k}": decomposition.PCA(k, svd_solver="covariance_eigh") for k in SIZES}
    found = {}
    for name, feature in features.items():
        models = [_raw_peer(*shape) if name == "raw" else _peer(*shape) for shape in SHAPES]
        search = GridSearchCV(chain, {"features": [feature], "model": models}, cv=folds, refit=False).fit(X, y)
        scores = search.cv_results_["mean_test_score"]
        found |= {f"{name} {shape} {tied}": score for (shape, tied), score in zip(SHAPES, scores, strict=True)}
    return found


def _raw_peer(shape, tied):
    """Return a scikit-learn model that can fit raw pixels, whose covariance is singular."""
    priors = np.full(10, 0.1)
    if shape == "diagonal":
        return GaussianNB(priors=priors)
    if tied:
        return LinearDiscriminantAnalysis(priors=priors)
    return QuadraticDiscriminantAnalysis(solver="eigen", priors=priors, shrinkage=1e-4)


def defaults():
    X, y, _ = load_tumours()
    application = Application.binary(0.1, cost_fn=10, positive="malignant")
    seconds, comparison = clock(lambda: compare(X, y, applications=application), 1)
    print(f"compare, all {len(comparison)} default systems, 569 tumours: {seconds:.1f} s")


def start():
    for name, code in {
        "import sklearn.base": "import sklearn.base",
        "import likely": "import likely",
        "all names of likely": "from likely import *",
        "the parts of scikit-learn it uses": (
            "import sklearn.base, sklearn.pipeline, sklearn.model_selection, sklearn.impute, sklearn.preprocessing, "
            "sklearn.datasets, sklearn.discriminant_analysis"
        ),
    }.items():
        print(f"{name:44} {_seconds([sys.executable, '-c', code]):8.3f} s")
    for words in (["--help"], ["compare", "--help"], ["evaluate", "--help"]):
        print(f"{'likely ' + ' '.join(words):44} {_seconds([sys.executable, '-m', 'likely.cli', *words]):8.3f} s")


def _seconds(command):
    return clock(lambda: subprocess.run(command, check=True, capture_output=True), 5)[0]


ROWS = [start, defaults, gaussians]


if __name__ == "__main__":
    run(ROWS)
