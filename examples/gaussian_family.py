"""The Gaussian family on tumours: cross-validated once, decided under three applications.

All chains are cross-validated from one pass over the data. The same scores are then brought to applications with other
priors and costs, without fitting anything again.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from likely import (
    LDA,
    PCA,
    Application,
    GaussianClassifier,
    NearestMeanClassifier,
    Standardize,
    kfold_scores,
    make_pipeline,
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
}
APPLICATIONS = {
    "clinic": Application.binary(0.37, cost_fn=10, positive="malignant"),
    "screening": Application.binary(0.01, cost_fn=20, positive="malignant"),
    "plain": Application.binary(0.5, positive="malignant"),
}


def normalised_cost(y, llr, application):
    """The cost of the decisions over that of the best constant decision, at the application's own prior."""
    app = application.aligned(["benign", "malignant"])
    decided = app.decide_codes(llr)
    rates = [np.mean(decided[y == "benign"] == 1), np.mean(decided[y == "malignant"] == 0)]
    stakes = app.priors * app.costs[[0, 1], [1, 0]]
    return stakes @ rates / stakes.min()


def main():
    X, y, _ = load_tumours()
    models = [make_pipeline(*steps) for steps in CHAINS.values()]
    scores = kfold_scores(models, X, y, StratifiedKFold(10, shuffle=True, random_state=0))
    print(f"{len(y)} tumours, {X.shape[1]} measurements; 10 folds, {len(CHAINS)} models, one pass over the data.\n")
    print(f"{'':20} {'errors':>7}   normalised cost at an application (1 = the best constant decision)")
    print(f"{'model':20} {'%':>7}   " + "".join(f"{name:>11}" for name in APPLICATIONS))
    for name, score in zip(CHAINS, scores, strict=True):
        llr = score[:, 1] - score[:, 0]
        errors = 100 * np.mean((llr >= 0) != (y == "malignant"))
        costs = [normalised_cost(y, llr, app) for app in APPLICATIONS.values()]
        print(f"{name:20} {errors:7.2f}   " + "".join(f"{cost:11.3f}" for cost in costs))
    print("\nApplications (positive: malignant):")
    for name, app in APPLICATIONS.items():
        miss, alarm = app.costs[1, 0], app.costs[0, 1]
        print(f"  {name:10} prior {app.priors[1]:.2f}, a miss costs {miss:g}, a false alarm {alarm:g}")


if __name__ == "__main__":
    main()
