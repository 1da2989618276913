"""Support vector machines against LIBSVM, LIBLINEAR and scikit-learn-intelex, at the same dual objective.

Every objective is computed in this script, from the returned coefficients. Run all rows, or name some:
python benchmarks/svm.py rbf_images rbf_rows linear texts grid images_of_ten
"""

from __future__ import annotations

import csv
import gzip
import warnings
from types import SimpleNamespace

import numpy as np
from gaussian import DATA, mnist
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline as chain
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from timing import clock, report, run

from likely import PCA, SVM, NotConvergedWarning, RBFKernel, Standardize, compare, kfold_scores, make_pipeline


def dual_of(model, K, z):
    """Return dual objective, ‖w‖² and scores from the dual coefficients of a fitted kernel machine."""
    beta = np.zeros(len(z))
    beta[model.support_] = np.asarray(model.dual_coef_)[0]
    f = K @ beta
    square = float(beta @ f)
    return float((beta * z).sum()) - square / 2, square, f + float(np.ravel(model.intercept_)[0])


def _against(name, X, z, C, gamma):
    """Fit all libraries, and report their times, dual objectives and gaps."""
    models = {
        "likely": lambda: SVM(C, kernel=RBFKernel(gamma)).fit(X, z),
        "SVC": lambda: SVC(C=C, gamma=gamma).fit(X, z),
    }
    try:
        from sklearnex import svm

        models["scikit-learn-intelex"] = lambda: svm.SVC(C=C, gamma=gamma).fit(X, z)
    except ImportError:
        pass
    found = {who: clock(work, 1 if who == "SVC" else 3) for who, work in models.items()}
    K = rbf_kernel(X, gamma=gamma)
    duals, gaps = {}, {}
    for who, (_, model) in found.items():
        duals[who], square, scores = dual_of(model, K, z)
        primal = square / 2 + C * np.maximum(0, 1 - z * scores).sum()
        gaps[who] = (primal - duals[who]) / primal
    best = max(duals.values())
    note = "  ".join(f"{who}: dual {1 - dual / best:.0e} below, gap {gaps[who]:.0e}" for who, dual in duals.items())
    seconds = {who: time for who, (time, _) in found.items()}
    for peer in [who for who in seconds if who != "likely"]:
        report(name, seconds["likely"], {peer: seconds[peer]}, note if peer == "SVC" else "")


def rbf_images():
    X, y = mnist()
    kept = np.isin(y, [3, 8])
    X, y = X[kept][:8000] / 255, y[kept][:8000]
    _against("RBF, 3 against 8, 8 000x784, C=5", X, np.where(y == 8, 1.0, -1.0), 5.0, 1 / (784 * X.var()))


def rbf_rows():
    """Use two data sets: overlapping classes, where most rows are support vectors, and nearly separable ones."""
    sets = {
        "overlapping": {"n_informative": 10, "n_clusters_per_class": 8, "class_sep": 0.5, "flip_y": 0.1},
        "apart": {"n_informative": 20, "flip_y": 0.05},
    }
    for name, options in sets.items():
        X, y = make_classification(10_000, 50, random_state=0, **options)
        _against(f"RBF, 10 000x50, C=1, {name}", X, 2.0 * y - 1, 1.0, 1 / (50 * X.var()))


