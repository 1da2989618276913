"""scikit-learn's own checks on every estimator, none expected to fail for which no reason is given below."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import likely

ESTIMATORS = [
    likely.Center(),
    likely.Encode(),
    likely.Fill(),
    likely.Standardize(),
    likely.Whiten(),
    likely.Whiten(form="pca", by="within"),
    likely.PCA(),
    likely.PCA(0.9),
    likely.LDA(),
    likely.QuadraticFeatures(),
    likely.QuadraticFeatures(kernel=True),
    likely.RadialFeatures(n_centers=3),
    likely.KernelPCA(),
    likely.KernelPCA(2, kernel="linear"),
    likely.NystromFeatures(5),
    likely.NystromFeatures(3, kernel="polynomial"),
    likely.KMeans(3),
    *(
        likely.GaussianMixture(2, covariance=shape, tied=tied)
        for shape in ("full", "diagonal", "spherical")
        for tied in (False, True)
    ),
    likely.GaussianMixture(2, init="kmeans", assignments="hard"),
    likely.GaussianMixture(2, init="random", floor=likely.AbsoluteFloor(0.01)),
    likely.Mixture(likely.Laplace(), n_components=2),
    likely.Gaussian(),
    likely.Gaussian("diagonal"),
    likely.Laplace(),
    likely.Categorical(),
    likely.Categorical(pseudo_count=1),
    likely.Bernoulli(threshold=0.5),
    likely.Multinomial(),
    likely.Multinomial(pseudo_count=0.5),
    likely.Independent([(likely.Laplace(), [0]), (likely.Gaussian("diagonal"), "rest")]),
    likely.NearestMeanClassifier(),
    *(
        likely.GaussianClassifier(shape, tied=tied)
        for shape in ("full", "diagonal", "spherical")
        for tied in (False, True)
    ),
    likely.GaussianClassifier(likely.Full(shrinkage=0.1, unbiased=True)),
    likely.GenerativeClassifier(likely.Gaussian()),
    *(likely.MixtureClassifier(2, covariance=shape) for shape in ("full", "diagonal", "spherical")),
    likely.MixtureClassifier(2, tied=True, floor=0.01),
    likely.MixtureClassifier("bic", covariance="diagonal"),
    likely.OpenSetClassifier(likely.Gaussian(), background=likely.Gaussian("diagonal"), unknown=-1),
    likely.LeastSquaresClassifier(),
    likely.LeastSquaresClassifier(regularization=0.1),
    likely.FisherClassifier(),
    likely.LinearRegression(),
    likely.LinearRegression(regularization=0.1),
    likely.LogisticRegression(),
    likely.LogisticRegression(regularization=0.01),
    likely.LogisticRegression(regularization=0.01, penalty="l1"),
    likely.LogisticRegression(regularization=0.01, solver="l-bfgs"),
    likely.KernelLogisticRegression(),
    likely.KernelLogisticRegression(0.1, kernel="linear", n_landmarks=5),
    likely.SVM(tol=1e-12),
    likely.SVM(solver="primal", tol=1e-12),
    likely.SVM(10.0, kernel="rbf", multiclass="ovo", tol=1e-12),
    likely.SVM(kernel="polynomial", bias_scale=1.0, tol=1e-12),
    *(likely.Perceptron(keep=keep, max_iter=50) for keep in ("average", "pocket", "last")),
    likely.make_pipeline(likely.Standardize(), likely.GaussianClassifier()),
    likely.CalibratedClassifier(likely.GaussianClassifier(tied=True), cv=3),
    likely.CalibratedClassifier(DecisionTreeClassifier(random_state=0), cv=3),
    likely.FusedClassifier([likely.GaussianClassifier(tied=True), LogisticRegression()], cv=3),
]


def expected_failures(estimator):
    """scikit-learn's pipeline fits its steps in place; its own tests except it from the same check."""
    if isinstance(estimator, likely.Perceptron):
        reason = "the check puts the weighted rows in another order, on which a perceptron depends"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(estimator, likely.Categorical):
        reason = "the check gives fractions to all, which are no categories"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(estimator, likely.OpenSetClassifier):
        reason = "the check counts the classes of y, of whose type the unknown one is that comes to them"
        checks = ["estimator_sparse_array", "estimator_sparse_matrix", "classifiers_one_label", "classifiers_classes"]
        checks += ["decision_proba_consistency", "classifiers_train"]
        return {f"check_{check}": reason for check in checks}
    if isinstance(estimator, likely.Mixture):
        reason = "rows are dealt out by lot to begin with, and repeated rows are dealt out one by one"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if not isinstance(estimator, likely.Pipeline):
        return {}
    reason = "a pipeline's steps are parameters, and scikit-learn's pipeline fits them in place"
    return {"check_estimators_overwrite_params": reason}


# Some checks fit on one row or on fewer rows than columns, where flooring with a warning is what is promised.
@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
# Some checks fit a perceptron on classes that overlap, of which a warning is promised.
@pytest.mark.filterwarnings("ignore::likely.NotConvergedWarning")
# scikit-learn skips checks of array libraries that are not installed.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_passes_the_check(estimator, check):
    check(estimator)
