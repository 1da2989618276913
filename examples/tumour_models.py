"""Gaussian and logistic models of tumours: cross-validated, evaluated in three applications, calibrated and fused.

The Gaussian pipelines are cross-validated from one pass over the data. The same scores are then used in applications
with different priors and costs, without refitting. Calibration removes most of the calibration loss, actual minus
minimum cost.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from likely import (
    LDA,
    PCA,
    AffineCalibrator,
    Application,
    GaussianClassifier,
    LogisticFusion,
    LogisticRegression,
    NearestMeanClassifier,
    QuadraticFeatures,
    Standardize,
    Trials,
    cllr,
    confidence_interval,
    kfold_calibrate,
    kfold_scores,
    make_pipeline,
    min_cllr,
)
from likely.datasets import load_tumours

CHAINS = {
    "nearest mean": [NearestMeanClassifier()],
    "diagonal": [GaussianClassifier("diagonal")],
    "tied diagonal": [GaussianClassifier("diagonal", tied=True)],
    "full": [GaussianClassifier()],
    "tied full": [GaussianClassifier(tied=True)],
    "PCA 10, full": [Standardize(), PCA(10), GaussianClassifier()],
    "PCA 10, tied full": [Standardize(), PCA(10), GaussianClassifier(tied=True)],
    "PCA 95 %, diagonal": [Standardize(), PCA(0.95), GaussianClassifier("diagonal")],
    "LDA, tied full": [LDA(), GaussianClassifier(tied=True)],
    "LDA, full": [LDA(), GaussianClassifier()],
    "logistic": [Standardize(), LogisticRegression(1e-2, training_prior=0.5)],
    "logistic, L1": [Standardize(), LogisticRegression(1e-2, penalty="l1", training_prior=0.5)],
    "quadratic logistic": [Standardize(), PCA(10), QuadraticFeatures(), LogisticRegression(1e-2, training_prior=0.5)],
}
APPLICATIONS = {
    "clinic": Application.binary(0.37, cost_fn=10, positive="malignant"),
    "screening": Application.binary(0.01, cost_fn=20, positive="malignant"),
    "plain": Application.binary(0.5, positive="malignant"),
}


def evaluate(y, llr):
    """Return Cllr, its minimum, and minimum and actual cost in each application, from scores sorted once."""
    trials = Trials(y, llr)
    apps = list(APPLICATIONS.values())
    costs = np.column_stack([trials.min_dcf(apps), trials.actual_dcf(apps)]).ravel()
    return [trials.cllr(), trials.min_cllr(), *costs]


def main():
    X, y, _ = load_tumours()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    models = [make_pipeline(*steps) for steps in CHAINS.values()]
    scores = [llr[:, 1] - llr[:, 0] for llr in kfold_scores(models, X, y, folds)]
    print(f"{len(y)} tumours, {X.shape[1]} measurements; 10 folds, {len(CHAINS)} models.\n")
    print(f"{'':20} {'Cllr, bits':>15}   costs in applications, minimum and actual (1 = the best constant decision)")
    print(f"{'model':20} {'':>7} {'min':>7}   " + "".join(f"{name:>16}" for name in APPLICATIONS))
    best = sorted(range(len(scores)), key=lambda i: min_cllr(y, scores[i]))[:3]
    for name, llr in zip(CHAINS, scores, strict=True):
        show(name, evaluate(y, llr))
    print("\nThe best three by minimum Cllr, calibrated by folds, and fused:\n")
    for i in best:
        show(list(CHAINS)[i], evaluate(y, kfold_calibrate(AffineCalibrator(), scores[i], y, folds)))
    fused = kfold_calibrate(LogisticFusion(), np.column_stack([scores[i] for i in best]), y, folds)
    show("fused", evaluate(y, fused))
    print(f"\nCllr of the fusion with its 95 % interval: {confidence_interval(cllr, y, fused)}")
    print("\nApplications (positive: malignant):")
    for name, app in APPLICATIONS.items():
        miss, alarm = app.costs[1, 0], app.costs[0, 1]
        print(f"  {name:10} prior {app.priors[1]:.2f}, a miss costs {miss:g}, a false alarm {alarm:g}")


def show(name, numbers):
    (bits, least), costs = numbers[:2], numbers[2:]
    pairs = [f"{low:.3f} {cost:.3f}" for low, cost in zip(costs[::2], costs[1::2], strict=True)]
    print(f"{name:20} {bits:7.3f} {least:7.3f}   " + "".join(f"{pair:>16}" for pair in pairs))


if __name__ == "__main__":
    main()