def linear():
    """Penalise our bias too (bias_scale=1), because the peer does."""
    X, y = make_classification(200_000, 100, n_informative=20, flip_y=0.05, random_state=0)
    z = 2.0 * y - 1
    ours, model = clock(lambda: SVM(bias_scale=1.0).fit(X, z))
    best, dual = _linear_primal(X, z, model), _linear_dual(model)
    free, with_free = clock(lambda: SVM().fit(X, z))
    print(f"{'linear, free bias':44} {free:8.3f} s   relative gap {with_free.gap_ / with_free.primal_objective_:.0e}")
    for passes in (20, 100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, peer = clock(
                lambda passes=passes: LinearSVC(loss="hinge", max_iter=passes, tol=1e-10, random_state=0).fit(X, z), 1
            )
        above = _linear_primal(X, z, peer) / dual - 1
        note = f"above our dual: ours {best / dual - 1:.0e}, the peer's {above:.0e} after {passes} passes"
        report("linear, hinge, 200 000x100, C=1", ours, {f"LinearSVC, {passes} passes": seconds}, note)


def _linear_primal(X, z, model, C=1.0):
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    return (w @ w + b * b) / 2 + C * float(np.maximum(0, 1 - z * (X @ w + b)).sum())


def _linear_dual(model):
    signed = model.dual_coef_[0]
    w, b = signed @ model.support_vectors_, signed.sum()
    return float(np.abs(signed).sum() - (w @ w + b * b) / 2)


def texts():
    """Separate each of twenty groups of texts from the rest, with TF-IDF weights: one problem per group."""
    path = DATA / "newsgroups20.csv.gz"
    if not path.is_file():
        print(f"{'linear, texts':44} skipped: the data are not available")
        return
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        labels, words = zip(*((row["label"], row["text"]) for row in csv.DictReader(lines)), strict=True)
    X, y = csr_array(TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(words)), np.array(labels)
    SVM(0.1, bias_scale=1.0).fit(X[:2000], y[:2000])  # compiles
    for C in (0.1, 1.0, 10.0):
        ours, model = clock(lambda C=C: SVM(C, bias_scale=1.0).fit(X, y), 1)
        found = {}
        for tol in (1e-2, 1e-4):
            peer = LinearSVC(C=C, loss="hinge", tol=tol, max_iter=10_000, random_state=0)
            seconds, _ = clock(lambda peer=peer: peer.fit(X, y), 1)
            found[f"LinearSVC, tol={tol:g}"] = seconds, _above(X, y, peer, model, C)
        for peer, (seconds, above) in found.items():
            note = f"above our dual: ours {_above(X, y, model, model, C):.0e}, the peer's {above:.0e}"
            report(f"linear, {X.shape[0]:,} texts x {X.shape[1]:,}, C={C:g}", ours, {peer: seconds}, note)


def _above(X, y, model, best, C):
    """Return how far the sum of all primal objectives is above the sum of the duals of the best model."""
    total = 0.0
    for k, label in enumerate(best.classes_):
        one = SimpleNamespace(coef_=model.coef_[k], intercept_=model.intercept_[k])
        total += _linear_primal(X, np.where(y == label, 1.0, -1.0), one, C)
    duals = [
        np.abs(signed).sum() - (np.square(signed @ best.support_vectors_).sum() + signed.sum() ** 2) / 2
        for signed in best.dual_coef_
    ]
    return total / sum(duals) - 1


def grid():
    """Time the grid of C and gamma of compare: scores only, as the peer, and with calibration and evaluation."""
    X, y = make_classification(6000, 6, n_informative=5, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    ours, comparison = clock(lambda: compare(X, y, ["rbf-svm"], folds=folds), 1)
    tried = {system.name: system.parts[0].settings for system in comparison if not system.is_fusion}
    parameters = {
        "svc__C": sorted({each["C"] for each in tried.values()}),
        "svc__gamma": sorted({each["γ"] for each in tried.values()}),
    }
    search = GridSearchCV(chain(StandardScaler(), SVC()), parameters, cv=folds, refit=False)
    searched, _ = clock(lambda: search.fit(X, y), 1)
    accuracies = dict(zip(map(str, search.cv_results_["params"]), search.cv_results_["mean_test_score"], strict=True))
    differ = max(
        abs(np.mean((comparison[name].scores > 0) == y) - accuracies[str({"svc__C": s["C"], "svc__gamma": s["γ"]})])
        for name, s in tried.items()
    )
    chains = [make_pipeline(Standardize(), SVM(s["C"], kernel=RBFKernel(s["γ"]), tol=1e-3)) for s in tried.values()]
    scored, _ = clock(lambda: kfold_scores(chains, X, y, folds), 1)
    note = f"accuracies differ by {differ:.0e}"
    report("compare's RBF grid, 6 000x6, 5 folds", scored, {"grid search of SVC": searched}, note)
    report("the same with calibration and intervals", ours, {"grid search of SVC": searched})


def images_of_ten():
    """Count errors on 10 000 test images, after training on 60 000 images with 50 principal components."""
    (X, y), (X_test, y_test) = mnist(), mnist("test")
    pca = PCA(50).fit(X / 255)
    X, X_test = pca.transform(X / 255), pca.transform(X_test / 255)
    for scheme in ("ovo", "ovr"):
        for C in (1.0, 10.0):
            model = SVM(C, kernel=RBFKernel(0.023), multiclass=scheme)
            seconds, _ = clock(lambda model=model: model.fit(X, y), 1)
            scoring, decided = clock(lambda model=model: model.predict(X_test), 1)
            print(
                f"RBF, MNIST, PCA 50, {scheme}, C={C:g}: {100 * np.mean(decided != y_test):.2f} % errors, "
                f"{len(model.support_)} support vectors, fit {seconds:.0f} s, test {scoring:.1f} s, "
                f"relative gap {model.gap_ / model.primal_objective_:.0e}",
                flush=True,
            )


ROWS = [rbf_images, rbf_rows, linear, texts, grid, images_of_ten]


if __name__ == "__main__":
    warnings.simplefilter("error", NotConvergedWarning)
    run(ROWS)
